/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a session over HTTP. The keeper hands the session's workspace over; what is read goes
 * from the file straight to the client, and what is written has no name before all of it is there.
 * The workspace is on a disk in memory, so nobody waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "keeper/keeper.h"
#include "model/units.h"
#include "server/range.h"
#include "server/routes.h"
#include "wire/json.h"

/* The verb that gives us the workspace. */
static void reach(struct request *request, question_hear *hear)
{
	struct json_object *ask = json_object_new_object();
	json_put(ask, "verb", json_new_string("files"));
	json_put(ask, "session", json_new_string(request->params[0]));
	json_put(ask, "wait", json_object_new_boolean(true));
	question_ask(request, ask, hear);
}

/* What came in answer to that: the workspace, -1: none, and the request was answered. */
static int take_workspace(
	struct request *request, struct json_object *answer, int fd, const struct err *err)
{
	struct err none = { 0 };
	if (!answer) {
		answer_refusal(request, err);
	} else if (fd < 0) {
		(void)err_set(&none, ERR_BROKEN, "the files of the session cannot be seen");
		answer_refusal(request, &none);
	}
	json_free(&answer);
	return fd;
}

static void refuse_file(struct request *request, const struct err *err)
{
	if (err->code == ERR_MISSING)
		answer_error(request, MHD_HTTP_NOT_FOUND, "missing", "path",
			"GET /v1/sessions/{name}/files lists what there is", "%s", err->text);
	else if (err->code == ERR_LIMIT)
		answer_error(request, MHD_HTTP_CONTENT_TOO_LARGE, "too_large", NULL, NULL, "%s",
			err->text);
	else if (err->code == ERR_INVALID)
		answer_error(
			request, MHD_HTTP_BAD_REQUEST, "invalid", "path", NULL, "%s", err->text);
	else
		answer_refusal(request, err);
}

/* In place of the parameter: the path as the rooms take it. */
static bool check_path(struct request *request)
{
	struct err err = { 0 };
	char *path = NULL;
	if (home_path(request->params[1], &path, &err) < 0) {
		refuse_file(request, &err);
		return false;
	}
	free(request->params[1]);
	request->params[1] = path;
	return true;
}

/* ---- out ----------------------------------------------------------------------------------------
 */

