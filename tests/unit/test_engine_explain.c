/* SPDX-License-Identifier: Apache-2.0 */
/* Error texts as the programs themselves print them. */
#include "unit/test.h"

#include "engine/explain.h"

static struct spec spec;
static struct result result;

/* The books are those of the tree. */
static void explain_as(const char *language)
{
	const struct analysis_input input = {
		.language = language, .program = "main.py", .code = "", .spec = &spec
	};
	(void)setenv("HOTCELL_RUNTIMES", "runtimes", 1);
	explain(&input, &result);
}

static void run(enum run_status status, const char *language, const char *text)
{
	spec_done(&spec);
	result_done(&result);
	spec_init(&spec);
	result_init(&result);
	result.status = status;
	(void)snprintf(result.language, sizeof(result.language), "%s", language);
	result.err.text = xstrdup(text);
	result.err.len = strlen(text);
	result.err.total_bytes = (int64_t)strlen(text);
	explain_as(*language ? language : NULL);
}

__attribute__((destructor)) static void clean_up(void)
{
	spec_done(&spec);
	result_done(&result);
}

#define OPEN "filesystem", "open"
#define WRITE "filesystem", "write"
#define RO "--ro DIR or --file FILE"
#define RW "--rw DIR"

/* clang-format off */
static const struct sample {
	const char *text, *layer, *operation, *target, *option;
} samples[] = {
	/* Python */
	{ "FileNotFoundError: [Errno 2] No such file or directory: '/data/in.csv'",
	  OPEN, "/data/in.csv", RO },
	{ "OSError: [Errno 30] Read-only file system: '/srv/lib/x'", WRITE, "/srv/lib/x", RW },
	{ "FileNotFoundError: [Errno 2] No such file or directory: '/srv/a' -> '/tmp/b'",
	  OPEN, "/srv/a", RO },
	{ "FileNotFoundError: Path '/data/in' does not exist", OPEN, "/data/in", RO },
	{ "OSError: [Errno 28] No space left on device", "disk", "write", "", "--disk SIZE" },
	{ "OSError: [Errno 28] No space left on device: '/tmp/x'", "disk", "write", "", "--disk SIZE" },
	{ "OSError: [Errno 27] File too large", "disk", "write", "", "--disk SIZE" },
	{ "RuntimeError: can't start new thread", "pids", "start a thread", "", "--pids N" },
	{ "MemoryError", "memory", "allocate", "", "--memory SIZE" },
	{ "FileNotFoundError: [Errno 2] No such file or directory: '/proc/meminfo'",
	  OPEN, "/proc/meminfo", "--proc masked" },
	/* Node */
	{ "Error: ENOENT: no such file or directory, open '/data/in.json'", OPEN, "/data/in.json", RO },
	{ "Error: EROFS: read-only file system, mkdir '/opt/x'", WRITE, "/opt/x", RW },
	{ "Error: ENOSPC: no space left on device, write", "disk", "write", "", "--disk SIZE" },
	/* bash and dash */
	{ "bash: /data/run.sh: No such file or directory", OPEN, "/data/run.sh", RO },
	{ "main.sh: line 1: /srv/x: Read-only file system", WRITE, "/srv/x", RW },
	{ "sh: 1: cannot create /srv/x: Read-only file system", WRITE, "/srv/x", RW },
	{ "main.sh: fork: retry: Resource temporarily unavailable", "pids", "fork", "", "--pids N" },
	{ "main.sh: fork: Cannot allocate memory", "memory", "allocate", "", "--memory SIZE" },
	/* coreutils */
	{ "cat: /data/in: No such file or directory", OPEN, "/data/in", RO },
	{ "ls: cannot access '/data/my dir': No such file or directory", OPEN, "/data/my dir", RO },
	{ "touch: cannot touch '/data/x': Read-only file system", WRITE, "/data/x", RW },
	{ "rm: cannot remove '/opt/bin/ls': Read-only file system", WRITE, "/opt/bin/ls", RW },
	{ "cp: error writing '/home/user/x': No space left on device",
	  "disk", "write", "", "--disk SIZE" },
};

