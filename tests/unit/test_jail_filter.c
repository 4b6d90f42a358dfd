/* SPDX-License-Identifier: Apache-2.0 */
/* The golden table here is written by hand from the policy's intent, not from syscalls.def: the
 * two must agree. The last tests install the filters for real, each in a child. */
#include "jail/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/own.h"
#include "unit/bpf.h"
#include "unit/test.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define OTHER_ARCH AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#define OTHER_ARCH AUDIT_ARCH_ARM
#endif

#define PASS SECCOMP_RET_ALLOW
#define NOTIFY SECCOMP_RET_USER_NOTIF
#define KILL SECCOMP_RET_KILL_PROCESS
#define ERROR(e) (SECCOMP_RET_ERRNO | (e))
#define HIGH_BITS 0x100000000u

/* clang-format off */
static const int watched[] = {
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount, SYS_fsopen,
	SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_unshare, SYS_setns, SYS_bpf,
	SYS_perf_event_open, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd,
	SYS_kcmp, SYS_open_by_handle_at, SYS_fanotify_init, SYS_quotactl, SYS_quotactl_fd, SYS_swapon,
	SYS_swapoff, SYS_reboot, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module,
	SYS_finit_module, SYS_delete_module, SYS_acct, SYS_syslog, SYS_settimeofday,
	SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname,
	SYS_vhangup, SYS_lookup_dcookie, SYS_nfsservctl, SYS_move_pages, SYS_migrate_pages,
	SYS_vmsplice,
#ifdef __x86_64__
	SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_create_module, SYS_get_kernel_syms, SYS_query_module,
#endif
};

static const int absent[] = {
	SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_memfd_secret,
	SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_remap_file_pages,
	SYS_process_mrelease, SYS_set_mempolicy_home_node,
	451 /* cachestat */, 453 /* map_shadow_stack */, 457 /* statmount */, 458 /* listmount */,
	459, 460, 461, 463, 464, 465, 466, 467, 468, 469,
#ifdef __x86_64__
	SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_getpmsg, SYS_putpmsg, SYS_afs_syscall,
	SYS_tuxcall, SYS_security, SYS_vserver, SYS_epoll_ctl_old, SYS_epoll_wait_old,
	335 /* uretprobe */, 336 /* uprobe */,
#endif
};

static const int refused[] = {
	SYS_name_to_handle_at, SYS_fanotify_mark, SYS_mbind, SYS_set_mempolicy, SYS_process_madvise,
	SYS_sched_setattr,
};

/* A success that does nothing. */
static const int ignored[] = { SYS_sync, SYS_syncfs };

/* Calls decided by their arguments; with all arguments 0 they get the verdict given here. */
static const struct { int nr; uint32_t verdict; } checked[] = {
	{ SYS_clone, PASS },       { SYS_socket, NOTIFY },   { SYS_socketpair, NOTIFY },
	{ SYS_setsockopt, PASS },  { SYS_ioctl, PASS },      { SYS_mknodat, PASS },
	{ SYS_prctl, PASS },       { SYS_personality, PASS }, { SYS_prlimit64, PASS },
	{ SYS_setrlimit, PASS },   { SYS_seccomp, PASS },    { SYS_sched_setscheduler, PASS },
#ifdef __x86_64__
	{ SYS_mknod, PASS },
#endif
};

static const int init_calls[] = {
	SYS_read, SYS_write, SYS_close, SYS_wait4, SYS_waitid, SYS_exit, SYS_exit_group,
	SYS_rt_sigreturn, SYS_restart_syscall, SYS_ppoll, SYS_sendmsg, SYS_sendto, SYS_recvmsg,
	SYS_pread64, SYS_kill, SYS_rt_sigprocmask, SYS_getpid, SYS_clock_gettime, SYS_futex,
#ifdef __x86_64__
	SYS_poll,
#endif
};

