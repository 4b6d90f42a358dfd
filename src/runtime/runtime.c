/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions live in three places; a later one replaces a language of the same name: the shipped
 * ones beside the program, /etc/hotcell/runtimes, and the user's ~/.config/hotcell/runtimes.
 * HOTCELL_RUNTIMES names one directory that stands for all three. A language's name is its
 * directory's name, so that one language is one open() away.
 */
#include "runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/place.h"
#include "model/limits.h"
#include "model/units.h"
#include "wire/utf8.h"

enum { LANGUAGES_MAX = 256 };

static bool is_directory(const char *path)
{
	auto_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0;
}

/* build/hotcell has runtimes beside it; bin/hotcell has ../lib/hotcell/runtimes. NULL: none there.
 */
static char *shipped_directory(void)
{
	static const char *const places[] = { "runtimes", "../lib/hotcell/runtimes" };
	char home[PATH_MAX];
	for (size_t number = 0; place_home(number, home, sizeof(home)); number++) {
		for (size_t i = 0; i < COUNT_OF(places); i++) {
			auto_free char *path = xasprintf("%s/%s", home, places[i]);
			if (is_directory(path))
				return take_ptr(&path);
		}
	}
	return NULL;
}

static void add_user_directory(struct strings *places)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	auto_free char *path = NULL;
	if (config && *config == '/')
		path = xasprintf("%s/hotcell/runtimes", config);
	else if (home && *home == '/')
		path = xasprintf("%s/.config/hotcell/runtimes", home);
	if (path)
		strings_add(places, path);
}

/* In the order of reading: the last one wins. */
static void find_places(struct strings *places)
{
	const char *only = secure_getenv("HOTCELL_RUNTIMES");
	if (only && *only != '\0') {
		strings_add(places, only);
		return;
	}
	auto_free char *shipped = shipped_directory();
	if (shipped)
		strings_add(places, shipped);
	strings_add(places, "/etc/hotcell/runtimes");
	add_user_directory(places);
}

/* Reads PLACE/NAME/language.json; *ret_path, the caller's, stays NULL when there is none. */
static int read_text(
	const char *place, const char *name, struct buf *text, char **ret_path, struct err *err)
{
	auto_free char *path = xasprintf("%s/%s/language.json", place, name);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (fd < 0)
		return err_sys(err, errno, "open language definition %s", path);
	buf_init(text, LIMIT_LANGUAGE_BYTES);
	int r = buf_read(text, fd);
	if (r == -ENOSPC)
		return err_set(
			err, ERR_LIMIT, "%s: longer than %d bytes", path, LIMIT_LANGUAGE_BYTES);
	if (r < 0)
		return err_sys(err, -r, "read language definition %s", path);
	*ret_path = take_ptr(&path);
	return 0;
}

static int parse_definition(const char *place, const char *name, const struct buf *text,
	const char *path, struct language *ret_language, struct err *err)
{
	struct language language;
	TRY(language_from_json(&language, buf_text(text), text->len, path, err));
	if (strcmp(language.name, name) != 0) {
		language_done(&language);
		return err_set(err, ERR_INVALID,
			"%s: field 'name' must be the name of its directory, '%s'", path, name);
	}
	/* as it is known to who serves cells, found out once and not for each of them */
	auto_free char *dir = xasprintf("%s/%s", place, name);
	language.dir = realpath(dir, NULL);
	if (!language.dir)
		language.dir = take_ptr(&dir);
	*ret_language = language;
	return 0;
}

static int read_definition(const char *place, const char *name, struct language *ret_language,
	bool *ret_is_there, struct err *err)
{
	auto_buf struct buf text = { 0 };
	auto_free char *path = NULL;
	TRY(read_text(place, name, &text, &path, err));
	if (!path)
		return 0;
	TRY(parse_definition(place, name, &text, path, ret_language, err));
	*ret_is_there = true;
	return 0;
}

