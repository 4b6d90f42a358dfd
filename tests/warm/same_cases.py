# SPDX-License-Identifier: Apache-2.0
"""A run in a cell that stood ready comes to the same end as one that raises its own: the whole
result, every event, the files, the words on stderr."""
import json
import os
import re
import shutil
import subprocess

import javascript_programs
import python_programs
from daemon import Daemon
from programs import DIFFERENT, PROGRAMS, Program
from suite import HUNG_AFTER, Failure, check, check_shape, claim, equal

ATTEMPTS = 4  # a policy that nobody asked for before has nothing ready

DAEMONS = {}


def daemon_of(person):
    """One for all tests of a person."""
    if person.name not in DAEMONS:
        path = os.path.join(person.home, "warm.sock")
        DAEMONS[person.name] = person.keep(Daemon(person, path=path))
    return DAEMONS[person.name]


# ---- one run -------------------------------------------------------------------------------------


def lay_out(person, program):
    for name, text in program.files.items():
        os.makedirs(os.path.dirname(person.path(name)), exist_ok=True)
        person.write(person.path(name), text)
    for root, dirs, _files in os.walk(person.dir):
        for name in dirs:
            person.own(os.path.join(root, name), 0o755)


def take_out(person, program):
    """The files that came out, and away with them."""
    found = {}
    top = person.path(program.out or "out")
    for root, _dirs, files in os.walk(top):
        for name in files:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, top)] = (os.stat(path).st_mode, file.read())
    shutil.rmtree(top, ignore_errors=True)
    return found


def play(person, program, env, *more):
    """Events, exit status and stderr."""
    process = person.start("run", "--json", "--stream", *more, *program.args,
                           stdin=subprocess.PIPE, env={**program.env, **env})
    events = []
    if not program.signals:
        out, err = process.communicate(program.stdin, timeout=HUNG_AFTER)
        events = [json.loads(line) for line in out.splitlines()]
        return events, process.returncode, err.decode()
    process.stdin.close()
    for line in process.stdout:
        events.append(json.loads(line))
        if events[-1]["event"] == "stdout" and events[-1]["data"].startswith("ready"):
            for number in program.signals:
                process.send_signal(number)
    err = process.stderr.read().decode()
    return events, process.wait(HUNG_AFTER), err


# ---- what must be the same -----------------------------------------------------------------------

# What differs from one process to the next in any case.
PASSING = (
    (re.compile(r"0x[0-9a-f]{6,}"), "0xADDRESS"),
    (re.compile(r"started \d+"), "started ID"),  # a thread's number
)


def lasting(value):
    if isinstance(value, str):
        for pattern, stand_in in PASSING:
            value = pattern.sub(stand_in, value)
        return value
    if isinstance(value, list):
        return [lasting(item) for item in value]
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items()}
    return value


def compared(events, code, err, files):
    check(events and events[-1]["event"] == "done", "no result:", events[-1:], err)
    result = events[-1]["data"]
    check_shape(result)
    for key in ("id", "duration"):
        del result[key]
    is_warm = result["meta"].pop("warm")
    result["usage"] = sorted(result["usage"])
    result["meta"]["isolation"].pop("uid", None)
    told = {
        "exit status": code, "stderr of hotcell": err, "files": files, "result": result,
        "order": [e["event"] for e in events if e["event"] not in ("stdout", "stderr")],
        "events": [{k: v for k, v in e.items() if k not in ("execution_id", "seq")}
                   for e in events[:-1] if e["event"] not in ("stdout", "stderr")],
    }
    for stream in ("stdout", "stderr"):
        told[stream] = "".join(e["data"] for e in events if e["event"] == stream)
    equal([e["seq"] for e in events], list(range(len(events))), "seq")
    return is_warm, lasting(told)


def differences(one, other, path=""):
    """Where two values differ, as lines."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [line for key in sorted(set(one) | set(other)) for line in
                differences(one.get(key), other.get(key), f"{path}.{key}" if path else key)]
    return [] if one == other else [f"{path}: cold {cut(one)}, warm {cut(other)}"]


def cut(value):
    text = repr(value)
    return text if len(text) < 700 else f"{text[:500]} … {text[-150:]}"


def cold(person, program):
    events, code, err = play(person, program, {}, "--cold")
    is_warm, told = compared(events, code, err, take_out(person, program))
    check(not is_warm, "meta.warm of --cold")
    return told


def is_lent(person, program):
    """Root's cells of one pool differ in the user that given directories are mapped to."""
    return not (person.is_root and {"--ro", "--rw"} & set(program.args))


def warm(person, program):
    daemon = daemon_of(person)
    for _ in range(ATTEMPTS):
        daemon.settle()
        events, code, err = play(person, program, {"HOTCELL_SOCKET": daemon.path})
        is_warm, told = compared(events, code, err, take_out(person, program))
        if is_warm or not is_lent(person, program):
            equal(is_warm, is_lent(person, program), "meta.warm")
            return told
    raise Failure(f"not warm after {ATTEMPTS} runs")


def without(patterns, value):
    """A result without what the patterns find in its output, and the length of that."""
    if isinstance(value, dict):
        return {key: without(patterns, item) for key, item in value.items()
                if key not in ("stdout_bytes", "stderr_bytes")}
    if isinstance(value, str):
        for pattern in patterns:
            value = re.sub(pattern, "", value)
    return value


def declare(name, program):
    _why, patterns = DIFFERENT.get(name, ("", ()))

    @claim(f"the same in a cell that stood ready: {name}")
    def same(person):
        lay_out(person, program)
        results = cold(person, program), warm(person, program)
        if patterns:
            check(differences(*results), "there is no difference any more")
            results = [without(patterns, result) for result in results]
        found = differences(*results)
        check(not found, "; ".join(found))


def from_runners():
    """The programs by which the runners are compared with bare interpreters."""
    for name, text in python_programs.PROGRAMS.items():
        source = text if isinstance(text, bytes) else text.encode()
        yield f"python: {name}", Program(("--stdin", "-", "program.py", "one", "two words"),
                                         stdin=b"first\nsecond\nthird",
                                         files={"program.py": source})
    for name, (text, _why) in python_programs.DIFFERENT.items():
        yield f"python: {name}", Program(("program.py",), files={"program.py": text})
    for name, text in javascript_programs.PROGRAMS.items():
        files = text if isinstance(text, dict) else {"main.js": text}
        first, *others = files
        copies = [word for other in others for word in ("--file", other)]
        yield f"javascript: {name}", Program(
            ("--stdin", "-", "--max-output", "1M", *copies, first, *javascript_programs.ARGS),
            stdin=javascript_programs.STDIN, files=files)


for program_name, a_program in (*PROGRAMS.items(), *from_runners()):
    declare(program_name, a_program)
