/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "engine/memory.h"
#include "unit/scratch.h"

static struct err err;
static char place[] = "/tmp/test-memory-XXXXXX";

static void define(const char *name, const char *title)
{
	auto_free char *dir = xasprintf("%s/%s", place, name);
	auto_free char *path = xasprintf("%s/language.json", dir);
	(void)mkdir(dir, 0700);
	FILE *file = fopen(path, "w");
	ASSERT(file);
	(void)fprintf(file,
		"{\"name\":\"%s\",\"title\":\"%s\",\"program\":\"main.x\",\"endings\":[\".%s\"],"
		"\"package\":\"sh\",\"argv\":[\"/bin/sh\",\"{file}\"]}",
		name, title, name);
	(void)fclose(file);
}

static const struct language *ask(struct engine_memory *memory, const char *name)
{
	const struct language *language = NULL;
	ASSERT_OK(memory_language(memory, name, &language, &err));
	return language;
}

TEST(a_definition_that_changed_is_read_again)
{
	ASSERT(mkdtemp(place));
	(void)setenv("HOTCELL_RUNTIMES", place, 1);
	define("one", "first");
	struct engine_memory *memory = engine_memory_new();
	ASSERT_STR(ask(memory, "one")->title, "first");
	define("one", "the second");
	ASSERT_STR(ask(memory, "one")->title, "the second");
	engine_memory_free(memory);
	scratch_remove(place);
}

TEST(more_languages_than_it_has_places_for_are_all_found)
{
	char name[16];
	ASSERT(mkdtemp(place));
	(void)setenv("HOTCELL_RUNTIMES", place, 1);
	struct engine_memory *memory = engine_memory_new();
	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "l%d", i % 20);
		define(name, name);
		ASSERT_STR(ask(memory, name)->name, name);
	}
	engine_memory_free(memory);
	scratch_remove(place);
}

TEST(one_that_is_not_there_is_an_error_each_time)
{
	const struct language *language = NULL;
	ASSERT(mkdtemp(place));
	(void)setenv("HOTCELL_RUNTIMES", place, 1);
	struct engine_memory *memory = engine_memory_new();
	ASSERT_FAIL(memory_language(memory, "none", &language, &err), ERR_MISSING);
	err = (struct err){ 0 };
	ASSERT_FAIL(memory_language(memory, "none", &language, &err), ERR_MISSING);
	engine_memory_free(memory);
	scratch_remove(place);
}

TEST(a_program_that_was_there_a_moment_ago_is_not_looked_for)
{
	struct spec spec;
	ASSERT(mkdtemp(place));
	(void)setenv("HOTCELL_RUNTIMES", place, 1);
	define("one", "first");
	spec_init(&spec);
	struct engine_memory *memory = engine_memory_new();
	struct language *language = (struct language *)ask(memory, "one");
	free(language->argv.items[0]);
	language->argv.items[0] = xasprintf("%s/program", place);
	ASSERT(memory_missing_program(memory, language, &spec));
	ASSERT(memory_missing_program(memory, language, &spec)); /* it may come any moment */
	FILE *file = fopen(language->argv.items[0], "w");
	ASSERT(file);
	(void)fclose(file);
	ASSERT_EQ(chmod(language->argv.items[0], 0755), 0);
	ASSERT(!memory_missing_program(memory, language, &spec));
	ASSERT_EQ(unlink(language->argv.items[0]), 0);
	ASSERT(!memory_missing_program(memory, language, &spec));
	ASSERT(memory_missing_program(NULL, language, &spec));
	spec_set(&spec, spec_field("rootfs"), "/usr", &err);
	ASSERT(memory_missing_program(memory, language, &spec)); /* that is another root */
	spec_done(&spec);
	engine_memory_free(memory);
	scratch_remove(place);
}
