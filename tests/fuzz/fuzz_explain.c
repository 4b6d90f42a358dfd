/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a failed program wrote: an error with words, and denials whose every text has an end.
 * The first byte chooses status and /proc. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "engine/explain.h"

#define MUST_END(text) MUST(memchr(text, '\0', sizeof(text)))

static void check_denial(const struct denial *denial)
{
	MUST_END(denial->layer);
	MUST_END(denial->operation);
	MUST_END(denial->target);
	MUST_END(denial->option);
	MUST_END(denial->evidence);
	MUST(denial->layer[0] != '\0' && denial->operation[0] != '\0' && denial->count > 0);
	MUST(strcmp(denial->evidence, "text") == 0);
	MUST(denial->target[0] == '\0' || denial->target[0] == '/');
	MUST(!strchr(denial->target, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum run_status statuses[] = { STATUS_ERROR, STATUS_SIGNAL, STATUS_DISK_LIMIT,
		STATUS_OK };
	struct spec spec;
	struct result result;
	const struct analysis_input input = { .spec = &spec };
	uint8_t choice = size > 0 ? data[0] : 0;
	spec_init(&spec);
	result_init(&result);
	spec.proc = (choice >> 3 & 3) % PROC_MODE_COUNT;
	result.status = statuses[choice & 3];
	result.signal = result.status == STATUS_SIGNAL ? 11 : 0;
	(void)snprintf(result.language, sizeof(result.language), "sh");
	result.err.len = size > 0 ? size - 1 : 0;
	result.err.text = xcalloc(result.err.len + 1, 1);
	if (result.err.len > 0)
		memcpy(result.err.text, data + 1, result.err.len);
	explain(&input, &result);
	MUST(result.denial_count <= LIMIT_DENIALS);
	for (size_t i = 0; i < result.denial_count; i++)
		check_denial(&result.denials[i]);
	MUST((result.error.message != NULL) == (result.status != STATUS_OK));
	MUST((result.error.kind[0] != '\0') == (result.status != STATUS_OK));
	if (result.status == STATUS_OK || result.status == STATUS_SIGNAL)
		MUST(result.denial_count == 0 && !result.hint);
	result_done(&result);
	spec_done(&spec);
	return 0;
}
