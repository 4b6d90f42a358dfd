# SPDX-License-Identifier: Apache-2.0
"""Copies that are made before anybody asks: what comes of them is what would have come without."""
import random
import time

from people import ERR_INVALID, Sessions
from suite import check, claim, contains, equal, wait_until

STATE = "x, sorted(os.listdir('.')), open('f').read()"
PREPARED = 0.05  # seconds that are enough for a copy, most of the time; no claim depends on it


def rest():
    """Somebody thinks, and the session prepares."""
    time.sleep(PREPARED)


def begin(sessions, name="a", **fields):
    sessions.new(name, **fields)
    sessions.exec(name, "import os, random\nx = 0\nopen('f', 'w').write('0')").is_ok()


def step(sessions, number, name="a"):
    sessions.exec(name, f"x = {number}\nopen('f', 'w').write('{number}')").is_ok()


def state(number, *others):
    return f"({number}, {sorted(['f', *others])}, '{number}')"


@claim("points made one after the other are each what the session was then, prepared or not")
def points(person):
    chance = random.Random(7)
    with Sessions(person) as sessions:
        begin(sessions)
        for number in range(1, 9):
            step(sessions, number)
            if chance.random() < 0.7:
                rest()
            sessions.verb("checkpoint", session="a", point=f"p{number}")
        for number in (3, 3, 8, 1, 8, 5):
            sessions.verb("rollback", session="a", point=f"p{number}")
            if chance.random() < 0.7:
                rest()
            equal(sessions.value("a", STATE), state(number), "state")
            step(sessions, 99)
            rest()


@claim("undo takes back what a prepared point was made for")
def undo(person):
    with Sessions(person) as sessions:
        begin(sessions, undo=5)
        for number in range(1, 5):
            step(sessions, number)
            rest()
        for number in (3, 2, 1):
            sessions.verb("undo", session="a")
            rest()
            equal(sessions.value("a", STATE), state(number), "state")
            sessions.verb("undo", session="a")
            rest()


@claim("random numbers go on after a prepared rollback, and differ in a prepared branch")
def numbers(person):
    draw = "[random.random() for _ in range(3)]"
    with Sessions(person) as sessions:
        begin(sessions)
        drawn = set()
        for turn in range(3):
            step(sessions, turn)
            rest()
            sessions.verb("fork", session="a", new=f"b{turn}")
            drawn.add(sessions.value(f"b{turn}", draw))
        sessions.verb("checkpoint", session="a", point="p")
        own = {sessions.value("a", draw)}
        equal(len(drawn | own), 4, "different numbers")
        for _ in range(3):
            sessions.verb("rollback", session="a", point="p")
            rest()
            own.add(sessions.value("a", draw))
        equal(len(own), 1, "different numbers after going back")


@claim("what happens between a turn and its point is part of the point")
def between(person):
    """A handler of the code's own runs while the session is idle: a copy made before would lack it."""
    with Sessions(person) as sessions:
        begin(sessions)
        sessions.exec("a", "import signal\nhits = []\n"
                           "signal.signal(signal.SIGALRM, lambda *_: hits.append(1))").is_ok()
        for _ in range(2):
            sessions.exec("a", "hits.clear(); signal.setitimer(signal.ITIMER_REAL, 0.2)").is_ok()
            rest()
            time.sleep(0.3)
            sessions.verb("checkpoint", session="a", point=None)
        sessions.exec("a", "hits.append(2)").is_ok()
        newest = sessions.verb("info", session="a")["points"][0]["id"]
        sessions.verb("rollback", session="a", point=newest)
        equal(sessions.value("a", "hits"), "[1]", "what the handler did")


@claim("with a thread there is no point, though one was prepared for the turn before")
def threads(person):
    with Sessions(person) as sessions:
        begin(sessions)
        for number in range(2):
            step(sessions, number)
            rest()
            sessions.verb("checkpoint", session="a")
        for _ in range(3):
            sessions.exec("a", "import threading\nstop = threading.Event()\n"
                               "threading.Thread(target=stop.wait, name='worker').start()").is_ok()
            rest()
            contains(sessions.refused(ERR_INVALID, sessions.verb, "checkpoint", session="a"),
                     "worker", "the refusal")
            sessions.exec("a", "stop.set()\nimport time; time.sleep(0.1)").is_ok()
        sessions.verb("checkpoint", session="a")


def processes(sessions):
    return int(sessions.value("a", "len([p for p in os.listdir('/proc') if p.isdigit()])"))


@claim("there is at most one prepared copy of each kind, and none is left when nobody needs it")
def bounded(person):
    with Sessions(person) as sessions:
        begin(sessions)
        before = processes(sessions)
        sessions.verb("checkpoint", session="a", point="p")
        for _ in range(4):
            step(sessions, 1)
            rest()
            sessions.verb("rollback", session="a", point="p")
            rest()
        check(processes(sessions) <= before + 3, "more than a point and one copy of each kind")
        for number in range(6):
            step(sessions, number)
        rest()
        wait_until(lambda: processes(sessions) == before + 1, "the prepared copies to go")


@claim("a session that needs its processes for itself has them")
def crowded(person):
    with Sessions(person) as sessions:
        begin(sessions, pids=8)
        for _ in range(4):
            step(sessions, 1)
            rest()
            sessions.verb("checkpoint", session="a")
        code = ("import subprocess\n"
                "children = [subprocess.Popen(['sleep', '60']) for _ in range(2)]\n"
                "for child in children: child.kill(); child.wait()")
        for _ in range(2):
            sessions.exec("a", code).is_ok()
            rest()


@claim("a prepared copy that somebody kills is missed by nobody")
def killed(person):
    with Sessions(person) as sessions:
        begin(sessions)
        sessions.verb("checkpoint", session="a", point="p")
        kill = ("import signal\nown = {os.getpid(), os.getppid(), 1}\n"
                "points = sorted(int(p) for p in os.listdir('/proc') if p.isdigit())\n"
                "for p in points:\n"
                "    if p not in own and p > max(own): os.kill(p, signal.SIGKILL)")
        for number in range(4):
            step(sessions, number)
            rest()
            sessions.verb("rollback", session="a", point="p")
            rest()
            sessions.exec("a", kill).is_ok()
        equal(sessions.value("a", STATE), state(0), "state")
        sessions.verb("rollback", session="a", point="p")
        equal(sessions.value("a", STATE), state(0), "state")
