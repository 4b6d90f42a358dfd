/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no single field can tell. Paths inside the cell are compared as text after normalising
 * ("//", "/./" and a final "/" go; ".." is refused), because nothing of the cell exists yet.
 */
#include "model/spec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "model/field.h"
#include "model/limits.h"
#include "model/trace.h"
#include "wire/utf8.h"

#define HOME "/home/user"

enum { QUOTE_SIZE = 96 };

/* Mounting over, inside or above these would change the cell itself. */
static const char *const own_paths[] = {
	"/proc",
	"/dev",
	"/sys",
	"/run",
	"/usr",
	"/etc",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
};

static int refuse(
	const char *name, const char *text, const char *what, enum err_code code, struct err *err)
{
	char quote[QUOTE_SIZE];
	return field_refuse(spec_field(name), VOICE_FLAG, code, err, "'%s' %s",
		utf8_line(text, quote, sizeof(quote)), what);
}

/* Owned by the caller; NULL when a part is "..". A relative path stays relative. */
static char *normalise(const char *path)
{
	auto_free char *clean = xcalloc(strlen(path) + 2, 1);
	size_t len = 0;
	bool is_absolute = *path == '/';
	while (*path != '\0') {
		path += strspn(path, "/");
		size_t part = strcspn(path, "/");
		if (part == 2 && strncmp(path, "..", 2) == 0)
			return NULL;
		if (part > 0 && !(part == 1 && *path == '.')) {
			if (len > 0 || is_absolute)
				clean[len++] = '/';
			memcpy(clean + len, path, part);
			len += part;
		}
		path += part;
	}
	if (len == 0 && is_absolute)
		clean[len++] = '/';
	clean[len] = '\0';
	return take_ptr(&clean);
}

