/* SPDX-License-Identifier: Apache-2.0 */
#include "model/result.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/date.h"
#include "base/own.h"

/* clang-format off */
const char *const run_status_names[RUN_STATUS_COUNT + 1] = {
	[STATUS_NONE]         = "none",
	[STATUS_OK]           = "ok",
	[STATUS_ERROR]        = "error",
	[STATUS_SIGNAL]       = "signal",
	[STATUS_TIMEOUT]      = "timeout",
	[STATUS_CPU_LIMIT]    = "cpu_limit",
	[STATUS_OOM]          = "oom",
	[STATUS_OUTPUT_LIMIT] = "output_limit",
	[STATUS_DISK_LIMIT]   = "disk_limit",
	[STATUS_INTERRUPTED]  = "interrupted",
	[STATUS_REFUSED]      = "refused",
	[STATUS_SETUP_ERROR]  = "setup_error",
};

/* The exit status where the program's own does not count; 0: it does. */
static const int exit_codes[RUN_STATUS_COUNT] = {
	[STATUS_NONE]         = EXIT_COULD_NOT_RUN,
	[STATUS_TIMEOUT]      = EXIT_TIMED_OUT,
	[STATUS_CPU_LIMIT]    = 128 + SIGKILL,
	[STATUS_OOM]          = 128 + SIGKILL,
	[STATUS_OUTPUT_LIMIT] = 128 + SIGKILL,
	[STATUS_INTERRUPTED]  = 128 + SIGINT,
	[STATUS_REFUSED]      = EXIT_GUARD_REFUSED,
	[STATUS_SETUP_ERROR]  = EXIT_COULD_NOT_RUN,
};
/* clang-format on */

/* 20261115T184455Z-3f9a1c0d: sorts by time, unique by chance. */
static void make_id(char *id, size_t size)
{
	struct timespec now;
	struct date date;
	uint32_t noise = 0;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	date_of_day(now.tv_sec / 86400, &date);
	int second = (int)(now.tv_sec % 86400);
	if (getrandom(&noise, sizeof(noise), GRND_NONBLOCK) != (ssize_t)sizeof(noise))
		noise = (uint32_t)now.tv_nsec * 2654435761u ^ (uint32_t)getpid();
	(void)snprintf(id, size, "%04d%02d%02dT%02d%02d%02dZ-%08x", date.year, date.month, date.day,
		second / 3600, second / 60 % 60, second % 60, noise);
}

void result_init(struct result *result)
{
	*result = (struct result){ 0 };
	make_id(result->id, sizeof(result->id));
}

static void captured_done(struct captured *captured)
{
	free(captured->text);
	free(captured->spilled_to);
}

void result_done(struct result *result)
{
	captured_done(&result->out);
	captured_done(&result->err);
	captured_done(&result->compiled.output);
	for (size_t i = 0; i < result->output_count; i++) {
		free(result->outputs[i].data);
		free(result->outputs[i].metadata);
	}
	free(result->outputs);
	failure_done(&result->error);
	free(result->hint);
	for (size_t i = 0; i < result->file_count; i++) {
		free(result->files[i].path);
		free(result->files[i].saved_to);
		free(result->files[i].refused);
	}
	free(result->files);
	for (size_t i = 0; i < result->warning_count; i++)
		free(result->warnings[i]);
	strings_done(&result->guard_warnings);
	strings_done(&result->blocked_imports);
	*result = (struct result){ 0 };
}

static char *format(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

static char *format(const char *fmt, va_list ap)
{
	char *text = NULL;
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	return text;
}

void result_take_cell(struct result *result, const struct result *other)
{
	result->runtime = other->runtime;
	result->usage = other->usage;
	memcpy(result->isolation, other->isolation, sizeof(other->isolation));
	result->isolation_count = other->isolation_count;
}

void result_warn(struct result *result, const char *fmt, ...)
{
	va_list ap;
	if (result->warning_count >= LIMIT_WARNINGS)
		return;
	va_start(ap, fmt);
	result->warnings[result->warning_count++] = format(fmt, ap);
	va_end(ap);
}

void result_set_error(struct result *result, const char *kind, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *message = format(fmt, ap); /* may be made of the message it replaces */
	va_end(ap);
	free(result->error.message);
	result->error.message = message;
	(void)snprintf(result->error.kind, sizeof(result->error.kind), "%s", kind);
}

bool result_add_output(struct result *result, bool is_result, char *data, char *metadata)
{
	if (result->output_count >= LIMIT_OUTPUTS) {
		free(data);
		free(metadata);
		return false;
	}
	result->outputs =
		xrealloc(result->outputs, result->output_count + 1, sizeof(*result->outputs));
	result->outputs[result->output_count++] =
		(struct output){ .is_result = is_result, .data = data, .metadata = metadata };
	return true;
}

struct trace_frame *failure_add_frame(struct failure *failure)
{
	if (failure->trace_count >= LIMIT_TRACE)
		return NULL;
	failure->trace =
		xrealloc(failure->trace, failure->trace_count + 1, sizeof(*failure->trace));
	struct trace_frame *frame = &failure->trace[failure->trace_count++];
	*frame = (struct trace_frame){ 0 };
	return frame;
}

void failure_add_context(struct failure *failure, char *line)
{
	if (failure->context_count >= LIMIT_CONTEXT) {
		free(line);
		return;
	}
	failure->context =
		xrealloc(failure->context, failure->context_count + 1, sizeof(*failure->context));
	failure->context[failure->context_count++] = line;
}

void failure_done(struct failure *failure)
{
	free(failure->message);
	free(failure->name);
	free(failure->value);
	for (size_t i = 0; i < failure->trace_count; i++) {
		free(failure->trace[i].file);
		free(failure->trace[i].function);
		free(failure->trace[i].source);
	}
	free(failure->trace);
	for (size_t i = 0; i < failure->context_count; i++)
		free(failure->context[i]);
	free(failure->context);
	free(failure->documentation);
	*failure = (struct failure){ 0 };
}

static bool is_same_denial(const struct denial *a, const struct denial *b)
{
	return strcmp(a->layer, b->layer) == 0 && strcmp(a->operation, b->operation) == 0 &&
	       strcmp(a->target, b->target) == 0;
}

void result_add_denial(struct result *result, const struct denial *denial)
{
	unsigned count = denial->count ? denial->count : 1;
	for (size_t i = 0; i < result->denial_count; i++) {
		if (is_same_denial(&result->denials[i], denial)) {
			result->denials[i].count += count;
			return;
		}
	}
	if (result->denial_count >= LIMIT_DENIALS)
		return;
	result->denials[result->denial_count] = *denial;
	result->denials[result->denial_count++].count = count;
}

int result_exit_code(const struct result *result)
{
	if (exit_codes[result->status])
		return exit_codes[result->status];
	/* a full disk kills nobody: the program ends as it likes */
	if (result->signal)
		return 128 + result->signal;
	if (result->status != STATUS_OK && result->exit_code == 0)
		return 1; /* an uncaught exception in a program that lives on */
	return result->exit_code;
}
