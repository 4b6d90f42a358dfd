# SPDX-License-Identifier: Apache-2.0
"""The prompt in a real terminal: what is typed, what it looks like, and what stays."""
import contextlib
import os
import shlex
import shutil
import stat
import subprocess
import tempfile
import time

from screen import ENV
from suite import HUNG_AFTER, Failure, Skip, check, claim, contains, equal, lacks

PASTE = "\033[200~{}\033[201~"


class Prompt:
    """`hotcell repl` in tmux, with a daemon of its own that ends with it."""

    def __init__(self, person, *args, size=(80, 24), env=None):
        if not shutil.which("tmux"):
            raise Skip("needs tmux")
        self.person = person
        self.env = {**person.env, **ENV, "HOTCELL_SOCKET": person.path("prompt.sock"),
                    "XDG_STATE_HOME": person.path("state"), **(env or {})}
        if person.is_root:
            self.env["HOTCELL_STATE_DIR"] = person.path("state/hotcell")
        command = person.prefix + ["env", *(f"{k}={v}" for k, v in self.env.items()),
                                   person.hotcell, "repl", "-q", *map(str, args)]
        script = f"cd {shlex.quote(person.dir)}; {shlex.join(command)}; echo \"[exit $?]\"; exec cat"
        self.tmux = ["tmux", "-S", tempfile.mktemp(prefix="tmux-", dir=person.place), "-f", "/dev/null"]
        subprocess.run(self.tmux + ["new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), script],
                       check=True, env={**os.environ, "LANG": "C.UTF-8", "TERM": "xterm-256color"})

    def __enter__(self):
        self.wait_for("In [1]:")
        return self

    def __exit__(self, *_what):
        subprocess.run(self.tmux + ["kill-server"], check=False)
        for words in (("session", "kill", "--all"), ("serve", "--stop")):
            self.person.call(*words, env=self.env)

    def keys(self, *names):
        subprocess.run(self.tmux + ["send-keys", *names], check=True)
        return self

    def type(self, text):
        subprocess.run(self.tmux + ["send-keys", "-l", "--", text], check=True)
        return self

    def enter(self, text):
        return self.type(text).keys("Enter")

    def text(self, *options):
        return subprocess.run(self.tmux + ["capture-pane", "-p", *options], check=True,
                              capture_output=True).stdout.decode()

    def lines(self):
        return [line.rstrip() for line in self.text().rstrip("\n").split("\n")]

    def wait_for(self, part, *options):
        deadline = time.monotonic() + HUNG_AFTER
        while time.monotonic() < deadline:
            shown = self.text(*options)
            if part in shown:
                return shown
            time.sleep(0.03)
        raise Failure(f"{part!r} does not come: {shown!r}")

    def run(self, text, part):
        """Runs it and waits for what must come of it."""
        self.enter(text)
        return self.wait_for(part)

    def leave(self):
        self.keys("C-d")
        return self.wait_for("[exit ")


@claim("what is typed runs when it is whole, and values, errors and hints are shown")
def session(person):
    with Prompt(person) as prompt:
        prompt.run("x = 41", "In [2]:")
        prompt.run("x + 1", "Out[2]: 42")
        prompt.enter("def f(n):").wait_for("\n   ...:")
        prompt.enter("return n * 2").keys("Enter")
        prompt.wait_for("In [4]:")
        prompt.run("f('ab')", "Out[4]: 'abab'")
        shown = prompt.run("1/0", "hint: ")
        contains(shown, "ZeroDivisionError: division by zero", "the screen")
        contains(shown, "> 1 | 1/0", "the screen")
        prompt.run("print('no end', end='')", "no end\nIn [7]:")
        contains(prompt.leave(), "[exit 0]", "the screen")


@claim("code is coloured while it is typed, and not with NO_COLOR")
def colours(person):
    with Prompt(person) as prompt:
        prompt.type("for x in 'abc': pass  # why")
        shown = prompt.wait_for("# why", "-e")
        for part in ("\033[35min\033[39m", "\033[32m'abc'\033[39m"):
            contains(shown, part, "the screen")
    with Prompt(person, env={"NO_COLOR": "1"}) as prompt:
        prompt.type("for x in 'abc': pass")
        lacks(prompt.wait_for("pass", "-e"), "\033[35m", "the screen")


@claim("Tab completes names of the session, shows a choice, and walks through it")
def completion(person):
    with Prompt(person) as prompt:
        prompt.run("apple_one = apple_two = unusual_name = 1", "In [2]:")
        prompt.type("unus").keys("Tab")
        prompt.wait_for("In [2]: unusual_name")
        prompt.keys("C-u").type("app").keys("Tab")
        prompt.wait_for("apple_one  apple_two")
        prompt.keys("Tab")
        prompt.wait_for("In [2]: apple_one")
        prompt.keys("Tab")
        prompt.wait_for("In [2]: apple_two")
        prompt.keys("Enter").keys("Enter")
        prompt.wait_for("Out[2]: 1")
        lacks("\n".join(prompt.lines()[-2:]), "apple_one  apple_two", "the last lines")
        prompt.type("%chec").keys("Tab")
        prompt.wait_for("%checkpoint")


@claim("Ctrl-C stops the code that runs and keeps the state, or clears the line")
def interrupt(person):
    with Prompt(person) as prompt:
        prompt.run("x = 1", "In [2]:")
        prompt.enter("print('go'); import time; time.sleep(60)").wait_for("\ngo")
        prompt.keys("C-c")
        prompt.wait_for("In [3]:")
        contains(prompt.text(), "the session goes on", "the screen")
        prompt.type("half a li").keys("C-c")
        prompt.wait_for("half a li^C")
        prompt.run("x + 1", "Out[3]: 2")


@claim("what was typed before comes back: by Up, by its beginning, by a search, and the next day")
def history(person):
    with Prompt(person) as prompt:
        prompt.run("first = 11", "In [2]:")
        prompt.run("second = 22", "In [3]:")
        prompt.keys("Up", "Up")
        prompt.wait_for("In [3]: first = 11")
        prompt.keys("C-u").type("sec").keys("Up")
        prompt.wait_for("In [3]: second = 22")
        prompt.keys("C-c").wait_for("^C")
        prompt.keys("C-r").type("irst")
        prompt.wait_for("search 'irst': first = 11")
        prompt.keys("C-c", "C-c")
        prompt.leave()
        path = os.path.join(prompt.env["XDG_STATE_HOME"], "hotcell/history/python")
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of the history file")
    with Prompt(person) as prompt:
        prompt.keys("Up")
        prompt.wait_for("In [1]: second = 22")


@claim("a line longer than the screen and a text higher than it can be written and changed")
def large(person):
    with Prompt(person, size=(40, 10)) as prompt:
        prompt.type("x = '" + "ab" * 40 + "日本'").keys("Home", "Right").type("y")
        prompt.wait_for("In [1]: xy = 'abab")
        prompt.keys("Enter")
        prompt.run("len(xy)", "Out[2]: 82")
        prompt.keys("C-l")
        prompt.type(PASTE.format("\n".join(f"a{i} = {i}" for i in range(30))))
        prompt.wait_for("a29 = 29")
        prompt.keys("M-<")
        prompt.wait_for("a0 = 0")
        prompt.keys("M->", "Enter")
        prompt.wait_for("In [4]:")
        prompt.run("a0 + a29", "Out[4]: 29")


@claim("a paste is text: nothing of it runs before Enter, and no control of it counts")
def paste(person):
    with Prompt(person) as prompt:
        prompt.type(PASTE.format("print('one')\nprint('two\x1b[2J')"))
        prompt.wait_for("...: print('two")
        lacks(prompt.text(), "\none\n", "the screen")
        prompt.keys("Enter")
        prompt.wait_for("two[2J\nIn [2]:")


@claim("input() and getpass() ask here, and what is secret is not shown")
def asked(person):
    with Prompt(person) as prompt:
        prompt.enter("name = input('who are you? ')").wait_for("\nwho are you?")
        prompt.enter("Ann").wait_for("In [2]:")
        prompt.run("name", "Out[2]: 'Ann'")
        prompt.enter("import getpass; secret = getpass.getpass()").wait_for("\nPassword:")
        prompt.enter("hush").wait_for("In [4]:")
        lacks(prompt.text(), "hush", "the screen")
        prompt.run("len(secret)", "Out[4]: 4")


@claim("magics go back, branch and tell; one that is not known names the nearest")
def magics(person):
    with Prompt(person, size=(80, 60)) as prompt:
        prompt.run("x = [1]", "In [2]:")
        prompt.run("%checkpoint start", "'start'")
        prompt.run("x.append(2); print(end=str(open('f', 'w').write('hi')))", "In [3]:")
        prompt.run("%files", "2 bytes")
        prompt.run("%undo", "back at point")
        prompt.run("x", "Out[2]: [1]")
        prompt.run("x.append(3)", "In [4]:")
        prompt.run("%rollback start", "back at point 2 'start'")
        prompt.run("x, 'again'", "([1], 'again')")
        prompt.run("%points", "start  after turn 1")
        prompt.run("%who", "x  list")
        prompt.run("%limits", "memory 512M")
        prompt.run("%fork other", "%switch other goes there")
        prompt.run("%switch other", "other [")
        prompt.run("%time len(x)", "time: ")
        prompt.run("?len", "Return the number of items")
        prompt.run("%rolback start", "did you mean %rollback?")
        prompt.run("%rollback nowhere", "no point 'nowhere'")
        contains(prompt.leave(), "session 'other' stays", "the screen")


@claim("a session that dies with its code is followed by a new one, and that is said")
def death(person):
    with Prompt(person) as prompt:
        prompt.run("x = 1", "In [2]:")
        prompt.run("%reset", "with nothing of the old")
        prompt.run("'x' in globals()", "False")
        shown = prompt.run("import os; os.kill(os.getpid(), 9)", "a new one begins")
        contains(shown, "its state is lost", "the screen")
        prompt.run("6 * 7", "42")


@claim("a table and a prompt fit the terminal, at 80 columns and at 200")
def widths(person):
    code = "[{'name': 'n' * 60, 'value': i, 'more': 'm' * 60} for i in range(3)]"
    for columns in (80, 200):
        with Prompt(person, size=(columns, 50)) as prompt:
            prompt.run("%help", "Ctrl-D")
            prompt.run(code, "In [2]:")
            prompt.run("%info", "limits")
            for line in prompt.lines():
                check(len(line) <= columns, f"a line of {len(line)} columns:", line)


@claim("leaving in any way leaves the terminal as it was")
def restored(person):
    with Prompt(person) as prompt:
        prompt.run("x = 1", "In [2]:")
        prompt.leave()
        prompt.type("echoed").wait_for("echoed")
    with contextlib.ExitStack() as stack:
        prompt = stack.enter_context(Prompt(person))
        prompt.run("%quit", "[exit 0]")
        prompt.type("echoed").wait_for("echoed")
