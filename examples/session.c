/* SPDX-License-Identifier: Apache-2.0 */
/* A session remembers; what went wrong in it can be taken back. */
#include <hotcell.h>
#include <stdio.h>

static int show(struct hotcell_session *session, const char *code, struct hotcell_error *error)
{
	struct hotcell_result *result = NULL;
	int r = hotcell_session_exec(session, code, NULL, &result, error);
	if (r == 0)
		printf(">>> %s\n%s", code, hotcell_result_compact(result));
	hotcell_result_free(result);
	return r;
}

static int play(struct hotcell_session *session, struct hotcell_error *error)
{
	char *point = NULL;
	int r = show(session, "names = ['Ada', 'Grace']", error);
	if (r == 0)
		r = hotcell_session_checkpoint(session, "two-names", &point, error);
	if (r == 0)
		r = show(session, "names.clear(); len(names)", error);
	if (r == 0)
		r = hotcell_session_rollback(session, point, error);
	if (r == 0)
		r = show(session, "names", error);
	hotcell_text_free(point);
	return r;
}

int main(void)
{
	struct hotcell_error error;
	struct hotcell_session *session = NULL;
	struct hotcell_spec *spec = hotcell_spec_new();
	int r = hotcell_spec_set(spec, "language", "python", &error);
	if (r == 0)
		r = hotcell_spec_set(spec, "idle", "600", &error);
	if (r == 0)
		r = hotcell_session_new(spec, NULL, &session, &error);
	if (r == 0)
		r = play(session, &error);
	if (r < 0)
		fprintf(stderr, "session: %s\n", error.text);
	if (session)
		(void)hotcell_session_kill(session, NULL);
	hotcell_session_close(session);
	hotcell_spec_free(spec);
	return r < 0 ? 125 : 0;
}
