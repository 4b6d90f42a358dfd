/* SPDX-License-Identifier: Apache-2.0 */
/* What shells and others say when a program is not there, in their own words. */
#include "unit/test.h"

#include "engine/explain.h"

static struct spec spec;
static struct result result;

static void run(const char *text)
{
	spec_done(&spec);
	result_done(&result);
	spec_init(&spec);
	result_init(&result);
	strings_add(&spec.commands, "ls");
	strings_add(&spec.commands, "find");
	result.err.text = xstrdup(text);
	explain_commands(&spec, &result);
}

__attribute__((destructor)) static void clean_up(void)
{
	spec_done(&spec);
	result_done(&result);
}

#define GIT "--commands ls,find,git"

/* clang-format off */
static const struct sample {
	const char *text, *target, *option;
} samples[] = {
	{ "main.bash: line 1: git: command not found\n", "git", GIT },
	{ "main.sh: 1: git: not found\n", "git", GIT },
	{ "zsh:1: command not found: git", "git", GIT },
	{ "env: ‘git’: No such file or directory", "git", GIT },
	{ "xargs: git: No such file or directory", "git", GIT },
	{ "main.sh: 2: /usr/bin/git: not found", "/usr/bin/git", GIT },
	{ "main.bash: line 3: ./s: Permission denied", "./s", "" },
	{ "main.bash: line 3: /usr/lib/git-core/git: Permission denied", "/usr/lib/git-core/git", "" },
};
/* clang-format on */

TEST(an_attempt_to_run_something_else_is_explained)
{
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		run(samples[i].text);
		if (result.denial_count != 1)
			FAIL("%s: %zu denials", samples[i].text, result.denial_count);
		ASSERT_STR(result.denials[0].layer, "commands");
		ASSERT_STR(result.denials[0].target, samples[i].target);
		ASSERT_STR(result.denials[0].option, samples[i].option);
	}
}

TEST(other_words_are_not_taken_for_it)
{
	static const char *const others[] = {
		"cat: notes: No such file or directory",
		"ls: cannot access 'x': No such file or directory",
		"find: ‘x’: No such file or directory",
		"grep: word: command not found here",
		"main.bash: line 1: notes: Permission denied",
		"error: key not found",
		": command not found",
		"not found",
	};
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		run(others[i]);
		if (result.denial_count != 0)
			FAIL("%s: taken for %s", others[i], result.denials[0].target);
	}
}

TEST(a_long_list_is_shortened_in_the_option)
{
	char text[128];
	run("");
	for (int i = 0; i < 40; i++)
		strings_add(&spec.commands, "program");
	(void)snprintf(text, sizeof(text), "x: line 1: git: command not found");
	free(result.err.text);
	result.err.text = xstrdup(text);
	explain_commands(&spec, &result);
	ASSERT_STR(result.denials[0].option, "--commands …,git");
}
