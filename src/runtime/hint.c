/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first rule whose conditions hold, and whose placeholders can all be filled, gives the hint;
 * the first with a link gives the documentation. A rule that cannot fill a placeholder passes:
 * so "did you mean {near}?" stands before the general advice and is silent without a near name.
 */
#include "runtime/analysis.h"

#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "wire/utf8.h"

/* What a rule's patterns caught. */
struct caught {
	const struct analysis *analysis;
	struct span value, source, text;
	regmatch_t value_groups[ANALYSIS_GROUPS];
	regmatch_t source_groups[ANALYSIS_GROUPS];
	regmatch_t text_groups[ANALYSIS_GROUPS];
	char *near;  /* owned */
	char *found; /* owned */
};

static char *group_text(struct span span, const regmatch_t *groups, char digit)
{
	struct span group = span_group(span, &groups[digit - '0']);
	if (!span.at || !group.at || group.len > ANALYSIS_WORD)
		return NULL;
	return xstrndup(group.at, group.len);
}

/* The text for {key}, owned by the caller; NULL: there is none. */
static char *fill(const struct caught *caught, const char *key)
{
	const struct failure *failure = &caught->analysis->result->error;
	size_t len = strlen(key);
	if (len == 1 && isdigit((unsigned char)key[0]))
		return group_text(caught->value, caught->value_groups, key[0]);
	if (len == 2 && isdigit((unsigned char)key[1]) && key[0] == 's')
		return group_text(caught->source, caught->source_groups, key[1]);
	if (len == 2 && isdigit((unsigned char)key[1]) && key[0] == 't')
		return group_text(caught->text, caught->text_groups, key[1]);
	const char *text = NULL;
	if (strcmp(key, "near") == 0)
		text = caught->near;
	else if (strcmp(key, "found") == 0)
		text = caught->found;
	else if (strcmp(key, "name") == 0)
		text = failure->name;
	else if (strcmp(key, "program") == 0)
		text = caught->analysis->input->program;
	else if (strcmp(key, "line") == 0)
		return failure->line ? xasprintf("%lld", (long long)failure->line) : NULL;
	return text ? xstrdup(text) : NULL;
}

/* A template with its placeholders filled; NULL when one has nothing to fill it. Braces that are
 * no placeholder stay. Owned by the caller. */
static char *expand(const struct caught *caught, const char *template)
{
	auto_buf struct buf text = { 0 };
	buf_init(&text, ANALYSIS_HINT);
	for (const char *at = template; *at != '\0';) {
		size_t len =
			at[0] == '{' ? strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;
		if (len == 0 || len > 8 || at[len + 1] != '}') {
			size_t plain = 1 + strcspn(at + 1, "{");
			if (buf_append(&text, at, plain) < 0)
				return NULL;
			at += plain;
			continue;
		}
		char line[ANALYSIS_WORD * 2];
		auto_free char *key = xstrndup(at + 1, len);
		auto_free char *word = fill(caught, key);
		if (!word || *word == '\0')
			return NULL;
		(void)utf8_line(word, line, sizeof(line));
		if (buf_append(&text, line, strlen(line)) < 0)
			return NULL;
		at += len + 2;
	}
	return xstrdup(buf_text(&text));
}

/* ---- conditions ----------------------------------------------------------------------------- */

static bool is_one_of(struct json_object *wanted, const char *have)
{
	if (json_object_is_type(wanted, json_type_string))
		return strcmp(json_object_get_string(wanted), have) == 0;
	for (size_t i = 0; i < json_object_array_length(wanted); i++)
		if (strcmp(json_object_get_string(json_object_array_get_idx(wanted, i)), have) == 0)
			return true;
	return false;
}

static struct span failing_line(const struct analysis *analysis)
{
	return code_line(analysis->input, analysis->result->error.line);
}

static bool value_matches(struct caught *caught, const char *pattern)
{
	const char *value = caught->analysis->result->error.value;
	caught->value = (struct span){ value ? value : "", value ? strlen(value) : 0 };
	return span_matches_pattern(pattern, caught->value, caught->value_groups);
}

