/* SPDX-License-Identifier: Apache-2.0 */
/* A definition that was taken can be run; one that was refused names its origin. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "runtime/runtime.h"

/* A program is a path, of the cell or of ours, once its placeholders are filled in. */
static void check_argv(const struct strings *argv)
{
	static const struct places places = { "F", "/r", "/b", "/p" };
	struct strings filled = { 0 };
	language_fill(argv, &places, &filled);
	MUST(filled.count == argv->count && filled.items[0][0] == '/');
	MUST(!language_uses(&filled, "{file}") && !language_uses(&filled, "{binary}"));
	MUST(!language_uses(&filled, "{runtime}") && !language_uses(&filled, "{prepared}"));
	strings_done(&filled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct language language;
	struct err err = { 0 };
	char version[16];
	auto_free char *text = xstrndup((const char *)data, size);
	if (language_parse_version(text, version, sizeof(version)))
		MUST(strchr(version, '.') && strlen(version) < sizeof(version));

	if (language_from_json(&language, (const char *)data, size, "ORIGIN", &err) < 0) {
		MUST(strncmp(err.text, "ORIGIN: ", 8) == 0);
		return 0;
	}
	MUST(language.name && language.title && language.program && language.package);
	check_argv(&language.argv);
	if (language.compile.count > 0) {
		check_argv(&language.compile);
		MUST(language_uses(&language.compile, "{file}"));
		MUST(language_uses(&language.compile, "{binary}"));
		MUST(language_uses(&language.argv, "{binary}"));
	} else {
		MUST(language_uses(&language.argv, "{file}"));
		MUST(!language_uses(&language.argv, "{binary}"));
	}
	if (language.prepare.count > 0)
		check_argv(&language.prepare);
	MUST(language_path(&language));
	MUST(!strchr(language.program, '/'));
	for (size_t i = 0; i < language.defaults.count; i++)
		MUST(strchr(language.defaults.items[i], '='));
	language_done(&language);
	return 0;
}
