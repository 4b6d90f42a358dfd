# SPDX-License-Identifier: Apache-2.0
"""Behaviours 84-93: the kernel's surface."""
import platform
import re

from harness import REFUSED, Case, Skip, Want, honest, judge, program
from memory_cases import kernel_log

ABSENT = ("io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "keyctl",
          "add_key", "request_key", "memfd_secret")
FORBIDDEN = ("bpf", "perf_event_open", "kcmp", "vmsplice", "kexec_load", "kexec_file_load",
             "init_module", "finit_module", "delete_module", "reboot", "syslog", "ptrace",
             "process_vm_readv", "process_madvise", "move_pages", "migrate_pages", "sethostname",
             "setdomainname", "vhangup", "personality")
FORBIDDEN_X86 = ("iopl", "ioperm", "modify_ldt")
EXPLAINED = ("bpf", "perf_event_open", "ptrace", "reboot", "syslog")

IS_X86 = platform.machine() == "x86_64"
X86_ONLY = None if IS_X86 else Skip("an x86 matter")


def no_core(run, bench):
    cores = [path.name for path in (bench.work / "out").rglob("*")]
    problems = [f"a core file came out: {cores}"] if cores else []
    return problems + [f"a core file is among the files: {file}" for file in run.result["files"]
                       if file.get("saved_to")]


def dumps_no_core(bench):
    (bench.work / "out").mkdir()
    options = ("--out", "core*:{work}/out", "-t", "5")
    want = Want(status="signal", signal=3, also=no_core,
                lines={"core-soft": "1", "core-hard": "1"})
    return (bench.expect(want, program("kernabuse", "core"), options) +
            bench.expect(Want(says="fine"), honest("signals"), options))


SCARY = re.compile(r"\b(BUG:|Oops|general protection fault|KASAN|Call Trace|kernel panic)", re.I)


def survives_the_fuzzer(bench):
    """Two million random calls, seeded; whatever becomes of the cell, there is a verdict."""
    before = kernel_log() or ""
    problems = []
    for seed in (1, 2):
        run = bench.run(program("fuzz", 1000000, seed), ("-t", "12", "-m", "128M", "--pids", "64"))
        problems += judge(run, Want(status=("ok", "error", "signal", "timeout", "oom",
                                            "output_limit", "cpu_limit"), within=25), bench)
        calls = int(run.lines().get("calls", ["0"])[-1])
        if run.result and run.result["status"] == "ok" and calls < 1000000:
            problems.append(f"only {calls} calls were made")
    new = (kernel_log() or "")[len(before):]
    # Reports of killed processes and memory kills are the cell's own business.
    problems += [f"kernel log: {line}" for line in new.splitlines()
                 if SCARY.search(line) and "oom" not in new.lower()]
    return problems + bench.expect(Want(says="fine"), honest("fork"))


CASES = [
    Case("84", "calls that programs have no use for are refused", program("kernabuse", "calls"),
         Want(lines={**dict.fromkeys(ABSENT, "ENOSYS"), **dict.fromkeys(FORBIDDEN, "EPERM"),
                     **(dict.fromkeys(FORBIDDEN_X86, "EPERM") if IS_X86 else {})},
              denials=tuple(("seccomp", name) for name in EXPLAINED)),
         (), honest("exec")),
    Case("84.many", "the ten thousandth forbidden call is refused like the first",
         program("kernabuse", "many", 10000),
         Want(lines={"refused": "10000"}, denials=(("seccomp", "mount"), ("network", "socket"))),
         (), honest("unix"), canary=True),
    Case("85", "32-bit calls kill", program("kernabuse", "int80"),
         Want(status="signal", signal=31, says="calling"), (), honest("exec"),
         root=X86_ONLY, rootless=X86_ONLY),
    Case("85.x32", "x32 calls kill", program("kernabuse", "x32"),
         Want(status="signal", signal=31, says="calling"), (), honest("exec"),
         root=X86_ONLY, rootless=X86_ONLY),
    Case("86", "high bits of an argument change no verdict", program("kernabuse", "high-bits"),
         Want(lines={**dict.fromkeys(("sti", "sti-high", "linux", "linux-high", "setd",
                                      "setd-high", "personality-high"), "EPERM"),
                     "inet": "ENETUNREACH", "inet-high": "ENETUNREACH",
                     "alg-high": "EAFNOSUPPORT"}),
         (), honest("unix")),
    Case("87", "unknown calls do not exist", program("kernabuse", "unknown"),
         Want(lines={"absent": "1531", "other": "0", "minus-one": "ENOSYS"}), (), honest("fork")),
    Case("88", "prctl and capset give nothing", program("kernabuse", "prctl"),
         Want(lines={"dumpable": "ok", "nnp-off": "EINVAL", "capbset": "EPERM", "ambient": "EPERM",
                     "securebits": "EPERM", "keepcaps": ("ok", "EPERM"), "set-mm": "EPERM",
                     "capset": "EPERM", "bounding": "0"}),
         (), honest("threads")),
    Case("89", "own walls are welcome, listeners are not", program("kernabuse", "own-walls"),
         Want(lines={"listener": "EPERM", "filter": "ok", "filter-prctl": "ok", "ruleset": "ok",
                     "restrict": "ok", "locked-out": "EACCES"}),
         (), honest("write")),
    Case("90", "no core is dumped, to a file or to a handler", dumps_no_core),
    Case("91", "/proc/self gives power over oneself only", program("kernabuse", "proc-self"),
         Want(lines={"own-memory": "1",
                     **dict.fromkeys(("uid_map", "gid_map", "projid_map",
                                      "oom_score_adj", "init-oom", "init-mem", "init-environ",
                                      "init-comm", "clear_refs", "coredump_filter", "sched",
                                      "timens"), REFUSED),
                     "attr": (*REFUSED, "EINVAL"),
                     # Once per process, and read by nobody but the host's audit log.
                     "loginuid": (*REFUSED, "ok", "EINVAL")}),
         (), honest("write")),
    Case("92", "the old vsyscall page harms nobody", program("kernabuse", "vsyscall"),
         Want(status=("ok", "signal"), says="calling"), (), honest("compute"),
         root=X86_ONLY, rootless=X86_ONLY),
    Case("93", "two million random calls end in a verdict", survives_the_fuzzer, canary=True),
]
