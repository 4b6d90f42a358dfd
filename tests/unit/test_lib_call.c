/* SPDX-License-Identifier: Apache-2.0 */
/* What every call of the library promises, whatever it is asked for: it comes back, says why it
 * could not in one sentence, writes nothing to anybody's terminal, and leaves signals as they
 * were. */
#include <fcntl.h>
#include <hotcell.h>
#include <signal.h>
#include <sys/stat.h>

#include "test.h"

/* Nobody serves here, and nobody is to be started. */
static void be_alone(void)
{
	(void)setenv("HOTCELL_SOCKET", "/nowhere/hotcell.sock", true);
	(void)setenv("HOTCELL_ON_DEMAND", "0", true);
	(void)setenv("HOTCELL_AUDIT", "off", true);
	(void)setenv("HOTCELL_CONFIG", "/dev/null", true);
}

static struct hotcell_spec *spec_with(const char *name, const char *value)
{
	struct hotcell_error error;
	struct hotcell_spec *spec = hotcell_spec_new();
	ASSERT_EQ(hotcell_spec_set(spec, name, value, &error), 0);
	return spec;
}

static void fail_to_set(void)
{
	struct hotcell_error error = { 0 };
	struct hotcell_spec *spec = hotcell_spec_new();
	ASSERT_EQ(hotcell_spec_set(spec, "tmeout", "1", &error), -1);
	ASSERT_HAS(error.text, "timeout");
	ASSERT_EQ(hotcell_spec_set(spec, "timeout", "soon", &error), -1);
	ASSERT_EQ((int)error.code, (int)HOTCELL_ERROR_INVALID);
	ASSERT_EQ(hotcell_spec_set_json(spec, "{\"timeout\":", &error), -1);
	hotcell_spec_free(spec);
}

static void fail_to_run(void)
{
	struct hotcell_error error = { 0 };
	struct hotcell_result *result = NULL;
	struct hotcell_spec *spec = hotcell_spec_new();
	ASSERT_EQ(hotcell_run(spec, &result, &error), -1);
	ASSERT_EQ((int)hotcell_result_status(result), (int)HOTCELL_STATUS_SETUP_ERROR);
	ASSERT_EQ(hotcell_result_exit_code(result), 125);
	ASSERT_STR(hotcell_result_message(result), error.text);
	hotcell_result_free(result);
	hotcell_spec_free(spec);
}

/* In a language that there is not, and in a session that there is not. */
static void fail_to_find(void)
{
	struct hotcell_error error = { 0 };
	struct hotcell_result *result = NULL;
	struct hotcell_session *session = NULL;
	char *text = NULL;
	struct hotcell_spec *spec = spec_with("language", "klingon");
	ASSERT_EQ(hotcell_spec_set(spec, "code", "1", &error), 0);
	ASSERT_EQ(hotcell_run(spec, &result, NULL), -1); /* nobody need listen */
	ASSERT_HAS(hotcell_result_json(result), "\"setup_error\"");
	hotcell_result_free(result);
	ASSERT_EQ(hotcell_analyze(spec, &text, &error), -1);
	ASSERT_EQ(hotcell_run_python_code("1", -1, &text, &error), -1);
	ASSERT_EQ(hotcell_session_open("none", &session, &error), -1);
	ASSERT_EQ((int)error.code, (int)HOTCELL_ERROR_MISSING);
	ASSERT_EQ(hotcell_session_new(spec, "a b", &session, &error), -1);
	ASSERT(error.text[0] && !strchr(error.text, '\n'));
	hotcell_spec_free(spec);
}

/* Everything that can fail, made to. */
static void fail_at_everything(void)
{
	fail_to_set();
	fail_to_run();
	fail_to_find();
}

TEST(nothing_is_printed_whatever_fails)
{
	struct stat st;
	be_alone();
	auto_fd int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	auto_fd int out = dup(STDOUT_FILENO);
	auto_fd int err = dup(STDERR_FILENO);
	ASSERT(fd >= 0 && out >= 0 && err >= 0);
	ASSERT(dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	fail_at_everything();
	(void)fflush(NULL);
	ASSERT_EQ(fstat(fd, &st), 0);
	ASSERT(dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0);
	ASSERT_EQ(st.st_size, 0);
}

TEST(no_failure_ends_the_process)
{
	int status = 0;
	be_alone();
	pid_t child = fork();
	if (child == 0) {
		fail_at_everything();
		_exit(42);
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT(WIFEXITED(status));
	ASSERT_EQ(WEXITSTATUS(status), 42);
}

TEST(signals_are_left_as_they_were)
{
	sigset_t before, after;
	struct hotcell_error error;
	be_alone();
	(void)pthread_sigmask(SIG_BLOCK, NULL, &before);
	ASSERT_EQ(hotcell_init(&error), 0);
	fail_at_everything();
	(void)pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (int number = 1; number < SIGRTMAX; number++)
		ASSERT_EQ(sigismember(&before, number), sigismember(&after, number));
}

TEST(settings_that_are_wrong_are_an_error_and_no_end)
{
	struct hotcell_error error = { 0 };
	be_alone();
	(void)setenv("HOTCELL_TIMEOUT", "soon", true);
	ASSERT_EQ(hotcell_init(&error), -1);
	ASSERT_HAS(error.text, "HOTCELL_TIMEOUT: 'soon'");
	(void)unsetenv("HOTCELL_TIMEOUT");
	ASSERT_EQ(hotcell_init(&error), 0);
	ASSERT_EQ((int)error.code, (int)HOTCELL_ERROR_NONE);
}

TEST(nothing_to_free_is_fine)
{
	hotcell_spec_free(NULL);
	hotcell_result_free(NULL);
	hotcell_session_close(NULL);
	hotcell_text_free(NULL);
	ASSERT_HAS(hotcell_version(), ".");
}
