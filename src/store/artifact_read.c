/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up artifacts. A file that cannot be read as one is left out of lists. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/state.h"
#include "model/limits.h"
#include "store/kept.h"
#include "store/store.h"
#include "wire/json.h"

static int read_kept(
	const struct kept *kept, const char *name, struct json_object **ret_json, struct err *err)
{
	auto_fd int fd = -1;
	auto_buf struct buf text;
	struct stat st;
	buf_init(&text, LIMIT_ARTIFACT_BYTES + 1);
	int r = state_open_file(kept->list_fd, name, O_RDONLY, &fd, &st);
	if (r == 0)
		r = buf_read(&text, fd);
	if (r < 0)
		return err_sys(err, -r, "read the artifact '%s'", name);
	if (json_read(buf_text(&text), text.len, LIMIT_ARTIFACT_BYTES, LIMIT_ARTIFACT_DEPTH,
		    ret_json, err) < 0)
		return err_wrap(err, "the artifact '%s'", name);
	return 0;
}

static struct json_object *part_of(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;
	return json_object_object_get_ex(json, key, &value) ? json_object_get(value) : NULL;
}

static struct json_object *summary_of(const char *name, struct json_object *json, int64_t bytes)
{
	static const char *const keys[] = { "id", "status", "token", "language", "sha256",
		"code_bytes" };
	auto_json struct json_object *result = part_of(json, "result");
	struct json_object *summary = json_object_new_object();
	json_put(summary, "name", json_new_text(name, strcspn(name, ".")));
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		json_put(summary, keys[i], part_of(json, keys[i]));
	json_put(summary, "exit_code", part_of(result, "exit_code"));
	json_put(summary, "duration", part_of(result, "duration"));
	json_put(summary, "bytes", json_object_new_int64(bytes));
	return summary;
}

/* `token`: as in a filter. */
static bool is_of(struct json_object *json, const char *token)
{
	auto_json struct json_object *found = part_of(json, "token");
	return !token || (json_object_is_type(found, json_type_string) &&
				 strcmp(json_object_get_string(found), token) == 0);
}

static bool passes(struct json_object *json, const struct store_filter *filter)
{
	auto_json struct json_object *status = part_of(json, "status");
	auto_json struct json_object *id = part_of(json, "id");
	if (!json_object_is_type(status, json_type_string) ||
		!json_object_is_type(id, json_type_string) || !is_of(json, filter->token))
		return false;
	return !filter->status || strcmp(json_object_get_string(status), filter->status) == 0;
}

int artifact_list(
	const struct store_filter *filter, struct json_object **ret_array, struct err *err)
{
	auto_kept struct kept kept;
	struct kept_names names = { 0 };
	struct json_object *array = json_object_new_array();
	int r = kept_open(false, &kept, err);
	if (r == 0 && kept.list_fd >= 0)
		r = kept_load(&kept, &names);
	for (size_t i = names.count; r == 0 && i-- > 0;) {
		auto_json struct json_object *json = NULL;
		struct err skipped = { 0 };
		struct stat st;
		if (strcmp(names.items[i], filter->since) < 0 ||
			(filter->limit > 0 && json_object_array_length(array) == filter->limit))
			break;
		if (fstatat(kept.list_fd, names.items[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			read_kept(&kept, names.items[i], &json, &skipped) == 0 &&
			passes(json, filter))
			(void)json_object_array_add(
				array, summary_of(names.items[i], json, st.st_size));
	}
	kept_names_done(&names);
	if (r < 0)
		(void)json_object_put(array);
	else
		*ret_array = array;
	return r < -1 ? err_sys(err, -r, "list the artifacts") : r;
}

/* By its name, or by the hash that stands in it. */
static bool begins(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);
	return strncmp(name, prefix, len) == 0 || strncmp(name + KEPT_STAMP + 1, prefix, len) == 0;
}

/* Only files of the id's own second can have it. */
static bool has_id(const struct kept *kept, const char *name, const char *prefix)
{
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	if (strlen(prefix) <= KEPT_STAMP || strncmp(name, prefix, KEPT_STAMP) != 0 ||
		read_kept(kept, name, &json, &err) < 0)
		return false;
	auto_json struct json_object *id = part_of(json, "id");
	return json_object_is_type(id, json_type_string) &&
	       strncmp(json_object_get_string(id), prefix, strlen(prefix)) == 0;
}

static int refuse_found(size_t found, const char *prefix, struct err *err)
{
	if (found == 0)
		return err_set(err, ERR_MISSING,
			"no artifact begins with '%.80s'; hotcell artifacts list shows them",
			prefix);
	return err_set(err, ERR_INVALID, "%zu artifacts begin with '%.80s'; give more of the name",
		found, prefix);
}

/* Whether it is one of theirs: others are not told apart from none. */
static bool is_theirs(const struct kept *kept, const char *name, const char *token)
{
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	return !token || (read_kept(kept, name, &json, &err) == 0 && is_of(json, token));
}

int artifact_find(
	const char *prefix, const char *token, char name[ARTIFACT_NAME_MAX], struct err *err)
{
	auto_kept struct kept kept;
	struct kept_names names = { 0 };
	size_t found = 0;
	TRY(kept_open(false, &kept, err));
	int r = kept.list_fd >= 0 ? kept_load(&kept, &names) : 0;
	for (size_t i = 0; i < names.count && prefix[0] != '\0'; i++) {
		if (!begins(names.items[i], prefix) && !has_id(&kept, names.items[i], prefix))
			continue;
		if (!is_theirs(&kept, names.items[i], token))
			continue;
		found++;
		(void)snprintf(name, ARTIFACT_NAME_MAX, "%s", names.items[i]);
		size_t len = strcspn(name, ".");
		if (strncmp(name, prefix, len) == 0 &&
			(prefix[len] == '\0' || strcmp(prefix + len, ".json") == 0)) {
			found = 1; /* a whole name is no prefix of a longer one */
			break;
		}
	}
	kept_names_done(&names);
	if (r < 0)
		return err_sys(err, -r, "list the artifacts");
	return found == 1 ? 0 : refuse_found(found, prefix, err);
}

int artifact_read(const char *name, struct json_object **ret_json, struct err *err)
{
	auto_kept struct kept kept;
	TRY(kept_open(false, &kept, err));
	if (kept.list_fd < 0)
		return err_set(err, ERR_MISSING, "there are no artifacts");
	return read_kept(&kept, name, ret_json, err);
}

int artifact_remove(const char *name, struct err *err)
{
	auto_kept struct kept kept;
	TRY(kept_open(false, &kept, err));
	if (!kept_is_name(name) || kept.list_fd < 0 || unlinkat(kept.list_fd, name, 0) < 0)
		return err_sys(err, errno, "remove the artifact '%s'", name);
	return 0;
}

int artifact_prune(int64_t max_bytes, int64_t max_days, struct artifact_tally *ret_removed,
	struct artifact_tally *ret_left, struct err *err)
{
	auto_kept struct kept kept;
	TRY(kept_open(false, &kept, err));
	*ret_removed = *ret_left = (struct artifact_tally){ 0 };
	if (kept.list_fd < 0)
		return 0;
	return kept_prune(&kept, max_bytes, max_days, ret_removed, ret_left, err);
}
