/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>

#include "store/chain.h"

static struct buf line;
static struct link made;

static void forge(const char *body, uint64_t torn)
{
	struct link none;
	link_init(&none);
	buf_done(&line); /* of the one before */
	buf_init(&line, 4096);
	ASSERT_EQ(link_forge(&none, torn, body, &line), 0);
	ASSERT(line.data[line.len - 1] == '\n');
	ASSERT(link_parse(line.data, line.len - 1, &made));
}

TEST(what_is_forged_is_read_and_holds)
{
	forge("{\"id\":\"x\"}", 0);
	ASSERT_EQ(made.seq, 1);
	ASSERT_EQ(made.torn, 0);
	ASSERT(link_holds(line.data, &made));
	forge("{\"id\":\"x\"}", 77);
	ASSERT_EQ(made.torn, 77);
	ASSERT(link_holds(line.data, &made));
}

TEST(a_record_names_the_one_before_it)
{
	auto_buf struct buf next;
	struct link second;
	forge("{\"id\":\"x\"}", 0);
	buf_init(&next, 4096);
	ASSERT_EQ(link_forge(&made, 0, "{\"id\":\"y\"}", &next), 0);
	ASSERT(link_parse(next.data, next.len - 1, &second));
	ASSERT_EQ(second.seq, 2);
	ASSERT_STR(second.prev, made.hash);
}

TEST(no_byte_can_be_changed_unseen)
{
	forge("{\"id\":\"x\",\"uid\":0,\"status\":\"ok\"}", 3);
	for (size_t i = 0; i < line.len - 1; i++) {
		for (int bit = 0; bit < 8; bit++) {
			struct link link;
			line.data[i] = (char)(line.data[i] ^ 1 << bit);
			ASSERT(!link_parse(line.data, line.len - 1, &link) ||
				!link_holds(line.data, &link));
			line.data[i] = (char)(line.data[i] ^ 1 << bit);
		}
	}
	ASSERT(link_holds(line.data, &made));
}

TEST(no_part_of_a_record_is_one)
{
	struct link link;
	forge("{\"id\":\"x\"}", 0);
	for (size_t len = 0; len < line.len - 1; len++)
		ASSERT(!link_parse(line.data, len, &link));
}

TEST(what_has_not_our_form_is_no_record)
{
	static const char hash[] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	static const char *const heads[] = { "{\"seq\":0", "{\"seq\":01", "{\"seq\":-1",
		"{\"seq\":", "{\"seq\":1234567890123456", "{ \"seq\":1", "[\"seq\":1", "" };
	struct link link;
	for (size_t i = 0; i < COUNT_OF(heads); i++) {
		auto_free char *text = xasprintf(
			"%s,\"prev\":\"%s\",\"id\":1,\"hash\":\"%s\"}", heads[i], hash, hash);
		ASSERT(!link_parse(text, strlen(text), &link));
	}
	auto_free char *empty =
		xasprintf("{\"seq\":1,\"prev\":\"%s\",\"hash\":\"%s\"}", hash, hash);
	ASSERT(!link_parse(empty, strlen(empty), &link));
	auto_free char *torn = xasprintf(
		"{\"seq\":1,\"prev\":\"%s\",\"torn\":0,\"id\":1,\"hash\":\"%s\"}", hash, hash);
	ASSERT(!link_parse(torn, strlen(torn), &link));
	auto_free char *good =
		xasprintf("{\"seq\":1,\"prev\":\"%s\",\"id\":1,\"hash\":\"%s\"}", hash, hash);
	ASSERT(link_parse(good, strlen(good), &link));
}

TEST(a_body_that_does_not_fit_is_an_error)
{
	struct link none;
	auto_buf struct buf small;
	link_init(&none);
	buf_init(&small, 100);
	ASSERT_EQ(link_forge(&none, 0, "{\"id\":\"x\"}", &small), -ENOSPC);
}
