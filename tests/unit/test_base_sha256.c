/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sha256.h"

static const char *hash(const char *text, size_t len, size_t step)
{
	static char hex[SHA256_HEX + 1];
	struct sha256 sha;
	sha256_init(&sha);
	for (size_t at = 0; at < len; at += step)
		sha256_add(&sha, text + at, len - at < step ? len - at : step);
	sha256_hex(&sha, hex);
	return hex;
}

TEST(the_examples_of_the_standard_hold)
{
	/* clang-format off */
	static const struct { const char *text, *want; } examples[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	/* clang-format on */
	for (size_t i = 0; i < COUNT_OF(examples); i++)
		ASSERT_STR(hash(examples[i].text, strlen(examples[i].text), 64), examples[i].want);
}

TEST(a_million_bytes_hash_alike_however_they_arrive)
{
	const char want[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
	auto_free char *text = malloc(1000000);
	ASSERT(text);
	memset(text, 'a', 1000000);
	static const size_t steps[] = { 1, 3, 63, 64, 65, 127, 1000, 1000000 };
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		ASSERT_STR(hash(text, 1000000, steps[i]), want);
}

TEST(every_length_around_a_block_has_a_hash_of_its_own)
{
	char seen[200][SHA256_HEX + 1];
	char text[200] = { 0 };
	for (size_t len = 0; len < COUNT_OF(seen); len++) {
		(void)snprintf(seen[len], sizeof(seen[len]), "%s", hash(text, len, 64));
		for (size_t i = 0; i < len; i++)
			ASSERT(strcmp(seen[i], seen[len]) != 0);
	}
}

/* All of this once more, where the C library knows nothing of the instructions. */
TEST(processors_without_instructions_for_it_come_to_the_same)
{
	static const char tunables[] = "glibc.cpu.hwcaps=-SSE4_1";
	const char *given = getenv("GLIBC_TUNABLES");
	int status = -1;
	if (given && strcmp(given, tunables) == 0)
		return;
	ASSERT_EQ(setenv("GLIBC_TUNABLES", tunables, 1), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		(void)dup2(fd, STDOUT_FILENO);
		(void)execl("/proc/self/exe", "test_base_sha256", (char *)NULL);
		_exit(127);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}
