/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfyaml reads the stream and hands out events; the tree is made here, so that its depth and
 * size have a bound and nothing but plain maps, lists and text comes in.
 */
#include "config/yaml.h"

#include <libfyaml.h>
#include <string.h>

#include "base/own.h"
#include "model/limits.h"
#include "wire/utf8.h"

enum { QUOTE_SIZE = 48 };

struct reading {
	const char *file;
	struct fy_parser *parser; /* owned */
	struct fy_diag *diag;     /* owned */
	struct yaml *root;        /* owned */
	struct yaml *open[LIMIT_CONFIG_DEPTH];
	size_t depth;
	size_t node_count;
	char *key; /* owned; read, and waiting for its value */
	int key_line;
	bool is_over; /* a document was read */
	struct err *err;
};

const char *yaml_kind_name(enum yaml_kind kind)
{
	static const char *const names[] = {
		[YAML_NONE] = "nothing",
		[YAML_TEXT] = "text",
		[YAML_LIST] = "a list",
		[YAML_MAP] = "a map of keys",
	};
	return names[kind];
}

void yaml_free(struct yaml *node)
{
	while (node) {
		struct yaml *next = node->next;
		yaml_free(node->first); /* as deep as the reader allows */
		free(node->key);
		free(node->text);
		free(node);
		node = next;
	}
}

static int refuse(const struct reading *reading, int line, const char *what)
{
	return err_set(reading->err, ERR_INVALID, "%s:%d: %s", reading->file, line, what);
}

static int line_of(struct fy_event *event)
{
	const struct fy_mark *mark = fy_event_start_mark(event);
	return mark ? mark->line + 1 : 1;
}

static int check_key(const struct reading *reading, const char *key, int line)
{
	char quote[QUOTE_SIZE];
	const struct yaml *map = reading->open[reading->depth - 1];
	for (const struct yaml *member = map->first; member; member = member->next)
		if (strcmp(member->key, key) == 0)
			return err_set(reading->err, ERR_INVALID,
				"%s:%d: '%s' is there twice, first in line %d", reading->file, line,
				utf8_line(key, quote, sizeof(quote)), member->line);
	return 0;
}

/* Puts a new node where the reading stands. */
static int add_node(struct reading *reading, enum yaml_kind kind, int line, struct yaml **ret_node)
{
	if (++reading->node_count > LIMIT_CONFIG_NODES)
		return refuse(reading, line, "there is too much in this file");
	struct yaml *parent = reading->depth > 0 ? reading->open[reading->depth - 1] : NULL;
	if (parent && parent->kind == YAML_MAP && !reading->key)
		return refuse(reading, line, "a key must be plain text");
	struct yaml *node = xcalloc(1, sizeof(*node));
	node->kind = kind;
	node->line = reading->key ? reading->key_line : line;
	node->key = take_ptr(&reading->key);
	if (!parent)
		reading->root = node;
	else if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	if (parent)
		parent->last = node;
	*ret_node = node;
	return 0;
}

static int open_node(struct reading *reading, enum yaml_kind kind, int line)
{
	struct yaml *node = NULL;
	if (reading->depth == LIMIT_CONFIG_DEPTH)
		return refuse(reading, line, "it is nested too deeply");
	TRY(add_node(reading, kind, line, &node));
	reading->open[reading->depth++] = node;
	return 0;
}

static bool is_null(const char *text)
{
	return *text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0;
}

static int take_scalar(struct reading *reading, struct fy_event *event, int line)
{
	struct fy_token *token = event->scalar.value;
	size_t len = 0;
	struct yaml *node = NULL;
	const char *found = token ? fy_token_get_text(token, &len) : "";
	if (!found || memchr(found, '\0', len))
		return refuse(reading, line, "the text cannot be read");
	auto_free char *text = xstrndup(found, len);
	bool is_plain = !token || fy_token_scalar_style(token) == FYSS_PLAIN;
	bool is_in_map = reading->depth > 0 && reading->open[reading->depth - 1]->kind == YAML_MAP;
	if (is_in_map && !reading->key) {
		TRY(check_key(reading, text, line));
		reading->key = take_ptr(&text);
		reading->key_line = line;
		return 0;
	}
	bool is_nothing = is_plain && is_null(text);
	TRY(add_node(reading, is_nothing ? YAML_NONE : YAML_TEXT, line, &node));
	node->text = is_nothing ? NULL : take_ptr(&text);
	return 0;
}

