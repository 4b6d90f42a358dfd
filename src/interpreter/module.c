/* SPDX-License-Identifier: Apache-2.0 */
/* The Python module `_hotcell`: the interpreter room for any CPython from 3.7 on (abi3). */
#define Py_LIMITED_API 0x03070000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "interpreter/guest.h"
#include "interpreter/holes.h"
#include "interpreter/interpreter.h"
#include "interpreter/merge.h"
#include "interpreter/plain.h"

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
	merge_begin();
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

/* What the interpreter remembers of attributes it found while modules were loaded: each entry that
 * a guest replaces is a page of its own, and the forgotten name's another. */
static PyObject *forget_lookups(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	(void)PyType_ClearCache();
	return nothing();
}

static PyObject *begin_modules(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	holes_begin_modules();
	return nothing();
}

static PyObject *end_modules(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	holes_end_modules();
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

static PyObject *learn(PyObject *module, PyObject *things)
{
	(void)module;
	return PyDict_Check(things) && guest_learn(things) == 0 ? nothing() : NULL;
}

static PyObject *run(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return guest_run();
}

static PyObject *leave(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return guest_leave();
}

static PyObject *rehearse(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	plain_rehearse();
	return nothing();
}

static PyObject *is_harmless(PyObject *module, PyObject *code)
{
	(void)module;
	return PyBool_FromLong(plain_is_harmless(code));
}

static PyObject *find_value(PyObject *module, PyObject *args)
{
	PyObject *code = NULL;
	const char *source = NULL;
	Py_ssize_t size = 0;
	(void)module;
	if (!PyArg_ParseTuple(args, "Oy#", &code, &source, &size))
		return NULL;
	PyObject *found = plain_find_value(code, source, (size_t)size);
	return found ? found : PyBool_FromLong(0);
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

/* The time of day, as what it was before: seconds, or nanoseconds. */
static PyObject *set_now(PyObject *module, PyObject *args)
{
	PyObject *names = NULL;
	PyObject *name = NULL;
	struct timespec now;
	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &names, &name))
		return NULL;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	PyObject *old = PyDict_GetItem(names, name);
	PyObject *value =
		old && PyLong_Check(old)
			? PyLong_FromLongLong(now.tv_sec * 1000000000LL + now.tv_nsec)
			: PyFloat_FromDouble((double)now.tv_sec + (double)now.tv_nsec * 1e-9);
	int r = value ? PyDict_SetItem(names, name, value) : -1;
	Py_XDECREF(value);
	return r < 0 ? NULL : nothing();
}

static PyObject *set_thread(PyObject *module, PyObject *args)
{
	PyObject *thread = NULL;
	PyObject *name = NULL;
	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &thread, &name))
		return NULL;
	PyObject *value = PyLong_FromLong((long)gettid());
	int r = value ? PyObject_SetAttr(thread, name, value) : -1;
	Py_XDECREF(value);
	return r < 0 ? NULL : nothing();
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
	{ "learn", learn, METH_O, "learn(things): what run() and leave() go by" },
	{ "run", run, METH_VARARGS,
		"run(): the interpreter's hook for exceptions: serve, and in each new payload run "
		"its "
		"program" },
	{ "leave", leave, METH_NOARGS, "leave(): the last exit handler" },
	{ "rehearse", rehearse, METH_NOARGS, "rehearse(): do what a program will need" },
	{ "is_harmless", is_harmless, METH_O,
		"is_harmless(code) -> bool: whether the guard need not look at it" },
	{ "find_value", find_value, METH_VARARGS,
		"find_value(code, source) -> the code that returns its value, None: it has none, "
		"False: unclear" },
	{ "draw_state", draw_state, METH_VARARGS, "draw_state(capsule) -> bool" },
	{ "set_now", set_now, METH_VARARGS, "set_now(names, name): the time of day" },
	{ "set_thread", set_thread, METH_VARARGS, "set_thread(thread, name): its number" },
	{ "forget_lookups", forget_lookups, METH_NOARGS, "forget_lookups()" },
	{ "begin_modules", begin_modules, METH_NOARGS,
		"begin_modules(): what is made from now on has pages of its own" },
	{ "end_modules", end_modules, METH_NOARGS, "end_modules(): the same" },
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
