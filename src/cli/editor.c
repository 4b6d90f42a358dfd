/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop: bytes become keys, a key changes the text or what is shown around it, and the rows of
 * the whole are drawn over those of before. The terminal is raw only while a text is written; in
 * between it is quiet, so that Ctrl-C is a signal and what is typed ahead is there for the next
 * text. It is put back when the editor closes, however that comes.
 */
#include "cli/editor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "cli/keys.h"

enum {
	TYPED_MAX = 2 << 20,
	ESCAPE_MS = 60, /* bytes of one key come closer together than this */
	TAB = 4,
};

/* ---- the terminal -------------------------------------------------------------------------- */

static void set_mode(const struct editor *editor, bool is_raw)
{
	struct termios mode = editor->before;
	if (!editor->has_terminal)
		return;
	/* Enter stays what it is, also when it is typed ahead */
	mode.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | BRKINT | ISTRIP);
	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	if (is_raw)
		mode.c_lflag &= ~(tcflag_t)ISIG;
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
}

static void say(const struct editor *editor, const char *text)
{
	(void)io_write(editor->term->fd, text, strlen(text));
}

static void begin_raw(const struct editor *editor)
{
	set_mode(editor, true);
	say(editor, "\033[?2004h"); /* mark what is pasted */
}

static void end_raw(const struct editor *editor)
{
	say(editor, "\033[?2004l");
	set_mode(editor, false);
}

void editor_open(struct editor *editor)
{
	sigset_t signals;
	editor->has_terminal = isatty(STDIN_FILENO) && editor->term->is_terminal &&
			       !editor->term->is_dumb &&
			       tcgetattr(STDIN_FILENO, &editor->before) == 0;
	editor->resize_fd = -1;
	edit_init(&editor->edit);
	buf_init(&editor->typed, TYPED_MAX);
	buf_init(&editor->search, TYPED_MAX);
	if (!editor->has_terminal)
		return;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGWINCH);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	editor->resize_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	set_mode(editor, false);
}

static void forget_completion(struct editor *editor)
{
	strings_done(&editor->completion.matches);
	editor->completion = (struct completion){ 0 };
	editor->chosen = SIZE_MAX;
}

void editor_close(struct editor *editor)
{
	if (editor->has_terminal)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &editor->before);
	forget_completion(editor);
	own_close(&editor->resize_fd);
	edit_done(&editor->edit);
	buf_done(&editor->typed);
	buf_done(&editor->search);
	free(editor->written);
	editor->written = NULL;
}

/* ---- drawing ------------------------------------------------------------------------------- */

/* Matches of one place begin alike; what comes before the last dot need not be read again. */
static size_t common_head(const struct strings *matches)
{
	const char *first = matches->items[0];
	const char *dot = strrchr(first, '.');
	size_t len = dot ? (size_t)(dot - first) + 1 : 0;
	for (size_t i = 1; i < matches->count; i++) {
		if (strncmp(first, matches->items[i], len) != 0)
			return 0;
	}
	return len;
}

static void make_frame(const struct editor *editor, struct frame *frame)
{
	auto_free char *search =
		xasprintf("search '%s': ", editor->is_searching ? buf_text(&editor->search) : "");
	struct frame_input input = { .term = editor->term,
		.highlight = editor->highlight,
		.prompt = *editor->prompt,
		.text = buf_text(&editor->edit.text),
		.len = editor->edit.text.len,
		.cursor = editor->edit.cursor,
		.menu.chosen = editor->chosen };
	if (editor->is_searching)
		input.prompt.first = search;
	if (editor->completion.matches.count > 1) {
		input.menu.matches = &editor->completion.matches;
		input.menu.skipped = common_head(&editor->completion.matches);
	}
	frame_make(frame, &input);
}

static void put_return(const struct editor *editor, struct buf *out)
{
	(void)buf_printf(out, "\r");
	if (editor->cursor_row > 0)
		(void)buf_printf(out, "\033[%zuA", editor->cursor_row);
}

