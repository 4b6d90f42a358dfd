/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours 1-14: programs that will not end, or that reach for the clocks and the scheduler. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>

#include "hostile.h"

/* As the kernel has it; glibc brings one of its own only from 2.41 on. */
struct deadline_attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

static int do_spin(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	spin_forever();
	return 0;
}

static int do_sleep(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	wait_forever();
	return 0;
}

static int do_stop(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)raise(SIGSTOP);
	printf("continued\n");
	return 0;
}

static int do_stop_children(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();
		if (pid == 0)
			wait_forever();
		TELL("stop", kill(pid, SIGSTOP));
	}
	return 7;
}

static int do_deaf(int argc, char **argv)
{
	sigset_t all;
	(void)argc;
	(void)argv;
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_IGN);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	spin_forever();
	return 0;
}

/* No process of the chain uses much; together they use more than they may. */
static int do_relay(int argc, char **argv)
{
	long share_ms = number_arg(argc, argv, 1, 300);
	if (fork() != 0)
		wait_forever();
	for (;;) {
		burn_ms(share_ms);
		if (fork() != 0)
			_exit(0);
	}
}

static void *spin_thread(void *arg)
{
	spin_forever();
	return arg;
}

static int do_threads(int argc, char **argv)
{
	long count = number_arg(argc, argv, 1, 64);
	pthread_t thread;
	for (long i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, spin_thread, NULL) != 0)
			return 1;
	wait_forever();
	return 0;
}

static void *spin_in_child(void *arg)
{
	if (fork() == 0)
		spin_forever();
	wait_forever();
	return arg;
}

/* The child that burns belongs to a thread, not to the process's first. */
static int do_thread_child(int argc, char **argv)
{
	pthread_t thread;
	(void)argc;
	(void)argv;
	if (pthread_create(&thread, NULL, spin_in_child, NULL) != 0)
		return 1;
	wait_forever();
	return 0;
}

static int do_vfork(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (vfork() == 0)
		wait_forever();
	return 0;
}

static int do_exec_storm(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)execl("/home/user/timeabuse", "timeabuse", "exec-storm", (char *)NULL);
	perror("exec");
	return 1;
}

static int do_schedule(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 10 };
	struct deadline_attr deadline = { .size = sizeof(deadline),
		.policy = SCHED_DEADLINE,
		.runtime = 10000000,
		.deadline = 30000000,
		.period = 30000000 };
	(void)argc;
	(void)argv;
	TELL("fifo", sched_setscheduler(0, SCHED_FIFO, &param));
	TELL("rr", sched_setscheduler(0, SCHED_RR, &param));
	TELL("deadline", syscall(SYS_sched_setattr, 0, &deadline, 0));
	TELL("higher", setpriority(PRIO_PROCESS, 0, -5));
	TELL("lower", setpriority(PRIO_PROCESS, 0, 5));
	TELL("back", setpriority(PRIO_PROCESS, 0, 0));
	return 0;
}

static int do_clocks(int argc, char **argv)
{
	struct timespec ts;
	struct timeval tv;
	struct timex change = { .modes = ADJ_OFFSET, .offset = 1000 };
	struct timex look = { .modes = 0 };
	(void)argc;
	(void)argv;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	(void)gettimeofday(&tv, NULL);
	TELL("clock_settime", syscall(SYS_clock_settime, CLOCK_REALTIME, &ts));
	TELL("settimeofday", syscall(SYS_settimeofday, &tv, NULL));
	TELL("adjtimex", syscall(SYS_adjtimex, &change));
	TELL("clock_adjtime", syscall(SYS_clock_adjtime, CLOCK_REALTIME, &change));
	/* Reading the clock's state changes nothing; a filter may refuse it all the same. */
	TELL("look", syscall(SYS_adjtimex, &look));
	return 0;
}

static int do_affinity(int argc, char **argv)
{
	cpu_set_t all;
	memset(&all, 0xff, sizeof(all));
	TELL("affinity", sched_setaffinity(0, sizeof(all), &all));
	return do_threads(argc, argv);
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "affinity", do_affinity },
		{ "clocks", do_clocks },
		{ "deaf", do_deaf },
		{ "exec-storm", do_exec_storm },
		{ "relay", do_relay },
		{ "schedule", do_schedule },
		{ "sleep", do_sleep },
		{ "spin", do_spin },
		{ "stop", do_stop },
		{ "stop-children", do_stop_children },
		{ "thread-child", do_thread_child },
		{ "threads", do_threads },
		{ "vfork", do_vfork },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
