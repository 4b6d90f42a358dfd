/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "config/config.h"
#include "model/field.h"
#include "server/server.h"
#include "wire/json.h"

static struct err err;

static void add_text(struct config *config, const char *text, enum config_place place)
{
	ASSERT_OK(config_read_text(config, "f", text, strlen(text), place, &err));
}

/* Which of the places decides on a timeout when exactly those of `mask` speak of it. */
static void check_places(unsigned mask)
{
	struct config config;
	struct spec spec;
	int wanted = 33; /* the default */
	config_init(&config);
	spec_init(&spec);
	/* the order in which they are read does not count, so the highest comes first */
	if (mask & 8)
		ASSERT_EQ(setenv("HOTCELL_TIMEOUT", "4", 1), 0);
	else
		ASSERT_EQ(unsetenv("HOTCELL_TIMEOUT"), 0);
	ASSERT_OK(config_read_variables(&config, &err));
	if (mask & 4)
		add_text(&config, "timeout: 3\n", CONFIG_CHOSEN);
	if (mask & 2)
		add_text(&config, "timeout: 2\n", CONFIG_USER);
	if (mask & 1)
		add_text(&config, "timeout: 1\n", CONFIG_SYSTEM);
	for (int bit = 0; bit < 4; bit++)
		if (mask & 1u << bit)
			wanted = bit + 1;
	if (mask & 16) {
		ASSERT_OK(spec_set(&spec, spec_field("timeout"), "5", &err));
		wanted = 5;
	}
	ASSERT_OK(config_apply(&config, NULL, &spec, &err));
	ASSERT_EQ(spec.timeout_ms, wanted * 1000);
	ASSERT_EQ(spec_is_given(&spec, spec_field("timeout")), mask != 0);
	spec_done(&spec);
	config_done(&config);
}

TEST(the_highest_place_that_speaks_decides)
{
	for (unsigned mask = 0; mask < 32; mask++)
		check_places(mask);
}

TEST(a_language_s_own_value_beats_the_general_one_of_its_place_and_no_higher_place)
{
	struct config config;
	struct strings go = { 0 }, c = { 0 };
	strings_add(&go, "go");
	strings_add(&go, "golang");
	strings_add(&c, "c");
	config_init(&config);
	add_text(&config, "languages: {golang: {timeout: 10, pids: 7}}\ntimeout: 11\n",
		CONFIG_SYSTEM);
	add_text(&config, "memory: 1G\n", CONFIG_USER);
	struct spec spec;
	spec_init(&spec);
	ASSERT_OK(config_apply(&config, &go, &spec, &err));
	ASSERT_EQ(spec.timeout_ms, 10000);
	ASSERT_EQ(spec.pids, 7);
	spec_done(&spec);
	spec_init(&spec);
	ASSERT_OK(config_apply(&config, &c, &spec, &err));
	ASSERT_EQ(spec.timeout_ms, 11000);
	ASSERT_EQ(spec.pids, 128);
	spec_done(&spec);
	add_text(&config, "timeout: 12\n", CONFIG_USER);
	spec_init(&spec);
	ASSERT_OK(config_apply(&config, &go, &spec, &err));
	ASSERT_EQ(spec.timeout_ms, 12000);
	spec_done(&spec);
	ASSERT(config_has_languages(&config));
	strings_done(&go);
	strings_done(&c);
	config_done(&config);
}

TEST(a_list_of_a_higher_place_replaces_that_of_a_lower_one)
{
	struct config config;
	struct spec spec;
	config_init(&config);
	spec_init(&spec);
	add_text(
		&config, "env: [A=1, B=2]\nrequire: [seccomp]\nro: [/srv:/mnt/a]\n", CONFIG_SYSTEM);
	add_text(&config, "env: [C=3]\nrequire: []\n", CONFIG_USER);
	ASSERT_OK(spec_set(&spec, spec_field("ro"), "/tmp:/mnt/b", &err));
	ASSERT_OK(config_apply(&config, NULL, &spec, &err));
	ASSERT_EQ(spec.env.count, 1);
	ASSERT_STR(spec.env.items[0], "C=3");
	ASSERT_EQ(spec.require.count, 0);
	ASSERT_EQ(spec.ro.count, 1);
	ASSERT_STR(spec.ro.items[0].from, "/tmp");
	spec_done(&spec);
	config_done(&config);
}

