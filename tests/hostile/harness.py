# SPDX-License-Identifier: Apache-2.0
"""Runs hostile programs in cells and judges what came of it.

A case is data: what to run, with which options, what must come of it, and an honest program that
must work in a cell of the same configuration. After each case three invariants are checked:

I1  nothing is left: no process, namespace, mount, cgroup, file or System V object;
I2  hotcell itself stayed small, whatever the cell did;
I3  a canary cell that ran at the same time did its work (for the cases that abuse resources).

Each case is tried in cells that its runs raise themselves, and in cells that stood ready and were
borrowed from a daemon (lender.py), which has invariants of its own.
"""
import dataclasses
import json
import os
import shutil
import subprocess
import time

from leftovers import Leftovers, descendants, hotcell_peaks_kb
from lender import Lender

HUNG_AFTER = 60  # seconds; no case may take that long
RSS_LIMIT_KB = 32 << 10  # of hotcell and its zygote, each
CANARY_LIMIT = 20  # seconds for about one second of work

EXIT_OF_STATUS = {"ok": 0, "timeout": 124, "setup_error": 125, "refused": 126, "oom": 137}
STATUSES = {
    "ok", "error", "signal", "timeout", "cpu_limit", "oom", "output_limit", "disk_limit",
    "interrupted", "refused", "setup_error",
}


# ---- what a case is ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of tests/hostile/programs, copied into the cell and executed there."""

    name: str
    args: tuple = ()


@dataclasses.dataclass(frozen=True)
class Code:
    """Code in a language of the cell."""

    language: str
    text: str


def program(name, *args):
    return Program(name, tuple(str(arg) for arg in args))


def honest(*args):
    return program("honest", *args)


def python(text):
    return Code("python", text)


def bash(text):
    return Code("bash", text)


@dataclasses.dataclass(frozen=True)
class Want:
    """What must come of a run. Fields that are None or empty are not looked at."""

    status: object = "ok"  # a status or several
    exit_code: int = None
    signal: int = None
    lines: dict = dataclasses.field(default_factory=dict)  # WHAT -> OUTCOME or several
    says: str = None  # part of stdout
    message: str = None  # part of error.message
    denials: tuple = ()  # pairs of layer and operation; an operation of None is any
    within: float = 20.0  # seconds for the whole command: generous, a bound and no benchmark
    also: object = None  # function of (run, bench) that returns problems


@dataclasses.dataclass(frozen=True)
class Skip:
    """Why a case has no meaning in a mode."""

    reason: str


@dataclasses.dataclass(frozen=True)
class Case:
    number: str  # of the behaviour, with a suffix where one behaviour has several cases
    name: str  # a claim
    run: object  # Program, Code, or a function of (bench) that returns problems
    want: Want = Want()
    options: tuple = ()  # "{work}" stands for a directory of this case
    honest: object = None  # Program or Code; None only for functions, which bring their own
    root: object = None  # Want or Skip where this mode differs, with the reason beside it
    rootless: object = None
    warm: object = None  # where a borrowed cell differs
    canary: bool = False

    def wanted(self, mode, is_warm):
        return (is_warm and self.warm) or getattr(self, mode) or self.want


# ---- what a run is -------------------------------------------------------------------------------


class Run:
    """One finished call of hotcell."""

    def __init__(self, argv):
        self.argv = argv
        self.exit = None
        self.seconds = 0.0
        self.stdout = b""
        self.stderr = b""
        self.result = None
        self.is_hung = False
        self.is_own = False  # its cell, even where cells are lent
        self.peaks_kb = {}

    def text(self):
        """The program's stdout: from the result, or as streamed."""
        if self.result is not None:
            return self.result.get("stdout") or ""
        return self.stdout.decode(errors="replace")

    def lines(self):
        """The `WHAT OUTCOME` lines of a hostile program."""
        told = {}
        for line in self.text().splitlines():
            what, _, outcome = line.rpartition(" ")
            told.setdefault(what, []).append(outcome)
        return told

    def denials(self):
        return [(d["layer"], d["operation"]) for d in (self.result or {}).get("denials", [])]

    def dump(self):
        shown = dict(self.result) if self.result is not None else {}
        for stream in ("stdout", "stderr"):
            if len(shown.get(stream) or "") > 2000:
                shown[stream] = shown[stream][:2000] + "…"
        parts = ["$ " + " ".join(shorten(arg) for arg in self.argv)]
        parts.append(f"exit {self.exit} after {self.seconds:.2f} s")
        if shown:
            parts.append(json.dumps(shown, indent=1, ensure_ascii=True))
        elif self.stdout:
            parts.append("stdout: " + repr(self.stdout[:2000]))
        if self.stderr:
            parts.append("stderr: " + repr(self.stderr[:2000]))
        return "\n".join(parts)


def shorten(text):
    text = text if len(text) < 200 else text[:200] + "…"
    return text if text.isprintable() and " " not in text and text else repr(text)


