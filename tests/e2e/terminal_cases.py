# SPDX-License-Identifier: Apache-2.0
"""Output on a terminal: what a program could do to it becomes visible, colours pass."""
import errno
import json
import os
import pty
import select
import subprocess
import time

from suite import HUNG_AFTER, Failure, check, claim, contains, equal, lacks


def run_on_terminal(person, *args, keys=None, **kwargs):
    """Runs hotcell with a terminal as its three streams; returns exit status and what it showed."""
    main, side = pty.openpty()
    try:
        process = person.start("run", *args, stdin=side, stdout=side, stderr=side, **kwargs)
    finally:
        os.close(side)
    shown = b""
    deadline = time.monotonic() + HUNG_AFTER
    while True:
        if time.monotonic() > deadline:
            process.kill()
            raise Failure(f"hung on a terminal: {args}, showed {shown!r}")
        ready, _, _ = select.select([main], [], [], 0.2)
        if not ready:
            continue
        try:
            data = os.read(main, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""
        if not data:
            break
        shown += data
        if keys and keys[0] in shown:
            os.write(main, keys[1])
            keys = None
    os.close(main)
    return process.wait(HUNG_AFTER), shown.decode("utf-8", "replace").replace("\r\n", "\n")


def printed(text):
    return f"import sys; sys.stdout.write({text!r});"


@claim("colours pass to a terminal and are switched off at the end")
def colours(person):
    code, shown = run_on_terminal(person, "-c", printed("\033[1;31mred\033[0m plain \033[32mgreen"))
    equal(code, 0, "exit status")
    contains(shown, "\033[1;31mred\033[0m plain \033[32mgreen", "the terminal")
    check(shown.rstrip("\n").endswith("\033[0m"), "colours stay on:", shown)


@claim("escape sequences are made visible on a terminal")
def escapes(person):
    for sequence in ("\033]0;title\007", "\033[2J", "\033[6n", "\033[?1049h", "\033c", "\033P+q\033\\",
                     "\033]52;c;aGk=\007", "\033[31", "\033[20t", "\x07", "\x08", "\x7f", "\x0e"):
        code, shown = run_on_terminal(person, "-c", printed(f"a{sequence}b"))
        equal(code, 0, "exit status")
        rest = shown.replace("\033[0m", "")
        for control in "\033\007\x08\x7f\x0e":
            lacks(rest, control, f"the terminal after {sequence!r}")
        contains(rest, "^", f"the terminal after {sequence!r}")


@claim("escape sequences on stderr are made visible on a terminal")
def escapes_stderr(person):
    _code, shown = run_on_terminal(person, "-c", "import sys; sys.stderr.write('x\\033]0;t\\007y')")
    contains(shown, "x^[]0;t^Gy", "the terminal")


@claim("sequences cut into single bytes are made visible as well")
def escapes_split(person):
    code = ("import os, time\n"
            "for byte in b'\\x1b]0;evil\\x07\\x1b[31mred\\x1b[0m':\n"
            "    os.write(1, bytes([byte])); time.sleep(0.005)")
    _code, shown = run_on_terminal(person, "-c", code)
    contains(shown, "^[]0;evil^G", "the terminal")
    contains(shown, "\033[31mred", "the terminal")


@claim("an unfinished sequence at the end is shown")
def escapes_unfinished(person):
    _code, shown = run_on_terminal(person, "-c", printed("end\033[3"))
    contains(shown, "end^[[3", "the terminal")


@claim("C1 controls and characters that reorder text are made visible")
def unicode_controls(person):
    _code, shown = run_on_terminal(person, "-c", printed("a\u009b2Jb\u202ec\u2066d"))
    contains(shown, "a<U+009B>2Jb<U+202E>c<U+2066>d", "the terminal")


@claim("text in all its characters passes to a terminal")
def text_passes(person):
    text = "tab\there, Grüße, 日本語, 😀\nnext line"
    _code, shown = run_on_terminal(person, "-c", printed(text))
    contains(shown, text, "the terminal")


@claim("a pipe gets the bytes as they are")
def pipe_raw(person):
    ran = person.code(printed("\033]0;t\007\033[2J")).ok()
    equal(ran.out, "\033]0;t\007\033[2J", "stdout")


@claim("JSON on a terminal is still one JSON value, with no raw controls")
def json_terminal(person):
    code, shown = run_on_terminal(person, "--json", "-c", printed("\033[2Jx\u009b"))
    equal(code, 0, "exit status")
    for control in "\033\u009b":
        lacks(shown, control, "the terminal")
    equal(json.loads(shown)["stdout"], "\033[2Jx\u009b", "stdout in the result")


@claim("a stream of events on a terminal has no raw controls")
def stream_terminal(person):
    code, shown = run_on_terminal(person, "--json", "--stream", "-c", printed("\033[2Jx\u009b"))
    equal(code, 0, "exit status")
    for control in "\033\u009b":
        lacks(shown, control, "the terminal")
    equal(json.loads(shown.splitlines()[-1])["event"], "done", "last event")


@claim("the program has no terminal of ours")
def no_terminal(person):
    code = ("import os\n"
            "print([os.isatty(fd) for fd in (0, 1, 2)])\n"
            "try: open('/dev/tty'); print('tty')\n"
            "except OSError: print('none')")
    _code, shown = run_on_terminal(person, "-c", code)
    contains(shown, "[False, False, False]\nnone", "the terminal")


@claim("--stdin - reads what is typed")
def typed(person):
    code, shown = run_on_terminal(
        person, "--stdin", "-", "-t", "30", "-c", "print('name?', flush=True); print('hi', input())",
        keys=(b"name?", b"Bob\n"))
    equal(code, 0, "exit status")
    contains(shown, "hi Bob", "the terminal")


@claim("^C on a terminal ends the run with 130")
def control_c(person):
    code, shown = run_on_terminal(
        person, "-t", "30", "-c", "print('ready', flush=True); import time; time.sleep(20)",
        keys=(b"ready", b"\x03"), start_new_session=True,
        prefix=["setsid", "--ctty", "--wait"])
    equal(code, 130, f"exit status, shown {shown!r}")


@claim("hotcell's own words about hostile names have no raw controls on a terminal")
def words_safe(person):
    code = "import os; os.symlink('/x', 'a\\033[2Jb')"
    _code, shown = run_on_terminal(person, "--out", "*:got", "-c", code)
    contains(shown, "was not taken", "the terminal")
    lacks(shown, "\033[2J", "the terminal")


@claim("NO_COLOR and a dumb terminal change nothing about the output")
def no_color(person):
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        code, shown = run_on_terminal(person, "-c", "print('plain')", env=env)
        equal((code, shown), (0, "plain\n"), "exit status and the terminal")


@claim("a terminal that goes away ends the run")
def terminal_gone(person):
    main, side = pty.openpty()
    process = person.start("run", "-t", "50", "-c", "while True: print('x' * 1000)",
                           stdin=side, stdout=side, stderr=side)
    os.close(side)
    os.read(main, 1000)
    os.close(main)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Failure("still running 15 s after its terminal went away") from None
