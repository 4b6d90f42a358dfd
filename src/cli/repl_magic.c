/* SPDX-License-Identifier: Apache-2.0 */
/* The magics of the prompt: one row of a table each. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "cli/repl.h"
#include "cli/session_view.h"
#include "model/units.h"
#include "wire/utf8.h"

enum { TEXT_MAX = 16 << 20 };

#define SAVE_QUESTION "Write this to file? (y/n)"

struct row {
	const char *name;
	const char *words; /* what follows it; NULL: nothing; in brackets: may be left out */
	const char *help;
	bool has_body; /* code may stand in the lines below it */
	int (*run)(struct repl *repl, const struct magic *magic, struct err *err);
};

static void print_text(const struct buf *text)
{
	(void)fwrite(buf_text(text), 1, text->len, stdout);
	(void)fflush(stdout);
}

/* ---- points -----------------------------------------------------------------------------------
 */

static int tell_point(struct json_object *answer, const char *what)
{
	auto_free char *name = session_point_name(json_object_object_get(answer, "point"));
	(void)printf("%s%s\n", what, name);
	(void)fflush(stdout);
	sessions_tell_notes(answer);
	return 0;
}

static int undo(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_json struct json_object *answer = NULL;
	(void)magic;
	TRY(sessions_ask(sessions_request("undo", repl->session), &answer, err));
	repl_go_back(repl, answer);
	return tell_point(answer, "back at ");
}

static int checkpoint(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_json struct json_object *answer = NULL;
	struct json_object *request = sessions_request("checkpoint", repl->session);
	if (magic->words[0])
		json_put(request, "point", json_new_string(magic->words));
	TRY(sessions_ask(request, &answer, err));
	return tell_point(answer, "");
}

static int rollback(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_json struct json_object *answer = NULL;
	struct json_object *request = sessions_request("rollback", repl->session);
	json_put(request, "point", json_new_string(magic->words));
	TRY(sessions_ask(request, &answer, err));
	repl_go_back(repl, answer);
	return tell_point(answer, "back at ");
}

static int info_of(struct repl *repl, struct json_object **ret_info, struct err *err)
{
	return sessions_ask(sessions_request("info", repl->session), ret_info, err);
}

static int points(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_json struct json_object *info = NULL;
	auto_buf struct buf text = { 0 };
	(void)magic;
	buf_init(&text, TEXT_MAX);
	TRY(info_of(repl, &info, err));
	session_points_put(&text, info, &repl->term, (int64_t)time(NULL));
	if (text.len == 0)
		(void)buf_printf(&text, "no points; %%checkpoint NAME makes one\n");
	print_text(&text);
	return 0;
}

/* ---- sessions ---------------------------------------------------------------------------------
 */

static int fork_session(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_json struct json_object *answer = NULL;
	struct json_object *request = sessions_request("fork", repl->session);
	json_put(request, "new", json_new_string(magic->words));
	TRY(sessions_ask(request, &answer, err));
	(void)printf("session %s begins where this one is; %%switch %s goes there\n", magic->words,
		magic->words);
	(void)fflush(stdout);
	sessions_tell_notes(answer);
	return 0;
}

static int switch_session(struct repl *repl, const struct magic *magic, struct err *err)
{
	return repl_switch(repl, magic->words, err);
}

static int reset(struct repl *repl, const struct magic *magic, struct err *err)
{
	(void)magic;
	TRY(repl_begin_anew(repl, err));
	(void)printf("session %s begins, with nothing of the old\n", repl->session);
	return 0;
}

static int files(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_json struct json_object *listing = NULL;
	auto_buf struct buf text = { 0 };
	(void)magic;
	buf_init(&text, TEXT_MAX);
	TRY(session_files(NULL, repl->session, &listing, err));
	session_files_put(&text, listing, &repl->term, (int64_t)time(NULL));
	print_text(&text);
	return 0;
}

static int limits(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_json struct json_object *info = NULL;
	auto_buf struct buf text = { 0 };
	(void)magic;
	buf_init(&text, TEXT_MAX);
	TRY(info_of(repl, &info, err));
	session_limits_put(&text, info, "\n", false);
	(void)buf_append(&text, "\n", 1);
	print_text(&text);
	return 0;
}

static int tell_info(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_json struct json_object *info = NULL;
	auto_buf struct buf text = { 0 };
	(void)magic;
	buf_init(&text, TEXT_MAX);
	TRY(info_of(repl, &info, err));
	session_info_put(&text, info, &repl->term, (int64_t)time(NULL));
	print_text(&text);
	return 0;
}

