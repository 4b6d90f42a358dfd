/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/state.h"

#include <sqlite3.h>

#include "access/ledger.h"
#include "base/clock.h"

enum { DAY = 86400, MINUTE_US = 60000000 };

static struct ledger *ledger; /* as `hotcell token` has it, beside the porter */
static struct porter *porter;
static const char *why;

static struct token make(const char *name)
{
	struct token token = { .scopes = 1U << SCOPE_EXECUTE, .created = 7 };
	(void)snprintf(token.name, sizeof(token.name), "%s", name);
	token_hash(name, token.hash); /* the name is the secret */
	return token;
}

static void add(const struct token *token)
{
	ASSERT_OK(ledger_add(ledger, token, &err));
	ASSERT_OK(porter_refresh(porter, &err));
}

static void set_up(void)
{
	state_set_up();
	ASSERT_OK(ledger_open(true, 0, &ledger, &err));
	porter = porter_open();
}

static void tear_down(void)
{
	porter_close(porter);
	ledger_close(ledger);
}

TEST(without_a_ledger_there_are_no_tokens_and_one_that_comes_is_seen)
{
	state_set_up();
	porter = porter_open();
	ASSERT_OK(porter_refresh(porter, &err));
	ASSERT(!porter_has_tokens(porter));
	ASSERT_OK(ledger_open(true, 0, &ledger, &err));
	struct token token = make("ci");
	add(&token);
	ASSERT(porter_has_tokens(porter));
	ASSERT(porter_find(porter, "ci", 1, &why));
	ASSERT(!porter_find(porter, "c", 1, &why));
	ASSERT_HAS(why, "no such");
	tear_down();
}

TEST(a_token_is_worth_nothing_once_it_is_revoked_and_something_when_it_is_rotated)
{
	set_up();
	struct token token = make("ci");
	add(&token);
	ASSERT(porter_has_valid(porter, 1));
	token.revoked = 1;
	ASSERT_OK(ledger_change(ledger, &token, &err));
	ASSERT_OK(porter_refresh(porter, &err));
	ASSERT(!porter_find(porter, "ci", 1, &why));
	ASSERT_HAS(why, "revoked");
	ASSERT(!porter_has_valid(porter, 1));
	ASSERT(porter_has_tokens(porter)); /* the door that was shut stays shut */
	token.revoked = 0;
	token_hash("new secret", token.hash);
	ASSERT_OK(ledger_change(ledger, &token, &err));
	ASSERT_OK(porter_refresh(porter, &err));
	ASSERT(!porter_find(porter, "ci", 1, &why));
	ASSERT(porter_find(porter, "new secret", 1, &why));
	tear_down();
}

TEST(a_token_ends_when_it_expires)
{
	set_up();
	struct token token = make("ci");
	token.expires = 100;
	add(&token);
	ASSERT(porter_find(porter, "ci", 99, &why));
	ASSERT(!porter_find(porter, "ci", 100, &why));
	ASSERT_HAS(why, "expired");
	ASSERT(!porter_has_valid(porter, 100));
	tear_down();
}

TEST(another_ledger_in_its_place_is_seen)
{
	set_up();
	struct token token = make("ci");
	add(&token);
	ledger_close(ledger);
	ASSERT_EQ(rename("state/access", "state/before"), 0);
	ASSERT_OK(porter_refresh(porter, &err));
	ASSERT(!porter_has_valid(porter, 1));
	ASSERT(porter_has_tokens(porter)); /* what was shut stays shut */
	ASSERT_OK(ledger_open(true, 0, &ledger, &err));
	struct token other = make("other");
	add(&other);
	ASSERT(!porter_find(porter, "ci", 1, &why));
	ASSERT(porter_find(porter, "other", 1, &why));
	tear_down();
}

TEST(so_many_requests_a_minute_and_then_as_time_goes_on)
{
	set_up();
	struct refusal refusal;
	struct token token = make("ci");
	token.limits[TOKEN_RATE] = 6;
	add(&token);
	struct holder *holder = porter_find(porter, "ci", 1, &why);
	for (int i = 0; i < 6; i++)
		ASSERT(holder_ask(holder, 1000, &refusal));
	ASSERT(!holder_ask(holder, 1000, &refusal));
	ASSERT_EQ(refusal.limit, TOKEN_RATE);
	ASSERT(refusal.retry_s == 10 || refusal.retry_s == 11);
	ASSERT(holder_ask(holder, 1000 + MINUTE_US / 6 + 10, &refusal));
	ASSERT(!holder_ask(holder, 1000 + MINUTE_US / 6 + 20, &refusal));
	for (int i = 0; i < 6; i++) /* quiet for an hour: no more than a minute's */
		ASSERT(holder_ask(holder, (int64_t)61 * MINUTE_US, &refusal));
	ASSERT(!holder_ask(holder, (int64_t)61 * MINUTE_US, &refusal));
	tear_down();
}

TEST(so_many_at_once_and_again_when_one_has_ended)
{
	set_up();
	struct refusal refusal;
	struct token token = make("ci");
	token.limits[TOKEN_CONCURRENCY] = 2;
	add(&token);
	struct holder *holder = porter_find(porter, "ci", 1, &why);
	ASSERT(holder_begin(holder, 1, &refusal));
	ASSERT(holder_begin(holder, 1, &refusal));
	ASSERT(!holder_begin(holder, 1, &refusal));
	ASSERT_EQ(refusal.limit, TOKEN_CONCURRENCY);
	ASSERT(refusal.retry_s > 0);
	holder_end(porter, holder, 0, 1);
	ASSERT(holder_begin(holder, 1, &refusal));
	tear_down();
}

