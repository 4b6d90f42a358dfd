/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/terms.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "zygote/zygote.h"

enum { STARTED_FDS = 4 };

_Static_assert(
	LOAN_FD_COUNT + CGROUP_FDS_MAX + CGROUP_GAUGE_COUNT + SAMPLE_ACCOUNTS + 3 + STARTED_FDS <=
		IO_FDS_MAX,
	"fits one message");

/* Several descriptors, or none when one of them is missing. */
static uint32_t add_fds(const int *from, size_t count, int *fds, size_t *fd_count)
{
	for (size_t i = 0; i < count; i++)
		if (from[i] < 0)
			return false;
	memcpy(&fds[*fd_count], from, count * sizeof(from[0]));
	*fd_count += count;
	return true;
}

static void take_fds(int *to, size_t count, int *fds, size_t *at)
{
	for (size_t i = 0; i < count; i++)
		to[i] = take_fd(&fds[(*at)++]);
}

static void add_group(
	const struct cgroup *group, struct loan_terms *terms, int *fds, size_t *fd_count)
{
	terms->cgroup = group->site->kind;
	for (size_t i = 0; i < group->site->place_count; i++) {
		if (group->dir_fds[i] < 0)
			continue;
		terms->controllers[terms->group_count++] = group->site->places[i].controllers;
		fds[(*fd_count)++] = group->dir_fds[i];
	}
	terms->has_oom = group->oom_fd >= 0;
	if (terms->has_oom)
		fds[(*fd_count)++] = group->oom_fd;
	terms->has_gauges = add_fds(group->gauge_fds, CGROUP_GAUGE_COUNT, fds, fd_count);
}

/* They are the client's alone from now on: an input ends when its last writer is gone, and a call
 * that nobody listens for any more is refused when its last listener is. */
static void let_go_of_streams(struct cell *cell)
{
	own_close(&cell->listener_fd);
	own_close(&cell->stdin_fd);
	own_close(&cell->out_fds[STREAM_OUT]);
	own_close(&cell->out_fds[STREAM_ERR]);
	own_close(&cell->channel_fd);
}

/* Those that there are. */
static void add_accounts(const int *from, struct loan_terms *terms, int *fds, size_t *fd_count)
{
	for (size_t i = 0; i < SAMPLE_ACCOUNTS && from[i] >= 0; i++) {
		fds[(*fd_count)++] = from[i];
		terms->account_count++;
	}
}

/* What every cell has, in whoever's hands; the accounts of a turn are those of whoever serves it.
 * Returns how many descriptors there are. */
static size_t fill(
	const struct cell *cell, const struct account *turn, struct loan_terms *terms, int *fds)
{
	*terms = (struct loan_terms){ .form = cell->walls.form,
		.is_turn = turn != NULL,
		.mode = cell->keeper->mode,
		.has_workspace = cell->workspace.fd >= 0,
		.is_ready = cell->is_ready,
		.has_listener = cell->listener_fd >= 0 };
	fds[LOAN_FD_PAGE] = cell->page_fd;
	fds[LOAN_FD_INIT] = cell->pidfd;
	size_t fd_count = LOAN_FD_TURN_COUNT;
	if (!terms->is_turn) {
		fds[LOAN_FD_STATUS] = cell->status_fd;
		fds[LOAN_FD_GATE] = cell->gate_fd;
		fd_count = LOAN_FD_COUNT;
	}
	if (cell->has_group)
		add_group(&cell->group, terms, fds, &fd_count);
	add_accounts(turn ? turn->fds : cell->io_fds, terms, fds, &fd_count);
	if (turn) {
		terms->earlier_read = turn->read_bytes;
		terms->earlier_written = turn->write_bytes;
	}
	/* who borrows it does not see the template's page */
	cell_report(cell, &cell->page->report);
	if (terms->has_workspace)
		fds[fd_count++] = cell->workspace.fd;
	if (terms->has_listener)
		fds[fd_count++] = cell->listener_fd;
	return fd_count;
}

int terms_send(int conn_fd, struct cell *cell, bool is_warm)
{
	struct loan_terms terms = { 0 };
	int fds[IO_FDS_MAX];
	size_t fd_count = fill(cell, NULL, &terms, fds);
	terms.is_warm = is_warm;
	if (cell->walls.form == FORM_STARTED) {
		fds[fd_count++] = cell->stdin_fd;
		fds[fd_count++] = cell->out_fds[STREAM_OUT];
		fds[fd_count++] = cell->out_fds[STREAM_ERR];
		fds[fd_count++] = cell->channel_fd;
	}
	int r = loan_send(conn_fd, LOAN_GRANTED, 0, &terms, sizeof(terms), fds, fd_count);
	let_go_of_streams(cell);
	return r;
}

