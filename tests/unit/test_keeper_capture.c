/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "keeper/capture.h"
#include "wire/utf8.h"

enum { CAP = 1024 }; /* large enough for a head, a note and a tail */

static void done(struct captured *captured)
{
	free(captured->text);
	free(captured->spilled_to);
}

/* Captures `len` bytes given in pieces of `piece` bytes. */
static struct captured capture_of(const char *data, size_t len, size_t piece, size_t cap)
{
	struct err err = { 0 };
	struct capture capture;
	struct captured captured = { 0 };
	capture_init(&capture, cap);
	for (size_t at = 0; at < len; at += piece)
		capture_add(&capture, data + at, len - at < piece ? len - at : piece);
	ASSERT_OK(capture_finish(&capture, &captured, &err));
	capture_done(&capture);
	ASSERT_EQ(captured.total_bytes, len);
	ASSERT(captured.len <= cap);
	ASSERT_EQ(captured.is_truncated, len > cap);
	ASSERT_EQ(captured.text[captured.len], 0);
	return captured;
}

/* Takes "head \n[… N bytes cut …]\n tail" apart and compares each part with the source. */
static void check_cut(const char *data, size_t len, const struct captured *captured)
{
	static const char open_mark[] = "\n[… ";
	static const char close_mark[] = " bytes cut …]\n";
	const char *note = memmem(captured->text, captured->len, open_mark, strlen(open_mark));
	ASSERT(note);
	char *end = NULL;
	long long cut = strtoll(note + strlen(open_mark), &end, 10);
	ASSERT(strncmp(end, close_mark, strlen(close_mark)) == 0);
	const char *tail = end + strlen(close_mark);
	size_t head_len = (size_t)(note - captured->text);
	size_t tail_len = captured->len - (size_t)(tail - captured->text);
	ASSERT_EQ(cut, (long long)(len - head_len - tail_len));
	ASSERT(memcmp(captured->text, data, head_len) == 0);
	ASSERT(memcmp(tail, data + len - tail_len, tail_len) == 0);
	/* most of the cap is used, half for each end */
	ASSERT(head_len + 4 >= (CAP - 64) / 2 && tail_len + 3 >= (CAP - 64) / 2);
}

static char *numbers(size_t len)
{
	char *text = xcalloc(len + 16, 1);
	for (size_t at = 0, i = 0; at < len; i++)
		at += (size_t)snprintf(text + at, 16, "%zu ", i);
	return text;
}

TEST(output_up_to_the_cap_is_kept_exactly)
{
	static const size_t pieces[] = { 1, 7, CAP };
	auto_free char *text = numbers(CAP);
	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		for (size_t len = CAP - 3; len <= CAP; len++) {
			struct captured captured = capture_of(text, len, pieces[i], CAP);
			ASSERT_EQ(captured.len, len);
			ASSERT(memcmp(captured.text, text, len) == 0);
			done(&captured);
		}
	}
}

TEST(no_output_is_an_empty_text)
{
	struct captured captured = capture_of("", 0, 1, CAP);
	ASSERT_EQ(captured.len, 0);
	ASSERT_STR(captured.text, "");
	ASSERT(!captured.spilled_to);
	done(&captured);
}

TEST(output_above_the_cap_keeps_both_ends_and_counts_the_rest)
{
	static const size_t lengths[] = { CAP + 1, CAP + 2, 2 * CAP, 10 * CAP + 7, 100000 };
	static const size_t pieces[] = { 1, 13, 479, 480, 481, CAP, 65536 };
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		auto_free char *text = numbers(lengths[i]);
		for (size_t j = 0; j < COUNT_OF(pieces); j++) {
			struct captured captured = capture_of(text, lengths[i], pieces[j], CAP);
			check_cut(text, lengths[i], &captured);
			done(&captured);
		}
	}
}

TEST(a_cut_goes_through_no_character)
{
	static const char *const characters[] = { "é", "€", "😀" };
	for (size_t i = 0; i < COUNT_OF(characters); i++) {
		size_t size = strlen(characters[i]);
		/* every way the characters can lie over the two borders */
		for (size_t shift = 0; shift < size * 2; shift++) {
			char text[4 * CAP];
			size_t len = 0;
			for (; len < shift; len++)
				text[len] = 'a';
			for (; len < 3 * CAP; len += size)
				memcpy(text + len, characters[i], size);
			for (size_t end = 0; end < shift % size; end++)
				text[len++] = 'z';
			struct captured captured = capture_of(text, len, 100, CAP);
			check_cut(text, len, &captured);
			ASSERT(utf8_is_valid(captured.text, captured.len, NULL));
			done(&captured);
		}
	}
}

TEST(invalid_bytes_survive_and_lose_at_most_three_at_a_border)
{
	static const char bytes[] = { '\x80', '\xff', '\xc3', '\xf0', '\0' };
	for (size_t i = 0; i < sizeof(bytes); i++) {
		char text[3 * CAP];
		memset(text, bytes[i], sizeof(text));
		struct captured whole = capture_of(text, CAP, 9, CAP);
		ASSERT(memcmp(whole.text, text, CAP) == 0);
		struct captured captured = capture_of(text, sizeof(text), 9, CAP);
		check_cut(text, sizeof(text), &captured);
		done(&whole);
		done(&captured);
	}
}

TEST(a_cap_of_zero_keeps_nothing_but_the_count)
{
	struct captured captured = capture_of("hello", 5, 2, 0);
	ASSERT_EQ(captured.len, 0);
	ASSERT_STR(captured.text, "");
	done(&captured);
}

