/* SPDX-License-Identifier: Apache-2.0 */
/* What a request may say, in its body or behind its path: for whoever reads it, whoever words an
 * error, and whoever describes it. */
#pragma once

#include "model/field.h"
#include "worker/worker.h"

struct form {
	const char *name;           /* of its schema; NULL: of a query */
	bool is_job;                /* a job of `kind`: with fields of a spec, and the job's own */
	enum work_kind kind;        /* of that */
	const struct field *fields; /* its own; the last has no name; NULL: none */
};

/* The fields by number, NULL past the last; what the path says is none of them. */
const struct field *form_field(const struct form *form, size_t number);
const struct field *form_find(const struct form *form, const char *name);
