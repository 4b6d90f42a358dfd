# SPDX-License-Identifier: Apache-2.0
"""The progress line: there for who waits, gone without a trace."""
import os
import tempfile

from screen import Terminal, frames, on_pty, on_screen, result, typed_in
from suite import Failure, check, claim, contains, equal, lacks

ERASE = "\r\033[K"


def is_shown(text):
    return " s of " in text


@claim("a run over a second shows its time and memory, and nothing of it stays")
def long_run(person):
    said = frames(person, ["sleep", 1.8], ["stdout", "done\n"])
    _code, shown = on_pty(person, said)
    check(is_shown(shown), "no progress line:", shown)
    contains(shown, " s of 33 s · ", "the terminal")
    contains(shown, ERASE + "done\n", "the terminal")
    lines, _code = on_screen(person, said)
    equal(lines, ["done"], "the screen")


@claim("a run that ends without output leaves a clean line")
def silent_run(person):
    lines, code = on_screen(person, frames(person, ["sleep", 1.5], ["exit", 3]))
    equal((lines, code), ([], 3), "screen and exit status")


@claim("a line the program left open is never touched")
def midline(person):
    said = frames(person, ["stdout", "name? "], ["sleep", 1.8], ["stdout", "thanks\n"])
    _code, shown = on_pty(person, said)
    equal(shown, "name? thanks\n", "the terminal")


@claim("a short run, a pipe, --json and a dumb terminal show no progress")
def absent(person):
    long = frames(person, ["sleep", 1.6])
    for args, kwargs in ((("-c", "1"), {}), ((long,), {"env": {"TERM": "dumb"}}),
                         (("--json", long), {})):
        if args[0] == "-c":
            kwargs = {"env": {"HOTCELL_RUNTIMES": os.path.join(person.build, "runtimes")}}
        _code, shown = on_pty(person, *args, **kwargs)
        check(not is_shown(shown), "progress of", args, shown)
    ran = person.run("-c", "import time; time.sleep(1.6)").ok()
    equal((ran.out, ran.err), ("", ""), "stdout and stderr of a pipe")


@claim("output that goes into a file is not disturbed by it")
def to_file(person):
    said = frames(person, ["sleep", 1.3], ["stdout", "one\n"], ["sleep", 0.6], ["stdout", "two\n"])
    with tempfile.TemporaryFile() as file:
        _code, shown = on_pty(person, said, stdout=file)
        file.seek(0)
        equal(file.read(), b"one\ntwo\n", "the file")
    check(is_shown(shown), "no progress line:", shown)
    check(shown.endswith(ERASE), "the line stays:", shown)


@claim("^C erases the line")
def interrupted(person):
    terminal = Terminal(person, "run", frames(person, ["sleep", 30]))
    while not is_shown(terminal.text()):
        if not terminal.read_some():
            raise Failure(f"it ended: {terminal.text()!r}")
    os.write(terminal.main, b"\x03")
    code, shown = terminal.read_to_end()
    equal(code, 130, "exit status")
    lacks(shown[shown.rindex(ERASE):], " s of ", "what comes after the line")


@claim("a value follows the erased line")
def value(person):
    lines, _code = on_screen(person, *typed_in(["sleep", 1.3], result({"text/plain": "7"})))
    equal(lines, ["Out: 7"], "the screen")
