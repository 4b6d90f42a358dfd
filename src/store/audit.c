/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of the audit log says of a run: who, what, under which policy, and how it ended.
 * Neither the code nor its output nor any variable is in it. */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/date.h"
#include "base/own.h"
#include "model/field.h"
#include "model/limits.h"
#include "store/log.h"
#include "store/state.h"
#include "store/store.h"
#include "wire/json.h"

enum { WORDS_MAX = 256 }; /* bytes of a text from outside */

/* 2026-11-15T18:44:55.123Z */
static struct json_object *now_to_json(void)
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
	return json_new_string(text);
}

/* The name the machine's own list has for the user. A static program cannot ask other directories
 * of users, and what the environment says anybody could have set. */
static struct json_object *user_to_json(uid_t uid)
{
	auto_file FILE *file = fopen("/etc/passwd", "re");
	char words[1024];
	struct passwd entry;
	struct passwd *found = NULL;
	while (file && fgetpwent_r(file, &entry, words, sizeof(words), &found) == 0)
		if (entry.pw_uid == uid)
			return json_new_string(entry.pw_name);
	return NULL;
}

static struct json_object *bounded(const char *text)
{
	if (!text)
		return NULL;
	return json_new_text(text, strnlen(text, WORDS_MAX));
}

/* The value of a field that is a choice or a switch; null where there is none of that name. */
static struct json_object *setting_to_json(const struct spec *spec, const char *name)
{
	const struct field *field = spec_field(name);
	if (!field)
		return NULL;
	const void *slot = field_slot(spec, field);
	if (field->type == FIELD_CHOICE)
		return json_new_string(field->choices[*(const int *)slot]);
	if (field->type == FIELD_BOOL)
		return json_object_new_boolean(*(const bool *)slot);
	return NULL;
}

static const char *kind_of(const struct spec *spec)
{
	if (spec->exec.count > 0)
		return "exec";
	if (spec->code)
		return "code";
	return spec->file && strcmp(spec->file, "-") == 0 ? "stdin" : "file";
}

/* Of the code, or of a program's arguments, each with the zero byte that ends it. */
static void put_hash(struct json_object *json, const struct store_run *run)
{
	struct sha256 sha;
	char hex[SHA256_HEX + 1];
	const struct strings *exec = &run->spec->exec;
	if (!run->code && exec->count == 0) {
		json_put(json, "sha256", NULL);
		return;
	}
	sha256_init(&sha);
	for (size_t i = 0; i < exec->count; i++)
		sha256_add(&sha, exec->items[i], strlen(exec->items[i]) + 1);
	if (exec->count == 0)
		sha256_add(&sha, run->code, run->code_len);
	json_put(json, "bytes", json_object_new_int64((int64_t)sha.len));
	sha256_hex(&sha, hex);
	json_put(json, "sha256", json_new_string(hex));
}

static void put_who(struct json_object *json, const struct store_run *run)
{
	struct utsname host = { 0 };
	(void)uname(&host);
	json_put(json, "uid", json_object_new_int64(getuid()));
	json_put(json, "user", user_to_json(getuid()));
	json_put(json, "token", bounded(run->token));
	json_put(json, "host", json_new_string(host.nodename));
}

static void put_what(struct json_object *json, const struct store_run *run)
{
	const struct spec *spec = run->spec;
	const char *kind = kind_of(spec);
	json_put(json, "kind", json_new_string(kind));
	if (spec->exec.count > 0)
		json_put(json, "name", bounded(spec->exec.items[0]));
	else if (strcmp(kind, "file") == 0)
		json_put(json, "name", bounded(spec->file));
	json_put(json, "language",
		run->result->language[0] ? json_new_string(run->result->language) : NULL);
	put_hash(json, run);
}

static void put_outcome(struct json_object *json, const struct result *result)
{
	bool has_reason = result->status == STATUS_REFUSED || result->status == STATUS_SETUP_ERROR;
	json_put(json, "status", json_new_string(run_status_names[result->status]));
	json_put(json, "exit_code", json_object_new_int64(result_exit_code(result)));
	json_put(json, "signal", result->signal ? json_object_new_int64(result->signal) : NULL);
	if (has_reason)
		json_put(json, "reason", bounded(result->error.message));
	json_put(json, "duration", json_new_decimal(result->usage.wall_us, 6));
	json_put(json, "warm", json_object_new_boolean(result->is_warm));
}

static char *body_of(const struct store_run *run)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "time", now_to_json());
	json_put(json, "id", json_new_string(run->result->id));
	put_who(json, run);
	put_what(json, run);
	json_put(json, "profile", setting_to_json(run->spec, "profile"));
	json_put(json, "bypass", setting_to_json(run->spec, "bypass"));
	put_outcome(json, run->result);
	json_put(json, "provider", json_new_string(run->result->runtime));
	json_put(json, "isolation", isolation_to_json(run->result));
	json_put(json, "limits", limits_to_json(run->spec));
	return json_print(json, false);
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

int audit_write(const struct store_run *run, struct err *err)
{
	auto_fd int dir_fd = -1;
	const struct spec *spec = run->spec;
	if (spec->audit == AUDIT_OFF)
		return 0;
	auto_free char *body = body_of(run);
	if (state_open(log_place, true, &dir_fd, err) < 0 ||
		log_append(dir_fd, body, spec->audit_size, spec->audit == AUDIT_SYNC, err) < 0)
		return err_wrap(err, "the run is not in the audit log");
	return 0;
}
