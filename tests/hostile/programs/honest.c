/* SPDX-License-Identifier: Apache-2.0 */
/* What ordinary programs do, and what must work in the very cell that stops a hostile one. */
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "hostile.h"

static int fine(void)
{
	printf("fine\n");
	return 0;
}

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int do_print(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)fprintf(stderr, "words on stderr\n");
	return fine();
}

static int do_fork(int argc, char **argv)
{
	long count = number_arg(argc, argv, 1, 5);
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return fail("fork");
		if (pid == 0)
			_exit((int)i);
	}
	long sum = 0;
	for (long i = 0; i < count; i++) {
		int status = 0;
		if (wait(&status) < 0 || !WIFEXITED(status))
			return fail("wait");
		sum += WEXITSTATUS(status);
	}
	return sum == count * (count - 1) / 2 ? fine() : fail("sum");
}

static void *add_one(void *number)
{
	*(int *)number += 1;
	return number;
}

static int do_threads(int argc, char **argv)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	int numbers[THREADS] = { 0 };
	(void)argc;
	(void)argv;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, add_one, &numbers[i]) != 0)
			return fail("pthread_create");
	for (int i = 0; i < THREADS; i++)
		if (pthread_join(threads[i], NULL) != 0 || numbers[i] != 1)
			return fail("pthread_join");
	return fine();
}

static int do_exec(int argc, char **argv)
{
	int status = -1;
	(void)argc;
	(void)argv;
	pid_t pid = vfork();
	if (pid == 0) {
		(void)execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		return fail("/bin/true");
	return fine();
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static int do_signals(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (signal(SIGALRM, on_alarm) == SIG_ERR || signal(SIGTERM, SIG_IGN) == SIG_ERR)
		return fail("signal");
	(void)raise(SIGTERM);
	(void)ualarm(50000, 0);
	while (alarms == 0)
		(void)pause();
	return fine();
}

static int do_sleep(int argc, char **argv)
{
	nap_ms(number_arg(argc, argv, 1, 100));
	return fine();
}

static uint32_t checksum(uint32_t seed, long rounds)
{
	for (long i = 0; i < rounds; i++)
		seed = seed * 1664525U + 1013904223U;
	return seed;
}

/* The two halves of the work must agree, or the machine under us lost its mind. */
static int do_compute(int argc, char **argv)
{
	long rounds = number_arg(argc, argv, 1, 5000000);
	uint32_t whole = checksum(7, rounds);
	uint32_t halves = checksum(checksum(7, rounds / 2), rounds - rounds / 2);
	return whole == halves ? fine() : fail("checksum");
}

/* Lives through another cell's abuse for about a second: works, sleeps, checks its own memory. */
static int do_canary(int argc, char **argv)
{
	enum { BYTES = 8 << 20 };
	long turns = number_arg(argc, argv, 1, 20);
	unsigned char *block = malloc(BYTES);
	if (block == NULL)
		return fail("malloc");
	for (long turn = 0; turn < turns; turn++) {
		memset(block, (int)turn, BYTES);
		uint32_t sum = checksum((uint32_t)turn, 200000);
		nap_ms(40);
		for (size_t i = 0; i < BYTES; i += 4096)
			if (block[i] != (unsigned char)turn)
				return fail("memory changed");
		if (sum != checksum((uint32_t)turn, 200000))
			return fail("checksum");
	}
	free(block);
	return fine();
}

static int do_alloc(int argc, char **argv)
{
	size_t bytes = (size_t)number_arg(argc, argv, 1, 16) << 20;
	unsigned char *block = malloc(bytes);
	if (block == NULL)
		return fail("malloc");
	memset(block, 0x5a, bytes);
	for (size_t i = 0; i < bytes; i += 4096)
		if (block[i] != 0x5a)
			return fail("memory");
	free(block);
	return fine();
}

/* Children that share their parent's memory use it once, however many they are. */
static int do_share(int argc, char **argv)
{
	size_t bytes = (size_t)number_arg(argc, argv, 1, 16) << 20;
	long count = number_arg(argc, argv, 2, 6);
	unsigned char *block = malloc(bytes);
	if (block == NULL)
		return fail("malloc");
	memset(block, 0x5a, bytes);
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return fail("fork");
		if (pid == 0) {
			long sum = 0;
			for (size_t at = 0; at < bytes; at += 4096)
				sum += block[at];
			nap_ms(400);
			_exit(sum == 0x5aL * (long)(bytes / 4096) ? 0 : 1);
		}
	}
	for (long i = 0; i < count; i++) {
		int status = 0;
		if (wait(&status) < 0 || status != 0)
			return fail("wait");
	}
	return fine();
}

static int write_and_read(const char *path)
{
	char text[16] = "";
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "hello", 5) != 5 || pread(fd, text, sizeof(text), 0) != 5)
		return -1;
	if (strcmp(text, "hello") != 0 || close(fd) < 0)
		return -1;
	return unlink(path);
}

