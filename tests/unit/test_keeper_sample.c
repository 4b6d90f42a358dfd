/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampled process is a child that plays the cell's init. What it does it does in children of
 * its own, and tells when it is done; then it waits to be killed, and its children with it.
 */
#include "unit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "keeper/sample.h"

enum { MB = 1 << 20, PART = 32 * MB };

static const int64_t no_limit = INT64_MAX;

struct init {
	pid_t pid;
	int pidfd;
};

static int ready_fd;

/* A child of the caller that does `work`, says so and waits. */
static void start_worker(void (*work)(void))
{
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0)
		_exit(3);
	if (pid > 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (work)
		work();
	(void)!write(ready_fd, "x", 1);
	for (;;)
		(void)pause();
}

static void start_init(struct init *init, void (*play)(void), int workers)
{
	int ends[2];
	char byte;
	ASSERT_EQ(pipe(ends), 0);
	init->pid = fork();
	if (init->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		ready_fd = ends[1];
		play();
		for (;;)
			(void)pause();
	}
	ASSERT(init->pid > 0);
	init->pidfd = (int)syscall(SYS_pidfd_open, init->pid, 0);
	ASSERT(init->pidfd >= 0);
	(void)close(ends[1]);
	for (int i = 0; i < workers; i++)
		if (read(ends[0], &byte, 1) != 1)
			SKIP("not as many processes, or not as much memory, as this needs");
	(void)close(ends[0]);
}

static void stop_init(struct init *init)
{
	(void)kill(init->pid, SIGKILL);
	(void)waitpid(init->pid, NULL, 0);
	(void)close(init->pidfd);
}

static char *touch(size_t size, int flags)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		_exit(3);
	memset(memory, 7, size);
	return memory;
}

static void touch_part(void)
{
	(void)touch(PART, MAP_PRIVATE);
}

static void play_one(void)
{
	start_worker(touch_part);
}

static void play_idle(void)
{
	start_worker(NULL);
}

TEST(what_a_child_touches_is_seen)
{
	struct init idle, busy;
	struct sample before, after;
	start_init(&idle, play_idle, 1);
	sample_take(idle.pidfd, -1, no_limit, &before);
	start_init(&busy, play_one, 1);
	sample_take(busy.pidfd, -1, no_limit, &after);
	ASSERT_EQ(after.processes, 1);
	ASSERT(after.memory >= before.memory + PART);
	ASSERT(after.memory < before.memory + PART + 16 * MB);
	/* looking closer finds as much */
	sample_take(busy.pidfd, -1, 1, &after);
	ASSERT(after.memory >= PART && after.memory < PART + 64 * MB);
	stop_init(&idle);
	stop_init(&busy);
}

static void play_readers(void)
{
	touch_part();
	for (int i = 0; i < 3; i++)
		start_worker(NULL);
}

TEST(pages_of_forked_readers_count_once_above_the_limit)
{
	struct init init;
	struct sample rough, exact;
	start_init(&init, play_readers, 3);
	sample_take(init.pidfd, -1, no_limit, &rough);
	ASSERT_EQ(rough.processes, 3);
	ASSERT(rough.memory >= 4LL * PART);
	sample_take(init.pidfd, -1, 2LL * PART, &exact);
	ASSERT(exact.memory >= PART);
	ASSERT(exact.memory < 2LL * PART);
	stop_init(&init);
}

static void touch_shared(void)
{
	(void)touch(PART, MAP_SHARED);
}

static void play_shared(void)
{
	start_worker(touch_shared);
}

TEST(shared_anonymous_memory_is_seen)
{
	struct init init;
	struct sample sample;
	start_init(&init, play_shared, 1);
	sample_take(init.pidfd, -1, no_limit, &sample);
	ASSERT(sample.memory >= PART);
	sample_take(init.pidfd, -1, 1, &sample);
	ASSERT(sample.memory >= PART);
	stop_init(&init);
}

static void *fork_in_a_thread(void *unused)
{
	start_worker(touch_part);
	for (;;)
		(void)pause();
	return unused;
}

static void play_thread(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, fork_in_a_thread, NULL) != 0)
		_exit(3);
}

