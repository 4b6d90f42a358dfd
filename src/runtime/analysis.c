/* SPDX-License-Identifier: Apache-2.0 */
/* A failed run looked at: the theory is in analysis.h. */
#include "runtime/analysis.h"

#include <string.h>

#include "base/own.h"
#include "model/limits.h"
#include "wire/utf8.h"

bool regex_open(regex_t *regex, const char *pattern, int flags)
{
	return regcomp(regex, pattern, REG_EXTENDED | flags) == 0;
}

bool span_matches(const regex_t *regex, struct span span, regmatch_t groups[ANALYSIS_GROUPS])
{
	char text[ANALYSIS_LINE_BYTES + 1];
	size_t len = span.len < ANALYSIS_LINE_BYTES ? span.len : ANALYSIS_LINE_BYTES;
	if (!span.at)
		return false;
	memcpy(text, span.at, len);
	text[len] = '\0';
	return regexec(regex, text, groups ? ANALYSIS_GROUPS : 0, groups, 0) == 0;
}

bool span_matches_pattern(const char *pattern, struct span span, regmatch_t groups[ANALYSIS_GROUPS])
{
	regex_t regex;
	if (!regex_open(&regex, pattern, 0))
		return false;
	bool is_match = span_matches(&regex, span, groups);
	regfree(&regex);
	return is_match;
}

struct span span_group(struct span span, const regmatch_t *group)
{
	if (group->rm_so < 0)
		return (struct span){ 0 };
	return (struct span){ span.at + group->rm_so, (size_t)(group->rm_eo - group->rm_so) };
}

/* The length of a colour or other control sequence at `at`; 0: there is none. */
static size_t escape_length(const char *at, size_t len)
{
	if (len < 2 || at[0] != '\033' || at[1] != '[')
		return 0;
	size_t used = 2;
	while (used < len && (unsigned char)at[used] >= 0x20 && (unsigned char)at[used] < 0x40)
		used++;
	return used < len ? used + 1 : used;
}

char *span_clean(struct span span, size_t max)
{
	size_t len = 0, used = 0;
	char *text = utf8_repair(span.at, span.len < max ? span.len : max, &len);
	for (size_t i = 0; i < len;) {
		size_t escape = escape_length(text + i, len - i);
		i += escape;
		if (escape > 0 || i >= len)
			continue;
		bool is_control = (unsigned char)text[i] < 0x20 || text[i] == 0x7f;
		text[used++] = is_control ? ' ' : text[i];
		i++;
	}
	text[used] = '\0';
	return text;
}

struct span code_line(const struct analysis_input *input, int64_t number)
{
	const char *at = input->code;
	const char *end = at ? at + input->code_len : NULL;
	for (int64_t i = 1; at && at < end && i < number; i++) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		at = next ? next + 1 : end;
	}
	if (!at || at >= end || number < 1)
		return (struct span){ 0 };
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	size_t len = (size_t)((stop ? stop : end) - at);
	if (len > 0 && at[len - 1] == '\r')
		len--;
	return (struct span){ at, len };
}

bool is_program(const struct analysis_input *input, const char *file)
{
	if (!file)
		return false;
	static const char *const foreign[] = { "/usr/", "/lib/", "/opt/", "node:", "<" };
	for (size_t i = 0; i < COUNT_OF(foreign); i++)
		if (strncmp(file, foreign[i], strlen(foreign[i])) == 0)
			return false;
	const char *slash = strrchr(file, '/');
	return strcmp(slash ? slash + 1 : file, input->program) == 0;
}

static struct span line_at(const char *at, const char *end)
{
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	struct span line = { at, (size_t)((stop ? stop : end) - at) };
	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	return line;
}

/* Of a long text the first and the last lines: compilers begin with what matters, interpreters
 * end with it. */
static void split_lines(struct analysis *analysis, const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	size_t half = ANALYSIS_LINES / 2, tail = 0;
	while (at < end && analysis->line_count < half) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		analysis->lines[analysis->line_count++] = line_at(at, end);
		at = stop ? stop + 1 : end;
	}
	const char *from = end;
	while (from > at && tail < half) {
		const char *before = memrchr(at, '\n', (size_t)(from - at - 1));
		from = before ? before + 1 : at;
		tail++;
	}
	for (; from < end && analysis->line_count < ANALYSIS_LINES;) {
		const char *stop = memchr(from, '\n', (size_t)(end - from));
		analysis->lines[analysis->line_count++] = line_at(from, end);
		from = stop ? stop + 1 : end;
	}
}

