/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread, one loop. What it does for a request is short: it takes a cell from a pool and sends
 * its descriptors to the client. Raising cells ahead, burying dead ones and closing pools wait
 * until nobody asks for anything. It trusts its daemon to say who may borrow, and nobody to end a
 * loan properly: a loan ends when its connection does. Who gives its cell back keeps its seat, the
 * connection, and may ask for another one; the daemon says when others wait for the place.
 */
#include "keeper/lend.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/lender.h"
#include "keeper/terms.h"
#include "wire/json.h"
#include "wire/log.h"

enum {
	LOOK_EVERY_US = 1000000,
	ROW = 7,            /* shorter ones serve 2 % fewer cells, longer ones no more */
	AHEAD_US = 5000000, /* a cell that was asked for ahead is had back then */
	PAUSE_US = 3000,
	POOLS_MAX = 32,
	LOW_MEMORY_SHARE =
		16, /* with less than this part of memory free, nothing is raised ahead */
};

/* ---- sources ----------------------------------------------------------------------------------
 */

static int watch(struct lender *lender, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };
	return epoll_ctl(lender->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0 ? -errno : 0;
}

/* Others may hold the same file: closing our descriptor would not stop its events. */
static void unwatch(struct lender *lender, struct source *source)
{
	if (source->fd >= 0)
		(void)epoll_ctl(lender->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	own_close(&source->fd);
}

static struct source *add_source(struct source **list, enum source_kind kind, int fd)
{
	struct source *source = xcalloc(1, sizeof(*source));
	*source = (struct source){ .kind = kind, .fd = fd, .next = *list };
	*list = source;
	return source;
}

static void drop_source(struct lender *lender, struct source **list, struct source *source)
{
	while (*list && *list != source)
		list = &(*list)->next;
	if (*list)
		*list = source->next;
	unwatch(lender, source);
	source->kind = SOURCE_GONE;
	source->next = lender->gone;
	lender->gone = source;
}

static void forget_gone(struct lender *lender)
{
	while (lender->gone) {
		struct source *source = lender->gone;
		lender->gone = source->next;
		free(source);
	}
}

/* ---- loans ------------------------------------------------------------------------------------
 */

static void drop_pool(struct lender *lender, struct pool *pool)
{
	struct pool **at = &lender->pools;
	while (*at != pool)
		at = &(*at)->next;
	*at = pool->next;
	lender->pool_count--;
	lender->served += pool->served;
	lender->missed += pool->missed;
	pool_close(pool);
}

/* The one that was asked for the longest time ago and has nothing out. */
static bool make_room(struct lender *lender)
{
	struct pool *oldest = NULL;
	for (struct pool *pool = lender->pools; pool; pool = pool->next)
		if (pool->lent == 0 && (!oldest || pool->asked_us < oldest->asked_us))
			oldest = pool;
	if (oldest)
		drop_pool(lender, oldest);
	return oldest;
}

static int open_pool(struct lender *lender, const char *text, size_t len, struct pool **ret_pool,
	struct err *err)
{
	struct pool *pool = NULL;
	TRY(pool_open(text, len, (size_t)lender->options.most_parked, &pool, err));
	pool_reuse_networks(pool, lender->has_one_owner);
	pool->next = lender->pools;
	lender->pools = pool;
	lender->pool_count++;
	*ret_pool = pool;
	return 0;
}

/* Its cells have copies of what is no more. Those that are out stay as they are; where no pool can
 * take its place, whoever asks next hears why. */
static void renew_pool(struct lender *lender, struct pool *old)
{
	struct err err = { 0 };
	struct pool *pool = NULL;
	if (open_pool(lender, old->text, old->len, &pool, &err) < 0)
		log_say(LEVEL_WARNING, "renew the cells that stand ready: %s", err.text);
	pool_replace(old, pool);
}

/* NULL: there is none, and none could be made. */
static struct pool *find_pool(struct lender *lender, const char *text, size_t len, struct err *err)
{
	/* the newest comes first: one that is lost may still have loans that end */
	struct pool *pool = lender->pools;
	while (pool && (pool->len != len || memcmp(pool->text, text, len) != 0))
		pool = pool->next;
	if (pool && !pool_is_lost(pool))
		return pool;
	size_t floor = pool ? pool->floor : 0;
	if (lender->pool_count >= POOLS_MAX && !make_room(lender)) {
		(void)err_set(err, ERR_LIMIT, "cells of %d policies are in use: too many at once",
			POOLS_MAX);
		return NULL;
	}
	if (open_pool(lender, text, len, &pool, err) < 0)
		return NULL;
	pool_set_floor(pool, floor);
	return pool;
}

/* Of those that could spare a cell, the one that was asked the longest time ago; NULL: all were
 * asked after that moment. */
static struct pool *find_donor(const struct lender *lender, int64_t before_us)
{
	struct pool *found = NULL;
	for (struct pool *pool = lender->pools; pool; pool = pool->next)
		if (pool->parked_count > 0 && pool->asked_us < before_us &&
			(!found || pool->asked_us < found->asked_us))
			found = pool;
	return found;
}

/* A run that has just begun is not to share its processors with what can wait. */
static bool has_just_lent(const struct lender *lender)
{
	return clock_us() - lender->granted_us < PAUSE_US;
}

/* Raises one more cell, which another pool may have to spare. False: there is no room for it. */
static bool fill(struct lender *lender, struct pool *pool)
{
	if (lender_parked(lender) >= (size_t)lender->options.most_parked) {
		struct pool *donor = find_donor(lender, pool->asked_us);
		if (!donor)
			return false;
		pool_give_up_one(donor);
	}
	pool_fill(pool);
	return true;
}

/* Where cells are taken without a pause they are raised in rows, when somebody has found none. Who
 * does the same thing several times has all that it takes in reach, so nobody is served in between:
 * that is some milliseconds. */
static void fill_row(struct lender *lender, struct pool *pool)
{
	for (int i = 0; i < ROW && pool_fills_in_rows(pool) && !lender->is_low_on_memory; i++)
		if (!pool_is_short(pool) || !fill(lender, pool))
			return;
}

static struct source *add_loan(struct lender *lender, enum source_kind kind, int fd)
{
	lender->loan_count++;
	return add_source(&lender->loans, kind, fd);
}

static void drop_loan(struct lender *lender, struct source *loan)
{
	drop_source(lender, &lender->loans, loan);
	lender->loan_count--;
}

static void bury(struct lender *lender, struct source *death)
{
	death->pool->lent--;
	cell_free(death->cell);
	drop_loan(lender, death);
}

/* Its client has what it wanted, or is gone. */
static void end_cell(struct lender *lender, struct source *loan)
{
	struct source *death = add_loan(lender, SOURCE_DEATH, -1);
	death->begun_us = loan->begun_us;
	death->pool = take_ptr(&loan->pool);
	death->cell = take_ptr(&loan->cell);
	lender->ahead_count -= loan->ahead_us != 0;
	loan->ahead_us = 0;
	lender->seat_count++;
	loan->begun_us = clock_us();
	if (!cell_is_dead(death->cell)) {
		cell_strike(death->cell);
		death->fd = fcntl(death->cell->pidfd, F_DUPFD_CLOEXEC, 3);
	}
	if (death->fd < 0 || watch(lender, death, EPOLLIN) < 0)
		bury(lender, death); /* and wait for its death here */
}

static void end_loan(struct lender *lender, struct source *loan)
{
	if (loan->cell)
		end_cell(lender, loan);
	lender->seat_count--;
	drop_loan(lender, loan);
}

/* Its place at the daemon is free when the connection is shut. */
static void send_away(struct lender *lender, struct source *loan)
{
	(void)shutdown(loan->fd, SHUT_RDWR);
	end_loan(lender, loan);
}

/* A client that holds a cell for later, or a seat, and does not come to use it, stands in the way
 * of others. */
static void settle_ahead(struct lender *lender, int64_t now_us)
{
	struct source *next = NULL;
	for (struct source *loan = lender->loans; loan; loan = next) {
		next = loan->next;
		bool is_seat = loan->kind == SOURCE_LOAN && !loan->cell;
		if (is_seat && now_us - loan->begun_us > AHEAD_US)
			send_away(lender, loan);
		if (is_seat || loan->ahead_us == 0)
			continue;
		if (__atomic_load_n(&loan->cell->page->hold, __ATOMIC_ACQUIRE) == HOLD_TAKEN) {
			loan->ahead_us = 0;
			lender->ahead_count--;
		} else if (now_us - loan->ahead_us > AHEAD_US &&
			   terms_settle(loan->cell, HOLD_REVOKED)) {
			send_away(lender, loan);
		}
	}
}

/* Somebody waits. */
static void clear_seats(struct lender *lender)
{
	for (struct source *loan = lender->loans; loan; loan = loan->next)
		loan->is_last = true;
	settle_ahead(lender, INT64_MAX);
}

static int grant(
	struct lender *lender, struct source *loan, const struct loan_message *ask, struct err *err)
{
	struct cell *cell = NULL;
	bool is_warm = false;
	struct pool *pool = find_pool(lender, ask->text, ask->len, err);
	bool is_ahead = ask->number & LOAN_AHEAD;
	if (!pool)
		return -1;
	/* none is raised for somebody who does not need it; nor is there, where cells are taken
	 * without a pause, a time in which nobody waits that could be used */
	if (is_ahead && (pool->parked_count == 0 || pool_is_busy(pool) || lender->is_low_on_memory))
		return err_set(err, ERR_LIMIT, "no cell stands ready");
	bool is_in_need = pool->parked_count == 0 && has_just_lent(lender);
	TRY(pool_take(pool, &cell, &is_warm, err));
	lender->seat_count--;
	lender->granted_us = clock_us();
	loan->pool = pool;
	loan->cell = cell;
	loan->begun_us = lender->granted_us;
	if (is_ahead) {
		loan->ahead_us = lender->granted_us;
		lender->ahead_count++;
		cell->page->hold = HOLD_AHEAD;
		cell_warm(cell);
	}
	if (terms_send(loan->fd, cell, is_warm) < 0)
		end_loan(lender, loan); /* it did not wait for the answer */
	pool_hurry(pool);
	if (is_in_need)
		fill_row(lender, pool);
	return 0;
}

/* Who is refused keeps its seat all the same. */
static bool answer_ask(struct lender *lender, struct source *loan, const struct loan_message *ask)
{
	struct err err = { 0 };
	if (grant(lender, loan, ask, &err) == 0)
		return true;
	(void)loan_send(
		loan->fd, LOAN_REFUSED, (uint32_t)err.code, err.text, strlen(err.text), NULL, 0);
	return false;
}

/* The daemon let somebody in. */
static void seat_client(struct lender *lender, struct loan_message *ask)
{
	if (ask->fd_count != 1)
		return;
	struct source *loan = add_loan(lender, SOURCE_LOAN, take_fd(&ask->fds[0]));
	loan->begun_us = clock_us();
	loan->is_last = ask->number & LOAN_ONCE;
	lender->seat_count++;
	if (watch(lender, loan, EPOLLIN | EPOLLRDHUP | EPOLLHUP) < 0)
		end_loan(lender, loan);
	else
		(void)answer_ask(lender, loan, ask);
}

/* What makes no sense ends the loan, as a hang-up does. */
static void hear_client(struct lender *lender, struct source *loan)
{
	struct loan_message message;
	int r = loan_receive(loan->fd, &message);
	if (r == -EAGAIN)
		return;
	bool is_return = r > 0 && message.kind == LOAN_RETURN && loan->cell;
	bool is_ask = r > 0 && message.kind == LOAN_ASK && !loan->cell;
	if (is_ask) {
		lender->again += answer_ask(lender, loan, &message);
	} else if (is_return && !loan->is_last) {
		end_cell(lender, loan);
	} else {
		send_away(lender, loan);
	}
	if (r > 0)
		loan_message_done(&message);
}

/* ---- the daemon -------------------------------------------------------------------------------
 */

static void answer_adopt(struct lender *lender, int fd)
{
	uint32_t count = 0;
	lender->again = 0; /* a new daemon counts anew */
	for (struct source *loan = lender->loans; loan; loan = loan->next)
		if (loan->kind == SOURCE_LOAN)
			count += loan_send(fd, LOAN_LENT, 0, NULL, 0, &loan->fd, 1) == 0;
	size_t held = sessions_count(lender->sessions);
	if (held > 0)
		(void)loan_send(fd, LOAN_SESSION, (uint32_t)held, NULL, 0, NULL, 0);
	(void)loan_send(fd, LOAN_ADOPT, count, NULL, 0, NULL, 0);
}

static void set_floor(struct lender *lender, const struct loan_message *message)
{
	struct err err = { 0 };
	struct pool *pool = find_pool(lender, message->text, message->len, &err);
	if (pool)
		pool_set_floor(pool, message->number);
	else
		log_say(LEVEL_WARNING, "%s", err.text);
}

static void set_parked(struct lender *lender, size_t most)
{
	lender->options.most_parked = (long)most;
	for (struct pool *pool = lender->pools; pool; pool = pool->next)
		pool_set_most(pool, most);
	while (lender_parked(lender) > most)
		pool_give_up_one(find_donor(lender, INT64_MAX));
}

/* A number from 0 to `most`; what is none changes nothing. */
static bool find_count(const struct json_object *json, const char *key, int64_t most, size_t *ret)
{
	struct json_object *value = NULL;
	if (!json_object_object_get_ex(json, key, &value) ||
		!json_object_is_type(value, json_type_int))
		return false;
	int64_t count = json_object_get_int64(value);
	*ret = (size_t)count;
	return count >= 0 && count <= most;
}

static void take_settings(struct lender *lender, const struct loan_message *message)
{
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	size_t count = 0;
	if (json_read(message->text, message->len, LOAN_TEXT_MAX, LIMIT_FRAME_DEPTH, &json, &err) <
		0) {
		log_say(LEVEL_WARNING, "settings: %s", err.text);
		return;
	}
	if (find_count(json, "parked", LIMIT_PARKED, &count))
		set_parked(lender, count);
	if (find_count(json, "sessions", LIMIT_SESSIONS, &count)) {
		lender->options.most_sessions = (long)count;
		sessions_set_most(lender->sessions, count);
	}
	bool had_one_owner = lender->has_one_owner;
	/* another daemon may not know of it: then nobody said so */
	lender->has_one_owner = json_object_get_boolean(json_object_object_get(json, "one_owner"));
	for (struct pool *pool = lender->pools; pool; pool = pool->next)
		pool_reuse_networks(pool, lender->has_one_owner);
	if (!lender->has_one_owner && had_one_owner)
		clear_seats(lender);
	const char *format = json_object_get_string(json_object_object_get(json, "log_format"));
	const char *level = json_object_get_string(json_object_object_get(json, "log_level"));
	if (format && log_format_of(format) < LOG_FORMAT_COUNT && level &&
		log_level_of(level) < LOG_LEVEL_COUNT)
		log_set(log_format_of(format), log_level_of(level));
}

/* Sessions outlive a daemon, unless they are to end as well. */
static void leave(struct lender *lender, const struct loan_message *message, int fd)
{
	size_t count = sessions_count(lender->sessions);
	lender->is_over = message->number == 0 || count == 0;
	if (!lender->is_over)
		(void)loan_send(fd, LOAN_END, (uint32_t)count, NULL, 0, NULL, 0);
}

static void tell_daemons(void *context, size_t count)
{
	const struct lender *lender = context;
	for (const struct source *daemon = lender->daemons; daemon; daemon = daemon->next)
		(void)loan_send(daemon->fd, LOAN_SESSION, (uint32_t)count, NULL, 0, NULL, 0);
}

static struct pool *pool_for_session(void *context, const char *text, size_t len, struct err *err)
{
	return find_pool(context, text, len, err);
}

static void lose_daemon(struct lender *lender, struct source *daemon)
{
	drop_source(lender, &lender->daemons, daemon);
	if (!lender->daemons)
		lender->alone_since_us = clock_us();
}

static void hear_daemon(struct lender *lender, struct source *daemon)
{
	struct loan_message message;
	int r = loan_receive(daemon->fd, &message);
	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		lose_daemon(lender, daemon);
		return;
	}
	switch (message.kind) {
	case LOAN_ASK:
		seat_client(lender, &message);
		break;
	case LOAN_INFO:
		settle_ahead(lender, 0); /* revokes none */
		lender_tell(lender, daemon->fd, message.number == 1);
		break;
	case LOAN_ADOPT:
		answer_adopt(lender, daemon->fd);
		break;
	case LOAN_WARM:
		set_floor(lender, &message);
		break;
	case LOAN_SESSION:
		sessions_take(lender->sessions, &message);
		break;
	case LOAN_REVOKE:
		clear_seats(lender);
		break;
	case LOAN_SETTINGS:
		take_settings(lender, &message);
		break;
	case LOAN_END:
		leave(lender, &message, daemon->fd);
		break;
	default:
		break; /* not for us */
	}
	loan_message_done(&message);
}

