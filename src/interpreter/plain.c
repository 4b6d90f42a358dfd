/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short road of a guest. Whatever Python code does in a guest copies pages that it shares with
 * its template: an object that is only looked at is counted, and each count is a write. core.py,
 * guard.py and guest.py would touch two hundred pages on the way to the shortest program and back,
 * 3 µs each. Most programs need nothing of what they can do, and that can be found out in here,
 * where references are borrowed:
 *
 *   compile, ── is there anything for ── is there a value ── run ── is anything ── say that
 *   no warning   the guard to look at?    to show?                   left over?     it is done
 *
 * The first answer that is not a plain one leads to the Python code for it, which decides anew.
 * So nothing is decided here that is not decided there as well, and the results are the same.
 */
#define Py_LIMITED_API 0x03070000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "interpreter/interpreter.h"
#include "interpreter/plain.h"
#include "interpreter/tail.h"

enum { DEPTH_MAX = 4, ITEMS_MAX = 10000 };

/* What the template prepared. */
static struct {
	/* the program's module, the names that it has from the beginning, and its file's */
	PyObject *main, *main_names, *path, *path_bytes;
	/* compiling: what takes the place of stderr */
	PyObject *held;
	/* the guard: names and parts of texts that are a reason to look closer */
	PyObject *closer, *telling, *main_word;
	/* the value: how code ends that drops one, how one is returned, a prefix */
	PyObject *drops, *returns, *prefix;
	/* the end of core.py's start(): the program left, failed, or has a value */
	PyObject *left, *failed, *show;
	/* pictures that may be left to show: what has them, or None */
	PyObject *figures;
	/* leaving: what must not have grown, as pairs, or None; and what is to be done then */
	PyObject *known, *idle, *lock, *count_exits, *exit_count;
	PyObject *collect, *count_objects, *list_objects, *file_types;
	PyObject *nothing; /* a program that does nothing, as bytes */
} road;

/* clang-format off */
static const struct wanted wanted[] = {
	{ "main", &road.main },               { "main_names", &road.main_names },
	{ "path", &road.path },               { "path_bytes", &road.path_bytes },
	{ "held", &road.held },               { "closer", &road.closer },
	{ "telling", &road.telling },         { "main_word", &road.main_word },
	{ "drops", &road.drops },             { "returns", &road.returns },
	{ "prefix", &road.prefix },           { "left", &road.left },
	{ "failed", &road.failed },           { "show", &road.show },
	{ "figures", &road.figures },         { "known", &road.known },
	{ "idle", &road.idle },               { "lock", &road.lock },
	{ "count_exits", &road.count_exits }, { "exit_count", &road.exit_count },
	{ "collect", &road.collect },
	{ "count_objects", &road.count_objects }, { "list_objects", &road.list_objects },
	{ "file_types", &road.file_types },   { "nothing", &road.nothing },
};
/* clang-format on */

/* Names that are looked up, made once: a text that is made anew for it is a page. */
static struct {
	PyObject *co_names, *co_consts, *co_code, *replace, *text, *flush, *acquire, *file, *cached,
		*name, *main, *gc, *pyplot;
} word;

static int status = -1;         /* of a program that went this way to its end */
static bool is_left_over;       /* something of it, at a look that was in vain */
static Py_ssize_t module_count; /* in the template, with the program's */

static int make_words(void)
{
	/* clang-format off */
	const struct wanted words[] = {
		{ "co_names", &word.co_names }, { "co_consts", &word.co_consts },
		{ "co_code", &word.co_code },   { "replace", &word.replace },
		{ "text", &word.text },         { "flush", &word.flush },
		{ "acquire", &word.acquire },
		{ "__file__", &word.file },     { "__cached__", &word.cached },
		{ "__name__", &word.name },     { "__main__", &word.main },
		{ "gc", &word.gc },             { "matplotlib.pyplot", &word.pyplot },
	};
	/* clang-format on */
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		*words[i].at = PyUnicode_InternFromString(words[i].name);
		if (!*words[i].at)
			return -1;
	}
	return 0;
}

int plain_take(PyObject *things, const struct wanted *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		PyObject *thing = PyDict_GetItemString(things, names[i].name);
		if (!thing) {
			PyErr_SetString(PyExc_KeyError, names[i].name);
			return -1;
		}
		Py_INCREF(thing);
		*names[i].at = thing;
	}
	return 0;
}

