/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures on a terminal, by chafa. A picture is the most dangerous thing a cell can hand out:
 * decoders are large and old. So it is never decoded here: chafa runs in a small cell of its own,
 * with the bytes as its standard input, and picture_filter() lets through only what a picture
 * needs.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "cli/view.h"
#include "engine/engine.h"
#include "model/limits.h"
#include "wire/base64.h"

enum {
	PICTURE_WAIT_MS = 10000,
	PICTURE_WORDS = 16 << 20, /* of chafa: raw pixels, when the terminal is kitty */
	SYMBOL_COLUMNS = 100,     /* a picture of symbols gets no finer by being larger */
	SYMBOL_ROWS = 40,
	ROWS_KEPT = 4,    /* for what stands around the picture */
	CHAFA_CELL = 8,   /* pixels that chafa gives a character when it sees no terminal */
	SVG_COLUMNS = 60, /* a drawing has no size of its own */
};

static const char chafa_path[] = "/usr/bin/chafa";

/* ---- chafa, in a cell --------------------------------------------------------------------------
 */

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* The size to ask for, in chafa's characters. Pixels are asked for as they will be shown: at most
 * the picture's own size, in the picture's own shape. */
static void choose_size(const struct term *term, enum term_pictures pictures, int width, int height,
	char *size, size_t size_len)
{
	int columns = least(term->columns, SYMBOL_COLUMNS);
	int rows = term->rows - ROWS_KEPT > 1 ? term->rows - ROWS_KEPT : 1;
	if (pictures == PICTURES_SYMBOLS) {
		(void)snprintf(size, size_len, "%dx%d", columns, least(rows, SYMBOL_ROWS));
		return;
	}
	int pixels_wide =
		(width > 0 ? term->columns : least(term->columns, SVG_COLUMNS)) * term->cell_width;
	int pixels_high = rows * term->cell_height;
	if (width > 0)
		pixels_wide = least(pixels_wide, width);
	if (height > 0)
		pixels_high = least(pixels_high, height);
	(void)snprintf(size, size_len, "%dx%d", (pixels_wide + CHAFA_CELL - 1) / CHAFA_CELL,
		(pixels_high + CHAFA_CELL - 1) / CHAFA_CELL);
}

static void fill_command(struct strings *argv, const struct term *term, enum term_pictures pictures,
	int width, int height)
{
	static const char *const formats[] = { [PICTURES_SYMBOLS] = "symbols",
		[PICTURES_SIXEL] = "sixels",
		[PICTURES_KITTY] = "kitty" };
	static const char *const colours[] = {
		[DEPTH_16] = "16", [DEPTH_256] = "256", [DEPTH_FULL] = "full"
	};
	char size[32];
	choose_size(term, pictures, width, height, size, sizeof(size));
	strings_add(argv, chafa_path);
	strings_add(argv, "--animate=off");
	strings_add(argv, "--polite=on");
	strings_add(argv, "--format");
	strings_add(argv, formats[pictures]);
	strings_add(argv, "--size");
	strings_add(argv, size);
	if (pictures == PICTURES_SYMBOLS) {
		strings_add(argv, "--colors");
		strings_add(argv, colours[term->depth]);
		strings_add(argv, "--symbols");
		strings_add(argv, "block+border+space+quad-stipple-wide");
		strings_add(argv, "--work=9");
	} else {
		strings_add(argv, "--font-ratio=1");
		strings_add(argv, "--scale=max");
	}
	strings_add(argv, "-");
}

/* Runs it on the bytes in `fd` and takes what the filter lets through. */
static bool run_chafa(
	struct spec *spec, enum term_pictures pictures, int interrupt_fd, struct buf *out)
{
	struct err err = { 0 };
	struct result result;
	struct engine_rest rest = { 0 };
	const struct engine_wishes wishes = { .outlet = { .fds = { -1, -1 } },
		.interrupt_fd = interrupt_fd };
	result_init(&result);
	bool is_shown = engine_run(spec, &wishes, &result, NULL, &rest, &err) == 0 &&
			result.status == STATUS_OK && !result.out.is_truncated &&
			result.out.len > 0 &&
			picture_filter(result.out.text, result.out.len, pictures, out);
	engine_clean(&rest);
	result_done(&result);
	return is_shown;
}

static bool draw(struct buf *out, const struct buf *bytes, int width, int height,
	const struct term *term, enum term_pictures pictures, int interrupt_fd)
{
	struct spec spec;
	auto_buf struct buf drawn = { 0 };
	auto_fd int fd = memfd_create("picture", MFD_CLOEXEC);
	if (fd < 0 || io_write(fd, buf_text(bytes), bytes->len) < 0)
		return false;
	spec_init(&spec);
	spec.stdin_path = xasprintf("/proc/self/fd/%d", fd);
	spec.timeout_ms = PICTURE_WAIT_MS;
	spec.max_output = PICTURE_WORDS;
	spec.output_limit = PICTURE_WORDS;
	spec.audit = AUDIT_OFF; /* nobody asked for this run */
	fill_command(&spec.exec, term, pictures, width, height);
	buf_init(&drawn, PICTURE_WORDS);
	bool is_drawn = run_chafa(&spec, pictures, interrupt_fd, &drawn);
	spec_done(&spec);
	if (!is_drawn)
		return false;
	style_end(out, term, STYLE_BOLD); /* whatever colours were on */
	is_drawn = buf_append(out, buf_text(&drawn), drawn.len) == 0;
	style_end(out, term, STYLE_BOLD);
	if (drawn.len > 0 && drawn.data[drawn.len - 1] != '\n')
		(void)buf_append(out, "\n", 1);
	return is_drawn;
}

/* ---- the picture, or a line about it -----------------------------------------------------------
 */

static void put_line(struct buf *out, const char *mime, size_t bytes, int width, int height,
	const struct term *term, const char *why)
{
	char size[32];
	style_begin(out, term, STYLE_DIM);
	(void)buf_printf(out, "[");
	(void)text_put(out, mime, strlen(mime), 40);
	if (width > 0)
		(void)buf_printf(out, ", %d×%d pixels", width, height);
	(void)buf_printf(out, ", %s; %s--json has it, --out saves a file]",
		text_bytes((int64_t)bytes, size, sizeof(size)), why);
	style_end(out, term, STYLE_DIM);
	(void)buf_append(out, "\n", 1);
}

void picture_put(struct buf *out, const char *mime, const char *text, size_t len, struct term *term,
	int interrupt_fd)
{
	auto_buf struct buf bytes = { 0 };
	int width = 0, height = 0;
	buf_init(&bytes, LIMIT_OUTPUT_BYTES);
	bool is_svg = strcmp(mime, "image/svg+xml") == 0;
	bool is_whole =
		is_svg ? buf_append(&bytes, text, len) == 0 : base64_decode(text, len, &bytes);
	if (!is_whole) {
		put_line(out, mime, len, 0, 0, term, "it cannot be read; ");
		return;
	}
	(void)picture_size(mime, buf_text(&bytes), bytes.len, &width, &height);
	bool has_chafa = access(chafa_path, X_OK) == 0;
	enum term_pictures pictures = has_chafa ? term_pictures(term) : PICTURES_NONE;
	if (pictures != PICTURES_NONE &&
		draw(out, &bytes, width, height, term, pictures, interrupt_fd))
		return;
	const char *why = pictures != PICTURES_NONE ? "chafa cannot show it; "
			  : has_chafa || term->depth == DEPTH_NONE
				  ? ""
				  : "apt-get install chafa shows it here; ";
	put_line(out, mime, bytes.len, width, height, term, why);
}
