/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling and running are two cells. The compiler gets limits of its own, larger than most
 * programs need, and is accounted apart; the program gets a cell in which no compiler ever ran,
 * with the binary put in by the supervisor. Only when the compiler fails is its end that of the
 * run, and its words the run's error output. What it made is kept for the next run of the same
 * code, which then has one cell only; what it refused is not, for it is edited before it comes
 * again.
 */
#include "engine/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "engine/builds.h"
#include "engine/cache.h"
#include "engine/explain.h"
#include "model/field.h"
#include "provider/provider.h"

int set_defaults(struct spec *spec, const struct language *language, const struct strings *defaults,
	struct err *err)
{
	for (size_t i = 0; i < defaults->count; i++) {
		auto_free char *name = xstrdup(defaults->items[i]);
		char *value = strchr(name, '=');
		if (!value)
			return err_set(err, ERR_INVALID,
				"language '%s': default '%s' is not NAME=VALUE", language->name,
				name);
		*value++ = '\0';
		const struct field *field = spec_field(name);
		if (!field)
			return err_set(err, ERR_INVALID, "language '%s': there is no setting '%s'",
				language->name, name);
		TRY(spec_set_default(spec, field, value, err));
	}
	return 0;
}

/* A small limit is meant for the program, not for its compiler; a larger one helps both, so that
 * the option a person is told to raise does what it promises. */
static void raise_limits(struct spec *spec, const struct spec *asked)
{
	static const char *const names[] = { "timeout", "memory", "pids", "disk", "inodes" };
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct field *field = spec_field(names[i]);
		const int64_t wanted = *(const int64_t *)field_slot(asked, field);
		int64_t *limit = field_slot(spec, field);
		if (spec_is_given(asked, field) && wanted > *limit)
			*limit = wanted;
	}
}

static void copy_strings(struct strings *to, const struct strings *from)
{
	for (size_t i = 0; i < from->count; i++)
		strings_add(to, from->items[i]);
}

static void copy_pairs(struct pairs *to, const struct pairs *from)
{
	for (size_t i = 0; i < from->count; i++)
		pairs_add(to, from->items[i].from, from->items[i].to);
}

/* The compiler sees what the program will see, but reaches no network, reads no input and changes
 * no directory of the host. */
static int make_spec(const struct spec *asked, const struct language *language, struct spec *spec,
	struct err *err)
{
	spec_init(spec);
	TRY(set_defaults(spec, language, &language->compile_defaults, err));
	raise_limits(spec, asked);
	spec->memory_most = asked->memory_most;
	spec->cpu_most_ms = asked->cpu_most_ms;
	spec_bound(spec);
	spec->cpus_milli = asked->cpus_milli;
	spec->max_output = asked->max_output;
	spec->output_limit = asked->output_limit;
	spec->proc = asked->proc;
	spec->cold = asked->cold;
	copy_pairs(&spec->files, &asked->files);
	copy_pairs(&spec->ro, &asked->ro);
	copy_pairs(&spec->ro, &asked->rw);
	copy_strings(&spec->require, &asked->require);
	copy_strings(&spec->without, &asked->without);
	free(spec->rootfs);
	spec->rootfs = xstrdup(asked->rootfs);
	free(spec->provider);
	spec->provider = xstrdup(asked->provider);
	return 0;
}

int build_run(const struct task *task, const char *runtime, struct result *result,
	struct report *report, int *ret_fd, struct err *err)
{
	struct engine_rest rest = { 0 };
	TRY(provider_find(task->spec->provider, &rest.provider, err));
	TRY(rest.provider->open(task->spec, runtime, &rest.handle, err));
	int r = rest.provider->run(rest.handle, task, result, report, err);
	if (r == 0 && result->status == STATUS_OK)
		r = rest.provider->take_build(rest.handle, ret_fd, err);
	engine_clean(&rest);
	return r;
}

/* No option gives a compiler a network: that it reached for one is not worth telling. */
static void forget_network(struct result *result)
{
	size_t count = 0;
	for (size_t i = 0; i < result->denial_count; i++)
		if (strcmp(result->denials[i].layer, "network") != 0)
			result->denials[count++] = result->denials[i];
	result->denial_count = count;
}

/* The compiler's end is the run's. The run keeps its id. */
static void take_failure(const struct compiling *compiling, const struct spec *spec,
	struct result *compiled, struct result *result)
{
	const struct analysis_input input = { .language = compiling->language->name,
		.program = compiling->program,
		.code = compiling->code,
		.code_len = compiling->code_len,
		.spec = spec };
	memcpy(compiled->id, result->id, sizeof(compiled->id));
	memcpy(compiled->language, result->language, sizeof(compiled->language));
	compiled->compiled = result->compiled;
	result->compiled = (struct compiled){ 0 };
	result_done(result);
	*result = *compiled;
	forget_network(result);
	explain(&input, result);
	if (result->status == STATUS_ERROR) {
		if (strcmp(result->error.kind, "import") != 0)
			(void)snprintf(result->error.kind, sizeof(result->error.kind), "syntax");
	} else if (result->error.message) {
		char *message = xasprintf("%s while compiling", result->error.message);
		free(result->error.message);
		result->error.message = message;
	}
}

static void note_compile(
	struct compiled *note, const struct captured *words, const struct usage *usage)
{
	note->is_compiled = true;
	note->usage = *usage;
	note->output = *words;
	note->output.text = xcalloc(words->len + 1, 1);
	memcpy(note->output.text, words->text ? words->text : "", words->len);
	note->output.spilled_to = NULL;
}

