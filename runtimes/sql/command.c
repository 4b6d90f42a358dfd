/* SPDX-License-Identifier: Apache-2.0 */
/* Commands beside SQL: those of the sqlite3 shell with a point, those of psql with a backslash. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "sql/shell.h"

enum { WORDS_MAX = 4 };

struct words {
	char *items[WORDS_MAX]; /* owned; NULL behind the last */
	size_t count;
};

struct command {
	const char *name;
	const char *other; /* psql's name */
	const char *usage;
	const char *help;
	size_t least, most; /* words behind the name */
	bool (*run)(struct shell *shell, const struct words *words);
};

static const struct command commands[];
static const size_t command_count;

/* The word at *at: plain, or in quotes with a doubled quote for itself. False at the end. */
static bool next_word(const char *line, size_t len, size_t *at, char **ret_word)
{
	auto_buf struct buf word;
	buf_init(&word, TEXT_NO_CAP);
	while (*at < len && (line[*at] == ' ' || line[*at] == '\t'))
		++*at;
	if (*at == len || line[*at] == ';')
		return false;
	char quote = line[*at] == '\'' || line[*at] == '"' ? line[*at] : '\0';
	for (*at += quote != '\0'; *at < len; ++*at) {
		char c = line[*at];
		if (!quote && (c == ' ' || c == '\t' || (c == ';' && *at + 1 == len)))
			break;
		if (quote && c == quote && (*at + 1 == len || line[*at + 1] != quote)) {
			++*at;
			break;
		}
		*at += quote && c == quote;
		text_put_bytes(&word, &c, 1);
	}
	*ret_word = xstrndup(buf_text(&word), word.len);
	return true;
}

static bool read_words(struct shell *shell, const char *line, size_t len, struct words *words)
{
	size_t at = 0;
	char *word = NULL;
	while (next_word(line, len, &at, &word)) {
		if (words->count == WORDS_MAX) {
			free(word);
			return shell_fail(shell,
				"%s has too many words behind it; .help lists "
				"the commands",
				words->items[0]);
		}
		words->items[words->count++] = word;
	}
	return words->count > 0 || shell_fail(shell, "a command has a name; .help lists them");
}

/* NULL when there is none. */
static const char *argument(const struct words *words, size_t i)
{
	return i + 1 < words->count ? words->items[i + 1] : NULL;
}

/* "on", "off", or nothing for the other way round. */
static bool set_switch(struct shell *shell, const struct words *words, bool *ret_is_on)
{
	const char *word = argument(words, 0);
	bool is_on = word && (strcasecmp(word, "on") == 0 || strcmp(word, "1") == 0);
	bool is_off = word && (strcasecmp(word, "off") == 0 || strcmp(word, "0") == 0);
	if (word && !is_on && !is_off)
		return shell_fail(shell, "%s: '%s' is neither on nor off", words->items[0], word);
	*ret_is_on = word ? is_on : !*ret_is_on;
	return true;
}

static bool run_bail(struct shell *shell, const struct words *words)
{
	return set_switch(shell, words, &shell->is_bail);
}

static bool run_headers(struct shell *shell, const struct words *words)
{
	return set_switch(shell, words, &shell->has_headers);
}

static bool run_timer(struct shell *shell, const struct words *words)
{
	return set_switch(shell, words, &shell->has_timer);
}

static bool run_expanded(struct shell *shell, const struct words *words)
{
	bool is_on = shell->mode == SHELL_LINE;
	if (!set_switch(shell, words, &is_on))
		return false;
	shell->mode = is_on ? SHELL_LINE : SHELL_TABLE;
	return true;
}

static bool run_mode(struct shell *shell, const struct words *words)
{
	for (size_t i = 0; i < SHELL_MODE_COUNT; i++) {
		if (strcmp(shell_mode_names[i], words->items[1]) == 0) {
			shell->mode = (enum shell_mode)i;
			return true;
		}
	}
	return shell_fail(shell, ".mode: '%s' is not known; there is table, csv, json, line, list",
		words->items[1]);
}

static bool run_width(struct shell *shell, const struct words *words)
{
	char *end = NULL;
	long columns = strtol(words->items[1], &end, 10);
	if (*end != '\0' || columns < 0 || columns > 100000 || columns == 1)
		return shell_fail(
			shell, ".width: '%s' is no number of columns (0: all)", words->items[1]);
	shell->cut.columns = (size_t)columns;
	return true;
}

static bool run_null(struct shell *shell, const struct words *words)
{
	(void)snprintf(shell->null_text, sizeof(shell->null_text), "%.60s", words->items[1]);
	return true;
}

static bool run_print(struct shell *shell, const struct words *words)
{
	(void)shell;
	for (size_t i = 1; i < words->count; i++)
		(void)printf("%s%s", i > 1 ? " " : "", words->items[i]);
	(void)printf("\n");
	return true;
}

