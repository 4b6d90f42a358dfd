/* SPDX-License-Identifier: Apache-2.0 */
#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

void place_run_dir(char *path, size_t size)
{
	const char *runtime_dir = getenv("XDG_RUNTIME_DIR");
	bool has_runtime_dir = runtime_dir && runtime_dir[0] == '/' &&
			       strlen(runtime_dir) + sizeof(PLACE_NAME) <= PLACE_MAX;
	/* root of a user namespace has no right to the real one's; that of a machine that mounts it
	 * read-only hears so when it is needed */
	if (geteuid() == 0 && (access(PLACE_RUN, W_OK) == 0 || errno == EROFS))
		(void)snprintf(path, size, PLACE_RUN PLACE_NAME);
	else if (has_runtime_dir)
		(void)snprintf(path, size, "%s" PLACE_NAME, runtime_dir);
	else
		(void)snprintf(path, size, PLACE_TMP "%u", geteuid());
}

int place_open_run_dir(int *ret_fd, struct err *err)
{
	char path[PLACE_MAX];
	struct stat st;
	place_run_dir(path, sizeof(path));
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "create '%s'", path);
	auto_fd int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open '%s'", path);
	if (st.st_uid != geteuid() || (st.st_mode & 0022) != 0)
		return err_set(err, ERR_INVALID,
			"'%s' belongs to someone else or is open to others; remove it", path);
	*ret_fd = take_fd(&fd);
	return 0;
}

int place_state_dir(char **ret_path, struct err *err)
{
	const char *own = secure_getenv("HOTCELL_STATE_DIR");
	const char *xdg = secure_getenv("XDG_STATE_HOME");
	const char *home = secure_getenv("HOME");
	if (own && own[0] != '\0' && own[0] != '/')
		return err_set(err, ERR_INVALID,
			"HOTCELL_STATE_DIR: '%.100s' is not an absolute path, for example "
			"HOTCELL_STATE_DIR=/var/lib/hotcell",
			own);
	if (own && own[0] != '\0')
		*ret_path = xstrdup(own);
	else if (geteuid() == 0 && (access(PLACE_STATE, W_OK) == 0 || errno == EROFS))
		*ret_path = xstrdup(PLACE_STATE PLACE_NAME);
	else if (xdg && xdg[0] == '/')
		*ret_path = xasprintf("%s" PLACE_NAME, xdg);
	else if (home && home[0] == '/')
		*ret_path = xasprintf("%s/.local/state" PLACE_NAME, home);
	else
		return err_set(err, ERR_MISSING,
			"there is no state directory: set HOME, XDG_STATE_HOME or "
			"HOTCELL_STATE_DIR");
	return 0;
}

__attribute__((weak)) bool place_home(size_t number, char *path, size_t size)
{
	ssize_t n = number == 0 ? readlink("/proc/self/exe", path, size - 1) : -1;
	if (n <= 0)
		return false;
	path[n] = '\0';
	char *slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return true;
}

__attribute__((weak)) bool place_is_foreign(void)
{
	return false;
}

int place_program(const char *name, char *path, size_t size, struct err *err)
{
	static const char *const places[] = { "", "/..", "/../lib/hotcell", "/../../bin",
		"/../bin" };
	char home[PATH_MAX];
	for (size_t number = 0; place_home(number, home, sizeof(home)); number++) {
		for (size_t i = 0; i < COUNT_OF(places); i++) {
			(void)snprintf(path, size, "%s%s/%s", home, places[i], name);
			if (access(path, X_OK) == 0)
				return 0;
		}
	}
	return err_set(err, ERR_MISSING,
		"the program %s is not beside hotcell nor in ../lib/hotcell of it; run make, or "
		"make install",
		name);
}
