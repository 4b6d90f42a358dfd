/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <sys/mman.h>

#include "cli/cli.h"
#include "model/result.h"

static const struct cli_option own[] = {
	{ .flag = "json", .help = "print JSON" },
	{ .flag = "quiet", .short_flag = 'q', .help = "say nothing" },
	{ .flag = "name", .short_flag = 'n', .metavar = "NAME", .help = "a name" },
};

static struct spec spec;
static struct cli_line line;
static char taken[256]; /* "flag=value " for each of the command's own options */

static int take(void *context, const char *flag, const char *value, struct err *err)
{
	char *text = context;
	if (value && strcmp(value, "bad") == 0)
		return err_set(err, ERR_INVALID, "--%s: '%s' is bad", flag, value);
	size_t len = strlen(text);
	(void)snprintf(text + len, sizeof(taken) - len, "%s=%s ", flag, value ? value : "");
	return 0;
}

__attribute__((destructor)) static void clean_up(void)
{
	spec_done(&spec);
}

static int read_words(char **words, bool has_spec, struct err *err)
{
	int count = 0;
	while (words[count])
		count++;
	spec_done(&spec);
	spec_init(&spec);
	taken[0] = '\0';
	line = (struct cli_line){ .context = taken, .take = take };
	return cli_read(count, words, has_spec ? &spec : NULL, own, COUNT_OF(own), &line, err);
}

#define WORDS(...) ((char *[]){ w("run"), __VA_ARGS__, NULL })

static char *w(const char *text)
{
	return (char *)(uintptr_t)text;
}

TEST(long_and_short_options_fill_the_spec)
{
	struct err err = { 0 };
	ASSERT_OK(read_words(WORDS(w("--timeout"), w("1.5"), w("-m64M"), w("--pids=7"), w("-l"),
				     w("python"), w("--cold"), w("-e"), w("A=1"), w("-eB=2")),
		true, &err));
	ASSERT_EQ(spec.timeout_ms, 1500);
	ASSERT_EQ(spec.memory, 64 << 20);
	ASSERT_EQ(spec.pids, 7);
	ASSERT_STR(spec.language, "python");
	ASSERT(spec.cold);
	ASSERT_EQ(spec.env.count, 2);
	ASSERT_STR(spec.env.items[1], "B=2");
	ASSERT_EQ(line.rest, 11);
	ASSERT(!line.has_help);
	ASSERT(spec_is_given(&spec, spec_field("pids")));
	ASSERT(!spec_is_given(&spec, spec_field("disk")));
}

TEST(own_options_come_in_order_with_their_values)
{
	struct err err = { 0 };
	ASSERT_OK(read_words(
		WORDS(w("--name"), w("x"), w("-qny"), w("--json"), w("--name=")), true, &err));
	ASSERT_STR(taken, "name=x quiet= name=y json= name= ");
}

TEST(options_end_at_the_first_word_or_two_dashes)
{
	struct err err = { 0 };
	ASSERT_OK(read_words(WORDS(w("-q"), w("main.py"), w("--pids"), w("9")), true, &err));
	ASSERT_EQ(line.rest, 2);
	ASSERT_EQ(spec.pids, 128);
	ASSERT_OK(read_words(WORDS(w("-q"), w("--"), w("--pids"), w("9")), true, &err));
	ASSERT_EQ(line.rest, 3);
	ASSERT_EQ(spec.pids, 128);
	ASSERT_OK(read_words(WORDS(w("-"), w("-q")), true, &err));
	ASSERT_EQ(line.rest, 1);
	ASSERT_STR(taken, "");
}

TEST(help_is_asked_for_by_either_flag)
{
	struct err err = { 0 };
	ASSERT_OK(read_words(WORDS(w("--help")), true, &err));
	ASSERT(line.has_help);
	ASSERT_OK(read_words(WORDS(w("-q"), w("-h")), false, &err));
	ASSERT(line.has_help);
}

