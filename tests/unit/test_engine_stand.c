/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "engine/stand.h"
#include "jail/jail.h"

#define HEAD                                                                                       \
	"\"name\":\"x\",\"title\":\"X\",\"program\":\"main.x\",\"package\":\"x\",\"endings\":[\"." \
	"x\"],"                                                                                    \
	"\"argv\":[\"/usr/bin/x\",\"{file}\"],\"version\":[\"/usr/bin/x\"]"

static const char forking[] =
	"{" HEAD ",\"channel\":true,\"guest\":[\"/usr/bin/x\",\"{runtime}/boot\"],"
	"\"preload\":{\"base\":[],\"data\":[\"numpy\",\"matplotlib.pyplot\"],\"net\":[\"httpx\"]},"
	"\"cold_env\":[\"PYTHON*\",\"TZ\",\"HOME\"]}";
static const char waiting[] =
	"{" HEAD ",\"channel\":true,\"started\":[\"/usr/bin/x\",\"{runtime}/wait\"],"
	"\"cold_env\":[\"NODE_*\"]}";
static const char plain[] = "{" HEAD "}";

static struct language language;
static struct spec spec;
static struct stand stand;
static struct err err;

__attribute__((destructor)) static void clean_up(void)
{
	stand_done(&stand);
	spec_done(&spec);
	language_done(&language);
}

/* Of this language, with nothing asked for. */
static void begin(const char *definition)
{
	clean_up();
	ASSERT_OK(language_from_json(&language, definition, strlen(definition), "test", &err));
	spec_init(&spec);
}

static void choose(const char *code)
{
	stand_done(&stand);
	ASSERT_OK(stand_choose(
		&language, &spec, "/lib/x", code, code ? strlen(code) : 0, &stand, &err));
}

static void check_argv(const char *const *want)
{
	size_t count = 0;
	for (; want[count]; count++)
		ASSERT_STR(count < stand.argv.count ? stand.argv.items[count] : NULL, want[count]);
	ASSERT_EQ(stand.argv.count, count);
}

static void check_cold(const char *why)
{
	choose("import numpy");
	if (stand.form != FORM_GATE || stand.argv.count > 0)
		FAIL("%s: something stands ready", why);
}

TEST(an_interpreter_that_forks_runs_on_the_host_and_knows_its_directory_there)
{
	begin(forking);
	choose("print(1)");
	ASSERT_EQ(stand.form, FORM_GUEST);
	check_argv((const char *const[]){ "/usr/bin/x", "/lib/x/boot", NULL });
}

TEST(the_first_set_of_modules_is_loaded_in_any_case)
{
	begin("{" HEAD ",\"channel\":true,\"guest\":[\"/usr/bin/x\"],"
	      "\"preload\":{\"base\":[\"re\",\"json\"],\"data\":[\"numpy\"]}}");
	choose("import json");
	check_argv((const char *const[]){ "/usr/bin/x", "re", "json", NULL });
	choose("import json, numpy");
	check_argv((const char *const[]){ "/usr/bin/x", "re", "json", "numpy", NULL });
}

TEST(a_runner_that_waits_is_in_its_cell_and_sees_its_directory_there)
{
	begin(waiting);
	choose("import numpy");
	ASSERT_EQ(stand.form, FORM_STARTED);
	check_argv((const char *const[]){ "/usr/bin/x", RUNTIME_DIR "/wait", NULL });
}

TEST(a_language_that_cannot_wait_does_not_stand_ready)
{
	begin(plain);
	check_cold("a plain language");
}

TEST(what_forbids_a_warm_cell_is_heeded)
{
	static const char *const definitions[] = { forking, waiting };
	for (size_t i = 0; i < COUNT_OF(definitions); i++) {
		begin(definitions[i]);
		spec.cold = true;
		check_cold("--cold");
		begin(definitions[i]);
		strings_add(&spec.commands, "ls");
		check_cold("--commands");
		begin(definitions[i]);
		ASSERT_OK(stand_choose(&language, &spec, NULL, "", 0, &stand, &err));
		ASSERT_EQ(stand.form, FORM_GATE);
		ASSERT_EQ(stand.argv.count, 0);
	}
}

TEST(another_root_has_no_interpreter_of_the_hosts_but_may_have_a_runner)
{
	begin(forking);
	ASSERT_OK(spec_set(&spec, spec_field("rootfs"), "/srv/root", &err));
	check_cold("a guest in another root");
	begin(waiting);
	ASSERT_OK(spec_set(&spec, spec_field("rootfs"), "/srv/root", &err));
	choose("");
	ASSERT_EQ(stand.form, FORM_STARTED);
}

/* clang-format off */
static const struct { const char *variable; bool is_cold; } variables[] = {
	{ "PYTHONPATH=/x", true }, { "PYTHON=", true }, { "PYTHONPATH", true }, { "TZ=UTC", true },
	{ "TZ", true }, { "HOME=/elsewhere", true }, { "HOME=/home/user", false },
	{ "TZDATA=1", false }, { "A=PYTHONPATH", false }, { "PYTHO=1", false }, { "T=Z", false },
};
/* clang-format on */

TEST(a_variable_that_is_read_at_the_start_wants_a_start_of_its_own)
{
	for (size_t i = 0; i < COUNT_OF(variables); i++) {
		begin(forking);
		strings_add(&spec.env, "OTHER=1");
		strings_add(&spec.env, variables[i].variable);
		choose("");
		if ((stand.form == FORM_GATE) != variables[i].is_cold)
			FAIL("'%s': form %d", variables[i].variable, (int)stand.form);
	}
}

