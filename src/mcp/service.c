/* SPDX-License-Identifier: Apache-2.0 */
/* What hotcell serves. The words are for models: when to use a tool, what it can do, what not. */
#include "base/own.h"
#include "mcp/parts.h"
#include "wire/json.h"

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
	"its line and a hint. An option in a hint, such as --timeout 60, is an argument here: "   \
	"timeout."

/* clang-format off */
#define FIELD(field) { .name = (field) }
#define PARAM(param, words) { .name = (param), .help = (words) }
#define NEEDED(param, words) { .name = (param), .help = (words), .is_needed = true }
#define OWN_PARAM(param, words) { .name = (param), .help = (words), .is_own = true }
#define OWN_NEEDED(param, words) { .name = (param), .help = (words), .is_needed = true, .is_own = true }

static const struct mcp_tool tools[] = {
	{ .name = "run_code", .title = "Run code",
	  .description =
		"Run code in a fresh sandbox, in any of the languages that list_languages names. " CELL
		KEPT_NOTHING ANSWER " In Python, figures of matplotlib come back as images.",
	  .params = {
		NEEDED("code", "the whole program"),
		PARAM("language", "its language, for example python, javascript, typescript, bash, sql, go, c; "
			      "default python"),
		FIELD("args"), PARAM("env", "variables for the code, each as NAME=VALUE"),
		FIELD("timeout"), FIELD("memory"), FIELD("max_output"), FIELD("net") },
	  .describe = mcp_describe_result, .finish = mcp_finish_run },

	{ .name = "run_python_code", .title = "Run Python",
	  .description =
		"Run Python code in a fresh sandbox and get its output as short text. " CELL KEPT_NOTHING
		ANSWER " Figures of matplotlib come back as images.",
	  .params = { NEEDED("code", "the whole program"), FIELD("timeout") },
	  .language = "python", .describe = mcp_describe_result, .finish = mcp_finish_run },

	{ .name = "python_exec", .title = "Python (system tool)",
	  .description =
		"The system's own Python: like run_python_code, with limits and refused imports of its own. "
		CELL KEPT_NOTHING ANSWER,
	  .params = {
		NEEDED("code", "the whole program"),
		FIELD("timeout"), FIELD("cpu_time"), FIELD("memory"), FIELD("pids"), FIELD("disk"), FIELD("max_output"),
		PARAM("block_modules", "modules that the code must not import") },
	  .is_system = true, .language = "python", .mode = "python_exec_tool",
	  .describe = mcp_describe_result, .finish = mcp_finish_run },

	{ .name = "run_file", .title = "Run a file", .needs_roots = true,
	  .description =
		"Run a program that is a file of this machine, in a fresh sandbox. The file is copied in; "
		"nothing else of its directory is there, and nothing it writes comes back. " CELL ANSWER,
	  .params = {
		OWN_NEEDED("path", "the file, relative to the directory that the server was started in"),
		PARAM("language", "its language; default by the ending of its name"),
		FIELD("args"), PARAM("env", "variables for the code, each as NAME=VALUE"),
		FIELD("timeout"), FIELD("memory"), FIELD("max_output") },
	  .describe = mcp_describe_result, .finish = mcp_finish_run },

	{ .name = "check_code", .title = "Check code",
	  .description =
		"Look at code without running it: what it imports, and what it does that a person may want to "
		"know before it runs. Not needed before run_code, which looks by itself.",
	  .params = {
		NEEDED("code", "the code to look at"),
		PARAM("language", "its language; default python") },
	  .is_read_only = true, .is_idempotent = true, .kind = WORK_CHECK,
	  .describe = mcp_describe_check, .finish = mcp_finish_check },

	{ .name = "session_new", .title = "New session",
	  .description =
		"Start a sandbox that remembers: variables, imports and files stay from one session_exec to the "
		"next. Use it for work in several steps. End it with session_kill. " CELL,
	  .params = {
		PARAM("name", "a name for it, of letters and digits; default: one is made up"),
		PARAM("language", "the language of its code; default python"),
		PARAM("timeout", "end each execution after this many seconds"),
		FIELD("memory"), FIELD("disk"), PARAM("env", "variables for the code, each as NAME=VALUE"),
		FIELD("net"), FIELD("idle"), FIELD("lifetime") },
	  .kind = WORK_SESSION, .verb = "new",
	  .describe = mcp_describe_session, .finish = mcp_finish_new },

	{ .name = "session_exec", .title = "Run code in a session",
	  .description =
		"Run code in a session that session_new started; it goes on where the last execution stopped. "
		ANSWER " An error leaves the session as it is up to that line. Files that the code writes in its "
		"directory come back as links to resources.",
	  .params = {
		NEEDED("session", "the name of the session"),
		NEEDED("code", "the code to run"),
		PARAM("timeout", "end it after this many seconds; the session stays; default as the session's"),
		FIELD("max_output") },
	  .kind = WORK_TURN, .waits = true,
	  .describe = mcp_describe_result, .finish = mcp_finish_turn },

	{ .name = "session_checkpoint", .title = "Remember a session",
	  .description =
		"Remember how a session is now, its variables and its files, as a point that session_rollback "
		"can go back to. Use it before a step that may go wrong.",
	  .params = {
		OWN_NEEDED("session", "the name of the session"),
		OWN_PARAM("point", "a name for the point; default: its number") },
	  .kind = WORK_SESSION, .verb = "checkpoint", .waits = true,
	  .describe = mcp_describe_point, .finish = mcp_finish_checkpoint },

	{ .name = "session_rollback", .title = "Go back in a session",
	  .description =
		"Make a session what it was at a point of session_checkpoint. What happened since then is lost.",
	  .params = {
		OWN_NEEDED("session", "the name of the session"),
		OWN_NEEDED("point", "the name or the number of the point") },
	  .is_destructive = true, .is_idempotent = true,
	  .kind = WORK_SESSION, .verb = "rollback", .waits = true,
	  .describe = mcp_describe_point, .finish = mcp_finish_rollback },

	{ .name = "session_fork", .title = "Branch a session",
	  .description =
		"Start another session that begins exactly as this one is now. Both go on apart from each other: "
		"use it to try two ways.",
	  .params = {
		OWN_NEEDED("session", "the name of the session to begin with"),
		OWN_PARAM("name", "a name for the new one; default: one is made up") },
	  .kind = WORK_SESSION, .verb = "fork", .waits = true,
	  .describe = mcp_describe_session, .finish = mcp_finish_fork },

	{ .name = "session_list", .title = "List sessions",
	  .description = "List the sessions there are, with their languages and points.",
	  .is_read_only = true, .is_idempotent = true, .kind = WORK_SESSION, .verb = "list",
	  .describe = mcp_describe_sessions, .finish = mcp_finish_sessions },

	{ .name = "session_kill", .title = "End a session",
	  .description = "End a session. Its variables and files are gone.",
	  .params = { OWN_NEEDED("session", "the name of the session") },
	  .is_destructive = true, .is_idempotent = true, .kind = WORK_SESSION, .verb = "kill",
	  .describe = mcp_describe_end, .finish = mcp_finish_kill },

	{ .name = "list_languages", .title = "List languages",
	  .description =
		"List the languages that run_code knows on this machine, with their versions and other "
		"names.",
	  .is_read_only = true, .is_idempotent = true, .kind = WORK_LANGUAGES,
	  .describe = mcp_describe_languages, .finish = mcp_finish_languages },
};
/* clang-format on */

_Static_assert(COUNT_OF(tools) <= MCP_TOOLS_MAX, "a count for every tool");

static void put_capabilities(struct json_object *capabilities, bool is_modern)
{
	(void)is_modern;
	json_put(capabilities, "resources", json_object_new_object());
}

const struct mcp_service mcp_service = {
	.name = "hotcell",
	.title = "hotcell",
	.instructions = "Runs code in sandboxes on this machine. Use run_code for a program that "
			"stands for itself; session_new and session_exec for work in several "
			"steps, where variables and files stay.",
	.tools = tools,
	.tool_count = COUNT_OF(tools),
	.methods = mcp_resource_methods,
	.method_count = MCP_RESOURCE_METHODS,
	.put_capabilities = put_capabilities,
};
