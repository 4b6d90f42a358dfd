/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/own.h"
#include "interpreter/proc_text.h"

TEST(a_line_tells_where_a_mapping_is_and_who_may_what)
{
	struct mapping mapping;
	ASSERT(mapping_read(&mapping, "7f1c2e000000-7f1c2e021000 rw-p 00000000 00:00 0 "));
	ASSERT_EQ(mapping.start, 0x7f1c2e000000);
	ASSERT_EQ(mapping.end, 0x7f1c2e021000);
	ASSERT(mapping.is_readable && mapping.is_writable && mapping.is_private);
	ASSERT(!mapping.is_executable && !mapping.is_file);
	ASSERT(mapping_read(&mapping, "00400000-0041f000 r-xs 00001000 fe:00 247134   /usr/bin/a"));
	ASSERT(mapping.is_executable && mapping.is_file);
	ASSERT(!mapping.is_writable && !mapping.is_private);
}

TEST(what_is_no_mapping_is_told_apart)
{
	static const char *const lines[] = { "", "Size:   8 kB", "Anonymous:   8 kB", "AB-CD",
		"2000-1000 rw-p 0 0:0 0", "VmFlags: rd wr" };
	struct mapping mapping;
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		ASSERT(!mapping_read(&mapping, lines[i]));
}

TEST(a_file_is_read_line_by_line)
{
	struct proc_text text;
	auto_fd int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct mapping mapping;
	size_t count = 0;
	ASSERT(proc_text_open(&text, proc_fd, "self/maps"));
	for (char *line; (line = proc_text_line(&text)); count++)
		ASSERT(mapping_read(&mapping, line));
	ASSERT(count > 5);
	proc_text_close(&text);
	proc_text_close(&text); /* is nothing the second time */
}

TEST(what_cannot_be_read_is_no_text)
{
	struct proc_text text;
	auto_fd int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ASSERT(!proc_text_open(&text, proc_fd, "self/nothing"));
	ASSERT(!proc_text_open(&text, proc_fd, "self/task")); /* a directory */
	ASSERT(text.all == NULL);
}
