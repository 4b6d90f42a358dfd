/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>

TEST(err_set_fills_code_and_text_and_returns_minus_one)
{
	struct err err = { .sys = 7 };
	ASSERT_EQ(err_set(&err, ERR_LIMIT, "too many: %d", 5), -1);
	ASSERT_EQ(err.code, ERR_LIMIT);
	ASSERT_EQ(err.sys, 0);
	ASSERT_STR(err.text, "too many: 5");
}

TEST(err_sys_adds_the_kernels_words)
{
	struct err err = { 0 };
	ASSERT_EQ(err_sys(&err, ENOENT, "open '%s'", "x"), -1);
	ASSERT_EQ(err.code, ERR_SYSTEM);
	ASSERT_EQ(err.sys, ENOENT);
	ASSERT_STR(err.text, "open 'x': No such file or directory");
	ASSERT_EQ(err_sys(&err, ETOOMANYREFS, "send"), -1);
	ASSERT_HAS(err.text, "send: too many open files of this user");
}

TEST(err_wrap_puts_context_in_front_and_keeps_the_code)
{
	struct err err = { 0 };
	(void)err_sys(&err, EPERM, "mount /proc");
	ASSERT_EQ(err_wrap(&err, "raise cell %d", 3), -1);
	ASSERT_STR(err.text, "raise cell 3: mount /proc: Operation not permitted");
	ASSERT_EQ(err.sys, EPERM);
	ASSERT_EQ(err.code, ERR_SYSTEM);
}

TEST(err_text_is_cut_not_overrun)
{
	struct err err = { 0 };
	char longer[2000];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	(void)err_set(&err, ERR_INVALID, "%s", longer);
	ASSERT_EQ(strlen(err.text), sizeof(err.text) - 1);
	(void)err_sys(&err, EPERM, "%s", longer);
	ASSERT_EQ(strlen(err.text), sizeof(err.text) - 1);
	(void)err_wrap(&err, "%s", longer);
	ASSERT_EQ(strlen(err.text), sizeof(err.text) - 1);
	(void)err_wrap(&err, "front");
	ASSERT_EQ(strncmp(err.text, "front: xxx", 10), 0);
	ASSERT_EQ(strlen(err.text), sizeof(err.text) - 1);
}

static int tried(int result, int *ret_reached)
{
	TRY(result);
	*ret_reached = 1;
	return 0;
}

TEST(try_returns_on_failure_only)
{
	int reached = 0;
	ASSERT_EQ(tried(-1, &reached), -1);
	ASSERT_EQ(reached, 0);
	ASSERT_EQ(tried(3, &reached), 0);
	ASSERT_EQ(reached, 1);
}