static bool run_quit(struct shell *shell, const struct words *words)
{
	(void)words;
	shell->is_leaving = true;
	return true;
}

static bool run_read(struct shell *shell, const struct words *words)
{
	return shell_run_file(shell, words->items[1]);
}

static bool run_import(struct shell *shell, const struct words *words)
{
	return import_csv(shell, words->items[1], words->items[2]);
}

static bool run_dump(struct shell *shell, const struct words *words)
{
	return dump(shell, argument(words, 0));
}

static bool run_tables(struct shell *shell, const struct words *words)
{
	return shell_show(shell,
		"SELECT schema AS \"Schema\", name AS \"Name\", type AS \"Type\","
		" ncol AS \"Columns\" FROM pragma_table_list"
		" WHERE type <> 'shadow' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
		" AND (?1 IS NULL OR name LIKE ?1) ORDER BY 1, 2",
		argument(words, 0));
}

static bool run_databases(struct shell *shell, const struct words *words)
{
	(void)words;
	return shell_show(shell,
		"SELECT name AS \"Name\", iif(file = '', '(in memory)', file) AS \"File\""
		" FROM pragma_database_list ORDER BY seq",
		NULL);
}

static bool run_indexes(struct shell *shell, const struct words *words)
{
	return shell_show(shell,
		"SELECT m.name AS \"Name\", m.tbl_name AS \"Table\","
		" (SELECT group_concat(coalesce(i.name, '(expression)'), ', ')"
		"   FROM pragma_index_info(m.name) AS i) AS \"Columns\""
		" FROM sqlite_schema AS m WHERE m.type = 'index'"
		" AND (?1 IS NULL OR m.tbl_name LIKE ?1) ORDER BY 1",
		argument(words, 0));
}

static void count_row(struct shell *shell, const struct value *values, void *context)
{
	(void)shell;
	(void)values;
	++*(size_t *)context;
}

static void print_schema(struct shell *shell, const struct value *values, void *context)
{
	count_row(shell, values, context);
	(void)printf("%.*s;\n", (int)values[0].len, values[0].data);
}

/* Every database has a schema of its own. */
static void schema_of_database(struct shell *shell, const struct value *values, void *context)
{
	struct buf *sql = context;
	(void)shell;
	text_add(sql, sql->len ? " UNION ALL " : "");
	text_add(sql, "SELECT * FROM (SELECT sql FROM \"");
	for (size_t i = 0; i < values[0].len; i++) {
		text_add(sql, values[0].data[i] == '"' ? "\"" : "");
		text_put_bytes(sql, values[0].data + i, 1);
	}
	text_add(sql, "\".sqlite_schema WHERE sql IS NOT NULL"
		      " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
		      " AND (?1 IS NULL OR tbl_name LIKE ?1) ORDER BY rowid)");
}

static bool run_schema(struct shell *shell, const struct words *words)
{
	auto_buf struct buf sql;
	size_t count = 0;
	const char *table = argument(words, 0);
	buf_init(&sql, TEXT_NO_CAP);
	if (!shell_each(shell, "SELECT name FROM pragma_database_list ORDER BY seq", NULL,
		    schema_of_database, &sql) ||
		!shell_each(shell, buf_text(&sql), table, print_schema, &count))
		return false;
	return count > 0 || !table || shell_fail(shell, "there is no table '%s'", table);
}

static void print_lines(struct shell *shell, const struct value *values, void *context)
{
	const char **title = context;
	(void)shell;
	if (*title)
		(void)printf("%s:\n", *title);
	*title = NULL;
	(void)printf("    %.*s\n", (int)values[0].len, values[0].data);
}

static bool show_table(struct shell *shell, const char *table)
{
	const char *indexes = "Indexes", *keys = "Foreign keys", *triggers = "Triggers";
	if (shell->mode == SHELL_TABLE)
		(void)printf("Table \"%s\"\n", table);
	bool is_done =
		shell_show(shell,
			"SELECT name AS \"Column\", type AS \"Type\","
			" iif(\"notnull\" OR pk, 'not null', '') AS \"Nullable\","
			" coalesce(dflt_value, '') AS \"Default\","
			" CASE WHEN pk THEN 'primary key' WHEN hidden IN (2, 3) THEN 'generated'"
			" WHEN hidden THEN 'hidden' ELSE '' END AS \"Extra\""
			" FROM pragma_table_xinfo(?1)",
			table) &&
		shell_each(shell,
			"SELECT printf('\"%w\"%s (%s)%s', l.name, iif(l.\"unique\", ' unique', ''),"
			" (SELECT group_concat(coalesce(i.name, '(expression)'), ', ')"
			"   FROM pragma_index_info(l.name) AS i), iif(l.partial, ' partial', ''))"
			" FROM pragma_index_list(?1) AS l ORDER BY l.name",
			table, print_lines, &indexes) &&
		shell_each(shell,
			"SELECT printf('(%s) references %s(%s)', group_concat(\"from\", ', '),"
			" \"table\", coalesce(group_concat(\"to\", ', '), ''))"
			" FROM pragma_foreign_key_list(?1) GROUP BY id",
			table, print_lines, &keys) &&
		shell_each(shell,
			"SELECT name FROM sqlite_schema WHERE type = 'trigger'"
			" AND tbl_name = ?1 COLLATE NOCASE",
			table, print_lines, &triggers);
	if (is_done && shell->mode == SHELL_TABLE && (!indexes || !keys || !triggers))
		(void)printf("\n");
	return is_done;
}

