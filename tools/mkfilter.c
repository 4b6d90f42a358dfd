/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seccomp filters as C, from the policy in src/jail/syscalls.def:
 *
 *   mkfilter [ARCH] > filter.c
 *
 * Each filter is: the machine check, a search tree over ranges of call numbers, the argument
 * checks, and one RET per verdict. When a filter is installed the kernel checks and translates
 * every instruction, then emulates the code for every call number; plan_tree() picks the tree that
 * costs least in both. libseccomp only knows the numbers here; it generates nothing.
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/own.h"

/* clang-format off */
enum {
	CALLS_MAX    = 1024,	/* call numbers looked at; above are none today */
	CODE_MAX     = 1024,
	RANGES_MAX   = 256,
	VALUES_MAX   = 5,
	TESTS_MAX    = 3,
	NOT_RESOLVED = -1,
	NO_LABEL     = -1,
	/* Measured: an instruction costs 0.2 µs to load, an emulated step 2 ns. */
	STEPS_PER_INSN = 100,
	EMULATED_CALLS = 470,
};
#define X32_BIT 0x40000000u

#define PASS    SECCOMP_RET_ALLOW
#define NOTIFY  SECCOMP_RET_USER_NOTIF
#define KILL    SECCOMP_RET_KILL_PROCESS
#define FAIL(e) (SECCOMP_RET_ERRNO | (e))
#define REFUSE  FAIL(EPERM)
#define PRETEND FAIL(0)
#define NEXT    0xffffffffu	/* no verdict: the next case decides */

#define EVERY         0xffffffffu
#define SOCKET_FLAGS  ((uint32_t)(SOCK_NONBLOCK | SOCK_CLOEXEC))
#define CLONE_NEW_ANY (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
		       CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

enum filter_set { CELL = 1, LOOPBACK = 2, CELLS = CELL | LOOPBACK };

struct call {
	const char *name;
	int at;			/* number given in the table, or 0 */
	uint32_t verdict;
	bool has_cases;
	int answer_errno;
	const char *layer;
	const char *note;
	int nr;			/* on the target; NOT_RESOLVED: not there */
};

struct test {
	uint8_t arg;
	bool is_high;
	uint32_t mask;
	uint8_t count;
	uint32_t values[VALUES_MAX];
};

struct call_case {
	unsigned filters;
	const char *name;
	uint32_t hit, miss;
	struct test tests[TESTS_MAX];
};

