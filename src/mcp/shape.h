/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of what tools return: a table that is both the schema and the choice of what is sent. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

/* A member and its type: "?" after it may be null, "[]" a list of them. Tables end with { 0 }. */
struct mcp_part {
	const char *name, *type, *help;
	const struct mcp_part *parts; /* of an object, or of those in a list; NULL: as it is */
	bool is_optional;
	bool is_run_status; /* a text of run_status_names */
};

#define PART(part_name, part_type, part_help, ...)                                   \
	{                                                                            \
		.name = part_name, .type = part_type, .help = part_help, __VA_ARGS__ \
	}

/* Both are owned by the caller. */
struct json_object *mcp_describe_parts(const struct mcp_part *parts);
struct json_object *mcp_pick(struct json_object *from, const struct mcp_part *parts);