static void draw(struct editor *editor)
{
	struct frame frame;
	auto_buf struct buf out = { 0 };
	size_t first = 0, count = 0;
	buf_init(&out, SIZE_MAX / 2);
	make_frame(editor, &frame);
	frame_window(&frame, editor->term->rows - 1, &first, &count);
	(void)buf_printf(&out, "\033[?25l");
	put_return(editor, &out);
	frame_put(&out, &frame, first, count);
	(void)buf_printf(&out, "\033[J\r");
	editor->cursor_row = frame.cursor_row - first;
	size_t up = count - 1 - editor->cursor_row;
	if (up > 0)
		(void)buf_printf(&out, "\033[%zuA", up);
	if (frame.cursor_column > 0)
		(void)buf_printf(&out, "\033[%dC", frame.cursor_column);
	(void)buf_printf(&out, "\033[?25h");
	(void)io_write(editor->term->fd, buf_text(&out), out.len);
	frame_done(&frame);
}

/* All of the text, however long, as it stays on the screen; then `mark` and a new line. */
static void draw_last(struct editor *editor, const char *mark)
{
	struct frame frame;
	auto_buf struct buf out = { 0 };
	forget_completion(editor);
	editor->is_searching = false;
	buf_init(&out, SIZE_MAX / 2);
	make_frame(editor, &frame);
	put_return(editor, &out);
	frame_put(&out, &frame, 0, frame.row_count);
	(void)buf_printf(&out, "\033[J%s\r\n", mark);
	(void)io_write(editor->term->fd, buf_text(&out), out.len);
	editor->cursor_row = 0;
	frame_done(&frame);
}

static void resize(struct editor *editor)
{
	struct signalfd_siginfo info;
	while (read(editor->resize_fd, &info, sizeof(info)) > 0)
		;
	term_measure(editor->term);
	draw(editor);
}

/* ---- the history --------------------------------------------------------------------------- */

static void show_entry(struct editor *editor, size_t index)
{
	const char *text = editor->history->items.items[index];
	editor->history_at = index;
	edit_set(&editor->edit, text, strlen(text));
}

static void leave_history(struct editor *editor)
{
	editor->history_at = editor->history ? editor->history->items.count : 0;
	free(editor->written);
	editor->written = NULL;
}

/* An entry that was changed is a new text, with a history before it. */
static void forget_changed(struct editor *editor)
{
	size_t at = editor->history_at;
	if (editor->written && at < editor->history->items.count &&
		strcmp(buf_text(&editor->edit.text), editor->history->items.items[at]) != 0)
		leave_history(editor);
}

static void go_back(struct editor *editor)
{
	size_t index = 0;
	if (!editor->history)
		return;
	forget_changed(editor);
	if (!editor->written)
		editor->written = xstrdup(buf_text(&editor->edit.text));
	if (history_find(editor->history, editor->history_at, editor->written, false,
		    buf_text(&editor->edit.text), &index))
		show_entry(editor, index);
}

static void go_forward(struct editor *editor)
{
	size_t count = editor->history ? editor->history->items.count : 0;
	if (editor->history)
		forget_changed(editor);
	if (!editor->written)
		return;
	for (size_t i = editor->history_at + 1; i < count; i++) {
		if (strncmp(editor->history->items.items[i], editor->written,
			    strlen(editor->written)) == 0) {
			show_entry(editor, i);
			return;
		}
	}
	edit_set(&editor->edit, editor->written, strlen(editor->written));
	leave_history(editor);
}

static void search_back(struct editor *editor, size_t from)
{
	size_t index = 0;
	if (history_find(editor->history, from, buf_text(&editor->search), true, NULL, &index))
		show_entry(editor, index);
}

static void begin_search(struct editor *editor)
{
	if (!editor->history)
		return;
	if (editor->is_searching) {
		search_back(editor, editor->history_at);
		return;
	}
	leave_history(editor);
	editor->written = xstrdup(buf_text(&editor->edit.text));
	editor->is_searching = true;
	editor->search.len = 0;
	(void)buf_append(&editor->search, "", 0);
}

