/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers what. Each answers its request now or sees to it that it is answered later. */
#pragma once

#include "model/field.h"
#include "server/http.h"

/* run.c */
void route_execute(struct request *request);
void route_check(struct request *request);
void route_languages(struct request *request);

/* sessions.c */
void route_session_new(struct request *request);
void route_session_list(struct request *request);
void route_session_info(struct request *request);
void route_session_kill(struct request *request);
void route_session_exec(struct request *request);
void route_session_input(struct request *request);
void route_session_interrupt(struct request *request);
void route_session_checkpoint(struct request *request);
void route_session_rollback(struct request *request);
void route_session_undo(struct request *request);
void route_session_fork(struct request *request);
extern const struct form checkpoint_form, rollback_form, undo_form, fork_form, input_form;

/* files.c */
void route_file_list(struct request *request);
void route_file_get(struct request *request);
void route_file_begin(struct request *request);
bool route_file_take(struct request *request, const char *data, size_t len);
void route_file_put(struct request *request);
void route_file_delete(struct request *request);

/* mcp.c */
void route_mcp(struct request *request);

/* history.c */
void route_history(struct request *request);
void route_execution(struct request *request);

/* batch.c */
void route_batch(struct request *request);
extern const struct form batch_form; /* what stands behind the path */

/* openapi.c */
void route_openapi(struct request *request);

/* about.c */
void route_providers(struct request *request);
void route_health(struct request *request);
void route_metrics(struct request *request);
void route_events(struct request *request);

/* ---- what they share ----------------------------------------------------------------------------
 */

enum manner { MANNER_RESULT = 0, MANNER_LINES, MANNER_SSE };

/* How a request wants to hear of what it asked for. */
enum manner run_manner(const struct request *request);

/* What a worker is to do for a request. */
struct run_wish {
	enum work_kind kind;
	enum manner manner;
	char *job;           /* taken */
	const char *session; /* whose turn it is, or NULL */
	unsigned int status; /* of an answer that is no refusal; 0: 200 */
};

void run_begin(struct request *request, const struct run_wish *wish);

/* The same, with the body as the job and `more`, which is taken, besides; NULL: nothing. */
void run_request(struct request *request, enum work_kind kind, struct json_object *more,
	unsigned int status);

/* Reads what somebody may ask for. Either way the caller ends it with asked_done(). */
int run_check(const struct tenant *tenant, enum work_kind kind, const char *text, size_t len,
	struct asked *asked, struct err *err);

/* An execution is over that began then. */
void run_count(struct http *http, const char *result, size_t len, int64_t begun_us);

/* A line for code that asked for one, in an execution of this tenant's; NULL: there is no more. */
int run_input(struct request *request, const char *session, const char *line, struct err *err);