static bool run_describe(struct shell *shell, const struct words *words)
{
	const char *table = argument(words, 0);
	size_t count = 0;
	if (!table)
		return run_tables(shell, words);
	if (!shell_each(shell, "SELECT 1 FROM pragma_table_xinfo(?1) LIMIT 1", table, count_row,
		    &count))
		return false;
	if (count == 0)
		return shell_fail(shell, "there is no table '%s'", table);
	return show_table(shell, table);
}

static bool run_help(struct shell *shell, const struct words *words)
{
	(void)shell;
	(void)words;
	for (size_t i = 0; i < command_count; i++) {
		const struct command *command = &commands[i];
		char names[64];
		(void)snprintf(names, sizeof(names), "%s%s%s%s%s", command->name,
			command->usage[0] ? " " : "", command->usage, command->other[0] ? ", " : "",
			command->other);
		(void)printf("%-34s %s\n", names, command->help);
	}
	return true;
}

/* clang-format off */
static const struct command commands[] = {
	{ ".bail",      "",        "on|off",     "end at the first error (on)",               0, 1, run_bail },
	{ ".databases", "\\l",     "",           "the databases that are open",               0, 0, run_databases },
	{ ".describe",  "\\d",     "[TABLE]",    "columns, indexes and keys of a table",      0, 1, run_describe },
	{ ".dump",      "",        "[TABLE]",    "everything as SQL",                         0, 1, run_dump },
	{ ".headers",   "",        "on|off",     "names above columns (on)",                  0, 1, run_headers },
	{ ".help",      "\\?",     "",           "this list",                                 0, 0, run_help },
	{ ".import",    "",        "FILE TABLE", "read a CSV file into a table",              2, 2, run_import },
	{ ".indexes",   "\\di",    "[TABLE]",    "the indexes",                               0, 1, run_indexes },
	{ ".mode",      "",        "MODE",       "table, csv, json, line or list",            1, 1, run_mode },
	{ ".nullvalue", "",        "TEXT",       "what stands for NULL (NULL)",               1, 1, run_null },
	{ ".print",     "\\echo",  "TEXT",       "print words",                               0, 3, run_print },
	{ ".quit",      "\\q",     "",           "end here",                                  0, 0, run_quit },
	{ ".read",      "\\i",     "FILE",       "run another script",                        1, 1, run_read },
	{ ".schema",    "",        "[TABLE]",    "the statements that made the tables",       0, 1, run_schema },
	{ ".tables",    "\\dt",    "[TABLE]",    "the tables and views; % stands for any",    0, 1, run_tables },
	{ ".timer",     "\\timing", "on|off",    "the time of each statement (off)",          0, 1, run_timer },
	{ ".vertical",  "\\x",     "on|off",     "one line for each column (off)",            0, 1, run_expanded },
	{ ".width",     "",        "COLUMNS",    "longest cell of a table (100; 0: any)",     1, 1, run_width },
};
/* clang-format on */

static const size_t command_count = COUNT_OF(commands);

static bool run_words(struct shell *shell, const struct words *words)
{
	const char *name = words->items[0];
	for (size_t i = 0; i < command_count; i++) {
		const struct command *command = &commands[i];
		size_t count = words->count - 1;
		if (strcmp(name, command->name) != 0 && strcmp(name, command->other) != 0)
			continue;
		if (count < command->least || count > command->most)
			return shell_fail(shell, "write it as: %s %s", name, command->usage);
		return command->run(shell, words);
	}
	return shell_fail(shell, "there is no command '%s'; .help lists them", name);
}

bool command_run(struct shell *shell, const char *line, size_t len)
{
	struct words words = { 0 };
	bool is_done =
		read_words(shell, line, len, &words) && words.count > 0 && run_words(shell, &words);
	for (size_t i = 0; i < words.count; i++)
		free(words.items[i]);
	return is_done;
}

const char *command_name(size_t i)
{
	return i < command_count ? commands[i].name : NULL;
}
