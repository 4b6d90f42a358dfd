/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell token: who may ask the daemon over HTTP, for what, and how much. */
#include "cli/token.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "access/access.h"
#include "base/date.h"
#include "base/own.h"
#include "model/units.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum { DAY_SECONDS = 86400, YEARS_MAX = 100, WHEN_TEXT = 32 };

static const struct cli_option options[] = {
	{ .flag = "scope",
		.metavar = "LIST",
		.help = "new: what for: execute, sessions, admin [execute,sessions]" },
	{ .flag = "expires",
		.metavar = "TIME",
		.help = "new, rotate: until when: 12h, 30d, 2027-01-31, none [none]" },
	{ .flag = "concurrency",
		.metavar = "N",
		.help = "new, limits: most executions at once, or none [none]" },
	{ .flag = "rate",
		.metavar = "N",
		.help = "new, limits: most requests a minute, or none [none]" },
	{ .flag = "memory",
		.metavar = "SIZE",
		.help = "new, limits: most memory of a single execution, or none [none]" },
	{ .flag = "cpu",
		.metavar = "SEC",
		.help = "new, limits: most seconds of CPU time a day (UTC), or none [none]" },
	{ .flag = "sessions",
		.metavar = "N",
		.help = "new, limits: most sessions at once, or none [none]" },
	{ .flag = "json", .help = "print JSON" },
	CLI_CONFIG_OPTIONS,
};

static const char examples[] =
	"  hotcell token new ci --scope execute --rate 600 --cpu 3600 --memory 1G\n"
	"  TOKEN=$(hotcell token new laptop --expires 30d)\n"
	"  curl -H \"Authorization: Bearer $TOKEN\" localhost:7070/v1/languages\n"
	"  hotcell token list\n"
	"  hotcell token limits ci --concurrency 8 --cpu none\n"
	"  hotcell token rotate ci\n"
	"  hotcell token revoke ci\n";

/* What the command line said. */
struct asked {
	const struct token_verb *verb;
	const char *name; /* NULL: none */
	bool is_json;
	bool has_scopes, has_expires, has_limit[TOKEN_LIMIT_COUNT];
	struct token token; /* with what was given */
	struct config_wish wish;
};

struct token_verb {
	const char *name;
	bool needs_name, takes_name;
	bool takes_scopes, takes_expires, takes_limits;
	int (*run)(struct ledger *ledger, struct asked *asked, struct err *err);
};

/* ---- the command line --------------------------------------------------------------------------
 */

/* "30d": so long from now. */
static bool parse_span(const char *text, int64_t *ret_second)
{
	int64_t seconds = 0;
	if (units_parse_span(text, &seconds) < 0)
		return false;
	*ret_second = time(NULL) + seconds;
	return true;
}

/* "2027-01-31": until that day begins, UTC. */
static bool parse_day(const char *text, int64_t *ret_second)
{
	static const char form[] = "dddd-dd-dd";
	int numbers[3] = { 0 };
	size_t at = 0;
	if (strlen(text) != strlen(form))
		return false;
	for (size_t i = 0; form[i]; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';
		if (form[i] == 'd' ? !is_digit : text[i] != form[i])
			return false;
		if (form[i] == 'd')
			numbers[at] = numbers[at] * 10 + (text[i] - '0');
		else
			at++;
	}
	const struct date date = { numbers[0], numbers[1], numbers[2] };
	struct date again = { 0 };
	if (date.year < 1970)
		return false;
	date_of_day(date_to_day(&date), &again);
	*ret_second = date_to_day(&date) * DAY_SECONDS;
	return again.month == date.month && again.day == date.day; /* else there is no such day */
}

static int take_expires(struct asked *asked, const char *value, struct err *err)
{
	int64_t second = 0;
	char quote[64];
	asked->has_expires = true;
	if (strcmp(value, "none") == 0)
		return 0;
	if (!parse_span(value, &second) && !parse_day(value, &second))
		return err_set(err, ERR_INVALID,
			"--expires: '%s' is neither a time from now (90s, 10m, 12h, 30d) nor a "
			"day, for example --expires 30d or --expires 2027-01-31",
			utf8_line(value, quote, sizeof(quote)));
	if (second <= time(NULL) || second > time(NULL) + (int64_t)YEARS_MAX * 366 * DAY_SECONDS)
		return err_set(err, ERR_INVALID,
			"--expires: '%s' is past, or over %d years from now, for example --expires "
			"30d",
			utf8_line(value, quote, sizeof(quote)), YEARS_MAX);
	asked->token.expires = second;
	return 0;
}

