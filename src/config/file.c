/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings files. What is not there costs one failed open(). What is there is read whole or refused
 * with its line: a file that is half understood would be a promise that is half kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "config/parts.h"
#include "config/yaml.h"
#include "model/limits.h"
#include "wire/utf8.h"

enum { QUOTE_SIZE = 64 };

struct reading {
	struct config *config;
	const char *path;
	enum config_place place;
	const char *language; /* borrowed; whose section it is, or NULL */
	struct err *err;
};

/* ---- one value ------------------------------------------------------------------------------ */

static int refuse(const struct reading *reading, const struct yaml *node, const char *what)
{
	char quote[QUOTE_SIZE];
	return err_set(reading->err, ERR_INVALID, "%s:%d: %s%s%s", reading->path, node->line,
		node->key ? utf8_line(node->key, quote, sizeof(quote)) : "", node->key ? ": " : "",
		what);
}

static int refuse_kind(const struct reading *reading, const struct yaml *node, const char *wanted)
{
	char what[128];
	(void)snprintf(
		what, sizeof(what), "must be %s, not %s", wanted, yaml_kind_name(node->kind));
	return refuse(reading, node, what);
}

static bool is_list(enum field_type type)
{
	return type == FIELD_STRINGS || type == FIELD_NAMES || type == FIELD_PAIRS;
}

/* { from: …, to: … } as the text FROM:TO, with the colons of FROM marked as its own. */
static int take_pair(const struct reading *reading, const struct yaml *map, struct strings *texts)
{
	const struct yaml *from = NULL, *to = NULL;
	auto_buf struct buf text;
	buf_init(&text, LIMIT_CONFIG_BYTES * 3);
	for (const struct yaml *member = map->first; member; member = member->next) {
		if (strcmp(member->key, "from") == 0)
			from = member;
		else if (strcmp(member->key, "to") == 0)
			to = member;
		else
			return refuse(reading, member, "is unknown here (valid: from, to)");
		if (member->kind != YAML_TEXT)
			return refuse_kind(reading, member, "text");
	}
	if (!from)
		return refuse(reading, map, "'from' is missing");
	for (const char *at = from->text; *at; at++)
		(void)buf_printf(&text, "%s%c", *at == ':' ? "\\" : "", *at);
	if (to)
		(void)buf_printf(&text, ":%s", to->text);
	strings_add(texts, buf_text(&text));
	return 0;
}

static int take_item(const struct reading *reading, const struct field *field,
	const struct yaml *item, struct strings *texts)
{
	if (field->type == FIELD_PAIRS && item->kind == YAML_MAP)
		return take_pair(reading, item, texts);
	if (item->kind != YAML_TEXT)
		return refuse_kind(reading, item, "text");
	strings_add(texts, item->text);
	return 0;
}

/* { NAME: value } as NAME=value. */
static int take_variables(
	const struct reading *reading, const struct yaml *map, struct strings *texts)
{
	for (const struct yaml *member = map->first; member; member = member->next) {
		if (member->kind != YAML_TEXT)
			return refuse_kind(reading, member, "text");
		if (strchr(member->key, '='))
			return refuse(reading, member, "the name has a '='");
		auto_free char *text = xasprintf("%s=%s", member->key, member->text);
		strings_add(texts, text);
	}
	return 0;
}

static int take_texts(const struct reading *reading, const struct field *field,
	const struct yaml *node, struct strings *texts)
{
	if (!is_list(field->type)) {
		if (node->kind != YAML_TEXT)
			return refuse_kind(reading, node, "one value");
		strings_add(texts, node->text);
		return 0;
	}
	if (node->kind == YAML_MAP && strcmp(field->name, "env") == 0)
		return take_variables(reading, node, texts);
	if (node->kind != YAML_LIST)
		return node->kind == YAML_TEXT ? take_item(reading, field, node, texts)
					       : refuse_kind(reading, node, "a list");
	for (const struct yaml *item = node->first; item; item = item->next)
		TRY(take_item(reading, field, item, texts));
	return 0;
}

