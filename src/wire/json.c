/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "wire/utf8.h"

static int refuse_at(
	const char *text, size_t offset, enum err_code code, const char *what, struct err *err)
{
	size_t line = 1, start = 0;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			line++;
			start = i + 1;
		}
	}
	return err_set(err, code, "JSON line %zu, column %zu: %s", line, offset - start + 1, what);
}

/* All that stands outside strings in JSON, which leaves no letters for NaN, Infinity or True. */
static const char outside_strings[] = " \t\r\n{}[]:,\"+-.0123456789eEtrufalsn";

/* What json-c lets through even when strict: NUL and raw controls in strings (a key is cut at its
 * NUL, so one name could pass for another), words of its own, bytes that are not UTF-8. */
static int check_text(const char *text, size_t len, struct err *err)
{
	size_t bad;
	bool in_string = false;
	if (!utf8_is_valid(text, len, &bad))
		return refuse_at(text, bad, ERR_INVALID, "this is not UTF-8", err);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\0')
			return refuse_at(text, i, ERR_INVALID, "a NUL byte", err);
		if (in_string && (unsigned char)text[i] < 0x20)
			return refuse_at(text, i, ERR_INVALID,
				"a control character in a string must be escaped", err);
		if (!in_string && !strchr(outside_strings, text[i]))
			return refuse_at(text, i, ERR_INVALID, "unexpected character", err);
		if (text[i] == '"')
			in_string = !in_string;
		if (text[i] != '\\' || !in_string)
			continue;
		if (len - i >= 6 && memcmp(text + i, "\\u0000", 6) == 0)
			return refuse_at(text, i, ERR_INVALID,
				"a string must not hold a NUL character", err);
		i++;
	}
	return 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t trimmed(const char *text, size_t len)
{
	while (len > 0 && is_space(text[len - 1]))
		len--;
	return len;
}

static int describe_failure(
	struct json_tokener *tokener, const char *text, size_t len, int max_depth, struct err *err)
{
	enum json_tokener_error code = json_tokener_get_error(tokener);
	size_t offset = json_tokener_get_parse_end(tokener);
	char what[128];
	if (offset > len)
		offset = len;
	if (code == json_tokener_error_depth) {
		(void)snprintf(what, sizeof(what), "nested deeper than %d levels", max_depth);
		return refuse_at(text, offset, ERR_LIMIT, what, err);
	}
	if (code == json_tokener_continue)
		return refuse_at(text, len, ERR_INVALID, "the text ends too early", err);
	if (code == json_tokener_success)
		return refuse_at(text, offset, ERR_INVALID, "only one object is expected", err);
	return refuse_at(text, offset, ERR_INVALID, json_tokener_error_desc(code), err);
}

static int read_value(const char *text, size_t len, size_t max_len, int max_depth, bool takes_array,
	struct json_object **ret_json, struct err *err)
{
	len = trimmed(text, len);
	if (len > max_len || len > INT_MAX)
		return err_set(err, ERR_LIMIT, "JSON of %zu bytes is too long (at most %zu)", len,
			max_len);
	if (len == 0)
		return err_set(err, ERR_INVALID, "JSON is empty, an object is expected");
	TRY(check_text(text, len, err));
	size_t start = 0;
	while (is_space(text[start]))
		start++;
	if (text[start] != '{' && !(takes_array && text[start] == '['))
		return refuse_at(text, start, ERR_INVALID, "an object, '{ … }', is expected", err);

	struct json_tokener *tokener = json_tokener_new_ex(max_depth + 1);
	if (!tokener)
		abort();
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	auto_json struct json_object *json = json_tokener_parse_ex(tokener, text, (int)len);
	bool is_whole = json_tokener_get_error(tokener) == json_tokener_success &&
			json_tokener_get_parse_end(tokener) == len;
	if (!is_whole)
		(void)describe_failure(tokener, text, len, max_depth, err);
	json_tokener_free(tokener);
	if (!is_whole)
		return -1;
	if (!takes_array && !json_object_is_type(json, json_type_object))
		return err_set(
			err, ERR_INVALID, "JSON: an object is expected, not %s", json_kind(json));
	*ret_json = take_ptr(&json);
	return 0;
}

int json_read(const char *text, size_t len, size_t max_len, int max_depth,
	struct json_object **ret_json, struct err *err)
{
	return read_value(text, len, max_len, max_depth, false, ret_json, err);
}

int json_read_list(const char *text, size_t len, size_t max_len, int max_depth,
	struct json_object **ret_json, struct err *err)
{
	return read_value(text, len, max_len, max_depth, true, ret_json, err);
}

const char *json_kind(const struct json_object *json)
{
	/* clang-format off */
	static const char *const kinds[] = {
		[json_type_null]    = "null",
		[json_type_boolean] = "a boolean",
		[json_type_double]  = "a number",
		[json_type_int]     = "a number",
		[json_type_object]  = "an object",
		[json_type_array]   = "an array",
		[json_type_string]  = "a string",
	};
	/* clang-format on */
	return kinds[json_object_get_type(json)];
}

static struct json_object *or_abort(struct json_object *json)
{
	if (!json)
		abort();
	return json;
}

