/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours 15-30: bombs, daemons, zombies, attacks on init, ways to die, new namespaces. */
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "hostile.h"

static int do_bomb(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (;;)
		(void)fork();
	return 0;
}

/* Every copy is deaf to signals and burns processor time between two tries. */
static int do_deaf_bomb(int argc, char **argv)
{
	sigset_t all;
	(void)argc;
	(void)argv;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	for (;;) {
		(void)setsid();
		if (fork() < 0)
			for (volatile int i = 0; i < 1000000; i++)
				continue;
	}
	return 0;
}

/* Forks until it may not any more, and says how far it came. */
static int do_count_forks(int argc, char **argv)
{
	long count = 0;
	(void)argc;
	(void)argv;
	for (;; count++) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0)
			wait_forever();
	}
	tell("fork", -1);
	tell_number("children", count);
	return 0;
}

static void *wait_thread(void *arg)
{
	wait_forever();
	return arg;
}

static int do_count_threads(int argc, char **argv)
{
	pthread_attr_t attr;
	long count = 0;
	(void)argc;
	(void)argv;
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 64 << 10);
	for (;; count++) {
		pthread_t thread;
		int sys = pthread_create(&thread, &attr, wait_thread, NULL);
		if (sys != 0) {
			errno = sys;
			break;
		}
	}
	tell("thread", -1);
	tell_number("threads", count);
	return 0;
}

static int do_zombies(int argc, char **argv)
{
	long wanted = number_arg(argc, argv, 1, 10000);
	long count = 0;
	for (; count < wanted; count++) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0)
			_exit(0);
	}
	tell("fork", count < wanted ? -1 : 0);
	tell_number("zombies", count);
	return 0;
}

static int do_daemon(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (fork() == 0) {
		(void)setsid();
		if (fork() == 0) {
			(void)signal(SIGHUP, SIG_IGN);
			wait_forever();
		}
		_exit(0);
	}
	(void)wait(NULL);
	printf("daemon started\n");
	return 0;
}

static int do_kill_init(int argc, char **argv)
{
	static const int signals[] = { SIGTERM, SIGSEGV, SIGSTOP, SIGKILL, SIGQUIT, SIGHUP };
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT_OF(signals); i++)
		(void)kill(1, signals[i]);
	nap_ms(200);
	/* Only a living, running init adopts and reaps an orphan. */
	pid_t child = fork();
	if (child == 0) {
		if (fork() == 0)
			_exit(0);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
	printf("still here\n");
	return 0;
}

static int do_kill_all(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int i = 0; i < 5; i++)
		if (fork() == 0)
			wait_forever();
	TELL("kill", kill(-1, SIGKILL));
	for (int i = 0; i < 5; i++)
		(void)wait(NULL);
	printf("alone\n");
	return 0;
}

static int do_killed_by_child(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (fork() == 0) {
		(void)kill(-1, SIGKILL);
		wait_forever();
	}
	wait_forever();
	return 0;
}

