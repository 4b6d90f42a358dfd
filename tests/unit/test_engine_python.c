/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/python.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "unit/test.h"

/* An installation beneath a fresh directory: DIR/bin/python3, and DIR/lib/python3.99/os.py. */
struct place {
	char dir[64];
	struct spec spec;
	struct language language;
};

static void make_file(const char *dir, const char *name, mode_t mode)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	auto_file FILE *file = fopen(path, "w");
	(void)fputs("#!/bin/true\n", file);
	(void)chmod(path, mode);
}

static void make_dir(const char *dir, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	(void)mkdir(path, 0755);
}

static void place_init(struct place *place)
{
	*place = (struct place){ 0 };
	(void)strcpy(place->dir, "/var/tmp/hotcell-unit-XXXXXX");
	(void)mkdtemp(place->dir);
	make_dir(place->dir, "bin");
	make_dir(place->dir, "lib");
	make_dir(place->dir, "lib/python3.99");
	make_file(place->dir, "bin/python3", 0755);
	make_file(place->dir, "lib/python3.99/os.py", 0644);
	spec_init(&place->spec);
	place->language.name = xstrdup("python");
	strings_add(&place->language.argv, "/usr/bin/python3");
	strings_add(&place->language.argv, "{file}");
	strings_add(&place->language.version, "/usr/bin/python3");
}

static void place_done(struct place *place)
{
	static const char *const names[] = { "bin/python3", "lib/python3.99/os.py",
		"lib/python3.99", "lib", "bin", "pyvenv.cfg" };
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		auto_free char *path = xasprintf("%s/%s", place->dir, names[i]);
		(void)remove(path);
	}
	(void)rmdir(place->dir);
	spec_done(&place->spec);
	language_done(&place->language);
}

static int choose(struct place *place, const char *path, struct err *err)
{
	free(place->spec.python);
	place->spec.python = path ? xstrdup(path) : NULL;
	return python_choose(&place->spec, &place->language, err);
}

TEST(nothing_is_chosen_when_nothing_was_asked_for)
{
	struct err err = { 0 };
	struct place place;
	place_init(&place);
	ASSERT_OK(choose(&place, NULL, &err));
	ASSERT_STR(place.language.argv.items[0], "/usr/bin/python3");
	ASSERT_EQ(place.spec.ro.count, 0);
	place_done(&place);
}

TEST(an_installation_is_shown_at_its_own_place)
{
	struct err err = { 0 };
	struct place place;
	place_init(&place);
	auto_free char *program = xasprintf("%s/bin/python3", place.dir);
	ASSERT_OK(choose(&place, place.dir, &err));
	ASSERT_STR(place.language.argv.items[0], program);
	ASSERT_STR(place.language.argv.items[1], "{file}");
	ASSERT_STR(place.language.version.items[0], program);
	ASSERT_EQ(place.spec.ro.count, 1);
	ASSERT_STR(place.spec.ro.items[0].from, place.dir);
	ASSERT_STR(place.spec.ro.items[0].to, place.dir);
	place_done(&place);
}

TEST(what_is_mounted_already_is_not_mounted_twice)
{
	struct err err = { 0 };
	struct place place;
	place_init(&place);
	pairs_add(&place.spec.rw, "/var/tmp", "/var/tmp");
	ASSERT_OK(choose(&place, place.dir, &err));
	ASSERT_EQ(place.spec.ro.count, 0);
	place_done(&place);
}

TEST(an_interpreter_without_a_library_is_refused_unless_it_is_shown)
{
	struct err err = { 0 };
	struct place place;
	place_init(&place);
	auto_free char *library = xasprintf("%s/lib/python3.99/os.py", place.dir);
	(void)unlink(library);
	ASSERT_FAIL(choose(&place, place.dir, &err), ERR_INVALID);
	ASSERT(strstr(err.text, "--ro") != NULL);
	pairs_add(&place.spec.ro, place.dir, place.dir);
	ASSERT_OK(choose(&place, place.dir, &err));
	place_done(&place);
}

TEST(other_languages_have_no_python)
{
	struct err err = { 0 };
	struct place place;
	place_init(&place);
	free(place.language.name);
	place.language.name = xstrdup("bash");
	ASSERT_FAIL(choose(&place, place.dir, &err), ERR_INVALID);
	place_done(&place);
}

TEST(a_home_directory_is_not_shown)
{
	struct err err = { 0 };
	struct place place;
	place_init(&place);
	make_file(place.dir, "pyvenv.cfg", 0644);
	(void)setenv("HOME", place.dir, 1);
	ASSERT_FAIL(choose(&place, place.dir, &err), ERR_INVALID);
	(void)setenv("HOME", "/nonexistent", 1);
	ASSERT_OK(choose(&place, place.dir, &err));
	place_done(&place);
}
