/* SPDX-License-Identifier: Apache-2.0 */
/* What every call does first and last. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/parts.h"

const char *hotcell_version(void)
{
	return HOTCELL_VERSION;
}

void hotcell_text_free(char *text)
{
	free(text);
}

int settings_load(struct config *config, struct err *err)
{
	config_init(config);
	return config_load(config, &(struct config_wish){ 0 }, err);
}

/* What they say of places is looked for in the environment. The one thing of the process that is
 * changed, so it happens once. */
static pthread_once_t has_passed_on = PTHREAD_ONCE_INIT;

static void pass_on(void)
{
	struct config config;
	struct err err = { 0 };
	if (settings_load(&config, &err) == 0)
		config_pass_on(&config);
	config_done(&config);
}

void call_begin(struct call *call)
{
	sigset_t pipe, pending;
	*call = (struct call){ 0 };
	(void)sigemptyset(&pipe);
	(void)sigaddset(&pipe, SIGPIPE);
	(void)sigpending(&pending);
	call->had_pipe = sigismember(&pending, SIGPIPE) == 1;
	(void)pthread_sigmask(SIG_BLOCK, &pipe, &call->before);
	(void)pthread_once(&has_passed_on, pass_on);
}

/* Takes one of ours away before anybody can hear it. */
static void unblock(const struct call *call)
{
	sigset_t pipe;
	const struct timespec now = { 0 };
	(void)sigemptyset(&pipe);
	(void)sigaddset(&pipe, SIGPIPE);
	if (!call->had_pipe)
		(void)sigtimedwait(&pipe, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &call->before, NULL);
}

int call_end(struct call *call, int r, struct hotcell_error *error)
{
	unblock(call);
	if (error)
		*error = (struct hotcell_error){ 0 };
	if (r < 0 && error) {
		/* the two tables are one; see the assertions below */
		error->code = (enum hotcell_error_code)call->err.code;
		(void)snprintf(error->text, sizeof(error->text), "%s", call->err.text);
	}
	return r;
}

_Static_assert((int)HOTCELL_ERROR_INVALID == (int)ERR_INVALID, "codes are handed on");
_Static_assert((int)HOTCELL_ERROR_INTERRUPTED == (int)ERR_INTERRUPTED, "codes are handed on");
_Static_assert((int)ERR_INTERRUPTED + 1 == (int)ERR_CODE_COUNT, "every code has a public name");

int hotcell_init(struct hotcell_error *error)
{
	struct call call;
	struct config config;
	call_begin(&call);
	int r = settings_load(&config, &call.err);
	config_done(&config);
	return call_end(&call, r, error);
}
