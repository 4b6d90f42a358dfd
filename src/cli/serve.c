/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell serve: becomes the daemon, or tells how a running one is, or ends it. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/own.h"
#include "base/place.h"
#include "cli/cli.h"
#include "cli/status.h"
#include "loan/loan.h"
#include "model/limits.h"
#include "server/server.h"
#include "wire/json.h"

enum { OPTIONS_MAX = 32, ANSWER_MS = 10000, END_MS = 30000, DRAIN_S_MAX = 1000000 };

static const struct cli_option questions[] = {
	{ .flag = "status", .help = "tell how the daemon that runs is doing" },
	{ .flag = "stop", .help = "end the daemon that runs, its keeper and its cells" },
	{ .flag = "now", .help = "with --stop: do not let what is under way go on" },
	{ .flag = "json", .help = "with --status: print JSON" },
};

static const char examples[] = "  hotcell serve\n"
			       "  hotcell serve --concurrency 16 --queue 1000\n"
			       "  hotcell serve --on-demand --idle 60\n"
			       "  hotcell serve --status --json\n"
			       "  hotcell serve --stop --now\n";

struct asked {
	struct server_settings settings;
	bool wants_status, wants_stop, is_now, is_json;
};

static int take(void *context, const char *flag, const char *value, struct err *err)
{
	struct asked *asked = context;
	if (strcmp(flag, "status") == 0)
		asked->wants_status = true;
	else if (strcmp(flag, "stop") == 0)
		asked->wants_stop = true;
	else if (strcmp(flag, "now") == 0)
		asked->is_now = true;
	else if (strcmp(flag, "json") == 0)
		asked->is_json = true;
	else
		TRY(server_settings_set(&asked->settings, flag, value, err));
	return 0;
}

/* The daemon's options and ours, in one table. */
static size_t list_options(struct cli_option *options)
{
	size_t count = 0;
	for (size_t i = 0; i < server_option_count; i++)
		options[count++] = (struct cli_option){ .flag = server_options[i].flag,
			.metavar = server_options[i].metavar,
			.help = server_options[i].help };
	for (size_t i = 0; i < COUNT_OF(questions); i++)
		options[count++] = questions[i];
	return count;
}

static int check(const struct asked *asked, struct err *err)
{
	if (asked->wants_status && asked->wants_stop)
		return err_set(err, ERR_INVALID, "--status and --stop do not go together");
	if (asked->is_now && !asked->wants_stop)
		return err_set(err, ERR_INVALID, "--now: only --stop can be told so");
	if (asked->is_json && !asked->wants_status)
		return err_set(err, ERR_INVALID, "--json: only --status prints JSON");
	return server_settings_check(&asked->settings, err);
}

/* The daemon reads the configuration itself; who asks after one needs it to find it. */
static int find_socket(const struct asked *asked, char *path, size_t size, struct err *err)
{
	struct config config;
	if (asked->settings.socket_path) {
		(void)snprintf(path, size, "%s", asked->settings.socket_path);
		return 0;
	}
	config_init(&config);
	int r = cli_load(&config, &asked->settings.wish, err);
	config_done(&config);
	loan_socket_path(path, size);
	return r;
}

/* ---- serving ------------------------------------------------------------------------------ */

static int serve(char **argv, struct err *err)
{
	char path[PATH_MAX + 64];
	TRY(place_program("hotcelld", path, sizeof(path), err));
	argv[0] = (char *)"hotcelld";
	(void)execv(path, argv);
	return err_sys(err, errno, "execute '%s'", path);
}

/* ---- asking ------------------------------------------------------------------------------- */

static bool is_nobody(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED;
}

static int connect_daemon(const char *path, int *ret_fd, struct err *err)
{
	int fd = loan_connect(path);
	if (is_nobody(fd))
		return err_set(err, ERR_MISSING, "nobody serves at '%s'; hotcell serve does", path);
	if (fd == -EPERM)
		return err_set(err, ERR_INVALID, "'%s' is another user's", path);
	if (fd < 0)
		return err_sys(err, -fd, "connect to '%s'", path);
	*ret_fd = fd;
	return 0;
}

static bool wait_for(int fd, short events, int timeout_ms)
{
	struct pollfd what = { .fd = fd, .events = events };
	int n = 0;
	do {
		n = poll(&what, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

static int ask(const char *path, enum loan_kind kind, uint32_t number, const char *text,
	struct json_object **ret_json, struct err *err)
{
	auto_fd int fd = -1;
	struct loan_message answer = { 0 };
	TRY(connect_daemon(path, &fd, err));
	if (loan_send(fd, kind, number, text, strlen(text), NULL, 0) < 0 ||
		!wait_for(fd, POLLIN, ANSWER_MS) || loan_receive(fd, &answer) <= 0)
		return err_set(err, ERR_BROKEN, "the daemon at '%s' does not answer", path);
	int r = answer.kind == kind ? json_read(answer.text, answer.len, LOAN_TEXT_MAX,
					      LIMIT_FRAME_DEPTH, ret_json, err)
				    : err_set(err, ERR_INVALID, "%s", answer.text);
	loan_message_done(&answer);
	return r;
}

int status_ask(const char *path, bool is_whole, struct json_object **ret_json, struct err *err)
{
	return ask(path, LOAN_INFO, is_whole, "", ret_json, err);
}

int status_sessions(const char *path, struct json_object **ret_json, struct err *err)
{
	return ask(path, LOAN_SESSION, 0, "{\"verb\":\"list\"}", ret_json, err);
}

static void print_values(const char *name, struct json_object *value)
{
	const char *dot = name[0] ? "." : "";
	if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member)
		{
			auto_free char *whole = xasprintf("%s%s%s", name, dot, key);
			print_values(whole, member);
		}
	} else if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++) {
			auto_free char *whole = xasprintf("%s%s%zu", name, dot, i);
			print_values(whole, json_object_array_get_idx(value, i));
		}
	} else {
		(void)printf("%-24s %s\n", name, value ? json_object_get_string(value) : "-");
	}
}

