/* SPDX-License-Identifier: Apache-2.0 */
/* One file of a session, whole, for an owner that takes its text and not a descriptor. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/own.h"
#include "keeper/keeper.h"
#include "session/session.h"
#include "wire/base64.h"
#include "wire/json.h"
#include "wire/utf8.h"
#include "worker/parts.h"

static int open_file(
	const char *tenant, const char *session, const char *path, int *ret_fd, struct err *err)
{
	auto_fd int workspace_fd = -1;
	auto_fd int conn_fd = -1;
	TRY(session_workspace(tenant, session, true, &workspace_fd, &conn_fd, err));
	return home_open(workspace_fd, path, ret_fd, err);
}

/* It may grow while it is read: the bound holds then, too. */
static int read_whole(int fd, const char *path, struct buf *bytes, struct err *err)
{
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && st.st_size > LIMIT_RESOURCE_BYTES)
		return err_set(err, ERR_LIMIT,
			"'%.200s' has %" PRId64 " bytes, more than the %d that are read at once",
			path, (int64_t)st.st_size, LIMIT_RESOURCE_BYTES);
	if (r == 0)
		r = buf_read(bytes, fd);
	return r < 0 ? err_sys(err, -r, "read '%.200s'", path) : 0;
}

int read_session_file(const char *tenant, const char *session, const char *path,
	struct json_object **ret_answer, struct err *err)
{
	auto_fd int fd = -1;
	auto_free char *inside = NULL;
	auto_buf struct buf bytes;
	buf_init(&bytes, LIMIT_RESOURCE_BYTES);
	TRY(home_path(path, &inside, err));
	TRY(open_file(tenant, session, inside, &fd, err));
	TRY(read_whole(fd, inside, &bytes, err));
	struct json_object *answer = json_object_new_object();
	bool is_text = utf8_is_valid(buf_text(&bytes), bytes.len, NULL) &&
		       !memchr(buf_text(&bytes), '\0', bytes.len);
	json_put(answer, "path", json_new_string(inside));
	json_put(answer, "size", json_object_new_int64((int64_t)bytes.len));
	if (is_text) {
		json_put(answer, "text", json_new_text(buf_text(&bytes), bytes.len));
	} else {
		auto_free char *text = base64_encode(bytes.data, bytes.len);
		json_put(answer, "base64", json_new_string(text));
	}
	*ret_answer = answer;
	return 0;
}
