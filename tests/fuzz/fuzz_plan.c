/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan from anywhere: what the check takes has every wall that may not be missing, ids that are
 * not root's and paths that end. The input lies over a good template, a patch at a time: an
 * offset of two bytes, a length of one, then the bytes; so that a few bytes reach any field.
 */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "jail/jail.h"

static void lay_good(struct template_page *template, uint8_t choice)
{
	struct plan *plan = &template->base.plan;
	enum jail_mode mode = choice & 1 ? MODE_ROOT : MODE_ROOTLESS;
	enum net_mode net = choice & 2 ? NET_LOOPBACK : NET_NONE;
	*plan = (struct plan){ .magic = PLAN_MAGIC,
		.mode = mode,
		.net = net,
		.wanted = jail_steps_of(mode, net),
		.uid = 200000,
		.gid = 200000,
		.disk = 1,
		.inodes = 1,
		.pids = 1,
		.memory = 1 };
	template->mount_count = choice >> 4;
	template->rootfs[0] = '/';
	for (size_t i = 0; i < LIMIT_MOUNTS; i++)
		template->mounts[i].from[0] = template->mounts[i].to[0] = '/';
}

/* The offset counts in 16ths for the large part behind the plan. */
static void lay_patches(struct template_page *template, const uint8_t *data, size_t size)
{
	char *bytes = (char *)template;
	while (size >= 3) {
		size_t offset = (size_t)data[0] | (size_t)data[1] << 8;
		size_t len = data[2];
		data += 3;
		size -= 3;
		if (offset >= 1024)
			offset = 1024 + (offset - 1024) * 16;
		offset %= sizeof(*template);
		if (len > size)
			len = size;
		if (len > sizeof(*template) - offset)
			len = sizeof(*template) - offset;
		memcpy(bytes + offset, data, len);
		data += len;
		size -= len;
	}
	/* a bool that is neither true nor false is not what this looks for */
	struct plan *plan = &template->base.plan;
	bool *const flags[] = { &plan->is_resident, &plan->may_copy, &plan->is_probe,
		&plan->has_full_proc, &plan->is_restricted };
	for (size_t i = 0; i < COUNT_OF(flags); i++) {
		unsigned char byte;
		memcpy(&byte, flags[i], 1);
		byte &= 1;
		memcpy(flags[i], &byte, 1);
	}
}

static void check_plan(const struct plan *plan)
{
	MUST(plan->magic == PLAN_MAGIC);
	MUST(plan->mode == MODE_ROOT || plan->mode == MODE_ROOTLESS);
	MUST((unsigned int)plan->net < NET_MODE_COUNT && (unsigned int)plan->fault < STEP_ID_COUNT);
	MUST((unsigned int)plan->cgroup <= CGROUP_V2 && plan->cgroup_fd_count <= CGROUP_FDS_MAX);
	MUST(plan->uid != 0 && plan->gid != 0);
	MUST(plan->disk > 0 && plan->inodes > 0 && plan->pids > 0 && plan->memory > 0);
	const uint64_t optional = UINT64_C(1) << STEP_CGROUP | UINT64_C(1) << STEP_LANDLOCK;
	MUST(!plan->is_restricted || (plan->wanted & UINT64_C(1) << STEP_LANDLOCK));
	uint64_t missing = jail_steps_of_plan(plan) & ~plan->wanted & ~optional;
	MUST(plan->is_probe || missing == 0);
	MUST((plan->wanted & ~jail_steps_of_plan(plan)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	auto_free struct template_page *template = xcalloc(1, sizeof(*template));
	lay_good(template, size > 0 ? data[0] : 0);
	MUST(jail_check_template(template, &err) == 0);
	if (size > 0)
		lay_patches(template, data + 1, size - 1);
	if (jail_check_plan(&template->base.plan, &err) < 0) {
		MUST(err.code == ERR_BROKEN && err.text[0] != '\0');
		MUST(jail_check_template(template, &err) < 0);
		return 0;
	}
	check_plan(&template->base.plan);
	if (jail_check_template(template, &err) < 0)
		return 0;
	MUST(template->mount_count <= LIMIT_MOUNTS && template->program_count <= LIMIT_PROGRAMS);
	MUST(template->base.plan.is_restricted == (template->program_count > 0));
	for (size_t i = 0; i < template->program_count; i++)
		MUST(template->programs[i][0] == '/' &&
			memchr(template->programs[i], '\0', LIMIT_PROGRAM_PATH));
	MUST(template->rootfs[0] == '/');
	MUST(memchr(template->rootfs, '\0', sizeof(template->rootfs)));
	for (size_t i = 0; i < template->mount_count; i++) {
		MUST(template->mounts[i].to[0] == '/');
		MUST(memchr(template->mounts[i].to, '\0', sizeof(template->mounts[i].to)));
		MUST(memchr(template->mounts[i].from, '\0', sizeof(template->mounts[i].from)));
	}
	return 0;
}
