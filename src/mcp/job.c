/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool's job: its arguments, and what the tool adds to them. They are checked here as the worker
 * will read them. What would reach out of a cell, a path of the host or a variable of ours, is not
 * for a model to name, whoever it works for: no tool has an argument for it but run_file, which
 * looks in the directories it was given.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "mcp/parts.h"
#include "model/spec.h"
#include "wire/json.h"

/* ---- files of the host --------------------------------------------------------------------------
 */

static bool is_below(const char *root, const char *path)
{
	char real[PATH_MAX];
	size_t len = 0;
	if (!realpath(root, real))
		return false;
	len = strlen(real);
	return strncmp(path, real, len) == 0 && (path[len] == '/' || real[len - 1] == '/');
}

/* Where it is, without links: below one of the directories that were allowed. What is not there and
 * what is elsewhere are told alike: nobody learns from us what else the machine has. */
static int find_file(
	const struct strings *roots, const char *path, char real[PATH_MAX], struct err *err)
{
	struct stat st;
	auto_free char *whole =
		path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", roots->items[0], path);
	bool is_file = realpath(whole, real) && stat(real, &st) == 0 && S_ISREG(st.st_mode);
	for (size_t i = 0; is_file && i < roots->count; i++)
		if (is_below(roots->items[i], real))
			return 0;
	return err_set(err, ERR_MISSING,
		"path: there is no file '%.200s' in '%.200s', where files may be run", path,
		roots->items[0]);
}

/* ---- a job --------------------------------------------------------------------------------------
 */

/* "K" alone would pass a variable of our own. */
static int check_env(const struct spec *spec, struct err *err)
{
	for (size_t i = 0; i < spec->env.count; i++)
		if (!strchr(spec->env.items[i], '='))
			return err_set(err, ERR_INVALID,
				"env: '%.60s' has no value, for example \"env\": [\"LEVEL=3\"]",
				spec->env.items[i]);
	return 0;
}

/* The verbs of a session have texts only, which the keeper judges. */
static int check_job(const struct mcp_tool *tool, const char *job, struct err *err)
{
	struct asked asked;
	if (tool->kind == WORK_LANGUAGES || (tool->verb && strcmp(tool->verb, "new") != 0))
		return 0;
	int r = asked_read(&asked, tool->kind, job, strlen(job), err);
	if (r == 0)
		r = check_env(&asked.spec, err);
	asked_done(&asked);
	return r;
}

static int make_job(
	const struct mcp_call *call, struct json_object *arguments, char **ret_job, struct err *err)
{
	const struct mcp_tool *tool = call->tool;
	auto_json struct json_object *job = json_object_new_object();
	json_object_object_foreach(arguments, name, value)
	{
		if (strcmp(name, "path") == 0) {
			char real[PATH_MAX];
			TRY(find_file(call->mcp->roots, json_object_get_string(value), real, err));
			json_put(job, "file", json_new_string(real));
		} else {
			(void)json_object_object_add(job, name, json_object_get(value));
		}
	}
	if (tool->verb)
		json_put(job, "verb", json_new_string(tool->verb));
	if (tool->language)
		json_put(job, "language", json_new_string(tool->language));
	if (call->trace[0] && asked_takes(tool->kind, spec_field("traceparent")))
		json_put(job, "traceparent", json_new_string(call->trace));
	if (tool->waits)
		json_put(job, "wait", json_object_new_boolean(true));
	*ret_job = json_print(job, false);
	return 0;
}

int mcp_begin_job(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	auto_free char *job = NULL;
	TRY(make_job(call, arguments, &job, err));
	TRY(check_job(call->tool, job, err));
	return mcp_work_on(call, call->tool->kind, job, call->tool->finish, err);
}

/* ---- its result ---------------------------------------------------------------------------------
 */

struct json_object *mcp_read_result(struct mcp_call *call, const char *result, size_t len)
{
	struct json_object *json = NULL;
	struct err err = { 0 };
	if (!result)
		(void)err_set(&err, ERR_BROKEN, "the process that worked on it died; try again");
	else if (work_refusal(result, len, &err) == 0)
		(void)json_read_list(
			result, len, MCP_RESULT_MAX, LIMIT_FRAME_DEPTH + 8, &json, &err);
	if (!json)
		mcp_finish_text(call, true, "%s", err.text);
	return json;
}

void mcp_finish_with(struct mcp_call *call, const char *text, struct json_object *structured)
{
	struct json_object *content = json_object_new_array();
	(void)json_object_array_add(content, mcp_new_text(text));
	mcp_finish_tool(call, content, structured, false);
}
