/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/state.h"

#include <time.h>

#include "store/kept.h"

#define KEPT "state/artifacts/executions"
#define HASH "d287bb7f9d15abdc" /* how that of the code of every run here begins */

static size_t count_kept(void)
{
	size_t count = 0;
	auto_dir DIR *dir = opendir(KEPT);
	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
		count += entry->d_name[0] != '.';
	return count;
}

static void keep(const char *id)
{
	(void)snprintf(state_result.id, sizeof(state_result.id), "%s", id);
	ASSERT_OK(artifact_write(&state_run, &err));
}

static void set_up(void)
{
	state_set_up();
	state_spec.store = STORE_ALWAYS;
	state_spec.store_days = 36500;
}

static bool is_kept(const char *name)
{
	auto_free char *path = xasprintf(KEPT "/%s.json", name);
	return access(path, F_OK) == 0;
}

TEST(each_policy_keeps_what_it_says)
{
	/* clang-format off */
	static const struct { int store; enum run_status status; size_t count; } cases[] = {
		{ STORE_NEVER, STATUS_OK, 0 },    { STORE_NEVER, STATUS_ERROR, 0 },
		{ STORE_ON_ERROR, STATUS_OK, 0 }, { STORE_ON_ERROR, STATUS_ERROR, 1 },
		{ STORE_ON_ERROR, STATUS_TIMEOUT, 2 }, { STORE_ON_ERROR, STATUS_REFUSED, 3 },
		{ STORE_ALWAYS, STATUS_OK, 4 },
	};
	/* clang-format on */
	set_up();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char id[40];
		(void)snprintf(id, sizeof(id), "2026010%zuT000000Z-aaaaaaaa", i);
		state_spec.store = cases[i].store;
		state_result.status = cases[i].status;
		keep(id);
		ASSERT_EQ(count_kept(), cases[i].count);
	}
}

TEST(the_name_is_time_and_hash_and_the_same_twice_in_a_second_are_two)
{
	set_up();
	keep("20260101T000000Z-aaaaaaaa");
	keep("20260101T000000Z-bbbbbbbb");
	keep("20260101T000000Z-cccccccc");
	ASSERT(is_kept("20260101T000000Z-" HASH));
	ASSERT(is_kept("20260101T000000Z-" HASH "-bbbbbbbb"));
	ASSERT(is_kept("20260101T000000Z-" HASH "-cccccccc"));
	ASSERT_EQ(count_kept(), 3);
}

