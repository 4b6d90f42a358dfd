/* SPDX-License-Identifier: Apache-2.0 */
/* A database as the SQL that makes it again: tables with their rows first, then what stands on
 * them, so that no trigger fires while rows go in. */
#include <string.h>

#include "base/own.h"
#include "sql/shell.h"

static void put_name(struct buf *buf, const char *name, size_t len)
{
	text_add(buf, "\"");
	for (size_t i = 0; i < len; i++) {
		text_add(buf, name[i] == '"' ? "\"" : "");
		text_put_bytes(buf, name + i, 1);
	}
	text_add(buf, "\"");
}

struct columns {
	struct buf names;
	size_t count;
	bool has_generated;
};

static void take_column(struct shell *shell, const struct value *values, void *context)
{
	struct columns *columns = context;
	(void)shell;
	if (values[1].len != 1 || values[1].data[0] != '0') {
		columns->has_generated = true;
		return;
	}
	text_add(&columns->names, columns->count++ ? "," : "");
	put_name(&columns->names, values[0].data, values[0].len);
}

struct inserting {
	struct buf head;
	struct buf line;
	size_t column_count;
};

static void print_insert(struct shell *shell, const struct value *values, void *context)
{
	struct inserting *inserting = context;
	(void)shell;
	inserting->line.len = 0;
	for (size_t i = 0; i < inserting->column_count; i++) {
		text_add(&inserting->line, i ? "," : "");
		value_write_sql(&inserting->line, &values[i]);
	}
	(void)printf("%s VALUES(", buf_text(&inserting->head));
	(void)fwrite(buf_text(&inserting->line), 1, inserting->line.len, stdout);
	(void)printf(");\n");
}

/* Columns that are computed are left out: they come by themselves. */
static bool dump_rows(struct shell *shell, const char *table)
{
	struct columns columns = { 0 };
	struct inserting inserting = { 0 };
	auto_buf struct buf sql;
	buf_init(&sql, TEXT_NO_CAP);
	buf_init(&columns.names, TEXT_NO_CAP);
	buf_init(&inserting.head, TEXT_NO_CAP);
	buf_init(&inserting.line, TEXT_NO_CAP);
	bool is_done = shell_each(shell, "SELECT name, hidden FROM pragma_table_xinfo(?1)", table,
		take_column, &columns);
	text_add(&inserting.head, "INSERT INTO ");
	put_name(&inserting.head, table, strlen(table));
	if (columns.has_generated) {
		text_add(&inserting.head, "(");
		text_add(&inserting.head, buf_text(&columns.names));
		text_add(&inserting.head, ")");
	}
	inserting.column_count = columns.count;
	text_add(&sql, "SELECT ");
	text_add(&sql, buf_text(&columns.names));
	text_add(&sql, " FROM ");
	put_name(&sql, table, strlen(table));
	if (is_done && columns.count > 0)
		is_done = shell_each(shell, buf_text(&sql), NULL, print_insert, &inserting);
	buf_done(&columns.names);
	buf_done(&inserting.head);
	buf_done(&inserting.line);
	return is_done;
}

struct dumping {
	bool has_failed;
	size_t count;
};

static void dump_table(struct shell *shell, const struct value *values, void *context)
{
	struct dumping *dumping = context;
	dumping->count++;
	/* a statement may end in a comment */
	const char *end = memmem(values[1].data, values[1].len, "--", 2) ? "\n;" : ";";
	(void)printf("%.*s%s\n", (int)values[1].len, values[1].data, end);
	auto_free char *name = xstrndup(values[0].data, values[0].len);
	if (!dumping->has_failed && !dump_rows(shell, name))
		dumping->has_failed = true;
}

static void dump_other(struct shell *shell, const struct value *values, void *context)
{
	struct dumping *dumping = context;
	(void)shell;
	dumping->count++;
	(void)printf("%.*s\n;\n", (int)values[0].len, values[0].data);
}

static void dump_sequence(struct shell *shell, const struct value *values, void *context)
{
	auto_buf struct buf line;
	(void)shell;
	(void)context;
	buf_init(&line, TEXT_NO_CAP);
	text_add(&line, "DELETE FROM sqlite_sequence WHERE name = ");
	value_write_sql(&line, &values[0]);
	text_add(&line, ";\nINSERT INTO sqlite_sequence VALUES(");
	value_write_sql(&line, &values[0]);
	text_add(&line, ",");
	value_write_sql(&line, &values[1]);
	text_add(&line, ");\n");
	(void)fwrite(buf_text(&line), 1, line.len, stdout);
}

static void take_flag(struct shell *shell, const struct value *values, void *context)
{
	(void)shell;
	(void)values;
	*(bool *)context = true;
}

static bool dump_sequences(struct shell *shell, const char *table)
{
	bool has_sequences = false;
	if (!shell_each(shell, "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'", NULL,
		    take_flag, &has_sequences))
		return false;
	return !has_sequences ||
	       shell_each(shell,
		       "SELECT name, seq FROM sqlite_sequence WHERE ?1 IS NULL OR name LIKE ?1",
		       table, dump_sequence, NULL);
}

bool dump(struct shell *shell, const char *table)
{
	struct dumping dumping = { 0 };
	(void)printf("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n");
	/* virtual tables make the tables behind them themselves */
	bool is_done =
		shell_each(shell,
			"SELECT m.name, m.sql FROM sqlite_schema AS m JOIN pragma_table_list AS l"
			" ON l.schema = 'main' AND l.name = m.name"
			" WHERE m.type = 'table' AND l.type <> 'shadow'"
			" AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
			" AND (?1 IS NULL OR m.tbl_name LIKE ?1) ORDER BY m.rowid",
			table, dump_table, &dumping) &&
		!dumping.has_failed && dump_sequences(shell, table) &&
		shell_each(shell,
			"SELECT sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL"
			" AND (?1 IS NULL OR tbl_name LIKE ?1) ORDER BY rowid",
			table, dump_other, &dumping);
	(void)printf("COMMIT;\n");
	if (is_done && table && dumping.count == 0)
		return shell_fail(shell, "there is no table '%s'", table);
	return is_done;
}
