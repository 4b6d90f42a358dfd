/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotcell mcp: the Model Context Protocol on standard input and output, one message on each line.
 * Nothing waits for a run: workers do those, and so a cancellation is heard while one goes on. When
 * the input ends, what was asked for is still answered, as a shell's pipe expects; a client that
 * wants us gone earlier says so with a signal, or stops to read.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/own.h"
#include "cli/cli.h"
#include "mcp/mcp.h"
#include "model/units.h"
#include "worker/worker.h"

enum {
	CONCURRENCY_MAX = 256,
	WAITING_MAX = 256,         /* calls beyond those that run */
	LINE_MAX_BYTES = 24 << 20, /* of a message; a longer one is refused, not kept */
	OUT_MAX = 512 << 20,       /* answers that wait for their reader */
	OUT_HIGH = 1 << 20,        /* with so many nothing more is read */
	CHUNK = 64 << 10,
};

static const struct cli_option options[] = {
	{ .flag = "concurrency",
		.short_flag = 'j',
		.metavar = "N",
		.help = "how many run at once, 1 to 256 [as many as processors]" },
	{ .flag = "root",
		.metavar = "DIR",
		.help = "run_file may run the files below it; repeatable [the working directory]" },
	{ .flag = "no-root", .help = "no file of this machine may be run: run_file is not there" },
	CLI_CONFIG_OPTIONS,
};

static const char examples[] =
	"  hotcell mcp                              speaks on stdin and stdout\n"
	"  claude mcp add hotcell -- hotcell mcp    adds it to Claude Code\n"
	"  codex mcp add hotcell -- hotcell mcp     adds it to Codex\n";

struct stdio {
	/* as asked for */
	int64_t concurrency;
	struct strings roots;
	bool has_no_root;
	struct config_wish wish;

	struct loop loop;
	struct workers *workers;
	struct mcp *mcp;
	struct mcp_workshop workshop;
	struct mcp_peer peer;
	struct watch signal_watch, in_watch, out_watch;
	struct buf line;              /* what was read and has no end yet */
	struct buf out;               /* what was said and nobody has read yet */
	size_t sent;                  /* of it */
	bool is_file_in, is_file_out; /* these are always ready, and epoll does not take them */
	bool is_socket_out;
	bool is_at_end, is_broken, is_interrupted;
};

static int take(void *context, const char *flag, const char *value, struct err *err)
{
	struct stdio *io = context;
	if (cli_take_config(&io->wish, flag, value))
		return 0;
	if (strcmp(flag, "root") == 0)
		strings_add(&io->roots, value);
	else if (strcmp(flag, "no-root") == 0)
		io->has_no_root = true;
	else if (units_parse_count(value, &io->concurrency) < 0 || io->concurrency < 1 ||
		 io->concurrency > CONCURRENCY_MAX)
		return err_set(err, ERR_INVALID,
			"--concurrency: '%.40s' is not a whole number from 1 to %d, for example "
			"--concurrency 8",
			value, CONCURRENCY_MAX);
	return 0;
}

/* ---- saying -------------------------------------------------------------------------------------
 */

