/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "wire/json.h"
#include "wire/log.h"

static const struct log_field fields[] = {
	{ .name = "status", .number = 200 },
	{ .name = "ms", .number = 12345, .places = 3 },
	{ .name = "tenant", .text = "a b" },
};

TEST(log_text_is_one_line_with_its_fields)
{
	char line[LOG_LINE_MAX];
	log_name("hotcell");
	log_set(LOG_TEXT, LEVEL_INFO);
	(void)log_compose(line, LEVEL_INFO, "request\nforged", fields, COUNT_OF(fields));
	ASSERT_STR(line, "hotcell: request^Jforged status=200 ms=12.345 tenant=\"a b\"\n");
}

TEST(log_json_is_an_object_whatever_the_words_are)
{
	char line[LOG_LINE_MAX];
	char words[LOG_LINE_MAX * 2];
	struct err err = { 0 };
	log_set(LOG_JSON, LEVEL_INFO);
	for (int byte = 1; byte < 256; byte++) {
		auto_json struct json_object *json = NULL;
		memset(words, byte, sizeof(words) - 1);
		words[sizeof(words) - 1] = '\0';
		const struct log_field field = { .name = "path", .text = words };
		size_t len = log_compose(line, LEVEL_WARNING, words, &field, 1);
		ASSERT_EQ(line[len - 1], '\n');
		ASSERT(memchr(line, '\n', len) == line + len - 1);
		ASSERT_OK(json_read(line, len, LOG_LINE_MAX, 4, &json, &err));
		ASSERT_STR(
			json_object_get_string(json_object_object_get(json, "level")), "warning");
	}
	log_set(LOG_TEXT, LEVEL_INFO);
}

TEST(log_says_what_its_level_allows_and_no_more)
{
	log_set(LOG_TEXT, LEVEL_WARNING);
	ASSERT(log_wants(LEVEL_ERROR));
	ASSERT(log_wants(LEVEL_WARNING));
	ASSERT(!log_wants(LEVEL_INFO));
	log_set(LOG_TEXT, LEVEL_NONE);
	ASSERT(!log_wants(LEVEL_ERROR));
	log_set(LOG_TEXT, LEVEL_INFO);
}

TEST(log_names_are_read_back)
{
	for (int i = 0; i < LOG_LEVEL_COUNT; i++)
		ASSERT_EQ(log_level_of(log_level_names[i]), i);
	for (int i = 0; i < LOG_FORMAT_COUNT; i++)
		ASSERT_EQ(log_format_of(log_format_names[i]), i);
	ASSERT_EQ(log_level_of("loud"), LOG_LEVEL_COUNT);
	ASSERT_EQ(log_format_of("xml"), LOG_FORMAT_COUNT);
}

/* The reader of the log may stand still; the daemon must not. */
TEST(log_never_waits_for_its_reader_and_owns_to_what_was_lost)
{
	int ends[2];
	char heard[LOG_LINE_MAX * 64];
	int before = dup(STDERR_FILENO);
	ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
	ASSERT(dup2(ends[1], STDERR_FILENO) >= 0);
	for (int i = 0; i < 10000; i++)
		log_say(LEVEL_INFO, "line %d of many, none of which anybody reads", i);
	ssize_t n = read(ends[0], heard, sizeof(heard));
	ASSERT(n > 0);
	log_say(LEVEL_INFO, "the last one");
	n = read(ends[0], heard, sizeof(heard) - 1);
	(void)dup2(before, STDERR_FILENO);
	(void)close(before);
	(void)close(ends[0]);
	(void)close(ends[1]);
	ASSERT(n > 0);
	heard[n] = '\0';
	ASSERT(strstr(heard, "lines of this log were lost lines=") != NULL);
	ASSERT(strstr(heard, "the last one") != NULL);
}
