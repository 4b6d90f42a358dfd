/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel counts most denials itself (keeper/watch.c, keeper/verdict.c). Two it cannot count
 * for us: a write to a read-only path, and a path that is simply not there. These are read from
 * the error text of a program that failed, and marked as such. Nothing on the host is looked at
 * for this: a result must not tell a stranger which files exist.
 */
#include "engine/explain.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "model/units.h"

/* Error texts as libc, Python, Node and the shells print them; `layer` and `operation` are what
 * they mean in a cell. */
static const struct error_text {
	const char *text;
	const char *layer;
	const char *operation;
	const char *option; /* NULL: made from the path or a limit */
	bool has_path;
} error_texts[] = {
	{ " does not exist", "filesystem", "open", "--ro DIR or --file FILE", true },
	{ "Read-only file system", "filesystem", "write", "--rw DIR", true },
	{ "read-only file system", "filesystem", "write", "--rw DIR", true },
	{ "No such file or directory", "filesystem", "open", "--ro DIR or --file FILE", true },
	{ "no such file or directory", "filesystem", "open", "--ro DIR or --file FILE", true },
	{ "No space left on device", "disk", "write", "--disk SIZE", false },
	{ "no space left on device", "disk", "write", "--disk SIZE", false },
	{ "File too large", "disk", "write", "--disk SIZE", false },
	{ "can't start new thread", "pids", "start a thread", "--pids N", false },
	{ "Resource temporarily unavailable", "pids", "fork", "--pids N", false },
	{ "Cannot allocate memory", "memory", "allocate", "--memory SIZE", false },
	{ "MemoryError", "memory", "allocate", "--memory SIZE", false },
};

/* Paths of a cell where a missing file is the program's own affair. */
static bool is_own_path(const char *path)
{
	static const char *const own[] = { "/home/user", "/tmp", "/dev", "/proc", "/usr", "/etc",
		"/bin", "/sbin", "/lib", "/lib64", "/run", "/mnt" };
	for (size_t i = 0; i < COUNT_OF(own); i++) {
		size_t len = strlen(own[i]);
		if (strncmp(path, own[i], len) == 0 && (path[len] == '/' || path[len] == '\0'))
			return true;
	}
	return false;
}

/* An absolute path on the same line: in quotes (Python, coreutils, Node), or as the word before
 * the text (`sh: 1: cannot create /usr/x: Read-only file system`). */
static bool path_on_line(const char *line, size_t len, const char *text_at, char *path, size_t size)
{
	for (const char *at = line; at + 1 < line + len; at++) {
		char quote = *at;
		if ((quote != '\'' && quote != '"' && quote != '`') || at[1] != '/')
			continue;
		const char *end = at + 1;
		while (end < line + len && *end != '\'' && *end != '"')
			end++;
		(void)snprintf(path, size, "%.*s", (int)(end - at - 1), at + 1);
		return true;
	}
	const char *end = text_at;
	while (end > line && (end[-1] == ' ' || end[-1] == ':'))
		end--;
	const char *start = end;
	while (start > line && start[-1] != ' ')
		start--;
	if (start == end)
		return false;
	(void)snprintf(path, size, "%.*s", (int)(end - start), start);
	return *start == '/';
}

static bool has_denial(const struct result *result, const char *layer)
{
	for (size_t i = 0; i < result->denial_count; i++)
		if (strcmp(result->denials[i].layer, layer) == 0)
			return true;
	return false;
}

/* Whether a directory of the host can be mounted where this file would be. */
static bool can_be_mounted(const char *file)
{
	auto_free char *dir = xstrdup(file);
	char *slash = strrchr(dir, '/');
	slash[slash == dir] = '\0';
	const struct pair mount = { .from = dir, .to = dir };
	auto_free char *target = spec_mount_target(&mount);
	return target != NULL;
}

