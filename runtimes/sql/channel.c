/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/own.h"
#include "sql/table.h"

enum {
	CHANNEL_FD = 3,
	CHANNEL_FD_OWN = 64,      /* where no file of ours comes by accident */
	CHANNEL_PATIENCE = 10000, /* ms that a listener may take for anything at all */
	CHANNEL_CELL_COLUMNS = 100,
	CHANNEL_CELL_LINES = 50,
};

void channel_open(struct channel *channel)
{
	struct stat st;
	channel->fd = -1;
	if (fstat(CHANNEL_FD, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	channel->fd = fcntl(CHANNEL_FD, F_DUPFD_CLOEXEC, CHANNEL_FD_OWN);
	(void)close(CHANNEL_FD);
}

void channel_close(struct channel *channel)
{
	own_close(&channel->fd);
}

static int send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN) {
			struct pollfd room = { .fd = fd, .events = POLLOUT };
			if (poll(&room, 1, CHANNEL_PATIENCE) <= 0)
				return -1;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

void channel_send(struct channel *channel, const struct buf *frame)
{
	if (channel->fd < 0 || frame->len > CHANNEL_FRAME_MAX)
		return;
	uint32_t len = htonl((uint32_t)frame->len);
	/* half a frame would spoil all that follow */
	if (send_all(channel->fd, (const char *)&len, sizeof(len)) < 0 ||
		send_all(channel->fd, frame->data, frame->len) < 0)
		channel_close(channel);
}

static void write_table(struct buf *buf, const struct rows *rows, struct value *values)
{
	char total[64];
	text_add(buf, "{\"columns\":[");
	for (size_t i = 0; i < rows->column_count; i++) {
		text_add(buf, i ? "," : "");
		value_write_json_text(buf, rows->names[i], strlen(rows->names[i]));
	}
	text_add(buf, "],\"rows\":[");
	for (size_t i = 0; i < rows->kept_count; i++) {
		rows_get(rows, i, values);
		text_add(buf, i ? ",[" : "[");
		for (size_t k = 0; k < rows->column_count; k++) {
			text_add(buf, k ? "," : "");
			value_write_json(buf, &values[k]);
		}
		text_add(buf, "]");
	}
	(void)snprintf(total, sizeof(total), "],\"total_rows\":%" PRId64 "}", rows->total);
	text_add(buf, total);
}

static void write_text(
	struct buf *buf, const struct rows *rows, const char *null_text, struct value *values)
{
	const struct cut cut = { CHANNEL_CELL_COLUMNS, CHANNEL_CELL_LINES };
	struct table table;
	table_init(&table, rows, null_text, &cut, true);
	table_measure_kept(&table);
	table_write_head(&table, buf);
	for (size_t i = 0; i < rows->kept_count && buf->len < ROWS_TEXT_BYTES; i++) {
		rows_get(rows, i, values);
		table_write_row(&table, buf, values);
		if (i + 1 < rows->kept_count && buf->len >= ROWS_TEXT_BYTES)
			text_add(buf, "…\n");
	}
	if ((int64_t)rows->kept_count < rows->total)
		text_add(buf, "…\n");
	table_write_foot(&table, buf);
	buf->len -= buf->len > 0; /* the empty line is for what follows on a terminal */
	table_done(&table);
}

static void write_html_text(struct buf *buf, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '<')
			text_add(buf, "&lt;");
		else if (text[i] == '>')
			text_add(buf, "&gt;");
		else if (text[i] == '&')
			text_add(buf, "&amp;");
		else
			text_put_bytes(buf, text + i, 1);
	}
}

static void write_html_cell(struct buf *buf, const struct value *value)
{
	auto_buf struct buf text;
	buf_init(&text, TEXT_NO_CAP);
	if (value->kind == VALUE_NULL) {
		text_add(buf, "<td><em>NULL</em></td>");
		return;
	}
	value_write(&text, value, "");
	text_add(buf, value_is_number(value) ? "<td style=\"text-align:right\">" : "<td>");
	write_html_text(buf, buf_text(&text), text.len);
	text_add(buf, "</td>");
}

static void write_html(struct buf *buf, const struct rows *rows, struct value *values)
{
	text_add(buf, "<table>\n<thead><tr>");
	for (size_t i = 0; i < rows->column_count; i++) {
		text_add(buf, "<th>");
		write_html_text(buf, rows->names[i], strlen(rows->names[i]));
		text_add(buf, "</th>");
	}
	text_add(buf, "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < rows->kept_count; i++) {
		rows_get(rows, i, values);
		text_add(buf, "<tr>");
		for (size_t k = 0; k < rows->column_count; k++)
			write_html_cell(buf, &values[k]);
		text_add(buf, "</tr>\n");
	}
	text_add(buf, "</tbody>\n</table>");
}

static void put_member(struct buf *buf, const char *name, const struct buf *text)
{
	text_add(buf, buf->len > 1 ? ",\"" : "\"");
	text_add(buf, name);
	text_add(buf, "\":");
	value_write_json_text(buf, buf_text(text), text->len);
}

/* What is too large for a frame is left out, the least needed first. */
void channel_write_rows(struct buf *buf, const struct rows *rows, const char *null_text)
{
	enum { ROOM = CHANNEL_FRAME_MAX - 1024 };
	auto_free struct value *values = xcalloc(rows->column_count + 1, sizeof(*values));
	auto_buf struct buf table, text, html;
	buf_init(&table, ROOM / 2);
	buf_init(&text, 4 * ROWS_TEXT_BYTES);
	buf_init(&html, ROOM / 4);
	write_text(&text, rows, null_text, values);
	write_table(&table, rows, values);
	write_html(&html, rows, values);
	bool has_table = !text_is_over(&table);
	if (!has_table)
		text_add(&text, "\n(too large to be sent as a table)");
	text_add(buf, "{");
	if (has_table) {
		text_add(buf, "\"application/vnd.hotcell.table+json\":");
		text_put_bytes(buf, table.data, table.len);
	}
	put_member(buf, "text/plain", &text);
	if (has_table && !text_is_over(&html) && buf->len + 2 * html.len < ROOM)
		put_member(buf, "text/html", &html);
	text_add(buf, "}");
}

static void put_text(struct buf *buf, const char *name, const char *text, size_t len)
{
	text_add(buf, name);
	value_write_json_text(buf, text, len);
}

void channel_send_error(struct channel *channel, const struct failing *failing)
{
	auto_buf struct buf frame;
	char place[96];
	buf_init(&frame, CHANNEL_FRAME_MAX);
	if (channel->fd < 0)
		return;
	(void)snprintf(place, sizeof(place), ",\"line\":%" PRId64 ",\"column\":%" PRId64,
		failing->line, failing->column);
	put_text(&frame, "{\"event\":\"error\",\"kind\":", failing->kind, strlen(failing->kind));
	put_text(&frame, ",\"name\":", failing->name, strlen(failing->name));
	put_text(&frame, ",\"value\":", failing->value, strlen(failing->value));
	text_add(&frame, place);
	put_text(&frame, ",\"traceback\":[{\"file\":", failing->file, strlen(failing->file));
	text_add(&frame, place);
	put_text(&frame, ",\"source\":", failing->source, failing->source_len);
	text_add(&frame, "}]}");
	if (!text_is_over(&frame))
		channel_send(channel, &frame);
}
