/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at all artifacts for each new one would cost more than the run. So a small file, the
 * tally, says how many there are, how many bytes, and on which day the oldest was made. A new one
 * is added to it under a lock; only when that passes a limit, the directory is read, the oldest of
 * whoever has most are removed until a tenth of the room is free, and the tally is what is left. A
 * crash between the two makes the tally wrong by one artifact until then.
 */
#include "store/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/date.h"
#include "base/io.h"
#include "base/own.h"
#include "base/state.h"
#include "model/limits.h"

#define TALLY "tally"

enum {
	HASH_DIGITS = 16,
	NOISE_DIGITS = 8,
	DAY_SECONDS = 86400,
	HOUR_SECONDS = 3600,
	HEAD_MAX = 512
};

struct tally {
	struct artifact_tally all;
	int64_t oldest_day; /* since 1970; 0: unknown */
};

/* ---- names ------------------------------------------------------------------------------------
 */

static bool is_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

static bool is_stamp(const char *text)
{
	static const char form[] = "ddddddddTddddddZ";
	for (size_t i = 0; i < KEPT_STAMP; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';
		if (form[i] == 'd' ? !is_digit : text[i] != form[i])
			return false;
	}
	return true;
}

bool kept_is_name(const char *name)
{
	const char *at = name + KEPT_STAMP + 1 + HASH_DIGITS;
	if (strlen(name) < KEPT_STAMP + 1 + HASH_DIGITS || !is_stamp(name) ||
		name[KEPT_STAMP] != '-' || !is_hex(name + KEPT_STAMP + 1, HASH_DIGITS))
		return false;
	if (*at == '-' && strlen(at) > NOISE_DIGITS && is_hex(at + 1, NOISE_DIGITS))
		at += 1 + NOISE_DIGITS;
	return strcmp(at, ".json") == 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* What a killed writer left where the file system has no files without a name. */
static void sweep_aside(int dir_fd, const char *name)
{
	struct stat st;
	if (strncmp(name, ".hotcell-", 9) == 0 &&
		fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		time(NULL) - st.st_mtime > HOUR_SECONDS)
		(void)unlinkat(dir_fd, name, 0);
}

int kept_load(const struct kept *kept, struct kept_names *names)
{
	*names = (struct kept_names){ 0 };
	int list_fd = openat(kept->list_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *dir = list_fd < 0 ? NULL : fdopendir(list_fd);
	if (!dir)
		return -errno;
	size_t room = 0;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (!kept_is_name(entry->d_name)) {
			sweep_aside(kept->list_fd, entry->d_name);
			continue;
		}
		if (names->count == room) {
			room = room ? room * 2 : 64;
			names->items = xrealloc(names->items, room, sizeof(*names->items));
		}
		(void)snprintf(
			names->items[names->count++], ARTIFACT_NAME_MAX, "%.63s", entry->d_name);
	}
	if (names->count > 0)
		qsort(names->items, names->count, sizeof(*names->items), compare);
	return 0;
}

void kept_names_done(struct kept_names *names)
{
	free(names->items);
	*names = (struct kept_names){ 0 };
}

/* ---- directories ------------------------------------------------------------------------------
 */

int kept_open(bool is_made, struct kept *kept, struct err *err)
{
	static const char *const place[] = { "artifacts", NULL };
	static const char *const executions[] = { "artifacts", "executions", NULL };
	*kept = (struct kept){ .dir_fd = -1, .list_fd = -1 };
	TRY(state_open(place, is_made, &kept->dir_fd, err));
	return kept->dir_fd < 0 ? 0 : state_open(executions, is_made, &kept->list_fd, err);
}

void kept_close(struct kept *kept)
{
	own_close(&kept->dir_fd);
	own_close(&kept->list_fd);
}

/* ---- the tally --------------------------------------------------------------------------------
 */

static int64_t today(void)
{
	return time(NULL) / DAY_SECONDS;
}

/* The number of so many digits. */
static int number_at(const char *digits, size_t count)
{
	int number = 0;
	for (size_t i = 0; i < count; i++)
		number = number * 10 + (digits[i] - '0');
	return number;
}

static int64_t day_of(const char *name)
{
	const struct date date = { .year = number_at(name, 4),
		.month = number_at(name + 4, 2),
		.day = number_at(name + 6, 2) };
	return date_to_day(&date);
}

static int read_tally(int fd, struct tally *tally)
{
	char text[128] = "";
	*tally = (struct tally){ 0 };
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return -errno;
	char *at = text;
	char *last = NULL;
	tally->all.count = strtoull(at, &at, 10);
	tally->all.bytes = strtoull(at, &at, 10);
	tally->oldest_day = strtoll(at, &last, 10);
	if (last == at || *last != '\n')
		tally->all.count = UINT64_MAX; /* to be counted */
	return 0;
}

static int write_tally(int fd, const struct tally *tally)
{
	char text[128];
	/* of one length, so that it replaces the one before it */
	int n = snprintf(text, sizeof(text), "%020" PRIu64 " %020" PRIu64 " %010" PRId64 "\n",
		tally->all.count, tally->all.bytes, tally->oldest_day);
	ssize_t written = pwrite(fd, text, (size_t)n, 0);
	return written < 0 ? -errno : 0;
}

static int lock_tally(const struct kept *kept, int *ret_fd, struct err *err)
{
	auto_fd int fd = -1;
	struct stat st;
	int r = state_open_file(kept->dir_fd, TALLY, O_RDWR | O_CREAT, &fd, &st);
	if (r == 0)
		r = state_lock(fd);
	if (r < 0)
		return err_sys(err, -r, "lock the artifacts' tally");
	*ret_fd = take_fd(&fd);
	return 0;
}

/* ---- what stays -------------------------------------------------------------------------------
 */

/* Whose artifacts they are: those of one token, or of whoever asked without. */
struct owner {
	char *token; /* owned; empty: none */
	struct artifact_tally has, keeps;
	bool is_full; /* nothing older than what did not fit stays */
};

struct owners {
	struct owner *items; /* owned */
	size_t count;
};

struct entry {
	size_t owner;
	uint64_t bytes;
	bool is_there;
};

/* It stands near the beginning of what we write, before anything that a program said. */
static void read_token(const struct kept *kept, const char *name, char token[HEAD_MAX])
{
	static const char key[] = "\"token\":\"";
	char head[HEAD_MAX] = "";
	auto_fd int fd = -1;
	struct stat st;
	token[0] = '\0';
	if (state_open_file(kept->list_fd, name, O_RDONLY, &fd, &st) < 0 ||
		pread(fd, head, sizeof(head) - 1, 0) < 0)
		return;
	const char *at = strstr(head, key);
	const char *code = strstr(head, "\"code\":");
	if (at && (!code || at < code))
		(void)snprintf(token, HEAD_MAX, "%.*s", (int)strcspn(at + sizeof(key) - 1, "\""),
			at + sizeof(key) - 1);
}

static size_t find_owner(struct owners *owners, const char *token)
{
	size_t i = 0;
	while (i < owners->count && strcmp(owners->items[i].token, token) != 0)
		i++;
	if (i < owners->count)
		return i;
	owners->items = xrealloc(owners->items, owners->count + 1, sizeof(*owners->items));
	owners->items[owners->count++] = (struct owner){ .token = xstrdup(token) };
	return i;
}

static void owners_done(struct owners *owners)
{
	for (size_t i = 0; i < owners->count; i++)
		free(owners->items[i].token);
	free(owners->items);
}

static struct entry *look_at_all(
	const struct kept *kept, const struct kept_names *names, struct owners *owners)
{
	struct entry *entries = xcalloc(names->count + 1, sizeof(*entries));
	for (size_t i = 0; i < names->count; i++) {
		char token[HEAD_MAX];
		struct stat st;
		if (fstatat(kept->list_fd, names->items[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		read_token(kept, names->items[i], token);
		entries[i] =
			(struct entry){ find_owner(owners, token), (uint64_t)st.st_size, true };
		owners->items[entries[i].owner].has.count++;
		owners->items[entries[i].owner].has.bytes += entries[i].bytes;
	}
	return entries;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a;
	uint64_t other = *(const uint64_t *)b;
	return one < other ? -1 : one > other;
}

/* What each may have of `total`: who has less leaves the rest to those who have more, so that only
 * who has most loses something. `has` is put in order. */
static uint64_t share_of(uint64_t *has, size_t count, uint64_t total)
{
	if (count > 1)
		qsort(has, count, sizeof(*has), compare_numbers);
	for (size_t i = 0; i < count; i++) {
		uint64_t fair = total / (count - i);
		if (has[i] > fair)
			return fair;
		total -= has[i];
	}
	return UINT64_MAX;
}

static void find_shares(const struct owners *owners, int64_t max_bytes, int64_t max_count,
	struct artifact_tally *ret_share)
{
	auto_free uint64_t *bytes = xcalloc(owners->count + 1, sizeof(*bytes));
	auto_free uint64_t *counts = xcalloc(owners->count + 1, sizeof(*counts));
	for (size_t i = 0; i < owners->count; i++) {
		bytes[i] = owners->items[i].has.bytes;
		counts[i] = owners->items[i].has.count;
	}
	ret_share->bytes = share_of(bytes, owners->count, (uint64_t)max_bytes);
	ret_share->count = share_of(counts, owners->count, (uint64_t)max_count);
}

static bool does_fit(struct owner *owner, const struct entry *entry,
	const struct artifact_tally *share, bool is_too_old)
{
	owner->is_full |= is_too_old || owner->keeps.bytes + entry->bytes > share->bytes ||
			  owner->keeps.count >= share->count;
	if (owner->is_full)
		return false;
	owner->keeps.count++;
	owner->keeps.bytes += entry->bytes;
	return true;
}

/* The newest of each owner that fit into its share stay. */
static int prune_locked(const struct kept *kept, int64_t max_bytes, int64_t max_count,
	int64_t max_days, struct tally *left, struct artifact_tally *removed)
{
	struct kept_names names;
	struct owners owners = { 0 };
	struct artifact_tally share;
	int64_t first_day = today() - max_days;
	*left = (struct tally){ .oldest_day = today() };
	int r = kept_load(kept, &names);
	if (r < 0)
		return r;
	auto_free struct entry *entries = look_at_all(kept, &names, &owners);
	find_shares(&owners, max_bytes, max_count, &share);
	for (size_t i = names.count; r == 0 && i-- > 0;) {
		const char *name = names.items[i];
		if (!entries[i].is_there || !owners.items)
			continue;
		if (does_fit(&owners.items[entries[i].owner], &entries[i], &share,
			    day_of(name) <= first_day)) {
			left->all.count++;
			left->all.bytes += entries[i].bytes;
			left->oldest_day = day_of(name);
			continue;
		}
		if (unlinkat(kept->list_fd, name, 0) < 0)
			r = -errno;
		removed->count++;
		removed->bytes += entries[i].bytes;
	}
	owners_done(&owners);
	kept_names_done(&names);
	return r;
}

static bool is_over(const struct tally *tally, int64_t max_bytes, int64_t max_days)
{
	return tally->all.count > LIMIT_ARTIFACTS || tally->all.bytes > (uint64_t)max_bytes ||
	       tally->oldest_day <= today() - max_days;
}

int kept_count(const struct kept *kept, int64_t bytes, int64_t max_bytes, int64_t max_days,
	struct err *err)
{
	auto_fd int fd = -1;
	struct tally tally;
	struct artifact_tally removed = { 0 };
	TRY(lock_tally(kept, &fd, err));
	int r = read_tally(fd, &tally);
	if (r == 0 && tally.all.count != UINT64_MAX) {
		tally.all.count++;
		tally.all.bytes += (uint64_t)bytes;
	}
	if (r == 0 && is_over(&tally, max_bytes, max_days))
		r = prune_locked(kept, max_bytes - max_bytes / 10,
			LIMIT_ARTIFACTS - LIMIT_ARTIFACTS / 10, max_days, &tally, &removed);
	if (r == 0)
		r = write_tally(fd, &tally);
	return r < 0 ? err_sys(err, -r, "count the artifacts") : 0;
}

int kept_prune(const struct kept *kept, int64_t max_bytes, int64_t max_days,
	struct artifact_tally *ret_removed, struct artifact_tally *ret_left, struct err *err)
{
	auto_fd int fd = -1;
	struct tally left;
	struct artifact_tally removed = { 0 };
	TRY(lock_tally(kept, &fd, err));
	int r = prune_locked(kept, max_bytes, LIMIT_ARTIFACTS, max_days, &left, &removed);
	if (r == 0)
		r = write_tally(fd, &left);
	if (r < 0)
		return err_sys(err, -r, "remove artifacts");
	*ret_removed = removed;
	*ret_left = left.all;
	return 0;
}
