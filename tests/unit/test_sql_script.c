/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "sql/script.h"
#include "sql/tag.h"

/* The pieces of a script, each in brackets, commands in angles. */
static const char *cut(const char *text)
{
	static char seen[512];
	struct script script = { .name = "test", .text = text, .len = strlen(text) };
	struct piece piece;
	seen[0] = '\0';
	while (script_next(&script, &piece)) {
		bool is_sql = piece.kind == PIECE_SQL;
		size_t used = strlen(seen);
		(void)snprintf(seen + used, sizeof(seen) - used, "%c%.*s%c", is_sql ? '[' : '<',
			(int)piece.len, text + piece.start, is_sql ? ']' : '>');
	}
	return seen;
}

TEST(statements_end_at_their_semicolons_only)
{
	ASSERT_STR(cut(""), "");
	ASSERT_STR(cut(" ;; -- nothing\n /* ; */ ;"), "");
	ASSERT_STR(cut("SELECT 1; SELECT 2"), "[SELECT 1][SELECT 2]");
	ASSERT_STR(cut("SELECT ';' ; x"), "[SELECT ';'][x]");
	ASSERT_STR(cut("SELECT \"a;\", `b;`, [c;] -- ;\n, /* ; */ 1;x"),
		"[SELECT \"a;\", `b;`, [c;] -- ;\n, /* ; */ 1][x]");
	ASSERT_STR(cut("SELECT 'it''s; open"), "[SELECT 'it''s; open]");
}

TEST(a_trigger_keeps_the_semicolons_of_its_body)
{
	ASSERT_STR(cut("CREATE TEMP TRIGGER a AFTER INSERT ON b BEGIN SELECT 1; SELECT 2; END; x"),
		"[CREATE TEMP TRIGGER a AFTER INSERT ON b BEGIN SELECT 1; SELECT 2; END][x]");
	ASSERT_STR(cut("CREATE TABLE trigger(a); x"), "[CREATE TABLE trigger(a)][x]");
	ASSERT_STR(cut("BEGIN; x; END;"), "[BEGIN][x][END]");
}

TEST(a_command_is_a_line_where_a_statement_could_begin)
{
	ASSERT_STR(cut(".tables\n\\d t ; \nSELECT 1\n.5;"), "<.tables><\\d t ;>[SELECT 1\n.5]");
}

TEST(a_place_is_counted_as_an_editor_does)
{
	const char *text = "one\nü x\r\n";
	struct script script = { .text = text, .len = strlen(text) };
	struct place place;
	script_place(&script, strlen("one\nü "), &place);
	ASSERT_EQ(place.line, 2);
	ASSERT_EQ(place.column, 3);
	ASSERT_EQ(place.line_len, strlen("ü x"));
}

static const char *tag(const char *sql)
{
	static char text[64];
	tag_write(sql, strlen(sql), 3, text, sizeof(text));
	return text;
}

TEST(what_changes_data_says_so_as_psql_does)
{
	ASSERT_STR(tag("SELECT 1"), "");
	ASSERT_STR(tag("insert into t values (1)"), "INSERT 0 3");
	ASSERT_STR(tag("REPLACE INTO t VALUES (1)"), "INSERT 0 3");
	ASSERT_STR(tag("WITH a(b) AS (DELETE) UPDATE t SET x = 1"), "UPDATE 3");
	ASSERT_STR(tag("WITH a(b) AS (SELECT 1) SELECT * FROM a"), "");
	ASSERT_STR(tag("CREATE TEMP TABLE t(a)"), "CREATE TABLE");
	ASSERT_STR(tag("CREATE UNIQUE INDEX i ON t(a)"), "CREATE INDEX");
	ASSERT_STR(tag("create virtual table t using fts5(a)"), "CREATE TABLE");
	ASSERT_STR(tag("DROP VIEW v"), "DROP VIEW");
	ASSERT_STR(tag("END"), "COMMIT");
}
