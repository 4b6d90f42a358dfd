/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result as one short text, for a reader who pays for every word: what was printed, the value,
 * the error with its line and a hint, and one line of limits that were hit. What is said once is
 * not said twice: a trace that the error sums up is left out, and so is whatever only a terminal
 * would make something of. Every byte may come from a cell.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "model/field.h"
#include "model/result.h"
#include "model/units.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum {
	TEXT_MAX = 1 << 30,   /* of everything; its parts have bounds of their own */
	VALUE_MAX = 2000,     /* bytes of what an error says */
	LINE_MAX_BYTES = 600, /* of a line of code, a name, a hint's quote */
	CALLERS_MAX = 4,      /* lines that led to the one that failed */
	DENIALS_MAX = 4,      /* in the line of limits */
	FILES_MAX = 20,
	BRIEF_LINES = 4, /* of stderr, when the error says the same */
};

/* ---- clean text ------------------------------------------------------------------------------ */

/* The bytes of the escape sequence that begins at `at`. */
static size_t escape_len(const char *at, size_t len)
{
	size_t i = 2;
	if (len < 2)
		return len;
	if (at[1] == '[') { /* CSI: up to its final byte */
		while (i < len && (unsigned char)at[i] >= 0x20 && (unsigned char)at[i] < 0x40)
			i++;
		return i < len && at[i] >= 0x40 && at[i] < 0x7f ? i + 1 : i;
	}
	if (at[1] == ']') { /* OSC: up to BEL or ST, on its line */
		while (i < len && at[i] != '\a' && at[i] != '\033')
			i++;
		return i < len && at[i] == '\a' ? i + 1 : i;
	}
	return at[1] >= 0x20 && at[1] < 0x7f ? 2 : 1;
}

static void put_line(struct buf *out, const char *line, size_t len)
{
	while (len > 0 && line[len - 1] == '\r')
		len--;
	/* what a carriage return goes over is not seen on a terminal either */
	for (size_t i = len; i-- > 0;)
		if (line[i] == '\r') {
			line += i + 1;
			len -= i + 1;
			break;
		}
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)line[i];
		if (c == '\033') {
			i += escape_len(line + i, len - i);
		} else if ((c < 0x20 && c != '\t') || c == 0x7f) {
			i++;
		} else {
			(void)buf_append(out, line + i, 1);
			i++;
		}
	}
}

/* Whole lines; the last one gets its newline, and empty ones at the end go. */
static void put_text(struct buf *out, const char *data, size_t len)
{
	size_t fine_len = 0;
	auto_free char *fine = utf8_repair(data, len, &fine_len);
	while (fine_len > 0 && strchr(" \t\r\n", fine[fine_len - 1]))
		fine_len--;
	for (size_t at = 0; at < fine_len;) {
		const char *end = memchr(fine + at, '\n', fine_len - at);
		size_t line_len = end ? (size_t)(end - fine) - at : fine_len - at;
		put_line(out, fine + at, line_len);
		(void)buf_append(out, "\n", 1);
		at += line_len + 1;
	}
}

/* Cut at a character's end. */
static size_t cut(const char *text, size_t len, size_t room)
{
	if (len <= room)
		return len;
	while (room > 0 && ((unsigned char)text[room] & 0xc0) == 0x80)
		room--;
	return room;
}

/* "label: text", text of more lines below the label. */
static void put_labelled(struct buf *out, const char *label, const char *data, size_t len)
{
	auto_buf struct buf text;
	buf_init(&text, TEXT_MAX);
	put_text(&text, data, len);
	if (text.len == 0)
		return;
	bool is_one_line = memchr(text.data, '\n', text.len) == text.data + text.len - 1;
	(void)buf_printf(out, "%s%s", label, is_one_line ? " " : "\n");
	(void)buf_append(out, text.data, text.len);
}

/* A short quote without blanks before it. */
static void put_quote(struct buf *out, const char *text)
{
	char line[LINE_MAX_BYTES];
	(void)buf_printf(out, "%s", utf8_line(text + strspn(text, " \t"), line, sizeof(line)));
}

