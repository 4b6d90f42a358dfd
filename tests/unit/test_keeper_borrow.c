/* SPDX-License-Identifier: Apache-2.0 */
/* Who lends is a process of the test, which says what it is told to. */
#include "unit/test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "keeper/terms.h"

enum { NOBODY = 65534, QUEUE_MAX = 8 };

static char dir[] = "/tmp/hotcell-test-XXXXXX";
static char path[64];
static int listener = -1;
static struct err err;
static struct policy policy;
static unsigned int queued[QUEUE_MAX];
static size_t queued_count;

static void clean_up(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
}

static int count_fds(void)
{
	int count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void set_up(void)
{
	ASSERT(mkdtemp(dir));
	ASSERT_EQ(atexit(clean_up), 0);
	(void)snprintf(path, sizeof(path), "%s/socket", dir);
	ASSERT_EQ(setenv("HOTCELL_SOCKET", path, 1), 0);
	policy_init(&policy);
}

/* Takes one client, hears what it asks for, answers, and goes when the client does. */
static pid_t start_lender(void (*answer)(int conn_fd))
{
	struct loan_message ask;
	set_up();
	ASSERT_OK(loan_listen(path, &listener, &err));
	ASSERT_EQ(fcntl(listener, F_SETFL, 0), 0);
	pid_t pid = fork();
	if (pid != 0) {
		own_close(&listener);
		return pid;
	}
	auto_free char *text = policy_to_json(&policy);
	int conn_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ASSERT(conn_fd >= 0);
	ASSERT_EQ(loan_receive(conn_fd, &ask), 1);
	ASSERT_EQ(ask.kind, LOAN_ASK);
	ASSERT_EQ(ask.fd_count, 0);
	ASSERT_STR(ask.text, text);
	ASSERT_EQ(ask.len, strlen(text));
	answer(conn_fd);
	ASSERT_EQ(loan_receive(conn_fd, &ask), 0);
	_exit(0);
}

static void await_lender(pid_t pid)
{
	int status = 0;
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}

static void note_queue(void *context, unsigned int ahead)
{
	ASSERT(context == &policy);
	ASSERT(queued_count < QUEUE_MAX);
	queued[queued_count++] = ahead;
}

/* What came of it; a keeper only with 1, and nothing is left open without. */
static int borrow(struct keeper **ret_keeper)
{
	const struct borrower borrower = {
		.interrupt_fd = -1, .queued = note_queue, .context = &policy
	};
	int before = count_fds();
	*ret_keeper = NULL;
	err = (struct err){ 0 };
	int r = keeper_borrow(&policy, &borrower, ret_keeper, &err);
	ASSERT_EQ(*ret_keeper != NULL, r == 1);
	if (r != 1)
		ASSERT_EQ(count_fds(), before);
	return r;
}

/* ---- nobody lends -----------------------------------------------------------------------------
 */

TEST(without_a_daemon_nothing_is_borrowed)
{
	struct keeper *keeper = NULL;
	set_up();
	ASSERT_EQ(borrow(&keeper), 0);
	ASSERT_OK(loan_listen(path, &listener, &err));
	own_close(&listener); /* it died: its socket is still there */
	ASSERT_EQ(borrow(&keeper), 0);
	char name[300];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ASSERT_EQ(setenv("HOTCELL_SOCKET", name, 1), 0);
	ASSERT_EQ(borrow(&keeper), 0);
	policy_done(&policy);
}

/* Whoever listens could read what is asked for, and lend anything. */
TEST(from_another_user_nothing_is_borrowed)
{
	struct keeper *keeper = NULL;
	struct loan_message message;
	int ready[2];
	int status = 0;
	char byte = 0;
	if (geteuid() != 0)
		SKIP("only root can be two users");
	set_up();
	ASSERT_EQ(chmod(dir, 0777), 0);
	ASSERT_EQ(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		ASSERT_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
		ASSERT_OK(loan_listen(path, &listener, &err));
		ASSERT_EQ(fcntl(listener, F_SETFL, 0), 0);
		ASSERT_EQ(write(ready[1], "x", 1), 1);
		int conn_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		ASSERT_EQ(loan_receive(conn_fd, &message), 0);
		_exit(0);
	}
	ASSERT_EQ(read(ready[0], &byte, 1), 1);
	ASSERT_EQ(borrow(&keeper), 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	policy_done(&policy);
}

/* Hears nothing but that the client left. */
static pid_t start_deaf_lender(void)
{
	struct loan_message message;
	set_up();
	ASSERT_OK(loan_listen(path, &listener, &err));
	ASSERT_EQ(fcntl(listener, F_SETFL, 0), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int conn_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		_exit(loan_receive(conn_fd, &message) == 0 ? 0 : 3);
	}
	own_close(&listener);
	return pid;
}

TEST(a_policy_that_cannot_be_told_is_not_asked_for)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_deaf_lender();
	policy.runtime = xstrdup("/tmp/\xff");
	ASSERT_EQ(borrow(&keeper), 0);
	await_lender(pid);
	policy_done(&policy);
}

TEST(a_policy_too_long_for_a_message_is_not_asked_for)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_deaf_lender();
	auto_free char *text = xcalloc(LOAN_TEXT_MAX + 1, 1);
	memset(text, 'x', LOAN_TEXT_MAX);
	strings_add(&policy.standing, text);
	ASSERT_EQ(borrow(&keeper), 0);
	await_lender(pid);
	policy_done(&policy);
}

