/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A virtual environment is a directory with a pyvenv.cfg and a link to an interpreter in its bin;
 * Python knows that it is in one by the path it was started with, so that path is kept and only
 * the directory it lies in is resolved. The cell must see two things at their own places: the
 * environment and, where it is not the system's, the installation that its interpreter belongs to.
 *
 * Showing a directory is no small thing: only what is recognised as a part of Python is shown
 * without being asked for, never a home directory or one that everything lies in.
 */
#include "engine/python.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "model/limits.h"

/* The path without its last part, owned by the caller; NULL when that would be the root. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash > path ? xstrndup(path, (size_t)(slash - path)) : NULL;
}

static bool has_file(const char *dir, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* lib/python3.12/os.py is what an interpreter itself looks for to find its prefix. */
static bool has_library(const char *dir)
{
	auto_free char *pattern = xasprintf("%s/lib/python3*/os.py", dir);
	glob_t found = { 0 };
	bool is_there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
	globfree(&found);
	return is_there;
}

static bool is_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);
	return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_home_or_shallow(const char *dir)
{
	const char *home = getenv("HOME");
	auto_free char *real = home ? realpath(home, NULL) : NULL;
	return strchr(dir + 1, '/') == NULL || (real && is_in(real, dir));
}

static bool is_shown(const struct pairs *mounts, const char *dir)
{
	for (size_t i = 0; i < mounts->count; i++) {
		auto_free char *target = spec_mount_target(&mounts->items[i]);
		if (target && is_in(dir, target))
			return true;
	}
	return false;
}

/* Shows a directory to the cell at its own place, unless it is there already. */
static int show(struct spec *spec, const char *dir, struct err *err)
{
	if (is_in(dir, "/usr") || is_shown(&spec->ro, dir) || is_shown(&spec->rw, dir))
		return 0;
	const struct pair mount = { .from = (char *)dir, .to = (char *)dir };
	auto_free char *target = spec_mount_target(&mount);
	if (!target || is_home_or_shallow(dir))
		return err_set(err, ERR_INVALID,
			"--python: '%s' cannot be shown to the run at its own place; move it to a "
			"directory of its own, for example /opt/venv",
			dir);
	if (spec->ro.count + spec->rw.count >= LIMIT_MOUNTS)
		return err_set(err, ERR_LIMIT,
			"--python: '%s' would be one mount more than %d: use fewer of --ro and "
			"--rw",
			dir, LIMIT_MOUNTS);
	pairs_add(&spec->ro, dir, dir);
	return 0;
}

/* The interpreter that a path names, absolute, its last link unresolved. */
static int find_program(const char *path, char **ret_program, struct err *err)
{
	static const char *const names[] = { "bin/python3", "bin/python" };
	struct stat st;
	if (stat(path, &st) < 0)
		return err_sys(err, errno, "--python: look at '%s'", path);
	if (S_ISDIR(st.st_mode)) {
		auto_free char *real = realpath(path, NULL);
		if (!real)
			return err_sys(err, errno, "--python: look at '%s'", path);
		for (size_t i = 0; i < COUNT_OF(names); i++) {
			auto_free char *program = xasprintf("%s/%s", real, names[i]);
			if (access(program, X_OK) == 0) {
				*ret_program = take_ptr(&program);
				return 0;
			}
		}
		return err_set(err, ERR_INVALID,
			"--python: '%s' has no bin/python3: it is no virtual environment, or the "
			"Python it was made with is gone; make one with: python3 -m venv %s",
			path, path);
	}
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return err_set(err, ERR_INVALID,
			"--python: '%s' is no program; give an interpreter or a virtual "
			"environment, for example --python .venv",
			path);
	const char *slash = strrchr(path, '/');
	auto_free char *dir = slash ? xstrndup(path, (size_t)(slash - path + 1)) : xstrdup(".");
	auto_free char *real = realpath(dir, NULL);
	if (!real)
		return err_sys(err, errno, "--python: look at '%s'", path);
	*ret_program =
		xasprintf("%s/%s", strcmp(real, "/") == 0 ? "" : real, slash ? slash + 1 : path);
	return 0;
}

/* What is two levels above DIR/bin/python3. */
static char *prefix_of(const char *program)
{
	auto_free char *bin = parent_of(program);
	return bin ? parent_of(bin) : NULL;
}

/* A link to an interpreter that is no environment's stands for the interpreter itself. */
static int show_parts(struct spec *spec, char **program, struct err *err)
{
	auto_free char *real = realpath(*program, NULL);
	if (!real)
		return err_sys(err, errno, "--python: look at '%s'", *program);
	auto_free char *environment = prefix_of(*program);
	auto_free char *prefix = prefix_of(real);
	if (environment && has_file(environment, "pyvenv.cfg")) {
		TRY(show(spec, environment, err));
	} else {
		free(*program);
		*program = xstrdup(real);
	}
	if (is_in(real, "/usr") || is_shown(&spec->ro, real) || is_shown(&spec->rw, real))
		return 0;
	if (prefix && has_library(prefix))
		return show(spec, prefix, err);
	return err_set(err, ERR_INVALID,
		"--python: '%s' belongs to no installation that is recognised (no "
		"lib/python3.x/os.py beside its bin): give the interpreter itself instead of a "
		"script that starts it, or show what it needs with --ro DIR",
		real);
}

static void replace_first(struct strings *argv, const char *program)
{
	if (argv->count == 0)
		return;
	free(argv->items[0]);
	argv->items[0] = xstrdup(program);
}

int python_choose(struct spec *spec, struct language *language, struct err *err)
{
	auto_free char *program = NULL;
	if (!spec->python)
		return 0;
	if (strcmp(language->name, "python") != 0)
		return err_set(err, ERR_INVALID,
			"--python: has no meaning for %s; leave it out, or add --language python",
			language->name);
	TRY(find_program(spec->python, &program, err));
	TRY(show_parts(spec, &program, err));
	replace_first(&language->argv, program);
	replace_first(&language->guest, program);
	replace_first(&language->version, program);
	replace_first(&language->check, program);
	return 0;
}
