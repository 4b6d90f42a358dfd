/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks, and whether they may.
 *
 * At the unix socket the kernel says who connects: the daemon's own user and root, who may all. A
 * token shown there narrows that to what the token may. Over TCP nobody is known but by a token.
 * As long as there never was one, whoever can connect to a port of this machine is the tenant
 * `anonymous`; from the first token on, and always where other machines can reach the port, only
 * routes that need no scope are answered without.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "loan/loan.h"
#include "model/units.h"
#include "server/parts.h"
#include "server/routes.h"
#include "wire/log.h"

/* ---- the machine's own names -------------------------------------------------------------------
 */

/* Whether `host`, which may end in a port, is `name`. */
static bool is_name(const char *host, const char *name, size_t len)
{
	return strncasecmp(host, name, len) == 0 && (host[len] == '\0' || host[len] == ':');
}

static bool is_listed(const char *host, const char *list)
{
	for (const char *at = list; at && *at;) {
		size_t len = strcspn(at, ",");
		if (len > 0 && is_name(host, at, len))
			return true;
		at += len + (at[len] == ',');
	}
	return false;
}

/* An address cannot be made to lead elsewhere, as a name can. */
static bool is_address(const char *host)
{
	char text[INET6_ADDRSTRLEN + 1];
	struct in6_addr address;
	bool is_v6 = host[0] == '[';
	size_t len = strcspn(host + is_v6, is_v6 ? "]" : ":");
	if (len >= sizeof(text))
		return false;
	(void)snprintf(text, sizeof(text), "%.*s", (int)len, host + is_v6);
	return inet_pton(is_v6 ? AF_INET6 : AF_INET, text, &address) == 1;
}

static bool is_ours(const struct request *request, const char *host)
{
	return is_listed(host, "localhost,127.0.0.1,[::1]") ||
	       is_listed(host, request->http->settings.public_name) ||
	       (request->is_exposed && is_address(host));
}

/* A page in somebody's browser can make requests to this machine, under a name of its own that it
 * lets lead here. The browser says so in both of these. */
static bool is_rebound(const struct request *request)
{
	const char *host = request_header(request, MHD_HTTP_HEADER_HOST);
	const char *origin = request_header(request, "Origin");
	const char *scheme_end = origin ? strstr(origin, "://") : NULL;
	if (host && !is_ours(request, host))
		return true;
	return origin && (!scheme_end || !is_ours(request, scheme_end + 3));
}

/* ---- refusals ----------------------------------------------------------------------------------
 */

__attribute__((format(printf, 3, 4))) static void add_header(
	struct request *request, const char *name, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)MHD_add_response_header(request->response, name, text);
}

static bool refuse_token(struct request *request, const char *why)
{
	answer_error(request, MHD_HTTP_UNAUTHORIZED, "invalid_token", NULL,
		"hotcell token list shows those there are; hotcell token rotate gives a new secret",
		"%s", why);
	add_header(request, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
		"Bearer realm=\"hotcell\", error=\"invalid_token\", error_description=\"%s\"", why);
	return false;
}

static bool refuse_nobody(struct request *request)
{
	answer_error(request, MHD_HTTP_UNAUTHORIZED, "unauthorized", NULL,
		"send Authorization: Bearer TOKEN; hotcell token new NAME makes one",
		"this needs a token");
	add_header(request, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"hotcell\"");
	return false;
}

static bool refuse_scope(struct request *request, enum scope scope)
{
	const char *name = scope_names[scope];
	answer_error(request, MHD_HTTP_FORBIDDEN, "insufficient_scope", NULL,
		"use a token that was made with this scope",
		"this needs the scope '%s', which the token '%s' does not have", name,
		request->tenant.token);
	add_header(request, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
		"Bearer realm=\"hotcell\", error=\"insufficient_scope\", scope=\"%s\"", name);
	return false;
}

static bool refuse_limit(struct request *request, const struct refusal *refusal)
{
	const char *limit = token_limit_rows[refusal->limit].name;
	char code[32];
	char fix[96];
	bool is_final = refusal->retry_s == 0;
	(void)snprintf(code, sizeof(code), "limit_%s", limit);
	if (is_final)
		(void)snprintf(
			fix, sizeof(fix), "ask for less, or raise it with hotcell token limits");
	else
		(void)snprintf(
			fix, sizeof(fix), "try again in %lld s", (long long)refusal->retry_s);
	answer_error(request, is_final ? MHD_HTTP_FORBIDDEN : MHD_HTTP_TOO_MANY_REQUESTS, code,
		refusal->limit == TOKEN_MEMORY ? limit : NULL, fix, "%s", refusal->text);
	if (!is_final)
		add_header(
			request, MHD_HTTP_HEADER_RETRY_AFTER, "%lld", (long long)refusal->retry_s);
	request->http->counts.limited++;
	return false;
}

