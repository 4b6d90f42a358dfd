/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "runtime/runtime.h"

static struct err err;

static int read_language(struct language *language, const char *text)
{
	return language_from_json(language, text, strlen(text), "x.json", &err);
}

#define MINIMAL                                                              \
	"\"name\": \"tcl\", \"title\": \"Tcl\", \"program\": \"main.tcl\", " \
	"\"argv\": [\"/usr/bin/tclsh\", \"{file}\"], \"package\": \"tcl\""

TEST(language_from_json_reads_every_field)
{
	struct language language;
	ASSERT_OK(read_language(&language,
		"{" MINIMAL ", \"aliases\": [\"tclsh\"], \"endings\": [\".tcl\"],"
		" \"version\": [\"/usr/bin/tclsh\", \"-v\"], \"needs_full_proc\": true,"
		" \"defaults\": {\"memory\": \"1G\", \"pids\": 64}}"));
	ASSERT_STR(language.name, "tcl");
	ASSERT_STR(language.title, "Tcl");
	ASSERT_STR(language.program, "main.tcl");
	ASSERT_STR(language.argv.items[1], "{file}");
	ASSERT_STR(language.package, "tcl");
	ASSERT_STR(language.aliases.items[0], "tclsh");
	ASSERT_STR(language.endings.items[0], ".tcl");
	ASSERT_EQ(language.version.count, 2);
	ASSERT(language.needs_full_proc);
	ASSERT_EQ(language.defaults.count, 2);
	ASSERT_STR(language.defaults.items[0], "memory=1G");
	ASSERT_STR(language.defaults.items[1], "pids=64");
	language_done(&language);
}

#define COMPILED                                                       \
	"\"name\": \"c\", \"title\": \"C\", \"program\": \"main.c\", " \
	"\"argv\": [\"{binary}\"], \"package\": \"gcc\""
#define GCC "\"compile\": [\"/usr/bin/gcc\", \"{file}\", \"-o\", \"{binary}\"]"

TEST(language_from_json_reads_how_to_compile_and_prepare)
{
	struct language language;
	ASSERT_OK(read_language(&language,
		"{" COMPILED ", \"compile\": [\"{prepared}/cc\", \"{file}\", \"-o{binary}\"],"
		" \"compile_defaults\": {\"memory\": \"1G\"},"
		" \"prepare\": [\"/bin/sh\", \"{runtime}/p.sh\", \"{binary}\"],"
		" \"prepare_defaults\": {\"timeout\": 300},"
		" \"needs\": [\"/usr/bin/gcc\"], \"documentation\": \"https://example.org/\"}"));
	ASSERT_EQ(language.compile.count, 3);
	ASSERT_STR(language.compile_defaults.items[0], "memory=1G");
	ASSERT_EQ(language.prepare.count, 3);
	ASSERT_STR(language.prepare_defaults.items[0], "timeout=300");
	ASSERT_STR(language.needs.items[0], "/usr/bin/gcc");
	ASSERT_STR(language.documentation, "https://example.org/");
	ASSERT_STR(language_path(&language), "/usr/bin/gcc");
	language_done(&language);
}

#define RUNNER MINIMAL ", \"channel\": true"

TEST(language_from_json_reads_what_stands_ready)
{
	struct language language;
	ASSERT_OK(read_language(&language,
		"{" RUNNER ", \"guest\": [\"/usr/bin/tclsh\", \"{runtime}/boot.tcl\"],"
		" \"preload\": {\"base\": [], \"data\": [\"numpy\", \"matplotlib.pyplot\"]},"
		" \"cold_env\": [\"TCL*\", \"LANG\"]}"));
	ASSERT_EQ(language.guest.count, 2);
	ASSERT_EQ(language.started.count, 0);
	ASSERT_EQ(language.preload.count, 2);
	ASSERT_EQ(language_preload(&language, "base")->count, 0);
	ASSERT_EQ(language_preload(&language, "data")->count, 2);
	ASSERT_STR(language_preload(&language, "data")->items[1], "matplotlib.pyplot");
	ASSERT(!language_preload(&language, "dat"));
	ASSERT_EQ(language.cold_env.count, 2);
	language_done(&language);
	ASSERT_OK(read_language(&language, "{" RUNNER ", \"started\": [\"{runtime}/wait\"]}"));
	ASSERT_EQ(language.started.count, 1);
	ASSERT(!language_preload(&language, "base"));
	language_done(&language);
}

