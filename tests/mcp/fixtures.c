/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server that the conformance suite wants to meet: the daemon with its MCP, but in place of the
 * tools of hotcell those that the suite's scenarios call. It is linked for the tests alone.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/sha256.h"
#include "mcp/parts.h"
#include "wire/json.h"

#define PNG                                                                                \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAA" \
	"AABJRU5ErkJggg=="
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="

#define ASK_NAME                                                                                   \
	"\"method\":\"elicitation/create\",\"params\":{\"message\":\"What is your name?\","        \
	"\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}" \
	","                                                                                        \
	"\"required\":[\"name\"]}}"
#define ASK_MODEL                                                                             \
	"\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{\"role\":\"user\"," \
	"\"content\":{\"type\":\"text\",\"text\":\"What is the capital of France?\"}}],"      \
	"\"maxTokens\":100}"
#define ASK_ROOTS "\"method\":\"roots/list\",\"params\":{}"

static struct json_object *read_text(const char *text)
{
	struct json_object *json = json_tokener_parse(text);
	if (!json)
		abort();
	return json;
}

static struct json_object *member(struct json_object *json, const char *key)
{
	return json_object_is_type(json, json_type_object) ? json_object_object_get(json, key)
							   : NULL;
}

static const char *text_of(struct json_object *json, const char *key)
{
	struct json_object *value = member(json, key);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static struct json_object *meta_of(const struct mcp_call *call, const char *key)
{
	auto_free char *whole = xasprintf("io.modelcontextprotocol/%s", key);
	return member(member(call->params, "_meta"), whole);
}

static bool is_capable(const struct mcp_call *call, const char *capability)
{
	return member(meta_of(call, "clientCapabilities"), capability) != NULL;
}

/* ---- tools that always say the same -------------------------------------------------------------
 */

/* clang-format off */
static const struct { const char *tool, *result; } canned[] = {
	{ "test_simple_text",
	  "{\"content\":[{\"type\":\"text\",\"text\":\"This is a simple text response for testing.\"}]}" },
	{ "test_image_content",
	  "{\"content\":[{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}]}" },
	{ "test_audio_content",
	  "{\"content\":[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]}" },
	{ "test_embedded_resource",
	  "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
	  "\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]}" },
	{ "test_multiple_content_types",
	  "{\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types test:\"},"
	  "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"},"
	  "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\","
	  "\"mimeType\":\"application/json\",\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]}" },
	{ "test_error_handling",
	  "{\"isError\":true,\"content\":[{\"type\":\"text\","
	  "\"text\":\"This tool intentionally returns an error for testing\"}]}" },
};
/* clang-format on */

static int begin_canned(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	(void)arguments;
	for (size_t i = 0; i < COUNT_OF(canned); i++)
		if (strcmp(canned[i].tool, call->tool->name) == 0) {
			mcp_answer(call, read_text(canned[i].result));
			return 0;
		}
	return err_set(err, ERR_BROKEN, "nothing was prepared for it");
}

/* ---- tools that say something on the way --------------------------------------------------------
 */

static int begin_progress(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	(void)arguments;
	(void)err;
	for (int64_t progress = 0; progress <= 100; progress += 50)
		mcp_tell_progress(call, progress, 100, NULL);
	mcp_finish_text(call, false, "done");
	return 0;
}

static int begin_logging(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	static const char *const lines[] = { "Tool execution started", "Tool processing data",
		"Tool execution completed" };
	bool is_wanted = !mcp_is_modern(call) || meta_of(call, "logLevel");
	(void)arguments;
	(void)err;
	for (size_t i = 0; i < COUNT_OF(lines) && is_wanted; i++) {
		struct json_object *params = json_object_new_object();
		json_put(params, "level", json_new_string("info"));
		json_put(params, "data", json_new_string(lines[i]));
		mcp_notify(call, "notifications/message", params);
	}
	mcp_finish_text(call, false, "done");
	return 0;
}

static int begin_change(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	bool is_prompt = strstr(call->tool->name, "prompt") != NULL;
	(void)arguments;
	(void)err;
	mcp_tell_change(call->mcp, is_prompt ? MCP_PROMPTS_CHANGED : MCP_TOOLS_CHANGED);
	mcp_finish_text(call, false, "changed");
	return 0;
}

static int begin_capability(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	(void)arguments;
	(void)err;
	if (is_capable(call, "sampling"))
		mcp_finish_text(call, false, "fine");
	else
		mcp_refuse(call, MCP_MISSING_CAPABILITY,
			read_text("{\"requiredCapabilities\":{\"sampling\":{}}}"),
			"the client must be capable of sampling");
	return 0;
}

/* A server that keeps nothing asks a legacy client for nothing. */
static int begin_impossible(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	(void)call;
	(void)arguments;
	return err_set(err, ERR_INVALID, "this server asks its clients for nothing");
}

