/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result for people. On a terminal rich values are shown in the best form it can do, and a
 * failure with the line it happened on, a hint and what was stopped; anywhere else only hotcell's
 * own words go to stderr, as plain lines. Every text here may come from the cell: it is measured,
 * bounded and made visible on its way out.
 */
#include "cli/show.h"

#include <ctype.h>
#include <string.h>

#include "base/io.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/view.h"
#include "model/units.h"
#include "wire/utf8.h"

#define TABLE_TYPE "application/vnd.hotcell.table+json"

enum {
	SHOWN_MAX = 32 << 20,  /* bytes of everything shown after a run */
	READING_COLUMNS = 110, /* a hint is not spread wider than this */
	LINE_COLUMNS = 4000,   /* of one line of a text value */
};

/* ---- values ------------------------------------------------------------------------------------
 */

static struct json_object *member(struct json_object *bundle, const char *mime)
{
	struct json_object *value = NULL;
	return json_object_object_get_ex(bundle, mime, &value) ? value : NULL;
}

static bool is_text(struct json_object *value)
{
	return json_object_is_type(value, json_type_string);
}

static void put_note(struct buf *out, const struct term *term, const char *note)
{
	style_begin(out, term, STYLE_DIM);
	(void)buf_printf(out, "%s", note);
	style_end(out, term, STYLE_DIM);
	(void)buf_append(out, "\n", 1);
}

/* Text of any number of lines; each is made safe, those past VIEW_LINES are counted. */
static void put_text(struct buf *out, const char *text, size_t len, const struct term *term)
{
	size_t line_count = 0;
	while (len > 0 && text[len - 1] == '\n')
		len--;
	for (size_t at = 0; at <= len; line_count++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - text) - at : len - at;
		if (line_count < VIEW_LINES) {
			(void)text_put(out, text + at, line_len, LINE_COLUMNS);
			(void)buf_append(out, "\n", 1);
		}
		at += line_len + 1;
	}
	if (line_count <= VIEW_LINES)
		return;
	auto_free char *note = xasprintf("… %zu more lines of %zu; --json has all of them",
		line_count - VIEW_LINES, line_count);
	put_note(out, term, note);
}

/* "Out: " before the value of the last expression, on a line of its own when more lines follow.
 * Returns the columns it took of the value's first line. */
static int put_out(struct buf *out, const struct show *show, bool has_lines)
{
	char label[40] = "Out:";
	if (show->number > 0)
		(void)snprintf(label, sizeof(label), "Out[%lld]:", (long long)show->number);
	style_begin(out, &show->out, STYLE_OUT);
	(void)buf_printf(out, "%s", label);
	style_end(out, &show->out, STYLE_OUT);
	(void)buf_printf(out, has_lines ? "\n" : " ");
	return has_lines ? 0 : (int)strlen(label) + 1;
}

static bool put_table(
	struct buf *out, struct json_object *bundle, struct show *show, bool is_result)
{
	auto_buf struct buf text = { 0 };
	struct json_object *table = member(bundle, TABLE_TYPE);
	buf_init(&text, SHOWN_MAX);
	if (!table || !table_put(&text, table, &show->out, show->max_rows))
		return false;
	if (is_result)
		(void)put_out(out, show, true);
	(void)buf_append(out, buf_text(&text), text.len);
	return true;
}

static bool put_picture(
	struct buf *out, struct json_object *bundle, struct show *show, bool is_result)
{
	static const char *const mimes[] = { "image/png", "image/jpeg", "image/gif",
		"image/svg+xml" };
	for (size_t i = 0; i < COUNT_OF(mimes); i++) {
		struct json_object *picture = member(bundle, mimes[i]);
		if (!is_text(picture))
			continue;
		if (is_result)
			(void)put_out(out, show, true);
		picture_put(out, mimes[i], json_object_get_string(picture),
			(size_t)json_object_get_string_len(picture), &show->out,
			show->interrupt_fd);
		return true;
	}
	return false;
}

