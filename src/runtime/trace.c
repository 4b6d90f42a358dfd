/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error text becomes name, value and frames. Line by line: the first rule under "lines" that
 * fits says what its groups are. A rule may begin a new error, so that of several tracebacks the
 * last is told (or the first, for compilers, whose later errors follow from it); and it may be
 * tied to a state, which earlier lines have set: in most languages a line is the name of an error
 * only where a trace was going on.
 */
#include "runtime/analysis.h"

#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "wire/utf8.h"

enum { TRACE_RULES = 40, VALUE_BYTES = 4000, FRAME_BYTES = 400, STATE_BYTES = 16 };

struct line_rule {
	struct json_object *json; /* borrowed */
	regex_t regex;
};

/* What was read so far. */
struct reading {
	struct analysis *analysis;
	struct failure *failure;
	struct line_rule rules[TRACE_RULES];
	size_t rule_count;
	struct trace_frame top;
	char *function; /* owned; named on a line before its place */
	char state[STATE_BYTES];
	bool has_error;
	bool is_inner_first;
	size_t shown_indent; /* of the source line shown last */
	struct trace_frame *shown;
};

static void drop_frame(struct trace_frame *frame)
{
	free(frame->file);
	free(frame->function);
	free(frame->source);
	*frame = (struct trace_frame){ 0 };
}

static void open_rules(struct reading *reading)
{
	const struct analysis *analysis = reading->analysis;
	for (size_t b = 0; b < analysis->book_count; b++) {
		struct json_object *lines = json_object_object_get(analysis->books[b], "lines");
		size_t count = lines ? json_object_array_length(lines) : 0;
		for (size_t i = 0; i < count && reading->rule_count < TRACE_RULES; i++) {
			struct line_rule *rule = &reading->rules[reading->rule_count];
			rule->json = json_object_array_get_idx(lines, i);
			const char *pattern = field_text(rule->json, "match");
			if (pattern && regex_open(&rule->regex, pattern, 0))
				reading->rule_count++;
		}
	}
}

static void forget(struct reading *reading)
{
	failure_done(reading->failure);
	drop_frame(&reading->top);
	free(take_ptr(&reading->function));
	reading->state[0] = '\0';
	reading->has_error = false;
	reading->shown = NULL;
}

static void set_text(char **slot, struct span span, size_t max)
{
	free(*slot);
	*slot = span_clean(span, max);
}

static int64_t number_of(struct span span)
{
	int64_t number = 0;
	for (size_t i = 0; i < span.len && i < 9 && isdigit((unsigned char)span.at[i]); i++)
		number = number * 10 + (span.at[i] - '0');
	return number;
}

/* Past the limit the outermost frames go: the user's line is near the inner end. */
static struct trace_frame *add_frame(struct reading *reading)
{
	struct failure *failure = reading->failure;
	if (failure->trace_count == LIMIT_TRACE && !reading->is_inner_first) {
		drop_frame(&failure->trace[0]);
		memmove(failure->trace, failure->trace + 1,
			(LIMIT_TRACE - 1) * sizeof(*failure->trace));
		failure->trace[LIMIT_TRACE - 1] = (struct trace_frame){ 0 };
		return &failure->trace[LIMIT_TRACE - 1];
	}
	return failure_add_frame(failure);
}

static size_t indent_of(struct span span)
{
	size_t indent = 0;
	while (indent < span.len && (span.at[indent] == ' ' || span.at[indent] == '\t'))
		indent++;
	return indent;
}

static int64_t characters(const char *at, size_t len)
{
	int64_t count = 0;
	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)at[i] & 0xc0) != 0x80;
	return count;
}

/* Interpreters show a line of code without its indentation, or with it, or only a piece of it:
 * what they showed is looked for in the line itself. */
static void take_caret(struct reading *reading, size_t at)
{
	struct trace_frame *frame = reading->shown;
	if (!frame || frame->column || at < reading->shown_indent)
		return;
	struct span real = code_line(reading->analysis->input, frame->line);
	if (!real.at || !is_program(reading->analysis->input, frame->file))
		return;
	const char *source = frame->source ? frame->source : "";
	source += strspn(source, " \t");
	const char *found = memmem(real.at, real.len, source, strlen(source));
	if (found)
		frame->column = (int64_t)(at - reading->shown_indent) +
				characters(real.at, (size_t)(found - real.at)) + 1;
}