static void hang_up(int conn_fd)
{
	(void)conn_fd;
	_exit(0);
}

static void say_nonsense(int conn_fd)
{
	ASSERT_EQ(io_send(conn_fd, "nonsense", 8, NULL, 0), 0);
}

TEST(a_daemon_that_dies_lends_nothing)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(hang_up);
	ASSERT_EQ(borrow(&keeper), 0);
	await_lender(pid);
	policy_done(&policy);
}

TEST(a_daemon_that_talks_nonsense_lends_nothing)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(say_nonsense);
	ASSERT_EQ(borrow(&keeper), 0);
	await_lender(pid);
	policy_done(&policy);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

static void refuse(int conn_fd)
{
	ASSERT_EQ(loan_send(conn_fd, LOAN_REFUSED, ERR_LIMIT, "too many wait", 13, NULL, 0), 0);
}

TEST(a_refusal_says_why)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(refuse);
	ASSERT_EQ(borrow(&keeper), -1);
	ASSERT_EQ(err.code, ERR_LIMIT);
	ASSERT_STR(err.text, "too many wait");
	await_lender(pid);
	policy_done(&policy);
}

static void refuse_at_length(int conn_fd)
{
	char text[4096];
	memset(text, 'x', sizeof(text));
	ASSERT_EQ(loan_send(conn_fd, LOAN_REFUSED, ERR_CODE_COUNT, text, sizeof(text), NULL, 0), 0);
}

TEST(a_refusal_is_cut_and_an_unknown_reason_is_our_own_fault)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(refuse_at_length);
	ASSERT_EQ(borrow(&keeper), -1);
	ASSERT_EQ(err.code, ERR_BROKEN);
	ASSERT_EQ(strlen(err.text), sizeof(err.text) - 1);
	await_lender(pid);
	policy_done(&policy);
}

static void refuse_without_reason(int conn_fd)
{
	ASSERT_EQ(loan_send(conn_fd, LOAN_REFUSED, ERR_NONE, NULL, 0, NULL, 0), 0);
}

TEST(a_refusal_without_a_word_is_still_an_error_with_a_text)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(refuse_without_reason);
	ASSERT_EQ(borrow(&keeper), -1);
	ASSERT_EQ(err.code, ERR_BROKEN);
	ASSERT_HAS(err.text, "refused");
	await_lender(pid);
	policy_done(&policy);
}

static void answer_as_a_client(int conn_fd)
{
	ASSERT_EQ(loan_send(conn_fd, LOAN_ASK, 0, "{}", 2, &conn_fd, 1), 0);
}

TEST(an_answer_that_is_none_is_an_error)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(answer_as_a_client);
	ASSERT_EQ(borrow(&keeper), -1);
	ASSERT_EQ(err.code, ERR_BROKEN);
	await_lender(pid);
	policy_done(&policy);
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static void queue_and_refuse(int conn_fd)
{
	for (uint32_t ahead = 3; ahead > 0; ahead--)
		ASSERT_EQ(loan_send(conn_fd, LOAN_QUEUED, ahead, NULL, 0, NULL, 0), 0);
	refuse(conn_fd);
}

