/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask, for what, and how much of it. A token is a secret that stands for a name; who shows
 * it is the tenant of that name, with the scopes and the limits that were given to it. Tokens are
 * kept in the state directory, in access/tokens.db (SQLite, mode 0600), by `hotcell token`; a
 * daemon reads there what has changed before it believes anybody.
 *
 * A token is hct_ and 64 hexadecimal digits: 256 bits of the kernel's. Only its SHA-256 is kept. A
 * slow hash is for secrets that people think of, to make each guess dear; 256 random bits cannot be
 * guessed, and what every request is checked with should cost little.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"

/* What a token lets its holder ask for. */
enum scope {
	SCOPE_NONE = 0, /* nothing is needed: for everybody */
	SCOPE_EXECUTE,
	SCOPE_SESSIONS,
	SCOPE_ADMIN,
	SCOPE_COUNT,
};

enum {
	SCOPES_ALL = (1 << SCOPE_COUNT) - 2,
	SCOPES_TEXT = 64, /* bytes of a list of them */
	TOKEN_NAME_BYTES = 32,
	TOKEN_DIGITS = 64,
	TOKEN_BYTES = 4 + TOKEN_DIGITS, /* "hct_" and the digits */
	TOKENS_MAX = 1000,              /* kept, those that were revoked included */
};

/* Those who need none, over a port of this machine, are one tenant; no token has its name. */
#define TENANT_ANONYMOUS "anonymous"

extern const char *const scope_names[SCOPE_COUNT];

/* "execute,sessions" as bits, 1 << SCOPE_…. */
int scopes_parse(const char *list, unsigned int *ret_scopes, struct err *err);
void scopes_format(unsigned int scopes, char text[SCOPES_TEXT]);

/* What a token may have at most. */
enum token_limit {
	TOKEN_CONCURRENCY = 0, /* executions that run or wait */
	TOKEN_RATE,            /* requests a minute */
	TOKEN_MEMORY,          /* bytes that a single execution may ask for */
	TOKEN_CPU,             /* seconds of CPU time a day, which begins at midnight UTC */
	TOKEN_SESSIONS,        /* sessions at once */
	TOKEN_LIMIT_COUNT,
};

struct token_limit_row {
	const char *name; /* of the option and in JSON */
	const char *metavar;
	const char *help;
	int64_t min, max;
};

extern const struct token_limit_row token_limit_rows[TOKEN_LIMIT_COUNT];

/* A limit as people write it; "none" is 0. */
int token_limit_parse(
	enum token_limit limit, const char *text, int64_t *ret_value, struct err *err);
void token_limit_format(enum token_limit limit, int64_t value, char *text, size_t size);

struct token {
	char name[TOKEN_NAME_BYTES + 1];
	char hash[SHA256_HEX + 1];
	unsigned int scopes;
	int64_t created, expires, revoked; /* seconds since 1970; 0: never, not */
	int64_t limits[TOKEN_LIMIT_COUNT]; /* 0: none */
	int64_t cpu_us;                    /* used today */
};

/* Letters, digits, '.', '_' and '-', up to 32 of them, a letter or digit first; the name of nobody
 * in particular is no name. */
bool token_is_name(const char *name);

/* A new secret, and what is kept of it. */
int token_make(char text[TOKEN_BYTES + 1], char hash[SHA256_HEX + 1], struct err *err);
void token_hash(const char *text, char hash[SHA256_HEX + 1]);

/* The token in the value of an Authorization header. False: there is none in it, or it has not the
 * form of one. */
bool token_read_header(const char *value, char text[TOKEN_BYTES + 1]);

/* ---- the ledger, for those who keep it ---------------------------------------------------------
 */

struct ledger;

enum { LEDGER_PATIENCE_MS = 5000 }; /* of one who may wait */

/* With `is_made` it is made where there is none, else *ret_ledger is NULL then. What is locked by
 * others is waited for so long. */
int ledger_open(bool is_made, int patience_ms, struct ledger **ret_ledger, struct err *err);
void ledger_close(struct ledger *ledger);

/* A name that was used once is not given again: what was done under it is known by it. */
int ledger_add(struct ledger *ledger, const struct token *token, struct err *err);

/* ERR_MISSING: there is no such token. */
int ledger_find(struct ledger *ledger, const char *name, struct token *ret_token, struct err *err);

/* Writes hash, scopes, expiry, revocation and limits of the token of that name. */
int ledger_change(struct ledger *ledger, const struct token *token, struct err *err);

/* All of them in the order in which they were made; *ret_tokens is the caller's. */
int ledger_list(
	struct ledger *ledger, struct token **ret_tokens, size_t *ret_count, struct err *err);

/* ---- the porter, for a daemon ------------------------------------------------------------------
 */

/* Knows who holds which token, and what they have used. */
struct porter;

/* Somebody with a token. It stays as long as the porter. */
struct holder {
	struct holder *next;
	struct token token;
	int64_t day;       /* that token.cpu_us belongs to */
	int64_t unpaid_us; /* of these: not in the ledger yet */
	size_t running;    /* executions that run or wait */
	double requests;   /* that it may make at once */
	int64_t filled_us; /* when that was reckoned */
	bool is_known;     /* it is in the ledger */
};

struct porter *porter_open(void);
void porter_close(struct porter *porter); /* what was used and is not written yet is written */

/* Before anything is asked of it: reads what has changed. -1: the ledger cannot be read at the
 * moment, and nobody can be told from anybody. */
int porter_refresh(struct porter *porter, struct err *err);

/* Whether there is or was a token, be it revoked: then nobody comes in over a network without. */
bool porter_has_tokens(const struct porter *porter);

/* Whether there is one that lets somebody in now. */
bool porter_has_valid(const struct porter *porter, int64_t now_s);

/* Who shows this token; NULL, and why it is worth nothing. */
struct holder *porter_find(
	const struct porter *porter, const char *text, int64_t now_s, const char **ret_why);

/* Why something is refused, for a while or for good. */
struct refusal {
	enum token_limit limit;
	int64_t retry_s; /* 0: waiting does not help */
	char text[200];
};

/* Each counts when it returns true. */
bool holder_ask(struct holder *holder, int64_t now_us, struct refusal *ret_refusal);
bool holder_begin(struct holder *holder, int64_t now_s, struct refusal *ret_refusal);

/* Whether an execution may ask for so much memory. */
bool holder_allows_memory(const struct holder *holder, int64_t bytes, struct refusal *ret_refusal);

/* An execution that began is over. */
void holder_end(struct porter *porter, struct holder *holder, int64_t cpu_us, int64_t now_s);

/* Microseconds of CPU time that are left today; INT64_MAX: no limit. */
int64_t holder_cpu_left(struct holder *holder, int64_t now_s);

/* When porter_tick() is wanted; INT64_MAX: not at all. */
int64_t porter_next_us(const struct porter *porter);

/* Writes down what was used. What could not be written stays, and is tried again. */
int porter_tick(struct porter *porter, int64_t now_us, struct err *err);
