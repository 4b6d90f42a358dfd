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

#include "base/aside.h"
#include "base/io.h"
#include "base/own.h"
#include "keeper/beneath.h"
#include "keeper/keeper.h"

enum { VISIT_MAX = 200000 };

struct harvest {
	const struct pair *out;
	const char *root;    /* "home" or "tmp" */
	const char *pattern; /* relative to root */
	const char *program;
	struct result *result;
	int target_fd;
	int64_t *budget; /* bytes that may still be written to the host */
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
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(target_fd, part, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* Copies one stretch of data, never more than the budget. */
static int copy_stretch(int from_fd, int to_fd, int64_t at, int64_t end, int64_t *budget)
{
	char chunk[65536];
	while (at < end) {
		size_t want =
			end - at < (int64_t)sizeof(chunk) ? (size_t)(end - at) : sizeof(chunk);
		ssize_t n = pread(from_fd, chunk, want, at);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		*budget -= n;
		if (*budget < 0)
			return -EDQUOT;
		if (lseek(to_fd, at, SEEK_SET) < 0)
			return -errno;
		int r = io_write(to_fd, chunk, (size_t)n);
		if (r < 0)
			return r;
		at += n;
	}
	return 0;
}

/* Holes stay holes: a cell can make files of any length out of nothing. */
int copy_bytes(int from_fd, int to_fd, int64_t size, int64_t *budget)
{
	int64_t at = 0;
	while (at < size) {
		int64_t start = lseek(from_fd, at, SEEK_DATA);
		if (start < 0)
			break; /* nothing but a hole is left */
		int64_t end = lseek(from_fd, start, SEEK_HOLE);
		end = end < 0 || end > size ? size : end;
		int r = copy_stretch(from_fd, to_fd, start, end, budget);
		if (r < 0)
			return r;
		at = end;
	}
	return ftruncate(to_fd, size) < 0 ? -errno : 0;
}

static int save(struct harvest *harvest, int from_fd, const struct stat *st, const char *path)
{
	struct aside aside = { .fd = -1 };
	int r = make_target_dirs(harvest->target_fd, path);
	if (r < 0)
		return r;
	const char *slash = strrchr(path, '/');
	auto_free char *dir = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	auto_fd int dir_fd =
		openat(harvest->target_fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return -errno;
	r = aside_open(&aside, dir_fd, st->st_mode & 0100 ? 0755 : 0644);
	if (r == 0)
		r = copy_bytes(from_fd, aside.fd, st->st_size, harvest->budget);
	if (r == 0)
		r = aside_name(&aside, slash ? slash + 1 : path);
	aside_drop(&aside);
	return r;
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
		refuse(harvest, path,
			r == -EDQUOT ? "more than the cell's disk in all" : strerror(-r));
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
	if (strcmp(harvest->root, "tmp") == 0 && strcmp(full, BUILD_NAME) == 0)
		return; /* the compiled program is no more a result than the code is */
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
	int64_t *budget, struct result *result, struct err *err)
{
	const char *to = out->to ? out->to : ".";
	bool is_tmp = false;
	auto_free char *pattern = spec_out_pattern(out, &is_tmp);
	if (!pattern)
		return err_set(
			err, ERR_INVALID, "--out: '%s' names nothing in the cell", out->from);
	struct harvest harvest = { .out = out,
		.root = is_tmp ? "tmp" : "home",
		.pattern = pattern,
		.program = is_tmp ? NULL : program,
		.budget = budget,
		.result = result };
	auto_free char *below = xasprintf("%s/", to);
	int made = make_target_dirs(AT_FDCWD, below);
	if (made < 0)
		return err_sys(err, -made, "--out: create '%s'", to);
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
	if (result->file_count >= LIMIT_TREE_FILES)
		result_warn(result, "--out: took %d files and stopped", LIMIT_TREE_FILES);
	if (harvest.visits >= VISIT_MAX)
		result_warn(result, "--out: looked at %d entries and stopped", VISIT_MAX);
	return 0;
}

int workspace_check_out(const struct pairs *outs, struct err *err)
{
	for (size_t i = 0; i < outs->count; i++) {
		const char *to = outs->items[i].to;
		struct stat st;
		if (to && stat(to, &st) == 0 && !S_ISDIR(st.st_mode))
			return err_set(err, ERR_INVALID, "--out: '%s' is not a directory", to);
	}
	return 0;
}

int workspace_copy_out(const struct workspace *workspace, const struct spec *spec,
	const char *program, struct result *result, struct err *err)
{
	int64_t budget = spec->disk; /* no honest run has more to give */
	for (size_t i = 0; i < spec->outs.count; i++)
		TRY(take_out(workspace, &spec->outs.items[i], program, &budget, result, err));
	return 0;
}
