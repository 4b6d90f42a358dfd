/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever adds a record opens the current file, locks it, looks at its end, and writes one line at
 * once. The lock belongs to the open file, so it ends with its owner, however that ends. While it
 * was waited for, the file may have become an older one: then its name leads to another by now, and
 * one begins again.
 *
 * A process that is killed while it writes may leave a part of its line, and nobody was told of
 * that run. The next record begins a new line and says how many bytes before it are no record
 * (`torn`), so that the log is only ever added to and the check can tell a crash from a change.
 * When the disk is full, the writer itself takes its part back.
 *
 * A file that has grown enough is renamed after its last record; the first record of the next one
 * follows that. A crash in between is harmless: an empty current file looks for the newest older
 * one.
 *
 * Who waits for a run to end looks at the log meanwhile (struct log_view). What was seen without
 * the lock counts if the file ended with a whole record and has the same size under the lock: bytes
 * that came before a whole record's end are never taken back. Who adds one record after the other
 * keeps the view, with the file open and the lock given back.
 *
 * The page cache keeps what was written when processes die, however many. Only `sync` waits for the
 * disk, too.
 */
#include "store/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/state.h"
#include "model/limits.h"

enum {
	NUMBER_DIGITS = 15,
	WINDOW = 4096, /* a record is a third of it */
	FILES_OF_LOG = 16,
	TRIES = 16,
	RESERVE = 64 << 10,
	PAGE = 4096, /* the kernel looks for SIGKILL between two of them */
};

const char *const log_place[] = { "audit", NULL };

int64_t log_file_max(int64_t total)
{
	return total / FILES_OF_LOG;
}

/* ---- older files ------------------------------------------------------------------------------
 */

void log_file_name(uint64_t number, char name[LOG_NAME_MAX])
{
	(void)snprintf(name, LOG_NAME_MAX, "log-%0*" PRIu64 ".jsonl", NUMBER_DIGITS, number);
}

static bool parse_name(const char *name, uint64_t *ret_number)
{
	static const char head[] = "log-";
	const char *digits = name + sizeof(head) - 1;
	if (strncmp(name, head, sizeof(head) - 1) != 0 ||
		strspn(digits, "0123456789") != NUMBER_DIGITS ||
		strcmp(digits + NUMBER_DIGITS, ".jsonl") != 0)
		return false;
	*ret_number = strtoull(digits, NULL, 10);
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;
	return left < right ? -1 : left > right;
}

int log_files_load(int dir_fd, struct log_files *files)
{
	*files = (struct log_files){ 0 };
	int list_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *dir = list_fd < 0 ? NULL : fdopendir(list_fd);
	if (!dir)
		return -errno;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		uint64_t number;
		if (!parse_name(entry->d_name, &number) || files->count == LIMIT_AUDIT_FILES)
			continue;
		files->numbers =
			xrealloc(files->numbers, files->count + 1, sizeof(*files->numbers));
		files->numbers[files->count++] = number;
	}
	if (files->count > 0)
		qsort(files->numbers, files->count, sizeof(*files->numbers), compare);
	return 0;
}

void log_files_done(struct log_files *files)
{
	free(files->numbers);
	*files = (struct log_files){ 0 };
}

/* ---- the end of a file ------------------------------------------------------------------------
 */

/* Where the line that ends before `end` begins, or -1 when that is before the window. */
static ssize_t line_start(const char *data, size_t end, bool is_whole)
{
	const char *newline = end > 0 ? memrchr(data, '\n', end) : NULL;
	if (newline)
		return newline + 1 - data;
	return is_whole ? 0 : -1;
}

/* Looks for the last record in the last `len` bytes of a file. False: it needs to see more. */
static bool find_last(const char *data, size_t len, bool is_whole, struct log_tail *tail)
{
	*tail = (struct log_tail){ .lacks_newline = len > 0 && data[len - 1] != '\n' };
	size_t end = tail->lacks_newline ? len : len - 1; /* of the line, without its newline */
	while (len > 0) {
		ssize_t start = line_start(data, end, is_whole);
		if (start < 0)
			return false;
		size_t line_len = end - (size_t)start;
		bool is_open = end == len;
		tail->has_record = link_parse(data + start, line_len, &tail->last);
		if (tail->has_record) {
			tail->torn = is_open ? 0 : len - end - 1;
			return true;
		}
		if (start == 0)
			break;
		end = (size_t)start - 1;
	}
	tail->torn = len;
	return is_whole;
}

int log_read_tail(int fd, off_t size, struct log_tail *tail)
{
	*tail = (struct log_tail){ 0 };
	for (size_t window = WINDOW; size > 0; window *= 8) {
		bool is_whole = (off_t)window >= size;
		size_t len = is_whole ? (size_t)size : window;
		auto_free char *data = xcalloc(len, 1);
		ssize_t n = pread(fd, data, len, size - (off_t)len);
		if (n < 0 || (size_t)n != len)
			return n < 0 ? -errno : -EIO;
		if (find_last(data, len, is_whole, tail))
			return 0;
	}
	return 0;
}

