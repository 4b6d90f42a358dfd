/* SPDX-License-Identifier: Apache-2.0 */
/* The short road of a guest: see plain.c. Python.h comes first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What is handed over by name, and where it belongs. It is held from then on. */
struct wanted {
	const char *name;
	PyObject **at;
};

/* Takes these from a dict; one that is missing fails. */
int plain_take(PyObject *things, const struct wanted *names, size_t count);
int plain_learn(PyObject *things);

/* Runs the program in `source` (bytes) if it is a plain one. 1: it is not, and nothing has happened
 * yet; *ret is its code, which is the caller's, or NULL. Otherwise as a hook of the interpreter
 * ends: *ret is what to return. */
int plain_run(PyObject *source, PyObject **ret);

/* Goes the same way with a program that does nothing. */
void plain_rehearse(void);

/* The exit status of a program that went this way to its end; less: none did. */
int plain_status(void);

/* Lets go of the program's module, which may have something to say when it goes. */
void plain_let_go(void);

/* Whether nothing of it is left to be looked after. The channel is ours from then on. */
bool plain_is_over(void);

/* The parts of it that core.py and guard.py have too. Whether the guard would say nothing about
 * this code; and the code that returns the value of its last expression: a new reference, None: it
 * has none; NULL without an error: ask core.py. */
bool plain_is_harmless(PyObject *code);
PyObject *plain_find_value(PyObject *code, const char *source, size_t size);