TEST(an_unknown_option_is_refused_with_the_nearest)
{
	struct err err = { 0 };
	ASSERT_FAIL(read_words(WORDS(w("--timout"), w("3")), true, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--timout");
	ASSERT_HAS(err.text, "did you mean --timeout?");
	ASSERT_FAIL(read_words(WORDS(w("--timout=3")), true, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "did you mean --timeout?");
	ASSERT_FAIL(read_words(WORDS(w("--zzzzzzzz")), true, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--zzzzzzzz: no such option; --help");
}

TEST(an_unknown_short_option_is_refused)
{
	struct err err = { 0 };
	ASSERT_FAIL(read_words(WORDS(w("-Z")), true, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "-Z: no such option");
}

TEST(fields_of_the_spec_are_unknown_to_commands_without_one)
{
	struct err err = { 0 };
	ASSERT_FAIL(read_words(WORDS(w("--pids"), w("3")), false, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--pids: no such option");
	ASSERT_OK(read_words(WORDS(w("--json")), false, &err));
}

TEST(positional_fields_have_no_flag)
{
	struct err err = { 0 };
	ASSERT_FAIL(read_words(WORDS(w("--exec"), w("ls")), true, &err), ERR_INVALID);
	ASSERT_OK(read_words(WORDS(w("--file"), w("a:b")), true, &err));
	ASSERT(!spec.file);
	ASSERT_EQ(spec.files.count, 1);
}

TEST(an_option_without_its_value_is_refused)
{
	struct err err = { 0 };
	ASSERT_FAIL(read_words(WORDS(w("-q"), w("--timeout")), true, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--timeout: needs a value");
	ASSERT_FAIL(read_words(WORDS(w("-m")), true, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "-m: needs a value");
}

TEST(a_bad_value_is_refused_by_its_owner)
{
	struct err err = { 0 };
	ASSERT_FAIL(read_words(WORDS(w("--pids"), w("many")), true, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--pids");
	ASSERT_FAIL(read_words(WORDS(w("--name"), w("bad")), true, &err), ERR_INVALID);
	ASSERT_STR(err.text, "--name: 'bad' is bad");
}

TEST(foreign_bytes_in_an_option_are_shown_harmless)
{
	struct err err = { 0 };
	ASSERT_FAIL(read_words(WORDS(w("--\x1b[31m\n\xff")), true, &err), ERR_INVALID);
	for (const char *at = err.text; *at; at++)
		ASSERT((unsigned char)*at >= ' ');
	char longest[3000];
	memset(longest, 'x', sizeof(longest));
	longest[0] = longest[1] = '-';
	longest[sizeof(longest) - 1] = '\0';
	ASSERT_FAIL(read_words(WORDS(longest), true, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "no such option");
}

/* Runs `call` with stdout and stderr in one file and returns what was written. */
static char *output_of(void (*call)(void))
{
	static char text[16384];
	int fd = memfd_create("output", MFD_CLOEXEC);
	ASSERT(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	call();
	(void)fflush(stdout);
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		_exit(1);
	text[n] = '\0';
	return text;
}

static void show_help(void)
{
	static const struct command command = { .name = "run", .usage = "FILE", .help = "Runs." };
	cli_help(&command, own, COUNT_OF(own), true, "  hotcell run a.py\n");
}

TEST(help_lists_every_option_with_its_default)
{
	const char *text = output_of(show_help);
	bool is_whole = strstr(text, "usage: hotcell run FILE\n") &&
			strstr(text, "  -q, --quiet ") && strstr(text, "  -n, --name NAME ") &&
			strstr(text, "-h, --help") && strstr(text, "hotcell run a.py") &&
			strstr(text, "[33]");
	for (size_t i = 0; i < spec_field_count; i++) {
		char flag[64];
		if (spec_fields[i].has_no_flag)
			continue;
		(void)snprintf(flag, sizeof(flag), "--%s", spec_fields[i].flag);
		is_whole = is_whole && strstr(text, flag);
	}
	exit(is_whole ? 0 : 1); /* there is no terminal left to say more on */
}

static void fail(void)
{
	struct err err = { 0 };
	(void)err_set(&err, ERR_INVALID, "two\nlines \x1b[2J");
	if (cli_fail(&err) != EXIT_COULD_NOT_RUN)
		_exit(1);
}

TEST(an_error_is_one_harmless_line)
{
	const char *text = output_of(fail);
	const char *end = strchr(text, '\n');
	exit(strncmp(text, "hotcell: two", 12) == 0 && end && !end[1] && !strchr(text, '\x1b') ? 0
											       : 1);
}

TEST(simple_commands_take_json_and_nothing_else)
{
	static const struct command command = { .name = "doctor", .usage = "", .help = "" };
	bool is_json = true;
	(void)freopen("/dev/null", "w", stderr);
	ASSERT_EQ(cli_read_simple(&command, 1, WORDS(NULL), &is_json), -1);
	ASSERT(!is_json);
	ASSERT_EQ(cli_read_simple(&command, 2, WORDS(w("--json")), &is_json), -1);
	ASSERT(is_json);
	ASSERT_EQ(cli_read_simple(&command, 2, WORDS(w("word")), &is_json), EXIT_COULD_NOT_RUN);
	ASSERT_EQ(cli_read_simple(&command, 2, WORDS(w("--nope")), &is_json), EXIT_COULD_NOT_RUN);
}
