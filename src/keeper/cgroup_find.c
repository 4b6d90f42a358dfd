/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding a place for cells' cgroups. Nothing is assumed from paths: a hierarchy counts only when
 * the file system mounted there is a cgroup file system (a directory made on the tmpfs beside
 * them looks the same and limits nothing).
 *
 * v1: below our own group of each hierarchy, so that limits set on us hold for our cells.
 * v2: the nearest group from ours upwards whose children have the controllers; our own group
 * holds processes, so its children usually cannot.
 */
#include "keeper/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"

static const char *const controller_names[CGROUP_CONTROLLER_COUNT] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpu",
	[CGROUP_CPUACCT] = "cpuacct",
};

enum { ALL_CONTROLLERS = (1 << CGROUP_CONTROLLER_COUNT) - 1 };

/* "rw,cpu,cpuacct" -> bits */
static unsigned int controllers_in(const char *list)
{
	unsigned int found = 0;
	while (*list) {
		size_t len = strcspn(list, ", ");
		for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
			if (strlen(controller_names[i]) == len &&
				strncmp(list, controller_names[i], len) == 0)
				found |= 1U << i;
		list += len;
		list += strspn(list, ", ");
	}
	return found;
}

/* Our own group in the hierarchy whose controller list is `controllers`, from /proc/self/cgroup:
 * lines "4:memory:/some/group", v2 "0::/some/group". */
static void own_path(const char *cgroups, unsigned int controllers, char *path, size_t size)
{
	(void)snprintf(path, size, "/");
	for (const char *line = cgroups; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *names = strchr(line, ':');
		const char *group = names ? strchr(names + 1, ':') : NULL;
		if (!group)
			return;
		char list[128];
		(void)snprintf(list, sizeof(list), "%.*s", (int)(group - names - 1), names + 1);
		bool is_it = controllers ? controllers_in(list) == controllers
					 : strncmp(line, "0::", 3) == 0;
		if (is_it) {
			(void)snprintf(
				path, size, "%.*s", (int)strcspn(group + 1, "\n"), group + 1);
			return;
		}
	}
}

/* Opens mount point + group, or the mount point alone when the group is outside our view. */
static int open_group(const char *mount_point, const char *group, long magic)
{
	char path[1024];
	struct statfs fs;
	(void)snprintf(path, sizeof(path), "%.500s%.500s", mount_point, group);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstatfs(fd, &fs) < 0 || fs.f_type != magic))
		own_close(&fd);
	return fd;
}

