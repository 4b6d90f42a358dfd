/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell in which only named programs exist (--commands). Three things make it so, each of which
 * would do for most attempts:
 *
 * - Every directory of programs is covered by one of the skeleton's that holds nothing but mounts
 *   of the named files, so that others are not there to be found.
 * - Landlock gives the right to execute to these files and the loader alone (landlock.c): not to
 *   the programs that /usr/lib has, nor to anything below /home/user, /tmp or a given directory.
 * - What the cell can write, and what was given to it, is mounted noexec (cell.c, template.c): it
 *   cannot be mapped as code either.
 *
 * The loader is the hard part: the kernel must execute it for each program, and executed by hand
 * it maps and starts any file. So what stands in its place is a small program of ours that knows
 * the difference (src/loader).
 */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "loader/loader.h"

#define PROGRAMS_DIR "run/programs"
#define STUB_PATH PROGRAMS_DIR "/loader"

const char *const jail_program_dirs[] = {
	"usr/local/bin",
	"usr/bin",
	"bin",
	"usr/local/sbin",
	"usr/sbin",
	"sbin",
	"usr/local/games",
	"usr/games",
	NULL,
};

/* Detached trees of single files, taken while the root file system could be reached. */
struct jail_programs {
	int fds[LIMIT_PROGRAMS];
	int loader_fd;
};

static int collect_file(int root_fd, const char *path, int *ret_fd, struct err *err)
{
	struct stat st;
	auto_fd int fd = io_open_in_root(root_fd, path, O_PATH);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open '%s' of the root file system", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is not a program", path);
	uint64_t attrs = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	return clone_tree(fd, attrs, -1, path, ret_fd, err);
}

/* The directory of programs that a path lies in, or NULL. */
static const char *dir_of(const char *path)
{
	for (size_t i = 0; jail_program_dirs[i]; i++) {
		size_t len = strlen(jail_program_dirs[i]);
		if (strncmp(path + 1, jail_program_dirs[i], len) == 0 && path[1 + len] == '/' &&
			!strchr(path + len + 2, '/'))
			return jail_program_dirs[i];
	}
	return NULL;
}

int collect_programs(struct raising *raising, int root_fd, struct err *err)
{
	const struct template_page *template = raising->template;
	if (template->program_count == 0)
		return 0;
	raising->programs = xcalloc(1, sizeof(*raising->programs));
	memset(raising->programs, -1, sizeof(*raising->programs));
	for (uint32_t i = 0; i < template->program_count; i++)
		if (dir_of(template->programs[i]))
			TRY(collect_file(
				root_fd, template->programs[i], &raising->programs->fds[i], err));
	if (template->loader[0] != '\0')
		TRY(collect_file(root_fd, template->loader, &raising->programs->loader_fd, err));
	return 0;
}

static int make_file(const char *path, const void *data, size_t len, struct err *err)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		return err_sys(err, errno, "create '/%s'", path);
	int r = io_write(fd, data, len);
	return r < 0 ? err_sys(err, -r, "write '/%s'", path) : 0;
}

/* Places a detached tree, wherever links of the skeleton lead. */
static int place(int tree_fd, const char *to, struct err *err)
{
	auto_fd int fd = io_open_in_root(AT_FDCWD, to, O_PATH);
	if (fd < 0)
		return err_sys(err, errno, "open '/%s' to cover it", to);
	if (move_mount(tree_fd, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_sys(err, errno, "cover '/%s'", to);
	return 0;
}

/* A part of the skeleton once more, at another place. */
static int place_part(const char *from, const char *to, struct err *err)
{
	auto_fd int fd = open_tree(AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "clone '/%s'", from);
	return place(fd, to, err);
}

/* Covers one directory with its named programs, if there is such a directory; a link leads to
 * another of them. */
static int cover_dir(struct raising *raising, size_t number, struct err *err)
{
	const struct template_page *template = raising->template;
	const char *dir = jail_program_dirs[number];
	char path[128];
	struct stat st;
	auto_fd int fd = io_open_in_root(AT_FDCWD, dir, O_PATH | O_NOFOLLOW);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open '/%s'", dir);
	if (!S_ISDIR(st.st_mode))
		return 0;
	(void)snprintf(path, sizeof(path), PROGRAMS_DIR "/%zu", number);
	if (mkdir(path, 0755) < 0)
		return err_sys(err, errno, "create '/%s'", path);
	for (uint32_t i = 0; i < template->program_count; i++) {
		const char *program = template->programs[i];
		if (dir_of(program) != dir)
			continue;
		(void)snprintf(path, sizeof(path), PROGRAMS_DIR "/%zu/%.80s", number,
			strrchr(program, '/') + 1);
		TRY(make_file(path, "", 0, err));
	}
	(void)snprintf(path, sizeof(path), PROGRAMS_DIR "/%zu", number);
	TRY(place_part(path, dir, err));
	for (uint32_t i = 0; i < template->program_count; i++)
		if (dir_of(template->programs[i]) == dir)
			TRY(place(raising->programs->fds[i], template->programs[i] + 1, err));
	return 0;
}

static int replace_loader(struct raising *raising, struct err *err)
{
	const char *loader = raising->template->loader;
	if (loader[0] == '\0')
		return 0;
	TRY(make_file(&LOADER_PATH[1], "", 0, err));
	TRY(place(raising->programs->loader_fd, &LOADER_PATH[1], err));
	TRY(make_file(STUB_PATH, loader_image, loader_image_size, err));
	return place_part(STUB_PATH, loader + 1, err);
}

static void note_names(struct raising *raising)
{
	const struct template_page *template = raising->template;
	char names[80] = "";
	size_t used = 0;
	for (uint32_t i = 0; i < template->program_count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? " " : "",
			strrchr(template->programs[i], '/') + 1);
	step_note(raising, STEP_COMMANDS, (int)template->program_count, "%s%s", names,
		used < sizeof(names) ? "" : "…");
}

int raise_commands(struct raising *raising, struct err *err)
{
	if (mkdir(PROGRAMS_DIR, 0755) < 0)
		return err_sys(err, errno, "create '/" PROGRAMS_DIR "'");
	for (size_t i = 0; jail_program_dirs[i]; i++)
		TRY(cover_dir(raising, i, err));
	TRY(replace_loader(raising, err));
	note_names(raising);
	for (size_t i = 0; i < LIMIT_PROGRAMS; i++)
		own_close(&raising->programs->fds[i]);
	own_close(&raising->programs->loader_fd);
	own_free(&raising->programs);
	raising->programs = NULL;
	return 0;
}
