/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "config/config.h"
#include "unit/scratch.h"

static char root[] = "/tmp/hotcell-test-XXXXXX";
static struct err err;

static void clean_up(void)
{
	scratch_remove(root);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ASSERT(fd >= 0);
	ASSERT_EQ(write(fd, text, strlen(text)), strlen(text));
	ASSERT_EQ(fchmod(fd, mode), 0);
}

static void refuses(const char *text, const char *words)
{
	struct config config;
	config_init(&config);
	err = (struct err){ 0 };
	ASSERT_FAIL(config_read_text(&config, "c.yaml", text, strlen(text), CONFIG_USER, &err),
		ERR_INVALID);
	ASSERT_STR(err.text, words);
	config_done(&config);
}

/* The values of a key, joined by "|". */
static const char *read_one(const char *text, const char *section, const char *name)
{
	static char joined[512];
	struct config config;
	config_init(&config);
	ASSERT_OK(config_read_text(&config, "c.yaml", text, strlen(text), CONFIG_USER, &err));
	const struct config_value *value = config_look_up(&config, section, name);
	joined[0] = '\0';
	size_t used = 0;
	for (size_t i = 0; value && i < value->texts.count; i++)
		used += (size_t)snprintf(joined + used, sizeof(joined) - used, "%s%s", i ? "|" : "",
			value->texts.items[i]);
	const char *found = value ? joined : "(none)";
	config_done(&config);
	return found;
}

TEST(values_of_every_type_are_taken_as_people_write_them)
{
	ASSERT_STR(read_one("timeout: 1.5\n", NULL, "timeout"), "1.5");
	ASSERT_STR(read_one("memory: 1G\n", NULL, "memory"), "1G");
	ASSERT_STR(read_one("cpu_time: none\n", NULL, "cpu_time"), "none");
	ASSERT_STR(read_one("cold: yes\n", NULL, "cold"), "yes");
	ASSERT_STR(read_one("net: loopback\n", NULL, "net"), "loopback");
	ASSERT_STR(read_one("require: [seccomp, landlock]\n", NULL, "require"), "seccomp|landlock");
	ASSERT_STR(read_one("require: seccomp,landlock\n", NULL, "require"), "seccomp,landlock");
	ASSERT_STR(read_one("env: [A=1, B]\n", NULL, "env"), "A=1|B");
	ASSERT_STR(read_one("env: {A: 1, B: x y}\n", NULL, "env"), "A=1|B=x y");
	ASSERT_STR(read_one("ro: /srv/a:/mnt/a\n", NULL, "ro"), "/srv/a:/mnt/a");
	ASSERT_STR(read_one("ro: [{from: '/srv/a:b', to: /mnt/a}]\n", NULL, "ro"),
		"/srv/a\\:b:/mnt/a");
	ASSERT_STR(read_one("daemon:\n  queue: 7\n", "daemon", "queue"), "7");
	ASSERT_STR(read_one("docker: {image: 'a:b'}\n", "docker", "image"), "a:b");
	ASSERT_STR(read_one("env: []\n", NULL, "env"), "");
	ASSERT_STR(read_one("timeout:\ndaemon:\nlanguages:\n", NULL, "timeout"), "(none)");
}

TEST(an_unknown_key_is_refused_with_its_line_and_the_nearest_name)
{
	refuses("# a\ntimeot: 3\n", "c.yaml:2: unknown key 'timeot', did you mean 'timeout'?");
	refuses("max-output: 3\n",
		"c.yaml:1: unknown key 'max-output', did you mean 'max_output'?");
	refuses("demon: {}\n", "c.yaml:1: unknown key 'demon', did you mean 'daemon'?");
	refuses("daemon:\n  que: 1\n",
		"c.yaml:2: unknown key 'que' in daemon, did you mean 'queue'?");
	refuses("languages:\n  go:\n    timout: 1\n",
		"c.yaml:3: unknown key 'timout', did you mean 'timeout'?");
	refuses("xyzzyxyzzy: 1\n",
		"c.yaml:1: unknown key 'xyzzyxyzzy'; hotcell config show lists them");
	refuses("fault: step:seccomp\n",
		"c.yaml:1: unknown key 'fault'; hotcell config show lists them");
}

TEST(a_wrong_value_is_refused_in_the_words_of_its_field)
{
	refuses("timeout: abc\n", "c.yaml:1: timeout: 'abc' is not a number of seconds (0.01 to "
				  "86400 seconds), for example 33");
	refuses("memory: 1K\n",
		"c.yaml:1: memory: '1K' is out of range (4M to 1T bytes), for example 512M");
	refuses("net: zzzzzz\n",
		"c.yaml:1: net: 'zzzzzz' is not known (valid: none, loopback), for "
		"example loopback");
	refuses("cold: maybe\n",
		"c.yaml:1: cold: 'maybe' is neither true nor false, for example true");
	refuses("daemon:\n  queue: -1\n",
		"c.yaml:2: queue: '-1' is not a whole number (0 to 4096), "
		"for example 256");
}

