# SPDX-License-Identifier: Apache-2.0
"""The exact messages, byte for byte the same through every door."""
import people
from suite import claim, equal

TRACE = 'Traceback (most recent call last):\n  File "/home/user/main.py", line 1, in <module>\n'

# settings, code, status, exit status, message
MESSAGES = (
    ({"timeout": "1"}, "while True: pass", "timeout", 124, "Code execution timed out after 1s"),
    ({"timeout": "0.5"}, "import time; time.sleep(9)", "timeout", 124,
     "Code execution timed out after 0.5s"),
    ({}, "x = (1,\ny = 2", "error", 1, "Python syntax error: '(' was never closed (line 1)"),
    ({}, "def f(:\n    pass", "error", 1, "Python syntax error: invalid syntax (line 1)"),
    ({"block_imports": "true"}, "import os", "refused", 126, "Security policy blocked import: os"),
    ({"block_imports": "true"}, "from socket import socket", "refused", 126,
     "Security policy blocked import: socket"),
    ({"profile": "strict"}, "import ctypes.util", "refused", 126,
     "Security policy blocked import: ctypes"),
    ({"block_modules": "json"}, "import json", "refused", 126, "Security policy blocked import: json"),
    ({}, "1 / 0", "error", 1,
     f"Execution failed: {TRACE}    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero"),
    ({}, "raise SystemExit('no luck')", "error", 1, "Execution failed: no luck"),
    ({}, "print('fine')", "ok", 0, None),
)


FLAGS = {"block_imports": "--block-dangerous-imports", "block_modules": "--block-import"}


def through_program(person, settings, code):
    flags = [word for name, value in settings.items()
             for word in ((FLAGS.get(name, "--" + name),) + ((value,) if value != "true" else ()))]
    result = person.json(*flags, "-c", code, env=people.alone(person))
    return result["status"], result["exit_code"], result["error"] and result["error"]["message"]


def through_library(person, settings, code):
    told = people.library(person, "run", {**settings, "language": "python", "code": code})
    error = told["json"]["error"]
    equal(told["message"], error and error["message"], "the getter's message beside the JSON's")
    return told["status"], told["exit_code"], told["message"]


def through_package(person, settings, code):
    told = people.package(
        person, "settings, code = json.loads(sys.argv[1])\n"
        "named = {'true': True, 'json': ['json']}\n"
        "settings = {k: named.get(v, v) for k, v in settings.items()}\n"
        "r = hotcell.get_sandbox().execute_code(code, **settings)\n"
        "answer = [r.status, r.exit_code, r.message]", [settings, code])
    return tuple(told)


@claim("every exact message is the same through the program, the library and the package")
def exact(person):
    for settings, code, *wanted in MESSAGES:
        for door in (through_program, through_library, through_package):
            equal(list(door(person, settings, code)), wanted, f"{door.__name__} of {code!r}")


@claim("the compact text is the same through the program, the library and the package")
def compact(person):
    for code in ("print('hello')\n6 * 7", "1 / 0", "pass", "x = (1,"):
        wanted = person.run("--compact", "-t", "5", "-c", code, env=people.alone(person)).out
        equal(people.library(person, "python_code", code, 5), wanted, f"library's text of {code!r}")
        equal(people.package(person, "answer = hotcell.run_python_code(json.loads(sys.argv[1]), 5)",
                             code), wanted, f"package's text of {code!r}")