/* As much as may be written without waiting; 0: nothing now; -errno. */
static ssize_t write_some(const struct stdio *io, const char *data, size_t len)
{
	struct pollfd ready = { .fd = STDOUT_FILENO, .events = POLLOUT };
	ssize_t n = 0;
	if (io->is_socket_out) {
		n = send(STDOUT_FILENO, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else {
		if (!io->is_file_out && poll(&ready, 1, 0) <= 0)
			return 0;
		/* a pipe that is ready has room for so many */
		n = write(STDOUT_FILENO, data, len < PIPE_BUF ? len : PIPE_BUF);
	}
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n;
}

static void flush(struct stdio *io)
{
	struct buf *out = &io->out;
	while (io->sent < out->len && !io->is_broken) {
		ssize_t n = write_some(io, out->data + io->sent, out->len - io->sent);
		if (n < 0)
			io->is_broken = true;
		if (n <= 0)
			break;
		io->sent += (size_t)n;
	}
	if (io->sent == out->len)
		io->sent = out->len = 0;
	if (!io->is_file_out)
		(void)loop_change(&io->loop, &io->out_watch, out->len ? EPOLLOUT : 0);
}

static void put_line(struct stdio *io, const char *message, size_t len)
{
	struct buf *out = &io->out;
	if (io->sent > OUT_HIGH) { /* what was sent makes room */
		out->len -= io->sent;
		memmove(out->data, out->data + io->sent, out->len);
		io->sent = 0;
	}
	if (buf_append(out, message, len) < 0 || buf_append(out, "\n", 1) < 0)
		io->is_broken = true; /* a reader so slow has lost the thread */
	flush(io);
}

static bool is_full(const struct stdio *io)
{
	return io->out.len - io->sent > OUT_HIGH;
}

/* Who does not keep up with progress gets less of it. */
static void say(void *context, const char *message, size_t len)
{
	struct stdio *io = context;
	if (!is_full(io))
		put_line(io, message, len);
}

static void end(void *context, enum mcp_end how, const char *message, size_t len)
{
	struct stdio *io = context;
	(void)how;
	if (message)
		put_line(io, message, len);
}

/* ---- work ---------------------------------------------------------------------------------------
 */

static void hear(void *context, const char *line, size_t len, bool is_last)
{
	mcp_hear(context, line, len, is_last);
}

static int begin_work(void *context, struct mcp_call *call, enum work_kind kind, const char *job,
	size_t len, struct err *err)
{
	struct stdio *io = context;
	const struct listener listener = { .hear = hear, .context = call };
	struct work *work = NULL;
	size_t busy = mcp_busy(io->mcp);
	if (busy > (size_t)io->concurrency + WAITING_MAX)
		return err_set(err, ERR_BUSY,
			"%zu calls are under way already; wait for one to end", busy - 1);
	const struct work_wish wish = { .kind = kind, .text = job, .len = len };
	TRY(workers_submit(io->workers, &wish, &listener, &work, err));
	mcp_set_work(call, work);
	return 0;
}

static void cancel_work(void *context, struct mcp_call *call)
{
	(void)context;
	work_cancel(mcp_work(call));
}

/* ---- hearing ------------------------------------------------------------------------------------
 */

static void take_line(struct stdio *io, const char *line, size_t len)
{
	const struct mcp_context context = { .peer = &io->peer, .group = "" };
	const struct mcp_listener listener = { .say = say, .end = end, .context = io };
	size_t blank = 0;
	while (blank < len && strchr(" \t\r", line[blank]))
		blank++;
	if (blank == len)
		return;
	(void)mcp_take(io->mcp, &context, line, len, &listener);
}

/* A message over the bound is kept up to one byte beyond it, which is enough to refuse it. */
static void keep(struct stdio *io, const char *data, size_t len)
{
	size_t room = LINE_MAX_BYTES + 1 - io->line.len;
	(void)buf_append(&io->line, data, len < room ? len : room);
}

static void take_bytes(struct stdio *io, const char *data, size_t len)
{
	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t part = newline ? (size_t)(newline - data) : len;
		if (newline && io->line.len == 0) {
			take_line(io, data, part);
		} else {
			keep(io, data, part);
			if (newline)
				take_line(io, buf_text(&io->line), io->line.len);
			if (newline)
				io->line.len = 0;
		}
		part += newline != NULL;
		data += part;
		len -= part;
	}
}

static void hear_input(void *context, uint32_t events)
{
	struct stdio *io = context;
	char chunk[CHUNK];
	(void)events;
	ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		take_bytes(io, chunk, (size_t)n);
		return;
	}
	if (io->line.len > 0) /* the last line may lack its newline */
		take_line(io, buf_text(&io->line), io->line.len);
	io->is_at_end = true;
	loop_remove(&io->loop, &io->in_watch);
}

static void hear_output(void *context, uint32_t events)
{
	struct stdio *io = context;
	if (events & (EPOLLERR | EPOLLHUP))
		io->is_broken = true;
	else
		flush(io);
}

static void hear_signal(void *context, uint32_t events)
{
	struct stdio *io = context;
	(void)events;
	io->is_interrupted = true;
}

/* ---- beginning and end --------------------------------------------------------------------------
 */

/* epoll refuses what is always ready. */
static int watch(struct loop *loop, struct watch *watch, uint32_t events, bool *ret_is_file)
{
	int r = loop_add(loop, watch, events);
	*ret_is_file = r == -EPERM;
	if (*ret_is_file)
		watch->fd = -1;
	return *ret_is_file ? 0 : r;
}

