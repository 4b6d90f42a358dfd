/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon: it listens for clients, lets them in fairly and at most so many at once, and passes
 * those it admits on to the keeper, which serves them. It starts the keeper, and neither a crash of
 * its own nor a restart ends what the keeper holds: the next daemon takes it over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "config/config.h"
#include "wire/log.h"

struct server_settings {
	const char *socket_path;        /* borrowed; NULL: loan_socket_path() */
	const char *listen;             /* borrowed; where HTTP is served besides; NULL: nowhere */
	const char *public_name;        /* borrowed; NAME,…: what others know this machine by */
	const char *tls_cert, *tls_key; /* borrowed; paths, or NULL: no TLS */
	bool is_plain;                  /* other machines may come without TLS */
	int64_t concurrency;            /* most loans at once */
	int64_t queue;                  /* most who wait for one */
	int64_t parked;                 /* most cells that stand ready */
	int64_t sessions;               /* most sessions */
	const char *warm;               /* borrowed; what does from the beginning */
	int64_t drain_s;                /* what is under way has so long when it is told to end */
	enum log_format log_format;
	enum log_level log_level;
	int64_t idle_s; /* on demand: leaves after so long without a client */
	bool is_on_demand;
	bool has_idle; /* it was given */
	struct config_wish wish;
	struct config *config; /* owned; what they were read from, or NULL: nothing */
	/* Reads them anew, on SIGHUP. NULL: they stay as they are. */
	int (*reread)(void *context, struct server_settings *ret_settings, struct err *err);
	void *context; /* of reread */
};

/* One option of the daemon, for whoever reads a command line. */
struct server_option {
	const char *flag;
	const char *metavar; /* NULL: takes no value */
	const char *help;
};

extern const struct server_option server_options[];
extern const size_t server_option_count;

void server_settings_init(struct server_settings *settings);
void server_settings_done(struct server_settings *settings);

/* Sets one of server_options; `value` is NULL for one without, and must outlive the settings. */
int server_settings_set(
	struct server_settings *settings, const char *flag, const char *value, struct err *err);

/* Sets what the configuration says of the daemon; it must outlive the settings. */
int server_settings_configure(
	struct server_settings *settings, const struct config *config, struct err *err);

/* Whether they fit together. */
int server_settings_check(const struct server_settings *settings, struct err *err);

/* Whether the value of --warm makes sense. */
int warm_check(const char *list, struct err *err);

/* Serves until it is told to end (SIGTERM, SIGINT, or its terminal goes) or, on demand, not needed.
 * SIGHUP has the settings read again. Takes them. */
int server_run(struct server_settings *settings, struct err *err);
