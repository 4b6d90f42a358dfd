/* SPDX-License-Identifier: Apache-2.0 */
/* The Python module `_hotcell`: the interpreter room for any CPython from 3.7 on (abi3). */
#define Py_LIMITED_API 0x03070000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/own.h"
#include "interpreter/holes.h"
#include "interpreter/huge.h"
#include "interpreter/interpreter.h"

static PyObject *fail(const struct err *err)
{
	PyErr_SetString(PyExc_OSError, err->text);
	return NULL;
}

static PyObject *enter(PyObject *module, PyObject *args)
{
	struct err err = { 0 };
	int fd = -1;
	(void)module;
	if (!PyArg_ParseTuple(args, "i", &fd))
		return NULL;
	huge_begin();
	if (interpreter_enter(fd, &err) < 0)
		return fail(&err);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *nothing(void)
{
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *list_of(char **strings)
{
	PyObject *list = PyList_New(0);
	for (; list && *strings; strings++) {
		PyObject *item = PyUnicode_DecodeFSDefault(*strings);
		if (!item || PyList_Append(list, item) < 0) {
			Py_XDECREF(item);
			Py_CLEAR(list);
			break;
		}
		Py_DECREF(item);
	}
	return list;
}

/* Whoever gets here again in the interpreter has nobody left to serve. */
static PyObject *serve(PyObject *module, PyObject *args)
{
	struct err err = { 0 };
	const char *code = NULL;
	int fd = -1;
	(void)module;
	if (!PyArg_ParseTuple(args, "is", &fd, &code))
		return NULL;
	PyObject *version = PySys_GetObject("hexversion");
	holes_fill(version ? PyLong_AsLong(version) : 0);
	huge_merge();
	int r = interpreter_serve(fd, code, &err);
	if (r == 1)
		_exit(0);
	if (r < 0)
		return fail(&err);
	return nothing();
}

/* What the interpreter remembers of attributes it found while modules were loaded: each entry that
 * a guest replaces is a page of its own, and the forgotten name's another. */
static PyObject *forget_lookups(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	(void)PyType_ClearCache();
	return nothing();
}

static PyObject *is_owner(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(interpreter_is_owner());
}

static PyObject *is_heard(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(interpreter_is_heard());
}

static PyObject *say_done(PyObject *module, PyObject *args)
{
	int exit_code = 0;
	(void)module;
	if (!PyArg_ParseTuple(args, "i", &exit_code))
		return NULL;
	interpreter_say_done(exit_code);
	return nothing();
}

static PyObject *read_source(struct arrival *arrival)
{
	PyObject *source = NULL;
	if (arrival->source_fd >= 0)
		source = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)arrival->source_size);
	if (source && arrival->source_size > 0 &&
		read(arrival->source_fd, PyBytes_AsString(source), arrival->source_size) !=
			(ssize_t)arrival->source_size)
		Py_CLEAR(source);
	own_close(&arrival->source_fd);
	if (source)
		return source;
	PyErr_Clear();
	return nothing();
}

/* As a list, or None for what most have and the template prepared for. */
static PyObject *unusual(char **strings, char *const *usual)
{
	size_t i = 0;
	while (strings[i] && usual[i] && strcmp(strings[i], usual[i]) == 0)
		i++;
	return strings[i] || usual[i] ? list_of(strings) : nothing();
}

static PyObject *arrive(PyObject *module, PyObject *unused)
{
	char *const usual_argv[] = { (char *)"main.py", NULL };
	struct arrival arrival;
	(void)module;
	(void)unused;
	int r = interpreter_arrive(&arrival);
	if (r < 0)
		_exit(1);
	if (r == 1)
		return nothing();
	/* N takes over what is built here, and fails when one of them did */
	return Py_BuildValue("(NNNiKiNNN)", unusual(arrival.job.argv, usual_argv),
		unusual(arrival.job.env, environ), read_source(&arrival), arrival.channel_fd,
		(unsigned long long)arrival.channel_inode, (int)arrival.pid,
		PyBool_FromLong(arrival.has_piped_input), PyBool_FromLong(arrival.is_alone),
		PyBool_FromLong(arrival.is_told_more));
}

/* The state of numpy's own generator, filled in at once: through its functions it would take two
 * hundred pages. guest.py makes sure that it is what we take it for. */
static PyObject *draw_state(PyObject *module, PyObject *args)
{
	struct mt19937 {
		uint32_t key[624];
		int position;
	};
	PyObject *capsule = NULL;
	(void)module;
	if (!PyArg_ParseTuple(args, "O", &capsule))
		return NULL;
	struct mt19937 **generator = PyCapsule_GetPointer(capsule, "BitGenerator");
	if (!generator) {
		PyErr_Clear();
		return PyBool_FromLong(0);
	}
	struct mt19937 *state = *generator;
	ssize_t n = getrandom(state->key, sizeof(state->key), 0);
	state->key[0] |= 0x80000000; /* not all may be zero */
	state->position = (int)COUNT_OF(state->key);
	return PyBool_FromLong(n == sizeof(state->key));
}

