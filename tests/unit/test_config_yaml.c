/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "config/yaml.h"
#include "model/limits.h"

static struct err err;

static struct yaml *read_text(const char *text)
{
	struct yaml *root = NULL;
	ASSERT_OK(yaml_read("f", text, strlen(text), &root, &err));
	return root;
}

static void refuses(const char *text, const char *words)
{
	struct yaml *root = NULL;
	err = (struct err){ 0 };
	ASSERT_FAIL(yaml_read("f", text, strlen(text), &root, &err), ERR_INVALID);
	ASSERT(!root);
	ASSERT_STR(err.text, words);
}

TEST(maps_lists_and_texts_have_their_lines)
{
	auto_yaml struct yaml *root = read_text("a: 1\nb:\n  - x\n  - \"2\"\nc: {d: e}\n");
	ASSERT_EQ(root->kind, YAML_MAP);
	const struct yaml *a = root->first, *b = a->next, *c = b->next;
	ASSERT_STR(a->key, "a");
	ASSERT_STR(a->text, "1");
	ASSERT_EQ(a->line, 1);
	ASSERT_EQ(b->kind, YAML_LIST);
	ASSERT_EQ(b->line, 2);
	ASSERT_STR(b->first->text, "x");
	ASSERT_STR(b->last->text, "2");
	ASSERT_EQ(b->last->line, 4);
	ASSERT_EQ(c->kind, YAML_MAP);
	ASSERT_STR(c->first->key, "d");
	ASSERT(!c->next);
}

TEST(nothing_is_null_and_quoted_nothing_is_text)
{
	auto_yaml struct yaml *root = read_text("a:\nb: ~\nc: null\nd: \"\"\ne: 'null'\n");
	const struct yaml *at = root->first;
	for (int i = 0; i < 3; i++, at = at->next)
		ASSERT_EQ(at->kind, YAML_NONE);
	ASSERT_STR(at->text, "");
	ASSERT_STR(at->next->text, "null");
}

TEST(an_empty_file_says_nothing)
{
	static const char *const texts[] = { "", "\n", "# words\n", "---\n", "--- \n...\n" };
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		auto_yaml struct yaml *root = read_text(texts[i]);
		ASSERT_EQ(root->kind, YAML_NONE);
	}
}

TEST(what_is_no_yaml_is_refused_with_its_line)
{
	refuses("a: 1\nb: [1\n", "f:3: is no YAML: flow sequence without a closing bracket");
	refuses("a: \"x\n", "f:1: is no YAML: double-quoted scalar without closing quote");
	refuses("a: 1\n- b\n", "f:2: is no YAML: did not find expected key");
	refuses("a: b: c\n", "f:1: is no YAML: invalid nested block mapping on the same line");
	refuses("\"", "f:1: is no YAML: double-quoted scalar without closing quote");
}

TEST(what_yaml_has_and_settings_do_not_need_is_refused)
{
	static const char words[] =
		"f:1: anchors (&), aliases (*) and tags (!) are not taken here; "
		"put text that begins with one of them in quotes";
	refuses("a: &x 1\n", words);
	refuses("a: *x\n", words);
	refuses("a: !!int 1\n", words);
	refuses("a: &x [1]\n", words);
	refuses("a: &x {b: 1}\n", words);
	refuses("? [a]\n: 1\n", "f:1: a key must be plain text");
	refuses("a: 1\n---\nb: 1\n", "f:2: a second document (---) begins here");
	refuses("a: \"x\\0y\"\n", "f:1: the text cannot be read");
}

TEST(a_key_is_there_once)
{
	refuses("a: 1\nb: 2\na: 3\n", "f:3: 'a' is there twice, first in line 1");
	refuses("{a: 1, \"a\": 2}", "f:1: 'a' is there twice, first in line 1");
}

TEST(depth_size_and_bytes_are_bounded)
{
	struct yaml *root = NULL;
	refuses("[[[[[[[1]]]]]]]", "f:1: it is nested too deeply");
	refuses("a: 1\nb: \xff\n", "f:2: is not text in UTF-8");
	ASSERT_FAIL(yaml_read("f", "a: \0 1", 6, &root, &err), ERR_INVALID);
	ASSERT_STR(err.text, "f:1: is not text in UTF-8");
	auto_free char *long_text = xcalloc(LIMIT_CONFIG_BYTES + 2, 1);
	memset(long_text, ' ', LIMIT_CONFIG_BYTES + 1);
	ASSERT_FAIL(yaml_read("f", long_text, LIMIT_CONFIG_BYTES + 1, &root, &err), ERR_LIMIT);
	memset(long_text, 0, LIMIT_CONFIG_BYTES + 1);
	for (size_t i = 0; i <= LIMIT_CONFIG_NODES; i++)
		(void)snprintf(long_text + i * 4, 5, "- a\n");
	refuses(long_text, "f:4096: there is too much in this file");
}
