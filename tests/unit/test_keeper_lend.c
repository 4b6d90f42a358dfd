/* SPDX-License-Identifier: Apache-2.0 */
/* A lender in a process of its own; the test is its daemon, and its clients. */
#include "unit/test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/io.h"
#include "keeper/lend.h"
#include "keeper/terms.h"

enum { WAIT_MS = 20000, MOST_PARKED = 4 };

static char dir[] = "/tmp/hotcell-test-XXXXXX";
static char path[64];
static struct err err;
static struct policy policy;
static pid_t lender = -1;
static int daemon_fd = -1;

static void clean_up(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
}

/* Whether this machine can raise cells at all is not the lender's affair. */
static void need_cells(void)
{
	struct keeper *keeper = NULL;
	if (geteuid() != 0)
		SKIP("not root");
	if (keeper_open(&policy.spec, NULL, KEEPER_RESIDENT, &keeper, &err) < 0 ||
		keeper_park(keeper, &policy.spec, false, FORM_GATE, &err) < 0)
		SKIP(err.text);
	keeper_close(keeper);
}

static void set_up(void)
{
	const struct lend_options options = {
		.socket = path, .most_parked = MOST_PARKED, .linger_seconds = 60
	};
	policy_init(&policy);
	need_cells();
	ASSERT(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/keeper", dir);
	lender = fork();
	if (lender == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* also when a claim fails */
		_exit(lend(&options, &err) == 0 ? 0 : 3);
	}
	ASSERT_EQ(atexit(clean_up), 0);
	int64_t deadline_us = clock_us() + WAIT_MS * 1000;
	while ((daemon_fd = loan_connect(path)) < 0) {
		ASSERT(clock_us() < deadline_us);
		(void)poll(NULL, 0, 2);
	}
}

static void receive(int fd, struct loan_message *message)
{
	struct pollfd came = { .fd = fd, .events = POLLIN };
	ASSERT_EQ(poll(&came, 1, WAIT_MS), 1);
	ASSERT_EQ(loan_receive(fd, message), 1);
}

/* Asks for a cell as the daemon does for a client; the client's end. */
static int send_ask(const char *text)
{
	int ends[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	ASSERT_EQ(loan_send(daemon_fd, LOAN_ASK, 0, text, strlen(text), &ends[0], 1), 0);
	(void)close(ends[0]);
	return ends[1];
}

/* The same, and the answer. */
static int ask(const char *text, struct loan_message *answer)
{
	int fd = send_ask(text);
	receive(fd, answer);
	return fd;
}

static struct keeper *take_granted(int fd, struct loan_message *answer)
{
	struct keeper *keeper = NULL;
	if (answer->kind != LOAN_GRANTED)
		FAIL("not granted: %s", answer->text);
	ASSERT_OK(terms_take(answer, &policy, &keeper, &err));
	loan_message_done(answer);
	keeper->loan_fd = fd;
	return keeper;
}

static struct keeper *borrow(void)
{
	struct loan_message answer;
	auto_free char *text = policy_to_json(&policy);
	int fd = ask(text, &answer);
	return take_granted(fd, &answer);
}

static void check_run(struct keeper *keeper)
{
	struct result result;
	struct strings argv = { 0 };
	strings_add(&argv, "/bin/echo");
	strings_add(&argv, "ran");
	const struct task task = { .spec = &policy.spec,
		.argv = &argv,
		.outlet = { .fds = { -1, -1 } },
		.interrupt_fd = -1 };
	result_init(&result);
	ASSERT_OK(keeper_run(keeper, &task, &result, NULL, &err));
	ASSERT_STR(result.out.text, "ran\n");
	result_done(&result);
	strings_done(&argv);
}

static void end(void)
{
	int status = 0;
	ASSERT_EQ(loan_send(daemon_fd, LOAN_END, 0, NULL, 0, NULL, 0), 0);
	ASSERT_EQ(waitpid(lender, &status, 0), lender);
	ASSERT_EQ(status, 0);
	lender = -1;
	own_close(&daemon_fd);
	ASSERT_EQ(rmdir(dir), 0); /* its socket is gone, too */
	policy_done(&policy);
}

/* The value of a number in what the lender says of itself. */
static long tell(const char *key)
{
	struct loan_message info;
	ASSERT_EQ(loan_send(daemon_fd, LOAN_INFO, 0, NULL, 0, NULL, 0), 0);
	receive(daemon_fd, &info);
	ASSERT_EQ(info.kind, LOAN_INFO);
	auto_free char *name = xasprintf("\"%s\":", key);
	const char *at = strstr(info.text, name);
	ASSERT(at);
	long value = strtol(at + strlen(name), NULL, 10);
	loan_message_done(&info);
	return value;
}

/* How many cells the lender lists as lent. */
static long tell_listed(void)
{
	struct loan_message info;
	long count = 0;
	ASSERT_EQ(loan_send(daemon_fd, LOAN_INFO, 1, NULL, 0, NULL, 0), 0);
	receive(daemon_fd, &info);
	const char *at = strstr(info.text, "\"loans\":");
	ASSERT(at);
	for (; (at = strstr(at, "\"client\":")) != NULL; at++)
		count++;
	loan_message_done(&info);
	return count;
}

static void await(const char *key, long value)
{
	int64_t deadline_us = clock_us() + WAIT_MS * 1000;
	while (tell(key) != value) {
		if (clock_us() > deadline_us)
			FAIL("%s is %ld, not %ld", key, tell(key), value);
		(void)poll(NULL, 0, 2);
	}
}

TEST(a_cell_is_lent_until_its_client_hangs_up)
{
	set_up();
	struct keeper *keeper = borrow();
	check_run(keeper);
	ASSERT_EQ(tell("lent"), 1);
	keeper_close(keeper);
	await("lent", 0);
	end();
}

TEST(a_policy_that_makes_no_sense_is_refused_and_says_why)
{
	struct loan_message answer;
	set_up();
	int fd = ask("{\"form\":\"other\"}", &answer);
	ASSERT_EQ(answer.kind, LOAN_REFUSED);
	ASSERT_EQ(answer.number, ERR_INVALID);
	ASSERT_HAS(answer.text, "there is no form 'other'");
	loan_message_done(&answer);
	(void)close(fd);
	end();
}

TEST(a_new_daemon_is_told_what_is_lent)
{
	struct loan_message message;
	set_up();
	struct keeper *keeper = borrow();
	own_close(&daemon_fd);
	daemon_fd = loan_connect(path);
	ASSERT(daemon_fd >= 0);
	ASSERT_EQ(loan_send(daemon_fd, LOAN_ADOPT, 0, NULL, 0, NULL, 0), 0);
	receive(daemon_fd, &message);
	ASSERT_EQ(message.kind, LOAN_LENT);
	ASSERT_EQ(message.fd_count, 1);
	loan_message_done(&message);
	receive(daemon_fd, &message);
	ASSERT_EQ(message.kind, LOAN_ADOPT);
	ASSERT_EQ(message.number, 1);
	loan_message_done(&message);
	check_run(keeper); /* it did not notice */
	keeper_close(keeper);
	end();
}

TEST(cells_are_kept_ready_when_the_daemon_says_so)
{
	set_up();
	auto_free char *text = policy_to_json(&policy);
	ASSERT_EQ(loan_send(daemon_fd, LOAN_WARM, 3, text, strlen(text), NULL, 0), 0);
	await("parked", 3);
	struct keeper *keeper = borrow();
	ASSERT(keeper->is_warm);
	keeper_close(keeper);
	await("parked", 3);
	end();
}

/* The process whose parent is the lender and which has this name. */
static pid_t find_child(const char *name)
{
	char list[256], comm[64];
	char *at = list;
	auto_free char *children = xasprintf("/proc/%d/task/%d/children", lender, lender);
	ASSERT(io_read_at(AT_FDCWD, children, list, sizeof(list)) > 0);
	for (long pid = strtol(at, &at, 10); pid > 0; pid = strtol(at, &at, 10)) {
		auto_free char *file = xasprintf("/proc/%ld/comm", pid);
		if (io_read_at(AT_FDCWD, file, comm, sizeof(comm)) > 0 &&
			strncmp(comm, name, strlen(name)) == 0)
			return (pid_t)pid;
	}
	FAIL("the lender has no child '%s'", name);
}

TEST(a_lender_whose_zygote_died_has_another)
{
	set_up();
	struct keeper *keeper = borrow();
	struct pollfd death = { .fd = keeper->parked->pidfd, .events = POLLIN };
	ASSERT_EQ(kill(find_child("hotcell-zygote"), SIGKILL), 0);
	ASSERT_EQ(poll(&death, 1, WAIT_MS), 1); /* its cells die with it */
	struct keeper *other = borrow();
	check_run(other);
	keeper_close(keeper);
	keeper_close(other);
	await("lent", 0);
	end();
}

TEST(where_cells_are_taken_without_a_pause_they_are_raised_in_rows)
{
	enum { CLIENTS = 16 };
	struct loan_message answer;
	int fds[CLIENTS];
	set_up();
	auto_free char *text = policy_to_json(&policy);
	/* they are served one right after the other: there is no time in which one could be raised
	 * ahead for somebody who is not there yet */
	for (size_t i = 0; i < CLIENTS; i++)
		fds[i] = send_ask(text);
	ASSERT(tell("missed") <= CLIENTS - MOST_PARKED);
	for (size_t i = 0; i < CLIENTS; i++) {
		receive(fds[i], &answer);
		struct keeper *keeper = take_granted(fds[i], &answer);
		check_run(keeper);
		keeper_close(keeper);
	}
	await("lent", 0);
	end();
}

/* ---- seats ------------------------------------------------------------------------------------
 */

/* One that stays. */
struct client {
	int place_fd; /* owned; the daemon's copy of its connection */
	struct ahead ahead;
	struct keeper *keeper; /* owned; while it has a cell */
	int death_fd;          /* owned; tells the death of the last cell it had */
};
#define CLIENT_NONE                                                 \
	{                                                           \
		.place_fd = -1, .ahead = AHEAD_NONE, .death_fd = -1 \
	}

/* The daemon lets it in and asks for it. Its connection is where it would keep its seat. */
static void let_in(struct client *client, uint32_t number, const char *text)
{
	int ends[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	client->place_fd = ends[0];
	client->ahead.seat_fd = ends[1];
	ASSERT_EQ(loan_send(daemon_fd, LOAN_ASK, number, text, strlen(text), &ends[0], 1), 0);
}

static void say(const struct client *client, enum loan_kind kind, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	ASSERT_EQ(loan_send(client->ahead.seat_fd, kind, 0, text, len, NULL, 0), 0);
}

static void expect_refusal(const struct client *client)
{
	struct loan_message answer;
	receive(client->ahead.seat_fd, &answer);
	ASSERT_EQ(answer.kind, LOAN_REFUSED);
	loan_message_done(&answer);
}

static void expect_cell(struct client *client)
{
	struct loan_message answer;
	receive(client->ahead.seat_fd, &answer);
	if (answer.kind != LOAN_GRANTED)
		FAIL("not granted: %s", answer.text);
	ASSERT_OK(terms_take(&answer, &policy, &client->keeper, &err));
	loan_message_done(&answer);
	client->keeper->loan_fd = take_fd(&client->ahead.seat_fd);
	client->keeper->ahead = &client->ahead;
	own_close(&client->death_fd);
	client->death_fd = fcntl(client->keeper->parked->pidfd, F_DUPFD_CLOEXEC, 3);
	ASSERT(client->death_fd >= 0);
}

static void borrow_first(struct client *client, uint32_t number)
{
	auto_free char *text = policy_to_json(&policy);
	let_in(client, number, text);
	expect_cell(client);
}

static void borrow_again(struct client *client)
{
	auto_free char *text = policy_to_json(&policy);
	say(client, LOAN_ASK, text);
	expect_cell(client);
}

static void expect_death(const struct client *client)
{
	struct pollfd death = { .fd = client->death_fd, .events = POLLIN };
	ASSERT_EQ(poll(&death, 1, WAIT_MS), 1);
}

static void give_back(struct client *client)
{
	keeper_close(take_ptr(&client->keeper));
	ASSERT(client->ahead.seat_fd >= 0);
	expect_death(client);
}

/* That the keeper hung up, and said nothing before. The daemon's copy is there all the time. */
static void expect_end(const struct client *client)
{
	struct loan_message message;
	struct pollfd place = { .fd = client->place_fd, .events = POLLRDHUP };
	struct pollfd seat = { .fd = client->ahead.seat_fd, .events = POLLIN };
	ASSERT_EQ(poll(&seat, 1, WAIT_MS), 1);
	ASSERT(loan_receive(client->ahead.seat_fd, &message) <= 0);
	ASSERT_EQ(poll(&place, 1, WAIT_MS), 1); /* its place is free */
}

static void go(struct client *client)
{
	keeper_close(take_ptr(&client->keeper));
	ahead_done(&client->ahead);
	own_close(&client->place_fd);
	own_close(&client->death_fd);
}

TEST(a_cell_that_is_given_back_is_ended_and_its_client_has_another_over_the_same_connection)
{
	struct client client = CLIENT_NONE;
	set_up();
	borrow_first(&client, 0);
	for (int i = 1; i <= 3; i++) {
		auto_fd int last_fd = fcntl(client.death_fd, F_DUPFD_CLOEXEC, 3);
		struct pollfd last = { .fd = last_fd, .events = POLLIN };
		give_back(&client); /* not used: nothing but the keeper ends it */
		borrow_again(&client);
		ASSERT_EQ(poll(&last, 1, 0), 1);
		check_run(client.keeper);
		ASSERT_EQ(tell("again"), i);
	}
	go(&client);
	await("lent", 0);
	await("seats", 0);
	end();
}

TEST(the_account_tells_seats_apart_from_what_is_lent)
{
	struct client client = CLIENT_NONE;
	set_up();
	borrow_first(&client, 0);
	ASSERT_EQ(tell("lent"), 1);
	ASSERT_EQ(tell("seats"), 0);
	ASSERT_EQ(tell("again"), 0);
	give_back(&client);
	await("lent", 0);
	ASSERT_EQ(tell("seats"), 1);
	struct keeper *other = borrow();
	ASSERT_EQ(tell("lent"), 1);
	ASSERT_EQ(tell("seats"), 1);
	ASSERT_EQ(tell("again"), 0);
	ASSERT_EQ(tell_listed(), 1);
	borrow_again(&client);
	ASSERT_EQ(tell("lent"), 2);
	ASSERT_EQ(tell("seats"), 0);
	ASSERT_EQ(tell("again"), 1);
	ASSERT_EQ(tell_listed(), 2);
	keeper_close(other);
	give_back(&client);
	await("lent", 0);
	ASSERT_EQ(tell("seats"), 1);
	ASSERT_EQ(tell_listed(), 0);
	go(&client);
	await("seats", 0);
	end();
}

TEST(a_cell_may_be_asked_for_ahead_over_a_seat)
{
	struct client client = CLIENT_NONE;
	set_up();
	auto_free char *text = policy_to_json(&policy);
	ASSERT_EQ(loan_send(daemon_fd, LOAN_WARM, 2, text, strlen(text), NULL, 0), 0);
	borrow_first(&client, 0);
	give_back(&client);
	await("parked", 2);
	ASSERT_EQ(
		loan_send(client.ahead.seat_fd, LOAN_ASK, LOAN_AHEAD, text, strlen(text), NULL, 0),
		0);
	expect_cell(&client);
	await("lent", 0);
	ASSERT_EQ(tell("ahead"), 1);
	ASSERT_EQ(tell("seats"), 0);
	give_back(&client); /* there was no use for it */
	await("lent", 0);
	ASSERT_EQ(tell("ahead"), 0);
	ASSERT_EQ(tell("seats"), 1);
	go(&client);
	end();
}

TEST(who_may_not_stay_is_hung_up_on_when_it_gives_its_cell_back)
{
	struct client client = CLIENT_NONE;
	set_up();
	borrow_first(&client, LOAN_ONCE);
	check_run(client.keeper);
	give_back(&client);
	/* what it says now comes too late, or not at all */
	auto_free char *text = policy_to_json(&policy);
	(void)loan_send(client.ahead.seat_fd, LOAN_ASK, 0, text, strlen(text), NULL, 0);
	expect_end(&client);
	await("lent", 0);
	ASSERT_EQ(tell("seats"), 0);
	ASSERT_EQ(tell("again"), 0);
	go(&client);
	end();
}

TEST(when_somebody_waits_seats_end_at_once_and_each_loan_is_the_last_of_its_client)
{
	struct client idle = CLIENT_NONE, busy = CLIENT_NONE, next = CLIENT_NONE;
	set_up();
	auto_free char *text = policy_to_json(&policy);
	borrow_first(&idle, 0);
	borrow_first(&busy, 0);
	give_back(&idle);
	ASSERT_EQ(loan_send(daemon_fd, LOAN_REVOKE, 0, NULL, 0, NULL, 0), 0);
	ASSERT_EQ(tell("seats"), 0);
	expect_end(&idle);
	check_run(busy.keeper); /* it is not disturbed */
	give_back(&busy);
	(void)loan_send(busy.ahead.seat_fd, LOAN_ASK, 0, text, strlen(text), NULL, 0);
	expect_end(&busy);
	ASSERT_EQ(tell("again"), 0);
	borrow_first(&next, 0); /* who comes later may stay */
	give_back(&next);
	borrow_again(&next);
	go(&idle);
	go(&busy);
	go(&next);
	await("lent", 0);
	ASSERT_EQ(tell("seats"), 0);
	end();
}

TEST(a_seat_that_is_not_used_for_some_seconds_ends_and_a_loan_does_not)
{
	struct client idle = CLIENT_NONE, busy = CLIENT_NONE;
	set_up();
	borrow_first(&busy, 0);
	borrow_first(&idle, 0);
	give_back(&idle);
	expect_end(&idle);
	ASSERT_EQ(tell("seats"), 0);
	ASSERT_EQ(tell("lent"), 1);
	check_run(busy.keeper);
	give_back(&busy);
	borrow_again(&busy);
	go(&idle);
	go(&busy);
	end();
}

TEST(a_refusal_does_not_end_a_seat)
{
	struct client client = CLIENT_NONE;
	set_up();
	let_in(&client, 0, "{\"form\":\"other\"}");
	expect_refusal(&client);
	ASSERT_EQ(tell("seats"), 1);
	for (int i = 0; i < 2; i++) {
		borrow_again(&client);
		check_run(client.keeper);
		give_back(&client);
		say(&client, LOAN_ASK, "{\"form\":\"other\"}");
		expect_refusal(&client);
		ASSERT_EQ(tell("seats"), 1);
	}
	go(&client);
	await("seats", 0);
	end();
}

TEST(a_refusal_over_a_seat_does_not_count_as_a_loan)
{
	struct client client = CLIENT_NONE;
	set_up();
	borrow_first(&client, 0);
	give_back(&client);
	say(&client, LOAN_ASK, "{\"form\":\"other\"}");
	expect_refusal(&client);
	ASSERT_EQ(tell("again"), 0);
	go(&client);
	end();
}

/* Says something, with a cell or with none, that ends the loan. */
static void say_nonsense(bool has_cell, const void *packet, size_t len, enum loan_kind kind)
{
	struct client client = CLIENT_NONE;
	auto_free char *text = policy_to_json(&policy);
	borrow_first(&client, 0);
	if (!has_cell)
		give_back(&client);
	int fd = has_cell ? client.keeper->loan_fd : client.ahead.seat_fd;
	if (kind == LOAN_NONE)
		ASSERT_EQ(send(fd, packet, len, MSG_NOSIGNAL), len);
	else
		ASSERT_EQ(loan_send(fd, kind, 0, text, strlen(text), NULL, 0), 0);
	if (has_cell) {
		expect_death(&client);
		client.ahead.seat_fd = take_fd(&client.keeper->loan_fd);
	} else { /* nobody hears this */
		(void)loan_send(fd, LOAN_ASK, 0, text, strlen(text), NULL, 0);
	}
	expect_end(&client);
	go(&client);
}

TEST(what_makes_no_sense_over_a_seat_ends_the_loan_and_no_other)
{
	static const char garbage[] = "nonsense that is as long as a message would be";
	struct client other = CLIENT_NONE;
	set_up();
	borrow_first(&other, 0);
	for (int has_cell = 0; has_cell <= 1; has_cell++) {
		for (int kind = LOAN_NONE + 1; kind < LOAN_KIND_COUNT; kind++)
			if (kind != (has_cell ? LOAN_RETURN : LOAN_ASK))
				say_nonsense(has_cell, NULL, 0, (enum loan_kind)kind);
		say_nonsense(has_cell, garbage, sizeof(garbage), LOAN_NONE);
		say_nonsense(has_cell, garbage, 1, LOAN_NONE);
		say_nonsense(has_cell, garbage, 0, LOAN_NONE);
	}
	await("lent", 1);
	ASSERT_EQ(tell("seats"), 0);
	ASSERT_EQ(tell("again"), 0);
	check_run(other.keeper);
	give_back(&other);
	borrow_again(&other);
	go(&other);
	end();
}

TEST(descriptors_that_come_over_a_seat_are_closed)
{
	struct client client = CLIENT_NONE;
	int ends[2];
	set_up();
	auto_free char *text = policy_to_json(&policy);
	borrow_first(&client, 0);
	give_back(&client);
	ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
	struct pollfd end_of = { .fd = ends[0], .events = POLLIN };
	ASSERT_EQ(loan_send(client.ahead.seat_fd, LOAN_ASK, 0, text, strlen(text), &ends[1], 1), 0);
	(void)close(ends[1]);
	expect_cell(&client);
	ASSERT_EQ(poll(&end_of, 1, WAIT_MS), 1);
	ASSERT_EQ(end_of.revents, POLLHUP);
	(void)close(ends[0]);
	go(&client);
	end();
}

TEST(a_new_daemon_is_told_of_seats_and_they_serve_on)
{
	struct loan_message message;
	struct client client = CLIENT_NONE;
	set_up();
	borrow_first(&client, 0);
	give_back(&client);
	own_close(&daemon_fd);
	borrow_again(&client); /* while there is no daemon */
	give_back(&client);
	daemon_fd = loan_connect(path);
	ASSERT(daemon_fd >= 0);
	ASSERT_EQ(loan_send(daemon_fd, LOAN_ADOPT, 0, NULL, 0, NULL, 0), 0);
	receive(daemon_fd, &message);
	ASSERT_EQ(message.kind, LOAN_LENT);
	ASSERT_EQ(message.fd_count, 1);
	loan_message_done(&message);
	receive(daemon_fd, &message);
	ASSERT_EQ(message.kind, LOAN_ADOPT);
	ASSERT_EQ(message.number, 1);
	loan_message_done(&message);
	borrow_again(&client);
	check_run(client.keeper);
	give_back(&client);
	await("lent", 0);
	end(); /* which a seat does not hold up */
	go(&client);
}