/* ---- tools that ask for input -------------------------------------------------------------------
 */

/* One round: what is asked for, and the state the client gives back. */
struct round {
	const char *tool;
	const char *requests; /* keys to requests */
	int state;            /* 0: none */
};

/* clang-format off */
static const struct round rounds[] = {
	{ "test_input_required_result_elicitation", "{\"user_name\":{" ASK_NAME "}}", 0 },
	{ "test_streaming_elicitation", "{\"user_name\":{" ASK_NAME "}}", 0 },
	{ "test_input_required_result_sampling", "{\"capital_question\":{" ASK_MODEL "}}", 0 },
	{ "test_input_required_result_list_roots", "{\"client_roots\":{" ASK_ROOTS "}}", 0 },
	{ "test_input_required_result_request_state", "{\"confirm\":{" ASK_NAME "}}", 1 },
	{ "test_input_required_result_tampered_state", "{\"confirm\":{" ASK_NAME "}}", 1 },
	{ "test_input_required_result_multiple_inputs",
	  "{\"user_name\":{" ASK_NAME "},\"greeting\":{" ASK_MODEL "},\"client_roots\":{" ASK_ROOTS "}}", 1 },
	{ "test_input_required_result_multi_round", "{\"step1\":{" ASK_NAME "}}", 1 },
	{ "test_input_required_result_multi_round", "{\"step2\":{" ASK_NAME "}}", 2 },
	{ "test_input_required_result_capabilities", "{\"question\":{" ASK_MODEL "}}", 0 },
	{ "test_input_required_result_prompt", "{\"user_context\":{" ASK_NAME "}}", 0 },
};
/* clang-format on */

/* Nobody else can make one: the suite changes it and wants to see that noticed. */
static void make_state(const struct round *round, char text[SHA256_HEX + 1])
{
	struct sha256 sha;
	auto_free char *secret = xasprintf("fixture %s %d", round->tool, round->state);
	sha256_init(&sha);
	sha256_add(&sha, secret, strlen(secret));
	sha256_hex(&sha, text);
}

static void ask_for_input(struct mcp_call *call, const struct round *round)
{
	struct json_object *result = json_object_new_object();
	char state[SHA256_HEX + 1];
	json_put(result, "resultType", json_new_string("input_required"));
	json_put(result, "inputRequests", read_text(round->requests));
	make_state(round, state);
	if (round->state)
		json_put(result, "requestState", json_new_string(state));
	mcp_answer(call, result);
}

static bool is_answered(const struct round *round, struct json_object *responses)
{
	auto_json struct json_object *requests = read_text(round->requests);
	json_object_object_foreach(requests, key, request)
	{
		(void)request;
		if (!json_object_is_type(member(responses, key), json_type_object))
			return false;
	}
	return true;
}

/* The round that the call answers; NULL: none, it begins. */
static const struct round *find_round(const char *tool, const char *state)
{
	for (size_t i = 0; i < COUNT_OF(rounds); i++) {
		char wanted[SHA256_HEX + 1];
		if (strcmp(rounds[i].tool, tool) != 0)
			continue;
		make_state(&rounds[i], wanted);
		if (!rounds[i].state || !state || strcmp(state, wanted) == 0)
			return &rounds[i];
	}
	return NULL;
}

/* True: all was asked and answered. */
static bool gather_input(struct mcp_call *call, const char *tool)
{
	struct json_object *responses = NULL;
	bool has_responses = json_object_object_get_ex(call->params, "inputResponses", &responses);
	struct json_object *state = member(call->params, "requestState");
	const struct round *round = find_round(tool, state ? json_object_get_string(state) : NULL);
	if (!round || (has_responses && !json_object_is_type(responses, json_type_object))) {
		mcp_refuse(call, MCP_INVALID_PARAMS, NULL,
			round ? "inputResponses must be an object" : "requestState is not ours");
		return false;
	}
	if (!has_responses || !is_answered(round, responses)) {
		ask_for_input(call, round);
		return false;
	}
	const struct round *next = round + 1;
	bool is_last = next == rounds + COUNT_OF(rounds) || strcmp(next->tool, tool) != 0;
	if (!is_last)
		ask_for_input(call, next);
	return is_last;
}

static int begin_input(struct mcp_call *call, struct json_object *arguments, struct err *err)
{
	(void)arguments;
	(void)err;
	if (gather_input(call, call->tool->name))
		mcp_finish_text(call, false, "state-ok: %s",
			json_object_to_json_string(member(call->params, "inputResponses")));
	return 0;
}

/* ---- prompts ------------------------------------------------------------------------------------
 */

#define ASKED(name) "{\"name\":\"" name "\",\"description\":\"for the suite\",\"required\":true}"
#define SAID(content) "{\"role\":\"user\",\"content\":{" content "}}"

