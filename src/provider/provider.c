/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"

/* The kernel of this machine isolates; the cell is borrowed where cells are lent, else our own. */
struct local {
	char *runtime;         /* owned, or NULL */
	struct keeper *keeper; /* owned; NULL until the first run */
};

static int open_local(
	const struct spec *spec, const char *runtime, void **ret_handle, struct err *err)
{
	struct local *local = xcalloc(1, sizeof(*local));
	(void)spec;
	(void)err;
	local->runtime = runtime ? xstrdup(runtime) : NULL;
	*ret_handle = local;
	return 0;
}

/* 1: borrowed; 0: nobody lends, or not such a cell. */
static int borrow(struct local *local, const struct task *task, struct err *err)
{
	const struct spec *spec = task->spec;
	const struct borrower borrower = { .interrupt_fd = task->interrupt_fd,
		.queued = task->outlet.queued,
		.context = task->outlet.context,
		.task = task,
		.ahead = task->ahead };
	/* all of it borrowed from the task */
	const struct policy policy = { .spec = *spec,
		.runtime = local->runtime,
		.form = task->form,
		.standing = task->standing ? *task->standing : (struct strings){ 0 },
		.has_full_proc = task->needs_full_proc,
		.interpreter = (char *)spec->interpreter };
	/* a fault is meant for a cell of our own */
	if (spec->cold || getenv("HOTCELL_FAULT"))
		return 0;
	return keeper_borrow(&policy, &borrower, &local->keeper, err);
}

static int run_local(void *handle, const struct task *task, struct result *result,
	struct report *report, struct err *err)
{
	struct local *local = handle;
	int r = local->keeper ? 0 : borrow(local, task, err);
	if (r < 0)
		return -1;
	if (r == 1) {
		r = keeper_run(local->keeper, task, result, report, err);
		/* a cell that died while it stood ready ran nothing; then one of our own will do */
		if (r == 0 || err->code != ERR_BROKEN)
			return r;
		keeper_close(take_ptr(&local->keeper));
		*err = (struct err){ 0 };
	}
	if (!local->keeper)
		TRY(keeper_open(task->spec, local->runtime, KEEPER_ONCE, &local->keeper, err));
	return keeper_run(local->keeper, task, result, report, err);
}

static int take_build_local(void *handle, int *ret_fd, struct err *err)
{
	struct local *local = handle;
	return keeper_take_build(local->keeper, ret_fd, err);
}

static void close_local(void *handle)
{
	struct local *local = handle;
	keeper_close(local->keeper);
	free(local->runtime);
	free(local);
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
