/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership at a glance: auto_* frees at scope end, take_* hands over. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline void own_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static inline void own_free(void *slot)
{
	free(*(void **)slot);
}

static inline void own_closedir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static inline void own_fclose(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

static inline int take_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

#define take_ptr(slot)                        \
	({                                    \
		__auto_type taken_ = *(slot); \
		*(slot) = NULL;               \
		taken_;                       \
	})

#define auto_fd __attribute__((cleanup(own_close)))
#define auto_free __attribute__((cleanup(own_free)))
#define auto_dir __attribute__((cleanup(own_closedir)))
#define auto_file __attribute__((cleanup(own_fclose)))

/* Small allocations: running out of memory for these is not a state we continue in. */
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t len);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
