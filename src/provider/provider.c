/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/provider.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

static int open_local(
	const struct spec *spec, const char *runtime, void **ret_handle, struct err *err)
{
	struct keeper *keeper = NULL;
	TRY(keeper_open(spec, runtime, KEEPER_ONCE, &keeper, err));
	*ret_handle = keeper;
	return 0;
}

static int run_local(void *handle, const struct task *task, struct result *result,
	struct report *report, struct err *err)
{
	return keeper_run(handle, task, result, report, err);
}

static int take_build_local(void *handle, int *ret_fd, struct err *err)
{
	return keeper_take_build(handle, ret_fd, err);
}

static void close_local(void *handle)
{
	keeper_close(handle);
}

static const struct provider provider_local = {
	.name = "local",
	.title = "namespaces, Landlock, seccomp and cgroups of this machine",
	.open = open_local,
	.run = run_local,
	.take_build = take_build_local,
	.close = close_local,
};

const struct provider *const providers[] = { &provider_local, NULL };

int provider_find(const char *name, const struct provider **ret_provider, struct err *err)
{
	auto_buf struct buf known;
	buf_init(&known, 1024);
	for (size_t i = 0; providers[i]; i++) {
		if (strcmp(providers[i]->name, name) == 0) {
			*ret_provider = providers[i];
			return 0;
		}
		(void)buf_printf(&known, "%s%s", i ? ", " : "", providers[i]->name);
	}
	return err_set(err, ERR_INVALID, "--provider: '%s' is not known; there is: %s", name,
		buf_text(&known));
}