TEST(who_waits_hears_how_many_are_before)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(queue_and_refuse);
	ASSERT_EQ(borrow(&keeper), -1);
	ASSERT_EQ(queued_count, 3);
	ASSERT(queued[0] == 3 && queued[1] == 2 && queued[2] == 1);
	await_lender(pid);
	policy_done(&policy);
}

TEST(who_does_not_listen_waits_as_well)
{
	const struct borrower borrower = { .interrupt_fd = -1 };
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(queue_and_refuse);
	ASSERT_FAIL(keeper_borrow(&policy, &borrower, &keeper, &err), ERR_LIMIT);
	await_lender(pid);
	policy_done(&policy);
}

static void keep_waiting(int conn_fd)
{
	ASSERT_EQ(loan_send(conn_fd, LOAN_QUEUED, 1, NULL, 0, NULL, 0), 0);
}

static int interrupt_ends[2];

static void interrupt(void *context, unsigned int ahead)
{
	(void)context;
	(void)ahead;
	ASSERT_EQ(write(interrupt_ends[1], "x", 1), 1);
}

TEST(who_is_interrupted_waits_no_longer)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(keep_waiting);
	ASSERT_EQ(pipe(interrupt_ends), 0);
	const struct borrower borrower = { .interrupt_fd = interrupt_ends[0], .queued = interrupt };
	int before = count_fds();
	ASSERT_FAIL(keeper_borrow(&policy, &borrower, &keeper, &err), ERR_INTERRUPTED);
	ASSERT(!keeper);
	ASSERT_EQ(count_fds(), before);
	await_lender(pid); /* it has seen the client go */
	policy_done(&policy);
}

/* ---- a loan -----------------------------------------------------------------------------------
 */

static void send_terms(int conn_fd, const struct loan_terms *terms)
{
	int fds[LOAN_FD_COUNT];
	for (int i = 0; i < LOAN_FD_COUNT; i++)
		fds[i] = memfd_create("test", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(fds[LOAN_FD_PAGE], sizeof(struct cell_page)), 0);
	ASSERT_EQ(
		loan_send(conn_fd, LOAN_GRANTED, 0, terms, sizeof(*terms), fds, LOAN_FD_COUNT), 0);
}

static void grant(int conn_fd)
{
	const struct loan_terms terms = { .mode = machine_mode(), .is_warm = true };
	keep_waiting(conn_fd);
	send_terms(conn_fd, &terms);
}

TEST(a_loan_lasts_until_its_keeper_closes)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(grant);
	int before = count_fds();
	ASSERT_EQ(borrow(&keeper), 1);
	ASSERT(keeper->loan_fd >= 0 && keeper->parked && keeper->is_warm);
	ASSERT(fcntl(keeper->loan_fd, F_GETFD) & FD_CLOEXEC);
	ASSERT_EQ(waitpid(pid, NULL, WNOHANG), 0);
	keeper_close(keeper);
	ASSERT_EQ(count_fds(), before);
	await_lender(pid);
	policy_done(&policy);
}

static void grant_to_others(int conn_fd)
{
	enum jail_mode other = machine_mode() == MODE_ROOT ? MODE_ROOTLESS : MODE_ROOT;
	const struct loan_terms terms = { .mode = other };
	send_terms(conn_fd, &terms);
}

TEST(a_loan_for_other_rights_than_ones_own_is_not_used)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(grant_to_others);
	int before = count_fds();
	ASSERT_EQ(borrow(&keeper), 0);
	ASSERT(!keeper);
	ASSERT_EQ(count_fds(), before);
	await_lender(pid);
	policy_done(&policy);
}

static void grant_nonsense(int conn_fd)
{
	const struct loan_terms terms = { .mode = MODE_NONE };
	send_terms(conn_fd, &terms);
}

TEST(a_loan_that_makes_no_sense_is_an_error)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_lender(grant_nonsense);
	ASSERT_EQ(borrow(&keeper), -1);
	ASSERT_EQ(err.code, ERR_BROKEN);
	await_lender(pid);
	policy_done(&policy);
}

