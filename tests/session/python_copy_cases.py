# SPDX-License-Identifier: Apache-2.0
"""Copies of a Python session: points, which are exact, and branches, which go their own way."""
import os
import random
import shutil

import python_line
from suite import EVERYONE, ROOT, USER, Skip, check, claim, contains, equal

ONE = ROOT if os.geteuid() == 0 else USER  # what does not depend on who asks is asked once


def session(person, **kwargs):
    return python_line.session(person, **kwargs)


def without_module(person):
    """A runtime that has no _hotcell, as for an interpreter that cannot load it."""
    place = person.path("runtime")
    shutil.copytree(os.path.join(person.build, "runtimes", "python"), place,
                    ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return place


def roll_back(live, point, **members):
    """The live one ends, the point stays."""
    copy = point.fork(**members)
    live.end_process()
    return copy


# ---- a copy is exact -----------------------------------------------------------------------------


@claim("python session: a point is what the session was, again and again", EVERYONE)
def goes_back(person):
    with session(person) as live:
        live.run("x = [1]; import random; draws = iter(range(9)); next(draws)")
        point = live.fork()
        check(point.pid != live.pid, "the copy is the original")
        for _ in range(3):
            live.run("x.append(2); del draws; y = 1")
            live = roll_back(live, point)
            equal(live.run("x, 'y' in globals()").text, "([1], False)\n", "the state")
            equal(live.run("next(draws)").text, "1\n", "a generator")
        equal(live.run("import os; os.getpid()").text, f"{live.pid}\n", "its number")


@claim("python session: without the module a copy is made all the same", ONE)
def without(person):
    with session(person, runtime=without_module(person)) as live:
        live.run("x = [1]; import random; random.seed(1)")
        copy = live.fork()
        live.family.discard(copy.pid)  # adopted, but not by us
        live.run("x.append(2)")
        equal(copy.run("x, random.random()").text, "([1], 0.13436424411240122)\n", "the state")
        copy.send({"bye": True})
        equal(copy.packet(), None, "what it says at its end")


@claim("python session: random numbers go on as they would have, and differ in a branch", ONE)
def random_numbers(person):
    with session(person) as live:
        code = "import random, uuid\n[random.random() for _ in range(3)]"
        live.run(code)
        has_numpy = live.run("import numpy").code == 0
        draw = code + (" + list(numpy.random.rand(3))" if has_numpy else "")
        live.run(draw)
        point = live.fork()
        drawn = live.run(draw).text
        equal(point.fork().run(draw).text, drawn, "the numbers after going back")
        branches = [point.fork(is_branch=True).run(draw).text for _ in range(3)]
        equal(len({drawn, *branches}), 4, "different ones")
        equal(point.fork().run(draw).text, drawn, "the numbers after that")


@claim("python session: hooks for a fork run at the code's forks, not for copies", ONE)
def fork_hooks(person):
    with session(person) as live:
        live.run("import os\ncalls = []\n"
                 "os.register_at_fork(before=lambda: calls.append(1), "
                 "after_in_child=lambda: calls.append(2))")
        equal(live.fork().run("calls").text, "[]\n", "calls in a copy")
        turn = live.run("pid = os.fork()\nif not pid: os._exit(len(calls))\n"
                        "os.waitpid(pid, 0)[1] >> 8")
        equal(turn.text, "2\n", "calls in a child")


@claim("python session: an open file is where it was, in each copy", ONE)
def file_positions(person):
    with session(person) as live:
        live.run("f = open('data', 'w+'); f.write('0123456789'); f.seek(3); f.read(1)")
        live.run("import os; g = os.open('data', os.O_RDONLY); os.read(g, 2)")
        point = live.fork()
        live.run("f.seek(0, 2); f.write('more'); f.flush(); os.lseek(g, 9, 0)")
        branch = point.fork()
        equal(branch.run("f.tell(), os.lseek(g, 0, 1), f.read(2)").text, "(4, 2, '45')\n",
              "where the copy is")
        equal(live.run("f.tell(), os.lseek(g, 0, 1)").text, "(14, 9)\n", "where the original is")
        live = roll_back(live, point)
        equal(live.run("f.tell(), os.lseek(g, 0, 1), f.read(2)").text, "(4, 2, '45')\n",
              "where the session is after going back")


@claim("python session: a copy of a copy is as fast and as exact as the first", ONE)
def generations(person):
    with session(person) as live:
        live.run("n = 0")
        for _ in range(150):
            copy = live.fork()
            live.end_process()
            live = copy
            live.run("n += 1")
        equal(live.run("n").text, "150\n", "the count")
        equal(live.run("1").done["execution_count"], 153, "executions")


@claim("python session: what was awaited can be awaited in a copy", ONE)
def event_loop(person):
    with session(person) as live:
        live.run("import asyncio\nlock = asyncio.Lock()\nawait lock.acquire()")
        point = live.fork()
        equal(point.notes, [], "notes")
        live.run("lock.release()")
        equal(point.fork().run("await asyncio.sleep(0.01, lock.locked())").text, "True\n", "the lock")


# ---- what is refused or told ---------------------------------------------------------------------


def refused(line):
    try:
        line.fork()
    except python_line.Refused as refusal:
        return refusal.args[0]
    return []


@claim("python session: threads and child processes are refused by name", ONE)
def refuses(person):
    with session(person) as live:
        live.run("import threading\nstop = threading.Event()\n"
                 "def work(): stop.wait()\nthreading.Thread(target=work).start()\n"
                 "threading.Thread(target=work, name='beside').start()")
        equal(refused(live), ["thread Thread-1 (work)", "thread beside"], "what is in the way")
        live.run("stop.set()\nfor t in threading.enumerate()[1:]: t.join()")
        equal(live.fork().notes, [], "notes when they are gone")
        turn = live.run("import subprocess; p = subprocess.Popen(['sleep', '60']); p.pid")
        equal(refused(live), [f"child process {turn.text.strip()} (sleep)"], "what is in the way")
        live.run("p.kill(); import os; os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)")
        equal(live.fork().notes, [f"child process {turn.text.strip()} (sleep), which has ended"],
              "notes about one that has ended")
        live.run("p.wait()")
        equal(live.fork().notes, [], "notes when it is gone")
        live.run("import _thread; lock = _thread.allocate_lock(); lock.acquire()\n"
                 "_thread.start_new_thread(lock.acquire, ())")
        equal(len(refused(live)), 1, "threads without a name")
        live.run("lock.release()")


@claim("python session: threads of a library that computes are no hindrance", ONE)
def computing_threads(person):
    with session(person, OPENBLAS_NUM_THREADS="2") as live:
        if live.run("import numpy; m = numpy.ones((400, 400)); float((m @ m).sum())").code:
            raise Skip("needs numpy")
        copy = live.fork()
        for line in (copy, live, copy.fork()):
            equal(line.run("float((m @ m).sum())").text, "64000000.0\n", "what it computes")


@claim("python session: what a copy can only share is told by name", ONE)
def tells(person):
    with session(person) as live:
        equal(live.fork().notes, [], "notes about nothing")
        live.run("import socket, select, os, mmap, signal")
        live.run("s = socket.socket(); ends = os.pipe(); e = select.epoll()\n"
                 "m = mmap.mmap(-1, 4096); t = os.memfd_create('mem')\n"
                 "w = open('/tmp/' + str(os.getpid()) + '.shared', 'w'); os.unlink(w.name)\n"
                 "r = open('/etc/passwd'); signal.setitimer(signal.ITIMER_VIRTUAL, 100)")
        numbers = live.run("print(s.fileno(), *ends, e.fileno(), t, w.fileno())").out.split()
        notes = live.fork().notes
        for name, number in zip(("socket", "pipe", "pipe", "epoll", "memory file", "file"), numbers):
            check(any(note.startswith(f"{name} {number.decode()}") for note in notes),
                  f"no {name} {number} among", notes)
        contains(notes, "mapping (anonymous)", "notes")
        contains(notes, "timer (ITIMER_VIRTUAL)", "notes")
        equal(len(notes), 8, f"notes {notes}")
        live.run("pipes = [os.pipe() for _ in range(100)]")
        notes = live.fork().notes
        contains(notes[-1], " more", "the last of many")


@claim("python session: no room for another process is a reason", ONE)
def no_room(person):
    with session(person) as live:
        if person.is_root:
            live.run("import os; os.setresuid(61999, 61999, 61999)")
        live.run("x = 1; import resource; resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))")
        contains(refused(live)[0], "no other process", "the reason")
        equal(live.run("x").text, "1\n", "the state")


# ---- any statements ------------------------------------------------------------------------------

BEGIN = """
import random, collections, itertools
names = {}
items = []
def gen(n):
    while True:
        n = (n * 7 + 3) % 101
        yield n
def counter():
    count = 0
    def bump(by=1):
        nonlocal count
        count += by
        return count
    return bump
class Node:
    shared = []
    def __init__(self, value): self.value = value; self.links = []
    def __repr__(self): return 'Node(%r, %d)' % (self.value, len(self.links))
gens = [gen(i) for i in range(3)]
bumps = [counter() for _ in range(3)]
nodes = [Node(i) for i in range(3)]
ring = collections.deque(maxlen=5)
import decimal
"""
STATEMENTS = (
    "v{a} = {n}", "v{a} = [{n}, {m}] * {a}", "names[{n}] = {m}", "names.pop({n}, None)",
    "items.append({n})", "items[:] = items[::-1]", "items.insert(0, items)", "del items[{a}:]",
    "next(gens[{a} % 3])", "gens[{a} % 3] = gen({n})", "bumps[{a} % 3]({n})",
    "nodes[{a} % 3].links.append(nodes[{b} % 3])", "Node.shared.append({n})", "ring.append({n})",
    "nodes.append(Node({n}))", "random.random()", "random.seed({n})", "random.shuffle(items)",
    "import {module}", "globals().pop('v{a}', None)", "def f{a}(x={n}): return x + {m}",
    "v{a} = lambda: {n}", "Node.extra{a} = {m}", "del Node.extra{a}", "1 / 0", "raise SystemExit",
    "decimal.getcontext().prec = {n} + 5", "v{a} = iter(range({n}))", "next(v{a})",
    "f = open('file{a}', 'a+'); f.write('x' * {n})", "f.seek({a})", "f.flush()",
    "from {module} import *", "x{a} = b{a} = {n}; del x{a}", "import sys; sys.setrecursionlimit(1000 + {n})",
    "import os; os.environ['V{a}'] = '{n}'", "import warnings; warnings.simplefilter('ignore')",
    "items.sort(key=str)", "with open('file{a}', 'w') as g: print({n}, file=g)",
)
MODULES = ("json", "string", "colorsys", "calendar", "fractions", "statistics", "textwrap", "heapq")
# Everything that the statements can change, and what comes next of what can be drawn from.
LOOK = """
def _look():
    import sys, os, hashlib
    def text(value):
        if callable(value) or hasattr(value, '__next__') or hasattr(value, 'read'):
            return type(value).__name__
        return repr(value)
    found = {name: text(value) for name, value in sorted(globals().items())
             if name[:1] != '_' and not isinstance(value, type(sys))}
    return [found, repr(nodes), repr([node.links for node in nodes]), sorted(vars(Node)),
            Node.shared, [next(g) for g in gens for _ in range(3)], [b() for b in bumps],
            [f() for name, f in sorted(globals().items()) if name[1:].isdigit() and callable(f)],
            [list(v) for name, v in sorted(globals().items()) if hasattr(v, '__next__')
             and name[:1] == 'v'], hashlib.md5(repr(random.getstate()).encode()).hexdigest(),
            sorted(sys.modules), decimal.getcontext().prec, sys.getrecursionlimit(),
            sorted(os.environ.items()), list(ring),
            f.tell() if 'f' in globals() and not callable(f) else None]
print(_look())
"""


def any_statement(chance):
    form = chance.choice(STATEMENTS)
    return form.format(a=chance.randrange(4), b=chance.randrange(4), n=chance.randrange(50),
                       m=chance.randrange(1000), module=chance.choice(MODULES))


def read_files(folder):
    """The keeper's part: files go back too, in place."""
    found = {}
    for entry in os.scandir(folder):
        if entry.is_file():
            with open(entry.path, "rb") as file:
                found[entry.path] = file.read()
    return found


def write_files(folder, files):
    for entry in os.scandir(folder):
        if entry.is_file() and entry.path not in files:
            os.unlink(entry.path)
    for path, data in files.items():
        with open(path, "r+b" if os.path.exists(path) else "wb") as file:
            file.truncate(0)
            file.write(data)


@claim("python session: going back is exact, whatever was done", ONE)
def exact(person):
    seed = int(os.environ.get("SEED", "1"))
    rounds = int(os.environ.get("ROUNDS", "25"))
    chance = random.Random(seed)
    with session(person) as live:
        equal(live.run(BEGIN).code, 0, "the beginning")
        for number in range(rounds):
            for _ in range(chance.randrange(1, 8)):
                live.run(any_statement(chance))
            point, files = live.fork(ahead=chance.random() < 0.5), read_files(person.dir)
            before = point.fork()
            wanted = before.run(LOOK)
            equal(wanted.code, 0, f"a look ({wanted.err.decode()})")
            before.end_process()
            write_files(person.dir, files)
            done = [any_statement(chance) for _ in range(chance.randrange(1, 12))]
            for statement in done:
                live.run(statement)
            write_files(person.dir, files)
            live = roll_back(live, point, spare=chance.random() < 0.5, like=live.pid)
            after = live.fork()
            equal(after.run(LOOK).out, wanted.out, f"state after {done} (SEED={seed}, round {number})")
            after.end_process()
            point.end_process()
            write_files(person.dir, files)