/* ---- output ---------------------------------------------------------------------------------- */

static bool starts(const char *line, size_t len, const char *word)
{
	return len >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* Where the lines begin that only lead to the next trace: "During handling of …". */
static bool is_chain(const char *line, size_t len)
{
	return starts(line, len, "During handling of the above exception") ||
	       starts(line, len, "The above exception was the direct cause");
}

/* "/home/user/main.js:2": how node begins to tell of an error. */
static bool is_place(const char *line, size_t len)
{
	if (!starts(line, len, "/home/user/") || len < 3)
		return false;
	size_t digits = 0;
	while (digits < len && line[len - 1 - digits] >= '0' && line[len - 1 - digits] <= '9')
		digits++;
	return digits > 0 && digits < len && line[len - 1 - digits] == ':';
}

/* How much of stderr comes before the trace that the error sums up. Python's and node's are known;
 * an earlier trace, which the program printed itself, stays. */
static size_t before_trace(const char *text, size_t len)
{
	size_t found = len;
	bool is_chained = false;
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - text) - at : len - at;
		const char *line = text + at;
		bool is_trace = starts(line, line_len, "Traceback (most recent call last):");
		bool is_syntax = found == len && starts(line, line_len, "  File \"");
		if ((is_trace && !is_chained) || is_syntax || is_place(line, line_len))
			found = at;
		if (is_trace)
			is_chained = false;
		is_chained |= is_chain(line, line_len);
		at += line_len + 1;
	}
	return found;
}

static bool is_brief(const char *text, size_t len)
{
	size_t lines = 1;
	for (size_t i = 0; i + 1 < len; i++)
		lines += text[i] == '\n';
	return lines <= BRIEF_LINES;
}

