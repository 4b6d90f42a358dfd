/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "sql/failure.h"
#include "sql/printer.h"
#include "sql/tag.h"

enum { SCRIPT_MAX = 64 << 20, READ_DEPTH = 16, CELL_COLUMNS = 100, CELL_LINES = 50 };

const char *const shell_mode_names[SHELL_MODE_COUNT] = {
	[SHELL_TABLE] = "table",
	[SHELL_CSV] = "csv",
	[SHELL_JSON] = "json",
	[SHELL_LINE] = "line",
	[SHELL_LIST] = "list",
};

bool shell_open(struct shell *shell, const char *database)
{
	shell->has_headers = shell->is_bail = true;
	shell->cut = (struct cut){ CELL_COLUMNS, CELL_LINES };
	(void)snprintf(shell->null_text, sizeof(shell->null_text), "NULL");
	buf_init(&shell->pending, CHANNEL_FRAME_MAX - 64);
	int r = sqlite3_open_v2(database ? database : ":memory:", &shell->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (r != SQLITE_OK)
		return shell_fail(shell, "cannot open the database '%s': %s",
			database ? database : "", sqlite3_errmsg(shell->db));
	(void)sqlite3_extended_result_codes(shell->db, 1);
	(void)sqlite3_db_config(shell->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	if (functions_add(shell->db) != SQLITE_OK)
		return shell_fail(shell, "%s", sqlite3_errmsg(shell->db));
	return true;
}

void shell_close(struct shell *shell)
{
	(void)sqlite3_close_v2(shell->db);
	channel_close(&shell->channel);
	buf_done(&shell->pending);
}

static void send_pending(struct shell *shell, const char *event)
{
	auto_buf struct buf frame;
	buf_init(&frame, CHANNEL_FRAME_MAX);
	if (shell->pending.len == 0)
		return;
	(void)fflush(stdout);
	text_add(&frame, "{\"event\":\"");
	text_add(&frame, event);
	text_add(&frame, "\",\"data\":");
	text_put_bytes(&frame, shell->pending.data, shell->pending.len);
	text_add(&frame, ",\"metadata\":{\"printed\":true}}");
	channel_send(&shell->channel, &frame);
	shell->pending.len = 0;
}

void shell_flush(struct shell *shell)
{
	send_pending(shell, "display");
}

void shell_finish(struct shell *shell)
{
	send_pending(shell, shell->has_failed ? "display" : "result");
	(void)fflush(stdout);
}

bool shell_fail(struct shell *shell, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(shell->message, sizeof(shell->message), fmt, ap);
	va_end(ap);
	return false;
}

void shell_read_row(sqlite3_stmt *statement, struct value *values, size_t count)
{
	static const enum value_kind kinds[] = {
		[SQLITE_INTEGER] = VALUE_INTEGER,
		[SQLITE_FLOAT] = VALUE_REAL,
		[SQLITE_TEXT] = VALUE_TEXT,
		[SQLITE_BLOB] = VALUE_BLOB,
		[SQLITE_NULL] = VALUE_NULL,
	};
	for (size_t i = 0; i < count; i++) {
		int column = (int)i;
		struct value *value = &values[i];
		*value = (struct value){ .kind = kinds[sqlite3_column_type(statement, column)] };
		if (value->kind == VALUE_REAL)
			value->real = sqlite3_column_double(statement, column);
		const void *data = value->kind == VALUE_BLOB
					   ? sqlite3_column_blob(statement, column)
					   : sqlite3_column_text(statement, column);
		value->data = data ? data : "";
		value->len = data ? (size_t)sqlite3_column_bytes(statement, column) : 0;
	}
}

/* What a row is given to; false ends it. */
struct taker {
	void (*take)(struct shell *shell, const struct value *values, void *context);
	void *context;
};

static int step_all(struct shell *shell, sqlite3_stmt *statement, const struct taker *taker)
{
	size_t count = (size_t)sqlite3_column_count(statement);
	auto_free struct value *values = xcalloc(count + 1, sizeof(*values));
	int r = sqlite3_step(statement);
	for (; r == SQLITE_ROW; r = sqlite3_step(statement)) {
		shell_read_row(statement, values, count);
		if (taker->take)
			taker->take(shell, values, taker->context);
	}
	return r == SQLITE_DONE ? SQLITE_OK : r;
}

/* A result on its way to output and channel. */
struct showing {
	struct rows rows;
	struct printer printer;
};

static void take_shown(struct shell *shell, const struct value *values, void *context)
{
	struct showing *showing = context;
	(void)shell;
	bool is_kept = rows_add(&showing->rows, values);
	printer_row(&showing->printer, values, is_kept);
}

static int show_rows(struct shell *shell, sqlite3_stmt *statement)
{
	struct showing showing;
	const struct taker taker = { take_shown, &showing };
	int column_count = sqlite3_column_count(statement);
	shell_flush(shell);
	rows_init(&showing.rows);
	for (int i = 0; i < column_count; i++) {
		const char *name = sqlite3_column_name(statement, i);
		rows_add_column(&showing.rows, name ? name : "?");
	}
	printer_init(&showing.printer, shell, &showing.rows);
	int r = step_all(shell, statement, &taker);
	printer_end(&showing.printer, r == SQLITE_OK);
	if (r == SQLITE_OK && shell->channel.fd >= 0)
		channel_write_rows(&shell->pending, &showing.rows, shell->null_text);
	printer_done(&showing.printer);
	rows_done(&showing.rows);
	return r;
}

bool shell_each(struct shell *shell, const char *sql, const char *arg,
	void (*take)(struct shell *shell, const struct value *values, void *context), void *context)
{
	sqlite3_stmt *statement = NULL;
	const struct taker taker = { take, context };
	int r = sqlite3_prepare_v2(shell->db, sql, -1, &statement, NULL);
	if (r == SQLITE_OK && arg)
		r = sqlite3_bind_text(statement, 1, arg, -1, SQLITE_TRANSIENT);
	if (r == SQLITE_OK)
		r = take ? step_all(shell, statement, &taker) : show_rows(shell, statement);
	if (r != SQLITE_OK)
		(void)shell_fail(shell, "%s", sqlite3_errmsg(shell->db));
	(void)sqlite3_finalize(statement);
	return r == SQLITE_OK;
}

bool shell_show(struct shell *shell, const char *sql, const char *arg)
{
	return shell_each(shell, sql, arg, NULL, NULL);
}

/* A value that is a number, written as SQLite would write it, is one; 007 and 1e3 are text. */
static int bind_value(sqlite3_stmt *statement, int index, const char *text)
{
	char again[REAL_SIZE];
	char *end = NULL;
	errno = 0;
	long long integer = strtoll(text, &end, 10);
	(void)snprintf(again, sizeof(again), "%lld", integer);
	if (errno == 0 && strcmp(again, text) == 0)
		return sqlite3_bind_int64(statement, index, integer);
	double real = strtod(text, &end);
	value_format_real(real, again);
	if (strcmp(again, text) == 0)
		return sqlite3_bind_double(statement, index, real);
	return sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

static const struct parameter *find_parameter(const struct shell *shell, const char *name)
{
	for (size_t i = shell->parameter_count; i > 0; i--) {
		const struct parameter *parameter = &shell->parameters[i - 1];
		if (strlen(name) == parameter->name_len &&
			strncmp(name, parameter->name, parameter->name_len) == 0)
			return parameter;
	}
	return NULL;
}

/* SQLite would take NULL for what has no value; a misspelt name is likelier. */
static bool bind_parameters(struct shell *shell, sqlite3_stmt *statement)
{
	for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++) {
		const char *name = sqlite3_bind_parameter_name(statement, i);
		if (!name || name[0] == '?')
			return shell_fail(shell,
				"parameter %s has no name; write :NAME and give NAME=VALUE as an "
				"argument",
				name ? name : "?");
		const struct parameter *parameter = find_parameter(shell, name + 1);
		if (!parameter)
			return shell_fail(shell,
				"parameter %s has no value; give it as an argument: %s=VALUE", name,
				name + 1);
		if (bind_value(statement, i, parameter->value) != SQLITE_OK)
			return shell_fail(shell, "%s", sqlite3_errmsg(shell->db));
	}
	return true;
}

static void print_time(const struct shell *shell, int64_t started_us)
{
	int64_t took_us = clock_us() - started_us;
	if (shell->has_timer)
		(void)printf("Time: %lld.%03lld ms\n", (long long)(took_us / 1000),
			(long long)(took_us % 1000));
}

/* One statement, prepared and bound. */
static bool run_prepared(struct shell *shell, const struct script *script,
	const struct piece *piece, sqlite3_stmt *statement)
{
	char tag[64];
	if (!bind_parameters(shell, statement)) {
		failure_of_shell(shell, script, piece);
		return false;
	}
	const struct taker nobody = { 0 };
	int r = sqlite3_column_count(statement) > 0 ? show_rows(shell, statement)
						    : step_all(shell, statement, &nobody);
	if (r != SQLITE_OK) {
		failure_of_statement(shell, script, piece, r);
		return false;
	}
	tag_write(script->text + piece->start, piece->len, sqlite3_changes64(shell->db), tag,
		sizeof(tag));
	if (tag[0] != '\0' && shell->mode == SHELL_TABLE)
		(void)printf("%s\n", tag);
	return true;
}

static bool run_statement(
	struct shell *shell, const struct script *script, const struct piece *piece)
{
	sqlite3_stmt *statement = NULL;
	int64_t started_us = clock_us();
	int r = sqlite3_prepare_v2(
		shell->db, script->text + piece->start, (int)piece->len, &statement, NULL);
	if (r != SQLITE_OK) {
		failure_of_statement(shell, script, piece, r);
		return false;
	}
	bool is_done = !statement || run_prepared(shell, script, piece, statement);
	(void)sqlite3_finalize(statement);
	print_time(shell, started_us);
	return is_done;
}

static bool run_command(struct shell *shell, const struct script *script, const struct piece *piece)
{
	if (command_run(shell, script->text + piece->start, piece->len))
		return true;
	/* a script that was read told of its own error already */
	if (shell->message[0] != '\0')
		failure_of_shell(shell, script, piece);
	return false;
}

bool shell_run(struct shell *shell, struct script *script)
{
	struct piece piece;
	bool is_done = true;
	shell->depth++;
	while (is_done && !shell->is_leaving && !shell->is_interrupted &&
		script_next(script, &piece)) {
		shell->message[0] = '\0';
		is_done = piece.kind == PIECE_SQL ? run_statement(shell, script, &piece)
						  : run_command(shell, script, &piece);
		is_done |= !shell->is_bail;
	}
	shell->depth--;
	shell->message[0] = '\0';
	return is_done;
}

bool shell_run_file(struct shell *shell, const char *path)
{
	auto_buf struct buf text;
	const char *slash = strrchr(path, '/');
	buf_init(&text, SCRIPT_MAX);
	if (shell->depth >= READ_DEPTH)
		return shell_fail(shell, "'%s': scripts read each other without end", path);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : buf_read(&text, fd);
	if (r < 0)
		return shell_fail(shell, "cannot read '%s': %s", path,
			r == -ENOSPC ? "longer than 64 MiB" : strerror(-r));
	if (memchr(buf_text(&text), '\0', text.len))
		return shell_fail(shell, "'%s' is not a script: it has a NUL byte", path);
	struct script script = {
		.name = slash ? slash + 1 : path, .text = buf_text(&text), .len = text.len
	};
	if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
		script.at = 3; /* a byte order mark */
	return shell_run(shell, &script);
}
