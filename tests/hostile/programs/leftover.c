/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours 94 and 95: what one run leaves for the next, and what leaks in from outside. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <mqueue.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "hostile.h"

enum { KEY = 0x68637465 };

static const char *const places[] = { "/home/user/left", "/tmp/left", "/dev/shm/left",
	"/var/tmp/left", "/run/left", "/left" };

static int abstract_socket(int (*call)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	(void)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "hostile-left");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result = call(fd, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 13));
	if (result == 0)
		(void)listen(fd, 1);
	return result;
}

static int do_leave(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT_OF(places); i++)
		(void)open(places[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	TELL("shm", shmget(KEY, 4096, IPC_CREAT | 0666));
	TELL("sem", semget(KEY, 1, IPC_CREAT | 0666));
	TELL("msg", msgget(KEY, IPC_CREAT | 0666));
	TELL("mq", mq_open("/left", O_CREAT | O_RDWR, 0666, NULL));
	TELL("abstract", abstract_socket(bind));
	if (fork() == 0) {
		(void)setsid();
		wait_forever();
	}
	return 0;
}

static int do_find(int argc, char **argv)
{
	int processes = 0;
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT_OF(places); i++)
		TELL(places[i], open(places[i], O_RDONLY | O_CLOEXEC));
	TELL("shm", shmget(KEY, 0, 0));
	TELL("sem", semget(KEY, 0, 0));
	TELL("msg", msgget(KEY, 0));
	TELL("mq", mq_open("/left", O_RDONLY));
	TELL("abstract", abstract_socket(connect));
	for (int pid = 1; pid < 100; pid++)
		processes += kill(pid, 0) == 0 || errno == EPERM;
	tell_number("processes", processes);
	return 0;
}

static void tell_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	printf("descriptors");
	for (struct dirent *item; dir != NULL && (item = readdir(dir)) != NULL;)
		if (item->d_name[0] != '.' && atoi(item->d_name) != dirfd(dir))
			printf(" %s", item->d_name);
	printf("\n");
	for (int fd = 3; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0 && fd != dirfd(dir))
			printf("open %d\n", fd);
}

static void tell_status(void)
{
	static const char *const keys[] = { "SigBlk:", "SigIgn:", "CapInh:", "CapPrm:", "CapEff:",
		"CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:", "Groups:" };
	char line[256];
	FILE *file = fopen("/proc/self/status", "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		for (size_t i = 0; i < COUNT_OF(keys); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				printf("%s", line);
	if (file != NULL)
		(void)fclose(file);
}

/* Everything this process got without asking. */
static int do_inherited(int argc, char **argv)
{
	char cwd[256] = "";
	extern char **environ;
	for (int i = 0; i < argc; i++)
		printf("argument %s\n", argv[i]);
	for (char **item = environ; *item != NULL; item++)
		printf("variable %s\n", *item);
	tell_descriptors();
	printf("directory %s\n", getcwd(cwd, sizeof(cwd)));
	printf("pid %d\n", getpid());
	printf("parent %d\n", getppid());
	printf("session %d\n", getsid(0) == getpid() || getsid(0) == 1 ? 1 : 0);
	printf("groups %d\n", getgroups(0, NULL));
	printf("uid %u\n", getuid());
	mode_t mask = umask(0);
	printf("umask %o\n", (unsigned)mask);
	tell_status();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "find", do_find },
		{ "inherited", do_inherited },
		{ "leave", do_leave },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