TEST(variables_set_every_field_and_lists_line_by_line)
{
	struct config config;
	struct spec spec;
	config_init(&config);
	spec_init(&spec);
	ASSERT_EQ(setenv("HOTCELL_ENV", "A=1,2\nB=3\n", 1) |
			  setenv("HOTCELL_REQUIRE", "seccomp,landlock", 1) |
			  setenv("HOTCELL_COLD", "true", 1) |
			  setenv("HOTCELL_MAX_OUTPUT", "1K", 1) | setenv("HOTCELL_NET", "", 1),
		0);
	ASSERT_OK(config_read_variables(&config, &err));
	ASSERT_OK(config_apply(&config, NULL, &spec, &err));
	ASSERT_EQ(spec.env.count, 2);
	ASSERT_STR(spec.env.items[0], "A=1,2");
	ASSERT_EQ(spec.require.count, 2);
	ASSERT(spec.cold);
	ASSERT_EQ(spec.max_output, 1024);
	ASSERT(!spec_is_given(&spec, spec_field("net")));
	spec_done(&spec);
	config_done(&config);
}

TEST(the_older_names_of_variables_count_less)
{
	struct config config;
	struct spec spec;
	config_init(&config);
	spec_init(&spec);
	ASSERT_EQ(setenv("SANDBOX_TYPE", "local", 1) | setenv("SANDBOX_TIMEOUT_SEC", "5", 1) |
			  setenv("SANDBOX_MAX_OUTPUT_KB", "20", 1) |
			  setenv("HOTCELL_TIMEOUT", "6", 1),
		0);
	ASSERT_OK(config_read_variables(&config, &err));
	ASSERT_OK(config_apply(&config, NULL, &spec, &err));
	ASSERT_EQ(spec.timeout_ms, 6000);
	ASSERT_EQ(spec.max_output, 20480);
	ASSERT_STR(config_look_up(&config, NULL, "provider")->origin, "SANDBOX_TYPE");
	spec_done(&spec);
	config_done(&config);
}

TEST(a_wrong_variable_is_named)
{
	struct config config;
	config_init(&config);
	ASSERT_EQ(setenv("HOTCELL_PIDS", "many", 1), 0);
	ASSERT_FAIL(config_read_variables(&config, &err), ERR_INVALID);
	ASSERT_STR(err.text,
		"HOTCELL_PIDS: 'many' is not a whole number (1 to 32768), for example 128");
	ASSERT_EQ(unsetenv("HOTCELL_PIDS") | setenv("SANDBOX_MAX_OUTPUT_KB", "20K", 1), 0);
	ASSERT_FAIL(config_read_variables(&config, &err), ERR_INVALID);
	ASSERT_STR(err.text, "SANDBOX_MAX_OUTPUT_KB: '20K' is not a whole number, for example 20");
	config_done(&config);
}

TEST(a_default_is_passed_over_where_it_makes_no_sense)
{
	struct config config;
	struct spec spec;
	config_init(&config);
	add_text(&config, "language: bash\npython: .venv\nstdin: '-'\n", CONFIG_USER);
	spec_init(&spec);
	strings_add(&spec.exec, "ls");
	ASSERT_OK(config_apply(&config, NULL, &spec, &err));
	ASSERT(!spec.language && !spec.python);
	ASSERT_OK(spec_check(&spec, &err));
	spec_done(&spec);
	spec_init(&spec);
	spec.file = xstrdup("a.py");
	ASSERT_OK(config_apply(&config, NULL, &spec, &err));
	ASSERT(!spec.language);
	ASSERT_STR(spec.stdin_path, "-");
	spec_done(&spec);
	spec_init(&spec);
	spec.file = xstrdup("-");
	ASSERT_OK(config_apply(&config, NULL, &spec, &err));
	ASSERT_STR(spec.language, "bash");
	ASSERT(!spec.stdin_path);
	spec_done(&spec);
	config_done(&config);
}

TEST(what_programs_look_for_is_put_into_the_environment)
{
	struct config config;
	config_init(&config);
	ASSERT_EQ(unsetenv("HOTCELL_SOCKET") | setenv("HOTCELL_RUNTIMES", "/a", 1), 0);
	add_text(&config, "runtimes: /b\nstate_dir: /s\ndaemon: {socket: /x, autostart: yes}\n",
		CONFIG_USER);
	ASSERT_OK(config_read_variables(&config, &err));
	config_pass_on(&config);
	ASSERT_STR(getenv("HOTCELL_SOCKET"), "/x");
	ASSERT_STR(getenv("HOTCELL_ON_DEMAND"), "1");
	ASSERT_STR(getenv("HOTCELL_STATE_DIR"), "/s");
	ASSERT_STR(getenv("HOTCELL_RUNTIMES"), "/a");
	config_done(&config);
}

