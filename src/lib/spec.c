/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/own.h"
#include "engine/engine.h"
#include "lib/parts.h"
#include "model/field.h"
#include "model/units.h"
#include "wire/utf8.h"

enum { SECONDS_MAX = 365 * 86400, UNDO_MAX = 64 };

struct hotcell_spec *hotcell_spec_new(void)
{
	struct hotcell_spec *spec = xcalloc(1, sizeof(*spec));
	spec_init(&spec->tried);
	spec->follow_fds[0] = spec->follow_fds[1] = spec->interrupt_fd = -1;
	return spec;
}

void hotcell_spec_free(struct hotcell_spec *spec)
{
	if (!spec)
		return;
	for (size_t i = 0; i < spec->setting_count; i++)
		free(spec->settings[i].text);
	free(spec->settings);
	spec_done(&spec->tried);
	free(spec);
}

void hotcell_spec_follow(struct hotcell_spec *spec, int stdout_fd, int stderr_fd)
{
	spec->follow_fds[0] = stdout_fd;
	spec->follow_fds[1] = stderr_fd;
}

void hotcell_spec_interrupt(struct hotcell_spec *spec, int fd)
{
	spec->interrupt_fd = fd;
}

static int apply(struct spec *spec, const struct field *field, const char *text, struct err *err)
{
	if (!field)
		return spec_from_json(spec, text, strlen(text), err);
	return field_set(spec, field, text, VOICE_JSON, err);
}

static void keep(struct hotcell_spec *spec, const struct field *field, const char *text)
{
	spec->settings = xrealloc(spec->settings, spec->setting_count + 1, sizeof(*spec->settings));
	spec->settings[spec->setting_count++] =
		(struct setting){ .field = field, .text = xstrdup(text) };
}

static int set(
	struct hotcell_spec *spec, const struct field *field, const char *text, struct err *err)
{
	TRY(apply(&spec->tried, field, text, err));
	keep(spec, field, text);
	return 0;
}

/* ---- what only a session has -------------------------------------------------------------------
 */

static const struct wish {
	const char *name;
	size_t offset;
	int64_t min, max;
} wishes[] = {
	{ "idle", offsetof(struct hotcell_spec, idle_s), 1, SECONDS_MAX },
	{ "lifetime", offsetof(struct hotcell_spec, lifetime_s), 1, SECONDS_MAX },
	{ "undo", offsetof(struct hotcell_spec, undo), 0, UNDO_MAX },
};

static const struct wish *find_wish(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(wishes); i++)
		if (strcmp(wishes[i].name, name) == 0)
			return &wishes[i];
	return NULL;
}

static int set_wish(
	struct hotcell_spec *spec, const struct wish *wish, const char *value, struct err *err)
{
	int64_t count = 0;
	char quote[64];
	if (units_parse_count(value, &count) < 0 || count < wish->min || count > wish->max)
		return err_set(err, ERR_INVALID,
			"\"%s\": '%s' is not a whole number from %lld to %lld", wish->name,
			utf8_line(value, quote, sizeof(quote)), (long long)wish->min,
			(long long)wish->max);
	*(int64_t *)((char *)spec + wish->offset) = count;
	return 0;
}

/* ---- one field ---------------------------------------------------------------------------------
 */

static int set_named(
	struct hotcell_spec *spec, const char *name, const char *value, struct err *err)
{
	const struct wish *wish = find_wish(name);
	const struct field *field = spec_field(name);
	if (wish)
		return set_wish(spec, wish, value, err);
	if (!field)
		return field_refuse_unknown(name, err);
	return set(spec, field, value, err);
}

int hotcell_spec_set(
	struct hotcell_spec *spec, const char *name, const char *value, struct hotcell_error *error)
{
	struct call call;
	int r = 0;
	call_begin(&call);
	if (!spec || !name || !value)
		r = err_set(&call.err, ERR_INVALID, "a field needs a spec, a name and a value");
	else
		r = set_named(spec, name, value, &call.err);
	return call_end(&call, r, error);
}

int hotcell_spec_set_json(struct hotcell_spec *spec, const char *json, struct hotcell_error *error)
{
	struct call call;
	int r = 0;
	call_begin(&call);
	if (!spec || !json)
		r = err_set(&call.err, ERR_INVALID, "there is no spec, or no JSON for it");
	else
		r = set(spec, NULL, json, &call.err);
	return call_end(&call, r, error);
}

/* ---- for a run ---------------------------------------------------------------------------------
 */

int spec_build(const struct hotcell_spec *asked, const struct config *config, struct spec *spec,
	struct err *err)
{
	spec_init(spec);
	for (size_t i = 0; asked && i < asked->setting_count; i++)
		TRY(apply(spec, asked->settings[i].field, asked->settings[i].text, err));
	return config ? engine_configure(spec, config, err) : 0;
}

int spec_build_settled(const struct hotcell_spec *asked, struct spec *spec, struct err *err)
{
	struct config config;
	int r = settings_load(&config, err);
	/* the spec is initialised also when they are wrong */
	int built = spec_build(asked, r == 0 ? &config : NULL, spec, err);
	config_done(&config);
	return r < 0 ? r : built;
}
