/* SPDX-License-Identifier: Apache-2.0 */
/* What the guard says about code, which is not run, and what a run says that it refuses. */
#include <hotcell.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct hotcell_error error;
	struct hotcell_result *result = NULL;
	struct hotcell_spec *spec = hotcell_spec_new();
	char *report = NULL;
	const char *code = argc > 1 ? argv[1] : "import socket\nsocket.socket()";
	int r = hotcell_spec_set(spec, "code", code, &error);
	if (r == 0)
		r = hotcell_spec_set(spec, "profile", "strict", &error);
	if (r == 0)
		r = hotcell_analyze(spec, &report, &error);
	if (r == 0)
		r = hotcell_run(spec, &result, &error);
	if (r == 0) {
		printf("%s\n", report);
		printf("%s\n",
			hotcell_result_message(result) ? hotcell_result_message(result) : "it ran");
	} else {
		fprintf(stderr, "analyze: %s\n", error.text);
	}
	hotcell_result_free(result);
	hotcell_text_free(report);
	hotcell_spec_free(spec);
	return r < 0 ? 125 : 0;
}
