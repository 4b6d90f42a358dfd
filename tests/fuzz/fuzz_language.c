/* SPDX-License-Identifier: Apache-2.0 */
/* A definition that was taken can be run; one that was refused names its origin. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "runtime/runtime.h"

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
	MUST(language.argv.count >= 2 && language.argv.items[0][0] == '/');
	MUST(!strchr(language.program, '/'));
	for (size_t i = 0; i < language.defaults.count; i++)
		MUST(strchr(language.defaults.items[i], '='));
	language_done(&language);
	return 0;
}