/* ---- ahead of the need ------------------------------------------------------------------------
 */

static struct cell_page *page; /* of the cell that is lent ahead; the lender's and ours */
static struct ahead ahead = AHEAD_NONE;
static struct told {
	int connections, asks, returns;
} * told; /* the lender; its and ours */

static void *share(size_t size, int *ret_fd)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(fd, (off_t)size), 0);
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT(at != MAP_FAILED);
	*ret_fd = fd;
	return at;
}

static int make_page(void)
{
	int page_fd, told_fd;
	page = share(sizeof(*page), &page_fd);
	told = share(sizeof(*told), &told_fd);
	own_close(&told_fd);
	return page_fd;
}

static void grant_in(int conn_fd, int page_fd, uint32_t hold)
{
	const struct loan_terms terms = { .mode = machine_mode(), .is_warm = true };
	const int fds[LOAN_FD_COUNT] = { page_fd, page_fd, page_fd, page_fd };
	__atomic_store_n(&page->hold, hold, __ATOMIC_RELEASE);
	ASSERT_EQ(
		loan_send(conn_fd, LOAN_GRANTED, 0, &terms, sizeof(terms), fds, LOAN_FD_COUNT), 0);
}

static void grant_page(int conn_fd, int page_fd)
{
	grant_in(conn_fd, page_fd, HOLD_AHEAD);
}

static void count(const struct loan_message *message)
{
	told->asks += message->kind == LOAN_ASK;
	told->returns += message->kind == LOAN_RETURN;
}

/* A lender whose clients keep their seats. It does something with one who asks ahead, and with one
 * who asks again over its seat. It ends when somebody connects and says nothing. */
static pid_t start_seat_lender(void (*answer)(int conn_fd, int page_fd),
	void (*given_back)(int conn_fd, int page_fd), void (*again)(int conn_fd, int page_fd))
{
	set_up();
	int page_fd = make_page();
	ASSERT_OK(loan_listen(path, &listener, &err));
	ASSERT_EQ(fcntl(listener, F_SETFL, 0), 0);
	pid_t pid = fork();
	if (pid != 0) {
		own_close(&listener);
		own_close(&page_fd);
		return pid;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when a claim fails */
	for (;;) {
		struct loan_message said;
		int asks = 0;
		auto_fd int conn_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		while (loan_receive(conn_fd, &said) == 1) {
			told->connections += asks == 0;
			count(&said);
			if (said.kind == LOAN_RETURN)
				given_back(conn_fd, page_fd);
			else if (said.number == LOAN_AHEAD)
				answer(conn_fd, page_fd);
			else if (asks == 0)
				grant(conn_fd);
			else
				again(conn_fd, page_fd);
			asks++;
			loan_message_done(&said);
		}
		if (asks == 0)
			_exit(0); /* enough */
	}
}

static void say_nothing(int conn_fd, int page_fd)
{
	(void)conn_fd;
	(void)page_fd;
}

static void grant_again(int conn_fd, int page_fd)
{
	(void)page_fd;
	grant(conn_fd);
}

static pid_t start_ahead_lender(void (*answer)(int conn_fd, int page_fd))
{
	return start_seat_lender(answer, say_nothing, grant_again);
}

static void end_ahead_lender(pid_t pid)
{
	int conn_fd = loan_connect(path);
	ASSERT(conn_fd >= 0);
	own_close(&conn_fd);
	await_lender(pid);
	policy_done(&policy);
}

static void borrow_with_ahead(struct keeper **ret_keeper)
{
	const struct borrower borrower = { .interrupt_fd = -1, .ahead = &ahead };
	*ret_keeper = NULL;
	ASSERT_EQ(keeper_borrow(&policy, &borrower, ret_keeper, &err), 1);
}

/* Borrows, asks for the next and hears what comes. */
static void hold_next(void)
{
	struct keeper *keeper = NULL;
	struct pollfd said = { .events = POLLIN | POLLRDHUP };
	borrow_with_ahead(&keeper);
	keeper_close(keeper);
	ahead_ask(&ahead);
	said.fd = ahead_fd(&ahead);
	ASSERT_EQ(poll(&said, 1, 10000), 1);
	ahead_collect(&ahead);
}

static void hold_one(void)
{
	ASSERT_EQ(ahead_fd(&ahead), -1);
	ahead_collect(&ahead);
	hold_next();
}

TEST(a_cell_that_came_ahead_is_made_ready_and_used_once)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_ahead_lender(grant_page);
	hold_one();
	ASSERT(ahead.keeper && ahead.conn_fd < 0);
	ASSERT_EQ(ahead_fd(&ahead), ahead.keeper->loan_fd);
	const struct cell *cell = ahead.keeper->parked;
	ASSERT(cell->out_fds[STREAM_OUT] >= 0 && cell->out_fds[STREAM_ERR] >= 0);
	/* this gate takes nothing, so it goes there with the job */
	ASSERT(cell->delivery[GATE_FD_STDIN] >= 0 && cell->channel_fd < 0);
	ASSERT_EQ(cell->handed_count, 0);
	ahead_collect(&ahead); /* nothing was said */
	ahead_ask(&ahead);     /* one is enough */
	ASSERT(ahead.keeper);
	ASSERT_EQ(page->hold, HOLD_AHEAD);
	borrow_with_ahead(&keeper);
	ASSERT(keeper->parked == cell && !ahead.keeper);
	ASSERT_EQ(page->hold, HOLD_TAKEN);
	keeper_close(keeper);
	borrow_with_ahead(&keeper);
	ASSERT(keeper->parked->page->hold != HOLD_TAKEN);
	keeper_close(keeper);
	ahead_done(&ahead);
	end_ahead_lender(pid);
}

