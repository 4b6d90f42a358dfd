/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhotcell: run code in a cell, from C. See hotcell(3) and docs/en/LIBRARY.md.
 *
 * Calls. A function that can fail returns 0, or -1 and fills *error, which is the caller's and may
 * be NULL. Nothing is written to a ret_ parameter then, but where its comment says otherwise. No
 * function prints, exits, changes the working directory or installs a signal handler. Small
 * allocations are taken for granted: when the process has no memory left at all, it is aborted.
 *
 * Ownership. A pointer that is handed in is borrowed for the call. What has a _free() or _close()
 * is the caller's to give back; char ** texts go to hotcell_text_free(). Texts that a getter
 * returns as const belong to the object and live as long as it does. Free and close take NULL.
 *
 * Threads. Different objects may be used by different threads at the same time. One spec may be
 * used by many calls at once as long as nobody changes it; a result can be read by many threads.
 * Only hotcell_init() is not for a process that has threads already which use the environment: it
 * may set variables that begin with HOTCELL_. Every other function calls it if nobody has.
 *
 * Processes. Cells are children of the calling process, started with posix_spawn(); the process is
 * never copied. A call waits for the children it made, by their number. A process that has SIGCHLD
 * ignored, or that reaps whatever ended, does not disturb it.
 */
#ifndef HOTCELL_H
#define HOTCELL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HOTCELL_API __attribute__((visibility("default")))
#else
#define HOTCELL_API
#endif

enum hotcell_error_code {
	HOTCELL_ERROR_NONE = 0,
	HOTCELL_ERROR_INVALID,     /* what was asked for makes no sense */
	HOTCELL_ERROR_SYSTEM,      /* the kernel refused */
	HOTCELL_ERROR_LIMIT,       /* something is too large */
	HOTCELL_ERROR_MISSING,     /* there is no such program, language, session, point */
	HOTCELL_ERROR_BROKEN,      /* a part of hotcell died or answered nonsense */
	HOTCELL_ERROR_BUSY,        /* another has it now */
	HOTCELL_ERROR_INTERRUPTED, /* it was no longer wanted */
};

/* What went wrong: one sentence for a person, and what kind of thing it is. */
struct hotcell_error {
	enum hotcell_error_code code;
	char text[512];
};

/* How a run ended. */
enum hotcell_status {
	HOTCELL_STATUS_NONE = 0,
	HOTCELL_STATUS_OK,           /* exit status 0 */
	HOTCELL_STATUS_ERROR,        /* another exit status, or an exception nobody caught */
	HOTCELL_STATUS_SIGNAL,       /* a signal ended it */
	HOTCELL_STATUS_TIMEOUT,      /* wall time was over */
	HOTCELL_STATUS_CPU_LIMIT,    /* processor time was over */
	HOTCELL_STATUS_OOM,          /* memory was over */
	HOTCELL_STATUS_OUTPUT_LIMIT, /* it wrote too much */
	HOTCELL_STATUS_DISK_LIMIT,   /* its files were too large */
	HOTCELL_STATUS_INTERRUPTED,  /* it was no longer wanted */
	HOTCELL_STATUS_REFUSED,      /* the guard did not let it run */
	HOTCELL_STATUS_SETUP_ERROR,  /* hotcell could not run it */
};

struct hotcell_spec;    /* what to run, and how */
struct hotcell_result;  /* how it went */
struct hotcell_session; /* a cell that remembers, held by the daemon */

/* "0.1.0" */
HOTCELL_API const char *hotcell_version(void);

/* Reads the settings files once and hands on what they say of places, as `hotcell` does at its
 * start. Optional; for a program that wants that done before it has threads, and checked. */
HOTCELL_API int hotcell_init(struct hotcell_error *error);

HOTCELL_API void hotcell_text_free(char *text);

/* ---- what to run ------------------------------------------------------------------------------
 */

/* Everything at its default. What is not set comes from the settings files and the environment, as
 * with `hotcell run`. */
HOTCELL_API struct hotcell_spec *hotcell_spec_new(void);
HOTCELL_API void hotcell_spec_free(struct hotcell_spec *spec);

/* Sets one field: "code", "file", "language", "timeout", "memory", "net", "profile" … The names are
 * the long options of `hotcell run` or the fields of its --spec, the values texts as options have
 * them: "1.5", "256M", "loopback", "true". Fields that are lists (args, exec, env, files, ro, rw …)
 * take one more item with each call. A session has "idle", "lifetime" (seconds) and "undo" (turns)
 * besides. */
HOTCELL_API int hotcell_spec_set(struct hotcell_spec *spec, const char *name, const char *value,
	struct hotcell_error *error);

/* Sets all fields of a JSON object: what --spec reads. */
HOTCELL_API int hotcell_spec_set_json(
	struct hotcell_spec *spec, const char *json, struct hotcell_error *error);

/* Output is also written to these descriptors while it comes; -1: to none. They are borrowed until
 * the last run of the spec is over. A slow reader slows the program, never its deadline;
 * one that left ends the run as interrupted. */
HOTCELL_API void hotcell_spec_follow(struct hotcell_spec *spec, int stdout_fd, int stderr_fd);

/* When this descriptor (a pipe, an eventfd) becomes readable, the run ends as interrupted. It is
 * never read from; borrowed as above; -1: none. */
HOTCELL_API void hotcell_spec_interrupt(struct hotcell_spec *spec, int fd);

/* ---- running ----------------------------------------------------------------------------------
 */

