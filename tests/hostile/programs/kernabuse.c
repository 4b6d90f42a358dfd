/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours 84-92: system calls a program has no use for, and other doors into the kernel. */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "hostile.h"

static char block[4096];

static int do_calls(int argc, char **argv)
{
	struct perf_event_attr perf = { .size = sizeof(perf), .type = PERF_TYPE_SOFTWARE };
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
	};
	struct iovec part = { .iov_base = block, .iov_len = sizeof(block) };
	int ends[2] = { -1, -1 };
	(void)argc;
	(void)argv;
	(void)pipe(ends);
	TELL("io_uring_setup", syscall(SYS_io_uring_setup, 4, block));
	TELL("io_uring_enter", syscall(SYS_io_uring_enter, 0, 0, 0, 0, NULL, 0));
	TELL("io_uring_register", syscall(SYS_io_uring_register, 0, 0, NULL, 0));
	TELL("userfaultfd", syscall(SYS_userfaultfd, 0));
	TELL("keyctl", syscall(SYS_keyctl, 0, -3, 1));
	TELL("add_key", syscall(SYS_add_key, "user", "k", "v", 1, -3));
	TELL("request_key", syscall(SYS_request_key, "user", "k", NULL, 0));
	TELL("memfd_secret", syscall(SYS_memfd_secret, 0));
	TELL("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)));
	TELL("perf_event_open", syscall(SYS_perf_event_open, &perf, 0, -1, -1, 0));
	TELL("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0));
	TELL("vmsplice", syscall(SYS_vmsplice, ends[1], &part, 1, 0));
	TELL("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
	TELL("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, "", 0));
	TELL("init_module", syscall(SYS_init_module, block, 1, ""));
	TELL("finit_module", syscall(SYS_finit_module, 0, "", 0));
	TELL("delete_module", syscall(SYS_delete_module, "x", 0));
	TELL("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
	TELL("syslog", syscall(SYS_syslog, 3, block, sizeof(block)));
	TELL("ptrace", syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL));
	TELL("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), &part, 1, &part, 1, 0));
	TELL("process_madvise", syscall(SYS_process_madvise, -1, &part, 1, 0, 0));
	TELL("move_pages", syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0));
	TELL("migrate_pages", syscall(SYS_migrate_pages, 0, 0, NULL, NULL));
	TELL("sethostname", syscall(SYS_sethostname, "x", 1));
	TELL("setdomainname", syscall(SYS_setdomainname, "x", 1));
	TELL("vhangup", syscall(SYS_vhangup));
	TELL("personality", syscall(SYS_personality, 0x0400000)); /* READ_IMPLIES_EXEC */
#ifdef __x86_64__
	TELL("iopl", syscall(SYS_iopl, 3));
	TELL("ioperm", syscall(SYS_ioperm, 0x80, 1, 1));
	TELL("modify_ldt", syscall(SYS_modify_ldt, 0, block, sizeof(block)));
#endif
	return 0;
}

/* More forbidden calls than anybody keeps books on; none of them may slip through. */
static int do_many(int argc, char **argv)
{
	long wanted = number_arg(argc, argv, 1, 10000);
	long refused = 0;
	for (long i = 0; i < wanted; i++) {
		long mounted = syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL);
		long opened = syscall(SYS_socket, 2, 1, 0);
		refused += mounted < 0 && opened < 0;
	}
	tell_number("refused", refused);
	return 0;
}

#ifdef __x86_64__
static int do_int80(int argc, char **argv)
{
	long result = 20; /* getpid of the 32-bit table */
	(void)argc;
	(void)argv;
	printf("calling\n");
	(void)fflush(stdout);
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	tell_number("result", result);
	return 0;
}

static int do_x32(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("calling\n");
	(void)fflush(stdout);
	TELL("getpid", syscall(0x40000000 | SYS_getpid));
	return 0;
}

/* The old page of the kernel at a fixed address: time(NULL) by jumping into it. */
static int do_vsyscall(int argc, char **argv)
{
	time_t (*call)(time_t *) = (time_t(*)(time_t *))0xffffffffff600400UL;
	time_t now = 0;
	(void)argc;
	(void)argv;
	printf("calling\n");
	(void)fflush(stdout);
	TELL("time", call(&now) > 1000000000 ? 0 : -1);
	return 0;
}
#endif

static int do_high_bits(int argc, char **argv)
{
	uint64_t high = UINT64_C(1) << 32;
	char letter = 'x';
	(void)argc;
	(void)argv;
	TELL("sti", syscall(SYS_ioctl, 0UL, (uint64_t)TIOCSTI, &letter));
	TELL("sti-high", syscall(SYS_ioctl, 0UL, high | TIOCSTI, &letter));
	TELL("linux", syscall(SYS_ioctl, 0UL, (uint64_t)TIOCLINUX, &letter));
	TELL("linux-high", syscall(SYS_ioctl, 0UL, high | TIOCLINUX, &letter));
	TELL("setd", syscall(SYS_ioctl, 0UL, (uint64_t)TIOCSETD, &letter));
	TELL("setd-high", syscall(SYS_ioctl, 0UL, high << 31 | TIOCSETD, &letter));
	TELL("inet", syscall(SYS_socket, UINT64_C(2), UINT64_C(1), UINT64_C(0)));
	TELL("inet-high", syscall(SYS_socket, high | 2, UINT64_C(1), UINT64_C(0)));
	TELL("alg-high", syscall(SYS_socket, high | 38, high | 5, high));
	TELL("personality-high", syscall(SYS_personality, high | 0x0400000));
	return 0;
}

static int do_unknown(int argc, char **argv)
{
	long absent = 0, other = 0;
	(void)argc;
	(void)argv;
	for (long nr = 470; nr <= 2000; nr++) {
		errno = 0;
		if (syscall(nr, 0, 0, 0, 0, 0, 0) == -1 && errno == ENOSYS)
			absent++;
		else
			other++;
	}
	tell_number("absent", absent);
	tell_number("other", other);
	TELL("minus-one", syscall(-1));
	return 0;
}

static int do_prctl(int argc, char **argv)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all[2] = { { ~0U, ~0U, ~0U }, { ~0U, ~0U, ~0U } };
	(void)argc;
	(void)argv;
	TELL("dumpable", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	TELL("nnp-off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	TELL("capbset", prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0));
	TELL("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
	TELL("securebits", prctl(PR_SET_SECUREBITS, 0x2f, 0, 0, 0));
	TELL("keepcaps", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	TELL("set-mm", prctl(PR_SET_MM, PR_SET_MM_START_STACK, &header, 0, 0));
	TELL("capset", syscall(SYS_capset, &header, all));
	TELL("mce", prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0));
	(void)prctl(PR_SET_PTRACER, 1, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "hotcell", 0, 0, 0);
	for (int cap = 0, held = 0; cap < 41; cap++) {
		held += prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
		if (cap == 40)
			tell_number("bounding", held);
	}
	return 0;
}

static int do_own_walls(int argc, char **argv)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };
	struct landlock_ruleset_attr rules = { .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE };
	(void)argc;
	(void)argv;
	TELL("listener", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				 SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
	TELL("filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	TELL("filter-prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
	int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	tell("ruleset", fd);
	TELL("restrict", syscall(SYS_landlock_restrict_self, fd, 0));
	TELL("locked-out", open("x", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	return 0;
}

static int do_core(int argc, char **argv)
{
	struct rlimit limit = { 0 };
	(void)argc;
	(void)argv;
	/* Shells and daemons set it as they start: they may be told anything, if nothing changes.
	 */
	TELL("raise", setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }));
	TELL("lower", setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }));
	TELL("lower-64", syscall(SYS_prlimit64, 0, RLIMIT_CORE, &(struct rlimit){ 0, 0 }, NULL));
	/* At 0 the kernel still calls a handler behind a pipe, at 1 it never does. */
	(void)getrlimit(RLIMIT_CORE, &limit);
	tell_number("core-soft", limit.rlim_cur > 1 ? 2 : (long)limit.rlim_cur);
	tell_number("core-hard", limit.rlim_max > 1 ? 2 : (long)limit.rlim_max);
	(void)raise(SIGQUIT);
	return 1;
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t got = write(fd, text, strlen(text));
	int sys = errno;
	(void)close(fd);
	errno = sys;
	return got < 0 ? -1 : 0;
}

static int do_proc_self(int argc, char **argv)
{
	static volatile long target = 1;
	long value = 2;
	(void)argc;
	(void)argv;
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	(void)pwrite(mem, &value, sizeof(value), (off_t)(uintptr_t)&target);
	/* Own memory is one's own business, as with a debugger; nobody else's is. */
	tell_number("own-memory", target == 1 || target == 2);
	TELL("uid_map", write_text("/proc/self/uid_map", "0 0 1"));
	TELL("gid_map", write_text("/proc/self/gid_map", "0 0 1"));
	TELL("projid_map", write_text("/proc/self/projid_map", "0 0 1"));
	TELL("loginuid", write_text("/proc/self/loginuid", "0"));
	TELL("attr", write_text("/proc/self/attr/current", "unconfined"));
	TELL("oom_score_adj", write_text("/proc/self/oom_score_adj", "-1000"));
	TELL("init-oom", write_text("/proc/1/oom_score_adj", "1000"));
	TELL("init-mem", open("/proc/1/mem", O_RDWR | O_CLOEXEC));
	TELL("init-environ", open("/proc/1/environ", O_RDONLY | O_CLOEXEC));
	TELL("init-comm", write_text("/proc/1/comm", "x"));
	TELL("clear_refs", write_text("/proc/1/clear_refs", "1"));
	TELL("coredump_filter", write_text("/proc/1/coredump_filter", "ff"));
	TELL("sched", write_text("/proc/1/sched", "0"));
	TELL("timens", write_text("/proc/self/timens_offsets", "monotonic 1000 0"));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "calls", do_calls },
		{ "core", do_core },
		{ "high-bits", do_high_bits },
#ifdef __x86_64__
		{ "int80", do_int80 },
		{ "vsyscall", do_vsyscall },
		{ "x32", do_x32 },
#endif
		{ "many", do_many },
		{ "own-walls", do_own_walls },
		{ "prctl", do_prctl },
		{ "proc-self", do_proc_self },
		{ "unknown", do_unknown },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
