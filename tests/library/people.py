# SPDX-License-Identifier: Apache-2.0
"""Programs of others that people run: with the library, with the package."""
import json
import os
import shutil

from suite import BUILD, HUNG_AFTER, SOURCE, Skip, check, is_sanitized

HERE = os.path.dirname(os.path.realpath(__file__))
PYTHON = "/usr/bin/python3"
LIBRARY = "libhotcell.so.0"


def prepare(person):
    """A copy beside the person's programs, and of what they run."""
    if is_sanitized():
        raise Skip("a sanitized library needs a sanitized Python")
    for source, name in ((os.path.join(BUILD, LIBRARY), LIBRARY),
                         (os.path.join(HERE, "library.py"), "library.py")):
        target = os.path.join(person.build, name)
        if not os.path.exists(target):
            shutil.copy(source, target)
            os.chmod(target, 0o755)
    for name in ("python", "examples"):
        target = os.path.join(person.place, name)
        source = os.path.join(SOURCE if name == "python" else BUILD, name)
        if not os.path.isdir(target):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            os.chmod(target, 0o755)


def alone(person):
    """Where no daemon is: one that serves the machine may be of another version."""
    return {"HOTCELL_SOCKET": person.path("nobody.sock")}


def run(person, *args, env=None):
    """Some program, to its end."""
    return person.call(*args[1:], program=args[0], env={**alone(person), **(env or {})},
                       timeout=HUNG_AFTER)


def library(person, *order, env=None, refused=False):
    """What an order to libhotcell comes to."""
    prepare(person)
    ran = run(person, PYTHON, os.path.join(person.build, "library.py"), json.dumps(order),
              env={"LIBHOTCELL": os.path.join(person.build, LIBRARY), **(env or {})}).ok()
    check(ran.err == "", f"the library printed {ran.err!r}")
    told = json.loads(ran.out)
    check(("refused" in told) == refused, f"{order} came to {told}")
    return told["refused" if refused else "answer"]


def package(person, code, value=None, env=None):
    """What a Python program with the package comes to: it leaves `answer`."""
    prepare(person)
    text = f"import hotcell, json, os, sys\n{code}\nprint(json.dumps(answer))"
    ran = run(person, PYTHON, "-B", "-c", text, json.dumps(value),
              env={**(env or {}), "HOTCELL": person.hotcell,
                   "PYTHONPATH": os.path.join(person.place, "python")}).ok()
    return json.loads(ran.out)


def example(person, name, *args, env=None):
    """An example of the source, built against the header and the library."""
    prepare(person)
    target = os.path.join(person.build, "examples")
    if not os.path.isdir(target):
        shutil.copytree(os.path.join(person.place, "examples"), target)
    return run(person, os.path.join(target, name), *args, env=env)
