/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell session files, put and get: files of a session, also while code runs in it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/io.h"
#include "base/own.h"
#include "cli/session_view.h"
#include "cli/sessions.h"
#include "keeper/keeper.h"

enum { TEXT_MAX = 4 << 20, CHUNK = 64 << 10 };

static const struct cli_option files_options[] = {
	{ .flag = "json", .help = "print JSON" },
};

static const char put_examples[] = "  hotcell session put work data.csv\n"
				   "  hotcell session put work data.csv:in/data.csv table.csv:in/\n"
				   "  make-data | hotcell session put work /dev/stdin:data.csv\n";

static const char get_examples[] = "  hotcell session get work plot.png\n"
				   "  hotcell session get work out/plot.png:latest.png\n"
				   "  hotcell session get work table.csv:- | head\n";

struct files_line {
	bool is_json;
	struct strings words;
};

static int take_json(void *context, const char *flag, const char *value, struct err *err)
{
	struct files_line *line = context;
	(void)flag;
	(void)value;
	(void)err;
	line->is_json = true;
	return 0;
}

/* Returns -1 to go on, else the exit status. */
static int read_words(const struct command *command, int argc, char **argv, size_t min, size_t max,
	const char *examples, struct files_line *line)
{
	struct err err = { 0 };
	struct cli_line cli = { .context = line, .take = take_json };
	size_t option_count = examples ? 0 : COUNT_OF(files_options);
	if (cli_read_mixed(
		    argc, argv, NULL, files_options, option_count, &cli, &line->words, &err) < 0)
		return cli_fail(&err);
	if (cli.has_help) {
		cli_help(command, files_options, option_count, false, examples);
		return 0;
	}
	if (line->words.count >= min && line->words.count <= max)
		return -1;
	(void)err_set(&err, ERR_INVALID, "%s: %s; usage: hotcell %s %s", command->name,
		line->words.count < min ? "something is missing" : "too many names", command->name,
		command->usage);
	return cli_fail(&err);
}

static int fail(const char *session, struct err *err)
{
	sessions_name_nearest(session, err);
	return cli_fail(err);
}

/* ---- looking ------------------------------------------------------------------------------------
 */

int session_run_files(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct files_line line = { 0 };
	auto_json struct json_object *listing = NULL;
	auto_buf struct buf text = { 0 };
	struct term term;
	int status = read_words(command, argc, argv, 1, 1, NULL, &line);
	buf_init(&text, TEXT_MAX);
	if (status < 0 && session_files(NULL, line.words.items[0], &listing, &err) < 0) {
		status = fail(line.words.items[0], &err);
	} else if (status < 0 && line.is_json) {
		sessions_print(listing);
		status = 0;
	} else if (status < 0) {
		term_look(&term, STDOUT_FILENO, COLOUR_AUTO);
		session_files_put(&text, listing, &term, (int64_t)time(NULL));
		(void)fwrite(buf_text(&text), 1, text.len, stdout);
		status = 0;
	}
	strings_done(&line.words);
	return status;
}

/* ---- in -----------------------------------------------------------------------------------------
 */

static int copy_all(int from_fd, int to_fd, bool *ret_is_reading)
{
	char chunk[CHUNK];
	for (;;) {
		ssize_t n = read(from_fd, chunk, sizeof(chunk));
		*ret_is_reading = n < 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		int r = io_write(to_fd, chunk, (size_t)n);
		if (r < 0)
			return r;
	}
}

/* Where a file goes: "dir/" means into it, and nothing means under its own name. */
static int target_of(const struct pair *pair, char **ret_path, struct err *err)
{
	const char *slash = strrchr(pair->from, '/');
	const char *name = slash ? slash + 1 : pair->from;
	size_t len = pair->to ? strlen(pair->to) : 0;
	bool is_dir = len > 0 && pair->to[len - 1] == '/';
	auto_free char *path =
		xasprintf("%s%s", pair->to ? pair->to : "", !pair->to || is_dir ? name : "");
	return home_path(path, ret_path, err);
}

