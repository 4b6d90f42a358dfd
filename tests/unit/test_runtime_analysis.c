/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of a program's error text; tests/errors has the corpus of real ones. */
#include "unit/test.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "runtime/analysis.h"
#include "wire/utf8.h"

static struct spec spec;
static struct result result;

static void use(const char *language, const char *code, const char *text)
{
	const struct analysis_input input = { .language = language,
		.program = "main.py",
		.code = code,
		.code_len = strlen(code),
		.spec = &spec };
	(void)setenv("HOTCELL_RUNTIMES", "runtimes", 1);
	spec_done(&spec);
	result_done(&result);
	spec_init(&spec);
	result_init(&result);
	result.status = STATUS_ERROR;
	result.err.text = xstrdup(text);
	result.err.len = strlen(text);
	analyse(&input, &result);
}

__attribute__((destructor)) static void clean_up(void)
{
	spec_done(&spec);
	result_done(&result);
}

#define TRACE "Traceback (most recent call last):\n"
#define AT(line) "  File \"/home/user/main.py\", line " #line ", in <module>\n"

static const char share[] = "def share(total, people):\n"
			    "    return total / people\n"
			    "\n"
			    "print(share(10, 0))\n";

static const char share_text[] = TRACE AT(4) "    print(share(10, 0))\n"
					     "          ^^^^^^^^^^^^\n"
					     "  File \"/home/user/main.py\", line 2, in share\n"
					     "    return total / people\n"
					     "           ~~~~~~^~~~~~~~\n"
					     "ZeroDivisionError: division by zero\n";

TEST(a_traceback_becomes_frames_outermost_first)
{
	use("python", share, share_text);
	ASSERT_STR(result.error.kind, "runtime");
	ASSERT_STR(result.error.name, "ZeroDivisionError");
	ASSERT_STR(result.error.value, "division by zero");
	ASSERT_EQ(result.error.trace_count, 2);
	ASSERT_EQ(result.error.trace[0].line, 4);
	ASSERT_STR(result.error.trace[1].function, "share");
	ASSERT_STR(result.error.trace[1].source, "return total / people");
	ASSERT_EQ(result.error.trace[1].column, 18);
	ASSERT_HAS(result.error.documentation, "#ZeroDivisionError");
	ASSERT_HAS(result.hint, "divisor");
}

TEST(the_context_marks_the_users_line_and_column)
{
	static const char *const lines[] = { "  1 | def share(total, people):",
		"> 2 |     return total / people", "    |                  ^", "  3 |",
		"  4 | print(share(10, 0))" };
	use("python", share, share_text);
	ASSERT_EQ(result.error.line, 2);
	ASSERT_EQ(result.error.context_count, COUNT_OF(lines));
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		ASSERT_STR(result.error.context[i], lines[i]);
}

TEST(a_line_of_a_library_is_not_the_users)
{
	use("python", "import json\njson.loads('')\n",
		TRACE AT(2) "    json.loads('')\n"
			    "  File \"/usr/lib/python3.11/json/main.py\", line 346, in loads\n"
			    "    return x\nValueError: no\n");
	ASSERT_EQ(result.error.line, 2);
	ASSERT_EQ(result.error.trace_count, 2);
}

TEST(what_a_runner_told_is_kept)
{
	const struct analysis_input input = {
		.language = "python", .program = "main.py", .code = "x\ny\n", .code_len = 4
	};
	(void)setenv("HOTCELL_RUNTIMES", "runtimes", 1);
	result_init(&result);
	result.status = STATUS_ERROR;
	result.err.text = xstrdup(share_text);
	result.err.len = strlen(share_text);
	(void)snprintf(result.error.kind, sizeof(result.error.kind), "runtime");
	result.error.name = xstrdup("KeyError");
	result.error.value = xstrdup("'k'");
	result.error.line = 2;
	analyse(&input, &result);
	ASSERT_STR(result.error.name, "KeyError");
	ASSERT_EQ(result.error.trace_count, 0);
	ASSERT_HAS(result.hint, ".get('k')");
	ASSERT_STR(result.error.context[1], "> 2 | y");
}

TEST(tabs_and_wide_characters_keep_the_caret_in_place)
{
	use("python", "\tx\xe4\xb8\xad = f(1)\n",
		"  File \"main.py\", line 1\n"
		"    x\xe4\xb8\xad = f(1)\n"
		"         ^\nSyntaxError: no\n");
	ASSERT_STR(result.error.context[0], "> 1 |     x\xe4\xb8\xad = f(1)");
	ASSERT_EQ(result.error.column, 7);
	ASSERT_STR(result.error.context[1], "    |           ^");
}

