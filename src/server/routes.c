/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP serves: one table. */
#include <string.h>

#include "base/own.h"
#include "server/path.h"
#include "server/routes.h"

/* clang-format off */
static const struct form spec_form = { .name = "Spec", .is_job = true, .kind = WORK_RUN };
static const struct form check_form = { .name = "Check", .is_job = true, .kind = WORK_CHECK };
static const struct form session_form = { .name = "NewSession", .is_job = true, .kind = WORK_SESSION };
static const struct form turn_form = { .name = "Turn", .is_job = true, .kind = WORK_TURN };
static const struct form history_form = { .is_job = true, .kind = WORK_RECORDS };

const struct route http_routes[] = {
	{ .method = "POST", .path = "/v1/execute", .scope = SCOPE_EXECUTE,
	  .answer = route_execute,
	  .body = &spec_form, .answers = "ExecutionResult", .has_events = true,
	  .summary = "run code in a fresh cell: one result, or events by Accept" },
	{ .method = "POST", .path = "/v1/check", .scope = SCOPE_EXECUTE,
	  .answer = route_check,
	  .body = &check_form, .answers = "SecurityReport",
	  .summary = "the guard's verdict on code, which is not run: a SecurityReport" },
	{ .method = "POST", .path = "/v1/sessions", .scope = SCOPE_SESSIONS,
	  .answer = route_session_new,
	  .body = &session_form, .answers = "Session", .status = MHD_HTTP_CREATED,
	  .summary = "make a session: a cell that remembers" },
	{ .method = "GET", .path = "/v1/sessions", .scope = SCOPE_SESSIONS,
	  .answer = route_session_list,
	  .answers = "Sessions",
	  .summary = "the sessions there are" },
	{ .method = "GET", .path = "/v1/sessions/{name}", .scope = SCOPE_SESSIONS,
	  .answer = route_session_info,
	  .answers = "Session",
	  .summary = "all about one: limits, memory, points" },
	{ .method = "DELETE", .path = "/v1/sessions/{name}", .scope = SCOPE_SESSIONS,
	  .answer = route_session_kill,
	  .answers = "Killed",
	  .summary = "end a session" },
	{ .method = "POST", .path = "/v1/sessions/{name}/exec", .scope = SCOPE_SESSIONS,
	  .answer = route_session_exec,
	  .body = &turn_form, .answers = "ExecutionResult", .has_events = true,
	  .summary = "execute code in it: one result, or events by Accept" },
	{ .method = "POST", .path = "/v1/sessions/{name}/input", .scope = SCOPE_SESSIONS,
	  .answer = route_session_input,
	  .body = &input_form, .answers = "Told",
	  .summary = "a line for code that asked for one" },
	{ .method = "POST", .path = "/v1/sessions/{name}/interrupt", .scope = SCOPE_SESSIONS,
	  .answer = route_session_interrupt,
	  .answers = "Interrupted",
	  .summary = "stop the code that runs; the state stays" },
	{ .method = "POST", .path = "/v1/sessions/{name}/checkpoint", .scope = SCOPE_SESSIONS,
	  .answer = route_session_checkpoint,
	  .body = &checkpoint_form, .answers = "Point",
	  .summary = "remember how it is, as a point to go back to" },
	{ .method = "POST", .path = "/v1/sessions/{name}/rollback", .scope = SCOPE_SESSIONS,
	  .answer = route_session_rollback,
	  .body = &rollback_form, .answers = "Point",
	  .summary = "go back to a point" },
	{ .method = "POST", .path = "/v1/sessions/{name}/undo", .scope = SCOPE_SESSIONS,
	  .answer = route_session_undo,
	  .body = &undo_form, .answers = "Point",
	  .summary = "take the last execution back" },
	{ .method = "POST", .path = "/v1/sessions/{name}/fork", .scope = SCOPE_SESSIONS,
	  .answer = route_session_fork,
	  .body = &fork_form, .answers = "Branch", .status = MHD_HTTP_CREATED,
	  .summary = "a session that begins where this one is" },
	{ .method = "GET", .path = "/v1/sessions/{name}/files", .scope = SCOPE_SESSIONS,
	  .answer = route_file_list,
	  .answers = "Files",
	  .summary = "the files in its /home/user" },
	{ .method = "GET", .path = "/v1/sessions/{name}/files/{path...}", .scope = SCOPE_SESSIONS,
	  .answer = route_file_get,
	  .summary = "one file, or the part of it that Range asks for" },
	{ .method = "PUT", .path = "/v1/sessions/{name}/files/{path...}", .scope = SCOPE_SESSIONS,
	  .answer = route_file_put, .begin = route_file_begin, .take = route_file_take,
	  .takes_bytes = true, .answers = "File",
	  .summary = "the body becomes the file, in one step" },
	{ .method = "DELETE", .path = "/v1/sessions/{name}/files/{path...}", .scope = SCOPE_SESSIONS,
	  .answer = route_file_delete,
	  .answers = "Removed",
	  .summary = "remove a file, or a directory that is empty" },
	{ .method = "POST", .path = "/v1/batch", .scope = SCOPE_EXECUTE,
	  .answer = route_batch,
	  .body = &spec_form, .takes_many = true, .query = &batch_form,
	  .answers = "Batch", .has_events = true,
	  .summary = "many runs, several at once: all results in order, or as lines by Accept" },
	{ .method = "GET", .path = "/v1/executions", .scope = SCOPE_EXECUTE,
	  .answer = route_history,
	  .query = &history_form, .answers = "Executions",
	  .summary = "what ran here before, the newest first" },
	{ .method = "GET", .path = "/v1/executions/{id}", .scope = SCOPE_EXECUTE,
	  .answer = route_execution,
	  .answers = "Execution",
	  .summary = "one of them, and what is kept of it" },
	{ .method = "GET", .path = "/v1/languages", .scope = SCOPE_EXECUTE,
	  .answer = route_languages,
	  .summary = "the languages that are defined here" },
	{ .method = "GET", .path = "/v1/providers", .scope = SCOPE_EXECUTE,
	  .answer = route_providers,
	  .summary = "who can isolate a run" },
	{ .method = "POST", .path = "/mcp", .scope = SCOPE_EXECUTE,
	  .answer = route_mcp,
	  .summary = "the Model Context Protocol, streamable HTTP" },
	{ .method = "GET", .path = "/healthz", .scope = SCOPE_NONE,
	  .answer = route_health,
	  .summary = "whether it serves" },
	{ .method = "GET", .path = "/metrics", .scope = SCOPE_ADMIN,
	  .answer = route_metrics,
	  .summary = "counts and gauges for Prometheus" },
	{ .method = "GET", .path = "/v1/events", .scope = SCOPE_ADMIN,
	  .answer = route_events, .has_events = true,
	  .summary = "how the daemon is, each second, for an EventSource" },
	{ .method = "GET", .path = "/openapi.json", .scope = SCOPE_NONE,
	  .answer = route_openapi,
	  .summary = "this interface, described" },
};
/* clang-format on */
const size_t http_route_count = COUNT_OF(http_routes);

/* What answers GET answers HEAD, too. */
static bool takes(const struct route *route, const char *method)
{
	return strcmp(route->method, method) == 0 ||
	       (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

const struct route *route_find(
	const char *method, const char *path, char *params[ROUTE_PARAMS], bool *ret_is_known)
{
	*ret_is_known = false;
	for (size_t i = 0; i < http_route_count; i++) {
		bool is_match = path_match(http_routes[i].path, path, params, ROUTE_PARAMS);
		*ret_is_known |= is_match;
		if (is_match && takes(&http_routes[i], method))
			return &http_routes[i];
		path_drop(params, ROUTE_PARAMS);
	}
	return NULL;
}
