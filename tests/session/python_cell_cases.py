# SPDX-License-Identifier: Apache-2.0
"""What a Python session is only in a cell: forked from a template or not, with processes beside it."""
import os
import time

from people import Sessions
from suite import HUNG_AFTER, ROOT, USER, check, claim, contains, equal

ONE = ROOT if os.geteuid() == 0 else USER


def warm_session(sessions):
    """One that was forked from a Python that stands ready, once one does."""
    until = time.monotonic() + HUNG_AFTER
    for number in range(1000):
        name = f"try{number}"
        if sessions.new(name)["warm"] or time.monotonic() > until:
            check(sessions.verb("info", session=name)["warm"], "no Python stands ready")
            return name
        sessions.verb("kill", session=name)
        time.sleep(0.2)
    return None


@claim("python session: one from a template has no frame and no descriptor of ours, and copies")
def from_template(person):
    with Sessions(person) as sessions:
        name = warm_session(sessions)
        result = sessions.exec(name, "import traceback; traceback.print_stack()").is_ok()
        equal(result["stderr"].count("File"), 1, f"frames in {result['stderr']}")
        sessions.exec(name, "import random; x = [1]").is_ok()
        notes = sessions.verb("checkpoint", session=name, point="p")["notes"]
        equal(notes, [], "notes")
        drawn = sessions.value(name, "random.random()")
        for _ in range(3):
            sessions.exec(name, "x.append(2)")
            sessions.verb("rollback", session=name, point="p")
            equal(sessions.value(name, "x"), "[1]", "the state")
            sessions.verb("rollback", session=name, point="p")
            equal(sessions.value(name, "random.random()"), drawn, "a random number")


@claim("python session: a process that left the session is told, copies are not", ONE)
def processes_told(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        # its parent leaves when it is what it is to be, and no copy of the shell any more
        sessions.exec("a", "import os; os.system('sleep 50 & until grep -q sleep /proc/$!/comm; do :; done')").is_ok()
        for point in ("p", "q"):
            notes = sessions.verb("checkpoint", session="a", point=point)["notes"]
            equal(len(notes), 1, f"notes {notes}")
            contains(notes[0], "(sleep)", "the note")
