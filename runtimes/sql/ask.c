/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/ask.h"

#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum { MATCHES_MAX = 500, TEXT_MAX = 64 << 10 };

static const char *text_of(struct json_object *object, const char *name)
{
	struct json_object *value = json_object_object_get(object, name);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* ---- completion ---------------------------------------------------------------------------------
 */

struct matches {
	struct json_object *list;
	const char *word;
	size_t count;
};

static void add_match(struct matches *matches, const char *name, size_t len)
{
	size_t word_len = strlen(matches->word);
	if (len < word_len || strncasecmp(name, matches->word, word_len) != 0)
		return;
	for (size_t i = 0; i < matches->count; i++) {
		struct json_object *known = json_object_array_get_idx(matches->list, i);
		if ((size_t)json_object_get_string_len(known) == len &&
			strncasecmp(json_object_get_string(known), name, len) == 0)
			return;
	}
	if (matches->count >= MATCHES_MAX)
		return;
	(void)json_object_array_add(matches->list, json_new_text(name, len));
	matches->count++;
}

static void take_name(struct shell *shell, const struct value *values, void *context)
{
	(void)shell;
	add_match(context, values[0].data, values[0].len);
}

/* In the case of the word, as people write them. */
static void add_keywords(struct matches *matches)
{
	bool is_lower = matches->word[0] >= 'a' && matches->word[0] <= 'z';
	for (int i = 0; i < sqlite3_keyword_count(); i++) {
		const char *name = NULL;
		int len = 0;
		char lower[64];
		if (sqlite3_keyword_name(i, &name, &len) != SQLITE_OK || len >= (int)sizeof(lower))
			continue;
		for (int k = 0; k < len; k++)
			lower[k] = (char)(name[k] >= 'A' && name[k] <= 'Z' ? name[k] - 'A' + 'a'
									   : name[k]);
		add_match(matches, is_lower ? lower : name, (size_t)len);
	}
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (c & 0x80);
}

static void find_names(struct shell *shell, struct matches *matches, const char *table)
{
	static const char columns[] =
		"SELECT DISTINCT c.name FROM pragma_table_list t, pragma_table_xinfo(t.name) c "
		"WHERE t.name NOT LIKE 'sqlite_%' AND (?1 = '' OR t.name = ?1 COLLATE NOCASE OR "
		"NOT EXISTS (SELECT 1 FROM pragma_table_list WHERE name = ?1 COLLATE NOCASE))";
	if (!table[0]) {
		(void)shell_each(shell,
			"SELECT name FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%'", NULL,
			take_name, matches);
	}
	(void)shell_each(shell, columns, table, take_name, matches);
	if (table[0])
		return;
	add_keywords(matches);
	(void)shell_each(shell,
		"SELECT DISTINCT name FROM pragma_function_list WHERE name GLOB '[a-z]*'", NULL,
		take_name, matches);
}

static void find_commands(struct matches *matches)
{
	const char *name;
	for (size_t i = 0; (name = command_name(i)); i++)
		add_match(matches, name, strlen(name));
}

struct json_object *ask_complete(struct shell *shell, struct json_object *request)
{
	const char *code = text_of(request, "code");
	size_t end = utf8_byte_at(
		code, json_object_get_int64(json_object_object_get(request, "cursor")));
	size_t start = end;
	while (start > 0 && is_word(code[start - 1]))
		start--;
	size_t table_end = start > 0 && code[start - 1] == '.' ? start - 1 : start;
	size_t table_start = table_end;
	while (table_end < start && table_start > 0 && is_word(code[table_start - 1]))
		table_start--;
	bool is_command = table_end < start && (table_end == 0 || code[table_end - 1] == '\n');
	start = is_command ? table_end : start;
	auto_free char *word = xstrndup(code + start, end - start);
	auto_free char *table = xstrndup(code + table_start, table_end - table_start);
	struct matches matches = { .list = json_object_new_array(), .word = word };
	if (is_command)
		find_commands(&matches);
	else
		find_names(shell, &matches, table);
	struct json_object *json = json_object_new_object();
	json_put(json, "event", json_new_string("completions"));
	json_put(json, "matches", matches.list);
	json_put(json, "start", json_object_new_int64(utf8_count(code, start)));
	json_put(json, "end", json_object_new_int64(utf8_count(code, end)));
	return json;
}

/* ---- the rest
 * ------------------------------------------------------------------------------------- */

static void take_line(struct shell *shell, const struct value *values, void *context)
{
	struct buf *text = context;
	(void)shell;
	(void)buf_append(text, values[0].data, values[0].len);
	(void)buf_append(text, "\n", 1);
}

struct json_object *ask_inspect(struct shell *shell, struct json_object *request)
{
	static const char schema[] =
		"SELECT sql || ';' FROM (SELECT * FROM sqlite_schema UNION ALL "
		"SELECT * FROM sqlite_temp_schema) "
		"WHERE sql IS NOT NULL AND (name = ?1 COLLATE NOCASE OR tbl_name = ?1 COLLATE "
		"NOCASE)";
	static const char function[] =
		"SELECT printf('%s: a function of %s', name, CASE WHEN narg < 0 THEN "
		"'any number of arguments' WHEN narg = 1 THEN '1 argument' ELSE narg || ' "
		"arguments' END) "
		"FROM pragma_function_list WHERE name = ?1 COLLATE NOCASE GROUP BY narg";
	static const char names[] =
		"SELECT name || '  ' || type FROM (SELECT name, type FROM sqlite_schema UNION ALL "
		"SELECT name, 'temporary ' || type FROM sqlite_temp_schema) "
		"WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
	const char *name = text_of(request, "name");
	auto_buf struct buf text;
	buf_init(&text, TEXT_MAX);
	(void)shell_each(shell, name[0] ? schema : names, name[0] ? name : NULL, take_line, &text);
	if (text.len == 0 && name[0] == '\0')
		(void)buf_printf(&text, "no names yet\n");
	if (text.len > 0 && json_object_get_int(json_object_object_get(request, "detail")) > 0) {
		auto_buf struct buf count;
		buf_init(&count, TEXT_MAX);
		char *sql = sqlite3_mprintf("SELECT count(*) || ' rows' FROM \"%w\"", name);
		(void)shell_each(shell, sql, NULL, take_line, &count);
		sqlite3_free(sql);
		(void)buf_append(&text, buf_text(&count), count.len);
	}
	if (text.len == 0)
		(void)shell_each(shell, function, name, take_line, &text);
	struct json_object *json = json_object_new_object();
	json_put(json, "event", json_new_string("inspection"));
	json_put(json, "text", text.len > 0 ? json_new_text(buf_text(&text), text.len) : NULL);
	return json;
}

/* As at the prompts of sqlite3 and psql: a statement ends with its semicolon. */
static bool is_whole(const char *code)
{
	size_t len = strlen(code);
	struct script script = { .name = "", .text = code, .len = len };
	struct piece piece, last = { 0 };
	while (script_next(&script, &piece))
		last = piece;
	return last.kind != PIECE_SQL || sqlite3_complete(code);
}

struct json_object *ask_is_complete(struct shell *shell, struct json_object *request)
{
	(void)shell;
	struct json_object *json = json_object_new_object();
	json_put(json, "event", json_new_string("completeness"));
	json_put(json, "state",
		json_new_string(is_whole(text_of(request, "code")) ? "complete" : "incomplete"));
	json_put(json, "indent", json_new_string(""));
	return json;
}
