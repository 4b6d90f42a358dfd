/* SPDX-License-Identifier: Apache-2.0 */
/* What hotcell serves. The words are for models: when to use a tool, what it can do, what not. */
#include "base/own.h"
#include "mcp/parts.h"

#define CELL                                                                                       \
	"The code runs isolated from this machine: no network, no access to its files, limits on " \
	"time and memory. "

#define KEPT_NOTHING                                                                      \
	"Each call starts fresh: variables and files of earlier calls are gone, so pass " \
	"everything "                                                                     \
	"that is needed in one call. "

#define ANSWER                                                                                    \
	"Returns what was printed and the value of the last expression; if it failed, the error " \
	"with "                                                                                   \
	"its line and a hint."

/* clang-format off */
static const struct mcp_tool tools[] = {
	{ .name = "run_code", .title = "Run code",
	  .description =
		"Run code in a fresh sandbox, in any of the languages that list_languages names. " CELL
		KEPT_NOTHING ANSWER " In Python, figures of matplotlib come back as images.",
	  .params = {
		{ "code", "the whole program", .is_needed = true },
		{ "language", "its language, for example python, javascript, typescript, bash, sql, go, c; "
			      "default python" },
		{ "args" }, { "env", "variables for the code, each as NAME=VALUE" },
		{ "timeout" }, { "memory" }, { "max_output" }, { "net" } },
	  .describe = mcp_describe_result, .begin = mcp_begin_run },

	{ .name = "run_python_code", .title = "Run Python",
	  .description =
		"Run Python code in a fresh sandbox and get its output as short text. " CELL KEPT_NOTHING
		ANSWER " Figures of matplotlib come back as images.",
	  .params = { { "code", "the whole program", .is_needed = true }, { "timeout" } },
	  .fixed = "python", .describe = mcp_describe_result, .begin = mcp_begin_run },

	{ .name = "python_exec", .title = "Python (system tool)",
	  .description =
		"The system's own Python: like run_python_code, with limits and refused imports of its own. "
		CELL KEPT_NOTHING ANSWER,
	  .params = {
		{ "code", "the whole program", .is_needed = true },
		{ "timeout" }, { "cpu_time" }, { "memory" }, { "pids" }, { "disk" }, { "max_output" },
		{ "block_modules", "modules that the code must not import" } },
	  .is_system = true, .fixed = "python", .mode = "python_exec_tool",
	  .describe = mcp_describe_result, .begin = mcp_begin_run },

	{ .name = "run_file", .title = "Run a file", .needs_roots = true,
	  .description =
		"Run a program that is a file of this machine, in a fresh sandbox. The file is copied in; "
		"nothing else of its directory is there, and nothing it writes comes back. " CELL ANSWER,
	  .params = {
		{ "path", "the file, relative to the directory that the server was started in",
		  .is_needed = true, .is_own = true },
		{ "language", "its language; default by the ending of its name" },
		{ "args" }, { "env", "variables for the code, each as NAME=VALUE" },
		{ "timeout" }, { "memory" }, { "max_output" } },
	  .describe = mcp_describe_result, .begin = mcp_begin_run },

	{ .name = "list_languages", .title = "List languages",
	  .description =
		"List the languages that run_code knows on this machine, with their versions and other "
		"names.",
	  .is_read_only = true, .is_idempotent = true,
	  .describe = mcp_describe_languages, .begin = mcp_begin_languages },
};
/* clang-format on */

_Static_assert(COUNT_OF(tools) <= MCP_TOOLS_MAX, "a count for every tool");

const struct mcp_service mcp_service = {
	.name = "hotcell",
	.title = "hotcell",
	.instructions = "Runs code in sandboxes on this machine. Use run_code for a program that "
			"stands for itself.",
	.tools = tools,
	.tool_count = COUNT_OF(tools),
};
