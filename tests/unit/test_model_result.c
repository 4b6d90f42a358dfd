/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <signal.h>
#include <time.h>

#include "model/result.h"

/* time() may be behind by a tick. */
static time_t precise_time(void)
{
	struct timespec now;
	ASSERT_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
	return now.tv_sec;
}

TEST(result_ids_tell_when_they_were_made)
{
	struct result result;
	struct tm made = { 0 };
	time_t before = precise_time();
	result_init(&result);
	time_t after = precise_time();
	const char *rest = strptime(result.id, "%Y%m%dT%H%M%SZ", &made);
	ASSERT(rest != NULL && *rest == '-');
	ASSERT(timegm(&made) >= before && timegm(&made) <= after);
	result_done(&result);
}

TEST(result_ids_have_the_documented_shape_and_differ)
{
	struct result a, b;
	result_init(&a);
	result_init(&b);
	ASSERT_EQ(strlen(a.id), strlen("20261115T184455Z-3f9a1c0d"));
	ASSERT_EQ(strspn(a.id, "0123456789"), 8);
	ASSERT_EQ(a.id[8], 'T');
	ASSERT_EQ(strspn(a.id + 9, "0123456789"), 6);
	ASSERT_EQ(strncmp(a.id + 15, "Z-", 2), 0);
	ASSERT_EQ(strspn(a.id + 17, "0123456789abcdef"), 8);
	ASSERT(strcmp(a.id, b.id) != 0);
	result_done(&a);
	result_done(&b);
}

TEST(every_status_has_a_name)
{
	for (int i = 0; i < RUN_STATUS_COUNT; i++)
		ASSERT(run_status_names[i] && *run_status_names[i]);
}

TEST(result_exit_code_follows_the_contract)
{
	/* clang-format off */
	static const struct { enum run_status status; int exit_code, signal, want; } samples[] = {
		{ STATUS_NONE, 0, 0, 125 },
		{ STATUS_OK, 0, 0, 0 },
		{ STATUS_ERROR, 3, 0, 3 },
		{ STATUS_ERROR, 0, 0, 1 },
		{ STATUS_SIGNAL, 0, SIGSEGV, 139 },
		{ STATUS_TIMEOUT, 0, SIGKILL, 124 },
		{ STATUS_CPU_LIMIT, 0, SIGKILL, 137 },
		{ STATUS_OOM, 0, SIGKILL, 137 },
		{ STATUS_OUTPUT_LIMIT, 0, SIGKILL, 137 },
		{ STATUS_DISK_LIMIT, 3, 0, 3 },
		{ STATUS_DISK_LIMIT, 0, SIGBUS, 128 + SIGBUS },
		{ STATUS_INTERRUPTED, 0, 0, 130 },
		{ STATUS_REFUSED, 0, 0, 126 },
		{ STATUS_SETUP_ERROR, 0, 0, 125 },
	};
	/* clang-format on */
	_Static_assert(COUNT_OF(samples) == RUN_STATUS_COUNT + 2, "one for each, two for some");
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		struct result result = {
			.status = samples[i].status,
			.exit_code = samples[i].exit_code,
			.signal = samples[i].signal,
		};
		ASSERT_EQ(result_exit_code(&result), samples[i].want);
	}
}

TEST(result_add_denial_counts_what_is_there_already)
{
	struct result result;
	struct denial denial = { .layer = "seccomp", .operation = "socket", .target = "AF_INET" };
	result_init(&result);
	result_add_denial(&result, &denial);
	result_add_denial(&result, &denial);
	denial.count = 5;
	result_add_denial(&result, &denial);
	ASSERT_EQ(result.denial_count, 1);
	ASSERT_EQ(result.denials[0].count, 7);
	for (int i = 0; i < LIMIT_DENIALS * 2; i++) {
		(void)snprintf(denial.target, sizeof(denial.target), "%d", i);
		result_add_denial(&result, &denial);
	}
	ASSERT_EQ(result.denial_count, LIMIT_DENIALS);
	result_done(&result);
}

TEST(result_warn_is_bounded)
{
	struct result result;
	result_init(&result);
	for (int i = 0; i < LIMIT_WARNINGS * 2; i++)
		result_warn(&result, "warning %d", i);
	ASSERT_EQ(result.warning_count, LIMIT_WARNINGS);
	ASSERT_STR(result.warnings[3], "warning 3");
	result_done(&result);
}

TEST(result_set_error_may_use_the_old_message)
{
	struct result result;
	result_init(&result);
	result_set_error(&result, "setup", "one");
	result_set_error(&result, "runtime", "%s two", result.error.message);
	ASSERT_STR(result.error.message, "one two");
	ASSERT_STR(result.error.kind, "runtime");
	result_done(&result);
}