/* What a call with these arguments gets in the cell filter and in the loopback one. */
static const struct { int nr; uint64_t args[4]; uint32_t cell, loopback; } golden_args[] = {
	{ SYS_clone, { SIGCHLD }, PASS, PASS },
	{ SYS_clone, { CLONE_VM | CLONE_VFORK | SIGCHLD }, PASS, PASS },
	{ SYS_clone, { 0x3d0f00 /* pthread_create */ }, PASS, PASS },
	{ SYS_clone, { CLONE_NEWUSER | SIGCHLD }, NOTIFY, NOTIFY },
	{ SYS_clone, { CLONE_NEWNS }, NOTIFY, NOTIFY },
	{ SYS_clone, { CLONE_NEWCGROUP }, NOTIFY, NOTIFY },
	{ SYS_clone, { CLONE_NEWUTS }, NOTIFY, NOTIFY },
	{ SYS_clone, { CLONE_NEWIPC }, NOTIFY, NOTIFY },
	{ SYS_clone, { CLONE_NEWPID }, NOTIFY, NOTIFY },
	{ SYS_clone, { CLONE_NEWNET }, NOTIFY, NOTIFY },

	{ SYS_socket, { AF_UNIX, SOCK_STREAM }, PASS, PASS },
	{ SYS_socket, { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK }, PASS, PASS },
	{ SYS_socket, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC }, PASS, PASS },
	{ SYS_socket, { AF_UNIX, SOCK_RAW }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_INET, SOCK_STREAM }, NOTIFY, PASS },
	{ SYS_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP }, NOTIFY, PASS },
	{ SYS_socket, { AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP }, NOTIFY, PASS },
	{ SYS_socket, { AF_INET6, SOCK_STREAM }, NOTIFY, PASS },
	{ SYS_socket, { AF_INET6, SOCK_DGRAM, IPPROTO_UDP }, NOTIFY, PASS },
	{ SYS_socket, { AF_INET, SOCK_STREAM, 262 /* MPTCP */ }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_INET, SOCK_STREAM, IPPROTO_SCTP }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_INET, SOCK_DGRAM, IPPROTO_ICMP }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_INET, SOCK_RAW, IPPROTO_TCP }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_INET, SOCK_PACKET }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, PASS, PASS },
	{ SYS_socket, { AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_ROUTE }, PASS, PASS },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_XFRM }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_VSOCK, SOCK_STREAM }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_ALG, SOCK_SEQPACKET }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_PACKET, SOCK_RAW }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_KEY, SOCK_RAW }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_RXRPC, SOCK_DGRAM }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_XDP, SOCK_RAW }, NOTIFY, NOTIFY },
	{ SYS_socket, { AF_TIPC, SOCK_STREAM }, NOTIFY, NOTIFY },
	{ SYS_socketpair, { AF_UNIX, SOCK_STREAM }, PASS, PASS },
	{ SYS_socketpair, { AF_TIPC, SOCK_STREAM }, NOTIFY, NOTIFY },
	{ SYS_setsockopt, { 5, SOL_SOCKET, SO_REUSEADDR }, PASS, PASS },
	{ SYS_setsockopt, { 5, SOL_SOCKET, TCP_ULP }, PASS, PASS },
	{ SYS_setsockopt, { 5, IPPROTO_TCP, TCP_NODELAY }, PASS, PASS },
	{ SYS_setsockopt, { 5, IPPROTO_TCP, TCP_ULP }, ERROR(EPERM), ERROR(EPERM) },

	{ SYS_ioctl, { 0, TIOCSTI }, NOTIFY, NOTIFY },
	{ SYS_ioctl, { 0, TIOCLINUX }, NOTIFY, NOTIFY },
	{ SYS_ioctl, { 0, TIOCSETD }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_ioctl, { 0, TIOCCONS }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_ioctl, { 0, TCGETS }, PASS, PASS },
	{ SYS_ioctl, { 0, TIOCGWINSZ }, PASS, PASS },
	{ SYS_ioctl, { 0, TIOCSCTTY }, PASS, PASS },
	{ SYS_ioctl, { 0, FIONREAD }, PASS, PASS },
	{ SYS_ioctl, { TIOCSTI, FIONREAD, TIOCSTI }, PASS, PASS },

	{ SYS_mknodat, { 0, 0, S_IFIFO | 0600 }, PASS, PASS },
	{ SYS_mknodat, { 0, 0, S_IFREG | 0600 }, PASS, PASS },
	{ SYS_mknodat, { 0, 0, S_IFCHR | 0600 }, NOTIFY, NOTIFY },
	{ SYS_mknodat, { 0, 0, S_IFBLK | 0600 }, NOTIFY, NOTIFY },
