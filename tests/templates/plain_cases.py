# SPDX-License-Identifier: Apache-2.0
"""The short road of a guest decides nothing that core.py and guard.py would decide in another way.

The module is asked in an ordinary interpreter about whole libraries, the programs of the other tests
and thousands of last lines put together by chance; wherever it has an answer, so must they."""
import json
import os
import subprocess

from suite import BUILD, ROOT, SOURCE, USER, check, claim
from template import need_module

ONE = ROOT if os.geteuid() == 0 else USER
PYTHON = "/usr/bin/python3"
RUNTIME = os.path.join(BUILD, "runtimes", "python")

JUDGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "plain_judge.py")


@claim("what the short road of a guest decides, core.py and guard.py decide too", ONE)
def same(person):
    need_module()
    count = os.environ.get("PLAIN_PROGRAMS", "60000")
    done = subprocess.run([PYTHON, "-S", JUDGE, RUNTIME, os.path.join(SOURCE, "tests", "runners"), count],
                          capture_output=True, text=True, timeout=500)
    check(done.returncode == 0, done.stderr[-2000:])
    seen = json.loads(done.stdout)
    check(not seen["wrong"], len(seen["wrong"]), "differ:", seen["wrong"][:5])
    for kind, least in (("sources", 5000), ("harmless", 1000), ("without", 1000), ("calls", 300)):
        check(seen[kind] >= least, kind, "too few:", seen)
