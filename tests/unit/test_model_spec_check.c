/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "model/limits.h"
#include "model/spec.h"

static struct err err;

static void set(struct spec *spec, const char *flag, const char *text)
{
	ASSERT_OK(spec_set(spec, spec_flag(flag), text, &err));
}

static void init_with_code(struct spec *spec)
{
	spec_init(spec);
	set(spec, "code", "1");
}

/* Whether a spec with this one option passes. */
static int check_with(const char *flag, const char *text)
{
	struct spec spec;
	init_with_code(&spec);
	set(&spec, flag, text);
	int r = spec_check(&spec, &err);
	spec_done(&spec);
	return r;
}

TEST(spec_check_wants_exactly_one_thing_to_run)
{
	struct spec spec;
	spec_init(&spec);
	ASSERT_FAIL(spec_check(&spec, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "nothing to run");
	set(&spec, "code", "");
	ASSERT_OK(spec_check(&spec, &err));
	ASSERT_OK(spec_set(&spec, spec_field("file"), "x.py", &err));
	ASSERT_FAIL(spec_check(&spec, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "more than one thing to run");
	spec_done(&spec);
}

TEST(spec_check_takes_a_program_without_language)
{
	struct spec spec;
	spec_init(&spec);
	ASSERT_OK(spec_set(&spec, spec_field("exec"), "ls", &err));
	ASSERT_OK(spec_check(&spec, &err));
	set(&spec, "language", "python");
	ASSERT_FAIL(spec_check(&spec, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--language: 'python' has no meaning with --exec");
	spec_done(&spec);

	spec_init(&spec);
	ASSERT_OK(spec_set(&spec, spec_field("exec"), "", &err));
	ASSERT_FAIL(spec_check(&spec, &err), ERR_INVALID);
	spec_done(&spec);
}

TEST(spec_check_refuses_standard_input_for_two_purposes)
{
	struct spec spec;
	spec_init(&spec);
	ASSERT_OK(spec_set(&spec, spec_field("file"), "-", &err));
	ASSERT_OK(spec_check(&spec, &err));
	set(&spec, "stdin", "-");
	ASSERT_FAIL(spec_check(&spec, &err), ERR_INVALID);
	spec_done(&spec);
}

TEST(spec_check_wants_proper_variable_names)
{
	static const char *const good[] = { "A=1", "_a9=", "PATH", "A==", "a=\n" };
	static const char *const bad[] = { "=1", "", "9A=1", "A-B=1", "A B=1", "\xc3\xa9=1",
		"A\n=1" };
	for (size_t i = 0; i < COUNT_OF(good); i++)
		ASSERT_OK(check_with("env", good[i]));
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		ASSERT_FAIL(check_with("env", bad[i]), ERR_INVALID);
		ASSERT_HAS(err.text, "--env: '");
		ASSERT_HAS(err.text, "for example --env LEVEL=3");
	}
}

TEST(spec_check_bounds_the_job)
{
	struct spec spec;
	auto_free char *longer = xcalloc(LIMIT_STRING, 1);
	memset(longer, 'x', LIMIT_STRING - 1);
	init_with_code(&spec);
	for (int i = 0; i < LIMIT_JOB_BYTES / LIMIT_STRING; i++)
		ASSERT_OK(spec_set(&spec, spec_field("args"), longer, &err));
	ASSERT_OK(spec_check(&spec, &err));
	ASSERT_OK(spec_set(&spec, spec_field("args"), "x", &err));
	ASSERT_FAIL(spec_check(&spec, &err), ERR_LIMIT);
	spec_done(&spec);
}

TEST(spec_check_takes_mounts_beside_the_cells_own_paths)
{
	static const char *const good[] = { "/srv/data", "x:/mnt/data", "x:/mnt/data/",
		"x:/srv//a/./b", "x:/opt/a", "x:/data", "x:/home/user/data", "x:/home/other",
		"x:/usrlocal", "x:/tmp/x", "x:/mnt/a..b", "x:/var/lib/x" };
	for (size_t i = 0; i < COUNT_OF(good); i++)
		ASSERT_OK(check_with(i % 2 ? "ro" : "rw", good[i]));
}

TEST(spec_check_refuses_mounts_over_inside_or_above_the_cells_own_paths)
{
	static const char *const bad[] = { "data", "x:mnt", "x:/", "x://", "x:/.", "x:/mnt/../etc",
		"x:/mnt/..", "x:/usr", "x:/usr/", "x:/usr/local", "/usr/share", "x:/etc/passwd",
		"x:/proc", "x:/dev/shm", "x:/tmp", "x:/run/x", "x:/bin", "x:/sbin", "x:/lib",
		"x:/lib64", "x:/sys", "x:/home", "x:/home/user", "x:/home/user/", "x:/home//user/.",
		"x:." };
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		if (check_with(i % 2 ? "ro" : "rw", bad[i]) == 0)
			FAIL("%s was taken", bad[i]);
		ASSERT_HAS(err.text, i % 2 ? "--ro: '" : "--rw: '");
		ASSERT_HAS(err.text, i % 2 ? "for example --ro " : "for example --rw ");
	}
}

TEST(spec_check_refuses_one_mount_target_twice)
{
	struct spec spec;
	init_with_code(&spec);
	set(&spec, "ro", "a:/mnt/x");
	set(&spec, "rw", "b:/mnt/./x/");
	ASSERT_FAIL(spec_check(&spec, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--rw: '/mnt/x' is the target of two entries");
	spec_done(&spec);
}

TEST(spec_check_bounds_mounts_of_both_kinds_together)
{
	struct spec spec;
	init_with_code(&spec);
	for (int i = 0; i <= LIMIT_MOUNTS; i++) {
		auto_free char *text = xasprintf("a:/mnt/%d", i);
		set(&spec, i % 2 ? "ro" : "rw", text);
		ASSERT(i == LIMIT_MOUNTS || spec_check(&spec, &err) == 0);
	}
	ASSERT_FAIL(spec_check(&spec, &err), ERR_LIMIT);
	spec_done(&spec);
}

static void assert_file_target(const char *text, const char *want)
{
	struct pair pair;
	ASSERT(pair_parse(text, &pair));
	auto_free char *target = spec_file_target(&pair);
	free(pair.from);
	free(pair.to);
	if (want)
		ASSERT_STR(target, want);
	else if (target)
		FAIL("%s is put at '%s'", text, target);
}

TEST(spec_file_target_is_beneath_the_home)
{
	assert_file_target("a.txt", "a.txt");
	assert_file_target("/srv/d/a.txt", "a.txt");
	assert_file_target("../a.txt", "a.txt");
	assert_file_target("dir/", "dir");
	assert_file_target("a:b/c", "b/c");
	assert_file_target("a:./b//c", "b/c");
	assert_file_target("d/a:b/", "b/a");
	assert_file_target("a:/home/user/b", "b");
	assert_file_target("a:/home/user/", "a");
	assert_file_target("a:..b", "..b");
	assert_file_target("a:..", NULL);
	assert_file_target("a:../b", NULL);
	assert_file_target("a:b/../../c", NULL);
	assert_file_target("a:/etc/passwd", NULL);
	assert_file_target("a:/home/user", NULL);
	assert_file_target("a:/home/user2/b", NULL);
	assert_file_target("a:/home/user/../x", NULL);
	assert_file_target("a:.", NULL);
	assert_file_target(".", NULL);
	assert_file_target("..", NULL);
	assert_file_target("/", NULL);
	assert_file_target("/:b/", NULL);
	assert_file_target("..:b/", NULL);
}

TEST(spec_check_refuses_one_file_target_twice)
{
	struct spec spec;
	init_with_code(&spec);
	set(&spec, "file", "x/a");
	set(&spec, "file", "y:./a");
	ASSERT_FAIL(spec_check(&spec, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--file: 'a' is the target of two entries");
	spec_done(&spec);
	ASSERT_FAIL(check_with("file", "a:../b"), ERR_INVALID);
	ASSERT_HAS(err.text, "--file: '../b' does not name a place beneath /home/user");
}

TEST(spec_check_keeps_outs_beneath_the_home)
{
	ASSERT_OK(check_with("out", "*.png"));
	ASSERT_OK(check_with("out", "/home/user/plots/*:/srv/pictures"));
	ASSERT_FAIL(check_with("out", "../*"), ERR_INVALID);
	ASSERT_FAIL(check_with("out", "/etc/*"), ERR_INVALID);
	ASSERT_FAIL(check_with("out", "/home/user"), ERR_INVALID);
}

TEST(commands_are_names_of_programs_without_a_directory)
{
	static const char *const good[] = { "ls,find,grep", "g++", "[", "python3.11", "a_b-c" };
	static const char *const bad[] = { ".", "..", "-rf", "ls,...", "x,-x" };
	for (size_t i = 0; i < COUNT_OF(good); i++)
		ASSERT_OK(check_with("commands", good[i]));
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		ASSERT_FAIL(check_with("commands", bad[i]), ERR_INVALID);
		ASSERT_HAS(err.text, "is not the name of a program");
	}
	struct spec spec;
	init_with_code(&spec);
	ASSERT_FAIL(spec_set(&spec, spec_flag("commands"), "bin/ls", &err), ERR_INVALID);
	ASSERT_FAIL(spec_set(&spec, spec_flag("commands"), "ls,,cat", &err), ERR_INVALID);
	strings_add(&spec.commands, "bin/ls"); /* as JSON would */
	ASSERT_FAIL(spec_check(&spec, &err), ERR_INVALID);
	spec_done(&spec);
}

TEST(a_program_to_be_executed_is_one_of_the_commands)
{
	struct spec spec;
	spec_init(&spec);
	set(&spec, "commands", "ls");
	strings_add(&spec.exec, "cat");
	ASSERT_FAIL(spec_check(&spec, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "'cat' is to be executed, but is not in the list");
	strings_done(&spec.exec);
	strings_add(&spec.exec, "/usr/bin/ls");
	ASSERT_OK(spec_check(&spec, &err));
	spec_done(&spec);
}

TEST(what_is_over_a_bound_is_lowered_and_nothing_else)
{
	struct spec spec;
	spec_init(&spec);
	spec.cpus_milli = 2000;
	spec.timeout_ms = 33000;
	spec.memory = 512 << 20;
	spec_bound(&spec); /* there is none */
	ASSERT_EQ(spec.memory, 512 << 20);
	ASSERT_EQ(spec.cpu_time_ms, 0);
	spec.memory_most = 1 << 30;
	spec.cpu_most_ms = 66000; /* all that two processors can use in that time */
	spec_bound(&spec);
	ASSERT_EQ(spec.memory, 512 << 20);
	ASSERT_EQ(spec.cpu_time_ms, 0);
	spec.memory_most = 64 << 20;
	spec.cpu_most_ms = 5999;
	spec_bound(&spec);
	ASSERT_EQ(spec.memory, 64 << 20);
	ASSERT_EQ(spec.cpu_time_ms, 5000);
	spec.cpu_time_ms = 300; /* less than that was asked for */
	spec_bound(&spec);
	ASSERT_EQ(spec.cpu_time_ms, 300);
	spec.cpu_most_ms = 1;
	spec_bound(&spec);
	ASSERT_EQ(spec.cpu_time_ms, 10);
	spec_done(&spec);
}