#ifdef __x86_64__
	{ SYS_mknod, { 0, S_IFIFO | 0600 }, PASS, PASS },
	{ SYS_mknod, { 0, S_IFCHR | 0777 }, NOTIFY, NOTIFY },
	{ SYS_mknod, { 0, S_IFBLK | S_ISUID }, NOTIFY, NOTIFY },
#endif
	{ SYS_prctl, { PR_SET_MM }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_prctl, { PR_SCHED_CORE }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_prctl, { PR_SET_NAME }, PASS, PASS },
	{ SYS_prctl, { PR_SET_SECCOMP }, PASS, PASS },
	{ SYS_personality, { 0x0008 }, PASS, PASS },
	{ SYS_personality, { 0x20000 }, PASS, PASS },
	{ SYS_personality, { 0x20008 }, PASS, PASS },
	{ SYS_personality, { 0xffffffff }, PASS, PASS },
	{ SYS_personality, { 0x0100000 /* MMAP_PAGE_ZERO */ }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_personality, { 0x0400000 /* READ_IMPLIES_EXEC */ }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_setrlimit, { RLIMIT_CORE, 1 }, ERROR(0), ERROR(0) },
	{ SYS_setrlimit, { RLIMIT_NOFILE, 1 }, PASS, PASS },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, 0 }, PASS, PASS },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, 0, 0x1000 }, PASS, PASS },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, 0x1000, 0 }, ERROR(0), ERROR(0) },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, HIGH_BITS, 0 }, ERROR(0), ERROR(0) },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, 0x1000, 0x1000 }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, HIGH_BITS, HIGH_BITS }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_prlimit64, { 0, RLIMIT_NOFILE, 0x1000 }, PASS, PASS },
	{ SYS_seccomp, { SECCOMP_SET_MODE_STRICT, 8 }, PASS, PASS },
	{ SYS_seccomp, { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC }, PASS, PASS },
	{ SYS_seccomp, { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER },
		ERROR(EPERM), ERROR(EPERM) },
	{ SYS_seccomp, { SECCOMP_SET_MODE_FILTER, 0xff }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_seccomp, { SECCOMP_GET_NOTIF_SIZES }, PASS, PASS },
	{ SYS_sched_setscheduler, { 0, SCHED_BATCH }, PASS, PASS },
	{ SYS_sched_setscheduler, { 0, SCHED_IDLE | SCHED_RESET_ON_FORK }, PASS, PASS },
	{ SYS_sched_setscheduler, { 0, SCHED_FIFO }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_sched_setscheduler, { 0, SCHED_RR | SCHED_RESET_ON_FORK }, ERROR(EPERM), ERROR(EPERM) },
	{ SYS_sched_setscheduler, { 0, 6 /* DEADLINE */ }, ERROR(EPERM), ERROR(EPERM) },
};
/* clang-format on */

static bool has(const int *list, size_t count, int nr)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == nr)
			return true;
	return false;
}
#define HAS(list, nr) has(list, COUNT_OF(list), nr)