static bool is_writable(int fd)
{
	return faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

/* One line of mountinfo: "… MOUNTPOINT OPTIONS [TAGS] - TYPE SOURCE SUPEROPTIONS". */
static bool split_mount(char *line, char **ret_point, char **ret_type, char **ret_options)
{
	char *rest = strstr(line, " - ");
	if (!rest)
		return false;
	*rest = '\0';
	char *save = NULL;
	char *field = strtok_r(line, " ", &save);
	for (int i = 0; field && i < 4; i++)
		field = strtok_r(NULL, " ", &save);
	*ret_point = field;
	*ret_type = strtok_r(rest + 3, " ", &save);
	(void)strtok_r(NULL, " ", &save);
	*ret_options = strtok_r(NULL, " ", &save);
	return *ret_point && *ret_type && *ret_options;
}

static void add_v1(
	struct cgroup_site *site, const char *point, const char *options, const char *cgroups)
{
	char group[512];
	unsigned int controllers = controllers_in(options);
	if (!controllers || site->place_count == CGROUP_FDS_MAX)
		return;
	for (size_t i = 0; i < site->place_count; i++)
		if (site->places[i].controllers & controllers)
			return;
	own_path(cgroups, controllers, group, sizeof(group));
	auto_fd int fd = open_group(point, group, CGROUP_SUPER_MAGIC);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		(void)snprintf(site->why, sizeof(site->why), "too many open files to look for one");
	if (fd < 0 || !is_writable(fd))
		return;
	struct cgroup_place *place = &site->places[site->place_count++];
	*place = (struct cgroup_place){ .controllers = controllers, .parent_fd = take_fd(&fd) };
	(void)snprintf(place->mount_point, sizeof(place->mount_point), "%.63s", point);
}

/* Do children of this group have memory and pids? As root they may be switched on. */
static bool has_v2_children(int fd)
{
	char text[256];
	const unsigned int needed = 1U << CGROUP_MEMORY | 1U << CGROUP_PIDS;
	if (!is_writable(fd) || io_read_at(fd, "cgroup.subtree_control", text, sizeof(text)) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	if ((controllers_in(text) & needed) == needed)
		return true;
	if (io_write_at(fd, "cgroup.subtree_control", "+memory +pids") < 0)
		return false;
	(void)io_write_at(fd, "cgroup.subtree_control", "+cpu");
	return true;
}

static void find_v2(struct cgroup_site *site, const char *point, const char *cgroups)
{
	char group[512];
	own_path(cgroups, 0, group, sizeof(group));
	for (;;) {
		auto_fd int fd = open_group(point, group, CGROUP2_SUPER_MAGIC);
		if (fd >= 0 && has_v2_children(fd)) {
			site->kind = CGROUP_V2;
			site->places[0] = (struct cgroup_place){ .controllers = ALL_CONTROLLERS,
				.parent_fd = take_fd(&fd) };
			site->place_count = 1;
			return;
		}
		char *slash = strrchr(group, '/');
		if (!slash || group[1] == '\0')
			return;
		slash[slash == group] = '\0';
	}
}

static void close_places(struct cgroup_site *site)
{
	for (size_t i = 0; i < site->place_count; i++)
		own_close(&site->places[i].parent_fd);
	site->place_count = 0;
}

static void judge_v1(struct cgroup_site *site)
{
	unsigned int have = 0;
	for (size_t i = 0; i < site->place_count; i++)
		have |= site->places[i].controllers;
	if (have == ALL_CONTROLLERS) {
		site->kind = CGROUP_V1;
		return;
	}
	close_places(site);
	for (int i = 0; i < CGROUP_CONTROLLER_COUNT && site->why[0] == '\0'; i++)
		if (!(have & (1U << i)))
			(void)snprintf(site->why, sizeof(site->why),
				"no cgroup v2 group with memory and pids that we may use, and no "
				"writable v1 hierarchy for '%s'",
				controller_names[i]);
}

void cgroup_find(struct cgroup_site *site, bool has_cpus)
{
	auto_buf struct buf mounts, cgroups;
	*site = (struct cgroup_site){ 0 };
	buf_init(&mounts, 4 << 20);
	buf_init(&cgroups, 1 << 16);
	auto_fd int mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	auto_fd int cgroups_fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	if (mounts_fd < 0 || cgroups_fd < 0 || buf_read(&mounts, mounts_fd) < 0 ||
		buf_read(&cgroups, cgroups_fd) < 0 || mounts.len == 0) {
		(void)snprintf(site->why, sizeof(site->why), "/proc/self/mountinfo cannot be read");
		return;
	}
	char *save = NULL;
	for (char *line = strtok_r(mounts.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		char *point, *type, *options;
		if (!strstr(line, " - cgroup") || !split_mount(line, &point, &type, &options))
			continue;
		if (strcmp(type, "cgroup2") == 0 && site->place_count == 0)
			find_v2(site, point, buf_text(&cgroups));
		else if (strcmp(type, "cgroup") == 0 && site->kind != CGROUP_V2)
			add_v1(site, point, options, buf_text(&cgroups));
	}
	if (site->kind != CGROUP_V2)
		judge_v1(site);
	for (size_t i = 0; i < site->place_count && !has_cpus; i++)
		site->places[i].is_passed_over = site->places[i].controllers == 1U << CGROUP_CPU;
}

void cgroup_site_done(struct cgroup_site *site)
{
	close_places(site);
}

bool cgroup_is_v2(void)
{
	struct statfs fs;
	return statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}
