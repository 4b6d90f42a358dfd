/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell doctor: raises a cell that runs nothing and tells how each layer fared. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/own.h"
#include "cli/cli.h"
#include "keeper/keeper.h"
#include "wire/json.h"

/* Settings of the host that make its walls thicker. Reported, never changed. */
static const struct hardening {
	const char *name;
	long least; /* what it should be at least … */
	long most;  /* … and at most */
	const char *why;
} hardenings[] = {
	{ "kernel.unprivileged_bpf_disabled", 1, 2, "programs in the kernel for everyone" },
	{ "kernel.io_uring_disabled", 1, 2, "a second way to make system calls" },
	{ "kernel.kptr_restrict", 1, 2, "kernel addresses in /proc" },
	{ "kernel.dmesg_restrict", 1, 1, "the kernel's log for everyone" },
	{ "kernel.perf_event_paranoid", 2, 4, "performance counters for everyone" },
	{ "kernel.yama.ptrace_scope", 1, 3, "tracing of unrelated processes" },
	{ "vm.unprivileged_userfaultfd", 0, 0, "page faults held open by anyone" },
	{ "dev.tty.legacy_tiocsti", 0, 0, "typing into a terminal from a program" },
	{ "fs.protected_symlinks", 1, 1, "links of others followed in /tmp" },
	{ "fs.protected_hardlinks", 1, 1, "links to others' files" },
	{ "vm.oom_dump_tasks", 0, 0, "a log line per process each time a cell runs out of memory" },
};

static bool read_sysctl(const char *name, long *ret_value)
{
	char path[128];
	char text[64];
	(void)snprintf(path, sizeof(path), "/proc/sys/%s", name);
	for (char *at = path + strlen("/proc/sys/"); *at; at++)
		if (*at == '.')
			*at = '/';
	if (io_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	*ret_value = strtol(text, NULL, 10);
	return true;
}

static const char *state_word(size_t id, const struct step_outcome *outcome)
{
	switch (outcome->state) {
	case STEP_RAISED:
		return "ok";
	case STEP_NOT_WANTED:
		return "not used";
	case STEP_FAILED:
		return jail_steps[id].is_optional ? "absent" : "MISSING";
	default:
		return "unknown";
	}
}

static bool is_missing(const struct report *report, size_t id)
{
	return report->steps[id].state == STEP_FAILED && !jail_steps[id].is_optional;
}

static bool is_whole(const struct report *report)
{
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		if (is_missing(report, id))
			return false;
	return true;
}

static void print_layers(const struct report *report)
{
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
		const struct step_outcome *outcome = &report->steps[id];
		(void)printf("%-9s %-22s %s%s%s\n", state_word(id, outcome), jail_steps[id].name,
			jail_steps[id].title, outcome->detail[0] ? ": " : "", outcome->detail);
		if (outcome->state == STEP_FAILED)
			(void)printf("%-9s %-22s to mend it: %s\n", "", "", jail_steps[id].fix);
	}
}

static void print_hardening(void)
{
	(void)printf("\nhost hardening (reported, never changed):\n");
	for (size_t i = 0; i < COUNT_OF(hardenings); i++) {
		const struct hardening *item = &hardenings[i];
		long value = 0;
		if (!read_sysctl(item->name, &value))
			continue;
		bool is_good = value >= item->least && value <= item->most;
		(void)printf("%-9s %s = %ld (%s)", is_good ? "ok" : "advice", item->name, value,
			item->why);
		if (!is_good)
			(void)printf("; sysctl -w %s=%ld", item->name, item->least);
		(void)printf("\n");
	}
}

static void print_json(const struct report *report, enum jail_mode mode)
{
	auto_json struct json_object *json = json_object_new_object();
	struct json_object *layers = json_object_new_array();
	struct json_object *host = json_object_new_array();
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
		const struct step_outcome *outcome = &report->steps[id];
		struct json_object *layer = json_object_new_object();
		json_put(layer, "name", json_new_string(jail_steps[id].name));
		json_put(layer, "title", json_new_string(jail_steps[id].title));
		json_put(layer, "state", json_new_string(state_word(id, outcome)));
		json_put(layer, "detail", json_new_string(outcome->detail));
		bool is_failed = outcome->state == STEP_FAILED;
		json_put(layer, "fix", is_failed ? json_new_string(jail_steps[id].fix) : NULL);
		(void)json_object_array_add(layers, layer);
	}
	for (size_t i = 0; i < COUNT_OF(hardenings); i++) {
		long value = 0;
		if (!read_sysctl(hardenings[i].name, &value))
			continue;
		struct json_object *item = json_object_new_object();
		json_put(item, "name", json_new_string(hardenings[i].name));
		json_put(item, "value", json_object_new_int64(value));
		json_put(item, "ok",
			json_object_new_boolean(
				value >= hardenings[i].least && value <= hardenings[i].most));
		(void)json_object_array_add(host, item);
	}
	json_put(json, "mode", json_new_string(mode == MODE_ROOT ? "root" : "rootless"));
	json_put(json, "layers", layers);
	json_put(json, "hardening", host);
	auto_free char *text = json_print(json, true);
	(void)printf("%s\n", text);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct report report = { 0 };
	enum jail_mode mode = MODE_NONE;
	bool is_json = false;
	int status = cli_read_simple(command, argc, argv, &is_json);
	if (status >= 0)
		return status;
	int r = keeper_probe(&report, &mode, &err);
	if (is_json) {
		print_json(&report, mode);
		return r < 0 || !is_whole(&report);
	}
	(void)printf("mode: %s\n", mode == MODE_ROOT ? "root" : "rootless");
	print_layers(&report);
	print_hardening();
	if (r < 0)
		return cli_fail(&err);
	return !is_whole(&report);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.usage = "[--json]",
	.help = "which isolation layers hold here, and what mends the others",
	.run = run,
};
