/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/state.h"

#include <sys/file.h>

#define LOG "state/audit/log.jsonl"

static struct audit_verdict verdict;

static void add(int count)
{
	for (int i = 0; i < count; i++)
		ASSERT_OK(audit_write(&state_run, &err));
}

static void verify(void)
{
	ASSERT_OK(audit_verify(NULL, &verdict, &err));
}

static void must_hold(uint64_t records)
{
	verify();
	if (verdict.is_broken)
		FAIL("%s:%zu: %s", verdict.file, verdict.line, verdict.why);
	ASSERT_EQ(verdict.records, records);
}

static void must_break(const char *file, size_t line, const char *why)
{
	verify();
	ASSERT(verdict.is_broken);
	ASSERT_STR(verdict.file, file);
	ASSERT_EQ(verdict.line, line);
	ASSERT_HAS(verdict.why, why);
}

/* Where line `number`, from 1, begins. */
static char *line_at(char *text, size_t number)
{
	while (--number > 0)
		text = strchr(text, '\n') + 1;
	return text;
}

static void append(const char *text)
{
	auto_fd int fd = open(LOG, O_WRONLY | O_APPEND | O_CLOEXEC);
	ASSERT(fd >= 0);
	ASSERT_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

TEST(every_run_is_a_record_and_the_chain_holds)
{
	state_set_up();
	must_hold(0);
	add(5);
	must_hold(5);
	ASSERT_EQ(verdict.first, 1);
	ASSERT_EQ(verdict.last, 5);
}

TEST(off_writes_nothing)
{
	struct stat st;
	state_set_up();
	state_spec.audit = AUDIT_OFF;
	add(1);
	ASSERT(stat("state", &st) < 0);
}

TEST(a_record_says_who_what_and_how_it_ended)
{
	auto_json struct json_object *array = NULL;
	struct json_object *value = NULL;
	state_set_up();
	state_spec.audit = AUDIT_REQUIRED;
	state_run.token = "ci";
	state_result.status = STATUS_REFUSED;
	result_set_error(&state_result, "refused", "Security policy blocked import: os");
	ASSERT_OK(audit_prepare(&state_spec, &err));
	add(1);
	ASSERT_OK(audit_list(&(struct store_filter){ 0 }, &array, &err));
	ASSERT_EQ(json_object_array_length(array), 1);
	struct json_object *record = json_object_array_get_idx(array, 0);
	/* clang-format off */
	static const struct { const char *key, *want; } wanted[] = {
		{ "token", "ci" }, { "kind", "code" }, { "language", "python" }, { "status", "refused" },
		{ "exit_code", "126" }, { "reason", "Security policy blocked import: os" }, { "bytes", "8" },
		{ "sha256", "d287bb7f9d15abdc5b6e98536263815744b6ef21c8f3c839fc434ca70d8efe99" },
	};
	/* clang-format on */
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		ASSERT(json_object_object_get_ex(record, wanted[i].key, &value));
		ASSERT_STR(json_object_get_string(value), wanted[i].want);
	}
	ASSERT(json_object_object_get_ex(record, "uid", &value));
	ASSERT_EQ(json_object_get_int64(value), getuid());
	ASSERT(json_object_object_get_ex(record, "limits", &value));
	ASSERT(json_object_object_get_ex(record, "isolation", &value));
}

TEST(neither_code_nor_variables_nor_output_are_in_it)
{
	state_set_up();
	strings_add(&state_spec.env, "KEY=hush-value");
	strings_add(&state_spec.args, "hush-argument");
	state_run.code = "hush-code";
	state_run.code_len = 9;
	state_result.out.text = xstrdup("hush-output");
	state_result.out.len = 11;
	add(1);
	auto_free char *text = state_read(LOG, NULL);
	ASSERT(!strstr(text, "hush"));
}

