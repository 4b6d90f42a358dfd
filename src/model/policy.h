/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy: all that a cell is raised under before anyone knows what it will run. Cells of one
 * policy are interchangeable, so its text is what a pool of them is known by. Every field of the
 * spec belongs to it unless the table says that it is the job's: a new one can make cells less
 * alike, never more.
 */
#pragma once

#include <sys/types.h>

#include "model/spec.h"

/* How far a cell goes ahead of its job. */
enum cell_form {
	FORM_GATE = 0, /* to the gate: the program is executed when the job comes */
	FORM_GUEST,    /* the payload was forked from an interpreter that stands ready */
	FORM_STARTED,  /* the program was executed and waits on its channel */
	CELL_FORM_COUNT,
};

extern const char *const cell_form_names[CELL_FORM_COUNT + 1];

struct policy {
	struct spec spec;
	char *runtime; /* owned; the directory of the language's runner, from the root, or NULL */
	enum cell_form form;
	struct strings standing; /* what stands ready: the interpreter, or the waiting program */
	bool has_full_proc;
	char *interpreter; /* owned; runs the code of a cell with few commands, or NULL */
};

void policy_init(struct policy *policy);
void policy_done(struct policy *policy);

/* The text (owned by the caller). NULL: no text can tell it to another, because a path in it is not
 * UTF-8 or leads nowhere from here. */
char *policy_to_json(const struct policy *policy);
int policy_from_json(struct policy *policy, const char *text, size_t len, struct err *err);

/* Which directories its paths lead to: they are part of the text. */
struct policy_places {
	struct policy_place {
		dev_t device;
		ino_t inode;
	} runtime, root; /* of none, or of the host's root: zeros */
};

void policy_find_places(const struct policy *policy, struct policy_places *ret_places);

/* Whether the texts of two policies that lead to the same places are the same, found out without
 * writing them. False as well where only the texts would tell. */
bool policy_is_same(const struct policy *one, const struct policy *other);
