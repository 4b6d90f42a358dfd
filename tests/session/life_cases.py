# SPDX-License-Identifier: Apache-2.0
"""How long sessions live, and what they survive."""
import os
import signal
import subprocess
import time

from people import ERR_MISSING, Sessions, background, end_of
from suite import ROOT, check, claim, contains, equal, nothing_left, wait_until

SESSIONS = int(os.environ.get("SESSIONS", "60"))


@claim("a daemon that is killed leaves its sessions to the next, whoever had them")
def killed_daemon(person):
    with Sessions(person) as sessions:
        names = [f"s{number}" for number in range(50)]
        for name in names:
            sessions.new(name)
        for name in names:
            sessions.exec(name, f"mine = '{name}'").is_ok()
        sessions.restart()
        equal(sessions.names(), names, "sessions of the next daemon")
        equal(sessions.daemon.status()["sessions"], 50, "what it knows of them")
        for name in names:
            equal(sessions.value(name, "mine"), repr(name), "what it remembers")


@claim("a daemon that is told to leave does so, and its sessions wait for the next", ROOT)
def leaving_daemon(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        sessions.exec("a", "x = 1").is_ok()
        equal(sessions.daemon.end(), 0, "exit status of the daemon")
        contains(sessions.daemon.words(), "stays with 1 sessions", "its log")
        sessions.daemon = type(sessions.daemon)(person, path=sessions.daemon.path)
        equal(sessions.value("a", "x"), "1", "x")
        stopped = person.call("serve", "--stop", "--socket", sessions.daemon.path).ok()
        equal(stopped.out, "1 session ended\n", "what --stop says")
        nothing_left(person)
        sessions.daemon = type(sessions.daemon)(person, path=sessions.daemon.path)


@claim("a keeper that is killed takes its sessions along, and leaves nothing")
def killed_keeper(person):
    with Sessions(person) as sessions:
        for name in ("a", "b"):
            sessions.new(name)
            sessions.exec(name, "import subprocess; p = subprocess.Popen(['sleep', '100'])").is_ok()
        before = sessions.daemon.keeper_pid()
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: (sessions.daemon.status()["keeper"] or {}).get("pid", before) != before,
                   "the next keeper")
        equal(sessions.names(), [], "sessions")
        sessions.refused(ERR_MISSING, sessions.verb, "info", session="a")
        sessions.new("a")
        equal(sessions.value("a", "1 + 1"), "2", "a new one")
    nothing_left(person)


@claim("sessions end when nobody used them for a while, and after their lifetime, and are remembered")
def lifetimes(person):
    with Sessions(person) as sessions:
        sessions.new("a", idle=1)
        sessions.new("b", lifetime=2)
        sessions.new("c", idle=3600)
        wait_until(lambda: sessions.names() == ["c"], "their end")
        contains(sessions.refused(ERR_MISSING, sessions.verb, "info", session="a"), "nobody used it",
                 "what is remembered of one")
        contains(sessions.refused(ERR_MISSING, sessions.verb, "info", session="b"), "lifetime",
                 "what is remembered of the other")
        sessions.new("a")
        equal(sessions.value("a", "2"), "2", "another of that name")


@claim("many sessions live at once, each with a memory of its own", ROOT)
def many(person):
    with Sessions(person) as sessions:
        names = [f"s{number}" for number in range(SESSIONS)]
        for name in names:
            sessions.new(name)
        equal(sessions.names(), names, "sessions")
        sessions.exec(names[0], "x = 0").is_ok()
        sessions.exec(names[-1], "x = 1").is_ok()
        equal(sessions.value(names[0], "x"), "0", "x of the first")
        check(sessions.verb("info", session=names[0])["private_kb"] < 8192, "too much of its own:",
              sessions.verb("info", session=names[0])["private_kb"])
        started = time.monotonic()
        for name in names:
            sessions.verb("kill", session=name)
        check(time.monotonic() - started < 60, "ending them takes too long")
    nothing_left(person)


@claim("a session that ends with its owner does so, however the owner ends")
def owned(person):
    with Sessions(person) as sessions:
        for number, end in enumerate((lambda p: p.kill(), lambda p: p.stdin.close())):
            name = f"own{number}"
            owner = sessions.start("own", name, "owned=1", stdin=subprocess.PIPE)
            wait_until(lambda name=name: name in sessions.names(), "the session")
            sessions.exec(name, "x = 1").is_ok()
            turn = background(sessions, name, "import time\ntime.sleep(60)")
            wait_until(lambda name=name: sessions.verb("info", session=name)["status"] == "busy",
                       "the turn")
            end(owner)
            owner.wait()
            wait_until(lambda name=name: name not in sessions.names(), "the session's end")
            contains(end_of(turn)["hint"], "whoever made it left", "what its turn is told")
            contains(sessions.refused(ERR_MISSING, sessions.verb, "info", session=name),
                     "whoever made it left", "what is remembered of it")


@claim("a session of a connection that lives goes by itself, and another can be made")
def owned_killed(person):
    with Sessions(person) as sessions:
        owner = sessions.start("own", "a", "owned=1", stdin=subprocess.PIPE)
        wait_until(lambda: "a" in sessions.names(), "the session")
        sessions.verb("kill", session="a")
        sessions.new("a")
        owner.kill()
        owner.wait()
        equal(sessions.value("a", "1"), "1", "another of the same name")
