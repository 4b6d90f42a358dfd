/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session_view.h"

#include <string.h>

#include "base/own.h"
#include "cli/columns.h"
#include "model/units.h"

enum { LABEL = 11, POINTS_MAX = 1000, DEPTH_MAX = 20, NAME_COLUMNS = 64 };

static const char *text_of(struct json_object *json, const char *key)
{
	struct json_object *value = json_object_object_get(json, key);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static int64_t number_of(struct json_object *json, const char *key)
{
	return json_object_get_int64(json_object_object_get(json, key));
}

static bool has(struct json_object *json, const char *key)
{
	return json_object_object_get(json, key) != NULL;
}

const char *session_span(int64_t seconds, char *text, size_t size)
{
	static const struct {
		int64_t upto, unit;
		const char *name;
	} spans[] = { { 120, 1, "s" }, { 7200, 60, "min" }, { 172800, 3600, "h" },
		{ INT64_MAX, 86400, "d" } };
	size_t i = 0;
	if (seconds < 0)
		seconds = 0;
	while (seconds >= spans[i].upto)
		i++;
	(void)snprintf(text, size, "%lld %s", (long long)(seconds / spans[i].unit), spans[i].name);
	return text;
}

static char *span_of(int64_t seconds)
{
	char text[32];
	return xstrdup(session_span(seconds, text, sizeof(text)));
}

static char *size_of(struct json_object *json, const char *key)
{
	char text[32];
	if (!has(json, key))
		return xstrdup("-");
	return xstrdup(text_bytes(number_of(json, key) * 1024, text, sizeof(text)));
}

/* When it ends unless somebody uses it, and when in any case: the sooner of the two. */
static char *end_of(struct json_object *info, int64_t now)
{
	int64_t idle = number_of(info, "last_used") + number_of(info, "idle") - now;
	int64_t life = number_of(info, "created") + number_of(info, "lifetime") - now;
	bool is_busy = text_of(info, "status") && strcmp(text_of(info, "status"), "busy") == 0;
	if (text_of(info, "status") && strcmp(text_of(info, "status"), "dead") == 0)
		return xstrdup("-");
	return span_of(idle < life && !is_busy ? idle : life);
}

static char *copy_of(struct json_object *json, const char *key)
{
	return xstrdup(text_of(json, key) ? text_of(json, key) : "-");
}

void session_list_put(
	struct buf *out, struct json_object *sessions, const struct term *term, int64_t now)
{
	static const struct column_head heads[] = {
		{ .title = "TENANT" }, /* where those of every tenant are told */
		{ .title = "NAME", .gives_way = true },
		{ .title = "LANGUAGE" },
		{ .title = "STATUS" },
		{ .title = "TURNS", .is_number = true },
		{ .title = "POINTS", .is_number = true },
		{ .title = "MEMORY", .is_number = true },
		{ .title = "USED", .is_number = true },
		{ .title = "ENDS IN", .is_number = true },
	};
	bool has_tenants =
		json_object_object_get_ex(json_object_array_get_idx(sessions, 0), "tenant", NULL);
	struct columns columns = { .heads = heads + !has_tenants,
		.count = COUNT_OF(heads) - !has_tenants };
	for (size_t i = 0; i < json_object_array_length(sessions); i++) {
		struct json_object *info = json_object_array_get_idx(sessions, i);
		if (has_tenants)
			columns_add(&columns, copy_of(info, "tenant"));
		columns_add(&columns, copy_of(info, "name"));
		columns_add(&columns, copy_of(info, "language"));
		columns_add(&columns, copy_of(info, "status"));
		columns_add(&columns, xasprintf("%lld", (long long)number_of(info, "executions")));
		columns_add(&columns, xasprintf("%lld", (long long)number_of(info, "point_count")));
		columns_add(&columns, size_of(info, "memory_kb"));
		auto_free char *used = span_of(now - number_of(info, "last_used"));
		columns_add(&columns, xasprintf("%s ago", used));
		columns_add(&columns, end_of(info, now));
	}
	columns_put(out, &columns, term);
	columns_done(&columns);
}

void session_files_put(
	struct buf *out, struct json_object *listing, const struct term *term, int64_t now)
{
	static const struct column_head heads[] = {
		{ .title = "FILE", .gives_way = true },
		{ .title = "SIZE", .is_number = true },
		{ .title = "CHANGED", .is_number = true },
	};
	struct columns columns = { .heads = heads, .count = COUNT_OF(heads) };
	struct json_object *files = json_object_object_get(listing, "files");
	size_t count =
		json_object_is_type(files, json_type_array) ? json_object_array_length(files) : 0;
	char size[32];
	if (count == 0) {
		(void)buf_printf(out, "no files in /home/user\n");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct json_object *file = json_object_array_get_idx(files, i);
		const char *kind = text_of(file, "kind");
		bool is_file = kind && strcmp(kind, "file") == 0;
		auto_free char *ago = span_of(now - number_of(file, "modified"));
		columns_add(&columns, copy_of(file, "path"));
		columns_add(&columns,
			is_file ? xstrdup(text_bytes(number_of(file, "size"), size, sizeof(size)))
				: NULL);
		columns_add(&columns, xasprintf("%s ago", ago));
	}
	columns_put(out, &columns, term);
	columns_done(&columns);
	if ((int64_t)count < number_of(listing, "count"))
		(void)buf_printf(out, "… %lld more\n",
			(long long)(number_of(listing, "count") - (int64_t)count));
}

/* ---- one session ------------------------------------------------------------------------------
 */

static void put_line(struct buf *out, const struct term *term, const char *label, const char *text)
{
	style_begin(out, term, STYLE_BOLD);
	(void)buf_printf(out, "%-*s", LABEL, label);
	style_end(out, term, STYLE_BOLD);
	(void)buf_append(out, " ", 1);
	int room = term->is_terminal ? term->columns - LABEL - 2 : 1 << 20;
	(void)text_put(out, text, strlen(text), room);
	(void)buf_append(out, "\n", 1);
}

static void put_status(
	struct buf *out, struct json_object *info, const struct term *term, int64_t now)
{
	struct json_object *running = json_object_object_get(info, "running");
	const char *died = text_of(info, "died");
	const char *status = text_of(info, "status");
	auto_free char *text = NULL;
	if (died) {
		text = xasprintf("dead: %s", died);
	} else if (json_object_is_type(running, json_type_object)) {
		auto_free char *span = span_of(now - number_of(running, "since"));
		text = xasprintf("%s for %s", status ? status : "busy", span);
	}
	put_line(out, term, "status", text ? text : status ? status : "-");
}

static bool is_size(const char *key)
{
	static const char *const sizes[] = { "memory", "disk", "max_output", "output_limit" };
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		if (strcmp(key, sizes[i]) == 0)
			return true;
	}
	return false;
}

