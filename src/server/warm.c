/* SPDX-License-Identifier: Apache-2.0 */
/* What stands ready before anybody has asked: `--warm python=4,javascript`. */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "engine/engine.h"
#include "model/units.h"
#include "server/parts.h"
#include "wire/log.h"

enum { WARM_COUNT = 2 };

/* NAME or NAME=COUNT. The name is the caller's. */
static int read_item(
	const char *text, size_t len, char **ret_name, int64_t *ret_count, struct err *err)
{
	auto_free char *item = xstrndup(text, len);
	char *equals = strchr(item, '=');
	*ret_count = WARM_COUNT;
	if (equals)
		*equals = '\0';
	if (item[0] == '\0' || (equals && (units_parse_count(equals + 1, ret_count) < 0 ||
						  *ret_count > LIMIT_PARKED)))
		return err_set(err, ERR_INVALID,
			"--warm: '%.60s' is not NAME or NAME=COUNT with a count up to %d, for "
			"example --warm python=4,javascript",
			text, LIMIT_PARKED);
	*ret_name = take_ptr(&item);
	return 0;
}

static int ask_for(struct server *server, const char *name, int64_t count, struct err *err)
{
	struct spec spec;
	auto_free char *policy = NULL;
	spec_init(&spec);
	spec.language = xstrdup(name);
	spec.code = xstrdup("");
	/* as a run that reads the same settings would ask */
	int r = server->settings.config ? engine_configure(&spec, server->settings.config, err) : 0;
	if (r == 0)
		r = engine_policy(&spec, &policy, err);
	spec_done(&spec);
	if (r == 0 && loan_send(server->link.fd, LOAN_WARM, (uint32_t)count, policy, strlen(policy),
			      NULL, 0) < 0)
		r = err_set(err, ERR_BROKEN, "the keeper does not listen");
	return r;
}

int warm_check(const char *list, struct err *err)
{
	for (const char *at = list; *at;) {
		auto_free char *name = NULL;
		int64_t count = 0;
		size_t len = strcspn(at, ",");
		TRY(read_item(at, len, &name, &count, err));
		at += len + (at[len] == ',');
	}
	return 0;
}

/* A language that is not here, or cannot stand ready, is told of once, and nothing else: runs go on
 * as they would. */
static void ask_for_all(struct server *server, const char *list, bool is_wanted)
{
	for (const char *at = list; *at;) {
		auto_free char *name = NULL;
		int64_t count = 0;
		struct err err = { 0 };
		size_t len = strcspn(at, ",");
		if ((read_item(at, len, &name, &count, &err) < 0 ||
			    ask_for(server, name, is_wanted ? count : 0, &err) < 0) &&
			is_wanted)
			log_say(LEVEL_WARNING, "--warm: %s", err.text);
		at += len + (at[len] == ',');
	}
}

void warm_up(struct server *server, const char *list)
{
	ask_for_all(server, list, true);
}

void warm_down(struct server *server, const char *list)
{
	ask_for_all(server, list, false);
}
