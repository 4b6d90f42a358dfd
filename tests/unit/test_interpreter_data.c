/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "interpreter/data.h"

/* A library that is always there, with a variable of its own and a function that writes to it. */
static struct {
	int *variable;
	double (*write)(double);
} library;

static void load_library(void)
{
	void *handle = dlopen("libm.so.6", RTLD_NOW);
	ASSERT(handle);
	library.variable = dlsym(handle, "signgam");
	*(void **)&library.write = dlsym(handle, "lgamma");
	ASSERT(library.variable && library.write);
}

/* What /proc says of the mapping with this address in it. */
static void look(const void *at, char *text, size_t size)
{
	char line[512];
	uintptr_t wanted = (uintptr_t)at;
	auto_file FILE *maps = fopen("/proc/self/maps", "re");
	ASSERT(maps);
	while (fgets(line, sizeof(line), maps)) {
		char *rest = NULL;
		uintptr_t start = strtoull(line, &rest, 16);
		uintptr_t end = strtoull(rest + 1, &rest, 16);
		if (start <= wanted && wanted < end)
			(void)snprintf(text, size, "%s", rest + 1);
	}
}

static bool is_settled(const void *at)
{
	char text[512] = "";
	look(at, text, sizeof(text));
	return strncmp(text, "rw-p", 4) == 0 && strstr(text, "hotcell-data");
}

TEST(what_is_in_use_meanwhile_stays_where_it_is)
{
	static int own = 1;
	static const char *const addresses[] = { "the loader puts it in", "and closes the page" };
	char text[512] = "";
	load_library();
	look(addresses, text, sizeof(text));
	ASSERT(strncmp(text, "r--p", 4) == 0);
	data_settle(NULL);
	look(addresses, text, sizeof(text));
	ASSERT(strncmp(text, "rw-p", 4) == 0 && !is_settled(addresses));
	ASSERT(!is_settled(&own) && !is_settled((void *)&environ) && !is_settled((void *)&stdout));
	void *memory = malloc(1 << 20);
	ASSERT(memory);
	free(memory);
}

TEST(a_library_has_what_it_had_and_goes_on)
{
	int status = 0;
	load_library();
	*library.variable = 42;
	ASSERT(!is_settled(library.variable));
	data_settle(NULL);
	ASSERT(is_settled(library.variable));
	ASSERT_EQ(*library.variable, 42);
	(void)library.write(-0.5);
	ASSERT_EQ(*library.variable, -1);
	pid_t pid = fork();
	if (pid == 0) {
		bool has_it = *library.variable == -1;
		(void)library.write(0.5);
		_exit(!has_it || *library.variable != 1);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	ASSERT_EQ(*library.variable, -1);
}

TEST(a_program_that_is_a_library_is_left_alone)
{
	load_library();
	data_settle(*(void **)&library.write);
	ASSERT(!is_settled(library.variable));
	data_settle(NULL);
	ASSERT(is_settled(library.variable));
}

TEST(it_may_happen_again)
{
	load_library();
	data_settle(NULL);
	*library.variable = 43;
	data_settle(NULL);
	ASSERT(is_settled(library.variable));
	ASSERT_EQ(*library.variable, 43);
}
