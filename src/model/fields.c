/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fields: every setting of a run, written once. */
#include <stddef.h>

#include "base/own.h"
#include "model/limits.h"
#include "model/spec.h"

#define KB ((int64_t)1 << 10)
#define MB ((int64_t)1 << 20)
#define TB ((int64_t)1 << 40)
#define AT(member) .offset = offsetof(struct spec, member)

/* clang-format off */
const char *const net_mode_names[NET_MODE_COUNT + 1] = {
	[NET_NONE]     = "none",
	[NET_LOOPBACK] = "loopback",
};

const char *const proc_mode_names[PROC_MODE_COUNT + 1] = {
	[PROC_AUTO]   = "auto",
	[PROC_PID]    = "pid",
	[PROC_MASKED] = "masked",
};

const char *const store_mode_names[STORE_MODE_COUNT + 1] = {
	[STORE_NEVER]    = "never",
	[STORE_ON_ERROR] = "on_error",
	[STORE_ALWAYS]   = "always",
};

const char *const audit_mode_names[AUDIT_MODE_COUNT + 1] = {
	[AUDIT_OFF]      = "off",
	[AUDIT_ON]       = "on",
	[AUDIT_REQUIRED] = "required",
	[AUDIT_SYNC]     = "sync",
};

const char *const profile_names[PROFILE_COUNT + 1] = {
	[PROFILE_STRICT]   = "strict",
	[PROFILE_STANDARD] = "standard",
	[PROFILE_TRUSTED]  = "trusted",
};

static const char *const provider_names[] = { "local", NULL };

