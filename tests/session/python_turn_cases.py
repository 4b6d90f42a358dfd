# SPDX-License-Identifier: Apache-2.0
"""Turns of a Python session: what stays, what is told, and what an interrupt does."""
import os
import random
import signal
import time

import python_line
from suite import ROOT, USER, check, claim, contains, equal, lacks

ONE = ROOT if os.geteuid() == 0 else USER  # what does not depend on who asks is asked once


def session(person, **env):
    return python_line.session(person, **env)


@claim("python session: variables, imports, directory and environment stay", ONE)
def state_stays(person):
    with session(person) as line:
        line.run("import os, math\nx = [1]\ndef add(n): x.append(n)\nos.mkdir('d')\nos.chdir('d')")
        line.run("add(2)\nos.environ['A'] = 'b'")
        turn = line.run("x, math.pi, os.getcwd().endswith('/d'), os.environ['A'], __name__")
        equal(turn.text, "([1, 2], 3.141592653589793, True, 'b', '__main__')\n", "the state")
        equal(line.run("os.environ['C']", env=["C=d"]).text, "'d'\n", "a variable of a turn")
        equal(line.run("os.environ['C']").text, "'d'\n", "the same one turn later")


@claim("python session: each value of one line is shown, of more lines the last", ONE)
def values(person):
    with session(person) as line:
        for code, out, value in (
                ("x = 1", "", None), ("x", "", "1"), ("1; 2", "1\n", "2"), ("None", "", None),
                ("for i in range(2): i", "0\n1\n", None), ("x;", "", None), ("x; # c", "", None),
                ("3\n4", "", "4"), ("y = 5\nfor i in range(2):\n    i\n", "", None),
                ("print('a')\n'b'", "a\n", "'b'"), ("'é'", "", "'é'"), ("", "", None),
                ("# nothing", "", None), ("import asyncio\nawait asyncio.sleep(0, 6)", "", "6")):
            turn = line.run(code)
            result = turn.event("result")
            equal((turn.out.decode(), result and result["data"]["text/plain"], turn.code),
                  (out, value, 0), f"what {code!r} gives ({turn})")


@claim("python session: _ and _N are values of before", ONE)
def underscore(person):
    with session(person) as line:
        for number in range(1, 4):
            line.run(str(number * 11))
        equal(line.run("_, __, ___, _1, _2").text, "(33, 22, 11, 11, 22)\n", "the values")
        equal(line.run("sorted(n for n in globals() if n[:2] != '__')").text, "[]\n",
              "names in the module")
        line.run("_ = 'mine'")
        line.run("44")
        equal(line.run("_").text, "'mine'\n", "a name of the code's own")


@claim("python session: only executions are counted, and the last word tells", ONE)
def counted(person):
    with session(person) as line:
        equal(line.run("1").done, {"event": "done", "exit_code": 0, "execution_count": 1,
                                   "interrupted": False}, "the last word")
        line.question(complete={"code": "im", "cursor": 2})
        line.question(is_complete={"code": "x"})
        equal(line.run("raise ValueError('no')").done["execution_count"], 2, "the count")
        equal(line.run("1").done["execution_count"], 3, "the count")


@claim("python session: an error tells the lines of earlier executions", ONE)
def errors(person):
    with session(person) as line:
        line.run("def f(n):\n    return 1 / n")
        turn = line.run("\nf(0)", name="<prompt>")
        equal(turn.code, 1, "exit code")
        event = turn.event("error")
        equal((event["name"], event["value"], event["line"]),
              ("ZeroDivisionError", "division by zero", 2), "the error")
        equal([(frame["file"], frame["line"], frame["source"]) for frame in event["traceback"]],
              [("<prompt>", 2, "f(0)"), ("<cell 1>", 2, "    return 1 / n")], "the frames")
        contains(turn.err.decode(), '  File "<cell 1>", line 2, in f\n    return 1 / n\n', "stderr")
        lacks(turn.err.decode(), "session.py", "stderr")
        turn = line.run("x = (1,\n     2")
        equal((turn.event("error")["kind"], turn.code), ("syntax", 1), "a syntax error")
        contains(turn.err.decode(), "SyntaxError: '(' was never closed", "stderr")
        equal(line.run("import sys; sys.last_type.__name__").text, "'SyntaxError'\n", "sys.last_type")
        line.run("def hook(*args): print('hooked', args[0].__name__)\nsys.excepthook = hook")
        equal(line.run("1/0").out, b"hooked ZeroDivisionError\n", "what the code's own hook says")
        line.run("sys.excepthook = sys.__excepthook__")
        turn = line.run("import asyncio\nasync def g(): 1/0\nawait g()")
        equal([frame["file"] for frame in turn.event("error")["traceback"]], ["<cell 8>"] * 2,
              "frames of what was awaited")


