/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/keeper.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/place.h"
#include "keeper/cell.h"
#include "keeper/programs.h"

enum { ROOTLESS_UID = 1000 }; /* what an ordinary user is called inside */

static uint64_t bit(enum step_id id)
{
	return UINT64_C(1) << id;
}

static int fill_mounts(struct template_page *template, const struct pairs *pairs, bool is_writable,
	struct err *err)
{
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];
		const char *flag = is_writable ? "--rw" : "--ro";
		struct plan_mount *mount = &template->mounts[template->mount_count++];
		auto_free char *to = spec_mount_target(pair);
		struct stat st;
		if (!realpath(pair->from, mount->from) || stat(mount->from, &st) < 0)
			return err_sys(err, errno, "%s: open '%s'", flag, pair->from);
		if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
			return err_set(err, ERR_INVALID,
				"%s: '%s' is neither a directory nor a file", flag, pair->from);
		if (!to || strlen(to) >= sizeof(mount->to))
			return err_set(err, ERR_INVALID, "%s: '%s' cannot be a path of a cell",
				flag, pair->to ? pair->to : pair->from);
		(void)snprintf(mount->to, sizeof(mount->to), "%s", to);
		mount->is_writable = is_writable;
	}
	return 0;
}

/* HOTCELL_FAULT=step:NAME makes one step fail. It can only ever refuse a cell. */
static int read_fault(struct plan *plan, struct err *err)
{
	const char *text = getenv("HOTCELL_FAULT");
	if (!text || strncmp(text, "step:", 5) != 0)
		return 0;
	const struct jail_step *step = jail_step_find(text + 5);
	if (!step)
		return err_set(
			err, ERR_INVALID, "HOTCELL_FAULT: no layer is called '%s'", text + 5);
	plan->fault = jail_step_id(step);
	return 0;
}

static int name_step(const char *flag, const char *name, enum step_id *ret_id, struct err *err)
{
	const struct jail_step *step = jail_step_find(name);
	if (!step)
		return err_set(err, ERR_INVALID,
			"%s: no layer is called '%s'; hotcell doctor lists them", flag, name);
	*ret_id = jail_step_id(step);
	return 0;
}

static int leave_out(const struct spec *spec, struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < spec->without.count; i++) {
		enum step_id id = STEP_NONE;
		TRY(name_step("--without", spec->without.items[i], &id, err));
		if (!jail_steps[id].is_optional)
			return err_set(err, ERR_INVALID,
				"--without: no cell stands without '%s'; only cgroup and landlock "
				"may "
				"be left out",
				jail_steps[id].name);
		plan->wanted &= ~bit(id);
	}
	if (plan->is_restricted && !(plan->wanted & bit(STEP_LANDLOCK)))
		return err_set(err, ERR_INVALID, "--commands: needs the layer 'landlock'; %s",
			jail_steps[STEP_LANDLOCK].fix);
	return 0;
}

/* Whether cells get cgroups is no concern of the template, which is being raised meanwhile. */
static int settle_cgroup(struct keeper *keeper, const struct spec *spec, struct err *err)
{
	bool has_site = keeper->site.kind != CGROUP_NONE;
	keeper->wanted = keeper->template->base.plan.wanted;
	/* an ordinary user seldom has one: its absence is reported, not refused */
	if (keeper->mode == MODE_ROOTLESS && !has_site)
		keeper->wanted &= ~bit(STEP_CGROUP);
	bool has_cgroup = keeper->wanted & bit(STEP_CGROUP);
	if (spec->cpus_milli > 0 && !has_cgroup)
		return err_set(err, ERR_MISSING,
			"--cpus: needs the layer 'cgroup', which is not active here; %s",
			jail_steps[STEP_CGROUP].fix);
	for (size_t i = 0; i < spec->require.count; i++) {
		enum step_id id = STEP_NONE;
		TRY(name_step("--require", spec->require.items[i], &id, err));
		if (!(keeper->wanted & bit(id)))
			return err_set(err, ERR_MISSING,
				"--require: layer '%s' is not active here; %s", jail_steps[id].name,
				jail_steps[id].fix);
	}
	if (has_cgroup && !has_site && !keeper->is_probe)
		return err_set(err, ERR_MISSING,
			"layer 'cgroup' (%s) could not be raised: %s; to mend it: %s; or accept a "
			"weaker cell with --without cgroup",
			jail_steps[STEP_CGROUP].title, keeper->site.why,
			jail_steps[STEP_CGROUP].fix);
	return 0;
}