TEST(a_cell_that_came_ahead_is_not_used_for_another_policy)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_ahead_lender(grant_page);
	hold_one();
	ASSERT(ahead.keeper);
	policy.spec.memory *= 2;
	borrow_with_ahead(&keeper);
	ASSERT_EQ(page->hold, HOLD_AHEAD);
	ASSERT(!ahead.keeper);
	keeper_close(keeper);
	ahead_done(&ahead);
	end_ahead_lender(pid);
}

TEST(a_cell_that_came_ahead_is_not_used_when_a_path_leads_elsewhere_by_now)
{
	char place[] = "/tmp/hotcell-test-XXXXXX";
	struct keeper *keeper = NULL;
	pid_t pid = start_ahead_lender(grant_page);
	ASSERT(mkdtemp(place));
	auto_free char *other = xasprintf("%s.old", place);
	policy.runtime = xstrdup(place);
	for (int i = 0; i < 2; i++) {
		hold_one();
		ASSERT(ahead.keeper && ahead.has_places);
		if (i == 1)
			ASSERT_EQ(rename(place, other) | mkdir(place, 0700), 0);
		borrow_with_ahead(&keeper);
		ASSERT_EQ(page->hold, i == 0 ? HOLD_TAKEN : HOLD_AHEAD);
		keeper_close(keeper);
		ahead_done(&ahead);
	}
	ASSERT_EQ(rmdir(place) | rmdir(other), 0);
	end_ahead_lender(pid);
}

/* Revoked while the grant is on its way, so that nobody can be quicker. */
static void grant_and_revoke(int conn_fd, int page_fd)
{
	grant_in(conn_fd, page_fd, HOLD_REVOKED);
}

TEST(a_cell_that_is_had_back_is_not_used)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_ahead_lender(grant_and_revoke);
	hold_one();
	ASSERT(ahead.keeper);
	borrow_with_ahead(&keeper);
	ASSERT_EQ(page->hold, HOLD_REVOKED);
	ASSERT(keeper->parked->page->hold != HOLD_TAKEN);
	keeper_close(keeper);
	ahead_done(&ahead);
	end_ahead_lender(pid);
}

static void grant_and_hang_up(int conn_fd, int page_fd)
{
	grant_page(conn_fd, page_fd);
	(void)shutdown(conn_fd, SHUT_RDWR);
}

TEST(who_is_hung_up_on_lets_go_of_its_cell)
{
	pid_t pid = start_ahead_lender(grant_and_hang_up);
	int before = count_fds();
	hold_one();
	for (int i = 0; i < 1000 && ahead_fd(&ahead) >= 0; i++) {
		(void)poll(NULL, 0, 1);
		ahead_collect(&ahead);
	}
	ASSERT_EQ(ahead_fd(&ahead), -1);
	ahead_done(&ahead);
	ASSERT_EQ(count_fds(), before);
	end_ahead_lender(pid);
}

