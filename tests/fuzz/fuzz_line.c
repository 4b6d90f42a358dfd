/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the runner of a session says on its line: it is refused, or one of a few words. */
#include "fuzz/fuzz.h"

#include "keeper/line.h"
#include "wire/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line_word word;
	if (line_parse((const char *)data, size, &word) < 0) {
		MUST(word.kind == LINE_NONE && !word.notes);
		return 0;
	}
	MUST(size <= LINE_TEXT_MAX);
	MUST(word.kind > LINE_NONE && word.kind < LINE_KIND_COUNT && word.number > 0);
	size_t count = word.notes ? json_object_array_length(word.notes) : 0;
	MUST(count <= LINE_NOTES_MAX);
	for (size_t i = 0; i < count; i++)
		MUST(json_object_get_string_len(json_object_array_get_idx(word.notes, i)) <=
			LINE_NOTE_BYTES);
	line_word_done(&word);
	return 0;
}