static uint32_t judge(enum filter_id id, const struct seccomp_data *data)
{
	return bpf_run(filters[id].code, filters[id].len, data);
}

static void expect(enum filter_id id, const struct seccomp_data *data, uint32_t want)
{
	uint32_t have = judge(id, data);
	const char *name = filter_call_name(data->nr);
	if (have != want)
		FAIL("filter %d: call %#x (%s), arguments %#llx %#llx %#llx %#llx: %#x, not %#x",
			(int)id, (unsigned)data->nr, name ? name : "none", data->args[0],
			data->args[1], data->args[2], data->args[3], have, want);
}

static void expect_nr(enum filter_id id, uint32_t nr, uint32_t want)
{
	expect(id, &(struct seccomp_data){ .nr = (int)nr, .arch = NATIVE_ARCH }, want);
}

/* The verdict of a cell's filter for a call with all arguments 0. */
static uint32_t golden_verdict(int nr)
{
	for (size_t i = 0; i < COUNT_OF(checked); i++)
		if (checked[i].nr == nr)
			return checked[i].verdict;
	if (HAS(watched, nr))
		return NOTIFY;
	if (HAS(refused, nr))
		return ERROR(EPERM);
	if (HAS(ignored, nr))
		return ERROR(0);
	if (HAS(absent, nr) || !filter_call_name(nr))
		return ERROR(ENOSYS);
	return PASS;
}

TEST(every_filter_has_code_except_none)
{
	ASSERT(filters[FILTER_NONE].code == NULL);
	for (int id = FILTER_CELL; id < FILTER_COUNT; id++) {
		ASSERT(filters[id].code != NULL);
		ASSERT(filters[id].len > 0 && filters[id].len < 200);
	}
}

TEST(cell_filters_follow_the_golden_table)
{
	for (int nr = 0; nr <= 2000; nr++) {
		expect_nr(FILTER_CELL, (uint32_t)nr, golden_verdict(nr));
		expect_nr(FILTER_CELL_LOOPBACK, (uint32_t)nr, golden_verdict(nr));
	}
}

TEST(unknown_numbers_do_not_exist)
{
	for (uint32_t nr = 470; nr <= 2000; nr++)
		expect_nr(FILTER_CELL, nr, ERROR(ENOSYS));
	expect_nr(FILTER_CELL, 0x3fffffff, ERROR(ENOSYS));
	expect_nr(FILTER_CELL, UINT32_MAX, ERROR(ENOSYS));
	expect_nr(FILTER_CELL_LOOPBACK, UINT32_MAX, ERROR(ENOSYS));
}

#ifdef __x86_64__
TEST(x32_calls_kill)
{
	for (uint32_t nr = 0; nr <= 600; nr++)
		for (int id = FILTER_CELL; id < FILTER_COUNT; id++)
			expect_nr((enum filter_id)id, 0x40000000u | nr, KILL);
	expect_nr(FILTER_CELL, 0x7fffffff, KILL);
	expect_nr(FILTER_CELL, 0xfffffffe, KILL);
}
#endif

TEST(other_machines_calls_kill)
{
	const uint32_t archs[] = { OTHER_ARCH, AUDIT_ARCH_RISCV64, 0, UINT32_MAX };
	for (size_t i = 0; i < COUNT_OF(archs); i++)
		for (int nr = -1; nr <= 600; nr++)
			for (int id = FILTER_CELL; id < FILTER_COUNT; id++) {
				struct seccomp_data data = { .nr = nr, .arch = archs[i] };
				expect((enum filter_id)id, &data, KILL);
			}
}

TEST(arguments_decide_as_in_the_golden_table)
{
	for (size_t i = 0; i < COUNT_OF(golden_args); i++) {
		struct seccomp_data data = { .nr = golden_args[i].nr, .arch = NATIVE_ARCH };
		memcpy(data.args, golden_args[i].args, sizeof(golden_args[i].args));
		expect(FILTER_CELL, &data, golden_args[i].cell);
		expect(FILTER_CELL_LOOPBACK, &data, golden_args[i].loopback);
	}
}