#define CASE(...)
#define INIT(call)
#define ALLOW(call)                  { .name = #call, .verdict = PASS },
#define ALLOW_AT(number, call)       { .name = #call, .verdict = PASS, .at = (number) },
#define ABSENT(call, why)            { .name = #call, .verdict = FAIL(ENOSYS) },
#define ABSENT_AT(number, call, why) { .name = #call, .verdict = FAIL(ENOSYS), .at = (number) },
#define QUIET(call, answer, why)     { .name = #call, .verdict = FAIL(answer) },
#define WATCH(call, answer, in, why) \
	{ .name = #call, .verdict = NOTIFY, .answer_errno = (answer), .layer = (in), .note = (why) },
#define CHECK(call, otherwise, answer, in, why) \
	{ .name = #call, .verdict = (otherwise), .has_cases = true, \
	  .answer_errno = (answer), .layer = (in), .note = (why) },
static const struct call policy[] = {
#include "jail/syscalls.def"
};

#undef ALLOW
#undef ALLOW_AT
#undef ABSENT
#undef ABSENT_AT
#undef QUIET
#undef WATCH
#undef CHECK
#undef CASE
#define ALLOW(call)
#define ALLOW_AT(number, call)
#define ABSENT(call, why)
#define ABSENT_AT(number, call, why)
#define QUIET(call, answer, why)
#define WATCH(call, answer, in, why)
#define CHECK(call, otherwise, answer, in, why)
#define VALUES(...) .count = COUNT_OF(((uint32_t[]){ __VA_ARGS__ })), .values = { __VA_ARGS__ }
#define IN(no, bits, ...)      { .arg = (no), .mask = (bits), VALUES(__VA_ARGS__) }
#define IN_HIGH(no, bits, ...) { .arg = (no), .mask = (bits), .is_high = true, VALUES(__VA_ARGS__) }
#define CASE(set, call, if_all, if_not, ...) \
	{ .filters = (set), .name = #call, .hit = (if_all), .miss = (if_not), .tests = { __VA_ARGS__ } },
static const struct call_case cases[] = {
#include "jail/syscalls.def"
};

#undef CASE
#undef INIT
#define CASE(...)
#define INIT(call) #call,
static const char *const init_calls[] = {
#include "jail/syscalls.def"
};
/* clang-format on */

struct insn {
	uint16_t code;
	uint32_t k;
	int yes, no; /* labels; only for jumps */
};

struct code {
	struct insn insns[CODE_MAX];
	size_t count;
	size_t label_at[CODE_MAX];
	int label_count;
	struct {
		uint32_t verdict;
		int label;
	} rets[16];
	size_t ret_count;
};

/* Numbers first..last all go to `label`. */
struct range {
	uint32_t first, last;
	int label;
};

/* The best tree over ranges i..j: split before range `split`, or, when that is 0, compare for each
 * range that does not go to `base`. */
struct plan {
	uint32_t cost;
	size_t split;
	int base;
};

struct tree {
	struct range ranges[RANGES_MAX];
	size_t count;
	struct plan plans[RANGES_MAX][RANGES_MAX];
};

/* What the generator knows of its target. */
struct target {
	uint32_t arch;
	struct call calls[COUNT_OF(policy)];
	const struct call *by_nr[CALLS_MAX];
};

static void __attribute__((format(printf, 1, 2), noreturn)) die(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	(void)fputs("mkfilter: ", stderr);
	(void)vfprintf(stderr, fmt, args);
	(void)fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static void *alloc(size_t size)
{
	void *memory = calloc(1, size);
	if (!memory)
		die("out of memory");
	return memory;
}

/* -- names and numbers -- */

static int resolve_call(uint32_t arch, const struct call *call)
{
	int nr = seccomp_syscall_resolve_name_arch(arch, call->name);
	if (nr == __NR_SCMP_ERROR && !call->at)
		die("no machine has a call '%s'", call->name);
	if (nr >= 0 && call->at && nr != call->at)
		die("'%s' is %d, not %d", call->name, nr, call->at);
	if (nr == __NR_SCMP_ERROR)
		return call->at;
	return nr >= 0 ? nr : NOT_RESOLVED; /* below -1: exists on other machines */
}

static void check_every_call_is_listed(const struct target *target)
{
	for (int nr = 0; nr < CALLS_MAX; nr++) {
		auto_free char *name = seccomp_syscall_resolve_num_arch(target->arch, nr);
		if (name && !target->by_nr[nr])
			die("'%s' (%d) has no row in syscalls.def", name, nr);
	}
}

static void resolve_policy(struct target *target)
{
	for (size_t i = 0; i < COUNT_OF(policy); i++) {
		struct call *call = &target->calls[i];
		*call = policy[i];
		call->nr = resolve_call(target->arch, call);
		if (call->nr == NOT_RESOLVED)
			continue;
		if (call->nr >= CALLS_MAX)
			die("'%s' is number %d, more than %d", call->name, call->nr, CALLS_MAX);
		if (target->by_nr[call->nr])
			die("'%s' has two rows in syscalls.def", call->name);
		target->by_nr[call->nr] = call;
	}
	check_every_call_is_listed(target);
}

static const struct call *find_call(const struct target *target, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(policy); i++)
		if (strcmp(target->calls[i].name, name) == 0)
			return &target->calls[i];
	die("'%s' has no row in syscalls.def", name);
}

/* A case of a call that is not a CHECK would be skipped in silence, and so would deny nothing. */
static void check_cases(const struct target *target)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (!find_call(target, cases[i].name)->has_cases)
			die("'%s' has cases but is no CHECK", cases[i].name);
}

/* -- code with labels -- */

static int label_new(struct code *code)
{
	if (code->label_count >= CODE_MAX)
		die("too many labels");
	return code->label_count++;
}

static void label_place(struct code *code, int label)
{
	code->label_at[label] = code->count;
}

static void add(struct code *code, struct insn insn)
{
	if (code->count >= CODE_MAX)
		die("filter too long");
	code->insns[code->count++] = insn;
}

static void add_load(struct code *code, size_t offset)
{
	add(code, (struct insn){ .code = BPF_LD | BPF_W | BPF_ABS, .k = (uint32_t)offset });
}

static void add_and(struct code *code, uint32_t mask)
{
	add(code, (struct insn){ .code = BPF_ALU | BPF_AND | BPF_K, .k = mask });
}

static void add_jump(struct code *code, uint16_t op, uint32_t k, int yes, int no)
{
	add(code, (struct insn){ .code = BPF_JMP | BPF_K | op, .k = k, .yes = yes, .no = no });
}

static int verdict_label(struct code *code, uint32_t verdict)
{
	for (size_t i = 0; i < code->ret_count; i++)
		if (code->rets[i].verdict == verdict)
			return code->rets[i].label;
	if (code->ret_count >= COUNT_OF(code->rets))
		die("too many verdicts");
	size_t slot = code->ret_count++;
	code->rets[slot].verdict = verdict;
	code->rets[slot].label = label_new(code);
	return code->rets[slot].label;
}

static void add_verdicts(struct code *code)
{
	for (size_t i = 0; i < code->ret_count; i++) {
		label_place(code, code->rets[i].label);
		add(code, (struct insn){ .code = BPF_RET | BPF_K, .k = code->rets[i].verdict });
	}
}

static unsigned jump_offset(const struct code *code, size_t from, int label)
{
	size_t to = code->label_at[label];
	if (to <= from || to - from - 1 > UINT8_MAX)
		die("a jump of %zd does not fit; give verdicts a nearer copy",
			(ssize_t)(to - from));
	return (unsigned)(to - from - 1);
}

/* -- argument checks -- */

static size_t arg_offset(const struct test *test)
{
	bool is_upper = test->is_high != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	return offsetof(struct seccomp_data, args) + test->arg * sizeof(uint64_t) +
	       (is_upper ? sizeof(uint32_t) : 0);
}

static bool is_same_load(const struct test *a, const struct test *b)
{
	return a && a->arg == b->arg && a->is_high == b->is_high && a->mask == b->mask;
}

static void add_test(
	struct code *code, const struct test *test, const struct test *loaded, int yes, int no)
{
	if (!is_same_load(loaded, test)) {
		add_load(code, arg_offset(test));
		if (test->mask != EVERY)
			add_and(code, test->mask);
	}
	for (size_t i = 0; i < test->count; i++) {
		bool is_last = i + 1 == test->count;
		int other = is_last ? no : label_new(code);
		add_jump(code, BPF_JEQ, test->values[i], yes, other);
		if (!is_last)
			label_place(code, other);
	}
}

static void add_case(
	struct code *code, const struct call_case *item, const struct test *loaded, int next)
{
	for (size_t i = 0; i < TESTS_MAX && item->tests[i].count; i++) {
		bool is_last = i + 1 == TESTS_MAX || !item->tests[i + 1].count;
		int yes = is_last ? verdict_label(code, item->hit) : label_new(code);
		bool goes_on = i == 0 || item->miss == NEXT;
		int no = goes_on ? next : verdict_label(code, item->miss);
		add_test(code, &item->tests[i], loaded, yes, no);
		if (!is_last)
			label_place(code, yes);
		loaded = &item->tests[i];
	}
}

static const struct call_case *next_case(
	const struct call_case *item, const struct call *call, enum filter_set filter)
{
	for (item = item ? item + 1 : cases; item < cases + COUNT_OF(cases); item++)
		if ((item->filters & filter) && strcmp(item->name, call->name) == 0)
			return item;
	return NULL;
}

static void add_check(struct code *code, const struct call *call, enum filter_set filter, int label)
{
	const struct test *loaded = NULL;
	const struct call_case *item = next_case(NULL, call, filter);
	if (!item)
		die("CHECK '%s' has no case", call->name);
	label_place(code, label);
	while (item) {
		const struct call_case *after = next_case(item, call, filter);
		int next = after ? label_new(code) : verdict_label(code, call->verdict);
		add_case(code, item, loaded, next);
		if (after)
			label_place(code, next);
		/* Without NEXT only a failed guard leads to the next case, its load still done. */
		loaded = item->miss == NEXT ? NULL : &item->tests[0];
		item = after;
	}
}

/* -- the search tree -- */

static void add_range(struct tree *tree, uint32_t first, uint32_t last, int label)
{
	struct range *previous = tree->count ? &tree->ranges[tree->count - 1] : NULL;
	if (previous && previous->label == label) {
		previous->last = last;
		return;
	}
	if (tree->count >= RANGES_MAX)
		die("too many ranges");
	tree->ranges[tree->count++] = (struct range){ first, last, label };
}

/* How many of the numbers in ranges i..j the kernel emulates at installation. */
static uint32_t emulated(const struct tree *tree, size_t i, size_t j)
{
	uint32_t first = tree->ranges[i].first;
	uint32_t end = tree->ranges[j].last;
	if (first >= EMULATED_CALLS)
		return 0;
	return (end >= EMULATED_CALLS ? EMULATED_CALLS : end + 1) - first;
}

/* The cost of comparing for each range outside `base`, or UINT32_MAX if one is no single number. */
static uint32_t chain_cost(const struct tree *tree, size_t i, size_t j, int base)
{
	uint32_t compares = 0;
	for (size_t at = i; at <= j; at++) {
		const struct range *range = &tree->ranges[at];
		if (range->label == base)
			continue;
		if (range->first != range->last)
			return UINT32_MAX;
		compares++;
	}
	return compares * (STEPS_PER_INSN + emulated(tree, i, j));
}

static struct plan best_plan(const struct tree *tree, size_t i, size_t j)
{
	int first = tree->ranges[i].label;
	int second = tree->ranges[i < j ? i + 1 : j].label;
	struct plan best = { .cost = chain_cost(tree, i, j, first), .base = first };
	uint32_t cost = chain_cost(tree, i, j, second);
	if (cost < best.cost)
		best = (struct plan){ .cost = cost, .base = second };
	for (size_t split = i + 1; split <= j; split++) {
		cost = STEPS_PER_INSN + emulated(tree, i, j) + tree->plans[i][split - 1].cost +
		       tree->plans[split][j].cost;
		if (cost < best.cost)
			best = (struct plan){ .cost = cost, .split = split };
	}
	return best;
}

static void plan_tree(struct tree *tree)
{
	for (size_t width = 0; width < tree->count; width++)
		for (size_t i = 0; i + width < tree->count; i++)
			tree->plans[i][i + width] = best_plan(tree, i, i + width);
}

static void add_chain(struct code *code, const struct tree *tree, size_t i, size_t j)
{
	int base = tree->plans[i][j].base;
	size_t left = 0;
	for (size_t at = i; at <= j; at++)
		left += tree->ranges[at].label != base;
	for (size_t at = i; at <= j; at++) {
		const struct range *range = &tree->ranges[at];
		if (range->label == base)
			continue;
		int no = --left ? label_new(code) : base;
		add_jump(code, BPF_JEQ, range->first, range->label, no);
		if (left)
			label_place(code, no);
	}
}

static int subtree_label(struct code *code, const struct tree *tree, size_t i, size_t j)
{
	return i == j ? tree->ranges[i].label : label_new(code);
}

static void add_tree(struct code *code, const struct tree *tree, size_t i, size_t j)
{
	size_t split = tree->plans[i][j].split;
	if (!split) {
		add_chain(code, tree, i, j);
		return;
	}
	int low = subtree_label(code, tree, i, split - 1);
	int high = subtree_label(code, tree, split, j);
	add_jump(code, BPF_JGE, tree->ranges[split].first, high, low);
	if (i < split - 1) {
		label_place(code, low);
		add_tree(code, tree, i, split - 1);
	}
	if (split < j) {
		label_place(code, high);
		add_tree(code, tree, split, j);
	}
}

/* -- whole filters -- */

static void add_prologue(struct code *code, uint32_t arch)
{
	int native = label_new(code);
	add_load(code, offsetof(struct seccomp_data, arch));
	add_jump(code, BPF_JEQ, arch, native, verdict_label(code, KILL));
	label_place(code, native);
	add_load(code, offsetof(struct seccomp_data, nr));
}

/* Numbers no call has: x32 ones are a second way to the same calls and kill, the rest is ENOSYS;
 * -1 is what a tracer writes to skip a call. */
static void add_unknown_numbers(struct tree *tree, struct code *code, uint32_t arch)
{
	int absent = verdict_label(code, FAIL(ENOSYS));
	bool has_x32 = arch == SCMP_ARCH_X86_64;
	add_range(tree, CALLS_MAX, X32_BIT - 1, absent);
	add_range(tree, X32_BIT, UINT32_MAX - 1, has_x32 ? verdict_label(code, KILL) : absent);
	add_range(tree, UINT32_MAX, UINT32_MAX, absent);
}

static void make_cell_filter(struct code *code, const struct target *target, enum filter_set filter)
{
	auto_free struct tree *tree = alloc(sizeof(*tree));
	int check_labels[CALLS_MAX];
	add_prologue(code, target->arch);
	for (uint32_t nr = 0; nr < CALLS_MAX; nr++) {
		const struct call *call = target->by_nr[nr];
		check_labels[nr] = call && call->has_cases ? label_new(code) : NO_LABEL;
		int label = check_labels[nr];
		if (label == NO_LABEL)
			label = verdict_label(code, call ? call->verdict : FAIL(ENOSYS));
		add_range(tree, nr, nr, label);
	}
	add_unknown_numbers(tree, code, target->arch);
	plan_tree(tree);
	add_tree(code, tree, 0, tree->count - 1);
	for (uint32_t nr = 0; nr < CALLS_MAX; nr++)
		if (check_labels[nr] != NO_LABEL)
			add_check(code, target->by_nr[nr], filter, check_labels[nr]);
	add_verdicts(code);
}

static void make_init_filter(struct code *code, const struct target *target)
{
	auto_free struct tree *tree = alloc(sizeof(*tree));
	bool is_allowed[CALLS_MAX] = { false };
	for (size_t i = 0; i < COUNT_OF(init_calls); i++) {
		const struct call *call = find_call(target, init_calls[i]);
		if (call->nr != NOT_RESOLVED)
			is_allowed[call->nr] = true;
	}
	/* The kernel emulates no load of an argument, and gives up there: whoever makes five calls
	 * in its life has nothing of a list of those that are always allowed. */
	add_load(code, offsetof(struct seccomp_data, args));
	add_prologue(code, target->arch);
	for (uint32_t nr = 0; nr < CALLS_MAX; nr++)
		add_range(tree, nr, nr, verdict_label(code, is_allowed[nr] ? PASS : KILL));
	add_range(tree, CALLS_MAX, UINT32_MAX, verdict_label(code, KILL));
	plan_tree(tree);
	add_tree(code, tree, 0, tree->count - 1);
	add_verdicts(code);
}

/* -- printing -- */

static void print_code(const char *name, const struct code *code)
{
	printf("static const struct sock_filter %s_code[] = {\n", name);
	for (size_t i = 0; i < code->count; i++) {
		const struct insn *insn = &code->insns[i];
		bool is_jump = BPF_CLASS(insn->code) == BPF_JMP;
		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", insn->code,
			is_jump ? jump_offset(code, i, insn->yes) : 0,
			is_jump ? jump_offset(code, i, insn->no) : 0, insn->k);
	}
	printf("};\n\n");
}

