# SPDX-License-Identifier: Apache-2.0
"""A program does not notice that its Python stood ready: the programs that compare the runner with the
bare interpreter compare guests, and what was started ahead, with the runner, byte for byte."""
import os
import re
import sys

from suite import ROOT, SOURCE, USER, check, claim, equal
from template import Template

sys.path.insert(1, os.path.join(SOURCE, "tests", "runners"))
from python_programs import DIFFERENT, PROGRAMS  # noqa: E402

ONE = ROOT if os.geteuid() == 0 else USER
INPUT = b"first\nsecond\nthird"
# What one may find in memory or in a clock.
WAVERING = re.compile(r"0x[0-9a-f]{6,}|started \d+")
# What only the fault handler sees, and not on the shorter road.
HIDDEN = re.compile(r'  File "<hotcell>", line \d+ in start\n')
MODULES = ("re", "json", "random", "datetime", "typing", "logging", "threading", "subprocess", "asyncio",
           "multiprocessing", "tempfile", "ssl", "unittest", "sqlite3", "dataclasses")

templates = {}


def template_of(person):
    """One for all programs: it is closed when the person's processes are ended."""
    if person not in templates:
        templates[person] = Template(person, *MODULES, is_kept=True)
    return templates[person]


def seen(result):
    """What must be the same."""
    check("setup_error" not in result, "could not run:", dict(result))
    error = result["error"] or {}
    return {"stdout": WAVERING.sub("*", result["stdout"]),
            "stderr": WAVERING.sub("*", HIDDEN.sub("", result["stderr"])),
            "status": result["status"], "exit_code": result["exit_code"],
            "signal": result["signal"], "outputs": WAVERING.sub("*", repr(result["outputs"])),
            "error": {key: WAVERING.sub("*", repr(error.get(key))) for key in error}}


def compare(person, source):
    template = template_of(person)
    path = person.write(person.path("program.py"),
                        source if isinstance(source, bytes) else source.encode())
    fields = {"file": path, "args": ["one", "two words"], "max_output": "1M", "memory": "512M",
              "stdin": person.write(person.path("input"), INPUT)}
    compare_ways(template, fields, ("guest", "parked", "started"))
    # without arguments a guest may take a shorter road
    del fields["args"]
    compare_ways(template, fields, ("guest",))


def compare_ways(template, fields, ways):
    cold = seen(template.ask("cold", None, **fields))
    for way in ways:
        found = seen(template.ask(way, None, **fields))
        for key, value in cold.items():
            equal(found[key], value, f"{key} of a {way} with {fields.get('args')}")


def declare(name, source):
    @claim(f"python that stood ready is the same: {name}", ONE)
    def same(person):
        compare(person, source)


for program_name, program_source in PROGRAMS.items():
    declare(program_name, program_source)
for program_name, (program_source, _why) in DIFFERENT.items():
    declare(program_name, program_source)