TEST(language_is_cold_compares_names_of_variables)
{
	/* clang-format off */
	static const struct { const char *variable; bool want; } samples[] = {
		{ "LANG=C", true }, { "LANG", true }, { "LANGUAGE=de", false }, { "LAN=G", false },
		{ "LC_ALL=C", true }, { "LC_=", true }, { "LC=LC_", false }, { "XLC_ALL=C", false },
		{ "X=LANG=", false }, { "", false }, { "lang=C", false },
	};
	/* clang-format on */
	struct language language;
	ASSERT_OK(read_language(&language, "{" MINIMAL ", \"cold_env\": [\"LANG\", \"LC_*\"]}"));
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		if (language_is_cold(&language, samples[i].variable) != samples[i].want)
			FAIL("%s", samples[i].variable);
	}
	language_done(&language);
	ASSERT_OK(read_language(&language, "{" MINIMAL ", \"cold_env\": []}"));
	ASSERT(!language_is_cold(&language, "LANG=C"));
	language_done(&language);
}

TEST(language_path_is_the_program_a_person_would_name)
{
	struct language language;
	ASSERT_OK(read_language(&language, "{" COMPILED ", " GCC "}"));
	ASSERT_STR(language_path(&language), "/usr/bin/gcc");
	language_done(&language);
	ASSERT_OK(read_language(&language, "{" MINIMAL "}"));
	ASSERT_STR(language_path(&language), "/usr/bin/tclsh");
	language_done(&language);
}

TEST(language_fill_puts_paths_in_wherever_a_placeholder_stands)
{
	struct strings argv = { 0 };
	struct strings list = { 0 };
	const struct places places = { .file = "{binary}.c", .binary = "/b", .runtime = "/r" };
	strings_add(&argv, "{binary}");
	strings_add(&argv, "-o{binary}:{runtime}/x");
	strings_add(&argv, "{file}"); /* what was filled in is not looked at again */
	strings_add(&argv, "{prepared}{");
	strings_add(&argv, "{print}");
	language_fill(&argv, &places, &list);
	ASSERT_EQ(list.count, 5);
	ASSERT_STR(list.items[0], "/b");
	ASSERT_STR(list.items[1], "-o/b:/r/x");
	ASSERT_STR(list.items[2], "{binary}.c");
	ASSERT_STR(list.items[3], "{prepared}{");
	ASSERT_STR(list.items[4], "{print}");
	ASSERT(language_uses(&argv, "{runtime}"));
	ASSERT(!language_uses(&list, "{runtime}"));
	strings_done(&argv);
	strings_done(&list);
}

TEST(language_from_json_needs_only_the_minimum)
{
	struct language language;
	ASSERT_OK(read_language(&language, "{" MINIMAL "}"));
	ASSERT_EQ(language.aliases.count, 0);
	ASSERT(!language.needs_full_proc);
	language_done(&language);
}

