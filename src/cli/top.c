/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotcell top: the daemon, live. Twice a second or as often as is wished its account is asked for
 * and drawn as a whole, no larger than the terminal, on the terminal's other screen. A daemon that
 * goes away is waited for. Elsewhere than on a terminal it is drawn once.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/columns.h"
#include "cli/status.h"
#include "cli/term.h"
#include "loan/loan.h"
#include "model/units.h"
#include "wire/json.h"

enum { FRAME_MAX = 1 << 20, BAR_MIN = 8, BAR_MAX = 24, NARROW = 100, MINUTE = 60, HOUR = 3600 };

static const struct cli_option options[] = {
	{ .flag = "interval", .metavar = "SEC", .help = "seconds between two looks [1]" },
	{ .flag = "once", .help = "draw it once and end" },
	{ .flag = "json", .help = "print it once as JSON and end" },
	{ .flag = "socket", .metavar = "PATH", .help = "where the daemon listens" },
};

static const char examples[] = "  hotcell top\n"
			       "  hotcell top --interval 0.2\n"
			       "  hotcell top --once\n"
			       "  hotcell top --json | jq .keeper.loans\n";

struct top {
	char path[PATH_MAX];
	const char *socket; /* as it was given; NULL: not */
	int64_t interval_ms;
	bool is_once, is_json;
	struct term term;
	/* of the look before, for what happens each second */
	int64_t seen_us;
	uint64_t served, missed;
};

/* ---- what it shows ------------------------------------------------------------------------------
 */

static struct json_object *member(struct json_object *json, const char *key)
{
	return json_object_object_get(json, key);
}

static uint64_t number(struct json_object *json, const char *key)
{
	int64_t value = json_object_get_int64(member(json, key));
	return value > 0 ? (uint64_t)value : 0;
}

static const char *word(struct json_object *json, const char *key)
{
	const char *text = json_object_get_string(member(json, key));
	return text ? text : "-";
}

/* "4s", "12m03s", "3h12m", "5d04h" */
static char *age(uint64_t seconds)
{
	unsigned long long s = seconds;
	if (s < MINUTE)
		return xasprintf("%llus", s);
	if (s < HOUR)
		return xasprintf("%llum%02llus", s / MINUTE, s % MINUTE);
	if (s < 48ULL * HOUR)
		return xasprintf("%lluh%02llum", s / HOUR, s / MINUTE % 60);
	return xasprintf("%llud%02lluh", s / (24ULL * HOUR), s / HOUR % 24);
}

static char *memory(struct json_object *json)
{
	char text[32];
	struct json_object *value = member(json, "memory_kb");
	if (!value)
		return xstrdup("-");
	return xstrdup(text_bytes(json_object_get_int64(value) * 1024, text, sizeof(text)));
}

static void put_label(struct buf *out, const struct term *term, const char *label)
{
	style_begin(out, term, STYLE_DIM);
	(void)buf_printf(out, "%s ", label);
	style_end(out, term, STYLE_DIM);
}

/* How much of something is used, as a bar and in numbers. */
static void put_bar(
	struct buf *out, const struct term *term, const char *label, uint64_t used, uint64_t most)
{
	uint64_t room = term->columns < NARROW ? BAR_MIN : BAR_MAX;
	uint64_t filled = most == 0 ? 0 : used >= most ? room : (used * room + most - 1) / most;
	put_label(out, term, label);
	style_begin(out, term, used >= most && most > 0 ? STYLE_ERROR : STYLE_HINT);
	for (uint64_t i = 0; i < room; i++)
		(void)buf_printf(out, "%s", i < filled ? "█" : "░");
	style_end(out, term, used >= most && most > 0 ? STYLE_ERROR : STYLE_HINT);
	(void)buf_printf(out, " %" PRIu64 "/%" PRIu64 "  ", used, most);
}

static void put_head(struct buf *out, const struct term *term, struct json_object *status)
{
	auto_free char *up = age(number(status, "uptime"));
	time_t now = time(NULL);
	struct tm day = { 0 };
	char clock[16];
	(void)strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &day));
	style_begin(out, term, STYLE_BOLD);
	(void)buf_printf(out, "hotcell %s", word(status, "version"));
	style_end(out, term, STYLE_BOLD);
	(void)buf_printf(out, "  %s  up %s  pid %" PRIu64 "  %s\n", word(status, "state"), up,
		number(status, "pid"), clock);
}

