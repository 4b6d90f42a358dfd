/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

/* Room for "\n[… 9223372036854775807 bytes cut …]\n". */
enum { NOTE_ROOM = 64 };

void capture_init(struct capture *capture, size_t cap)
{
	*capture = (struct capture){ .cap = cap, .spill_dir_fd = -1, .spill = { .fd = -1 } };
	/* the head alone may have to hold everything up to the cap */
	capture->head_cap = cap;
	capture->tail_cap = cap > (size_t)4 * NOTE_ROOM ? (cap - NOTE_ROOM) / 2 : 0;
}

void capture_done(struct capture *capture)
{
	free(capture->head);
	free(capture->tail);
	free(capture->spill_path);
	aside_drop(&capture->spill);
	own_close(&capture->spill_dir_fd);
}

int capture_spill(struct capture *capture, const char *dir, const char *name, struct err *err)
{
	capture->spill_dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (capture->spill_dir_fd < 0)
		return err_sys(err, errno, "--spill: open the directory '%s'", dir);
	int r = aside_open(&capture->spill, capture->spill_dir_fd, 0600);
	if (r < 0)
		return err_sys(err, -r, "--spill: make a file in '%s'", dir);
	capture->spill_path = xasprintf("%s/%s", dir, name);
	return 0;
}

static void keep_tail(struct capture *capture, const char *data, size_t len)
{
	if (capture->tail_cap == 0)
		return;
	if (!capture->tail)
		capture->tail = xcalloc(capture->tail_cap, 1);
	if (len > capture->tail_cap) {
		data += len - capture->tail_cap;
		len = capture->tail_cap;
	}
	size_t first = capture->tail_cap - capture->tail_at;
	if (first > len)
		first = len;
	memcpy(capture->tail + capture->tail_at, data, first);
	memcpy(capture->tail, data + first, len - first);
	capture->tail_at = (capture->tail_at + len) % capture->tail_cap;
	capture->tail_len = capture->tail_len + len > capture->tail_cap ? capture->tail_cap
									: capture->tail_len + len;
}

void capture_add(struct capture *capture, const char *data, size_t len)
{
	capture->total += (int64_t)len;
	if (capture->spill.fd >= 0 && io_write(capture->spill.fd, data, len) < 0)
		capture->has_spill_failed = true;
	size_t room = capture->head_cap - capture->head_len;
	size_t first = len < room ? len : room;
	if (first > 0) {
		if (!capture->head)
			capture->head = xcalloc(capture->head_cap, 1);
		memcpy(capture->head + capture->head_len, data, first);
		capture->head_len += first;
	}
	keep_tail(capture, data, len);
}

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* A cut must not go through a character: at most three bytes are given up for that. */
static size_t end_of_character(const char *text, size_t len)
{
	size_t end = len;
	for (int i = 0; i < 3 && end > 0 && is_continuation(text[end - 1]); i++)
		end--;
	if (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0xc0)
		return end - 1;
	return len;
}

static char *join(const struct capture *capture, size_t *ret_len)
{
	char *text = xcalloc(capture->cap + 1, 1);
	if (capture->tail_cap == 0) {
		*ret_len = end_of_character(capture->head, capture->head_len);
		memcpy(text, capture->head ? capture->head : "", *ret_len);
		return text;
	}
	size_t head_len = end_of_character(capture->head, capture->tail_cap);
	memcpy(text, capture->head, head_len);
	/* the ring is full here: its oldest byte is where the next would go */
	size_t skip = 0;
	while (skip < 3 &&
		is_continuation(capture->tail[(capture->tail_at + skip) % capture->tail_cap]))
		skip++;
	size_t tail_len = capture->tail_cap - skip;
	int64_t cut = capture->total - (int64_t)head_len - (int64_t)tail_len;
	size_t at = head_len;
	at += (size_t)snprintf(text + at, NOTE_ROOM, "\n[… %lld bytes cut …]\n", (long long)cut);
	for (size_t i = skip; i < capture->tail_cap; i++)
		text[at++] = capture->tail[(capture->tail_at + i) % capture->tail_cap];
	*ret_len = at;
	return text;
}

static int name_spill(struct capture *capture, struct err *err)
{
	if (capture->has_spill_failed)
		return err_set(err, ERR_LIMIT, "--spill: '%s' could not take the whole output",
			capture->spill_path);
	int r = aside_name(&capture->spill, strrchr(capture->spill_path, '/') + 1);
	return r < 0 ? err_sys(err, -r, "--spill: name '%s'", capture->spill_path) : 0;
}

int capture_finish(struct capture *capture, struct captured *ret, struct err *err)
{
	ret->total_bytes = capture->total;
	ret->is_truncated = capture->total > (int64_t)capture->cap;
	if (ret->is_truncated) {
		ret->text = join(capture, &ret->len);
	} else {
		ret->text = xcalloc(capture->head_len + 1, 1);
		memcpy(ret->text, capture->head ? capture->head : "", capture->head_len);
		ret->len = capture->head_len;
	}
	if (capture->spill.fd < 0)
		return 0;
	TRY(name_spill(capture, err));
	ret->spilled_to = take_ptr(&capture->spill_path);
	return 0;
}
