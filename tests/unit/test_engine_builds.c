/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/io.h"
#include "engine/builds.h"
#include "unit/scratch.h"

/* The test stands in a directory of its own, in which `kept` is the cache. */
static char root[] = "/tmp/hotcell-test-XXXXXX";
static int kept = -1;
static struct err err;

enum { PATH_SIZE = 320, MANY = 100, PLENTY = 1 << 30, WORDS_MAX = 64 };

static void clean_up(void)
{
	own_close(&kept);
	scratch_remove(root);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root) | mkdir("kept", 0700), 0);
	kept = open("kept", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT(kept >= 0);
}

static void write_file(const char *path, const char *text)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ASSERT(fd >= 0);
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
}

static struct build *make_build(const char *key, const char *words, const char *made)
{
	struct build *build = build_new();
	ASSERT_EQ(buf_append(&build->key, key, strlen(key)), 0);
	buf_init(&build->words, WORDS_MAX);
	ASSERT_EQ(buf_append(&build->words, words, strlen(words)), 0);
	build->fd = open(made, O_RDONLY | O_CLOEXEC);
	ASSERT(build->fd >= 0);
	return build;
}

static void keep(const char *key, const char *words, const char *made)
{
	struct build *build = make_build(key, words, made);
	ASSERT_OK(builds_keep(kept, build, &err));
	build_free(build);
}

static bool find(const char *key, struct build **ret_build)
{
	*ret_build = build_new();
	ASSERT_EQ(buf_append(&(*ret_build)->key, key, strlen(key)), 0);
	return builds_find(kept, *ret_build, WORDS_MAX);
}

static bool is_kept(const char *key)
{
	struct build *build = NULL;
	bool is_found = find(key, &build);
	build_free(build);
	return is_found;
}

/* Where the entry of a key is; there is only one in the cache while this is asked. */
static void entry_path(char *path, size_t size, const char *part)
{
	int count = 0;
	auto_dir DIR *dir = opendir("kept");
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, size, "kept/%s%s", entry->d_name, part);
		count++;
	}
	ASSERT_EQ(count, 1);
}

static int count_entries(void)
{
	int count = 0;
	auto_dir DIR *dir = opendir("kept");
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	return count;
}

TEST(a_build_is_found_again_with_its_bytes_and_words)
{
	char text[32] = "";
	struct build *build = NULL;
	set_up();
	write_file("made", "\177ELF program");
	keep("key", "a warning\n", "made");
	ASSERT(find("key", &build));
	ASSERT_STR(buf_text(&build->words), "a warning\n");
	ASSERT_EQ(read(build->fd, text, sizeof(text) - 1), 12);
	ASSERT_STR(text, "\177ELF program");
	build_free(build);
	ASSERT(!is_kept("kez"));
	ASSERT(!is_kept("key2"));
	ASSERT_EQ(count_entries(), 1);
}

TEST(a_build_of_another_key_with_the_same_name_is_not_taken)
{
	char one[PATH_SIZE], other[PATH_SIZE];
	set_up();
	write_file("made", "program");
	keep("one", "", "made");
	entry_path(one, sizeof(one), "");
	ASSERT_EQ(rename(one, "aside"), 0);
	keep("other", "", "made");
	entry_path(other, sizeof(other), "");
	ASSERT_EQ(rename(other, "aside2") | rename("aside", other), 0);
	ASSERT(!is_kept("other"));
	keep("other", "", "made");
	ASSERT(is_kept("other"));
}

TEST(a_build_whose_words_are_too_long_is_not_found)
{
	struct build *build = build_new();
	set_up();
	write_file("made", "program");
	keep("key", "12345678", "made");
	ASSERT_EQ(buf_append(&build->key, "key", 3), 0);
	ASSERT(!builds_find(kept, build, 7));
	ASSERT(builds_find(kept, build, 8));
	build_free(build);
}

static void change_length(const char *path)
{
	ASSERT_EQ(truncate(path, 3), 0);
}