bool terms_settle(struct cell *cell, enum hold hold)
{
	uint32_t expected = HOLD_AHEAD;
	return __atomic_compare_exchange_n(&cell->page->hold, &expected, (uint32_t)hold, false,
		__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

int terms_send_turn(int conn_fd, const struct cell *cell, const struct account *account,
	uint32_t turn, const char *words)
{
	struct loan_terms terms = { 0 };
	int fds[IO_FDS_MAX];
	size_t fd_count = fill(cell, account, &terms, fds);
	size_t len = strlen(words);
	auto_free char *text = xcalloc(sizeof(terms) + len + 1, 1);
	memcpy(text, &terms, sizeof(terms));
	memcpy(text + sizeof(terms), words, len + 1);
	return loan_send(conn_fd, LOAN_GRANTED, turn, text, sizeof(terms) + len, fds, fd_count);
}

static size_t fixed_count(const struct loan_terms *terms)
{
	return terms->is_turn ? LOAN_FD_TURN_COUNT : LOAN_FD_COUNT;
}

static bool has_streams(const struct loan_terms *terms)
{
	return terms->form == FORM_STARTED && !terms->is_turn;
}

static bool is_sound(const struct loan_message *message, const struct loan_terms *terms)
{
	bool has_groups = terms->group_count > 0;
	return terms->form < CELL_FORM_COUNT && terms->group_count <= CGROUP_FDS_MAX &&
	       terms->cgroup <= CGROUP_V2 && has_groups == (terms->cgroup != CGROUP_NONE) &&
	       (has_groups || (!terms->has_oom && !terms->has_gauges)) &&
	       (terms->mode == MODE_ROOT || terms->mode == MODE_ROOTLESS) &&
	       (terms->is_ready || !terms->has_listener) &&
	       terms->account_count <= SAMPLE_ACCOUNTS &&
	       message->fd_count == fixed_count(terms) + terms->group_count + !!terms->has_oom +
					    (terms->has_gauges ? CGROUP_GAUGE_COUNT : 0) +
					    terms->account_count + !!terms->has_workspace +
					    !!terms->has_listener +
					    (has_streams(terms) ? STARTED_FDS : 0);
}

static void take_group(struct cell *cell, const struct loan_terms *terms, int *fds, size_t *at)
{
	struct cgroup_site *site = &cell->keeper->site;
	*site = (struct cgroup_site){ .kind = (enum cgroup_kind)terms->cgroup,
		.place_count = terms->group_count };
	cgroup_init(&cell->group, site);
	for (size_t i = 0; i < terms->group_count; i++) {
		site->places[i].controllers = terms->controllers[i];
		site->places[i].parent_fd = -1;
	}
	take_fds(cell->group.dir_fds, terms->group_count, fds, at);
	take_fds(&cell->group.oom_fd, !!terms->has_oom, fds, at);
	take_fds(cell->group.gauge_fds, terms->has_gauges ? CGROUP_GAUGE_COUNT : 0, fds, at);
	cell->has_group = terms->group_count > 0;
}

static int take_cell(
	struct cell *cell, struct loan_message *message, const struct loan_terms *terms)
{
	int *fds = message->fds;
	size_t at = fixed_count(terms);
	cell->page = zygote_map_page(fds[LOAN_FD_PAGE], sizeof(*cell->page));
	if (!cell->page)
		return -1;
	cell->keeper->base = cell->page;
	cell->pidfd = take_fd(&fds[LOAN_FD_INIT]);
	if (!terms->is_turn) {
		cell->status_fd = take_fd(&fds[LOAN_FD_STATUS]);
		cell->gate_fd = take_fd(&fds[LOAN_FD_GATE]);
	}
	take_group(cell, terms, fds, &at);
	take_fds(cell->io_fds, terms->account_count, fds, &at);
	take_fds(&cell->workspace.fd, !!terms->has_workspace, fds, &at);
	cell->is_ready = terms->is_ready;
	take_fds(&cell->listener_fd, !!terms->has_listener, fds, &at);
	if (has_streams(terms)) {
		take_fds(&cell->stdin_fd, 1, fds, &at);
		take_fds(cell->out_fds, STREAM_COUNT, fds, &at);
		take_fds(&cell->channel_fd, 1, fds, &at);
	}
	cell_own_workspace(cell);
	return 0;
}

static int refuse(struct err *err)
{
	return err_set(err, ERR_BROKEN,
		"the keeper's answer makes no sense: are all programs of the same version?");
}

int terms_take(struct loan_message *message, const struct policy *policy, struct keeper **keeper,
	struct err *err)
{
	struct loan_terms terms = { 0 };
	enum jail_mode mode = MODE_NONE;
	if (message->len == sizeof(terms))
		memcpy(&terms, message->text, sizeof(terms));
	if (!is_sound(message, &terms) || terms.is_turn ||
		(terms.form != policy->form && terms.form != FORM_GATE)) {
		keeper_close(take_ptr(keeper));
		return refuse(err);
	}
	mode = (enum jail_mode)terms.mode;
	if (!*keeper)
		*keeper = keeper_for_loan(mode, &policy->spec);
	(*keeper)->mode = mode;
	(*keeper)->is_warm = terms.is_warm;
	struct cell *cell = (*keeper)->parked;
	if (!cell || cell->walls.form != (enum cell_form)terms.form) {
		cell_free(cell);
		cell = (*keeper)->parked = cell_new(
			*keeper, &policy->spec, policy->has_full_proc, (enum cell_form)terms.form);
	}
	if (take_cell(cell, message, &terms) == 0)
		return 0;
	keeper_close(take_ptr(keeper));
	return err_set(err, ERR_BROKEN, "the keeper's page is not whole");
}

int terms_take_turn(struct loan_message *message, struct cell *cell, const char **ret_words,
	size_t *ret_len, struct err *err)
{
	struct loan_terms terms = { 0 };
	if (message->len >= sizeof(terms))
		memcpy(&terms, message->text, sizeof(terms));
	if (!is_sound(message, &terms) || !terms.is_turn)
		return refuse(err);
	cell->keeper->mode = (enum jail_mode)terms.mode;
	cell->walls.form = (enum cell_form)terms.form;
	if (take_cell(cell, message, &terms) < 0)
		return err_set(err, ERR_BROKEN, "the keeper's page is not whole");
	cell->turn->earlier_read = terms.earlier_read;
	cell->turn->earlier_written = terms.earlier_written;
	*ret_words = message->text + sizeof(terms);
	*ret_len = message->len - sizeof(terms);
	return 0;
}
