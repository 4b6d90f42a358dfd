/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling the same code again would make the same program: it is kept instead. An entry is a
 * directory of the cache:
 *
 *	main	what the compiler made: a file or a directory
 *	note	the key, word for word, what the compiler said, and the seal of main
 *
 * The key is a text with everything that decides what is made, the code included. An entry's name
 * is a hash of it, but what counts is the text in the note: two keys of one hash are two keys. The
 * seal is made from what stat tells of main, the time of its last change included, which nobody
 * can set. So an entry that was damaged, changed, or only half on disk when the machine went down
 * is not recognised; there is no need to wait for the disk.
 *
 * An entry is filled under another name and renamed. Whoever fills one holds a lock on it, so that
 * what a killed one left is told from what is being made; whoever copies one holds a lock on its
 * main, so that it is not removed meanwhile. The time of an entry's last change is that of its
 * last use.
 *
 * What is in here was made by code that we do not trust, but only that very code gets it back, and
 * only into a cell.
 */
#include "engine/builds.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "engine/cache.h"
#include "keeper/keeper.h"

#define ASIDE ".new-"

enum {
	NAME_DIGITS = 16,
	KEY_MAX = LIMIT_CODE_BYTES + (1 << 20),
	ASIDE_TRIES = 64,
};

static const char magic[8] = "hcbuild";

/* How a note begins; the key and the words follow. */
struct note {
	char magic[sizeof(magic)];
	uint64_t key_len, words_len;
	uint64_t words_hash;
	uint64_t seal;
};

/* What stat tells of everything below a directory. */
struct weight {
	uint64_t seal;
	int64_t bytes;
	int files_left;
};

struct build *build_new(void)
{
	struct build *build = xcalloc(1, sizeof(*build));
	build->fd = -1;
	buf_init(&build->key, KEY_MAX);
	return build;
}

void build_free(struct build *build)
{
	if (!build)
		return;
	buf_done(&build->key);
	buf_done(&build->words);
	own_close(&build->fd);
	free(build);
}

/* ---- what decides ------------------------------------------------------------------------------
 */

/* A compiler is more than its program: headers, libraries, an assembler, a linker. Where a package
 * comes or goes, or a library is installed by hand, one of these changes. */
static const char *const system_paths[] = {
	"etc/alternatives",
	"etc/ld.so.cache",
	"usr/include",
	"usr/lib",
	"usr/local/include",
	"usr/local/lib",
	"var/lib/dpkg/status",
	"lib/apk/db/installed",
	"var/lib/pacman/local",
	"var/lib/rpm",
};