static int refuse_unknown(const struct reading *reading, const char *section,
	const struct yaml *node, const char *near)
{
	char quote[QUOTE_SIZE];
	(void)utf8_line(node->key, quote, sizeof(quote));
	return err_set(reading->err, ERR_INVALID, "%s:%d: unknown key '%s'%s%s%s%s%s%s",
		reading->path, node->line, quote, section ? " in " : "", section ? section : "",
		near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
		near ? "" : "; hotcell config show lists them");
}

/* The key of a member, which must be one that may stand there. */
static int find_key(const struct reading *reading, const char *section, const struct yaml *node,
	size_t *ret_key, struct config_key *ret)
{
	const char *near = NULL;
	if (config_find_key(section, node->key, ret_key, &near) < 0 || !config_key(*ret_key, ret))
		return refuse_unknown(reading, section, node, near);
	if (ret->field->is_once)
		return refuse(reading, node, "belongs to one run and cannot be set for all");
	if (reading->language && (!ret->is_of_run || strcmp(ret->field->name, "language") == 0))
		return refuse(reading, node, "cannot be set for one language");
	return 0;
}

static int take_member(struct reading *reading, const char *section, const struct yaml *node)
{
	struct config_key key = { 0 };
	struct strings texts = { 0 };
	struct config_value like = { .place = reading->place,
		.language = (char *)reading->language,
		.origin = (char *)reading->path,
		.line = node->line };
	TRY(find_key(reading, section, node, &like.key, &key));
	if (node->kind == YAML_NONE)
		return 0;
	if (take_texts(reading, key.field, node, &texts) < 0) {
		strings_done(&texts);
		return -1;
	}
	if (config_add(reading->config, &like, &texts, reading->err) < 0)
		return err_wrap(reading->err, "%s:%d: %s", reading->path, node->line, node->key);
	return 0;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int take_section(struct reading *reading, const char *section, const struct yaml *node)
{
	if (node->kind == YAML_NONE)
		return 0;
	if (node->kind != YAML_MAP)
		return refuse_kind(reading, node, "a map of keys");
	for (const struct yaml *member = node->first; member; member = member->next)
		TRY(take_member(reading, section, member));
	return 0;
}

static int take_languages(struct reading *reading, const struct yaml *node)
{
	if (node->kind == YAML_NONE)
		return 0;
	if (node->kind != YAML_MAP)
		return refuse_kind(reading, node, "a map of languages");
	for (const struct yaml *member = node->first; member; member = member->next) {
		reading->language = member->key;
		TRY(take_section(reading, NULL, member));
	}
	reading->language = NULL;
	return 0;
}

static bool is_section(const char *name)
{
	for (size_t i = 0; config_sections[i]; i++)
		if (strcmp(config_sections[i], name) == 0)
			return true;
	return false;
}

static int take_root(struct reading *reading, const struct yaml *root)
{
	if (root->kind == YAML_NONE)
		return 0;
	if (root->kind != YAML_MAP)
		return refuse_kind(reading, root, "a map of keys");
	for (const struct yaml *member = root->first; member; member = member->next) {
		if (strcmp(member->key, "languages") == 0)
			TRY(take_languages(reading, member));
		else if (is_section(member->key))
			TRY(take_section(reading, member->key, member));
		else
			TRY(take_member(reading, NULL, member));
	}
	return 0;
}

/* What no single key can tell, as mounts that are in each other's way. */
static int check_whole(const struct reading *reading)
{
	struct spec spec;
	struct strings none = { 0 };
	spec_init(&spec);
	spec.code = xstrdup("");
	int r = config_apply(reading->config, &none, &spec, reading->err);
	if (r == 0)
		r = spec_check(&spec, reading->err);
	spec_done(&spec);
	return r < 0 ? err_wrap(reading->err, "%s", reading->path) : 0;
}

int config_read_text(struct config *config, const char *path, const char *text, size_t len,
	enum config_place place, struct err *err)
{
	auto_yaml struct yaml *root = NULL;
	struct reading reading = { .config = config, .path = path, .place = place, .err = err };
	TRY(yaml_read(path, text, len, &root, err));
	TRY(take_root(&reading, root));
	strings_add(&config->files, path);
	return check_whole(&reading);
}

/* Whoever can write it decides what runs may do. A device as /dev/null holds nobody's words. */
static int check_owner(int fd, const char *path, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "look at '%s'", path);
	if (S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "%s: is a directory, not a settings file", path);
	if (S_ISCHR(st.st_mode))
		return 0;
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return err_set(err, ERR_INVALID,
			"%s: belongs to user %u, neither to root nor to user %u, who reads it; "
			"give it to one of them, or choose --config FILE or --no-config",
			path, st.st_uid, geteuid());
	if (st.st_mode & 0022)
		return err_set(err, ERR_INVALID, "%s: others may write to it; chmod go-w '%s'",
			path, path);
	return 0;
}

