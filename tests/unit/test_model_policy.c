/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "model/field.h"
#include "model/limits.h"
#include "model/policy.h"
#include "unit/scratch.h"
#include "wire/json.h"

static char root[] = "/tmp/hotcell-test-XXXXXX";
static struct err err;

static void clean_up(void)
{
	scratch_remove(root);
}

/* The test stands in a directory of its own, with two more in it. */
static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
	ASSERT_EQ(mkdir("one", 0755) | mkdir("two", 0755), 0);
}

/* The text of a policy that text was read as. */
static char *read_and_write(const char *text)
{
	struct policy policy;
	policy_init(&policy);
	ASSERT_OK(policy_from_json(&policy, text, strlen(text), &err));
	char *again = policy_to_json(&policy);
	policy_done(&policy);
	return again;
}

/* The text of a policy, which must be read as the same. */
static char *write_and_check(const struct policy *policy)
{
	char *text = policy_to_json(policy);
	ASSERT(text);
	auto_free char *again = read_and_write(text);
	ASSERT_STR(again, text);
	return text;
}

static void add_items(struct strings *list, const char *const *items)
{
	for (size_t i = 0; items[i]; i++)
		strings_add(list, items[i]);
}

/* Gives the field its nth value, all of which differ; false: it has no more. A field of a type
 * that is not known here fails the test. */
static bool set_nth(struct spec *spec, const struct field *field, size_t n)
{
	static const char *const lists[][3] = { { "a" }, { "b" }, { "a", "b" }, { "b", "a" } };
	static const char *const texts[] = { "one", "two", "/usr" };
	static const char *const pairs[][3] = { { "one:/x" }, { "two:/x" }, { "one:/y" },
		{ "one:/x", "two:/y" }, { "one:/y", "two:/x" } };
	void *slot = field_slot(spec, field);
	const int64_t numbers[] = { field->min, field->min + 1, field->max / 2, field->max - 1,
		field->max };
	switch (field->type) {
	case FIELD_BOOL:
		*(bool *)slot = n == 1;
		return n < 2;
	case FIELD_TEXT:
		if (n >= COUNT_OF(texts))
			return false;
		free(*(char **)slot);
		*(char **)slot = xstrdup(texts[n]);
		return true;
	case FIELD_SECONDS:
	case FIELD_SIZE:
	case FIELD_COUNT:
	case FIELD_CPUS:
		*(int64_t *)slot = n < COUNT_OF(numbers) ? numbers[n] : 0;
		return n < COUNT_OF(numbers);
	case FIELD_CHOICE:
		*(int *)slot = (int)n;
		return field->choices[n];
	case FIELD_STRINGS:
	case FIELD_NAMES:
		if (n < COUNT_OF(lists))
			add_items(slot, lists[n]);
		return n < COUNT_OF(lists);
	case FIELD_PAIRS:
		for (size_t i = 0; n < COUNT_OF(pairs) && pairs[n][i]; i++)
			ASSERT_OK(spec_set(spec, field, pairs[n][i], &err));
		return n < COUNT_OF(pairs);
	default:
		FAIL("field '%s' is of a type nobody knows", field->name);
	}
}

/* NULL: the field has no nth value. */
static char *text_with_nth(const struct field *field, size_t n)
{
	struct policy policy;
	policy_init(&policy);
	char *text = set_nth(&policy.spec, field, n) ? write_and_check(&policy) : NULL;
	policy_done(&policy);
	return text;
}

static struct json_object *spec_in(const char *text)
{
	struct json_object *spec = NULL;
	auto_json struct json_object *json = NULL;
	ASSERT_OK(json_read(text, strlen(text), LIMIT_SPEC_BYTES, LIMIT_SPEC_DEPTH, &json, &err));
	ASSERT(json_object_object_get_ex(json, "spec", &spec));
	return json_object_get(spec);
}

TEST(every_field_is_the_policys_or_the_jobs)
{
	struct policy policy;
	set_up();
	policy_init(&policy);
	for (size_t i = 0; i < spec_field_count; i++)
		ASSERT(set_nth(&policy.spec, &spec_fields[i], 0));
	auto_free char *text = policy_to_json(&policy);
	auto_json struct json_object *spec = spec_in(text);
	size_t count = 0;
	for (size_t i = 0; i < spec_field_count; i++) {
		bool is_there = json_object_object_get_ex(spec, spec_fields[i].name, NULL);
		if (is_there == spec_fields[i].is_job)
			FAIL("'%s' is %s the policy", spec_fields[i].name,
				is_there ? "in" : "not in");
		count += is_there;
	}
	ASSERT_EQ(json_object_object_length(spec), count);
	policy_done(&policy);
}