static bool is_beneath(const char *path, const char *dir)
{
	size_t len = strlen(dir);
	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

static bool is_same_or_beneath(const char *path, const char *dir)
{
	return strcmp(path, dir) == 0 || is_beneath(path, dir);
}

static bool is_own_path(const char *path)
{
	/* beneath the cell's own directories there is room, over them there is not */
	if (strcmp(path, "/") == 0 || is_same_or_beneath(HOME, path) || strcmp(path, "/tmp") == 0)
		return true;
	for (size_t i = 0; i < COUNT_OF(own_paths); i++) {
		if (is_same_or_beneath(path, own_paths[i]))
			return true;
	}
	return false;
}

char *spec_mount_target(const struct pair *mount)
{
	/* without a place of its own a directory appears where it is on the host */
	auto_free char *real = mount->to ? NULL : realpath(mount->from, NULL);
	const char *wanted = mount->to ? mount->to : real ? real : mount->from;
	auto_free char *path = *wanted == '/' ? normalise(wanted) : NULL;
	if (!path || is_own_path(path))
		return NULL;
	return take_ptr(&path);
}

/* A path within /home/user without that prefix. NULL when it leads elsewhere or is the home. */
static char *home_path(const char *wanted)
{
	auto_free char *path = normalise(wanted);
	if (!path)
		return NULL;
	const char *inner = path;
	if (*path == '/') {
		if (!is_beneath(path, HOME))
			return NULL;
		inner = path + strlen(HOME "/");
	}
	return *inner != '\0' ? xstrdup(inner) : NULL;
}

/* The last part of a path that may end in slashes; "", "." and ".." have none. */
static char *last_part(const char *path)
{
	size_t end = strlen(path);
	while (end > 0 && path[end - 1] == '/')
		end--;
	size_t start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	return xstrndup(path + start, end - start);
}

char *spec_file_target(const struct pair *file)
{
	auto_free char *name = last_part(file->from);
	if (!file->to)
		return home_path(name);
	if (file->to[strlen(file->to) - 1] != '/')
		return home_path(file->to);
	auto_free char *into = xasprintf("%s%s", file->to, name);
	if (*name == '\0')
		return NULL;
	return home_path(into);
}

char *spec_out_pattern(const struct pair *out, bool *ret_is_tmp)
{
	*ret_is_tmp = is_beneath(out->from, "/tmp");
	if (!*ret_is_tmp)
		return home_path(out->from);
	auto_free char *path = normalise(out->from);
	return path && is_beneath(path, "/tmp") ? xstrdup(path + strlen("/tmp/")) : NULL;
}

static int check_what_to_run(const struct spec *spec, struct err *err)
{
	int count = !!spec->code + !!spec->file + (spec->exec.count > 0);
	if (count == 0)
		return err_set(err, ERR_INVALID,
			"nothing to run: give a FILE, --code CODE or --exec -- PROG, for example "
			"hotcell run -c 'print(1)'");
	if (count > 1)
		return err_set(err, ERR_INVALID,
			"more than one thing to run: give only one of FILE, --code CODE and "
			"--exec -- PROG");
	if (spec->exec.count > 0 && *spec->exec.items[0] == '\0')
		return err_set(
			err, ERR_INVALID, "--exec: '' is no program, for example --exec -- ls -la");
	if (spec->exec.count > 0 && spec->language)
		return refuse("language", spec->language,
			"has no meaning with --exec, which runs a program as it is", ERR_INVALID,
			err);
	if (spec->exec.count > 0 && spec->python)
		return refuse("python", spec->python,
			"has no meaning with --exec, which runs a program as it is", ERR_INVALID,
			err);
	if (spec->exec.count > 0 && spec->args.count > 0)
		return refuse(
			"args", spec->args.items[0], "must stand in exec itself", ERR_INVALID, err);
	if (spec->file && spec->stdin_path && strcmp(spec->file, "-") == 0 &&
		strcmp(spec->stdin_path, "-") == 0)
		return refuse("stdin", "-", "is already read as the code", ERR_INVALID, err);
	return 0;
}

static bool is_variable(const char *text)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char later[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
				    "0123456789";
	if (*text == '\0' || !strchr(first, *text))
		return false;
	size_t len = strspn(text, later);
	return text[len] == '\0' || text[len] == '=';
}

static size_t total_bytes(const struct strings *list)
{
	size_t total = 0;
	for (size_t i = 0; i < list->count; i++)
		total += strlen(list->items[i]) + 1;
	return total;
}

static int check_job(const struct spec *spec, struct err *err)
{
	for (size_t i = 0; i < spec->env.count; i++) {
		if (!is_variable(spec->env.items[i]))
			return refuse("env", spec->env.items[i],
				"does not begin with a variable's name (letters, digits and _)",
				ERR_INVALID, err);
	}
	size_t total =
		total_bytes(&spec->exec) + total_bytes(&spec->args) + total_bytes(&spec->env);
	if (total > LIMIT_JOB_BYTES)
		return err_set(err, ERR_LIMIT,
			"arguments and variables together have %zu bytes, more than %d: hand long "
			"data over in a file, for example --file data.json",
			total, LIMIT_JOB_BYTES);
	return 0;
}

/* Adds `path` to `seen`, or says that it is there already. */
static int claim(struct strings *seen, const char *field, const char *path, struct err *err)
{
	for (size_t i = 0; i < seen->count; i++) {
		if (strcmp(seen->items[i], path) == 0)
			return refuse(
				field, path, "is the target of two entries", ERR_INVALID, err);
	}
	strings_add(seen, path);
	return 0;
}

static int check_mounts(
	const char *field, const struct pairs *mounts, struct strings *seen, struct err *err)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct pair *mount = &mounts->items[i];
		const char *wanted = mount->to ? mount->to : mount->from;
		auto_free char *path = spec_mount_target(mount);
		if (!path && *wanted != '/')
			return refuse(field, wanted,
				mount->to ? "must be an absolute path in the cell" : "is not there",
				ERR_INVALID, err);
		if (!path)
			return refuse(field, wanted,
				"cannot be a mount's place in the cell (not with '..', not the "
				"cell's own /usr, /etc, /proc, /dev, /tmp, /home/user …)",
				ERR_INVALID, err);
		TRY(claim(seen, field, path, err));
	}
	if (seen->count > LIMIT_MOUNTS)
		return err_set(
			err, ERR_LIMIT, "--ro and --rw: more than %d mounts in all", LIMIT_MOUNTS);
	return 0;
}

static int check_files(const struct spec *spec, struct strings *seen, struct err *err)
{
	for (size_t i = 0; i < spec->files.count; i++) {
		const struct pair *file = &spec->files.items[i];
		auto_free char *path = spec_file_target(file);
		if (!path)
			return refuse("files", file->to ? file->to : file->from,
				"does not name a place beneath /home/user (relative, without '..')",
				ERR_INVALID, err);
		TRY(claim(seen, "files", path, err));
	}
	for (size_t i = 0; i < spec->outs.count; i++) {
		bool is_tmp = false;
		auto_free char *path = spec_out_pattern(&spec->outs.items[i], &is_tmp);
		if (!path)
			return refuse("outs", spec->outs.items[i].from,
				"does not name files beneath /home/user or /tmp (without '..')",
				ERR_INVALID, err);
	}
	return 0;
}

