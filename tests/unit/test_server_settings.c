/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "server/server.h"

TEST(every_option_of_the_table_is_known)
{
	struct err err = { 0 };
	struct server_settings settings;
	for (size_t i = 0; i < server_option_count; i++) {
		const struct server_option *option = &server_options[i];
		server_settings_init(&settings);
		const char *value = !option->metavar                          ? NULL
				    : strcmp(option->flag, "log-format") == 0 ? "json"
				    : strcmp(option->flag, "log-level") == 0  ? "error"
									      : "7";
		ASSERT_OK(server_settings_set(&settings, option->flag, value, &err));
	}
	ASSERT_FAIL(server_settings_set(&settings, "nothing", NULL, &err), ERR_INVALID);
}

TEST(settings_start_sound_and_take_what_is_given)
{
	struct err err = { 0 };
	struct server_settings settings;
	server_settings_init(&settings);
	ASSERT(settings.concurrency >= 4);
	ASSERT_EQ(settings.queue, 256);
	ASSERT_EQ(settings.idle_s, 300);
	ASSERT_OK(server_settings_check(&settings, &err));
	ASSERT_OK(server_settings_set(&settings, "concurrency", "3", &err));
	ASSERT_OK(server_settings_set(&settings, "queue", "0", &err));
	ASSERT_OK(server_settings_set(&settings, "idle", "60", &err));
	ASSERT_OK(server_settings_set(&settings, "socket", "/x", &err));
	ASSERT_EQ(settings.concurrency, 3);
	ASSERT_EQ(settings.queue, 0);
	ASSERT_EQ(settings.idle_s, 60);
	ASSERT_STR(settings.socket_path, "/x");
}

TEST(numbers_out_of_range_and_words_are_refused_with_the_range)
{
	struct err err = { 0 };
	struct server_settings settings;
	server_settings_init(&settings);
	const char *const bad[] = { "0", "-1", "5000", "x", "", "1.5", "99999999999999999999" };
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		ASSERT_FAIL(
			server_settings_set(&settings, "concurrency", bad[i], &err), ERR_INVALID);
		ASSERT_HAS(err.text, "from 1 to 4096");
	}
	ASSERT(settings.concurrency >= 4);
}

TEST(idle_without_on_demand_is_refused)
{
	struct err err = { 0 };
	struct server_settings settings;
	server_settings_init(&settings);
	ASSERT_OK(server_settings_set(&settings, "idle", "60", &err));
	ASSERT_FAIL(server_settings_check(&settings, &err), ERR_INVALID);
	ASSERT_OK(server_settings_set(&settings, "on-demand", NULL, &err));
	ASSERT_OK(server_settings_check(&settings, &err));
}