static int fill_template(const struct keeper *keeper, const struct spec *spec, const char *runtime,
	struct template_page *template, struct err *err)
{
	struct plan *plan = &template->base.plan;
	plan->magic = PLAN_MAGIC;
	plan->mode = keeper->mode;
	plan->host_uid = geteuid();
	plan->host_gid = getegid();
	plan->is_resident = keeper->is_resident;
	plan->may_copy = keeper->changes_fd >= 0;
	plan->net = (enum net_mode)spec->net;
	plan->disk = spec->disk;
	plan->inodes = spec->inodes;
	plan->pids = spec->pids;
	plan->memory = spec->memory;
	plan->cpu_time_ms = spec->cpu_time_ms;
	plan->uid = plan->gid = keeper->mode == MODE_ROOT
					? (uint32_t)(SLOT_UID_BASE + keeper->slot.number)
					: ROOTLESS_UID;
	if (strcmp(spec->rootfs, "host") == 0)
		(void)snprintf(template->rootfs, sizeof(template->rootfs), "/");
	else if (!realpath(spec->rootfs, template->rootfs))
		return err_sys(err, errno, "--rootfs: open '%s'", spec->rootfs);
	if (runtime && !realpath(runtime, template->runtime))
		return err_sys(err, errno, "open the runtime '%s'", runtime);
	TRY(programs_find(template, spec, err));
	plan->wanted = jail_steps_of_plan(plan);
	TRY(fill_mounts(template, &spec->ro, false, err));
	TRY(fill_mounts(template, &spec->rw, true, err));
	TRY(read_fault(plan, err));
	return leave_out(spec, plan, err);
}

static int take_slot(struct keeper *keeper, struct err *err)
{
	if (keeper->has_slot || (keeper->mode != MODE_ROOT && keeper->site.kind == CGROUP_NONE))
		return 0;
	TRY(slot_take(&keeper->slot, err));
	keeper->has_slot = true;
	return 0;
}

static bool leaves_out_cgroup(const struct spec *spec)
{
	for (size_t i = 0; i < spec->without.count; i++)
		if (strcmp(spec->without.items[i], jail_steps[STEP_CGROUP].name) == 0)
			return true;
	return false;
}

static int make_spare_group(struct keeper *keeper, const struct spec *spec, struct err *err)
{
	if (keeper->site.kind != CGROUP_V2 || leaves_out_cgroup(spec))
		return 0;
	TRY(cgroup_make(&keeper->spare_group, &keeper->site, keeper->slot.number, err));
	keeper->has_spare_group = true;
	return 0;
}

static int open_template(struct keeper *keeper, const struct spec *spec, const char *runtime,
	uint64_t passed_over, struct err *err)
{
	auto_fd int page_fd = -1;
	void *page = NULL;
	TRY(page_make(sizeof(*keeper->template), &page, &page_fd, err));
	keeper->template = page;
	keeper->base = &keeper->template->base;
	struct plan *plan = &keeper->template->base.plan;
	TRY(fill_template(keeper, spec, runtime, keeper->template, err));
	for (size_t i = 0; i < spec->commands.count; i++)
		strings_add(&keeper->commands, spec->commands.items[i]);
	plan->is_probe = keeper->is_probe;
	plan->wanted &= ~passed_over;
	return zygote_template(&keeper->zygote, page_fd, -1, err);
}

/* A single cell needs no zygote beside it. An id map, though, is made by a process that the born
 * could not name: its pids are not those of the /proc it sees. */
static enum zygote_form choose_form(
	const struct keeper *keeper, const struct spec *spec, enum keeper_life life)
{
	if (life == KEEPER_RESIDENT || life == KEEPER_LENDER || place_is_foreign())
		return ZYGOTE_PROGRAM;
	bool has_id_maps = keeper->mode == MODE_ROOT && spec->ro.count + spec->rw.count > 0;
	return has_id_maps || life == KEEPER_PROBE ? ZYGOTE_COPY : ZYGOTE_BORN;
}