/* Says again what the compiler said. A reader who left, or an interrupt, is the run's to meet. */
static void say(const struct engine_wishes *wishes, const struct buf *words)
{
	const struct outlet *outlet = &wishes->outlet;
	auto_buf struct buf pending = { 0 };
	if (outlet->fds[STREAM_ERR] < 0 || words->len == 0)
		return;
	if (outlet->begun)
		outlet->begun(outlet->context);
	buf_init(&pending, 8 * words->len + 4096);
	outlet->render(outlet->context, STREAM_ERR, words->data, words->len, &pending);
	for (size_t at = 0; at < pending.len;) {
		struct pollfd fds[] = {
			{ .fd = outlet->fds[STREAM_ERR], .events = POLLOUT },
			{ .fd = wishes->interrupt_fd, .events = POLLIN },
		};
		if ((poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR) || fds[1].revents)
			return;
		/* a pipe that polls writable takes this much without blocking */
		size_t len = pending.len - at < PIPE_BUF ? pending.len - at : PIPE_BUF;
		ssize_t n = write(fds[0].fd, pending.data + at, len);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		at += n > 0 ? (size_t)n : 0;
	}
}

/* What an earlier run of the same code had compiled. */
static bool recall(const struct compiling *compiling, struct build *build, struct result *result)
{
	struct err err = { 0 };
	const struct spec *spec = compiling->spec;
	auto_fd int dir_fd = builds_open(&err);
	if (dir_fd < 0 && err.code == ERR_INVALID)
		result_warn(result, "what was compiled is not kept: %s", err.text);
	if (dir_fd < 0 || spec->cold || build->key.len == 0 ||
		!builds_find(dir_fd, build, (size_t)spec->max_output))
		return false;
	const struct captured words = { .text = build->words.data,
		.len = build->words.len,
		.total_bytes = (int64_t)build->words.len };
	note_compile(&result->compiled, &words, &(struct usage){ 0 });
	result->compiled.is_cached = true;
	say(compiling->wishes, &build->words);
	return true;
}

/* What was not said in full cannot be said again. */
static void remember(struct build *build, const struct captured *words, int fd)
{
	if (words->is_truncated)
		buf_done(&build->key);
	buf_init(&build->words, words->len);
	(void)buf_append(&build->words, words->text, words->len);
	build->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

void compile_keep(struct build *fresh)
{
	struct err err = { 0 };
	auto_free char *path = NULL;
	auto_fd int dir_fd = fresh && fresh->key.len > 0 ? builds_open(&err) : -1;
	auto_fd int cache_fd = dir_fd < 0 ? -1 : cache_open(&path, &err);
	if (dir_fd >= 0 && builds_keep(dir_fd, fresh, &err) == 0)
		builds_bound(dir_fd, LIMIT_KEPT_BUILDS, LIMIT_KEPT_BYTES);
	if (cache_fd >= 0)
		cache_sweep(cache_fd);
	build_free(fresh);
}

static int run_compiler(const struct compiling *compiling, const struct spec *spec,
	const struct strings *argv, struct result *compiled, struct report *report, int *ret_fd,
	struct err *err)
{
	const struct task task = {
		.spec = spec,
		.argv = argv,
		.program = compiling->program,
		.code = compiling->code,
		.code_len = compiling->code_len,
		.needs_full_proc =
			spec->proc == PROC_MASKED ||
			(spec->proc == PROC_AUTO && compiling->language->needs_full_proc),
		.outlet = compiling->wishes->outlet,
		.interrupt_fd = compiling->wishes->interrupt_fd,
		.is_build = true,
	};
	return build_run(&task, compiling->runtime, compiled, report, ret_fd, err);
}

static int compile_anew(const struct compiling *compiling, const struct strings *argv,
	struct build *build, struct result *result, struct report *report, int *ret_fd,
	struct err *err)
{
	struct spec spec;
	struct result compiled;
	result_init(&compiled);
	int r = make_spec(compiling->spec, compiling->language, &spec, err);
	if (r == 0)
		r = run_compiler(compiling, &spec, argv, &compiled, report, ret_fd, err);
	if (r == 0)
		note_compile(&result->compiled, &compiled.err, &compiled.usage);
	if (r == 0 && *ret_fd >= 0)
		remember(build, &compiled.err, *ret_fd);
	if (r == 0 && compiled.status != STATUS_OK)
		take_failure(compiling, &spec, &compiled, result);
	else
		result_done(&compiled);
	spec_done(&spec);
	return r;
}

static void fill_argv(const struct compiling *compiling, struct strings *argv)
{
	const struct places places = { .file = compiling->file,
		.runtime = RUNTIME_DIR,
		.prepared = RUNTIME_DIR,
		.binary = BUILD_PATH };
	language_fill(&compiling->language->compile, &places, argv);
}

int compile(const struct compiling *compiling, struct result *result, struct report *report,
	int *ret_fd, struct build **ret_fresh, struct err *err)
{
	struct strings argv = { 0 };
	struct build *build = build_new();
	int r = 0;
	*ret_fd = -1;
	fill_argv(compiling, &argv);
	build_describe(compiling, &argv, &build->key);
	if (recall(compiling, build, result))
		*ret_fd = take_fd(&build->fd);
	else
		r = compile_anew(compiling, &argv, build, result, report, ret_fd, err);
	strings_done(&argv);
	if (build->fd >= 0)
		*ret_fresh = build;
	else
		build_free(build);
	return r < 0 ? err_wrap(err, "compile '%s'", compiling->program) : 0;
}
