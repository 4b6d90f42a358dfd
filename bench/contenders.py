# SPDX-License-Identifier: Apache-2.0
"""Who takes part, whom each is compared with, and which ratio it must reach."""
import dataclasses
import os

from stage import IMAGE, PYTHON, RUNTIMES, TRUE, USR_LINKS, ask, hotcell, which

# How often: in each round, in each fifth, in each tenth.
OFTEN, SELDOM, RARELY = 1, 5, 10

GO = 'package main; import "fmt"; func main() {{ fmt.Println("hello", {}) }}'
DATA = "import numpy, pandas"
# State and files of a session, and what each of its turns does.
STATE = "x = 0; [open(name, 'w').write(name * 1000) for name in 'abc']"
FRAME = ("import numpy, pandas; "
         "frame = pandas.DataFrame({name: numpy.random.rand(1_250_000) for name in 'abcdefghij'})")
STEP = "x += 1"


@dataclasses.dataclass
class Bar:
    """The most that a ratio may be, of a quantile to the median of another contender; or their
    difference, in microseconds."""

    limit: float
    quantile: str = "p50"
    against: str = None  # None: what the contender is compared with anyway
    is_difference: bool = False


@dataclasses.dataclass
class Contender:
    group: str
    title: str
    words: list  # its kind, and what that needs: bench/main.c
    against: str = None  # the name of the one it is compared with
    bars: list = dataclasses.field(default_factory=list)
    every: int = OFTEN
    socket: str = "-"
    is_steady: bool = False  # its last runs are to take no longer than its first

    @property
    def name(self):
        return f"{self.group}: {self.title}"


