/* SPDX-License-Identifier: Apache-2.0 */
/* The table of walls, and the walk along it. */
#include "jail/steps.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"

#define FIX_USERNS                                                \
	"sysctl -w user.max_user_namespaces=10000 (Ubuntu: also " \
	"kernel.apparmor_restrict_unprivileged_userns=0), or run as root"
#define FIX_KERNEL "use a Linux kernel of 5.13 or newer built with "
#define FIX_ADMIN "run as root with CAP_SYS_ADMIN, or as an ordinary user with user namespaces"

/* clang-format off */
const struct jail_step jail_steps[STEP_ID_COUNT] = {
	[STEP_USER_NAMESPACE] = {
		.stage = STAGE_TEMPLATE, .name = "user_namespace", .title = "user namespace of the zygote",
		.fix = FIX_USERNS, .only = MODE_ROOTLESS, .apply = raise_user_namespace },
	[STEP_MOUNT_NAMESPACE] = {
		.stage = STAGE_TEMPLATE, .name = "mount_namespace", .title = "mount namespace of the template",
		.fix = FIX_ADMIN, .apply = raise_mount_namespace },
	[STEP_ROOTFS] = {
		.stage = STAGE_TEMPLATE, .name = "rootfs", .title = "read-only skeleton root, tool chains bound",
		.fix = FIX_KERNEL "CONFIG_TMPFS", .apply = raise_rootfs },
	[STEP_DEVICES] = {
		.stage = STAGE_TEMPLATE, .name = "devices", .title = "own /dev",
		.fix = FIX_ADMIN, .apply = raise_devices },
	[STEP_HOST_MOUNTS] = {
		.stage = STAGE_TEMPLATE, .name = "host_mounts", .title = "directories given with --ro and --rw",
		.fix = "check that each directory exists and can be read", .apply = raise_host_mounts },
	[STEP_COMMANDS] = {
		.stage = STAGE_TEMPLATE, .name = "commands", .title = "no programs but those of --commands",
		.fix = "check that each of them can be read", .apply = raise_commands },
	[STEP_PIVOT] = {
		.stage = STAGE_TEMPLATE, .name = "pivot_root", .title = "host's root dropped, own root sealed",
		.fix = FIX_ADMIN, .apply = raise_pivot },

	[STEP_NETWORK] = {
		.stage = STAGE_NETWORK, .name = "network", .title = "network namespace with no device but lo",
		.fix = FIX_KERNEL "CONFIG_NET_NS", .apply = raise_network },
	[STEP_LOOPBACK] = {
		.stage = STAGE_NETWORK, .name = "loopback", .title = "private loopback up",
		.fix = "--net loopback", .apply = raise_loopback },

	[STEP_CELL_USER_NAMESPACE] = {
		.stage = STAGE_CLONE, .name = "cell_user_namespace", .title = "user namespace of the cell",
		.fix = FIX_USERNS, .only = MODE_ROOTLESS, .clone_flag = CLONE_NEWUSER },
	[STEP_CELL_MOUNT_NAMESPACE] = {
		.stage = STAGE_CLONE, .name = "cell_mount_namespace", .title = "mount namespace of the cell",
		.fix = FIX_ADMIN, .clone_flag = CLONE_NEWNS },
	[STEP_PID_NAMESPACE] = {
		.stage = STAGE_CLONE, .name = "pid_namespace", .title = "pid namespace",
		.fix = FIX_KERNEL "CONFIG_PID_NS", .clone_flag = CLONE_NEWPID },
	[STEP_IPC_NAMESPACE] = {
		.stage = STAGE_CLONE, .name = "ipc_namespace", .title = "ipc namespace",
		.fix = FIX_KERNEL "CONFIG_IPC_NS", .clone_flag = CLONE_NEWIPC },
	[STEP_UTS_NAMESPACE] = {
		.stage = STAGE_CLONE, .name = "uts_namespace", .title = "uts namespace",
		.fix = FIX_KERNEL "CONFIG_UTS_NS", .clone_flag = CLONE_NEWUTS },

	[STEP_CGROUP] = {
		.stage = STAGE_INIT, .name = "cgroup", .title = "cgroup with memory, pids and cpu limits",
		.fix = "as root: mount cgroup v2 or the v1 memory, pids, cpu and cpuacct hierarchies; "
		       "rootless: systemd-run --user --scope -p Delegate=yes hotcell …",
		.is_optional = true, .is_personal = true, .apply = raise_cgroup },
	[STEP_CGROUP_NAMESPACE] = {
		.stage = STAGE_INIT, .name = "cgroup_namespace", .title = "cgroup namespace",
		.fix = FIX_KERNEL "CONFIG_CGROUPS", .is_personal = true, .apply = raise_cgroup_namespace },
	[STEP_NO_NESTED_NAMESPACES] = {
		.stage = STAGE_INIT, .name = "no_nested_namespaces", .title = "no user namespace inside the cell",
		.fix = FIX_USERNS, .only = MODE_ROOTLESS, .apply = raise_no_nested_namespaces },
	[STEP_HOSTNAME] = {
		.stage = STAGE_INIT, .name = "hostname", .title = "host name 'cell'",
		.fix = FIX_ADMIN, .apply = raise_hostname },
	[STEP_SESSION] = {
		.stage = STAGE_INIT, .name = "session", .title = "own session, default signals, umask",
		.fix = "report this: it never fails", .is_personal = true, .apply = raise_session },
	[STEP_RLIMITS] = {
		.stage = STAGE_INIT, .name = "rlimits", .title = "resource limits of each process",
		.fix = "raise the hard limits of the calling shell (ulimit -H)", .is_personal = true,
		.apply = raise_rlimits },
	[STEP_WORKSPACE] = {
		.stage = STAGE_MOUNT, .name = "workspace", .title = "private /home/user, /tmp, /dev/shm",
		.fix = FIX_KERNEL "CONFIG_TMPFS", .apply = raise_workspace },
	[STEP_PROC] = {
		.stage = STAGE_MOUNT, .name = "proc", .title = "own /proc",
		.fix = "inside a container: give it an unmasked /proc (docker: --security-opt "
		       "systempaths=unconfined)", .apply = raise_proc },
	[STEP_INIT_GUARD] = {
		.stage = STAGE_GUARD, .name = "init_guard", .title = "init confined, not traceable, own filter",
		.fix = FIX_KERNEL "CONFIG_SECCOMP_FILTER", .apply = raise_init_guard },

	[STEP_UID] = {
		.stage = STAGE_PAYLOAD, .name = "uid", .title = "unprivileged user, no groups",
		.fix = FIX_ADMIN, .apply = raise_uid },
	[STEP_CAPABILITIES] = {
		.stage = STAGE_PAYLOAD, .name = "capabilities", .title = "no capabilities, empty bounding set",
		.fix = FIX_ADMIN, .apply = raise_capabilities },
	[STEP_NO_NEW_PRIVS] = {
		.stage = STAGE_PAYLOAD, .name = "no_new_privs", .title = "no_new_privs",
		.fix = FIX_KERNEL "prctl(PR_SET_NO_NEW_PRIVS)", .apply = raise_no_new_privs },
	[STEP_SECCOMP] = {
		.stage = STAGE_PAYLOAD, .name = "seccomp", .title = "system call filter",
		.fix = FIX_KERNEL "CONFIG_SECCOMP_FILTER", .apply = raise_seccomp },
	[STEP_LANDLOCK] = {
		.stage = STAGE_LANDLOCK, .name = "landlock", .title = "Landlock",
		.fix = FIX_KERNEL "CONFIG_SECURITY_LANDLOCK and boot it with lsm=landlock,… first in the list",
		.is_optional = true, .apply = raise_landlock },
};
/* clang-format on */

