/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is asked of sessions: it is refused in one line of clean text, or sound as a whole. */
#include "fuzz/fuzz.h"

#include "keeper/request.h"

static void check_refusal(const struct err *err)
{
	MUST(err->code != ERR_NONE && err->text[0] != '\0');
	for (const char *at = err->text; *at != '\0'; at++)
		MUST((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_name(const char *name)
{
	MUST(name[0] == '\0' || session_name_is_sound(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session_request request;
	struct err err = { 0 };
	if (session_request_read(&request, (const char *)data, size, &err) < 0) {
		check_refusal(&err);
	} else {
		MUST(request.verb > VERB_NONE && request.verb < SESSION_VERB_COUNT);
		check_name(request.session);
		check_name(request.name);
		check_name(request.point);
		MUST(request.memory < SESSION_MEMORY_COUNT);
		MUST(request.undo >= 0 && request.undo <= SESSION_UNDO_MAX);
		MUST(request.idle_s >= 0 && request.lifetime_s <= SESSION_SECONDS_MAX);
		for (size_t i = 0; i < request.env.count; i++)
			MUST(strchr(request.env.items[i], '='));
	}
	session_request_done(&request);
	return 0;
}