static int do_attack_init(int argc, char **argv)
{
	static const char *const files[] = { "mem", "exe", "environ", "maps", "fd", "root", "cwd",
		"auxv", "io", "stack" };
	char word[16] = "";
	struct iovec mine = { .iov_base = word, .iov_len = sizeof(word) };
	struct iovec theirs = { .iov_base = (void *)0x400000, .iov_len = sizeof(word) };
	(void)argc;
	(void)argv;
	TELL("attach", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	TELL("seize", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
	TELL("vm-read", process_vm_readv(1, &mine, 1, &theirs, 1, 0));
	TELL("vm-write", process_vm_writev(1, &mine, 1, &theirs, 1, 0));
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
	TELL("pidfd-getfd", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
	TELL("setns", setns(pidfd, CLONE_NEWNS | CLONE_NEWPID));
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		char path[64];
		char what[64];
		(void)snprintf(path, sizeof(path), "/proc/1/%s", files[i]);
		(void)snprintf(what, sizeof(what), "proc-%s", files[i]);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		/* Some of them open and refuse to be read. */
		if (fd >= 0 && i != 4 && i != 5 && i != 6 && i != 1)
			TELL(what, read(fd, word, sizeof(word)));
		else
			tell(what, fd);
	}
	return 0;
}

/* Orphans land at the subreaper, then, when it dies, at init. */
static int do_subreaper(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	TELL("subreaper", prctl(PR_SET_CHILD_SUBREAPER, 1));
	for (int i = 0; i < 5; i++) {
		if (fork() == 0) {
			(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
			if (fork() == 0) {
				if (fork() == 0)
					wait_forever();
				_exit(0);
			}
			(void)kill(getpid(), i % 2 == 0 ? SIGKILL : SIGSTOP);
		}
	}
	nap_ms(200);
	return 0;
}

static void die_of(int sig)
{
	static volatile int zero;
	switch (sig) {
	case SIGSEGV:
		*(volatile int *)8 = 1;
		break;
	case SIGFPE:
		zero = 1000 / zero; /* of 1 / x the compiler makes a comparison */
		break;
	case SIGILL:
		__builtin_trap();
		break;
	case SIGABRT:
		abort();
	case SIGPIPE: {
		int ends[2];
		if (pipe(ends) == 0 && close(ends[0]) == 0)
			(void)!write(ends[1], "x", 1);
		break;
	}
	default:
		(void)raise(sig);
	}
}

static int do_die(int argc, char **argv)
{
	printf("dying\n");
	(void)fflush(stdout);
	die_of((int)number_arg(argc, argv, 1, SIGKILL));
	printf("survived\n");
	return 1;
}

static void *nothing(void *arg)
{
	return arg;
}

static long clone_into(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		_exit(0);
	return pid;
}

static int do_namespaces(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned long flag;
	} kinds[] = {
		{ "user", CLONE_NEWUSER },
		{ "mnt", CLONE_NEWNS },
		{ "pid", CLONE_NEWPID },
		{ "net", CLONE_NEWNET },
		{ "ipc", CLONE_NEWIPC },
		{ "uts", CLONE_NEWUTS },
		{ "cgroup", CLONE_NEWCGROUP },
		{ "time", CLONE_NEWTIME },
	};
	struct clone_args empty = { .exit_signal = SIGCHLD };
	struct clone_args user = { .exit_signal = SIGCHLD, .flags = CLONE_NEWUSER };
	pthread_t thread;
	char what[64];
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		(void)snprintf(what, sizeof(what), "unshare-%s", kinds[i].name);
		TELL(what, syscall(SYS_unshare, kinds[i].flag));
		/* CLONE_NEWTIME is inside the exit signal's byte of clone(), so clone has none. */
		if (kinds[i].flag != CLONE_NEWTIME) {
			(void)snprintf(what, sizeof(what), "clone-%s", kinds[i].name);
			TELL(what, clone_into(kinds[i].flag));
		}
		(void)snprintf(what, sizeof(what), "/proc/self/ns/%s", kinds[i].name);
		int fd = open(what, O_RDONLY | O_CLOEXEC);
		(void)snprintf(what, sizeof(what), "setns-%s", kinds[i].name);
		TELL(what, syscall(SYS_setns, fd, 0));
	}
	TELL("unshare-all-bits", syscall(SYS_unshare, 0x7e020080UL | UINT64_C(1) << 40));
	TELL("clone3", syscall(SYS_clone3, &empty, sizeof(empty)));
	TELL("clone3-user", syscall(SYS_clone3, &user, sizeof(user)));
	int sys = pthread_create(&thread, NULL, nothing, NULL);
	tell_number("pthread", sys);
	if (sys == 0)
		(void)pthread_join(thread, NULL);
	return 0;
}

/* Waits with a family of its own, so that whoever ends the cell has something to end. */
static int do_family(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			(void)setsid();
			(void)signal(SIGTERM, SIG_IGN);
			(void)signal(SIGINT, SIG_IGN);
			wait_forever();
		}
	}
	printf("ready\n");
	(void)fflush(stdout);
	wait_forever();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "attack-init", do_attack_init },
		{ "bomb", do_bomb },
		{ "count-forks", do_count_forks },
		{ "count-threads", do_count_threads },
		{ "daemon", do_daemon },
		{ "deaf-bomb", do_deaf_bomb },
		{ "die", do_die },
		{ "family", do_family },
		{ "kill-all", do_kill_all },
		{ "kill-init", do_kill_init },
		{ "killed-by-child", do_killed_by_child },
		{ "namespaces", do_namespaces },
		{ "subreaper", do_subreaper },
		{ "zombies", do_zombies },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