static bool source_matches(struct caught *caught, const char *pattern)
{
	caught->source = failing_line(caught->analysis);
	return span_matches_pattern(pattern, caught->source, caught->source_groups);
}

/* The last line that fits: errors are told at the end. */
static bool text_matches(struct caught *caught, const char *pattern)
{
	regex_t regex;
	bool is_match = false;
	if (!regex_open(&regex, pattern, 0))
		return false;
	for (size_t i = caught->analysis->line_count; i > 0 && !is_match; i--) {
		caught->text = caught->analysis->lines[i - 1];
		is_match = span_matches(&regex, caught->text, caught->text_groups);
	}
	regfree(&regex);
	return is_match;
}

static bool code_matches(const struct analysis *analysis, const char *pattern)
{
	const char *at = analysis->input->code;
	size_t left = analysis->input->code_len;
	regex_t regex;
	bool is_match = false;
	if (left > ANALYSIS_CODE_BYTES)
		left = ANALYSIS_CODE_BYTES;
	if (!at || !regex_open(&regex, pattern, 0))
		return false;
	while (left > 0 && !is_match) {
		const char *stop = memchr(at, '\n', left);
		size_t len = stop ? (size_t)(stop - at) : left;
		is_match = span_matches(&regex, (struct span){ at, len }, NULL);
		size_t used = stop ? len + 1 : len;
		at += used;
		left -= used;
	}
	regfree(&regex);
	return is_match;
}

/* [word, list…] with their placeholders filled. */
static char *expand_lists(
	const struct caught *caught, struct json_object *terms, struct strings *lists)
{
	size_t count = json_object_array_length(terms);
	for (size_t i = 1; i < count; i++) {
		auto_free char *list =
			expand(caught, json_object_get_string(json_object_array_get_idx(terms, i)));
		if (list)
			strings_add(lists, list);
	}
	if (count == 0)
		return NULL;
	return expand(caught, json_object_get_string(json_object_array_get_idx(terms, 0)));
}

static bool line_shows(const struct caught *caught, const char *template)
{
	struct span line = failing_line(caught->analysis);
	auto_free char *words = expand(caught, template);
	return words && line.at && memmem(line.at, line.len, words, strlen(words));
}

static bool is_listed(const struct caught *caught, struct json_object *terms)
{
	struct strings lists = { 0 };
	auto_free char *word = expand_lists(caught, terms, &lists);
	bool is_there = false;
	for (size_t i = 0; word && i < lists.count && !is_there; i++) {
		struct json_object *list = analysis_list(caught->analysis, "lists", lists.items[i]);
		struct json_object *table =
			analysis_list(caught->analysis, "tables", lists.items[i]);
		is_there = (list && is_one_of(list, word)) ||
			   (table && json_object_object_get_ex(table, word, NULL));
	}
	strings_done(&lists);
	return is_there;
}

static bool find_near(struct caught *caught, struct json_object *terms)
{
	struct strings lists = { 0 };
	auto_free char *word = expand_lists(caught, terms, &lists);
	if (word)
		caught->near = near_name(caught->analysis, word, &lists);
	strings_done(&lists);
	return caught->near != NULL;
}

static bool find_entry(struct caught *caught, struct json_object *terms)
{
	struct strings lists = { 0 };
	auto_free char *word = expand_lists(caught, terms, &lists);
	for (size_t i = 0; word && i < lists.count && !caught->found; i++) {
		struct json_object *table =
			analysis_list(caught->analysis, "tables", lists.items[i]);
		const char *entry = table ? field_text(table, word) : NULL;
		caught->found = entry ? xstrdup(entry) : NULL;
	}
	strings_done(&lists);
	return caught->found != NULL;
}

static bool net_is(const struct analysis *analysis, const char *mode)
{
	const struct spec *spec = analysis->input->spec;
	return strcmp(mode, "none") == 0 && spec && spec->net == NET_NONE;
}