static int take(void *context, const char *flag, const char *value, struct err *err)
{
	struct asked *asked = context;
	if (cli_take_config(&asked->wish, flag, value))
		return 0;
	if (strcmp(flag, "json") == 0) {
		asked->is_json = true;
		return 0;
	}
	if (strcmp(flag, "scope") == 0) {
		asked->has_scopes = true;
		return scopes_parse(value, &asked->token.scopes, err);
	}
	if (strcmp(flag, "expires") == 0)
		return take_expires(asked, value, err);
	for (int i = 0; i < TOKEN_LIMIT_COUNT; i++)
		if (strcmp(flag, token_limit_rows[i].name) == 0) {
			asked->has_limit[i] = true;
			return token_limit_parse(
				(enum token_limit)i, value, &asked->token.limits[i], err);
		}
	return err_set(err, ERR_BROKEN, "--%s is not taken", flag);
}

static bool has_limits(const struct asked *asked)
{
	bool has_some = false;
	for (int i = 0; i < TOKEN_LIMIT_COUNT; i++)
		has_some |= asked->has_limit[i];
	return has_some;
}

/* ---- telling -----------------------------------------------------------------------------------
 */

static const char *format_when(int64_t second, const char *never, char text[WHEN_TEXT])
{
	struct date date;
	if (second == 0)
		return never;
	date_of_day(second / DAY_SECONDS, &date);
	int of_day = (int)(second % DAY_SECONDS);
	(void)snprintf(text, WHEN_TEXT, "%04d-%02d-%02dT%02d:%02d:%02dZ", date.year % 10000,
		date.month % 100, date.day % 100, of_day / 3600, of_day / 60 % 60, of_day % 60);
	return text;
}

static const char *state_of(const struct token *token)
{
	if (token->revoked)
		return "revoked";
	return token->expires && time(NULL) >= token->expires ? "expired" : "valid";
}

static struct json_object *new_when(int64_t second)
{
	char text[WHEN_TEXT];
	return json_new_string(format_when(second, NULL, text));
}

/* What is kept of it, never the token itself. */
static struct json_object *token_to_json(const struct token *token)
{
	struct json_object *json = json_object_new_object();
	struct json_object *scopes = json_object_new_array();
	struct json_object *limits = json_object_new_object();
	for (int i = SCOPE_NONE + 1; i < SCOPE_COUNT; i++)
		if (token->scopes & 1U << i)
			(void)json_object_array_add(scopes, json_new_string(scope_names[i]));
	for (int i = 0; i < TOKEN_LIMIT_COUNT; i++)
		json_put(limits, token_limit_rows[i].name,
			token->limits[i] ? json_object_new_int64(token->limits[i]) : NULL);
	json_put(json, "name", json_new_string(token->name));
	json_put(json, "status", json_new_string(state_of(token)));
	json_put(json, "scopes", scopes);
	json_put(json, "created", new_when(token->created));
	json_put(json, "expires", new_when(token->expires));
	json_put(json, "revoked", new_when(token->revoked));
	json_put(json, "limits", limits);
	json_put(json, "cpu_today", json_new_decimal(token->cpu_us, 6));
	return json;
}

static void print_json(struct json_object *json)
{
	auto_free char *text = json_print(json, true);
	(void)printf("%s\n", text);
	(void)json_object_put(json);
}

/* The token alone on stdout, for $( ); the words beside it. */
static void tell_secret(const struct asked *asked, const struct token *token, const char *secret)
{
	if (asked->is_json) {
		struct json_object *json = token_to_json(token);
		json_put(json, "token", json_new_string(secret));
		print_json(json);
		return;
	}
	(void)fprintf(stderr, "hotcell: this is the token '%s'; keep it, it is not shown again\n",
		token->name);
	(void)printf("%s\n", secret);
}

/* ---- verbs -------------------------------------------------------------------------------------
 */

static int make(struct ledger *ledger, struct asked *asked, struct err *err)
{
	char secret[TOKEN_BYTES + 1];
	struct token *token = &asked->token;
	(void)snprintf(token->name, sizeof(token->name), "%s", asked->name);
	if (!asked->has_scopes)
		token->scopes = 1U << SCOPE_EXECUTE | 1U << SCOPE_SESSIONS;
	token->created = time(NULL);
	TRY(token_make(secret, token->hash, err));
	TRY(ledger_add(ledger, token, err));
	tell_secret(asked, token, secret);
	return 0;
}

