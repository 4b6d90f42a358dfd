/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/keys.h"

#include <string.h>

#include "base/own.h"
#include "wire/utf8.h"

enum { ESCAPE = 0x1b, SEQUENCE_MAX = 32 };

#define PASTE_BEGIN "\033[200~"
#define PASTE_END "\033[201~"

/* clang-format off */
static const enum key controls[0x20] = {
	['A' & 0x1f] = KEY_LINE_START, ['B' & 0x1f] = KEY_LEFT,      ['C' & 0x1f] = KEY_CANCEL,
	['D' & 0x1f] = KEY_LEAVE,      ['E' & 0x1f] = KEY_LINE_END,  ['F' & 0x1f] = KEY_RIGHT,
	['G' & 0x1f] = KEY_ESCAPE,     ['H' & 0x1f] = KEY_ERASE,     ['I' & 0x1f] = KEY_TAB,
	['J' & 0x1f] = KEY_NEWLINE,    ['K' & 0x1f] = KEY_KILL_END,  ['L' & 0x1f] = KEY_CLEAR,
	['M' & 0x1f] = KEY_ENTER,      ['N' & 0x1f] = KEY_NEXT,      ['P' & 0x1f] = KEY_PREVIOUS,
	['R' & 0x1f] = KEY_SEARCH,     ['T' & 0x1f] = KEY_SWAP,      ['U' & 0x1f] = KEY_KILL_START,
	['W' & 0x1f] = KEY_ERASE_WORD, ['Y' & 0x1f] = KEY_YANK,      ['Z' & 0x1f] = KEY_SUSPEND,
	['_' & 0x1f] = KEY_UNDO,
};

/* What follows ESC. Terminals differ; each row is sent by one that people use. */
static const struct {
	const char *bytes;
	enum key key;
} sequences[] = {
	{ "[A", KEY_UP },            { "[B", KEY_DOWN },            { "[C", KEY_RIGHT },
	{ "[D", KEY_LEFT },          { "OA", KEY_UP },              { "OB", KEY_DOWN },
	{ "OC", KEY_RIGHT },         { "OD", KEY_LEFT },            { "[H", KEY_LINE_START },
	{ "[F", KEY_LINE_END },      { "OH", KEY_LINE_START },      { "OF", KEY_LINE_END },
	{ "[1~", KEY_LINE_START },   { "[4~", KEY_LINE_END },       { "[7~", KEY_LINE_START },
	{ "[8~", KEY_LINE_END },     { "[3~", KEY_DELETE },         { "[Z", KEY_BACK_TAB },
	{ "[5~", KEY_PREVIOUS },     { "[6~", KEY_NEXT },           { "[1;5C", KEY_WORD_RIGHT },
	{ "[1;5D", KEY_WORD_LEFT },  { "[1;3C", KEY_WORD_RIGHT },   { "[1;3D", KEY_WORD_LEFT },
	{ "[1;5H", KEY_START },      { "[1;5F", KEY_END },          { "Oc", KEY_WORD_RIGHT },
	{ "Od", KEY_WORD_LEFT },     { "b", KEY_WORD_LEFT },        { "f", KEY_WORD_RIGHT },
	{ "d", KEY_KILL_WORD },      { "\x7f", KEY_ERASE_WORD },    { "\b", KEY_ERASE_WORD },
	{ "<", KEY_START },          { ">", KEY_END },              { "\r", KEY_NEWLINE },
	{ "\n", KEY_NEWLINE },       { "[27;2;13~", KEY_NEWLINE },  { "[13;2u", KEY_NEWLINE },
	{ "[3;5~", KEY_KILL_WORD },
};
/* clang-format on */

/* The length of the sequence at `bytes`, which begins behind ESC; 0: it goes on. */
static size_t sequence_len(const char *bytes, size_t len)
{
	if (len == 0)
		return 0;
	if (bytes[0] == 'O')
		return len < 2 ? 0 : 2;
	if (bytes[0] != '[') {
		int step = utf8_step(bytes, len);
		return step > 0 ? (size_t)step : 1;
	}
	for (size_t i = 1; i < len && i < SEQUENCE_MAX; i++) {
		if (bytes[i] >= 0x40 && bytes[i] <= 0x7e)
			return i + 1;
		if (bytes[i] < 0x20 || bytes[i] >= 0x7f)
			return i; /* broken off: what follows is a key of its own */
	}
	return len < SEQUENCE_MAX ? 0 : SEQUENCE_MAX;
}

static enum key find(const char *bytes, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(sequences); i++) {
		if (strlen(sequences[i].bytes) == len &&
			memcmp(sequences[i].bytes, bytes, len) == 0)
			return sequences[i].key;
	}
	return KEY_NONE;
}

/* Everything up to the terminal's mark is text, whatever it looks like. */
static size_t take_paste(const char *bytes, size_t len, bool is_whole, struct key_press *ret_press)
{
	size_t begin = strlen(PASTE_BEGIN);
	const char *end = memmem(bytes + begin, len - begin, PASTE_END, strlen(PASTE_END));
	if (!end && !is_whole)
		return 0;
	size_t text_len = (end ? (size_t)(end - bytes) : len) - begin;
	*ret_press = (struct key_press){ KEY_PASTE, bytes + begin, text_len };
	return begin + text_len + (end ? strlen(PASTE_END) : 0);
}

static size_t take_escape(const char *bytes, size_t len, bool is_whole, struct key_press *ret_press)
{
	if (len >= strlen(PASTE_BEGIN) && memcmp(bytes, PASTE_BEGIN, strlen(PASTE_BEGIN)) == 0)
		return take_paste(bytes, len, is_whole, ret_press);
	size_t used = sequence_len(bytes + 1, len - 1);
	if (used == 0) {
		*ret_press = (struct key_press){ .key = len == 1 ? KEY_ESCAPE : KEY_NONE };
		return is_whole ? len : 0;
	}
	*ret_press = (struct key_press){ .key = find(bytes + 1, used) };
	return 1 + used;
}

/* As many characters as came at once: a fast typist, or a terminal that cannot mark a paste. */
static size_t take_text(const char *bytes, size_t len, bool is_whole, struct key_press *ret_press)
{
	size_t used = 0;
	while (used < len && (unsigned char)bytes[used] >= 0x20 && bytes[used] != 0x7f) {
		int step = utf8_step(bytes + used, len - used);
		if (step == 0 && !is_whole)
			break;
		used += step > 0 ? (size_t)step : step < 0 ? (size_t)-step : len - used;
	}
	*ret_press = (struct key_press){ KEY_TEXT, bytes, used };
	return used;
}

size_t key_next(const char *bytes, size_t len, bool is_whole, struct key_press *ret_press)
{
	unsigned char first = (unsigned char)bytes[0];
	*ret_press = (struct key_press){ 0 };
	if (first == ESCAPE)
		return take_escape(bytes, len, is_whole, ret_press);
	if (first == 0x7f)
		ret_press->key = KEY_ERASE;
	else if (first < 0x20)
		ret_press->key = controls[first];
	else
		return take_text(bytes, len, is_whole, ret_press);
	return 1;
}
