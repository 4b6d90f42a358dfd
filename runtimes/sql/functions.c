/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that people look for and SQLite lacks: POSIX regular expressions and two aggregates. */
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sql/shell.h"

static void free_regex(void *regex)
{
	regfree(regex);
	free(regex);
}

/* The pattern is compiled once for a statement when it is a constant. NULL: the error was set. */
static const regex_t *compile(sqlite3_context *context, sqlite3_value *pattern, int arg)
{
	regex_t *regex = sqlite3_get_auxdata(context, arg);
	const char *text = (const char *)sqlite3_value_text(pattern);
	char why[128];
	if (regex || !text)
		return regex;
	regex = xcalloc(1, sizeof(*regex));
	int r = regcomp(regex, text, REG_EXTENDED);
	if (r != 0) {
		auto_free char *message = NULL;
		(void)regerror(r, regex, why, sizeof(why));
		message = xasprintf("regular expression '%.80s': %s", text, why);
		sqlite3_result_error(context, message, -1);
		free(regex);
		return NULL;
	}
	sqlite3_set_auxdata(context, arg, regex, free_regex);
	/* it may have been freed at once */
	return sqlite3_get_auxdata(context, arg);
}

/* "x REGEXP y" is regexp(y, x). */
static void do_regexp(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	const char *text = (const char *)sqlite3_value_text(argv[1]);
	const regex_t *regex = compile(context, argv[0], 0);
	if (regex && text)
		sqlite3_result_int(context, regexec(regex, text, 0, NULL, 0) == 0);
}

/* regexp_substr(text, pattern): the first match, or its first group. */
static void do_substr(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	regmatch_t match[2];
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const regex_t *regex = compile(context, argv[1], 1);
	if (!regex || !text || regexec(regex, text, COUNT_OF(match), match, 0) != 0)
		return;
	const regmatch_t *part = regex->re_nsub > 0 && match[1].rm_so >= 0 ? &match[1] : &match[0];
	sqlite3_result_text(
		context, text + part->rm_so, (int)(part->rm_eo - part->rm_so), SQLITE_TRANSIENT);
}

/* \1 to \9 are groups, \& all of the match. */
static void put_replacement(
	struct buf *result, const char *with, const char *text, const regmatch_t *match)
{
	for (; *with; with++) {
		bool is_group = with[0] == '\\' && with[1] >= '1' && with[1] <= '9';
		bool is_all = with[0] == '\\' && with[1] == '&';
		if (!is_group && !is_all) {
			with += with[0] == '\\' && with[1] == '\\';
			text_put_bytes(result, with, 1);
			continue;
		}
		const regmatch_t *part = &match[is_all ? 0 : with[1] - '0'];
		if (part->rm_so >= 0)
			text_put_bytes(
				result, text + part->rm_so, (size_t)(part->rm_eo - part->rm_so));
		with++;
	}
}

/* regexp_replace(text, pattern, with): every match. */
static void do_replace(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	auto_buf struct buf result;
	regmatch_t match[10];
	buf_init(&result, 1 << 28);
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *with = (const char *)sqlite3_value_text(argv[2]);
	const regex_t *regex = compile(context, argv[1], 1);
	if (!regex || !text || !with)
		return;
	for (int flags = 0; regexec(regex, text, COUNT_OF(match), match, flags) == 0;
		flags = REG_NOTBOL) {
		text_put_bytes(&result, text, (size_t)match[0].rm_so);
		put_replacement(&result, with, text, match);
		text += match[0].rm_eo;
		if (match[0].rm_so != match[0].rm_eo)
			continue;
		/* an empty match: go on behind the next character */
		if (*text == '\0')
			break;
		text_put_bytes(&result, text++, 1);
	}
	text_add(&result, text);
	if (text_is_over(&result))
		sqlite3_result_error_toobig(context);
	else
		sqlite3_result_text(context, buf_text(&result), (int)result.len, SQLITE_TRANSIENT);
}

/* Mean and spread in one pass (Welford). */
struct spread {
	int64_t count;
	double mean, sum;
};

static void step_spread(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	struct spread *spread = sqlite3_aggregate_context(context, sizeof(*spread));
	if (!spread || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	double value = sqlite3_value_double(argv[0]);
	double distance = value - spread->mean;
	spread->mean += distance / (double)++spread->count;
	spread->sum += distance * (value - spread->mean);
}

static void end_spread(sqlite3_context *context)
{
	const struct spread *spread = sqlite3_aggregate_context(context, 0);
	if (spread && spread->count > 1)
		sqlite3_result_double(context, sqrt(spread->sum / (double)(spread->count - 1)));
}

struct median {
	double *values;
	size_t count, room;
};

static void step_median(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	struct median *median = sqlite3_aggregate_context(context, sizeof(*median));
	if (!median || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (median->count == median->room) {
		size_t room = median->room ? 2 * median->room : 64;
		double *values = sqlite3_realloc64(median->values, room * sizeof(*values));
		if (!values) {
			sqlite3_result_error_nomem(context);
			return;
		}
		median->values = values;
		median->room = room;
	}
	median->values[median->count++] = sqlite3_value_double(argv[0]);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void end_median(sqlite3_context *context)
{
	struct median *median = sqlite3_aggregate_context(context, 0);
	if (!median || median->count == 0)
		return;
	qsort(median->values, median->count, sizeof(*median->values), compare);
	double low = median->values[(median->count - 1) / 2];
	double high = median->values[median->count / 2];
	sqlite3_result_double(context, low + (high - low) / 2);
	sqlite3_free(median->values);
}

/* clang-format off */
static const struct function {
	const char *name;
	int arg_count;
	void (*call)(sqlite3_context *context, int argc, sqlite3_value **argv);
	void (*step)(sqlite3_context *context, int argc, sqlite3_value **argv);
	void (*end)(sqlite3_context *context);
} functions[] = {
	{ "regexp",         2, do_regexp,  NULL,        NULL },
	{ "regexp_substr",  2, do_substr,  NULL,        NULL },
	{ "regexp_replace", 3, do_replace, NULL,        NULL },
	{ "stddev",         1, NULL,       step_spread, end_spread },
	{ "median",         1, NULL,       step_median, end_median },
};
/* clang-format on */

int functions_add(sqlite3 *db)
{
	int r = SQLITE_OK;
	for (size_t i = 0; i < COUNT_OF(functions) && r == SQLITE_OK; i++)
		r = sqlite3_create_function_v2(db, functions[i].name, functions[i].arg_count,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
			functions[i].call, functions[i].step, functions[i].end, NULL);
	return r;
}
