/* SPDX-License-Identifier: Apache-2.0 */
/* The result: what one execution did, in the shape every entrance returns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/limits.h"
#include "model/spec.h"

struct json_object;

enum run_status {
	STATUS_NONE = 0,
	STATUS_OK,
	STATUS_ERROR,
	STATUS_SIGNAL,
	STATUS_TIMEOUT,
	STATUS_CPU_LIMIT,
	STATUS_OOM,
	STATUS_OUTPUT_LIMIT,
	STATUS_DISK_LIMIT,
	STATUS_INTERRUPTED,
	STATUS_REFUSED,
	STATUS_SETUP_ERROR,
	RUN_STATUS_COUNT,
};

extern const char *const run_status_names[RUN_STATUS_COUNT + 1]; /* NULL-terminated */

enum {
	EXIT_TIMED_OUT = 124,
	EXIT_COULD_NOT_RUN = 125,
	EXIT_GUARD_REFUSED = 126,
};

/* What the sandbox stopped, and the smallest option that would allow it. */
struct denial {
	char layer[24];     /* "seccomp", "network", "filesystem", "pids", "memory", "disk" … */
	char operation[48]; /* "socket", "mount", "open for writing", "fork" … */
	char target[192];   /* "AF_INET stream", "/usr/lib/x" …; may be empty */
	char option[128];   /* "--net loopback", "--pids 256" …; empty: nothing would */
	char evidence[16];  /* "kernel": counted by the kernel; "text": read from an error text */
	unsigned count;
};

struct out_file {
	char *path;     /* owned; inside the cell, relative to /home/user */
	char *saved_to; /* owned; NULL when refused */
	char *refused;  /* owned; why, or NULL */
	int64_t size;
};

/* One entry of meta.isolation: a layer's key and what was really active. */
struct isolation_item {
	const char *key; /* static */
	enum { ISOLATION_BOOL = 0, ISOLATION_NUMBER, ISOLATION_TEXT } kind;
	int64_t number;
	char text[64];
};

enum { ISOLATION_ITEMS_MAX = 40 };

struct usage {
	int64_t wall_us;
	int64_t cpu_us;
	int64_t max_memory_kb;
	int64_t processes; /* most alive at once, the cell's init not counted */
	int64_t read_bytes;
	int64_t write_bytes;
};

/* One stream's text as kept: all of it, or head and tail with a note of what was cut. */
struct captured {
	char *text; /* owned; raw bytes as the program wrote them */
	size_t len;
	int64_t total_bytes; /* written by the program */
	bool is_truncated;
	char *spilled_to; /* owned; NULL when not asked for */
};

/* A rich value: what the program displayed, or the value of its last expression. */
struct output {
	bool is_result;
	char *data;     /* owned; JSON text of an object: MIME type -> text, base64 or JSON */
	char *metadata; /* owned; JSON text of an object */
};

/* One line of a trace, outermost call first. */
struct trace_frame {
	char *file;     /* owned, as the rest; as the program's own words have it */
	int64_t line;   /* from 1; 0: unknown */
	int64_t column; /* from 1; 0: unknown */
	char *function; /* NULL: none */
	char *source;   /* the line of code; NULL: unknown */
};

/* What went wrong, as far as it could be found out. */
struct failure {
	char kind[16]; /* "syntax", "import", "runtime", "timeout", "refused", "setup"; empty: none
			*/
	char *message; /* owned, as the rest; one of the exact messages */
	char *name;    /* "ZeroDivisionError"; NULL: unknown */
	char *value;   /* "division by zero" */
	struct trace_frame *trace;
	size_t trace_count;
	int64_t line;   /* of the user's code; 0: unknown */
	int64_t column; /* from 1; 0: unknown */
	char **context; /* the line with those around it and a caret, ready to print */
	size_t context_count;
	char *documentation; /* where to read about it; NULL: nowhere known */
};

/* How the code was compiled, before it ran in a cell of its own. */
struct compiled {
	bool is_compiled;
	bool is_cached; /* an earlier run of the same code had it compiled: nothing was used */
	struct usage usage;
	struct captured output; /* what the compiler said */
};

struct result {
	char id[40];
	enum run_status status;
	int exit_code; /* hotcell's own exit status follows from result_exit_code() */
	int signal;    /* 0: none */
	struct captured out;
	struct captured err;
	struct usage usage;

	struct output *outputs; /* owned */
	size_t output_count;
	struct failure error;
	char *hint; /* owned, or NULL */

	struct denial denials[LIMIT_DENIALS];
	size_t denial_count;
	struct out_file *files; /* owned */
	size_t file_count;

	struct compiled compiled;

	const char *runtime; /* static: the provider that really ran it */
	char language[32];   /* empty for --exec */
	char language_version[32];
	bool is_warm;
	char session[68];               /* name of the session it ran in; empty: none */
	int64_t execution_count;        /* in that session; 0: not known */
	char *warnings[LIMIT_WARNINGS]; /* owned */
	size_t warning_count;
	struct isolation_item isolation[ISOLATION_ITEMS_MAX];
	size_t isolation_count;

	/* the guard's part */
	char guard_verdict[8];          /* "allow", "warn", "block"; empty: it had nothing to say */
	struct strings guard_warnings;  /* for who reads the result, not for a terminal */
	struct strings blocked_imports; /* before and while it ran; at most LIMIT_WARNINGS */
};

void result_init(struct result *result); /* also makes the id */
void result_done(struct result *result);

/* The cell of another result was the only one that this one had. */
void result_take_cell(struct result *result, const struct result *other);

void result_warn(struct result *result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void result_set_error(struct result *result, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a rich value; both texts are taken. False past LIMIT_OUTPUTS: then they are freed. */
bool result_add_output(struct result *result, bool is_result, char *data, char *metadata);

/* Adds a frame at the end of the trace, to be filled in. NULL past LIMIT_TRACE. */
struct trace_frame *failure_add_frame(struct failure *failure);

/* Takes one more line of context. */
void failure_add_context(struct failure *failure, char *line);

void failure_done(struct failure *failure);

/* Adds a denial, or counts one that is there already. */
void result_add_denial(struct result *result, const struct denial *denial);

/* The exit status of `hotcell run` for this result. */
int result_exit_code(const struct result *result);

/* The limits of a spec as an object (owned by the caller), which spec_from_json() can read. */
struct json_object *spec_limits_to_json(const struct spec *spec);

/* The ExecutionResult as JSON text (owned by the caller), without a final newline. `spec` gives
 * meta.resource_limits. */
char *result_to_json(const struct result *result, const struct spec *spec, bool is_pretty);

/* The result as one short text (owned by the caller), for a reader who pays for every word: output,
 * value, error with its line and hint, limits that were hit. Valid UTF-8 without controls. */
char *result_compact(const struct result *result, const struct spec *spec);

/* Reads back from an ExecutionResult what result_compact() tells of it, and the limits it ran
 * under. Both were begun with their init. */
void result_read(struct json_object *json, struct result *result, struct spec *spec);

/* The event "status": "queued" or "running", and a number that goes with it; no key: none. */
char *status_to_json(
	const char *id, int64_t seq, const char *state, const char *key, int64_t number);

/* One event of --stream as a JSON line with its newline (owned by the caller). `event` is
 * "stdout", "stderr" or "done"; data is repaired to UTF-8. For "done", data is a whole
 * result as JSON text and is embedded as an object. */
char *event_to_json(const char *id, int64_t seq, const char *event, const char *data, size_t len);