/* Opens NAME's book and those it is like. A book that cannot be read takes nothing from the
 * result but its analysis, and says so. */
static void open_books(struct analysis *analysis, const char *language)
{
	auto_free char *name = xstrdup(language);
	while (name && analysis->book_count < ANALYSIS_BOOKS) {
		auto_buf struct buf text = { 0 };
		auto_free char *path = NULL;
		struct err err = { 0 };
		struct json_object *book = NULL;
		buf_init(&text, LIMIT_BOOK_BYTES);
		int r = runtime_read(name, "errors.json", &text, &path, &err);
		if (r == 0 && !path)
			return;
		if (r < 0 || book_read(buf_text(&text), text.len, path, &book, &err) < 0) {
			result_warn(analysis->result, "no error analysis: %s", err.text);
			return;
		}
		analysis->books[analysis->book_count++] = book;
		const char *like = field_text(book, "like");
		free(name);
		name = like ? xstrdup(like) : NULL;
	}
}

/* The deepest frame in the user's code is the line that says most to its author. */
static void pick_line(const struct analysis_input *input, struct failure *failure)
{
	for (size_t i = failure->trace_count; i > 0 && failure->line == 0; i--) {
		const struct trace_frame *frame = &failure->trace[i - 1];
		if (!is_program(input, frame->file))
			continue;
		failure->line = frame->line;
		failure->column = frame->column;
	}
}

static void fill_sources(const struct analysis_input *input, struct failure *failure)
{
	for (size_t i = 0; i < failure->trace_count; i++) {
		struct trace_frame *frame = &failure->trace[i];
		if (frame->source || !is_program(input, frame->file))
			continue;
		struct span line = code_line(input, frame->line);
		while (line.len > 0 && (*line.at == ' ' || *line.at == '\t'))
			line = (struct span){ line.at + 1, line.len - 1 };
		if (line.at)
			frame->source = span_clean(line, ANALYSIS_LINE_BYTES);
	}
}

/* A language may have its own words for a kind of error. */
static void set_message(const struct analysis *analysis, struct failure *failure)
{
	struct json_object *messages = analysis_field(analysis, "messages");
	const char *words = messages ? field_text(messages, failure->kind) : NULL;
	if (!words || failure->message)
		return;
	const char *value = failure->value ? failure->value : "";
	failure->message = failure->line ? xasprintf("%s%s (line %lld)", words, value,
						   (long long)failure->line)
					 : xasprintf("%s%s", words, value);
}

/* A runner that knows no place knows less about it than the words its interpreter printed. What it
 * does know stays: the value, and the kind, unless the words tell of a text that never ran. */
static void read_trace(struct analysis *analysis)
{
	struct failure *failure = &analysis->result->error;
	struct failure told = *failure;
	if (told.name && (told.line > 0 || told.trace_count > 0))
		return;
	*failure = (struct failure){ 0 };
	trace_parse(analysis);
	if (told.name && failure->line == 0 && failure->trace_count == 0) {
		failure_done(failure);
		*failure = told;
		return;
	}
	bool never_ran = strcmp(failure->kind, "syntax") == 0 && strcmp(told.kind, "runtime") == 0;
	if (told.name && !never_ran)
		memcpy(failure->kind, told.kind, sizeof(failure->kind));
	if (told.value) {
		free(failure->value);
		failure->value = take_ptr(&told.value);
	}
	failure_done(&told);
}

void analyse(const struct analysis_input *input, struct result *result)
{
	struct analysis *analysis = xcalloc(1, sizeof(*analysis));
	struct failure *failure = &result->error;
	bool is_error = result->status == STATUS_ERROR || result->status == STATUS_SIGNAL ||
			result->status == STATUS_DISK_LIMIT;
	analysis->input = input;
	analysis->result = result;
	open_books(analysis, input->language);
	if (analysis->book_count < ANALYSIS_BOOKS)
		open_books(analysis, "common");
	if (result->err.text)
		split_lines(analysis, result->err.text, result->err.len);
	if (is_error)
		read_trace(analysis);
	pick_line(input, failure);
	fill_sources(input, failure);
	if (is_error)
		set_message(analysis, failure);
	context_fill(input, failure);
	hint_find(analysis);
	for (size_t i = 0; i < analysis->book_count; i++)
		json_free(&analysis->books[i]);
	free(analysis);
}
