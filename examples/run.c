/* SPDX-License-Identifier: Apache-2.0 */
/* Runs Python code and tells how it went: cc run.c $(pkg-config --cflags --libs hotcell) */
#include <hotcell.h>
#include <stdio.h>

static int tell(const struct hotcell_result *result)
{
	size_t len = 0;
	const char *out = hotcell_result_stdout(result, &len);
	printf("status: %s\n", hotcell_result_status_name(result));
	printf("exit code: %d\n", hotcell_result_exit_code(result));
	printf("stdout: %.*s\n", (int)len, out);
	if (hotcell_result_message(result))
		printf("message: %s\n", hotcell_result_message(result));
	if (hotcell_result_hint(result))
		printf("hint: %s\n", hotcell_result_hint(result));
	return hotcell_result_exit_code(result);
}

int main(int argc, char **argv)
{
	struct hotcell_error error;
	struct hotcell_result *result = NULL;
	struct hotcell_spec *spec = hotcell_spec_new();
	int status = 125;
	const char *code = argc > 1 ? argv[1] : "print(sum(range(10)))";
	if (hotcell_spec_set(spec, "language", "python", &error) < 0 ||
		hotcell_spec_set(spec, "code", code, &error) < 0 ||
		hotcell_spec_set(spec, "timeout", "5", &error) < 0 ||
		hotcell_spec_set(spec, "memory", "256M", &error) < 0 ||
		hotcell_run(spec, &result, &error) < 0)
		fprintf(stderr, "run: %s\n", error.text);
	else
		status = tell(result);
	hotcell_result_free(result);
	hotcell_spec_free(spec);
	return status;
}