/* clang-format off */
static const struct { const char *text, *want; } refused[] = {
	{ "{}", "x.json: field 'name' is missing" },
	{ "{\"name\": \"x\"}", "field 'title' is missing" },
	{ "{" MINIMAL ", \"argv\": []}", "field 'argv' is missing" },
	{ "{" MINIMAL ", \"nmae\": 1}", "unknown field 'nmae', did you mean 'name'?" },
	{ "{" MINIMAL ", \"title\": 1}", "field 'title' must be a string, not a number" },
	{ "{" MINIMAL ", \"title\": null}", "field 'title' must be a string, not null" },
	{ "{" MINIMAL ", \"title\": \"\"}", "field 'title' is empty" },
	{ "{" MINIMAL ", \"aliases\": \"x\"}", "field 'aliases' must be an array of strings, not a string" },
	{ "{" MINIMAL ", \"aliases\": [1]}", "field 'aliases' must be an array of strings, not a number" },
	{ "{" MINIMAL ", \"aliases\": [\"A B\"]}", "field 'aliases' must hold names" },
	{ "{" MINIMAL ", \"aliases\": [\"\"]}", "field 'aliases' has an empty item" },
	{ "{" MINIMAL ", \"endings\": [\"tcl\"]}", "field 'endings' must hold endings with their dot" },
	{ "{" MINIMAL ", \"name\": \"../x\"}", "field 'name' must be" },
	{ "{" MINIMAL ", \"program\": \"a/b\"}", "field 'program' must be a plain file name" },
	{ "{" MINIMAL ", \"program\": \"..\"}", "field 'program' must be a plain file name" },
	{ "{" MINIMAL ", \"argv\": [\"tclsh\", \"{file}\"]}", "field 'argv' must begin with an absolute path" },
	{ "{" MINIMAL ", \"argv\": [\"/usr/bin/tclsh\"]}", "field 'argv' must have {file}" },
	{ "{" MINIMAL ", \"version\": [\"tclsh\"]}", "field 'version' must begin with an absolute path" },
	{ "{" MINIMAL ", \"needs_full_proc\": 1}", "field 'needs_full_proc' must be true or false" },
	{ "{" MINIMAL ", \"defaults\": []}", "field 'defaults' must be an object" },
	{ "{" MINIMAL ", \"defaults\": {\"net\": \"loopback\"}}", "'net' is not a limit of a run" },
	{ "{" MINIMAL ", \"defaults\": {\"cpu-time\": 1}}", "'cpu-time' is not a limit of a run" },
	{ "{" MINIMAL ", \"defaults\": {\"memory\": \"1\"}}", "field 'defaults': --memory: '1' is out of range" },
	{ "{" MINIMAL ", \"defaults\": {\"memory\": true}}", "field 'memory' must be a string or a whole number" },
	{ "[]", "x.json: JSON line 1, column 1" },
	{ "{" MINIMAL ", \"argv\": [\"/bin/x\", \"{flie}\"]}", "'{flie}' stands for nothing, did you mean '{file}'?" },
	{ "{" MINIMAL ", \"argv\": [\"/bin/x\", \"{file}\", \"{binary}\"]}", "'argv' has {binary}, but there is no field 'compile'" },
	{ "{" MINIMAL ", \"argv\": [\"{file}/x\", \"{file}\"]}", "field 'argv' must begin with an absolute path" },
	{ "{" MINIMAL ", \"argv\": [\"/bin/x\", \"{file}\", \"{prepared}\"]}", "'argv' has {prepared}, but there is no field 'prepare'" },
	{ "{" MINIMAL ", " GCC "}", "field 'argv' must have {binary}" },
	{ "{" COMPILED "}", "field 'argv' must have {file}" },
	{ "{" COMPILED ", \"compile\": [\"/bin/x\", \"{binary}\"]}", "field 'compile' must have {file}" },
	{ "{" COMPILED ", \"compile\": [\"/bin/x\", \"{file}\"]}", "field 'compile' must have {binary}" },
	{ "{" COMPILED ", \"compile\": [\"gcc\", \"{file}\", \"{binary}\"]}", "field 'compile' must begin with an absolute path" },
	{ "{" COMPILED ", " GCC ", \"compile_defaults\": {\"net\": \"loopback\"}}", "'net' is not a limit of a run" },
	{ "{" COMPILED ", " GCC ", \"prepare\": [\"/bin/x\"]}", "field 'prepare' must have {binary}" },
	{ "{" COMPILED ", " GCC ", \"prepare\": [\"/bin/x\", \"{binary}\", \"{file}\"]}", "'prepare' has {file}, but nothing of the code may enter" },
	{ "{" COMPILED ", " GCC ", \"prepare_defaults\": {\"pids\": 1}}", "'prepare_defaults' without a field 'prepare'" },
	{ "{" MINIMAL ", \"compile_defaults\": {\"pids\": 1}}", "'compile_defaults' without a field 'compile'" },
	{ "{" MINIMAL ", \"argv\": [\"{runtime}/x\", \"{file}\"], \"prepare\": [\"/bin/x\", \"{binary}\"]}", "with 'prepare' it is {prepared}" },
	{ "{" MINIMAL ", \"needs\": [\"go\"]}", "field 'needs' must hold absolute paths" },
	{ "{" MINIMAL ", \"documentation\": \"javascript:x\"}", "field 'documentation' must be an address" },
	{ "{" RUNNER ", \"started\": [\"node\"]}", "field 'started' must begin with an absolute path" },
	{ "{" RUNNER ", \"started\": [\"/bin/x\", \"{file}\"]}", "'started' has {file}, but it is started before there is any" },
	{ "{" RUNNER ", \"started\": [\"/bin/x\", \"{binary}\"]}", "'started' has {binary}, but it is started before there is any" },
	{ "{" RUNNER ", \"started\": [\"/bin/x\", \"{prepared}\"]}", "'started' has {prepared}, but there is no field 'prepare'" },
	{ "{" RUNNER ", \"started\": [\"{runtime}/x\"], \"prepare\": [\"/bin/x\", \"{binary}\"]}", "with 'prepare' it is {prepared}" },
	{ "{" MINIMAL ", \"started\": [\"/bin/x\"]}", "field 'started' needs \"channel\": true" },
	{ "{" MINIMAL ", \"guest\": [\"/bin/x\"]}", "field 'guest' needs \"channel\": true" },
	{ "{" RUNNER ", \"guest\": [\"x\"]}", "field 'guest' must begin with an absolute path" },
	{ "{" RUNNER ", \"guest\": [\"/bin/x\", \"{file}\"]}", "'guest' has {file}, but" },
	{ "{" RUNNER ", \"preload\": {\"base\": []}}", "field 'preload' without a field 'guest'" },
	{ "{" RUNNER ", \"preload\": [\"numpy\"]}", "field 'preload' must be an object, not an array" },
	{ "{" RUNNER ", \"preload\": {\"base\": \"numpy\"}}", "field 'base' must be an array of strings, not a string" },
	{ "{" RUNNER ", \"preload\": {\"a b\": []}}", "field 'preload': 'a b' is no name" },
	{ "{" RUNNER ", \"preload\": {\"base\": [\"os;x\"]}}", "field 'preload': 'os;x' is no module" },
	{ "{" RUNNER ", \"preload\": {\"base\": [\"os.\"]}}", "field 'preload': 'os.' is no module" },
	{ "{" RUNNER ", \"preload\": {\"base\": [\".os\"]}}", "field 'preload': '.os' is no module" },
	{ "{" RUNNER ", \"preload\": {\"base\": [\"os.2\"]}}", "field 'preload': 'os.2' is no module" },
	{ "{" MINIMAL ", \"cold_env\": [\"*\"]}", "field 'cold_env' must hold names of variables" },
	{ "{" MINIMAL ", \"cold_env\": [\"A*B\"]}", "field 'cold_env' must hold names of variables" },
	{ "{" MINIMAL ", \"cold_env\": [\"A=\"]}", "field 'cold_env' must hold names of variables" },
	{ "{" MINIMAL ", \"complie\": [\"/bin/x\"]}", "unknown field 'complie', did you mean 'compile'?" },
};
/* clang-format on */

