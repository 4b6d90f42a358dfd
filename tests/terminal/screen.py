# SPDX-License-Identifier: Apache-2.0
"""Two kinds of terminal: a pty, to see every byte, and tmux, to see what they come to."""
import errno
import fcntl
import json
import os
import pty
import select
import shlex
import shutil
import struct
import subprocess
import tempfile
import termios
import time

from suite import HUNG_AFTER, Failure, Skip

HERE = os.path.dirname(os.path.realpath(__file__))
ENV = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


def runtimes(person):
    """The language `frames`, whose code is what a runner says."""
    place = os.path.join(person.place, "runtimes")
    if not os.path.isdir(place):
        shutil.copytree(os.path.join(HERE, "runtimes"), place)
        subprocess.run(["chmod", "-R", "a+rX", place], check=True)
    return place


def frames(person, *said):
    """A file for `hotcell run`; each thing said is [stream, text] or a message."""
    return person.write(person.path("said.frames"),
                        "".join(json.dumps(what) + "\n" for what in said))


def typed_in(*said):
    """The same as code on the command line."""
    return ["-l", "frames", "-c", "".join(json.dumps(what) + "\n" for what in said)]


def display(data, event="display"):
    return {"event": event, "data": data, "metadata": {}}


def result(data):
    return display(data, "result")


def table(columns, rows, total=None):
    return {"text/plain": "a table", "application/vnd.hotcell.table+json": {
        "columns": columns, "rows": rows, "total_rows": len(rows) if total is None else total}}


class Terminal:
    """A pty with hotcell on it. `answers` maps what the terminal is asked to what it says."""

    def __init__(self, person, *args, size=(80, 24), env=None, answers=None, typed=b"",
                 stdout=None, prefix=(), program=None):
        self.main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.answers = dict(answers or {})
        if typed:
            os.write(self.main, typed)
        try:
            self.process = person.start(
                *args, stdin=side, stdout=side if stdout is None else stdout, stderr=side,
                program=program, env={**ENV, "HOTCELL_RUNTIMES": runtimes(person), **(env or {})},
                prefix=["setsid", "--ctty", "--wait", *prefix])
        finally:
            os.close(side)
        self.seen = b""

    def read_to_end(self):
        deadline = time.monotonic() + HUNG_AFTER
        while self.read_some():
            if time.monotonic() > deadline:
                raise Failure(f"hung on a terminal, showed {self.seen!r}")
        os.close(self.main)
        return self.process.wait(HUNG_AFTER), self.text()

    def read_some(self):
        ready, _, _ = select.select([self.main], [], [], 0.2)
        if not ready:
            return True
        try:
            data = os.read(self.main, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.seen += data
        for question, answer in list(self.answers.items()):
            if question in self.seen:
                os.write(self.main, answer)
                del self.answers[question]
        return bool(data)

    def text(self):
        return self.seen.decode("utf-8", "replace").replace("\r\n", "\n")


def on_pty(person, *args, **kwargs):
    """Runs `hotcell run` on a pty; returns exit status and every byte it showed."""
    return Terminal(person, "run", *args, **kwargs).read_to_end()


def on_screen(person, *args, size=(80, 24), env=None):
    """Runs `hotcell run` in tmux; returns the lines on the screen before the exit status, and
    the exit status."""
    if not shutil.which("tmux"):
        raise Skip("needs tmux")
    socket = tempfile.mktemp(prefix="tmux-", dir=person.place)  # a server of its own each time
    variables = {**person.env, **ENV, "HOTCELL_RUNTIMES": runtimes(person), **(env or {})}
    command = person.prefix + ["env", *(f"{k}={v}" for k, v in variables.items()),
                               person.hotcell, "run", *map(str, args)]
    script = f"cd {shlex.quote(person.dir)}; {shlex.join(command)}; echo \"[exit $?]\"; exec cat"
    tmux = ["tmux", "-S", socket, "-f", "/dev/null"]
    subprocess.run(tmux + ["new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), script],
                   check=True, env={**os.environ, "LANG": "C.UTF-8", "TERM": "xterm-256color"})
    try:
        return await_exit(tmux)
    finally:
        subprocess.run(tmux + ["kill-server"], check=False)


def await_exit(tmux):
    deadline = time.monotonic() + HUNG_AFTER
    while time.monotonic() < deadline:
        shown = subprocess.run(tmux + ["capture-pane", "-p"], check=True,
                               capture_output=True).stdout.decode()
        before, mark, after = shown.partition("[exit ")
        if mark and "]" in after:
            return before.splitlines(), int(after.split("]")[0])
        time.sleep(0.05)
    raise Failure(f"no end within {HUNG_AFTER} s: {shown!r}")
