# SPDX-License-Identifier: Apache-2.0
"""Behaviours 15-30: processes."""
import os
import re
import shutil
import signal
import time

from harness import Case, Skip, Want, bash, honest, judge, program
from leftovers import parents

PIDS = ("--pids", "32", "-t", "1.5")


def at_most(what, limit):
    """The program came no further than the limit, and not just nowhere."""

    def check(run, _bench):
        number = int(run.lines().get(what, ["-1"])[-1])
        return [] if 0 < number <= limit else [f"'{what}' is {number}, not within 1..{limit}"]

    return check


# ---- ends ----------------------------------------------------------------------------------------

SIGNALS = ("SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGSYS", "SIGPIPE", "SIGBUS", "SIGTRAP",
           "SIGTERM", "SIGKILL", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGALRM")
EXIT_CODES = (0, 1, 2, 77, 124, 125, 126, 127, 128, 137, 139, 255)


def dies_of(name):
    number = getattr(signal, name)
    return Case(f"24.{name[3:].lower()}", f"death by {name} is told as such",
                program("procabuse", "die", int(number)),
                Want(status="signal", signal=int(number), exit_code=128 + number, says="dying"),
                (), honest("signals") if name == "SIGALRM" else honest("print"))


def tells_exit_codes(bench):
    problems = []
    for code in EXIT_CODES:
        run = bench.run(honest("exit", code))
        status = "ok" if code == 0 else "error"
        problems += [f"exit {code}: {p}" for p in
                     judge(run, Want(status=status, exit_code=code), bench)]
        if run.exit != code:
            problems.append(f"exit {code}: hotcell exits with {run.exit}")
    return problems


ELF_OF_ANOTHER_MACHINE = (b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little") +
                          (183).to_bytes(2, "little") + (1).to_bytes(4, "little") + bytes(40))

# name -> (bytes of the file or None, its mode, what to execute, words of which one must be told)
BAD_PROGRAMS = {
    "missing": (None, 0, "/home/user/missing", ("No such file",)),
    "missing in PATH": (None, 0, "no-such-program-at-all", ("No such file", "not found")),
    "bad interpreter": (b"#!/no/such/interpreter\n", 0o755, "/home/user/bad", ("No such file",)),
    "no x bit": (b"#!/bin/sh\nexit 0\n", 0o644, "/home/user/bad", ("Permission denied",)),
    "other machine": (ELF_OF_ANOTHER_MACHINE, 0o755, "/home/user/bad", ("Exec format error",)),
    "not a program": (b"\x00\x01\x02 nothing", 0o755, "/home/user/bad", ("Exec format error",)),
    "a directory": (None, 0, "/home/user", ("Permission denied", "Is a directory")),
}


def tells_failed_exec(bench):
    problems = []
    for name, (content, mode, path, words) in BAD_PROGRAMS.items():
        options = []
        if content is not None:
            bad = bench.work / "bad"
            bad.unlink(missing_ok=True)
            bad.write_bytes(content)
            bad.chmod(mode)
            options = ["--file", str(bad)]
        run = bench.run([*options, "--exec", "--", path])
        problems += [f"{name}: {p}" for p in
                     judge(run, Want(status="setup_error", exit_code=125), bench)]
        error = (run.result or {}).get("error") or {}
        if error.get("kind") != "setup":
            problems.append(f"{name}: error.kind is {error.get('kind')!r}, not 'setup'")
        if not any(word in (error.get("message") or "") for word in words):
            problems.append(f"{name}: error.message is {error.get('message')!r}")
    return problems + bench.expect(Want(), ["--exec", "--", "/bin/true"])


# ---- the supervisor's end ------------------------------------------------------------------------


def start_family(bench, *options):
    """A cell with several stubborn processes, all running; None when it did not come up."""
    started = bench.start(program("procabuse", "family"), ("-t", "30", *options), is_json=False)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and started.poll() is None:
        if os.pread(started.files[0], 16, 0).startswith(b"ready"):
            return started
        time.sleep(0.01)
    started.process.kill()
    bench.runs.append(started.finish())
    return None


def dies_with_its_supervisor(bench):
    problems = []
    for _ in range(5):
        started = start_family(bench)
        if started is None:
            return ["the cell did not come up"]
        started.process.kill()
        bench.runs.append(started.finish())
        problems += [f"outlived the supervisor: {name}" for name in bench.left()]
    # What nobody was left to remove, the next run removes.
    return problems + bench.expect(Want(says="fine"), honest("fork"))


def bomb_dies_with_its_supervisor(bench):
    started = bench.start(program("procabuse", "deaf-bomb"), ("--pids", "64", "-t", "30"))
    time.sleep(1)
    problems = [] if started.poll() is None else ["the bomb was over before its supervisor"]
    started.process.kill()
    bench.runs.append(started.finish())
    problems += [f"outlived the supervisor: {name}" for name in bench.left()]
    return problems + bench.expect(Want(says="fine"), honest("fork"))


def ends_by(number, is_repeated=False):
    """A signal to hotcell ends the cell and is told as an interruption."""

    def check(bench):
        started = bench.start(program("procabuse", "family"), ("-t", "30"))
        time.sleep(0.7)
        for _ in range(3 if is_repeated else 1):
            started.process.send_signal(number)
        run = started.finish()
        bench.runs.append(run)
        problems = [f"outlived the supervisor: {name}" for name in bench.left()]
        if run.seconds > 10:
            problems.append(f"took {run.seconds:.1f} s")
        if run.result is not None:
            problems += judge(run, Want(status="interrupted"), bench)
        elif run.exit == 0:
            problems.append("exit status is 0 although it was interrupted")
        return problems

    return check


def own_helpers(bench, started):
    """What made the cell: below hotcell, or below the keeper that lent it."""
    if bench.lender:
        return list((bench.lender.cell_of("procabuse") or ())[:1])
    return [pid for pid, (parent, _, _) in parents().items() if parent == started.process.pid]


def survives_its_zygote(bench):
    """The process that made the cell is killed: hotcell must notice and leave no orphan."""
    started = start_family(bench)
    if started is None:
        return ["the cell did not come up"]
    helpers = own_helpers(bench, started)
    for pid in helpers:
        os.kill(pid, signal.SIGKILL)
    run = started.finish()
    bench.runs.append(run)
    problems = [f"outlived its zygote: {name}" for name in bench.left()]
    if run.is_hung or run.seconds > 10:
        problems.append(f"hotcell took {run.seconds:.1f} s to notice")
    if run.exit == 0:
        problems.append("hotcell called it a success")
    if not helpers:
        problems.append("hotcell has no helper process; this case needs another idea")
    return problems + bench.expect(Want(says="fine"), honest("fork"))


def survives_its_keeper(bench):
    """Its cells end with it, the run in one of them is no success, and there is a next keeper."""
    if not bench.lender:
        return Skip("only what is lent has a keeper")
    started = start_family(bench)
    if started is None:
        return ["the cell did not come up"]
    os.kill(bench.lender.keeper_pid, signal.SIGKILL)
    run = started.finish()
    bench.runs.append(run)
    problems = []
    if run.is_hung or run.seconds > 10:
        problems.append(f"hotcell took {run.seconds:.1f} s to notice")
    if run.exit == 0:
        problems.append("hotcell called it a success")
    bench.lender.new_keeper()
    problems += [f"outlived its keeper: {name}" for name in bench.left()]
    return problems + bench.expect(Want(says="fine"), honest("fork"))


def kills_by_pidfd_only(bench):
    """A pid may be somebody else's by the time it is killed; a pidfd cannot be."""
    strace = shutil.which("strace")
    if strace is None:
        return Skip("strace is not installed")
    log = bench.work / "strace"
    run = bench.run(program("timeabuse", "spin"), ("-t", "0.5"),
                    before=(strace, "-f", "-qq", "-o", str(log),
                            "-e", "trace=kill,tkill,tgkill,rt_sigqueueinfo"))
    if run.result is None:
        return Skip("hotcell does not run under strace here")
    problems = judge(run, Want(status="timeout"), bench)
    # Inside the pid namespace, where init and payload live, pids cannot be anybody else's.
    for line in log.read_text().splitlines():
        if re.search(r"\bkill\((?!0,|1,|2,|-1,)\d+, SIG", line):
            problems.append(f"kills by pid: {line}")
    return problems


NAMESPACE_KINDS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")

CASES = [
    Case("15", "a fork bomb is contained", program("procabuse", "bomb"),
         Want(status="timeout", within=7), PIDS, honest("fork"), canary=True),
    Case("15.shell", "a fork bomb of the shell is contained", bash(":(){ :|:& };:\nwait; sleep 30"),
         # The shell itself may run out of processes and give up before its time is over.
         Want(status=("timeout", "error"), within=7), PIDS, honest("fork"), canary=True),
    Case("15.count", "forking ends at the limit, and the result says so",
         program("procabuse", "count-forks"),
         Want(lines={"fork": "EAGAIN"}, also=at_most("children", 32), denials=(("pids", None),)),
         ("--pids", "32"), honest("fork"),
         # Without a cgroup RLIMIT_NPROC holds, and that counts no refusals.
         rootless=Want(lines={"fork": "EAGAIN"}, also=at_most("children", 32))),
    Case("16", "a deaf fork bomb that spins is contained", program("procabuse", "deaf-bomb"),
         Want(status="timeout", within=7), PIDS, honest("fork"), canary=True),
    Case("17", "a thread bomb is contained", program("procabuse", "count-threads"),
         Want(lines={"thread": "EAGAIN"}, also=at_most("threads", 32)),
         ("--pids", "32"), honest("threads"), canary=True),
    Case("18", "a daemon does not outlive the program", program("procabuse", "daemon"),
         Want(says="daemon started", within=6), ("-t", "20"), honest("fork")),
    Case("19", "zombies are bounded and buried", program("procabuse", "zombies", 10000),
         Want(lines={"fork": "EAGAIN"}, also=at_most("zombies", 64)),
         ("--pids", "64"), honest("fork")),
    Case("20", "init cannot be killed", program("procabuse", "kill-init"),
         Want(says="still here"), ("-t", "5"), honest("signals")),
    Case("21", "killing everybody kills the cell's own only", program("procabuse", "kill-all"),
         Want(says="alone"), ("-t", "5"), honest("fork"), canary=True),
    Case("21.child", "killed by its own child is told as SIGKILL",
         program("procabuse", "killed-by-child"),
         Want(status="signal", signal=9, exit_code=137), ("-t", "5"), honest("fork")),
    Case("22", "init cannot be looked into", program("procabuse", "attack-init"),
         Want(lines={**dict.fromkeys(("attach", "seize", "vm-read", "vm-write", "pidfd-getfd",
                                      "setns"), "EPERM"),
                     **{f"proc-{name}": ("EACCES", "EPERM", "ENOENT") for name in
                        ("mem", "exe", "environ", "maps", "fd", "root", "cwd", "auxv", "io",
                         "stack")}},
              denials=(("seccomp", "ptrace"),)),
         (), honest("write")),
    Case("23", "orphans of subreapers end with the cell", program("procabuse", "subreaper"),
         Want(lines={"subreaper": "ok"}, within=6), ("-t", "10"), honest("fork")),
    *(dies_of(name) for name in SIGNALS),
    Case("25", "exit codes are told apart from failures", tells_exit_codes),
    Case("26", "a program that cannot be executed is a setup error", tells_failed_exec),
    Case("27", "hotcell kills by pidfd only", kills_by_pidfd_only),
    Case("28", "a killed supervisor takes its cell along", dies_with_its_supervisor),
    Case("28.bomb", "a fork bomb dies with a killed supervisor", bomb_dies_with_its_supervisor),
    Case("28.term", "SIGTERM to hotcell ends the cell", ends_by(signal.SIGTERM)),
    Case("28.int", "SIGINT to hotcell ends the cell", ends_by(signal.SIGINT)),
    Case("28.hup", "SIGHUP to hotcell ends the cell", ends_by(signal.SIGHUP)),
    Case("28.often", "impatient SIGINTs leave nothing either", ends_by(signal.SIGINT, True)),
    Case("29", "a killed zygote leaves no orphan", survives_its_zygote),
    Case("29.keeper", "a killed keeper leaves no orphan, and another takes over",
         survives_its_keeper),
    Case("30", "no new namespaces, and threads still work", program("procabuse", "namespaces"),
         Want(lines={**{f"unshare-{kind}": "EPERM" for kind in NAMESPACE_KINDS + ("time",)},
                     **{f"clone-{kind}": "EPERM" for kind in NAMESPACE_KINDS},
                     **{f"setns-{kind}": "EPERM" for kind in NAMESPACE_KINDS + ("time",)},
                     "unshare-all-bits": "EPERM", "clone3": "ENOSYS", "clone3-user": "ENOSYS",
                     "pthread": "0"},
              denials=(("seccomp", "unshare"), ("seccomp", "setns"), ("seccomp", "clone"))),
         (), honest("threads")),
]
