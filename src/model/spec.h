/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec: what one execution asks for, whoever asks. One table of fields (spec_fields) feeds
 * the JSON reader, the command line, the help text and the validation, so a setting is written
 * once. Units are fixed: times in milliseconds, sizes in bytes, CPUs in thousandths.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct json_object;

struct strings {
	char **items; /* owned, NULL-terminated once non-empty */
	size_t count;
};

/* FROM[:TO]: files in and out, mounts. */
struct pair {
	char *from; /* owned */
	char *to;   /* owned, or NULL when not given */
};

struct pairs {
	struct pair *items; /* owned */
	size_t count;
};

enum net_mode {
	NET_NONE = 0, /* no address family but UNIX */
	NET_LOOPBACK, /* a private loopback that is up */
	NET_MODE_COUNT,
};

enum proc_mode {
	PROC_AUTO = 0, /* as the language needs it */
	PROC_PID,      /* processes only */
	PROC_MASKED,   /* also memory, processors, uptime; the rest covered */
	PROC_MODE_COUNT,
};

/* Whether code and result of a run are kept. */
enum store_mode {
	STORE_NEVER = 0,
	STORE_ON_ERROR, /* whatever did not end with status ok */
	STORE_ALWAYS,
	STORE_MODE_COUNT,
};

/* How much the audit log matters; each does what those before it do. */
enum audit_mode {
	AUDIT_OFF = 0,
	AUDIT_ON,       /* a record that cannot be written is a warning */
	AUDIT_REQUIRED, /* without a record there is no answer, nor a run if that can be foreseen */
	AUDIT_SYNC,     /* and the answer waits until the record is on the disk */
	AUDIT_MODE_COUNT,
};

extern const char *const store_mode_names[STORE_MODE_COUNT + 1];
extern const char *const audit_mode_names[AUDIT_MODE_COUNT + 1];
/* What the guard does about code before and while it runs. */
enum profile {
	PROFILE_STRICT = 0, /* only what its lists allow */
	PROFILE_STANDARD,   /* warns */
	PROFILE_TRUSTED,    /* no guard; the cell is the same */
	PROFILE_COUNT,
};

extern const char *const profile_names[PROFILE_COUNT + 1]; /* NULL-terminated */
extern const char *const proc_mode_names[PROC_MODE_COUNT + 1];
extern const char *const net_mode_names[NET_MODE_COUNT + 1]; /* NULL-terminated */

struct spec {
	/* what to run: exactly one of code, file, exec */
	char *language;
	char *code;
	char *file;
	struct strings exec; /* a program and its arguments, no language */
	struct strings args; /* arguments for code or file */

	/* limits */
	int64_t timeout_ms;
	int64_t cpu_time_ms; /* 0: none */
	int64_t memory;
	int64_t pids;
	int64_t disk;
	int64_t inodes;
	int64_t cpus_milli; /* 0: the host's */
	int64_t max_output;
	int64_t output_limit;

	/* What whoever asks may have at most; 0: no bound. No fields: nobody says this of himself.
	 */
	int64_t memory_most;
	int64_t cpu_most_ms;

	/* what goes in and out */
	char *stdin_path; /* "-": our own standard input */
	struct strings env;
	struct pairs files;
	struct pairs outs;
	struct pairs ro;
	struct pairs rw;
	char *spill; /* directory for the whole output */

	/* isolation */
	int net;  /* enum net_mode */
	int proc; /* enum proc_mode */
	char *provider;
	char *rootfs; /* "host" or a directory */
	struct strings require;
	struct strings without;
	char *python;            /* a virtual environment or an interpreter of the host */
	struct strings commands; /* the only programs there are; empty: all of the root's */
	const char *interpreter; /* borrowed; runs the code and is there, too; NULL: none */
	char *preload;           /* "auto" or the name of a language's set */
	bool unique_layout;
	bool cold;

	/* the record */
	int store; /* enum store_mode */
	int64_t store_size;
	int64_t store_days;
	int audit; /* enum audit_mode */
	int64_t audit_size;
	char *traceparent; /* whose work it is part of */
	/* the guard */
	int profile;                  /* enum profile */
	bool block_imports;           /* what the profile warns of is blocked */
	struct strings allow_modules; /* never warned of; in strict: on the list */
	struct strings block_modules; /* always blocked */

	uint64_t given; /* bit i: spec_fields[i] was set by the asker, not by default */
};

