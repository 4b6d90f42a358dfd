/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "mcp/uri.h"

TEST(names_come_back_as_they_were)
{
	static const char *const paths[] = { "a.csv", "out/a b.csv", "100%", "ä/ö", "?#&;",
		"\x01\xff" };
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		auto_free char *session = NULL;
		auto_free char *path = NULL;
		auto_free char *uri = uri_write("work.1", paths[i]);
		for (const char *at = uri; *at; at++)
			ASSERT(*at > 0x20 && *at < 0x7f);
		ASSERT(uri_read(uri, &session, &path));
		ASSERT_STR(session, "work.1");
		ASSERT_STR(path, paths[i]);
	}
	auto_free char *uri = uri_write("s", "a b/ä");
	ASSERT_STR(uri, "hotcell://session/s/a%20b/%C3%A4");
}

TEST(what_is_none_of_ours_is_refused)
{
	static const char *const uris[] = { "", "file:///x", "hotcell://session/",
		"hotcell://session/a", "hotcell://session/a/", "hotcell://session//x",
		"hotcell://session/a/%", "hotcell://session/a/%4", "hotcell://session/a/%zz",
		"hotcell://session/a/%00", "hotcell://other/a/x", "HOTCELL://session/a/x" };
	for (size_t i = 0; i < COUNT_OF(uris); i++) {
		auto_free char *session = NULL;
		auto_free char *path = NULL;
		ASSERT(!uri_read(uris[i], &session, &path));
	}
}

TEST(the_ending_tells_the_type)
{
	ASSERT_STR(uri_mime("a/b.PNG"), "image/png");
	ASSERT_STR(uri_mime("x.tar.gz"), "application/gzip");
	ASSERT(!uri_mime("Makefile"));
	ASSERT(!uri_mime("x."));
	ASSERT(!uri_mime("x.strange"));
}
