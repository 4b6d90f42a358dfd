/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands where a restricted cell's programs expect their dynamic loader. The kernel must be able to
 * execute whatever is there, and the real loader, executed as a program, starts any other file it
 * is given: every program of /usr/lib would be one `ld.so /usr/lib/…` away. This one tells the two
 * uses apart: started by the kernel on behalf of a program it maps the real loader and goes on as
 * that; started by hand it refuses. The real one can be read but not executed.
 *
 * There is no C library here, and nothing that would need a relocation.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "loader/loader.h"

enum { ERRNO_MAX = 4095, PHDRS_MAX = 32, EXIT_REFUSED = 126 };

static uintptr_t page_size; /* the kernel tells it: 4 KiB, on arm up to 64 */

#if defined(__x86_64__)
__asm__(".globl _start\n"
	"_start:\n"
	"	endbr64\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	mov %rsp, %rbx\n"
	"	and $-16, %rsp\n"
	"	call load\n"
	"	mov %rbx, %rsp\n"
	"	xor %edx, %edx\n"
	"	jmp *%rax\n");

static long call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
__asm__(".globl _start\n"
	"_start:\n"
	"	mov x29, #0\n"
	"	mov x30, #0\n"
	"	mov x0, sp\n"
	"	bl load\n"
	"	mov x16, x0\n"
	"	mov x0, #0\n"
	"	br x16\n");

static long call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "the loader's entry is not written for this processor"
#endif

static long call3(long nr, long a, long b, long c)
{
	return call6(nr, a, b, c, 0, 0, 0);
}

static _Noreturn void refuse(const char *why, size_t len)
{
	(void)call3(SYS_write, 2, (long)why, (long)len);
	for (;;)
		(void)call3(SYS_exit_group, EXIT_REFUSED, 0, 0);
}

#define REFUSE(why) refuse(why, sizeof(why) - 1)

static uintptr_t map(uintptr_t at, size_t len, int prot, int flags, int fd, size_t offset)
{
	long r = call6(SYS_mmap, (long)at, (long)len, prot, flags, fd, (long)offset);
	if (r < 0 && r >= -ERRNO_MAX)
		REFUSE("loader: cannot map the dynamic loader\n");
	return (uintptr_t)r;
}

static uintptr_t down(uintptr_t at)
{
	return at & ~(page_size - 1);
}

static uintptr_t up(uintptr_t at)
{
	return down(at + page_size - 1);
}

static void map_segment(uintptr_t base, const Elf64_Phdr *segment, int fd)
{
	int prot = (segment->p_flags & PF_R ? PROT_READ : 0) |
		   (segment->p_flags & PF_W ? PROT_WRITE : 0) |
		   (segment->p_flags & PF_X ? PROT_EXEC : 0);
	uintptr_t start = base + segment->p_vaddr;
	uintptr_t file_end = start + segment->p_filesz;
	uintptr_t end = start + segment->p_memsz;
	if (segment->p_filesz > 0)
		(void)map(down(start), file_end - down(start), prot, MAP_PRIVATE | MAP_FIXED, fd,
			down(segment->p_offset));
	if (end <= file_end)
		return;
	/* to the end of the page, as the kernel does: glibc's loader takes its first memory there
	 */
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are what a loader computes */
	for (volatile char *at = (volatile char *)file_end; (uintptr_t)at < up(file_end); at++)
		*at = 0;
	if (up(file_end) < up(end))
		(void)map(up(file_end), up(end) - up(file_end), prot,
			MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
}

/* Maps the real loader; returns where, and where it begins. */
static uintptr_t map_loader(uintptr_t *ret_entry)
{
	Elf64_Ehdr head = { 0 };
	Elf64_Phdr segments[PHDRS_MAX];
	uintptr_t end = 0;
	int fd = (int)call6(SYS_openat, AT_FDCWD, (long)LOADER_PATH, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		REFUSE("loader: cannot open the dynamic loader\n");
	long n = call6(SYS_pread64, fd, (long)&head, sizeof(head), 0, 0, 0);
	if (n != sizeof(head) || head.e_type != ET_DYN || head.e_phnum > PHDRS_MAX ||
		head.e_phentsize != sizeof(segments[0]))
		REFUSE("loader: the dynamic loader is not one\n");
	long size = (long)head.e_phnum * (long)sizeof(segments[0]);
	if (call6(SYS_pread64, fd, (long)segments, size, (long)head.e_phoff, 0, 0) != size)
		REFUSE("loader: the dynamic loader is cut short\n");
	for (int i = 0; i < head.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			end = up(segments[i].p_vaddr + segments[i].p_memsz);
	/* one place large enough for all of it, then its parts over that */
	uintptr_t base = map(0, end, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < head.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			map_segment(base, &segments[i], fd);
	(void)call3(SYS_close, fd, 0, 0);
	*ret_entry = base + head.e_entry;
	return base;
}

/* `stack` as the kernel left it: argc, argv, NULL, environment, NULL, auxiliary vector. */
uintptr_t load(uintptr_t *stack);

__attribute__((used)) uintptr_t load(uintptr_t *stack)
{
	uintptr_t *at = stack + 1 + stack[0] + 1;
	uintptr_t *base = NULL;
	uintptr_t entry = 0;
	while (*at)
		at++;
	for (at++; at[0] != AT_NULL; at += 2) {
		if (at[0] == AT_BASE)
			base = &at[1];
		if (at[0] == AT_PAGESZ)
			page_size = at[1];
	}
	if (base && *base != 0) {
		*base = map_loader(&entry);
		return entry;
	}
	/* executed as a program: there is no other that a loader was asked for */
	REFUSE("loader: only named programs can be run here\n");
}