TEST(policies_differ_when_a_field_that_is_not_the_jobs_does)
{
	set_up();
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		char *texts[8] = { NULL };
		size_t count = 0;
		if (field->is_job)
			continue;
		while (count < COUNT_OF(texts) && (texts[count] = text_with_nth(field, count)))
			count++;
		ASSERT(count >= 2);
		for (size_t a = 0; a < count; a++)
			for (size_t b = 0; b < a; b++)
				if (strcmp(texts[a], texts[b]) == 0)
					FAIL("two values of '%s' are one: %s", field->name,
						texts[a]);
		for (size_t a = 0; a < count; a++)
			free(texts[a]);
	}
}

/* Two policies that differ in nothing but this field, if at all. */
static void compare(const struct field *field, size_t n, size_t m)
{
	struct policy one, other;
	policy_init(&one);
	policy_init(&other);
	ASSERT(set_nth(&one.spec, field, n) && set_nth(&other.spec, field, m));
	auto_free char *text = policy_to_json(&one);
	auto_free char *other_text = policy_to_json(&other);
	bool is_same = policy_is_same(&one, &other);
	if (is_same && strcmp(text, other_text) != 0)
		FAIL("two values of '%s' are one: %s", field->name, text);
	ASSERT(is_same || n != m || field->type == FIELD_PAIRS);
	policy_done(&one);
	policy_done(&other);
}

TEST(policies_are_the_same_only_where_their_texts_are)
{
	set_up();
	for (size_t i = 0; i < spec_field_count; i++) {
		size_t count = 0;
		for (char *text; count < 8 && (text = text_with_nth(&spec_fields[i], count));
			count++)
			free(text);
		for (size_t n = 0; n < count * count; n++)
			compare(&spec_fields[i], n / count, n % count);
	}
}

TEST(a_policy_is_the_same_as_what_is_read_from_its_text)
{
	struct policy written, policy;
	set_up();
	for (int i = 0; i < 7; i++) {
		policy_init(&written);
		written.form = FORM_GUEST;
		strings_add(&written.standing, "/usr/bin/python3");
		written.runtime = xasprintf("%s/one", root);
		ASSERT_OK(spec_set(&written.spec, spec_field("rootfs"), root, &err));
		auto_free char *text = write_and_check(&written);
		policy_init(&policy);
		ASSERT_OK(policy_from_json(&policy, text, strlen(text), &err));
		ASSERT(policy_is_same(&written, &policy));
		if (i == 1)
			written.form = FORM_GATE;
		else if (i == 2)
			strings_add(&written.standing, "x");
		else if (i == 3)
			written.runtime[strlen(written.runtime) - 1] = 'E';
		else if (i == 4)
			written.has_full_proc = true;
		else if (i == 5)
			written.interpreter = xstrdup("/usr/bin/python3");
		else if (i == 6)
			pairs_add(&written.spec.ro, "two", "/mnt/two");
		ASSERT_EQ(policy_is_same(&written, &policy), i == 0);
		policy_done(&written);
		policy_done(&policy);
	}
}

TEST(places_are_where_the_paths_lead_now)
{
	struct policy policy;
	struct policy_places before, after;
	const struct policy_places none = { 0 };
	set_up();
	policy_init(&policy);
	policy_find_places(&policy, &before);
	ASSERT_EQ(memcmp(&before, &none, sizeof(none)), 0);
	policy.runtime = xasprintf("%s/one", root);
	policy_find_places(&policy, &before);
	policy_find_places(&policy, &after);
	ASSERT_EQ(memcmp(&before, &after, sizeof(after)), 0);
	ASSERT_EQ(rename("one", "old") | rename("two", "one"), 0);
	policy_find_places(&policy, &after);
	ASSERT(before.runtime.inode != after.runtime.inode);
	ASSERT_OK(spec_set(&policy.spec, spec_field("rootfs"), "old", &err));
	policy_find_places(&policy, &after);
	ASSERT_EQ(after.root.inode, before.runtime.inode);
	policy_done(&policy);
}

