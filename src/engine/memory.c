/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/own.h"
#include "store/store.h"

enum { LANGUAGES_MAX = 16, FRESH_US = 60000000, HERE_US = 1000000 };

struct engine_memory {
	struct ahead ahead;
	struct audit_memory *audit; /* owned */
	size_t count;
	struct remembered {
		char *name; /* owned; as it was asked for, which may be another than its own */
		struct language language;
		int dir_fd;       /* owned; where its definition is */
		struct stat file; /* that, as it was read */
		int64_t read_us;
		int64_t here_us; /* when its programs were last seen; 0: never */
	} languages[LANGUAGES_MAX];
};

struct engine_memory *engine_memory_new(void)
{
	struct engine_memory *memory = xcalloc(1, sizeof(*memory));
	memory->ahead = (struct ahead)AHEAD_NONE;
	memory->audit = audit_memory_new();
	return memory;
}

static void forget(struct remembered *one)
{
	language_done(&one->language);
	if (one->name) /* else it was never filled */
		own_close(&one->dir_fd);
	free(one->name);
	*one = (struct remembered){ .dir_fd = -1 };
}

void engine_memory_free(struct engine_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < memory->count; i++)
		forget(&memory->languages[i]);
	ahead_done(&memory->ahead);
	audit_memory_free(memory->audit);
	free(memory);
}

void engine_look_ahead(struct engine_memory *memory)
{
	ahead_ask(&memory->ahead);
}

int engine_ahead_fd(const struct engine_memory *memory)
{
	return ahead_fd(&memory->ahead);
}

void engine_hear_ahead(struct engine_memory *memory)
{
	ahead_collect(&memory->ahead);
}

struct ahead *memory_ahead(struct engine_memory *memory)
{
	return memory ? &memory->ahead : NULL;
}

struct audit_memory *memory_audit(struct engine_memory *memory)
{
	return memory ? memory->audit : NULL;
}

void memory_rouse(const struct engine_memory *memory)
{
	if (memory && memory->ahead.build_fd < 0)
		ahead_rouse(&memory->ahead);
}

/* The one of this name, else a free place, else the one that was read the longest time ago. */
static struct remembered *find_place(struct engine_memory *memory, const char *name)
{
	struct remembered *oldest = &memory->languages[0];
	for (size_t i = 0; i < memory->count; i++) {
		struct remembered *one = &memory->languages[i];
		if (one->name && strcmp(one->name, name) == 0)
			return one;
		if (one->read_us < oldest->read_us)
			oldest = one;
	}
	return memory->count < LANGUAGES_MAX ? &memory->languages[memory->count++] : oldest;
}

static bool look_at_file(const struct remembered *one, struct stat *ret_file)
{
	return fstatat(one->dir_fd, "language.json", ret_file, 0) == 0;
}

/* Whether the definition is what it was. Another one that replaces it is seen a minute later. */
static bool is_current(const struct remembered *one, int64_t now_us)
{
	struct stat file;
	return now_us - one->read_us < FRESH_US && look_at_file(one, &file) &&
	       file.st_ino == one->file.st_ino && file.st_size == one->file.st_size &&
	       file.st_mtim.tv_sec == one->file.st_mtim.tv_sec &&
	       file.st_mtim.tv_nsec == one->file.st_mtim.tv_nsec;
}

int memory_language(struct engine_memory *memory, const char *name,
	const struct language **ret_language, struct err *err)
{
	struct remembered *one = find_place(memory, name);
	int64_t now_us = clock_us();
	bool is_known = one->name && strcmp(one->name, name) == 0;
	if (!is_known || !is_current(one, now_us)) {
		forget(one);
		TRY(language_load_one(name, &one->language, err));
		one->name = xstrdup(name);
		one->read_us = now_us;
		one->dir_fd = open(one->language.dir ? one->language.dir : "",
			O_PATH | O_DIRECTORY | O_CLOEXEC);
		(void)look_at_file(one, &one->file);
	}
	*ret_language = &one->language;
	return 0;
}

const char *memory_missing_program(
	struct engine_memory *memory, const struct language *language, const struct spec *spec)
{
	struct remembered *one = NULL;
	int64_t now_us = clock_us();
	for (size_t i = 0; memory && i < memory->count; i++)
		if (language == &memory->languages[i].language)
			one = &memory->languages[i];
	if (!one || strcmp(spec->rootfs, "host") != 0)
		return engine_missing_program(language, spec);
	if (one->here_us > 0 && now_us - one->here_us < HERE_US)
		return NULL;
	const char *missing = engine_missing_program(language, spec);
	one->here_us = missing ? 0 : now_us;
	return missing;
}