/* At a prompt a value is read as its language writes it, as long as that is short. */
static bool is_short_text(struct json_object *bundle, const struct show *show)
{
	struct json_object *plain = member(bundle, "text/plain");
	if (show->number == 0 || !is_text(plain))
		return false;
	const char *text = json_object_get_string(plain);
	return !strchr(text, '\n') &&
	       text_put(NULL, text, strlen(text), LINE_COLUMNS) < show->out.columns - 10;
}

static bool put_json(struct buf *out, struct json_object *bundle, struct show *show, bool is_result)
{
	struct json_object *json = member(bundle, "application/json");
	int column = 0;
	if (!json || is_short_text(bundle, show))
		return false;
	if (is_result)
		column = put_out(out, show, false);
	if (!json_view_put(out, json, &show->out, column))
		put_note(out, &show->out, "… more; --json has all of it");
	return true;
}

/* Markdown and TeX are readable as they are; HTML without a text beside it is not. */
static bool put_plain(
	struct buf *out, struct json_object *bundle, struct show *show, bool is_result)
{
	static const char *const mimes[] = { "text/plain", "text/markdown", "text/latex" };
	for (size_t i = 0; i < COUNT_OF(mimes); i++) {
		struct json_object *value = member(bundle, mimes[i]);
		if (!is_text(value))
			continue;
		const char *text = json_object_get_string(value);
		if (is_result)
			(void)put_out(out, show, strchr(text, '\n') != NULL);
		put_text(out, text, (size_t)json_object_get_string_len(value), &show->out);
		return true;
	}
	return false;
}

static void put_kinds(
	struct buf *out, struct json_object *bundle, struct show *show, bool is_result)
{
	int count = 0;
	if (is_result)
		(void)put_out(out, show, false);
	style_begin(out, &show->out, STYLE_DIM);
	(void)buf_printf(out, "[");
	json_object_object_foreach(bundle, mime, value)
	{
		(void)value;
		if (count++ < 4) {
			(void)buf_printf(out, count > 1 ? ", " : "");
			(void)text_put(out, mime, strlen(mime), 40);
		}
	}
	(void)buf_printf(out, "%s; --json has it]", count > 4 ? ", …" : "");
	style_end(out, &show->out, STYLE_DIM);
	(void)buf_append(out, "\n", 1);
}

/* NULL when it is no JSON. The caller's, to be freed. */
static struct json_object *read_part(const char *text)
{
	struct json_object *json = NULL;
	struct err err = { 0 };
	(void)json_read(text, strlen(text), LIMIT_OUTPUT_BYTES, LIMIT_FRAME_DEPTH, &json, &err);
	return json;
}

/* A table or a picture is worth a look wherever it comes from; that a file's last line came to 31
 * is not. */
static bool is_worth_showing(struct json_object *bundle)
{
	json_object_object_foreach(bundle, type, value)
	{
		(void)value;
		if (strcmp(type, TABLE_TYPE) == 0 || strncmp(type, "image/", 6) == 0)
			return true;
	}
	return false;
}

/* The program put it on its output itself. */
static bool is_printed(const struct output *output)
{
	auto_json struct json_object *metadata = read_part(output->metadata);
	return json_object_get_boolean(json_object_object_get(metadata, "printed"));
}

static void put_value(struct buf *out, const struct output *output, struct show *show)
{
	/* the best form first */
	static bool (*const views[])(struct buf *, struct json_object *, struct show *,
		bool) = { put_table, put_picture, put_json, put_plain };
	auto_json struct json_object *bundle = read_part(output->data);
	if (!bundle || is_printed(output) ||
		(output->is_result && !show->is_snippet && !is_worth_showing(bundle)))
		return;
	if (show->is_midline)
		(void)buf_append(out, "\n", 1);
	show->is_midline = false;
	for (size_t i = 0; i < COUNT_OF(views); i++) {
		if (views[i](out, bundle, show, output->is_result))
			return;
	}
	if (json_object_object_length(bundle) > 0)
		put_kinds(out, bundle, show, output->is_result);
}

