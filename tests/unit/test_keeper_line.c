/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/own.h"
#include "keeper/line.h"
#include "wire/json.h"

static int parse(const char *text, struct line_word *word)
{
	return line_parse(text, strlen(text), word);
}

TEST(a_word_of_each_kind_is_understood)
{
	static const struct {
		const char *text;
		enum line_kind kind;
		uint32_t number;
		size_t notes;
	} words[] = {
		{ "{\"ready\":true}", LINE_READY, 1, 0 },
		{ "{\"idle\":7}", LINE_IDLE, 7, 0 },
		{ "{\"forked\":8,\"notes\":[\"socket 5\",\"pipe 7\"]}", LINE_FORKED, 8, 2 },
		{ "{\"forked\":8}", LINE_FORKED, 8, 0 },
		{ "{\"refused\":9,\"why\":[\"thread w\"]}", LINE_REFUSED, 9, 1 },
		{ "{\"done\":4294967295}", LINE_DONE, UINT32_MAX, 0 },
	};
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		struct line_word word;
		ASSERT_EQ(parse(words[i].text, &word), 0);
		ASSERT_EQ(word.kind, words[i].kind);
		ASSERT_EQ(word.number, words[i].number);
		ASSERT_EQ(word.notes ? json_object_array_length(word.notes) : 0, words[i].notes);
		line_word_done(&word);
	}
}

TEST(what_is_no_word_is_refused)
{
	static const char *const texts[] = { "", "{}", "[]", "null", "{\"ready\":false}",
		"{\"idle\":0}", "{\"idle\":-1}", "{\"idle\":4294967296}", "{\"idle\":\"1\"}",
		"{\"idle\":1,\"more\":2}", "{\"idle\":1,\"forked\":1}",
		"{\"forked\":1,\"notes\":7}", "{\"forked\":1,\"notes\":[7]}",
		"{\"refused\":1,\"notes\":[]}", "{\"idle\":1}x", "{\"forked\":1,\"notes\":[[]]}",
		"{\"dance\":1}" };
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct line_word word;
		ASSERT_EQ(parse(texts[i], &word), -EBADMSG);
		ASSERT_EQ(word.kind, LINE_NONE);
	}
}

TEST(notes_are_bounded)
{
	struct line_word word;
	char text[LINE_TEXT_MAX];
	(void)snprintf(
		text, sizeof(text), "{\"forked\":1,\"notes\":[\"%0*d\"]}", LINE_NOTE_BYTES, 0);
	ASSERT_EQ(parse(text, &word), 0);
	line_word_done(&word);
	(void)snprintf(
		text, sizeof(text), "{\"forked\":1,\"notes\":[\"%0*d\"]}", LINE_NOTE_BYTES + 1, 0);
	ASSERT_EQ(parse(text, &word), -EBADMSG);
}

TEST(who_speaks_is_known_and_descriptors_are_not_taken)
{
	struct err err = { 0 };
	struct line_word word;
	auto_fd int ours = -1;
	auto_fd int theirs = -1;
	ASSERT_OK(line_make(&ours, &theirs, &err));
	ASSERT_EQ(line_receive(ours, &word), -EAGAIN);
	ASSERT_EQ(io_send(theirs, "{\"idle\":3}", 10, NULL, 0), 0);
	ASSERT_EQ(line_receive(ours, &word), 1);
	ASSERT_EQ(word.number, 3);
	ASSERT_EQ(word.pid, getpid());
	line_word_done(&word);
	ASSERT_EQ(io_send(theirs, "{\"idle\":3}", 10, &theirs, 1), 0);
	int before = dup(ours);
	(void)close(before);
	ASSERT_EQ(line_receive(ours, &word), -EBADMSG);
	int after = dup(ours); /* nothing was left open */
	(void)close(after);
	ASSERT_EQ(after, before);
	ASSERT_EQ(io_send(theirs, "nonsense", 8, NULL, 0), 0);
	ASSERT_EQ(line_receive(ours, &word), -EBADMSG);
	own_close(&theirs);
	ASSERT_EQ(line_receive(ours, &word), 0);
}
