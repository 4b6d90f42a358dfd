/* SPDX-License-Identifier: Apache-2.0 */
/* The servant is cat: it says what it hears. */
#include "unit/test.h"

#include <errno.h>
#include <sys/wait.h>

#include "relay/beside.h"

static char *const servant[] = { (char *)"/bin/cat", NULL };

/* What the program writes to stdout; its exit code is the result. */
static int run(char *const *serving, const char *script, char *said, size_t size)
{
	char *const program[] = { (char *)"/bin/sh", (char *)"-c", (char *)script, (char *)"name",
		NULL };
	int ends[2];
	int status = 0;
	size_t len = 0;
	ssize_t n = 0;
	ASSERT_EQ(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)close(ends[0]);
		(void)close(ends[1]);
		_exit(beside_execute(serving, program) == -ENOENT ? 99 : 98);
	}
	(void)close(ends[1]);
	while ((n = read(ends[0], said + len, size - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	(void)close(ends[0]);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(a_program_talks_to_its_servant)
{
	char said[256];
	ASSERT_EQ(run(servant, "echo word >&4; read -r line <&4; echo \"$line $#\"", said,
			  sizeof(said)),
		0);
	ASSERT_STR(said, "word 1\n");
}

TEST(the_servant_has_the_number_it_is_said_to_have_and_is_not_the_programs_child)
{
	char said[256];
	ASSERT_EQ(run(servant,
			  "read -r x name state parent rest </proc/$1/stat; "
			  "[ $x = $1 ] && [ $parent != $$ ] && kill -9 $1 && cat <&4 && echo gone",
			  said, sizeof(said)),
		0);
	ASSERT_STR(said, "gone\n");
}

TEST(the_servant_ends_with_the_line)
{
	char said[256];
	ASSERT_EQ(run(servant,
			  "exec 4>&-; n=0; while kill -0 $1 2>/dev/null && [ $n -lt 500 ]; do "
			  "sleep 0.01; n=$((n+1)); done; [ $n -lt 500 ] && echo ended",
			  said, sizeof(said)),
		0);
	ASSERT_STR(said, "ended\n");
}

TEST(a_servant_that_cannot_be_executed_has_hung_up)
{
	char *const nobody[] = { (char *)"/nowhere/servant", NULL };
	char said[256];
	ASSERT_EQ(run(nobody, "cat <&4; echo on", said, sizeof(said)), 0);
	ASSERT_STR(said, "on\n");
}

TEST(a_program_that_cannot_be_executed_is_told)
{
	char *const nothing[] = { (char *)"/nowhere/program", NULL };
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(beside_execute(servant, nothing) == -ENOENT ? 99 : 98);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(WEXITSTATUS(status), 99);
}
