/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/state.h"

#include <sqlite3.h>

#include "access/book.h"

#define FILE_PATH "state/access/tokens.db"

static struct token named(const char *name)
{
	struct token token = { .scopes = 1U << SCOPE_EXECUTE, .created = 7 };
	(void)snprintf(token.name, sizeof(token.name), "%s", name);
	token_hash(name, token.hash);
	return token;
}

static struct book *open_new(void)
{
	struct book *book = NULL;
	state_set_up();
	ASSERT_OK(book_open(true, 0, &book, &err));
	ASSERT(book);
	return book;
}

TEST(nothing_is_made_by_looking)
{
	struct book *book = NULL;
	state_set_up();
	ASSERT_OK(book_open(false, 0, &book, &err));
	ASSERT(!book);
	ASSERT(access("state", F_OK) < 0);
}

TEST(what_is_kept_is_found_again_by_the_next_who_opens_it)
{
	struct book *book = open_new();
	struct token token = named("ci");
	struct token found;
	token.expires = 99;
	token.limits[TOKEN_RATE] = 60;
	token.limits[TOKEN_MEMORY] = INT64_MAX;
	ASSERT_OK(book_add(book, &token, &err));
	book_close(book);
	ASSERT_OK(book_open(false, 0, &book, &err));
	ASSERT(book);
	ASSERT_OK(book_find(book, "ci", &found, &err));
	ASSERT_STR(found.hash, token.hash);
	ASSERT_EQ(found.scopes, token.scopes);
	ASSERT_EQ(found.created, 7);
	ASSERT_EQ(found.expires, 99);
	ASSERT_EQ(found.limits[TOKEN_RATE], 60);
	ASSERT_EQ(found.limits[TOKEN_MEMORY], INT64_MAX);
	ASSERT_EQ(found.limits[TOKEN_CPU], 0);
	ASSERT_FAIL(book_find(book, "c", &found, &err), ERR_MISSING);
	book_close(book);
}

TEST(the_book_and_its_companions_are_ours_alone)
{
	struct stat st;
	(void)umask(0);
	struct book *book = open_new();
	struct token token = named("ci");
	ASSERT_OK(book_add(book, &token, &err));
	static const char *const files[] = { FILE_PATH, FILE_PATH "-wal", FILE_PATH "-shm" };
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		ASSERT_EQ(stat(files[i], &st), 0);
		ASSERT_EQ(st.st_mode & 0777, 0600);
	}
	ASSERT_EQ(stat("state/access", &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0700);
	book_close(book);
	ASSERT_EQ(chmod(FILE_PATH, 0644), 0);
	ASSERT_OK(book_open(false, 0, &book, &err));
	ASSERT_EQ(stat(FILE_PATH, &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0600);
	book_close(book);
}

TEST(a_name_is_given_once_also_after_it_was_revoked)
{
	struct book *book = open_new();
	struct token token = named("ci");
	ASSERT_OK(book_add(book, &token, &err));
	ASSERT_FAIL(book_add(book, &token, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "already");
	token.revoked = 8;
	ASSERT_OK(book_change(book, &token, &err));
	ASSERT_FAIL(book_add(book, &token, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "rotate ci");
	token = named("nobody");
	ASSERT_FAIL(book_change(book, &token, &err), ERR_MISSING);
	book_close(book);
}

TEST(what_was_used_adds_up_by_day)
{
	struct book *book = open_new();
	struct token token = named("ci");
	struct token found;
	ASSERT_OK(book_add(book, &token, &err));
	ASSERT_OK(book_spend(book, "ci", book_today(), 1500, &err));
	ASSERT_OK(book_spend(book, "ci", book_today(), 500, &err));
	ASSERT_OK(book_spend(book, "ci", book_today() - 1, 9000, &err));
	ASSERT_OK(book_find(book, "ci", &found, &err));
	ASSERT_EQ(found.cpu_us, 2000);
	ASSERT_OK(book_spend(book, "other", book_today() + 31, 1, &err)); /* forgets the past */
	ASSERT_OK(book_find(book, "ci", &found, &err));
	ASSERT_EQ(found.cpu_us, 2000);
	ASSERT_OK(book_spend(book, "other", book_today() + 32, 1, &err));
	ASSERT_OK(book_find(book, "ci", &found, &err));
	ASSERT_EQ(found.cpu_us, 0);
	book_close(book);
}

TEST(links_and_files_of_others_are_not_opened)
{
	struct book *book = NULL;
	state_set_up();
	ASSERT_EQ(mkdir("state", 0700), 0);
	ASSERT_EQ(mkdir("state/access", 0700), 0);
	ASSERT_EQ(symlink("/etc/passwd", FILE_PATH), 0);
	ASSERT_FAIL(book_open(true, 0, &book, &err), ERR_SYSTEM);
	ASSERT_EQ(unlink(FILE_PATH), 0);
	ASSERT_EQ(chmod("state/access", 0777), 0);
	ASSERT_FAIL(book_open(true, 0, &book, &err), ERR_INVALID);
}

TEST(a_damaged_book_is_said_to_be)
{
	struct book *book = NULL;
	state_set_up();
	ASSERT_EQ(mkdir("state", 0700), 0);
	ASSERT_EQ(mkdir("state/access", 0700), 0);
	char text[5000];
	memset(text, 'x', sizeof(text));
	state_write(FILE_PATH, text, sizeof(text));
	ASSERT_FAIL(book_open(false, 0, &book, &err), ERR_BROKEN);
	ASSERT_HAS(err.text, "damaged");
	ASSERT_HAS(err.text, FILE_PATH);
}

TEST(a_locked_book_is_read_and_not_written_until_it_is_let_go)
{
	sqlite3 *other = NULL;
	struct token found;
	struct book *book = open_new();
	struct token token = named("ci");
	ASSERT_OK(book_add(book, &token, &err));
	book_set_patience(book, 0);
	ASSERT_EQ(sqlite3_open(FILE_PATH, &other), SQLITE_OK);
	ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	ASSERT_OK(book_find(book, "ci", &found, &err));
	ASSERT_FAIL(book_spend(book, "ci", 1, 1, &err), ERR_BUSY);
	ASSERT_HAS(err.text, "locked");
	ASSERT_EQ(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	ASSERT_OK(book_spend(book, "ci", 1, 1, &err));
	ASSERT_EQ(sqlite3_close(other), SQLITE_OK);
	book_close(book);
}
