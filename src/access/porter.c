/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is let in, in a daemon. Tokens are held in memory and read anew when somebody has written to
 * the ledger, which is looked at before each request: a token that was revoked is worth nothing at
 * once. What is used counts at once too, and is written down a little later: a ledger that is
 * locked or a disk that is full holds nobody up, and loses nothing as long as the daemon lives.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "access/ledger.h"
#include "base/clock.h"
#include "base/own.h"
#include "model/units.h"

enum {
	PATIENCE_MS = 20,         /* the loop stands still for no longer */
	WRITE_US = 500000,        /* what was used is written so much later */
	WRITE_AGAIN_US = 2000000, /* and again, when that did not work */
	DAY_SECONDS = 86400,
	MINUTE_US = 60000000,
};

struct porter {
	struct ledger *ledger; /* owned; NULL: there is none */
	int64_t version;
	struct holder *holders; /* owned */
	bool is_stuck;          /* somebody has the ledger locked: it is not waited for again */
	int64_t write_us;       /* when what was used is written; INT64_MAX: there is nothing */
};

struct porter *porter_open(void)
{
	struct porter *porter = xcalloc(1, sizeof(*porter));
	porter->write_us = INT64_MAX;
	return porter;
}

void porter_close(struct porter *porter)
{
	struct err err = { 0 };
	if (!porter)
		return;
	(void)porter_tick(porter, INT64_MAX, &err);
	while (porter->holders) {
		struct holder *holder = porter->holders;
		porter->holders = holder->next;
		free(holder);
	}
	ledger_close(porter->ledger);
	free(porter);
}

/* ---- what the ledger says ----------------------------------------------------------------------
 */

static struct holder *find_name(const struct porter *porter, const char *name)
{
	struct holder *holder = porter->holders;
	while (holder && strcmp(holder->token.name, name) != 0)
		holder = holder->next;
	return holder;
}

static void take_token(struct porter *porter, const struct token *token, int64_t day)
{
	struct holder *holder = find_name(porter, token->name);
	if (!holder) {
		holder = xcalloc(1, sizeof(*holder));
		holder->next = porter->holders;
		holder->requests = -1;
		porter->holders = holder;
	}
	holder->token = *token;
	holder->token.cpu_us += holder->unpaid_us;
	holder->day = day;
	holder->is_known = true;
}

static int read_tokens(struct porter *porter, struct err *err)
{
	auto_free struct token *tokens = NULL;
	size_t count = 0;
	int64_t day = ledger_today();
	TRY(ledger_list(porter->ledger, &tokens, &count, err));
	for (struct holder *holder = porter->holders; holder; holder = holder->next)
		holder->is_known = false;
	for (size_t i = 0; i < count; i++)
		take_token(porter, &tokens[i], day);
	return 0;
}

/* The file that is there may be another one than we opened. What cannot be looked at is not taken
 * for nothing: opening it says what is in the way. */
static bool is_other(const struct porter *porter)
{
	struct stat now;
	struct stat opened;
	int r = ledger_look(&now);
	if (r < 0)
		return r != -ENOENT || porter->ledger;
	if (!porter->ledger)
		return true;
	ledger_stat(porter->ledger, &opened);
	return now.st_dev != opened.st_dev || now.st_ino != opened.st_ino;
}

static int open_ledger(struct porter *porter, struct err *err)
{
	ledger_close(take_ptr(&porter->ledger));
	porter->version = -1;
	for (struct holder *holder = porter->holders; holder; holder = holder->next)
		holder->is_known = false;
	return ledger_open(false, porter->is_stuck ? 0 : PATIENCE_MS, &porter->ledger, err);
}

static int refresh(struct porter *porter, struct err *err)
{
	int64_t version = 0;
	if (is_other(porter))
		TRY(open_ledger(porter, err));
	if (!porter->ledger)
		return 0;
	TRY(ledger_version(porter->ledger, &version, err));
	if (version == porter->version)
		return 0;
	TRY(read_tokens(porter, err));
	porter->version = version;
	return 0;
}

int porter_refresh(struct porter *porter, struct err *err)
{
	int r = refresh(porter, err);
	bool is_stuck = r < 0 && err->code == ERR_BUSY;
	if (is_stuck != porter->is_stuck && porter->ledger)
		ledger_set_patience(porter->ledger, is_stuck ? 0 : PATIENCE_MS);
	porter->is_stuck = is_stuck;
	return r;
}

/* ---- who asks ----------------------------------------------------------------------------------
 */

/* One that was there once stays: a door that was shut does not open because a disk is gone. */
bool porter_has_tokens(const struct porter *porter)
{
	return porter->holders != NULL;
}

static const char *why_invalid(const struct holder *holder, int64_t now_s)
{
	const struct token *token = &holder->token;
	if (!holder->is_known || token->revoked)
		return "the token was revoked";
	if (token->expires && now_s >= token->expires)
		return "the token has expired";
	return NULL;
}

bool porter_has_valid(const struct porter *porter, int64_t now_s)
{
	for (const struct holder *holder = porter->holders; holder; holder = holder->next)
		if (!why_invalid(holder, now_s))
			return true;
	return false;
}

/* Takes as long wherever they differ. */
static bool is_same(const char *a, const char *b)
{
	unsigned char difference = 0;
	for (size_t i = 0; i < SHA256_HEX; i++)
		difference |= (unsigned char)a[i] ^ (unsigned char)b[i];
	return difference == 0;
}

