/* SPDX-License-Identifier: Apache-2.0 */
#include "session/session.h"

#include <string.h>

bool session_is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t len = strlen(name);
	return len > 0 && len <= SESSION_NAME_MAX && strspn(name, letters) == len &&
	       name[0] != '-' && name[0] != '.';
}

static int refuse(struct err *err)
{
	return err_set(err, ERR_MISSING, "sessions are not here yet");
}

int session_new(struct spec *spec, const struct session_wish *wish, struct json_object **ret_info,
	struct err *err)
{
	(void)spec, (void)wish, (void)ret_info;
	return refuse(err);
}

int session_ask(struct json_object *request, struct json_object **ret_answer, struct err *err)
{
	(void)request, (void)ret_answer;
	return refuse(err);
}

int session_exec(const struct session_turn *turn, struct result *result, struct err *err)
{
	(void)turn, (void)result;
	return refuse(err);
}

int session_question(const char *session, struct json_object *request,
	struct json_object **ret_answer, struct err *err)
{
	(void)session, (void)request, (void)ret_answer;
	return refuse(err);
}
