/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of the audit log says of a run: who, what, under which policy, and how it ended.
 * Neither the code nor its output nor any variable is in it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/date.h"
#include "base/io.h"
#include "base/own.h"
#include "base/state.h"
#include "model/field.h"
#include "model/limits.h"
#include "model/trace.h"
#include "model/units.h"
#include "store/asked.h"
#include "store/audit_memory.h"
#include "store/log.h"
#include "store/store.h"
#include "wire/json.h"

enum {
	WORDS_MAX = 256, /* bytes of a text from outside */
	KEY_MAX = 40,
};

/* The text is written as it comes: it is in the way of every answer, and making objects first takes
 * longer than all the rest. */
struct writer {
	struct buf *out;
	bool is_short; /* it did not fit */
};

static void put(struct writer *writer, const char *text, size_t len)
{
	writer->is_short |= buf_append(writer->out, text, len) < 0;
}

/* Keys are our own words and need no escape. A record has sixty, so each is put at once. */
static void put_key(struct writer *writer, const char *key)
{
	char text[KEY_MAX + sizeof(",\"\":")] = ",\"";
	size_t len = strlen(key);
	size_t start = writer->out->data[writer->out->len - 1] == '{' ? 1 : 0; /* no comma */
	writer->is_short |= len > KEY_MAX;
	if (len > KEY_MAX)
		return;
	memcpy(text + 2, key, len + 1);
	memcpy(text + 2 + len, "\":", sizeof("\":"));
	put(writer, text + start, len + 4 - start);
}

static void put_word(struct writer *writer, const char *key, const char *word)
{
	put_key(writer, key);
	put(writer, word, strlen(word));
}

static void put_bool(struct writer *writer, const char *key, bool value)
{
	put_word(writer, key, value ? "true" : "false");
}

static void put_number(struct writer *writer, const char *key, int64_t number)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "%" PRId64, number);
	put_word(writer, key, text);
}

/* Text from outside is bounded; NULL is null. */
static void put_text(struct writer *writer, const char *key, const char *text)
{
	if (!text) {
		put_word(writer, key, "null");
		return;
	}
	size_t len = strlen(text);
	put_key(writer, key);
	writer->is_short |= json_quote(writer->out, text, len < WORDS_MAX ? len : WORDS_MAX) < 0;
}

static void put_open(struct writer *writer, const char *key)
{
	put_word(writer, key, "{");
}

static void put_close(struct writer *writer)
{
	put(writer, "}", 1);
}

/* 2026-11-15T18:44:55.123Z */
static void put_now(struct writer *writer)
{
	char text[64];
	struct timespec now;
	struct date date;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	date_of_day(now.tv_sec / 86400, &date);
	int second = (int)(now.tv_sec % 86400);
	(void)snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", date.year,
		date.month, date.day, second / 3600, second / 60 % 60, second % 60,
		(int)(now.tv_nsec / 1000000));
	put_text(writer, "time", text);
}

static void put_who(struct writer *writer, const struct store_run *run)
{
	struct audit_who who;
	audit_who(run->memory, &who);
	put_number(writer, "uid", who.uid);
	put_text(writer, "user", who.has_user ? who.user : NULL);
	put_text(writer, "token", run->token);
	put_text(writer, "host", who.host);
}

static const char *kind_of(const struct spec *spec)
{
	if (spec->exec.count > 0)
		return "exec";
	if (!spec->file)
		return "code"; /* also that of a session's turn */
	return strcmp(spec->file, "-") == 0 ? "stdin" : "file";
}

static void put_what(struct writer *writer, const struct store_run *run)
{
	const struct spec *spec = run->spec;
	const char *kind = kind_of(spec);
	char hash[SHA256_HEX + 1];
	put_text(writer, "kind", kind);
	if (spec->exec.count > 0)
		put_text(writer, "name", spec->exec.items[0]);
	else if (strcmp(kind, "file") == 0)
		put_text(writer, "name", spec->file);
	put_text(writer, "language", run->result->language[0] ? run->result->language : NULL);
	bool has_hash = run->code || spec->exec.count > 0;
	uint64_t bytes = store_hash(run, hash);
	if (has_hash)
		put_number(writer, "bytes", (int64_t)bytes);
	put_text(writer, "sha256", has_hash ? hash : NULL);
}