static bool is_decorated(const struct fy_event *event)
{
	switch (event->type) {
	case FYET_SCALAR:
		return event->scalar.anchor || event->scalar.tag;
	case FYET_MAPPING_START:
		return event->mapping_start.anchor || event->mapping_start.tag;
	case FYET_SEQUENCE_START:
		return event->sequence_start.anchor || event->sequence_start.tag;
	default:
		return event->type == FYET_ALIAS;
	}
}

static int take_event(struct reading *reading, struct fy_event *event)
{
	int line = line_of(event);
	if (is_decorated(event))
		return refuse(reading, line,
			"anchors (&), aliases (*) and tags (!) are not taken here; put text that "
			"begins with one of them in quotes");
	switch (event->type) {
	case FYET_DOCUMENT_START:
		if (reading->is_over)
			return refuse(reading, line, "a second document (---) begins here");
		return 0;
	case FYET_DOCUMENT_END:
		reading->is_over = true;
		return 0;
	case FYET_SCALAR:
		return take_scalar(reading, event, line);
	case FYET_MAPPING_START:
		return open_node(reading, YAML_MAP, line);
	case FYET_SEQUENCE_START:
		return open_node(reading, YAML_LIST, line);
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END:
		reading->depth--;
		return 0;
	default:
		return 0;
	}
}

/* What libfyaml has against the text, with its line. */
static int refuse_syntax(struct reading *reading)
{
	char line[256];
	void *at = NULL;
	const struct fy_diag_error *found = fy_diag_errors_iterate(reading->diag, &at);
	if (!found || !found->msg)
		return err_set(reading->err, ERR_INVALID, "%s: is no YAML", reading->file);
	return err_set(reading->err, ERR_INVALID, "%s:%d: is no YAML: %s", reading->file,
		found->line > 0 ? found->line : 1, utf8_line(found->msg, line, sizeof(line)));
}

static int read_events(struct reading *reading)
{
	for (;;) {
		struct fy_event *event = fy_parser_parse(reading->parser);
		if (!event)
			return fy_parser_get_stream_error(reading->parser) ? refuse_syntax(reading)
									   : 0;
		bool is_last = event->type == FYET_STREAM_END;
		int r = take_event(reading, event);
		fy_parser_event_free(reading->parser, event);
		if (r < 0 || is_last)
			return r;
	}
}

static void say_nothing(struct fy_diag *diag, void *user, const char *text, size_t len)
{
	(void)diag;
	(void)user;
	(void)text;
	(void)len;
}

static int open_parser(struct reading *reading, const char *text, size_t len)
{
	struct fy_diag_cfg diag = { .output_fn = say_nothing, .level = FYET_ERROR };
	diag.module_mask = ~0u;
	reading->diag = fy_diag_create(&diag);
	if (reading->diag)
		fy_diag_set_collect_errors(reading->diag, true);
	struct fy_parse_cfg config = { .flags = FYPCF_JSON_NONE, .diag = reading->diag };
	reading->parser = reading->diag ? fy_parser_create(&config) : NULL;
	if (!reading->parser || fy_parser_set_string(reading->parser, text, len) < 0)
		return err_set(reading->err, ERR_SYSTEM, "%s: no memory to read it", reading->file);
	return 0;
}

static int check_bytes(const char *file, const char *text, size_t len, struct err *err)
{
	size_t bad = 0;
	const char *zero = memchr(text, '\0', len);
	bool is_valid = utf8_is_valid(text, len, &bad);
	if (is_valid && !zero)
		return 0;
	if (zero && (is_valid || (size_t)(zero - text) < bad))
		bad = (size_t)(zero - text);
	int line = 1;
	for (size_t i = 0; i < bad; i++)
		line += text[i] == '\n';
	return err_set(err, ERR_INVALID, "%s:%d: is not text in UTF-8", file, line);
}

int yaml_read(
	const char *file, const char *text, size_t len, struct yaml **ret_root, struct err *err)
{
	struct reading reading = { .file = file, .err = err };
	if (len > LIMIT_CONFIG_BYTES)
		return err_set(
			err, ERR_LIMIT, "%s: longer than %d bytes", file, LIMIT_CONFIG_BYTES);
	TRY(check_bytes(file, text, len, err));
	int r = open_parser(&reading, text, len);
	if (r == 0)
		r = read_events(&reading);
	fy_parser_destroy(reading.parser);
	fy_diag_destroy(reading.diag);
	free(reading.key);
	if (r == 0 && !reading.root)
		reading.root = xcalloc(1, sizeof(*reading.root));
	if (r == 0)
		*ret_root = take_ptr(&reading.root);
	yaml_free(reading.root);
	return r;
}