/* A key while the history is searched. False: the search is over, and the key counts as ever. */
static bool search_with(struct editor *editor, const struct key_press *press)
{
	switch (press->key) {
	case KEY_SEARCH:
		begin_search(editor);
		return true;
	case KEY_TEXT:
		(void)buf_append(&editor->search, press->text, press->len);
		search_back(editor, editor->history->items.count);
		return true;
	case KEY_ERASE:
		while (editor->search.len > 0 &&
			((unsigned char)editor->search.data[--editor->search.len] & 0xc0) == 0x80)
			;
		(void)buf_append(&editor->search, "", 0);
		search_back(editor, editor->history->items.count);
		return true;
	case KEY_CANCEL:
	case KEY_ESCAPE:
		edit_set(&editor->edit, editor->written, strlen(editor->written));
		leave_history(editor);
		editor->is_searching = false;
		return true;
	default:
		editor->is_searching = false;
		return press->key == KEY_ENTER;
	}
}

/* ---- completion ---------------------------------------------------------------------------- */

static size_t shared_len(const struct strings *matches)
{
	size_t len = strlen(matches->items[0]);
	for (size_t i = 1; i < matches->count; i++) {
		size_t same = 0;
		while (same < len && matches->items[i][same] == matches->items[0][same])
			same++;
		len = same;
	}
	while (len > 0 && ((unsigned char)matches->items[0][len] & 0xc0) == 0x80)
		len--; /* not within a character */
	return len;
}

static void choose(struct editor *editor, bool is_forward)
{
	struct completion *completion = &editor->completion;
	size_t count = completion->matches.count;
	if (editor->chosen >= count)
		editor->chosen = is_forward ? 0 : count - 1;
	else
		editor->chosen = (editor->chosen + (is_forward ? 1 : count - 1)) % count;
	const char *match = completion->matches.items[editor->chosen];
	edit_replace(&editor->edit, completion->start, completion->end, match);
	completion->end = editor->edit.cursor;
}

static void complete(struct editor *editor)
{
	struct edit *edit = &editor->edit;
	struct completion *completion = &editor->completion;
	forget_completion(editor);
	if (!editor->hooks.complete ||
		!editor->hooks.complete(editor->hooks.context, buf_text(&edit->text),
			edit->text.len, edit->cursor, completion) ||
		completion->matches.count == 0 || completion->end > edit->text.len ||
		completion->start > completion->end) {
		forget_completion(editor);
		return;
	}
	size_t len = shared_len(&completion->matches);
	if (len > completion->end - completion->start || completion->matches.count == 1) {
		auto_free char *shared = xstrndup(completion->matches.items[0], len);
		edit_replace(edit, completion->start, completion->end, shared);
		completion->end = edit->cursor;
	}
	if (completion->matches.count == 1)
		forget_completion(editor);
}

/* Blanks before the cursor, when there is nothing else in its line; SIZE_MAX: there is. */
static size_t indent_before(const struct editor *editor)
{
	size_t len = 0;
	const char *line = edit_line(&editor->edit, &len);
	return strspn(line, " ") >= len ? len : SIZE_MAX;
}

static void press_tab(struct editor *editor, bool is_forward)
{
	size_t indent = indent_before(editor);
	if (editor->completion.matches.count > 0)
		choose(editor, is_forward);
	else if (indent == SIZE_MAX)
		complete(editor);
	else if (is_forward)
		(void)edit_insert(&editor->edit, "    ", TAB - indent % TAB);
}

/* ---- keys ---------------------------------------------------------------------------------- */

/* Where a key is a movement, or removes what a movement would pass. */
/* clang-format off */
static const struct {
	enum edit_move move;
	bool (*act)(struct edit *edit, enum edit_move move);
} plain_keys[KEY_COUNT] = {
	[KEY_LEFT]       = { MOVE_LEFT,       edit_move },
	[KEY_RIGHT]      = { MOVE_RIGHT,      edit_move },
	[KEY_WORD_LEFT]  = { MOVE_WORD_LEFT,  edit_move },
	[KEY_WORD_RIGHT] = { MOVE_WORD_RIGHT, edit_move },
	[KEY_LINE_START] = { MOVE_LINE_START, edit_move },
	[KEY_LINE_END]   = { MOVE_LINE_END,   edit_move },
	[KEY_START]      = { MOVE_START,      edit_move },
	[KEY_END]        = { MOVE_END,        edit_move },
	[KEY_DELETE]     = { MOVE_RIGHT,      edit_delete },
	[KEY_ERASE_WORD] = { MOVE_WORD_LEFT,  edit_kill },
	[KEY_KILL_WORD]  = { MOVE_WORD_RIGHT, edit_kill },
	[KEY_KILL_START] = { MOVE_LINE_START, edit_kill },
	[KEY_KILL_END]   = { MOVE_LINE_END,   edit_kill },
};
/* clang-format on */

