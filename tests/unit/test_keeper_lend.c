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

enum { WAIT_MS = 20000 };

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
		.socket = path, .most_parked = 4, .linger_seconds = 60
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

/* Asks for a cell as the daemon does for a client; the answer, and the client's end. */
static int ask(const char *text, struct loan_message *answer)
{
	int ends[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	ASSERT_EQ(loan_send(daemon_fd, LOAN_ASK, 0, text, strlen(text), &ends[0], 1), 0);
	(void)close(ends[0]);
	receive(ends[1], answer);
	return ends[1];
}

static struct keeper *borrow(void)
{
	struct loan_message answer;
	struct keeper *keeper = NULL;
	auto_free char *text = policy_to_json(&policy);
	int fd = ask(text, &answer);
	if (answer.kind != LOAN_GRANTED)
		FAIL("not granted: %s", answer.text);
	ASSERT_OK(terms_take(&answer, &policy, &keeper, &err));
	loan_message_done(&answer);
	keeper->loan_fd = fd;
	return keeper;
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
