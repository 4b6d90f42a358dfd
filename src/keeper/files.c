/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the home of a cell, for somebody who looks on. Code may run there meanwhile: what goes
 * away while we look is left out. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "keeper/beneath.h"
#include "keeper/keeper.h"
#include "model/limits.h"
#include "wire/json.h"

struct listing {
	struct json_object *files;
	int64_t count, bytes;
};

static const char *kind_of(mode_t mode)
{
	return S_ISREG(mode)   ? "file"
	       : S_ISDIR(mode) ? "directory"
	       : S_ISLNK(mode) ? "link"
			       : "other";
}

static void add(struct listing *listing, const char *path, const struct stat *st)
{
	listing->count++;
	listing->bytes += S_ISREG(st->st_mode) ? st->st_size : 0;
	if (json_object_array_length(listing->files) >= LIMIT_LISTED_FILES)
		return;
	struct json_object *file = json_object_new_object();
	json_put(file, "path", json_new_string(path));
	json_put(file, "kind", json_new_string(kind_of(st->st_mode)));
	json_put(file, "size", json_object_new_int64(st->st_size));
	json_put(file, "modified", json_object_new_int64(st->st_mtime));
	(void)json_object_array_add(listing->files, file);
}

/* `prefix` ends with a slash, unless it is empty. */
static void walk(
	struct listing *listing, int dir_fd, const char *name, const char *prefix, int depth)
{
	auto_dir DIR *dir = NULL;
	int fd = beneath_open(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd >= 0)
		dir = fdopendir(fd);
	if (!dir) {
		own_close(&fd);
		return;
	}
	for (struct dirent *entry = readdir(dir); entry && listing->count < LIMIT_TREE_FILES;
		entry = readdir(dir)) {
		struct stat st;
		bool is_itself =
			strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
		if (is_itself || fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bool is_dir = S_ISDIR(st.st_mode);
		auto_free char *path =
			xasprintf("%s%s%s", prefix, entry->d_name, is_dir ? "/" : "");
		add(listing, path, &st);
		if (is_dir && depth < LIMIT_TREE_DEPTH)
			walk(listing, dirfd(dir), entry->d_name, path, depth + 1);
	}
}

struct json_object *keeper_list_files(int workspace_fd)
{
	struct listing listing = { .files = json_object_new_array() };
	struct json_object *json = json_object_new_object();
	walk(&listing, workspace_fd, "home", "", 0);
	json_put(json, "files", listing.files);
	json_put(json, "count", json_object_new_int64(listing.count));
	json_put(json, "bytes", json_object_new_int64(listing.bytes));
	return json;
}