static void read_error(const struct error_text *known, const char *line, size_t len, const char *at,
	const struct spec *spec, struct result *result)
{
	struct denial denial = { .evidence = "text", .count = 1 };
	const char *option = known->option;
	if (known->has_path) {
		if (!path_on_line(line, len, at, denial.target, sizeof(denial.target)))
			return;
		bool is_write = strcmp(known->operation, "write") == 0;
		bool is_proc = strncmp(denial.target, "/proc/", 6) == 0;
		if (!is_write && is_own_path(denial.target) && !is_proc)
			return;
		if (is_proc)
			option = spec->proc == PROC_MASKED ? "" : "--proc masked";
		if (is_write && !can_be_mounted(denial.target))
			option = ""; /* the cell's own: nothing would help */
	} else if (has_denial(result, known->layer)) {
		return; /* the kernel's own count says more */
	}
	(void)snprintf(denial.layer, sizeof(denial.layer), "%s", known->layer);
	(void)snprintf(denial.operation, sizeof(denial.operation), "%s", known->operation);
	(void)snprintf(denial.option, sizeof(denial.option), "%s", option);
	result_add_denial(result, &denial);
}

static void read_errors(const struct spec *spec, struct result *result)
{
	const char *text = result->err.text ? result->err.text : "";
	while (*text) {
		size_t len = strcspn(text, "\n");
		for (size_t i = 0; i < COUNT_OF(error_texts); i++) {
			const char *at =
				memmem(text, len, error_texts[i].text, strlen(error_texts[i].text));
			if (at) {
				read_error(&error_texts[i], text, len, at, spec, result);
				break;
			}
		}
		text += len + (text[len] == '\n');
	}
}

/* What the analysis found out about it stays. */
static void set_failed(struct result *result, const char *text, size_t len)
{
	char kind[sizeof(result->error.kind)] = "runtime";
	if (result->error.message)
		return;
	if (result->error.kind[0] != '\0')
		memcpy(kind, result->error.kind, sizeof(kind));
	if (result->status == STATUS_SIGNAL)
		result_set_error(result, kind, "Execution failed: %s%s%.*s",
			strsignal(result->signal), len ? ": " : "", (int)len, text);
	else
		result_set_error(result, kind, "Execution failed: %.*s", (int)len, text);
}

static void set_error(const struct spec *spec, struct result *result)
{
	char number[32];
	const char *stderr_text = result->err.text ? result->err.text : "";
	size_t len = strlen(stderr_text);
	while (len > 0 && stderr_text[len - 1] == '\n')
		len--;
	switch (result->status) {
	case STATUS_TIMEOUT:
		units_format_milli(spec->timeout_ms, number, sizeof(number));
		result_set_error(result, "timeout", "Code execution timed out after %ss", number);
		break;
	case STATUS_CPU_LIMIT:
		units_format_milli(spec->cpu_time_ms, number, sizeof(number));
		result_set_error(result, "timeout", "Code used up its CPU time of %ss", number);
		break;
	case STATUS_OOM:
		units_format_size(spec->memory, number, sizeof(number));
		result_set_error(result, "runtime", "Code ran out of its memory of %s", number);
		break;
	case STATUS_OUTPUT_LIMIT:
		units_format_size(spec->output_limit, number, sizeof(number));
		result_set_error(result, "runtime", "Code wrote more than %s of output", number);
		break;
	case STATUS_INTERRUPTED:
		result_set_error(result, "runtime", "Execution was interrupted");
		break;
	case STATUS_SIGNAL:
	case STATUS_ERROR:
	case STATUS_DISK_LIMIT:
		set_failed(result, stderr_text, len);
		break;
	default:
		break;
	}
}

/* The option of the first denial with this evidence, where nothing better was said. */
static void hint_at_denial(struct result *result, const char *evidence)
{
	for (size_t i = 0; i < result->denial_count && !result->hint; i++) {
		const struct denial *denial = &result->denials[i];
		if (denial->option[0] == '\0' || strcmp(denial->evidence, evidence) != 0)
			continue;
		result->hint = xasprintf("The cell stopped it (%s: %s%s%s); to allow it: %s",
			denial->layer, denial->operation, denial->target[0] ? " " : "",
			denial->target, denial->option);
	}
}

/* A denial that stands in the error text is the cause. What the kernel counted may have been met
 * earlier and overcome, so the analysis of the error itself comes before it. */
void explain(const struct analysis_input *input, struct result *result)
{
	if (input->spec->commands.count > 0)
		explain_commands(input->spec, result);
	if (result->status == STATUS_OK)
		return;
	if (result->status == STATUS_ERROR || result->status == STATUS_DISK_LIMIT)
		read_errors(input->spec, result);
	hint_at_denial(result, "text");
	if (input->language)
		analyse(input, result);
	set_error(input->spec, result);
	hint_at_denial(result, "kernel");
}
