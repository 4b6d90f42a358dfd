/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "model/result.h"
#include "wire/json.h"

static struct spec spec;
static struct result result;

static void set_up(enum run_status status, const char *out, const char *err_text)
{
	spec_init(&spec);
	result_init(&result);
	result.status = status;
	result.out = (struct captured){ .text = xstrdup(out), .len = strlen(out) };
	result.err = (struct captured){ .text = xstrdup(err_text), .len = strlen(err_text) };
}

/* Read back from JSON it says the same. */
static void check_read_back(const char *wanted)
{
	struct err err = { 0 };
	struct spec limits;
	struct result copy;
	auto_json struct json_object *json = NULL;
	if (result.status != STATUS_OK && !result.error.kind[0])
		(void)snprintf(result.error.kind, sizeof(result.error.kind), "runtime");
	auto_free char *text = result_to_json(&result, &spec, false);
	ASSERT_EQ(json_read(text, strlen(text), 64 << 20, 64, &json, &err), 0);
	spec_init(&limits);
	result_init(&copy);
	result_read(json, &copy, &limits);
	auto_free char *again = result_compact(&copy, &limits);
	ASSERT_STR(again, wanted);
	result_done(&copy);
	spec_done(&limits);
}

/* Compares and cleans up. */
static void check_text(const char *wanted)
{
	auto_free char *text = result_compact(&result, &spec);
	ASSERT_STR(text, wanted);
	check_read_back(wanted);
	result_done(&result);
	spec_done(&spec);
}

static void fail_with(const char *name, const char *value, int64_t line)
{
	result.exit_code = 1;
	result.error.name = name ? xstrdup(name) : NULL;
	result.error.value = value ? xstrdup(value) : NULL;
	result.error.line = line;
}

static void add_frame(const char *file, int64_t line, const char *source)
{
	struct trace_frame *frame = failure_add_frame(&result.error);
	frame->file = xstrdup(file);
	frame->line = line;
	frame->source = xstrdup(source);
}

static void add_denial(
	const char *layer, const char *operation, const char *target, const char *option)
{
	struct denial denial = { .count = 1 };
	(void)snprintf(denial.layer, sizeof(denial.layer), "%s", layer);
	(void)snprintf(denial.operation, sizeof(denial.operation), "%s", operation);
	(void)snprintf(denial.target, sizeof(denial.target), "%s", target);
	(void)snprintf(denial.option, sizeof(denial.option), "%s", option);
	result_add_denial(&result, &denial);
}

static void add_value(bool is_result, const char *data, const char *metadata)
{
	ASSERT(result_add_output(&result, is_result, xstrdup(data), xstrdup(metadata)));
}

TEST(output_comes_as_it_is_and_nothing_is_said_so)
{
	set_up(STATUS_OK, "a\nb\n", "");
	check_text("a\nb\n");
	set_up(STATUS_OK, "no newline", "");
	check_text("no newline\n");
	set_up(STATUS_OK, "  indented\n\n\n", "");
	check_text("  indented\n");
	set_up(STATUS_OK, "", "");
	check_text("(no output)\n");
}

TEST(stderr_follows_with_its_name)
{
	set_up(STATUS_OK, "a\n", "careful\n");
	check_text("a\nstderr: careful\n");
	set_up(STATUS_OK, "", "one\ntwo\n");
	check_text("stderr:\none\ntwo\n");
}

TEST(what_only_a_terminal_would_show_is_left_out)
{
	set_up(STATUS_OK, "10%\r50%\r100%\r\n\033[1;32mgreen\033[0m\a \033]0;title\adone\033M\n",
		"");
	check_text("100%\ngreen done\n");
	set_up(STATUS_OK, "bad \xff byte\n\ttab\x7f\x01\n", "");
	check_text("bad \xef\xbf\xbd byte\n\ttab\n");
	set_up(STATUS_OK, "cut \033[", "");
	check_text("cut \n");
}

TEST(the_value_is_marked_and_what_is_displayed_is_output)
{
	set_up(STATUS_OK, "1\n", "");
	add_value(true, "{\"text/plain\":\"42\"}", "{}");
	check_text("1\n=> 42\n");
	set_up(STATUS_OK, "", "");
	add_value(false, "{\"text/plain\":\"shown\"}", "{}");
	add_value(true, "{\"text/plain\":\"  a\\n0 1\"}", "{}");
	check_text("shown\n=>\n  a\n0 1\n");
	set_up(STATUS_OK, "", "");
	add_value(true, "{\"application/json\":{\"a\":[1,2]}}", "{}");
	check_text("=> {\"a\":[1,2]}\n");
}

