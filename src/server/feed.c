/* SPDX-License-Identifier: Apache-2.0 */
#include "server/feed.h"

#include <string.h>

#include "model/limits.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_space(const char *text, size_t at, size_t len)
{
	while (at < len && is_space(text[at]))
		at++;
	return at;
}

/* Behind the value that begins at `at`: its comma or the bracket that ends the array, `len` where
 * there is neither. */
static size_t value_end(const char *text, size_t at, size_t len)
{
	int depth = 0;
	bool in_string = false;
	for (; at < len; at++) {
		char c = text[at];
		if (in_string && c == '\\')
			at++;
		else if (c == '"')
			in_string = !in_string;
		else if (in_string)
			continue;
		else if (depth == 0 && (c == ',' || c == ']'))
			return at;
		else if (c == '[' || c == '{')
			depth++;
		else if (c == ']' || c == '}')
			depth--;
	}
	return len;
}

/* At the end `at` is that of the text, or of the array's last bracket. */
static bool next_item(struct feed *feed, const char **ret_job, size_t *ret_len)
{
	size_t start = skip_space(feed->text, feed->at, feed->len);
	size_t end = value_end(feed->text, start, feed->len);
	if (end >= feed->len) {
		feed->at = feed->len;
		return false;
	}
	bool is_last = feed->text[end] == ']';
	feed->is_over = is_last;
	feed->at = is_last ? end : end + 1;
	*ret_job = feed->text + start;
	*ret_len = end - start;
	return !(is_last && end == start && feed->index == 0); /* there is none at all */
}

static bool next_line(struct feed *feed, const char **ret_job, size_t *ret_len)
{
	while (feed->at < feed->len) {
		const char *start = feed->text + feed->at;
		const char *newline = memchr(start, '\n', feed->len - feed->at);
		size_t len = newline ? (size_t)(newline - start) : feed->len - feed->at;
		feed->at += len + (newline != NULL);
		feed->line++;
		if (skip_space(start, 0, len) == len)
			continue;
		*ret_job = start;
		*ret_len = len;
		return true;
	}
	return false;
}

bool feed_next(struct feed *feed, const char **ret_job, size_t *ret_len)
{
	if (feed->is_over || !(feed->is_array ? next_item : next_line)(feed, ret_job, ret_len))
		return false;
	feed->index++;
	return true;
}

int feed_open(struct feed *feed, const char *text, size_t len, struct err *err)
{
	const char *job = NULL;
	size_t job_len = 0;
	size_t start = skip_space(text, 0, len);
	bool is_array = start < len && text[start] == '[';
	struct feed all = {
		.text = text, .len = len, .at = is_array ? start + 1 : 0, .is_array = is_array
	};
	*feed = all;
	while (all.index <= LIMIT_BATCH_JOBS && feed_next(&all, &job, &job_len))
		;
	if (all.index > LIMIT_BATCH_JOBS)
		return err_set(err, ERR_LIMIT, "the batch has over %d jobs: send it in parts",
			LIMIT_BATCH_JOBS);
	if (is_array && all.at >= len)
		return err_set(err, ERR_INVALID, "the array of jobs does not end");
	if (is_array && skip_space(text, all.at + 1, len) < len)
		return err_set(err, ERR_INVALID, "there is something behind the array of jobs");
	feed->total = all.index;
	return 0;
}
