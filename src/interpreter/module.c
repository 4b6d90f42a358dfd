/* SPDX-License-Identifier: Apache-2.0 */
/* The Python module `_hotcell`: the interpreter room for any CPython from 3.7 on (abi3). */
#define Py_LIMITED_API 0x03070000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "base/own.h"
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
	if (interpreter_enter(fd, &err) < 0)
		return fail(&err);
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
	static const struct fork_hooks hooks = { PyOS_BeforeFork, PyOS_AfterFork_Parent,
		PyOS_AfterFork_Child };
	struct err err = { 0 };
	int fd = -1;
	(void)module;
	if (!PyArg_ParseTuple(args, "i", &fd))
		return NULL;
	int r = interpreter_serve(fd, &hooks, &err);
	if (r == 1)
		_exit(0);
	if (r < 0)
		return fail(&err);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *is_called(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(interpreter_is_called());
}

static PyObject *take_job(PyObject *module, PyObject *unused)
{
	struct job job = { 0 };
	(void)module;
	(void)unused;
	if (interpreter_take_job(&job) < 0)
		_exit(1);
	PyObject *argv = list_of(job.argv);
	PyObject *env = list_of(job.env);
	PyObject *pair = argv && env ? PyTuple_Pack(2, argv, env) : NULL;
	Py_XDECREF(argv);
	Py_XDECREF(env);
	return pair;
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

static PyMethodDef methods[] = {
	{ "enter", enter, METH_VARARGS, "enter(fd): wait for the template and go into it" },
	{ "refuse", refuse, METH_VARARGS, "refuse(why): end, and say why there are no guests" },
	{ "serve", serve, METH_VARARGS, "serve(fd): serve; returns in each new payload" },
	{ "is_called", is_called, METH_NOARGS, "is_called() -> bool: whether the job is there" },
	{ "take_job", take_job, METH_NOARGS, "take_job() -> (argv, env): wait for the job" },
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
