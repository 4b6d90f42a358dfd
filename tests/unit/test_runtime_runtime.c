/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/io.h"
#include "runtime/runtime.h"

static struct err err;

/* A directory of definitions that goes away with the test's process. */
static char place[] = "/tmp/hotcell-test-XXXXXX";

static void write_definition(const char *dir, const char *name, const char *text)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	auto_free char *file = xasprintf("%s/language.json", path);
	ASSERT_EQ(mkdir(path, 0755), 0);
	auto_fd int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
}

static void remove_definition(const char *name)
{
	auto_free char *path = xasprintf("%s/%s", place, name);
	auto_free char *file = xasprintf("%s/language.json", path);
	(void)unlink(file);
	(void)rmdir(path);
}

static void remove_place(void)
{
	static const char *const names[] = { "aaa", "alpha", "beta", "broken", "odd" };
	for (size_t i = 0; i < COUNT_OF(names); i++)
		remove_definition(names[i]);
	(void)rmdir(place);
}

static void make_place(void)
{
	ASSERT(mkdtemp(place));
	ASSERT_EQ(atexit(remove_place), 0);
	ASSERT_EQ(setenv("HOTCELL_RUNTIMES", place, 1), 0);
	write_definition(place, "beta",
		"{\"name\": \"beta\", \"title\": \"Beta\", \"program\": \"b\", \"package\": \"b\","
		" \"argv\": [\"/bin/b\", \"{file}\"], \"aliases\": [\"bb\"], \"endings\": "
		"[\".b\"]}");
	write_definition(place, "alpha",
		"{\"name\": \"alpha\", \"title\": \"Alpha\", \"program\": \"a\", \"package\": "
		"\"a\","
		" \"argv\": [\"/bin/a\", \"{file}\"], \"aliases\": [\"beta\"],"
		" \"endings\": [\".a\", \".aa\"]}");
}

TEST(languages_load_sorts_by_name)
{
	struct languages languages;
	make_place();
	ASSERT_OK(languages_load(&languages, &err));
	ASSERT_EQ(languages.count, 2);
	ASSERT_STR(languages.items[0].name, "alpha");
	ASSERT_STR(languages.items[1].name, "beta");
	languages_done(&languages);
}

TEST(language_find_prefers_names_to_aliases)
{
	struct languages languages;
	const struct language *found = NULL;
	make_place();
	ASSERT_OK(languages_load(&languages, &err));
	ASSERT_OK(language_find(&languages, "beta", &found, &err));
	ASSERT_STR(found->name, "beta");
	ASSERT_OK(language_find(&languages, "bb", &found, &err));
	ASSERT_STR(found->name, "beta");
	ASSERT_FAIL(language_find(&languages, "bata", &found, &err), ERR_INVALID);
	ASSERT_STR(err.text, "--language: 'bata' is not known (valid: alpha, beta; did you mean "
			     "'beta'?), for example --language beta");
	ASSERT_FAIL(language_find(&languages, "", &found, &err), ERR_INVALID);
	languages_done(&languages);
}

/* The name of the language for a file, or "none". */
static const char *for_file(const char *path)
{
	static char name[64];
	struct language language;
	bool is_there = true;
	ASSERT_OK(language_load_for_file(path, &language, &is_there, &err));
	(void)snprintf(name, sizeof(name), "%s", is_there ? language.name : "none");
	if (is_there)
		language_done(&language);
	return name;
}

TEST(a_file_s_language_goes_by_its_ending)
{
	make_place();
	ASSERT_STR(for_file("x.b"), "beta");
	ASSERT_STR(for_file("/d.b/x.y.aa"), "alpha");
	ASSERT_STR(for_file("/d.b/x"), "none");
	ASSERT_STR(for_file("x.c"), "none");
	ASSERT_STR(for_file("x.\"b"), "none");
	ASSERT_STR(for_file(""), "none");
}

TEST(an_ending_is_looked_for_among_endings_only)
{
	make_place();
	write_definition(place, "aaa",
		"{\"name\": \"aaa\", \"title\": \".b\", \"argv\": [\"/bin/x\", \"{file}\"],"
		" \"program\": \"x\", \"package\": \"x\", \"endings\": [\"\\u002eq\"]}");
	ASSERT_STR(for_file("x.b"), "beta");
	ASSERT_STR(for_file("x.q"), "aaa");
}

TEST(of_two_languages_with_one_ending_the_first_by_name_counts)
{
	make_place();
	write_definition(place, "aaa",
		"{\"name\": \"aaa\", \"title\": \"A\", \"argv\": [\"/bin/x\", \"{file}\"],"
		" \"program\": \"x\", \"package\": \"x\", \"endings\": [\".b\"]}");
	ASSERT_STR(for_file("x.b"), "aaa");
}

