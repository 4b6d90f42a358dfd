/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a restricted cell a program that is not in the list is simply not there, and nobody counts
 * the attempts. The shells tell of them, each in its own words; read here, and marked as such.
 */
#include "engine/explain.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"

enum where { WORD_BEFORE = 0, WORD_BEHIND };

/* What is said when something could not be executed, and where its name stands. */
static const struct refusal {
	const char *text;
	enum where where;
	bool is_path;         /* only a path is surely a program: files are not found, too */
	const char *only_for; /* said by this program; NULL: by a shell */
} refusals[] = {
	{ ": command not found", WORD_BEFORE, false, NULL },
	{ "command not found: ", WORD_BEHIND, false, NULL },
	{ ": not found", WORD_BEFORE, false, NULL },
	{ ": No such file or directory", WORD_BEFORE, false, "env: " },
	{ ": No such file or directory", WORD_BEFORE, false, "xargs: " },
	{ ": No such file or directory", WORD_BEFORE, false, "timeout: " },
	{ ": No such file or directory", WORD_BEFORE, false, "nohup: " },
	{ ": Permission denied", WORD_BEFORE, true, NULL },
};

/* The word that ends at `end`: after the last ": " before it, without quotes. */
static void word_before(const char *line, const char *end, char *word, size_t size)
{
	const char *start = end;
	while (start > line && !(start[-1] == ' ' && start - 2 >= line && start[-2] == ':'))
		start--;
	(void)snprintf(word, size, "%.*s", (int)(end - start), start);
}

static void strip_quotes(char *word)
{
	static const char *const marks[] = { "'", "\"", "‘", "’", "`" };
	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		size_t len = strlen(marks[i]);
		if (strncmp(word, marks[i], len) == 0)
			memmove(word, word + len, strlen(word + len) + 1);
		size_t rest = strlen(word);
		if (rest >= len && strcmp(word + rest - len, marks[i]) == 0)
			word[rest - len] = '\0';
	}
}

/* "--commands ls,find,git": the list and what it lacks, or as much of it as there is room for. */
static void write_option(const struct spec *spec, const char *name, char *option, size_t size)
{
	size_t used = (size_t)snprintf(option, size, "--commands ");
	for (size_t i = 0; i < spec->commands.count && used < size; i++)
		used += (size_t)snprintf(
			option + used, size - used, "%s,", spec->commands.items[i]);
	if (used < size)
		used += (size_t)snprintf(option + used, size - used, "%s", name);
	if (used >= size)
		(void)snprintf(option, size, "--commands …,%s", name);
}

static bool is_listed(const struct spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->commands.count; i++)
		if (strcmp(spec->commands.items[i], name) == 0)
			return true;
	return false;
}

static bool is_name(const char *text)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-+.[";
	size_t len = strspn(text, allowed);
	return len > 0 && text[len] == '\0' && len < LIMIT_COMMAND_NAME && text[0] != '-';
}

static bool is_program_path(const char *path)
{
	static const char *const places[] = { "/usr/", "/bin/", "/sbin/", "./", "/home/user/",
		"/tmp/", "/dev/shm/", "/lib64/", "/lib/" };
	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (strncmp(path, places[i], strlen(places[i])) == 0)
			return true;
	return false;
}

/* Only what lies where programs are has a name that the list could take. */
static bool is_in_bin(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dir = slash ? memrchr(path, '/', (size_t)(slash - path)) : NULL;
	return dir && (strncmp(dir, "/bin/", 5) == 0 || strncmp(dir, "/sbin/", 6) == 0);
}

static void add_denial(const struct spec *spec, struct result *result, const char *word)
{
	struct denial denial = {
		.layer = "commands", .operation = "execute", .evidence = "text", .count = 1
	};
	const char *slash = strrchr(word, '/');
	const char *name = slash ? slash + 1 : word;
	(void)snprintf(denial.target, sizeof(denial.target), "%s", word);
	if (is_name(name) && !is_listed(spec, name) && (!slash || is_in_bin(word)))
		write_option(spec, name, denial.option, sizeof(denial.option));
	result_add_denial(result, &denial);
}

static void read_line(const struct spec *spec, struct result *result, const char *line)
{
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		const struct refusal *refusal = &refusals[i];
		char word[LIMIT_COMMAND_NAME * 4];
		const char *at = strstr(line, refusal->text);
		if (!at || (refusal->only_for && strncmp(line, refusal->only_for,
							 strlen(refusal->only_for)) != 0))
			continue;
		const char *behind = at + strlen(refusal->text);
		if (refusal->where == WORD_BEHIND)
			(void)snprintf(word, sizeof(word), "%s", behind);
		else if (*behind == '\0')
			word_before(line, at, word, sizeof(word));
		else
			continue;
		strip_quotes(word);
		if (refusal->is_path ? is_program_path(word)
				     : is_name(word) || is_program_path(word))
			add_denial(spec, result, word);
		return;
	}
}

void explain_commands(const struct spec *spec, struct result *result)
{
	const char *text = result->err.text ? result->err.text : "";
	while (*text) {
		size_t len = strcspn(text, "\n");
		auto_free char *line = xstrndup(text, len);
		read_line(spec, result, line);
		text += len + (text[len] == '\n');
	}
}
