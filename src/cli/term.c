/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the terminal can do. Size and kind come from the kernel and the environment and cost
 * nothing. Only when there is a picture to show, and the environment does not tell how, is the
 * terminal asked: a question every terminal answers (what are you?) goes behind one that only
 * kitty's protocol answers, so the first answer to arrive whole ends the wait.
 */
#include "cli/term.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"

enum {
	COLUMNS_GUESS = 80,
	COLUMNS_MIN = 20,
	COLUMNS_MAX = 1000,
	ROWS_GUESS = 24,
	ROWS_MIN = 5,
	ROWS_MAX = 1000,
	CELL_WIDTH_GUESS = 8,
	CELL_HEIGHT_GUESS = 16,
	CELL_MAX = 64,
	ANSWER_WAIT_US = 300000,
	ANSWER_MAX = 256,
};

/* clang-format off */
const char *const colour_wish_names[COLOUR_WISH_COUNT] = {
	[COLOUR_AUTO]   = "auto",
	[COLOUR_ALWAYS] = "always",
	[COLOUR_NEVER]  = "never",
};

/* Only colours of the terminal's own theme, and none that is lost on a light or a dark ground. */
static const char *const styles[STYLE_COUNT] = {
	[STYLE_BOLD]     = "1",
	[STYLE_DIM]      = "2",
	[STYLE_ERROR]    = "1;31",
	[STYLE_HINT]     = "1;32",
	[STYLE_LINK]     = "4;34",
	[STYLE_OUT]      = "1;34",
	[STYLE_KEYWORD]  = "35",
	[STYLE_CONSTANT] = "36",
	[STYLE_STRING]   = "32",
	[STYLE_NUMBER]   = "36",
	[STYLE_COMMENT]  = "2",
	[STYLE_KEY]      = "34",
	[STYLE_CHOSEN]   = "7",
};

/* What the environment tells; the first row that fits counts. `value` NULL: being set is enough. */
static const struct {
	const char *variable, *value;
	enum term_pictures pictures;
} known[] = {
	{ "HOTCELL_PICTURES", "none",       PICTURES_NONE },
	{ "HOTCELL_PICTURES", "symbols",    PICTURES_SYMBOLS },
	{ "HOTCELL_PICTURES", "sixel",      PICTURES_SIXEL },
	{ "HOTCELL_PICTURES", "kitty",      PICTURES_KITTY },
	{ "TMUX",             NULL,         PICTURES_SYMBOLS },	/* hands no pictures on */
	{ "STY",              NULL,         PICTURES_SYMBOLS },
	{ "TERM",             "linux",      PICTURES_SYMBOLS },
	{ "TERM",             "xterm-kitty", PICTURES_KITTY },
	{ "KITTY_WINDOW_ID",  NULL,         PICTURES_KITTY },
	{ "TERM_PROGRAM",     "ghostty",    PICTURES_KITTY },
	{ "TERM_PROGRAM",     "WezTerm",    PICTURES_KITTY },
	{ "TERM",             "foot",       PICTURES_SIXEL },
	{ "TERM",             "mlterm",     PICTURES_SIXEL },
	{ "TERM_PROGRAM",     "vscode",     PICTURES_SYMBOLS },
	{ "TERM_PROGRAM",     "Apple_Terminal", PICTURES_SYMBOLS },
};
/* clang-format on */

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);
	return value && value[0] != '\0';
}

static bool is_value(const char *variable, const char *wanted)
{
	const char *value = getenv(variable);
	return value && strcmp(value, wanted) == 0;
}

static enum term_depth look_depth(void)
{
	const char *term = getenv("TERM");
	if (is_value("COLORTERM", "truecolor") || is_value("COLORTERM", "24bit"))
		return DEPTH_FULL;
	if (term && (strstr(term, "256") || strstr(term, "kitty") || strstr(term, "direct")))
		return DEPTH_256;
	return DEPTH_16;
}

static int within(long value, int low, int high, int otherwise)
{
	if (value <= 0)
		return otherwise;
	return value < low ? low : value > high ? high : (int)value;
}

