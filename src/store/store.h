/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of runs, in the state directory of whoever runs hotcell:
 *
 *	audit/log.jsonl			the audit log: one line for each run (audit.c)
 *	audit/log-NUMBER.jsonl		its older files; NUMBER is that of their last record
 *	artifacts/executions/NAME	code, settings and result of runs that were to be kept
 *	artifacts/tally			how much that is
 *
 * The directories are 0700 and the files 0600. Nothing below the state directory is reached through
 * a link, and nothing in it is used unless it belongs to us alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"
#include "model/result.h"
#include "model/spec.h"

struct json_object;

struct audit_draft;
struct audit_memory;

/* One run, as far as it came. */
struct store_run {
	const struct spec *spec;
	const struct result *result;
	const char *code; /* NULL: it was not read, or it is a program of the cell */
	size_t code_len;
	const char *token;           /* the name of the token it was asked with; NULL: none */
	struct audit_draft *draft;   /* of its record; NULL: none was made */
	struct audit_memory *memory; /* of who records it; NULL: none */
};

/* ---- the audit log ----------------------------------------------------------------------------
 */

/* Before a run that must not happen without a record: whether one could be written now. */
int audit_prepare(const struct spec *spec, struct err *err);

/* The status of a record that says only that a run begins. */
#define AUDIT_BEGUN "begun"

/* Adds that record, where spec->audit wants a run to leave one whatever happens to it and to us. */
int audit_begin(const struct store_run *run, struct err *err);

/* Of a run that goes on, what its record will say however it ends, and the log, open: for whoever
 * waits for that end. The caller's; NULL: nothing could be done yet. */
struct audit_draft *audit_draft(const struct store_run *run);
void audit_draft_free(struct audit_draft *draft);

/* For one who records run after run: the log stays open, and is looked for again each second. */
struct audit_memory *audit_memory_new(void);
void audit_memory_free(struct audit_memory *memory);

/* Adds the record of a run, as spec->audit wants it; a draft is used up. Call it before the result
 * is told. */
int audit_write(const struct store_run *run, struct err *err);

/* What to look for among records and artifacts. */
struct store_filter {
	const char *status; /* NULL: any */
	const char *token;  /* what was asked for with this one; NULL: whoever asked */
	char since[24];     /* the date as ids begin with it; empty: ever */
	const char *id;     /* how the id begins; NULL: any */
	const char *before; /* records: only ids that come before this one; NULL: any */
	size_t limit;       /* the newest so many; 0: all */
};

/* "2026-11-15", "2026-11-15T18:44:55Z", "90s", "10m", "2h", "3d": as the ids of that time begin.
 * False: it is none of these. */
bool store_since(const char *text, char since[24]);

/* The records that pass, oldest first: an array (owned by the caller). A line that is no record is
 * left out: audit_verify() speaks of it. So is the beginning of a run whose end is recorded. */
int audit_list(const struct store_filter *filter, struct json_object **ret_array, struct err *err);

struct audit_verdict {
	uint64_t records;
	uint64_t first, last; /* their numbers */
	size_t files;
	size_t torn;       /* lines that a crash cut off, and the next record owns to */
	bool is_cut;       /* the last line is incomplete: a crash, and no run since */
	bool has_expected; /* the hash that was asked for is there */
	char head[SHA256_HEX +
		  1];   /* of the last record: who keeps it elsewhere can prove the rest */
	bool is_broken; /* then the rest tells of the first broken line */
	char file[64];
	size_t line;
	char why[200];
};

/* Checks every line of every file. -1 only when they cannot be read. `expected` is a hash that
 * must be in the chain, or NULL. */
int audit_verify(const char *expected, struct audit_verdict *verdict, struct err *err);

/* ---- artifacts --------------------------------------------------------------------------------
 */

/* Keeps the run if spec->store says so, and what is too much or too old no longer. */
int artifact_write(const struct store_run *run, struct err *err);

/* What is told of each artifact that passes, newest first: an array (owned by the caller). */
int artifact_list(
	const struct store_filter *filter, struct json_object **ret_array, struct err *err);

enum { ARTIFACT_NAME_MAX = 64 };

/* The artifact whose name, whose run's id, or the hash of whose code begins like this; an error
 * when there is none or more than one. `token`: as in a filter. */
int artifact_find(
	const char *prefix, const char *token, char name[ARTIFACT_NAME_MAX], struct err *err);

/* The whole artifact (owned by the caller). */
int artifact_read(const char *name, struct json_object **ret_json, struct err *err);
int artifact_remove(const char *name, struct err *err);

struct artifact_tally {
	uint64_t count, bytes;
};

/* Removes the oldest until no more than that is left. */
int artifact_prune(int64_t max_bytes, int64_t max_days, struct artifact_tally *ret_removed,
	struct artifact_tally *ret_left, struct err *err);