int runtime_read(
	const char *name, const char *file, struct buf *text, char **ret_path, struct err *err)
{
	struct strings places = { 0 };
	auto_free char *path = NULL;
	auto_fd int fd = -1;
	if (strchr(name, '/') || *name == '.')
		return 0;
	find_places(&places);
	for (size_t i = places.count; i > 0 && fd < 0; i--) {
		free(path);
		path = xasprintf("%s/%s/%s", places.items[i - 1], name, file);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	strings_done(&places);
	if (fd < 0)
		return 0;
	int r = buf_read(text, fd);
	if (r == -ENOSPC)
		return err_set(err, ERR_LIMIT, "%s: longer than %zu bytes", path, text->cap);
	if (r < 0)
		return err_sys(err, -r, "read %s", path);
	*ret_path = take_ptr(&path);
	return 0;
}

static struct language *by_name(const struct languages *languages, const char *name)
{
	for (size_t i = 0; i < languages->count; i++) {
		if (strcmp(languages->items[i].name, name) == 0)
			return &languages->items[i];
	}
	return NULL;
}

/* Takes `language`. */
static void keep(struct languages *languages, struct language *language)
{
	struct language *old = by_name(languages, language->name);
	if (old) {
		language_done(old);
	} else {
		languages->items =
			xrealloc(languages->items, languages->count + 1, sizeof(*languages->items));
		old = &languages->items[languages->count++];
	}
	*old = *language;
}

static int read_place(struct languages *languages, const char *place, struct err *err)
{
	auto_dir DIR *dir = opendir(place);
	if (!dir && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (!dir)
		return err_sys(err, errno, "open directory %s", place);
	for (;;) {
		struct language language;
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry && errno != 0)
			return err_sys(err, errno, "read directory %s", place);
		if (!entry)
			return 0;
		if (entry->d_name[0] == '.')
			continue;
		if (languages->count >= LANGUAGES_MAX)
			return err_set(
				err, ERR_LIMIT, "%s: more than %d languages", place, LANGUAGES_MAX);
		bool is_there = false;
		TRY(read_definition(place, entry->d_name, &language, &is_there, err));
		if (is_there)
			keep(languages, &language);
	}
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct language *)a)->name, ((const struct language *)b)->name);
}

int languages_load(struct languages *languages, struct err *err)
{
	struct strings places = { 0 };
	int r = 0;
	*languages = (struct languages){ 0 };
	find_places(&places);
	for (size_t i = 0; i < places.count && r == 0; i++)
		r = read_place(languages, places.items[i], err);
	strings_done(&places);
	if (r < 0) {
		languages_done(languages);
		return -1;
	}
	if (languages->count > 0)
		qsort(languages->items, languages->count, sizeof(*languages->items), compare_names);
	return 0;
}

void languages_done(struct languages *languages)
{
	for (size_t i = 0; i < languages->count; i++)
		language_done(&languages->items[i]);
	free(languages->items);
	*languages = (struct languages){ 0 };
}

static bool has_alias(const struct language *language, const char *name)
{
	for (size_t i = 0; i < language->aliases.count; i++) {
		if (strcmp(language->aliases.items[i], name) == 0)
			return true;
	}
	return false;
}