TEST(language_from_json_names_the_file_and_the_field)
{
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		struct language language;
		if (read_language(&language, refused[i].text) == 0)
			FAIL("%s was taken", refused[i].text);
		ASSERT_HAS(err.text, "x.json: ");
		ASSERT_HAS(err.text, refused[i].want);
		ASSERT(!language.name);
	}
}

TEST(language_from_json_does_not_leak_a_field_given_twice)
{
	struct language language;
	ASSERT_OK(read_language(&language, "{\"name\": \"first\", " MINIMAL "}"));
	ASSERT_STR(language.name, "tcl");
	language_done(&language);
}

TEST(language_parse_version_takes_the_first_number_with_a_dot)
{
	/* clang-format off */
	static const struct { const char *text, *want; } samples[] = {
		{ "Python 3.11.2\n", "3.11.2" },
		{ "v20.20.2\n", "20.20.2" },
		{ "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)", "5.2.15" },
		{ "go version go1.19.8 linux/amd64", "1.19.8" },
		{ "build 12, version 1.2.", "1.2" },
		{ "1.2", "1.2" },
	};
	/* clang-format on */
	char version[16];
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		ASSERT(language_parse_version(samples[i].text, version, sizeof(version)));
		ASSERT_STR(version, samples[i].want);
	}
	ASSERT(!language_parse_version("", version, sizeof(version)));
	ASSERT(!language_parse_version("version 12", version, sizeof(version)));
	ASSERT(!language_parse_version("..", version, sizeof(version)));
	ASSERT(!language_parse_version("1.222222222222222222222222", version, sizeof(version)));
}