static void find_site(struct keeper *keeper, const struct spec *spec)
{
	if (!keeper->has_looked)
		cgroup_find(&keeper->site, spec->cpus_milli > 0);
	keeper->has_looked = true;
}

/* First of all, so that it starts up while we look around; only a v2 group must be there before. */
static int start_zygote(
	struct keeper *keeper, const struct spec *spec, enum keeper_life life, struct err *err)
{
	enum zygote_form form = choose_form(keeper, spec, life);
	int cgroup_fd = -1;
	if (form == ZYGOTE_BORN && cgroup_is_v2()) {
		find_site(keeper, spec);
		TRY(take_slot(keeper, err));
		TRY(make_spare_group(keeper, spec, err));
	}
	if (keeper->has_spare_group)
		cgroup_fd = keeper->spare_group.dir_fds[0];
	return zygote_start(&keeper->zygote, form, keeper->mode, cgroup_fd, err);
}

static int begin(struct keeper *keeper, const struct spec *spec, const char *runtime,
	enum keeper_life life, uint64_t passed_over, struct err *err)
{
	TRY(start_zygote(keeper, spec, life, err));
	if (keeper->mode == MODE_ROOT) /* the slot's number gives the template its user */
		TRY(take_slot(keeper, err));
	TRY(open_template(keeper, spec, runtime, passed_over, err));
	find_site(keeper, spec);
	TRY(take_slot(keeper, err));
	return settle_cgroup(keeper, spec, err);
}

static struct keeper *new_keeper(enum jail_mode mode)
{
	struct keeper *keeper = xcalloc(1, sizeof(*keeper));
	keeper->mode = mode;
	keeper->slot.fd = keeper->network_fd = keeper->changes_fd = -1;
	keeper->loan_fd = -1;
	keeper->zygote = (struct zygote){ .sock = -1, .pid = -1, .pidfd = -1 };
	keeper->spare_kit = KIT_NONE;
	host_init(&keeper->host);
	host_init(&keeper->next_host);
	return keeper;
}

struct keeper *keeper_for_loan(enum jail_mode mode, const struct spec *spec)
{
	struct keeper *keeper = new_keeper(mode);
	keeper->has_swept = true; /* the lender's affair */
	for (size_t i = 0; i < spec->commands.count; i++)
		strings_add(&keeper->commands, spec->commands.items[i]);
	return keeper;
}

static int open_keeper(const struct spec *spec, const char *runtime, enum keeper_life life,
	uint64_t passed_over, struct keeper **ret_keeper, struct err *err)
{
	struct keeper *keeper = new_keeper(machine_mode());
	keeper->is_resident = life == KEEPER_RESIDENT || life == KEEPER_LENDER;
	keeper->is_lender = life == KEEPER_LENDER;
	keeper->is_probe = life == KEEPER_PROBE;
	if (keeper->is_lender) /* before anything is copied */
		keeper->changes_fd = changes_watch(
			strcmp(spec->rootfs, "host") == 0 ? "" : spec->rootfs, runtime);
	if (begin(keeper, spec, runtime, life, passed_over, err) < 0) {
		keeper_close(keeper);
		return -1;
	}
	/* while the zygote is at work */
	if (keeper->mode == MODE_ROOT && keeper->zygote.pidfd >= 0)
		(void)jail_make_network(&keeper->network_fd); /* else the cell makes its own */
	*ret_keeper = keeper;
	return 0;
}

int keeper_open(const struct spec *spec, const char *runtime, enum keeper_life life,
	struct keeper **ret_keeper, struct err *err)
{
	return open_keeper(spec, runtime, life, 0, ret_keeper, err);
}

void keeper_sweep(struct keeper *keeper)
{
	if (!keeper->has_swept)
		cgroup_sweep(&keeper->site);
	keeper->has_swept = true;
}

