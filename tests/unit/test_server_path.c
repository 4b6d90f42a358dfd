/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "base/own.h"
#include "server/path.h"

#define FILES "/v1/sessions/{name}/files/{path...}"

enum { MOST = 2 };

static void match(const char *pattern, const char *path, const char *first, const char *second)
{
	char *params[MOST] = { 0 };
	ASSERT(path_match(pattern, path, params, MOST));
	ASSERT_STR(params[0] ? params[0] : "", first);
	ASSERT_STR(params[1] ? params[1] : "", second);
	path_drop(params, MOST);
	ASSERT(!params[0] && !params[1]);
}

static void miss(const char *pattern, const char *path)
{
	char *params[MOST] = { 0 };
	ASSERT(!path_match(pattern, path, params, MOST));
	path_drop(params, MOST);
}

TEST(parts_of_a_path_are_parameters)
{
	match("/v1/execute", "/v1/execute", "", "");
	match("/v1/sessions/{name}", "/v1/sessions/work", "work", "");
	match("/v1/sessions/{name}/exec", "/v1/sessions/a/exec", "a", "");
	match("/v1/sessions/{name}", "/v1/sessions/{name}", "{name}", "");
	match(FILES, "/v1/sessions/a/files/b", "a", "b");
	match(FILES, "/v1/sessions/a/files/b/c.txt", "a", "b/c.txt");
	match(FILES, "/v1/sessions/a/files/../x", "a", "../x");
	match(FILES, "/v1/sessions/a/files//x", "a", "/x");
}

TEST(what_is_nearly_a_match_is_none)
{
	miss("/v1/execute", "/v1/exec");
	miss("/v1/execute", "/v1/executed");
	miss("/v1/execute", "/v1/execute/");
	miss("/v1/execute", "");
	miss("/v1/execute", "/");
	miss("/v1/sessions/{name}", "/v1/sessions/");
	miss("/v1/sessions/{name}", "/v1/sessions");
	miss("/v1/sessions/{name}", "/v1/sessions/a/");
	miss("/v1/sessions/{name}/exec", "/v1/sessions//exec");
	miss("/v1/sessions/{name}/exec", "/v1/sessions/a/b/exec");
	miss("/v1/sessions/{name}/exec", "/v1/sessions/a/exec/");
	miss(FILES, "/v1/sessions/a/files");
	miss(FILES, "/v1/sessions/a/files/");
	miss(FILES, "/v1/sessions//files/x");
}