class Started:
    """A call of hotcell that is still under way."""

    def __init__(self, bench, argv, process, files, seconds):
        self.bench = bench
        self.process = process
        self.files = files
        self.seconds = seconds
        self.run = Run(argv)
        self.began = time.monotonic()

    def poll(self):
        self.run.peaks_kb.update(
            (name, max(kb, self.run.peaks_kb.get(name, 0)))
            for name, kb in hotcell_peaks_kb(self.process.pid).items()
        )
        return self.process.poll()

    def finish(self):
        """Waits for the end; a call that hangs is killed and marked."""
        while self.poll() is None:
            if time.monotonic() - self.began > self.seconds:
                self.run.is_hung = True
                self.process.kill()
                self.process.wait()
                break
            time.sleep(0.01)
        run = self.run
        run.seconds = time.monotonic() - self.began
        run.exit = self.process.returncode
        self.bench.alive.discard(self.process.pid)
        run.stdout, run.stderr = (read_all(fd) for fd in self.files)
        try:
            run.result = json.loads(run.stdout)
        except ValueError:
            run.result = None
        if not isinstance(run.result, dict):
            run.result = None
        return run


def read_all(fd):
    with os.fdopen(fd, "rb") as file:
        file.seek(0)
        return file.read(64 << 20)


# ---- the bench -----------------------------------------------------------------------------------


class Bench:
    """Everything a case needs: the programs, a private place, a way to run cells."""

    def __init__(self, mode, hotcell, build, root, place, is_warm=False):
        self.mode = mode  # "root" or "rootless"
        self.hotcell = str(hotcell)
        self.programs = build / "tests" / "hostile"
        self.source = root  # the tree, for the checks of source and documents
        self.place = place  # private to this run of the suite
        self.work = place / "work"  # private to the case
        self.tmp = place / "tmp"  # hotcell's TMPDIR
        self.home = place / "home"
        self.alive = set()
        self.runs = []
        for path in (self.tmp, self.home):
            path.mkdir(mode=0o700, exist_ok=True)
        self.leftovers = Leftovers(mode, watched=(self.tmp, self.home))
        self.has_canary = False  # a run beside the case's own, in a cell of the same pool
        self.lender = Lender(self) if is_warm else None

    def way(self):
        return self.mode + ("-warm" if self.lender else "")

    def path_of(self, name):
        return str(self.programs / name)

    def environment(self, extra=None):
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "LANG": "C.UTF-8", "HOME": str(self.home), "TMPDIR": str(self.tmp),
               "HOTCELL_SOCKET": str(self.place / "d.sock")}
        env.update(extra or {})
        return env

    def arguments(self, what, options=(), is_json=True):
        argv = ["run"] + (["--json"] if is_json else [])
        argv += [option.replace("{work}", str(self.work)) for option in options]
        if isinstance(what, Program):
            return argv + ["--file", self.path_of(what.name), "--exec", "--",
                           f"/home/user/{what.name}", *what.args]
        if isinstance(what, Code):
            return argv + ["-l", what.language, "-c", what.text]
        return argv + list(what)

    def start(self, what, options=(), *, is_json=True, stdin=subprocess.DEVNULL, stdout=None,
              env=None, before=(), seconds=HUNG_AFTER, is_own=False, **popen):
        """Starts hotcell on a Program, a Code or a list of arguments."""
        self.stand_ready(what, options, env=env)
        argv = [*before, self.hotcell, *self.arguments(what, options, is_json)]
        files = tuple(os.memfd_create(name) for name in ("stdout", "stderr"))
        process = subprocess.Popen(argv, stdin=stdin, stdout=files[0] if stdout is None else stdout,
                                   stderr=files[1], env=self.environment(env), cwd=self.place,
                                   **popen)
        self.alive.add(process.pid)
        started = Started(self, argv, process, files, seconds)
        started.run.is_own = is_own
        return started

    def stand_ready(self, what, options=(), count=1, env=None):
        """Cells for so many of these runs at once, and for a canary that may not have come yet."""
        if self.lender:
            argv = [self.hotcell, *self.arguments(what, options)]
            self.lender.stand_ready(argv, self.environment(env), count + self.has_canary)

    def left(self, seconds=3.0):
        """Waits until everything that runs is gone; returns what stays."""
        deadline = time.monotonic() + seconds
        while True:
            lent = self.lender.processes() if self.lender else ()
            living = [f"{pid} {name}" for pid, (_, state, name) in descendants(os.getpid()).items()
                      if state != "Z" and pid not in lent]
            if self.lender:
                living += self.lender.tree_problems(self.lender.settle(is_idle=True))
            if not living or time.monotonic() > deadline:
                return living
            time.sleep(0.02)

    def run(self, what, options=(), **how):
        run = self.start(what, options, **how).finish()
        self.runs.append(run)
        return run

    def expect(self, want, what, options=(), **how):
        """Runs and judges in one go; for cases that are functions."""
        return judge(self.run(what, options, **how), want, self)

    # -- one case --

    def try_case(self, case):
        """Returns the problems of a case."""
        want = case.wanted(self.mode, self.lender is not None)
        self.runs = []
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        before = self.leftovers.look()
        lent_before = self.lender.lent_so_far() if self.lender else None
        canary = self.start(honest("canary")) if case.canary else None
        self.has_canary = canary is not None
        try:
            problems = self.try_run(case, want)
        finally:
            self.has_canary = False
            canary_run = canary.finish() if canary else None
        if isinstance(problems, Skip):
            return problems
        if canary_run:
            problems += canary_problems(canary_run)
            if canary_problems(canary_run):
                self.runs.append(canary_run)
        if self.lender:
            problems += warm_problems(self.runs, lent_before, self.lender.lent_so_far())
            problems += self.lender.problems(RSS_LIMIT_KB)
        problems += self.leftovers.problems_since(before, self.alive, self.lender)
        return problems

    def try_run(self, case, want):
        if callable(case.run):
            problems = case.run(self)
            if isinstance(problems, Skip):
                return problems
        else:
            problems = self.expect(want, case.run, case.options)
        problems += [p for run in self.runs for p in size_problems(run)]
        if problems or case.honest is None:
            return problems
        # options that are refused here as a matter of course would refuse the honest one too
        is_refused = "setup_error" in (want.status or ())
        return [f"honest program: {p}" for p in
                self.expect(Want(says="fine"), case.honest, () if is_refused else case.options)]


