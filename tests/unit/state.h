/* SPDX-License-Identifier: Apache-2.0 */
/* A state directory for the tests of the store, and one run to keep in it. */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "store/store.h"
#include "unit/scratch.h"
#include "unit/test.h"
#include "wire/json.h"

static char state_root[] = "/tmp/hotcell-test-XXXXXX";
static struct spec state_spec;
static struct result state_result;
static struct store_run state_run;
static struct err err;

static void state_clean_up(void)
{
	spec_done(&state_spec);
	result_done(&state_result);
	scratch_remove(state_root);
}

/* The working directory is the one the state directory is in. */
static void state_set_up(void)
{
	ASSERT(mkdtemp(state_root));
	ASSERT_EQ(chdir(state_root), 0);
	auto_free char *path = xasprintf("%s/state", state_root);
	ASSERT_EQ(setenv("HOTCELL_STATE_DIR", path, 1), 0);
	spec_init(&state_spec);
	result_init(&state_result);
	ASSERT_EQ(atexit(state_clean_up), 0);
	state_spec.code = xstrdup("print(1)");
	state_result.status = STATUS_OK;
	state_result.runtime = "local";
	(void)snprintf(state_result.language, sizeof(state_result.language), "python");
	state_run = (struct store_run){
		.spec = &state_spec, .result = &state_result, .code = "print(1)", .code_len = 8
	};
}

__attribute__((unused)) static char *state_read(const char *path, size_t *ret_len)
{
	struct stat st;
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		FAIL("read %s", path);
	char *text = xcalloc((size_t)st.st_size + 1, 1);
	ASSERT_EQ(read(fd, text, (size_t)st.st_size), st.st_size);
	if (ret_len)
		*ret_len = (size_t)st.st_size;
	return text;
}

__attribute__((unused)) static void state_write(const char *path, const char *text, size_t len)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ASSERT(fd >= 0);
	ASSERT_EQ(write(fd, text, len), (ssize_t)len);
}