/* Runs it in a fresh cell and waits for the end. 0: it ran, and the result tells how that went. -1:
 * it could not be run; then *ret_result is a result as well, with the status SETUP_ERROR (or
 * INTERRUPTED) and the words of the error. */
HOTCELL_API int hotcell_run(const struct hotcell_spec *spec, struct hotcell_result **ret_result,
	struct hotcell_error *error);

HOTCELL_API void hotcell_result_free(struct hotcell_result *result);
HOTCELL_API enum hotcell_status hotcell_result_status(const struct hotcell_result *result);

/* "ok", "error", "timeout" … as in the JSON. */
HOTCELL_API const char *hotcell_result_status_name(const struct hotcell_result *result);

/* The code's own exit status; 124 timed out, 125 could not be run, 126 refused, 128+N signal N. */
HOTCELL_API int hotcell_result_exit_code(const struct hotcell_result *result);

/* The bytes that were kept, as the program wrote them; a NUL follows. `ret_len` may be NULL. */
HOTCELL_API const char *hotcell_result_stdout(const struct hotcell_result *result, size_t *ret_len);
HOTCELL_API const char *hotcell_result_stderr(const struct hotcell_result *result, size_t *ret_len);

/* What went wrong, and what to do next; NULL: nothing. The message is one of:
 *   Code execution timed out after {N}s
 *   Python syntax error: {details}
 *   Security policy blocked import: {module}
 *   Execution failed: {stderr}
 * or, for what could not be run, a sentence that says why. */
HOTCELL_API const char *hotcell_result_message(const struct hotcell_result *result);
HOTCELL_API const char *hotcell_result_hint(const struct hotcell_result *result);

/* The whole ExecutionResult, as `hotcell run --json` prints it. */
HOTCELL_API const char *hotcell_result_json(const struct hotcell_result *result);

/* One short text, as `hotcell run --compact` prints it: output, value, error, limits hit. */
HOTCELL_API const char *hotcell_result_compact(const struct hotcell_result *result);

/* ---- for agents -------------------------------------------------------------------------------
 */

/* Runs Python code and tells the outcome as one short text, whatever it is: also that it could not
 * be run. `timeout` in seconds; 0: the default. -1 only for arguments that make no sense. */
HOTCELL_API int hotcell_run_python_code(
	const char *code, double timeout, char **ret_text, struct hotcell_error *error);

/* What the guard says about the spec's code, which is not run: the SecurityReport as JSON, with the
 * verdict whether it may run without asking a person. As `hotcell check --autorun --json`. */
HOTCELL_API int hotcell_analyze(
	const struct hotcell_spec *spec, char **ret_json, struct hotcell_error *error);

/* The languages as a JSON array: as `hotcell languages --json`. */
HOTCELL_API int hotcell_languages(char **ret_json, struct hotcell_error *error);

/* ---- sessions ---------------------------------------------------------------------------------
 */

/* A session lives in the daemon, which is started when there is none, and outlives this process:
 * until it is killed, was idle for too long, or is too old. The object is a way to reach it. */

/* Makes one for the spec's language, limits, mounts, env and files. Without a name (NULL) it gets
 * an id for one. */
HOTCELL_API int hotcell_session_new(const struct hotcell_spec *spec, const char *name,
	struct hotcell_session **ret_session, struct hotcell_error *error);

/* One that is there already. */
HOTCELL_API int hotcell_session_open(
	const char *name, struct hotcell_session **ret_session, struct hotcell_error *error);

/* Frees the object; the session goes on. */
HOTCELL_API void hotcell_session_close(struct hotcell_session *session);

HOTCELL_API const char *hotcell_session_name(const struct hotcell_session *session);

/* Executes code in it. `turn` may be NULL, or say timeout, max_output, env and stdin of this turn
 * alone, and who follows or interrupts it. The rest is as with hotcell_run(). */
HOTCELL_API int hotcell_session_exec(struct hotcell_session *session, const char *code,
	const struct hotcell_spec *turn, struct hotcell_result **ret_result,
	struct hotcell_error *error);

/* Keeps the state, under a name or (NULL) a number. *ret_point, how to come back here, may be NULL:
 * not wanted. */
HOTCELL_API int hotcell_session_checkpoint(struct hotcell_session *session, const char *point,
	char **ret_point, struct hotcell_error *error);

/* Brings that state back; the last turn's; makes a second session of the same state. */
HOTCELL_API int hotcell_session_rollback(
	struct hotcell_session *session, const char *point, struct hotcell_error *error);
HOTCELL_API int hotcell_session_undo(struct hotcell_session *session, struct hotcell_error *error);
HOTCELL_API int hotcell_session_fork(struct hotcell_session *session, const char *name,
	struct hotcell_session **ret_session, struct hotcell_error *error);

/* From another thread or process: ends what runs in it, and the state stays. */
HOTCELL_API int hotcell_session_interrupt(
	struct hotcell_session *session, struct hotcell_error *error);

/* Ends it. The object is still to be closed. */
HOTCELL_API int hotcell_session_kill(struct hotcell_session *session, struct hotcell_error *error);

/* All about it, as `hotcell session info --json`; about all of them, as `session list --json`. */
HOTCELL_API int hotcell_session_info(
	struct hotcell_session *session, char **ret_json, struct hotcell_error *error);
HOTCELL_API int hotcell_session_list(char **ret_json, struct hotcell_error *error);

#ifdef __cplusplus
}
#endif

#endif