static void greet_daemon(struct lender *lender)
{
	uid_t uid = 0;
	pid_t pid = 0;
	/* cppcheck-suppress nullPointer ; a daemon has no address to tell */
	int fd = accept4(lender->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	if (!loan_is_trusted(fd, &uid, &pid)) {
		(void)close(fd);
		return;
	}
	struct source *daemon = add_source(&lender->daemons, SOURCE_DAEMON, fd);
	lender->alone_since_us = 0;
	if (watch(lender, daemon, EPOLLIN) < 0)
		lose_daemon(lender, daemon);
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

static void serve(struct lender *lender, struct source *source, uint32_t events)
{
	switch (source->kind) {
	case SOURCE_LISTENER:
		greet_daemon(lender);
		break;
	case SOURCE_SIGNALS:
		lender->is_over = true;
		break;
	case SOURCE_DAEMON:
		hear_daemon(lender, source);
		break;
	case SOURCE_LOAN:
		if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			end_loan(lender, source);
		else
			hear_client(lender, source);
		break;
	case SOURCE_DEATH:
		bury(lender, source);
		break;
	case SOURCE_SESSIONS:
		sessions_serve(lender->sessions);
		break;
	case SOURCE_GONE:
		break;
	}
}

/* True when memory is so scarce that nothing should be kept for later. */
static bool is_memory_low(void)
{
	char text[512];
	int64_t total = 0;
	int64_t available = 0;
	if (io_read_at(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) <= 0)
		return false;
	const char *total_at = strstr(text, "MemTotal:");
	const char *available_at = strstr(text, "MemAvailable:");
	if (!total_at || !available_at)
		return false;
	total = strtoll(total_at + strlen("MemTotal:"), NULL, 10);
	available = strtoll(available_at + strlen("MemAvailable:"), NULL, 10);
	return available < total / LOW_MEMORY_SHARE;
}

static void look(struct lender *lender)
{
	int64_t now_us = clock_us();
	if (now_us < lender->next_look_us)
		return;
	lender->next_look_us = now_us + LOOK_EVERY_US;
	lender->is_low_on_memory = is_memory_low();
	settle_ahead(lender, lender->is_low_on_memory ? INT64_MAX : now_us);
	struct pool *next = NULL;
	for (struct pool *pool = lender->pools; pool; pool = next) {
		next = pool->next;
		if (pool_look(pool, now_us))
			drop_pool(lender, pool);
		else if (pool_is_outdated(pool))
			renew_pool(lender, pool);
	}
	if (lender->alone_since_us != 0 && lender->loan_count == 0 &&
		sessions_count(lender->sessions) == 0 &&
		now_us - lender->alone_since_us > lender->options.linger_seconds * 1000000)
		lender->is_over = true;
}

/* Of those that need more cells, the one that was asked last. */
static struct pool *find_short(const struct lender *lender)
{
	struct pool *found = NULL;
	for (struct pool *pool = lender->pools; pool; pool = pool->next)
		if (pool_is_short(pool) && (!found || pool->asked_us > found->asked_us))
			found = pool;
	return found;
}

/* As the next one's cell can, as long as there are others: fill_row() comes to it. */
static bool may_wait(const struct lender *lender, const struct pool *pool)
{
	size_t enough = pool_fills_in_rows(pool) ? 0 : pool->wanted / 2;
	return pool->parked_count > enough && has_just_lent(lender);
}

/* How long the loop may sleep when there is nothing to do but to wait for cells. */
static int rest_ms(const struct lender *lender)
{
	for (const struct pool *pool = lender->pools; pool; pool = pool->next)
		if (pool_is_unready(pool))
			return PAUSE_US / 1000;
	return LOOK_EVERY_US / 1000;
}

/* Raises one more when it is time to. False: it is not. */
static bool fill_one(struct lender *lender)
{
	struct pool *needy = lender->is_low_on_memory ? NULL : find_short(lender);
	return needy && !may_wait(lender, needy) && fill(lender, needy);
}

/* Whether nobody runs in a cell of it, and the next will find none. */
static bool is_bare(const struct pool *pool)
{
	return pool->lent == 0 && pool->parked_count == 0;
}

/* One step of what can wait. Returns how long the loop may sleep until the next. */
static int work_ahead(struct lender *lender)
{
	bool is_busy = false;
	for (struct pool *pool = lender->pools; pool; pool = pool->next) {
		keeper_sweep(pool->keeper);
		is_busy |= pool_tend(pool);
		bool can_wait = has_just_lent(lender);
		if (!can_wait)
			is_busy |= pool_warm(pool);
		/* who comes when no cell is left finds the beginning of one: slot, groups, and an
		 * init in its namespaces */
		if (!can_wait || is_bare(pool))
			keeper_tidy(pool->keeper);
	}
	is_busy |= fill_one(lender);
	return is_busy ? 0 : has_just_lent(lender) ? PAUSE_US / 1000 : rest_ms(lender);
}

static int run_loop(struct lender *lender, struct err *err)
{
	int sleep_ms = 0;
	while (!lender->is_over) {
		struct epoll_event events[64];
		int n = epoll_wait(lender->epoll_fd, events, COUNT_OF(events), sleep_ms);
		if (n < 0 && errno != EINTR)
			return err_sys(err, errno, "wait for requests");
		for (int i = 0; i < n; i++)
			serve(lender, events[i].data.ptr, events[i].events);
		forget_gone(lender);
		look(lender);
		int due_ms = sessions_tick(lender->sessions);
		sleep_ms = n > 0 ? 0 : work_ahead(lender);
		sleep_ms = due_ms < sleep_ms ? due_ms : sleep_ms;
	}
	return 0;
}

static int open_signals(void)
{
	sigset_t signals;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Every cell that stands ready holds a dozen descriptors. */
static void raise_own_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_sessions(struct lender *lender, struct err *err)
{
	const struct sessions_host host = { .most = (size_t)lender->options.most_sessions,
		.context = lender,
		.find_pool = pool_for_session,
		.changed = tell_daemons };
	TRY(sessions_open(&host, &lender->sessions, err));
	lender->session_events.fd = sessions_fd(lender->sessions);
	if (watch(lender, &lender->session_events, EPOLLIN) < 0)
		return err_sys(err, errno, "watch sessions");
	return 0;
}

static void lender_done(struct lender *lender)
{
	sessions_close(lender->sessions);
	for (struct source *loan = lender->loans; loan; loan = loan->next)
		if (loan->cell)
			cell_strike(loan->cell);
	while (lender->loans)
		if (lender->loans->cell)
			bury(lender, lender->loans);
		else
			drop_loan(lender, lender->loans);
	while (lender->pools)
		drop_pool(lender, lender->pools);
	while (lender->daemons)
		drop_source(lender, &lender->daemons, lender->daemons);
	forget_gone(lender);
	own_close(&lender->listener.fd);
	own_close(&lender->signals.fd);
	own_close(&lender->epoll_fd);
}

int lend(const struct lend_options *options, struct err *err)
{
	struct lender lender = { .options = *options,
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
		.listener = { .kind = SOURCE_LISTENER, .fd = -1 },
		.signals = { .kind = SOURCE_SIGNALS, .fd = open_signals() },
		.session_events = { .kind = SOURCE_SESSIONS, .fd = -1 },
		.alone_since_us = clock_us() };
	raise_own_limit();
	int r = loan_listen(options->socket, &lender.listener.fd, err);
	if (r == 0)
		r = open_sessions(&lender, err);
	if (r == 0 && (watch(&lender, &lender.listener, EPOLLIN) < 0 ||
			      watch(&lender, &lender.signals, EPOLLIN) < 0))
		r = err_sys(err, errno, "watch the socket");
	if (r == 0) {
		r = run_loop(&lender, err);
		(void)unlink(options->socket);
	}
	lender_done(&lender);
	return r;
}
