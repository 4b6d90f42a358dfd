# SPDX-License-Identifier: Apache-2.0
"""Behaviours 1-14: time."""
import re

from harness import Case, Want, honest, judge, program

SECOND = ("-t", "1")
TIMED_OUT = Want(status="timeout", within=6)


def lasted_its_time(run, _bench):
    """Neither early nor, by the driver's own bound, late."""
    wall = run.result["usage"]["wall_ms"]
    return [] if wall >= 900 else [f"ended after {wall} ms of its second"]


def used_at_most(cpu_ms):
    def check(run, _bench):
        used = run.result["usage"]["cpu_ms"]
        return [] if used <= cpu_ms else [f"used {used} ms of processor time, more than {cpu_ms}"]

    return check


def used_at_least(cpu_ms):
    def check(run, _bench):
        used = run.result["usage"]["cpu_ms"]
        return [] if used >= cpu_ms else [f"only {used} ms of processor time are accounted for"]

    return check


def share_is_told(run, _bench):
    """A share nobody can enforce may be refused; it may not be claimed in silence."""
    if run.result["status"] == "setup_error":
        return []
    if any("cpus" in warning for warning in run.result["meta"]["warnings"]):
        return []
    return ["--cpus is not enforced here, and neither refused nor warned about"]


# Without a cgroup nothing holds a share of the processors.
NO_SHARE = Want(status=("timeout", "setup_error"), within=8, also=share_is_told)


def ends_at_the_deadline(bench):
    """Around the deadline either verdict is right, but there is one, and it is consistent."""
    problems = []
    for ms in range(270, 336, 6):
        run = bench.run(honest("sleep", ms), ("-t", "0.3"))
        if run.stdout.count(b'"status"') != 1:
            problems.append(f"sleep {ms}: {run.stdout.count(b'status')} results")
        problems += judge(run, Want(status=("ok", "timeout"), within=6), bench)
    problems += bench.expect(Want(says="fine"), honest("sleep", 50), ("-t", "2"))
    return problems + bench.expect(Want(status="timeout"), honest("sleep", 1500), ("-t", "0.3"))


def only_monotonic_clocks(bench):
    """The machine's clock is not ours to step, so the source is asked: a deadline can only be
    moved by a clock step if some other clock is read. Wall time may be told, in ids and logs."""
    deadline_makers = r"CLOCK_REALTIME|\bgettimeofday\s*\(|TIMER_ABSTIME"
    problems = []
    for path in sorted((bench.source / "src").rglob("*.[ch]")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(deadline_makers, line) and not tells_wall_time(path, line):
                problems.append(f"{path.relative_to(bench.source)}:{number}: {line.strip()}")
    return problems


def tells_wall_time(path, line):
    return path.name in ("result.c", "audit.c", "log.c", "module.c") and "CLOCK_REALTIME" in line


CASES = [
    Case("1", "a busy loop ends at the timeout", program("timeabuse", "spin"),
         Want(status="timeout", within=6, message="Code execution timed out after 1s",
              also=lasted_its_time),
         SECOND, honest("compute"), canary=True),
    Case("1.cpu", "a busy loop ends at its processor time", program("timeabuse", "spin"),
         Want(status="cpu_limit", within=10), ("--cpu-time", "1", "-t", "15"), honest("compute")),
    Case("2", "sleeping for ever ends at the timeout", program("timeabuse", "sleep"),
         Want(status="timeout", within=6, also=lasted_its_time), SECOND, honest("sleep", 100)),
    Case("3", "a program that stops itself times out", program("timeabuse", "stop"),
         TIMED_OUT, SECOND, honest("signals"), ),
    Case("4", "stopped children do not outlive their parent", program("timeabuse", "stop-children"),
         Want(status="error", exit_code=7, lines={"stop": "ok"}, within=6), ("-t", "10"),
         honest("fork")),
    Case("5", "ignoring every signal does not help", program("timeabuse", "deaf"),
         TIMED_OUT, ("-t", "1.5"), honest("signals")),
    Case("5.cpu", "ignoring SIGXCPU does not help", program("timeabuse", "deaf"),
         Want(status="cpu_limit", within=10), ("--cpu-time", "1", "-t", "15"), honest("compute")),
    Case("6", "processor time is that of the whole chain of processes",
         program("timeabuse", "relay", 300), Want(status="cpu_limit", within=14),
         ("--cpu-time", "1", "-t", "15"), honest("fork")),
    Case("6.thread", "processor time is also that of a thread's child",
         program("timeabuse", "thread-child"), Want(status="cpu_limit", within=14),
         ("--cpu-time", "1", "-t", "8"), honest("threads")),
    Case("7", "64 busy threads stay within their share", program("timeabuse", "threads", 64),
         Want(status="timeout", within=8, also=used_at_most(1700)),
         ("--cpus", "0.5", "-t", "2"), honest("threads"), canary=True, rootless=NO_SHARE),
    Case("8", "a vfork child that never leaves times out", program("timeabuse", "vfork"),
         TIMED_OUT, SECOND, honest("exec")),
    Case("9", "an exec storm times out and is accounted for", program("timeabuse", "exec-storm"),
         Want(status="timeout", within=6, also=used_at_least(200)), SECOND, honest("exec")),
    Case("10", "no realtime scheduling, no higher priority", program("timeabuse", "schedule"),
         Want(lines={"fifo": "EPERM", "rr": "EPERM", "deadline": "EPERM",
                     "higher": ("EPERM", "EACCES"), "lower": "ok", "back": ("EPERM", "EACCES")}),
         (), honest("threads")),
    Case("11", "the clocks cannot be set", program("timeabuse", "clocks"),
         Want(lines={"clock_settime": "EPERM", "settimeofday": "EPERM", "adjtimex": "EPERM",
                     "clock_adjtime": "EPERM", "look": ("ok", "EPERM")},
              denials=(("seccomp", "clock_settime"), ("seccomp", "adjtimex"))),
         (), honest("sleep", 10)),
    Case("12", "deadlines are made of monotonic clocks only", only_monotonic_clocks),
    Case("13", "asking for every processor gives no more of them",
         program("timeabuse", "affinity", 4),
         Want(status="timeout", within=8, lines={"affinity": ("ok", "EPERM", "EINVAL")},
              also=used_at_most(1000)),
         ("--cpus", "0.5", "-t", "1"), honest("threads"), rootless=NO_SHARE),
    Case("14", "an end at the very deadline has one verdict", ends_at_the_deadline),
]
