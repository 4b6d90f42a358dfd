/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict: exactly one status for every run. What we did to the cell comes first, then what
 * the kernel counted, then how the program itself ended.
 */
#include "keeper/cell.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "model/units.h"

static void deny(struct result *result, const char *layer, const char *operation,
	const char *option, unsigned int count)
{
	struct denial denial = { .evidence = "kernel", .count = count };
	(void)snprintf(denial.layer, sizeof(denial.layer), "%s", layer);
	(void)snprintf(denial.operation, sizeof(denial.operation), "%s", operation);
	(void)snprintf(denial.option, sizeof(denial.option), "%s", option);
	result_add_denial(result, &denial);
}

/* "--memory 1G" for a limit of 512M: the option with twice the size. */
static void deny_size(struct result *result, const char *layer, const char *operation,
	const char *flag, int64_t limit)
{
	char size[32];
	char option[64];
	units_format_size(limit * 2, size, sizeof(size));
	(void)snprintf(option, sizeof(option), "%s %s", flag, size);
	deny(result, layer, operation, option, 1);
}

static int64_t since(int64_t earlier, int64_t now)
{
	return earlier > 0 && now >= earlier ? now - earlier : now;
}

/* A session's cell has counted since its first turn. */
static void forget_earlier(const struct turn *turn, struct cgroup_usage *counted)
{
	counted->oom_kills = since(turn->earlier.oom_kills, counted->oom_kills);
	counted->pids_refused = since(turn->earlier.pids_refused, counted->pids_refused);
}

/* A process that has ended took its account along. */
static void count_turn_bytes(const struct cell *cell, struct usage *usage)
{
	const struct turn *turn = cell->turn;
	(void)sample_accounts(cell->io_fds, &usage->read_bytes, &usage->write_bytes);
	usage->read_bytes = since(turn->earlier_read, usage->read_bytes);
	usage->write_bytes = since(turn->earlier_written, usage->write_bytes);
}

static void count_usage(struct cell *cell, struct cgroup_usage *counted)
{
	struct usage *usage = &cell->result->usage;
	const struct cgroup_limits limits = { .memory = cell->walls.memory,
		.pids = cell->walls.pids };
	bool is_clean = cell->has_ended && cell->cause == CAUSE_NONE && cell->end.wait_status == 0;
	*counted = (struct cgroup_usage){ -1, -1, -1, -1, -1 };
	if (cell->has_group)
		cgroup_read(&cell->group, is_clean && !cell->turn ? &limits : NULL, counted);
	if (cell->turn)
		forget_earlier(cell->turn, counted);
	usage->wall_us = cell->ended_us - cell->started_us;
	usage->cpu_us =
		counted->cpu_us >= 0 ? counted->cpu_us - cell->earlier_cpu_us : cell->end.cpu_us;
	int64_t sampled_us = cell->sampled_cpu_us - (cell->turn ? cell->earlier_cpu_us : 0);
	if (sampled_us > usage->cpu_us)
		usage->cpu_us = sampled_us;
	/* the cgroup counts what the cell had to pay for, the largest process also what it shares
	 * with the host: the larger number is the one a person expects */
	usage->max_memory_kb = counted->memory_peak / 1024;
	if (cell->end.max_rss_kb > usage->max_memory_kb)
		usage->max_memory_kb = cell->end.max_rss_kb;
	if (cell->sampled_memory / 1024 > usage->max_memory_kb)
		usage->max_memory_kb = cell->sampled_memory / 1024;
	if (cell->turn && cell->turn->is_oom && usage->max_memory_kb <= 0) /* its cell is gone */
		usage->max_memory_kb = cell->task->spec->memory / 1024;
	usage->processes = counted->pids_peak > 1 ? counted->pids_peak - cell_inits(cell) : 1;
	if (cell->sampled_processes > usage->processes)
		usage->processes = cell->sampled_processes;
	usage->read_bytes = cell->end.read_bytes;
	usage->write_bytes = cell->end.write_bytes;
	if (cell->turn)
		count_turn_bytes(cell, usage);
}

static enum run_status status_of_cause(enum cell_cause cause)
{
	static const enum run_status statuses[CELL_CAUSE_COUNT] = {
		[CAUSE_TIMEOUT] = STATUS_TIMEOUT,
		[CAUSE_CPU] = STATUS_CPU_LIMIT,
		[CAUSE_MEMORY] = STATUS_OOM,
		[CAUSE_OUTPUT] = STATUS_OUTPUT_LIMIT,
		[CAUSE_INTERRUPT] = STATUS_INTERRUPTED,
	};
	return statuses[cause];
}

static enum run_status decide(struct cell *cell, const struct cgroup_usage *counted)
{
	struct result *result = cell->result;
	int status = cell->end.wait_status;
	/* the process of a session outlives what was interrupted in it */
	bool lives_on = cell->turn && !cell->turn->end.has_died;
	if (cell->cause != CAUSE_NONE) {
		result->signal = lives_on ? 0 : SIGKILL;
		return status_of_cause(cell->cause);
	}
	if (!cell->has_ended || WIFSIGNALED(status))
		result->signal = cell->has_ended ? WTERMSIG(status) : SIGKILL;
	else
		result->exit_code = WEXITSTATUS(status);
	if ((counted->oom_kills > 0 && !lives_on) || (cell->turn && cell->turn->is_oom))
		return STATUS_OOM;
	if (result->signal == SIGXCPU && cell->task->spec->cpu_time_ms > 0)
		return STATUS_CPU_LIMIT;
	if (result->signal)
		return STATUS_SIGNAL;
	return result->exit_code == 0 ? STATUS_OK : STATUS_ERROR;
}