static void print_filters(const struct target *target)
{
	auto_free struct code *cell = alloc(sizeof(*cell));
	auto_free struct code *loopback = alloc(sizeof(*loopback));
	auto_free struct code *init = alloc(sizeof(*init));
	make_cell_filter(cell, target, CELL);
	make_cell_filter(loopback, target, LOOPBACK);
	make_init_filter(init, target);
	print_code("cell", cell);
	print_code("loopback", loopback);
	print_code("init", init);
	printf("const struct filter filters[FILTER_COUNT] = {\n"
	       "\t[FILTER_CELL] = { cell_code, %zu },\n"
	       "\t[FILTER_CELL_LOOPBACK] = { loopback_code, %zu },\n"
	       "\t[FILTER_INIT] = { init_code, %zu },\n};\n\n",
		cell->count, loopback->count, init->count);
}

static bool is_watched(const struct call *call)
{
	if (call->verdict == NOTIFY)
		return true;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (strcmp(cases[i].name, call->name) == 0 &&
			(cases[i].hit == NOTIFY || cases[i].miss == NOTIFY))
			return true;
	return false;
}

static void print_denied_calls(const struct target *target)
{
	printf("const struct denied_call filter_denied_calls[] = {\n");
	for (int nr = 0; nr < CALLS_MAX; nr++) {
		const struct call *call = target->by_nr[nr];
		if (!call || !is_watched(call))
			continue;
		if (!call->answer_errno || !*call->layer || !*call->note)
			die("'%s' is watched and needs an errno, a layer and a note", call->name);
		printf("\t{ %d, \"%s\", %d, \"%s\", \"%s\" },\n", nr, call->name,
			call->answer_errno, call->layer, call->note);
	}
	printf("};\nconst size_t filter_denied_count =\n"
	       "\tsizeof(filter_denied_calls) / sizeof(filter_denied_calls[0]);\n\n");
}

static void print_call_names(const struct target *target)
{
	printf("const char *const filter_call_names[] = {\n");
	for (int nr = 0; nr < CALLS_MAX; nr++)
		if (target->by_nr[nr])
			printf("\t[%d] = \"%s\",\n", nr, target->by_nr[nr]->name);
	printf("};\nconst size_t filter_call_count =\n"
	       "\tsizeof(filter_call_names) / sizeof(filter_call_names[0]);\n");
}

int main(int argc, char **argv)
{
	auto_free struct target *target = alloc(sizeof(*target));
	target->arch = argc > 1 ? seccomp_arch_resolve_name(argv[1]) : seccomp_arch_native();
	if (target->arch != SCMP_ARCH_X86_64 && target->arch != SCMP_ARCH_AARCH64)
		die("the policy is only vetted for x86_64 and aarch64");
	resolve_policy(target);
	check_cases(target);
	printf("/* Generated by tools/mkfilter.c from src/jail/syscalls.def. */\n"
	       "#include \"jail/filter.h\"\n\n");
	print_filters(target);
	print_denied_calls(target);
	print_call_names(target);
	if (fflush(stdout) == EOF || ferror(stdout))
		die("write: %s", strerror(errno));
	return 0;
}