static double per_second(uint64_t now, uint64_t before, int64_t took_us)
{
	return took_us > 0 && now >= before ? (double)(now - before) * 1e6 / (double)took_us : 0;
}

static void put_flow(struct buf *out, struct top *top, struct json_object *status)
{
	struct json_object *keeper = member(status, "keeper");
	int64_t now_us = clock_us();
	int64_t took_us = top->seen_us ? now_us - top->seen_us : 0;
	uint64_t served = number(keeper, "served");
	uint64_t missed = number(keeper, "missed");
	put_label(out, &top->term, "served");
	(void)buf_printf(
		out, "%" PRIu64 " (%.1f/s)  ", served, per_second(served, top->served, took_us));
	put_label(out, &top->term, "not ready");
	(void)buf_printf(
		out, "%" PRIu64 " (%.1f/s)  ", missed, per_second(missed, top->missed, took_us));
	put_label(out, &top->term, "refused");
	(void)buf_printf(out, "%" PRIu64 "\n", number(status, "refused"));
	top->seen_us = now_us;
	top->served = served;
	top->missed = missed;
}

static void put_summary(struct buf *out, struct top *top, struct json_object *status)
{
	const struct term *term = &top->term;
	struct json_object *keeper = member(status, "keeper");
	struct json_object *http = member(status, "http");
	auto_free char *ours = memory(status);
	auto_free char *keepers = memory(keeper);
	put_bar(out, term, "lent", number(status, "running"), number(status, "concurrency"));
	put_bar(out, term, "waiting", number(status, "queued"), number(status, "queue"));
	put_bar(out, term, "ready", number(keeper, "parked"), number(keeper, "most_parked"));
	(void)buf_append(out, "\n", 1);
	put_bar(out, term, "http", number(http, "running"), number(status, "concurrency"));
	put_bar(out, term, "waiting", number(http, "waiting"), number(status, "queue"));
	put_label(out, term, "workers");
	(void)buf_printf(out, "%" PRIu64 "\n", number(http, "workers"));
	put_flow(out, top, status);
	put_label(out, term, "memory");
	(void)buf_printf(out, "daemon %s, keeper %s  ", ours, keeper ? keepers : "-");
	put_label(out, term, "sessions");
	(void)buf_printf(out, "%" PRIu64 "/%" PRIu64 "\n", number(status, "sessions"),
		number(keeper, "most_sessions"));
}

/* ---- its lists ----------------------------------------------------------------------------------
 */