const struct field spec_fields[] = {
	{ .name = "language", .is_job = true, .flag = "language", .short_flag = 'l', .type = FIELD_TEXT,
	  AT(language), .metavar = "NAME", .example = "python",
	  .help = "language of the code; without it the file's ending decides" },
	{ .name = "code", .is_job = true, .is_once = true, .flag = "code", .short_flag = 'c', .type = FIELD_TEXT,
	  AT(code), .metavar = "CODE", .example = "'print(1)'",
	  .help = "the code to run" },
	{ .name = "file", .is_host = true, .is_job = true, .is_once = true, .has_no_flag = true, .type = FIELD_TEXT,
	  AT(file), .metavar = "FILE", .example = "main.py",
	  .help = "the file with the code to run, - for standard input" },
	{ .name = "exec", .is_job = true, .is_once = true, .has_no_flag = true, .type = FIELD_STRINGS,
	  AT(exec), .max = LIMIT_ARGS, .metavar = "PROG", .example = "ls",
	  .help = "a program of the cell and its arguments, run without a language" },
	{ .name = "args", .is_job = true, .is_once = true, .has_no_flag = true, .type = FIELD_STRINGS,
	  AT(args), .max = LIMIT_ARGS, .metavar = "ARG", .example = "input.txt",
	  .help = "arguments for the code" },

	{ .name = "timeout", .is_job = true, .flag = "timeout", .short_flag = 't', .type = FIELD_SECONDS,
	  AT(timeout_ms), .min = 10, .max = 86400 * 1000LL, .fallback = "33",
	  .metavar = "SEC", .example = "33",
	  .help = "end the run after this many seconds, fractions allowed" },
	{ .name = "cpu_time", .flag = "cpu-time", .type = FIELD_SECONDS,
	  AT(cpu_time_ms), .min = 10, .max = 86400 * 1000LL, .fallback = "none",
	  .metavar = "SEC", .example = "10",
	  .help = "end the run when all its processes together used this many seconds of CPU" },
	{ .name = "memory", .flag = "memory", .short_flag = 'm', .type = FIELD_SIZE,
	  AT(memory), .min = 4 * MB, .max = TB, .fallback = "512M",
	  .metavar = "SIZE", .example = "512M",
	  .help = "most memory of all processes together, with K, M or G" },
	{ .name = "pids", .flag = "pids", .type = FIELD_COUNT,
	  AT(pids), .min = 1, .max = 32768, .fallback = "128",
	  .metavar = "N", .example = "128",
	  .help = "most processes and threads alive at once" },
	{ .name = "disk", .flag = "disk", .type = FIELD_SIZE,
	  AT(disk), .min = 64 * KB, .max = TB, .fallback = "256M",
	  .metavar = "SIZE", .example = "256M",
	  .help = "most bytes the run may keep in its own directories" },
	{ .name = "inodes", .flag = "inodes", .type = FIELD_COUNT,
	  AT(inodes), .min = 16, .max = 16 * MB, .fallback = "16384",
	  .metavar = "N", .example = "16384",
	  .help = "most files and directories the run may create" },
	{ .name = "cpus", .flag = "cpus", .type = FIELD_CPUS,
	  AT(cpus_milli), .min = 10, .max = 1024 * 1000LL, .fallback = "host",
	  .metavar = "N", .example = "0.5",
	  .help = "share of CPUs the run may use, fractions allowed" },
	{ .name = "max_output", .is_job = true, .flag = "max-output", .type = FIELD_SIZE,
	  AT(max_output), .min = 0, .max = 64 * MB, .fallback = "10K",
	  .metavar = "SIZE", .example = "10K",
	  .help = "most bytes of each of stdout and stderr in the result" },
	{ .name = "output_limit", .is_job = true, .flag = "output-limit", .type = FIELD_SIZE,
	  AT(output_limit), .min = KB, .max = TB, .fallback = "64M",
	  .metavar = "SIZE", .example = "64M",
	  .help = "end the run when one stream passes this" },

	{ .name = "stdin", .is_host = true, .is_job = true, .flag = "stdin", .type = FIELD_TEXT,
	  AT(stdin_path), .metavar = "FILE", .example = "input.txt",
	  .help = "file the run reads as its standard input, - for our own" },
	{ .name = "env", .is_job = true, .flag = "env", .short_flag = 'e', .type = FIELD_STRINGS,
	  AT(env), .max = LIMIT_ENV, .metavar = "K[=V]", .example = "LEVEL=3",
	  .help = "set a variable, or pass our own variable of that name; repeatable" },
	{ .name = "files", .is_host = true, .is_job = true, .flag = "file", .type = FIELD_PAIRS,
	  AT(files), .max = LIMIT_FILES, .metavar = "SRC[:DST]", .example = "data.csv:in/data.csv",
	  .help = "copy a file or directory into /home/user; repeatable" },
	{ .name = "outs", .is_host = true, .is_job = true, .flag = "out", .type = FIELD_PAIRS,
	  AT(outs), .max = LIMIT_FILES, .metavar = "GLOB[:DIR]", .example = "'*.png:pictures'",
	  .help = "copy files the run made in /home/user out to a directory; repeatable" },
	{ .name = "ro", .is_host = true, .flag = "ro", .type = FIELD_PAIRS,
	  AT(ro), .max = LIMIT_MOUNTS, .metavar = "SRC[:DST]", .example = "/srv/data:/mnt/data",
	  .help = "show a directory of the host to the run, read-only; repeatable" },
	{ .name = "rw", .is_host = true, .flag = "rw", .type = FIELD_PAIRS,
	  AT(rw), .max = LIMIT_MOUNTS, .metavar = "SRC[:DST]", .example = "/srv/work:/mnt/work",
	  .help = "let the run read and change a directory of the host; repeatable" },
	{ .name = "spill", .is_host = true, .is_job = true, .flag = "spill", .type = FIELD_TEXT,
	  AT(spill), .metavar = "DIR", .example = "logs",
	  .help = "keep the whole stdout and stderr as files in this directory" },

	{ .name = "net", .flag = "net", .type = FIELD_CHOICE,
	  AT(net), .choices = net_mode_names, .fallback = "none",
	  .metavar = "MODE", .example = "loopback",
	  .help = "network: none, or loopback for one that is private to the run" },
	{ .name = "proc", .is_job = true, .flag = "proc", .type = FIELD_CHOICE,
	  AT(proc), .choices = proc_mode_names, .fallback = "auto",
	  .metavar = "MODE", .example = "masked",
	  .help = "what /proc shows: processes only (pid), or also memory and processors (masked)" },
	{ .name = "provider", .is_job = true, .flag = "provider", .type = FIELD_TEXT,
	  AT(provider), .choices = provider_names, .fallback = "local",
	  .metavar = "NAME", .example = "local",
	  .help = "who isolates the run" },
	{ .name = "rootfs", .is_host = true, .flag = "rootfs", .type = FIELD_TEXT,
	  AT(rootfs), .fallback = "host", .metavar = "DIR", .example = "/srv/rootfs",
	  .help = "the system the run sees: host, or a directory that holds one" },
	{ .name = "python", .is_host = true, .is_job = true, .flag = "python", .type = FIELD_TEXT,
	  AT(python), .metavar = "PATH", .example = ".venv",
	  .help = "the Python that runs the code: a virtual environment or an interpreter" },
	{ .name = "commands", .flag = "commands", .type = FIELD_NAMES,
	  AT(commands), .max = LIMIT_COMMANDS, .metavar = "NAME,…", .example = "ls,find,grep",
	  .help = "only these programs exist and can be executed; without it all of them" },
	{ .name = "require", .flag = "require", .type = FIELD_NAMES,
	  AT(require), .max = LIMIT_NAMES, .metavar = "LAYER,…", .example = "seccomp,landlock",
	  .help = "refuse to run unless these isolation layers are active" },
	{ .name = "without", .flag = "without", .type = FIELD_NAMES,
	  AT(without), .max = LIMIT_NAMES, .metavar = "LAYER,…", .example = "landlock",
	  .help = "run even where these isolation layers cannot be raised" },
	{ .name = "preload", .is_job = true, .flag = "preload", .type = FIELD_TEXT,
	  AT(preload), .fallback = "auto", .metavar = "SET", .example = "data",
	  .help = "modules a warm interpreter has loaded: auto, by what the code imports, or a set" },
	{ .name = "unique_layout", .is_job = true, .flag = "unique-layout", .type = FIELD_BOOL,
	  AT(unique_layout), .fallback = "false", .metavar = "", .example = "true",
	  .help = "no warm cell that shares its memory layout and hash seed with another" },
	{ .name = "cold", .is_job = true, .flag = "cold", .type = FIELD_BOOL,
	  AT(cold), .fallback = "false", .metavar = "", .example = "true",
	  .help = "never use a warm cell, nor what was compiled before" },

	{ .name = "store", .is_job = true, .is_record = true, .flag = "store", .type = FIELD_CHOICE,
	  AT(store), .choices = store_mode_names, .fallback = "never",
	  .metavar = "WHEN", .example = "on_error",
	  .help = "keep code and result for hotcell artifacts: never, on_error, always" },
	{ .name = "store_size", .is_job = true, .is_record = true, .flag = "store-size", .type = FIELD_SIZE,
	  AT(store_size), .min = MB, .max = TB, .fallback = "256M",
	  .metavar = "SIZE", .example = "256M",
	  .help = "most bytes of all that is kept; the oldest goes first" },
	{ .name = "store_days", .is_job = true, .is_record = true, .flag = "store-days", .type = FIELD_COUNT,
	  AT(store_days), .min = 1, .max = 36500, .fallback = "30",
	  .metavar = "N", .example = "30",
	  .help = "remove what was kept this many days ago" },
	{ .name = "audit", .is_job = true, .is_record = true, .flag = "audit", .type = FIELD_CHOICE,
	  AT(audit), .choices = audit_mode_names, .fallback = "on",
	  .metavar = "HOW", .example = "required",
	  .help = "record runs for hotcell audit: off, on, required (no record, no run), sync (and on disk)" },
	{ .name = "audit_size", .is_job = true, .is_record = true, .flag = "audit-size", .type = FIELD_SIZE,
	  AT(audit_size), .min = MB, .max = TB, .fallback = "256M",
	  .metavar = "SIZE", .example = "256M",
	  .help = "most bytes of the audit log; its oldest files go first" },
	{ .name = "traceparent", .is_job = true, .is_once = true, .flag = "traceparent", .type = FIELD_TEXT,
	  AT(traceparent), .metavar = "TRACE", .example = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	  .help = "the trace this run is part of, as the W3C writes it; told in the result and the audit log" },

	{ .name = "profile", .is_job = true, .flag = "profile", .type = FIELD_CHOICE,
	  AT(profile), .choices = profile_names, .fallback = "standard",
	  .metavar = "NAME", .example = "strict",
	  .help = "the guard: strict (only what is on its lists), standard (warns), trusted (none)" },
	{ .name = "block_imports", .is_job = true, .flag = "block-dangerous-imports", .type = FIELD_BOOL,
	  AT(block_imports), .fallback = "false", .metavar = "", .example = "true",
	  .help = "refuse code with an import that the profile standard warns of" },
	{ .name = "allow_modules", .is_job = true, .flag = "allow-import", .type = FIELD_STRINGS,
	  AT(allow_modules), .max = LIMIT_NAMES, .metavar = "MODULE", .example = "numpy",
	  .help = "the guard lets the code import this module; repeatable" },
	{ .name = "block_modules", .is_job = true, .flag = "block-import", .type = FIELD_STRINGS,
	  AT(block_modules), .max = LIMIT_NAMES, .metavar = "MODULE", .example = "ctypes",
	  .help = "refuse code that imports this module; repeatable" },
};
/* clang-format on */

const size_t spec_field_count = COUNT_OF(spec_fields);

_Static_assert(COUNT_OF(spec_fields) <= 64, "spec.given has one bit for each field");
