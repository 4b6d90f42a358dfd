/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the audit log holds: reading and checking it end, a record can be added, a log that held
 * goes on to hold, and one that was changed is not made whole by that. */
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "model/limits.h"
#include "store/log.h"
#include "store/store.h"
#include "wire/json.h"

static char root[] = "/tmp/hotcell-fuzz-XXXXXX";
static int dir_fd = -1;

static void clean_up(void)
{
	(void)unlinkat(dir_fd, LOG_CURRENT, 0);
	auto_free char *audit = xasprintf("%s/audit", root);
	(void)rmdir(audit);
	(void)rmdir(root);
}

static void set_up(void)
{
	MUST(mkdtemp(root));
	MUST(setenv("HOTCELL_STATE_DIR", root, 1) == 0);
	auto_free char *audit = xasprintf("%s/audit", root);
	MUST(mkdir(audit, 0700) == 0);
	dir_fd = open(audit, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(dir_fd >= 0 && atexit(clean_up) == 0);
}

static void fill(const uint8_t *data, size_t size)
{
	auto_fd int fd =
		openat(dir_fd, LOG_CURRENT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
}

static void check_line(const uint8_t *data, size_t size)
{
	struct link link;
	if (!link_parse((const char *)data, size, &link))
		return;
	MUST(link.seq > 0 && link.covered < size);
	MUST(strlen(link.prev) == SHA256_HEX && strlen(link.hash) == SHA256_HEX);
	(void)link_holds((const char *)data, &link);
}

static void check_tail(size_t size)
{
	struct log_tail tail;
	auto_fd int fd = openat(dir_fd, LOG_CURRENT, O_RDONLY | O_CLOEXEC);
	MUST(log_read_tail(fd, (off_t)size, &tail) == 0);
	MUST(tail.torn <= size && (tail.has_record || tail.torn == size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct audit_verdict before;
	struct audit_verdict after;
	struct err err = { 0 };
	struct json_object *array = NULL;
	if (dir_fd < 0)
		set_up();
	if (size > LIMIT_AUDIT_LINE * 4)
		return 0;
	check_line(data, size);
	fill(data, size);
	check_tail(size);
	MUST(audit_verify(NULL, &before, &err) == 0);
	MUST(audit_list(&(struct store_filter){ 0 }, &array, &err) == 0);
	json_free(&array);
	struct log_view view = {
		.dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3), .fd = -1, .size = -1
	};
	if (size % 2)
		log_view(view.dir_fd, &view);
	MUST(log_append(&view, "{\"id\":\"x\",\"status\":\"ok\"}", INT64_C(1) << 40, false, &err) ==
		0);
	log_view_done(&view);
	MUST(audit_verify(NULL, &after, &err) == 0);
	MUST(before.is_broken == after.is_broken);
	if (!before.is_broken)
		MUST(after.records == before.records + 1 && !after.is_cut);
	return 0;
}