TEST(language_load_one_finds_names_and_aliases)
{
	struct language language;
	make_place();
	ASSERT_OK(language_load_one("alpha", &language, &err));
	ASSERT_STR(language.title, "Alpha");
	language_done(&language);
	ASSERT_OK(language_load_one("bb", &language, &err));
	ASSERT_STR(language.title, "Beta");
	language_done(&language);
	ASSERT_FAIL(language_load_one("alpah", &language, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "did you mean 'alpha'?");
	ASSERT_FAIL(language_load_one("../alpha", &language, &err), ERR_INVALID);
	ASSERT_FAIL(language_load_one("", &language, &err), ERR_INVALID);
	ASSERT_FAIL(language_load_one(".", &language, &err), ERR_INVALID);
	char longer[5000];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ASSERT_FAIL(language_load_one(longer, &language, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "(valid: alpha, beta)");
}

TEST(an_exact_name_does_not_read_other_definitions)
{
	struct language language;
	struct languages languages;
	make_place();
	write_definition(place, "broken", "{");
	ASSERT_OK(language_load_one("alpha", &language, &err));
	language_done(&language);
	ASSERT_FAIL(languages_load(&languages, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "/broken/language.json: JSON line 1");
	ASSERT_FAIL(language_load_one("broken", &language, &err), ERR_INVALID);
}

TEST(a_definition_under_another_name_is_refused)
{
	struct languages languages;
	make_place();
	write_definition(place, "odd",
		"{\"name\": \"even\", \"title\": \"E\", \"program\": \"e\", \"package\": \"e\","
		" \"argv\": [\"/bin/e\", \"{file}\"]}");
	ASSERT_FAIL(languages_load(&languages, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "/odd/language.json: field 'name' must be the name of its directory");
}

TEST(no_definitions_at_all_is_an_installation_problem)
{
	struct language language;
	ASSERT_EQ(setenv("HOTCELL_RUNTIMES", "/nonexistent", 1), 0);
	ASSERT_FAIL(language_load_one("python", &language, &err), ERR_MISSING);
}

TEST(the_users_definition_replaces_a_shipped_one)
{
	struct language language;
	make_place();
	ASSERT_EQ(unsetenv("HOTCELL_RUNTIMES"), 0);
	auto_free char *config = xasprintf("%s/hotcell", place);
	auto_free char *dir = xasprintf("%s/runtimes", config);
	ASSERT_EQ(mkdir(config, 0755), 0);
	ASSERT_EQ(symlink("..", dir), 0);
	ASSERT_EQ(setenv("XDG_CONFIG_HOME", place, 1), 0);
	int r = language_load_one("alpha", &language, &err);
	(void)unlink(dir);
	(void)rmdir(config);
	ASSERT_OK(r);
	ASSERT_STR(language.title, "Alpha");
	language_done(&language);
}

/* The tree's own runtimes/, some directories above this program. */
static char *shipped(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len <= 0)
		return NULL;
	path[len] = '\0';
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		auto_free char *dir = xasprintf("%s/runtimes", path);
		auto_free char *file = xasprintf("%s/python/language.json", dir);
		if (access(file, R_OK) == 0)
			return take_ptr(&dir);
	}
	return NULL;
}

TEST(the_shipped_definitions_are_sound)
{
	/* clang-format off */
	static const struct { const char *name, *language; } known[] = {
		{ "python", "python" }, { "py", "python" }, { "python3", "python" },
		{ "javascript", "javascript" }, { "js", "javascript" }, { "node", "javascript" },
		{ "bash", "bash" }, { "shell", "bash" }, { "sh", "sh" },
	};
	static const struct { const char *file, *language; } files[] = {
		{ "a.py", "python" }, { "a.js", "javascript" }, { "a.sh", "bash" },
	};
	/* clang-format on */
	struct languages languages;
	const struct language *found = NULL;
	auto_free char *dir = shipped();
	if (!dir)
		SKIP("runtimes/ is not above this program");
	ASSERT_EQ(setenv("HOTCELL_RUNTIMES", dir, 1), 0);
	ASSERT_OK(languages_load(&languages, &err));
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		ASSERT_OK(language_find(&languages, known[i].name, &found, &err));
		ASSERT_STR(found->name, known[i].language);
	}
	for (size_t i = 0; i < COUNT_OF(files); i++)
		ASSERT_STR(for_file(files[i].file), files[i].language);
	ASSERT_OK(language_find(&languages, "node", &found, &err));
	ASSERT(found->needs_full_proc);
	languages_done(&languages);
}