TEST(a_cap_too_small_for_a_note_keeps_the_beginning)
{
	auto_free char *text = numbers(2000);
	for (size_t cap = 1; cap <= 256; cap++) {
		struct captured captured = capture_of(text, 2000, 3, cap);
		ASSERT_EQ(captured.len, cap);
		ASSERT(memcmp(captured.text, text, cap) == 0);
		done(&captured);
	}
	for (size_t cap = 257; cap <= 300; cap++) {
		struct captured captured = capture_of(text, 2000, 3, cap);
		ASSERT_HAS(captured.text, " bytes cut ");
		done(&captured);
	}
}

TEST(a_tiny_cap_cuts_no_character_either)
{
	char text[64];
	for (size_t at = 0; at < sizeof(text); at += 4)
		memcpy(text + at, "😀", 4);
	for (size_t cap = 1; cap < 20; cap++) {
		struct captured captured = capture_of(text, sizeof(text), 5, cap);
		ASSERT(utf8_is_valid(captured.text, captured.len, NULL));
		ASSERT(captured.len + 4 >= cap);
		done(&captured);
	}
}

static size_t count_entries(const char *path)
{
	size_t count = 0;
	auto_dir DIR *dir = opendir(path);
	ASSERT(dir);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		count += entry->d_name[0] != '.';
	return count;
}

static void make_dir(char *path, struct capture *capture)
{
	struct err err = { 0 };
	ASSERT(mkdtemp(path));
	capture_init(capture, 16);
	if (capture_spill(capture, path, "stdout", &err) == 0)
		return;
	(void)rmdir(path);
	if (err.sys == EOPNOTSUPP)
		SKIP("this file system has no nameless files");
	FAIL("%s", err.text);
}

TEST(a_spill_keeps_every_byte_and_appears_at_the_end)
{
	struct err err = { 0 };
	struct capture capture;
	struct captured captured = { 0 };
	char path[] = "/tmp/hotcell-test-XXXXXX";
	char back[5000];
	make_dir(path, &capture);
	auto_free char *text = numbers(4000);
	for (size_t at = 0; at < 4000; at += 40)
		capture_add(&capture, text + at, 40);
	ASSERT_EQ(count_entries(path), 0);
	ASSERT_OK(capture_finish(&capture, &captured, &err));
	capture_done(&capture);
	auto_free char *want = xasprintf("%s/stdout", path);
	ASSERT_STR(captured.spilled_to, want);
	ASSERT_EQ(captured.len, 16);
	auto_fd int fd = open(want, O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(read(fd, back, sizeof(back)), 4000);
	ASSERT(memcmp(back, text, 4000) == 0);
	done(&captured);
	(void)unlink(want);
	ASSERT_EQ(rmdir(path), 0);
}

TEST(a_spill_that_is_not_finished_leaves_nothing)
{
	struct capture capture;
	char path[] = "/tmp/hotcell-test-XXXXXX";
	make_dir(path, &capture);
	capture_add(&capture, "hello", 5);
	capture_done(&capture);
	ASSERT_EQ(count_entries(path), 0);
	ASSERT_EQ(rmdir(path), 0);
}

TEST(a_spill_replaces_a_link_and_not_what_it_points_at)
{
	struct err err = { 0 };
	struct capture capture;
	struct captured captured = { 0 };
	struct stat st;
	char path[] = "/tmp/hotcell-test-XXXXXX";
	make_dir(path, &capture);
	auto_free char *old = xasprintf("%s/stdout", path);
	auto_free char *precious = xasprintf("%s/precious", path);
	ASSERT_EQ(symlink("precious", old), 0);
	int fd = open(precious, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	capture_add(&capture, "hello", 5);
	ASSERT_OK(capture_finish(&capture, &captured, &err));
	ASSERT_EQ(fstat(fd, &st), 0);
	ASSERT_EQ(st.st_size, 0);
	ASSERT_EQ(lstat(old, &st), 0);
	ASSERT(S_ISREG(st.st_mode) && st.st_size == 5);
	ASSERT_EQ(st.st_mode & 0077, 0);
	capture_done(&capture);
	done(&captured);
	(void)unlink(old);
	(void)unlink(precious);
	ASSERT_EQ(rmdir(path), 0);
}

TEST(a_spill_that_cannot_be_named_is_an_error_and_leaves_nothing)
{
	struct err err = { 0 };
	struct capture capture;
	struct captured captured = { 0 };
	char path[] = "/tmp/hotcell-test-XXXXXX";
	make_dir(path, &capture);
	auto_free char *old = xasprintf("%s/stdout", path);
	ASSERT_EQ(mkdir(old, 0700), 0);
	ASSERT_FAIL(capture_finish(&capture, &captured, &err), ERR_SYSTEM);
	ASSERT_HAS(err.text, "--spill");
	ASSERT(!captured.spilled_to && captured.text);
	capture_done(&capture);
	done(&captured);
	ASSERT_EQ(rmdir(old), 0);
	ASSERT_EQ(rmdir(path), 0);
}

TEST(a_missing_spill_directory_is_an_error_that_names_the_option)
{
	struct err err = { 0 };
	struct capture capture;
	capture_init(&capture, 16);
	ASSERT_FAIL(capture_spill(&capture, "/nonexistent/dir", "stdout", &err), ERR_SYSTEM);
	ASSERT_EQ(err.sys, ENOENT);
	ASSERT_HAS(err.text, "--spill");
	ASSERT_HAS(err.text, "/nonexistent/dir");
	ASSERT_FAIL(capture_spill(&capture, "/dev/null", "stdout", &err), ERR_SYSTEM);
	ASSERT_EQ(err.sys, ENOTDIR);
	capture_done(&capture);
}
