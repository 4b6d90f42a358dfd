/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behaviour 93: a system call fuzzer. Random numbers with random arguments, seeded, so that a run
 * can be repeated. Each child makes a batch; one that kills or stops itself is replaced, until
 * the calls asked for are made. Calls that only wait or end the process are left out.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "hostile.h"

enum { BATCH = 20000, HIGHEST = 480 };

static uint64_t state;
static char *room;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int is_left_out(long nr)
{
	static const int left_out[] = { SYS_exit, SYS_exit_group, SYS_pause, SYS_rt_sigsuspend,
		SYS_rt_sigtimedwait, SYS_rt_sigreturn, SYS_wait4, SYS_waitid, SYS_select,
		SYS_pselect6, SYS_poll, SYS_ppoll, SYS_epoll_wait, SYS_epoll_pwait,
		SYS_epoll_pwait2, SYS_nanosleep, SYS_clock_nanosleep, SYS_futex, SYS_futex_waitv,
		SYS_read, SYS_readv, SYS_vfork, SYS_fork, SYS_clone, SYS_kill, SYS_tkill,
		SYS_tgkill, SYS_alarm, SYS_flock, SYS_msgrcv, SYS_semop, SYS_semtimedop,
		SYS_io_getevents, SYS_munmap, SYS_mprotect, SYS_write, SYS_writev,
		SYS_pkey_mprotect, SYS_mremap, SYS_brk, SYS_close, SYS_close_range, SYS_dup2,
		SYS_dup3, SYS_setrlimit, SYS_prlimit64, SYS_rt_sigprocmask, 454, 455, 456 };
	for (size_t i = 0; i < COUNT_OF(left_out); i++)
		if (left_out[i] == nr)
			return 1;
	return 0;
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
	(void)alarm(2); /* a call that waits for ever ends this batch only */
	for (long i = 0; i < count; i++) {
		long nr = (long)(next_random() % HIGHEST);
		if (is_left_out(nr))
			continue;
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
	long batches = 0, killed = 0;
	room = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)signal(SIGHUP, SIG_IGN);
	for (; batches * BATCH < calls; batches++) {
		pid_t pid = fork();
		if (pid == 0) {
			(void)setsid();
			shoot(seed * 1000003 + (uint64_t)batches, BATCH);
		}
		int status = 0;
		if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
			killed++;
	}
	tell_number("batches", batches);
	tell_number("killed", killed);
	return 0;
}