TEST(a_jobs_fields_leave_the_policy_as_it_is)
{
	struct policy policy;
	set_up();
	policy_init(&policy);
	auto_free char *before = write_and_check(&policy);
	for (size_t i = 0; i < spec_field_count; i++)
		if (spec_fields[i].is_job)
			ASSERT(set_nth(&policy.spec, &spec_fields[i], 1));
	auto_free char *after = policy_to_json(&policy);
	ASSERT_STR(after, before);
	policy_done(&policy);
}

TEST(policies_differ_when_anything_beside_the_spec_does)
{
	enum { VARIANTS = 10 };
	char *texts[VARIANTS];
	set_up();
	for (int i = 0; i < VARIANTS; i++) {
		struct policy policy;
		policy_init(&policy);
		if (i == 1 || i == 2) {
			policy.form = i == 1 ? FORM_GUEST : FORM_STARTED;
			strings_add(&policy.standing, "program");
		} else if (i >= 3 && i <= 5) {
			strings_add(&policy.standing, i == 3 ? "program" : "a");
			if (i == 5)
				strings_add(&policy.standing, "b");
		} else if (i == 6 || i == 7) {
			policy.runtime = xasprintf("%s/%s", root, i == 6 ? "one" : "two");
		} else if (i == 8) {
			policy.has_full_proc = true;
		} else if (i == 9) {
			policy.interpreter = xstrdup("/usr/bin/python3");
		}
		texts[i] = write_and_check(&policy);
		for (int k = 0; k < i; k++)
			if (strcmp(texts[i], texts[k]) == 0)
				FAIL("policies %d and %d are one: %s", k, i, texts[i]);
		policy_done(&policy);
	}
	for (int i = 0; i < VARIANTS; i++)
		free(texts[i]);
}

TEST(what_is_read_is_what_was_written)
{
	struct policy written, policy;
	set_up();
	policy_init(&written);
	written.form = FORM_GUEST;
	strings_add(&written.standing, "/usr/bin/python3");
	strings_add(&written.standing, "\xc2\x85 \xe2\x80\xae \x7f \x1b\n\"\\");
	written.runtime = xasprintf("%s/one", root);
	written.interpreter = xstrdup("/usr/bin/python3");
	written.has_full_proc = true;
	written.spec.cpus_milli = 1001;
	written.spec.net = NET_LOOPBACK;
	strings_add(&written.spec.commands, "ls");
	pairs_add(&written.spec.ro, "two", "/mnt//data/");
	auto_free char *text = write_and_check(&written);
	policy_init(&policy);
	ASSERT_OK(policy_from_json(&policy, text, strlen(text), &err));
	ASSERT_EQ(policy.form, FORM_GUEST);
	ASSERT_EQ(policy.standing.count, 2);
	ASSERT_STR(policy.standing.items[1], written.standing.items[1]);
	ASSERT_STR(policy.runtime, written.runtime);
	ASSERT_STR(policy.interpreter, "/usr/bin/python3");
	ASSERT(policy.spec.interpreter == policy.interpreter);
	ASSERT(policy.has_full_proc);
	ASSERT_EQ(policy.spec.cpus_milli, 1001);
	ASSERT_EQ(policy.spec.net, NET_LOOPBACK);
	ASSERT_STR(policy.spec.commands.items[0], "ls");
	ASSERT_STR(policy.spec.ro.items[0].to, "/mnt/data");
	policy_done(&written);
	policy_done(&policy);
}

TEST(paths_are_told_from_the_root)
{
	struct policy policy;
	set_up();
	ASSERT_EQ(symlink("one", "link"), 0);
	policy_init(&policy);
	ASSERT_OK(spec_set(&policy.spec, spec_field("rootfs"), "./one/../two", &err));
	pairs_add(&policy.spec.ro, "link", "/mnt/a");
	pairs_add(&policy.spec.rw, "two", NULL);
	auto_free char *text = write_and_check(&policy);
	auto_free char *rootfs = xasprintf("\"rootfs\":\"%s/two\"", root);
	auto_free char *ro = xasprintf("[{\"from\":\"%s/one\",\"to\":\"/mnt/a\"}]", root);
	auto_free char *rw = xasprintf("[{\"from\":\"%s/two\",\"to\":\"%s/two\"}]", root, root);
	ASSERT_HAS(text, rootfs);
	ASSERT_HAS(text, ro);
	ASSERT_HAS(text, rw);
	policy_done(&policy);
}

