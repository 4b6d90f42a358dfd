# SPDX-License-Identifier: Apache-2.0
"""hotcell top: the daemon on a terminal, live."""
import fcntl
import json
import os
import re
import struct
import termios
import time
import unicodedata

from daemon import Daemon
from screen import Terminal
from suite import HUNG_AFTER, Failure, check, claim, contains, equal, lacks, wait_until

ENTER, LEAVE = "\033[?1049h", "\033[?1049l"
CONTROL = re.compile("\033\\[[0-9;?]*[a-zA-Z]")


def frames(text):
    """What was drawn each time, without colours."""
    return [[CONTROL.sub("", line) for line in frame.splitlines()]
            for frame in text.split("\033[H")[1:]]


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def wait_for(terminal, *parts):
    deadline = time.monotonic() + HUNG_AFTER
    while not all(part in terminal.text() for part in parts):
        if not terminal.read_some() or time.monotonic() > deadline:
            raise Failure(f"no {parts} on a terminal that shows {terminal.text()[-2000:]!r}")


@claim("top shows cells, pools, sessions and the queue, fits its terminal, and leaves it as it was")
def live(person):
    with Daemon(person) as daemon:
        env = {"HOTCELL_SOCKET": daemon.path}
        person.call("session", "new", "a-session-with-a-rather-long-name-to-cut", env=env).ok()
        daemon.client().borrow()
        for columns, rows in ((80, 24), (200, 50)):
            terminal = Terminal(person, "top", "--interval", "0.1", size=(columns, rows), env=env)
            wait_for(terminal, "a-session-with", "cells that are lent", "pools", "served")
            # one more that is there only for a while
            before = len(frames(terminal.text()))
            wait_until(lambda: terminal.read_some() and len(frames(terminal.text())) > before + 1, "more frames")
            os.write(terminal.main, b"x")  # another key does nothing
            os.write(terminal.main, b"q")
            code, shown = terminal.read_to_end()
            equal(code, 0, "exit status")
            check(shown.startswith(ENTER) and LEAVE in shown and "\033[?25h" in shown, "screens", shown[-200:])
            for frame in frames(shown):
                check(len(frame) <= rows, f"{len(frame)} lines on {rows} rows")
                for line in frame:
                    check(width(line) <= columns, f"{width(line)} columns on {columns}", line)
            contains(shown, "lent", "the terminal")
        person.call("session", "kill", "a-session-with-a-rather-long-name-to-cut", env=env).ok()


@claim("top follows a terminal that changes its size, and a daemon that goes and comes back")
def moves(person):
    path = person.path("d.sock")
    with Daemon(person, path=path):
        terminal = Terminal(person, "top", "--interval", "0.1", env={"HOTCELL_SOCKET": path})
        wait_for(terminal, "pools")
        fcntl.ioctl(terminal.main, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 50, 0, 0))
        wait_for(terminal, "too low for all of it")
    wait_for(terminal, "nobody serves")
    with Daemon(person, path=path):
        seen = len(terminal.text())
        wait_until(lambda: terminal.read_some() and "serving" in terminal.text()[seen:], "the next daemon")
        os.write(terminal.main, b"\x03")
        equal(terminal.read_to_end()[0], 0, "exit status")


@claim("top --once and --json are for those who read, without escapes; errors are one line")
def once(person):
    nobody = {"HOTCELL_SOCKET": person.path("nobody.sock")}
    ran = person.call("top", env=nobody)
    ran.exits(125)
    contains(ran.err, "nobody serves at", "stderr")
    for args, part in ((("--interval", "0"), "--interval"), (("--fast",), "--fast"), (("more",), "no argument")):
        ran = person.call("top", *args, env=nobody)
        ran.exits(125)
        contains(ran.err, part, f"stderr of {args}")
        equal(len(ran.err.splitlines()), 1, f"lines of {args}")
    with Daemon(person) as daemon:
        daemon.client().borrow()
        for args in ((), ("--once",), ("--socket", daemon.path)):
            ran = person.call("top", *args, env={"HOTCELL_SOCKET": daemon.path}).ok()
            lacks(ran.out, "\033", "what a pipe gets")
            contains(ran.out, "cells that are lent", "the list")
        told = json.loads(person.call("top", "--json", env={"HOTCELL_SOCKET": daemon.path}).ok().out)
        equal([loan["state"] for loan in told["keeper"]["loans"]], ["lent"], "what is lent")
        equal(told["session_list"], [], "sessions")