TEST(the_child_of_a_thread_is_seen)
{
	struct init init;
	struct sample sample;
	start_init(&init, play_thread, 1);
	sample_take(init.pidfd, -1, no_limit, &sample);
	ASSERT_EQ(sample.processes, 1);
	ASSERT(sample.memory >= PART);
	stop_init(&init);
}

static void nest(void)
{
	start_worker(touch_part);
}

static void play_nested(void)
{
	start_worker(nest);
}

TEST(a_grandchild_is_seen)
{
	struct init init;
	struct sample sample;
	start_init(&init, play_nested, 2);
	sample_take(init.pidfd, -1, no_limit, &sample);
	ASSERT_EQ(sample.processes, 2);
	ASSERT(sample.memory >= PART);
	stop_init(&init);
}

static void map_memfd(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, PART) < 0)
		_exit(3);
	char *memory = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		_exit(3);
	memset(memory, 7, PART);
	start_worker(NULL); /* shares it */
}

static void play_memfd(void)
{
	start_worker(map_memfd);
}

TEST(a_mapped_memory_file_is_seen)
{
	struct init init;
	struct sample sample;
	start_init(&init, play_memfd, 2);
	sample_take(init.pidfd, -1, no_limit, &sample);
	ASSERT_EQ(sample.processes, 2);
	ASSERT(sample.memory >= PART);
	sample_take(init.pidfd, -1, 1, &sample);
	ASSERT(sample.memory >= PART);
	stop_init(&init);
}

static void burn(void)
{
	struct timespec used;
	do {
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec == 0 && used.tv_nsec < 200000000);
}