static int who(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_json struct json_object *answer = NULL;
	struct json_object *request = json_object_new_object();
	struct json_object *text = NULL;
	(void)magic;
	json_put(request, "name", json_new_string(""));
	json_put(request, "detail", json_object_new_int(0));
	if (repl_question(repl, "inspect", request, &answer))
		text = json_object_object_get(answer, "text");
	if (!json_object_is_type(text, json_type_string))
		return err_set(
			err, ERR_MISSING, "%%who: %s does not tell its names", repl->language);
	const char *names = json_object_get_string(text);
	cli_print(stdout, names, strlen(names));
	(void)printf("%s", names[0] && names[strlen(names) - 1] != '\n' ? "\n" : "");
	return 0;
}

/* ---- code -------------------------------------------------------------------------------------
 */

/* The code of a magic: behind its name, or below it, or both. Owned by the caller. */
static char *code_of(const struct magic *magic)
{
	return magic->body[0]
		       ? xasprintf("%s%s%s", magic->words, magic->words[0] ? "\n" : "", magic->body)
		       : xstrdup(magic->words);
}

static int time_code(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_free char *code = code_of(magic);
	if (code[0] == '\0')
		return err_set(err, ERR_INVALID, "%%time needs code, for example %%time f(100)");
	if (repl_execute(repl, code, strlen(code)) == STATUS_SETUP_ERROR)
		return 0;
	(void)printf("time: %.3f ms\n", (double)repl->last_wall_us / 1000);
	return 0;
}

