/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of tokens: one SQLite file with a log beside it, so that those who read never wait for
 * one who writes. What others did to the file, or the disk, is an error of the moment in plain
 * words: the next call finds it as it is then.
 */
#include "access/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "base/place.h"
#include "base/state.h"

#define LEDGER_DIR "access"
#define LEDGER_FILE "tokens.db"

enum { DAY_SECONDS = 86400, LEDGER_FORM = 1 };

struct ledger {
	sqlite3 *db; /* owned */
	char *path;  /* owned */
	struct stat st;
	sqlite3_stmt *version, *spend; /* owned; or NULL: not needed yet */
};

static const char *const ledger_place[] = { LEDGER_DIR, NULL };

static const char form[] =
	"CREATE TABLE IF NOT EXISTS tokens ("
	" id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE,"
	" scopes INTEGER NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL,"
	" revoked INTEGER NOT NULL, concurrency INTEGER NOT NULL, rate INTEGER NOT NULL,"
	" memory INTEGER NOT NULL, cpu INTEGER NOT NULL, sessions INTEGER NOT NULL) STRICT;"
	"CREATE TABLE IF NOT EXISTS spending ("
	" name TEXT NOT NULL, day INTEGER NOT NULL, cpu_us INTEGER NOT NULL,"
	" PRIMARY KEY (name, day)) STRICT, WITHOUT ROWID;"
	"CREATE TRIGGER IF NOT EXISTS forget AFTER INSERT ON spending BEGIN"
	" DELETE FROM spending WHERE day < new.day - 31; END;";

int64_t ledger_today(void)
{
	return time(NULL) / DAY_SECONDS;
}

/* ---- errors ------------------------------------------------------------------------------------
 */

static int refuse(struct ledger *ledger, const char *what, struct err *err)
{
	int code = sqlite3_errcode(ledger->db) & 0xff;
	int sys = sqlite3_system_errno(ledger->db);
	switch (code) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(err, ERR_BUSY,
			"%s: another program has '%s' locked; try again when it is done", what,
			ledger->path);
	case SQLITE_FULL:
		return err_set(err, ERR_SYSTEM, "%s: the disk of '%s' is full; make room", what,
			ledger->path);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(err, ERR_BROKEN,
			"%s: '%s' is damaged; bring it back from a copy, or remove it and make "
			"tokens anew",
			what, ledger->path);
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
		return err_set(err, ERR_SYSTEM,
			"%s: '%s' or its directory cannot be written; look at their owner, their "
			"mode and the room on the disk",
			what, ledger->path);
	case SQLITE_IOERR:
		return err_set(err, ERR_SYSTEM, "%s: '%s': %s", what, ledger->path,
			sys ? strerror(sys) : "cannot be read or written");
	default:
		return err_set(err, ERR_BROKEN, "%s: '%s': %s", what, ledger->path,
			sqlite3_errmsg(ledger->db));
	}
}

/* ---- statements --------------------------------------------------------------------------------
 */

static void finalize(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}

#define auto_statement __attribute__((cleanup(finalize)))

