/* SPDX-License-Identifier: Apache-2.0 */
/* A spec from an outsider is taken or refused with one line of clean text, and never half known. */
#include "fuzz/fuzz.h"

#include "model/spec.h"
#include "wire/utf8.h"

static void check_text(const struct err *err)
{
	MUST(err->code != ERR_NONE && err->text[0] != '\0');
	for (const char *at = err->text; *at != '\0'; at++)
		MUST((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_bounds(const struct spec *spec)
{
	MUST(spec->timeout_ms >= 10 && spec->timeout_ms <= 86400000);
	MUST(spec->memory >= 4 << 20 && spec->memory <= (int64_t)1 << 40);
	MUST(spec->pids >= 1 && spec->pids <= 32768);
	MUST(spec->net >= 0 && spec->net < NET_MODE_COUNT);
	MUST(strcmp(spec->provider, "local") == 0);
}

static void check_targets(const struct pairs *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		char *target = spec_mount_target(&mounts->items[i]);
		MUST(target && target[0] == '/' && !strstr(target, "/../"));
		free(target);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spec spec;
	struct err err = { 0 };
	spec_init(&spec);
	int r = spec_from_json(&spec, (const char *)data, size, &err);
	check_bounds(&spec);
	if (r == 0)
		r = spec_check(&spec, &err);
	if (r == 0) {
		check_targets(&spec.ro);
		check_targets(&spec.rw);
	} else {
		check_text(&err);
	}
	spec_done(&spec);
	return 0;
}