TEST(a_long_line_is_cut_around_the_caret)
{
	auto_free char *code = xcalloc(5001, 1);
	struct failure failure = { .line = 1, .column = 3000 };
	memset(code, 'a', 5000);
	code[2999] = 'b';
	const struct analysis_input input = { .program = "x", .code = code, .code_len = 5000 };
	context_fill(&input, &failure);
	ASSERT_EQ(failure.context_count, 2);
	ASSERT(strlen(failure.context[0]) < 200);
	const char *caret = strchr(failure.context[1], '^');
	/* the mark of the cut has three bytes and stands for one */
	ASSERT_EQ(failure.context[0][caret - failure.context[1] + 2], 'b');
	failure_done(&failure);
}

TEST(hostile_text_becomes_one_printable_line)
{
	use("python", "x",
		TRACE AT(1) "    x\nNameError: name '\033[31mab\001\xff\u202e' is not defined\n");
	ASSERT_STR(result.error.name, "NameError");
	ASSERT(utf8_is_valid(result.error.value, strlen(result.error.value), NULL));
	for (const char *at = result.hint ? result.hint : ""; *at != '\0'; at++)
		ASSERT((unsigned char)*at >= 0x20);
}

TEST(endless_frames_keep_the_inner_ones)
{
	auto_buf struct buf text;
	buf_init(&text, 1 << 20);
	(void)buf_printf(&text, TRACE);
	for (int i = 1; i <= 290; i++)
		(void)buf_printf(&text, "  File \"main.py\", line %d, in f\n", i);
	(void)buf_printf(&text, "ValueError: deep\n");
	use("python", "x", buf_text(&text));
	ASSERT_EQ(result.error.trace_count, LIMIT_TRACE);
	ASSERT_EQ(result.error.trace[LIMIT_TRACE - 1].line, 290);
}

TEST(megabytes_of_text_are_read_at_both_ends)
{
	auto_buf struct buf text;
	buf_init(&text, 8 << 20);
	for (int i = 0; i < 100000; i++)
		(void)buf_printf(&text, "noise: %d: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", i);
	(void)buf_printf(&text, "%s", share_text);
	use("python", share, buf_text(&text));
	ASSERT_STR(result.error.name, "ZeroDivisionError");
	ASSERT_EQ(result.error.line, 2);
}

static char *near(const char *word, const char *code)
{
	struct json_object *book = NULL;
	struct err err = { 0 };
	static const char text[] = "{\"comments\": [\"#\"], \"lists\": {\"keywords\": [\"return\"],"
				   "\"names\": [\"print\", \"input\"]}}";
	const struct analysis_input input = { .code = code, .code_len = strlen(code) };
	struct analysis analysis = { .input = &input };
	struct strings lists = { 0 };
	ASSERT_OK(book_read(text, strlen(text), "test", &book, &err));
	analysis.books[analysis.book_count++] = book;
	strings_add(&lists, "code");
	strings_add(&lists, "names");
	char *found = near_name(&analysis, word, &lists);
	strings_done(&lists);
	json_free(&book);
	return found;
}

TEST(a_slip_finds_the_name_that_was_meant)
{
	static const char *const pairs[][2] = { { "totl", "total" }, { "pritn", "print" },
		{ "Total", "total" }, { "toatl", "total" }, { "numberofitem", "numberOfItems" } };
	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		auto_free char *found = near(pairs[i][0], "total = 1\nnumberOfItems = 2\n");
		ASSERT_STR(found, pairs[i][1]);
	}
}

TEST(no_name_is_guessed_where_a_guess_would_mislead)
{
	static const char *const pairs[][2] = {
		{ "x", "y = 1" },              /* too short */
		{ "ab", "ac = 1" },            /* too short */
		{ "item1", "item2 = 1" },      /* a number apart */
		{ "alpha", "beta = 1" },       /* nothing alike */
		{ "bat", "cat = 1; hat = 2" }, /* two are equally near */
		{ "totl", "s = 'total'" },     /* only in a string */
		{ "totl", "# total" },         /* only in a comment */
		{ "totl", "thing.total" },     /* a member */
		{ "retur", "return" },         /* a keyword */
		{ "total", "total = 1" },      /* the word itself */
		{ "", "a = 1" },
	};
	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		auto_free char *found = near(pairs[i][0], pairs[i][1]);
		if (found)
			FAIL("'%s' gives '%s' in: %s", pairs[i][0], found, pairs[i][1]);
	}
}