static int rotate(struct ledger *ledger, struct asked *asked, struct err *err)
{
	char secret[TOKEN_BYTES + 1];
	struct token token;
	TRY(ledger_find(ledger, asked->name, &token, err));
	if (asked->has_expires)
		token.expires = asked->token.expires;
	else if (token.expires && time(NULL) >= token.expires)
		return err_set(err, ERR_INVALID,
			"the token '%s' has expired: say until when the new one is good, for "
			"example --expires 30d",
			token.name);
	token.revoked = 0;
	TRY(token_make(secret, token.hash, err));
	TRY(ledger_change(ledger, &token, err));
	tell_secret(asked, &token, secret);
	return 0;
}

static int withdraw(struct ledger *ledger, struct asked *asked, struct err *err)
{
	struct token token;
	TRY(ledger_find(ledger, asked->name, &token, err));
	if (!token.revoked) {
		token.revoked = time(NULL);
		TRY(ledger_change(ledger, &token, err));
	}
	if (asked->is_json)
		print_json(token_to_json(&token));
	return 0;
}

static int load(
	struct ledger *ledger, struct token **ret_tokens, size_t *ret_count, struct err *err)
{
	if (ledger)
		return ledger_list(ledger, ret_tokens, ret_count, err);
	*ret_tokens = NULL;
	*ret_count = 0;
	return 0;
}

static void print_tokens_json(const struct token *tokens, size_t count)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < count; i++)
		(void)json_object_array_add(array, token_to_json(&tokens[i]));
	print_json(array);
}

static int list(struct ledger *ledger, struct asked *asked, struct err *err)
{
	auto_free struct token *tokens = NULL;
	size_t count = 0;
	TRY(load(ledger, &tokens, &count, err));
	if (asked->is_json) {
		print_tokens_json(tokens, count);
		return 0;
	}
	(void)printf(
		"%-20s %-8s %-24s %-20s %s\n", "NAME", "STATUS", "SCOPES", "CREATED", "EXPIRES");
	for (size_t i = 0; i < count; i++) {
		char scopes[SCOPES_TEXT];
		char created[WHEN_TEXT];
		char expires[WHEN_TEXT];
		scopes_format(tokens[i].scopes, scopes);
		(void)printf("%-20s %-8s %-24s %-20s %s\n", tokens[i].name, state_of(&tokens[i]),
			scopes, format_when(tokens[i].created, "-", created),
			format_when(tokens[i].expires, "never", expires));
	}
	return 0;
}

static int change_limits(struct ledger *ledger, struct asked *asked, struct err *err)
{
	struct token token;
	if (!asked->name)
		return err_set(err, ERR_INVALID,
			"limits: say whose are to change, for example hotcell token limits ci "
			"--rate 60");
	TRY(ledger_find(ledger, asked->name, &token, err));
	for (int i = 0; i < TOKEN_LIMIT_COUNT; i++)
		if (asked->has_limit[i])
			token.limits[i] = asked->token.limits[i];
	return ledger_change(ledger, &token, err);
}

static int show_limits(struct ledger *ledger, struct asked *asked, struct err *err)
{
	auto_free struct token *tokens = NULL;
	size_t count = 0;
	if (has_limits(asked))
		TRY(change_limits(ledger, asked, err));
	if (asked->name) {
		tokens = xcalloc(1, sizeof(*tokens));
		TRY(ledger_find(ledger, asked->name, &tokens[count++], err));
	} else {
		TRY(load(ledger, &tokens, &count, err));
	}
	if (asked->is_json) {
		print_tokens_json(tokens, count);
		return 0;
	}
	(void)printf("%-20s %11s %9s %9s %9s %9s %11s\n", "NAME", "CONCURRENCY", "RATE/MIN",
		"MEMORY", "CPU S/DAY", "SESSIONS", "CPU S TODAY");
	for (size_t i = 0; i < count; i++) {
		(void)printf("%-20s", tokens[i].name);
		for (int at = 0; at < TOKEN_LIMIT_COUNT; at++) {
			char text[32];
			token_limit_format(
				(enum token_limit)at, tokens[i].limits[at], text, sizeof(text));
			(void)printf(" %*s", at == TOKEN_CONCURRENCY ? 11 : 9, text);
		}
		(void)printf(" %11.3f\n", (double)tokens[i].cpu_us / 1e6);
	}
	return 0;
}