static size_t length_of(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

static void add_number(struct columns *columns, struct json_object *row, const char *key)
{
	columns_add(columns, xasprintf("%" PRIu64, number(row, key)));
}

static void put_list(struct buf *out, const struct term *term, const char *title,
	struct columns *columns, const char *none)
{
	style_begin(out, term, STYLE_KEY);
	(void)buf_printf(out, "\n%s\n", title);
	style_end(out, term, STYLE_KEY);
	if (columns->cell_count > 0)
		columns_put(out, columns, term);
	else
		(void)buf_printf(out, "%s\n", none);
	columns_done(columns);
}

static void put_pools(struct buf *out, const struct term *term, struct json_object *list)
{
	static const struct column_head heads[] = {
		{ .title = "language", .gives_way = true },
		{ .title = "form" },
		{ .title = "ready", .is_number = true },
		{ .title = "wanted", .is_number = true },
		{ .title = "lent", .is_number = true },
		{ .title = "served", .is_number = true },
		{ .title = "not ready", .is_number = true },
	};
	struct columns columns = { .heads = heads, .count = COUNT_OF(heads) };
	for (size_t i = 0; i < length_of(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);
		columns_add(&columns, xstrdup(word(row, "runtime")));
		columns_add(&columns, xstrdup(word(row, "form")));
		add_number(&columns, row, "whole");
		add_number(&columns, row, "wanted");
		add_number(&columns, row, "lent");
		add_number(&columns, row, "served");
		add_number(&columns, row, "missed");
	}
	put_list(out, term, "pools", &columns, "none");
}

/* What the process is called that borrowed it. */
static char *client_name(uint64_t pid)
{
	char path[64], name[64];
	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/comm", pid);
	if (io_read_at(AT_FDCWD, path, name, sizeof(name)) <= 0)
		return xasprintf("%" PRIu64, pid);
	name[strcspn(name, "\n")] = '\0';
	return xasprintf("%" PRIu64 " %s", pid, name);
}

static void put_cells(struct buf *out, const struct term *term, struct json_object *list)
{
	static const struct column_head heads[] = {
		{ .title = "language" },
		{ .title = "state" },
		{ .title = "for", .is_number = true },
		{ .title = "memory", .is_number = true },
		{ .title = "client", .gives_way = true },
	};
	struct columns columns = { .heads = heads, .count = COUNT_OF(heads) };
	for (size_t i = 0; i < length_of(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);
		columns_add(&columns, xstrdup(word(row, "runtime")));
		columns_add(&columns, xstrdup(word(row, "state")));
		columns_add(&columns, age(number(row, "seconds")));
		columns_add(&columns, memory(row));
		columns_add(&columns, client_name(number(row, "client")));
	}
	put_list(out, term, "cells that are lent", &columns, "none");
}

static void put_sessions(struct buf *out, const struct term *term, struct json_object *list)
{
	static const struct column_head heads[] = {
		{ .title = "session", .gives_way = true },
		{ .title = "language" },
		{ .title = "status" },
		{ .title = "executions", .is_number = true },
		{ .title = "memory", .is_number = true },
		{ .title = "unused for", .is_number = true },
	};
	struct columns columns = { .heads = heads, .count = COUNT_OF(heads) };
	uint64_t now = (uint64_t)time(NULL);
	for (size_t i = 0; i < length_of(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);
		uint64_t used = number(row, "last_used");
		columns_add(&columns, xstrdup(word(row, "name")));
		columns_add(&columns, xstrdup(word(row, "language")));
		columns_add(&columns, xstrdup(word(row, "status")));
		add_number(&columns, row, "executions");
		columns_add(&columns, memory(row));
		columns_add(&columns, age(now > used ? now - used : 0));
	}
	put_list(out, term, "sessions", &columns, "none");
}

/* ---- one look -----------------------------------------------------------------------------------
 */

static int look(const struct top *top, struct json_object **ret_status, struct err *err)
{
	struct json_object *sessions = NULL;
	struct err none = { 0 };
	TRY(status_ask(top->path, true, ret_status, err));
	/* a daemon that has no keeper yet has none */
	if (status_sessions(top->path, &sessions, &none) == 0)
		json_put(*ret_status, "session_list",
			json_object_get(json_object_object_get(sessions, "sessions")));
	else
		json_put(*ret_status, "session_list", json_object_new_array());
	(void)json_object_put(sessions);
	return 0;
}

static void put_all(struct buf *out, struct top *top, struct json_object *status)
{
	struct json_object *keeper = member(status, "keeper");
	put_head(out, &top->term, status);
	put_summary(out, top, status);
	put_pools(out, &top->term, member(keeper, "pools"));
	put_cells(out, &top->term, member(keeper, "loans"));
	put_sessions(out, &top->term, member(status, "session_list"));
}

static int show_once(struct top *top, struct err *err)
{
	auto_json struct json_object *status = NULL;
	auto_buf struct buf out;
	buf_init(&out, FRAME_MAX);
	TRY(look(top, &status, err));
	if (top->is_json) {
		auto_free char *text = json_print(status, true);
		(void)printf("%s\n", text);
		return 0;
	}
	put_all(&out, top, status);
	(void)fwrite(buf_text(&out), 1, out.len, stdout);
	return 0;
}

/* ---- live ---------------------------------------------------------------------------------------
 */

/* As many lines as there are rows, each cleared to its end, and nothing of the last frame below. */
static void draw(const struct top *top, const struct buf *frame)
{
	auto_buf struct buf out;
	buf_init(&out, FRAME_MAX * 2);
	(void)buf_printf(&out, "\033[H");
	const char *at = buf_text(frame);
	for (int row = 0; *at && row + 1 < top->term.rows; row++) {
		size_t len = strcspn(at, "\n");
		(void)buf_append(&out, at, len);
		(void)buf_printf(&out, "\033[K\n");
		at += len + (at[len] == '\n');
	}
	(void)buf_printf(&out, "\033[J\033[%d;1Hq quits%s\033[K", top->term.rows,
		*at ? "; the terminal is too low for all of it" : "");
	(void)io_write(STDOUT_FILENO, out.data, out.len);
}

static void draw_next(struct top *top)
{
	auto_json struct json_object *status = NULL;
	auto_buf struct buf frame;
	struct err err = { 0 };
	buf_init(&frame, FRAME_MAX);
	term_measure(&top->term);
	if (look(top, &status, &err) == 0)
		put_all(&frame, top, status);
	else
		(void)buf_printf(&frame, "%s\n", err.text);
	draw(top, &frame);
}

/* False: q, or a signal. */
static bool wait_for_next(const struct top *top, int interrupt_fd)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = interrupt_fd, .events = POLLIN },
	};
	char keys[64];
	int n = poll(fds, COUNT_OF(fds), (int)top->interval_ms);
	if (n <= 0)
		return n == 0 ||
		       errno == EINTR; /* a terminal that changed its size is drawn anew */
	if (fds[1].revents)
		return false;
	ssize_t len = read(STDIN_FILENO, keys, sizeof(keys));
	return len > 0 && !memchr(keys, 'q', (size_t)len) && !memchr(keys, 'Q', (size_t)len);
}