TEST(the_hosts_own_root_is_no_path)
{
	struct policy policy;
	set_up();
	ASSERT_EQ(mkdir("host", 0755), 0);
	policy_init(&policy);
	auto_free char *text = write_and_check(&policy);
	ASSERT_HAS(text, "\"rootfs\":\"host\"");
	policy_done(&policy);
}

/* Who reads the policy stands elsewhere: there the same words could lead to another place. */
TEST(a_path_that_leads_nowhere_from_here_is_not_told)
{
	struct policy policy;
	set_up();
	policy_init(&policy);
	pairs_add(&policy.spec.ro, "none", "/mnt/a");
	ASSERT(!policy_to_json(&policy));
	policy_done(&policy);
	policy_init(&policy);
	policy.runtime = xstrdup("one"); /* a language's directory is known by its whole path */
	ASSERT(!policy_to_json(&policy));
	policy_done(&policy);
	policy_init(&policy);
	pairs_add(&policy.spec.ro, "/none/such", "/mnt/a");
	auto_free char *text = write_and_check(&policy);
	ASSERT_HAS(text, "\"/none/such\"");
	policy_done(&policy);
}

TEST(a_mount_without_a_place_is_not_told)
{
	struct policy policy;
	set_up();
	policy_init(&policy);
	pairs_add(&policy.spec.ro, "one", "/etc");
	ASSERT(!policy_to_json(&policy));
	policy_done(&policy);
}

TEST(what_is_not_utf8_is_not_told)
{
	static const char bad[] = "/tmp/\xff";
	for (int i = 0; i < 6; i++) {
		struct policy policy;
		policy_init(&policy);
		if (i == 0)
			policy.runtime = xstrdup(bad);
		else if (i == 1)
			policy.interpreter = xstrdup(bad);
		else if (i == 2)
			strings_add(&policy.standing, bad);
		else if (i == 3)
			pairs_add(&policy.spec.ro, bad, "/mnt/a");
		else if (i == 4)
			pairs_add(&policy.spec.rw, "/tmp", "/mnt/\xc3");
		else
			ASSERT_OK(spec_set(&policy.spec, spec_field("rootfs"), bad, &err));
		if (policy_to_json(&policy))
			FAIL("policy %d was told", i);
		policy_done(&policy);
	}
}

/* Cells show the file that was there when they were raised. */
TEST(a_path_that_leads_to_another_file_makes_another_policy)
{
	struct policy policy;
	set_up();
	ASSERT_EQ(mknod("file", S_IFREG | 0600, 0) | mknod("new", S_IFREG | 0600, 0), 0);
	policy_init(&policy);
	pairs_add(&policy.spec.ro, "file", "/mnt/file");
	auto_free char *before = write_and_check(&policy);
	auto_free char *same = write_and_check(&policy);
	ASSERT_STR(same, before);
	ASSERT_EQ(rename("new", "file"), 0);
	auto_free char *after = write_and_check(&policy);
	ASSERT(strcmp(after, before) != 0);
	ASSERT_EQ(unlink("file"), 0);
	policy_done(&policy);
}