static int do_write(int argc, char **argv)
{
	static const char *const paths[] = { "/home/user/honest.txt", "/tmp/honest.txt",
		"/dev/shm/honest.txt", "honest.txt" };
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		if (write_and_read(paths[i]) < 0)
			return fail(paths[i]);
	return fine();
}

static int do_tree(int argc, char **argv)
{
	char path[64];
	int found = 0;
	(void)argc;
	(void)argv;
	for (int i = 0; i < 10; i++) {
		(void)snprintf(path, sizeof(path), "tree%d", i);
		if (mkdir(path, 0700) < 0)
			return fail(path);
	}
	DIR *dir = opendir(".");
	if (dir == NULL)
		return fail("opendir");
	for (struct dirent *item; (item = readdir(dir)) != NULL;)
		found += strncmp(item->d_name, "tree", 4) == 0;
	(void)closedir(dir);
	return found == 10 ? fine() : fail("readdir");
}

/* For the harvest: a plain file, and one in a directory. */
static int do_results(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	FILE *plain = fopen("result.txt", "w");
	if (plain == NULL || fputs("mine\n", plain) < 0 || fclose(plain) != 0)
		return fail("result.txt");
	if (mkdir("dir", 0755) < 0)
		return fail("dir");
	FILE *inner = fopen("dir/result.txt", "w");
	if (inner == NULL || fputs("mine too\n", inner) < 0 || fclose(inner) != 0)
		return fail("dir/result.txt");
	return fine();
}

static int do_mmap(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	int fd = open("mapped", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 1 << 20) < 0)
		return fail("mapped");
	char *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return fail("mmap");
	memset(map, 'x', 1 << 20);
	return munmap(map, 1 << 20) == 0 && close(fd) == 0 ? fine() : fail("munmap");
}

static int do_lines(int argc, char **argv)
{
	long count = number_arg(argc, argv, 1, 100);
	for (long i = 0; i < count; i++)
		printf("line %ld\n", i);
	return fine();
}

static int do_stdin(int argc, char **argv)
{
	char block[65536];
	long total = 0;
	ssize_t count = 0;
	while ((count = read(0, block, sizeof(block))) > 0)
		total += count;
	return count == 0 && total == number_arg(argc, argv, 1, 0) ? fine() : fail("stdin");
}

static int do_unix(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/tmp/honest.sock" };
	char letter = 'x';
	(void)argc;
	(void)argv;
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server < 0 || client < 0)
		return fail("socket");
	if (bind(server, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(server, 1) < 0)
		return fail("listen");
	if (connect(client, (struct sockaddr *)&address, sizeof(address)) < 0)
		return fail("connect");
	int peer = accept(server, NULL, NULL);
	if (peer < 0 || write(client, "y", 1) != 1 || read(peer, &letter, 1) != 1 || letter != 'y')
		return fail("talk");
	return fine();
}

static int do_loopback(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)number_arg(argc, argv, 1, 8080)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char letter = 'x';
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server < 0 || client < 0)
		return fail("socket");
	if (bind(server, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(server, 1) < 0)
		return fail("listen");
	if (connect(client, (struct sockaddr *)&address, sizeof(address)) < 0)
		return fail("connect");
	int peer = accept(server, NULL, NULL);
	if (peer < 0 || write(client, "y", 1) != 1 || read(peer, &letter, 1) != 1 || letter != 'y')
		return fail("talk");
	nap_ms(number_arg(argc, argv, 2, 0));
	return fine();
}

static int do_exit(int argc, char **argv)
{
	return (int)number_arg(argc, argv, 1, 0);
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "alloc", do_alloc },
		{ "canary", do_canary },
		{ "compute", do_compute },
		{ "exec", do_exec },
		{ "exit", do_exit },
		{ "fork", do_fork },
		{ "lines", do_lines },
		{ "loopback", do_loopback },
		{ "mmap", do_mmap },
		{ "print", do_print },
		{ "results", do_results },
		{ "share", do_share },
		{ "signals", do_signals },
		{ "sleep", do_sleep },
		{ "stdin", do_stdin },
		{ "threads", do_threads },
		{ "tree", do_tree },
		{ "unix", do_unix },
		{ "write", do_write },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