/* The shape of CVE-2019-10063: the kernel cuts an int argument to 32 bits, so must the filter. */
TEST(high_bits_of_int_arguments_change_nothing)
{
	for (size_t i = 0; i < COUNT_OF(golden_args); i++) {
		struct seccomp_data data = { .nr = golden_args[i].nr, .arch = NATIVE_ARCH };
		for (size_t arg = 0; arg < COUNT_OF(golden_args[i].args); arg++) {
			bool is_pointer = data.nr == SYS_prlimit64 && arg >= 2;
			data.args[arg] = golden_args[i].args[arg] | (is_pointer ? 0 : HIGH_BITS);
		}
		expect(FILTER_CELL, &data, golden_args[i].cell);
		expect(FILTER_CELL_LOOPBACK, &data, golden_args[i].loopback);
	}
}

TEST(init_may_only_wait_and_report)
{
	for (int nr = 0; nr <= 2000; nr++)
		expect_nr(FILTER_INIT, (uint32_t)nr, HAS(init_calls, nr) ? PASS : KILL);
	expect_nr(FILTER_INIT, UINT32_MAX, KILL);
}

TEST(denied_calls_are_sorted_and_complete)
{
	for (size_t i = 0; i < filter_denied_count; i++) {
		const struct denied_call *call = &filter_denied_calls[i];
		ASSERT(i == 0 || filter_denied_calls[i - 1].nr < call->nr);
		ASSERT(filter_denied_call(call->nr) == call);
		ASSERT(call->answer_errno > 0);
		ASSERT(call->layer && *call->layer && call->note && *call->note);
		ASSERT_STR(call->name, filter_call_name(call->nr));
	}
	for (size_t i = 0; i < COUNT_OF(watched); i++)
		ASSERT(filter_denied_call(watched[i]) != NULL);
	for (size_t i = 0; i < COUNT_OF(golden_args); i++)
		if (golden_args[i].cell == NOTIFY)
			ASSERT(filter_denied_call(golden_args[i].nr) != NULL);
	ASSERT(filter_denied_call(SYS_read) == NULL);
	ASSERT(filter_denied_call(-1) == NULL);
	ASSERT(filter_denied_call(100000) == NULL);
}

TEST(names_are_known_for_known_numbers_only)
{
	ASSERT_STR(filter_call_name(SYS_read), "read");
	ASSERT_STR(filter_call_name(SYS_clone3), "clone3");
	ASSERT_STR(filter_call_name(462), "mseal");
	ASSERT(filter_call_name(-1) == NULL);
	ASSERT(filter_call_name(400) == NULL);
	ASSERT(filter_call_name(100000) == NULL);
}

static int answer(int nr, uint64_t first, uint64_t second, uint64_t third)
{
	return filter_answer(&(struct seccomp_data){
		.nr = nr, .arch = NATIVE_ARCH, .args = { first, second, third } });
}

