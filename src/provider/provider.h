/* SPDX-License-Identifier: Apache-2.0 */
/* Who isolates: one face for every kind of cell. A provider starts a task, watches it and ends
 * it; what the task is and what its result means is settled above. */
#pragma once

#include "base/err.h"
#include "keeper/keeper.h"

struct provider {
	const char *name;
	const char *title;
	/* `runtime` is the directory of the language's runner, or NULL. */
	int (*open)(
		const struct spec *spec, const char *runtime, void **ret_handle, struct err *err);
	/* As keeper_run(). */
	int (*run)(void *handle, const struct task *task, struct result *result,
		struct report *report, struct err *err);
	/* As keeper_take_build(). */
	int (*take_build)(void *handle, int *ret_fd, struct err *err);
	/* Cleans up; the answer need not wait for it. */
	void (*close)(void *handle);
};

extern const struct provider *const providers[]; /* NULL-terminated */

/* By name. Unknown: an error that lists the known ones. */
int provider_find(const char *name, const struct provider **ret_provider, struct err *err);
