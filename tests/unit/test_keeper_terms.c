/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors stand for others here: what counts is that each arrives where it belongs. */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "keeper/terms.h"
#include "zygote/zygote.h"

static struct err err;
static struct policy policy;

static int count_fds(void)
{
	int count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void open_pair(int ends[2])
{
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

/* A file unlike every other. */
static int new_file(size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	ASSERT(fd >= 0);
	ASSERT_EQ(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static void check_same(const char *what, int have, int want)
{
	struct stat one, other;
	if (have < 0 || have == want || fstat(have, &one) < 0 || fstat(want, &other) < 0)
		FAIL("%s is not there", what);
	if (one.st_ino != other.st_ino)
		FAIL("%s is another file", what);
}

/* ---- what is sent is what is taken ------------------------------------------------------------
 */

static struct keeper *new_lender(enum jail_mode mode, enum cell_form form, struct cell **ret_cell)
{
	struct keeper *lender = keeper_for_loan(mode, &policy.spec);
	lender->template = mmap(NULL, sizeof(*lender->template), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	lender->base = &lender->template->base;
	struct cell *cell = cell_new(lender, &policy.spec, policy.has_full_proc, form);
	cell->page_fd = new_file(sizeof(struct cell_page));
	cell->page = zygote_map_page(cell->page_fd, sizeof(struct cell_page));
	ASSERT(cell->page);
	cell->pidfd = new_file(0);
	cell->status_fd = new_file(0);
	cell->gate_fd = new_file(0);
	*ret_cell = cell;
	return lender;
}

/* Three hierarchies, in the second of which the cell has no group. */
static void give_groups(struct cell *cell, bool has_oom)
{
	struct cgroup_site *site = &cell->keeper->site;
	site->kind = CGROUP_V1;
	site->place_count = 3;
	cgroup_init(&cell->group, site);
	cell->group.oom_fd = has_oom ? new_file(0) : -1;
	for (unsigned int i = 0; i < 3; i++) {
		site->places[i] = (struct cgroup_place){ .controllers = 1U << i, .parent_fd = -1 };
		if (i != 1)
			cell->group.dir_fds[i] = new_file(0);
	}
	cell->has_group = true;
}

static void start_program(struct cell *cell)
{
	cell->stdin_fd = new_file(0);
	cell->out_fds[STREAM_OUT] = new_file(0);
	cell->out_fds[STREAM_ERR] = new_file(0);
	cell->channel_fd = new_file(0);
}

static struct keeper *hand_over(struct cell *cell, bool is_warm)
{
	int ends[2];
	struct loan_message message;
	struct keeper *borrowed = NULL;
	open_pair(ends);
	ASSERT_EQ(terms_send(ends[0], cell, is_warm), 0);
	ASSERT_EQ(loan_receive(ends[1], &message), 1);
	ASSERT_EQ(message.kind, LOAN_GRANTED);
	ASSERT_OK(terms_take(&message, &policy, &borrowed, &err));
	loan_message_done(&message);
	(void)close(ends[0]);
	borrowed->loan_fd = ends[1]; /* as keeper_borrow() does: nothing is ours to end */
	return borrowed;
}

static void check_cell(const struct cell *cell, const struct cell *lent)
{
	check_same("init", cell->pidfd, lent->pidfd);
	check_same("status", cell->status_fd, lent->status_fd);
	check_same("gate", cell->gate_fd, lent->gate_fd);
	ASSERT(cell->page && cell->keeper->base == cell->page);
	ASSERT_EQ(cell->walls.form, lent->walls.form);
	ASSERT_EQ(cell->walls.memory, lent->walls.memory);
	ASSERT_EQ(cell->walls.has_full_proc, lent->walls.has_full_proc);
	ASSERT_EQ(cell->has_group, lent->has_group);
	ASSERT_EQ(cell->keeper->mode, lent->keeper->mode);
}

static void set_up(void)
{
	policy_init(&policy);
	policy.spec.memory = 77 << 20;
	policy.has_full_proc = true;
}

static void give_back(struct keeper *borrowed, struct cell *lent)
{
	struct keeper *lender = lent->keeper;
	keeper_close(borrowed);
	lender->loan_fd = new_file(0); /* its files are no processes: nothing is to be ended */
	cell_free(lent);
	keeper_close(lender);
	policy_done(&policy);
}

TEST(a_cell_arrives_as_it_was_lent)
{
	int before = count_fds();
	struct cell *lent = NULL;
	set_up();
	strings_add(&policy.spec.commands, "ls");
	(void)new_lender(MODE_ROOTLESS, FORM_GATE, &lent);
	struct keeper *borrowed = hand_over(lent, true);
	check_cell(borrowed->parked, lent);
	ASSERT(borrowed->is_warm && borrowed->has_swept && !borrowed->is_lender);
	ASSERT_EQ(borrowed->commands.count, 1);
	ASSERT(!borrowed->parked->has_group);
	ASSERT_EQ(borrowed->parked->workspace.uid, geteuid());
	ASSERT_EQ(borrowed->parked->stdin_fd, -1);
	ASSERT_EQ(borrowed->parked->channel_fd, -1);
	give_back(borrowed, lent);
	ASSERT_EQ(count_fds(), before);
}

TEST(its_page_is_the_lenders_and_tells_of_the_template)
{
	struct cell *lent = NULL;
	set_up();
	struct keeper *lender = new_lender(MODE_ROOT, FORM_GATE, &lent);
	lent->page->plan = (struct plan){ .uid = 4711, .gid = 4712, .net = NET_LOOPBACK };
	lender->template->base.report.steps[STEP_ROOTFS].state = STEP_RAISED;
	lender->template->base.report.unmapped_mounts = 3;
	struct keeper *borrowed = hand_over(lent, false);
	ASSERT(!borrowed->is_warm);
	ASSERT_EQ(borrowed->base->plan.net, NET_LOOPBACK);
	ASSERT_EQ(borrowed->base->report.steps[STEP_ROOTFS].state, STEP_RAISED);
	ASSERT_EQ(borrowed->base->report.unmapped_mounts, 3);
	ASSERT_EQ(borrowed->parked->workspace.uid, 4711);
	ASSERT_EQ(borrowed->parked->workspace.gid, 4712);
	give_back(borrowed, lent);
}

TEST(its_groups_arrive_without_those_it_has_not)
{
	for (int has_oom = 0; has_oom < 2; has_oom++) {
		int before = count_fds();
		struct cell *lent = NULL;
		set_up();
		(void)new_lender(MODE_ROOT, FORM_GATE, &lent);
		give_groups(lent, has_oom);
		struct keeper *borrowed = hand_over(lent, true);
		const struct cgroup *group = &borrowed->parked->group;
		check_cell(borrowed->parked, lent);
		ASSERT_EQ(group->site->kind, CGROUP_V1);
		ASSERT_EQ(group->site->place_count, 2);
		ASSERT_EQ(group->site->places[0].controllers, 1);
		ASSERT_EQ(group->site->places[1].controllers, 4);
		check_same("the first group", group->dir_fds[0], lent->group.dir_fds[0]);
		check_same("the second group", group->dir_fds[1], lent->group.dir_fds[2]);
		ASSERT_EQ(group->dir_fds[2], -1);
		if (has_oom)
			check_same("the alarm", group->oom_fd, lent->group.oom_fd);
		else
			ASSERT_EQ(group->oom_fd, -1);
		give_back(borrowed, lent);
		ASSERT_EQ(count_fds(), before);
	}
}

TEST(its_gauges_arrive_all_or_none_and_the_accounts_that_there_are)
{
	for (int missing = 0; missing < 2; missing++) {
		int before = count_fds();
		struct cell *lent = NULL;
		set_up();
		(void)new_lender(MODE_ROOT, FORM_GATE, &lent);
		give_groups(lent, true);
		for (size_t i = 0; i < CGROUP_GAUGE_COUNT - (size_t)missing; i++)
			lent->group.gauge_fds[i] = new_file(0);
		for (size_t i = 0; i < SAMPLE_ACCOUNTS - (size_t)missing; i++)
			lent->io_fds[i] = new_file(0);
		struct keeper *borrowed = hand_over(lent, true);
		const struct cell *cell = borrowed->parked;
		check_cell(cell, lent);
		check_same("the alarm", cell->group.oom_fd, lent->group.oom_fd);
		if (missing) {
			ASSERT_EQ(cell->group.gauge_fds[0], -1);
			check_same("a guest's account", cell->io_fds[0], lent->io_fds[0]);
			ASSERT_EQ(cell->io_fds[1], -1);
		} else {
			check_same("a gauge", cell->group.gauge_fds[2], lent->group.gauge_fds[2]);
			check_same("init's account", cell->io_fds[0], lent->io_fds[0]);
			check_same("the payload's", cell->io_fds[1], lent->io_fds[1]);
		}
		give_back(borrowed, lent);
		ASSERT_EQ(count_fds(), before);
	}
}

TEST(a_started_program_arrives_with_its_streams)
{
	for (int has_groups = 0; has_groups < 2; has_groups++) {
		int before = count_fds();
		struct cell *lent = NULL;
		set_up();
		policy.form = FORM_STARTED;
		(void)new_lender(MODE_ROOT, FORM_STARTED, &lent);
		start_program(lent);
		if (has_groups)
			give_groups(lent, true);
		int streams[] = { dup(lent->stdin_fd), dup(lent->out_fds[STREAM_OUT]),
			dup(lent->out_fds[STREAM_ERR]), dup(lent->channel_fd) };
		struct keeper *borrowed = hand_over(lent, true);
		const struct cell *cell = borrowed->parked;
		check_cell(cell, lent);
		check_same("stdin", cell->stdin_fd, streams[0]);
		check_same("stdout", cell->out_fds[STREAM_OUT], streams[1]);
		check_same("stderr", cell->out_fds[STREAM_ERR], streams[2]);
		check_same("the channel", cell->channel_fd, streams[3]);
		/* an input ends only when nobody else can write it */
		ASSERT_EQ(lent->stdin_fd, -1);
		ASSERT_EQ(lent->out_fds[STREAM_OUT], -1);
		ASSERT_EQ(lent->out_fds[STREAM_ERR], -1);
		ASSERT_EQ(lent->channel_fd, -1);
		for (size_t i = 0; i < COUNT_OF(streams); i++)
			own_close(&streams[i]);
		give_back(borrowed, lent);
		ASSERT_EQ(count_fds(), before);
	}
}

TEST(a_lesser_form_than_was_asked_for_is_taken)
{
	static const enum cell_form asked[] = { FORM_GUEST, FORM_STARTED };
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		struct cell *lent = NULL;
		set_up();
		policy.form = asked[i];
		(void)new_lender(MODE_ROOT, FORM_GATE, &lent);
		struct keeper *borrowed = hand_over(lent, false);
		ASSERT_EQ(borrowed->parked->walls.form, FORM_GATE);
		give_back(borrowed, lent);
	}
}

/* ---- what makes no sense ----------------------------------------------------------------------
 */

/* Fills a message as one that came; its files are the caller's to close with it. */
static void fill_message(
	struct loan_message *message, const struct loan_terms *terms, size_t len, size_t fd_count)
{
	*message = (struct loan_message){ .kind = LOAN_GRANTED,
		.text = xcalloc(sizeof(*terms) + 8, 1),
		.len = len,
		.fd_count = fd_count };
	memcpy(message->text, terms, sizeof(*terms));
	for (size_t i = 0; i < COUNT_OF(message->fds); i++)
		message->fds[i] = -1;
	for (size_t i = 0; i < fd_count; i++)
		message->fds[i] = new_file(i == LOAN_FD_PAGE ? sizeof(struct cell_page) : 0);
}

static int take(const struct loan_terms *terms, size_t len, size_t fd_count)
{
	struct loan_message message;
	struct keeper *keeper = NULL;
	int before = count_fds();
	err = (struct err){ 0 };
	fill_message(&message, terms, len, fd_count);
	int r = terms_take(&message, &policy, &keeper, &err);
	if (r == 0)
		keeper->loan_fd = new_file(0);
	ASSERT_EQ(r == 0, keeper != NULL);
	keeper_close(keeper);
	loan_message_done(&message);
	ASSERT_EQ(count_fds(), before);
	return r;
}

/* clang-format off */
static const struct unsound {
	const char *what;
	struct loan_terms terms;
	int more_fds, more_bytes;
} unsound[] = {
	{ "a form that is none", { .form = CELL_FORM_COUNT, .mode = MODE_ROOT }, 0, 0 },
	{ "a huge form", { .form = UINT32_MAX, .mode = MODE_ROOT }, 0, 0 },
	{ "a form that was not asked for", { .form = FORM_GUEST, .mode = MODE_ROOT }, 0, 0 },
	{ "another form that was not asked for", { .form = FORM_STARTED, .mode = MODE_ROOT }, 4, 0 },
	{ "no mode", { .mode = MODE_NONE }, 0, 0 },
	{ "a mode there is not", { .mode = MODE_ROOTLESS + 1 }, 0, 0 },
	{ "a hierarchy there is not", { .mode = MODE_ROOT, .cgroup = 3, .group_count = 1 }, 1, 0 },
	{ "groups of no hierarchy", { .mode = MODE_ROOT, .group_count = 1 }, 1, 0 },
	{ "a hierarchy without groups", { .mode = MODE_ROOT, .cgroup = CGROUP_V1 }, 0, 0 },
	{ "an alarm without groups", { .mode = MODE_ROOT, .has_oom = 1 }, 1, 0 },
	{ "gauges without groups", { .mode = MODE_ROOT, .has_gauges = 1 }, CGROUP_GAUGE_COUNT, 0 },
	{ "accounts without descriptors", { .mode = MODE_ROOT, .account_count = 2 }, 0, 0 },
	{ "too many groups", { .mode = MODE_ROOT, .cgroup = CGROUP_V1,
	  .group_count = CGROUP_FDS_MAX + 1 }, CGROUP_FDS_MAX + 1, 0 },
	{ "very many groups", { .mode = MODE_ROOT, .cgroup = CGROUP_V1,
	  .group_count = UINT32_MAX }, -1, 0 },
	{ "a descriptor too few", { .mode = MODE_ROOT }, -1, 0 },
	{ "a descriptor too many", { .mode = MODE_ROOT }, 1, 0 },
	{ "no descriptor", { .mode = MODE_ROOT }, -LOAN_FD_COUNT, 0 },
	{ "a group without its descriptor", { .mode = MODE_ROOT, .cgroup = CGROUP_V1,
	  .group_count = 1 }, 0, 0 },
	{ "a byte too few", { .mode = MODE_ROOT }, 0, -1 },
	{ "a byte too many", { .mode = MODE_ROOT }, 0, 1 },
	{ "no text", { .mode = MODE_ROOT }, 0, -(int)sizeof(struct loan_terms) },
};
/* clang-format on */

TEST(terms_that_make_no_sense_are_refused_and_leave_nothing_open)
{
	set_up();
	for (size_t i = 0; i < COUNT_OF(unsound); i++) {
		const struct unsound *one = &unsound[i];
		size_t len = sizeof(one->terms) + (size_t)one->more_bytes;
		size_t fd_count = (size_t)(LOAN_FD_COUNT + one->more_fds);
		if (take(&one->terms, len, fd_count) == 0)
			FAIL("%s was taken", one->what);
		ASSERT_EQ(err.code, ERR_BROKEN);
		ASSERT_HAS(err.text, "same version");
	}
	policy_done(&policy);
}

TEST(sound_terms_are_taken_and_leave_nothing_open)
{
	static const struct loan_terms plain = { .mode = MODE_ROOTLESS };
	static const struct loan_terms grouped = {
		.mode = MODE_ROOT, .cgroup = CGROUP_V2, .group_count = 1, .has_oom = 7
	};
	set_up();
	ASSERT_OK(take(&plain, sizeof(plain), LOAN_FD_COUNT));
	ASSERT_OK(take(&grouped, sizeof(grouped), LOAN_FD_COUNT + 2));
	policy_done(&policy);
}

TEST(a_page_that_is_not_whole_is_refused_and_nobody_is_ended)
{
	static const struct loan_terms terms = { .mode = MODE_ROOT };
	int before = count_fds();
	pid_t pid = fork();
	if (pid == 0)
		_exit(pause());
	set_up();
	struct loan_message message;
	struct keeper *keeper = NULL;
	fill_message(&message, &terms, sizeof(terms), LOAN_FD_COUNT);
	(void)close(message.fds[LOAN_FD_INIT]);
	message.fds[LOAN_FD_INIT] = pidfd_open(pid, 0);
	ASSERT_EQ(ftruncate(message.fds[LOAN_FD_PAGE], 4096), 0);
	ASSERT_FAIL(terms_take(&message, &policy, &keeper, &err), ERR_BROKEN);
	ASSERT_HAS(err.text, "not whole");
	ASSERT(!keeper);
	loan_message_done(&message);
	ASSERT_EQ(count_fds(), before);
	ASSERT_EQ(waitpid(pid, NULL, WNOHANG), 0);
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	policy_done(&policy);
}

TEST(a_client_that_did_not_wait_is_told_of)
{
	int ends[2];
	struct cell *lent = NULL;
	set_up();
	struct keeper *lender = new_lender(MODE_ROOT, FORM_GATE, &lent);
	open_pair(ends);
	(void)close(ends[1]);
	ASSERT_EQ(terms_send(ends[0], lent, true), -EPIPE);
	lender->loan_fd = ends[0];
	cell_free(lent);
	keeper_close(lender);
	policy_done(&policy);
}