/* The character at the cell of a terminal where tabs go to every eighth. */
static int64_t character_at_cell(struct span line, int64_t cell)
{
	int64_t at = 1, count = 1;
	for (size_t i = 0; i < line.len && at < cell; i++) {
		if (((unsigned char)line.at[i] & 0xc0) == 0x80)
			continue;
		at = line.at[i] == '\t' ? (at + 7) / 8 * 8 + 1 : at + 1;
		count++;
	}
	return count;
}

static int64_t column_of(const struct reading *reading, const struct trace_frame *frame)
{
	struct json_object *unit = analysis_field(reading->analysis, "columns");
	struct span real = code_line(reading->analysis->input, frame->line);
	if (!unit || frame->column < 1 || !real.at)
		return frame->column;
	if (strcmp(json_object_get_string(unit), "cells") == 0)
		return character_at_cell(real, frame->column);
	if ((size_t)frame->column > real.len)
		return frame->column;
	return characters(real.at, (size_t)frame->column - 1) + 1;
}

/* What one line says, by role. */
struct said {
	struct span file, line, column, function, name, value, source, caret;
};

static const struct {
	const char *name;
	size_t offset;
} roles[] = {
	{ "file", offsetof(struct said, file) },
	{ "line", offsetof(struct said, line) },
	{ "column", offsetof(struct said, column) },
	{ "function", offsetof(struct said, function) },
	{ "name", offsetof(struct said, name) },
	{ "value", offsetof(struct said, value) },
	{ "source", offsetof(struct said, source) },
	{ "caret", offsetof(struct said, caret) },
};

static void sort_groups(
	struct json_object *rule, struct span line, const regmatch_t *groups, struct said *said)
{
	struct json_object *names = json_object_object_get(rule, "roles");
	size_t count = names ? json_object_array_length(names) : 0;
	for (size_t i = 0; i < count && i + 1 < ANALYSIS_GROUPS; i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(names, i));
		struct span span = span_group(line, &groups[i + 1]);
		for (size_t k = 0; k < COUNT_OF(roles) && span.at; k++)
			if (strcmp(roles[k].name, name) == 0)
				*(struct span *)((char *)said + roles[k].offset) = span;
	}
}

static void take_frame(struct reading *reading, struct json_object *rule, const struct said *said)
{
	struct trace_frame made = { .line = number_of(said->line) };
	if (said->file.at)
		set_text(&made.file, said->file, FRAME_BYTES);
	else
		made.file = xstrdup(reading->analysis->input->program);
	if (said->column.at)
		made.column = number_of(said->column);
	made.column = column_of(reading, &made);
	made.function = take_ptr(&reading->function);
	if (said->function.len > 0)
		set_text(&made.function, said->function, FRAME_BYTES);
	bool is_top = field_is(rule, "top", false);
	struct trace_frame *frame = is_top ? &reading->top : add_frame(reading);
	if (!frame) {
		drop_frame(&made);
		return;
	}
	if (is_top)
		drop_frame(frame);
	*frame = made;
	reading->shown = frame;
	reading->shown_indent = 0;
}

static void take_error(struct reading *reading, struct json_object *rule, const struct said *said)
{
	struct failure *failure = reading->failure;
	const char *kind = field_text(rule, "kind");
	const char *name = field_text(rule, "name");
	const char *value = field_text(rule, "value");
	reading->has_error = true;
	if (name)
		set_text(&failure->name, (struct span){ name, strlen(name) }, FRAME_BYTES);
	if (said->name.len > 0)
		set_text(&failure->name, said->name, FRAME_BYTES);
	if (value)
		set_text(&failure->value, (struct span){ value, strlen(value) }, VALUE_BYTES);
	if (said->value.at)
		set_text(&failure->value, said->value, VALUE_BYTES);
	if (kind)
		(void)snprintf(failure->kind, sizeof(failure->kind), "%s", kind);
}