/* What the code made is never a page of ours. */
static void set_headers(struct MHD_Response *response, const char *tag)
{
	(void)MHD_add_response_header(
		response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/octet-stream");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, tag);
}

/* Takes `fd`. */
static void send_part(struct request *request, int fd, const struct range *range)
{
	request->status = range->is_part ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK;
	request->response =
		range->len > 0
			? MHD_create_response_from_fd_at_offset64(range->len, fd, range->from)
			: MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	if (range->len == 0)
		(void)close(fd);
}

static void send_file(struct request *request, int file_fd)
{
	auto_fd int fd = file_fd;
	struct stat st;
	struct range range;
	char tag[96], part[96];
	struct err err = { 0 };
	if (fstat(fd, &st) < 0) {
		(void)err_sys(&err, errno, "look at the file");
		answer_refusal(request, &err);
		return;
	}
	(void)snprintf(tag, sizeof(tag), "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 "\"",
		(uint64_t)st.st_ino, (uint64_t)st.st_size,
		(uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec);
	const char *if_range = request_header(request, "If-Range");
	bool is_other = if_range && strcmp(if_range, tag) != 0;
	const char *wanted = is_other ? NULL : request_header(request, MHD_HTTP_HEADER_RANGE);
	if (!range_read(wanted, (uint64_t)st.st_size, &range)) {
		answer_error(request, MHD_HTTP_RANGE_NOT_SATISFIABLE, "range", NULL, NULL,
			"the file has %" PRId64 " bytes, and none of what is asked for",
			(int64_t)st.st_size);
		(void)snprintf(part, sizeof(part), "bytes */%" PRId64, (int64_t)st.st_size);
	} else {
		send_part(request, take_fd(&fd), &range);
		set_headers(request->response, tag);
		(void)snprintf(part, sizeof(part), "bytes %" PRIu64 "-%" PRIu64 "/%" PRId64,
			range.from, range.from + range.len - 1, (int64_t)st.st_size);
	}
	if (request->status != MHD_HTTP_OK)
		(void)MHD_add_response_header(
			request->response, MHD_HTTP_HEADER_CONTENT_RANGE, part);
	request->state = ANSWER_READY;
	request_wake(request);
}

static void hear_get(
	struct request *request, struct json_object *answer, int fd, const struct err *why)
{
	struct err err = { 0 };
	int file_fd = -1;
	auto_fd int workspace_fd = take_workspace(request, answer, fd, why);
	if (workspace_fd < 0)
		return;
	if (home_open(workspace_fd, request->params[1], &file_fd, &err) < 0)
		refuse_file(request, &err);
	else
		send_file(request, file_fd);
}

void route_file_get(struct request *request)
{
	if (check_path(request))
		reach(request, hear_get);
}

/* To look at very many takes its time, which is a worker's. */
void route_file_list(struct request *request)
{
	auto_json struct json_object *ask = json_object_new_object();
	json_put(ask, "verb", json_new_string("files"));
	json_put(ask, "session", json_new_string(request->params[0]));
	run_begin(
		request, &(struct run_wish){ .kind = WORK_SESSION, .job = json_print(ask, false) });
}

/* ---- in -----------------------------------------------------------------------------------------
 */

static void hear_create(
	struct request *request, struct json_object *answer, int fd, const struct err *why)
{
	struct err err = { 0 };
	auto_fd int workspace_fd = take_workspace(request, answer, fd, why);
	if (workspace_fd < 0)
		return;
	if (home_create(workspace_fd, &request->upload.fd, &err) < 0) {
		refuse_file(request, &err);
		return;
	}
	request->state = ANSWER_NONE; /* the body may come */
	request_wake(request);
}

/* Before the body: whether there is anywhere to put it. */
void route_file_begin(struct request *request)
{
	const char *length = request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
	int64_t size = 0;
	if (length && units_parse_count(length, &size) == 0 && size > LIMIT_UPLOAD_BYTES) {
		answer_error(request, MHD_HTTP_CONTENT_TOO_LARGE, "too_large", NULL, NULL,
			"the file is over %d bytes", LIMIT_UPLOAD_BYTES);
		return;
	}
	if (check_path(request))
		reach(request, hear_create);
}

bool route_file_take(struct request *request, const char *data, size_t len)
{
	struct upload *upload = &request->upload;
	upload->size += (int64_t)len;
	if (upload->size > LIMIT_UPLOAD_BYTES)
		return false;
	int r = upload->err.code == ERR_NONE ? io_write(upload->fd, data, len) : 0;
	if (r < 0) {
		(void)home_refuse_write(-r, request->params[1], &upload->err);
		own_close(&upload->fd); /* the room is wanted */
	}
	return true;
}

static void hear_name(
	struct request *request, struct json_object *answer, int fd, const struct err *why)
{
	struct err err = { 0 };
	auto_fd int workspace_fd = take_workspace(request, answer, fd, why);
	if (workspace_fd < 0)
		return;
	if (home_name(workspace_fd, request->upload.fd, request->params[1], &err) < 0) {
		refuse_file(request, &err);
		return;
	}
	struct json_object *json = json_object_new_object();
	json_put(json, "path", json_new_string(request->params[1]));
	json_put(json, "size", json_object_new_int64(request->upload.size));
	answer_json(request, MHD_HTTP_OK, json);
}

void route_file_put(struct request *request)
{
	if (request->upload.err.code != ERR_NONE)
		refuse_file(request, &request->upload.err);
	else
		reach(request, hear_name);
}

/* ---- away ---------------------------------------------------------------------------------------
 */

static void hear_remove(
	struct request *request, struct json_object *answer, int fd, const struct err *why)
{
	struct err err = { 0 };
	auto_fd int workspace_fd = take_workspace(request, answer, fd, why);
	if (workspace_fd < 0)
		return;
	if (home_remove(workspace_fd, request->params[1], &err) < 0) {
		refuse_file(request, &err);
		return;
	}
	struct json_object *json = json_object_new_object();
	json_put(json, "removed", json_new_string(request->params[1]));
	answer_json(request, MHD_HTTP_OK, json);
}

void route_file_delete(struct request *request)
{
	if (check_path(request))
		reach(request, hear_remove);
}