static size_t wanted_stderr(const struct result *result)
{
	const struct captured *err = &result->err;
	const struct failure *error = &result->error;
	if (!err->text || !error->name)
		return err->text ? err->len : 0;
	size_t len = before_trace(err->text, err->len);
	if (len < err->len)
		return len;
	bool is_said = error->value && error->value[0] &&
		       memmem(err->text, err->len, error->value, strlen(error->value));
	return is_said && is_brief(err->text, err->len) ? 0 : err->len;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *text_of(struct json_object *bundle)
{
	static const char *const mimes[] = { "text/plain", "text/markdown", "text/latex" };
	struct json_object *value = NULL;
	for (size_t i = 0; i < COUNT_OF(mimes); i++)
		if (json_object_object_get_ex(bundle, mimes[i], &value) &&
			json_object_is_type(value, json_type_string))
			return json_object_get_string(value);
	if (json_object_object_get_ex(bundle, "application/json", &value))
		return json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
	return NULL;
}

/* "[image/png, text/html]": what has no text is at least named. */
static char *kinds_of(struct json_object *bundle)
{
	auto_buf struct buf kinds;
	char name[64];
	size_t count = 0;
	buf_init(&kinds, LINE_MAX_BYTES);
	json_object_object_foreach(bundle, mime, value)
	{
		(void)value;
		(void)buf_printf(
			&kinds, "%s%s", count++ ? ", " : "", utf8_line(mime, name, sizeof(name)));
	}
	return xasprintf("[%s]", buf_text(&kinds));
}

static struct json_object *read_part(const char *text)
{
	struct json_object *json = NULL;
	struct err err = { 0 };
	(void)json_read(text, strlen(text), LIMIT_OUTPUT_BYTES, LIMIT_FRAME_DEPTH, &json, &err);
	return json;
}

static bool is_printed(const struct output *output)
{
	auto_json struct json_object *metadata = read_part(output->metadata);
	return json_object_get_boolean(json_object_object_get(metadata, "printed"));
}

static void put_values(struct buf *out, const struct result *result, size_t room)
{
	for (size_t i = 0; i < result->output_count; i++) {
		const struct output *output = &result->outputs[i];
		auto_json struct json_object *bundle = read_part(output->data);
		if (!bundle || is_printed(output) || json_object_object_length(bundle) == 0)
			continue;
		const char *found = text_of(bundle);
		auto_free char *text = found ? xstrdup(found) : kinds_of(bundle);
		size_t len = strlen(text);
		size_t shown = cut(text, len, room);
		room -= shown;
		if (output->is_result)
			put_labelled(out, "=>", text, shown);
		else
			put_text(out, text, shown);
		if (shown < len)
			(void)buf_printf(out, "[… %zu more bytes of the value]\n", len - shown);
	}
}

/* ---- the error ------------------------------------------------------------------------------- */

/* ": division by zero"; some errors say more than a line. */
static void put_said(struct buf *out, const char *value)
{
	size_t len = value ? strlen(value) : 0;
	auto_buf struct buf text;
	buf_init(&text, TEXT_MAX);
	put_text(&text, value ? value : "", cut(value, len, VALUE_MAX));
	if (text.len > 0)
		(void)buf_printf(out, ": %.*s%s", (int)(text.len - 1), text.data,
			len > VALUE_MAX ? "…" : "");
}

/* The exact messages stand for themselves; "Execution failed: " only repeats stderr. */
static void put_message(struct buf *out, const struct result *result)
{
	const struct failure *error = &result->error;
	static const char repeats[] = "Execution failed:";
	bool is_exact = error->message && strncmp(error->message, repeats, strlen(repeats)) != 0;
	(void)buf_printf(out, "error: ");
	if (is_exact) {
		put_quote(out, error->message);
	} else if (error->name) {
		put_quote(out, error->name);
		put_said(out, error->value);
	} else if (result->signal) {
		(void)buf_printf(
			out, "killed by signal %d (%s)", result->signal, strsignal(result->signal));
	} else {
		(void)buf_printf(out, "exit status %d", result->exit_code);
	}
	if (!is_exact && error->name && !result->signal && result->exit_code > 1)
		(void)buf_printf(out, " (exit status %d)", result->exit_code);
	(void)buf_append(out, "\n", 1);
}

/* The frame where it happened, in the user's own code; NULL: unknown. */
static const struct trace_frame *own_frame(const struct failure *error)
{
	for (size_t i = error->trace_count; i-- > 0;)
		if (error->trace[i].line == error->line)
			return &error->trace[i];
	return NULL;
}

static void put_callers(struct buf *out, const struct failure *error, const struct trace_frame *own)
{
	size_t count = 0;
	for (const struct trace_frame *frame = own; frame-- > error->trace;) {
		bool is_same = frame->file && own->file && strcmp(frame->file, own->file) == 0;
		if (!is_same || frame->line <= 0)
			continue;
		if (++count > CALLERS_MAX)
			break;
		(void)buf_printf(
			out, "%s%" PRId64, count == 1 ? " (called from line " : ", ", frame->line);
	}
	if (count > CALLERS_MAX)
		(void)buf_printf(out, ", …");
	if (count > 0)
		(void)buf_append(out, ")", 1);
}

static void put_error(struct buf *out, const struct result *result)
{
	const struct failure *error = &result->error;
	if (result->status == STATUS_OK)
		return;
	put_message(out, result);
	const struct trace_frame *own = error->line > 0 ? own_frame(error) : NULL;
	if (error->line > 0) {
		(void)buf_printf(out, "line %" PRId64, error->line);
		if (own && own->source && own->source[0]) {
			(void)buf_printf(out, ": ");
			put_quote(out, own->source);
		}
		if (own)
			put_callers(out, error, own);
		(void)buf_append(out, "\n", 1);
	}
	if (result->hint)
		put_labelled(out, "hint:", result->hint, strlen(result->hint));
}

/* ---- files and limits ------------------------------------------------------------------------ */

static void put_files(struct buf *out, const struct result *result)
{
	char line[LINE_MAX_BYTES];
	for (size_t i = 0; i < result->file_count && i < FILES_MAX; i++) {
		const struct out_file *file = &result->files[i];
		const char *path = file->saved_to ? file->saved_to : file->path;
		(void)buf_printf(out, "%s%s%s",
			i ? ", " : "files: ", utf8_line(path, line, sizeof(line)),
			file->saved_to ? "" : " (refused)");
	}
	if (result->file_count > FILES_MAX)
		(void)buf_printf(out, ", … %zu in all", result->file_count);
	if (result->file_count > 0)
		(void)buf_append(out, "\n", 1);
}

/* The limit that a layer holds, as the spec has it. */
static bool put_limit(struct buf *out, const struct spec *spec, const char *layer)
{
	/* clang-format off */
	static const struct { const char *layer, *field; } limits[] = {
		{ "time", "timeout" }, { "cpu", "cpu_time" }, { "memory", "memory" }, { "pids", "pids" },
		{ "disk", "disk" }, { "inodes", "inodes" }, { "output", "output_limit" },
	};
	/* clang-format on */
	for (size_t i = 0; i < COUNT_OF(limits); i++) {
		if (strcmp(limits[i].layer, layer) != 0)
			continue;
		char text[32];
		const struct field *field = spec_field(limits[i].field);
		int64_t value = *(const int64_t *)field_slot(spec, field);
		if (field->type == FIELD_SECONDS)
			units_format_milli(value, text, sizeof(text));
		else if (field->type == FIELD_SIZE)
			units_format_size(value, text, sizeof(text));
		else
			units_format_count(value, text, sizeof(text));
		(void)buf_printf(
			out, "%s %s%s", field->name, text, field->type == FIELD_SECONDS ? "s" : "");
		return true;
	}
	return false;
}

static void put_denial(struct buf *out, const struct denial *denial, const struct result *result,
	const struct spec *spec)
{
	auto_free char *what = xasprintf("%s refused %s%s%s", denial->layer, denial->operation,
		denial->target[0] ? " " : "", denial->target);
	(void)buf_printf(out, "%s", out->len ? "; " : "");
	if (!put_limit(out, spec, denial->layer))
		put_quote(out, what);
	/* the hint has told which option helps */
	if (!denial->option[0] || (result->hint && strstr(result->hint, denial->option)))
		return;
	(void)buf_printf(out, " (");
	put_quote(out, denial->option);
	(void)buf_printf(out, " allows it)");
}

static void put_cut(struct buf *out, const struct captured *captured, const char *name)
{
	char size[32];
	if (!captured->is_truncated)
		return;
	units_format_size((captured->total_bytes + 1023) / 1024 * 1024, size, sizeof(size));
	(void)buf_printf(out, "%s%s shortened from %s", out->len ? "; " : "", name, size);
	if (!captured->spilled_to)
		return;
	(void)buf_printf(out, " (all of it: ");
	put_quote(out, captured->spilled_to);
	(void)buf_printf(out, ")");
}

static void put_limits(struct buf *out, const struct result *result, const struct spec *spec)
{
	auto_buf struct buf limits;
	buf_init(&limits, TEXT_MAX);
	for (size_t i = 0; i < result->denial_count && i < DENIALS_MAX; i++)
		put_denial(&limits, &result->denials[i], result, spec);
	if (result->denial_count > DENIALS_MAX)
		(void)buf_printf(&limits, "; %zu more", result->denial_count - DENIALS_MAX);
	put_cut(&limits, &result->out, "stdout");
	put_cut(&limits, &result->err, "stderr");
	if (limits.len > 0)
		(void)buf_printf(out, "limits: %s\n", buf_text(&limits));
}

char *result_compact(const struct result *result, const struct spec *spec)
{
	auto_buf struct buf out;
	buf_init(&out, TEXT_MAX);
	put_text(&out, result->out.text ? result->out.text : "", result->out.len);
	put_labelled(
		&out, "stderr:", result->err.text ? result->err.text : "", wanted_stderr(result));
	put_values(&out, result, spec->max_output > 0 ? (size_t)spec->max_output : 0);
	put_error(&out, result);
	put_files(&out, result);
	put_limits(&out, result, spec);
	return xstrdup(out.len > 0 ? buf_text(&out) : "(no output)\n");
}