static void take_said(struct reading *reading, struct json_object *rule, struct span line,
	const struct said *said)
{
	if (said->line.at)
		take_frame(reading, rule, said);
	else if (said->function.at)
		set_text(&reading->function, said->function, FRAME_BYTES);
	if (said->source.at && reading->shown) {
		reading->shown_indent = indent_of(line);
		set_text(&reading->shown->source, said->source, FRAME_BYTES);
	}
	if (said->caret.at)
		take_caret(reading, (size_t)(said->caret.at - line.at));
	if (said->name.at || said->value.at || field_text(rule, "name"))
		take_error(reading, rule, said);
}

/* False: nothing after this line counts. */
static bool take_line(struct reading *reading, struct span line, bool is_first)
{
	for (size_t i = 0; i < reading->rule_count; i++) {
		regmatch_t groups[ANALYSIS_GROUPS];
		struct said said = { 0 };
		struct json_object *rule = reading->rules[i].json;
		const char *when = field_text(rule, "when");
		const char *then = field_text(rule, "then");
		if (when && strcmp(when, reading->state) != 0)
			continue;
		if (!span_matches(&reading->rules[i].regex, line, groups))
			continue;
		if (field_is(rule, "begins", false)) {
			if (reading->has_error && is_first)
				return false;
			forget(reading);
		}
		sort_groups(rule, line, groups, &said);
		take_said(reading, rule, line, &said);
		if (then)
			(void)snprintf(reading->state, sizeof(reading->state), "%s", then);
		return !field_is(rule, "ends", false);
	}
	return true;
}

static void turn_round(struct failure *failure)
{
	for (size_t i = 0; i < failure->trace_count / 2; i++) {
		struct trace_frame *a = &failure->trace[i];
		struct trace_frame *b = &failure->trace[failure->trace_count - 1 - i];
		struct trace_frame swap = *a;
		*a = *b;
		*b = swap;
	}
}

/* The place named apart from the trace counts where the trace has none in the user's code. Where
 * it has one, the code was running: a syntax error is then one of text that it read. */
static void settle_top(struct reading *reading)
{
	const struct analysis_input *input = reading->analysis->input;
	struct failure *failure = reading->failure;
	if (!reading->top.file)
		return;
	for (size_t i = 0; i < failure->trace_count; i++) {
		if (!is_program(input, failure->trace[i].file))
			continue;
		if (strcmp(failure->kind, "syntax") == 0)
			(void)snprintf(failure->kind, sizeof(failure->kind), "runtime");
		return;
	}
	if (!is_program(input, reading->top.file))
		return;
	struct trace_frame *frame = failure_add_frame(reading->failure);
	if (!frame)
		return;
	*frame = reading->top;
	reading->top = (struct trace_frame){ 0 };
}

static void set_kind(const struct analysis *analysis, struct failure *failure)
{
	struct json_object *kinds = analysis_field(analysis, "kinds");
	const char *kind = kinds && failure->name ? field_text(kinds, failure->name) : NULL;
	if (kind || failure->kind[0] == '\0')
		(void)snprintf(failure->kind, sizeof(failure->kind), "%s", kind ? kind : "runtime");
}

void trace_parse(struct analysis *analysis)
{
	struct failure failure = { 0 };
	struct reading *reading = xcalloc(1, sizeof(*reading));
	struct json_object *inner = analysis_field(analysis, "inner_first");
	struct json_object *first = analysis_field(analysis, "first_counts");
	bool is_first = first && json_object_get_boolean(first);
	reading->analysis = analysis;
	reading->failure = &failure;
	reading->is_inner_first = inner && json_object_get_boolean(inner);
	open_rules(reading);
	for (size_t i = 0; i < analysis->line_count; i++)
		if (!take_line(reading, analysis->lines[i], is_first))
			break;
	if (reading->has_error) {
		if (reading->is_inner_first)
			turn_round(&failure);
		set_kind(analysis, &failure);
		settle_top(reading);
		failure_done(&analysis->result->error);
		analysis->result->error = failure;
		failure = (struct failure){ 0 };
	}
	forget(reading);
	for (size_t i = 0; i < reading->rule_count; i++)
		regfree(&reading->rules[i].regex);
	free(reading);
	failure_done(&failure);
}