static int read_open_file(
	struct config *config, int fd, const char *path, enum config_place place, struct err *err)
{
	auto_buf struct buf text;
	buf_init(&text, LIMIT_CONFIG_BYTES);
	TRY(check_owner(fd, path, err));
	int r = buf_read(&text, fd);
	if (r == -ENOSPC)
		return err_set(
			err, ERR_LIMIT, "%s: longer than %d bytes", path, LIMIT_CONFIG_BYTES);
	if (r < 0)
		return err_sys(err, -r, "read '%s'", path);
	return config_read_text(config, path, buf_text(&text), text.len, place, err);
}

int config_read_file(
	struct config *config, const char *path, enum config_place place, struct err *err)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_sys(err, errno, "open the settings file '%s'", path);
	return read_open_file(config, fd, path, place, err);
}

/* A home that is not ours to look into holds no file of ours; a file that is there and cannot be
 * read does not become one that says nothing. */
static bool is_absent(const char *path, int why)
{
	auto_free char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	if (why == EACCES)
		return access(dir, X_OK) < 0;
	return why == ENOENT || why == ENOTDIR;
}

static int read_if_there(
	struct config *config, const char *path, enum config_place place, struct err *err)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0)
		return read_open_file(config, fd, path, place, err);
	int why = errno;
	return is_absent(path, why) ? 0 : err_sys(err, why, "open the settings file '%s'", path);
}

char *config_user_file(void)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	if (config && *config == '/')
		return xasprintf("%s/hotcell/config.yaml", config);
	if (home && *home == '/')
		return xasprintf("%s/.config/hotcell/config.yaml", home);
	return NULL;
}

/* A file that is wrong tells its name and line; one that is not there, who named it. */
static int read_chosen(struct config *config, const char *path, const char *who, struct err *err)
{
	int r = config_read_file(config, path, CONFIG_CHOSEN, err);
	return r < 0 && err->code == ERR_SYSTEM ? err_wrap(err, "%s", who) : r;
}

static int read_files(struct config *config, const struct config_wish *wish, struct err *err)
{
	const char *variable = secure_getenv("HOTCELL_CONFIG");
	if (wish->has_no_file)
		return 0;
	if (wish->file)
		return read_chosen(config, wish->file, "--config", err);
	if (variable && *variable != '\0')
		return read_chosen(config, variable, "HOTCELL_CONFIG", err);
	auto_free char *user = config_user_file();
	TRY(read_if_there(config, CONFIG_SYSTEM_FILE, CONFIG_SYSTEM, err));
	return user ? read_if_there(config, user, CONFIG_USER, err) : 0;
}

int config_load(struct config *config, const struct config_wish *wish, struct err *err)
{
	TRY(read_files(config, wish, err));
	return config_read_variables(config, err);
}
