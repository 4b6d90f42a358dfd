/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a cell wrote, the short text of its result is whole lines of UTF-8 without controls. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "model/result.h"
#include "wire/utf8.h"

/* The next part of the input: up to a byte 0, which no text has. */
static char *next(const uint8_t **at, size_t *left)
{
	const uint8_t *end = memchr(*at, 0, *left);
	size_t len = end ? (size_t)(end - *at) : *left;
	char *text = xstrndup((const char *)*at, len);
	*at += len + (end != NULL);
	*left -= len + (end != NULL);
	return text;
}

static struct captured captured_of(char *text)
{
	return (struct captured){ .text = text, .len = strlen(text) };
}

static void check_text(const char *text)
{
	size_t len = strlen(text);
	MUST(len > 0 && text[len - 1] == '\n' && utf8_is_valid(text, len, NULL));
	for (const char *at = text; *at != '\0'; at++)
		MUST((unsigned char)*at >= 0x20 || *at == '\n' || *at == '\t');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spec spec;
	struct result result;
	if (size < 1)
		return 0;
	spec_init(&spec);
	result_init(&result);
	result.status = STATUS_OK + data[0] % (RUN_STATUS_COUNT - STATUS_OK);
	data++;
	size--;
	result.out = captured_of(next(&data, &size));
	result.err = captured_of(next(&data, &size));
	(void)result_add_output(&result, true, next(&data, &size), next(&data, &size));
	result.error.name = next(&data, &size);
	result.error.value = next(&data, &size);
	auto_free char *message = next(&data, &size);
	result_set_error(&result, "runtime", "%s", message);
	struct trace_frame *frame = failure_add_frame(&result.error);
	frame->file = next(&data, &size);
	frame->source = next(&data, &size);
	frame->line = result.error.line = 3;
	result.hint = next(&data, &size);
	struct denial denial = { .layer = "filesystem" };
	auto_free char *target = next(&data, &size);
	(void)snprintf(denial.target, sizeof(denial.target), "%s", target);
	(void)snprintf(denial.option, sizeof(denial.option), "%s", target);
	result_add_denial(&result, &denial);
	auto_free char *text = result_compact(&result, &spec);
	check_text(text);
	result_done(&result);
	spec_done(&spec);
	return 0;
}