TEST(so_much_memory_at_most)
{
	set_up();
	struct refusal refusal;
	struct token token = make("ci");
	token.limits[TOKEN_MEMORY] = 64 << 20;
	add(&token);
	const struct holder *holder = porter_find(porter, "ci", 1, &why);
	ASSERT(holder_allows_memory(holder, 64 << 20, &refusal));
	ASSERT(!holder_allows_memory(holder, (64 << 20) + 1, &refusal));
	ASSERT_EQ(refusal.limit, TOKEN_MEMORY);
	ASSERT_EQ(refusal.retry_s, 0);
	ASSERT_HAS(refusal.text, "64M");
	tear_down();
}

TEST(cpu_time_is_counted_until_midnight_and_outlives_the_daemon)
{
	set_up();
	struct refusal refusal;
	struct token token = make("ci");
	int64_t now = ledger_today() * DAY + 100;
	token.limits[TOKEN_CPU] = 2;
	add(&token);
	struct holder *holder = porter_find(porter, "ci", now, &why);
	ASSERT(holder_begin(holder, now, &refusal));
	ASSERT_EQ(holder_cpu_left(holder, now), 2000000);
	holder_end(porter, holder, 1500000, now);
	ASSERT_EQ(holder_cpu_left(holder, now), 500000);
	porter_close(porter); /* and the next daemon */
	porter = porter_open();
	ASSERT_OK(porter_refresh(porter, &err));
	holder = porter_find(porter, "ci", now, &why);
	ASSERT_EQ(holder_cpu_left(holder, now), 500000);
	ASSERT(holder_begin(holder, now, &refusal));
	holder_end(porter, holder, 700000, now);
	ASSERT(!holder_begin(holder, now, &refusal));
	ASSERT_EQ(refusal.limit, TOKEN_CPU);
	ASSERT_EQ(refusal.retry_s, DAY - 100);
	/* what is not written yet counts when the ledger is read again */
	token.limits[TOKEN_CPU] = 3;
	ASSERT_OK(ledger_change(ledger, &token, &err));
	ASSERT_OK(porter_refresh(porter, &err));
	ASSERT_EQ(holder_cpu_left(holder, now), 800000);
	ASSERT_OK(porter_tick(porter, INT64_MAX - 1, &err));
	ASSERT_EQ(porter_next_us(porter), INT64_MAX);
	ASSERT_EQ(holder_cpu_left(holder, now + DAY), 3000000);
	tear_down();
}

TEST(what_was_used_while_the_ledger_was_locked_is_written_later)
{
	set_up();
	sqlite3 *other = NULL;
	struct refusal refusal;
	struct token token = make("ci");
	struct token found;
	add(&token);
	int64_t now = ledger_today() * DAY;
	struct holder *holder = porter_find(porter, "ci", now, &why);
	ASSERT(holder_begin(holder, now, &refusal));
	ASSERT_EQ(sqlite3_open("state/access/tokens.db", &other), SQLITE_OK);
	ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	holder_end(porter, holder, 1234, now);
	ASSERT(porter_next_us(porter) < INT64_MAX);
	ASSERT_FAIL(porter_tick(porter, INT64_MAX - 1, &err), ERR_BUSY);
	ASSERT_OK(porter_refresh(porter, &err)); /* nobody is held up */
	ASSERT(porter_next_us(porter) < INT64_MAX);
	ASSERT_EQ(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	ASSERT_OK(porter_tick(porter, INT64_MAX - 1, &err));
	ASSERT_OK(ledger_find(ledger, "ci", &found, &err));
	ASSERT_EQ(found.cpu_us, 1234);
	ASSERT_EQ(sqlite3_close(other), SQLITE_OK);
	tear_down();
}

TEST(a_ledger_that_nobody_can_read_lets_nobody_in_and_comes_back_by_itself)
{
	set_up();
	sqlite3 *other = NULL;
	struct token token = make("ci");
	add(&token);
	ledger_close(ledger);
	porter_close(porter);
	porter = porter_open();
	ledger = NULL;
	/* one who has it all to himself */
	ASSERT_EQ(sqlite3_open("state/access/tokens.db", &other), SQLITE_OK);
	ASSERT_EQ(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL,
			  NULL, NULL),
		SQLITE_OK);
	for (int i = 0; i < 3; i++)
		ASSERT_FAIL(porter_refresh(porter, &err), ERR_BUSY);
	ASSERT_EQ(sqlite3_close(other), SQLITE_OK);
	ASSERT_OK(porter_refresh(porter, &err));
	ASSERT(porter_find(porter, "ci", 1, &why));
	tear_down();
}

TEST(a_state_directory_that_cannot_be_looked_at_is_not_an_empty_one)
{
	state_set_up();
	porter = porter_open();
	state_write("state", "", 0); /* a file in its place */
	for (int i = 0; i < 2; i++)
		ASSERT_FAIL(porter_refresh(porter, &err), ERR_INVALID);
	ASSERT_EQ(unlink("state"), 0);
	ASSERT_OK(porter_refresh(porter, &err));
	ASSERT(!porter_has_tokens(porter));
	porter_close(porter);
}