int plain_learn(PyObject *things)
{
	module_count = PyDict_Size(PyImport_GetModuleDict());
	return plain_take(things, wanted, COUNT_OF(wanted)) < 0 ? -1 : make_words();
}

/* ---- compiling --------------------------------------------------------------------------- */

/* The code; NULL without an error: it cannot be compiled, and somebody else has the words. What the
 * compiler warns of is held back, for who compiles it again would repeat it. */
static PyObject *compile(const char *source)
{
	PyObject *own_stderr = PySys_GetObject("stderr");
	Py_XINCREF(own_stderr);
	(void)PySys_SetObject("stderr", road.held);
	PyObject *code = Py_CompileString(source, PyBytes_AsString(road.path_bytes), Py_file_input);
	PyErr_Clear();
	(void)PySys_SetObject("stderr", own_stderr);
	Py_XDECREF(own_stderr);
	PyObject *text = PyObject_GetAttr(road.held, word.text);
	if (!text || PyUnicode_GetLength(text) != 0)
		Py_CLEAR(code);
	Py_XDECREF(text);
	PyErr_Clear();
	return code;
}

/* ---- the guard --------------------------------------------------------------------------- */

/* Of a name with dots, what counts is what it begins with. */
static bool is_closer(PyObject *name)
{
	Py_ssize_t len = PyUnicode_GetLength(name);
	Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, len, 1);
	if (dot < 0)
		return PySet_Contains(road.closer, name) != 0;
	PyObject *first = PyUnicode_Substring(name, 0, dot);
	bool is = !first || PySet_Contains(road.closer, first) != 0;
	Py_XDECREF(first);
	return is;
}

static bool is_telling(PyObject *text)
{
	Py_ssize_t len = PyUnicode_GetLength(text);
	for (Py_ssize_t i = 0; i < PyTuple_Size(road.telling); i++)
		if (PyUnicode_Find(text, PyTuple_GetItem(road.telling, i), 0, len, 1) != -1)
			return PyUnicode_Compare(text, road.main_word) != 0;
	return false;
}

static bool is_harmless_tuple(PyObject *items)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(items); i++) {
		PyObject *item = PyTuple_GetItem(items, i);
		if (PyUnicode_Check(item) && is_telling(item))
			return false;
	}
	return true;
}

static bool are_harmless(PyObject *names, PyObject *consts, PyTypeObject *code_type)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++)
		if (is_closer(PyTuple_GetItem(names, i)))
			return false;
	for (Py_ssize_t i = 0; i < PyTuple_Size(consts); i++) {
		PyObject *item = PyTuple_GetItem(consts, i);
		if (Py_TYPE(item) == code_type && !plain_is_harmless(item))
			return false;
		if (PyUnicode_Check(item) && is_telling(item))
			return false;
		if (PyTuple_Check(item) && !is_harmless_tuple(item))
			return false;
	}
	return true;
}

bool plain_is_harmless(PyObject *code)
{
	PyObject *names = PyObject_GetAttr(code, word.co_names);
	PyObject *consts = PyObject_GetAttr(code, word.co_consts);
	bool is =
		names && consts && are_harmless(names, consts, Py_TYPE(code)) && !PyErr_Occurred();
	Py_XDECREF(names);
	Py_XDECREF(consts);
	PyErr_Clear();
	return is;
}

/* ---- the last expression ----------------------------------------------------------------- */

/* The instruction at which this code drops its last value, which is two bytes; less: it has none.
 * Arguments differ, so only every other byte counts. */
static Py_ssize_t find_drop(const char *text, Py_ssize_t len, const char *drops, Py_ssize_t size)
{
	bool is_dropped = len >= size;
	for (Py_ssize_t i = 0; is_dropped && i < size; i += 2)
		is_dropped = text[len - size + i] == drops[i];
	return is_dropped ? len - size : -1;
}

/* The same where the number of the constant None has a prefix. */
static Py_ssize_t find_prefixed_drop(
	const char *text, Py_ssize_t len, const char *drops, Py_ssize_t size)
{
	char prefixed[64] = { drops[0], 0, PyBytes_AsString(road.prefix)[0], 0 };
	if (size < 2 || size + 2 > (Py_ssize_t)sizeof(prefixed))
		return -1;
	memcpy(prefixed + 4, drops + 2, (size_t)size - 2);
	return find_drop(text, len, prefixed, size + 2);
}

