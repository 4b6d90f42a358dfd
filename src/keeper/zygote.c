/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/io.h"
#include "base/own.h"
#include "base/place.h"
#include "keeper/apart.h"
#include "zygote/zygote.h"

#define PROGRAM_NAME "hotcell-zygote"

enum { DEATH_WAIT_MS = 2000 };

/* posix_spawn shares our memory until the new program starts: no copy of a large parent. */
static int spawn(const char *path, char *const argv[], char *const env[], int sock, pid_t *ret_pid,
	struct err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	sigset_t ignored; /* by whoever lends cells, which is no concern of a program in them */
	(void)sigemptyset(&none);
	(void)sigemptyset(&ignored);
	(void)sigaddset(&ignored, SIGHUP);
	(void)sigaddset(&ignored, SIGPIPE);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attr);
	int r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	for (int fd = 1; fd < ZYGOTE_CONTROL_FD && r == 0; fd++)
		r = posix_spawn_file_actions_adddup2(&actions, 0, fd);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, sock, ZYGOTE_CONTROL_FD);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, ZYGOTE_CONTROL_FD + 1);
	if (r == 0)
		r = posix_spawnattr_setsigmask(&attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(&attr, &ignored);
	if (r == 0)
		r = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (r == 0)
		r = posix_spawn(ret_pid, path, &actions, &attr, argv, env);
	if (r == 0)
		apart_free(*ret_pid);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attr);
	return r == 0 ? 0 : err_sys(err, r, "start '%s'", path);
}

void zygote_call_back(struct zygote *zygote)
{
	cpus_give_back(zygote->pid, &zygote->cpus);
	CPU_ZERO(&zygote->cpus);
}

static int start(struct zygote *zygote, int sock, enum zygote_form form, enum jail_mode mode,
	int cgroup_fd, struct err *err)
{
	char path[PATH_MAX + 64];
	char *const argv[] = { (char *)PROGRAM_NAME, NULL };
	char *const env[] = { NULL };
	/* without privilege one is born where the network was made; with it, it gets that later */
	bool is_for_later = form == ZYGOTE_BORN && mode == MODE_ROOT;
	auto_fd int network_fd = is_for_later ? -1 : jail_early_network();
	const struct cradle cradle = {
		.mode = mode, .cgroup_fd = cgroup_fd, .network_fd = network_fd
	};
	int r = 0;
	switch (form) {
	case ZYGOTE_BORN:
		r = zygote_bear(sock, &cradle, &zygote->pid, &zygote->pidfd);
		break;
	case ZYGOTE_COPY:
		r = zygote_fork(sock, &zygote->pid);
		break;
	case ZYGOTE_PROGRAM:
		TRY(place_program(PROGRAM_NAME, path, sizeof(path), err));
		return spawn(path, argv, env, sock, &zygote->pid, err);
	}
	if (r < 0 && form == ZYGOTE_BORN)
		return jail_refuse_birth(mode, -r, err);
	if (r == 0 && form == ZYGOTE_BORN)
		cpus_send_away(zygote->pid, &zygote->cpus);
	return r < 0 ? err_sys(err, -r, "start a zygote") : 0;
}

static int make_control(struct zygote *zygote, int *ret_theirs, struct err *err)
{
	int pair[2];
	*zygote = (struct zygote){ .sock = -1, .pid = -1, .pidfd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make the zygote's socket");
	zygote->sock = pair[0];
	*ret_theirs = pair[1];
	/* dup2 onto itself would leave it close-on-exec */
	if (pair[1] == ZYGOTE_CONTROL_FD) {
		*ret_theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, ZYGOTE_CONTROL_FD + 1);
		(void)close(pair[1]);
		if (*ret_theirs < 0)
			return err_sys(err, errno, "move the zygote's socket");
	}
	return 0;
}

int zygote_start(struct zygote *zygote, enum zygote_form form, enum jail_mode mode, int cgroup_fd,
	struct err *err)
{
	auto_fd int theirs = -1;
	TRY(make_control(zygote, &theirs, err));
	if (start(zygote, theirs, form, mode, cgroup_fd, err) == 0)
		return 0;
	own_close(&zygote->sock);
	return -1;
}

int zygote_host(struct zygote *zygote, const struct strings *argv, struct err *err)
{
	/* what cells have; and symbols are looked up once here, not in each of them */
	char *const env[] = { (char *)"PATH=/usr/local/bin:/usr/bin:/bin",
		(char *)"HOME=/home/user", (char *)"USER=user", (char *)"LANG=C.UTF-8",
		(char *)"TERM=dumb", (char *)"TMPDIR=/tmp", (char *)"LD_BIND_NOW=1", NULL };
	auto_fd int theirs = -1;
	TRY(make_control(zygote, &theirs, err));
	if (spawn(argv->items[0], argv->items, env, theirs, &zygote->pid, err) == 0)
		return 0;
	own_close(&zygote->sock);
	return -1;
}

