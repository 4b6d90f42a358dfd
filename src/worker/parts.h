/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a worker's own side share. */
#pragma once

#include "config/config.h"
#include "engine/engine.h"
#include "worker/protocol.h"
#include "worker/worker.h"

/* What a worker has from its start. A request counts more than the settings; what is wrong with
 * them every job hears. */
struct post {
	struct config config;
	struct err err; /* of the settings; ERR_NONE: they are right */
	struct engine_memory *memory;
};

/* A job that came. */
struct order {
	const struct post *post;
	struct work_head head;
	const char *text;
};

/* From the owner. 1: all of it is there; 0: the owner is gone. */
int order_read(void *data, size_t len);

/* Whether the owner does not want it any more. */
bool order_is_cancelled(const struct order *order);

/* Fills what the asker left open. */
int order_configure(const struct order *order, struct spec *spec, struct err *err);

/* Whose it is, NULL: the owner's own; and the token it was asked with, NULL: none. */
const char *order_tenant(const struct order *order);
const char *order_token(const struct order *order);

/* Each does its job and tells how it ended, in the last event. 0, or -errno when the owner did not
 * hear it. */
int do_session(const struct order *order);
int do_turn(const struct order *order);
int do_check(const struct order *order);
int do_records(const struct order *order);

/* file.c: {"path","size"} and "text" or "base64", the caller's. */
int read_session_file(const char *tenant, const char *session, const char *path,
	struct json_object **ret_answer, struct err *err);

/* The last event of a job that is no run: its answer, as JSON text; or what is in the way. */
int tell_answer(const char *answer);
int tell_refusal(const struct err *err);