struct json_object *json_new_text(const char *data, size_t len)
{
	if (!data)
		return NULL;
	if (utf8_is_valid(data, len, NULL))
		return or_abort(json_object_new_string_len(data, (int)len));
	size_t text_len;
	auto_free char *text = utf8_repair(data, len, &text_len);
	return or_abort(json_object_new_string_len(text, (int)text_len));
}

struct json_object *json_new_string(const char *text)
{
	return json_new_text(text, text ? strlen(text) : 0);
}

struct json_object *json_new_decimal(int64_t value, int places)
{
	char text[48];
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	uint64_t one = 1;
	for (int i = 0; i < places; i++)
		one *= 10;
	int n = snprintf(text, sizeof(text), "%s%" PRIu64 ".%0*" PRIu64, value < 0 ? "-" : "",
		size / one, places, size % one);
	while (text[n - 1] == '0')
		n--;
	if (text[n - 1] == '.')
		n--;
	text[n] = '\0';
	return or_abort(json_object_new_double_s((double)value / (double)one, text));
}

void json_put(struct json_object *object, const char *key, struct json_object *value)
{
	const unsigned flags = JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_ADD_CONSTANT_KEY;
	if (json_object_object_add_ex(object, key, value, flags) < 0)
		abort();
}

/* The characters that move a terminal's cursor or turn its text around although they are not ASCII
 * controls: DEL, C1 and the bidirectional overrides. They can stand in strings only. */
static uint32_t sly_character(const char *text, size_t *ret_len)
{
	const unsigned char *byte = (const unsigned char *)text;
	*ret_len = 1;
	if (byte[0] == 0x7f)
		return 0x7f;
	if (byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] <= 0x9f) {
		*ret_len = 2;
		return byte[1];
	}
	if (byte[0] != 0xe2 || (byte[1] != 0x80 && byte[1] != 0x81))
		return 0;
	*ret_len = 3;
	uint32_t character = 0x2000U | (uint32_t)(byte[1] & 0x3f) << 6 | (byte[2] & 0x3f);
	bool is_override = (character >= 0x202a && character <= 0x202e) ||
			   (character >= 0x2066 && character <= 0x2069);
	return is_override ? character : 0;
}

static char *escape_sly(const char *text)
{
	size_t extra = 0;
	size_t from_len = 1;
	for (const char *at = text; *at != '\0'; at++)
		extra += sly_character(at, &from_len) ? strlen("\\u0000") : 0;
	char *safe = xcalloc(strlen(text) + extra + 1, 1);
	char *to = safe;
	while (*text != '\0') {
		uint32_t character = sly_character(text, &from_len);
		if (character)
			to += snprintf(to, 7, "\\u%04x", character);
		else
			*to++ = *text;
		text += character ? from_len : 1;
	}
	return safe;
}

/* The letter of a character that has a short escape; 0: it has none. */
static char short_escape(char character)
{
	static const char characters[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";
	const char *found = character ? strchr(characters, character) : NULL;
	return found ? letters[found - characters] : '\0';
}

/* Puts one character of valid UTF-8 into `to`, escaped where it must be. Its length is returned,
 * the bytes it was read from are in *ret_len. */
static int quote_one(const char *at, size_t len, char to[8], size_t *ret_len)
{
	char ahead[4] = { 0 };
	memcpy(ahead, at, len < 3 ? len : 3);
	uint32_t sly = sly_character(ahead, ret_len);
	unsigned char byte = (unsigned char)*at;
	if (sly)
		return snprintf(to, 8, "\\u%04x", sly);
	*ret_len = 1;
	if (short_escape(*at))
		return snprintf(to, 8, "\\%c", short_escape(*at));
	if (byte < 0x20)
		return snprintf(to, 8, "\\u%04x", byte);
	to[0] = *at;
	return 1;
}

/* How many bytes stand for themselves. */
static size_t plain_length(const char *text, size_t len)
{
	size_t at = 0;
	while (at < len && text[at] >= ' ' && text[at] < 0x7f && text[at] != '"' &&
		text[at] != '\\')
		at++;
	return at;
}

int json_quote(struct buf *out, const char *data, size_t len)
{
	size_t text_len = len;
	auto_free char *repaired =
		utf8_is_valid(data, len, NULL) ? NULL : utf8_repair(data, len, &text_len);
	const char *text = repaired ? repaired : data;
	int r = buf_append(out, "\"", 1);
	for (size_t at = 0; at < text_len && r == 0;) {
		char one[8];
		size_t from_len = plain_length(text + at, text_len - at);
		if (from_len > 0) {
			r = buf_append(out, text + at, from_len);
		} else {
			int n = quote_one(text + at, text_len - at, one, &from_len);
			r = buf_append(out, one, (size_t)n);
		}
		at += from_len;
	}
	return r < 0 ? r : buf_append(out, "\"", 1);
}

char *json_print(struct json_object *json, bool is_pretty)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;
	flags |= is_pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED
			   : JSON_C_TO_STRING_PLAIN;
	const char *text = json_object_to_json_string_ext(json, flags);
	if (!text)
		abort();
	return escape_sly(text);
}