/* clang-format off */
static const struct { const char *text, *want; } refused[] = {
	{ "", "JSON is empty" },
	{ "[]", "an object" },
	{ "{\"form\":\"gate\"} x", "line 1" },
	{ "{\"form\":\"other\"}", "there is no form 'other'" },
	{ "{\"form\":\"a\\u001b[2J\\n\"}", "there is no form 'a^[[2J" },
	{ "{\"form\":1}", "'form' must be a string, not a number" },
	{ "{\"form\":null}", "'form' must be a string, not null" },
	{ "{\"form\":\"guest\"}", "nothing stands ready" },
	{ "{\"form\":\"started\",\"standing\":[]}", "nothing stands ready" },
	{ "{\"standing\":\"x\"}", "'standing' must be an array" },
	{ "{\"standing\":null}", "'standing' must be an array" },
	{ "{\"standing\":[1]}", "'standing' must be a string, not a number" },
	{ "{\"standing\":[null]}", "'standing' must be a string, not null" },
	{ "{\"runtime\":[]}", "'runtime' must be a string, not an array" },
	{ "{\"runtime\":\"here\"}", "'here' is no path from the root" },
	{ "{\"interpreter\":true}", "'interpreter' must be a string, not a boolean" },
	{ "{\"full_proc\":1}", "'full_proc' is not understood" },
	{ "{\"full_proc\":null}", "'full_proc' is not understood" },
	{ "{\"identity\":\"1:2\"}", "'identity' must be an array" },
	{ "{\"identity\":[1]}", "'identity' must be a string, not a number" },
	{ "{\"other\":1}", "'other' is not understood" },
	{ "{\"\\u001b[2J\\n\":1}", "'^[[2J" },
	{ "{\"spec\":null}", "an object" },
	{ "{\"spec\":[]}", "an object" },
	{ "{\"spec\":\"{}\"}", "an object" },
	{ "{\"spec\":{\"pds\":1}}", "unknown field 'pds', did you mean 'pids'?" },
	{ "{\"spec\":{\"pids\":0}}", "pids" },
	{ "{\"spec\":{\"net\":\"all\"}}", "net" },
	{ "{\"spec\":{\"rootfs\":\"here\"}}", "'here' is no path from the root" },
	{ "{\"spec\":{\"ro\":[\"here:/mnt/a\"]}}", "'here' is no path from the root" },
	{ "{\"spec\":{\"rw\":[{\"from\":\"./x\",\"to\":\"/mnt/a\"}]}}", "'./x' is no path from" },
	{ "{\"spec\":{\"ro\":[\"/tmp:/etc\"]}}", "'/etc' cannot be a mount's place" },
	{ "{\"spec\":{\"ro\":[\"/tmp:/x\"],\"rw\":[\"/usr:/x\"]}}", "target of two" },
	{ "{\"spec\":{\"commands\":[\"-x\"]}}", "'-x' is not the name of a program" },
};
/* clang-format on */

static void refuse(const char *text, enum err_code code, const char *want)
{
	struct policy policy;
	err = (struct err){ 0 };
	policy_init(&policy);
	if (policy_from_json(&policy, text, strlen(text), &err) == 0)
		FAIL("%s was taken", text);
	if (err.code != code || !strstr(err.text, want))
		FAIL("%s: code %d: %s", text, (int)err.code, err.text);
	policy_done(&policy);
}

TEST(what_is_no_policy_is_refused)
{
	for (size_t i = 0; i < COUNT_OF(refused); i++)
		refuse(refused[i].text, ERR_INVALID, refused[i].want);
}

TEST(a_jobs_affair_in_a_policy_is_refused)
{
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		bool is_list = field->type == FIELD_STRINGS || field->type == FIELD_PAIRS;
		bool is_number = field->type == FIELD_SECONDS || field->type == FIELD_SIZE ||
				 field->type == FIELD_COUNT;
		if (!field->is_job)
			continue;
		auto_free char *number = xasprintf("%" PRId64, field->min);
		auto_free char *choice =
			xasprintf("\"%s\"", field->choices ? field->choices[0] : "x");
		const char *value = is_list ? "[\"x\"]" : choice;
		if (is_number)
			value = number;
		else if (field->type == FIELD_BOOL)
			value = "true";
		auto_free char *text = xasprintf("{\"spec\":{\"%s\":%s}}", field->name, value);
		auto_free char *want = xasprintf("'%s' is a job's affair", field->name);
		refuse(text, ERR_INVALID, want);
	}
}

TEST(lists_are_bounded)
{
	auto_free char *items = xcalloc(LIMIT_NAMES + 1, 4);
	for (int i = 0; i <= LIMIT_NAMES; i++)
		memcpy(items + (size_t)i * 4, "\"x\",", 4);
	items[(LIMIT_NAMES + 1) * 4 - 1] = '\0';
	auto_free char *standing = xasprintf("{\"standing\":[%s]}", items);
	auto_free char *identity = xasprintf("{\"identity\":[%s]}", items);
	refuse(standing, ERR_INVALID, "at most 64");
	refuse(identity, ERR_INVALID, "at most 64");
	items[LIMIT_NAMES * 4 - 1] = '\0';
	auto_free char *most = xasprintf("{\"standing\":[%s]}", items);
	auto_free char *text = read_and_write(most);
	ASSERT(text);
}

TEST(a_policy_of_nothing_is_that_of_every_default)
{
	struct policy policy;
	policy_init(&policy);
	auto_free char *defaults = write_and_check(&policy);
	auto_free char *text = read_and_write("{}");
	ASSERT_STR(text, defaults);
	policy_done(&policy);
}

TEST(every_form_has_a_name)
{
	for (int i = 0; i < CELL_FORM_COUNT; i++)
		ASSERT(cell_form_names[i]);
	ASSERT(!cell_form_names[CELL_FORM_COUNT]);
}