TEST(what_has_no_text_is_named_and_what_was_printed_is_not_said_again)
{
	set_up(STATUS_OK, "", "");
	add_value(false, "{\"image/png\":\"iVBO\",\"text/html\":\"<p>\"}", "{}");
	check_text("[image/png, text/html]\n");
	set_up(STATUS_OK, "table\n", "");
	add_value(false, "{\"text/plain\":\"table\"}", "{\"printed\":true}");
	check_text("table\n");
}

TEST(a_long_value_is_cut_at_a_character)
{
	set_up(STATUS_OK, "", "");
	spec.max_output = 4;
	add_value(true,
		"{\"text/plain\":\"abc\xc3\xa9"
		"d\"}",
		"{}");
	check_text("=> abc\n[… 3 more bytes of the value]\n");
}

TEST(an_error_comes_with_its_line_its_callers_and_a_hint)
{
	set_up(STATUS_ERROR, "hi\n",
		"warn\nTraceback (most recent call last):\n  File \"/home/user/main.py\", line 5, "
		"in "
		"<module>\n    f(0)\n  File \"/home/user/main.py\", line 4, in f\n    return 1/x\n"
		"ZeroDivisionError: division by zero\n");
	fail_with("ZeroDivisionError", "division by zero", 4);
	result_set_error(&result, "runtime", "Execution failed: warn …");
	add_frame("/home/user/main.py", 5, "f(0)");
	add_frame("/home/user/main.py", 4, "    return 1/x");
	result.hint = xstrdup("The divisor is 0 here: test it before dividing.");
	check_text(
		"hi\nstderr: warn\nerror: ZeroDivisionError: division by zero\nline 4: return 1/x "
		"(called from line 5)\nhint: The divisor is 0 here: test it before dividing.\n");
}

TEST(a_trace_that_the_program_printed_itself_stays)
{
	set_up(STATUS_ERROR, "",
		"Traceback (most recent call last):\n  File \"a\", line 1\nKeyError: 1\ngoing on\n"
		"Traceback (most recent call last):\n  File \"a\", line 2\nKeyError: 2\n\nDuring "
		"handling of the above exception, another exception occurred:\n\nTraceback (most "
		"recent call last):\n  File \"a\", line 3\nValueError: x\n");
	fail_with("ValueError", "x", 0);
	check_text(
		"stderr:\nTraceback (most recent call last):\n  File \"a\", line 1\nKeyError: 1\n"
		"going on\nerror: ValueError: x\n");
}

TEST(node_s_trace_and_a_short_error_text_are_not_said_twice)
{
	set_up(STATUS_ERROR, "",
		"w\n/home/user/main.js:2\nreturn null.x\n\nTypeError: no\n    at f\n\nNode.js "
		"v20\n");
	fail_with("TypeError", "no", 2);
	add_frame("main.js", 2, "return null.x");
	check_text("stderr: w\nerror: TypeError: no\nline 2: return null.x\n");
	set_up(STATUS_ERROR, "a\n", "main.bash: line 2: nope: command not found\n");
	fail_with("command not found", "nope", 2);
	result.exit_code = 127;
	add_frame("main.bash", 2, "nope");
	check_text("a\nerror: command not found: nope (exit status 127)\nline 2: nope\n");
}

TEST(the_exact_messages_stand_for_themselves)
{
	set_up(STATUS_TIMEOUT, "", "");
	spec.timeout_ms = 5000;
	result_set_error(&result, "timeout", "Code execution timed out after 5s");
	add_denial("time", "run on", "", "--timeout 10");
	check_text(
		"error: Code execution timed out after 5s\nlimits: timeout 5s (--timeout 10 allows "
		"it)\n");
	set_up(STATUS_ERROR, "",
		"  File \"main.py\", line 1\n    x = (\nSyntaxError: never closed\n");
	fail_with("SyntaxError", "never closed", 1);
	result_set_error(&result, "syntax", "Python syntax error: never closed (line 1)");
	add_frame("main.py", 1, "x = (");
	check_text("error: Python syntax error: never closed (line 1)\nline 1: x = (\n");
	set_up(STATUS_REFUSED, "", "");
	result_set_error(&result, "refused", "Security policy blocked import: os");
	check_text("error: Security policy blocked import: os\n");
}