@claim("python session: exit() ends the turn with its status, and the session stays", ONE)
def exits(person):
    with session(person) as line:
        for code, status, err in (("x = 1; exit(3)", 3, b""), ("raise SystemExit", 0, b""),
                                  ("import sys; sys.exit('no')", 1, b"no\n"), ("quit()", 0, b"")):
            turn = line.run(code)
            equal((turn.code, turn.err), (status, err), f"how {code!r} ends")
            equal(turn.event("error"), None, "an error")
        equal(line.run("x, input()", stdin=b"read\n").text, "(1, 'read')\n", "the state")


@claim("python session: nothing of one turn's streams is left for the next", ONE)
def streams(person):
    with session(person) as line:
        equal(line.run("input('n? ')", stdin=b"one\ntwo\n").text, "n? 'one'\n", "a line")
        turn = line.run("input()")
        equal((turn.code, turn.event("error")["name"]), (1, "EOFError"), "input without any")
        equal(line.run("import sys; sys.stdin.read()", stdin=b"three").text, "'three'\n", "the rest")
        line.run("sys.stdout.write('no newline'); None")
        equal(line.run("print('b')").out, b"b\n", "stdout")
        line.run("sys.stdout.close()")
        equal(line.run("print('c')").out, b"c\n", "stdout after it was closed")
        line.run("import os; os.close(0); os.close(1); os.close(2)")
        equal(line.run("print('d')").out, b"d\n", "stdout after its descriptor was closed")
        line.run("import io; kept, sys.stdout = sys.stdout, io.StringIO()")
        equal(line.run("print('e')").out, b"", "stdout of the code's own")
        equal(line.run("text = sys.stdout.getvalue(); sys.stdout = kept; text").text, "'e\\n'\n",
              "what it got")
        equal(line.run("os.system('echo f; echo g >&2')").out, b"f\n", "stdout of a command")


@claim("python session: lines are seen when they are whole", ONE)
def line_buffered(person):
    with session(person) as line:
        turn = line.run("import os, sys\nprint('a')\nos.write(1, b'b')\nprint('c', file=sys.stderr)\n"
                        "sys.stdout.write('d'); None")
        equal((turn.out, turn.err), (b"a\nbd", b"c\n"), "the order")


@claim("python session: who accepts input is asked for it", ONE)
def asked(person):
    with session(person) as line:
        turn = line.run("print('x', end='')\nname = input('name? ')\nname", answers=["Ada"],
                        accepts_input=True)
        equal(turn.events[0], {"event": "input_request", "prompt": "name? ", "password": False},
              "the question")
        equal(turn.text, "x'Ada'\n", "the answer")
        turn = line.run("import getpass\ngetpass.getpass()", answers=["secret"], accepts_input=True)
        equal(turn.events[0]["password"], True, "whether a password is asked for")
        equal(line.run("input()", accepts_input=True).event("error")["name"], "EOFError",
              "the end of the input")
        equal(line.run("input()", stdin=b"pipe\n").text, "'pipe'\n", "input of one who does not")


@claim("python session: a warning is shown once in each execution", ONE)
def warnings(person):
    with session(person) as line:
        code = "import warnings\nfor i in range(3): warnings.warn('old')"
        for number in (1, 2):
            equal(line.run(code).err.decode(),
                  f"<cell {number}>:2: UserWarning: old\n"
                  "  for i in range(3): warnings.warn('old')\n", "stderr")


@claim("python session: a child that the code forks does not serve", ONE)
def forked(person):
    with session(person) as line:
        turn = line.run("import os\npid = os.fork()\nif pid == 0: print('child')\n"
                        "else: os.waitpid(pid, 0); print('parent')")
        equal(turn.out, b"child\nparent\n", "stdout")
        equal(line.run("6 * 7").text, "42\n", "the next turn")
        turn = line.run("import multiprocessing as m\np = m.get_context('fork').Process("
                        "target=print, args=('x',))\np.start(); p.join(); p.exitcode")
        equal(turn.text, "x\n0\n", "a process of multiprocessing")


@claim("python session: threads go on between turns, and their words go nowhere", ONE)
def threads(person):
    with session(person) as line:
        line.run("import threading\ngo = threading.Event(); done = threading.Event()\n"
                 "def work():\n    go.wait()\n    print('between')\n    done.set()\n"
                 "threading.Thread(target=work).start()\n"
                 "threading.Timer(0, go.set).start()")
        equal(line.run("done.wait()\nprint('x')").out.replace(b"between\n", b""), b"x\n", "stdout")


