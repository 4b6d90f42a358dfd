/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells of a process in lines, read without malloc(): the process may be this one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct proc_text {
	char *all; /* owned */
	char *next;
};

/* `proc_fd` is /proc, "self/maps" a file there. False: it cannot be read, or is too long. */
bool proc_text_open(struct proc_text *text, int proc_fd, const char *file);
void proc_text_close(struct proc_text *text);

/* The next line, without its end; NULL: there is none. */
char *proc_text_line(struct proc_text *text);

struct mapping {
	uintptr_t start, end;
	bool is_readable, is_writable, is_executable, is_private;
	bool is_file;
};

/* "7f1c2e000000-7f1c2e021000 rw-p 00000000 00:00 0"; false: the line is something else. */
bool mapping_read(struct mapping *ret_mapping, const char *line);