/* By way of another name, so that the file is the old or the new one, never half. */
static int write_file(const char *path, const char *code, struct err *err)
{
	auto_free char *draft = xasprintf("%s.hotcell-%d", path, (int)getpid());
	auto_fd int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	size_t len = strlen(code);
	if (fd < 0)
		return err_sys(err, errno, "%%save: create '%.200s'", draft);
	int r = io_write(fd, code, len);
	if (r == 0 && len > 0 && code[len - 1] != '\n')
		r = io_write(fd, "\n", 1);
	if (r == 0 && rename(draft, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(draft);
	return r < 0 ? err_sys(err, -r, "%%save: write '%.200s'", path) : 0;
}

static void show_code(const struct repl *repl, const char *code)
{
	auto_buf struct buf text = { 0 };
	struct highlight_state state = { 0 };
	buf_init(&text, TEXT_MAX);
	while (*code) {
		size_t len = strcspn(code, "\n");
		(void)highlight_put(&text, repl->highlight, &state, code, len, &repl->term,
			repl->term.columns - 1);
		(void)buf_append(&text, "\n", 1);
		code += len + (code[len] == '\n');
	}
	print_text(&text);
}

static bool is_yes(const char *answer)
{
	return answer && (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0);
}

/* What will be written, and how it went when it was run. */
static void show_test(const struct repl *repl, const char *path, const char *code)
{
	char line[256];
	bool is_ok = repl->last_status == STATUS_OK;
	show_code(repl, code);
	(void)printf("%s in %.3f ms; %s %s\n", is_ok ? "it ran without an error" : "it FAILED",
		(double)repl->last_wall_us / 1000,
		access(path, F_OK) == 0 ? "this replaces" : "this makes",
		utf8_line(path, line, sizeof(line)));
	(void)fflush(stdout);
}

/* Test before writing: the code is run and shown before anybody is asked. The last cell has been
 * run already. */
static int save(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_free char *answer = NULL;
	if (magic->body[strspn(magic->body, " \t\n")] &&
		repl_execute(repl, magic->body, strlen(magic->body)) == STATUS_SETUP_ERROR)
		return 0;
	if (!repl->last_code)
		return err_set(err, ERR_INVALID,
			"%%save: nothing was run yet; write code in the lines below it, or run "
			"some "
			"first");
	show_test(repl, magic->words, repl->last_code);
	enum editor_answer said = editor_ask(&repl->editor, SAVE_QUESTION " ", false, &answer);
	if (said != EDITOR_TEXT || !is_yes(answer)) {
		(void)printf("not written\n");
		return 0;
	}
	TRY(write_file(magic->words, repl->last_code, err));
	(void)printf("written to %s\n", magic->words);
	return 0;
}

/* ---- help -------------------------------------------------------------------------------------
 */

static int help(struct repl *repl, const struct magic *magic, struct err *err);

static int leave(struct repl *repl, const struct magic *magic, struct err *err)
{
	(void)magic;
	(void)err;
	repl->is_leaving = true;
	return 0;
}

/* clang-format off */
static const struct row rows[] = {
	{ "undo",       NULL,     "take the last cell back, with what it did to files", false, undo },
	{ "checkpoint", "[NAME]", "remember how everything is now, as a point", false, checkpoint },
	{ "rollback",   "NAME",   "go back to a point, by its name or number", false, rollback },
	{ "points",     NULL,     "the points there are", false, points },
	{ "fork",       "NAME",   "make a session that begins where this one is", false, fork_session },
	{ "switch",     "NAME",   "go to another session", false, switch_session },
	{ "files",      NULL,     "what is in the session's /home/user", false, files },
	{ "limits",     NULL,     "what the session may use", false, limits },
	{ "info",       NULL,     "all about the session", false, tell_info },
	{ "who",        NULL,     "the names that were given here", false, who },
	{ "time",       "CODE",   "run code and tell how long it took", true, time_code },
	{ "save",       "FILE",   "write the last cell, or with %%save the next, once it was tested",
	  true, save },
	{ "reset",      NULL,     "begin anew, with nothing of before", false, reset },
	{ "help",       NULL,     "this list", false, help },
	{ "magics",     NULL,     "this list", false, help },
	{ "quit",       NULL,     "leave, as Ctrl-D does", false, leave },
};
/* clang-format on */

static const char keys_help[] =
	"  ?NAME, NAME?           tell about a name; two marks tell more\n"
	"  Enter                  runs what is whole, goes on with what is not\n"
	"  Alt-Enter, Ctrl-J      a new line in any case\n"
	"  Tab, Shift-Tab         complete, choose among matches\n"
	"  Up, Down, Ctrl-R       what was typed before, or began so\n"
	"  Ctrl-C                 stops the code that runs; else clears the line\n"
	"  Ctrl-D                 leaves\n";

static int help(struct repl *repl, const struct magic *magic, struct err *err)
{
	auto_buf struct buf text = { 0 };
	(void)magic;
	(void)err;
	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		auto_free char *left = xasprintf("%%%s%s%s", rows[i].name, rows[i].words ? " " : "",
			rows[i].words ? rows[i].words : "");
		auto_free char *line = xasprintf("  %-22s %s", left, rows[i].help);
		(void)text_put(&text, line, strlen(line),
			repl->term.is_terminal ? repl->term.columns - 1 : 1000);
		(void)buf_append(&text, "\n", 1);
	}
	(void)buf_printf(&text, "\n%s", keys_help);
	print_text(&text);
	return 0;
}

static const struct row *find_row(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	return NULL;
}

void repl_magic_names(const char *prefix, struct strings *ret_names)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		auto_free char *name = xasprintf("%%%s", rows[i].name);
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			strings_add(ret_names, name);
	}
}

bool repl_magic_has_body(const char *name)
{
	const struct row *row = find_row(name);
	return row && row->has_body;
}

static int refuse_unknown(const char *name, struct err *err)
{
	const char *names[COUNT_OF(rows)];
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		names[i] = rows[i].name;
	const char *near = units_nearest(name, names, COUNT_OF(names));
	return err_set(err, ERR_INVALID, "%%%.40s is not a magic%s%s%s; %%help lists them", name,
		near ? ", did you mean %" : "", near ? near : "", near ? "?" : "");
}

static int run_row(
	const struct row *row, struct repl *repl, const struct magic *magic, struct err *err)
{
	bool is_optional = row->words && row->words[0] == '[';
	if (!row->words && magic->words[0])
		return err_set(err, ERR_INVALID, "%%%s takes no words", row->name);
	if (row->words && !is_optional && !magic->words[0] && !magic->body[0])
		return err_set(err, ERR_INVALID, "%%%s needs a %s, as in %%%s %s", row->name,
			row->words, row->name, row->words);
	return row->run(repl, magic, err);
}

void repl_magic(struct repl *repl, const struct magic *magic)
{
	struct err err = { 0 };
	const struct row *row = find_row(magic->name);
	int r = row ? run_row(row, repl, magic, &err) : refuse_unknown(magic->name, &err);
	(void)fflush(stdout);
	if (r < 0)
		(void)cli_fail(&err);
}
