/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as RFC 4180 has it: fields in quotes may hold commas, line ends and doubled quotes. A table
 * that is not there is made, its columns called as the first line says. All rows go in or none.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "sql/shell.h"

enum { RECORD_MAX = 16 << 20 };

struct csv {
	FILE *file;
	int64_t line;     /* where the record began */
	int64_t lines;    /* read so far */
	struct buf bytes; /* of one record, each field with a NUL behind it */
	size_t ends[ROWS_COLUMNS_MAX];
	size_t count;
};

static const char *field(const struct csv *csv, size_t i)
{
	return buf_text(&csv->bytes) + (i ? csv->ends[i - 1] : 0);
}

static size_t field_len(const struct csv *csv, size_t i)
{
	return csv->ends[i] - (i ? csv->ends[i - 1] : 0) - 1;
}

static bool end_field(struct csv *csv)
{
	if (csv->count == ROWS_COLUMNS_MAX)
		return false;
	text_put_bytes(&csv->bytes, "", 1);
	csv->ends[csv->count++] = csv->bytes.len;
	return true;
}

/* Behind the opening quote. Returns what follows the closing one. */
static int read_quoted(struct csv *csv)
{
	for (;;) {
		int c = getc_unlocked(csv->file);
		if (c == EOF)
			return EOF;
		csv->lines += c == '\n';
		if (c == '"') {
			c = getc_unlocked(csv->file);
			if (c != '"')
				return c;
		}
		const char byte = (char)c;
		text_put_bytes(&csv->bytes, &byte, 1);
	}
}

/* One record; false at the end of the file, or past a limit. */
static bool read_record(struct csv *csv)
{
	csv->bytes.len = csv->count = 0;
	csv->line = csv->lines + 1;
	int c = getc_unlocked(csv->file);
	if (c == EOF)
		return false;
	bool is_start = true;
	for (;; c = getc_unlocked(csv->file)) {
		if (c == '"' && is_start)
			c = read_quoted(csv);
		is_start = false;
		if (c == '\r') {
			int next = getc_unlocked(csv->file);
			if (next != '\n')
				(void)ungetc(next, csv->file);
			c = '\n';
		}
		if (c == ',') {
			if (!end_field(csv))
				return false;
			is_start = true;
		} else if (c == '\n' || c == EOF) {
			csv->lines++;
			return end_field(csv) && !text_is_over(&csv->bytes);
		} else {
			const char byte = (char)c;
			text_put_bytes(&csv->bytes, &byte, 1);
		}
	}
}

static bool is_over(const struct csv *csv)
{
	return csv->count == ROWS_COLUMNS_MAX || text_is_over(&csv->bytes);
}

static void put_name(struct buf *buf, const char *name)
{
	text_add(buf, "\"");
	for (; *name; name++) {
		text_add(buf, *name == '"' ? "\"" : "");
		text_put_bytes(buf, name, 1);
	}
	text_add(buf, "\"");
}