static int prepare(struct ledger *ledger, const char *text, sqlite3_stmt **ret_statement)
{
	return sqlite3_prepare_v2(ledger->db, text, -1, ret_statement, NULL) == SQLITE_OK ? 0 : -1;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	(void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static void column_text(sqlite3_stmt *statement, int at, char *text, size_t size)
{
	const unsigned char *found = sqlite3_column_text(statement, at);
	(void)snprintf(text, size, "%s", found ? (const char *)found : "");
}

static int execute(struct ledger *ledger, const char *what, const char *text, struct err *err)
{
	if (sqlite3_exec(ledger->db, text, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return refuse(ledger, what, err);
}

/* ---- opening -----------------------------------------------------------------------------------
 */

/* A file of ours alone, before SQLite sees it: it would follow links and make what is missing for
 * everybody to read. Its companions get its mode. */
static int open_file(bool is_made, struct ledger *ledger, bool *ret_is_there, struct err *err)
{
	auto_fd int dir_fd = -1;
	auto_fd int fd = -1;
	auto_free char *state = NULL;
	*ret_is_there = false;
	TRY(place_state_dir(&state, err));
	ledger->path = xasprintf("%s/" LEDGER_DIR "/" LEDGER_FILE, state);
	TRY(state_open(ledger_place, is_made, &dir_fd, err));
	if (dir_fd < 0)
		return 0;
	int r = state_open_file(
		dir_fd, LEDGER_FILE, O_RDWR | (is_made ? O_CREAT : 0), &fd, &ledger->st);
	if (r == -ENOENT && !is_made)
		return 0;
	if (r == -EPERM)
		return err_set(err, ERR_INVALID,
			"'%s' is a link or belongs to someone else; remove it, or set "
			"HOTCELL_STATE_DIR",
			ledger->path);
	if (r < 0)
		return err_sys(err, -r, "open '%s'", ledger->path);
	if ((ledger->st.st_mode & 077) != 0 && fchmod(fd, 0600) < 0)
		return err_sys(err, errno, "close '%s' to others", ledger->path);
	*ret_is_there = true;
	return 0;
}

static int check_form(struct ledger *ledger, struct err *err)
{
	auto_statement sqlite3_stmt *statement = NULL;
	if (prepare(ledger, "PRAGMA user_version", &statement) < 0 ||
		sqlite3_step(statement) != SQLITE_ROW)
		return refuse(ledger, "read the tokens", err);
	int found = sqlite3_column_int(statement, 0);
	if (found > LEDGER_FORM)
		return err_set(err, ERR_INVALID,
			"'%s' was written by a later version of hotcell; use that one",
			ledger->path);
	return found;
}

static int set_up(struct ledger *ledger, int patience_ms, struct err *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
		    SQLITE_OPEN_EXRESCODE;
	auto_free char *whole = realpath(ledger->path, NULL);
	if (!whole)
		return err_sys(err, errno, "open '%s'", ledger->path);
	if (sqlite3_open_v2(whole, &ledger->db, flags, NULL) != SQLITE_OK)
		return refuse(ledger, "open the tokens", err);
	(void)sqlite3_busy_timeout(ledger->db, patience_ms);
	int found = check_form(ledger, err);
	if (found < 0)
		return -1;
	TRY(execute(ledger, "open the tokens",
		"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
		"PRAGMA trusted_schema = OFF;",
		err));
	if (found == LEDGER_FORM)
		return 0;
	auto_free char *text = xasprintf(
		"BEGIN IMMEDIATE; %s PRAGMA user_version = %d; COMMIT", form, LEDGER_FORM);
	return execute(ledger, "make the ledger of tokens", text, err);
}

int ledger_open(bool is_made, int patience_ms, struct ledger **ret_ledger, struct err *err)
{
	struct ledger *ledger = xcalloc(1, sizeof(*ledger));
	bool is_there = false;
	int r = open_file(is_made, ledger, &is_there, err);
	if (r == 0 && is_there)
		r = set_up(ledger, patience_ms, err);
	if (r == 0 && is_there) {
		*ret_ledger = ledger;
		return 0;
	}
	ledger_close(ledger);
	*ret_ledger = NULL;
	return r;
}

void ledger_close(struct ledger *ledger)
{
	if (!ledger)
		return;
	(void)sqlite3_finalize(ledger->version);
	(void)sqlite3_finalize(ledger->spend);
	(void)sqlite3_close(ledger->db);
	free(ledger->path);
	free(ledger);
}

void ledger_set_patience(struct ledger *ledger, int ms)
{
	(void)sqlite3_busy_timeout(ledger->db, ms);
}

void ledger_stat(const struct ledger *ledger, struct stat *ret_st)
{
	*ret_st = ledger->st;
}

int ledger_look(struct stat *ret_st)
{
	struct err err = { 0 };
	auto_free char *state = NULL;
	if (place_state_dir(&state, &err) < 0)
		return -ENOENT;
	auto_free char *path = xasprintf("%s/" LEDGER_DIR "/" LEDGER_FILE, state);
	return lstat(path, ret_st) < 0 ? -errno : 0;
}

/* ---- tokens ------------------------------------------------------------------------------------
 */

#define COLUMNS "hash, scopes, expires, revoked, concurrency, rate, memory, cpu, sessions"

/* From the second parameter on: the columns above. */
static void bind_token(sqlite3_stmt *statement, const struct token *token)
{
	bind_text(statement, 1, token->name);
	bind_text(statement, 2, token->hash);
	(void)sqlite3_bind_int64(statement, 3, token->scopes);
	(void)sqlite3_bind_int64(statement, 4, token->expires);
	(void)sqlite3_bind_int64(statement, 5, token->revoked);
	for (int i = 0; i < TOKEN_LIMIT_COUNT; i++)
		(void)sqlite3_bind_int64(statement, 6 + i, token->limits[i]);
}

static void read_token(sqlite3_stmt *statement, struct token *token)
{
	*token = (struct token){ 0 };
	column_text(statement, 0, token->name, sizeof(token->name));
	column_text(statement, 1, token->hash, sizeof(token->hash));
	token->scopes = (unsigned int)sqlite3_column_int64(statement, 2);
	token->expires = sqlite3_column_int64(statement, 3);
	token->revoked = sqlite3_column_int64(statement, 4);
	for (int i = 0; i < TOKEN_LIMIT_COUNT; i++)
		token->limits[i] = sqlite3_column_int64(statement, 5 + i);
	token->created = sqlite3_column_int64(statement, 5 + TOKEN_LIMIT_COUNT);
	token->cpu_us = sqlite3_column_int64(statement, 6 + TOKEN_LIMIT_COUNT);
}

int ledger_list(
	struct ledger *ledger, struct token **ret_tokens, size_t *ret_count, struct err *err)
{
	auto_statement sqlite3_stmt *statement = NULL;
	auto_free struct token *tokens = xcalloc(TOKENS_MAX, sizeof(*tokens));
	size_t count = 0;
	int r = SQLITE_ERROR;
	if (prepare(ledger,
		    "SELECT tokens.name, " COLUMNS ", created, ifnull(cpu_us, 0) FROM tokens"
		    " LEFT JOIN spending ON spending.name = tokens.name AND day = ?1"
		    " ORDER BY id LIMIT ?2",
		    &statement) < 0)
		return refuse(ledger, "read the tokens", err);
	(void)sqlite3_bind_int64(statement, 1, ledger_today());
	(void)sqlite3_bind_int64(statement, 2, TOKENS_MAX);
	while ((r = sqlite3_step(statement)) == SQLITE_ROW && count < TOKENS_MAX)
		read_token(statement, &tokens[count++]);
	if (r != SQLITE_DONE && r != SQLITE_ROW)
		return refuse(ledger, "read the tokens", err);
	*ret_tokens = take_ptr(&tokens);
	*ret_count = count;
	return 0;
}

int ledger_find(struct ledger *ledger, const char *name, struct token *ret_token, struct err *err)
{
	auto_free struct token *tokens = NULL;
	size_t count = 0;
	TRY(ledger_list(ledger, &tokens, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (strcmp(tokens[i].name, name) != 0)
			continue;
		*ret_token = tokens[i];
		return 0;
	}
	return err_set(err, ERR_MISSING,
		"there is no token '%.60s'; hotcell token list shows those there are", name);
}

static int check_new(struct ledger *ledger, const char *name, struct err *err)
{
	auto_free struct token *tokens = NULL;
	size_t count = 0;
	TRY(ledger_list(ledger, &tokens, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (strcmp(tokens[i].name, name) != 0)
			continue;
		return err_set(err, ERR_INVALID,
			tokens[i].revoked
				? "the token '%s' was revoked, and what it ran is known by that "
				  "name: hotcell token rotate %s brings it back with a new secret, "
				  "or take another name"
				: "there is a token '%s' already; hotcell token rotate %s gives it "
				  "a new secret",
			name, name);
	}
	if (count >= TOKENS_MAX)
		return err_set(
			err, ERR_LIMIT, "there are %d tokens, and no more are kept", TOKENS_MAX);
	return 0;
}

int ledger_add(struct ledger *ledger, const struct token *token, struct err *err)
{
	auto_statement sqlite3_stmt *statement = NULL;
	TRY(check_new(ledger, token->name, err));
	if (prepare(ledger,
		    "INSERT INTO tokens (name, " COLUMNS ", created)"
		    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
		    &statement) < 0)
		return refuse(ledger, "keep the token", err);
	bind_token(statement, token);
	(void)sqlite3_bind_int64(statement, 11, token->created);
	if (sqlite3_step(statement) != SQLITE_DONE)
		return refuse(ledger, "keep the token", err);
	return 0;
}

int ledger_change(struct ledger *ledger, const struct token *token, struct err *err)
{
	auto_statement sqlite3_stmt *statement = NULL;
	if (prepare(ledger,
		    "UPDATE tokens SET (" COLUMNS ") = (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
		    " WHERE name = ?1",
		    &statement) < 0)
		return refuse(ledger, "change the token", err);
	bind_token(statement, token);
	if (sqlite3_step(statement) != SQLITE_DONE)
		return refuse(ledger, "change the token", err);
	if (sqlite3_changes(ledger->db) == 0)
		return err_set(err, ERR_MISSING, "there is no token '%s'", token->name);
	return 0;
}

/* ---- for the porter ----------------------------------------------------------------------------
 */

int ledger_version(struct ledger *ledger, int64_t *ret_version, struct err *err)
{
	if (!ledger->version && prepare(ledger, "PRAGMA data_version", &ledger->version) < 0)
		return refuse(ledger, "read the tokens", err);
	int r = sqlite3_step(ledger->version);
	*ret_version = r == SQLITE_ROW ? sqlite3_column_int64(ledger->version, 0) : 0;
	if (sqlite3_reset(ledger->version) != SQLITE_OK || r != SQLITE_ROW)
		return refuse(ledger, "read the tokens", err);
	return 0;
}

int ledger_spend(
	struct ledger *ledger, const char *name, int64_t day, int64_t cpu_us, struct err *err)
{
	if (!ledger->spend &&
		prepare(ledger,
			"INSERT INTO spending (name, day, cpu_us) VALUES (?1, ?2, ?3)"
			" ON CONFLICT (name, day) DO UPDATE SET cpu_us = cpu_us + excluded.cpu_us",
			&ledger->spend) < 0)
		return refuse(ledger, "count what a token used", err);
	bind_text(ledger->spend, 1, name);
	(void)sqlite3_bind_int64(ledger->spend, 2, day);
	(void)sqlite3_bind_int64(ledger->spend, 3, cpu_us);
	int r = sqlite3_step(ledger->spend);
	if (sqlite3_reset(ledger->spend) != SQLITE_OK || r != SQLITE_DONE)
		return refuse(ledger, "count what a token used", err);
	return 0;
}