static int start(struct stdio *io, struct err *err)
{
	struct stat st;
	io->is_socket_out = fstat(STDOUT_FILENO, &st) == 0 && S_ISSOCK(st.st_mode);
	buf_init(&io->line, LINE_MAX_BYTES + 2);
	buf_init(&io->out, OUT_MAX);
	io->signal_watch =
		(struct watch){ .fd = cli_open_interrupts(), .wake = hear_signal, .context = io };
	io->in_watch = (struct watch){ .fd = STDIN_FILENO, .wake = hear_input, .context = io };
	io->out_watch = (struct watch){ .fd = STDOUT_FILENO, .wake = hear_output, .context = io };
	bool is_file = false;
	int r = loop_init(&io->loop);
	if (r == 0)
		r = watch(&io->loop, &io->signal_watch, EPOLLIN, &is_file);
	if (r == 0)
		r = watch(&io->loop, &io->in_watch, EPOLLIN, &io->is_file_in);
	if (r == 0)
		r = watch(&io->loop, &io->out_watch, 0, &io->is_file_out);
	if (r < 0)
		return err_sys(err, -r, "watch standard input and output");
	io->workshop =
		(struct mcp_workshop){ .begin = begin_work, .cancel = cancel_work, .context = io };
	io->workers = workers_open(&io->loop, (size_t)io->concurrency);
	io->mcp = mcp_open(&io->workshop, &io->roots);
	return 0;
}

static bool is_over(const struct stdio *io)
{
	bool is_idle = mcp_busy(io->mcp) == 0 && io->out.len == 0;
	return io->is_broken || io->is_interrupted || (io->is_at_end && is_idle);
}

static int serve(struct stdio *io, struct err *err)
{
	int r = 0;
	while (r >= 0 && !is_over(io)) {
		bool is_held = is_full(io);
		bool reads_file = io->is_file_in && !io->is_at_end && !is_held;
		if (!io->is_file_in && !io->is_at_end)
			(void)loop_change(&io->loop, &io->in_watch, is_held ? 0 : EPOLLIN);
		if (reads_file)
			hear_input(io, EPOLLIN);
		r = loop_turn(&io->loop, reads_file ? 0 : -1);
	}
	return r < 0 ? err_sys(err, -r, "wait for messages") : 0;
}

static void stop(struct stdio *io)
{
	workers_close(io->workers);
	mcp_close(io->mcp);
	buf_done(&io->line);
	buf_done(&io->out);
	own_close(&io->signal_watch.fd);
	loop_done(&io->loop);
}

/* A server that was started nowhere in particular has no directory of its own. */
static void choose_roots(struct stdio *io)
{
	char path[PATH_MAX];
	if (io->has_no_root || io->roots.count > 0)
		return;
	if (getcwd(path, sizeof(path)) && strcmp(path, "/") != 0)
		strings_add(&io->roots, path);
}

static int check_roots(const struct stdio *io, struct err *err)
{
	struct stat st;
	if (io->has_no_root && io->roots.count > 0)
		return err_set(err, ERR_INVALID, "--no-root: does not go with --root");
	for (size_t i = 0; i < io->roots.count; i++)
		if (stat(io->roots.items[i], &st) < 0 || !S_ISDIR(st.st_mode))
			return err_set(err, ERR_INVALID, "--root: '%.200s' is no directory",
				io->roots.items[i]);
	return 0;
}

static int run_stdio(struct stdio *io, struct err *err)
{
	TRY(check_roots(io, err));
	TRY(cli_hand_on(&io->wish, err));
	choose_roots(io);
	if (isatty(STDIN_FILENO))
		(void)fputs("hotcell: messages of an MCP client are expected here; hotcell mcp "
			    "--help tells how one is told of us\n",
			stderr);
	int r = start(io, err);
	if (r == 0)
		r = serve(io, err);
	stop(io);
	return r;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct stdio io = { .concurrency = sysconf(_SC_NPROCESSORS_ONLN),
		.loop = { .epoll_fd = -1 },
		.signal_watch = { .fd = -1 } };
	struct cli_line line = { .context = &io, .take = take };
	int r = cli_read(argc, argv, NULL, options, COUNT_OF(options), &line, &err);
	if (r == 0 && line.has_help) {
		cli_help(command, options, COUNT_OF(options), false, examples);
		return 0;
	}
	if (r == 0 && line.rest < argc)
		r = err_set(&err, ERR_INVALID, "mcp: takes no '%.60s'", argv[line.rest]);
	if (r == 0)
		r = run_stdio(&io, &err);
	strings_done(&io.roots);
	return r < 0 ? cli_fail(&err) : 0;
}

const struct command cmd_mcp = {
	.name = "mcp",
	.usage = "[OPTIONS]",
	.help = "serve agents: the Model Context Protocol on stdin and stdout",
	.run = run,
};
