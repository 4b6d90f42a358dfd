/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>

#include "keeper/machine.h"

static void take(struct slot *slot)
{
	struct err err = { 0 };
	if (slot_take(slot, &err) == 0)
		return;
	if (err.code == ERR_SYSTEM)
		SKIP(err.text);
	FAIL("%s", err.text);
}

/* Somebody else's cell may take a slot the moment it is free: then try with another. */
static bool take_back(int number)
{
	struct slot again;
	if (!slot_take_number(&again, number))
		return false;
	ASSERT_EQ(again.number, number);
	ASSERT(again.fd >= 0);
	slot_free(&again);
	return true;
}

TEST(two_slots_differ)
{
	struct slot first, second;
	take(&first);
	take(&second);
	ASSERT(first.number != second.number);
	ASSERT(first.number >= 0 && first.number < SLOT_COUNT);
	ASSERT(second.number >= 0 && second.number < SLOT_COUNT);
	ASSERT(fcntl(first.fd, F_GETFD) & FD_CLOEXEC);
	slot_free(&first);
	slot_free(&second);
	ASSERT_EQ(first.fd, -1);
}

TEST(a_held_slot_cannot_be_taken)
{
	struct slot held, other;
	take(&held);
	ASSERT(!slot_take_number(&other, held.number));
	ASSERT_EQ(other.fd, -1);
	slot_free(&held);
}

TEST(a_freed_slot_can_be_taken_by_number)
{
	for (int i = 0; i < 5; i++) {
		struct slot slot;
		take(&slot);
		ASSERT(!take_back(slot.number));
		slot_free(&slot);
		if (take_back(slot.number))
			return;
	}
	FAIL("no freed slot could be taken again");
}

TEST(a_slot_given_back_is_free_while_its_descriptor_goes_on)
{
	for (int i = 0; i < 5; i++) {
		struct slot slot;
		take(&slot);
		int fd = slot.fd;
		slot_give_back(&slot);
		bool was_free = take_back(slot.number);
		bool is_ours = slot_try(&slot, slot.number);
		ASSERT_EQ(slot.fd, fd);
		slot_free(&slot);
		if (was_free && is_ours)
			return;
	}
	FAIL("no slot that was given back could be taken again");
}

TEST(freeing_one_slot_keeps_the_others)
{
	struct slot first, second;
	take(&first);
	take(&second);
	slot_free(&first);
	ASSERT(!take_back(second.number));
	slot_free(&second);
}

TEST(a_slot_is_held_as_long_as_a_child_has_its_descriptor)
{
	struct slot slot;
	int ends[2];
	char byte;
	take(&slot);
	ASSERT_EQ(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 3);
	}
	ASSERT(pid > 0);
	(void)close(ends[0]);
	int number = slot.number;
	slot_free(&slot);
	ASSERT(!take_back(number));
	(void)close(ends[1]);
	int status;
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	for (int i = 0; i < 200; i++) {
		if (take_back(number))
			return;
		(void)usleep(10000); /* held by another cell now */
	}
	FAIL("slot %d stayed locked", number);
}

TEST(a_slot_dies_with_its_killed_holder)
{
	int ends[2];
	int number = -1;
	ASSERT_EQ(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct slot slot;
		take(&slot);
		(void)!write(ends[1], &slot.number, sizeof(slot.number));
		(void)pause();
		_exit(0);
	}
	(void)close(ends[1]);
	if (read(ends[0], &number, sizeof(number)) != (ssize_t)sizeof(number)) {
		(void)waitpid(pid, NULL, 0);
		SKIP("no slots here");
	}
	ASSERT(!take_back(number));
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 200; i++) {
		if (take_back(number))
			return;
		(void)usleep(10000); /* held by another cell now */
	}
	FAIL("slot %d stayed locked", number);
}
