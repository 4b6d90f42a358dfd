/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each entry is a line of JSON, {"code":"…"}, appended with one write: several prompts may share a
 * file. One that has grown past twice its bound is written anew, with the latest entries.
 */
#include "cli/history.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"
#include "base/place.h"
#include "wire/json.h"

enum { ENTRY_BYTES_MAX = 64 << 10, ENTRY_DEPTH = 2 };

static bool is_worth_keeping(const struct history *history, const char *text)
{
	size_t count = history->items.count;
	return text[strspn(text, " \t\n")] != '\0' && strlen(text) < ENTRY_BYTES_MAX / 2 &&
	       (count == 0 || strcmp(history->items.items[count - 1], text) != 0);
}

static void add_item(struct history *history, const char *text)
{
	struct strings *items = &history->items;
	if (items->count >= 2 * HISTORY_MAX) {
		for (size_t i = 0; i < HISTORY_MAX; i++)
			free(items->items[i]);
		memmove(items->items, items->items + HISTORY_MAX,
			(items->count - HISTORY_MAX + 1) * sizeof(*items->items));
		items->count -= HISTORY_MAX;
	}
	strings_add(items, text);
}

static void read_entry(struct history *history, const char *line, size_t len)
{
	auto_json struct json_object *json = NULL;
	struct json_object *code = NULL;
	struct err err = { 0 };
	if (json_read(line, len, ENTRY_BYTES_MAX, ENTRY_DEPTH, &json, &err) < 0 ||
		!json_object_object_get_ex(json, "code", &code) ||
		!json_object_is_type(code, json_type_string))
		return;
	if (is_worth_keeping(history, json_object_get_string(code)))
		add_item(history, json_object_get_string(code));
}

static char *entry_text(const char *text)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "code", json_new_string(text));
	auto_free char *line = json_print(json, false);
	return xasprintf("%s\n", line);
}

/* The latest entries replace the file, by way of another name. */
static void write_anew(struct history *history)
{
	auto_free char *draft = xasprintf("%s.%d", history->path, (int)getpid());
	auto_fd int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	size_t count = history->items.count;
	bool is_whole = fd >= 0;
	for (size_t i = count > HISTORY_MAX ? count - HISTORY_MAX : 0; is_whole && i < count; i++) {
		auto_free char *line = entry_text(history->items.items[i]);
		is_whole = io_write(fd, line, strlen(line)) == 0;
	}
	if (!is_whole || rename(draft, history->path) < 0)
		(void)unlink(draft);
}

/* Of a file that is too long only the end is read. */
static void read_file(struct history *history, int fd)
{
	auto_buf struct buf text = { 0 };
	struct stat info;
	buf_init(&text, 4 * HISTORY_BYTES_MAX);
	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
		return;
	if (info.st_size > 2 * HISTORY_BYTES_MAX)
		(void)lseek(fd, -(off_t)HISTORY_BYTES_MAX, SEEK_END);
	if (buf_read(&text, fd) < 0)
		return;
	size_t line_count = 0;
	for (const char *line = buf_text(&text); *line; line_count++) {
		size_t len = strcspn(line, "\n");
		read_entry(history, line, len);
		line += len + (line[len] == '\n');
	}
	if (line_count > 2 * HISTORY_MAX || info.st_size > HISTORY_BYTES_MAX)
		write_anew(history);
}

void history_open_file(struct history *history, const char *path)
{
	*history = (struct history){ .path = xstrdup(path) };
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0)
		read_file(history, fd);
}

/* Makes the directory and those above it; whether that worked shows when a file is opened. */
static void make_dirs(const char *path)
{
	auto_free char *part = xstrdup(path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(part, 0700);
		*slash = '/';
	}
	(void)mkdir(part, 0700);
}

void history_open(struct history *history, const char *language)
{
	struct err err = { 0 };
	auto_free char *state = NULL;
	*history = (struct history){ 0 };
	if (place_state_dir(&state, &err) < 0 || strchr(language, '/'))
		return;
	auto_free char *dir = xasprintf("%s/history", state);
	auto_free char *path = xasprintf("%s/%s", dir, language);
	make_dirs(dir);
	history_open_file(history, path);
}

void history_done(struct history *history)
{
	strings_done(&history->items);
	free(history->path);
	history->path = NULL;
}

void history_add(struct history *history, const char *text)
{
	if (!is_worth_keeping(history, text))
		return;
	add_item(history, text);
	if (!history->path)
		return;
	auto_free char *line = entry_text(text);
	auto_fd int fd = open(history->path,
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd >= 0)
		(void)io_write(fd, line, strlen(line));
}

bool history_find(const struct history *history, size_t at, const char *prefix, bool is_anywhere,
	const char *other, size_t *ret_index)
{
	while (at-- > 0) {
		const char *item = history->items.items[at];
		bool fits = is_anywhere ? strstr(item, prefix) != NULL
					: strncmp(item, prefix, strlen(prefix)) == 0;
		if (!fits || (other && strcmp(item, other) == 0))
			continue;
		*ret_index = at;
		return true;
	}
	return false;
}
