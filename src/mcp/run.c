/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools that run code in a cell of its own. Their arguments are fields of the spec, and checked as
 * one; what would reach out of a cell, a path of the host or a variable of ours, is not for a model
 * to name, whoever it works for.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "mcp/parts.h"
#include "mcp/shape.h"
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

/* Where it is, without links: below one of the directories that were allowed. */
static int find_file(
	const struct strings *roots, const char *path, char real[PATH_MAX], struct err *err)
{
	struct stat st;
	auto_free char *whole =
		path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", roots->items[0], path);
	if (!realpath(whole, real) || stat(real, &st) < 0)
		return err_sys(err, errno, "path: find '%.200s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "path: '%.200s' is no file", path);
	for (size_t i = 0; i < roots->count; i++)
		if (is_below(roots->items[i], real))
			return 0;
	return err_set(err, ERR_INVALID,
		"path: '%.200s' is not below '%.200s', the directory whose files may be run", path,
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

static int check_job(const char *job, struct err *err)
{
	struct spec spec;
	spec_init(&spec);
	int r = spec_from_json(&spec, job, strlen(job), err);
	if (r == 0)
		r = spec_check(&spec, err);
	if (r == 0)
		r = check_env(&spec, err);
	spec_done(&spec);
	return r;
}

static int make_job(
	const struct mcp_call *call, struct json_object *arguments, char **ret_job, struct err *err)
{
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
	if (call->tool->fixed)
		json_put(job, "language", json_new_string(call->tool->fixed));
	*ret_job = json_print(job, false);
	return 0;
}

int mcp_begin_run(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	auto_free char *job = NULL;
	TRY(make_job(call, arguments, &job, err));
	TRY(check_job(job, err));
	return mcp_work_on(call, WORK_RUN, job, mcp_finish_run, err);
}

static struct json_object *read_result(const char *result, size_t len)
{
	struct json_object *json = NULL;
	struct err err = { 0 };
	if (result)
		(void)json_read_list(
			result, len, MCP_ANSWER_MAX, LIMIT_FRAME_DEPTH + 8, &json, &err);
	return json;
}

void mcp_finish_run(struct mcp_call *call, const char *result, size_t len)
{
	struct json_object *json = read_result(result, len);
	if (json_object_is_type(json, json_type_object)) {
		mcp_put_result(call, json);
		return;
	}
	json_free(&json);
	mcp_finish_text(call, true, "the process that ran it died; try again");
}

/* ---- languages ----------------------------------------------------------------------------------
 */

int mcp_begin_languages(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	(void)arguments;
	return mcp_work_on(call, WORK_LANGUAGES, "{}", mcp_finish_languages, err);
}

static const char *text_of(struct json_object *json, const char *key)
{
	struct json_object *value = json_object_object_get(json, key);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* clang-format off */
static const struct mcp_part language_parts[] = {
	PART("name", "string", "what run_code takes as its language"),
	PART("title", "string", "what people call it"),
	PART("version", "string?", "its version; null: not known"),
	PART("aliases", "string[]", "other names"),
	PART("endings", "string[]", "endings of its files"),
	PART("compiled", "boolean", "it is compiled before it runs"),
	PART("available", "boolean", "it is installed here"),
	{ 0 },
};

static const struct mcp_part list_parts[] = {
	PART("languages", "object[]", "in alphabetical order", .parts = language_parts),
	{ 0 },
};
/* clang-format on */

struct json_object *mcp_describe_languages(void)
{
	return mcp_describe_parts(list_parts);
}

/* "python 3.11.2 (py)": a line for each that can be used here. */
static void put_language(struct buf *text, struct json_object *json)
{
	struct json_object *aliases = json_object_object_get(json, "aliases");
	struct json_object *available = json_object_object_get(json, "available");
	const char *version = text_of(json, "version");
	(void)buf_printf(text, "%s%s%s", text_of(json, "name"), version[0] ? " " : "", version);
	size_t count = json_object_is_type(aliases, json_type_array)
			       ? json_object_array_length(aliases)
			       : 0;
	for (size_t i = 0; i < count; i++)
		(void)buf_printf(text, "%s%s%s", i ? ", " : " (",
			json_object_get_string(json_object_array_get_idx(aliases, i)),
			i + 1 == count ? ")" : "");
	if (available && !json_object_get_boolean(available))
		(void)buf_printf(text, ": not installed here");
	(void)buf_append(text, "\n", 1);
}

void mcp_finish_languages(struct mcp_call *call, const char *result, size_t len)
{
	enum { TEXT_MAX = 64 << 10 };
	auto_buf struct buf text;
	struct json_object *list = read_result(result, len);
	if (!json_object_is_type(list, json_type_array)) {
		json_free(&list);
		mcp_finish_text(call, true, "the process that looked them up died; try again");
		return;
	}
	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < json_object_array_length(list); i++)
		put_language(&text, json_object_array_get_idx(list, i));
	struct json_object *content = json_object_new_array();
	struct json_object *structured = json_object_new_object();
	(void)json_object_array_add(content, mcp_new_text(buf_text(&text)));
	json_put(structured, "languages", list);
	mcp_finish_tool(call, content, mcp_pick(structured, list_parts), false);
	json_free(&structured);
}