/* A write that was cut off has no newline, or it ended with a page and had begun with one. */
bool log_is_crash(uint64_t size, bool lacks_newline)
{
	return lacks_newline || size % PAGE == 0;
}

/* ---- adding a record --------------------------------------------------------------------------
 */

static int refuse_log(int sys, struct err *err)
{
	if (sys == EPERM || sys == ELOOP)
		return err_set(err, ERR_INVALID,
			"the audit log '" LOG_CURRENT "' is a link or not ours alone; remove it");
	if (sys == ETIMEDOUT)
		return err_set(err, ERR_SYSTEM,
			"the audit log is locked by a process that does not let go of it");
	return err_sys(err, sys, "open the audit log");
}

static bool is_seen(const struct log_view *view, const struct stat *st)
{
	return st->st_dev == view->dev && st->st_ino == view->ino;
}

/* Whether the name still leads to the file that was locked, which has this size then. */
static int is_current(const struct log_view *view, off_t *ret_size, bool *ret_is_current)
{
	struct stat now;
	int r = fstatat(view->dir_fd, LOG_CURRENT, &now, AT_SYMLINK_NOFOLLOW);
	if (r < 0 && errno != ENOENT)
		return -errno;
	*ret_is_current = r == 0 && is_seen(view, &now);
	*ret_size = r == 0 ? now.st_size : 0;
	return 0;
}

static int open_current(int dir_fd, int *ret_fd, struct stat *ret_st)
{
	return state_open_file(dir_fd, LOG_CURRENT, O_RDWR | O_APPEND | O_CREAT, ret_fd, ret_st);
}

static int open_view(struct log_view *view, off_t *ret_size)
{
	struct stat st;
	int r = open_current(view->dir_fd, &view->fd, &st);
	if (r < 0)
		return r;
	view->dev = st.st_dev;
	view->ino = st.st_ino;
	*ret_size = st.st_size;
	return 0;
}

/* Locks the current file, and opens it first where that was not done yet. */
static int open_locked(struct log_view *view, int *ret_fd, off_t *ret_size, struct err *err)
{
	for (int i = 0; i < TRIES; i++) {
		bool is_same = false;
		int r = view->fd < 0 ? open_view(view, ret_size) : 0;
		auto_fd int fd = take_fd(&view->fd);
		if (r == 0)
			r = state_lock(fd);
		if (r == 0)
			r = is_current(view, ret_size, &is_same);
		if (r < 0)
			return refuse_log(-r, err);
		if (!is_same) {
			view->size = -1;
			continue;
		}
		*ret_fd = take_fd(&fd);
		return 0;
	}
	return err_set(err, ERR_SYSTEM, "the audit log is renamed faster than it can be opened");
}

static void see_end(struct log_view *view, off_t size)
{
	view->size = -1;
	if (log_read_tail(view->fd, size, &view->tail) == 0 && view->tail.has_record &&
		view->tail.torn == 0 && !view->tail.lacks_newline)
		view->size = size;
}

void log_view(int dir_fd, struct log_view *view)
{
	off_t size = 0;
	*view = (struct log_view){ .dir_fd = dir_fd, .fd = -1, .size = -1 };
	if (open_view(view, &size) == 0)
		see_end(view, size);
}

bool log_look_again(struct log_view *view, const char *path)
{
	struct stat st;
	if (view->fd < 0 || lstat(path, &st) < 0 || !is_seen(view, &st))
		return false;
	if (st.st_size != view->size)
		see_end(view, st.st_size);
	return true;
}

void log_view_done(struct log_view *view)
{
	own_close(&view->fd);
	own_close(&view->dir_fd);
}

/* What the first record of a new file follows. */
static int carry_over(int dir_fd, struct link *last, struct err *err)
{
	struct log_files files;
	struct log_tail tail = { 0 };
	link_init(last);
	int r = log_files_load(dir_fd, &files);
	if (r == 0 && files.count > 0) {
		char name[LOG_NAME_MAX];
		auto_fd int fd = -1;
		struct stat st;
		log_file_name(files.numbers[files.count - 1], name);
		r = state_open_file(dir_fd, name, O_RDONLY, &fd, &st);
		if (r == 0)
			r = log_read_tail(fd, st.st_size, &tail);
		if (r == 0 && !tail.has_record)
			r = -EBADMSG;
	}
	log_files_done(&files);
	if (tail.has_record)
		*last = tail.last;
	return r < 0 ? err_sys(err, -r, "read the end of the audit log's last file") : 0;
}