TEST(a_book_is_refused_with_its_name_and_the_field)
{
	static const char *const books[][2] = {
		{ "{\"rulez\": []}", "rulez" },
		{ "{\"rules\": {}}", "rules" },
		{ "{\"rules\": [{\"hnt\": \"x\"}]}", "hnt" },
		{ "{\"lines\": [{\"match\": 3}]}", "match" },
		{ "{\"lists\": {\"a\": \"b\"}}", "lists" },
		{ "{\"tables\": {\"a\": {\"b\": 1}}}", "tables" },
		{ "{\"first_counts\": 1}", "first_counts" },
		{ "[]", "" },
		{ "", "" },
	};
	for (size_t i = 0; i < COUNT_OF(books); i++) {
		struct err err = { 0 };
		struct json_object *book = NULL;
		ASSERT_EQ(book_read(books[i][0], strlen(books[i][0]), "ORIGIN", &book, &err), -1);
		ASSERT_HAS(err.text, "ORIGIN: ");
		ASSERT_HAS(err.text, books[i][1]);
	}
}

/* ---- the books of the tree ------------------------------------------------------------------- */

static void check_pattern(const char *book, const char *pattern)
{
	regex_t regex;
	if (!pattern)
		return;
	if (!regex_open(&regex, pattern, 0))
		FAIL("%s: '%s' is no pattern", book, pattern);
	/* a reference back would make matching take exponential time */
	for (const char *at = strchr(pattern, '\\'); at; at = strchr(at + 2, '\\'))
		if (at[1] >= '0' && at[1] <= '9')
			FAIL("%s: '%s' refers back", book, pattern);
	if (regex.re_nsub + 1 > ANALYSIS_GROUPS)
		FAIL("%s: '%s' has too many groups", book, pattern);
	regfree(&regex);
}

static size_t check_rules(const char *book, struct json_object *rules)
{
	static const char *const patterns[] = { "value", "source", "text", "code", "without" };
	size_t count = rules ? json_object_array_length(rules) : 0;
	for (size_t i = 0; i < count; i++) {
		struct json_object *rule = json_object_array_get_idx(rules, i);
		for (size_t k = 0; k < COUNT_OF(patterns); k++)
			check_pattern(book, field_text(rule, patterns[k]));
		const char *link = field_text(rule, "link");
		if (link && strncmp(link, "https://", 8) != 0)
			FAIL("%s: '%s' is no link", book, link);
		if (!link && !field_text(rule, "hint"))
			FAIL("%s: rule %zu gives nothing", book, i);
	}
	return count;
}

static size_t check_book(const char *name)
{
	auto_buf struct buf text = { 0 };
	auto_free char *path = NULL;
	auto_json struct json_object *book = NULL;
	struct err err = { 0 };
	buf_init(&text, LIMIT_BOOK_BYTES);
	ASSERT_OK(runtime_read(name, "errors.json", &text, &path, &err));
	if (!path)
		return 0;
	ASSERT_OK(book_read(buf_text(&text), text.len, path, &book, &err));
	struct json_object *lines = json_object_object_get(book, "lines");
	for (size_t i = 0; lines && i < json_object_array_length(lines); i++)
		check_pattern(name, field_text(json_object_array_get_idx(lines, i), "match"));
	return check_rules(name, json_object_object_get(book, "rules"));
}

TEST(every_book_of_the_tree_is_sound)
{
	auto_dir DIR *dir = opendir("runtimes");
	size_t rules = 0;
	if (!dir)
		SKIP("not run from the tree");
	(void)setenv("HOTCELL_RUNTIMES", "runtimes", 1);
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		if (entry->d_name[0] != '.')
			rules += check_book(entry->d_name);
	ASSERT(rules > 300);
}

TEST(a_broken_book_costs_the_analysis_and_says_so)
{
	char place[] = "/tmp/hotcell-test-XXXXXX";
	ASSERT(mkdtemp(place));
	auto_free char *dir = xasprintf("%s/odd", place);
	auto_free char *path = xasprintf("%s/errors.json", dir);
	ASSERT_EQ(mkdir(dir, 0755), 0);
	FILE *file = fopen(path, "we");
	ASSERT(file);
	(void)fputs("{ \"rules\": 1 }", file);
	(void)fclose(file);
	(void)setenv("HOTCELL_RUNTIMES", place, 1);
	const struct analysis_input input = { .language = "odd", .program = "x", .code = "" };
	result_init(&result);
	result.status = STATUS_ERROR;
	analyse(&input, &result);
	(void)unlink(path);
	(void)rmdir(dir);
	(void)rmdir(place);
	ASSERT_EQ(result.warning_count, 1);
	ASSERT_HAS(result.warnings[0], "errors.json");
	ASSERT(!result.hint);
}