static void burn_and_die(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		burn();
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static void play_burn(void)
{
	start_worker(burn);
	start_worker(burn_and_die);
}

TEST(cpu_time_counts_of_the_living_and_the_reaped)
{
	struct init idle, init;
	struct sample sample;
	start_init(&idle, play_idle, 1);
	sample_take(idle.pidfd, -1, no_limit, &sample);
	ASSERT(sample.cpu_us < 100000);
	start_init(&init, play_burn, 2);
	sample_take(init.pidfd, -1, no_limit, &sample);
	ASSERT(sample.cpu_us >= 350000); /* 400 ms in ticks of 10 ms */
	ASSERT(sample.cpu_us < 1000000);
	stop_init(&idle);
	stop_init(&init);
}

TEST(a_dead_init_gives_zeros)
{
	struct init init;
	struct sample sample = { 1, 2, 3 };
	start_init(&init, play_idle, 1);
	(void)kill(init.pid, SIGKILL);
	ASSERT_EQ(waitpid(init.pid, NULL, 0), init.pid);
	sample_take(init.pidfd, -1, no_limit, &sample);
	ASSERT(sample.memory == 0 && sample.cpu_us == 0 && sample.processes == 0);
	sample_take(-1, -1, no_limit, &sample);
	ASSERT_EQ(sample.memory, 0);
	(void)close(init.pidfd);
}

TEST(the_files_of_the_workspace_are_memory_too)
{
	struct init init;
	struct sample without, with;
	auto_fd int fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[] = "/dev/shm/hotcell-test-XXXXXX";
	int file_fd = fd < 0 ? -1 : mkstemp(name);
	if (file_fd < 0)
		SKIP("no tmpfs at /dev/shm");
	(void)unlink(name);
	start_init(&init, play_idle, 1);
	sample_take(init.pidfd, -1, no_limit, &without);
	ASSERT_EQ(posix_fallocate(file_fd, 0, 8 * MB), 0);
	sample_take(init.pidfd, fd, no_limit, &with);
	ASSERT(with.memory >= without.memory + 8 * MB);
	stop_init(&init);
}

static void hide(void)
{
	(void)prctl(PR_SET_NAME, "VmRSS: 0");
	(void)touch(PART, MAP_PRIVATE);
}

static void play_hidden(void)
{
	start_worker(hide);
}

TEST(a_process_cannot_hide_its_memory_behind_its_name)
{
	struct init init;
	struct sample sample;
	start_init(&init, play_hidden, 1);
	sample_take(init.pidfd, -1, no_limit, &sample);
	ASSERT(sample.memory >= PART);
	stop_init(&init);
}

/* More than fit into a page of their numbers. */
enum { MANY = 2000 };

static void play_many(void)
{
	for (int i = 0; i < MANY; i++)
		start_worker(NULL);
}

TEST(every_child_of_many_is_counted)
{
	struct init init;
	struct sample sample;
	start_init(&init, play_many, MANY);
	sample_take(init.pidfd, -1, no_limit, &sample);
	stop_init(&init);
	ASSERT_EQ(sample.processes, MANY);
}

static void play_writer(void)
{
	static char bytes[100000];
	auto_fd int fd = memfd_create("written", MFD_CLOEXEC);
	(void)write(fd, bytes, sizeof(bytes));
}

static void play_relay(void)
{
	start_worker(play_writer);
}

TEST(an_account_has_what_its_process_wrote_and_its_servant)
{
	enum { WRITTEN = 100000 };
	struct init init;
	struct account account;
	start_init(&init, play_relay, 1);
	pid_t pid = sample_pid(init.pidfd);
	account_open(&account, pid, false);
	ASSERT(account.fds[0] >= 0 && account.fds[1] < 0);
	ASSERT(account.write_bytes < WRITTEN);
	account_close(&account);
	account_open(&account, pid, true);
	ASSERT(account.fds[0] >= 0 && account.fds[1] >= 0);
	ASSERT(account.write_bytes >= WRITTEN && account.write_bytes < 2 * WRITTEN);
	account_close(&account);
	stop_init(&init);
	account_open(&account, pid, true);
	ASSERT(account.fds[0] < 0 && account.read_bytes == 0 && account.write_bytes == 0);
	account_close(&account);
}

static bool is_pair(const char *list)
{
	auto_fd int fd = memfd_create("list", MFD_CLOEXEC);
	ASSERT(fd >= 0);
	ASSERT_EQ(write(fd, list, strlen(list)), (ssize_t)strlen(list));
	return sample_is_pair(fd);
}

TEST(only_a_list_of_two_is_a_pair)
{
	ASSERT(is_pair("17\n4194303\n"));
	ASSERT(!is_pair(""));
	ASSERT(!is_pair("17\n"));
	ASSERT(!is_pair("17\n18\n19\n"));
	ASSERT(!is_pair("10000001\n10000002\n10000003\n10000004\n10000005\n10000006\n10000007\n"
			"10000008\n"));
	ASSERT(!sample_is_pair(-1));
}

TEST(the_account_of_a_process_that_is_gone_is_missed)
{
	int64_t read_bytes = 0;
	int64_t written_bytes = 0;
	struct account account;
	pid_t pid = fork();
	ASSERT(pid >= 0);
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	account_open(&account, pid, false);
	ASSERT(account.fds[0] >= 0);
	ASSERT(sample_accounts(account.fds, &read_bytes, &written_bytes));
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	ASSERT(!sample_accounts(account.fds, &read_bytes, &written_bytes));
	account_close(&account);
}

static pid_t other(const struct init *init, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static pid_t other(const struct init *init, const char *fmt, ...)
{
	char text[64];
	va_list args;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	int fd = memfd_create("procs", MFD_CLOEXEC);
	ASSERT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	pid_t found = sample_other(init->pidfd, fd);
	ASSERT_EQ(sample_other(init->pidfd, fd), found); /* from the beginning each time */
	(void)close(fd);
	return found;
}

TEST(who_is_beside_init_is_found_if_nobody_else_is)
{
	struct init init;
	start_init(&init, play_idle, 1);
	ASSERT_EQ(other(&init, "%d\n17\n", init.pid), 17);
	ASSERT_EQ(other(&init, "17\n%d\n", init.pid), 17); /* lists are in no order */
	ASSERT_EQ(other(&init, "%d\n", init.pid), -1);
	ASSERT_EQ(other(&init, "17\n"), 17); /* the init of a guest is in no v1 group */
	ASSERT_EQ(other(&init, "%d\n17\n18\n", init.pid), -1);
	ASSERT_EQ(other(&init, "17\n18\n"), -1);
	ASSERT_EQ(other(&init, "%s", ""), -1);
	ASSERT_EQ(sample_other(init.pidfd, -1), -1);
	(void)kill(init.pid, SIGKILL);
	(void)waitpid(init.pid, NULL, 0);
	ASSERT_EQ(other(&init, "%d\n17\n", init.pid), -1);
	stop_init(&init);
}
