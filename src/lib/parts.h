/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the library share. The door is include/hotcell.h. */
#pragma once

#include <hotcell.h>
#include <signal.h>

#include "base/err.h"
#include "config/config.h"
#include "engine/engine.h"
#include "model/result.h"
#include "model/spec.h"

/* One call of hotcell_spec_set() or hotcell_spec_set_json(). */
struct setting {
	const struct field *field; /* NULL: `text` is a JSON object */
	char *text;                /* owned */
};

/* Kept as what was asked for, because a run fills a spec with the defaults of its language: each
 * gets a new one, and ours can serve many at once. */
struct hotcell_spec {
	struct setting *settings; /* owned */
	size_t setting_count;
	struct spec tried; /* where a setting is tried when it is made */
	int follow_fds[2];
	int interrupt_fd;
	int64_t idle_s, lifetime_s, undo; /* of a session; 0: not said */
};

struct hotcell_result {
	struct result result;
	char *json;    /* owned */
	char *compact; /* owned */
};

struct hotcell_session {
	char *name; /* owned */
};

/* A call of the library, from beginning to end. */
struct call {
	struct err err;
	sigset_t before;
	bool had_pipe; /* a SIGPIPE was pending before us */
};

/* Makes sure that the settings were read. Between the two, SIGPIPE is blocked for this thread: who
 * closes a pipe that we write to ends nobody's process. */
void call_begin(struct call *call);

/* Returns r, or -1 with *error filled. */
int call_end(struct call *call, int r, struct hotcell_error *error);

/* The settings of now. */
int settings_load(struct config *config, struct err *err);

/* A new spec of what was asked for and, unless `config` is NULL, of the settings. Initialised also
 * on failure. */
int spec_build(const struct hotcell_spec *asked, const struct config *config, struct spec *spec,
	struct err *err);

/* spec_build() with the settings of now. */
int spec_build_settled(const struct hotcell_spec *asked, struct spec *spec, struct err *err);

/* Where output goes while it comes. `asked` may be NULL. */
struct outlet outlet_of(const struct hotcell_spec *asked);

/* Makes it that of a run that could not be made. */
void result_refuse(struct result *result, const struct err *err);

/* Makes a result with its texts, and takes *result. */
struct hotcell_result *result_give(struct result *result, const struct spec *spec);
