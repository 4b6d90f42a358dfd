/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harvest. Everything below the workspace was made by code we do not trust: names, depths,
 * sizes, kinds of files. The cell is dead by now, so nothing changes under our hands; still every
 * open is beneath, link-free and non-blocking, and every count has an end.
 */
#include "keeper/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "keeper/beneath.h"

enum { VISIT_MAX = 200000 };

struct harvest {
	const struct pair *out;
	const char *root;    /* "home" or "tmp" */
	const char *pattern; /* relative to root */
	const char *program;
	struct result *result;
	int target_fd;
	int visits;
};

static struct out_file *add_file(struct harvest *harvest, const char *path)
{
	struct result *result = harvest->result;
	if (result->file_count >= LIMIT_TREE_FILES)
		return NULL;
	result->files = xrealloc(result->files, result->file_count + 1, sizeof(*result->files));
	struct out_file *file = &result->files[result->file_count++];
	bool is_home = strcmp(harvest->root, "home") == 0;
	*file = (struct out_file){ .path = xasprintf("%s%s", is_home ? "" : "/tmp/", path) };
	return file;
}

static void refuse(struct harvest *harvest, const char *path, const char *why)
{
	struct out_file *file = add_file(harvest, path);
	if (file)
		file->refused = xstrdup(why);
}

static int make_target_dirs(int target_fd, const char *path)
{
	char part[PATH_MAX];
	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(target_fd, part, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* Never more than the size it had when we looked. */
static int copy_bytes(int from_fd, int to_fd, int64_t size)
{
	char chunk[65536];
	while (size > 0) {
		size_t want = size < (int64_t)sizeof(chunk) ? (size_t)size : sizeof(chunk);
		ssize_t n = read(from_fd, chunk, want);
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		int r = io_write(to_fd, chunk, (size_t)n);
		if (r < 0)
			return r;
		size -= n;
	}
	return 0;
}

/* Written under a nameless inode first: a reader of the directory sees the whole file or none. */
static int save(struct harvest *harvest, int from_fd, const struct stat *st, const char *path)
{
	char self[64];
	char aside[PATH_MAX];
	int r = make_target_dirs(harvest->target_fd, path);
	if (r < 0)
		return r;
	mode_t mode = st->st_mode & 0100 ? 0755 : 0644;
	auto_fd int fd = openat(harvest->target_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	r = copy_bytes(from_fd, fd, st->st_size);
	if (r < 0)
		return r;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, harvest->target_fd, path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if ((size_t)snprintf(aside, sizeof(aside), "%s.hotcell-%d", path, getpid()) >=
		sizeof(aside))
		return -ENAMETOOLONG;
	if (linkat(AT_FDCWD, self, harvest->target_fd, aside, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	if (renameat(harvest->target_fd, aside, harvest->target_fd, path) < 0) {
		r = -errno;
		(void)unlinkat(harvest->target_fd, aside, 0);
		return r;
	}
	return 0;
}

static void take_file(struct harvest *harvest, int dir_fd, const char *name, const char *path)
{
	struct stat st;
	auto_fd int fd = beneath_open(dir_fd, name, O_RDONLY | O_NONBLOCK, 0);
	if (fd == -ELOOP || (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))) {
		refuse(harvest, path, fd == -ELOOP ? "a symbolic link" : "not a regular file");
		return;
	}
	if (fd < 0) {
		refuse(harvest, path, strerror(-fd));
		return;
	}
	int r = save(harvest, fd, &st, path);
	if (r < 0) {
		refuse(harvest, path, strerror(-r));
		return;
	}
	struct out_file *file = add_file(harvest, path);
	if (!file)
		return;
	file->size = st.st_size;
	file->saved_to = xasprintf("%s/%s", harvest->out->to ? harvest->out->to : ".", path);
}

static bool is_wanted(const struct harvest *harvest, const char *path, bool is_inside)
{
	bool is_program = harvest->program && strcmp(path, harvest->program) == 0;
	if (is_program)
		return strcmp(path, harvest->pattern) == 0;
	return is_inside || fnmatch(harvest->pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0;
}

static void walk(struct harvest *harvest, int dir_fd, const char *path, int depth, bool is_inside);

static void visit(struct harvest *harvest, int dir_fd, const struct dirent *entry, const char *path,
	int depth, bool is_inside)
{
	char full[PATH_MAX];
	struct stat st;
	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return;
	int n = snprintf(full, sizeof(full), "%s%s%s", path, *path ? "/" : "", entry->d_name);
	if (n < 0 || (size_t)n >= sizeof(full))
		return;
	if (fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	bool is_match = is_wanted(harvest, full, is_inside);
	if (!S_ISDIR(st.st_mode)) {
		if (is_match)
			take_file(harvest, dir_fd, entry->d_name, full);
		return;
	}
	if (depth >= LIMIT_TREE_DEPTH) {
		if (is_match)
			refuse(harvest, full, "too many directories deep");
		return;
	}
	int fd = beneath_open(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY, 0);
	if (fd >= 0)
		walk(harvest, fd, full, depth + 1, is_match);
	else if (is_match)
		refuse(harvest, full, strerror(-fd));
}

/* Takes dir_fd. */
static void walk(struct harvest *harvest, int dir_fd, const char *path, int depth, bool is_inside)
{
	auto_dir DIR *dir = fdopendir(dir_fd);
	if (!dir) {
		(void)close(dir_fd);
		return;
	}
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (harvest->visits++ >= VISIT_MAX ||
			harvest->result->file_count >= LIMIT_TREE_FILES)
			return;
		visit(harvest, dirfd(dir), entry, path, depth, is_inside);
	}
}

static int take_out(const struct workspace *workspace, const struct pair *out, const char *program,
	struct result *result, struct err *err)
{
	const char *to = out->to ? out->to : ".";
	struct harvest harvest = { .out = out,
		.root = "home",
		.pattern = out->from,
		.program = program,
		.result = result };
	if (strncmp(out->from, "/home/user/", 11) == 0)
		harvest.pattern += 11;
	else if (strncmp(out->from, "/tmp/", 5) == 0) {
		harvest.root = "tmp";
		harvest.pattern += 5;
		harvest.program = NULL;
	}
	if (mkdir(to, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "--out: create '%s'", to);
	auto_fd int target_fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target_fd < 0)
		return err_sys(err, errno, "--out: open '%s'", to);
	harvest.target_fd = target_fd;
	int root_fd = beneath_open(workspace->fd, harvest.root, O_RDONLY | O_DIRECTORY, 0);
	if (root_fd < 0)
		return err_sys(err, -root_fd, "--out: open the workspace");
	size_t before = result->file_count;
	walk(&harvest, root_fd, "", 0, false);
	if (result->file_count == before)
		result_warn(result, "--out: nothing in the cell matches '%s'", out->from);
	if (harvest.visits >= VISIT_MAX)
		result_warn(result, "--out: looked at %d entries and stopped", VISIT_MAX);
	return 0;
}

int workspace_copy_out(const struct workspace *workspace, const struct pairs *outs,
	const char *program, struct result *result, struct err *err)
{
	for (size_t i = 0; i < outs->count; i++)
		TRY(take_out(workspace, &outs->items[i], program, result, err));
	return 0;
}