static int show_live(struct top *top, struct err *err)
{
	static const char enter[] = "\033[?1049h\033[?25l\033[2J";
	static const char leave[] = "\033[?25h\033[?1049l";
	struct termios before;
	auto_json struct json_object *status = NULL;
	TRY(look(top, &status, err)); /* nobody there: that is told on the usual screen */
	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return err_sys(err, errno, "look at the terminal");
	struct termios raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	auto_fd int interrupt_fd = cli_open_interrupts();
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	(void)io_write(STDOUT_FILENO, enter, sizeof(enter) - 1);
	do {
		draw_next(top);
	} while (wait_for_next(top, interrupt_fd));
	(void)io_write(STDOUT_FILENO, leave, sizeof(leave) - 1);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	return 0;
}

/* ---- the command --------------------------------------------------------------------------------
 */

static int take(void *context, const char *flag, const char *value, struct err *err)
{
	enum { INTERVAL_MAX = 3600 * 1000 };
	struct top *top = context;
	if (strcmp(flag, "once") == 0)
		top->is_once = true;
	else if (strcmp(flag, "json") == 0)
		top->is_json = true;
	else if (strcmp(flag, "socket") == 0)
		top->socket = value;
	else if (units_parse_milli(value, &top->interval_ms) < 0 || top->interval_ms < 50 ||
		 top->interval_ms > INTERVAL_MAX)
		return err_set(err, ERR_INVALID,
			"--interval: '%.40s' is not a number of seconds from 0.05 to 3600, for "
			"example --interval 0.5",
			value);
	return 0;
}

static int find_socket(struct top *top, struct err *err)
{
	struct config config;
	if (top->socket) {
		(void)snprintf(top->path, sizeof(top->path), "%s", top->socket);
		return 0;
	}
	config_init(&config);
	int r = cli_load(&config, &(struct config_wish){ 0 }, err);
	config_done(&config);
	loan_socket_path(top->path, sizeof(top->path));
	return r;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct top top = { .interval_ms = 1000 };
	struct cli_line line = { .context = &top, .take = take };
	int r = cli_read(argc, argv, NULL, options, COUNT_OF(options), &line, &err);
	if (r == 0 && line.has_help) {
		cli_help(command, options, COUNT_OF(options), false, examples);
		return 0;
	}
	if (r == 0 && line.rest < argc)
		r = err_set(&err, ERR_INVALID, "top takes no argument");
	if (r == 0)
		r = find_socket(&top, &err);
	term_look(&top.term, STDOUT_FILENO, COLOUR_AUTO);
	bool is_live = top.term.is_terminal && !top.term.is_dumb && isatty(STDIN_FILENO) &&
		       !top.is_once && !top.is_json;
	if (r == 0)
		r = is_live ? show_live(&top, &err) : show_once(&top, &err);
	return r < 0 ? cli_fail(&err) : 0;
}

const struct command cmd_top = {
	.name = "top",
	.usage = "[OPTIONS]",
	.help = "the daemon, live: its cells, sessions, queue and pools",
	.run = run,
};