def bwrap(usr, etc):
    """A bubblewrap with what a cell has: own root, /proc, /dev, /tmp, home, all namespaces."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    words += ["--ro-bind", usr, "/usr"]
    for name in USR_LINKS:
        words += ["--symlink", f"usr/{name}", f"/{name}"]
    for path in etc:
        words += ["--ro-bind-try", path, path]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/home/user"]
    words += ["--dir", "/run", "--dir", "/mnt", "--hostname", "cell", "--chdir", "/home/user"]
    for pair in ("PATH=/usr/bin:/bin", "HOME=/home/user", "USER=user", "LANG=C.UTF-8"):
        words += ["--setenv", *pair.split("=", 1)]
    return words


def oci(program, work, bundle):
    """runc or runsc; the latter with the platform that works without hardware support."""
    words = [program, "--root", f"{work}/{program}-state"]
    if program == "runsc":
        words += ["--platform=ptrace", "--network=none", "--ignore-cgroups"]
    return [*words, "run", "--bundle", bundle, "hotcell-bench-{n}"]


def docker(*words):
    return ["docker", "run", "--rm", "--network", "none", *words]


def peers(stage, group, against, args, binds):
    """Container runtimes that are here, with the same program."""
    rows = []
    if os.geteuid() == 0 and which("runc"):
        bundle = stage.bundle(f"bundle-{group}", args, binds)
        for program in filter(which, ("runc", "runsc")):
            rows.append(Contender(group, program, ["spawn", *oci(program, stage.work, bundle)],
                                  against, every=SELDOM if program == "runc" else RARELY))
    if stage.has_docker:
        binds = [word for bind in binds for word in ("-v", f"{bind}:{bind}:ro")]
        rows.append(Contender(group, "docker run", ["spawn", *docker(*binds, IMAGE, *args)],
                              against, every=RARELY))
    return rows


def static_rows(stage, warm, _demand):
    """A program that does nothing at all: what is left is the cost of the walls around it."""
    group, root, against = "static", str(stage.root), "static: bwrap"
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--ipc", "--uts", "--cgroup", "--net"]
    if os.geteuid() != 0:
        namespaces += ["--user", "--map-root-user"]
    return [
        Contender(group, "vfork+exec", ["spawn", root + TRUE], against),
        Contender(group, "vfork+exec, dynamic", ["spawn", "/bin/true"], against),
        Contender(group, "unshare, 6 namespaces", ["spawn", *namespaces, root + TRUE], against),
        Contender(group, "bwrap", ["spawn", *bwrap(f"{root}/usr", []), TRUE], against),
        *peers(stage, group, against, [TRUE], []),
        Contender(group, "hotcell run --cold",
                  ["spawn", hotcell(), "run", "--cold", "--rootfs", root, "--exec", "--", TRUE],
                  against, [Bar(0.8)]),
        Contender(group, "resident zygote", ["resident", root, TRUE], against, [Bar(0.35)]),
        Contender(group, "resident zygote, parked", ["parked", root, TRUE], against),
        Contender(group, "lent, parked", ["lent-exec", root, TRUE], "static: vfork+exec",
                  socket=warm),
        Contender(group, "held, parked", ["held-exec", root, TRUE], "static: vfork+exec",
                  [Bar(2), Bar(0.1, against=against)], socket=warm),
    ]


def python_rows(stage, warm, demand):
    group, against = "python", "python: python3 -c pass"
    etc = ["/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/python3.11"]
    return [
        Contender(group, "python3 -c pass", ["spawn", PYTHON, "-c", "pass"], against),
        Contender(group, "python3 -I -S -c pass", ["spawn", PYTHON, "-I", "-S", "-c", "pass"],
                  against),
        Contender(group, "python3 -c print(1)", ["spawn", PYTHON, "-c", "print(1)"], against),
        Contender(group, "bwrap", ["spawn", *bwrap("/usr", etc), PYTHON, "-c", "pass"], against),
        *peers(stage, group, against, [PYTHON, "-c", "pass"], ["/usr"]),
        Contender(group, "hotcell run --cold", ["spawn", hotcell(), "run", "--cold", "-c", "pass"],
                  against),
        Contender(group, "hotcell run -c print(1)", ["spawn", hotcell(), "run", "-c", "print(1)"],
                  "python: python3 -c print(1)", [Bar(0.25)], socket=warm),
        Contender(group, "forked, in process", ["guest", str(RUNTIMES / "python"), "pass"],
                  against, [Bar(0.12)]),
        Contender(group, "parked, in process", ["parked-guest", str(RUNTIMES / "python"), "pass"],
                  against),
        Contender(group, "lent, parked", ["lent", "python", "pass"], against,
                  [Bar(0.12, "p95")], socket=warm),
        Contender(group, "held, parked", ["held", "python", "pass"], against,
                  [Bar(0.04), Bar(0.12, "p95")], socket=warm),
        Contender(group, "over HTTP, parked", ["http", "python", "pass"], against, socket=warm),
        Contender(group, "lent, on demand", ["lent", "python", "pass"], against, socket=demand),
        Contender(group, "lent, on demand, until cleared", ["lent-gone", "python", "pass"], against,
                  [Bar(0.12)], socket=demand),
    ]


def data_rows(_stage, warm, demand):
    if ask(PYTHON, "-c", DATA) is None:
        return []
    group, against = "data", f"data: python3 -c '{DATA}'"
    return [
        Contender(group, f"python3 -c '{DATA}'", ["spawn", PYTHON, "-c", DATA], against,
                  every=RARELY),
        Contender(group, "hotcell run", ["spawn", hotcell(), "run", "-c", DATA], against,
                  every=SELDOM, socket=warm),
        Contender(group, "lent, on demand", ["lent", "python", DATA], against, [Bar(1 / 100)],
                  every=SELDOM, socket=demand),
        Contender(group, "lent, parked", ["lent", "python", DATA], against, every=SELDOM,
                  socket=warm),
        Contender(group, "held, parked", ["held", "python", DATA], against, [Bar(1 / 1000)],
                  every=SELDOM, socket=warm),
    ]


def node_rows(_stage, warm, _demand):
    if not which("node"):
        return []
    group, against = "node", "node: node -e 0"
    code = ["-l", "javascript", "-c", "0"]
    return [
        Contender(group, "node -e 0", ["spawn", which("node"), "-e", "0"], against, every=SELDOM),
        Contender(group, "hotcell run --cold", ["spawn", hotcell(), "run", "--cold", *code],
                  against, every=RARELY),
        Contender(group, "hotcell run", ["spawn", hotcell(), "run", *code], against, every=SELDOM,
                  socket=warm),
        Contender(group, "lent, parked", ["lent", "javascript", "0"], against, every=SELDOM,
                  socket=warm),
        Contender(group, "held, parked", ["held", "javascript", "0"], against, [Bar(1 / 30)],
                  every=SELDOM, socket=warm),
    ]


def go_rows(stage, warm, _demand):
    if not which("go") or not stage.build_go(GO.format(0)):
        return []
    group, binary, build = "go", "go: the binary", "go: go build, new source, and run"
    script = (f"echo '{GO.format('{n}')}' >{stage.work}/new.go && "
              f"{stage.go_command('new', 'new.go')} && {stage.work}/new")
    return [
        Contender(group, "the binary", ["spawn", f"{stage.work}/same"], binary, every=SELDOM),
        Contender(group, "go build, new source, and run", ["spawn", "sh", "-c", script], binary,
                  every=RARELY),
        Contender(group, "lent, same source again", ["lent", "go", GO.format(0)], binary,
                  every=SELDOM, socket=warm),
        Contender(group, "held, same source again", ["held", "go", GO.format(0)], binary,
                  [Bar(2)], every=SELDOM, socket=warm),
        Contender(group, "lent, new source", ["lent", "go", GO.format("{n}")], build, [Bar(1.2)],
                  every=RARELY, socket=warm),
    ]


def shell_rows(_stage, warm, _demand):
    group, against = "bash", "bash: bash -c :"
    return [
        Contender(group, "bash -c :", ["spawn", "/usr/bin/bash", "-c", ":"], against,
                  every=SELDOM),
        Contender(group, "lent, parked", ["lent", "bash", ":"], against, every=SELDOM,
                  socket=warm),
    ]


def session_rows(_stage, warm, _demand):
    """What is done with sessions, beside the start of the smallest program there is."""
    group, true, python = "session", "session: fork+exec /bin/true", "session: python3 -c pass"
    state = ["python", STATE]
    rows = [
        Contender(group, "fork+exec /bin/true", ["fork", "/bin/true"], true),
        Contender(group, "python3 -c pass", ["spawn", PYTHON, "-c", "pass"], true, every=SELDOM),
        Contender(group, "turn", ["exec", *state, "x = 1"], true, [Bar(0.05, against=python)],
                  socket=warm),
        Contender(group, "checkpoint", ["checkpoint", *state, STEP], true, [Bar(0.8)],
                  socket=warm),
        Contender(group, "rollback and turn", ["rollback", *state, STEP], true, [Bar(1.2)],
                  socket=warm),
        Contender(group, "branch", ["branch", *state, STEP], true, [Bar(0.8)], socket=warm),
        Contender(group, "rollback and turn, one generation after the other",
                  ["generation", *state, STEP], true, socket=warm, is_steady=True),
    ]
    if ask(PYTHON, "-c", DATA) is not None:
        frame = ["python", f"{STATE}; {FRAME}"]
        rows += [
            Contender(group, "checkpoint, 100 MB frame", ["checkpoint", *frame, STEP], true,
                      [Bar(2.5)], socket=warm, every=2),
            Contender(group, "rollback and turn, 100 MB frame", ["rollback", *frame, STEP], true,
                      [Bar(3)], socket=warm, every=2),
            Contender(group, "branch, 100 MB frame", ["branch", *frame, STEP], true, [Bar(2.5)],
                      socket=warm, every=2),
        ]
    return rows


def guard_rows(stage, warm, _demand):
    """What it takes to look at 200 lines before they run, and to hold them to the lists."""
    group, against = "guard", "guard: trusted, 200 lines"
    path = stage.work / "lines.py"
    path.write_text(lines_of_python(200))
    rows = []
    for profile in ("trusted", "standard", "strict"):
        bars = [] if profile == "trusted" else [Bar(1000, is_difference=True)]
        rows.append(Contender(group, f"{profile}, 200 lines",
                              ["spawn", hotcell(), "run", "--profile", profile, str(path)], against,
                              bars, socket=warm))
    return rows


def lines_of_python(count):
    """Functions and classes that import, compute and print, as programs do."""
    lines = ["import json, math, re", "from collections import Counter", ""]
    for number in range((count - len(lines) - 1) // 10):
        lines += [f"class Item{number}:", "    def __init__(self, size):", "        self._size = size",
                  f"    def area(self, factor={number}):",
                  "        return math.floor(self._size * factor + 0.5)",
                  f"def describe{number}(items):", "    sizes = [item.area() for item in items]",
                  "    names = Counter(re.sub('a', 'b', str(size)) for size in sizes)",
                  "    return json.dumps({'sizes': sizes, 'count': len(names)})", ""]
    lines += ["# nothing"] * (count - len(lines) - 1)
    return "\n".join([*lines, "print(describe0([Item0(1), Item0(2)]))", ""])


GROUPS = {"static": static_rows, "python": python_rows, "data": data_rows, "node": node_rows,
          "go": go_rows, "bash": shell_rows, "session": session_rows, "guard": guard_rows}


def is_there(row):
    return row.words[0] not in ("spawn", "fork") or which(row.words[1]) is not None


def wanted(rows, words):
    """Those whose names contain one of the words, and whom they are compared with."""
    if not words:
        return rows
    chosen = {row.name for row in rows
              if any(word.lower() in row.name.lower() for word in words)}
    for row in [row for row in rows if row.name in chosen]:
        chosen |= {row.against, *(bar.against for bar in row.bars)}
    return [row for row in rows if row.name in chosen]


def contenders(stage, warm, demand, words):
    # whoever names groups, or members of them, need not wait for what the others need
    named = list(dict.fromkeys(word.partition(":")[0] for word in words))
    groups = named if named and set(named) <= set(GROUPS) else GROUPS
    rows = [row for group in groups for row in GROUPS[group](stage, warm, demand)]
    return wanted([row for row in rows if is_there(row)], words)