static bool execute(struct shell *shell, const char *sql)
{
	if (sqlite3_exec(shell->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return true;
	return shell_fail(shell, "%s", sqlite3_errmsg(shell->db));
}

/* The type takes numbers as numbers and all else as text. */
static bool create_table(struct shell *shell, const struct csv *csv, const char *table)
{
	auto_buf struct buf sql;
	buf_init(&sql, TEXT_NO_CAP);
	text_add(&sql, "CREATE TABLE ");
	put_name(&sql, table);
	for (size_t i = 0; i < csv->count; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "column%zu", i + 1);
		text_add(&sql, i ? "," : "(");
		put_name(&sql, field_len(csv, i) ? field(csv, i) : name);
		text_add(&sql, " ANY");
	}
	text_add(&sql, ")");
	return execute(shell, buf_text(&sql));
}

struct target {
	size_t column_count;
	size_t matches; /* columns called as the fields of the first record */
	const struct csv *csv;
};

static void take_column(struct shell *shell, const struct value *values, void *context)
{
	struct target *target = context;
	size_t i = target->column_count++;
	(void)shell;
	if (i < target->csv->count && field_len(target->csv, i) == values[0].len &&
		strncasecmp(field(target->csv, i), values[0].data, values[0].len) == 0)
		target->matches++;
}

static bool insert_record(struct shell *shell, const struct csv *csv, sqlite3_stmt *statement)
{
	for (size_t i = 0; i < csv->count; i++)
		(void)sqlite3_bind_text(statement, (int)i + 1, field(csv, i),
			(int)field_len(csv, i), SQLITE_STATIC);
	int r = sqlite3_step(statement);
	(void)sqlite3_reset(statement);
	return r == SQLITE_DONE ||
	       shell_fail(shell, "line %lld: %s", (long long)csv->line, sqlite3_errmsg(shell->db));
}

static sqlite3_stmt *prepare_insert(struct shell *shell, const char *table, size_t count)
{
	auto_buf struct buf sql;
	sqlite3_stmt *statement = NULL;
	buf_init(&sql, TEXT_NO_CAP);
	text_add(&sql, "INSERT INTO ");
	put_name(&sql, table);
	for (size_t i = 0; i < count; i++)
		text_add(&sql, i ? ",?" : " VALUES(?");
	text_add(&sql, ")");
	if (sqlite3_prepare_v2(shell->db, buf_text(&sql), -1, &statement, NULL) != SQLITE_OK)
		(void)shell_fail(shell, "%s", sqlite3_errmsg(shell->db));
	return statement;
}

static bool import_records(
	struct shell *shell, struct csv *csv, const char *table, int64_t *ret_count)
{
	struct target target = { .csv = csv };
	static const char columns[] = "SELECT name FROM pragma_table_info(?1)";
	if (!shell_each(shell, columns, table, take_column, &target))
		return false;
	bool is_new = target.column_count == 0;
	if (is_new && !create_table(shell, csv, table))
		return false;
	size_t column_count = is_new ? csv->count : target.column_count;
	bool has_record = !is_new && target.matches < column_count;
	sqlite3_stmt *statement = prepare_insert(shell, table, column_count);
	bool is_done = statement != NULL;
	while (is_done && (has_record || read_record(csv))) {
		has_record = false;
		bool is_empty = csv->count == 1 && field_len(csv, 0) == 0 && column_count > 1;
		if (is_empty)
			continue;
		if (csv->count != column_count)
			is_done = shell_fail(shell,
				"line %lld has %zu fields where there are %zu "
				"columns",
				(long long)csv->line, csv->count, column_count);
		else
			is_done = insert_record(shell, csv, statement);
		*ret_count += is_done;
	}
	(void)sqlite3_finalize(statement);
	return is_done;
}

static bool import_file(struct shell *shell, FILE *file, const char *table, int64_t *ret_count)
{
	auto_free struct csv *csv = xcalloc(1, sizeof(*csv));
	csv->file = file;
	buf_init(&csv->bytes, RECORD_MAX);
	bool is_done = read_record(csv);
	if (!is_done && !is_over(csv))
		(void)shell_fail(shell, "the file is empty");
	if (is_done)
		is_done = execute(shell, "SAVEPOINT hotcell_import");
	if (is_done) {
		is_done = import_records(shell, csv, table, ret_count);
		if (!is_done)
			(void)sqlite3_exec(
				shell->db, "ROLLBACK TO hotcell_import", NULL, NULL, NULL);
		(void)sqlite3_exec(shell->db, "RELEASE hotcell_import", NULL, NULL, NULL);
	}
	if (is_over(csv))
		is_done = shell_fail(shell, "line %lld is too long, or has too many fields",
			(long long)csv->line);
	buf_done(&csv->bytes);
	return is_done;
}

bool import_csv(struct shell *shell, const char *path, const char *table)
{
	int64_t count = 0;
	char why[sizeof(shell->message)];
	auto_file FILE *file = fopen(path, "re");
	if (!file)
		return shell_fail(shell, "cannot read '%s': %s", path, strerror(errno));
	if (!import_file(shell, file, table, &count)) {
		(void)snprintf(why, sizeof(why), "%s", shell->message);
		return shell_fail(shell, "cannot import '%s': %.300s", path, why);
	}
	if (shell->mode == SHELL_TABLE)
		(void)printf("COPY %lld\n", (long long)count);
	return true;
}
