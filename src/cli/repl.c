/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell-repl, which hotcell repl becomes: a prompt for a session. */
#include "cli/repl.h"

#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "cli/session_view.h"

enum { PROMPT_MAX = 100, MATCHES_MAX = 500, MATCH_BYTES_MAX = 256 };

/* ---- the editor's questions -------------------------------------------------------------------
 */

/* Without the blanks of a last line that has nothing else. */
static size_t code_len(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	return len;
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\n")] == '\0';
}

/* Where the code for the session begins, in what is typed. */
struct part {
	const char *code; /* NULL: nothing of it is for the session */
	bool has_end;     /* it goes on until an empty line, as %%save does */
};

static struct part part_of(const char *text)
{
	struct magic magic = { 0 };
	struct part part = { .code = text };
	char *name = NULL;
	int detail = 0;
	if (magic_is_question(text, &name, &detail)) {
		free(name);
		return (struct part){ 0 };
	}
	if (!magic_parse(text, &magic))
		return part;
	const char *end = strchr(text + strspn(text, " \t\n"), '\n');
	part.has_end = magic.wants_body;
	part.code = end ? end + 1 : "";
	if (!repl_magic_has_body(magic.name) || (!magic.wants_body && !magic.body[0]))
		part.code = NULL;
	magic_done(&magic);
	return part;
}

static bool is_last_line_blank(const char *text)
{
	size_t len = code_len(text, strlen(text));
	return len == 0 || text[len - 1] == '\n';
}

static bool ends(void *context, const char *text, size_t len, char indent[INDENT_MAX])
{
	struct repl *repl = context;
	struct part part = part_of(text);
	auto_json struct json_object *answer = NULL;
	(void)len;
	if (is_blank(text) || !part.code)
		return true;
	struct json_object *request = json_object_new_object();
	json_put(request, "code", json_new_text(part.code, code_len(part.code, strlen(part.code))));
	if (!repl_question(repl, "is_complete", request, &answer))
		return true; /* then executing it tells why */
	const char *state = repl_text(answer, "state");
	const char *blanks = repl_text(answer, "indent");
	bool is_whole = !state || strcmp(state, "incomplete") != 0;
	if (is_whole && (!part.has_end || (!is_blank(part.code) && is_last_line_blank(part.code))))
		return true;
	if (blanks && strspn(blanks, " \t") == strlen(blanks) && strlen(blanks) < INDENT_MAX)
		(void)snprintf(indent, INDENT_MAX, "%s", blanks);
	return false;
}