@claim("python session: no frame of ours, no name of ours", ONE)
def nothing_of_ours(person):
    with session(person) as line:
        equal(line.run("import traceback; traceback.print_stack(limit=9)").err.count(b"File"), 1,
              "frames")
        equal(line.run("import sys; sys.argv, sys.path[0], sys.exc_info()[0]").text,
              "([''], '', None)\n", "what a prompt has too")


@claim("python session: what code puts at its end runs when it is told to leave", ONE)
def told_to_leave(person):
    with session(person) as line:
        line.run("import atexit\natexit.register(lambda: open('left', 'w').write('yes'))")
        equal(line.leave(), 0, "wait status")
        with open(person.path("left"), encoding="ascii") as file:
            equal(file.read(), "yes", "what it left")
    with session(person) as line:
        line.end.close()
        equal(os.waitpid(line.pid, 0)[1], 0, "wait status of one whose keeper is gone")
        line.family.clear()


@claim("python session: figures and tables come with the turn that made them", ONE)
def rich(person):
    with session(person) as line:
        if line.run("import matplotlib.pyplot as plt, pandas").code:
            return
        turn = line.run("plt.plot([1, 2]);")
        contains(turn.event("display")["data"], "image/png", "the figure")
        equal(line.run("1").event("display"), None, "a figure that was shown")
        contains(line.run("pandas.DataFrame({'a': [1]})").event("result")["data"],
                 "application/vnd.hotcell.table+json", "the table")


# ---- interrupts ----------------------------------------------------------------------------------

LONG = ("while True: pass", "import time; time.sleep(100)", "input()",
        "import threading; threading.Event().wait()",
        "x = 0\ntry:\n    while x >= 0: x += 1\nfinally: cleaned = True",
        "import asyncio; await asyncio.sleep(100)", "import subprocess; subprocess.run(['sleep', '9'])",
        "class R:\n    def __repr__(self):\n        while True: pass\nR()")
SHORT = ("x = 1", "sum(i * i for i in range(20000))", "[i for i in range(10000)]; None",
         "import time; time.sleep(0.001)", "print('a' * 10)", "1 / 0",
         "def f(n): return n and f(n - 1)\nfor i in range(30): f(100)")


@claim("python session: an interrupt ends the code and keeps the state", ONE)
def interrupted(person):
    def interrupt(pid):
        time.sleep(0.1)
        os.kill(pid, signal.SIGINT)

    with session(person) as line:
        line.run("kept = 5")
        for code in LONG:
            turn = line.run(code, interrupt=interrupt, accepts_input=False,
                            stdin=None if code != "input()" else b"")
            if code == "input()":
                continue  # its end comes at once
            check(turn.done["interrupted"] and turn.code == 130, f"{code!r} went on: {turn}")
            equal(turn.event("error")["name"], "KeyboardInterrupt", "the error")
            equal(line.run("kept").text, "5\n", "the state")
        equal(line.run("cleaned").text, "True\n", "what code does at its end")


@claim("python session: an interrupt at any moment hits this turn or none", ONE)
def interrupted_anywhere(person):
    chance = random.Random(5)
    with session(person) as line:
        line.run("kept = 5")
        hits = 0
        for number in range(200):
            code, delay = chance.choice(SHORT), chance.uniform(0, 0.003)

            def interrupt(pid):
                time.sleep(delay)
                os.kill(pid, signal.SIGINT)

            turn = line.run(code, interrupt=interrupt)
            check(turn.done is not None, f"{number}: {code!r} after {delay}: {turn}")
            hits += turn.done["interrupted"]
            turn = line.run("kept")
            equal((turn.text, turn.err), ("5\n", b""), f"the turn after {code!r}, {delay}")
        check(0 < hits < 200, "hits", hits)


@claim("python session: between turns an interrupt does nothing, whatever its handler", ONE)
def interrupted_between(person):
    with session(person) as line:
        for handler in ("signal.default_int_handler", "signal.SIG_DFL", "lambda *_: 1 / 0"):
            line.run(f"import signal; signal.signal(signal.SIGINT, {handler})")
            for _ in range(3):
                os.kill(line.pid, signal.SIGINT)
            turn = line.run("6 * 7")
            equal((turn.text, turn.err), ("42\n", b""), f"the turn after it, with {handler}")


# ---- questions -----------------------------------------------------------------------------------

THINGS = """
import os, sys, json
table = {'alpha': 1, 'beta': {'key': [1, 'text']}}
class Thing:
    '''A thing.'''
    @property
    def costly(self):
        print('looked at')
        return 1
    def method(self, argument=1):
        '''What it does.'''
        return argument
thing = Thing()
def function(first, *, second=2): return first
"""