/* ---- whose cells they are ----------------------------------------------------------------------
 */

/* Without any token all who get in may do everything, and count as one. When that cannot be told,
 * they do not. */
bool access_has_one_owner(struct http *http)
{
	struct err err = { 0 };
	http->has_one_owner =
		porter_refresh(http->porter, &err) == 0 && !porter_has_tokens(http->porter);
	return http->has_one_owner;
}

/* The keeper hears of the first token before of anybody who shows it. */
static void note_owners(struct http *http)
{
	if (http->has_one_owner && porter_has_tokens(http->porter))
		link_tell_settings(http->settings.server);
}

/* ---- who it is ---------------------------------------------------------------------------------
 */

/* That the tokens cannot be read is said once, and that they can again. */
static bool ask_porter(struct request *request)
{
	struct http *http = request->http;
	struct err err = { 0 };
	int r = porter_refresh(http->porter, &err);
	if (r < 0 && !http->is_porter_stuck)
		log_say(LEVEL_ERROR, "tokens: %s", err.text);
	else if (r == 0 && http->is_porter_stuck)
		log_say(LEVEL_INFO, "tokens: they can be read again");
	http->is_porter_stuck = r < 0;
	note_owners(http);
	if (r == 0)
		return true;
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "access_unavailable", NULL,
		"try again; the daemon's log says what is in the way",
		"the tokens cannot be read at the moment");
	add_header(request, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	return false;
}

struct headers {
	const char *value;
	size_t count;
};

static enum MHD_Result count_header(
	void *context, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct headers *headers = context;
	(void)kind;
	if (strcasecmp(key, MHD_HTTP_HEADER_AUTHORIZATION) == 0) {
		headers->value = value ? value : "";
		headers->count++;
	}
	return MHD_YES;
}

static bool know_holder(struct request *request, const char *value)
{
	char text[TOKEN_BYTES + 1];
	const char *why = NULL;
	if (!token_read_header(value, text))
		return refuse_token(request, "the Authorization header holds no token of hotcell");
	struct holder *holder = porter_find(request->http->porter, text, time(NULL), &why);
	explicit_bzero(text, sizeof(text));
	if (!holder)
		return refuse_token(request, why);
	request->tenant = (struct tenant){
		.key = (uint64_t)(uintptr_t)holder, .scopes = holder->token.scopes, .holder = holder
	};
	(void)snprintf(
		request->tenant.name, sizeof(request->tenant.name), "%s", holder->token.name);
	(void)snprintf(
		request->tenant.token, sizeof(request->tenant.token), "%s", holder->token.name);
	return true;
}

static bool know_peer(struct request *request)
{
	uid_t uid = 0;
	pid_t pid = 0;
	request->tenant = (struct tenant){ .is_trusted = true, .scopes = SCOPES_ALL };
	if (loan_is_trusted(request_fd(request), &uid, &pid))
		return true;
	answer_error(request, MHD_HTTP_FORBIDDEN, "forbidden", NULL, NULL,
		"this socket is another user's");
	return false;
}

/* Who needs no token over TCP: nobody where others can connect, nor once there are tokens. */
static void know_nobody(struct request *request)
{
	bool needs_token = request->is_exposed || porter_has_tokens(request->http->porter);
	request->tenant = (struct tenant){ .key = 1, .scopes = needs_token ? 0 : SCOPES_ALL };
	(void)snprintf(request->tenant.name, sizeof(request->tenant.name), TENANT_ANONYMOUS);
	(void)snprintf(request->tenant.token, sizeof(request->tenant.token), TENANT_ANONYMOUS);
}

bool access_admit(struct request *request)
{
	struct headers headers = { 0 };
	(void)MHD_get_connection_values(
		request->connection, MHD_HEADER_KIND, count_header, &headers);
	if (request->is_local && !know_peer(request))
		return false;
	if (!request->is_local && is_rebound(request)) {
		request->is_foreign = true;
		answer_error(request, MHD_HTTP_FORBIDDEN, "foreign_origin", NULL,
			"ask for localhost or 127.0.0.1, or serve with --public-name",
			"the request names another host than this machine");
		return false;
	}
	if (origin_asks(request))
		return false;
	if (request->is_local && headers.count == 0)
		return true;
	if (!ask_porter(request))
		return false;
	if (headers.count > 1)
		return refuse_token(request, "there is more than one Authorization header");
	if (headers.count == 1)
		return know_holder(request, headers.value);
	know_nobody(request);
	return true;
}

