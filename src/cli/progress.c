/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "model/units.h"

enum { TEXT_MAX = 1024 };

/* ⠋ ⠙ ⠹ ⠸ ⠼ ⠴ ⠦ ⠧, one for each fourth of a second */
static const char *const wheel[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧" };

void progress_text(struct buf *out, const struct progress *progress, const struct pulse *pulse)
{
	char limit[32], size[32];
	auto_buf struct buf line = { 0 };
	size_t turn = (size_t)(pulse->elapsed_us / 250000) % (sizeof(wheel) / sizeof(wheel[0]));
	buf_init(&line, TEXT_MAX);
	units_format_milli(pulse->timeout_ms, limit, sizeof(limit));
	(void)buf_printf(&line, "%s %lld.%lld s of %s s", wheel[turn],
		(long long)(pulse->elapsed_us / 1000000),
		(long long)(pulse->elapsed_us / 100000 % 10), limit);
	if (pulse->memory >= 0)
		(void)buf_printf(
			&line, " · %s memory", text_bytes(pulse->memory, size, sizeof(size)));
	if (pulse->output_bytes > 0)
		(void)buf_printf(
			&line, " · %s output", text_bytes(pulse->output_bytes, size, sizeof(size)));
	style_begin(out, progress->term, STYLE_DIM);
	(void)text_put(out, buf_text(&line), line.len, progress->term->columns - 1);
	style_end(out, progress->term, STYLE_DIM);
}

/* In the background the terminal is somebody else's. */
static bool is_ours(int fd)
{
	return tcgetpgrp(fd) == getpgrp();
}

void progress_draw(struct progress *progress, const struct pulse *pulse)
{
	auto_buf struct buf text = { 0 };
	if (!progress->is_wanted || !is_ours(progress->term->fd))
		return;
	buf_init(&text, TEXT_MAX);
	(void)buf_printf(&text, "\r");
	progress_text(&text, progress, pulse);
	(void)buf_printf(&text, "\033[K");
	progress->is_drawn = io_write(progress->term->fd, buf_text(&text), text.len) == 0;
}

void progress_erase(struct progress *progress)
{
	static const char erase[] = "\r\033[K";
	if (progress->is_drawn)
		(void)io_write(progress->term->fd, erase, strlen(erase));
	progress->is_drawn = false;
}
