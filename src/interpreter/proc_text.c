/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/proc_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/own.h"

enum { TEXT_MAX = 4 << 20 };

bool proc_text_open(struct proc_text *text, int proc_fd, const char *file)
{
	size_t len = 0;
	ssize_t n = 1;
	*text = (struct proc_text){ 0 };
	auto_fd int fd = openat(proc_fd, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* what is shared never becomes one with a neighbour, of which the text tells */
	char *all = mmap(NULL, TEXT_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return false;
	for (; n > 0 && len<TEXT_MAX - 1; len += n> 0 ? (size_t)n : 0)
		n = read(fd, all + len, TEXT_MAX - 1 - len);
	text->all = text->next = all;
	if (n == 0)
		return true;
	proc_text_close(text);
	return false;
}

void proc_text_close(struct proc_text *text)
{
	if (text->all)
		(void)munmap(text->all, TEXT_MAX);
	*text = (struct proc_text){ 0 };
}

char *proc_text_line(struct proc_text *text)
{
	char *line = text->next;
	if (*line == '\0')
		return NULL;
	char *end = strchrnul(line, '\n');
	text->next = *end ? end + 1 : end;
	*end = '\0';
	return line;
}

bool mapping_read(struct mapping *ret_mapping, const char *line)
{
	char *rest = NULL;
	uintptr_t start = strtoull(line, &rest, 16);
	uintptr_t end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
	if (end <= start || strlen(rest) <= 5)
		return false;
	*ret_mapping = (struct mapping){
		.start = start,
		.end = end,
		.is_readable = rest[1] == 'r',
		.is_writable = rest[2] == 'w',
		.is_executable = rest[3] == 'x',
		.is_private = rest[4] == 'p',
		.is_file = strchr(rest + 6, '/') != NULL,
	};
	return true;
}
