/* SPDX-License-Identifier: Apache-2.0 */
/* A table of a language up to the first NUL, then lines of code. A wrong table falls back to one
 * that has everything. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "cli/view.h"
#include "wire/utf8.h"

enum { OUT_MAX = 16 << 20 };

static const char everything[] =
	"{\"keywords\":[\"if\"],\"constants\":[\"null\"],\"comments\":[\"#\",\"--\"],"
	"\"comments_after_blank\":true,\"blocks\":[[\"--[[\",\"]]\"]],\"strings\":[\"'\"],"
	"\"long_strings\":[\"'''\",\"`\"],\"letters\":\"$\",\"ignore_case\":true}";

/* Without colours the text must be what it is without a highlighter. */
static void check_line(const struct buf *coloured, const char *line, size_t len, int columns)
{
	auto_buf struct buf plain = { 0 }, bare = { 0 };
	buf_init(&plain, OUT_MAX);
	buf_init(&bare, OUT_MAX);
	(void)text_put(&plain, line, len, columns);
	const char *text = buf_text(coloured);
	for (size_t i = 0; i < coloured->len; i++) {
		if (text[i] != '\033') {
			MUST(buf_append(&bare, text + i, 1) == 0);
			continue;
		}
		MUST(text[i + 1] == '[');
		i += 2 + strspn(text + i + 2, "0123456789;");
		MUST(text[i] == 'm');
	}
	MUST(plain.len == bare.len && memcmp(buf_text(&plain), buf_text(&bare), bare.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct err err = { 0 };
	struct highlight *highlight = NULL;
	struct highlight_state state = { 0 };
	struct term term = { .depth = DEPTH_16 };
	const char *data = (const char *)bytes;
	const char *nul = memchr(data, '\0', size);
	size_t table_len = nul ? (size_t)(nul - data) : 0;
	if (highlight_from_json(data, table_len, &highlight, &err) < 0 &&
		highlight_from_json(everything, strlen(everything), &highlight, &err) < 0)
		abort();
	const char *line = nul ? nul + 1 : data;
	size_t left = size - (size_t)(line - data);
	while (left > 0) {
		const char *end = memchr(line, '\n', left);
		size_t len = end ? (size_t)(end - line) : left;
		int columns = (int)(len % 60) + 1;
		auto_buf struct buf out = { 0 };
		buf_init(&out, OUT_MAX);
		MUST(highlight_put(&out, highlight, &state, line, len, &term, columns) <= columns);
		/* a token may end within a broken character, which is then shown in pieces */
		if (utf8_is_valid(line, len, NULL))
			check_line(&out, line, len, columns);
		line += len + (end ? 1 : 0);
		left -= len + (end ? 1 : 0);
	}
	highlight_free(highlight);
	return 0;
}