/* clang-format off */
static const struct token_verb verbs[] = {
	{ .name = "list",   .run = list },
	{ .name = "new",    .run = make,   .needs_name = true, .takes_scopes = true, .takes_expires = true, .takes_limits = true },
	{ .name = "rotate", .run = rotate, .needs_name = true, .takes_expires = true },
	{ .name = "revoke", .run = withdraw, .needs_name = true },
	{ .name = "limits", .run = show_limits, .takes_name = true, .takes_limits = true },
};
/* clang-format on */

/* ---- the command -------------------------------------------------------------------------------
 */

static int find_verb(const char *name, const struct token_verb **ret_verb, struct err *err)
{
	const char *names[COUNT_OF(verbs)];
	char quote[48];
	for (size_t i = 0; i < COUNT_OF(verbs); i++) {
		names[i] = verbs[i].name;
		*ret_verb = &verbs[i];
		if (strcmp(name, verbs[i].name) == 0)
			return 0;
	}
	const char *near = units_nearest(name, names, COUNT_OF(names));
	return err_set(err, ERR_INVALID,
		"token: '%s' is nothing it does%s%s%s; hotcell token --help lists what it does",
		utf8_line(name, quote, sizeof(quote)), near ? ", did you mean '" : "",
		near ? near : "", near ? "'?" : "");
}

static int check_words(struct asked *asked, const struct strings *words, struct err *err)
{
	const struct token_verb *verb = asked->verb;
	char quote[80];
	size_t given = words->count > 0 ? words->count - 1 : 0;
	asked->name = given > 0 ? words->items[1] : NULL;
	if (verb->needs_name && given == 0)
		return err_set(err, ERR_INVALID,
			"token %s: needs the name of a token, for example hotcell token %s ci",
			verb->name, verb->name);
	if (given > 1 || (given == 1 && !verb->needs_name && !verb->takes_name))
		return err_set(err, ERR_INVALID, "token %s: takes %s", verb->name,
			given > 1 ? "one name" : "no name");
	if (asked->name && !token_is_name(asked->name))
		return err_set(err, ERR_INVALID,
			"'%s' cannot be the name of a token: use up to %d letters, digits, '.', "
			"'_' and '-', a letter or digit first, and not '" TENANT_ANONYMOUS "'",
			utf8_line(asked->name, quote, sizeof(quote)), TOKEN_NAME_BYTES);
	return 0;
}

static int check_options(const struct asked *asked, struct err *err)
{
	const struct token_verb *verb = asked->verb;
	const char *flag = NULL;
	if (asked->has_scopes && !verb->takes_scopes)
		flag = "scope";
	if (asked->has_expires && !verb->takes_expires)
		flag = "expires";
	for (int i = 0; i < TOKEN_LIMIT_COUNT; i++)
		if (asked->has_limit[i] && !verb->takes_limits)
			flag = token_limit_rows[i].name;
	if (flag)
		return err_set(err, ERR_INVALID,
			"token %s: does not take --%s; hotcell token --help says what does",
			verb->name, flag);
	return 0;
}

static int read_and_run(int argc, char **argv, struct strings *words, struct err *err)
{
	struct asked asked = { .verb = &verbs[0] };
	struct cli_line line = { .context = &asked, .take = take };
	struct config config;
	struct ledger *ledger = NULL;
	TRY(cli_read_mixed(argc, argv, NULL, options, COUNT_OF(options), &line, words, err));
	if (line.has_help) {
		cli_help(&token_command, options, COUNT_OF(options), false, examples);
		return 0;
	}
	if (words->count > 0)
		TRY(find_verb(words->items[0], &asked.verb, err));
	TRY(check_words(&asked, words, err));
	TRY(check_options(&asked, err));
	config_init(&config);
	int r = cli_load(&config, &asked.wish, err); /* where the state directory is */
	config_done(&config);
	TRY(r);
	TRY(ledger_open(asked.verb->run == make, LEDGER_PATIENCE_MS, &ledger, err));
	if (!ledger && asked.name)
		return err_set(err, ERR_MISSING,
			"there is no token '%s': hotcell token new makes one", asked.name);
	r = asked.verb->run(ledger, &asked, err);
	ledger_close(ledger);
	return r;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct strings words = { 0 };
	(void)command;
	int r = read_and_run(argc, argv, &words, &err);
	strings_done(&words);
	return r < 0 ? cli_fail(&err) : 0;
}

const struct command token_command = {
	.name = "token",
	.usage = "new NAME | list | rotate NAME | revoke NAME | limits [NAME] [OPTIONS]",
	.help = "who may ask the daemon over HTTP, for what, and how much",
	.run = run,
};