static void refuse_ahead(int conn_fd, int page_fd)
{
	(void)page_fd;
	refuse(conn_fd);
}

TEST(who_is_refused_a_cell_ahead_borrows_as_anybody_else)
{
	struct keeper *keeper = NULL;
	pid_t pid = start_ahead_lender(refuse_ahead);
	int before = count_fds();
	hold_one();
	ASSERT_EQ(ahead_fd(&ahead), -1);
	borrow_with_ahead(&keeper);
	keeper_close(keeper);
	ahead_done(&ahead);
	ASSERT_EQ(count_fds(), before);
	end_ahead_lender(pid);
}

/* ---- a seat -----------------------------------------------------------------------------------
 */

static void hang_up_on(int conn_fd, int page_fd)
{
	(void)page_fd;
	(void)shutdown(conn_fd, SHUT_RDWR);
}

static void babble(int conn_fd, int page_fd)
{
	(void)page_fd;
	say_nonsense(conn_fd);
}

static void refuse_again(int conn_fd, int page_fd)
{
	(void)page_fd;
	refuse(conn_fd);
}

static void borrow_and_return(void)
{
	struct keeper *keeper = NULL;
	borrow_with_ahead(&keeper);
	ASSERT(keeper->is_warm && keeper->loan_fd >= 0);
	keeper_close(keeper);
}

static void await_hang_up(void)
{
	struct pollfd end = { .fd = ahead.seat_fd, .events = POLLRDHUP };
	ASSERT(ahead.seat_fd >= 0);
	ASSERT_EQ(poll(&end, 1, 10000), 1);
}

/* Lets go of everything, after which the lender has heard all there is. */
static void check_told(pid_t pid, const struct told *want)
{
	ahead_done(&ahead);
	end_ahead_lender(pid);
	ASSERT_EQ(told->connections, want->connections);
	ASSERT_EQ(told->asks, want->asks);
	ASSERT_EQ(told->returns, want->returns);
}

TEST(who_stays_gives_its_cells_back_and_has_all_of_them_over_one_connection)
{
	pid_t pid = start_ahead_lender(grant_page);
	int before = count_fds();
	for (int i = 0; i < 3; i++) {
		borrow_and_return();
		ASSERT(ahead.seat_fd >= 0);
		ASSERT(fcntl(ahead.seat_fd, F_GETFD) & FD_CLOEXEC);
		ASSERT_EQ(count_fds(), before + 1);
	}
	check_told(pid, &(struct told){ .connections = 1, .asks = 3, .returns = 3 });
	ASSERT_EQ(count_fds(), before);
}

TEST(a_cell_is_asked_for_ahead_over_the_seat)
{
	pid_t pid = start_ahead_lender(grant_page);
	for (int i = 0; i < 3; i++) {
		hold_next();
		ASSERT(ahead.keeper && ahead.seat_fd < 0);
	}
	borrow_and_return();
	ASSERT_EQ(page->hold, HOLD_TAKEN);
	check_told(pid, &(struct told){ .connections = 1, .asks = 4, .returns = 4 });
}

TEST(a_cell_of_another_policy_is_given_back_and_the_seat_serves_the_right_one)
{
	pid_t pid = start_ahead_lender(grant_page);
	hold_one();
	ASSERT(ahead.keeper);
	policy.spec.memory *= 2;
	borrow_and_return();
	ASSERT_EQ(page->hold, HOLD_AHEAD);
	check_told(pid, &(struct told){ .connections = 1, .asks = 3, .returns = 3 });
}

TEST(who_lost_its_seat_borrows_over_another_connection)
{
	pid_t pid = start_seat_lender(grant_page, hang_up_on, grant_again);
	int before = count_fds();
	for (int i = 0; i < 3; i++) {
		borrow_and_return();
		await_hang_up();
	}
	check_told(pid, &(struct told){ .connections = 3, .asks = 3, .returns = 3 });
	ASSERT_EQ(count_fds(), before);
}