static PyObject *replace_code(PyObject *code, PyObject *instructions)
{
	PyObject *replace = PyObject_GetAttr(code, word.replace);
	PyObject *no_args = PyTuple_New(0);
	PyObject *changes = PyDict_New();
	PyObject *made = NULL;
	if (replace && no_args && changes &&
		PyDict_SetItem(changes, word.co_code, instructions) == 0)
		made = PyObject_Call(replace, no_args, changes);
	Py_XDECREF(replace);
	Py_XDECREF(no_args);
	Py_XDECREF(changes);
	return made;
}

static PyObject *return_at(PyObject *code, const char *text, Py_ssize_t len, Py_ssize_t at)
{
	PyObject *changed = PyBytes_FromStringAndSize(text, len);
	if (!changed)
		return NULL;
	memcpy(PyBytes_AsString(changed) + at, PyBytes_AsString(road.returns), 2);
	PyObject *made = replace_code(code, changed);
	Py_DECREF(changed);
	return made;
}

static PyObject *no_value(void)
{
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *find_in(PyObject *code, PyObject *instructions, enum tail tail)
{
	char *text = NULL;
	char *drops = NULL;
	Py_ssize_t len = 0;
	Py_ssize_t size = 0;
	if (PyBytes_AsStringAndSize(instructions, &text, &len) < 0 ||
		PyBytes_AsStringAndSize(road.drops, &drops, &size) < 0)
		return NULL;
	Py_ssize_t at = find_drop(text, len, drops, size);
	if (at < 0)
		at = find_prefixed_drop(text, len, drops, size);
	if (at < 0)
		return no_value();
	return tail == TAIL_CALL ? return_at(code, text, len, at) : NULL;
}

PyObject *plain_find_value(PyObject *code, const char *source, size_t size)
{
	enum tail tail = tail_read(source, size);
	if (tail == TAIL_UNCLEAR)
		return NULL;
	PyObject *instructions = PyObject_GetAttr(code, word.co_code);
	PyObject *found = instructions ? find_in(code, instructions, tail) : NULL;
	Py_XDECREF(instructions);
	PyErr_Clear();
	return found;
}

/* ---- leaving ----------------------------------------------------------------------------- */

static bool is_flushed(const char *name)
{
	PyObject *stream = PySys_GetObject(name);
	if (!stream || stream == Py_None)
		return true;
	PyObject *done = PyObject_CallMethodObjArgs(stream, word.flush, NULL);
	bool is = done != NULL;
	Py_XDECREF(done);
	PyErr_Clear();
	return is;
}

/* A name that is nothing but that: comparing it runs nobody's code. */
static bool is_in(PyObject *names, PyObject *name)
{
	return Py_TYPE(name) == &PyUnicode_Type && PySet_Contains(names, name) == 1;
}

/* Whether the program brought modules of its own. */
static bool has_own_modules(void)
{
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *name = NULL;
	PyObject *module = NULL;
	if (PyDict_Size(modules) == module_count) /* there may be a thousand */
		return false;
	for (Py_ssize_t at = 0; PyDict_Next(modules, &at, &name, &module);)
		if (module != road.main && !is_in(road.known, name))
			return true;
	return false;
}

static bool is_endless(PyObject *value, int depth, int *left);

static bool are_items_endless(PyObject *value, int depth, int *left)
{
	PyObject *key = NULL;
	PyObject *item = NULL;
	if (Py_TYPE(value) == &PyDict_Type) {
		for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item);)
			if (!is_endless(key, depth, left) || !is_endless(item, depth, left))
				return false;
		return true;
	}
	if (Py_TYPE(value) == &PyList_Type) {
		for (Py_ssize_t i = 0; i < PyList_Size(value); i++)
			if (!is_endless(PyList_GetItem(value, i), depth, left))
				return false;
		return true;
	}
	if (Py_TYPE(value) != &PyTuple_Type)
		return false;
	for (Py_ssize_t i = 0; i < PyTuple_Size(value); i++)
		if (!is_endless(PyTuple_GetItem(value, i), depth, left))
			return false;
	return true;
}

/* A module that others have too. */
static bool is_shared(PyObject *module)
{
	PyObject *name = PyDict_GetItem(PyModule_GetDict(module), word.name);
	return name && Py_TYPE(name) == &PyUnicode_Type &&
	       PyDict_GetItem(PyImport_GetModuleDict(), name) == module;
}

/* Whether nobody can tell when this goes: it has no end of its own, and takes nothing along that
 * has. */