@claim("python session: names are completed without running anything", ONE)
def completes(person):
    with session(person) as line:
        line.run(THINGS)
        for code, wanted in (
                ("os.path.joi", ["join"]), ("tab", ["table"]), ("table['al", ["alpha"]),
                ('table["', ["alpha", "beta"]), ("table['beta']['key'][1].upp", ["upper"]),
                ("import colors", ["colorsys"]), ("from json.dec", ["decoder"]),
                ("from os import getc", ["getcwd", "getcwdb"]), ("import os, colors", ["colorsys"]),
                ("thing.", ["costly", "method"]), ("thing.costly.", []), ("function(se", None),
                ("open('/etc/hostn", ["hostname"]), ("'text'.starts", ["startswith"]),
                ("x = [1].app", ["append"]), ("whil", ["while"]), ("nothing.", []),
                ("print(thing.meth", ["method"]), ("# tab", ["table"])):
            answer = line.question(complete={"code": code, "cursor": len(code)})
            equal(answer["event"], "completions", "event")
            if wanted is not None:
                equal(answer["matches"], wanted, f"completions of {code!r}")
            else:
                check("second=" in answer["matches"], "no argument among", answer)
        answer = line.question(complete={"code": "os.pat + 1", "cursor": 6})
        equal((answer["matches"], answer["start"], answer["end"]),
              (["path", "pathconf", "pathconf_names", "pathsep"], 3, 6), "in the middle")
        equal(line.run("").out, b"", "what was printed")


@claim("python session: things are described", ONE)
def describes(person):
    with session(person) as line:
        line.run(THINGS)
        text = line.question(inspect={"name": "function", "detail": 0})["text"]
        contains(text, "Signature: function(first, *, second=2)\nType: function", "the text")
        text = line.question(inspect={"name": "function", "detail": 1})["text"]
        contains(text, "Source:\ndef function(first, *, second=2): return first", "the text")
        text = line.question(inspect={"name": "thing.method"})["text"]
        contains(text, "What it does.", "the text")
        contains(line.question(inspect={"name": "Thing"})["text"], "A thing.", "the text")
        for name in ("nothing", "thing.costly", "1 +", "os.system('echo no')"):
            equal(line.question(inspect={"name": name})["text"], None, f"what {name} is")


@claim("python session: whether code is whole is known", ONE)
def whole(person):
    with session(person) as line:
        for code, state, indent in (
                ("x = 1", "complete", ""), ("for i in x:", "incomplete", "    "),
                ("for i in x:\n  y", "incomplete", "  "), ("for i in x:\n  y\n", "complete", ""),
                ("if 1:\n    if 2:", "incomplete", "        "), ("f(1,", "incomplete", ""),
                ("'''text", "incomplete", ""), ("1 +", "invalid", ""), ("a b", "invalid", ""),
                ("await x", "complete", ""), ("f(1,\n  2)", "complete", ""), ("", "complete", "")):
            answer = line.question(is_complete={"code": code})
            equal((answer["state"], answer["indent"]), (state, indent), f"{code!r}")


@claim("python session: modules of a project that changed are loaded again when asked", ONE)
def reloads(person):
    def write(text):
        person.write(person.path("project.py"), text)
        os.utime(person.path("project.py"), ns=(0, time.monotonic_ns()))

    base = "class Base:\n    def name(self): return 'base'\n"
    with session(person) as line:
        write(base + "def f(): return 1\nclass A(Base):\n    def g(self): return 1\n")
        line.run("import project\nfrom project import f, A\na = A()")
        write(base + "def f(): return 2\nclass A(Base):\n    def g(self): return 2\n"
              "    def name(self): return super().name() + '+'\n")
        equal(line.run("f(), a.g(), project.f()").text, "(1, 1, 1)\n", "without being asked")
        equal(line.run("f(), a.g(), a.name(), project.f(), isinstance(a, project.A)",
                       reload=True).text, "(2, 2, 'base+', 2, True)\n", "when asked")
        write("def f(: pass")
        turn = line.run("f()", reload=True)
        equal(turn.text, "2\n", "what a module was before it was broken")
        contains(turn.err.decode(), "hotcell: project was not loaded again: SyntaxError", "stderr")


@claim("python session: nonsense on the line or the channel ends nothing", ONE)
def nonsense(person):
    with session(person) as line:
        line.run("x = 1")
        for request in ({}, {"execute": {}}, {"execute": 1}, {"unknown": {}}, [1], {"complete": {}}):
            line.ask(request, is_lost=True)
        line.send({"fork": 1})
        line.send({"turn": 99})
        line.send([])
        line.end.send(b"{")
        equal(line.run("x").text, "1\n", "the state")
        code = "y = '" + "é" * (3 << 20) + "'; len(y)"
        equal(line.run(code).text, f"{3 << 20}\n", "a large execution")