void show_values(struct show *show, const struct result *result)
{
	if (!show->out.is_rich || result->output_count == 0)
		return;
	for (size_t i = 0; i < result->output_count; i++) {
		auto_buf struct buf text = { 0 };
		buf_init(&text, SHOWN_MAX);
		put_value(&text, &result->outputs[i], show);
		if (io_write_until(show->out.fd, buf_text(&text), text.len, show->interrupt_fd) < 0)
			return;
	}
}

/* ---- words -------------------------------------------------------------------------------------
 */

/* The part of a line of context before the code: blanks, ">", the number and the bar. */
static size_t gutter_len(const char *line)
{
	size_t len = strspn(line, " >*0123456789");
	static const char *const bars[] = { "│", "|" };
	for (size_t i = 0; i < COUNT_OF(bars); i++) {
		if (strncmp(line + len, bars[i], strlen(bars[i])) == 0)
			return len + strlen(bars[i]);
	}
	return 0;
}

static void put_context(struct buf *out, const struct failure *failure, const char *language,
	const struct term *term)
{
	struct highlight *highlight = highlight_load(language);
	struct highlight_state state = { 0 };
	for (size_t i = 0; i < failure->context_count; i++) {
		const char *line = failure->context[i];
		size_t len = strlen(line);
		size_t gutter = gutter_len(line);
		bool is_caret = gutter < len && strspn(line + gutter, " ^~-") == len - gutter;
		int used;
		style_begin(out, term, memchr(line, '>', gutter) ? STYLE_ERROR : STYLE_DIM);
		used = text_put(out, line, gutter, term->columns);
		style_end(out, term, STYLE_DIM);
		if (is_caret) {
			style_begin(out, term, STYLE_ERROR);
			(void)text_put(out, line + gutter, len - gutter, term->columns - used);
			style_end(out, term, STYLE_ERROR);
		} else {
			(void)highlight_put(out, highlight, &state, line + gutter, len - gutter,
				term, term->columns - used);
		}
		(void)buf_append(out, "\n", 1);
	}
	highlight_free(highlight);
}

static bool is_link(const char *word, size_t len)
{
	return (len > 8 && memcmp(word, "https://", 8) == 0) ||
	       (len > 7 && memcmp(word, "http://", 7) == 0);
}

/* Words wrapped to the terminal, each line but the first indented; links stand out. */
static void put_wrapped(struct buf *out, const char *text, int column, const struct term *term)
{
	int right = term->columns < READING_COLUMNS ? term->columns : READING_COLUMNS;
	int indent = column;
	while (*text != '\0') {
		size_t blanks = strspn(text, " \n\t");
		bool is_new_line = memchr(text, '\n', blanks) != NULL;
		text += blanks;
		size_t len = strcspn(text, " \n\t");
		if (len == 0)
			break;
		int width = text_put(NULL, text, len, LINE_COLUMNS);
		if (is_new_line || (column > indent && column + 1 + width > right)) {
			(void)buf_append(out, "\n", 1);
			text_pad(out, indent);
			column = indent;
		} else if (column > indent) {
			(void)buf_append(out, " ", 1);
			column++;
		}
		enum style style = is_link(text, len) ? STYLE_LINK : STYLE_NONE;
		style_begin(out, term, style);
		column += text_put(out, text, len, LINE_COLUMNS);
		style_end(out, term, style);
		text += len;
	}
	(void)buf_append(out, "\n", 1);
}

static void put_labelled(
	struct buf *out, const char *label, const char *text, const struct term *term)
{
	style_begin(out, term, STYLE_HINT);
	(void)buf_printf(out, "%s:", label);
	style_end(out, term, STYLE_HINT);
	(void)buf_append(out, " ", 1);
	put_wrapped(out, text, (int)strlen(label) + 2, term);
}