TEST(answers_fit_the_arguments)
{
	ASSERT_EQ(answer(SYS_mount, 0, 0, 0), EPERM);
	ASSERT_EQ(answer(SYS_read, 0, 0, 0), EPERM);
	ASSERT_EQ(answer(-1, 0, 0, 0), EPERM);
	ASSERT_EQ(answer(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ENETUNREACH);
	ASSERT_EQ(answer(SYS_socket, AF_INET6 | HIGH_BITS, SOCK_DGRAM, 17), ENETUNREACH);
	ASSERT_EQ(answer(SYS_socket, AF_INET, SOCK_STREAM, 262), EPROTONOSUPPORT);
	ASSERT_EQ(answer(SYS_socket, AF_INET, SOCK_RAW, 1), EPROTONOSUPPORT);
	ASSERT_EQ(answer(SYS_socket, AF_NETLINK, SOCK_RAW, 9), EPROTONOSUPPORT);
	ASSERT_EQ(answer(SYS_socket, AF_UNIX, SOCK_RAW, 0), ESOCKTNOSUPPORT);
	ASSERT_EQ(answer(SYS_socket, AF_ALG, SOCK_SEQPACKET, 0), EAFNOSUPPORT);
	ASSERT_EQ(answer(SYS_socketpair, AF_TIPC, SOCK_STREAM, 0), EAFNOSUPPORT);
}

/* -- for real -- */

static bool install(enum filter_id id)
{
	struct sock_fprog program = { .len = filters[id].len,
		.filter = (struct sock_filter *)filters[id].code };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

/* Runs `check` behind a filter in a child and returns the child's wait status; `check` returns the
 * line of the first claim that does not hold, or 0. */
static int run_behind(enum filter_id id, int (*check)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		int line = install(id) ? check() : __LINE__;
		if (line)
			(void)dprintf(STDERR_FILENO, "%s:%d does not hold\n", __FILE__, line);
		_exit(line ? 1 : 0);
	}
	int status = -1;
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

#define CLAIM(x)                         \
	do {                             \
		if (!(x))                \
			return __LINE__; \
	} while (0)
#define CLAIM_ERRNO(call, expected) CLAIM((call) == -1 && errno == (expected))

static void *set_flag(void *flag)
{
	*(int *)flag = 1;
	return NULL;
}

static int honest_calls(void)
{
	int flag = 0;
	pthread_t thread;
	CLAIM(pthread_create(&thread, NULL, set_flag, &flag) == 0);
	CLAIM(pthread_join(thread, NULL) == 0 && flag == 1);

	int pair[2];
	CLAIM(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	CLAIM(write(pair[0], "x", 1) == 1);
	CLAIM(pipe2(pair, O_CLOEXEC) == 0);
	CLAIM(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) >= 0);
	CLAIM(memfd_create("x", MFD_CLOEXEC) >= 0);
	struct rlimit limit;
	CLAIM(getrlimit(RLIMIT_CORE, &limit) == 0);

	pid_t pid = fork();
	if (pid == 0) {
		(void)execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	int status = -1;
	CLAIM(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	return 0;
}

/* Without a watcher the kernel answers watched calls with ENOSYS: still a refusal. */
static int denied_calls(void)
{
	CLAIM_ERRNO(syscall(SYS_mount, "x", "/", "tmpfs", 0, NULL), ENOSYS);
	CLAIM_ERRNO(syscall(SYS_unshare, CLONE_NEWUSER), ENOSYS);
	CLAIM_ERRNO(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), ENOSYS);
	CLAIM_ERRNO(syscall(SYS_bpf, 0, NULL, 0), ENOSYS);
	CLAIM_ERRNO(socket(AF_ALG, SOCK_SEQPACKET, 0), ENOSYS);
	CLAIM_ERRNO(syscall(SYS_ioctl, 0, HIGH_BITS | TIOCSTI, ""), ENOSYS);
	CLAIM_ERRNO(syscall(SYS_ioctl, 0, HIGH_BITS | TIOCSETD, ""), EPERM);
	CLAIM_ERRNO(syscall(SYS_clone3, NULL, 0), ENOSYS);
	CLAIM_ERRNO(syscall(SYS_io_uring_setup, 1, NULL), ENOSYS);
	CLAIM_ERRNO(syscall(SYS_sched_setattr, 0, NULL, 0), EPERM);
	CLAIM_ERRNO(syscall(-1), ENOSYS);
	CLAIM_ERRNO(syscall(1999), ENOSYS);
	return 0;
}

static int core_limit(void)
{
	struct rlimit old, limit, zero = { 0, 0 };
	CLAIM(getrlimit(RLIMIT_CORE, &old) == 0);
	CLAIM(setrlimit(RLIMIT_CORE, &zero) == 0);
	CLAIM(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == old.rlim_max);
	CLAIM_ERRNO(prlimit(0, RLIMIT_CORE, &zero, &limit), EPERM);
	return 0;
}

static int own_filter(void)
{
	struct sock_fprog program = { .len = filters[FILTER_CELL].len,
		.filter = (struct sock_filter *)filters[FILTER_CELL].code };
	CLAIM_ERRNO(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program),
		EPERM);
	CLAIM(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
	return 0;
}

static int no_network(void)
{
	CLAIM_ERRNO(socket(AF_INET, SOCK_STREAM, 0), ENOSYS);
	CLAIM_ERRNO(socket(AF_INET6, SOCK_DGRAM, 0), ENOSYS);
	return 0;
}

static int loopback_sockets(void)
{
	CLAIM(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
	CLAIM(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP) >= 0);
	CLAIM_ERRNO(socket(AF_INET, SOCK_RAW, IPPROTO_TCP), ENOSYS);
	CLAIM_ERRNO(socket(AF_INET, SOCK_STREAM, 262), ENOSYS);
	return 0;
}

/* Raw calls: sanitizers make others around the library's. */
static int init_waits(void)
{
	CLAIM(syscall(SYS_getpid) > 0);
	CLAIM_ERRNO(syscall(SYS_write, -1, "", 0), EBADF);
	CLAIM_ERRNO(syscall(SYS_wait4, -1, NULL, WNOHANG, NULL), ECHILD);
	(void)syscall(SYS_exit_group, 0);
	return __LINE__;
}

static int init_steps_aside(void)
{
	(void)syscall(SYS_getppid);
	return __LINE__;
}

TEST(a_program_works_behind_the_cell_filter)
{
	ASSERT_EQ(run_behind(FILTER_CELL, honest_calls), 0);
	ASSERT_EQ(run_behind(FILTER_CELL_LOOPBACK, honest_calls), 0);
}

TEST(the_kernel_denies_behind_the_cell_filter)
{
	ASSERT_EQ(run_behind(FILTER_CELL, denied_calls), 0);
	ASSERT_EQ(run_behind(FILTER_CELL_LOOPBACK, denied_calls), 0);
}

TEST(the_core_limit_only_seems_to_change)
{
	ASSERT_EQ(run_behind(FILTER_CELL, core_limit), 0);
}

TEST(a_program_may_filter_itself_but_not_listen)
{
	ASSERT_EQ(run_behind(FILTER_CELL, own_filter), 0);
}

TEST(network_sockets_need_the_loopback_filter)
{
	ASSERT_EQ(run_behind(FILTER_CELL, no_network), 0);
	ASSERT_EQ(run_behind(FILTER_CELL_LOOPBACK, loopback_sockets), 0);
}

TEST(init_dies_when_it_does_anything_else)
{
	ASSERT_EQ(run_behind(FILTER_INIT, init_waits), 0);
	int status = run_behind(FILTER_INIT, init_steps_aside);
	ASSERT(WIFSIGNALED(status));
	ASSERT_EQ(WTERMSIG(status), SIGSYS);
}

#ifdef __x86_64__
static int call_32bit(void)
{
	long nr = 20; /* getpid in the 32-bit table */
	__asm__ volatile("int $0x80" : "+a"(nr) : : "memory");
	return 0;
}

static int call_x32(void)
{
	(void)syscall(0x40000000 | SYS_getpid);
	return 0;
}

TEST(foreign_calls_kill_for_real)
{
	int status = run_behind(FILTER_CELL, call_32bit);
	ASSERT(WIFSIGNALED(status));
	ASSERT_EQ(WTERMSIG(status), SIGSYS);
	status = run_behind(FILTER_CELL, call_x32);
	ASSERT(WIFSIGNALED(status));
	ASSERT_EQ(WTERMSIG(status), SIGSYS);
}
#endif
