/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into the audit log. Nothing is locked for longer than it takes to learn how long the
 * current file is: what is written after that belongs to the next look. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "base/state.h"
#include "model/limits.h"
#include "store/log.h"
#include "store/store.h"
#include "wire/json.h"

enum { RECORD_DEPTH = 8, RECORDS_MAX = 100000, FILE_BYTES_MAX = 1 << 30 };

/* One file in memory. */
struct text {
	char name[LOG_NAME_MAX];
	char *data; /* owned */
	size_t len;
};

/* The files' names, oldest first: the older ones and then the current one. */
struct log {
	int dir_fd; /* owned; -1: there is no log */
	struct log_files files;
	bool has_current;
};

static void log_done(struct log *log)
{
	own_close(&log->dir_fd);
	log_files_done(&log->files);
}

#define auto_log __attribute__((cleanup(log_done)))

static int open_log(struct log *log, struct err *err)
{
	struct stat st;
	*log = (struct log){ .dir_fd = -1 };
	TRY(state_open(log_place, false, &log->dir_fd, err));
	if (log->dir_fd < 0)
		return 0;
	int r = log_files_load(log->dir_fd, &log->files);
	log->has_current = fstatat(log->dir_fd, LOG_CURRENT, &st, AT_SYMLINK_NOFOLLOW) == 0;
	return r < 0 ? err_sys(err, -r, "list the audit log's files") : 0;
}

static size_t log_count(const struct log *log)
{
	return log->files.count + log->has_current;
}

