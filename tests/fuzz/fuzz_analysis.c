/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a failed program wrote and whatever its code is: the analysis ends, and all it says is
 * bounded UTF-8, the hint one line without controls. The first byte chooses the language, the
 * second the status; the code ends at the first byte 0xff.
 */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "runtime/runtime.h"
#include "wire/utf8.h"

static const char *const names[] = { "python", "javascript", "bash", "sh", "zsh", "go", "c", "cpp",
	"java", "rust", "perl", "ruby", "lua", "php", "sql", "r", "typescript" };

/* What is known about the languages is read from the tree, where fuzzers are run. */
__attribute__((constructor)) static void find_books(void)
{
	auto_buf struct buf text = { 0 };
	auto_free char *path = NULL;
	struct err err = { 0 };
	(void)setenv("HOTCELL_RUNTIMES", "runtimes", 1);
	buf_init(&text, LIMIT_BOOK_BYTES);
	MUST(runtime_read("common", "errors.json", &text, &path, &err) == 0 && path);
}

static void check_text(const char *text, size_t max)
{
	if (text)
		MUST(strlen(text) <= max && utf8_is_valid(text, strlen(text), NULL));
}

static void check_hint(const char *hint)
{
	check_text(hint, 1000);
	for (const char *at = hint; at && *at != '\0'; at++)
		MUST((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_failure(const struct failure *failure)
{
	check_text(failure->name, 2000);
	check_text(failure->value, 20000);
	check_hint(failure->documentation);
	MUST(failure->line >= 0 && failure->column >= 0);
	MUST(failure->trace_count <= LIMIT_TRACE && failure->context_count <= LIMIT_CONTEXT);
	for (size_t i = 0; i < failure->trace_count; i++) {
		check_text(failure->trace[i].file, 2000);
		check_text(failure->trace[i].function, 2000);
		check_text(failure->trace[i].source, 4000);
	}
	for (size_t i = 0; i < failure->context_count; i++) {
		check_text(failure->context[i], 4000);
		MUST(!strchr(failure->context[i], '\n') && !strchr(failure->context[i], '\033'));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum run_status statuses[] = { STATUS_ERROR, STATUS_SIGNAL, STATUS_TIMEOUT };
	struct spec spec;
	struct result result;
	if (size < 2)
		return 0;
	const char *code = (const char *)data + 2;
	const char *split = memchr(code, 0xff, size - 2);
	size_t code_len = split ? (size_t)(split - code) : 0;
	const char *text = split ? split + 1 : code;
	spec_init(&spec);
	result_init(&result);
	result.status = statuses[data[1] % COUNT_OF(statuses)];
	result.signal = result.status == STATUS_SIGNAL ? 11 : 0;
	result.err.len = (size_t)((const char *)data + size - text);
	result.err.text = xcalloc(result.err.len + 1, 1);
	memcpy(result.err.text, text, result.err.len);
	const struct analysis_input input = { .language = names[data[0] % COUNT_OF(names)],
		.program = "main.py",
		.code = code,
		.code_len = code_len,
		.spec = &spec };
	analyse(&input, &result);
	check_failure(&result.error);
	check_hint(result.hint);
	result_done(&result);
	spec_done(&spec);
	return 0;
}