static PyObject *refuse(PyObject *module, PyObject *args)
{
	const char *why = NULL;
	(void)module;
	if (!PyArg_ParseTuple(args, "s", &why))
		return NULL;
	interpreter_refuse(why);
	_exit(1);
}

static PyObject *copy(PyObject *module, PyObject *args)
{
	struct err err = { 0 };
	struct copy_line line = { 0 };
	int is_branch = 0;
	int is_ahead = 0;
	(void)module;
	if (!PyArg_ParseTuple(args, "iikppy", &line.fd, &line.place, &line.number, &is_branch,
		    &is_ahead, &line.notes))
		return NULL;
	line.is_branch = is_branch;
	line.is_ahead = is_ahead;
	pid_t pid = interpreter_copy(&line, &err);
	if (pid < 0)
		return fail(&err);
	return Py_BuildValue("(iN)", (int)pid, PyBool_FromLong(line.is_branch));
}

static PyObject *had_children(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(interpreter_had_children());
}

static PyObject *is_plain(PyObject *module, PyObject *args)
{
	int own_fds[3];
	(void)module;
	if (!PyArg_ParseTuple(args, "iii", &own_fds[0], &own_fds[1], &own_fds[2]))
		return NULL;
	return PyBool_FromLong(interpreter_is_plain(own_fds, COUNT_OF(own_fds)));
}

static PyObject *has_descriptors(PyObject *module, PyObject *args)
{
	int own_fds[3];
	(void)module;
	if (!PyArg_ParseTuple(args, "iii", &own_fds[0], &own_fds[1], &own_fds[2]))
		return NULL;
	return PyBool_FromLong(interpreter_has_descriptors(own_fds, COUNT_OF(own_fds)));
}

/* None when the kernel cannot tell. */
static PyObject *list_shared(PyObject *module, PyObject *unused)
{
	char name[4096];
	uint64_t address = 0;
	int r = -1;
	(void)module;
	(void)unused;
	auto_fd int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	PyObject *list = PyList_New(0);
	while (list && fd >= 0 &&
		(r = interpreter_next_shared(fd, &address, name, sizeof(name))) > 0) {
		PyObject *item = PyUnicode_DecodeFSDefault(name);
		if (!item || PyList_Append(list, item) < 0)
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	if (list && r < 0) {
		Py_CLEAR(list);
		Py_INCREF(Py_None);
		return Py_None;
	}
	return list;
}

static PyMethodDef methods[] = {
	{ "enter", enter, METH_VARARGS, "enter(fd): wait for the template and go into it" },
	{ "refuse", refuse, METH_VARARGS, "refuse(why): end, and say why there are no guests" },
	{ "serve", serve, METH_VARARGS, "serve(fd, code): serve; returns in each new payload" },
	{ "draw_state", draw_state, METH_VARARGS, "draw_state(capsule) -> bool" },
	{ "forget_lookups", forget_lookups, METH_NOARGS, "forget_lookups()" },
	{ "is_owner", is_owner, METH_NOARGS, "is_owner() -> bool: whether we are the payload" },
	{ "is_heard", is_heard, METH_NOARGS, "is_heard() -> bool: whether the channel is there" },
	{ "say_done", say_done, METH_VARARGS,
		"say_done(exit_code): say the last word, and linger if somebody hears it" },
	{ "copy", copy, METH_VARARGS,
		"copy(line, place, number, is_branch, is_ahead, notes) -> (pid of the copy, "
		"is_branch); in "
		"it the "
		"pid is 0, once it has a turn" },
	{ "is_plain", is_plain, METH_VARARGS,
		"is_plain(fd, fd, fd): whether a copy of this process would lack and share "
		"nothing, but "
		"for these descriptors" },
	{ "has_descriptors", has_descriptors, METH_VARARGS,
		"has_descriptors(fd, fd, fd): whether there are any besides these and the standard "
		"ones" },
	{ "had_children", had_children, METH_NOARGS, "had_children() -> bool" },
	{ "list_shared", list_shared, METH_NOARGS,
		"list_shared() -> names of mappings that are shared and writable, or None" },
	{ "arrive", arrive, METH_NOARGS,
		"arrive() -> (argv, env, source, channel, inode, pid, has_piped_input, is_alone, "
		"is_told_more): wait for the job; None: it comes soon, rehearse. argv and env are "
		"None when there is nothing about them" },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_hotcell",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__hotcell(void);

PyMODINIT_FUNC PyInit__hotcell(void)
{
	return PyModule_Create(&definition);
}
