/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behaviour 96: lackof CALL[,CALL…] -- PROG ARG…   runs a program on a host that lacks these
 * system calls. This is no hostile program: it runs outside, in front of hotcell, and shows it a
 * kernel without Landlock, seccomp, the new mount calls, or a container that forbids namespaces.
 * A CALL is a number with the errno to answer, as 444:38.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "hostile.h"

enum { CALLS_MAX = 32 };

static int refuse(const long *numbers, const long *errnos, size_t count)
{
	struct sock_filter code[CALLS_MAX * 2 + 2];
	unsigned short len = 0;
	code[len++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count; i++) {
		code[len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
		code[len++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnos[i]);
	}
	code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = len, .filter = code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int main(int argc, char **argv)
{
	long numbers[CALLS_MAX], errnos[CALLS_MAX];
	size_t count = 0;
	if (argc < 4 || strcmp(argv[2], "--") != 0) {
		(void)fprintf(stderr, "usage: lackof NR:ERRNO[,…] -- PROG ARG…\n");
		return 99;
	}
	for (char *item = strtok(argv[1], ","); item != NULL && count < CALLS_MAX;
		item = strtok(NULL, ",")) {
		char *colon = strchr(item, ':');
		numbers[count] = strtol(item, NULL, 10);
		errnos[count++] = colon != NULL ? strtol(colon + 1, NULL, 10) : ENOSYS;
	}
	if (refuse(numbers, errnos, count) < 0) {
		perror("seccomp");
		return 99;
	}
	(void)execv(argv[3], argv + 3);
	perror(argv[3]);
	return 99;
}
