/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "cli/view.h"

static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0\b\6\0\0\0";
static const char gif[] = "GIF89a\x40\1\xf0\0";
static const char jpeg[] =
	"\xff\xd8\xff\xe0\0\x06JFIF\xff\xff\xdb\0\3x\xff\xc2\0\x11\b\1\xe0\2\x80";

#define SIZE(bytes) (sizeof(bytes) - 1)

static void assert_size(const char *mime, const char *data, size_t len, int width, int height)
{
	int have_width = 0, have_height = 0;
	ASSERT(picture_size(mime, data, len, &have_width, &have_height));
	ASSERT_EQ(have_width, width);
	ASSERT_EQ(have_height, height);
}

TEST(the_size_is_read_from_each_kind_of_header)
{
	assert_size("image/png", png, SIZE(png), 640, 480);
	assert_size("image/gif", gif, SIZE(gif), 320, 240);
	assert_size("image/jpeg", jpeg, SIZE(jpeg), 640, 480);
}

/* Copies to the byte, so that the sanitizer sees a read past the end. */
static void assert_cut_refused(const char *mime, const char *data, size_t needed)
{
	int width, height;
	for (size_t len = 0; len < needed; len++) {
		auto_free char *copy = malloc(len ? len : 1);
		ASSERT(copy);
		memcpy(copy, data, len);
		ASSERT(!picture_size(mime, copy, len, &width, &height));
	}
}

TEST(a_header_that_is_cut_anywhere_is_refused)
{
	assert_cut_refused("image/png", png, 24);
	assert_cut_refused("image/gif", gif, 10);
	assert_cut_refused("image/jpeg", jpeg, SIZE(jpeg));
}

TEST(what_is_no_picture_has_no_size)
{
	int width, height;
	static const char zero[] = "GIF89a\0\0\0\0";
	static const char loop[] = "\xff\xd8\xff\xe0\0\0\xff\xe0\0\1";
	ASSERT(!picture_size("image/gif", zero, SIZE(zero), &width, &height));
	ASSERT(!picture_size("image/jpeg", loop, SIZE(loop), &width, &height));
	ASSERT(!picture_size("image/png", gif, SIZE(gif), &width, &height));
	ASSERT(!picture_size("image/svg+xml", "<svg/>", 6, &width, &height));
}
