/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the daemon share: its clients, its link to the keeper, and itself. */
#pragma once

#include <sys/types.h>

#include "base/loop.h"
#include "loan/loan.h"
#include "server/http.h"
#include "server/queue.h"
#include "server/server.h"

enum {
	SOCKET_PATH_MAX = 108, /* of the kernel, with the NUL */
	SPARE_CLIENTS = 64,    /* connections beyond those that run and wait */
	SPEAK_MS = 5000,       /* a client that says nothing for so long is dropped */
	NEWS_MS = 200,         /* between two tellings of their place to those who wait */
	DEATHS_MAX = 3,        /* a keeper that ends so often … */
	DEATHS_MS = 10000,     /* … within this is given up for the same time */
};

enum client_state {
	CLIENT_SILENT = 0, /* has not said yet what it wants */
	CLIENT_CURIOUS,    /* asked how things are; the keeper is being asked */
	CLIENT_CALLING,    /* has a request for a session, and the keeper is not there yet */
	CLIENT_WAITING,    /* asked for a cell and is in the queue */
	CLIENT_RUNNING, /* was passed on: only its hang-up is of interest, and it is never read from
			 */
};

struct client {
	struct waiter waiter; /* first: a waiter is its client */
	struct server *server;
	struct client *next, *prev; /* in a list of the server's */
	struct watch watch;
	int fd; /* owned */
	enum client_state state;
	uint64_t key;   /* whose: user and session */
	bool is_worker; /* one of ours: what it asks for came over HTTP */
	int64_t deadline_us;
	struct loan_message request; /* owned, while it waits or calls */
	uint32_t told;               /* how many it was told are before it */
};

struct clients {
	struct client *first, *last;
	size_t count;
};

enum link_state {
	LINK_DOWN = 0,
	LINK_STARTING, /* it was started and does not listen yet */
	LINK_ADOPTING, /* it tells what is lent */
	LINK_UP,
	LINK_GIVEN_UP, /* it ended again and again; until retry_us */
};

/* The connection to the keeper. */
struct link {
	enum link_state state;
	struct watch watch;
	int fd;      /* owned */
	int pidfd;   /* owned; of the keeper that answers */
	pid_t child; /* the keeper we started, until it is reaped; -1 */
	bool is_full;
	int64_t retry_us, deadline_us;
	int64_t deaths_us[DEATHS_MAX];
	size_t death_count;
	char path[SOCKET_PATH_MAX];
};

struct server {
	struct server_settings settings;
	struct loop loop;
	struct watch listen_watch, signal_watch;
	int listen_fd, signal_fd; /* owned */
	char path[SOCKET_PATH_MAX];
	struct link link;
	struct clients quiet;  /* silent, curious and calling, the longest first */
	struct clients served; /* waiting and running */
	struct queue queue;
	struct http *http; /* owned */
	size_t running;
	bool has_stayed;        /* some may hold cells, or seats, that they do not need yet */
	size_t sessions;        /* that the keeper holds */
	uint64_t lent, refused; /* since the start */
	uint64_t again; /* loans to those who kept their seats, as the keeper counted last */
	int64_t started_us;
	int64_t idle_us;   /* since when nobody is here */
	int64_t news_us;   /* when those who wait are told; 0: there is nothing new */
	int64_t accept_us; /* when we accept again; 0: we do */
	bool has_terminal; /* it was started in one */
	bool is_ready;
	bool is_leaving;
	bool is_draining;  /* told to end: nothing new begins */
	bool is_cancelled; /* and what had begun was told to end */
	int64_t drain_us;  /* the end of its time */
	bool is_over;
	struct err *err; /* why it is over; a code of 0: as it should be */
};

/* client.c */
void client_accept(void *context, uint32_t events); /* of the listening socket */
void client_adopt(struct server *server, int fd);   /* takes fd */
void client_let_in(struct server *server, int fd);  /* one that just connected; takes fd */
void client_refuse(struct client *client, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void client_drop(struct client *client);
void client_set_state(struct client *client, enum client_state state);
void client_run_late(struct server *server, int64_t now_us); /* those past their deadline */

/* call.c */
void call_take(struct client *client, struct loan_message *request); /* takes what it needs */
void call_pass_all(struct server *server);

/* admission.c */
void admit_ask(struct client *client, struct loan_message *request); /* takes what it needs */
void admit_next(struct server *server);
void admit_revoke(struct server *server); /* what clients hold ahead; their places are free soon */
void admit_refuse_all(struct server *server, const struct err *err);
void admit_tell(struct server *server, int64_t now_us); /* those who wait, where they are */
void admit_note_change(struct server *server);

/* warm.c */
void warm_up(struct server *server, const char *list);
void warm_down(struct server *server, const char *list); /* no more of them than are asked for */

/* reload.c */
void reload(struct server *server);
bool reload_is_hangup(const struct server *server); /* the signal means that the terminal is gone */

/* drain.c */
void drain_begin(struct server *server);
void drain_tick(struct server *server, int64_t now_us);
int64_t drain_next_us(const struct server *server);
/* True: it asks for something new, and was sent away. */
bool drain_refuse(struct client *client, const struct loan_message *message);

/* link.c */
void link_open(struct server *server);
void link_tick(struct server *server, int64_t now_us);
void link_reap(struct server *server);
void link_tell_settings(struct server *server);
int64_t link_next_us(const struct server *server);
int link_send(struct server *server, enum loan_kind kind, uint32_t number, const void *text,
	size_t len, const int *fds,
	size_t fd_count);             /* -EAGAIN: it is full, admit_next() comes again */
void link_end(struct server *server); /* ends the keeper and waits for it */

/* status.c */
void status_answer(struct server *server, const char *keeper, size_t len);

/* notify.c */
void notify(const char *state);

/* server.c */
void server_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int server_allow_descriptors(const struct server_settings *settings, struct err *err);
void server_set_ready(struct server *server);
struct http_settings server_http_settings(struct server *server);
void server_fail(struct server *server, const struct err *err);