static void tell_disk(struct cell *cell)
{
	const struct spec *spec = cell->task->spec;
	struct result *result = cell->result;
	const char *flag = NULL;
	if (!workspace_is_full(&cell->workspace, &flag))
		return;
	if (strcmp(flag, "--disk") == 0) {
		deny_size(result, "disk", "write", flag, spec->disk);
	} else {
		char option[64];
		(void)snprintf(
			option, sizeof(option), "%s %lld", flag, (long long)spec->inodes * 2);
		deny(result, "disk", "create a file", option, 1);
	}
	/* the program failed with its disk full: that is the reason worth telling */
	if (result->status == STATUS_ERROR || result->signal == SIGBUS)
		result->status = STATUS_DISK_LIMIT;
}

static void tell_limits(struct cell *cell, const struct cgroup_usage *counted)
{
	const struct spec *spec = cell->task->spec;
	struct result *result = cell->result;
	char option[64];
	char number[32];
	if (result->status == STATUS_OOM)
		deny_size(result, "memory", "allocate", "--memory", spec->memory);
	if (result->status == STATUS_OUTPUT_LIMIT)
		deny_size(result, "output", "write", "--output-limit", spec->output_limit);
	if (result->status == STATUS_TIMEOUT) {
		units_format_milli(spec->timeout_ms * 2, number, sizeof(number));
		(void)snprintf(option, sizeof(option), "--timeout %s", number);
		deny(result, "time", "run on", option, 1);
	}
	if (result->status == STATUS_CPU_LIMIT) {
		units_format_milli(spec->cpu_time_ms * 2, number, sizeof(number));
		(void)snprintf(option, sizeof(option), "--cpu-time %s", number);
		deny(result, "cpu", "run on", option, 1);
	}
	if (counted->pids_refused > 0) {
		(void)snprintf(option, sizeof(option), "--pids %lld", (long long)spec->pids * 2);
		deny(result, "pids", "fork", option, (unsigned int)counted->pids_refused);
	}
}

void cell_judge(struct cell *cell)
{
	struct cgroup_usage counted;
	count_usage(cell, &counted);
	cell->result->status = decide(cell, &counted);
	tell_disk(cell);
	tell_limits(cell, &counted);
}

static struct isolation_item *add_item(struct result *result, const char *key)
{
	struct isolation_item *item = &result->isolation[result->isolation_count++];
	*item = (struct isolation_item){ .key = key };
	return item;
}

static void add_text(struct result *result, const char *key, const char *text)
{
	struct isolation_item *item = add_item(result, key);
	item->kind = ISOLATION_TEXT;
	(void)snprintf(item->text, sizeof(item->text), "%.63s", text);
}

static void add_number(struct result *result, const char *key, int64_t number)
{
	struct isolation_item *item = add_item(result, key);
	item->kind = ISOLATION_NUMBER;
	item->number = number;
}

_Static_assert(STEP_ID_COUNT + 4 <= ISOLATION_ITEMS_MAX, "room for every layer in the result");

/* The root as it is called on the host. */
static const char *find_root(const struct cell *cell, char path[PATH_MAX])
{
	const struct template_page *template = cell->keeper->template;
	if (template)
		return template->rootfs;
	return realpath(cell->task->spec->rootfs, path) ? path : cell->task->spec->rootfs;
}

/* One entry per step; a few carry more than yes or no. */
void cell_describe(const struct cell *cell, const struct report *report)
{
	static const char *const cgroup_names[] = { "none", "v1", "v2" };
	const struct plan *plan = &cell->page->plan;
	struct result *result = cell->result;
	char root[PATH_MAX];
	result->isolation_count = 0;
	add_text(result, "mode", plan->mode == MODE_ROOT ? "root" : "rootless");
	/* without a cgroup the supervisor looks at the processes now and then: a weaker promise */
	add_text(result, "memory_limit", cell->has_group ? "kernel" : "sampled");
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
		const struct step_outcome *outcome = &report->steps[id];
		const char *name = jail_steps[id].name;
		bool is_raised = outcome->state == STEP_RAISED;
		if (id == STEP_NETWORK)
			add_text(result, name, is_raised ? net_mode_names[plan->net] : "host");
		else if (id == STEP_CGROUP)
			add_text(
				result, name, cgroup_names[is_raised ? plan->cgroup : CGROUP_NONE]);
		else if (id == STEP_ROOTFS)
			add_text(result, name, outcome->value ? "host" : find_root(cell, root));
		else if (id == STEP_PROC)
			add_text(result, name, plan->has_full_proc ? "masked" : "pid");
		else if (id == STEP_UID) /* as the host sees it */
			add_number(result, name, plan->mode == MODE_ROOT ? plan->uid : geteuid());
		else if (id == STEP_COMMANDS && is_raised)
			add_number(result, name, (int64_t)cell->task->spec->commands.count);
		else if (id == STEP_LANDLOCK)
			add_number(result, name, is_raised ? outcome->value : 0);
		else
			add_item(result, name)->number = is_raised;
	}
}
