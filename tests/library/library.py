# SPDX-License-Identifier: Apache-2.0
"""libhotcell through ctypes: a program of somebody else, with threads, that knows no more of hotcell
than its header says.

    library.py ORDER    an order as JSON; prints what came of it as JSON
"""
import ctypes
import json
import os
import signal
import sys
import threading


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 512)]


TEXT = ctypes.c_char_p
OBJECT = ctypes.c_void_p
SIGNATURES = {
    "version": TEXT, "spec_new": OBJECT, "spec_free": None, "result_free": None,
    "session_close": None, "text_free": None, "spec_follow": None, "spec_interrupt": None,
    "result_status_name": TEXT, "result_stdout": OBJECT, "result_stderr": OBJECT,
    "result_message": TEXT, "result_hint": TEXT, "result_json": TEXT, "result_compact": TEXT,
    "session_name": TEXT,
}
lib = ctypes.CDLL(os.environ["LIBHOTCELL"])


def call(name, *args):
    function = getattr(lib, "hotcell_" + name)
    function.restype = SIGNATURES.get(name, ctypes.c_int)
    return function(*args)


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error.text.decode())
        self.code = error.code


def tried(name, *args):
    """A call that can fail."""
    error = Error()
    if call(name, *args, ctypes.byref(error)) < 0:
        raise Refused(error)


def given_text(name, *args):
    """A call that gives a text."""
    pointer = OBJECT()
    tried(name, *args, ctypes.byref(pointer))
    text = ctypes.string_at(pointer).decode()
    call("text_free", pointer)
    return text


class Spec:
    def __init__(self, fields):
        self.pointer = OBJECT(call("spec_new"))
        for key, value in fields.items():
            for item in value if isinstance(value, list) else [value]:
                tried("spec_set", self.pointer, key.encode(), str(item).encode())

    def __enter__(self):
        return self.pointer

    def __exit__(self, *_exception):
        call("spec_free", self.pointer)


def read_result(pointer, failure=None):
    size = ctypes.c_size_t()
    out = call("result_stdout", pointer, ctypes.byref(size))
    told = {
        "status": call("result_status_name", pointer).decode(),
        "stdout": ctypes.string_at(out, size.value).decode("latin-1"),
        "exit_code": call("result_exit_code", pointer),
        "message": (call("result_message", pointer) or b"").decode() or None,
        "hint": (call("result_hint", pointer) or b"").decode() or None,
        "json": json.loads(call("result_json", pointer)),
        "compact": call("result_compact", pointer).decode(),
        "failure": failure,
    }
    call("result_free", pointer)
    return told


def executed(name, *args):
    """A call that gives a result, also when it fails."""
    pointer, error = OBJECT(), Error()
    r = call(name, *args, ctypes.byref(pointer), ctypes.byref(error))
    return read_result(pointer, error.text.decode() if r < 0 else None)


def run(fields):
    with Spec(fields) as spec:
        return executed("run", spec)


def run_many(fields, count):
    """One spec, many threads."""
    told = []
    with Spec(fields) as spec:
        threads = [threading.Thread(target=lambda: told.append(executed("run", spec)))
                   for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return told


def run_in_children(fields):
    """A run, one in a child that was forked after it, one more; and what wait() finds then."""
    reader, writer = os.pipe()
    told = [run(fields)["stdout"]]
    if os.fork() == 0:
        os.write(writer, run(fields)["stdout"].encode())
        os._exit(7)
    told.append(run(fields)["stdout"])
    told.append(os.waitstatus_to_exitcode(os.wait()[1]))
    told.append(os.read(reader, 4096).decode())
    try:
        os.wait()
    except ChildProcessError:
        told.append("no child is left")
    return told


def interrupted(fields):
    reader, writer = os.pipe()
    with Spec(fields) as spec:
        call("spec_interrupt", spec, reader)
        threading.Timer(0.3, os.write, (writer, b"x")).start()
        return executed("run", spec)


def followed(fields):
    """What comes through a pipe, and a run whose reader is gone."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with Spec(fields) as spec:
        call("spec_follow", spec, writer, -1)
        first = executed("run", spec)
        text = os.read(reader, 4096).decode()
        os.close(reader)
        second = executed("run", spec)
    return [text, first["status"], second["status"]]


def analyzed(fields):
    with Spec(fields) as spec:
        return json.loads(given_text("analyze", spec))


def python_code(code, timeout):
    return given_text("run_python_code", code.encode(), ctypes.c_double(timeout))


def new_session(fields, name=None):
    session = OBJECT()
    with Spec(fields) as spec:
        tried("session_new", spec, name and name.encode(), ctypes.byref(session))
    return session


def session_story(fields):
    """Remembers, goes back, branches, ends."""
    told = {}
    session, other = new_session({**fields, "undo": "3"}, "story"), OBJECT()
    try:
        told["name"] = call("session_name", session).decode()
        told["first"] = executed("session_exec", session, b"x = 1\nx", None)["compact"]
        told["point"] = given_text("session_checkpoint", session, b"one")
        told["second"] = executed("session_exec", session, b"x = 2\nx", None)["compact"]
        tried("session_fork", session, b"branch", ctypes.byref(other))
        tried("session_rollback", session, b"one")
        told["back"] = executed("session_exec", session, b"x", None)["compact"]
        told["branch"] = executed("session_exec", other, b"x", None)["compact"]
        executed("session_exec", session, b"x = 3", None)
        tried("session_undo", session)
        told["undone"] = executed("session_exec", session, b"x", None)["compact"]
        with Spec({"timeout": "0.3"}) as turn:
            told["timeout"] = executed("session_exec", session, b"while True: pass", turn)["message"]
        with Spec({"memory": "64M"}) as turn:
            told["not of a turn"] = executed("session_exec", session, b"1", turn)["failure"]
        told["info"] = json.loads(given_text("session_info", session))["name"]
        told["list"] = sorted(item["name"] for item in json.loads(given_text("session_list")))
        tried("session_kill", other)
        tried("session_kill", session)
        told["dead"] = executed("session_exec", session, b"1", None)["failure"]
    finally:
        call("session_close", session)
        call("session_close", other)
    return told


def languages():
    return json.loads(given_text("languages"))


def settings():
    """What a bad field is told, and a good one."""
    told = []
    for name, value in (("timeot", "3"), ("timeout", "soon"), ("undo", "999"), ("timeout", "3")):
        try:
            with Spec({name: value}):
                told.append("")
        except Refused as why:
            told.append(str(why))
    return told


ORDERS = {name: value for name, value in globals().items() if callable(value) and name.islower()}

if __name__ == "__main__":
    order, *words = json.loads(sys.argv[1])
    try:
        answer = {"answer": ORDERS[order](*words)}
    except Refused as why:
        answer = {"refused": str(why), "code": why.code}
    print(json.dumps(answer))
