# SPDX-License-Identifier: Apache-2.0
"""Behaviours 31-40: memory.

As root a memory cgroup counts every page, wherever it hides. Without a cgroup (rootless, on a
machine that delegates none) hotcell samples what the processes use, so a hoard is only found while
it lasts; hence the programs sit on what they took.
"""
import re
import subprocess
import time

from harness import REFUSED, Case, Skip, Want, honest, judge, program, python

# Hoards aim at 256 MiB: four times the limit, and no danger to a test machine when nobody stops it.
SMALL = ("-m", "64M", "--disk", "1G", "-t", "8")
TARGET = 256
OOM = Want(status="oom", exit_code=137, within=12)

# What a hoard may run into before its memory is counted: full file system, descriptors, quotas.
WALLS = ("ENOSPC", "EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "EFBIG", "EDQUOT", "ENOSYS")


def oom_or_refused(most, *more_walls):
    """Killed for its memory, or refused by another limit before it had `most` MiB."""

    def check(run, _bench):
        if run.result["status"] == "oom":
            return []
        told = run.lines()
        hoarded = int(told.get("hoarded", ["99999"])[-1])
        if told.get("refused", ["?"])[-1] not in WALLS + more_walls:
            return [f"neither out of memory nor refused: {told}"]
        return [] if hoarded <= most else [f"got {hoarded} MiB, more than {most}"]

    return Want(status=("oom", "ok"), within=14, also=check)


def hoard(kind, honest_program, want=oom_or_refused(128)):
    return Case(f"35.{kind}", f"a hoard of {HOARDS[kind]} is bounded",
                program("memabuse", "hoard", kind, TARGET), want, SMALL, honest_program,
                canary=True)


HOARDS = {
    "tmpfs": "files in /tmp",
    "hidden": "one file in /dev/shm",
    "memfd": "memfds",
    "shared": "shared anonymous memory",
    "sysv": "System V shared memory",
    "mqueue": "message queues",
    "pipe": "pipe buffers",
    "socketpair": "socket buffers",
    "tables": "page tables",
}


def kernel_log():
    try:
        return subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def does_not_flood_the_log(bench):
    before = kernel_log()
    if before is None:
        return Skip("the kernel log cannot be read")
    problems = bench.expect(Want(status="oom", within=12),
                            program("memabuse", "oom-loop", "anon", TARGET),
                            ("-m", "32M", "-t", "8"))
    problems += bench.expect(Want(says="fine"), honest("alloc", 8), ("-m", "32M", "-t", "8"))
    new = kernel_log()[len(before):].splitlines()
    if len(new) > 500:
        problems.append(f"{len(new)} lines in the kernel log")
    return problems


def meminfo(key):
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(re.search(rf"^{key}:\s+(\d+)", file.read(), re.MULTILINE)[1])


def memory_cgroups():
    with open("/proc/cgroups", encoding="ascii") as file:
        match = re.search(r"^memory\s+\d+\s+(\d+)", file.read(), re.MULTILINE)
    return int(match[1]) if match else 0


def leaves_no_memory(bench):
    """Full workspaces are given back; twenty runs that kept theirs would keep 1 GiB."""
    problems = []
    shmem, groups = meminfo("Shmem"), memory_cgroups()
    for _ in range(20):
        run = bench.run(program("fileabuse", "fill", 0, "/tmp"), ("--disk", "48M", "-m", "256M"))
        problems += judge(run, Want(lines={"write": "ENOSPC"}), bench)
    deadline = time.monotonic() + 5
    while meminfo("Shmem") - shmem > 200 << 10 and time.monotonic() < deadline:
        time.sleep(0.1)
    if meminfo("Shmem") - shmem > 200 << 10:
        problems.append(f"{(meminfo('Shmem') - shmem) >> 10} MiB of tmpfs are still there")
    if bench.mode == "rootless":
        return problems  # makes no groups; those of the machine are others'
    # Dying groups go when their last page does; other cells may run beside us.
    while memory_cgroups() - groups > 10 and time.monotonic() < deadline:
        time.sleep(0.1)
    if memory_cgroups() - groups > 10:
        problems.append(f"{memory_cgroups() - groups} memory cgroups are still there")
    return problems


CASES = [
    Case("31", "memory beyond the limit is an out of memory",
         program("memabuse", "hoard", "anon", TARGET), OOM, SMALL, honest("alloc", 16),
         canary=True),
    Case("31.python", "a Python program beyond its memory is out of memory",
         python("import time\nhoard = [bytearray(b'x' * (1 << 20)) for _ in range(256)]\n"
                "time.sleep(30)"),
         OOM, SMALL, python("hoard = bytearray(16 << 20)\nprint('fine')")),
    Case("32", "a terabyte of address space is only a number", program("memabuse", "reserve"),
         Want(lines={"addresses": "ok", "reserve": "ok"}), SMALL, honest("alloc", 16),
         # Without a cgroup RLIMIT_DATA bounds what sampling sees too late: private memory that is
         # writable from the start. Addresses alone stay free.
         rootless=Want(lines={"addresses": "ok", "reserve": ("ok", "ENOMEM")})),
    Case("33", "endless recursion is a segmentation fault", program("memabuse", "recurse"),
         Want(status="signal", signal=11), SMALL, honest("threads")),
    Case("34", "a child out of memory ends the whole cell",
         program("memabuse", "child-hoard", "anon", TARGET), OOM, SMALL, honest("share")),
    Case("34.thread", "a thread's child is counted like any other",
         program("memabuse", "thread-hoard", "anon", TARGET), OOM, SMALL, honest("threads")),
    hoard("tmpfs", honest("write")),
    hoard("hidden", honest("write")),
    hoard("memfd", honest("mmap")),
    hoard("shared", honest("mmap")),
    hoard("sysv", honest("alloc")),
    # Landlock knows no rule for message queues, so it refuses to open one.
    hoard("mqueue", honest("alloc"), oom_or_refused(128, "EACCES")),
    hoard("pipe", honest("exec")),
    hoard("socketpair", honest("unix")),
    hoard("tables", honest("alloc")),
    Case("36", "locked, secret and huge memory is bounded", program("memabuse", "lock"),
         Want(lines={"mlock": ("ENOMEM", "EPERM"), "mlock-onfault": ("ENOMEM", "EPERM"),
                     "mlockall": ("ok", "ENOMEM", "EPERM"), "unlimited": "EPERM",
                     "memfd_secret": "ENOSYS", "hugetlb": ("ENOMEM", "EPERM")}),
         (), honest("alloc", 16)),
    Case("37", "nobody exempts himself from the end of memory",
         program("memabuse", "immortal", "anon", TARGET),
         Want(status="oom", within=12, lines={"oom_score_adj": REFUSED, "oom_adj": REFUSED}),
         SMALL, honest("alloc", 16), canary=True),
    Case("38", "abuse of madvise disturbs nobody", program("memabuse", "advise"),
         Want(status="timeout", within=7,
              lines={"hwpoison": ("EPERM", "EINVAL"), "soft-offline": ("EPERM", "EINVAL")}),
         ("-m", "64M", "-t", "1.5"), honest("alloc", 16), canary=True),
    Case("39", "a storm of memory kills does not flood the kernel log", does_not_flood_the_log,
         rootless=Skip("without a cgroup the kernel kills nobody; hotcell does, silently")),
    Case("40", "full workspaces are given back", leaves_no_memory),
]