void term_measure(struct term *term)
{
	struct winsize size = { 0 };
	const char *columns = getenv("COLUMNS");
	if (!term->is_terminal || ioctl(term->fd, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){ 0 };
	long wanted = size.ws_col > 0 ? size.ws_col : columns ? strtol(columns, NULL, 10) : 0;
	term->columns = within(wanted, COLUMNS_MIN, COLUMNS_MAX, COLUMNS_GUESS);
	term->rows = within(size.ws_row, ROWS_MIN, ROWS_MAX, ROWS_GUESS);
	term->cell_width = within(
		size.ws_col ? size.ws_xpixel / size.ws_col : 0, 1, CELL_MAX, CELL_WIDTH_GUESS);
	term->cell_height = within(
		size.ws_row ? size.ws_ypixel / size.ws_row : 0, 1, CELL_MAX, CELL_HEIGHT_GUESS);
}

void term_look(struct term *term, int fd, enum colour_wish wish)
{
	*term = (struct term){ .fd = fd, .is_terminal = isatty(fd) };
	term->is_dumb = !is_set("TERM") || is_value("TERM", "dumb");
	term->is_rich = term->is_terminal || wish == COLOUR_ALWAYS;
	if (wish == COLOUR_ALWAYS ||
		(wish == COLOUR_AUTO && term->is_terminal && !term->is_dumb && !is_set("NO_COLOR")))
		term->depth = look_depth();
	term_measure(term);
}

void style_begin(struct buf *out, const struct term *term, enum style style)
{
	if (term->depth != DEPTH_NONE && styles[style])
		(void)buf_printf(out, "\033[%sm", styles[style]);
}

void style_end(struct buf *out, const struct term *term, enum style style)
{
	if (term->depth != DEPTH_NONE && styles[style])
		(void)buf_append(out, "\033[0m", 4);
}

/* The answer to "what are you?": ESC [ ? numbers c. 4 among the numbers means sixel. */
static bool read_attributes(const char *text, size_t len, bool *ret_has_sixel)
{
	for (size_t at = 0; at + 3 < len; at++) {
		if (memcmp(text + at, "\033[?", 3) != 0)
			continue;
		long number = 0;
		*ret_has_sixel = false;
		for (at += 3; at < len; at++) {
			if (text[at] >= '0' && text[at] <= '9' && number < 10000) {
				number = number * 10 + (text[at] - '0');
				continue;
			}
			*ret_has_sixel |= number == 4;
			number = 0;
			if (text[at] == 'c')
				return true;
			if (text[at] != ';')
				break;
		}
	}
	return false;
}

bool term_read_answer(const char *text, size_t len, enum term_pictures *ret_pictures)
{
	bool has_sixel;
	if (!read_attributes(text, len, &has_sixel))
		return false;
	*ret_pictures = has_sixel ? PICTURES_SIXEL : PICTURES_SYMBOLS;
	if (memmem(text, len, "\033_Gi=31;OK", strlen("\033_Gi=31;OK")))
		*ret_pictures = PICTURES_KITTY;
	return true;
}

static enum term_pictures await_answer(int fd)
{
	char answer[ANSWER_MAX];
	size_t len = 0;
	enum term_pictures pictures = PICTURES_SYMBOLS;
	int64_t deadline_us = clock_us() + ANSWER_WAIT_US;
	while (len < sizeof(answer) && !term_read_answer(answer, len, &pictures)) {
		struct pollfd input = { .fd = fd, .events = POLLIN };
		int64_t left_us = deadline_us - clock_us();
		if (left_us <= 0 || poll(&input, 1, (int)(left_us / 1000) + 1) < 1)
			break;
		ssize_t n = read(fd, answer + len, sizeof(answer) - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	return pictures;
}

/* Not in the background, where the terminal is another's, and not while somebody types ahead: what
 * was typed would be lost among the answers. */
static bool may_ask(int fd)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };
	return isatty(fd) && tcgetpgrp(fd) == getpgrp() && poll(&input, 1, 0) == 0;
}

static enum term_pictures ask(const struct term *term)
{
	static const char questions[] = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c";
	struct termios before;
	if (!may_ask(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &before) < 0)
		return PICTURES_SYMBOLS;
	struct termios quiet = before;
	quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	quiet.c_cc[VMIN] = 0;
	quiet.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &quiet) < 0)
		return PICTURES_SYMBOLS;
	enum term_pictures pictures = PICTURES_SYMBOLS;
	if (write(term->fd, questions, strlen(questions)) == (ssize_t)strlen(questions))
		pictures = await_answer(STDIN_FILENO);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	return pictures;
}

static enum term_pictures find_pictures(const struct term *term)
{
	if (term->depth == DEPTH_NONE)
		return PICTURES_NONE;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		if (known[i].value ? is_value(known[i].variable, known[i].value)
				   : is_set(known[i].variable))
			return known[i].pictures;
	}
	return term->is_terminal ? ask(term) : PICTURES_SYMBOLS;
}

enum term_pictures term_pictures(struct term *term)
{
	if (!term->has_asked)
		term->pictures = find_pictures(term);
	term->has_asked = true;
	return term->pictures;
}