def warm_problems(runs, before, after):
    """Every run that came to something was in a cell that stood ready, but those that cannot."""
    told = [run for run in runs if run.result is not None and
            run.result["status"] not in ("setup_error", "refused")]
    problems = [f"meta.warm is {run.result['meta']['warm']}: {run.argv[-1][:60]}; {before} cells "
                f"were lent and not ready before, {after} after" for run in told
                if run.result["meta"]["warm"] == run.is_own]
    count = sum(run.result["meta"]["warm"] for run in told)
    if after[0] - before[0] < count:
        problems.append(f"{count} runs were warm where {after[0] - before[0]} cells were lent")
    return problems


def canary_problems(run):
    if run.is_hung or run.seconds > CANARY_LIMIT:
        return [f"I3: the canary took {run.seconds:.1f} s"]
    if run.exit != 0 or "fine" not in run.text():
        return [f"I3: the canary ended with {run.exit}"]
    return []


def size_problems(run):
    return [f"I2: {name} grew to {kb} KiB" for name, kb in run.peaks_kb.items()
            if kb > RSS_LIMIT_KB]


# ---- judging -------------------------------------------------------------------------------------


def as_tuple(value):
    return value if isinstance(value, (tuple, list, set, frozenset)) else (value,)


def judge(run, want, bench):
    if run.is_hung:
        return [f"no end after {run.seconds:.0f} s"]
    if run.result is None:
        return ["no result on stdout"]
    problems = judge_shape(run)
    result = run.result
    if result.get("status") not in as_tuple(want.status):
        wanted = " or ".join(as_tuple(want.status))
        problems.append(f"status is {result.get('status')}, not {wanted}")
        return problems
    if want.exit_code is not None and result.get("exit_code") != want.exit_code:
        problems.append(f"exit_code is {result.get('exit_code')}, not {want.exit_code}")
    if want.signal is not None and result.get("signal") != want.signal:
        problems.append(f"signal is {result.get('signal')}, not {want.signal}")
    if run.seconds > want.within:
        problems.append(f"took {run.seconds:.1f} s, more than {want.within}")
    if want.says is not None and want.says not in run.text():
        problems.append(f"stdout does not say {want.says!r}")
    message = (result.get("error") or {}).get("message") or ""
    if want.message is not None and want.message not in message:
        problems.append(f"error.message is {message!r}, without {want.message!r}")
    problems += judge_lines(run, want)
    for layer, operation in want.denials:
        if not any(layer == l and operation in (None, o) for l, o in run.denials()):
            problems.append(f"no denial of {operation or 'anything'} by {layer}: {run.denials()}")
    if want.also is not None and not problems:
        problems += want.also(run, bench)
    return problems


def judge_lines(run, want):
    problems = []
    told = run.lines() if want.lines else {}
    for what, outcome in want.lines.items():
        got = told.get(what)
        if got is None:
            problems.append(f"'{what}' was not told")
        elif any(item not in as_tuple(outcome) for item in got):
            problems.append(f"'{what}' is {' '.join(got)}, not {' or '.join(as_tuple(outcome))}")
    return problems


def judge_shape(run):
    """What holds for every result, whatever the cell did."""
    result = run.result
    status = result.get("status")
    problems = []
    if status not in STATUSES:
        return [f"status is {status!r}"]
    expected = EXIT_OF_STATUS.get(status)
    if status == "signal":
        expected = 128 + (result.get("signal") or 0)
    if expected is not None and run.exit != expected:
        problems.append(f"exit status is {run.exit} where {status} has {expected}")
    if expected is None and run.exit == 0:
        problems.append(f"exit status is 0 although the status is {status}")
    has_signal = result.get("signal") is not None
    if status in ("ok", "error", "signal") and has_signal != (status == "signal"):
        problems.append(f"signal is {result.get('signal')} although the status is {status}")
    return problems


REFUSED = ("EPERM", "EACCES", "EROFS", "ENOENT")