TEST(directories_and_files_are_for_us_alone)
{
	struct stat st;
	state_set_up();
	(void)umask(0);
	add(1);
	ASSERT_EQ(stat("state", &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0700);
	ASSERT_EQ(stat("state/audit", &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0700);
	ASSERT_EQ(stat(LOG, &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0600);
}

TEST(a_change_of_any_field_is_found_and_named)
{
	static const char *const fields[] = { "\"seq\":", "\"prev\":\"", "\"time\":\"", "\"id\":\"",
		"\"uid\":", "\"kind\":\"", "\"language\":\"", "\"sha256\":\"", "\"status\":\"",
		"\"exit_code\":", "\"duration\":", "\"isolation\":{",
		"\"timeout\":", "\"hash\":\"" };
	state_set_up();
	add(3);
	auto_free char *text = state_read(LOG, NULL);
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		auto_free char *changed = xstrdup(text);
		char *at = strstr(line_at(changed, 2), fields[i]);
		ASSERT(at);
		at += strlen(fields[i]);
		*at = *at == '1' ? '2' : '1';
		state_write(LOG, changed, strlen(changed));
		verify();
		if (!verdict.is_broken || verdict.line != 2)
			FAIL("%s: line %zu: %s", fields[i], verdict.line, verdict.why);
	}
	state_write(LOG, text, strlen(text));
	must_hold(3);
}

TEST(records_that_were_taken_out_or_exchanged_are_missed)
{
	state_set_up();
	add(4);
	auto_free char *text = state_read(LOG, NULL);
	char *second = line_at(text, 2);
	char *third = line_at(text, 3);
	auto_free char *without = xasprintf("%.*s%s", (int)(second - text), text, third);
	state_write(LOG, without, strlen(without));
	must_break("log.jsonl", 2, "record 3 follows record 1");
	char *fourth = line_at(text, 4);
	auto_free char *swapped = xasprintf("%.*s%.*s%.*s%s", (int)(second - text), text,
		(int)(fourth - third), third, (int)(third - second), second, fourth);
	state_write(LOG, swapped, strlen(swapped));
	must_break("log.jsonl", 2, "record 3 follows record 1");
	auto_free char *doubled = xasprintf("%s%s", text, fourth);
	state_write(LOG, doubled, strlen(doubled));
	must_break("log.jsonl", 5, "record 4 follows record 4");
	auto_free char *strange = xasprintf("%.*shello\n%s", (int)(second - text), text, second);
	state_write(LOG, strange, strlen(strange));
	must_break("log.jsonl", 2, "this is no record");
}

TEST(a_head_that_was_kept_elsewhere_shows_that_the_end_was_cut)
{
	char head[SHA256_HEX + 1];
	state_set_up();
	add(3);
	must_hold(3);
	(void)snprintf(head, sizeof(head), "%s", verdict.head);
	add(2);
	ASSERT_OK(audit_verify(head, &verdict, &err));
	ASSERT(verdict.has_expected);
	auto_free char *text = state_read(LOG, NULL);
	state_write(LOG, text, (size_t)(line_at(text, 3) - text));
	ASSERT_OK(audit_verify(head, &verdict, &err));
	ASSERT(!verdict.is_broken);
	ASSERT(!verdict.has_expected);
}

TEST(a_line_that_a_crash_cut_off_anywhere_is_closed_off_and_is_no_change)
{
	state_set_up();
	add(2);
	size_t len;
	auto_free char *text = state_read(LOG, &len);
	size_t first = (size_t)(line_at(text, 2) - text);
	for (size_t cut = first + 1; cut < len - 1; cut += 7) {
		state_write(LOG, text, cut);
		must_hold(1);
		ASSERT(verdict.is_cut);
		add(1);
		must_hold(2);
		ASSERT(!verdict.is_cut);
		ASSERT_EQ(verdict.torn, 1);
	}
	state_write(LOG, text, len - 1); /* only the newline is missing: a record all the same */
	must_hold(2);
	add(1);
	must_hold(3);
	ASSERT_EQ(verdict.torn, 0);
}

TEST(two_crashes_in_a_row_and_one_before_the_first_record_are_closed_off)
{
	state_set_up();
	add(1);
	state_write(LOG, "{\"seq\":1,\"pr", 12);
	add(1);
	append("{\"seq\":2");
	add(1);
	append("{\"seq\"");
	append("\n{\"seq\":3,");
	add(1);
	must_hold(3);
	ASSERT_EQ(verdict.torn, 4);
}

TEST(a_torn_line_cannot_be_changed_or_taken_out_afterwards)
{
	state_set_up();
	add(1);
	append("{\"seq\":2,\"prev");
	add(1);
	must_hold(2);
	auto_free char *text = state_read(LOG, NULL);
	char *second = line_at(text, 2);
	auto_free char *without = xasprintf("%.*s%s", (int)(second - text), text, line_at(text, 3));
	state_write(LOG, without, strlen(without));
	must_break("log.jsonl", 2, "a torn line is gone");
	auto_free char *longer = xasprintf("%.*sx%s", (int)(second - text), text, second);
	state_write(LOG, longer, strlen(longer));
	must_break("log.jsonl", 2, "this is no record");
}

TEST(a_whole_line_that_is_no_record_is_never_taken_for_a_crash)
{
	state_set_up();
	add(1);
	append("hello\n");
	must_break("log.jsonl", 2, "this is no record");
	add(1);
	must_break("log.jsonl", 2, "this is no record");
}

static int files_of_log(void)
{
	int count = 0;
	auto_dir DIR *dir = opendir("state/audit");
	ASSERT(dir);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		count += entry->d_name[0] != '.';
	return count;
}

TEST(the_chain_goes_on_from_file_to_file)
{
	state_set_up();
	state_spec.audit_size = 1 << 20; /* files of 64 KB, about 110 records of this size */
	add(500);
	must_hold(500);
	ASSERT(verdict.files >= 3);
	auto_json struct json_object *array = NULL;
	ASSERT_OK(audit_list(&(struct store_filter){ 0 }, &array, &err));
	ASSERT_EQ(json_object_array_length(array), 500);
}

TEST(a_file_that_is_gone_from_the_middle_is_missed)
{
	state_set_up();
	state_spec.audit_size = 1 << 20;
	add(500);
	auto_dir DIR *dir = opendir("state/audit");
	char names[16][64];
	int count = 0;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		if (strncmp(entry->d_name, "log-", 4) == 0 && count < 16)
			(void)snprintf(names[count++], 64, "%.63s", entry->d_name);
	qsort(names, (size_t)count, 64, (int (*)(const void *, const void *))strcmp);
	ASSERT(count >= 2);
	ASSERT_EQ(unlinkat(dirfd(dir), names[1], 0), 0);
	verify();
	ASSERT(verdict.is_broken);
	ASSERT_EQ(verdict.line, 1);
	ASSERT_HAS(verdict.why, "what was between is gone");
}

TEST(the_oldest_files_go_when_the_log_is_full)
{
	state_set_up();
	state_spec.audit_size = 1 << 20;
	add(2500);
	verify();
	ASSERT(!verdict.is_broken);
	ASSERT_EQ(verdict.last, 2500);
	ASSERT(verdict.first > 1);
	ASSERT(files_of_log() <= 17);
}

TEST(an_empty_current_file_after_a_crash_goes_on_where_the_older_one_ended)
{
	state_set_up();
	add(3);
	ASSERT_EQ(rename(LOG, "state/audit/log-000000000000003.jsonl"), 0);
	add(1);
	must_hold(4);
	ASSERT_EQ(verdict.files, 2);
	ASSERT_EQ(rename(LOG, "state/audit/log-000000000000004.jsonl"), 0);
	state_write(LOG, "", 0);
	add(1);
	must_hold(5);
}

TEST(writers_at_the_same_time_make_one_chain)
{
	enum { WRITERS = 8, EACH = 100 };
	pid_t pids[WRITERS];
	state_set_up();
	state_spec.audit_size = 1 << 20;
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		ASSERT(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		for (int j = 0; j < EACH; j++) {
			if (j == 0 && i % 2) /* every other one stays, and keeps the log open */
				state_run.memory = audit_memory_new();
			state_run.draft = j % 3 ? audit_draft(&state_run) : NULL;
			if (audit_write(&state_run, &err) < 0)
				_exit(1);
			audit_draft_free(state_run.draft);
		}
		audit_memory_free(state_run.memory);
		_exit(0);
	}
	for (int i = 0; i < WRITERS; i++) {
		int status = 0;
		ASSERT_EQ(waitpid(pids[i], &status, 0), pids[i]);
		ASSERT_EQ(status, 0);
	}
	must_hold(WRITERS * EACH);
}

/* Without what is another in each record. */
static char *told(size_t number)
{
	auto_free char *text = state_read(LOG, NULL);
	char *line = line_at(text, number);
	char *from = strstr(line, "\"id\":");
	char *to = strstr(line, ",\"hash\":");
	ASSERT(from && to);
	return xstrndup(from, (size_t)(to - from));
}

static void draft(void)
{
	state_run.draft = audit_draft(&state_run);
	ASSERT(state_run.draft);
}

static void write_drafted(void)
{
	ASSERT_OK(audit_write(&state_run, &err));
	audit_draft_free(state_run.draft);
	state_run.draft = NULL;
}

TEST(a_record_that_was_drafted_says_the_same)
{
	state_set_up();
	state_result.status = STATUS_NONE;
	draft();
	state_result.status = STATUS_ERROR;
	state_result.exit_code = 7;
	write_drafted();
	add(1);
	auto_free char *drafted = told(1);
	auto_free char *other = told(2);
	ASSERT_STR(drafted, other);
	ASSERT_HAS(drafted, "\"exit_code\":7");
	must_hold(2);
	state_spec.audit = AUDIT_OFF;
	ASSERT(!audit_draft(&state_run));
}

TEST(what_came_after_a_draft_is_followed)
{
	state_set_up();
	struct store_run other = state_run;
	add(1);
	draft();
	ASSERT_OK(audit_write(&other, &err));
	ASSERT_OK(audit_write(&other, &err));
	write_drafted();
	must_hold(4);
	draft(); /* a part of a line */
	append("{\"seq\":5,");
	write_drafted();
	must_hold(5);
	ASSERT_EQ(verdict.torn, 1);
	append("{\"seq\":6,"); /* one that a draft sees, and that goes on */
	draft();
	append("\"prev\"");
	write_drafted();
	must_hold(6);
	ASSERT_EQ(verdict.torn, 2);
	draft(); /* the next file, with the name of the one that was seen */
	ASSERT_EQ(rename(LOG, "state/audit/log-000000000000006.jsonl"), 0);
	write_drafted();
	must_hold(7);
	ASSERT_EQ(verdict.files, 2);
	draft();
	state_spec.audit_size = 16 << 10; /* the file is full */
	write_drafted();
	must_hold(8);
	ASSERT_EQ(verdict.files, 3);
}

TEST(a_draft_tells_of_the_cell_that_the_run_was_in)
{
	state_set_up();
	state_result.isolation_count = 1;
	state_result.isolation[0] =
		(struct isolation_item){ .key = "mode", .kind = ISOLATION_TEXT, .text = "root" };
	draft();
	write_drafted();
	add(1);
	auto_free char *drafted = told(1);
	auto_free char *other = told(2);
	ASSERT_STR(drafted, other);
	ASSERT_HAS(drafted, "\"isolation\":{\"mode\":\"root\"}");
	draft(); /* that cell was of no use */
	state_result.isolation_count = 0;
	write_drafted();
	auto_free char *none = told(3);
	ASSERT_HAS(none, "\"isolation\":{}");
	must_hold(3);
}

static void record_again(void)
{
	draft();
	write_drafted();
}

TEST(who_stays_keeps_the_log_open_and_follows_what_others_add)
{
	state_set_up();
	struct store_run other = state_run;
	state_run.memory = audit_memory_new();
	record_again();
	record_again();
	must_hold(2);
	auto_free char *first = told(1);
	auto_free char *second = told(2);
	ASSERT_STR(first, second);
	ASSERT_OK(audit_write(&other, &err)); /* it has let go of the lock */
	record_again();
	must_hold(4);
	append("{\"seq\":5,");
	record_again();
	record_again();
	must_hold(6);
	ASSERT_EQ(verdict.torn, 1);
	state_spec.audit_size = 16 << 10; /* the file is full, again and again */
	record_again();
	record_again();
	must_hold(8);
	ASSERT(verdict.files > 2);
	audit_memory_free(state_run.memory);
}

TEST(who_stays_follows_the_log_to_where_it_is_now)
{
	state_set_up();
	state_run.memory = audit_memory_new();
	record_again();
	ASSERT_EQ(rename("state", "elsewhere"), 0);
	record_again();
	must_hold(1);
	ASSERT_EQ(unlink(LOG), 0);
	record_again();
	must_hold(1);
	ASSERT_EQ(rename("state", "gone"), 0);
	auto_free char *path = xasprintf("%s/elsewhere", state_root);
	ASSERT_EQ(setenv("HOTCELL_STATE_DIR", path, 1), 0);
	record_again();
	must_hold(2);
	audit_memory_free(state_run.memory);
}

TEST(a_copy_of_who_stays_has_a_lock_of_its_own)
{
	state_set_up();
	state_run.memory = audit_memory_new();
	record_again();
	pid_t pid = fork();
	ASSERT(pid >= 0);
	for (int i = 0; i < 200; i++)
		record_again();
	if (pid == 0)
		_exit(0);
	int status = 0;
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	must_hold(401);
	audit_memory_free(state_run.memory);
}

TEST(a_draft_of_a_directory_that_is_gone_is_no_record)
{
	state_set_up();
	ASSERT_EQ(mkdir("state", 0700), 0);
	state_write("state/audit", "", 0);
	ASSERT(!audit_draft(&state_run));
	ASSERT_EQ(unlink("state/audit"), 0);
	draft();
	ASSERT_EQ(rename("state", "elsewhere"), 0);
	ASSERT_EQ(unlink("elsewhere/audit/log.jsonl"), 0);
	ASSERT_EQ(rmdir("elsewhere/audit"), 0);
	ASSERT_FAIL(audit_write(&state_run, &err), ERR_SYSTEM);
	audit_draft_free(state_run.draft);
}

TEST(a_link_leads_nowhere)
{
	struct stat st;
	state_set_up();
	add(1);
	ASSERT_EQ(rename(LOG, "elsewhere"), 0);
	ASSERT_EQ(symlink("../../elsewhere", LOG), 0);
	ASSERT_FAIL(audit_write(&state_run, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "the run is not in the audit log: ");
	ASSERT_EQ(unlink(LOG), 0);
	ASSERT_EQ(link("elsewhere", LOG), 0); /* a second name of another file */
	ASSERT_FAIL(audit_write(&state_run, &err), ERR_INVALID);
	ASSERT_EQ(unlink(LOG), 0);
	ASSERT_EQ(mkfifo(LOG, 0600), 0);
	ASSERT_FAIL(audit_write(&state_run, &err), ERR_INVALID);
	ASSERT_EQ(unlink(LOG), 0);
	ASSERT_EQ(rmdir("state/audit"), 0);
	ASSERT_EQ(mkdir("other", 0700), 0);
	ASSERT_EQ(symlink("../other", "state/audit"), 0);
	ASSERT_FAIL(audit_write(&state_run, &err), ERR_INVALID);
	ASSERT(stat("other/log.jsonl", &st) < 0);
	ASSERT_EQ(unlink("state/audit"), 0);
	add(1);
	must_hold(1);
}

TEST(a_directory_that_others_could_change_is_refused)
{
	state_set_up();
	add(1);
	ASSERT_EQ(chmod("state", 0770), 0);
	ASSERT_FAIL(audit_write(&state_run, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "open to others");
	ASSERT_EQ(chmod("state", 0700), 0);
	ASSERT_EQ(chmod("state/audit", 0702), 0);
	ASSERT_FAIL(audit_write(&state_run, &err), ERR_INVALID);
	ASSERT_EQ(chmod("state/audit", 0750), 0); /* to read is no harm */
	add(1);
	must_hold(2);
}

TEST(required_refuses_before_a_run_what_on_only_warns_of)
{
	state_set_up();
	ASSERT_EQ(mkdir("state", 0700), 0);
	state_write("state/audit", "", 0);
	ASSERT_OK(audit_prepare(&state_spec, &err));
	state_spec.audit = AUDIT_REQUIRED;
	ASSERT_FAIL(audit_prepare(&state_spec, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--audit required: a run cannot be recorded: ");
	ASSERT_EQ(unlink("state/audit"), 0);
	ASSERT_OK(audit_prepare(&state_spec, &err));
}

TEST(a_run_that_began_is_listed_until_its_end_is_recorded)
{
	struct store_filter filter = { 0 };
	auto_json struct json_object *begun = NULL;
	auto_json struct json_object *ended = NULL;
	state_set_up();
	ASSERT_OK(audit_begin(&state_run, &err)); /* nobody wants it */
	state_spec.audit = AUDIT_REQUIRED;
	ASSERT_OK(audit_begin(&state_run, &err));
	ASSERT_OK(audit_list(&filter, &begun, &err));
	ASSERT_EQ(json_object_array_length(begun), 1);
	ASSERT_HAS(json_object_to_json_string(begun), "\"status\": \"begun\"");
	ASSERT_OK(audit_write(&state_run, &err));
	ASSERT_OK(audit_list(&filter, &ended, &err));
	ASSERT_EQ(json_object_array_length(ended), 1);
	ASSERT(!strstr(json_object_to_json_string(ended), "begun"));
	must_hold(2);
}

TEST(sync_writes_the_same_record)
{
	state_set_up();
	state_spec.audit = AUDIT_SYNC;
	add(2);
	must_hold(2);
}

TEST(a_filter_lets_the_newest_pass_in_their_order)
{
	state_set_up();
	static const char *const ids[] = { "20260101T000000Z-aaaaaaaa", "20260102T000000Z-bbbbbbbb",
		"20260103T000000Z-cccccccc", "20260104T000000Z-dddddddd" };
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		(void)snprintf(state_result.id, sizeof(state_result.id), "%s", ids[i]);
		state_result.status = i % 2 ? STATUS_ERROR : STATUS_OK;
		state_run.token = i == 0 ? NULL : i == 1 ? "ci" : "ci2";
		add(1);
	}
	/* clang-format off */
	static const struct { struct store_filter filter; const char *ids; } cases[] = {
		{ { 0 }, "abcd" },
		{ { .limit = 2 }, "cd" },
		{ { .status = "error" }, "bd" },
		{ { .status = "error", .limit = 1 }, "d" },
		{ { .since = "20260102" }, "bcd" },
		{ { .since = "20260102T000001Z" }, "cd" },
		{ { .id = "20260103" }, "c" },
		{ { .id = "3" }, "" },
		{ { .status = "oom" }, "" },
		{ { .token = "ci" }, "b" },
		{ { .token = "ci2", .limit = 1 }, "d" },
		{ { .token = "ci2", .id = "20260102" }, "" },
		{ { .token = "" }, "" },
	};
	/* clang-format on */
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		auto_json struct json_object *array = NULL;
		char found[8] = "";
		ASSERT_OK(audit_list(&cases[i].filter, &array, &err));
		for (size_t j = 0; j < json_object_array_length(array); j++) {
			struct json_object *id = NULL;
			(void)json_object_object_get_ex(
				json_object_array_get_idx(array, j), "id", &id);
			found[j] = json_object_get_string(id)[17];
		}
		ASSERT_STR(found, cases[i].ids);
	}
}

TEST(a_stopped_process_that_holds_the_lock_stops_nobody_for_ever)
{
	state_set_up();
	add(1);
	auto_fd int fd = open(LOG, O_RDWR | O_CLOEXEC);
	struct flock lock = { .l_type = F_WRLCK };
	ASSERT_EQ(fcntl(fd, F_OFD_SETLK, &lock), 0);
	ASSERT_FAIL(audit_write(&state_run, &err), ERR_SYSTEM);
	ASSERT_HAS(err.text, "locked");
	own_close(&fd);
	add(1);
	must_hold(2);
}
