/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/stand.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "keeper/keeper.h"

/* A variable that is read while the language starts was read before anybody gave it another
 * value. */
static bool wants_cold_start(const struct language *language, const struct spec *spec)
{
	for (size_t i = 0; i < spec->env.count; i++) {
		const char *variable = spec->env.items[i];
		if (language_is_cold(language, variable) && !keeper_has_variable(variable))
			return true;
	}
	return false;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

static bool is_word_at(const char *at, const char *end, const char *word)
{
	size_t len = strlen(word);
	if ((size_t)(end - at) < len || strncmp(at, word, len) != 0)
		return false;
	return at + len == end || !(isalnum((unsigned char)at[len]) || at[len] == '_');
}

/* Whether a statement begins with "import NAME" or "from NAME", or names it behind a comma. A guess
 * that is wrong costs time, nothing else. */
static bool does_statement_import(const char *at, const char *end, const char *name)
{
	at = skip_blanks(at, end);
	if (is_word_at(at, end, "from"))
		return is_word_at(skip_blanks(at + strlen("from"), end), end, name);
	if (!is_word_at(at, end, "import"))
		return false;
	for (at += strlen("import"); !is_word_at(skip_blanks(at, end), end, name); at++) {
		at = memchr(at, ',', (size_t)(end - at));
		if (!at)
			return false;
	}
	return true;
}

static bool does_import(const char *code, size_t len, const char *module)
{
	auto_free char *name = xstrndup(module, strcspn(module, "."));
	const char *end = code + len;
	for (const char *at = code; at < end;) {
		const char *stop = at;
		while (stop < end && *stop != '\n' && *stop != ';')
			stop++;
		if (does_statement_import(at, stop, name))
			return true;
		at = stop + 1;
	}
	return false;
}

/* The first set with a module that the code imports. The first of all is loaded in any case. */
static const struct preload *guess_preload(
	const struct language *language, const char *code, size_t len)
{
	for (size_t i = 1; i < language->preload.count; i++) {
		const struct preload *preload = &language->preload.items[i];
		for (size_t j = 0; j < preload->modules.count; j++)
			if (does_import(code, len, preload->modules.items[j]))
				return preload;
	}
	return language->preload.count > 0 ? &language->preload.items[0] : NULL;
}

static int refuse_preload(const struct language *language, const char *name, struct err *err)
{
	auto_buf struct buf known;
	buf_init(&known, 1024);
	(void)buf_append(&known, "auto", 4);
	for (size_t i = 0; i < language->preload.count; i++)
		(void)buf_printf(&known, ", %s", language->preload.items[i].name);
	return err_set(err, ERR_INVALID, "--preload: %s has no set '%.40s'; there is: %s",
		language->name, name, buf_text(&known));
}

/* *ret_modules: NULL when there are none to load. */
static int choose_preload(const struct language *language, const struct spec *spec,
	const char *code, size_t len, const struct strings **ret_modules, struct err *err)
{
	const struct preload *guess = NULL;
	*ret_modules = NULL;
	if (strcmp(spec->preload, "auto") == 0)
		guess = guess_preload(language, code, len);
	else
		*ret_modules = language_preload(language, spec->preload);
	if (guess)
		*ret_modules = &guess->modules;
	else if (!*ret_modules && strcmp(spec->preload, "auto") != 0)
		return refuse_preload(language, spec->preload, err);
	return 0;
}

/* There are thirty of them, and a run needs them only to see that they are what they were. */
static void borrow(struct strings *list, const struct strings *more)
{
	list->items = xrealloc(list->items, list->count + more->count + 1, sizeof(*list->items));
	for (size_t i = 0; i < more->count; i++)
		list->items[list->count++] = more->items[i];
	list->items[list->count] = NULL;
}

int stand_choose(const struct language *language, const struct spec *spec, const char *runtime,
	const char *code, size_t code_len, struct stand *stand, struct err *err)
{
	const struct strings *modules = NULL;
	/* an interpreter that cells are forked from is the host's, and all of them are its image */
	bool is_guest = language->guest.count > 0 && strcmp(spec->rootfs, "host") == 0 &&
			!spec->unique_layout;
	TRY(choose_preload(language, spec, code, code_len, &modules, err));
	if (spec->cold || spec->commands.count > 0 || !runtime ||
		(!is_guest && language->started.count == 0) || wants_cold_start(language, spec))
		return 0;
	const struct places places = { .runtime = is_guest ? runtime : RUNTIME_DIR };
	stand->form = is_guest ? FORM_GUEST : FORM_STARTED;
	language_fill(is_guest ? &language->guest : &language->started, &places, &stand->argv);
	stand->own_count = stand->argv.count;
	if (!is_guest || !modules)
		return 0;
	if (modules != &language->preload.items[0].modules)
		borrow(&stand->argv, &language->preload.items[0].modules);
	borrow(&stand->argv, modules);
	return 0;
}

void stand_done(struct stand *stand)
{
	stand->argv.count = stand->own_count;
	strings_done(&stand->argv);
	*stand = (struct stand){ 0 };
}