static int put_file(const char *session, const struct pair *pair, struct err *err)
{
	auto_fd int workspace_fd = -1;
	auto_fd int conn_fd = -1;
	auto_fd int fd = -1;
	auto_free char *path = NULL;
	bool is_reading = false;
	TRY(target_of(pair, &path, err));
	/* which may be a pipe of another user's, that can be read but not opened */
	bool is_stdin = strcmp(pair->from, "/dev/stdin") == 0;
	auto_fd int from_fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				       : open(pair->from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (from_fd < 0)
		return err_sys(err, errno, "open '%.200s'", pair->from);
	TRY(session_workspace(NULL, session, true, &workspace_fd, &conn_fd, err));
	TRY(home_create(workspace_fd, &fd, err));
	own_close(&conn_fd); /* what is copied has no name yet, and others may go on */
	int r = copy_all(from_fd, fd, &is_reading);
	if (r < 0)
		return is_reading ? err_sys(err, -r, "read '%.200s'", pair->from)
				  : home_refuse_write(-r, path, err);
	own_close(&workspace_fd);
	TRY(session_workspace(NULL, session, true, &workspace_fd, &conn_fd, err));
	return home_name(workspace_fd, fd, path, err);
}

/* ---- out ----------------------------------------------------------------------------------------
 */

static int open_inside(const char *session, const char *path, int *ret_fd, struct err *err)
{
	auto_fd int workspace_fd = -1;
	auto_fd int conn_fd = -1;
	auto_free char *inside = NULL;
	TRY(home_path(path, &inside, err));
	TRY(session_workspace(NULL, session, true, &workspace_fd, &conn_fd, err));
	return home_open(workspace_fd, inside, ret_fd, err);
}

/* Where it goes: into a directory that is there, else under that name. */
static char *place_of(const struct pair *pair)
{
	struct stat st;
	const char *slash = strrchr(pair->from, '/');
	const char *name = slash ? slash + 1 : pair->from;
	const char *to = pair->to ? pair->to : ".";
	bool is_dir = stat(to, &st) == 0 && S_ISDIR(st.st_mode);
	return is_dir ? xasprintf("%s/%s", to, name) : xstrdup(to);
}

static int save(int from_fd, const char *place, struct err *err)
{
	struct aside aside = { .fd = -1 };
	bool is_reading = false;
	const char *slash = strrchr(place, '/');
	auto_free char *dir = slash == place ? xstrdup("/")
			      : slash        ? xstrndup(place, (size_t)(slash - place))
					     : xstrdup(".");
	auto_fd int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = dir_fd < 0 ? -errno : aside_open(&aside, dir_fd, 0644);
	if (r == 0)
		r = copy_all(from_fd, aside.fd, &is_reading);
	if (r == 0)
		r = aside_name(&aside, slash ? slash + 1 : place);
	aside_drop(&aside);
	return r < 0 ? err_sys(err, -r, "write '%.200s'", place) : 0;
}

static int get_file(const char *session, const struct pair *pair, struct err *err)
{
	auto_fd int fd = -1;
	bool is_reading = false;
	TRY(open_inside(session, pair->from, &fd, err));
	if (pair->to && strcmp(pair->to, "-") == 0) {
		int r = copy_all(fd, STDOUT_FILENO, &is_reading);
		return r < 0 ? err_sys(err, -r, "write to standard output") : 0;
	}
	auto_free char *place = place_of(pair);
	return save(fd, place, err);
}

/* ---- both ---------------------------------------------------------------------------------------
 */

/* One after the other; the first that fails ends it. */
static int run_each(const struct command *command, int argc, char **argv, const char *examples,
	int (*copy)(const char *session, const struct pair *pair, struct err *err))
{
	struct err err = { 0 };
	struct files_line line = { 0 };
	int status = read_words(command, argc, argv, 2, SIZE_MAX, examples, &line);
	for (size_t i = 1; status < 0 && i < line.words.count; i++) {
		struct pair pair = { 0 };
		const char *session = line.words.items[0];
		if (!pair_parse(line.words.items[i], &pair)) {
			(void)err_set(&err, ERR_INVALID, "'%.80s' has an empty part",
				line.words.items[i]);
			status = cli_fail(&err);
			break;
		}
		if (copy(session, &pair, &err) < 0)
			status = fail(session, &err);
		free(pair.from);
		free(pair.to);
	}
	strings_done(&line.words);
	return status < 0 ? 0 : status;
}

int session_run_put(const struct command *command, int argc, char **argv)
{
	return run_each(command, argc, argv, put_examples, put_file);
}

int session_run_get(const struct command *command, int argc, char **argv)
{
	return run_each(command, argc, argv, get_examples, get_file);
}