/* A line of ours: "hotcell: WHAT: text". */
static void put_own(struct buf *out, const struct term *term, const char *what, const char *text)
{
	char line[1024];
	(void)buf_printf(out, "hotcell: ");
	if (what) {
		style_begin(out, term, STYLE_ERROR);
		(void)buf_printf(out, "%s", what);
		style_end(out, term, STYLE_ERROR);
		(void)buf_printf(out, ": ");
	}
	(void)buf_printf(out, "%s\n", utf8_line(text, line, sizeof(line)));
}

static bool is_told(const struct result *result, const struct term *term, const char *option)
{
	return term->is_rich && result->hint && option[0] && strstr(result->hint, option);
}

static void put_denials(struct buf *out, const struct result *result, const struct term *term)
{
	char line[256];
	for (size_t i = 0; i < result->denial_count; i++) {
		const struct denial *denial = &result->denials[i];
		if ((denial->option[0] == '\0' && result->status == STATUS_OK) ||
			is_told(result, term, denial->option))
			continue;
		auto_free char *what = xasprintf("stopped by %s", denial->layer);
		auto_free char *text = xasprintf("%s%s%s%s%s", denial->operation,
			denial->target[0] ? " " : "", utf8_line(denial->target, line, sizeof(line)),
			denial->option[0] ? "; to allow it: " : "", denial->option);
		put_own(out, term, what, text);
	}
}

static void put_files(struct buf *out, const struct result *result, const struct term *term)
{
	char line[1024];
	for (size_t i = 0; i < result->file_count; i++) {
		const struct out_file *file = &result->files[i];
		if (!file->refused)
			continue;
		auto_free char *text = xasprintf("--out: '%s' was not taken: %s",
			utf8_line(file->path, line, sizeof(line)), file->refused);
		put_own(out, term, NULL, text);
	}
}

static bool has_own_word(enum run_status status)
{
	return status != STATUS_OK && status != STATUS_ERROR && status != STATUS_SETUP_ERROR;
}

void show_words(struct show *show, const struct result *result)
{
	const struct term *term = &show->err;
	auto_buf struct buf text = { 0 };
	buf_init(&text, SHOWN_MAX);
	if (term->is_rich && result->error.context_count > 0) {
		(void)buf_append(&text, "\n", 1);
		put_context(&text, &result->error, result->language, term);
	}
	if (has_own_word(result->status) && result->error.message)
		put_own(&text, term, run_status_names[result->status], result->error.message);
	put_denials(&text, result, term);
	for (size_t i = 0; i < result->warning_count; i++)
		put_own(&text, term, NULL, result->warnings[i]);
	put_files(&text, result, term);
	if (term->is_rich && result->hint)
		put_labelled(&text, "hint", result->hint, term);
	if (term->is_rich && result->error.documentation)
		put_labelled(&text, "docs", result->error.documentation, term);
	if (text.len == 0)
		return;
	if (show->is_midline && term->is_terminal)
		(void)io_write_until(term->fd, "\n", 1, show->interrupt_fd);
	show->is_midline = false;
	(void)io_write_until(term->fd, buf_text(&text), text.len, show->interrupt_fd);
}

static void note_cut(struct result *result, const struct captured *captured, const char *name)
{
	char size[32];
	const struct field *field = spec_field("max_output");
	if (!captured->is_truncated)
		return;
	if (captured->spilled_to) {
		result_warn(result, "%s: shortened from %lld bytes; all of it is in '%s'", name,
			(long long)captured->total_bytes, captured->spilled_to);
		return;
	}
	units_format_size(captured->total_bytes, size, sizeof(size));
	bool is_possible = field && captured->total_bytes <= field->max;
	result_warn(result, "%s: shortened from %lld bytes; %s%s%s--spill DIR keeps all of it",
		name, (long long)captured->total_bytes, is_possible ? "--max-output " : "",
		is_possible ? size : "", is_possible ? " or " : "");
}

void show_note_cuts(struct result *result)
{
	note_cut(result, &result->out, "stdout");
	note_cut(result, &result->err, "stderr");
}
