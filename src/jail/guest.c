/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest: a payload that was forked from an interpreter, and not by its init. It is born into the
 * cell's pid namespace by a process that ends at once, so that init, the first process of that
 * namespace, adopts it and buries it like any other. The rest of the namespaces it enters itself.
 *
 * Entering takes CAP_SYS_ADMIN over the namespace entered and in one's own user namespace, and the
 * right to look at the init whose pidfd names it. As root everything belongs to the first user
 * namespace, where the interpreter has it all. Without privilege the cells' user namespaces are
 * children of the zygote's, so the interpreter goes there first: the same person made it, which is
 * all that takes. In there it has every capability over the children too. Nothing of this reaches
 * beyond: over the host it has what that person has. Without privilege nobody can look at init once
 * that is untraceable, so there init waits for its guest before it is.
 */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"

static bool is_wanted(const struct plan *plan, size_t id)
{
	return plan->wanted & (UINT64_C(1) << id);
}

int jail_join_zygote(int zygote_pidfd)
{
	return setns(zygote_pidfd, CLONE_NEWUSER) < 0 ? -errno : 0;
}

/* The kernel lets only the last thread leave its group, which changes nothing. */
bool jail_is_single_threaded(void)
{
	return unshare(CLONE_THREAD) == 0;
}

int jail_seclude(void)
{
	const char *options = "size=64m,nr_inodes=1024,mode=700";
	if (unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC) < 0 || sethostname("cell", 4) < 0 ||
		mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		return -errno;
	return 0;
}

/* Rootless there is one in the template; as root one is made that has no place. */
int jail_open_proc(void)
{
	int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		(void)close(fd);
		return open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	auto_fd int fs_fd = fsopen("proc", FSOPEN_CLOEXEC);
	if (fs_fd < 0 || fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs_fd, FSMOUNT_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static int set_capabilities(bool is_in_hand)
{
	/* to enter namespaces, to look at their init, and to become the cell's user for good */
	static const int kept[] = { CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE, CAP_SETUID,
		CAP_SETGID, CAP_SETPCAP };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { { 0 } };
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		sets[CAP_TO_INDEX(kept[i])].permitted |= CAP_TO_MASK(kept[i]);
	for (size_t i = 0; i < COUNT_OF(sets) && is_in_hand; i++)
		sets[i].effective = sets[i].permitted;
	return syscall(SYS_capset, &head, sets) < 0 ? -errno : 0;
}

int jail_lay_down(void)
{
	return set_capabilities(false);
}

int jail_take_up(void)
{
	return set_capabilities(true);
}

int jail_fork_into(int init_pidfd)
{
	return setns(init_pidfd, CLONE_NEWPID) < 0 ? -errno : 0;
}

/* Whoever forked us is about to end, and then we are init's. It may well wait for our processor. */
static void await_adoption(void)
{
	const struct timespec pause = { .tv_nsec = 10000 };
	for (bool has_waited = false; getppid() != 1; has_waited = true)
		(void)(has_waited ? nanosleep(&pause, NULL) : sched_yield());
}

static void tell_init(struct report *report)
{
	__atomic_store_n(&report->guest_pid, (int32_t)getpid(), __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &report->guest_pid, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int jail_join_personally(struct raising *raising, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	for (size_t i = STEP_NONE + 1; i < STEP_ID_COUNT; i++)
		if (jail_steps[i].is_personal && is_wanted(plan, i) &&
			jail_steps[i].apply(raising, err) < 0)
			return step_fail(raising, (enum step_id)i, err);
	return 0;
}

int jail_join(struct raising *raising, int init_pidfd, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	int flags = CLONE_NEWNET | CLONE_NEWCGROUP;
	if (jail_has_init_outside(plan->cgroup, plan->has_guest))
		flags &= ~CLONE_NEWCGROUP;
	for (size_t i = STEP_NONE + 1; i < STEP_ID_COUNT; i++)
		if (is_wanted(plan, i) && i != STEP_PID_NAMESPACE)
			flags |= (int)jail_steps[i].clone_flag; /* we were born into that one */
	TRY(jail_await(raising, STEP_RLIMITS, err)); /* the last that init does before it mounts */
	if (setns(init_pidfd, flags) < 0)
		return err_sys(err, errno, "enter the cell of an init");
	await_adoption();
	tell_init(&raising->page->report);
	return 0;
}

pid_t jail_await_guest(const struct raising *raising)
{
	const int32_t *pid = &raising->page->report.guest_pid;
	while (__atomic_load_n(pid, __ATOMIC_ACQUIRE) == 0)
		(void)syscall(SYS_futex, pid, FUTEX_WAIT, 0, NULL, NULL, 0);
	return (pid_t)*pid;
}
