/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zygote inside an interpreter: it holds what takes long to load and forks payloads that have it
 * already. It raises a template as any zygote does, loads its modules in there, and then serves:
 * each request names an init that stands in its namespaces, and the new process joins it as the
 * payload that init did not fork but adopts. The fork is the only moment at which interpreter and
 * cell touch: no byte of a request passes through the interpreter's memory.
 */
#pragma once

#include "jail/jail.h"

/* Waits for the template and raises it; gives up what serving does not need. */
int interpreter_enter(int control_fd, struct err *err);

/* How the language runs its own hooks around a fork. */
struct fork_hooks {
	void (*before)(void);
	void (*after_in_parent)(void);
	void (*after_in_child)(void);
};

/* Serves until the supervisor is gone (1), or returns 0 in a new payload whose walls stand; one
 * whose walls do not stand ends. Less: there are threads, which a fork would not copy. */
int interpreter_serve(int control_fd, const struct fork_hooks *hooks, struct err *err);

/* Tells the supervisor why there will be no guests. */
void interpreter_refuse(const char *why);

/* In a payload: whether its job is there, and taking it, for which it waits. */
bool interpreter_is_called(void);
int interpreter_take_job(struct job *ret_job);