static int add_stat(struct buf *key, const char *name, const struct stat *st)
{
	return buf_printf(key, "%s %llx %llx %llx %llx.%lx %llx.%lx\n", name,
		(unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
		(unsigned long long)st->st_size, (unsigned long long)st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec, (unsigned long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

/* A path of the root file system; one that is not there is a fact, too. */
static int add_path(struct buf *key, int root_fd, const char *path)
{
	struct stat st;
	auto_fd int fd = io_open_in_root(root_fd, path, O_PATH);
	if (fd < 0 || fstat(fd, &st) < 0)
		return buf_printf(key, "%s -\n", path);
	return add_stat(key, path, &st);
}

/* Those of the programs that belong to the root file system. */
static int add_programs(struct buf *key, int root_fd, const struct strings *paths, size_t count)
{
	int r = 0;
	for (size_t i = 0; i < count && i < paths->count && r == 0; i++)
		if (paths->items[i][0] == '/')
			r = add_path(key, root_fd, paths->items[i]);
	return r;
}

/* The definition's own files: programs of ours, and how they are called. */
static int add_definition(struct buf *key, const struct language *language)
{
	auto_free struct dirent **entries = NULL;
	int r = buf_printf(key, "%s %s\n", language->name, language->dir ? language->dir : "-");
	auto_fd int fd =
		language->dir ? open(language->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int count = fd < 0 ? 0 : scandirat(fd, ".", &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		struct stat st;
		if (r == 0 && fstatat(fd, entries[i]->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
			r = add_stat(key, entries[i]->d_name, &st);
		free(entries[i]);
	}
	return r;
}

static int add_system(struct buf *key, const struct compiling *compiling)
{
	const struct language *language = compiling->language;
	const char *rootfs = compiling->spec->rootfs;
	bool is_host = strcmp(rootfs, "host") == 0;
	auto_fd int root_fd = open(is_host ? "/" : rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	int r = add_path(key, root_fd, ".");
	for (size_t i = 0; i < COUNT_OF(system_paths) && r == 0; i++)
		r = add_path(key, root_fd, system_paths[i]);
	if (r == 0)
		r = add_programs(key, root_fd, &language->compile, 1);
	if (r == 0)
		r = add_programs(key, root_fd, &language->version, 1);
	if (r == 0)
		r = add_programs(key, root_fd, &language->needs, language->needs.count);
	return r;
}

static int add_texts(struct buf *key, const struct compiling *compiling, const struct strings *argv)
{
	int r = buf_printf(key, "%s\n%s\n%d\n", compiling->program,
		compiling->runtime ? compiling->runtime : "-", compiling->spec->proc);
	for (size_t i = 0; i < argv->count && r == 0; i++)
		r = buf_printf(key, "%zu %s\n", strlen(argv->items[i]), argv->items[i]);
	if (r == 0)
		r = buf_printf(key, "%zu\n", compiling->code_len);
	return r < 0 ? r : buf_append(key, compiling->code, compiling->code_len);
}

void build_describe(const struct compiling *compiling, const struct strings *argv, struct buf *key)
{
	const struct spec *spec = compiling->spec;
	/* what comes in beside the code may change while it is read */
	if (spec->files.count + spec->ro.count + spec->rw.count > 0)
		return;
	int r = buf_printf(key, "hotcell %s\n", HOTCELL_VERSION);
	if (r == 0)
		r = add_definition(key, compiling->language);
	if (r == 0)
		r = add_system(key, compiling);
	if (r == 0)
		r = add_texts(key, compiling, argv);
	if (r < 0)
		buf_done(key);
}

/* ---- one entry ---------------------------------------------------------------------------------
 */

static void name_entry(const struct buf *key, char name[NAME_DIGITS + 1])
{
	(void)snprintf(name, NAME_DIGITS + 1, "%016" PRIx64, cache_hash(key->data, key->len));
}

static int open_inside(int dir_fd, const char *name, int flags)
{
	return openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
}

static void add_weight(struct weight *weight, const struct stat *st)
{
	const uint64_t facts[] = { weight->seal, (uint64_t)st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_mode, (uint64_t)st->st_uid, (uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec, (uint64_t)st->st_ctim.tv_sec,
		(uint64_t)st->st_ctim.tv_nsec };
	weight->seal = cache_hash(facts, sizeof(facts));
	weight->bytes += st->st_size;
}

static bool weigh(int fd, int depth, struct weight *weight);

static bool weigh_dir(int fd, int depth, struct weight *weight)
{
	auto_free struct dirent **entries = NULL;
	int count = scandirat(fd, ".", &entries, NULL, alphasort);
	bool is_whole = count >= 0;
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		if (is_whole && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			auto_fd int inner_fd = open_inside(fd, name, 0);
			/* links and sockets are passed over, as when they were copied */
			is_whole = inner_fd < 0 ? errno == ELOOP || errno == ENXIO
						: weigh(inner_fd, depth + 1, weight);
		}
		free(entries[i]);
	}
	return is_whole;
}

/* False: there is no end to it, or not all of it can be seen. */
static bool weigh(int fd, int depth, struct weight *weight)
{
	struct stat st;
	if (depth > LIMIT_TREE_DEPTH || weight->files_left-- <= 0 || fstat(fd, &st) < 0)
		return false;
	add_weight(weight, &st);
	return !S_ISDIR(st.st_mode) || weigh_dir(fd, depth, weight);
}

/* The note's text, when it is the one that belongs to this key. */
static bool read_note(int entry_fd, const struct buf *key, size_t words_max, struct buf *text)
{
	struct note note;
	auto_fd int fd = open_inside(entry_fd, "note", 0);
	if (fd < 0 || !cache_is_safe(fd))
		return false;
	buf_init(text, sizeof(note) + key->len + words_max);
	if (buf_read(text, fd) < 0 || text->len < sizeof(note) + key->len)
		return false;
	memcpy(&note, text->data, sizeof(note));
	const char *words = text->data + sizeof(note) + key->len;
	return memcmp(note.magic, magic, sizeof(magic)) == 0 && note.key_len == key->len &&
	       note.words_len == text->len - sizeof(note) - key->len &&
	       memcmp(text->data + sizeof(note), key->data, key->len) == 0 &&
	       note.words_hash == cache_hash(words, note.words_len);
}

static int open_main(int entry_fd, const struct buf *note_text)
{
	struct note note;
	struct weight weight = { .files_left = LIMIT_TREE_FILES };
	auto_fd int fd = open_inside(entry_fd, BUILD_FILE, 0);
	memcpy(&note, note_text->data, sizeof(note));
	/* locked before it is looked at: nothing of it is removed from now on */
	if (fd < 0 || !cache_is_safe(fd) || flock(fd, LOCK_SH | LOCK_NB) < 0 ||
		!weigh(fd, 0, &weight) || weight.seal != note.seal)
		return -1;
	return take_fd(&fd);
}

bool builds_find(int dir_fd, struct build *build, size_t words_max)
{
	char name[NAME_DIGITS + 1];
	auto_buf struct buf text = { 0 };
	name_entry(&build->key, name);
	auto_fd int entry_fd = open_inside(dir_fd, name, O_DIRECTORY);
	if (entry_fd < 0 || !cache_is_safe(entry_fd) ||
		!read_note(entry_fd, &build->key, words_max, &text))
		return false;
	build->fd = open_main(entry_fd, &text);
	if (build->fd < 0)
		return false;
	size_t from = sizeof(struct note) + build->key.len;
	buf_init(&build->words, words_max);
	(void)buf_append(&build->words, text.data + from, text.len - from);
	(void)futimens(entry_fd, NULL);
	return true;
}

/* False: somebody is copying it. */
static bool remove_entry(int dir_fd, const char *name)
{
	auto_fd int entry_fd = open_inside(dir_fd, name, O_DIRECTORY);
	auto_fd int fd = entry_fd < 0 ? -1 : open_inside(entry_fd, BUILD_FILE, 0);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return false;
	cache_remove(dir_fd, name);
	return true;
}

static int write_note(
	int entry_fd, const struct build *build, const struct weight *weight, struct err *err)
{
	struct note note = { .key_len = build->key.len,
		.words_len = build->words.len,
		.words_hash = cache_hash(build->words.data, build->words.len),
		.seal = weight->seal };
	memcpy(note.magic, magic, sizeof(magic));
	auto_fd int fd = openat(
		entry_fd, "note", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : io_write(fd, &note, sizeof(note));
	if (r == 0)
		r = io_write(fd, build->key.data, build->key.len);
	if (r == 0)
		r = io_write(fd, build->words.data, build->words.len);
	return r < 0 ? err_sys(err, -r, "note what a compiler made") : 0;
}

/* The new entry's directory, locked, under a name of its own. */
static int make_aside(int dir_fd, char *name, size_t size, struct err *err)
{
	int r = -1;
	errno = EEXIST;
	for (int try = 0; try < ASIDE_TRIES && r < 0 && errno == EEXIST; try++) {
		(void)snprintf(name, size, ASIDE "%d-%d", getpid(), try);
		r = mkdirat(dir_fd, name, 0700);
	}
	if (r < 0)
		return err_sys(err, errno, "make room for what a compiler made");
	auto_fd int fd = open_inside(dir_fd, name, O_DIRECTORY);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_sys(err, errno, "lock '%s'", name);
	return take_fd(&fd);
}

static int fill_aside(int entry_fd, const struct build *build, struct err *err)
{
	struct weight weight = { .files_left = LIMIT_TREE_FILES };
	TRY(build_save(build->fd, entry_fd, BUILD_FILE, err));
	auto_fd int fd = open_inside(entry_fd, BUILD_FILE, 0);
	if (fd < 0 || !weigh(fd, 0, &weight))
		return err_set(err, ERR_BROKEN, "what was kept is not what was made");
	return write_note(entry_fd, build, &weight, err);
}

static int publish(int dir_fd, const char *aside, const char *name, struct err *err)
{
	if (renameat(dir_fd, aside, dir_fd, name) == 0)
		return 0;
	if ((errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) &&
		remove_entry(dir_fd, name) && renameat(dir_fd, aside, dir_fd, name) == 0)
		return 0;
	return err_sys(err, errno, "name what a compiler made");
}

/* One build must not push all others out. */
static int check_size(const struct build *build, struct err *err)
{
	struct weight weight = { .files_left = LIMIT_TREE_FILES };
	if (!weigh(build->fd, 0, &weight) || weight.bytes > LIMIT_KEPT_BYTES / 4)
		return err_set(err, ERR_LIMIT, "what the compiler made is too large to be kept");
	return 0;
}

int builds_keep(int dir_fd, const struct build *build, struct err *err)
{
	char name[NAME_DIGITS + 1];
	char aside[64];
	TRY(check_size(build, err));
	name_entry(&build->key, name);
	auto_fd int entry_fd = make_aside(dir_fd, aside, sizeof(aside), err);
	if (entry_fd < 0)
		return -1;
	int r = fill_aside(entry_fd, build, err);
	if (r == 0)
		r = publish(dir_fd, aside, name, err);
	if (r < 0)
		cache_remove(dir_fd, aside);
	return r;
}

/* ---- all of them -------------------------------------------------------------------------------
 */

struct entry {
	char name[NAME_DIGITS + 1];
	struct timespec used;
	int64_t bytes;
};

static int compare_use(const void *a, const void *b)
{
	const struct timespec *one = &((const struct entry *)a)->used;
	const struct timespec *other = &((const struct entry *)b)->used;
	if (one->tv_sec != other->tv_sec)
		return one->tv_sec < other->tv_sec ? -1 : 1;
	return (one->tv_nsec > other->tv_nsec) - (one->tv_nsec < other->tv_nsec);
}

/* Nobody holds the lock of what a killed one left. */
static void remove_left(int dir_fd, const char *name)
{
	auto_fd int fd = open_inside(dir_fd, name, O_DIRECTORY);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		cache_remove(dir_fd, name);
}

static int64_t measure(int dir_fd, const char *name)
{
	struct weight weight = { .files_left = LIMIT_TREE_FILES };
	struct stat note = { 0 };
	struct stat main = { 0 };
	auto_fd int entry_fd = open_inside(dir_fd, name, O_DIRECTORY);
	if (entry_fd < 0)
		return 0;
	(void)fstatat(entry_fd, "note", &note, AT_SYMLINK_NOFOLLOW);
	(void)fstatat(entry_fd, BUILD_FILE, &main, AT_SYMLINK_NOFOLLOW);
	if (!S_ISDIR(main.st_mode))
		return note.st_size + main.st_size;
	auto_fd int fd = open_inside(entry_fd, BUILD_FILE, O_DIRECTORY);
	if (fd >= 0)
		(void)weigh(fd, 0, &weight);
	return note.st_size + weight.bytes;
}

static bool look_at(int dir_fd, const char *name, struct entry *entry)
{
	struct stat st;
	if (strlen(name) != NAME_DIGITS || strspn(name, "0123456789abcdef") != NAME_DIGITS ||
		fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	memcpy(entry->name, name, sizeof(entry->name));
	entry->used = st.st_mtim;
	entry->bytes = measure(dir_fd, name);
	return true;
}

static size_t list_entries(int dir_fd, struct entry **ret_entries)
{
	struct entry *entries = NULL;
	size_t count = 0;
	int list_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *dir = list_fd < 0 ? NULL : fdopendir(list_fd);
	for (struct dirent *found = dir ? readdir(dir) : NULL; found; found = readdir(dir)) {
		struct entry entry;
		if (strncmp(found->d_name, ASIDE, strlen(ASIDE)) == 0)
			remove_left(dir_fd, found->d_name);
		if (!look_at(dir_fd, found->d_name, &entry))
			continue;
		entries = xrealloc(entries, count + 1, sizeof(*entries));
		entries[count++] = entry;
	}
	*ret_entries = entries;
	return count;
}

void builds_bound(int dir_fd, size_t count_max, int64_t bytes_max)
{
	auto_free struct entry *entries = NULL;
	int64_t bytes = 0;
	size_t count = list_entries(dir_fd, &entries);
	size_t left = count;
	for (size_t i = 0; i < count; i++)
		bytes += entries[i].bytes;
	if (count > 0)
		qsort(entries, count, sizeof(*entries), compare_use);
	for (size_t i = 0; i < count && (left > count_max || bytes > bytes_max); i++) {
		if (!remove_entry(dir_fd, entries[i].name))
			continue;
		left--;
		bytes -= entries[i].bytes;
	}
}

int builds_open(struct err *err)
{
	return cache_open_private("builds", err);
}