static void put_outcome(struct writer *writer, const struct result *result)
{
	char seconds[32];
	bool has_reason = result->status == STATUS_REFUSED || result->status == STATUS_SETUP_ERROR;
	put_text(writer, "status", run_status_names[result->status]);
	put_number(writer, "exit_code", result_exit_code(result));
	if (result->signal)
		put_number(writer, "signal", result->signal);
	else
		put_text(writer, "signal", NULL);
	if (has_reason)
		put_text(writer, "reason", result->error.message);
	(void)snprintf(seconds, sizeof(seconds), "%" PRId64 ".%06" PRId64,
		result->usage.wall_us / 1000000, result->usage.wall_us % 1000000);
	put_word(writer, "duration", seconds);
	put_bool(writer, "warm", result->is_warm);
}

static void put_isolation(struct writer *writer, const struct result *result)
{
	put_text(writer, "provider", result->runtime);
	put_open(writer, "isolation");
	for (size_t i = 0; i < result->isolation_count; i++) {
		const struct isolation_item *item = &result->isolation[i];
		if (item->kind == ISOLATION_BOOL)
			put_bool(writer, item->key, item->number != 0);
		else if (item->kind == ISOLATION_NUMBER)
			put_number(writer, item->key, item->number);
		else
			put_text(writer, item->key, item->text);
	}
	put_close(writer);
}

/* As meta.resource_limits has them. */
static void put_limits(struct writer *writer, const struct spec *spec)
{
	put_open(writer, "limits");
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		bool is_plain = field->type == FIELD_SIZE || field->type == FIELD_COUNT;
		bool is_milli = field->type == FIELD_SECONDS || field->type == FIELD_CPUS;
		char text[32];
		if ((!is_plain && !is_milli) || field->is_record)
			continue;
		int64_t value = *(const int64_t *)field_slot(spec, field);
		if (is_milli)
			units_format_milli(value, text, sizeof(text));
		else
			units_format_count(value, text, sizeof(text));
		put_word(writer, field->name, value == 0 && field->min > 0 ? "null" : text);
	}
	put_close(writer);
}

/* A run that is part of no trace says nothing of one. */
static void put_trace(struct writer *writer, const char *traceparent)
{
	char id[TRACE_ID_SIZE];
	if (!traceparent || !trace_is_valid(traceparent))
		return;
	trace_id(traceparent, id);
	put_text(writer, "trace_id", id);
}

/* What stands between the time and how it ended. */
static void put_run(struct writer *writer, const struct store_run *run)
{
	put_text(writer, "id", run->result->id);
	put_who(writer, run);
	put_what(writer, run);
	put_trace(writer, run->spec->traceparent);
	if (run->result->session[0])
		put_text(writer, "session", run->result->session);
	put_text(writer, "profile", profile_names[run->spec->profile]);
	put_bool(writer, "bypass", run->spec->profile == PROFILE_TRUSTED);
}

/* The texts are objects that are not closed, as the body itself is while it is written. */
struct audit_draft {
	struct buf run;
	struct buf isolation;   /* where the cell stood already */
	size_t isolation_count; /* items of it; 0: it did not */
	struct buf limits;
	struct log_view own;
	struct log_view *log; /* that, or one that is remembered */
	int64_t made_us;
};

static void put_drafted(struct writer *writer, const struct buf *text)
{
	put(writer, ",", 1);
	put(writer, text->data + 1, text->len - 1);
}

static bool knows_isolation(const struct store_run *run)
{
	return run->draft && run->draft->isolation_count > 0 &&
	       run->draft->isolation_count == run->result->isolation_count;
}

/* 0, or -ENOSPC. */
static int write_body(const struct store_run *run, bool is_over, struct buf *out)
{
	struct writer writer = { .out = out };
	put(&writer, "{", 1);
	put_now(&writer);
	if (run->draft)
		put_drafted(&writer, &run->draft->run);
	else
		put_run(&writer, run);
	if (is_over) {
		put_outcome(&writer, run->result);
		if (knows_isolation(run))
			put_drafted(&writer, &run->draft->isolation);
		else
			put_isolation(&writer, run->result);
	} else {
		put_text(&writer, "status", AUDIT_BEGUN);
	}
	if (run->draft)
		put_drafted(&writer, &run->draft->limits);
	else
		put_limits(&writer, run->spec);
	put_close(&writer);
	return writer.is_short ? -ENOSPC : 0;
}