/* ---- what they may -----------------------------------------------------------------------------
 */

bool access_has_scope(const struct tenant *tenant, enum scope scope)
{
	return scope == SCOPE_NONE || (tenant->scopes & 1U << scope) != 0;
}

/* Who has no token does not learn what there is. */
bool access_allow(struct request *request)
{
	const struct route *route = request->route;
	struct holder *holder = request->tenant.holder;
	struct refusal refusal;
	bool is_public = route && route->scope == SCOPE_NONE;
	if (request->tenant.scopes == 0 && !is_public)
		return refuse_nobody(request);
	if (holder && !holder_ask(holder, clock_us(), &refusal))
		return refuse_limit(request, &refusal);
	if (route && !access_has_scope(&request->tenant, route->scope))
		return refuse_scope(request, route->scope);
	return true;
}

bool access_fits(struct request *request, const struct spec *spec)
{
	const struct holder *holder = request->tenant.holder;
	struct refusal refusal;
	if (!holder || !spec_is_given(spec, spec_field("memory")) ||
		holder_allows_memory(holder, spec->memory, &refusal))
		return true;
	return refuse_limit(request, &refusal);
}

/* Looking something up costs nothing worth counting. */
bool access_counts(enum work_kind kind)
{
	return kind == WORK_RUN || kind == WORK_TURN || kind == WORK_CHECK || kind == WORK_SESSION;
}

bool access_begin(struct request *request, enum work_kind kind)
{
	struct refusal refusal;
	if (!request->tenant.holder || !access_counts(kind) ||
		holder_begin(request->tenant.holder, time(NULL), &refusal))
		return true;
	return refuse_limit(request, &refusal);
}

/* One request may ask for things of several kinds, as those of MCP do. */
int access_submit(const struct tenant *tenant, enum work_kind kind, struct err *err)
{
	enum scope scope =
		kind == WORK_SESSION || kind == WORK_TURN ? SCOPE_SESSIONS : SCOPE_EXECUTE;
	struct refusal refusal;
	if (!access_has_scope(tenant, scope))
		return err_set(err, ERR_INVALID,
			"this needs the scope '%s', which the token '%s' does not have",
			scope_names[scope], tenant->token);
	if (!access_counts(kind) || !tenant->holder ||
		holder_begin(tenant->holder, time(NULL), &refusal))
		return 0;
	return err_set(err, ERR_LIMIT, "%s; try again in %lld s", refusal.text,
		(long long)refusal.retry_s);
}

void access_end(struct http *http, const struct tenant *tenant, int64_t cpu_us)
{
	if (tenant->holder)
		holder_end(http->porter, tenant->holder, cpu_us, time(NULL));
}

void access_bound(const struct tenant *tenant, struct work_wish *wish)
{
	if (!tenant->holder)
		return;
	int64_t left_us = holder_cpu_left(tenant->holder, time(NULL));
	wish->memory_most = tenant->holder->token.limits[TOKEN_MEMORY];
	wish->sessions_most = tenant->holder->token.limits[TOKEN_SESSIONS];
	wish->cpu_most_ms = left_us < INT64_MAX ? left_us / 1000 + 1 : 0;
}

void access_tick(struct http *http)
{
	struct err err = { 0 };
	bool is_stuck = porter_tick(http->porter, clock_us(), &err) < 0;
	if (is_stuck && !http->is_ledger_stuck)
		log_say(LEVEL_WARNING, "tokens: %s; what was used is counted, and written later",
			err.text);
	if (is_stuck)
		http->is_ledger_stuck = true;
	else if (porter_next_us(http->porter) == INT64_MAX)
		http->is_ledger_stuck = false;
}

int access_check_listener(struct http *http, const char *listen, struct err *err)
{
	TRY(porter_refresh(http->porter, err));
	if (!porter_has_valid(http->porter, time(NULL)))
		return err_set(err, ERR_INVALID,
			"--listen: '%.80s' can be reached from other machines, and there is no "
			"token yet by which to tell who asks; make one with hotcell token new "
			"NAME, or listen at 127.0.0.1",
			listen);
	if (!http->settings.tls_cert && !http->settings.is_plain)
		return err_set(err, ERR_INVALID,
			"--listen: '%.80s' can be reached from other machines, and without TLS "
			"everybody on the way reads tokens and code; give --tls-cert and "
			"--tls-key, or say --plain-http where something in front of it does TLS",
			listen);
	return 0;
}
