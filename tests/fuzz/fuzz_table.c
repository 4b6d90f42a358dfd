/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte is the width of the terminal; the rest is JSON, shown as a table and as JSON. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "cli/view.h"
#include "wire/utf8.h"

enum { OUT_MAX = 16 << 20, JSON_MAX = 1 << 20, DEPTH_MAX = 32 };

/* Nothing but text, new lines and colours of our own. */
static void check_shown(const struct buf *shown)
{
	const char *text = buf_text(shown);
	MUST(utf8_is_valid(text, shown->len, NULL));
	for (size_t i = 0; i < shown->len; i++) {
		unsigned char byte = (unsigned char)text[i];
		MUST(byte != 0x7f && (byte >= 0x20 || byte == '\n' || byte == '\033'));
		MUST(!(byte == 0xc2 && (unsigned char)text[i + 1] < 0xa0));
		if (byte != '\033')
			continue;
		MUST(text[i + 1] == '[');
		i += 2 + strspn(text + i + 2, "0123456789;");
		MUST(text[i] == 'm');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct err err = { 0 };
	auto_json struct json_object *json = NULL;
	if (size == 0 ||
		json_read((const char *)bytes + 1, size - 1, JSON_MAX, DEPTH_MAX, &json, &err) < 0)
		return 0;
	for (int depth = DEPTH_NONE; depth <= DEPTH_16; depth++) {
		struct term term = { .columns = 20 + bytes[0], .rows = 24, .depth = depth };
		auto_buf struct buf table = { 0 }, view = { 0 };
		buf_init(&table, OUT_MAX);
		buf_init(&view, OUT_MAX);
		(void)table_put(&table, json, &term, 1 + bytes[0] % 40);
		(void)json_view_put(&view, json, &term, 5);
		check_shown(&table);
		check_shown(&view);
	}
	return 0;
}