/* NULL: it cannot be opened now; whoever adds a record hears why. */
static struct log_view *find_log(const struct store_run *run, struct log_view *own)
{
	struct err err = { 0 };
	int dir_fd = -1;
	*own = (struct log_view)LOG_VIEW_NONE;
	if (run->memory)
		return audit_memory_log(run->memory);
	if (state_open(log_place, true, &dir_fd, &err) < 0)
		return NULL;
	log_view(dir_fd, own);
	return own;
}

struct audit_draft *audit_draft(const struct store_run *run)
{
	if (run->spec->audit == AUDIT_OFF)
		return NULL;
	struct audit_draft *draft = xcalloc(1, sizeof(*draft));
	draft->made_us = clock_us();
	draft->log = find_log(run, &draft->own);
	buf_init(&draft->run, LIMIT_AUDIT_LINE);
	buf_init(&draft->isolation, LIMIT_AUDIT_LINE);
	buf_init(&draft->limits, LIMIT_AUDIT_LINE);
	struct writer run_writer = { .out = &draft->run };
	struct writer isolation_writer = { .out = &draft->isolation };
	struct writer limits_writer = { .out = &draft->limits };
	put(&run_writer, "{", 1);
	put_run(&run_writer, run);
	put(&isolation_writer, "{", 1);
	put_isolation(&isolation_writer, run->result);
	draft->isolation_count = isolation_writer.is_short ? 0 : run->result->isolation_count;
	put(&limits_writer, "{", 1);
	put_limits(&limits_writer, run->spec);
	if (draft->log && !run_writer.is_short && !limits_writer.is_short)
		return draft;
	audit_draft_free(draft);
	return NULL;
}

void audit_draft_free(struct audit_draft *draft)
{
	if (!draft)
		return;
	buf_done(&draft->run);
	buf_done(&draft->isolation);
	buf_done(&draft->limits);
	log_view_done(&draft->own);
	free(draft);
}

int audit_prepare(const struct spec *spec, struct err *err)
{
	auto_fd int dir_fd = -1;
	if (spec->audit < AUDIT_REQUIRED)
		return 0;
	if (state_open(log_place, true, &dir_fd, err) < 0 || log_reserve(dir_fd, err) < 0)
		return err_wrap(
			err, "--audit %s: a run cannot be recorded", audit_mode_names[spec->audit]);
	return 0;
}

static int append(const struct store_run *run, bool is_over, struct err *err)
{
	const struct spec *spec = run->spec;
	struct log_view own = LOG_VIEW_NONE;
	auto_buf struct buf body;
	buf_init(&body, LIMIT_AUDIT_LINE);
	if (write_body(run, is_over, &body) < 0)
		return err_set(
			err, ERR_LIMIT, "an audit record is over %d bytes", LIMIT_AUDIT_LINE);
	/* by and by a person may have moved the directory */
	bool is_seen = run->draft && clock_us() - run->draft->made_us < AUDIT_SEEN_US;
	if (!is_seen)
		TRY(state_open(log_place, true, &own.dir_fd, err));
	int r = log_append(is_seen ? run->draft->log : &own, body.data, spec->audit_size,
		spec->audit == AUDIT_SYNC, err);
	log_view_done(&own);
	return r;
}

int audit_begin(const struct store_run *run, struct err *err)
{
	if (run->spec->audit >= AUDIT_REQUIRED && append(run, false, err) < 0)
		return err_wrap(err, "--audit %s: a run cannot be recorded",
			audit_mode_names[run->spec->audit]);
	return 0;
}

int audit_write(const struct store_run *run, struct err *err)
{
	if (run->spec->audit != AUDIT_OFF && append(run, true, err) < 0)
		return err_wrap(err, "the run is not in the audit log");
	return 0;
}
