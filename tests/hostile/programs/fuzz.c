/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behaviour 93: a system call fuzzer. Random numbers with random arguments, seeded, so that a run
 * can be repeated. Children make the calls and count them in shared memory; one that kills or
 * stops itself is replaced, until the calls asked for are made. Calls that only wait or end the
 * process are left out, those that soon cripple it are made rarely.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "hostile.h"

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

enum { BATCH = 20000, HIGHEST = 480, CHILDREN_MAX = 50000, RARELY = 256 };

static uint64_t state;
static char *room;
static long *made; /* shared by all children */

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* clang-format off */
static const int waiting[] = { SYS_exit, SYS_exit_group, SYS_pause, SYS_rt_sigsuspend,
	SYS_rt_sigtimedwait, SYS_rt_sigreturn, SYS_wait4, SYS_waitid, SYS_select, SYS_pselect6,
	SYS_poll, SYS_ppoll, SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_nanosleep,
	SYS_clock_nanosleep, SYS_futex, SYS_futex_waitv, SYS_read, SYS_readv, SYS_vfork, SYS_fork,
	SYS_clone, SYS_kill, SYS_tkill, SYS_tgkill, SYS_alarm, SYS_flock, SYS_msgrcv, SYS_semop,
	SYS_semtimedop, SYS_io_getevents, SYS_io_pgetevents, SYS_write, SYS_writev, 454, 455, 456 };
static const int crippling[] = { SYS_munmap, SYS_mprotect, SYS_pkey_mprotect, SYS_mremap, SYS_mmap,
	SYS_brk, SYS_shmat, SYS_madvise, SYS_close, SYS_close_range, SYS_dup2, SYS_dup3,
	SYS_setrlimit, SYS_prlimit64, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_sigaltstack,
	SYS_arch_prctl, SYS_prctl, SYS_seccomp, SYS_rseq, SYS_setitimer, SYS_timer_settime,
	SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal, SYS_set_robust_list,
	SYS_set_tid_address, SYS_landlock_restrict_self, SYS_personality, SYS_execve, SYS_execveat,
	SYS_mlockall, SYS_setpriority, SYS_mseal };
/* clang-format on */

static int is_among(const int *list, size_t count, long nr)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == nr)
			return 1;
	return 0;
}

static int is_left_out(long nr)
{
	if (is_among(waiting, COUNT_OF(waiting), nr))
		return 1;
	return is_among(crippling, COUNT_OF(crippling), nr) && next_random() % RARELY != 0;
}

static long random_arg(void)
{
	uint64_t r = next_random();
	switch (r % 8) {
	case 0:
		return 0;
	case 1:
		return (long)(r >> 8) % 16;
	case 2:
		return (long)(room + (r >> 16) % 4096);
	case 3:
		return (long)(room + ((r >> 16) % 4096 & ~7UL));
	case 4:
		return -1;
	case 5:
		return (long)(UINT64_C(1) << (r >> 8) % 64);
	case 6:
		return (long)(r >> 32);
	default:
		return (long)r;
	}
}

static void shoot(uint64_t seed, long count)
{
	state = seed | 1;
	(void)setsid();
	(void)alarm(2); /* a call that waits for ever ends this child only */
	for (long i = 0; i < count; i++) {
		long nr = (long)(next_random() % HIGHEST);
		if (is_left_out(nr))
			continue;
		++*made;
		(void)syscall(nr, random_arg(), random_arg(), random_arg(), random_arg(),
			random_arg(), random_arg());
	}
	_exit(0);
}

/* fuzz CALLS SEED */
int main(int argc, char **argv)
{
	long calls = number_arg(argc, argv, 1, 2000000);
	uint64_t seed = (uint64_t)number_arg(argc, argv, 2, 1);
	long children = 0, killed = 0;
	room = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (; *made < calls && children < CHILDREN_MAX; children++) {
		pid_t pid = fork();
		if (pid == 0)
			shoot(seed * 1000003 + (uint64_t)children, BATCH);
		int status = 0;
		if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
			killed++;
	}
	tell_number("calls", *made);
	tell_number("children", children);
	tell_number("killed", killed);
	return 0;
}