static bool is_asked_first(const char *key)
{
	static const char *const keys[] = { "timeout", "memory", "disk", "pids" };
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		if (strcmp(key, keys[i]) == 0)
			return true;
	}
	return false;
}

static bool is_time(const char *key)
{
	return strcmp(key, "timeout") == 0 || strcmp(key, "cpu_time") == 0;
}

void session_limits_put(
	struct buf *out, struct json_object *info, const char *between, bool is_short)
{
	struct json_object *limits = json_object_object_get(info, "limits");
	bool is_first = true;
	if (!json_object_is_type(limits, json_type_object))
		return;
	json_object_object_foreach(limits, key, value)
	{
		char size[32];
		if (!value || (is_short && !is_asked_first(key)))
			continue;
		(void)buf_printf(out, "%s", is_first ? "" : between);
		is_first = false;
		if (is_size(key)) {
			units_format_size(json_object_get_int64(value), size, sizeof(size));
			(void)buf_printf(out, "%s %s", key, size);
		} else {
			(void)buf_printf(out, "%s %s%s", key, json_object_get_string(value),
				is_time(key) ? " s" : "");
		}
	}
}

static void put_limits(struct buf *out, struct json_object *info, const struct term *term)
{
	auto_buf struct buf text = { 0 };
	buf_init(&text, 1 << 16);
	session_limits_put(&text, info, ", ", false);
	if (text.len > 0)
		put_line(out, term, "limits", buf_text(&text));
}

static void put_family(struct buf *out, struct json_object *info, const struct term *term)
{
	struct json_object *family = json_object_object_get(info, "family");
	auto_buf struct buf text = { 0 };
	buf_init(&text, 1 << 16);
	if (!json_object_is_type(family, json_type_array) || json_object_array_length(family) < 2)
		return;
	for (size_t i = 0; i < json_object_array_length(family); i++)
		(void)buf_printf(&text, "%s%s", i > 0 ? ", " : "",
			json_object_get_string(json_object_array_get_idx(family, i)));
	put_line(out, term, "family", buf_text(&text));
}

static void put_times(
	struct buf *out, struct json_object *info, const struct term *term, int64_t now)
{
	auto_free char *age = span_of(now - number_of(info, "created"));
	auto_free char *used = span_of(now - number_of(info, "last_used"));
	auto_free char *idle = span_of(number_of(info, "idle"));
	auto_free char *life =
		span_of(number_of(info, "created") + number_of(info, "lifetime") - now);
	auto_free char *made = xasprintf("%s ago, last used %s ago", age, used);
	auto_free char *ends =
		xasprintf("after %s without a turn, in %s at the latest", idle, life);
	put_line(out, term, "made", made);
	put_line(out, term, "ends", ends);
}