struct holder *porter_find(
	const struct porter *porter, const char *text, int64_t now_s, const char **ret_why)
{
	char hash[SHA256_HEX + 1];
	struct holder *found = NULL;
	token_hash(text, hash);
	for (struct holder *holder = porter->holders; holder; holder = holder->next)
		if (is_same(hash, holder->token.hash))
			found = holder;
	*ret_why = found ? why_invalid(found, now_s) : "there is no such token";
	return *ret_why ? NULL : found;
}

/* ---- how much ----------------------------------------------------------------------------------
 */

__attribute__((format(printf, 4, 5))) static bool refuse(
	struct refusal *refusal, enum token_limit limit, int64_t retry_s, const char *fmt, ...)
{
	va_list ap;
	*refusal = (struct refusal){ .limit = limit, .retry_s = retry_s };
	va_start(ap, fmt);
	(void)vsnprintf(refusal->text, sizeof(refusal->text), fmt, ap);
	va_end(ap);
	return false;
}

/* So many a minute, as evenly as they please: who has been quiet for a minute may make all of them
 * at once. */
bool holder_ask(struct holder *holder, int64_t now_us, struct refusal *ret_refusal)
{
	int64_t rate = holder->token.limits[TOKEN_RATE];
	if (rate == 0)
		return true;
	if (holder->requests < 0)
		holder->requests = (double)rate;
	else
		holder->requests += (double)(now_us - holder->filled_us) * (double)rate / MINUTE_US;
	if (holder->requests > (double)rate)
		holder->requests = (double)rate;
	holder->filled_us = now_us;
	if (holder->requests < 1) {
		double wait_s = (1 - holder->requests) * 60 / (double)rate;
		return refuse(ret_refusal, TOKEN_RATE, (int64_t)wait_s + 1,
			"the token '%s' may make %" PRId64 " requests a minute", holder->token.name,
			rate);
	}
	holder->requests -= 1;
	return true;
}

static void begin_day(struct holder *holder, int64_t now_s)
{
	if (holder->day == now_s / DAY_SECONDS)
		return;
	holder->day = now_s / DAY_SECONDS;
	holder->token.cpu_us = holder->unpaid_us;
}

int64_t holder_cpu_left(struct holder *holder, int64_t now_s)
{
	int64_t most_us = holder->token.limits[TOKEN_CPU] * 1000000;
	begin_day(holder, now_s);
	if (most_us == 0)
		return INT64_MAX;
	return holder->token.cpu_us < most_us ? most_us - holder->token.cpu_us : 0;
}

bool holder_begin(struct holder *holder, int64_t now_s, struct refusal *ret_refusal)
{
	const int64_t *limits = holder->token.limits;
	if (holder_cpu_left(holder, now_s) == 0)
		return refuse(ret_refusal, TOKEN_CPU, DAY_SECONDS - now_s % DAY_SECONDS,
			"the token '%s' has used its %" PRId64
			" seconds of CPU time of today (UTC)",
			holder->token.name, limits[TOKEN_CPU]);
	if (limits[TOKEN_CONCURRENCY] > 0 && (int64_t)holder->running >= limits[TOKEN_CONCURRENCY])
		return refuse(ret_refusal, TOKEN_CONCURRENCY, 1,
			"the token '%s' may have %" PRId64 " executions at once",
			holder->token.name, limits[TOKEN_CONCURRENCY]);
	holder->running++;
	return true;
}

bool holder_allows_memory(const struct holder *holder, int64_t bytes, struct refusal *ret_refusal)
{
	int64_t most = holder->token.limits[TOKEN_MEMORY];
	char text[32];
	if (most == 0 || bytes <= most)
		return true;
	units_format_size(most, text, sizeof(text));
	return refuse(ret_refusal, TOKEN_MEMORY, 0,
		"the token '%s' may ask for %s of memory in a single execution", holder->token.name,
		text);
}

void holder_end(struct porter *porter, struct holder *holder, int64_t cpu_us, int64_t now_s)
{
	holder->running--;
	if (cpu_us <= 0)
		return;
	begin_day(holder, now_s);
	holder->token.cpu_us += cpu_us;
	holder->unpaid_us += cpu_us;
	if (porter->write_us == INT64_MAX)
		porter->write_us = clock_us() + WRITE_US;
}

/* ---- writing it down ---------------------------------------------------------------------------
 */

int64_t porter_next_us(const struct porter *porter)
{
	return porter->write_us;
}

static int write_all(struct porter *porter, struct err *err)
{
	for (struct holder *holder = porter->holders; holder; holder = holder->next) {
		if (holder->unpaid_us == 0)
			continue;
		TRY(ledger_spend(porter->ledger, holder->token.name, ledger_today(),
			holder->unpaid_us, err));
		holder->unpaid_us = 0;
	}
	return 0;
}

int porter_tick(struct porter *porter, int64_t now_us, struct err *err)
{
	if (porter->write_us > now_us || porter->write_us == INT64_MAX)
		return 0;
	int r = porter->ledger ? write_all(porter, err) : 0;
	porter->write_us = r < 0 ? clock_us() + WRITE_AGAIN_US : INT64_MAX;
	return r;
}
