/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyse LANGUAGE PROGRAM CODE ERRORS [SIGNAL]
 *
 * The analysis without a cell: reads the code from file CODE and what it wrote to stderr from file
 * ERRORS, and prints the ExecutionResult of such a run. PROGRAM is the code's name in a cell.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "engine/explain.h"

static void read_all(const char *path, struct buf *text)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	buf_init(text, LIMIT_CODE_BYTES);
	int r = fd < 0 ? -errno : buf_read(text, fd);
	if (r < 0) {
		(void)fprintf(stderr, "analyse: read %s: %s\n", path, strerror(-r));
		exit(2);
	}
}

int main(int argc, char **argv)
{
	auto_buf struct buf code = { 0 };
	auto_buf struct buf errors = { 0 };
	struct spec spec;
	struct result result;
	if (argc < 5) {
		(void)fprintf(stderr, "usage: analyse LANGUAGE PROGRAM CODE ERRORS [SIGNAL]\n");
		return 2;
	}
	read_all(argv[3], &code);
	read_all(argv[4], &errors);
	spec_init(&spec);
	result_init(&result);
	result.status = argc > 5 ? STATUS_SIGNAL : STATUS_ERROR;
	result.signal = argc > 5 ? (int)strtol(argv[5], NULL, 10) : 0;
	result.exit_code = 1;
	(void)snprintf(result.language, sizeof(result.language), "%s", argv[1]);
	result.err.text = xstrdup(buf_text(&errors));
	result.err.len = strlen(result.err.text);
	const struct analysis_input input = { .language = argv[1],
		.program = argv[2],
		.code = buf_text(&code),
		.code_len = code.len,
		.spec = &spec };
	explain(&input, &result);
	auto_free char *json = result_to_json(&result, &spec, false);
	(void)puts(json);
	result_done(&result);
	spec_done(&spec);
	return 0;
}
