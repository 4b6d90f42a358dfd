/* SPDX-License-Identifier: Apache-2.0 */
/* A policy from a client is refused in one line of clean text, or understood: what is written of it
 * is read as the same. */
#include "fuzz/fuzz.h"

#include "model/policy.h"

static void check_text(const struct err *err)
{
	MUST(err->code != ERR_NONE && err->text[0] != '\0');
	for (const char *at = err->text; *at != '\0'; at++)
		MUST((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_sound(const struct policy *policy)
{
	MUST(policy->form < CELL_FORM_COUNT);
	MUST(policy->form == FORM_GATE || policy->standing.count > 0);
	MUST(policy->spec.interpreter == policy->interpreter);
	MUST(!policy->runtime || policy->runtime[0] == '/');
	for (size_t i = 0; i < spec_field_count; i++)
		MUST(!spec_fields[i].is_job || !spec_is_given(&policy->spec, &spec_fields[i]));
	for (size_t i = 0; i < policy->spec.ro.count; i++)
		MUST(policy->spec.ro.items[i].from[0] == '/');
	for (size_t i = 0; i < policy->spec.rw.count; i++)
		MUST(policy->spec.rw.items[i].from[0] == '/');
}

static char *read_and_write(const char *text, size_t len)
{
	struct policy policy;
	struct err err = { 0 };
	char *again = NULL;
	policy_init(&policy);
	if (policy_from_json(&policy, text, len, &err) == 0) {
		check_sound(&policy);
		again = policy_to_json(&policy);
		MUST(again);
	} else {
		check_text(&err);
	}
	policy_done(&policy);
	return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *once = read_and_write((const char *)data, size);
	if (!once)
		return 0;
	char *twice = read_and_write(once, strlen(once));
	MUST(twice && strcmp(once, twice) == 0);
	free(once);
	free(twice);
	return 0;
}