static bool is_endless(PyObject *value, int depth, int *left)
{
	const PyTypeObject *const type = Py_TYPE(value);
	if (value == Py_None || type == &PyBool_Type || type == &PyLong_Type ||
		type == &PyUnicode_Type || type == &PyFloat_Type || type == &PyBytes_Type ||
		type == &PyComplex_Type)
		return true;
	if (type == &PyModule_Type)
		return is_shared(value);
	return depth < DEPTH_MAX && --*left > 0 && are_items_endless(value, depth + 1, left);
}

static bool has_left_nothing(void)
{
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *name = NULL;
	PyObject *value = NULL;
	int left = ITEMS_MAX;
	if (PyDict_GetItem(modules, word.main) != road.main || has_own_modules())
		return false;
	PyObject *names = PyModule_GetDict(road.main);
	for (Py_ssize_t at = 0; PyDict_Next(names, &at, &name, &value);)
		if (!is_in(road.main_names, name) && !is_endless(value, 0, &left))
			return false;
	return true;
}

/* How far to look for what is to be collected: what is older than this only exists if it came so
 * far, or was made to. */
static long oldest_generation(void)
{
	if (PyDict_GetItem(PyImport_GetModuleDict(), word.gc))
		return 2;
	PyObject *counts = PyObject_CallFunctionObjArgs(road.count_objects, NULL);
	bool is_young = counts && PyLong_AsLong(PyTuple_GetItem(counts, 2)) == 0;
	Py_XDECREF(counts);
	return is_young ? 1 : 2;
}

/* Whether there is nothing to collect, and so nobody who had something to say. */
static bool is_tidy(long generation)
{
	PyObject *number = PyLong_FromLong(generation);
	PyObject *found = PyObject_CallFunctionObjArgs(road.collect, number, NULL);
	bool is = found && PyLong_AsLong(found) == 0;
	Py_XDECREF(number);
	Py_XDECREF(found);
	return is;
}

/* Whether what the template's modules do at the end has nothing to do, and no threads are there. */
static bool is_idle(void)
{
	if (road.idle == Py_None)
		return false;
	for (Py_ssize_t i = 0; i < PyList_Size(road.idle); i++) {
		PyObject *pair = PyList_GetItem(road.idle, i);
		Py_ssize_t size = PyObject_Size(PyTuple_GetItem(pair, 0));
		if (size < 0 || size > PyLong_AsSsize_t(PyTuple_GetItem(pair, 1)))
			return false;
	}
	return true;
}

/* Whether the program left nothing to be done at the end. */
static bool has_no_exits(void)
{
	if (road.count_exits == Py_None)
		return false;
	PyObject *count = PyObject_CallFunctionObjArgs(road.count_exits, NULL);
	bool has_none = count && PyLong_AsLong(count) == PyLong_AsLong(road.exit_count);
	Py_XDECREF(count);
	PyErr_Clear();
	return has_none;
}

/* A file that something still holds open, and that may have to be written. */
static bool has_files(void)
{
	PyObject *things = PyObject_CallFunctionObjArgs(road.list_objects, NULL);
	bool has = !things;
	for (Py_ssize_t i = 0; things && !has && i < PyList_Size(things); i++) {
		const void *type = Py_TYPE(PyList_GetItem(things, i));
		for (Py_ssize_t k = 0; !has && k < PyTuple_Size(road.file_types); k++)
			has = type == PyTuple_GetItem(road.file_types, k);
	}
	Py_XDECREF(things);
	return has;
}

void plain_let_go(void)
{
	Py_CLEAR(road.main);
}

int plain_status(void)
{
	return status;
}

bool plain_is_over(void)
{
	bool is = !is_left_over && is_idle() && interpreter_is_owner() && has_left_nothing() &&
		  is_flushed("stdout") && is_flushed("stderr") && is_tidy(oldest_generation()) &&
		  !has_files();
	PyObject *held = is ? PyObject_CallMethodObjArgs(road.lock, word.acquire, NULL) : NULL;
	Py_XDECREF(held);
	PyErr_Clear();
	is_left_over = !is;
	return is;
}

/* ---- running ----------------------------------------------------------------------------- */

/* The code to run; NULL without an error: it is not a plain one, and what it was compiled to, if it
 * was, is *ret_code. */
