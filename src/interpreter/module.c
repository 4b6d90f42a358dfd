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
	struct job job = { 0 };
	int fd = -1;
	(void)module;
	if (!PyArg_ParseTuple(args, "i", &fd))
		return NULL;
	if (interpreter_serve(fd, &hooks, &job) == 1)
		_exit(0);
	PyObject *argv = list_of(job.argv);
	PyObject *env = list_of(job.env);
	PyObject *pair = argv && env ? PyTuple_Pack(2, argv, env) : NULL;
	Py_XDECREF(argv);
	Py_XDECREF(env);
	return pair;
}

static PyMethodDef methods[] = {
	{ "enter", enter, METH_VARARGS, "enter(fd): wait for the template and go into it" },
	{ "serve", serve, METH_VARARGS,
		"serve(fd) -> (argv, env): serve; returns in each new payload" },
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