/* Positions are told in characters. */
static int64_t count_characters(const char *text, size_t len)
{
	int64_t count = 0;
	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static size_t byte_of(const char *text, size_t len, int64_t character)
{
	size_t at = 0;
	while (at < len && character-- > 0) {
		at++;
		while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}

/* What a cell proposes is put into the text only when it is text. */
static bool is_clean(const char *match)
{
	for (const char *at = match; *at; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return false;
	}
	return match[0] != '\0' && strlen(match) < MATCH_BYTES_MAX;
}

static void take_matches(struct json_object *list, struct strings *matches)
{
	size_t count =
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	for (size_t i = 0; i < count && matches->count < MATCHES_MAX; i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		if (json_object_is_type(item, json_type_string) &&
			is_clean(json_object_get_string(item)))
			strings_add(matches, json_object_get_string(item));
	}
}

static bool complete_magic(const char *text, size_t cursor, struct completion *completion)
{
	size_t start = strspn(text, " ");
	if (text[start] != '%' || strcspn(text, " \t\n") < cursor)
		return false;
	auto_free char *prefix = xstrndup(text + start, cursor - start);
	repl_magic_names(prefix, &completion->matches);
	completion->start = start;
	completion->end = cursor;
	return true;
}

static bool complete(void *context, const char *text, size_t len, size_t cursor,
	struct completion *ret_completion)
{
	struct repl *repl = context;
	auto_json struct json_object *answer = NULL;
	if (complete_magic(text, cursor, ret_completion))
		return true;
	struct json_object *request = json_object_new_object();
	json_put(request, "code", json_new_text(text, len));
	json_put(request, "cursor", json_object_new_int64(count_characters(text, cursor)));
	if (!repl_question(repl, "complete", request, &answer))
		return false;
	take_matches(json_object_object_get(answer, "matches"), &ret_completion->matches);
	ret_completion->start =
		byte_of(text, len, json_object_get_int64(json_object_object_get(answer, "start")));
	ret_completion->end =
		byte_of(text, len, json_object_get_int64(json_object_object_get(answer, "end")));
	return true;
}

void repl_inspect(struct repl *repl, const char *name, int detail)
{
	auto_json struct json_object *answer = NULL;
	struct json_object *request = json_object_new_object();
	json_put(request, "name", json_new_string(name));
	json_put(request, "detail", json_object_new_int(detail));
	const char *text =
		repl_question(repl, "inspect", request, &answer) ? repl_text(answer, "text") : NULL;
	if (!text) {
		(void)fprintf(stderr, "hotcell: nothing is known of '%s'\n", name);
		return;
	}
	cli_print(stdout, text, strlen(text));
	(void)printf("%s", text[0] && text[strlen(text) - 1] == '\n' ? "" : "\n");
	(void)fflush(stdout);
}

/* ---- the prompt -------------------------------------------------------------------------------
 */

static void greet(const struct repl *repl)
{
	struct err err = { 0 };
	auto_json struct json_object *info = NULL;
	auto_buf struct buf limits = { 0 };
	auto_buf struct buf line = { 0 };
	buf_init(&limits, 1 << 16);
	buf_init(&line, 1 << 16);
	if (sessions_ask(sessions_request("info", repl->session), &info, &err) == 0)
		session_limits_put(&limits, info, ", ", true);
	auto_free char *first = xasprintf("hotcell %s · %s · session %s%s", HOTCELL_VERSION,
		repl->language, repl->session,
		repl_is_own(repl) ? ", which ends when you leave" : ", which stays");
	style_begin(&line, &repl->term, STYLE_BOLD);
	(void)text_put(&line, first, strlen(first), repl->term.columns - 1);
	style_end(&line, &repl->term, STYLE_BOLD);
	(void)buf_append(&line, "\n", 1);
	style_begin(&line, &repl->term, STYLE_DIM);
	(void)text_put(&line, buf_text(&limits), limits.len, repl->term.columns - 1);
	(void)buf_printf(&line, "%s", limits.len > 0 ? "\n" : "");
	(void)buf_printf(&line, "%%help lists the magics, ?name tells about a name, Tab "
				"completes");
	style_end(&line, &repl->term, STYLE_DIM);
	(void)buf_append(&line, "\n", 1);
	(void)io_write(repl->term.fd, buf_text(&line), line.len);
}

/* A session with a name of its own shows it. */
static void make_prompts(const struct repl *repl, char *first, char *more)
{
	(void)snprintf(first, PROMPT_MAX, "%s [%lld]: ", repl_is_own(repl) ? "In" : repl->session,
		(long long)repl->number);
	size_t len = strlen(first);
	(void)snprintf(more, PROMPT_MAX, "%*s...: ", (int)(len > 5 ? len - 5 : 0), "");
}

static void take_text(struct repl *repl, const char *text)
{
	struct magic magic = { 0 };
	auto_free char *name = NULL;
	int detail = 0;
	if (is_blank(text))
		return;
	if (magic_is_question(text, &name, &detail)) {
		repl_inspect(repl, name, detail);
	} else if (magic_parse(text, &magic)) {
		repl_magic(repl, &magic);
		magic_done(&magic);
	} else {
		(void)repl_execute(repl, text, code_len(text, strlen(text)));
	}
}

static int prompt_loop(struct repl *repl)
{
	while (!repl->is_leaving) {
		auto_free char *text = NULL;
		char first[PROMPT_MAX], more[PROMPT_MAX];
		struct frame_prompt prompt = { first, more, STYLE_HINT };
		make_prompts(repl, first, more);
		enum editor_answer answer = editor_read(&repl->editor, &prompt, &text);
		if (answer == EDITOR_END || answer == EDITOR_QUIT)
			break;
		if (answer == EDITOR_TEXT)
			take_text(repl, text);
		(void)fflush(stdout);
	}
	if (repl->term.is_terminal && !repl_is_own(repl) && !repl->has_ended)
		(void)fprintf(stderr,
			"hotcell: session '%s' stays; hotcell repl --session %s comes back to it\n",
			repl->session, repl->session);
	/* a script wants to know; whoever sits at the prompt has seen it */
	return repl->has_failed && !repl->editor.has_terminal ? 1 : 0;
}

static int prompt_for(struct repl *repl)
{
	term_look(&repl->term, STDOUT_FILENO, repl->manner.colour);
	repl->highlight = highlight_load(repl->language);
	history_open(&repl->history, repl->language);
	repl->editor = (struct editor){ .term = &repl->term,
		.highlight = repl->highlight,
		.history = &repl->history,
		.hooks = { ends, complete, repl },
		.interrupt_fd = repl->interrupt_fd };
	if (repl->term.is_terminal && isatty(STDIN_FILENO))
		greet(repl);
	editor_open(&repl->editor);
	int status = prompt_loop(repl);
	editor_close(&repl->editor);
	history_done(&repl->history);
	highlight_free(repl->highlight);
	return status;
}

/* ---- the command ------------------------------------------------------------------------------
 */

static const struct cli_option options[] = {
	{ .flag = "session",
		.metavar = "NAME",
		.help = "join this session, or make it: it stays when you leave" },
	SESSION_OPTIONS,
	CLI_CONFIG_OPTIONS,
	{ .flag = "json", .help = "the line protocol for programs: requests and events as JSON" },
	{ .flag = "color",
		.metavar = "WHEN",
		.help = "colours, tables and pictures: auto (on a terminal), always, never "
			"[auto]" },
	{ .flag = "rows", .metavar = "N", .help = "most rows of a table shown on a terminal [20]" },
};

static const char examples[] = "  hotcell repl\n"
			       "  hotcell repl -l bash\n"
			       "  hotcell repl --session work -m 1G --ro .:/home/user/project\n"
			       "  hotcell repl --json <requests.jsonl\n";

static int take(void *context, const char *flag, const char *value, struct err *err)
{
	struct repl *repl = context;
	if (strcmp(flag, "session") == 0) {
		repl->wanted = value;
		return 0;
	}
	if (cli_take_config(&repl->wish, flag, value))
		return 0;
	int taken = session_options_take(&repl->options, flag, value, err);
	if (taken == 0)
		taken = manner_take(&repl->manner, flag, value, err);
	return taken < 0 ? -1 : 0;
}

static int serve(struct repl *repl, struct err *err)
{
	repl->has_language = repl->spec.language != NULL;
	TRY(cli_configure(&repl->spec, &repl->wish, err));
	repl->interrupt_fd = cli_open_interrupts();
	TRY(repl_begin(repl, err));
	int status = repl->manner.is_json ? repl_json(repl) : prompt_for(repl);
	repl_end(repl);
	own_close(&repl->interrupt_fd);
	return status;
}

/* Whoever speaks JSON hears it in JSON, too. */
static void say_refusal(const struct err *err)
{
	auto_json struct json_object *line = json_object_new_object();
	json_put(line, "id", NULL);
	json_put(line, "ok", json_object_new_boolean(false));
	json_put(line, "error", json_new_string(err->text));
	auto_free char *text = json_print(line, false);
	(void)printf("%s\n", text);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct repl repl = { .options.undo = REPL_UNDO, .interrupt_fd = -1, .owner_fd = -1 };
	struct cli_line line = { .takes = session_takes, .context = &repl, .take = take };
	spec_init(&repl.spec);
	int status = cli_read(argc, argv, &repl.spec, options, COUNT_OF(options), &line, &err);
	if (status == 0 && line.has_help)
		cli_help(command, options, COUNT_OF(options), true, examples);
	else if (status == 0 && line.rest < argc)
		status = err_set(&err, ERR_INVALID,
			"repl takes no argument, and '%.60s' is one; hotcell session exec runs a "
			"file in a session",
			argv[line.rest]);
	else if (status == 0)
		status = serve(&repl, &err);
	if (status < 0 && repl.manner.is_json)
		say_refusal(&err);
	spec_done(&repl.spec);
	free(repl.session);
	free(repl.own);
	free(repl.made);
	free(repl.language);
	free(repl.last_code);
	return status < 0 ? cli_fail(&err) : status;
}

const struct command repl_command = {
	.name = "repl",
	.usage = "[-l LANG] [--session NAME] [OPTIONS]",
	.help = "a prompt: code line by line, in a session that remembers",
	.run = run,
	.takes = session_takes,
};