/* clang-format off */
static const struct { const char *name, *arguments, *messages; } prompts[] = {
	{ "test_simple_prompt", "[]",
	  "[" SAID("\"type\":\"text\",\"text\":\"This is a simple prompt for testing.\"") "]" },
	{ "test_prompt_with_arguments", "[" ASKED("arg1") "," ASKED("arg2") "]",
	  "[" SAID("\"type\":\"text\",\"text\":\"Prompt with arguments: arg1='%s', arg2='%s'\"") "]" },
	{ "test_prompt_with_embedded_resource", "[" ASKED("resourceUri") "]",
	  "[" SAID("\"type\":\"resource\",\"resource\":{\"uri\":\"test://example-resource\","
		   "\"mimeType\":\"text/plain\",\"text\":\"Embedded resource content for testing.\"}") ","
	  SAID("\"type\":\"text\",\"text\":\"Please process the embedded resource above.\"") "]" },
	{ "test_prompt_with_image", "[]",
	  "[" SAID("\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"") ","
	  SAID("\"type\":\"text\",\"text\":\"Please analyze the image above.\"") "]" },
	{ "test_input_required_result_prompt", "[]",
	  "[" SAID("\"type\":\"text\",\"text\":\"With your context.\"") "]" },
};
/* clang-format on */

static void list_prompts(struct mcp_call *call)
{
	struct json_object *result = json_object_new_object();
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; i < COUNT_OF(prompts); i++) {
		struct json_object *prompt = json_object_new_object();
		json_put(prompt, "name", json_new_string(prompts[i].name));
		json_put(prompt, "description", json_new_string("for the suite"));
		json_put(prompt, "arguments", read_text(prompts[i].arguments));
		(void)json_object_array_add(list, prompt);
	}
	json_put(result, "prompts", list);
	mcp_answer(call, result);
}

/* The one prompt with arguments has two, which stand where its text has %s. */
static struct json_object *fill_in(const char *messages, struct json_object *arguments)
{
	const char *first = strstr(messages, "%s");
	const char *second = first ? strstr(first + 2, "%s") : NULL;
	if (!second)
		return read_text(messages);
	auto_free char *text = xasprintf("%.*s%s%.*s%s%s", (int)(first - messages), messages,
		text_of(arguments, "arg1"), (int)(second - first - 2), first + 2,
		text_of(arguments, "arg2"), second + 2);
	return read_text(text);
}

static void get_prompt(struct mcp_call *call)
{
	const char *name = text_of(call->params, "name");
	size_t at = 0;
	while (at < COUNT_OF(prompts) && strcmp(prompts[at].name, name) != 0)
		at++;
	if (at == COUNT_OF(prompts)) {
		mcp_refuse(call, MCP_INVALID_PARAMS, NULL, "there is no such prompt");
		return;
	}
	if (strstr(name, "input_required") && !gather_input(call, prompts[at].name))
		return;
	struct json_object *result = json_object_new_object();
	json_put(result, "messages",
		fill_in(prompts[at].messages, member(call->params, "arguments")));
	mcp_answer(call, result);
}

static void complete(struct mcp_call *call)
{
	mcp_answer(call,
		read_text(
			"{\"completion\":{\"values\":[\"test\"],\"total\":1,\"hasMore\":false}}"));
}

/* ---- resources ----------------------------------------------------------------------------------
 */

static void list_resources(struct mcp_call *call)
{
	mcp_answer(
		call, read_text("{\"resources\":[{\"uri\":\"test://static-text\",\"name\":\"text\","
				"\"description\":\"a text\",\"mimeType\":\"text/plain\"},"
				"{\"uri\":\"test://static-binary\",\"name\":\"binary\","
				"\"description\":\"a picture\",\"mimeType\":\"image/png\"},"
				"{\"uri\":\"test://watched-resource\",\"name\":\"watched\","
				"\"description\":\"a text\",\"mimeType\":\"text/plain\"}]}"));
}

static void list_templates(struct mcp_call *call)
{
	mcp_answer(call,
		read_text("{\"resourceTemplates\":[{\"uriTemplate\":\"test://template/{id}/data\","
			  "\"name\":\"template\",\"description\":\"data by its id\","
			  "\"mimeType\":\"application/json\"}]}"));
}

static struct json_object *new_contents(
	const char *uri, const char *mime, const char *key, const char *value)
{
	struct json_object *result = json_object_new_object();
	struct json_object *list = json_object_new_array();
	struct json_object *json = json_object_new_object();
	json_put(json, "uri", json_new_string(uri));
	json_put(json, "mimeType", json_new_string(mime));
	json_put(json, key, json_new_string(value));
	(void)json_object_array_add(list, json);
	json_put(result, "contents", list);
	return result;
}

