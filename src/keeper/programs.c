/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names become paths here, on the host's side, where a mistake can be told in words. Each program
 * is looked at: a script needs its interpreter, which must have been named as well, because an
 * interpreter can do more than the script; a dynamic program needs its loader.
 */
#include "keeper/programs.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

enum { PHDRS_MAX = 64 };

/* clang-format off */
/* Where Debian keeps what people ask for under another name. */
static const struct {
	const char *command;
	const char *package;
} packages[] = {
	{ "7z", "p7zip-full" },         { "ag", "silversearcher-ag" }, { "awk", "mawk" },
	{ "bat", "bat" },               { "cc", "gcc" },               { "convert", "imagemagick" },
	{ "dig", "bind9-dnsutils" },    { "fd", "fd-find" },           { "fdfind", "fd-find" },
	{ "go", "golang-go" },          { "ip", "iproute2" },          { "java", "default-jre" },
	{ "killall", "psmisc" },        { "node", "nodejs" },          { "nc", "netcat-openbsd" },
	{ "nslookup", "bind9-dnsutils" }, { "pdftotext", "poppler-utils" }, { "ping", "iputils-ping" },
	{ "pip", "python3-pip" },       { "ps", "procps" },            { "psql", "postgresql-client" },
	{ "pstree", "psmisc" },         { "python", "python-is-python3" }, { "rg", "ripgrep" },
	{ "ssh", "openssh-client" },    { "top", "procps" },           { "xz", "xz-utils" },
};
/* clang-format on */

static const char *package_of(const char *command)
{
	for (size_t i = 0; i < COUNT_OF(packages); i++)
		if (strcmp(packages[i].command, command) == 0)
			return packages[i].package;
	return command;
}

static bool is_program(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111) != 0;
}