/* Within the indent a step of it goes at once. */
static void erase(struct editor *editor)
{
	size_t indent = indent_before(editor);
	size_t count = indent == SIZE_MAX || indent == 0 ? 1 : (indent - 1) % TAB + 1;
	while (count-- > 0)
		(void)edit_delete(&editor->edit, MOVE_LEFT);
}

/* The indent of the cursor's line. */
static void copy_indent(const struct editor *editor, char indent[INDENT_MAX])
{
	size_t before = 0;
	const char *line = edit_line(&editor->edit, &before);
	size_t len = strspn(line, " \t");
	len = len < before ? len : before;
	len = len < INDENT_MAX ? len : INDENT_MAX - 1;
	memcpy(indent, line, len);
	indent[len] = '\0';
}

static void break_line(struct editor *editor, const char *indent)
{
	(void)edit_insert(&editor->edit, "\n", 1);
	if (indent[0])
		(void)edit_insert(&editor->edit, indent, strlen(indent));
}

static enum editor_answer press_enter(struct editor *editor)
{
	struct edit *edit = &editor->edit;
	char indent[INDENT_MAX] = "";
	if (editor->chosen != SIZE_MAX) {
		forget_completion(editor);
		return EDITOR_NONE;
	}
	forget_completion(editor);
	if (strchr(buf_text(&edit->text) + edit->cursor, '\n')) {
		copy_indent(editor, indent);
		break_line(editor, indent);
		return EDITOR_NONE;
	}
	if (!editor->hooks.ends || editor->hooks.ends(editor->hooks.context, buf_text(&edit->text),
					   edit->text.len, indent))
		return EDITOR_TEXT;
	(void)edit_move(edit, MOVE_END);
	break_line(editor, indent);
	return EDITOR_NONE;
}

static void suspend(struct editor *editor)
{
	end_raw(editor);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &editor->before);
	(void)raise(SIGTSTP);
	begin_raw(editor);
	editor->cursor_row = 0;
}

static void clear_screen(struct editor *editor)
{
	say(editor, "\033[H\033[2J");
	editor->cursor_row = 0;
}

/* Ctrl-D removes what is at the cursor, and leaves where nothing is written. */
static enum editor_answer press_leave(struct editor *editor)
{
	if (editor->edit.text.len == 0)
		return EDITOR_END;
	(void)edit_delete(&editor->edit, MOVE_RIGHT);
	return EDITOR_NONE;
}

static void press_text(struct editor *editor, const struct key_press *press)
{
	switch (press->key) {
	case KEY_TEXT:
	case KEY_PASTE:
		(void)edit_insert(&editor->edit, press->text, press->len);
		break;
	case KEY_NEWLINE:
		(void)edit_insert(&editor->edit, "\n", 1);
		break;
	case KEY_ERASE:
		erase(editor);
		break;
	case KEY_YANK:
		edit_yank(&editor->edit);
		break;
	case KEY_SWAP:
		edit_swap(&editor->edit);
		break;
	case KEY_UNDO:
		(void)edit_undo(&editor->edit);
		break;
	default:
		break;
	}
}

static void press_around(struct editor *editor, const struct key_press *press)
{
	switch (press->key) {
	case KEY_UP:
		if (!edit_move(&editor->edit, MOVE_UP))
			go_back(editor);
		break;
	case KEY_DOWN:
		if (!edit_move(&editor->edit, MOVE_DOWN))
			go_forward(editor);
		break;
	case KEY_PREVIOUS:
		go_back(editor);
		break;
	case KEY_NEXT:
		go_forward(editor);
		break;
	case KEY_SEARCH:
		begin_search(editor);
		break;
	case KEY_CLEAR:
		clear_screen(editor);
		break;
	case KEY_SUSPEND:
		suspend(editor);
		break;
	default:
		press_text(editor, press);
	}
}