TEST(a_variable_that_is_none_of_ours_is_found_with_the_nearest)
{
	char near[64];
	size_t at = 0;
	ASSERT_EQ(clearenv(), 0);
	ASSERT_EQ(setenv("HOTCELL_TIMEOUT", "3", 1) | setenv("HOTCELL_TIMEOT", "3", 1) |
			  setenv("OTHER", "3", 1) | setenv("HOTCELL_FAULT", "x", 1),
		0);
	auto_free char *name = config_unknown_variable(&at, near, sizeof(near));
	ASSERT_STR(name, "HOTCELL_TIMEOT");
	ASSERT_STR(near, "HOTCELL_TIMEOUT");
	ASSERT(!config_unknown_variable(&at, near, sizeof(near)));
}

TEST(every_option_of_the_daemon_is_a_key_and_every_default_is_its_own)
{
	struct config config;
	config_init(&config);
	for (size_t i = 0; i < server_option_count; i++) {
		char name[64], text[128];
		const char *flag = server_options[i].flag;
		if (strcmp(flag, "config") == 0 || strcmp(flag, "no-config") == 0)
			continue;
		(void)snprintf(name, sizeof(name), "%s", flag);
		for (char *at = name; *at; at++)
			*at = *at == '-' ? '_' : *at;
		(void)snprintf(text, sizeof(text), "daemon: {%s: %s}", name,
			!server_options[i].metavar        ? "true"
			: strcmp(name, "log_format") == 0 ? "json"
			: strcmp(name, "log_level") == 0  ? "error"
							  : "5");
		add_text(&config, text, CONFIG_USER);
		ASSERT(config_look_up(&config, "daemon", name));
	}
	config_done(&config);
	struct server_settings settings;
	struct config_key key;
	server_settings_init(&settings);
	for (size_t i = 0; config_key(i, &key); i++) {
		if (!key.section || strcmp(key.section, "daemon") != 0)
			continue;
		if (strcmp(key.field->name, "queue") == 0)
			ASSERT_EQ(strtol(key.field->fallback, NULL, 10), settings.queue);
		if (strcmp(key.field->name, "parked") == 0)
			ASSERT_EQ(strtol(key.field->fallback, NULL, 10), settings.parked);
		if (strcmp(key.field->name, "sessions") == 0)
			ASSERT_EQ(strtol(key.field->fallback, NULL, 10), settings.sessions);
		if (strcmp(key.field->name, "idle") == 0)
			ASSERT_EQ(strtol(key.field->fallback, NULL, 10), settings.idle_s);
		if (strcmp(key.field->name, "warm") == 0)
			ASSERT_STR(key.field->fallback, settings.warm);
	}
}

/* What is said of the daemon's part is taken, and blamed on where it stands. */
TEST(the_daemon_takes_its_section)
{
	struct config config;
	struct server_settings settings;
	config_init(&config);
	add_text(&config,
		"daemon: {concurrency: 3, queue: 4, parked: 5, warm: 'bash=1', idle: 6}\n",
		CONFIG_USER);
	server_settings_init(&settings);
	ASSERT_OK(server_settings_configure(&settings, &config, &err));
	ASSERT_OK(server_settings_check(&settings, &err));
	ASSERT_EQ(settings.concurrency, 3);
	ASSERT_EQ(settings.queue, 4);
	ASSERT_EQ(settings.parked, 5);
	ASSERT_EQ(settings.idle_s, 6);
	ASSERT_STR(settings.warm, "bash=1");
	ASSERT(!settings.is_on_demand);
	config_done(&config);
	config_init(&config);
	add_text(&config, "\ndaemon: {warm: '=3'}\n", CONFIG_USER);
	ASSERT_FAIL(server_settings_configure(&settings, &config, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "f:2: --warm: '=3' is not NAME");
	config_done(&config);
}

TEST(the_schema_has_every_key_of_a_file)
{
	auto_free char *text = config_schema();
	auto_json struct json_object *schema = NULL;
	struct config_key key;
	ASSERT_OK(json_read(text, strlen(text), 1 << 20, 32, &schema, &err));
	struct json_object *top = json_object_object_get(schema, "properties");
	for (size_t i = 0; config_key(i, &key); i++) {
		struct json_object *members = top;
		if (key.section)
			members = json_object_object_get(
				json_object_object_get(top, key.section), "properties");
		bool is_there = json_object_object_get_ex(members, key.field->name, NULL);
		ASSERT_EQ(is_there, !key.is_variable_only && !key.field->is_once);
	}
	ASSERT(json_object_object_get_ex(top, "languages", NULL));
}