static int print_status(const char *path, bool is_json, struct err *err)
{
	auto_json struct json_object *json = NULL;
	TRY(status_ask(path, false, &json, err));
	if (is_json) {
		auto_free char *text = json_print(json, true);
		(void)printf("%s\n", text);
	} else {
		print_values("", json);
	}
	return 0;
}

/* ---- ending ------------------------------------------------------------------------------- */

/* One number of the account of whoever we are connected to; 0: it tells none. */
static int64_t ask_number(int fd, const char *key)
{
	struct loan_message answer = { 0 };
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	if (loan_send(fd, LOAN_INFO, 0, NULL, 0, NULL, 0) < 0 || !wait_for(fd, POLLIN, ANSWER_MS) ||
		loan_receive(fd, &answer) <= 0)
		return 0;
	if (answer.kind == LOAN_INFO)
		(void)json_read(
			answer.text, answer.len, LOAN_TEXT_MAX, LIMIT_FRAME_DEPTH, &json, &err);
	loan_message_done(&answer);
	return json_object_get_int64(json_object_object_get(json, key));
}

/* How long a daemon lets others go on before it ends. */
static int drain_time_ms(int fd)
{
	int64_t seconds = ask_number(fd, "drain_timeout");
	return seconds > 0 && seconds < DRAIN_S_MAX ? (int)seconds * 1000 : 0;
}

/* A keeper outlives its daemon when it holds sessions, or when that was killed. It is not our
 * child, and we wait for its hang-up. */
static int stop_keeper(const char *path, struct err *err)
{
	char keeper[PATH_MAX];
	loan_keeper_path(path, keeper, sizeof(keeper));
	auto_fd int fd = loan_connect(keeper);
	if (fd < 0)
		return err_set(err, ERR_MISSING, "nobody serves at '%s'", path);
	size_t count = (size_t)ask_number(fd, "sessions");
	if (loan_send(fd, LOAN_END, 0, NULL, 0, NULL, 0) < 0 || !wait_for(fd, POLLRDHUP, END_MS))
		return err_set(err, ERR_BROKEN, "the keeper at '%s' does not end", keeper);
	if (count > 0)
		(void)printf("%zu session%s ended\n", count, count == 1 ? "" : "s");
	return 0;
}

/* The number of a process may be given away again, unless its connection is still there after we
 * have a hold on it. */
static int stop_daemon(int fd, const char *path, bool is_now, struct err *err)
{
	uid_t uid = 0;
	pid_t pid = 0;
	int drain_ms = is_now ? 0 : drain_time_ms(fd);
	if (!loan_is_trusted(fd, &uid, &pid) || pid <= 0)
		return err_set(err, ERR_INVALID, "cannot tell which process serves at '%s'", path);
	auto_fd int pidfd = pidfd_open(pid, 0);
	if (pidfd < 0 || wait_for(fd, POLLRDHUP, 0))
		return 0; /* it has just ended */
	if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0 && errno != ESRCH)
		return err_sys(err, errno, "end process %d, which serves at '%s'", (int)pid, path);
	/* told twice it ends at once; two signals of one kind could be taken as one */
	if (is_now)
		(void)pidfd_send_signal(pidfd, SIGINT, NULL, 0);
	if (!wait_for(pidfd, POLLIN, END_MS + drain_ms))
		return err_set(err, ERR_BROKEN, "process %d, which serves at '%s', does not end",
			(int)pid, path);
	return 0;
}

static int stop(const char *path, bool is_now, struct err *err)
{
	auto_fd int fd = loan_connect(path);
	if (is_nobody(fd))
		return stop_keeper(path, err);
	own_close(&fd);
	TRY(connect_daemon(path, &fd, err));
	TRY(stop_daemon(fd, path, is_now, err));
	struct err gone = { 0 };
	if (stop_keeper(path, &gone) < 0 && gone.code != ERR_MISSING)
		return err_set(err, gone.code, "%s", gone.text);
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	char path[PATH_MAX];
	struct err err = { 0 };
	struct asked asked = { 0 };
	struct cli_option options[OPTIONS_MAX];
	size_t count = list_options(options);
	struct cli_line line = { .context = &asked, .take = take };
	server_settings_init(&asked.settings);
	int r = cli_read(argc, argv, NULL, options, count, &line, &err);
	if (r == 0 && line.has_help) {
		cli_help(command, options, count, false, examples);
		return 0;
	}
	if (r == 0 && line.rest < argc)
		r = err_set(&err, ERR_INVALID, "serve takes no argument");
	if (r == 0)
		r = check(&asked, &err);
	if (r == 0 && (asked.wants_status || asked.wants_stop))
		r = find_socket(&asked, path, sizeof(path), &err);
	if (r == 0 && asked.wants_status)
		r = print_status(path, asked.is_json, &err);
	else if (r == 0 && asked.wants_stop)
		r = stop(path, asked.is_now, &err);
	else if (r == 0)
		r = serve(argv, &err);
	return r < 0 ? cli_fail(&err) : 0;
}

const struct command cmd_serve = {
	.name = "serve",
	.usage = "[OPTIONS]",
	.help = "the daemon: keeps cells ready, so that runs start at once",
	.run = run,
};
