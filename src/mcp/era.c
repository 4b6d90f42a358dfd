/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version a message speaks. A request whose _meta names one is modern, whatever it names; one
 * that does not is legacy, and speaks what was agreed upon or what its header says. Where there are
 * headers, those of a modern request repeat what stands in it, and must not say anything else: who
 * sits between reads the headers only.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "mcp/parts.h"
#include "wire/base64.h"
#include "wire/json.h"

/* clang-format off */
const char *const mcp_version_names[MCP_VERSION_COUNT] = {
	[MCP_VERSION_NONE] = "",
	[MCP_2024_11_05]   = "2024-11-05",
	[MCP_2025_03_26]   = "2025-03-26",
	[MCP_2025_06_18]   = "2025-06-18",
	[MCP_2025_11_25]   = "2025-11-25",
	[MCP_2026_07_28]   = "2026-07-28",
};
/* clang-format on */

static const char version_key[] = "io.modelcontextprotocol/protocolVersion";
static const char capabilities_key[] = "io.modelcontextprotocol/clientCapabilities";

enum mcp_version mcp_version_find(const char *name)
{
	for (int i = MCP_2024_11_05; i < MCP_VERSION_COUNT; i++)
		if (strcmp(mcp_version_names[i], name) == 0)
			return (enum mcp_version)i;
	return MCP_VERSION_NONE;
}

/* Versions are days: they can be compared as texts. */
static bool names_modern(const char *header)
{
	const char *first = mcp_version_names[MCP_2026_07_28];
	return strlen(header) == strlen(first) && strspn(header, "0123456789-") == strlen(first) &&
	       strcmp(header, first) >= 0;
}

/* What a header says: without blanks around it, and decoded if it had to be encoded. */
static bool says(const char *header, const char *wanted)
{
	static const char mark[] = "=?base64?";
	static const char end[] = "?=";
	size_t len = strlen(header);
	while (len > 0 && strchr(" \t", header[len - 1]))
		len--;
	while (len > 0 && strchr(" \t", *header)) {
		header++;
		len--;
	}
	if (len < strlen(mark) + strlen(end) || strncmp(header, mark, strlen(mark)) != 0 ||
		strncmp(header + len - strlen(end), end, strlen(end)) != 0)
		return strlen(wanted) == len && memcmp(header, wanted, len) == 0;
	auto_buf struct buf text;
	buf_init(&text, len);
	return base64_decode(header + strlen(mark), len - strlen(mark) - strlen(end), &text) &&
	       text.len == strlen(wanted) && memcmp(text.data, wanted, text.len) == 0;
}

static int check_header(const char *name, const char *header, const char *wanted, struct err *err)
{
	if (!header)
		return err_set(err, ERR_INVALID, "the header %s is missing", name);
	if (!says(header, wanted))
		return err_set(err, ERR_INVALID,
			"the header %s is not what the message says: '%.80s'", name, wanted);
	return 0;
}

int mcp_check_headers(
	const struct mcp_context *context, const struct mcp_call *call, struct err *err)
{
	struct json_object *method = json_object_object_get(call->message, "method");
	struct json_object *name = NULL;
	if (!context->has_headers || !mcp_is_modern(call) || !call->id)
		return 0;
	TRY(check_header(
		"Mcp-Method", context->method_header, json_object_get_string(method), err));
	if (!call->method || !call->method->named_by ||
		!json_object_object_get_ex(call->params, call->method->named_by, &name) ||
		!json_object_is_type(name, json_type_string))
		return 0;
	return check_header("Mcp-Name", context->name_header, json_object_get_string(name), err);
}

static struct json_object *list_versions(enum mcp_version first, enum mcp_version last)
{
	struct json_object *list = json_object_new_array();
	for (int i = (int)last; i >= (int)first; i--)
		(void)json_object_array_add(list, json_new_string(mcp_version_names[i]));
	return list;
}

static int classify_legacy(const struct mcp_context *context, struct mcp_call *call,
	struct json_object **ret_data, struct err *err)
{
	const char *header = context->version_header;
	call->version = MCP_2025_11_25;
	if (context->peer && context->peer->version)
		call->version = context->peer->version;
	if (!context->has_headers)
		return 0;
	if (header && names_modern(header) && call->id) {
		(void)err_set(err, ERR_INVALID,
			"params._meta must hold %s and %s in every request of this version",
			version_key, capabilities_key);
		return MCP_INVALID_PARAMS;
	}
	/* a client that says nothing is taken for one from before the header */
	call->version = header ? mcp_version_find(header) : MCP_2025_03_26;
	if (call->version)
		return 0;
	call->version = MCP_2025_11_25;
	*ret_data = json_object_new_object();
	json_put(*ret_data, "supported", list_versions(MCP_2024_11_05, MCP_2026_07_28));
	(void)err_set(err, ERR_INVALID,
		"the header MCP-Protocol-Version names '%.40s', which is "
		"unknown here",
		header);
	return MCP_INVALID_REQUEST;
}

int mcp_classify(const struct mcp_context *context, struct mcp_call *call,
	struct json_object **ret_data, struct err *err)
{
	struct json_object *meta = json_object_object_get(call->params, "_meta");
	struct json_object *claim = NULL;
	struct json_object *capabilities = NULL;
	if (!json_object_is_type(meta, json_type_object) ||
		!json_object_object_get_ex(meta, version_key, &claim))
		return classify_legacy(context, call, ret_data, err);
	call->version = MCP_2026_07_28; /* the era in which it is answered */
	if (!json_object_is_type(claim, json_type_string) ||
		!json_object_object_get_ex(meta, capabilities_key, &capabilities) ||
		!json_object_is_type(capabilities, json_type_object)) {
		(void)err_set(err, ERR_INVALID,
			"params._meta must hold %s, a string, and %s, an object", version_key,
			capabilities_key);
		return MCP_INVALID_PARAMS;
	}
	const char *name = json_object_get_string(claim);
	if (context->has_headers && call->id &&
		check_header("MCP-Protocol-Version", context->version_header, name, err) < 0)
		return MCP_HEADER_MISMATCH;
	if (mcp_version_find(name) >= MCP_2026_07_28)
		return 0;
	*ret_data = json_object_new_object();
	json_put(*ret_data, "supported", list_versions(MCP_2026_07_28, MCP_2026_07_28));
	json_put(*ret_data, "requested", json_new_string(name));
	(void)err_set(err, ERR_INVALID, "Unsupported protocol version");
	return MCP_UNSUPPORTED_VERSION;
}
