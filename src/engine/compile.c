/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling and running are two cells. The compiler gets limits of its own, larger than most
 * programs need, and is accounted apart; the program gets a cell in which no compiler ever ran,
 * with the binary put in by the supervisor. Only when the compiler fails is its end that of the
 * run, and its words the run's error output.
 */
#include "engine/compile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
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

static void note_usage(
	struct compiled *note, const struct captured *output, const struct usage *usage)
{
	note->is_compiled = true;
	note->usage = *usage;
	note->output = *output;
	note->output.text = xcalloc(output->len + 1, 1);
	memcpy(note->output.text, output->text ? output->text : "", output->len);
	note->output.spilled_to = NULL;
}

static int compile_with(const struct compiling *compiling, const struct spec *spec,
	struct result *result, struct report *report, int *ret_fd, struct err *err)
{
	const struct language *language = compiling->language;
	struct strings argv = { 0 };
	struct result compiled;
	const struct places places = { .file = compiling->file,
		.runtime = RUNTIME_DIR,
		.prepared = RUNTIME_DIR,
		.binary = BUILD_PATH };
	language_fill(&language->compile, &places, &argv);
	const struct task task = {
		.spec = spec,
		.argv = &argv,
		.program = compiling->program,
		.code = compiling->code,
		.code_len = compiling->code_len,
		.needs_full_proc = spec->proc == PROC_MASKED ||
				   (spec->proc == PROC_AUTO && language->needs_full_proc),
		.outlet = compiling->wishes->outlet,
		.interrupt_fd = compiling->wishes->interrupt_fd,
		.is_build = true,
	};
	result_init(&compiled);
	int r = build_run(&task, compiling->runtime, &compiled, report, ret_fd, err);
	strings_done(&argv);
	if (r == 0)
		note_usage(&result->compiled, &compiled.err, &compiled.usage);
	if (r == 0 && compiled.status != STATUS_OK)
		take_failure(compiling, spec, &compiled, result);
	else
		result_done(&compiled);
	return r;
}

int compile(const struct compiling *compiling, struct result *result, struct report *report,
	int *ret_fd, struct err *err)
{
	struct spec spec;
	*ret_fd = -1;
	int r = make_spec(compiling->spec, compiling->language, &spec, err);
	if (r == 0)
		r = compile_with(compiling, &spec, result, report, ret_fd, err);
	if (r < 0)
		(void)err_wrap(err, "compile '%s'", compiling->program);
	spec_done(&spec);
	return r;
}