TEST(an_artifact_has_code_settings_and_result_but_no_value_of_a_variable)
{
	auto_json struct json_object *json = NULL;
	struct json_object *value = NULL;
	struct stat st;
	set_up();
	strings_add(&state_spec.env, "KEY=hush");
	strings_add(&state_spec.env, "OTHER");
	keep("20260101T000000Z-aaaaaaaa");
	auto_free char *text = state_read(KEPT "/20260101T000000Z-" HASH ".json", NULL);
	ASSERT(!strstr(text, "hush"));
	ASSERT_HAS(text, "\"env\":[\"KEY\",\"OTHER\"]");
	ASSERT_OK(artifact_read("20260101T000000Z-" HASH ".json", &json, &err));
	ASSERT(json_object_object_get_ex(json, "code", &value));
	ASSERT_STR(json_object_get_string(value), "print(1)");
	ASSERT(json_object_object_get_ex(json, "code_is_exact", &value));
	ASSERT(json_object_get_boolean(value));
	ASSERT(json_object_object_get_ex(json, "result", &value));
	ASSERT(json_object_object_get_ex(value, "stdout", &value));
	ASSERT_EQ(stat(KEPT "/20260101T000000Z-" HASH ".json", &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0600);
	ASSERT_EQ(stat(KEPT, &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0700);
}

TEST(what_is_too_much_is_cut_and_said_to_be)
{
	auto_json struct json_object *json = NULL;
	struct json_object *value = NULL;
	struct json_object *result = NULL;
	enum { MUCH = 3 << 20 };
	set_up();
	auto_free char *code = xcalloc(MUCH + 1, 1);
	memset(code, '\x01', MUCH); /* each becomes six bytes in JSON */
	state_run.code = code;
	state_run.code_len = MUCH;
	state_result.out.text = xstrdup(code);
	state_result.out.len = MUCH;
	result_set_error(&state_result, "runtime", "%s", code);
	for (int i = 0; i < 10; i++)
		ASSERT(result_add_output(&state_result, false,
			xasprintf("{\"text/plain\":\"%0*d\"}", 1 << 20, 0), xstrdup("{}")));
	keep("20260101T000000Z-aaaaaaaa");
	char name[ARTIFACT_NAME_MAX];
	ASSERT_OK(artifact_find("20260101", NULL, name, &err));
	ASSERT_OK(artifact_read(name, &json, &err));
	ASSERT(json_object_object_get_ex(json, "code_is_exact", &value));
	ASSERT(!json_object_get_boolean(value));
	ASSERT(json_object_object_get_ex(json, "code_bytes", &value));
	ASSERT_EQ(json_object_get_int64(value), MUCH);
	ASSERT(json_object_object_get_ex(json, "result", &result));
	ASSERT(json_object_object_get_ex(result, "stdout", &value));
	ASSERT_EQ(json_object_get_string_len(value), LIMIT_KEPT_STREAM);
	ASSERT(json_object_object_get_ex(result, "outputs", &value));
	ASSERT(json_object_array_length(value) < 4);
}

TEST(bytes_that_are_no_text_are_told_from_exact_code)
{
	auto_json struct json_object *json = NULL;
	struct json_object *value = NULL;
	char name[ARTIFACT_NAME_MAX];
	set_up();
	state_run.code = "\xff\xfe";
	state_run.code_len = 2;
	keep("20260101T000000Z-aaaaaaaa");
	ASSERT_OK(artifact_find("20260101", NULL, name, &err));
	ASSERT_OK(artifact_read(name, &json, &err));
	ASSERT(json_object_object_get_ex(json, "code_is_exact", &value));
	ASSERT(!json_object_get_boolean(value));
}

TEST(each_token_has_artifacts_of_its_own)
{
	static const char *const tokens[] = { "a", "b", NULL };
	char name[ARTIFACT_NAME_MAX];
	set_up();
	for (size_t i = 0; i < COUNT_OF(tokens); i++) {
		char id[40];
		(void)snprintf(id, sizeof(id), "2026010%zuT000000Z-aaaaaaaa", i + 1);
		state_run.token = tokens[i];
		keep(id);
	}
	for (size_t i = 0; i < COUNT_OF(tokens); i++) {
		auto_json struct json_object *array = NULL;
		const struct store_filter filter = { .token = tokens[i] };
		ASSERT_OK(artifact_list(&filter, &array, &err));
		ASSERT_EQ(json_object_array_length(array), tokens[i] ? 1 : 3);
	}
	ASSERT_OK(artifact_find("20260101", "a", name, &err));
	ASSERT_FAIL(artifact_find("20260101", "b", name, &err), ERR_MISSING);
	ASSERT_OK(artifact_find(HASH, "b", name, &err)); /* theirs alone is meant */
	ASSERT_STR(name, "20260102T000000Z-" HASH ".json");
	ASSERT_FAIL(artifact_find("20260103", "b", name, &err), ERR_MISSING);
	ASSERT_OK(artifact_find("20260103", NULL, name, &err));
}

TEST(whoever_keeps_most_makes_room_and_nobody_else)
{
	auto_json struct json_object *few = NULL;
	auto_json struct json_object *own = NULL;
	auto_json struct json_object *many = NULL;
	struct artifact_tally removed;
	struct artifact_tally left;
	enum { MANY = 60 };
	set_up();
	state_run.token = "few";
	keep("20260101T000000Z-aaaaaaaa"); /* the oldest there is */
	state_run.token = NULL;
	keep("20260102T000000Z-aaaaaaaa");
	state_run.token = "many";
	for (int i = 0; i < MANY; i++) {
		char id[40];
		(void)snprintf(id, sizeof(id), "20260103T0000%02dZ-aaaaaaaa", i);
		keep(id);
	}
	ASSERT_OK(artifact_prune(INT64_MAX, 36500, &removed, &left, &err));
	ASSERT_EQ(removed.count, 0);
	ASSERT_OK(artifact_prune((int64_t)left.bytes / 2, 36500, &removed, &left, &err));
	ASSERT(removed.count > MANY / 3);
	ASSERT_OK(artifact_list(&(struct store_filter){ .token = "few" }, &few, &err));
	ASSERT_EQ(json_object_array_length(few), 1);
	ASSERT_OK(artifact_list(&(struct store_filter){ .token = "many" }, &many, &err));
	ASSERT_EQ(json_object_array_length(many), MANY - removed.count);
	ASSERT_OK(artifact_list(&(struct store_filter){ 0 }, &own, &err));
	ASSERT_EQ(json_object_array_length(own), 2 + MANY - removed.count);
	ASSERT_OK(artifact_prune(0, 36500, &removed, &left, &err));
	ASSERT_EQ(left.count, 0);
}

TEST(a_prefix_finds_one_by_name_id_or_hash_and_nothing_when_it_is_two)
{
	char name[ARTIFACT_NAME_MAX];
	set_up();
	keep("20260101T000000Z-aaaaaaaa");
	keep("20260101T000000Z-abbbbbbb");
	keep("20260102T000000Z-cccccccc");
	ASSERT_OK(artifact_find("20260102", NULL, name, &err));
	ASSERT_STR(name, "20260102T000000Z-" HASH ".json");
	ASSERT_OK(artifact_find("20260101T000000Z-aa", NULL, name, &err));
	ASSERT_STR(name, "20260101T000000Z-" HASH ".json");
	ASSERT_OK(artifact_find("20260101T000000Z-ab", NULL, name, &err));
	ASSERT_STR(name, "20260101T000000Z-" HASH "-abbbbbbb.json");
	ASSERT_OK(artifact_find("20260101T000000Z-" HASH, NULL, name, &err));
	ASSERT_STR(name, "20260101T000000Z-" HASH ".json");
	ASSERT_FAIL(artifact_find("20260101", NULL, name, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "2 artifacts begin with");
	ASSERT_FAIL(artifact_find("d287", NULL, name, &err), ERR_INVALID);
	ASSERT_FAIL(artifact_find("2027", NULL, name, &err), ERR_MISSING);
	ASSERT_FAIL(artifact_find("", NULL, name, &err), ERR_MISSING);
	ASSERT_FAIL(artifact_find("../", NULL, name, &err), ERR_MISSING);
	state_run.code = "other";
	state_run.code_len = 5;
	keep("20260103T000000Z-dddddddd");
	ASSERT_OK(artifact_find("d9298a10", NULL, name, &err));
	ASSERT_OK(artifact_remove(name, &err));
	ASSERT_EQ(count_kept(), 3);
}

TEST(lists_have_the_newest_first_and_pass_over_what_is_no_artifact)
{
	auto_json struct json_object *array = NULL;
	set_up();
	keep("20260101T000000Z-aaaaaaaa");
	state_result.status = STATUS_ERROR;
	keep("20260102T000000Z-bbbbbbbb");
	keep("20260103T000000Z-cccccccc");
	state_write(KEPT "/20260104T000000Z-" HASH ".json", "{\"id\":", 6);
	state_write(KEPT "/notes.txt", "mine", 4);
	struct store_filter filter = { .status = "error" };
	ASSERT_OK(artifact_list(&filter, &array, &err));
	ASSERT_EQ(json_object_array_length(array), 2);
	struct json_object *id = NULL;
	ASSERT(json_object_object_get_ex(json_object_array_get_idx(array, 0), "id", &id));
	ASSERT_STR(json_object_get_string(id), "20260103T000000Z-cccccccc");
	json_free(&array);
	filter = (struct store_filter){ .since = "20260102", .limit = 5 };
	ASSERT_OK(artifact_list(&filter, &array, &err));
	ASSERT_EQ(json_object_array_length(array), 2);
	json_free(&array);
	filter = (struct store_filter){ .limit = 1 };
	ASSERT_OK(artifact_list(&filter, &array, &err));
	ASSERT_EQ(json_object_array_length(array), 1);
}

TEST(the_oldest_go_when_there_is_no_more_room)
{
	set_up();
	state_spec.store_size = 1 << 20;
	auto_free char *much = xcalloc(100001, 1);
	memset(much, 'x', 100000);
	state_result.out.text = xstrdup(much);
	state_result.out.len = 100000;
	for (int i = 0; i < 30; i++) {
		char id[40];
		(void)snprintf(id, sizeof(id), "20260101T0000%02dZ-aaaaaaaa", i);
		keep(id);
		ASSERT(count_kept() <= 10);
	}
	ASSERT(count_kept() >= 8);
	ASSERT(is_kept("20260101T000029Z-" HASH));
	ASSERT(!is_kept("20260101T000000Z-" HASH));
}

TEST(what_is_too_old_goes_with_the_next_that_is_kept)
{
	set_up();
	keep("20200101T000000Z-aaaaaaaa");
	result_done(&state_result);
	result_init(&state_result);
	state_result.status = STATUS_OK;
	state_result.runtime = "local";
	state_spec.store_days = 30;
	ASSERT_OK(artifact_write(&state_run, &err));
	ASSERT_EQ(count_kept(), 1);
	ASSERT(!is_kept("20200101T000000Z-" HASH));
}

TEST(pruning_leaves_what_is_not_ours_alone)
{
	struct artifact_tally removed;
	struct artifact_tally left;
	set_up();
	for (int i = 1; i < 6; i++) {
		char id[40];
		(void)snprintf(id, sizeof(id), "2020010%dT000000Z-aaaaaaaa", i);
		keep(id);
	}
	state_write(KEPT "/notes.json", "mine", 4);
	state_write(KEPT "/.hotcell-1-1", "half", 4);
	state_write(KEPT "/.hotcell-1-2", "half", 4);
	const struct timespec old[2] = { { .tv_sec = time(NULL) - 7200 },
		{ .tv_sec = time(NULL) - 7200 } };
	ASSERT_EQ(utimensat(AT_FDCWD, KEPT "/.hotcell-1-1", old, 0), 0);
	ASSERT_OK(artifact_prune(1 << 30, 30, &removed, &left, &err));
	ASSERT_EQ(removed.count, 5);
	ASSERT_EQ(left.count, 0);
	ASSERT_EQ(access(KEPT "/notes.json", F_OK), 0);
	ASSERT(access(KEPT "/.hotcell-1-1", F_OK) < 0); /* a killed writer's, long ago */
	ASSERT_EQ(access(KEPT "/.hotcell-1-2", F_OK), 0);
}

TEST(a_tally_that_is_nonsense_is_counted_again)
{
	set_up();
	keep("20260101T000000Z-aaaaaaaa");
	state_write("state/artifacts/tally", "what?", 5);
	keep("20260102T000000Z-aaaaaaaa");
	auto_free char *text = state_read("state/artifacts/tally", NULL);
	ASSERT_HAS(text, "00000000000000000002 ");
	ASSERT_EQ(count_kept(), 2);
}

TEST(a_link_leads_nowhere)
{
	set_up();
	ASSERT_EQ(mkdir("state", 0700), 0);
	ASSERT_EQ(mkdir("other", 0700), 0);
	ASSERT_EQ(symlink("../other", "state/artifacts"), 0);
	ASSERT_FAIL(artifact_write(&state_run, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "the run is not kept: ");
	ASSERT_EQ(unlink("state/artifacts"), 0);
	ASSERT_EQ(mkdir("state/artifacts", 0700), 0);
	ASSERT_EQ(symlink("../../other", KEPT), 0);
	ASSERT_FAIL(artifact_write(&state_run, &err), ERR_INVALID);
	ASSERT(rmdir("other") == 0); /* it is empty */
	ASSERT_EQ(unlink(KEPT), 0);
	ASSERT_EQ(mkdir(KEPT, 0700), 0);
	state_write("secret", "secret", 6);
	ASSERT_EQ(symlink("../../../secret", KEPT "/20260101T000000Z-" HASH ".json"), 0);
	keep("20260101T000000Z-aaaaaaaa"); /* under another name */
	ASSERT(is_kept("20260101T000000Z-" HASH "-aaaaaaaa"));
	auto_free char *text = state_read("secret", NULL);
	ASSERT_STR(text, "secret");
	auto_json struct json_object *json = NULL;
	ASSERT_FAIL(artifact_read("20260101T000000Z-" HASH ".json", &json, &err), ERR_SYSTEM);
}

TEST(names_are_only_what_we_make)
{
	static const char *const good[] = { "20260101T000000Z-0123456789abcdef.json",
		"20260101T000000Z-0123456789abcdef-01234567.json" };
	static const char *const bad[] = { "", "20260101T000000Z-0123456789abcdef",
		"20260101T000000Z-0123456789abcde.json", "20260101T000000Z-0123456789ABCDEF.json",
		"20260101T000000Z-0123456789abcdef-0123.json",
		"20260101X000000Z-0123456789abcdef.json", "20260101T000000Z-0123456789abcdef.json~",
		"../20260101T000000Z-0123456789abcdef.json" };
	for (size_t i = 0; i < COUNT_OF(good); i++)
		ASSERT(kept_is_name(good[i]));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ASSERT(!kept_is_name(bad[i]));
}

TEST(a_killed_writer_leaves_no_half_file)
{
	set_up();
	auto_free char *much = xcalloc(1000001, 1);
	memset(much, 'x', 1000000);
	state_run.code = much;
	state_run.code_len = 1000000;
	for (unsigned int i = 0; i < 40; i++) {
		pid_t pid = fork();
		ASSERT(pid >= 0);
		if (pid == 0) {
			for (;;) {
				result_done(&state_result);
				result_init(&state_result);
				state_result.status = STATUS_OK;
				state_result.runtime = "local";
				(void)artifact_write(&state_run, &err);
			}
		}
		const struct timespec pause = { .tv_nsec = 1000000L + 300000L * i };
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		ASSERT_EQ(kill(pid, SIGKILL), 0);
		ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	}
	auto_dir DIR *dir = opendir(KEPT);
	ASSERT(dir);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		auto_json struct json_object *json = NULL;
		if (strncmp(entry->d_name, "20", 2) == 0)
			ASSERT_OK(artifact_read(entry->d_name, &json, &err));
		else
			ASSERT(strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
	}
}