static int read_whole(int fd, off_t size, struct text *text)
{
	text->data = xcalloc((size_t)size + 1, 1);
	while (text->len < (size_t)size) {
		ssize_t n = pread(
			fd, text->data + text->len, (size_t)size - text->len, (off_t)text->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		text->len += (size_t)n;
	}
	return 0;
}

/* Reads file `i`. A file that was removed or renamed since it was listed is an error of the moment:
 * asking again helps. */
static int read_file(const struct log *log, size_t i, struct text *text, struct err *err)
{
	bool is_current = i == log->files.count;
	auto_fd int fd = -1;
	struct stat st;
	*text = (struct text){ .name = LOG_CURRENT };
	if (!is_current)
		log_file_name(log->files.numbers[i], text->name);
	int r = state_open_file(log->dir_fd, text->name, is_current ? O_RDWR : O_RDONLY, &fd, &st);
	if (r == 0 && is_current) {
		auto_fd int locked_fd = take_fd(&fd);
		r = state_lock(locked_fd);
		if (r == 0 && fstat(locked_fd, &st) < 0)
			r = -errno;
		fd = fcntl(locked_fd, F_DUPFD_CLOEXEC, 0);
		(void)fcntl(locked_fd, F_OFD_SETLK, &(struct flock){ .l_type = F_UNLCK });
	}
	if (r == 0 && st.st_size > FILE_BYTES_MAX)
		r = -EFBIG;
	if (r == 0)
		r = read_whole(fd, st.st_size, text);
	if (r == 0)
		return 0;
	free(take_ptr(&text->data));
	return err_sys(err, -r, "read the audit log's file '%s'", text->name);
}

/* ---- list -------------------------------------------------------------------------------------
 */

/* A key with a string as value; NULL when it is missing or something else. */
static const char *string_of(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;
	if (!json_object_object_get_ex(json, key, &value) ||
		!json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static bool passes(struct json_object *json, const struct store_filter *filter)
{
	const char *status = string_of(json, "status");
	const char *id = string_of(json, "id");
	const char *token = string_of(json, "token");
	if (!status || !id || (filter->status && strcmp(status, filter->status) != 0))
		return false;
	if (filter->token && (!token || strcmp(token, filter->token) != 0))
		return false;
	if (filter->id && strncmp(id, filter->id, strlen(filter->id)) != 0)
		return false;
	if (filter->before && strcmp(id, filter->before) >= 0)
		return false;
	return filter->since[0] == '\0' || strcmp(id, filter->since) >= 0;
}

/* Spares the parser most of the lines that nobody asked for. */
static bool may_pass(const char *line, size_t len, const struct store_filter *filter)
{
	const char *wanted = filter->id ? filter->id : filter->status;
	return !wanted || memmem(line, len, wanted, strlen(wanted)) != NULL;
}

static struct json_object *read_record(
	const char *line, size_t len, const struct store_filter *filter)
{
	struct link link;
	struct err err = { 0 };
	auto_json struct json_object *json = NULL;
	if (!may_pass(line, len, filter) || !link_parse(line, len, &link) ||
		json_read(line, len, LIMIT_AUDIT_LINE, RECORD_DEPTH, &json, &err) < 0 ||
		!passes(json, filter))
		return NULL;
	return take_ptr(&json);
}

static bool has_record(const struct text *text, size_t from, const char *id)
{
	char key[64];
	int len = snprintf(
		key, sizeof(key), "\"id\":\"%s\"", id); /* no value can hold these quotes */
	return text->data && len > 0 && (size_t)len < sizeof(key) &&
	       memmem(text->data + from, text->len - from, key, (size_t)len) != NULL;
}

/* Whether the record says that a run began whose end is recorded: after it, or in the next file. */
static bool is_superseded(
	struct json_object *json, const struct text *text, size_t end, const struct text *newer)
{
	const char *id = string_of(json, "id");
	return strcmp(string_of(json, "status"), AUDIT_BEGUN) == 0 &&
	       (has_record(text, end, id) || has_record(newer, 0, id));
}

/* Adds the records of one file, newest first, until the limit is reached. */
static void list_file(const struct text *text, const struct text *newer,
	const struct store_filter *filter, size_t limit, struct json_object *array)
{
	size_t end = text->len;
	while (end > 0 && json_object_array_length(array) < limit) {
		if (text->data[end - 1] == '\n')
			end--;
		const char *newline = end > 0 ? memrchr(text->data, '\n', end) : NULL;
		size_t start = newline ? (size_t)(newline + 1 - text->data) : 0;
		struct json_object *json = read_record(text->data + start, end - start, filter);
		if (json && is_superseded(json, text, end, newer))
			json_free(&json);
		if (json)
			(void)json_object_array_add(array, json);
		end = start;
	}
}

static struct json_object *turned(struct json_object *array)
{
	struct json_object *other = json_object_new_array();
	for (size_t i = json_object_array_length(array); i-- > 0;)
		(void)json_object_array_add(
			other, json_object_get(json_object_array_get_idx(array, i)));
	return other;
}

int audit_list(const struct store_filter *filter, struct json_object **ret_array, struct err *err)
{
	auto_log struct log log;
	auto_json struct json_object *array = json_object_new_array();
	size_t limit = filter->limit > 0 ? filter->limit : RECORDS_MAX;
	struct text newer = { 0 };
	int r = open_log(&log, err);
	for (size_t i = r == 0 ? log_count(&log) : 0;
		i-- > 0 && json_object_array_length(array) < limit;) {
		struct text text;
		r = read_file(&log, i, &text, err);
		if (r < 0)
			break;
		list_file(&text, &newer, filter, limit, array);
		free(newer.data);
		newer = text;
	}
	free(newer.data);
	TRY(r);
	*ret_array = turned(array);
	return 0;
}

/* ---- verify -----------------------------------------------------------------------------------
 */

struct check {
	struct audit_verdict *verdict;
	const char *expected;
	struct link last;
	uint64_t torn;     /* bytes since the last record */
	size_t torn_line;  /* where they begin, in this file */
	size_t torn_count; /* lines of them */
};

static void break_at(struct check *check, const struct text *text, size_t line, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));

static void break_at(
	struct check *check, const struct text *text, size_t line, const char *fmt, ...)
{
	struct audit_verdict *verdict = check->verdict;
	va_list ap;
	if (verdict->is_broken)
		return;
	verdict->is_broken = true;
	verdict->line = line;
	(void)snprintf(verdict->file, sizeof(verdict->file), "%s", text->name);
	va_start(ap, fmt);
	(void)vsnprintf(verdict->why, sizeof(verdict->why), fmt, ap);
	va_end(ap);
}

static void take_torn(struct check *check, size_t bytes, size_t line)
{
	if (check->torn == 0)
		check->torn_line = line;
	check->torn += bytes;
	check->torn_count++;
}

/* The first record there is may follow files that were removed when the log was full. */
static void take_first(
	struct check *check, const struct text *text, size_t line, const struct link *link)
{
	struct link none;
	link_init(&none);
	check->verdict->first = link->seq;
	if (link->seq == 1 && strcmp(link->prev, none.hash) != 0)
		break_at(check, text, line, "the first record claims one before it");
}

static void follow(
	struct check *check, const struct text *text, size_t line, const struct link *link)
{
	if (check->verdict->records == 0)
		take_first(check, text, line, link);
	else if (link->seq != check->last.seq + 1)
		break_at(check, text, line,
			"record %" PRIu64 " follows record %" PRIu64 ": what was between is gone",
			link->seq, check->last.seq);
	else if (strcmp(link->prev, check->last.hash) != 0)
		break_at(check, text, line,
			"record %" PRIu64 " does not follow the one that stands before it",
			link->seq);
}

static void take_record(struct check *check, const struct text *text, size_t line, const char *data,
	const struct link *link)
{
	struct audit_verdict *verdict = check->verdict;
	if (!link_holds(data, link))
		break_at(check, text, line, "record %" PRIu64 " was changed: its hash does not fit",
			link->seq);
	if (link->torn != check->torn)
		break_at(check, text, check->torn > 0 ? check->torn_line : line,
			check->torn > 0 ? "this is no record"
					: "a torn line is gone from before it");
	follow(check, text, line, link);
	if (verdict->is_broken)
		return;
	verdict->torn += check->torn_count;
	check->torn = 0;
	check->torn_count = 0;
	check->last = *link;
	verdict->records++;
	verdict->last = link->seq;
	verdict->has_expected |= check->expected && strcmp(check->expected, link->hash) == 0;
}

static void check_file(struct check *check, const struct text *text)
{
	size_t line = 1;
	for (size_t at = 0; at < text->len && !check->verdict->is_broken; line++) {
		const char *data = text->data + at;
		const char *newline = memchr(data, '\n', text->len - at);
		size_t len = newline ? (size_t)(newline - data) : text->len - at;
		struct link link;
		bool is_record = link_parse(data, len, &link);
		if (is_record)
			take_record(check, text, line, data, &link);
		else
			take_torn(check, len + (newline != NULL), line);
		check->verdict->is_cut = !is_record && !newline;
		at += len + (newline != NULL);
	}
}

/* What is left at the end of a file: only that of the current one may be a crash of just now. */
static void end_file(struct check *check, const struct text *text, bool is_current, uint64_t number)
{
	bool is_crash = is_current && log_is_crash(text->len, check->verdict->is_cut);
	check->verdict->is_cut = check->torn > 0 && is_crash;
	if (check->torn > 0 && !is_crash)
		break_at(check, text, check->torn_line, "this is no record");
	if (!is_current && check->verdict->records > 0 && check->last.seq != number)
		break_at(check, text, 1,
			"the file is named after record %" PRIu64 ", but ends with record %" PRIu64,
			number, check->last.seq);
}

int audit_verify(const char *expected, struct audit_verdict *verdict, struct err *err)
{
	auto_log struct log log;
	struct check check = { .verdict = verdict, .expected = expected };
	*verdict = (struct audit_verdict){ 0 };
	link_init(&check.last);
	TRY(open_log(&log, err));
	verdict->files = log_count(&log);
	for (size_t i = 0; i < verdict->files && !verdict->is_broken; i++) {
		struct text text;
		bool is_current = i == log.files.count;
		TRY(read_file(&log, i, &text, err));
		check_file(&check, &text);
		end_file(&check, &text, is_current, is_current ? 0 : log.files.numbers[i]);
		free(text.data);
	}
	(void)snprintf(verdict->head, sizeof(verdict->head), "%s", check.last.hash);
	return 0;
}