static PyObject *prepare(PyObject *source, PyObject **ret_code)
{
	char *text = NULL;
	Py_ssize_t size = 0;
	*ret_code = NULL;
	if (PyBytes_AsStringAndSize(source, &text, &size) < 0 || strlen(text) != (size_t)size) {
		PyErr_Clear();
		return NULL;
	}
	PyObject *code = compile(text);
	PyObject *found = NULL;
	if (code && plain_is_harmless(code))
		found = plain_find_value(code, text, (size_t)size);
	if (found == Py_None) {
		Py_DECREF(found);
		return code;
	}
	if (found)
		Py_DECREF(code);
	else
		*ret_code = code;
	return found;
}

static PyObject *end_by_exception(void)
{
	PyObject *type = NULL;
	PyObject *failure = NULL;
	PyObject *trace = NULL;
	PyErr_Fetch(&type, &failure, &trace);
	PyErr_NormalizeException(&type, &failure, &trace);
	if (trace)
		(void)PyException_SetTraceback(failure, trace);
	bool has_left = PyErr_GivenExceptionMatches(failure, PyExc_SystemExit);
	PyObject *result = PyObject_CallFunctionObjArgs(
		has_left ? road.left : road.failed, road.main, road.path, failure, NULL);
	if (!has_left || !result) {
		Py_XDECREF(type);
		Py_XDECREF(failure);
		Py_XDECREF(trace);
		return result;
	}
	Py_DECREF(result);
	PyErr_Restore(type, failure, trace);
	return NULL;
}

static bool has_figures(void)
{
	if (!PyDict_GetItem(PyImport_GetModuleDict(), word.pyplot))
		return false;
	return road.figures == Py_None || PyObject_Size(road.figures) != 0;
}

/* Most end here: an interpreter that finds nothing to do when it ends still looks everywhere. */
static PyObject *end_quietly(PyObject *names)
{
	status = 0;
	if (has_no_exits() && plain_is_over()) {
		(void)fflush(stdout);
		interpreter_say_done(status);
		_exit(status);
	}
	(void)PyDict_DelItem(names, word.file);
	PyErr_Clear();
	(void)PyDict_DelItem(names, word.cached);
	PyErr_Clear();
	PyErr_SetNone(PyExc_SystemExit);
	return NULL;
}

/* The value goes where it is shown: nobody else holds it. */
static PyObject *end_with(PyObject *value, PyObject *line)
{
	PyObject *box = PyList_New(0);
	if (box && value != Py_None && PyList_Append(box, value) < 0)
		Py_CLEAR(box);
	Py_DECREF(value);
	PyObject *result =
		box ? PyObject_CallFunctionObjArgs(road.show, road.main, road.path, line, box, NULL)
		    : NULL;
	Py_XDECREF(box);
	return result;
}

/* Of the last line that has something. */
static PyObject *last_line(PyObject *source)
{
	const char *text = PyBytes_AsString(source);
	Py_ssize_t size = PyBytes_Size(source);
	long line = 1;
	while (size > 0 && strchr(" \t\n", text[size - 1]))
		size--;
	for (Py_ssize_t i = 0; i < size; i++)
		line += text[i] == '\n';
	return PyLong_FromLong(line);
}

int plain_run(PyObject *source, PyObject **ret)
{
	PyObject *code = prepare(source, ret);
	if (!code)
		return 1;
	PyObject *names = PyModule_GetDict(road.main);
	PyObject *value = PyEval_EvalCode(code, names, names);
	Py_DECREF(code);
	if (!value) {
		*ret = end_by_exception();
	} else if (value == Py_None && !has_figures()) {
		Py_DECREF(value);
		*ret = end_quietly(names);
	} else {
		PyObject *line = last_line(source);
		*ret = end_with(value, line);
		Py_XDECREF(line);
	}
	return 0;
}

/* ---- practice ---------------------------------------------------------------------------- */

void plain_rehearse(void)
{
	PyObject *names = PyDict_New();
	PyObject *unclear = NULL;
	PyObject *code = prepare(road.nothing, &unclear);
	PyObject *value = NULL;
	if (names && code && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
		value = PyEval_EvalCode(code, names, names);
	Py_XDECREF(value);
	Py_XDECREF(code);
	Py_XDECREF(unclear);
	Py_XDECREF(names);
	PyErr_Clear();
	(void)has_left_nothing();
	(void)is_flushed("stdout");
	(void)is_flushed("stderr");
	(void)is_tidy(0); /* so the program's module does not grow old */
	(void)has_files();
	PyErr_Clear();
}
