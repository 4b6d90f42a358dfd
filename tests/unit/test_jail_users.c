/* SPDX-License-Identifier: Apache-2.0 */
/* In a mount namespace of its own, where /home is ours. */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/io.h"
#include "jail/steps.h"

enum { UID_OF_TEMPLATE = 200001, UID_OF_CELL = 200007 };

static struct cell_page page;
static struct template_page template;

/* An ordinary user is root in a user namespace of his own. */
static void become_root(void)
{
	char uid_map[32];
	char gid_map[32];
	(void)snprintf(uid_map, sizeof(uid_map), "0 %u 1", geteuid());
	(void)snprintf(gid_map, sizeof(gid_map), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER) < 0)
		SKIP("an ordinary user, who may have no user namespace here");
	ASSERT_EQ(io_write_at(AT_FDCWD, "/proc/self/setgroups", "deny"), 0);
	ASSERT_EQ(io_write_at(AT_FDCWD, "/proc/self/uid_map", uid_map), 0);
	ASSERT_EQ(io_write_at(AT_FDCWD, "/proc/self/gid_map", gid_map), 0);
}

static void set_up(void)
{
	struct err err = { 0 };
	if (geteuid() != 0)
		become_root();
	ASSERT_EQ(unshare(CLONE_NEWNS), 0);
	ASSERT_EQ(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ASSERT_EQ(mount("tmpfs", "/home", "tmpfs", 0, NULL), 0);
	ASSERT_EQ(mkdir(HOME_DIR, 0755), 0);
	ASSERT_OK(users_make_place(&err));
	template.base.plan.uid = template.base.plan.gid = UID_OF_TEMPLATE;
}

static struct raising take(uint32_t uid)
{
	struct err err = { 0 };
	struct raising raising = { .page = &page, .template = &template };
	page.plan.uid = page.plan.gid = uid;
	ASSERT_OK(jail_take_users(&raising, &err));
	return raising;
}

static void give_back(const struct raising *raising)
{
	(void)close(raising->users_fd);
}

static void check_text(int dir_fd, const char *name, const char *wanted)
{
	char text[256];
	ssize_t n = io_read_at(dir_fd, name, text, sizeof(text));
	ASSERT(n > 0);
	ASSERT_STR(text, wanted);
}

static void check_texts(const struct raising *raising, unsigned int id)
{
	char text[256];
	(void)snprintf(text, sizeof(text),
		"root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
		"user:x:%u:%u:user:/home/user:/bin/sh\n"
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		id, id);
	check_text(raising->users_fd, "passwd", text);
	(void)snprintf(text, sizeof(text), "root:x:0:\nuser:x:%u:\nnogroup:x:65534:\n", id);
	check_text(raising->users_fd, "group", text);
}

static ino_t inode_of(int fd)
{
	struct stat st;
	ASSERT_EQ(fstat(fd, &st), 0);
	return st.st_ino;
}

TEST(a_cell_gets_the_files_of_its_own_user)
{
	set_up();
	struct raising first = take(UID_OF_CELL);
	struct raising other = take(UID_OF_CELL + 1);
	ASSERT(first.has_users && other.has_users);
	check_texts(&first, UID_OF_CELL);
	check_texts(&other, UID_OF_CELL + 1);
	give_back(&first);
	give_back(&other);
}

TEST(they_are_made_once_for_each_user)
{
	set_up();
	struct raising first = take(UID_OF_CELL);
	struct raising second = take(UID_OF_CELL);
	ASSERT_EQ(inode_of(first.users_fd), inode_of(second.users_fd));
	check_texts(&second, UID_OF_CELL);
	give_back(&first);
	give_back(&second);
}

TEST(the_user_of_the_template_has_the_templates)
{
	set_up();
	struct raising raising = take(UID_OF_TEMPLATE);
	ASSERT(!raising.has_users);
}

TEST(what_an_init_left_half_done_is_done_again)
{
	set_up();
	const char *const drafts[] = { HOME_DIR "/200007-/passwd", HOME_DIR "/200007-/group" };
	ASSERT_EQ(mkdir(HOME_DIR "/200007-", 0755), 0);
	for (size_t i = 0; i < COUNT_OF(drafts); i++) {
		auto_fd int fd = open(drafts[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		char rest[200];
		memset(rest, 'x', sizeof(rest));
		ASSERT_EQ(io_write(fd, rest, sizeof(rest)), 0);
	}
	struct raising raising = take(UID_OF_CELL);
	check_texts(&raising, UID_OF_CELL);
	ASSERT_EQ(access(HOME_DIR "/200007-", F_OK), -1);
	give_back(&raising);
}

TEST(there_is_room_for_every_slot)
{
	set_up();
	for (uint32_t i = 0; i < 4096; i++) {
		struct raising raising = take(UID_OF_CELL + i);
		give_back(&raising);
	}
}

TEST(where_no_place_is_the_layer_and_the_file_are_named)
{
	struct err err = { 0 };
	struct raising raising = { .page = &page, .template = &template };
	set_up();
	ASSERT_EQ(umount(HOME_DIR), 0);
	ASSERT_EQ(mount(NULL, "/home", NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	page.plan.uid = page.plan.gid = UID_OF_CELL;
	ASSERT(jail_take_users(&raising, &err) < 0);
	ASSERT_HAS(err.text, "workspace");
	ASSERT_HAS(err.text, "etc/passwd");
	ASSERT_EQ(page.report.failed, STEP_WORKSPACE);
}