static uint64_t bit(enum step_id id)
{
	return UINT64_C(1) << id;
}

const struct jail_step *jail_step_find(const char *name)
{
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		if (strcmp(jail_steps[id].name, name) == 0)
			return &jail_steps[id];
	return NULL;
}

enum step_id jail_step_id(const struct jail_step *step)
{
	return (enum step_id)(step - jail_steps);
}

uint64_t jail_steps_of(enum jail_mode mode, enum net_mode net)
{
	uint64_t steps = 0;
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
		if (jail_steps[id].only == MODE_NONE || jail_steps[id].only == mode)
			steps |= bit((enum step_id)id);
	}
	if (net != NET_LOOPBACK)
		steps &= ~bit(STEP_LOOPBACK);
	return steps & ~bit(STEP_COMMANDS);
}

uint64_t jail_steps_of_plan(const struct plan *plan)
{
	return jail_steps_of(plan->mode, plan->net) |
	       (plan->is_restricted ? bit(STEP_COMMANDS) : 0);
}

void step_note(struct raising *raising, enum step_id id, int value, const char *fmt, ...)
{
	struct step_outcome *outcome = &raising->page->report.steps[id];
	va_list ap;
	outcome->value = value;
	va_start(ap, fmt);
	(void)vsnprintf(outcome->detail, sizeof(outcome->detail), fmt, ap);
	va_end(ap);
}

