/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/log.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "wire/json.h"
#include "wire/utf8.h"

/* clang-format off */
const char *const log_level_names[LOG_LEVEL_COUNT + 1] = {
	[LEVEL_NONE]    = "none",
	[LEVEL_ERROR]   = "error",
	[LEVEL_WARNING] = "warning",
	[LEVEL_INFO]    = "info",
	[LEVEL_DEBUG]   = "debug",
};

const char *const log_format_names[LOG_FORMAT_COUNT + 1] = {
	[LOG_TEXT] = "text",
	[LOG_JSON] = "json",
};
/* clang-format on */

static struct {
	const char *program;
	enum log_format format;
	enum log_level level;
	uint64_t lost; /* lines that found no room, since the last one that did */
} state = { .program = "hotcell", .level = LEVEL_INFO };

void log_name(const char *program)
{
	state.program = program;
}

void log_set(enum log_format format, enum log_level level)
{
	state.format = format;
	state.level = level;
}

bool log_wants(enum log_level level)
{
	return level <= state.level;
}

enum log_level log_level_of(const char *name)
{
	enum log_level level = LEVEL_NONE;
	while (level < LOG_LEVEL_COUNT && strcmp(log_level_names[level], name) != 0)
		level++;
	return level;
}

enum log_format log_format_of(const char *name)
{
	enum log_format format = LOG_TEXT;
	while (format < LOG_FORMAT_COUNT && strcmp(log_format_names[format], name) != 0)
		format++;
	return format;
}

/* ---- a line -------------------------------------------------------------------------------------
 */

static void put_number(struct buf *line, const struct log_field *field)
{
	int64_t unit = 1;
	for (int i = 0; i < field->places; i++)
		unit *= 10;
	(void)buf_printf(line, "%" PRId64, field->number / unit);
	if (field->places > 0)
		(void)buf_printf(line, ".%0*" PRId64, field->places, field->number % unit);
}

/* A value that would not read as one word is quoted. */
static void put_text_value(struct buf *line, const char *text)
{
	bool is_word = text[0] && !strpbrk(text, " \"=");
	if (is_word)
		(void)buf_append(line, text, strlen(text));
	else
		(void)json_quote(line, text, strlen(text));
}

static void put_text(
	struct buf *line, const char *words, const struct log_field *fields, size_t count)
{
	char shown[LOG_LINE_MAX / 2];
	(void)buf_printf(line, "%s: %s", state.program, utf8_line(words, shown, sizeof(shown)));
	for (size_t i = 0; i < count; i++) {
		size_t before = line->len;
		char value[LOG_LINE_MAX / 4];
		(void)buf_printf(line, " %s=", fields[i].name);
		if (fields[i].text)
			put_text_value(line, utf8_line(fields[i].text, value, sizeof(value)));
		else
			put_number(line, &fields[i]);
		if (line->len == before)
			return; /* no room for it */
	}
}

/* The wall's time, as collectors read it. */
static void put_time(struct buf *line)
{
	struct timespec now = { 0 };
	struct tm day = { 0 };
	char text[32];
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &day);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &day);
	(void)buf_printf(line, "{\"time\":\"%s.%06ldZ\"", text, now.tv_nsec / 1000);
}

/* 0, or -ENOSPC: the whole member is left out. */
static int put_member(struct buf *line, const struct log_field *field)
{
	auto_buf struct buf member;
	buf_init(&member, line->cap);
	int r = buf_printf(&member, ",\"%s\":", field->name);
	if (r == 0 && field->text)
		r = json_quote(&member, field->text, strlen(field->text));
	else if (r == 0)
		put_number(&member, field);
	return r < 0 ? r : buf_append(line, member.data, member.len);
}

static void put_json(struct buf *line, enum log_level level, const char *words,
	const struct log_field *fields, size_t count)
{
	char shown[LOG_LINE_MAX / 4]; /* each byte may take six as JSON */
	const struct log_field first[] = {
		{ .name = "level", .text = log_level_names[level] },
		{ .name = "program", .text = state.program },
		{ .name = "pid", .number = getpid() },
		{ .name = "message", .text = utf8_line(words, shown, sizeof(shown)) },
	};
	put_time(line);
	line->cap--; /* for the brace */
	for (size_t i = 0; i < COUNT_OF(first); i++)
		(void)put_member(line, &first[i]);
	for (size_t i = 0; i < count; i++)
		(void)put_member(line, &fields[i]);
	line->cap++;
	(void)buf_append(line, "}", 1);
}

size_t log_compose(char line[LOG_LINE_MAX], enum log_level level, const char *words,
	const struct log_field *fields, size_t count)
{
	auto_buf struct buf text;
	buf_init(&text, LOG_LINE_MAX - 2); /* the newline, and snprintf()'s NUL */
	if (state.format == LOG_JSON)
		put_json(&text, level, words, fields, count);
	else
		put_text(&text, words, fields, count);
	return (size_t)snprintf(line, LOG_LINE_MAX, "%s\n", buf_text(&text));
}

/* ---- writing ------------------------------------------------------------------------------------
 */

/* A pipe that says it can be written to takes PIPE_BUF bytes at once: this never blocks. Whoever
 * shares the descriptor would feel it if we made it non-blocking. */
static bool write_line(const char *line, size_t len)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	return poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) &&
	       write(STDERR_FILENO, line, len) == (ssize_t)len;
}

static void tell_lost(void)
{
	char line[LOG_LINE_MAX];
	const struct log_field lost = { .name = "lines", .number = (int64_t)state.lost };
	size_t len = log_compose(line, LEVEL_WARNING, "lines of this log were lost", &lost, 1);
	if (write_line(line, len))
		state.lost = 0;
}

void log_tell(enum log_level level, const char *words, const struct log_field *fields, size_t count)
{
	char line[LOG_LINE_MAX];
	if (!log_wants(level))
		return;
	if (state.lost > 0)
		tell_lost();
	size_t len = log_compose(line, level, words, fields, count);
	if (state.lost > 0 || !write_line(line, len))
		state.lost++;
}

void log_say(enum log_level level, const char *fmt, ...)
{
	char text[LOG_LINE_MAX / 2];
	va_list ap;
	if (!log_wants(level))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_tell(level, text, NULL, 0);
}
