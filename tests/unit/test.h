/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unit tests' harness. TEST(claim) registers itself; main() below runs each test in a process
 * of its own, so that a crash, a leak or a hang is one failed claim and nothing leaks into the
 * next. One test program includes this once. `PROGRAM WORD` runs the claims that contain WORD.
 */
#pragma once

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"

enum { TEST_SKIPPED = 77, TEST_SECONDS = 60 };

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

static struct test *test_first;
static struct test **test_end = &test_first;
static const char *test_name; /* of the claim this process runs */

#define TEST(claim)                                                                \
	static void test_##claim(void);                                            \
	__attribute__((constructor)) static void register_##claim(void)            \
	{                                                                          \
		static struct test test = { .name = #claim, .run = test_##claim }; \
		*test_end = &test;                                                 \
		test_end = &test.next;                                             \
	}                                                                          \
	static void test_##claim(void)

__attribute__((format(printf, 3, 4), noreturn, unused)) static void test_fail(
	const char *file, int line, const char *fmt, ...)
{
	va_list ap;
	printf("not ok %s: %s:%d: ", test_name, file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

__attribute__((noreturn, unused)) static void test_skip(const char *why)
{
	printf("skip %s: %s\n", test_name, why);
	fflush(stdout);
	_exit(TEST_SKIPPED);
}

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(why) test_skip(why)

#define ASSERT(condition)                       \
	do {                                    \
		if (!(condition))               \
			FAIL("%s", #condition); \
	} while (0)

#define ASSERT_EQ(have, want)                                                         \
	do {                                                                          \
		int64_t have_ = (int64_t)(have), want_ = (int64_t)(want);             \
		if (have_ != want_)                                                   \
			FAIL("%s is %" PRId64 ", not %" PRId64, #have, have_, want_); \
	} while (0)

#define ASSERT_STR(have, want)                                                                \
	do {                                                                                  \
		const char *have_ = (have), *want_ = (want);                                  \
		if (!have_ || strcmp(have_, want_) != 0)                                      \
			FAIL("%s is '%s', not '%s'", #have, have_ ? have_ : "(null)", want_); \
	} while (0)

/* That `part` stands somewhere in the text. */
#define ASSERT_HAS(have, part)                                                                    \
	do {                                                                                      \
		const char *have_ = (have), *part_ = (part);                                      \
		if (!have_ || !strstr(have_, part_))                                              \
			FAIL("%s is '%s', without '%s'", #have, have_ ? have_ : "(null)", part_); \
	} while (0)

/* For calls that take `&err`, a struct err in scope. */
#define ASSERT_OK(call)                                         \
	do {                                                    \
		if ((call) != 0)                                \
			FAIL("%s failed: %s", #call, err.text); \
	} while (0)

#define ASSERT_FAIL(call, want_code)                                                        \
	do {                                                                                \
		if ((call) != -1)                                                           \
			FAIL("%s did not fail", #call);                                     \
		if (err.code != (want_code))                                                \
			FAIL("%s failed with code %d: %s", #call, (int)err.code, err.text); \
	} while (0)

static int test_run_one(const struct test *test)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		test_name = test->name;
		(void)alarm(TEST_SECONDS);
		test->run();
		exit(0); /* not _exit(): leaks are looked for here */
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("not ok %s: cannot start a process\n", test->name);
		return 1;
	}
	if (WIFSIGNALED(status))
		printf("not ok %s: killed by signal %d\n", test->name, WTERMSIG(status));
	else if (WEXITSTATUS(status) == 0)
		printf("ok %s\n", test->name);
	else if (WEXITSTATUS(status) != 1 && WEXITSTATUS(status) != TEST_SKIPPED)
		printf("not ok %s: exit status %d\n", test->name, WEXITSTATUS(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	int passed = 0, failed = 0, skipped = 0;
	for (const struct test *test = test_first; test; test = test->next) {
		if (argc > 1 && !strstr(test->name, argv[1]))
			continue;
		int status = test_run_one(test);
		passed += status == 0;
		skipped += status == TEST_SKIPPED;
		failed += status != 0 && status != TEST_SKIPPED;
	}
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	if (failed > 0)
		return 1;
	return passed == 0 && skipped > 0 ? TEST_SKIPPED : 0;
}
