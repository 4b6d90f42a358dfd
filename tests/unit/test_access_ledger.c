/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/state.h"

#include <sqlite3.h>

#include "access/ledger.h"

#define FILE_PATH "state/access/tokens.db"

static struct token named(const char *name)
{
	struct token token = { .scopes = 1U << SCOPE_EXECUTE, .created = 7 };
	(void)snprintf(token.name, sizeof(token.name), "%s", name);
	token_hash(name, token.hash);
	return token;
}

static struct ledger *open_new(void)
{
	struct ledger *ledger = NULL;
	state_set_up();
	ASSERT_OK(ledger_open(true, 0, &ledger, &err));
	ASSERT(ledger);
	return ledger;
}

TEST(nothing_is_made_by_looking)
{
	struct ledger *ledger = NULL;
	state_set_up();
	ASSERT_OK(ledger_open(false, 0, &ledger, &err));
	ASSERT(!ledger);
	ASSERT(access("state", F_OK) < 0);
}

TEST(what_is_kept_is_found_again_by_the_next_who_opens_it)
{
	struct ledger *ledger = open_new();
	struct token token = named("ci");
	struct token found;
	token.expires = 99;
	token.limits[TOKEN_RATE] = 60;
	token.limits[TOKEN_MEMORY] = INT64_MAX;
	token.limits[TOKEN_SESSIONS] = 5;
	ASSERT_OK(ledger_add(ledger, &token, &err));
	ledger_close(ledger);
	ASSERT_OK(ledger_open(false, 0, &ledger, &err));
	ASSERT(ledger);
	ASSERT_OK(ledger_find(ledger, "ci", &found, &err));
	ASSERT_STR(found.hash, token.hash);
	ASSERT_EQ(found.scopes, token.scopes);
	ASSERT_EQ(found.created, 7);
	ASSERT_EQ(found.expires, 99);
	ASSERT_EQ(found.limits[TOKEN_RATE], 60);
	ASSERT_EQ(found.limits[TOKEN_MEMORY], INT64_MAX);
	ASSERT_EQ(found.limits[TOKEN_CPU], 0);
	ASSERT_EQ(found.limits[TOKEN_SESSIONS], 5);
	ASSERT_FAIL(ledger_find(ledger, "c", &found, &err), ERR_MISSING);
	ledger_close(ledger);
}

TEST(the_ledger_and_its_companions_are_ours_alone)
{
	struct stat st;
	(void)umask(0);
	struct ledger *ledger = open_new();
	struct token token = named("ci");
	ASSERT_OK(ledger_add(ledger, &token, &err));
	static const char *const files[] = { FILE_PATH, FILE_PATH "-wal", FILE_PATH "-shm" };
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		ASSERT_EQ(stat(files[i], &st), 0);
		ASSERT_EQ(st.st_mode & 0777, 0600);
	}
	ASSERT_EQ(stat("state/access", &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0700);
	ledger_close(ledger);
	ASSERT_EQ(chmod(FILE_PATH, 0644), 0);
	ASSERT_OK(ledger_open(false, 0, &ledger, &err));
	ASSERT_EQ(stat(FILE_PATH, &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0600);
	ledger_close(ledger);
}

TEST(a_name_is_given_once_also_after_it_was_revoked)
{
	struct ledger *ledger = open_new();
	struct token token = named("ci");
	ASSERT_OK(ledger_add(ledger, &token, &err));
	ASSERT_FAIL(ledger_add(ledger, &token, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "already");
	token.revoked = 8;
	ASSERT_OK(ledger_change(ledger, &token, &err));
	ASSERT_FAIL(ledger_add(ledger, &token, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "rotate ci");
	token = named("nobody");
	ASSERT_FAIL(ledger_change(ledger, &token, &err), ERR_MISSING);
	ledger_close(ledger);
}

TEST(what_was_used_adds_up_by_day)
{
	struct ledger *ledger = open_new();
	struct token token = named("ci");
	struct token found;
	ASSERT_OK(ledger_add(ledger, &token, &err));
	ASSERT_OK(ledger_spend(ledger, "ci", ledger_today(), 1500, &err));
	ASSERT_OK(ledger_spend(ledger, "ci", ledger_today(), 500, &err));
	ASSERT_OK(ledger_spend(ledger, "ci", ledger_today() - 1, 9000, &err));
	ASSERT_OK(ledger_find(ledger, "ci", &found, &err));
	ASSERT_EQ(found.cpu_us, 2000);
	ASSERT_OK(
		ledger_spend(ledger, "other", ledger_today() + 31, 1, &err)); /* forgets the past */
	ASSERT_OK(ledger_find(ledger, "ci", &found, &err));
	ASSERT_EQ(found.cpu_us, 2000);
	ASSERT_OK(ledger_spend(ledger, "other", ledger_today() + 32, 1, &err));
	ASSERT_OK(ledger_find(ledger, "ci", &found, &err));
	ASSERT_EQ(found.cpu_us, 0);
	ledger_close(ledger);
}

TEST(links_and_files_of_others_are_not_opened)
{
	struct ledger *ledger = NULL;
	state_set_up();
	ASSERT_EQ(mkdir("state", 0700), 0);
	ASSERT_EQ(mkdir("state/access", 0700), 0);
	ASSERT_EQ(symlink("/etc/passwd", FILE_PATH), 0);
	ASSERT_FAIL(ledger_open(true, 0, &ledger, &err), ERR_SYSTEM);
	ASSERT_EQ(unlink(FILE_PATH), 0);
	ASSERT_EQ(chmod("state/access", 0777), 0);
	ASSERT_FAIL(ledger_open(true, 0, &ledger, &err), ERR_INVALID);
}

TEST(a_damaged_ledger_is_said_to_be)
{
	struct ledger *ledger = NULL;
	state_set_up();
	ASSERT_EQ(mkdir("state", 0700), 0);
	ASSERT_EQ(mkdir("state/access", 0700), 0);
	char text[5000];
	memset(text, 'x', sizeof(text));
	state_write(FILE_PATH, text, sizeof(text));
	ASSERT_FAIL(ledger_open(false, 0, &ledger, &err), ERR_BROKEN);
	ASSERT_HAS(err.text, "damaged");
	ASSERT_HAS(err.text, FILE_PATH);
}

TEST(a_locked_ledger_is_read_and_not_written_until_it_is_let_go)
{
	sqlite3 *other = NULL;
	struct token found;
	struct ledger *ledger = open_new();
	struct token token = named("ci");
	ASSERT_OK(ledger_add(ledger, &token, &err));
	ledger_set_patience(ledger, 0);
	ASSERT_EQ(sqlite3_open(FILE_PATH, &other), SQLITE_OK);
	ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	ASSERT_OK(ledger_find(ledger, "ci", &found, &err));
	ASSERT_FAIL(ledger_spend(ledger, "ci", 1, 1, &err), ERR_BUSY);
	ASSERT_HAS(err.text, "locked");
	ASSERT_EQ(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	ASSERT_OK(ledger_spend(ledger, "ci", 1, 1, &err));
	ASSERT_EQ(sqlite3_close(other), SQLITE_OK);
	ledger_close(ledger);
}
