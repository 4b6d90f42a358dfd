/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each library has a few pages that are its own: addresses that the loader put in, variables. Most
 * libraries of a template are never called by a guest, but the fork copies what it has to know of
 * those pages, and the end of the copy takes it back: 3 µs for each mapping of them. A file's
 * mapping takes less than one, as a copy looks its pages up when it needs them. So what the pages
 * hold by now becomes a file, and is mapped from there.
 *
 * The loader closes a part of them when its addresses are in (RELRO), which makes two mappings of
 * them. They are one again: whose process it is could open that part, too.
 */
#include "interpreter/data.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/huge.h"
#include "base/own.h"
#include "base/text.h"

enum { SEGMENT_MAX = 4 << 20 }; /* what is larger is room for data, most of it empty */

struct settling {
	uintptr_t program; /* an address in it */
	int fd;
	char *copy; /* of all, in the order of libraries */
	size_t at;
	size_t size;
};

static bool is_data(const ElfW(Phdr) * segment)
{
	return segment->p_type == PT_LOAD && segment->p_memsz <= SEGMENT_MAX &&
	       (segment->p_flags & (PF_R | PF_W | PF_X)) == (PF_R | PF_W);
}

/* Of these, something is written to while this goes on, or by every guest: the program, which may
 * be a library itself, libc, the loader, and this module. */
static bool is_busy(const struct settling *settling, const struct dl_phdr_info *object)
{
	const uintptr_t used[] = { settling->program, getauxval(AT_PHDR), getauxval(AT_BASE),
		(uintptr_t)gnu_get_libc_version, (uintptr_t)memcpy, (uintptr_t)data_settle };
	for (size_t i = 0; i < COUNT_OF(used); i++)
		if (object_has(object, used[i]))
			return true;
	return false;
}

static struct run find_pages(const struct dl_phdr_info *object, const ElfW(Phdr) * segment)
{
	uintptr_t start = object->dlpi_addr + segment->p_vaddr;
	uintptr_t end = start + segment->p_memsz + PAGE - 1;
	return (struct run){ start - start % PAGE, end - end % PAGE, 1, false };
}

/* NOLINTBEGIN(performance-no-int-to-ptr): the loader tells addresses as numbers */

/* As the loader closed it: not the last page if there is something else in it. */
static void open_closed(const struct dl_phdr_info *object, const ElfW(Phdr) * segment)
{
	uintptr_t start = object->dlpi_addr + segment->p_vaddr;
	uintptr_t end = start + segment->p_memsz;
	start -= start % PAGE;
	end -= end % PAGE;
	if (start < end)
		(void)mprotect((void *)start, end - start, PROT_READ | PROT_WRITE);
}

static int measure(struct dl_phdr_info *object, size_t size, void *context)
{
	struct settling *settling = context;
	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		struct run pages = find_pages(object, segment);
		if (segment->p_type == PT_GNU_RELRO)
			open_closed(object, segment);
		else if (is_data(segment) && !is_busy(settling, object))
			settling->size += pages.end - pages.start;
	}
	return 0;
}

static void settle_pages(struct settling *settling, const struct run *pages)
{
	void *place = (void *)pages->start;
	size_t size = pages->end - pages->start;
	memcpy(settling->copy + settling->at, place, size);
	const void *settled = mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		settling->fd, (off_t)settling->at);
	/* what a loader has sealed stays; whether anything is left of the rest, nobody knows */
	if (settled == MAP_FAILED && errno != EPERM)
		abort();
	settling->at += size;
}
/* NOLINTEND(performance-no-int-to-ptr) */

static int settle(struct dl_phdr_info *object, size_t size, void *context)
{
	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum && !is_busy(context, object); i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		struct run pages = find_pages(object, segment);
		if (is_data(segment))
			settle_pages(context, &pages);
	}
	return 0;
}

void data_settle(const void *function)
{
	struct settling settling = { .program = (uintptr_t)function };
	(void)dl_iterate_phdr(measure, &settling);
	auto_fd int fd = memfd_create("hotcell-data", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (settling.size == 0 || fd < 0 || ftruncate(fd, (off_t)settling.size) < 0)
		return;
	settling.copy = mmap(NULL, settling.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (settling.copy == MAP_FAILED)
		return;
	settling.fd = fd;
	(void)dl_iterate_phdr(settle, &settling);
	(void)munmap(settling.copy, settling.size);
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}
