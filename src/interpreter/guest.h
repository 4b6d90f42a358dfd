/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a guest, from the template's last word to its own. Python.h comes first. */
#pragma once

/* Remembers what guest.py hands over, by name; what is missing fails. */
int guest_learn(PyObject *things);

/* Serves, and returns in each new payload as a hook for exceptions does: its program has run. */
PyObject *guest_run(void);

/* The last exit handler: most end here. */
PyObject *guest_leave(void);
