/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture's size from its header. These few bytes are all of a picture that is read outside a
 * cell, so nothing here follows an offset or a length without looking at what is left.
 */
#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "cli/view.h"

static unsigned big16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

static uint32_t big32(const uint8_t *at)
{
	return (uint32_t)big16(at) << 16 | big16(at + 2);
}

static bool take(uint32_t width, uint32_t height, int *ret_width, int *ret_height)
{
	if (width == 0 || height == 0 || width > 1u << 24 || height > 1u << 24)
		return false;
	*ret_width = (int)width;
	*ret_height = (int)height;
	return true;
}

static bool read_png(const uint8_t *data, size_t len, int *ret_width, int *ret_height)
{
	return len >= 24 && memcmp(data, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) == 0 &&
	       take(big32(data + 16), big32(data + 20), ret_width, ret_height);
}

static bool read_gif(const uint8_t *data, size_t len, int *ret_width, int *ret_height)
{
	return len >= 10 && (memcmp(data, "GIF87a", 6) == 0 || memcmp(data, "GIF89a", 6) == 0) &&
	       take(data[6] | (uint32_t)data[7] << 8, data[8] | (uint32_t)data[9] << 8, ret_width,
		       ret_height);
}

/* Walks the segments up to the one that begins a frame: SOF0 to SOF15, which are not DHT, JPG or
 * DAC. Each has a length, which counts itself. */
static bool read_jpeg(const uint8_t *data, size_t len, int *ret_width, int *ret_height)
{
	size_t at = 2;
	if (len < 4 || data[0] != 0xff || data[1] != 0xd8)
		return false;
	while (len - at >= 4 && data[at] == 0xff) {
		uint8_t marker = data[at + 1];
		if (marker == 0xff) { /* filling */
			at++;
			continue;
		}
		size_t segment = big16(data + at + 2);
		if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
			marker != 0xcc)
			return len - at >= 9 && take(big16(data + at + 7), big16(data + at + 5),
							ret_width, ret_height);
		if (segment < 2 || segment + 2 > len - at)
			return false;
		at += segment + 2;
	}
	return false;
}

/* clang-format off */
static const struct {
	const char *mime;
	bool (*read)(const uint8_t *data, size_t len, int *ret_width, int *ret_height);
} readers[] = {
	{ "image/png",  read_png },
	{ "image/jpeg", read_jpeg },
	{ "image/gif",  read_gif },
};
/* clang-format on */

bool picture_size(const char *mime, const void *data, size_t len, int *ret_width, int *ret_height)
{
	for (size_t i = 0; i < COUNT_OF(readers); i++) {
		if (strcmp(readers[i].mime, mime) == 0)
			return readers[i].read(data, len, ret_width, ret_height);
	}
	return false;
}