TEST(without_a_name_the_exit_status_or_signal_is_told)
{
	set_up(STATUS_ERROR, "", "bad thing\n");
	result.exit_code = 4;
	result_set_error(&result, "runtime", "Execution failed: bad thing");
	check_text("stderr: bad thing\nerror: exit status 4\n");
	set_up(STATUS_SIGNAL, "", "");
	result.signal = SIGSEGV;
	result_set_error(&result, "runtime", "Execution failed: Segmentation fault");
	check_text("error: killed by signal 11 (Segmentation fault)\n");
}

TEST(an_error_may_say_more_than_a_line_but_not_without_end)
{
	set_up(STATUS_ERROR, "", "");
	fail_with("E", "one\ntwo", 0);
	check_text("error: E: one\ntwo\n");
	set_up(STATUS_ERROR, "", "");
	auto_free char *value = xcalloc(1, 3001);
	memset(value, 'x', 3000);
	fail_with("E", value, 0);
	auto_free char *text = result_compact(&result, &spec);
	ASSERT_EQ(strlen(text), strlen("error: E: ") + 2000 + strlen("…\n"));
	result_done(&result);
	spec_done(&spec);
}

TEST(many_callers_are_counted)
{
	set_up(STATUS_ERROR, "", "");
	fail_with("RecursionError", "deep", 9);
	for (int i = 1; i < 8; i++)
		add_frame("main.py", i, "f()");
	add_frame("main.py", 9, "g()");
	add_frame("/usr/lib/python3.11/json.py", 300, "library");
	check_text("error: RecursionError: deep\nline 9: g() (called from line 7, 6, 5, 4, …)\n");
}

TEST(limits_stand_in_one_line_and_options_are_told_once)
{
	set_up(STATUS_OOM, "", "");
	result_set_error(&result, "runtime", "Code ran out of its memory of 512M");
	result.hint = xstrdup("to allow it: --memory 1G");
	add_denial("memory", "allocate", "", "--memory 1G");
	add_denial("network", "socket", "AF_INET stream", "--net loopback");
	result.out.is_truncated = true;
	result.out.total_bytes = 100001;
	result.err.is_truncated = true;
	result.err.total_bytes = 5 << 20;
	result.err.spilled_to = xstrdup("logs/x.stderr");
	check_text(
		"error: Code ran out of its memory of 512M\nhint: to allow it: --memory 1G\n"
		"limits: memory 512M; network refused socket AF_INET stream (--net loopback allows "
		"it); stdout shortened from 98K; stderr shortened from 5M (all of it: "
		"logs/x.stderr)\n");
	set_up(STATUS_OK, "a\n", "");
	for (int i = 0; i < 6; i++) {
		char name[8];
		(void)snprintf(name, sizeof(name), "w%d", i);
		add_denial(name, "open", "", "");
	}
	check_text(
		"a\nlimits: w0 refused open; w1 refused open; w2 refused open; w3 refused open; 2 "
		"more\n");
}

TEST(files_that_came_out_are_named)
{
	set_up(STATUS_OK, "", "");
	result.files = xcalloc(2, sizeof(*result.files));
	result.file_count = 2;
	result.files[0] =
		(struct out_file){ .path = xstrdup("a.png"), .saved_to = xstrdup("p/a.png") };
	result.files[1] = (struct out_file){ .path = xstrdup("b\n"), .refused = xstrdup("a link") };
	check_text("files: p/a.png, b^J (refused)\n");
}

TEST(nothing_hostile_comes_through)
{
	set_up(STATUS_ERROR, "", "");
	fail_with("\033[2JName", "v\033]0;x\a", 3);
	add_frame("main.py", 3, "\033[2J\tcode");
	result.hint = xstrdup("h\033[0m\r");
	add_denial("\033", "open", "\033[2J", "");
	auto_free char *text = result_compact(&result, &spec);
	ASSERT(!strpbrk(text, "\033\a\r"));
	result_done(&result);
	spec_done(&spec);
}
