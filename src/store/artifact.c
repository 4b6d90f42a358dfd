/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An artifact is one run as JSON: what was asked, the code, the result. It is written aside and
 * named when it is whole, so that whoever is killed meanwhile leaves nothing. It is not waited for
 * to be on disk: after a power failure an artifact may be missing or empty, and the audit log still
 * tells of the run.
 *
 * What a program made is bounded a second time here: the limits of a result are the asker's, those
 * of what is kept are ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/io.h"
#include "base/own.h"
#include "model/limits.h"
#include "store/asked.h"
#include "store/kept.h"
#include "store/store.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum { MESSAGE_MAX = 16 << 10, NAME_HASH = 16 };

static void shorten(struct captured *captured)
{
	if (captured->len <= LIMIT_KEPT_STREAM)
		return;
	captured->len = LIMIT_KEPT_STREAM;
	captured->is_truncated = true;
}

/* A copy that borrows everything and has no more than fits. */
static void bound(const struct result *result, struct result *kept, char **ret_message)
{
	size_t bytes = 0;
	*kept = *result;
	shorten(&kept->out);
	shorten(&kept->err);
	shorten(&kept->compiled.output);
	for (kept->output_count = 0; kept->output_count < result->output_count;
		kept->output_count++) {
		const struct output *output = &result->outputs[kept->output_count];
		bytes += strlen(output->data) + strlen(output->metadata);
		if (bytes > LIMIT_KEPT_OUTPUTS)
			break;
	}
	if (result->error.message && strlen(result->error.message) > MESSAGE_MAX)
		kept->error.message = *ret_message = xstrndup(result->error.message, MESSAGE_MAX);
}

static void put_code(struct json_object *json, const struct store_run *run, const char *hash)
{
	size_t len = run->code_len < LIMIT_KEPT_CODE ? run->code_len : LIMIT_KEPT_CODE;
	bool is_exact = run->code && len == run->code_len && utf8_is_valid(run->code, len, NULL);
	json_put(json, "sha256", json_new_string(hash));
	json_put(json, "code_bytes", json_object_new_int64((int64_t)run->code_len));
	json_put(json, "code_is_exact", json_object_new_boolean(is_exact));
	json_put(json, "code", run->code ? json_new_text(run->code, len) : NULL);
}

/* The result is JSON text already, with its numbers as they are written: it is put in as it is. */
static char *artifact_text(const struct store_run *run, const struct result *kept, const char *hash)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "id", json_new_string(kept->id));
	json_put(json, "status", json_new_string(run_status_names[kept->status]));
	json_put(json, "token", json_new_string(run->token));
	json_put(json, "language", kept->language[0] ? json_new_string(kept->language) : NULL);
	put_code(json, run, hash);
	json_put(json, "spec", asked_to_json(run->spec));
	auto_free char *head = json_print(json, false);
	auto_free char *result = result_to_json(kept, run->spec, false);
	return xasprintf("%.*s,\"result\":%s}\n", (int)strlen(head) - 1, head, result);
}

static char *bounded_text(const struct store_run *run, const char *hash)
{
	struct result kept;
	auto_free char *message = NULL;
	bound(run->result, &kept, &message);
	char *text = artifact_text(run, &kept, hash);
	if (strlen(text) <= LIMIT_ARTIFACT_BYTES)
		return text;
	free(text);
	kept.error.trace_count = 0;
	kept.error.context_count = 0;
	kept.output_count = 0;
	kept.file_count = 0;
	return artifact_text(run, &kept, hash);
}

/* The same code twice in a second: the second has the noise of its id in the name, too. */
static int name_it(struct aside *aside, const char *id, const char *hash)
{
	char name[ARTIFACT_NAME_MAX];
	(void)snprintf(name, sizeof(name), "%.*s-%.*s.json", KEPT_STAMP, id, NAME_HASH, hash);
	int r = aside_name_new(aside, name);
	if (r != -EEXIST)
		return r;
	(void)snprintf(name, sizeof(name), "%.*s-%.*s%.9s.json", KEPT_STAMP, id, NAME_HASH, hash,
		id + KEPT_STAMP);
	return aside_name_new(aside, name);
}

static int write_text(const struct kept *kept, const char *text, const char *id, const char *hash,
	struct err *err)
{
	struct aside aside;
	int r = aside_open(&aside, kept->list_fd, 0600);
	if (r == 0)
		r = io_write(aside.fd, text, strlen(text));
	if (r >= 0)
		r = name_it(&aside, id, hash);
	aside_drop(&aside);
	return r < 0 ? err_sys(err, -r, "write the artifact of run %s", id) : 0;
}

int artifact_write(const struct store_run *run, struct err *err)
{
	const struct spec *spec = run->spec;
	char hash[SHA256_HEX + 1];
	if (spec->store == STORE_NEVER ||
		(spec->store == STORE_ON_ERROR && run->result->status == STATUS_OK))
		return 0;
	auto_kept struct kept kept;
	if (kept_open(true, &kept, err) < 0)
		return err_wrap(err, "the run is not kept");
	(void)store_hash(run, hash);
	auto_free char *text = bounded_text(run, hash);
	if (write_text(&kept, text, run->result->id, hash, err) < 0 ||
		kept_count(&kept, (int64_t)strlen(text), spec->store_size, spec->store_days, err) <
			0)
		return err_wrap(err, "the run is not kept");
	return 0;
}