static bool condition_holds(struct caught *caught, const char *name, struct json_object *wanted)
{
	const struct analysis *analysis = caught->analysis;
	const struct result *result = analysis->result;
	const char *text = json_object_get_string(wanted);
	if (strcmp(name, "kind") == 0)
		return strcmp(result->error.kind, text) == 0;
	if (strcmp(name, "name") == 0)
		return result->error.name && is_one_of(wanted, result->error.name);
	if (strcmp(name, "status") == 0)
		return strcmp(run_status_names[result->status], text) == 0;
	if (strcmp(name, "signal") == 0)
		return result->signal == json_object_get_int(wanted);
	if (strcmp(name, "exit") == 0)
		return result->exit_code == json_object_get_int(wanted);
	if (strcmp(name, "net") == 0)
		return net_is(analysis, text);
	if (strcmp(name, "denied") == 0)
		return (result->denial_count > 0) == json_object_get_boolean(wanted);
	if (strcmp(name, "value") == 0)
		return value_matches(caught, text);
	if (strcmp(name, "source") == 0)
		return source_matches(caught, text);
	if (strcmp(name, "text") == 0)
		return text_matches(caught, text);
	if (strcmp(name, "code") == 0)
		return code_matches(analysis, text);
	if (strcmp(name, "without") == 0)
		return !code_matches(analysis, text);
	if (strcmp(name, "shows") == 0)
		return line_shows(caught, text);
	if (strcmp(name, "in") == 0)
		return is_listed(caught, wanted);
	if (strcmp(name, "outside") == 0)
		return !is_listed(caught, wanted);
	if (strcmp(name, "near") == 0)
		return find_near(caught, wanted);
	if (strcmp(name, "found") == 0)
		return find_entry(caught, wanted);
	return true; /* what the rule gives */
}

/* Conditions in the order of their cost, and patterns before what uses their groups. */
static const char *const conditions[] = { "kind", "name", "status", "signal", "exit", "net",
	"denied", "value", "source", "text", "code", "without", "shows", "in", "outside", "near",
	"found" };

/* Where the run was ended from outside, only rules that speak of that apply. */
static bool is_ended(const struct result *result)
{
	return result->status != STATUS_ERROR && result->status != STATUS_SIGNAL &&
	       result->status != STATUS_DISK_LIMIT;
}

static bool rule_holds(struct caught *caught, struct json_object *rule)
{
	if (is_ended(caught->analysis->result) && !json_object_object_get(rule, "status"))
		return false;
	for (size_t i = 0; i < COUNT_OF(conditions); i++) {
		struct json_object *wanted = json_object_object_get(rule, conditions[i]);
		if (wanted && !condition_holds(caught, conditions[i], wanted))
			return false;
	}
	return true;
}

static void try_rule(struct analysis *analysis, struct json_object *rule)
{
	struct result *result = analysis->result;
	struct caught caught = { .analysis = analysis };
	const char *hint = field_text(rule, "hint");
	const char *link = field_text(rule, "link");
	bool is_wanted = (hint && !result->hint) || (link && !result->error.documentation);
	if (is_wanted && rule_holds(&caught, rule)) {
		if (hint && !result->hint)
			result->hint = expand(&caught, hint);
		if (link && !result->error.documentation)
			result->error.documentation = expand(&caught, link);
	}
	free(caught.near);
	free(caught.found);
}

void hint_find(struct analysis *analysis)
{
	const struct result *result = analysis->result;
	for (size_t b = 0; b < analysis->book_count; b++) {
		struct json_object *rules = json_object_object_get(analysis->books[b], "rules");
		size_t count = rules ? json_object_array_length(rules) : 0;
		for (size_t i = 0; i < count; i++) {
			if (result->hint && result->error.documentation)
				return;
			try_rule(analysis, json_object_array_get_idx(rules, i));
		}
	}
}
