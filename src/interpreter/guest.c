/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter calls run() in the place of sys.excepthook, when a template is complete and
 * raised an exception to leave all frames behind. So nothing of ours is beneath a program's own
 * frames, and it ends by the interpreter's own roads. A job as most have it is done in here
 * (plain.c); any other is handed to guest.py with what was found at the gate.
 */
#define Py_LIMITED_API 0x03070000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "interpreter/guest.h"
#include "interpreter/holes.h"
#include "interpreter/interpreter.h"
#include "interpreter/plain.h"

enum { CONTROL_FD = 3 };

/* What the template prepared. */
static struct {
	PyObject *trial;        /* the code of a program that does what most do */
	PyObject *clean;        /* takes our traces away */
	PyObject *fresh;        /* calls that make anew what must not be the template's */
	PyObject *take, *start; /* prepares the program of an arrival; runs it */
	PyObject *leave;        /* the end of a program that is not plain */
	PyObject *stdin_pipe;   /* sys.stdin for a pipe */
	PyObject *core;         /* the names of core.py */
} guest;

/* clang-format off */
static const struct wanted wanted[] = {
	{ "trial", &guest.trial },     { "clean", &guest.clean },
	{ "fresh", &guest.fresh }, { "take", &guest.take },
	{ "start", &guest.start },     { "leave", &guest.leave },
	{ "stdin_pipe", &guest.stdin_pipe }, { "core", &guest.core },
};
/* clang-format on */

int guest_learn(PyObject *things)
{
	return plain_take(things, wanted, COUNT_OF(wanted)) < 0 ? -1 : plain_learn(things);
}

/* ---- arriving ---------------------------------------------------------------------------- */

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

static PyObject *read_source(struct arrival *arrival)
{
	PyObject *source = NULL;
	if (arrival->job.code)
		return PyBytes_FromStringAndSize(
			arrival->job.code, (Py_ssize_t)arrival->job.code_len);
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

/* The error that is set, for whoever waits for a payload that will not come. */
static void refuse(void)
{
	char text[256] = "a guest could not be made";
	PyObject *type = NULL;
	PyObject *error = NULL;
	PyObject *trace = NULL;
	PyErr_Fetch(&type, &error, &trace);
	PyErr_NormalizeException(&type, &error, &trace);
	PyObject *words = error ? PyObject_Repr(error) : NULL;
	PyObject *bytes = words ? PyUnicode_AsUTF8String(words) : NULL;
	if (bytes)
		(void)snprintf(text, sizeof(text), "%.255s", PyBytes_AsString(bytes));
	interpreter_refuse(text);
	_exit(1);
}

static void call(PyObject *function)
{
	PyObject *done = PyObject_CallFunctionObjArgs(function, NULL);
	if (!done)
		refuse();
	Py_XDECREF(done);
}

static void freshen(void)
{
	for (Py_ssize_t i = 0; i < PyList_Size(guest.fresh); i++) {
		PyObject *pair = PyList_GetItem(guest.fresh, i);
		PyObject *done =
			PyObject_Call(PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), NULL);
		if (!done)
			refuse();
		Py_XDECREF(done);
	}
}

static void tell_core(const char *name, long number)
{
	PyObject *value = PyLong_FromLong(number);
	if (!value || PyDict_SetItemString(guest.core, name, value) < 0)
		refuse();
	Py_XDECREF(value);
}

/* Unless core.py knows it: it may have come ahead of the job. */
static void tell_channel(const struct arrival *arrival)
{
	static uint64_t told_inode;
	if (arrival->channel_fd >= 0 && arrival->channel_inode == told_inode)
		return;
	tell_core("channel_fd", arrival->channel_fd);
	tell_core("channel_inode", (long)arrival->channel_inode);
	tell_core("channel_owner", (long)arrival->pid);
	told_inode = arrival->channel_inode;
}

/* Returns in a guest that has its job. */
static void await_job(struct arrival *ret_arrival)
{
	struct err err = { 0 };
	holes_fill();
	int r = interpreter_serve(CONTROL_FD, PyBytes_AsString(guest.trial), &err);
	if (r != 0)
		_exit(r == 1 ? 0 : 1); /* nobody is left to serve, or has been told why */
	freshen();
	while ((r = interpreter_arrive(ret_arrival)) == 1) {
		tell_channel(ret_arrival);
		plain_rehearse();
	}
	if (r < 0)
		_exit(1);
	tell_channel(ret_arrival);
}

/* ---- running ----------------------------------------------------------------------------- */

static bool is_usual(const struct arrival *arrival, PyObject *argv, PyObject *env)
{
	return argv == Py_None && env == Py_None && arrival->is_alone && !arrival->is_told_more;
}

/* The hook that we are in counts as a call, and the frame that core.py hides as another one: a
 * recursion of the program is to end where it does on any other road. The two functions are there
 * from Python 3.9 on. */
static PyObject *start_uncounted(void)
{
	void (*leave)(void) = NULL;
	int (*enter)(const char *) = NULL;
	*(void **)&leave = dlsym(RTLD_DEFAULT, "Py_LeaveRecursiveCall");
	*(void **)&enter = dlsym(RTLD_DEFAULT, "Py_EnterRecursiveCall");
	if (!leave || !enter)
		return PyObject_CallFunctionObjArgs(guest.start, NULL);
	leave();
	PyObject *result = PyObject_CallFunctionObjArgs(guest.start, NULL);
	(void)enter("");
	return result;
}

/* Takes the four. */
static PyObject *run_by_python(const struct arrival *arrival, PyObject *argv, PyObject *env,
	PyObject *source, PyObject *code)
{
	PyObject *taken = PyObject_CallFunction(guest.take, "NNNiNNN", argv, env, source,
		arrival->channel_fd, PyBool_FromLong(arrival->is_alone),
		PyBool_FromLong(arrival->is_told_more), code ? code : nothing());
	if (!taken)
		return NULL;
	Py_DECREF(taken);
	return start_uncounted();
}

static PyObject *run(struct arrival *arrival)
{
	char *const usual_argv[] = { (char *)"main.py", NULL };
	PyObject *argv = unusual(arrival->job.argv, usual_argv);
	PyObject *env = unusual(arrival->job.env, environ);
	PyObject *source = read_source(arrival);
	PyObject *result = NULL;
	if (!argv || !env || !source)
		refuse();
	if (arrival->has_piped_input) {
		(void)PySys_SetObject("stdin", guest.stdin_pipe);
		(void)PySys_SetObject("__stdin__", guest.stdin_pipe);
	}
	if (source == Py_None || !is_usual(arrival, argv, env) || plain_run(source, &result) == 1)
		return run_by_python(arrival, argv, env, source, result);
	Py_DECREF(argv);
	Py_DECREF(env);
	Py_DECREF(source);
	return result;
}

PyObject *guest_run(void)
{
	struct arrival arrival;
	call(guest.clean);
	await_job(&arrival);
	return run(&arrival);
}

PyObject *guest_leave(void)
{
	int status = plain_status();
	if (status >= 0 && plain_is_over()) {
		interpreter_say_done(status);
		_exit(status);
	}
	if (status >= 0)
		tell_core("exit_status", status);
	plain_let_go();
	return PyObject_CallFunctionObjArgs(guest.leave, NULL);
}
