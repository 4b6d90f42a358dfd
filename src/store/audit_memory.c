/* SPDX-License-Identifier: Apache-2.0 */
#include "store/audit_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "base/place.h"
#include "base/state.h"

enum { USERS_MAX = 16 << 10 };

struct audit_memory {
	struct log_view log;
	char *path;          /* owned; of its current file; NULL: none is open */
	pid_t pid;           /* a lock does not part us from a copy of us */
	int64_t log_seen_us; /* when it was opened */
	struct audit_who who;
	int64_t who_seen_us; /* 0: never */
};

struct audit_memory *audit_memory_new(void)
{
	struct audit_memory *memory = xcalloc(1, sizeof(*memory));
	memory->log = (struct log_view)LOG_VIEW_NONE;
	return memory;
}

static void forget_log(struct audit_memory *memory)
{
	log_view_done(&memory->log);
	free(take_ptr(&memory->path));
}

void audit_memory_free(struct audit_memory *memory)
{
	if (!memory)
		return;
	forget_log(memory);
	free(memory);
}

struct log_view *audit_memory_log(struct audit_memory *memory)
{
	struct err err = { 0 };
	auto_free char *place = NULL;
	int dir_fd = -1;
	int64_t now_us = clock_us();
	if (place_state_dir(&place, &err) < 0)
		return NULL;
	auto_free char *path = xasprintf("%s/%s/" LOG_CURRENT, place, log_place[0]);
	/* by and by somebody may have changed whose the directory is */
	if (memory->path && strcmp(memory->path, path) == 0 && memory->pid == getpid() &&
		now_us - memory->log_seen_us < AUDIT_SEEN_US &&
		log_look_again(&memory->log, memory->path))
		return &memory->log;
	forget_log(memory);
	if (state_open(log_place, true, &dir_fd, &err) < 0)
		return NULL;
	log_view(dir_fd, &memory->log);
	memory->log.is_kept = true;
	memory->path = take_ptr(&path);
	memory->pid = getpid();
	memory->log_seen_us = now_us;
	return &memory->log;
}

/* The name in a line NAME:PASSWORD:UID:… of this user; false: it is another's. */
static bool take_name(char *line, uid_t uid)
{
	char *password = strchr(line, ':');
	char *number = password ? strchr(password + 1, ':') : NULL;
	char *end = NULL;
	if (!number || strtoul(number + 1, &end, 10) != uid || *end != ':')
		return false;
	*password = '\0';
	return true;
}

/* The name the machine's own list has for the user. A static program cannot ask other directories
 * of users, and what the environment says anybody could have set. */
static void find_user(struct audit_who *who)
{
	char users[USERS_MAX];
	char *rest = users;
	if (io_read_at(AT_FDCWD, "/etc/passwd", users, sizeof(users)) < 0)
		users[0] = '\0';
	for (char *line = strsep(&rest, "\n"); line && !who->has_user; line = strsep(&rest, "\n")) {
		who->has_user = take_name(line, who->uid);
		(void)snprintf(who->user, sizeof(who->user), "%s", who->has_user ? line : "");
	}
}

static void find_who(struct audit_who *who)
{
	struct utsname host = { 0 };
	(void)uname(&host);
	*who = (struct audit_who){ .uid = getuid() };
	(void)snprintf(who->host, sizeof(who->host), "%s", host.nodename);
	find_user(who);
}

void audit_who(struct audit_memory *memory, struct audit_who *ret_who)
{
	int64_t now_us = clock_us();
	if (!memory) {
		find_who(ret_who);
		return;
	}
	if (memory->who_seen_us == 0 || now_us - memory->who_seen_us >= AUDIT_SEEN_US ||
		memory->who.uid != getuid()) {
		find_who(&memory->who);
		memory->who_seen_us = now_us;
	}
	*ret_who = memory->who;
}