/* Mistakes of the program's own: nothing that an option would allow. */
static const char *const own_mistakes[] = {
	"FileNotFoundError: [Errno 2] No such file or directory: 'in.csv'",
	"FileNotFoundError: [Errno 2] No such file or directory: '/home/user/in.csv'",
	"FileNotFoundError: [Errno 2] No such file or directory: '/tmp/x'",
	"FileNotFoundError: [Errno 2] No such file or directory: '/tmp'",
	"FileNotFoundError: [Errno 2] No such file or directory: '/usr/bin/none'",
	"cat: /etc/none: No such file or directory",
	"bash: /bin/none: No such file or directory",
	"bash: ./none: No such file or directory",
	"cat: in.csv: No such file or directory",
	"Error: ENOENT: no such file or directory, open 'in.json'",
	"psycopg2.errors.UndefinedTable: relation \"users\" does not exist",
	"ValueError: /data/in is not a number",
	"No such file or directory",
	": No such file or directory",
	"",
};
/* clang-format on */

static void check_one(const struct sample *sample)
{
	if (result.denial_count != 1)
		FAIL("%zu denials of '%s'", result.denial_count, sample->text);
	const struct denial *denial = &result.denials[0];
	ASSERT_STR(denial->layer, sample->layer);
	ASSERT_STR(denial->operation, sample->operation);
	ASSERT_STR(denial->target, sample->target);
	ASSERT_STR(denial->option, sample->option);
	ASSERT_STR(denial->evidence, "text");
	ASSERT_EQ(denial->count, 1);
	ASSERT_HAS(result.hint, sample->option);
	ASSERT_HAS(result.hint, sample->layer);
}

TEST(an_error_text_tells_layer_path_and_option)
{
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		run(STATUS_ERROR, "", samples[i].text);
		check_one(&samples[i]);
		/* within other lines, the last one without an end */
		auto_free char *text = xasprintf("Traceback (most recent call last):\n"
						 "  File \"/home/user/main.py\", line 1\n%s",
			samples[i].text);
		run(STATUS_ERROR, "python", text);
		check_one(&samples[i]);
	}
}

TEST(the_same_text_in_a_run_that_went_well_tells_nothing)
{
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		run(STATUS_OK, "python", samples[i].text);
		ASSERT_EQ(result.denial_count, 0);
		ASSERT(!result.hint && !result.error.message);
		ASSERT_STR(result.error.kind, "");
	}
}

TEST(a_programs_own_mistakes_are_no_denials)
{
	for (size_t i = 0; i < COUNT_OF(own_mistakes); i++) {
		run(STATUS_ERROR, "", own_mistakes[i]);
		if (result.denial_count != 0)
			FAIL("'%s' is taken for a denial of '%s'", own_mistakes[i],
				result.denials[0].target);
		ASSERT(!result.hint);
	}
}

TEST(a_path_that_only_begins_like_an_own_one_is_foreign)
{
	run(STATUS_ERROR, "", "cat: /tmpfiles/x: No such file or directory");
	ASSERT_STR(result.denials[0].target, "/tmpfiles/x");
	run(STATUS_ERROR, "", "cat: /home/users/x: No such file or directory");
	ASSERT_STR(result.denials[0].target, "/home/users/x");
}

TEST(a_write_into_the_cells_own_system_has_no_option)
{
	run(STATUS_ERROR, "", "touch: cannot touch '/usr/lib/x': Read-only file system");
	ASSERT_EQ(result.denial_count, 1);
	ASSERT_STR(result.denials[0].target, "/usr/lib/x");
	ASSERT_STR(result.denials[0].option, "");
	ASSERT(!result.hint);
	run(STATUS_ERROR, "", "touch: cannot touch '/x': Read-only file system");
	ASSERT_STR(result.denials[0].option, "");
}

TEST(equal_lines_are_counted_and_different_ones_listed)
{
	run(STATUS_ERROR, "",
		"cat: /a/x: No such file or directory\ncat: /a/x: No such file or directory\n"
		"touch: cannot touch '/usr/y': Read-only file system\n");
	ASSERT_EQ(result.denial_count, 2);
	ASSERT_EQ(result.denials[0].count, 2);
	ASSERT_STR(result.denials[1].target, "/usr/y");
	ASSERT_HAS(result.hint, "/a/x");
}

TEST(denials_have_an_end)
{
	auto_free char *text = xcalloc(1000, 64);
	size_t len = 0;
	for (int i = 0; i < 1000; i++)
		len += (size_t)sprintf(text + len, "cat: /d/%d: No such file or directory\n", i);
	run(STATUS_ERROR, "", text);
	ASSERT_EQ(result.denial_count, LIMIT_DENIALS);
}

