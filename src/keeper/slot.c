/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "base/place.h"

/* Root of a user namespace may lack the ids of our slots: then it is an ordinary user to us. */
static bool has_slot_uids(void)
{
	static bool is_known; /* a map is written once */
	char text[512];
	char *end = text;
	if (is_known)
		return true;
	if (io_read_at(AT_FDCWD, "/proc/self/uid_map", text, sizeof(text)) <= 0)
		return false;
	unsigned long first = strtoul(end, &end, 10);
	(void)strtoul(end, &end, 10); /* what it is outside does not matter */
	unsigned long count = strtoul(end, &end, 10);
	is_known = first <= SLOT_UID_BASE && first + count >= SLOT_UID_BASE + SLOT_COUNT;
	return is_known;
}

enum jail_mode machine_mode(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	if (geteuid() != 0 || syscall(SYS_capget, &head, data) < 0)
		return MODE_ROOTLESS;
	bool is_admin = data[CAP_SYS_ADMIN / 32].effective & (1U << (CAP_SYS_ADMIN % 32));
	return is_admin && has_slot_uids() ? MODE_ROOT : MODE_ROOTLESS;
}

static int open_locks(struct err *err)
{
	auto_fd int dir_fd = -1;
	TRY(place_open_run_dir(&dir_fd, err));
	int fd = openat(dir_fd, "slots", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? err_sys(err, errno, "open the file of slots") : fd;
}

/* 1: taken, 0: somebody holds it. */
static int try_lock(int fd, int number, struct err *err)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = number, .l_len = 1
	};
	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 1;
	return errno == EAGAIN || errno == EACCES ? 0 : err_sys(err, errno, "lock a slot");
}

int slot_take(struct slot *slot, struct err *err)
{
	slot->fd = -1;
	auto_fd int fd = open_locks(err);
	if (fd < 0)
		return -1;
	/* start anywhere, so that a slot just freed is not the next one taken */
	int start = (int)((unsigned int)getpid() * 2654435761U % SLOT_COUNT);
	for (int i = 0; i < SLOT_COUNT; i++) {
		int number = (start + i) % SLOT_COUNT;
		int r = try_lock(fd, number, err);
		if (r < 0)
			return -1;
		if (r == 1) {
			slot->number = number;
			slot->fd = take_fd(&fd);
			return 0;
		}
	}
	return err_set(
		err, ERR_LIMIT, "all %d slots are taken: too many cells at once", SLOT_COUNT);
}

bool slot_try(struct slot *slot, int number)
{
	struct err err = { 0 };
	slot->number = number;
	if (slot->fd < 0)
		slot->fd = open_locks(&err);
	return slot->fd >= 0 && try_lock(slot->fd, number, &err) == 1;
}

bool slot_take_number(struct slot *slot, int number)
{
	slot->fd = -1;
	if (slot_try(slot, number))
		return true;
	own_close(&slot->fd);
	return false;
}

void slot_give_back(struct slot *slot)
{
	struct flock lock = {
		.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = slot->number, .l_len = 1
	};
	(void)fcntl(slot->fd, F_OFD_SETLK, &lock);
}

void slot_free(struct slot *slot)
{
	own_close(&slot->fd);
}
