/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes as the head of a picture, as a terminal's answer, and as the words of a picture
 * program; what the filter lets through must pass it again unchanged. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "cli/view.h"

enum { OUT_MAX = 16 << 20 };

static void check_filter(const char *data, size_t size, enum term_pictures pictures)
{
	auto_buf struct buf once = { 0 }, twice = { 0 };
	buf_init(&once, OUT_MAX);
	buf_init(&twice, OUT_MAX);
	if (!picture_filter(data, size, pictures, &once) || pictures == PICTURES_KITTY)
		return; /* kitty's head is written anew, with a word that only we may say */
	MUST(picture_filter(buf_text(&once), once.len, pictures, &twice));
	MUST(once.len == twice.len);
	MUST(memcmp(buf_text(&once), buf_text(&twice), once.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const mimes[] = { "image/png", "image/jpeg", "image/gif" };
	const char *data = (const char *)bytes;
	enum term_pictures pictures;
	for (size_t i = 0; i < COUNT_OF(mimes); i++) {
		int width = 0, height = 0;
		if (picture_size(mimes[i], bytes, size, &width, &height))
			MUST(width > 0 && height > 0);
	}
	(void)term_read_answer(data, size, &pictures);
	check_filter(data, size, PICTURES_SYMBOLS);
	check_filter(data, size, PICTURES_SIXEL);
	check_filter(data, size, PICTURES_KITTY);
	return 0;
}