TEST(what_the_kernel_counted_is_not_told_again)
{
	const struct denial counted = {
		.layer = "pids", .option = "--pids 256", .evidence = "kernel", .count = 9
	};
	spec_init(&spec);
	result_init(&result);
	result.status = STATUS_ERROR;
	result.err.text = xstrdup("fork: Resource temporarily unavailable\n");
	result_add_denial(&result, &counted);
	explain_as(NULL);
	ASSERT_EQ(result.denial_count, 1);
	ASSERT_HAS(result.hint, "--pids 256");
}

static void check_error(const char *kind, const char *message)
{
	ASSERT_STR(result.error.kind, kind);
	ASSERT_STR(result.error.message, message);
}

TEST(every_status_has_its_words)
{
	run(STATUS_TIMEOUT, "python", "x\n");
	check_error("timeout", "Code execution timed out after 33s");
	run(STATUS_OOM, "python", "x\n");
	check_error("runtime", "Code ran out of its memory of 512M");
	run(STATUS_OUTPUT_LIMIT, "python", "x\n");
	check_error("runtime", "Code wrote more than 64M of output");
	run(STATUS_INTERRUPTED, "python", "x\n");
	check_error("runtime", "Execution was interrupted");
	run(STATUS_ERROR, "", "boom\n\n");
	check_error("runtime", "Execution failed: boom");
	run(STATUS_ERROR, "", "");
	check_error("runtime", "Execution failed: ");
	run(STATUS_DISK_LIMIT, "", "dd: full\n");
	check_error("runtime", "Execution failed: dd: full");
	ASSERT_EQ(result.denial_count, 0);
}

TEST(limits_are_told_as_they_were_given)
{
	struct err err = { 0 };
	spec_init(&spec);
	result_init(&result);
	ASSERT_OK(spec_set(&spec, spec_field("cpu_time"), "1.5", &err));
	result.status = STATUS_CPU_LIMIT;
	explain_as(NULL); /* no text was captured at all */
	check_error("timeout", "Code used up its CPU time of 1.5s");
}

TEST(a_signal_is_named_with_what_was_said)
{
	spec_init(&spec);
	result_init(&result);
	result.status = STATUS_SIGNAL;
	result.signal = SIGSEGV;
	explain_as(NULL);
	check_error("runtime", "Execution failed: Segmentation fault");
	failure_done(&result.error);
	result.err.text = xstrdup("cat: /a/x: No such file or directory\n");
	explain_as(NULL);
	check_error("runtime",
		"Execution failed: Segmentation fault: cat: /a/x: No such file or directory");
	ASSERT_EQ(result.denial_count, 0);
}

TEST(python_names_syntax_and_import_errors)
{
	run(STATUS_ERROR, "python",
		"  File \"/home/user/main.py\", line 3\n    print(\n         ^\n"
		"SyntaxError: '(' was never closed\n");
	check_error("syntax", "Python syntax error: '(' was never closed (line 3)");
	run(STATUS_ERROR, "python",
		"  File \"/home/user/main.py\", line 12\n    x\n"
		"IndentationError: unexpected indent\n");
	check_error("syntax", "Python syntax error: unexpected indent (line 12)");
	run(STATUS_ERROR, "python",
		"Traceback (most recent call last):\nModuleNotFoundError: No module named 'x'");
	ASSERT_STR(result.error.kind, "import");
	ASSERT_HAS(result.error.message, "Execution failed: Traceback");
	run(STATUS_ERROR, "python", "SyntaxError: source code cannot contain null bytes\n");
	check_error("syntax", "Python syntax error: source code cannot contain null bytes");
}

TEST(what_is_no_syntax_error_of_python_stays_a_runtime_error)
{
	static const char *const texts[] = {
		"Traceback (most recent call last):\n  x\nSyntaxError: invalid syntax\n",
		"SyntaxError: early\nValueError: last\n",
		"MySyntaxError: x\n",
		"SyntaxError\n",
	};
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		run(STATUS_ERROR, "python", texts[i]);
		ASSERT_STR(result.error.kind, "runtime");
	}
	run(STATUS_ERROR, "javascript", "SyntaxError: Unexpected token\n");
	ASSERT_STR(result.error.kind, "runtime");
}

TEST(a_path_longer_than_its_room_is_cut)
{
	auto_free char *text = xcalloc(5000, 1);
	(void)sprintf(text, "cat: '/");
	memset(text + strlen(text), 'p', 4000);
	(void)strcat(text, "': No such file or directory");
	run(STATUS_ERROR, "", text);
	ASSERT_EQ(result.denial_count, 1);
	ASSERT_EQ(strlen(result.denials[0].target), sizeof(result.denials[0].target) - 1);
}
