/* SPDX-License-Identifier: Apache-2.0 */
/* What a process takes from itself for good: ids, capabilities, privileges to come, calls. */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"

enum { AWAIT_US = 20 * 1000000 };

/* Ours, and that of our children, whom the kernel gives a full one only with a user namespace. */
static bool is_bounding_set_empty;

static void empty_bounding_set(void)
{
	int has = 0;
	is_bounding_set_empty = true;
	for (int cap = 0; (has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
		if (has && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			is_bounding_set_empty = false;
}

void jail_shed(void)
{
	empty_bounding_set();
	(void)setgroups(0, NULL); /* rootless it is denied for good */
}

/* The bounding set can only be emptied while capabilities are left, so it goes first. */
static int become_user(const struct plan *plan, struct err *err)
{
	/* as root nobody is in another user namespace than the zygote or the interpreter that
	 * emptied theirs; there are forty capabilities to ask for */
	if (plan->mode != MODE_ROOT || !is_bounding_set_empty)
		empty_bounding_set();
	if (!is_bounding_set_empty)
		return err_set(err, ERR_BROKEN, "a capability is still in the bounding set");
	/* rootless: setgroups is denied for good, and the one id mapped is ours already */
	if (plan->mode == MODE_ROOT && getgroups(0, NULL) != 0 && setgroups(0, NULL) < 0)
		return err_sys(err, errno, "drop the groups");
	if (setresgid(plan->gid, plan->gid, plan->gid) < 0)
		return err_sys(err, errno, "become group %u", plan->gid);
	if (setresuid(plan->uid, plan->uid, plan->uid) < 0)
		return err_sys(err, errno, "become user %u", plan->uid);
	return 0;
}

int raise_uid(struct raising *raising, struct err *err)
{
	return become_user(&raising->page->plan, err);
}

/* Every change of what a process may do is a copy of all of it, which is freed only after a grace
 * period, so it is looked first. What is neither permitted nor inheritable is not ambient. */
static bool has_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct own[2];
	if (syscall(SYS_capget, &head, own) < 0)
		return true;
	return (own[0].permitted | own[0].inheritable | own[1].permitted | own[1].inheritable) != 0;
}

static int drop_capabilities(struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	if (!has_capabilities())
		return 0;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_sys(err, errno, "clear the ambient capabilities");
	if (syscall(SYS_capset, &head, none) < 0)
		return err_sys(err, errno, "drop the capabilities");
	return 0;
}

int raise_capabilities(struct raising *raising, struct err *err)
{
	(void)raising;
	return drop_capabilities(err);
}

int raise_no_new_privs(struct raising *raising, struct err *err)
{
	(void)raising;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, errno, "set no_new_privs");
	return 0;
}

static int load_filter(const struct sock_filter *code, unsigned short len, unsigned int flags)
{
	struct sock_fprog program = { .len = len, .filter = (struct sock_filter *)code };
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* Where another supervisor watches already (a nested cell) there is no second listener: deny
 * without being told. */
static int load_unwatched(const struct filter *filter)
{
	struct sock_filter code[1024];
	if (filter->len > COUNT_OF(code)) {
		errno = E2BIG;
		return -1;
	}
	memcpy(code, filter->code, filter->len * sizeof(code[0]));
	for (size_t i = 0; i < filter->len; i++)
		if (code[i].code == (BPF_RET | BPF_K) && code[i].k == SECCOMP_RET_USER_NOTIF)
			code[i].k = SECCOMP_RET_ERRNO | EPERM;
	return load_filter(code, filter->len, 0);
}

/* Memory that belongs to no process, mapped or not: where no cgroup counts it, nobody would. */
static int forbid_uncounted(void)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmget, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	return load_filter(code, COUNT_OF(code), 0);
}

const struct filter *filter_of(const struct plan *plan)
{
	return &filters[plan->net == NET_LOOPBACK ? FILTER_CELL_LOOPBACK : FILTER_CELL];
}

int raise_seccomp(struct raising *raising, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	const struct filter *filter = filter_of(plan);
	/* nor may a restricted cell have files that Landlock does not see: it exempts these */
	if ((plan->cgroup == CGROUP_NONE || plan->is_restricted) && forbid_uncounted() < 0)
		return err_sys(err, errno, "load the filter for memory files");
	step_value(raising, STEP_SECCOMP, true);
	int fd = load_filter(filter->code, filter->len, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	if (fd < 0 && errno == EBUSY) {
		step_value(raising, STEP_SECCOMP, false);
		fd = load_unwatched(filter) < 0 ? -1 : -2;
	}
	if (fd == -1)
		return err_sys(err, errno, "load the system call filter");
	raising->listener_fd = fd >= 0 ? fd : -1;
	return 0;
}

int jail_die_with_zygote(const struct raising *raising, struct err *err)
{
	struct pollfd life = { .fd = raising->life_fd };
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, errno, "ask to die with the zygote");
	/* it may have died before we asked: then its end of the life pipe is closed */
	if (poll(&life, 1, 0) != 0)
		return err_set(err, ERR_BROKEN, "the zygote is gone");
	return 0;
}

/* A step that failed wakes nobody: so we look again after a while. Not before the kernel's own
 * clock ticks: to have it tick earlier takes a virtual machine out of its guest, and in again. */
static void await_change(const enum step_state *state, enum step_state now)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	(void)syscall(SYS_futex, state, FUTEX_WAIT, now, &pause, NULL, 0);
}

int jail_await(const struct raising *raising, enum step_id id, struct err *err)
{
	const struct step_outcome *outcome = &raising->page->report.steps[id];
	int64_t deadline = clock_us() + AWAIT_US;
	enum step_state state = STEP_NOT_REACHED;
	if (!(raising->page->plan.wanted & (UINT64_C(1) << id)))
		return 0;
	while ((state = __atomic_load_n(&outcome->state, __ATOMIC_ACQUIRE)) != STEP_RAISED) {
		if (__atomic_load_n(&raising->page->report.failed, __ATOMIC_RELAXED) != STEP_NONE)
			return err_set(err, ERR_BROKEN, "another layer failed");
		if (clock_us() > deadline)
			return err_set(err, ERR_BROKEN, "layer '%s' was not ready in time",
				jail_steps[id].name);
		await_change(&outcome->state, state);
	}
	return 0;
}

/* Init keeps running beside hostile code as the same user: it must be neither readable nor
 * traceable, and if it were taken over it could still do next to nothing. */
int raise_init_guard(struct raising *raising, struct err *err)
{
	const struct filter *filter = &filters[FILTER_INIT];
	TRY(become_user(&raising->page->plan, err));
	TRY(drop_capabilities(err));
	TRY(raise_no_new_privs(raising, err));
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, errno, "make init untraceable");
	/* changing the user cleared it */
	TRY(jail_die_with_zygote(raising, err));
	if (load_filter(filter->code, filter->len, 0) < 0)
		return err_sys(err, errno, "load init's system call filter");
	return 0;
}
