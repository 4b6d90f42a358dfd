/* SPDX-License-Identifier: Apache-2.0 */
/* Language definitions: data in runtimes/NAME/language.json, read when asked for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "runtime/channel.h"
#include "model/spec.h"

/* Modules that a guest's interpreter has loaded before anybody's code is known. */
struct preload {
	char *name; /* owned */
	struct strings modules;
};

struct preloads {
	struct preload *items; /* owned */
	size_t count;
};

struct language {
	char *name; /* owned, as everything here */
	char *title;
	struct strings aliases;
	struct strings endings; /* with the dot: ".py" */
	char *program;          /* name of the code's file in the cell: "main.py" */
	struct strings argv;    /* starts the code; for placeholders see language_fill() */
	struct strings
		version;      /* argv that prints the version; the first number with a dot counts */
	char *package;        /* Debian package that brings it */
	struct strings needs; /* paths that must be there besides the first of each argv */
	char *documentation;  /* where a person reads on; NULL: unknown */
	bool has_channel;     /* argv starts a runner, which speaks over descriptor 3 */
	char *dir;            /* where the definition was found; NULL: nowhere */
	bool needs_full_proc; /* libuv, ps, free read /proc/meminfo and friends */
	struct strings
		defaults; /* "memory=1G": spec fields this language sets where none is given */

	/* A compiled language makes "{binary}" first, in a cell and with limits of its own. */
	struct strings compile; /* empty: it is not compiled */
	struct strings compile_defaults;

	/* What every run needs and no code has a part in is made once, in a cell without code, and
	 * kept: for Go the archives of its library and the program that calls its compiler. */
	struct strings prepare; /* makes the directory "{binary}"; empty: nothing to prepare */
	struct strings prepare_defaults;

	/* How a cell stands ready before its code is known: as a guest, where cells may be images
	 * of one interpreter, else started, else not at all. */
	struct strings started;  /* a runner that waits on its channel for what to run */
	struct strings guest;    /* an interpreter that cells are forked from */
	struct preloads preload; /* what the guest's interpreter may have loaded */
	struct strings session;  /* a runner that remembers, over a line; empty: there is none */
	char *points; /* what a session can go back to besides its files: "copy", its process, which
		       * copies itself; "own", what its runner keeps; NULL: nothing */
	struct strings check;    /* analyses the code for the guard; empty: it is not analysed */
	bool is_guarded;         /* the runner itself does so before it runs the code */
	struct strings cold_env; /* "LC_*": variables that are read only while it starts */
};

/* What the placeholders of an argv stand for, all of them paths of the cell. */
struct places {
	const char *file;     /* {file}: the code */
	const char *runtime;  /* {runtime}: the definition's own directory */
	const char *binary;   /* {binary}: what the compiler makes */
	const char *prepared; /* {prepared}: what the preparation made */
};

struct languages {
	struct language *items; /* owned, sorted by name */
	size_t count;
};

/* Reads every definition: the shipped ones (found beside the program, uninstalled or installed),
 * then /etc/hotcell/runtimes, then the user's ~/.config/hotcell/runtimes; a later one wins. */
int languages_load(struct languages *languages, struct err *err);
void languages_done(struct languages *languages);

/* By name or alias. Unknown: an error that lists the known ones and the nearest name. */
int language_find(const struct languages *languages, const char *name,
	const struct language **ret_language, struct err *err);

/* Both at once, by the shortest road: an exact name costs one small file, an alias all of them.
 * *ret_language is the caller's, to be given to language_done(). */
int language_load_one(const char *name, struct language *ret_language, struct err *err);

/* By the file's ending: the first by name of those that have it. Only they are parsed.
 * *ret_language is the caller's when *ret_is_there. */
int language_load_for_file(
	const char *path, struct language *ret_language, bool *ret_is_there, struct err *err);

/* Parses one definition; `origin` is named in errors. */
int language_from_json(struct language *language, const char *text, size_t len, const char *origin,
	struct err *err);
void language_done(struct language *language);

/* Adds `argv` to `list` with its placeholders filled in, wherever they stand in an argument. */
void language_fill(const struct strings *argv, const struct places *places, struct strings *list);

/* Whether an argument has this placeholder, given as "{file}". */
bool language_uses(const struct strings *argv, const char *placeholder);

/* The modules of a set, NULL when there is none of that name. */
const struct strings *language_preload(const struct language *language, const char *name);

/* Whether the variable, given as "NAME=VALUE" or "NAME", is read only while the language starts:
 * a cell that stands ready has taken it from its own environment and cannot heed another value. */
bool language_is_cold(const struct language *language, const char *variable);

/* The program a person would name: the compiler, or what runs the code. */
const char *language_path(const struct language *language);

/* Reads NAME/FILE from the last place that has it. *ret_path is the caller's; NULL: nobody has it.
 */
int runtime_read(
	const char *name, const char *file, struct buf *text, char **ret_path, struct err *err);

/* What a failed run ran. */
struct analysis_input {
	const char *language;
	const char *program; /* name of the code's file in the cell */
	const char *code;
	size_t code_len;
	const struct spec *spec;
};

/* Finds out what went wrong, from what the runner told or else from the program's error text:
 * fills result->error but for the message, and result->hint when there is help that fits. */
void analyse(const struct analysis_input *input, struct result *result);

/* The version number in what a version probe printed ("Python 3.11.2\n" -> "3.11.2"). False
 * when there is none. */
bool language_parse_version(const char *text, char *version, size_t size);