static enum editor_answer press(struct editor *editor, const struct key_press *press)
{
	if (editor->is_searching && search_with(editor, press))
		return EDITOR_NONE;
	if (press->key == KEY_TAB || press->key == KEY_BACK_TAB) {
		press_tab(editor, press->key == KEY_TAB);
		return EDITOR_NONE;
	}
	if (press->key == KEY_ENTER)
		return press_enter(editor);
	forget_completion(editor);
	if (press->key == KEY_CANCEL)
		return EDITOR_CANCEL;
	if (press->key == KEY_LEAVE)
		return press_leave(editor);
	if (plain_keys[press->key].act)
		(void)plain_keys[press->key].act(&editor->edit, plain_keys[press->key].move);
	else
		press_around(editor, press);
	return EDITOR_NONE;
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void take(struct editor *editor, size_t len)
{
	struct buf *typed = &editor->typed;
	memmove(typed->data, typed->data + len, typed->len - len);
	typed->len -= len;
}

/* A signal meant for us: Ctrl-C sent by another, or the end. */
static enum editor_answer read_signal(const struct editor *editor)
{
	struct signalfd_siginfo info;
	if (read(editor->interrupt_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return EDITOR_NONE;
	return info.ssi_signo == SIGINT ? EDITOR_CANCEL : EDITOR_QUIT;
}

/* Waits for bytes. EDITOR_NONE: there are some, or `timeout_ms` went by. */
static enum editor_answer await_bytes(struct editor *editor, int timeout_ms, bool *ret_is_late)
{
	char bytes[4096];
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = editor->interrupt_fd, .events = POLLIN },
		{ .fd = editor->resize_fd, .events = POLLIN },
	};
	int n = poll(fds, COUNT_OF(fds), timeout_ms);
	*ret_is_late = n == 0;
	if (n <= 0)
		return EDITOR_NONE;
	if (fds[1].revents)
		return read_signal(editor);
	if (fds[2].revents)
		resize(editor);
	if (!fds[0].revents)
		return EDITOR_NONE;
	ssize_t len = read(STDIN_FILENO, bytes, sizeof(bytes));
	if (len < 0 && (errno == EINTR || errno == EAGAIN))
		return EDITOR_NONE;
	if (len <= 0)
		return EDITOR_END;
	return buf_append(&editor->typed, bytes, (size_t)len) < 0 ? EDITOR_END : EDITOR_NONE;
}

/* Takes the keys that have come; draws once for all of them. */
static enum editor_answer take_keys(struct editor *editor, bool is_whole)
{
	enum editor_answer answer = EDITOR_NONE;
	while (answer == EDITOR_NONE && editor->typed.len > 0) {
		struct key_press key;
		size_t used = key_next(editor->typed.data, editor->typed.len, is_whole, &key);
		if (used == 0)
			break;
		answer = press(editor, &key);
		take(editor, used);
	}
	if (answer == EDITOR_NONE)
		draw(editor);
	return answer;
}

static enum editor_answer edit_loop(struct editor *editor)
{
	enum editor_answer answer = take_keys(editor, false);
	while (answer == EDITOR_NONE) {
		bool is_late = false;
		int timeout_ms = editor->typed.len > 0 ? ESCAPE_MS : -1;
		answer = await_bytes(editor, timeout_ms, &is_late);
		if (answer == EDITOR_NONE)
			answer = take_keys(editor, is_late);
	}
	return answer;
}

/* A line from what is no terminal we could draw on. */
static enum editor_answer plain_line(struct editor *editor, char **ret_line)
{
	for (;;) {
		bool is_late = false;
		const char *text = buf_text(&editor->typed);
		size_t len = strcspn(text, "\n");
		if (len < editor->typed.len || (editor->has_ended && editor->typed.len > 0)) {
			*ret_line = xstrndup(text, len);
			take(editor, len < editor->typed.len ? len + 1 : len);
			return EDITOR_TEXT;
		}
		if (editor->has_ended)
			return EDITOR_END;
		enum editor_answer answer = await_bytes(editor, -1, &is_late);
		if (answer == EDITOR_END)
			editor->has_ended = true;
		else if (answer != EDITOR_NONE)
			return answer;
	}
}

static void say_prompt(const struct editor *editor, const char *prompt)
{
	if (isatty(STDIN_FILENO))
		say(editor, prompt);
}

/* Lines until they make a text that is whole. */
static enum editor_answer read_plain(
	struct editor *editor, const struct frame_prompt *prompt, char **ret_text)
{
	auto_buf struct buf text = { 0 };
	buf_init(&text, EDIT_BYTES_MAX);
	for (;;) {
		auto_free char *line = NULL;
		char indent[INDENT_MAX] = "";
		say_prompt(editor, text.len == 0 ? prompt->first : prompt->more);
		enum editor_answer answer = plain_line(editor, &line);
		if (answer == EDITOR_CANCEL)
			say_prompt(editor, "\n");
		if (answer != EDITOR_TEXT && (answer != EDITOR_END || text.len == 0))
			return answer;
		if (answer == EDITOR_TEXT)
			(void)buf_printf(&text, "%s%s", text.len > 0 ? "\n" : "", line);
		if (answer == EDITOR_END || !editor->hooks.ends ||
			editor->hooks.ends(
				editor->hooks.context, buf_text(&text), text.len, indent)) {
			*ret_text = xstrdup(buf_text(&text));
			return EDITOR_TEXT;
		}
	}
}

static void begin_text(struct editor *editor, const struct frame_prompt *prompt)
{
	editor->prompt = prompt;
	editor->cursor_row = 0;
	editor->is_searching = false;
	edit_set(&editor->edit, "", 0);
	forget_completion(editor);
	leave_history(editor);
	term_measure(editor->term);
}

/* An empty line at the end said that the text is whole; it is no part of it. */
static void cut_end(char *text)
{
	size_t len = strlen(text);
	while (len > 0 && strchr(" \t\n", text[len - 1]))
		text[--len] = '\0';
}

enum editor_answer editor_read(
	struct editor *editor, const struct frame_prompt *prompt, char **ret_text)
{
	*ret_text = NULL;
	if (!editor->has_terminal)
		return read_plain(editor, prompt, ret_text);
	begin_raw(editor);
	begin_text(editor, prompt);
	enum editor_answer answer = edit_loop(editor);
	draw_last(editor, answer == EDITOR_CANCEL ? "^C" : "");
	end_raw(editor);
	if (answer != EDITOR_TEXT)
		return answer;
	*ret_text = xstrdup(buf_text(&editor->edit.text));
	cut_end(*ret_text);
	if (editor->history)
		history_add(editor->history, *ret_text);
	return EDITOR_TEXT;
}

/* What is written is not shown: the terminal's own way of reading a line does that best. */
static enum editor_answer read_secret(struct editor *editor, const char *question, char **ret_text)
{
	struct termios mode = editor->before;
	mode.c_lflag &= ~(tcflag_t)ECHO;
	mode.c_lflag |= ICANON | ISIG;
	say(editor, question);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
	enum editor_answer answer = plain_line(editor, ret_text);
	set_mode(editor, false);
	say(editor, "\n");
	editor->has_ended = false; /* Ctrl-D ends this line only */
	return answer;
}

enum editor_answer editor_ask(
	struct editor *editor, const char *question, bool is_secret, char **ret_text)
{
	struct frame_prompt prompt = { .first = question, .more = "" };
	struct editor_hooks hooks = editor->hooks;
	struct history *history = editor->history;
	const struct highlight *highlight = editor->highlight;
	*ret_text = NULL;
	if (is_secret && editor->has_terminal)
		return read_secret(editor, question, ret_text);
	if (!isatty(STDIN_FILENO)) {
		say(editor, question);
		say(editor, "\n");
	}
	editor->hooks = (struct editor_hooks){ 0 };
	editor->history = NULL;
	editor->highlight = NULL;
	enum editor_answer answer = editor_read(editor, &prompt, ret_text);
	editor->hooks = hooks;
	editor->history = history;
	editor->highlight = highlight;
	return answer;
}
