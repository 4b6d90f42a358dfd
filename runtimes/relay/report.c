/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A number and the blank after it. */
static bool read_number(const char **at, long long *ret_number)
{
	char *end = NULL;
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret_number = strtoll(*at, &end, 10);
	*at = end + 1;
	return errno == 0 && *end == ' ';
}

static bool read_end(const char *line, struct report_end *ret_end)
{
	const char *at = line + 1;
	long long turn = 0;
	long long status = 0;
	if (line[0] != 'e' || !read_number(&at, &turn) || !read_number(&at, &status))
		return false;
	*ret_end = (struct report_end){ .turn = turn, .status = (int)(status & 0xff) };
	(void)snprintf(ret_end->flags, sizeof(ret_end->flags), "%s", at);
	return true;
}

enum report_kind report_take(struct report_reader *reader, char byte, struct report_end *ret_end)
{
	if (reader->len == 0 && !reader->is_over && byte == 's')
		return REPORT_BEGUN;
	if (byte == '\n') {
		bool is_whole = !reader->is_over;
		reader->line[reader->len] = '\0';
		reader->len = 0;
		reader->is_over = false;
		return is_whole && read_end(reader->line, ret_end) ? REPORT_ENDED : REPORT_NONE;
	}
	if (reader->len + 1 < sizeof(reader->line))
		reader->line[reader->len++] = byte;
	else
		reader->is_over = true;
	return REPORT_NONE;
}