static bool is_command(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-+.[";
	size_t len = strspn(name, allowed);
	return len > 0 && name[len] == '\0' && len < LIMIT_COMMAND_NAME && name[0] != '-' &&
	       strspn(name, ".") < len;
}

static bool has_command(const struct spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->commands.count; i++)
		if (strcmp(spec->commands.items[i], name) == 0)
			return true;
	return false;
}

static int check_commands(const struct spec *spec, struct err *err)
{
	for (size_t i = 0; i < spec->commands.count; i++)
		if (!is_command(spec->commands.items[i]))
			return refuse("commands", spec->commands.items[i],
				"is not the name of a program (letters, digits, _ - + . and no "
				"directory)",
				ERR_INVALID, err);
	if (spec->commands.count == 0 || spec->exec.count == 0)
		return 0;
	const char *slash = strrchr(spec->exec.items[0], '/');
	const char *name = slash ? slash + 1 : spec->exec.items[0];
	if (has_command(spec, name))
		return 0;
	return refuse(
		"commands", name, "is to be executed, but is not in the list", ERR_INVALID, err);
}

static int check_python(const struct spec *spec, struct err *err)
{
	if (spec->python && strcmp(spec->rootfs, "host") != 0)
		return refuse("python", spec->python,
			"is of the host, and --rootfs brings a system of its own", ERR_INVALID,
			err);
	return 0;
}

/* Names as import statements have them, of any language: os.path, node:fs, @scope/name. */
static int check_modules(const char *field, const struct strings *modules, struct err *err)
{
	for (size_t i = 0; i < modules->count; i++) {
		const char *name = modules->items[i];
		size_t len = strlen(name);
		bool is_plain = len > 0 && len <= LIMIT_MODULE_NAME;
		for (size_t j = 0; j < len && is_plain; j++)
			is_plain = (unsigned char)name[j] > ' ' && !strchr("\"'\\,;", name[j]) &&
				   name[j] != 0x7f;
		if (!is_plain)
			return refuse(field, name, "is no name of a module", ERR_INVALID, err);
	}
	return 0;
}

int spec_check(const struct spec *spec, struct err *err)
{
	struct strings mounts = { 0 }, files = { 0 };
	TRY(check_what_to_run(spec, err));
	TRY(check_python(spec, err));
	TRY(check_job(spec, err));
	TRY(check_commands(spec, err));
	if (spec->traceparent && !trace_is_valid(spec->traceparent))
		return refuse("traceparent", spec->traceparent,
			"is not 00-, 32 hexadecimal digits, -, 16 of them, - and 2 of them",
			ERR_INVALID, err);
	TRY(check_modules("allow_modules", &spec->allow_modules, err));
	TRY(check_modules("block_modules", &spec->block_modules, err));
	int r = check_mounts("ro", &spec->ro, &mounts, err);
	if (r == 0)
		r = check_mounts("rw", &spec->rw, &mounts, err);
	if (r == 0)
		r = check_files(spec, &files, err);
	strings_done(&mounts);
	strings_done(&files);
	return r;
}

void spec_bound(struct spec *spec)
{
	enum { CPU_MIN_MS = 10, SECOND_MS = 1000 };
	int64_t cpus_milli = spec->cpus_milli;
	if (spec->memory_most > 0 && spec->memory > spec->memory_most)
		spec->memory = spec->memory_most;
	if (spec->cpu_most_ms <= 0)
		return;
	if (cpus_milli == 0)
		cpus_milli = sysconf(_SC_NPROCESSORS_ONLN) * 1000;
	int64_t could_ms = spec->timeout_ms * (cpus_milli > 1000 ? cpus_milli : 1000) / 1000;
	if (spec->cpu_time_ms > 0 && spec->cpu_time_ms < could_ms)
		could_ms = spec->cpu_time_ms;
	if (could_ms > spec->cpu_most_ms)
		spec->cpu_time_ms = spec->cpu_most_ms < CPU_MIN_MS ? CPU_MIN_MS
				    : spec->cpu_most_ms < SECOND_MS
					    ? spec->cpu_most_ms
					    : spec->cpu_most_ms / SECOND_MS * SECOND_MS;
}
