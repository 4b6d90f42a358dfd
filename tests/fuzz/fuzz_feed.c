/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the body of a batch is: its jobs lie in it, one behind the other, as many as were
 * counted. And whatever a Range header says: it is a part of the file. */
#include "fuzz/fuzz.h"

#include "server/feed.h"
#include "server/range.h"

static void check_range(const char *header, uint64_t size)
{
	struct range range = { 0 };
	if (range_read(header, size, &range)) {
		MUST(range.from <= size && range.len <= size - range.from);
		MUST(!range.is_part || range.len > 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed;
	struct err err = { 0 };
	const char *text = (const char *)data;
	const char *job = NULL;
	const char *before = text;
	size_t len = 0;
	size_t count = 0;
	char header[64] = { 0 };
	memcpy(header, data, size < sizeof(header) ? size : sizeof(header) - 1);
	check_range(header, size);
	if (feed_open(&feed, text, size, &err) < 0) {
		MUST(err.code != ERR_NONE);
		return 0;
	}
	while (feed_next(&feed, &job, &len)) {
		MUST(job >= before && job + len <= text + size);
		before = job + len;
		count++;
	}
	MUST(count == feed.total && !feed_next(&feed, &job, &len));
	return 0;
}