static void put_memory(struct buf *out, struct json_object *info, const struct term *term)
{
	auto_free char *all = size_of(info, "memory_kb");
	auto_free char *own = size_of(info, "private_kb");
	auto_free char *text = has(info, "private_kb") ? xasprintf("%s, %s of it its own", all, own)
						       : xstrdup(all);
	put_line(out, term, "memory", text);
}

void session_info_put(
	struct buf *out, struct json_object *info, const struct term *term, int64_t now)
{
	struct json_object *points = json_object_object_get(info, "points");
	auto_free char *name = copy_of(info, "name");
	auto_free char *language = copy_of(info, "language");
	auto_free char *turns = xasprintf("%lld", (long long)number_of(info, "executions"));
	auto_free char *undo = xasprintf("the last %lld", (long long)number_of(info, "undo"));
	put_line(out, term, "name", name);
	put_line(out, term, "language", language);
	put_status(out, info, term, now);
	put_line(out, term, "turns", turns);
	put_times(out, info, term, now);
	put_memory(out, info, term);
	put_limits(out, info, term);
	put_family(out, info, term);
	if (number_of(info, "undo") > 0)
		put_line(out, term, "undo", undo);
	if (json_object_is_type(points, json_type_array) && json_object_array_length(points) > 0) {
		style_begin(out, term, STYLE_BOLD);
		(void)buf_printf(out, "points");
		style_end(out, term, STYLE_BOLD);
		(void)buf_append(out, "\n", 1);
		session_points_put(out, info, term, now);
	}
}

/* ---- points -----------------------------------------------------------------------------------
 */

char *session_point_name(struct json_object *point)
{
	const char *name = text_of(point, "name");
	long long id = (long long)number_of(point, "id");
	return name ? xasprintf("point %lld '%s'", id, name) : xasprintf("point %lld", id);
}

static void put_point(
	struct buf *out, struct json_object *point, const struct term *term, int depth, int64_t now)
{
	char span[32];
	const char *name = text_of(point, "name");
	bool is_automatic = json_object_get_boolean(json_object_object_get(point, "is_automatic"));
	auto_buf struct buf line = { 0 };
	buf_init(&line, 1 << 16);
	text_pad(&line, 2 * (depth < DEPTH_MAX ? depth : DEPTH_MAX) + 2);
	(void)buf_printf(&line, "%lld", (long long)number_of(point, "id"));
	if (name)
		(void)buf_printf(&line, " %.*s", NAME_COLUMNS, name);
	(void)buf_printf(&line, "  after turn %lld, %s ago",
		(long long)number_of(point, "execution"),
		session_span(now - number_of(point, "created"), span, sizeof(span)));
	if (number_of(point, "private_kb") > 0)
		(void)buf_printf(&line, ", %s",
			text_bytes(number_of(point, "private_kb") * 1024, span, sizeof(span)));
	(void)buf_printf(&line, "%s", is_automatic ? ", for undo" : "");
	enum style style = is_automatic ? STYLE_DIM : STYLE_NONE;
	style_begin(out, term, style);
	(void)text_put(
		out, buf_text(&line), line.len, term->is_terminal ? term->columns - 1 : 1 << 20);
	style_end(out, term, style);
	(void)buf_append(out, "\n", 1);
}

static bool is_among(struct json_object *points, size_t count, int64_t id)
{
	for (size_t i = 0; i < count; i++) {
		if (number_of(json_object_array_get_idx(points, i), "id") == id)
			return true;
	}
	return false;
}

/* Those made after point `parent`, one step to the right where there are several: a chain stays
 * where it is. Ids only grow, so the walk ends. */
static void put_branch(struct buf *out, struct json_object *points, int64_t parent,
	const struct term *term, int depth, int64_t now)
{
	size_t count = json_object_array_length(points);
	size_t children = 0;
	for (size_t i = 0; i < count; i++)
		children += number_of(json_object_array_get_idx(points, i), "parent") == parent;
	if (parent != 0 && children > 1)
		depth++;
	for (size_t i = 0; i < count; i++) {
		struct json_object *point = json_object_array_get_idx(points, i);
		int64_t id = number_of(point, "id");
		int64_t above = number_of(point, "parent");
		bool is_root = parent == 0 && !is_among(points, count, above);
		if (id <= parent || (above != parent && !is_root))
			continue;
		put_point(out, point, term, depth, now);
		put_branch(out, points, id, term, depth, now);
	}
}

void session_points_put(
	struct buf *out, struct json_object *info, const struct term *term, int64_t now)
{
	struct json_object *points = json_object_object_get(info, "points");
	if (!json_object_is_type(points, json_type_array) ||
		json_object_array_length(points) > POINTS_MAX)
		return;
	put_branch(out, points, 0, term, 0, now);
}