/* The oldest files go, so that one more full file fits. */
static void drop_oldest(int dir_fd, int64_t total)
{
	struct log_files files;
	int64_t bytes = log_file_max(total);
	if (log_files_load(dir_fd, &files) < 0)
		return;
	for (size_t i = files.count; i-- > 0;) {
		char name[LOG_NAME_MAX];
		struct stat st;
		log_file_name(files.numbers[i], name);
		if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes += st.st_size;
		if (bytes > total)
			(void)unlinkat(dir_fd, name, 0);
	}
	log_files_done(&files);
}

static int rotate(int dir_fd, uint64_t number, int64_t total, struct err *err)
{
	char name[LOG_NAME_MAX];
	log_file_name(number, name);
	if (renameat2(dir_fd, LOG_CURRENT, dir_fd, name, RENAME_NOREPLACE) < 0)
		return err_sys(err, errno, "rename the audit log to '%s'", name);
	drop_oldest(dir_fd, total);
	return 0;
}

/* All of it or nothing: what a full disk took is given back, and was told to nobody. */
static int write_line(int fd, const struct buf *line, off_t size, struct err *err)
{
	ssize_t n = write(fd, line->data, line->len);
	if (n == (ssize_t)line->len)
		return 0;
	int sys = n < 0 ? errno : ENOSPC;
	if (n > 0)
		(void)ftruncate(fd, size);
	return err_sys(err, sys, "write to the audit log");
}

static int sync_log(int dir_fd, int fd, bool is_new, struct err *err)
{
	if (fdatasync(fd) < 0)
		return err_sys(err, errno, "have the audit log on disk");
	auto_fd int list_fd = is_new ? openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (is_new && (list_fd < 0 || fsync(list_fd) < 0))
		return err_sys(err, errno, "have the audit log's name on disk");
	return 0;
}

/* The lock ends here, and what we know of the file does not. */
static void keep(struct log_view *view, int *fd, off_t size, const struct buf *line)
{
	size_t skip = line->data[0] == '\n';
	view->tail = (struct log_tail){ 0 };
	view->tail.has_record =
		link_parse(line->data + skip, line->len - skip - 1, &view->tail.last);
	if (!view->tail.has_record || state_unlock(*fd) < 0)
		return;
	view->size = size + (off_t)line->len;
	view->fd = take_fd(fd);
}

/* Looks at the file's end, begins a new file when it is time. True in *ret_is_full: it was. */
static int look(const struct log_view *view, int fd, off_t size, size_t len, int64_t total,
	struct log_tail *tail, bool *ret_is_full, struct err *err)
{
	int r = 0;
	if (view->size == size)
		*tail = view->tail;
	else
		r = log_read_tail(fd, size, tail);
	if (r < 0)
		return err_sys(err, -r, "read the end of the audit log");
	*ret_is_full = tail->has_record && tail->torn == 0 && !tail->lacks_newline &&
		       size + (off_t)len > log_file_max(total);
	if (*ret_is_full)
		return rotate(view->dir_fd, tail->last.seq, total, err);
	return tail->has_record ? 0 : carry_over(view->dir_fd, &tail->last, err);
}

int log_append(
	struct log_view *view, const char *body, int64_t total, bool wants_sync, struct err *err)
{
	auto_fd int fd = -1;
	auto_buf struct buf line;
	struct log_tail tail;
	off_t size = 0;
	bool is_full = true;
	buf_init(&line, LIMIT_AUDIT_LINE);
	for (int i = 0; i < TRIES && is_full; i++) {
		own_close(&fd);
		TRY(open_locked(view, &fd, &size, err));
		TRY(look(view, fd, size, strlen(body), total, &tail, &is_full, err));
	}
	if (is_full)
		return err_set(
			err, ERR_SYSTEM, "the audit log fills faster than it can be written");
	if (tail.lacks_newline)
		(void)buf_append(&line, "\n", 1);
	/* the newline that ends a torn line is no record either; what no crash leaves is not ours
	 */
	uint64_t torn = tail.torn + (tail.torn > 0 && tail.lacks_newline);
	if (!log_is_crash((uint64_t)size, tail.lacks_newline))
		torn = 0;
	if (link_forge(&tail.last, torn, body, &line) < 0)
		return err_set(
			err, ERR_LIMIT, "an audit record is over %d bytes", LIMIT_AUDIT_LINE);
	TRY(write_line(fd, &line, size, err));
	if (wants_sync)
		TRY(sync_log(view->dir_fd, fd, size == 0, err));
	if (view->is_kept)
		keep(view, &fd, size, &line);
	return 0;
}

int log_reserve(int dir_fd, struct err *err)
{
	auto_fd int fd = -1;
	struct stat st;
	int r = open_current(dir_fd, &fd, &st);
	if (r < 0)
		return refuse_log(-r, err);
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, RESERVE) < 0 && errno != EOPNOTSUPP)
		return err_sys(err, errno, "reserve room in the audit log");
	return 0;
}