void step_value(struct raising *raising, enum step_id id, int value)
{
	raising->page->report.steps[id].value = value;
}

/* The report's words are final: the process that reads them did not see the failure itself. */
int step_fail(struct raising *raising, enum step_id id, struct err *err)
{
	struct report *report = &raising->page->report;
	report->steps[id].state = STEP_FAILED;
	report->failed = id;
	report->failed_errno = err->sys;
	(void)snprintf(report->failed_text, sizeof(report->failed_text), "%.255s", err->text);
	return err_wrap(err, "layer '%s'", jail_steps[id].name);
}

/* Whether somebody may wait for it in the cell: to wake nobody takes a system call, too. */
static bool is_awaited(enum step_id id)
{
	return id == STEP_RLIMITS || id == STEP_PROC || id == STEP_INIT_GUARD;
}

static int apply_step(struct raising *raising, enum step_id id, struct err *err)
{
	struct step_outcome *outcome = &raising->page->report.steps[id];
	int64_t started = clock_us();
	if (raising->page->plan.fault == id) {
		(void)err_sys(err, EIO, "made to fail by HOTCELL_FAULT");
		return step_fail(raising, id, err);
	}
	if (jail_steps[id].apply(raising, err) < 0)
		return step_fail(raising, id, err);
	outcome->took_us = (uint32_t)(clock_us() - started);
	__atomic_store_n(&outcome->state, STEP_RAISED, __ATOMIC_RELEASE);
	if (is_awaited(id))
		(void)syscall(SYS_futex, &outcome->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return 0;
}

int jail_walk(struct raising *raising, enum step_stage stage, struct err *err)
{
	for (size_t i = STEP_NONE + 1; i < STEP_ID_COUNT; i++) {
		enum step_id id = (enum step_id)i;
		if (jail_steps[id].stage != stage)
			continue;
		if (!(raising->page->plan.wanted & bit(id))) {
			raising->page->report.steps[id].state = STEP_NOT_WANTED;
			continue;
		}
		TRY(apply_step(raising, id, err));
	}
	return 0;
}

int jail_clone_flags(struct raising *raising, uint64_t *ret_flags, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	uint64_t flags = 0;
	for (size_t i = STEP_NONE + 1; i < STEP_ID_COUNT; i++) {
		enum step_id id = (enum step_id)i;
		if (jail_steps[id].stage != STAGE_CLONE || !(plan->wanted & bit(id)))
			continue;
		if (plan->fault == id) {
			(void)err_sys(err, EIO, "made to fail by HOTCELL_FAULT");
			return step_fail(raising, id, err);
		}
		flags |= jail_steps[id].clone_flag;
	}
	*ret_flags = flags;
	return 0;
}

uint64_t jail_birth_flags(enum jail_mode mode)
{
	uint64_t steps = jail_steps_of(mode, NET_NONE);
	uint64_t flags = 0;
	for (size_t i = STEP_NONE + 1; i < STEP_ID_COUNT; i++)
		if (steps & bit((enum step_id)i))
			flags |= jail_steps[i].clone_flag;
	return flags;
}

int jail_refuse(enum step_id id, int sys, const char *why, struct err *err)
{
	(void)err_set(err, ERR_MISSING,
		"layer '%s' (%s) could not be raised: %.200s; to mend it: %s", jail_steps[id].name,
		jail_steps[id].title, why, jail_steps[id].fix);
	err->sys = sys;
	return -1;
}

/* One clone raises many namespaces and has one errno. */
static enum step_id likely_culprit(enum jail_mode mode)
{
	return mode == MODE_ROOTLESS ? STEP_CELL_USER_NAMESPACE : STEP_PID_NAMESPACE;
}

int jail_refuse_birth(enum jail_mode mode, int sys, struct err *err)
{
	struct err why = { 0 };
	(void)err_sys(&why, sys, "clone into the cell's namespaces");
	return jail_refuse(likely_culprit(mode), sys, why.text, err);
}

void jail_note_clone(struct raising *raising, int sys)
{
	const struct plan *plan = &raising->page->plan;
	if (sys != 0) {
		struct err err = { 0 };
		(void)err_sys(&err, sys, "clone into the cell's namespaces");
		(void)step_fail(raising, likely_culprit(plan->mode), &err);
		return;
	}
	for (size_t i = STEP_NONE + 1; i < STEP_ID_COUNT; i++) {
		if (jail_steps[i].stage != STAGE_CLONE)
			continue;
		bool is_wanted = plan->wanted & bit((enum step_id)i);
		raising->page->report.steps[i].state = is_wanted ? STEP_RAISED : STEP_NOT_WANTED;
	}
}

static bool is_path(const char *text, size_t size)
{
	size_t len = strnlen(text, size);
	if (len == size || text[0] != '/' || strstr(text, "/../"))
		return false;
	return len < 3 || strcmp(text + len - 3, "/..") != 0;
}

/* A plan may leave out only what may be missing; anything else would be a weaker cell. */
static bool is_whole(const struct plan *plan)
{
	for (size_t i = STEP_NONE + 1; i < STEP_ID_COUNT; i++) {
		enum step_id id = (enum step_id)i;
		if (jail_steps[id].is_optional || (plan->wanted & bit(id)))
			continue;
		if (jail_steps_of_plan(plan) & bit(id))
			return false;
	}
	return true;
}

int jail_check_plan(const struct plan *plan, struct err *err)
{
	if (plan->magic != PLAN_MAGIC)
		return err_set(err, ERR_BROKEN, "plan of another build");
	if (plan->mode != MODE_ROOT && plan->mode != MODE_ROOTLESS)
		return err_set(err, ERR_BROKEN, "plan without a mode");
	if (plan->net >= NET_MODE_COUNT || plan->cgroup > CGROUP_V2 || plan->fault >= STEP_ID_COUNT)
		return err_set(err, ERR_BROKEN, "plan with an unknown choice");
	if (!plan->is_probe && !is_whole(plan))
		return err_set(err, ERR_BROKEN, "plan without all its walls");
	/* a tmpfs takes 0 for "as much as you like" */
	if (plan->disk <= 0 || plan->inodes <= 0 || plan->memory <= 0 || plan->pids <= 0 ||
		plan->cpu_time_ms < 0)
		return err_set(err, ERR_BROKEN, "plan without limits");
	if (plan->wanted & ~jail_steps_of_plan(plan))
		return err_set(err, ERR_BROKEN, "plan with walls of another kind");
	if (plan->is_restricted && !(plan->wanted & bit(STEP_LANDLOCK)))
		return err_set(err, ERR_BROKEN, "plan with few programs but without Landlock");
	if (plan->cgroup_fd_count > CGROUP_FDS_MAX)
		return err_set(err, ERR_BROKEN, "plan with too many cgroups");
	if (plan->uid == 0 || plan->gid == 0)
		return err_set(err, ERR_BROKEN, "plan with root as the cell's user");
	return 0;
}

static int check_programs(const struct template_page *template, struct err *err)
{
	if (template->program_count > LIMIT_PROGRAMS ||
		template->base.plan.is_restricted != (template->program_count > 0))
		return err_set(err, ERR_BROKEN, "template with a wrong number of programs");
	for (uint32_t i = 0; i < template->program_count; i++)
		if (!is_path(template->programs[i], LIMIT_PROGRAM_PATH))
			return err_set(err, ERR_BROKEN, "template with a bad program path");
	if (template->loader[0] && !is_path(template->loader, sizeof(template->loader)))
		return err_set(err, ERR_BROKEN, "template with a bad loader path");
	return 0;
}

int jail_check_template(const struct template_page *template, struct err *err)
{
	TRY(jail_check_plan(&template->base.plan, err));
	if (template->mount_count > LIMIT_MOUNTS)
		return err_set(err, ERR_BROKEN, "template with too many mounts");
	if (!is_path(template->rootfs, sizeof(template->rootfs)))
		return err_set(err, ERR_BROKEN, "template with a bad root path");
	if (template->runtime[0] && !is_path(template->runtime, sizeof(template->runtime)))
		return err_set(err, ERR_BROKEN, "template with a bad runtime path");
	for (uint32_t i = 0; i < template->mount_count; i++) {
		const struct plan_mount *mount = &template->mounts[i];
		if (!is_path(mount->from, sizeof(mount->from)) ||
			!is_path(mount->to, sizeof(mount->to)))
			return err_set(err, ERR_BROKEN, "template with a bad mount path");
	}
	return check_programs(template, err);
}

void jail_copy_inner(struct template_page *to, const struct template_page *from)
{
	for (uint32_t i = 0; i < from->mount_count; i++) {
		memcpy(to->mounts[i].to, from->mounts[i].to, sizeof(to->mounts[i].to));
		to->mounts[i].is_writable = from->mounts[i].is_writable;
	}
	memcpy(to->programs, from->programs, from->program_count * sizeof(from->programs[0]));
	memcpy(to->loader, from->loader, sizeof(to->loader));
	to->mount_count = from->mount_count;
	to->program_count = from->program_count;
}