int zygote_invite_guest(struct zygote *zygote, const int *fds, size_t fd_count, struct err *err)
{
	enum zygote_request request = ZYGOTE_GUEST;
	int r = io_send(zygote->sock, &request, sizeof(request), fds, fd_count);
	return r < 0 ? err_sys(err, -r, "ask the interpreter for a guest") : 0;
}

void zygote_stop(struct zygote *zygote)
{
	own_close(&zygote->sock);
	own_close(&zygote->pidfd);
	if (zygote->pid > 0)
		while (waitpid(zygote->pid, NULL, 0) < 0 && errno == EINTR)
			;
	zygote->pid = -1;
}

int zygote_template(struct zygote *zygote, int page_fd, int owner_pidfd, struct err *err)
{
	enum zygote_request request = ZYGOTE_TEMPLATE;
	const int fds[] = { page_fd, owner_pidfd };
	int r = io_send(zygote->sock, &request, sizeof(request), fds, owner_pidfd >= 0 ? 2 : 1);
	return r < 0 ? err_sys(err, -r, "ask the zygote for a template") : 0;
}

int zygote_ask_init(struct zygote *zygote, struct newborn *newborn, int network_fd, int cgroup_fd,
	struct err *err)
{
	enum zygote_request request = network_fd >= 0 ? ZYGOTE_INIT_IN : ZYGOTE_INIT;
	int pair[2];
	int fds[3];
	size_t count = 0;
	/* made by us and not by the zygote: the network a socket is made in shows it */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make the socket of an init");
	auto_fd int theirs = pair[1];
	*newborn = NEWBORN_NONE;
	newborn->sock = pair[0];
	fds[count++] = theirs;
	if (network_fd >= 0)
		fds[count++] = network_fd;
	if (cgroup_fd >= 0)
		fds[count++] = cgroup_fd;
	int r = io_send(zygote->sock, &request, sizeof(request), fds, count);
	return r < 0 ? err_sys(err, -r, "ask the zygote for an init") : 0;
}

int zygote_take_init(struct zygote *zygote, struct newborn *newborn, struct err *err)
{
	struct birth_notice notice = { .request = ZYGOTE_NONE };
	int fds[2] = { -1, -1 };
	size_t fd_count = COUNT_OF(fds);
	ssize_t n = io_recv(zygote->sock, &notice, sizeof(notice), fds, &fd_count);
	if (n < 0)
		return err_sys(err, (int)-n, "hear from the zygote");
	newborn->pidfd = fds[0];
	newborn->network_fd = fds[1];
	newborn->pid = notice.pid;
	if (n != sizeof(notice) || notice.request != ZYGOTE_INIT)
		return err_set(err, ERR_BROKEN, "the zygote died");
	return 0;
}

void newborn_done(struct newborn *newborn)
{
	struct pollfd death = { .fd = newborn->pidfd, .events = POLLIN };
	if (newborn->pidfd >= 0) {
		(void)syscall(SYS_pidfd_send_signal, newborn->pidfd, SIGKILL, NULL, 0);
		while (poll(&death, 1, DEATH_WAIT_MS) < 0 && errno == EINTR)
			;
	}
	own_close(&newborn->sock);
	own_close(&newborn->pidfd);
	own_close(&newborn->network_fd);
}

int zygote_raise(int sock, const int *fds, size_t fd_count, struct err *err)
{
	enum zygote_request request = ZYGOTE_RAISE;
	int r = io_send(sock, &request, sizeof(request), fds, fd_count);
	return r < 0 ? err_sys(err, -r, "ask for a cell") : 0;
}

int page_make(size_t size, void **ret_page, int *ret_fd, struct err *err)
{
	auto_fd int fd = memfd_create("hotcell-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return err_sys(err, errno, "make the shared page");
	/* nobody may shrink it under the other's feet */
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (page == MAP_FAILED)
		return err_sys(err, errno, "map the shared page");
	*ret_page = page;
	*ret_fd = take_fd(&fd);
	return 0;
}

void page_free(void *page, size_t size)
{
	if (page)
		(void)munmap(page, size);
}

int page_failure(const struct cell_page *page, struct err *err)
{
	const struct report *report = &page->report;
	enum step_id id = report->failed;
	if (id > STEP_NONE && id < STEP_ID_COUNT)
		return jail_refuse(id, report->failed_errno, report->failed_text, err);
	return err_set(err, ERR_BROKEN, "the cell died while it was raised%s%.200s",
		report->failed_text[0] ? ": " : "", report->failed_text);
}