enum field_type {
	FIELD_NONE = 0,
	FIELD_BOOL,
	FIELD_TEXT,    /* char * */
	FIELD_SECONDS, /* int64_t milliseconds; "1.5" and 1.5 both mean 1500 */
	FIELD_SIZE,    /* int64_t bytes; "64M" or a plain number */
	FIELD_COUNT,   /* int64_t */
	FIELD_CPUS,    /* int64_t thousandths; "0.5" */
	FIELD_CHOICE,  /* int, index into choices */
	FIELD_STRINGS, /* struct strings; the flag repeats */
	FIELD_NAMES,   /* struct strings; comma-separated in the flag */
	FIELD_PAIRS,   /* struct pairs; the flag repeats */
	FIELD_TYPE_COUNT,
};

struct field {
	const char *name; /* in JSON */
	const char *flag; /* the long flag, without "--"; NULL when has_no_flag */
	enum field_type type;
	size_t offset;
	char short_flag;            /* 0: none */
	const char *fallback;       /* default, as a person would write it; NULL: empty */
	int64_t min, max;           /* of numbers, in the field's unit; of lists, the most items */
	const char *const *choices; /* NULL-terminated: all that FIELD_CHOICE and FIELD_TEXT take */
	const char *metavar;
	const char *help;    /* one sentence, no full stop, no default */
	const char *example; /* a value that works */
	bool has_no_flag;    /* only JSON takes it: file, exec, args are positional */
	bool is_once;        /* said anew for each run: no default for it can be kept */
	bool is_host;        /* names a path of the host */
	bool is_job;    /* settled when a program is run: a cell may stand ready before it is known
			 */
	bool is_record; /* what is kept of a run: limits nothing in it */
};

extern const struct field spec_fields[];
extern const size_t spec_field_count;

/* Every field at its default. */
void spec_init(struct spec *spec);
void spec_done(struct spec *spec);

/* Looks a field up by JSON name, else by long flag ('-' and '_' are one). NULL when unknown. */
const struct field *spec_field(const char *name);

/* By long flag only. "--file" is the field "files"; the field "file" has no flag. */
const struct field *spec_flag(const char *flag);

/* Sets one field from text, as a flag does. List fields append; a NULL text is "true" for
 * FIELD_BOOL. The error names the flag (as "--timeout"), the valid range and an example. */
int spec_set(struct spec *spec, const struct field *field, const char *text, struct err *err);

/* Sets a default that a language brings: only where the asker said nothing. */
int spec_set_default(
	struct spec *spec, const struct field *field, const char *text, struct err *err);

/* How it is to be recorded and kept, as the other wants to be. */
void spec_take_record(struct spec *spec, const struct spec *other);

bool spec_is_given(const struct spec *spec, const struct field *field);

/* Reads a whole spec from JSON text; unknown fields are errors with the nearest name. */
int spec_from_json(struct spec *spec, const char *text, size_t len, struct err *err);

/* What no single field can tell: exactly one of code, file, exec; counts; mount targets
 * absolute, not duplicated, not over the cell's own paths; variable names; total sizes. */
int spec_check(const struct spec *spec, struct err *err);

/* Lowers what is over memory_most and cpu_most_ms. Time is bounded only where a run could use up
 * what is left: cells stand ready for runs without a bound. */
void spec_bound(struct spec *spec);

/* Where an entry of ro or rw appears in the cell: absolute and normalised. Owned by the caller;
 * NULL when spec_check() refuses it. */
char *spec_mount_target(const struct pair *mount);

/* Where an entry of files is put, relative to /home/user. "dir/" means into that directory.
 * Owned by the caller; NULL when spec_check() refuses it. */
char *spec_file_target(const struct pair *file);

/* What an entry of outs looks for, relative to /home/user, or to /tmp when *ret_is_tmp. Owned by
 * the caller; NULL when spec_check() refuses it. */
char *spec_out_pattern(const struct pair *out, bool *ret_is_tmp);

/* A list as an array (owned by the caller). */
struct json_object *strings_to_json(const struct strings *list);

void strings_add(struct strings *list, const char *text);
bool strings_are_same(const struct strings *one, const struct strings *other);
void strings_done(struct strings *list);

/* Reads FROM[:TO]; "\:" is a colon within FROM. False when one of them is empty. */
bool pair_parse(const char *text, struct pair *ret_pair);
void pairs_add(struct pairs *list, const char *from, const char *to);
void pairs_done(struct pairs *list);
