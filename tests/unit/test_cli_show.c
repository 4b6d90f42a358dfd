/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <sys/mman.h>

#include "base/buf.h"
#include "cli/show.h"

static struct show make_show(bool is_rich, enum term_depth depth)
{
	struct show show = { .max_rows = 20, .interrupt_fd = -1 };
	show.out = (struct term){ .is_rich = is_rich, .depth = depth, .columns = 80, .rows = 24 };
	show.err = show.out;
	show.out.fd = memfd_create("out", MFD_CLOEXEC);
	show.err.fd = memfd_create("err", MFD_CLOEXEC);
	return show;
}

/* Owned by the caller. */
static char *written(int fd)
{
	auto_buf struct buf text = { 0 };
	buf_init(&text, 1 << 20);
	ASSERT_EQ(lseek(fd, 0, SEEK_SET), 0);
	ASSERT_EQ(buf_read(&text, fd), 0);
	return xstrdup(buf_text(&text));
}

static void fail_with_context(struct result *result)
{
	result->status = STATUS_ERROR;
	(void)snprintf(result->error.kind, sizeof(result->error.kind), "runtime");
	failure_add_context(&result->error, xstrdup("  2 | y = 0"));
	failure_add_context(&result->error, xstrdup("> 3 | print(x / y)"));
	failure_add_context(&result->error, xstrdup("    |       ^"));
	result->hint = xstrdup("y is 0 here; check it before dividing, or divide by something "
			       "that cannot be zero");
	result->error.documentation = xstrdup("https://docs.python.org/3/library/exceptions.html");
}

TEST(a_failure_shows_its_line_and_the_hint_wrapped)
{
	struct result result;
	struct show show = make_show(true, DEPTH_NONE);
	result_init(&result);
	fail_with_context(&result);
	show_words(&show, &result);
	auto_free char *text = written(show.err.fd);
	ASSERT_STR(text,
		"\n"
		"  2 | y = 0\n"
		"> 3 | print(x / y)\n"
		"    |       ^\n"
		"hint: y is 0 here; check it before dividing, or divide by something that cannot\n"
		"      be zero\n"
		"docs: https://docs.python.org/3/library/exceptions.html\n");
	result_done(&result);
}

TEST(the_marked_line_and_the_caret_stand_out)
{
	struct result result;
	struct show show = make_show(true, DEPTH_16);
	result_init(&result);
	fail_with_context(&result);
	show_words(&show, &result);
	auto_free char *text = written(show.err.fd);
	ASSERT_HAS(text, "\033[1;31m> 3 |\033[0m print");
	ASSERT_HAS(text, "\033[1;31m       ^\033[0m\n");
	ASSERT_HAS(text, "\033[4;34mhttps://docs.python.org/3/library/exceptions.html\033[0m");
	result_done(&result);
}

TEST(where_nobody_looks_there_are_only_our_own_words)
{
	struct result result;
	struct show show = make_show(false, DEPTH_NONE);
	result_init(&result);
	fail_with_context(&result);
	(void)result_add_output(&result, true, xstrdup("{\"text/plain\":\"42\"}"), xstrdup("{}"));
	result_warn(&result, "careful");
	show_values(&show, &result);
	show_words(&show, &result);
	auto_free char *out = written(show.out.fd);
	auto_free char *text = written(show.err.fd);
	ASSERT_STR(out, "");
	ASSERT_STR(text, "hotcell: careful\n");
	result_done(&result);
}

TEST(a_denial_the_hint_speaks_of_is_not_told_twice)
{
	struct result result;
	struct denial denial = { .layer = "network",
		.operation = "socket",
		.target = "AF_INET stream",
		.option = "--net loopback" };
	for (int i = 0; i < 2; i++) {
		struct show show = make_show(true, DEPTH_NONE);
		result_init(&result);
		result.status = STATUS_ERROR;
		result_add_denial(&result, &denial);
		result.hint = i ? xstrdup("there is no network; --net loopback gives one") : NULL;
		show_words(&show, &result);
		auto_free char *text = written(show.err.fd);
		if (i == 0)
			ASSERT_STR(text, "hotcell: stopped by network: socket AF_INET stream; "
					 "to allow it: --net loopback\n");
		else
			ASSERT_STR(text, "hint: there is no network; --net loopback gives one\n");
		result_done(&result);
	}
}

TEST(words_from_the_cell_cannot_command_the_terminal)
{
	struct result result;
	struct show show = make_show(true, DEPTH_NONE);
	result_init(&result);
	result.status = STATUS_TIMEOUT;
	failure_add_context(&result.error, xstrdup("> 1 | a\033[2Jb\r"));
	failure_add_context(&result.error, xstrdup("no bar \033]0;t\007"));
	result.error.message = xstrdup("timed out\033[2J");
	result.hint = xstrdup("do \033[2J \xc2\x9b that");
	result_warn(&result, "w\033[2J");
	show_words(&show, &result);
	auto_free char *text = written(show.err.fd);
	ASSERT(!strpbrk(text, "\033\r\007"));
	ASSERT(!strstr(text, "\xc2\x9b"));
	result_done(&result);
}
