/* SPDX-License-Identifier: Apache-2.0 */
/* A settings file is taken as a whole or refused with one line of clean text that names it. */
#include "fuzz/fuzz.h"

#include "config/config.h"

static void check_text(const struct err *err)
{
	MUST(err->code != ERR_NONE && strncmp(err->text, "f:", 2) == 0);
	for (const char *at = err->text; *at != '\0'; at++)
		MUST((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_values(const struct config *config)
{
	struct spec spec;
	struct err err = { 0 };
	struct config_key key;
	for (size_t i = 0; i < config->count; i++) {
		const struct config_value *value = &config->values[i];
		MUST(config_key(value->key, &key) && !key.field->is_once);
		MUST(value->line > 0 && value->place == CONFIG_USER);
		MUST(!value->language || key.is_of_run);
	}
	spec_init(&spec);
	spec.code = strdup("");
	MUST(config_apply(config, NULL, &spec, &err) == 0);
	MUST(spec_check(&spec, &err) == 0);
	spec_done(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config config;
	struct err err = { 0 };
	config_init(&config);
	if (config_read_text(&config, "f", (const char *)data, size, CONFIG_USER, &err) == 0)
		check_values(&config);
	else
		check_text(&err);
	config_done(&config);
	return 0;
}