TEST(a_wrong_shape_is_refused)
{
	refuses("timeout: [1]\n", "c.yaml:1: timeout: must be one value, not a list");
	refuses("require: {a: 1}\n", "c.yaml:1: require: must be a list, not a map of keys");
	refuses("env: [[A]]\n", "c.yaml:1: must be text, not a list");
	refuses("env: {A: [1]}\n", "c.yaml:1: A: must be text, not a list");
	refuses("env: {'A=B': 1}\n", "c.yaml:1: A=B: the name has a '='");
	refuses("ro: [{from: a, two: b}]\n", "c.yaml:1: two: is unknown here (valid: from, to)");
	refuses("ro: [{to: /b}]\n", "c.yaml:1: 'from' is missing");
	refuses("daemon: 3\n", "c.yaml:1: daemon: must be a map of keys, not text");
	refuses("languages: [go]\n", "c.yaml:1: languages: must be a map of languages, not a list");
	refuses("- a\n", "c.yaml:1: must be a map of keys, not a list");
}

TEST(what_belongs_to_one_run_or_to_all_languages_stays_there)
{
	refuses("code: print(1)\n", "c.yaml:1: code: belongs to one run and cannot be set for all");
	refuses("languages: {go: {language: c}}\n",
		"c.yaml:1: language: cannot be set for one language");
	refuses("languages: {go: {state_dir: /x}}\n",
		"c.yaml:1: state_dir: cannot be set for one language");
}

TEST(what_does_not_fit_together_is_refused_when_it_is_read)
{
	struct config config;
	const char *text = "ro: [/srv/a:/mnt/x, /srv/b:/mnt/x]\n";
	config_init(&config);
	ASSERT_FAIL(config_read_text(&config, "c.yaml", text, strlen(text), CONFIG_USER, &err),
		ERR_INVALID);
	ASSERT_HAS(err.text, "c.yaml: --ro: '/mnt/x' is the target of two entries");
	config_done(&config);
}

static int load(const char *path)
{
	struct config config;
	err = (struct err){ 0 };
	config_init(&config);
	int r = config_load(&config, &(struct config_wish){ .file = path }, &err);
	config_done(&config);
	return r;
}

TEST(a_file_that_others_may_write_to_is_refused)
{
	set_up();
	static const mode_t bad[] = { 0664, 0646, 0622 };
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		write_file("c.yaml", "timeout: 3\n", bad[i]);
		ASSERT_FAIL(load("c.yaml"), ERR_INVALID);
		ASSERT_STR(err.text, "c.yaml: others may write to it; chmod go-w 'c.yaml'");
	}
	write_file("c.yaml", "timeout: 3\n", 0644);
	ASSERT_OK(load("c.yaml"));
}

TEST(a_file_of_another_user_is_refused)
{
	set_up();
	write_file("c.yaml", "timeout: 3\n", 0644);
	if (chown("c.yaml", 61234, 0) < 0)
		SKIP("only root gives files away");
	ASSERT_FAIL(load("c.yaml"), ERR_INVALID);
	ASSERT_HAS(err.text, "c.yaml: belongs to user 61234, neither to root nor to user 0");
}

TEST(a_chosen_file_must_be_there_and_the_null_device_says_nothing)
{
	set_up();
	ASSERT_FAIL(load("none.yaml"), ERR_SYSTEM);
	ASSERT_HAS(err.text, "open the settings file 'none.yaml'");
	ASSERT_FAIL(load("."), ERR_INVALID);
	ASSERT_OK(load("/dev/null"));
	ASSERT_FAIL(load("/dev/zero"), ERR_LIMIT);
}

TEST(the_user_s_file_is_found_and_need_not_be_there)
{
	set_up();
	struct config config;
	config_init(&config);
	ASSERT_EQ(unsetenv("HOTCELL_CONFIG") | setenv("XDG_CONFIG_HOME", root, 1), 0);
	ASSERT_OK(config_load(&config, &(struct config_wish){ 0 }, &err));
	ASSERT_EQ(mkdir("hotcell", 0755), 0);
	write_file("hotcell/config.yaml", "timeout: 3\n", 0644);
	ASSERT_OK(config_load(&config, &(struct config_wish){ 0 }, &err));
	const struct config_value *value = config_look_up(&config, NULL, "timeout");
	auto_free char *origin = config_origin(value);
	auto_free char *wanted = xasprintf("%s/hotcell/config.yaml:1", root);
	ASSERT_STR(origin, wanted);
	ASSERT_EQ(value->place, CONFIG_USER);
	config_done(&config);

	config_init(&config);
	ASSERT_OK(config_load(&config, &(struct config_wish){ .has_no_file = true }, &err));
	ASSERT(!config_look_up(&config, NULL, "timeout"));
	config_done(&config);

	write_file("hotcell/config.yaml", "timeout: [\n", 0644);
	ASSERT_FAIL(config_load(&config, &(struct config_wish){ 0 }, &err), ERR_INVALID);
	config_done(&config);
}