void keeper_tidy(struct keeper *keeper)
{
	struct err err = { 0 };
	cell_free(take_ptr(&keeper->last));
	beginnings_look(keeper);
	if (keeper->is_resident && !keeper->spare_kit.page)
		(void)kit_make(&keeper->spare_kit, &err);
	beginnings_ask(keeper);
}

void keeper_close(struct keeper *keeper)
{
	if (!keeper)
		return;
	/* a runner that waits for nothing but this takes down its memory, which takes longest, */
	if (keeper->loan_fd >= 0 && keeper->last && keeper->last->channel_fd >= 0) {
		cell_note_answer(keeper->last);
		(void)shutdown(keeper->last->channel_fd, SHUT_RDWR);
	}
	/* and who lent a cell can clear it away, while we let go of it, for which the kernel may
	 * make us wait */
	bool keeps_seat = keeper->loan_fd >= 0 && borrow_end(keeper);
	apart_set(keeper, false);
	/* the zygote takes its leave while we clean up, and the slot's number stays ours until the
	 * last trace of its cells is gone */
	own_close(&keeper->zygote.sock);
	own_close(&keeper->network_fd);
	own_close(&keeper->changes_fd);
	networks_allow(&keeper->networks, false);
	beginnings_done(keeper);
	cell_free(keeper->parked);
	cell_free(keeper->last);
	networks_done(&keeper->networks);
	berths_done(&keeper->berths);
	if (keeper->has_spare_group)
		cgroup_remove(&keeper->spare_group);
	zygote_stop(&keeper->zygote);
	host_stop(&keeper->host);
	host_stop(&keeper->next_host);
	slot_free(&keeper->slot);
	kit_done(&keeper->spare_kit);
	if (keeps_seat)
		ahead_keep_seat(keeper->ahead, &keeper->loan_fd);
	own_close(&keeper->loan_fd);
	cgroup_site_done(&keeper->site);
	page_free(keeper->template, sizeof(*keeper->template));
	strings_done(&keeper->commands);
	free(keeper);
}

static int probe_once(const struct spec *spec, uint64_t passed_over, struct report *report,
	enum jail_mode *ret_mode, struct err *err)
{
	char *const nothing[] = { (char *)"nothing", NULL };
	const struct strings argv = { (char **)nothing, 1 };
	const struct task task = {
		.spec = spec, .argv = &argv, .interrupt_fd = -1, .outlet = { .fds = { -1, -1 } }
	};
	struct keeper *keeper = NULL;
	struct result result;
	TRY(open_keeper(spec, NULL, KEEPER_PROBE, passed_over, &keeper, err));
	*ret_mode = keeper->mode;
	result_init(&result);
	int r = keeper_run(keeper, &task, &result, report, err);
	result_done(&result);
	if (report->failed == STEP_CGROUP)
		(void)snprintf(
			report->failed_text, sizeof(report->failed_text), "%s", keeper->site.why);
	keeper_close(keeper);
	return r;
}

int keeper_probe(struct report *report, enum jail_mode *ret_mode, struct err *err)
{
	struct spec spec;
	struct report failures = { 0 };
	uint64_t passed_over = 0;
	int r = -1;
	spec_init(&spec);
	for (int i = 0; i < STEP_ID_COUNT && r < 0; i++) {
		*report = (struct report){ 0 };
		r = probe_once(&spec, passed_over, report, ret_mode, err);
		enum step_id id = report->failed;
		if (r == 0 || id == STEP_NONE)
			break;
		report->steps[id].state = STEP_FAILED;
		(void)snprintf(report->steps[id].detail, sizeof(report->steps[id].detail), "%.95s",
			report->failed_text);
		/* everything else stands on these */
		if (jail_steps[id].stage == STAGE_TEMPLATE || jail_steps[id].stage == STAGE_CLONE)
			break;
		passed_over |= bit(id);
		failures.steps[id].state = STEP_FAILED;
		(void)snprintf(failures.steps[id].detail, sizeof(failures.steps[id].detail),
			"%.95s", report->failed_text);
	}
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		if (passed_over & bit((enum step_id)id))
			report->steps[id] = failures.steps[id];
	spec_done(&spec);
	return r;
}