static void read_resource(struct mcp_call *call)
{
	const char *uri = text_of(call->params, "uri");
	char id[16];
	if (strcmp(uri, "test://static-text") == 0 || strcmp(uri, "test://watched-resource") == 0) {
		mcp_answer(call, new_contents(uri, "text/plain", "text",
					 "This is the content of the static text resource."));
	} else if (strcmp(uri, "test://static-binary") == 0) {
		mcp_answer(call, new_contents(uri, "image/png", "blob", PNG));
	} else if (sscanf(uri, "test://template/%15[a-z0-9]/data", id) == 1) {
		auto_free char *text = xasprintf(
			"{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for ID: %s\"}", id,
			id);
		mcp_answer(call, new_contents(uri, "application/json", "text", text));
	} else {
		struct json_object *data = json_object_new_object();
		json_put(data, "uri", json_new_string(uri));
		mcp_refuse(call, MCP_INVALID_PARAMS, data, "Resource not found");
	}
}

static void answer_nothing(struct mcp_call *call)
{
	mcp_answer(call, json_object_new_object());
}

/* ---- the service --------------------------------------------------------------------------------
 */

#define TOOL(tool_name, function, ...)                                                 \
	{                                                                              \
		.name = tool_name, .title = tool_name, .description = "for the suite", \
		.begin = function, __VA_ARGS__                                         \
	}

/* clang-format off */
static const struct mcp_tool tools[] = {
	TOOL("test_simple_text", begin_canned),
	TOOL("test_image_content", begin_canned),
	TOOL("test_audio_content", begin_canned),
	TOOL("test_embedded_resource", begin_canned),
	TOOL("test_multiple_content_types", begin_canned),
	TOOL("test_error_handling", begin_canned),
	TOOL("test_tool_with_progress", begin_progress),
	TOOL("test_tool_with_logging", begin_logging),
	TOOL("test_logging_tool", begin_logging),
	TOOL("test_trigger_tool_change", begin_change),
	TOOL("test_trigger_prompt_change", begin_change),
	TOOL("test_missing_capability", begin_capability),
	TOOL("test_sampling", begin_impossible, .params = { { .name = "prompt", .help = "a prompt", .is_own = true } }),
	TOOL("test_elicitation", begin_impossible, .params = { { .name = "message", .help = "a text", .is_own = true } }),
	TOOL("test_elicitation_sep1034_defaults", begin_impossible),
	TOOL("test_elicitation_sep1330_enums", begin_impossible),
	TOOL("test_streaming_elicitation", begin_input),
	TOOL("test_input_required_result_elicitation", begin_input),
	TOOL("test_input_required_result_sampling", begin_input),
	TOOL("test_input_required_result_list_roots", begin_input),
	TOOL("test_input_required_result_request_state", begin_input),
	TOOL("test_input_required_result_tampered_state", begin_input),
	TOOL("test_input_required_result_multiple_inputs", begin_input),
	TOOL("test_input_required_result_multi_round", begin_input),
	TOOL("test_input_required_result_capabilities", begin_input),
};

static const struct mcp_method methods[] = {
	{ .name = "prompts/list", .eras = MCP_BOTH, .is_cacheable = true, .answer = list_prompts },
	{ .name = "prompts/get", .eras = MCP_BOTH, .named_by = "name", .answer = get_prompt },
	{ .name = "resources/list", .eras = MCP_BOTH, .is_cacheable = true, .answer = list_resources },
	{ .name = "resources/templates/list", .eras = MCP_BOTH, .is_cacheable = true,
	  .answer = list_templates },
	{ .name = "resources/read", .eras = MCP_BOTH, .is_cacheable = true, .named_by = "uri",
	  .answer = read_resource },
	{ .name = "resources/subscribe", .eras = MCP_LEGACY, .answer = answer_nothing },
	{ .name = "resources/unsubscribe", .eras = MCP_LEGACY, .answer = answer_nothing },
	{ .name = "logging/setLevel", .eras = MCP_LEGACY, .answer = answer_nothing },
	{ .name = "completion/complete", .eras = MCP_BOTH, .answer = complete },
};
/* clang-format on */

static void put_capabilities(struct json_object *capabilities, bool is_modern)
{
	json_put(capabilities, "prompts", read_text("{\"listChanged\":true}"));
	json_put(capabilities, "resources", read_text(is_modern ? "{}" : "{\"subscribe\":true}"));
	json_put(capabilities, "completions", json_object_new_object());
	if (!is_modern)
		json_put(capabilities, "logging", json_object_new_object());
}

const struct mcp_service mcp_service = {
	.name = "hotcell-fixtures",
	.title = "hotcell, as the conformance suite wants it",
	.tools = tools,
	.tool_count = COUNT_OF(tools),
	.methods = methods,
	.method_count = COUNT_OF(methods),
	.has_changes = true,
	.put_capabilities = put_capabilities,
};