TEST(who_lost_its_seat_asks_ahead_over_another_connection)
{
	pid_t pid = start_seat_lender(grant_page, hang_up_on, grant_again);
	borrow_and_return();
	await_hang_up();
	ahead_ask(&ahead);
	borrow_and_return();
	ASSERT_EQ(page->hold, HOLD_TAKEN);
	check_told(pid, &(struct told){ .connections = 2, .asks = 2, .returns = 2 });
}

TEST(who_loses_its_seat_while_it_asks_borrows_over_another_connection)
{
	pid_t pid = start_seat_lender(grant_page, say_nothing, hang_up_on);
	int before = count_fds();
	borrow_and_return();
	borrow_and_return();
	check_told(pid, &(struct told){ .connections = 2, .asks = 3, .returns = 2 });
	ASSERT_EQ(count_fds(), before);
}

TEST(who_loses_its_seat_while_it_asks_ahead_borrows_over_another_connection)
{
	pid_t pid = start_ahead_lender(hang_up_on);
	int before = count_fds();
	borrow_and_return();
	ahead_ask(&ahead);
	borrow_and_return(); /* it has not heard of it yet */
	check_told(pid, &(struct told){ .connections = 2, .asks = 3, .returns = 2 });
	ASSERT_EQ(count_fds(), before);
}

/* This lender serves one at a time, as one with --concurrency 1: who still sits there waits for
 * itself. */
TEST(a_seat_that_talks_nonsense_is_left_before_another_is_asked_for)
{
	pid_t pid = start_seat_lender(grant_page, say_nothing, babble);
	int before = count_fds();
	borrow_and_return();
	borrow_and_return();
	check_told(pid, &(struct told){ .connections = 2, .asks = 3, .returns = 2 });
	ASSERT_EQ(count_fds(), before);
}

static void check_refusal_ahead(bool is_heard_first)
{
	pid_t pid = start_ahead_lender(refuse_ahead);
	int before = count_fds();
	borrow_and_return();
	ahead_ask(&ahead);
	struct pollfd said = { .fd = ahead_fd(&ahead), .events = POLLIN };
	if (is_heard_first) {
		ASSERT_EQ(poll(&said, 1, 10000), 1);
		ahead_collect(&ahead);
		ASSERT_EQ(ahead_fd(&ahead), -1);
		ASSERT(ahead.seat_fd >= 0);
	}
	borrow_and_return();
	check_told(pid, &(struct told){ .connections = 1, .asks = 3, .returns = 2 });
	ASSERT_EQ(count_fds(), before);
}

TEST(who_is_refused_a_cell_ahead_keeps_its_seat)
{
	check_refusal_ahead(true);
}

TEST(who_hears_only_when_it_borrows_that_it_is_refused_one_ahead_keeps_its_seat)
{
	check_refusal_ahead(false);
}

TEST(a_refusal_over_a_seat_says_why_and_is_not_asked_again)
{
	const struct borrower borrower = { .interrupt_fd = -1, .ahead = &ahead };
	struct keeper *keeper = NULL;
	pid_t pid = start_seat_lender(grant_page, say_nothing, refuse_again);
	int before = count_fds();
	borrow_and_return();
	ASSERT_FAIL(keeper_borrow(&policy, &borrower, &keeper, &err), ERR_LIMIT);
	ASSERT_STR(err.text, "too many wait");
	ASSERT(!keeper);
	check_told(pid, &(struct told){ .connections = 1, .asks = 2, .returns = 1 });
	ASSERT_EQ(count_fds(), before);
}

TEST(a_seat_at_one_daemon_is_not_used_when_another_is_meant)
{
	const struct borrower borrower = { .interrupt_fd = -1, .ahead = &ahead };
	struct keeper *keeper = NULL;
	pid_t pid = start_ahead_lender(grant_page);
	borrow_and_return();
	auto_free char *other = xasprintf("%s.other", path);
	ASSERT_EQ(setenv("HOTCELL_SOCKET", other, 1), 0);
	ASSERT_EQ(keeper_borrow(&policy, &borrower, &keeper, &err), 0);
	ASSERT(!keeper);
	ASSERT_EQ(ahead.seat_fd, -1);
	check_told(pid, &(struct told){ .connections = 1, .asks = 1, .returns = 1 });
}