/* As one who hides it: only the time of change tells, and that may be coarse. */
static void change_bytes(const char *path)
{
	struct stat before, now;
	ASSERT_EQ(stat(path, &before), 0);
	struct timespec times[2] = { before.st_atim, before.st_mtim };
	auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
	do {
		ASSERT_EQ(pwrite(fd, "X", 1, 0), 1);
		ASSERT_EQ(futimens(fd, times) | fstat(fd, &now), 0);
	} while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
		 now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

static void replace_file(const char *path)
{
	write_file("new", "program");
	ASSERT_EQ(rename("new", path), 0);
}

static void replace_by_link(const char *path)
{
	ASSERT_EQ(rename(path, "elsewhere") | symlink("../../elsewhere", path), 0);
}

static void replace_by_fifo(const char *path)
{
	ASSERT_EQ(unlink(path) | mkfifo(path, 0755), 0);
}

static void remove_file(const char *path)
{
	ASSERT_EQ(unlink(path), 0);
}

static void open_to_all(const char *path)
{
	ASSERT_EQ(chmod(path, 0777), 0);
}

TEST(a_damaged_build_is_ignored_and_made_good)
{
	static void (*const damages[])(const char *) = { change_length, change_bytes, replace_file,
		replace_by_link, replace_by_fifo, remove_file, open_to_all };
	static const char *const parts[] = { "/main", "/note" };
	char path[PATH_SIZE];
	set_up();
	write_file("made", "program");
	for (size_t i = 0; i < COUNT_OF(damages) * COUNT_OF(parts); i++) {
		const char *part = parts[i % COUNT_OF(parts)];
		void (*damage)(const char *) = damages[i / COUNT_OF(parts)];
		keep("key", "words", "made");
		ASSERT(is_kept("key"));
		entry_path(path, sizeof(path), part);
		damage(path);
		if (is_kept("key"))
			FAIL("damage %zu to %s", i / COUNT_OF(parts), part);
	}
	keep("key", "words", "made");
	ASSERT(is_kept("key"));
}

TEST(no_byte_of_a_note_can_change_unnoticed)
{
	char path[PATH_SIZE];
	unsigned char bytes[256];
	set_up();
	write_file("made", "program");
	keep("key", "words", "made");
	entry_path(path, sizeof(path), "/note");
	auto_fd int fd = open(path, O_RDWR | O_CLOEXEC);
	ssize_t len = read(fd, bytes, sizeof(bytes));
	ASSERT(len > 8 && len < (ssize_t)sizeof(bytes));
	for (ssize_t i = 0; i < len; i++) {
		unsigned char other = bytes[i] ^ 0x20;
		ASSERT_EQ(pwrite(fd, &other, 1, i), 1);
		if (is_kept("key"))
			FAIL("byte %zd", i);
		ASSERT_EQ(pwrite(fd, &bytes[i], 1, i), 1);
	}
	ASSERT(is_kept("key"));
	for (ssize_t i = 0; i < len; i++) {
		ASSERT_EQ(ftruncate(fd, i), 0);
		if (is_kept("key"))
			FAIL("length %zd", i);
	}
}

TEST(an_entry_that_is_a_link_is_not_followed_and_replaced)
{
	char path[PATH_SIZE];
	set_up();
	write_file("made", "program");
	keep("key", "", "made");
	entry_path(path, sizeof(path), "");
	ASSERT_EQ(rename(path, "elsewhere") | symlink("../elsewhere", path), 0);
	ASSERT(!is_kept("key"));
	keep("key", "", "made");
	ASSERT(is_kept("key"));
	ASSERT_EQ(access("elsewhere/main", F_OK) | access("elsewhere/note", F_OK), 0);
}

TEST(a_directory_is_kept_whole_or_not_at_all)
{
	char path[PATH_SIZE];
	set_up();
	ASSERT_EQ(mkdir("made", 0755) | mkdir("made/lib", 0755) | symlink("x", "made/link"), 0);
	write_file("made/run", "run");
	write_file("made/lib/file", "file");
	keep("key", "", "made");
	ASSERT(is_kept("key"));
	entry_path(path, sizeof(path), "/main/lib/file");
	change_bytes(path);
	ASSERT(!is_kept("key"));
	keep("key", "", "made");
	entry_path(path, sizeof(path), "/main/lib/more");
	write_file(path, "");
	ASSERT(!is_kept("key"));
	keep("key", "", "made");
	entry_path(path, sizeof(path), "/main/run");
	remove_file(path);
	ASSERT(!is_kept("key"));
}

TEST(what_is_too_large_is_not_kept)
{
	set_up();
	write_file("made", "");
	ASSERT_EQ(truncate("made", 200 << 20), 0);
	struct build *build = make_build("key", "", "made");
	ASSERT_FAIL(builds_keep(kept, build, &err), ERR_LIMIT);
	build_free(build);
	ASSERT_EQ(count_entries(), 0);
}

/* As if it had been used this many seconds after the beginning of time. */
static void use_at(const char *key, time_t when)
{
	char name[64];
	struct build *build = NULL;
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };
	ASSERT(find(key, &build));
	auto_free char *link = xasprintf("/proc/self/fd/%d", build->fd);
	ssize_t len = readlink(link, name, sizeof(name) - 1);
	ASSERT(len > 5);
	name[len - 5] = '\0'; /* without "/main" */
	build_free(build);
	ASSERT_EQ(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void keep_three(void)
{
	set_up();
	write_file("made", "1234567890");
	keep("a", "", "made");
	keep("b", "", "made");
	keep("c", "", "made");
	use_at("a", 2000);
	use_at("b", 1000);
	use_at("c", 3000);
}

TEST(what_was_not_used_for_longest_goes_first)
{
	keep_three();
	builds_bound(kept, 3, PLENTY);
	ASSERT_EQ(count_entries(), 3);
	builds_bound(kept, 2, PLENTY);
	ASSERT(!is_kept("b"));
	use_at("a", 4000);
	use_at("c", 3000);
	builds_bound(kept, 1, PLENTY);
	ASSERT(!is_kept("c"));
	ASSERT(is_kept("a"));
}

TEST(finding_a_build_is_using_it)
{
	keep_three();
	ASSERT(is_kept("b"));
	builds_bound(kept, 1, PLENTY);
	ASSERT(is_kept("b"));
	ASSERT_EQ(count_entries(), 1);
}

TEST(bytes_are_bounded_as_well)
{
	char path[PATH_SIZE];
	struct stat note;
	keep_three();
	ASSERT(is_kept("a") && is_kept("b"));
	use_at("a", 2000);
	use_at("b", 1000);
	builds_bound(kept, 1, PLENTY);
	entry_path(path, sizeof(path), "/note");
	ASSERT_EQ(stat(path, &note), 0);
	keep("a", "", "made");
	use_at("a", 2000);
	builds_bound(kept, MANY, 2 * (note.st_size + 10));
	ASSERT_EQ(count_entries(), 2);
	builds_bound(kept, MANY, 2 * (note.st_size + 10) - 1);
	ASSERT_EQ(count_entries(), 1);
	ASSERT(is_kept("c"));
	builds_bound(kept, MANY, 0);
	ASSERT_EQ(count_entries(), 0);
}

TEST(a_build_that_is_being_copied_is_not_removed)
{
	struct build *build = NULL;
	keep_three();
	ASSERT(find("b", &build));
	builds_bound(kept, 0, 0);
	ASSERT_EQ(count_entries(), 1);
	/* nor replaced: the next one to keep it may */
	struct build *again = make_build("b", "", "made");
	ASSERT_FAIL(builds_keep(kept, again, &err), ERR_SYSTEM);
	build_free(again);
	build_free(build);
	ASSERT_EQ(count_entries(), 1);
	builds_bound(kept, 0, 0);
	ASSERT_EQ(count_entries(), 0);
}

TEST(what_a_killed_one_left_is_removed_and_what_is_being_made_is_not)
{
	set_up();
	ASSERT_EQ(mkdir("kept/.new-1-0", 0700) | mkdir("kept/.new-2-0", 0700), 0);
	write_file("kept/.new-1-0/main", "half");
	auto_fd int fd = open("kept/.new-2-0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_EQ(flock(fd, LOCK_EX), 0);
	builds_bound(kept, MANY, PLENTY);
	ASSERT(access("kept/.new-1-0", F_OK) < 0);
	ASSERT_EQ(access("kept/.new-2-0", F_OK), 0);
}

/* ---- what decides ------------------------------------------------------------------------------
 */

static char *items[] = { (char *)"/bin/cc", (char *)"-O1", NULL };

struct case_of {
	struct spec spec;
	struct language language;
	struct compiling compiling;
	struct strings argv;
};

static void set_up_case(struct case_of *of)
{
	set_up();
	ASSERT_EQ(mkdir("rootfs", 0755) | mkdir("rootfs/bin", 0755) | mkdir("definition", 0755), 0);
	write_file("rootfs/bin/cc", "compiler");
	write_file("definition/language.json", "{}");
	*of = (struct case_of){ .argv = { items, 2 } };
	spec_init(&of->spec);
	free(of->spec.rootfs);
	of->spec.rootfs = xasprintf("%s/rootfs", root);
	of->language.name = xstrdup("own");
	of->language.dir = xasprintf("%s/definition", root);
	strings_add(&of->language.compile, "/bin/cc");
	of->compiling = (struct compiling){ .spec = &of->spec,
		.language = &of->language,
		.program = "main.c",
		.code = "int x;",
		.code_len = 6 };
}

static void case_done(struct case_of *of)
{
	spec_done(&of->spec);
	language_done(&of->language);
}

static char *describe(const struct case_of *of)
{
	struct buf key;
	buf_init(&key, 1 << 20);
	build_describe(&of->compiling, &of->argv, &key);
	char *text = xstrdup(buf_text(&key));
	buf_done(&key);
	return text;
}

static void differs(const struct case_of *of, const char *before, const char *what)
{
	auto_free char *now = describe(of);
	ASSERT(now[0] != '\0');
	if (strcmp(before, now) == 0)
		FAIL("%s changed, the key did not", what);
}

TEST(the_key_is_the_same_for_the_same)
{
	struct case_of of;
	set_up_case(&of);
	auto_free char *one = describe(&of);
	auto_free char *other = describe(&of);
	ASSERT_STR(one, other);
	of.spec.memory = 1 << 20;
	auto_free char *limited = describe(&of);
	ASSERT_STR(one, limited);
	case_done(&of);
}

TEST(the_key_changes_with_all_that_decides)
{
	struct case_of of;
	set_up_case(&of);
	auto_free char *key = describe(&of);
	ASSERT_HAS(key, "int x;");
	of.compiling.code = "int y;";
	differs(&of, key, "the code");
	of.compiling.code = "int x;";
	of.compiling.program = "other.c";
	differs(&of, key, "the file's name");
	of.compiling.program = "main.c";
	of.compiling.runtime = "/prepared";
	differs(&of, key, "what was prepared");
	of.compiling.runtime = NULL;
	of.argv.count = 1;
	differs(&of, key, "a flag");
	of.argv.count = 2;
	auto_free char *again = describe(&of);
	ASSERT_STR(again, key);
	case_done(&of);
}

TEST(the_key_changes_with_compiler_definition_and_system)
{
	struct case_of of;
	set_up_case(&of);
	auto_free char *one = describe(&of);
	write_file("new", "compiler");
	ASSERT_EQ(rename("new", "rootfs/bin/cc"), 0);
	differs(&of, one, "the compiler");
	auto_free char *two = describe(&of);
	write_file("definition/language.json", "{ }");
	differs(&of, two, "the definition");
	auto_free char *three = describe(&of);
	ASSERT_EQ(mkdir("rootfs/usr", 0755) | mkdir("rootfs/usr/include", 0755), 0);
	differs(&of, three, "the system");
	auto_free char *four = describe(&of);
	const struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	ASSERT_EQ(utimensat(AT_FDCWD, "rootfs/usr/include", times, 0), 0);
	differs(&of, four, "what headers there are");
	case_done(&of);
}

TEST(there_is_no_key_when_more_comes_in_than_the_code)
{
	static const size_t offsets[] = { offsetof(struct spec, files), offsetof(struct spec, ro),
		offsetof(struct spec, rw) };
	struct case_of of;
	set_up_case(&of);
	for (size_t i = 0; i < COUNT_OF(offsets); i++) {
		struct pairs *pairs = (struct pairs *)((char *)&of.spec + offsets[i]);
		pairs_add(pairs, "x", NULL);
		auto_free char *key = describe(&of);
		ASSERT_STR(key, "");
		pairs_done(pairs);
	}
	case_done(&of);
}