static bool is_link(int root_fd, const char *path)
{
	struct stat st;
	auto_fd int fd = io_open_in_root(root_fd, path, O_PATH | O_NOFOLLOW);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

static int add_program(
	struct template_page *template, const char *dir, const char *name, struct err *err)
{
	char path[LIMIT_PROGRAM_PATH];
	if ((size_t)snprintf(path, sizeof(path), "/%s/%s", dir, name) >= sizeof(path))
		return err_set(err, ERR_LIMIT, "--commands: the path of '%s' is too long", name);
	for (uint32_t i = 0; i < template->program_count; i++)
		if (strcmp(template->programs[i], path) == 0)
			return 0;
	if (template->program_count == LIMIT_PROGRAMS)
		return err_set(err, ERR_LIMIT, "--commands: more than %d programs", LIMIT_COMMANDS);
	(void)snprintf(template->programs[template->program_count++], sizeof(path), "%s", path);
	return 0;
}

/* Found where a shell in the cell would find it. */
static int find_command(
	struct template_page *template, int root_fd, const char *name, struct err *err)
{
	char path[LIMIT_PROGRAM_PATH];
	for (size_t i = 0; jail_program_dirs[i]; i++) {
		const char *dir = jail_program_dirs[i];
		(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
		auto_fd int fd = io_open_in_root(root_fd, path, O_PATH);
		if (fd >= 0 && is_program(fd) && !is_link(root_fd, dir))
			return add_program(template, dir, name, err);
	}
	return err_set(err, ERR_MISSING,
		"--commands: there is no program '%s' in the root file system '%s'; if it should "
		"be: apt-get install %s",
		name, template->rootfs, package_of(name));
}

static int read_loader(int fd, const Elf64_Phdr *segment, struct template_page *template,
	const char *name, struct err *err)
{
	char loader[LIMIT_PROGRAM_PATH] = "";
	if (segment->p_filesz >= sizeof(loader) ||
		pread(fd, loader, segment->p_filesz, (off_t)segment->p_offset) !=
			(ssize_t)segment->p_filesz ||
		loader[0] != '/')
		return err_set(err, ERR_INVALID, "--commands: '%s' is damaged", name);
	if (template->loader[0] != '\0' && strcmp(template->loader, loader) != 0)
		return err_set(err, ERR_INVALID,
			"--commands: '%s' needs the loader %s and another program %s; one cell has "
			"one",
			name, loader, template->loader);
	(void)snprintf(template->loader, sizeof(template->loader), "%s", loader);
	return 0;
}

/* A program of another kind or processor has no loader here, and will not start. */
static int read_elf(int fd, struct template_page *template, const char *name, struct err *err)
{
	Elf64_Ehdr head;
	Elf64_Phdr segments[PHDRS_MAX];
	ssize_t n = pread(fd, &head, sizeof(head), 0);
	if (n != sizeof(head) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
		head.e_phentsize != sizeof(segments[0]) || head.e_phnum > PHDRS_MAX)
		return 0;
	ssize_t size = (ssize_t)(head.e_phnum * sizeof(segments[0]));
	if (pread(fd, segments, (size_t)size, (off_t)head.e_phoff) != size)
		return err_set(err, ERR_INVALID, "--commands: '%s' is damaged", name);
	for (size_t i = 0; i < head.e_phnum; i++)
		if (segments[i].p_type == PT_INTERP)
			return read_loader(fd, &segments[i], template, name, err);
	return 0;
}

static bool has_file(const struct template_page *template, int root_fd, const struct stat *wanted)
{
	for (uint32_t i = 0; i < template->program_count; i++) {
		struct stat st;
		auto_fd int fd = io_open_in_root(root_fd, template->programs[i], O_PATH);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == wanted->st_dev &&
			st.st_ino == wanted->st_ino)
			return true;
	}
	return false;
}

/* "#!/bin/sh -e": the interpreter has to be one of the programs, under whatever name. */
static int check_script(const struct template_page *template, int root_fd, const char *line,
	const char *name, struct err *err)
{
	char path[LIMIT_PROGRAM_PATH];
	struct stat st;
	line += strspn(line, " \t");
	(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(line, " \t\r\n"), line);
	auto_fd int fd = io_open_in_root(root_fd, path, O_PATH);
	if (fd >= 0 && fstat(fd, &st) == 0 && has_file(template, root_fd, &st))
		return 0;
	const char *slash = strrchr(path, '/');
	const char *interpreter = slash ? slash + 1 : path;
	return err_set(err, ERR_INVALID,
		"--commands: '%s' is a script for %s, which is not in the list; for example "
		"--commands %s,%s",
		name, path, name, interpreter);
}

/* A runner of ours is the host's even when the root file system is not. */
static int open_program(const struct template_page *template, int root_fd, const char *path)
{
	static const char runtime[] = RUNTIME_DIR "/";
	if (strncmp(path, runtime, sizeof(runtime) - 1) != 0)
		return io_open_in_root(root_fd, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	auto_free char *own = xasprintf("%s/%s", template->runtime, path + sizeof(runtime) - 1);
	return open(own, O_RDONLY | O_CLOEXEC);
}

static int look_into(struct template_page *template, int root_fd, const char *path, struct err *err)
{
	const char *name = strrchr(path, '/') + 1;
	char head[256];
	auto_fd int fd = open_program(template, root_fd, path);
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head) - 1, 0);
	if (n < 0)
		return err_sys(err, errno, "--commands: read '%s'", path);
	head[n] = '\0';
	if (n > SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		return read_elf(fd, template, name, err);
	if (n > 2 && memcmp(head, "#!", 2) == 0)
		return check_script(template, root_fd, head + 2, name, err);
	return 0;
}

/* The directory as it is called without links on the way: what is covered is that one. */
static int add_interpreter(
	struct template_page *template, int root_fd, const char *path, struct err *err)
{
	const char *name = strrchr(path, '/') + 1;
	if (strncmp(path, "/tmp/", 5) == 0 || strncmp(path, "/home/", 6) == 0)
		return err_set(err, ERR_INVALID,
			"--commands: code that is compiled becomes a program of its own, which a "
			"cell of few programs does not execute");
	auto_free char *dir = xstrndup(path + 1, (size_t)(name - path) - 2);
	for (size_t i = 0; is_link(root_fd, dir) && jail_program_dirs[i]; i++) {
		struct stat one, other;
		auto_fd int dir_fd = io_open_in_root(root_fd, dir, O_PATH);
		auto_fd int fd =
			io_open_in_root(root_fd, jail_program_dirs[i], O_PATH | O_NOFOLLOW);
		if (dir_fd < 0 || fd < 0 || fstat(dir_fd, &one) < 0 || fstat(fd, &other) < 0 ||
			one.st_ino != other.st_ino || one.st_dev != other.st_dev)
			continue;
		free(dir);
		dir = xstrdup(jail_program_dirs[i]);
	}
	return add_program(template, dir, name, err);
}

int programs_find(struct template_page *template, const struct spec *spec, struct err *err)
{
	if (spec->commands.count == 0)
		return 0;
	auto_fd int root_fd = open(template->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return err_sys(err, errno, "open the root file system '%s'", template->rootfs);
	for (size_t i = 0; i < spec->commands.count; i++)
		TRY(find_command(template, root_fd, spec->commands.items[i], err));
	if (spec->interpreter)
		TRY(add_interpreter(template, root_fd, spec->interpreter, err));
	for (uint32_t i = 0; i < template->program_count; i++)
		TRY(look_into(template, root_fd, template->programs[i], err));
	template->base.plan.is_restricted = true;
	return 0;
}