static int refuse_unknown(const struct languages *languages, const char *name, struct err *err)
{
	const char *names[LANGUAGES_MAX];
	char quote[48];
	auto_buf struct buf list = { 0 };
	buf_init(&list, 240);
	size_t count = languages->count < LANGUAGES_MAX ? languages->count : LANGUAGES_MAX;
	for (size_t i = 0; i < count; i++) {
		names[i] = languages->items[i].name;
		(void)buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	const char *near = units_nearest(name, names, count);
	(void)utf8_line(name, quote, sizeof(quote));
	if (count == 0)
		return err_set(err, ERR_MISSING,
			"--language: no language definitions found for '%s'; is hotcell installed "
			"whole?",
			quote);
	return err_set(err, ERR_INVALID,
		"--language: '%s' is not known (valid: %s%s%s%s), for example --language %s", quote,
		buf_text(&list), near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "",
		near ? near : names[0]);
}

static struct language *by_name_or_alias(const struct languages *languages, const char *name)
{
	struct language *found = by_name(languages, name);
	for (size_t i = 0; i < languages->count && !found; i++) {
		if (has_alias(&languages->items[i], name))
			found = &languages->items[i];
	}
	return found;
}

int language_find(const struct languages *languages, const char *name,
	const struct language **ret_language, struct err *err)
{
	const struct language *found = by_name_or_alias(languages, name);
	if (!found)
		return refuse_unknown(languages, name, err);
	*ret_language = found;
	return 0;
}

/* Reads everything and moves one entry out of the list, which gives up owning it. */
static int load_all_for_one(const char *name, struct language *ret_language, struct err *err)
{
	struct languages all;
	int r = 0;
	TRY(languages_load(&all, err));
	struct language *found = by_name_or_alias(&all, name);
	if (found) {
		*ret_language = *found;
		*found = (struct language){ 0 };
	} else {
		r = refuse_unknown(&all, name, err);
	}
	languages_done(&all);
	return r;
}

int language_load_one(const char *name, struct language *ret_language, struct err *err)
{
	struct strings places = { 0 };
	bool is_there = false;
	int r = 0;
	/* A name that is no plain directory name can only be a mistake: the slow road says so. */
	bool is_plain =
		*name != '\0' && *name != '.' && !strchr(name, '/') && strlen(name) < NAME_MAX;
	find_places(&places);
	for (size_t i = places.count; i > 0 && r == 0 && !is_there && is_plain; i--)
		r = read_definition(places.items[i - 1], name, ret_language, &is_there, err);
	strings_done(&places);
	if (r < 0 || is_there)
		return r;
	return load_all_for_one(name, ret_language, err);
}

/* NULL: it has none. */
static const char *ending_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strrchr(slash ? slash + 1 : path, '.');
}

static bool has_ending(const struct language *language, const char *ending)
{
	for (size_t i = 0; i < language->endings.count; i++) {
		if (strcmp(language->endings.items[i], ending) == 0)
			return true;
	}
	return false;
}

/* The search for an ending, from the place that counts most to the one that counts least. */
struct search {
	const char *ending;
	char *quoted;        /* owned; as a definition has it */
	struct strings seen; /* names of which a definition was met: it replaces all others */
	struct language found;
	bool is_found;
};

static bool is_seen(const struct search *search, const char *name)
{
	for (size_t i = 0; i < search->seen.count; i++) {
		if (strcmp(search->seen.items[i], name) == 0)
			return true;
	}
	return false;
}

/* Reading a definition costs little, parsing it ten times that: one that does not have the ending,
 * written plainly or not, is left at that. */
static int search_definition(
	struct search *search, const char *place, const char *name, struct err *err)
{
	auto_buf struct buf text = { 0 };
	auto_free char *path = NULL;
	struct language language = { 0 };
	TRY(read_text(place, name, &text, &path, err));
	if (!path)
		return 0;
	strings_add(&search->seen, name);
	bool is_likely = strstr(buf_text(&text), search->quoted) || strchr(buf_text(&text), '\\');
	if (!is_likely || (search->is_found && strcmp(name, search->found.name) > 0))
		return 0;
	TRY(parse_definition(place, name, &text, path, &language, err));
	if (!has_ending(&language, search->ending)) {
		language_done(&language);
		return 0;
	}
	language_done(&search->found);
	search->found = language;
	search->is_found = true;
	return 0;
}

static int search_place(struct search *search, const char *place, struct err *err)
{
	auto_dir DIR *dir = opendir(place);
	if (!dir && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (!dir)
		return err_sys(err, errno, "open directory %s", place);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (entry->d_name[0] != '.' && !is_seen(search, entry->d_name))
			TRY(search_definition(search, place, entry->d_name, err));
	}
	return 0;
}

int language_load_for_file(
	const char *path, struct language *ret_language, bool *ret_is_there, struct err *err)
{
	struct strings places = { 0 };
	struct search search = { .ending = ending_of(path) };
	int r = 0;
	*ret_is_there = false;
	if (!search.ending)
		return 0;
	search.quoted = xasprintf("\"%s\"", search.ending);
	find_places(&places);
	for (size_t i = places.count; i > 0 && r == 0; i--)
		r = search_place(&search, places.items[i - 1], err);
	strings_done(&places);
	strings_done(&search.seen);
	free(search.quoted);
	if (r < 0) {
		language_done(&search.found);
		return -1;
	}
	*ret_language = search.found;
	*ret_is_there = search.is_found;
	return 0;
}
