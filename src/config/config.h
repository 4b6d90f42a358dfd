/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: what counts where nobody says otherwise. Every setting has one name, a key;
 * places give values to keys, and the highest place that speaks of a key decides:
 *
 *   option or request > environment > the user's file > the system's file > hard default
 *
 * A value is kept as the text it was written as, checked, with where it stands; a list of a higher
 * place replaces that of a lower one. Options are not in here: whoever reads them fills a spec, and
 * the configuration fills what they left open. The keys of runs are the spec's table of fields; the
 * few others stand in keys.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/spec.h"

#define CONFIG_SYSTEM_FILE "/etc/hotcell/config.yaml"

enum config_place {
	CONFIG_DEFAULT = 0, /* nobody spoke */
	CONFIG_SYSTEM,      /* /etc/hotcell/config.yaml */
	CONFIG_USER,        /* ~/.config/hotcell/config.yaml */
	CONFIG_CHOSEN,      /* the file of --config or HOTCELL_CONFIG, in place of both */
	CONFIG_VARIABLE,
	CONFIG_PLACE_COUNT,
};

struct config_key {
	const char *section;       /* "daemon"; NULL: none */
	const struct field *field; /* name, type, range, words */
	const char *variable;      /* NULL: HOTCELL_ and the name */
	const char *old_variable;  /* a second one, which counts less; NULL: none */
	const char *unit;          /* put behind what the second one says; NULL: nothing */
	bool is_of_run;            /* a field of the spec */
	bool is_passed_on;     /* the program looks for it in the environment, where it is put */
	bool is_variable_only; /* no file has it */
};

struct config_value {
	size_t key;           /* for config_key() */
	char *language;       /* owned; NULL: for all of them */
	struct strings texts; /* one, or the items of a list */
	enum config_place place;
	char *origin; /* owned; the file or the variable */
	int line;     /* of the file; 0: no file */
};

struct config {
	struct config_value *values; /* owned */
	size_t count;
	struct strings files; /* that were read */
};

/* Which files to read. { 0 }: HOTCELL_CONFIG, else the user's and the system's. */
struct config_wish {
	const char *file; /* borrowed; only this one */
	bool has_no_file; /* none at all */
};

/* Keys by number; false past the last one. */
bool config_key(size_t index, struct config_key *ret_key);

/* The variable that sets a key: HOTCELL_MAX_OUTPUT. */
void config_variable(const struct config_key *key, char *name, size_t size);

/* "timeout", "daemon.queue": a key as people write it. */
void config_key_name(const struct config_key *key, char *name, size_t size);

void config_init(struct config *config);
void config_done(struct config *config);

/* Reads the files and the environment. A file that is not there is no error; one that cannot be
 * understood, or that others may write to, is. */
int config_load(struct config *config, const struct config_wish *wish, struct err *err);

/* Its parts: one file that must be there, its text, the environment. */
int config_read_file(
	struct config *config, const char *path, enum config_place place, struct err *err);
int config_read_text(struct config *config, const char *path, const char *text, size_t len,
	enum config_place place, struct err *err);
int config_read_variables(struct config *config, struct err *err);

/* The user's own file (owned by the caller); NULL: there is no place for one. */
char *config_user_file(void);

/* The value that counts, or NULL. `names` are a language's name and aliases; NULL: of no language.
 * A value for a language beats one for all in the same place, and nothing else. */
const struct config_value *config_find(
	const struct config *config, size_t key, const struct strings *names);

/* By section and name. */
const struct config_value *config_look_up(
	const struct config *config, const char *section, const char *name);

/* Whether anything is said for a single language, so that it is worth finding out which it is. */
bool config_has_languages(const struct config *config);

/* Fills the fields of the spec that were not given; they then count as given. */
int config_apply(const struct config *config, const struct strings *names, struct spec *spec,
	struct err *err);

/* Puts into the environment what programs look for there. */
void config_pass_on(const struct config *config);

/* "/etc/hotcell/config.yaml:3" or "HOTCELL_TIMEOUT" (owned by the caller). */
char *config_origin(const struct config_value *value);

/* A variable that begins with HOTCELL_ and is none of ours, from `*at` on; NULL: no more. *at
 * begins as 0; *ret_near is the name it resembles, or NULL. The name is the caller's. */
char *config_unknown_variable(size_t *at, char *near, size_t size);

/* The JSON schema of a settings file (owned by the caller). */
char *config_schema(void);
