/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever code writes to the pipe through which its shell reports: it stays within its bounds. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "relay/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct report_reader reader;
	reader = (struct report_reader){ 0 };
	for (size_t i = 0; i < size; i++) {
		struct report_end end;
		memset(&end, 'x', sizeof(end));
		enum report_kind kind = report_take(&reader, (char)data[i], &end);
		MUST(reader.len < sizeof(reader.line));
		MUST(kind != REPORT_BEGUN || data[i] == 's');
		if (kind != REPORT_ENDED)
			continue;
		MUST(data[i] == '\n' && reader.len == 0);
		MUST(end.turn >= 0 && end.status >= 0 && end.status <= 255);
		MUST(strnlen(end.flags, sizeof(end.flags)) < sizeof(end.flags));
	}
	return 0;
}