/* The name of the last set that was loaded, "base" when nothing was. */
static const char *loaded_for(const char *code)
{
	choose(code);
	ASSERT_EQ(stand.form, FORM_GUEST);
	const char *last = stand.argv.items[stand.argv.count - 1];
	return strcmp(last, "matplotlib.pyplot") == 0 ? "data"
	       : strcmp(last, "httpx") == 0           ? "net"
						      : "base";
}

/* clang-format off */
static const struct { const char *code, *set; } imports[] = {
	{ "import numpy", "data" },
	{ "import numpy as np\n", "data" },
	{ "import numpy\r\nprint(1)\r\n", "data" },
	{ "import os, sys,numpy as np", "data" },
	{ "import os as numpy_, numpy", "data" },
	{ "import  \tnumpy", "data" },
	{ "import\tnumpy", "data" },
	{ "import numpy.linalg", "data" },
	{ "import numpy;", "data" },
	{ "import numpy#", "data" },
	{ "import os; import numpy; print(1)", "data" },
	{ "import os;from numpy import x", "data" },
	{ "from numpy import *", "data" },
	{ "from numpy.linalg import norm", "data" },
	{ "from\tnumpy import x", "data" },
	{ "  import numpy", "data" },
	{ "\tfrom matplotlib import pyplot", "data" },
	{ "import matplotlib", "data" },
	{ "x = 1\n\n\nimport httpx", "net" },
	{ "import httpx\nimport numpy", "data" },	/* the first set wins */
	{ "", "base" },
	{ "\n", "base" },
	{ "import", "base" },
	{ "import ", "base" },
	{ "import ,", "base" },
	{ "import os,", "base" },
	{ "import ,,,\n", "base" },
	{ "import os; numpy", "base" },
	{ ";;import;,numpy", "base" },
	{ "from", "base" },
	{ "from ", "base" },
	{ "import os\nnumpy", "base" },
	{ "importnumpy", "base" },
	{ "imports numpy", "base" },
	{ "import numpyro", "base" },
	{ "import numpy_x", "base" },
	{ "import numpy2", "base" },
	{ "import nump", "base" },
	{ "import xnumpy", "base" },
	{ "import x.numpy", "base" },
	{ "from x import numpy", "base" },
	{ "fromnumpy import x", "base" },
	{ "# import numpy", "base" },
	{ "'import numpy'", "base" },
	{ "x = import_numpy", "base" },
};
/* clang-format on */

TEST(what_is_loaded_follows_what_the_code_imports)
{
	begin(forking);
	for (size_t i = 0; i < COUNT_OF(imports); i++)
		if (strcmp(loaded_for(imports[i].code), imports[i].set) != 0)
			FAIL("'%s' has %s loaded", imports[i].code, loaded_for(imports[i].code));
	ASSERT_STR(loaded_for(NULL), "base");
}

TEST(all_modules_of_a_set_are_loaded)
{
	begin(forking);
	choose("import matplotlib.pyplot as plt");
	check_argv((const char *const[]){
		"/usr/bin/x", "/lib/x/boot", "numpy", "matplotlib.pyplot", NULL });
}

/* The code may have any bytes, and its length alone says where it ends. */
TEST(code_is_read_to_its_end_and_no_further)
{
	static const char code[] = "x\0\nimport numpy";
	begin(forking);
	ASSERT_OK(stand_choose(&language, &spec, "/lib/x", code, sizeof(code) - 1, &stand, &err));
	ASSERT_EQ(stand.argv.count, 4);
	stand_done(&stand);
	for (size_t len = 0; len < sizeof(code) - 1; len++) {
		auto_free char *exact = xcalloc(len ? len : 1, 1);
		memcpy(exact, code, len);
		ASSERT_OK(stand_choose(&language, &spec, "/lib/x", exact, len, &stand, &err));
		ASSERT_EQ(stand.argv.count, 2);
		stand_done(&stand);
	}
}

static void set_preload(const char *name)
{
	ASSERT_OK(spec_set(&spec, spec_field("preload"), name, &err));
}

TEST(a_set_that_was_named_is_loaded_whatever_the_code_imports)
{
	begin(forking);
	set_preload("net");
	ASSERT_STR(loaded_for("import numpy"), "net");
	set_preload("base");
	ASSERT_STR(loaded_for("import numpy"), "base");
	ASSERT_EQ(stand.argv.count, 2);
	set_preload("auto");
	ASSERT_STR(loaded_for("import numpy"), "data");
}

TEST(a_set_that_is_not_there_is_refused_warm_or_cold)
{
	static const char *const definitions[] = { forking, waiting, plain };
	for (size_t i = 0; i < COUNT_OF(definitions); i++) {
		for (int cold = 0; cold < 2; cold++) {
			begin(definitions[i]);
			set_preload("other");
			spec.cold = cold;
			ASSERT_FAIL(stand_choose(&language, &spec, "/lib/x", "", 0, &stand, &err),
				ERR_INVALID);
			ASSERT_HAS(err.text,
				i == 0 ? "there is: auto, base, data, net" : "there is: auto");
			ASSERT_EQ(stand.argv.count, 0);
		}
	}
}
