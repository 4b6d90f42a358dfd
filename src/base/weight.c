/* SPDX-License-Identifier: Apache-2.0 */
#include "base/weight.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"

int64_t weight_kb(void)
{
	char text[128];
	int64_t all = 0;
	int64_t resident = 0;
	if (io_read_at(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) <= 0 ||
		sscanf(text, "%" SCNd64 " %" SCNd64, &all, &resident) != 2)
		return 0;
	return resident * sysconf(_SC_PAGESIZE) / 1024;
}
