# SPDX-License-Identifier: Apache-2.0
"""Behaviours 94-97: between runs, and on machines that lack something."""
import os
import re
import shutil
import statistics

from harness import Case, Skip, Want, honest, judge, program

GONE = ("ENOENT", "EACCES", "ENOSYS")
FIND = Want(lines={**{f"/{place}/left": GONE for place in
                      ("home/user", "tmp", "dev/shm", "var/tmp", "run")},
                   "/left": GONE, "shm": ("ENOENT", "ENOSYS"), "sem": "ENOENT", "msg": "ENOENT",
                   "mq": GONE, "abstract": ("ECONNREFUSED", "EPERM"), "processes": "2"})


def next_run_finds_nothing(bench):
    # without a cgroup System V shared memory, which nobody would count, is not there at all
    shm = "ok" if bench.mode == "root" else "ENOSYS"
    leave = Want(lines={"shm": shm, "sem": "ok", "msg": "ok", "mq": ("ok", "EACCES"),
                        "abstract": ("ok", "EPERM")})
    problems = []
    for _ in range(3):
        problems += bench.expect(leave, program("leftover", "leave"))
        problems += bench.expect(FIND, program("leftover", "find"))
    return problems


def next_run_in_the_same_slot(bench):
    """A slot is given away again when its cell is buried, at once or after some others: cells are parked
    in it, and one of the next runs is there. As root the cell's user tells the slot."""
    if not bench.lender:
        return Skip("a run's own cell may be in any slot")
    problems, again, left = [], 0, set()
    for _ in range(60):
        left.add(uid_of(bench.run(program("leftover", "leave"))))
        run = bench.run(program("leftover", "find"))
        problems += judge(run, FIND, bench)
        if uid_of(run) in left:
            again += 1
            left.remove(uid_of(run))
        if problems or again == 3:
            break
    return problems or ([] if again == 3 else [f"{again} slots were used again"])


def uid_of(run):
    return run.result["meta"]["isolation"]["uid"] if run.result else None


# ---- what leaks in -------------------------------------------------------------------------------

GIVEN = {"PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "WANTED", "PASSED"}
NOTHING = "0000000000000000"
INHERITED = {
    "descriptors 0 1": "2", "directory": "/home/user", "pid": "2", "parent": "1", "session": "1",
    "umask": "22", "argument": ("inherited", "one", "two"),
}
STATUS = {"SigBlk": NOTHING, "CapInh": NOTHING, "CapPrm": NOTHING,
          "CapEff": NOTHING, "CapBnd": NOTHING, "CapAmb": NOTHING, "NoNewPrivs": "1",
          "Seccomp": "2"}


def nothing_leaks_in(bench):
    """Secrets in the environment, open descriptors and ignored signals of the caller stay out."""
    secret = os.open("/etc/passwd", os.O_RDONLY)
    ends = os.pipe()
    try:
        run = bench.run(program("leftover", "inherited", "one", "two"),
                        ("-e", "WANTED=1", "-e", "PASSED"),
                        env={"SECRET": "do not tell", "PASSED": "2", "LD_PRELOAD": "",
                             "PYTHONPATH": "/secret"},
                        pass_fds=(secret, *ends), restore_signals=False)
    finally:
        for fd in (secret, *ends):
            os.close(fd)
    problems = judge(run, Want(lines=INHERITED), bench)
    names, fields, values = set(), {}, {}
    for line in run.text().splitlines():
        if line.startswith("variable "):
            name, _, value = line[len("variable "):].partition("=")
            names.add(name)
            values[name] = value
        elif re.match(r"\w+:", line):
            key, _, value = line.partition(":")
            fields[key] = value.strip()
        elif line.startswith("open "):
            problems.append(f"descriptor {line}")
    if names != GIVEN:
        problems.append(f"variables: too many {names - GIVEN}, missing {GIVEN - names}")
    if (values.get("WANTED"), values.get("PASSED")) != ("1", "2"):
        problems.append(f"given variables came as {values}")
    problems += [f"{key} is {fields.get(key)}, not {wanted}" for key, wanted in STATUS.items()
                 if fields.get(key) != wanted]
    # SIGXFSZ is ignored on purpose: a file too large is then an error. 32 and 33 are the C
    # library's own, which posix_spawn() leaves ignored and threads set up as they need them.
    ignored = int(fields.get("SigIgn", "0"), 16) & ~(1 << 24 | 1 << 31 | 1 << 32)
    if ignored:
        problems.append(f"ignored signals: {[n + 1 for n in range(64) if ignored >> n & 1]}")
    if fields.get("Groups"):
        problems.append(f"groups {fields['Groups']}")
    if "do not tell" in run.text() or "/secret" in run.text():
        problems.append("a secret of the caller's environment")
    return problems + bench.expect(Want(says="fine"), honest("write"))


# ---- what the machine lacks ----------------------------------------------------------------------

OWN_CELL = Skip("what the caller lacks does not matter to a cell that was raised before")

# Every wall, by the name that --require, HOTCELL_FAULT and the errors use.
WALLS = ("mount_namespace", "rootfs", "devices", "pivot_root", "cell_mount_namespace",
         "pid_namespace", "ipc_namespace", "uts_namespace", "network", "cgroup_namespace",
         "workspace", "proc", "hostname", "session", "rlimits", "init_guard", "uid", "capabilities",
         "no_new_privs", "landlock", "seccomp")
WALLS_OF_MODE = {"root": ("cgroup",),
                 "rootless": ("user_namespace", "cell_user_namespace", "no_nested_namespaces")}


def every_wall_is_needed(bench):
    """Each wall is made to fail by hotcell's own fault injection: never a weaker run."""
    problems = []
    for wall in WALLS + WALLS_OF_MODE[bench.mode]:
        run = bench.run(honest("write"), env={"HOTCELL_FAULT": f"step:{wall}"})
        problems += [f"{wall}: {p}" for p in
                     judge(run, Want(status="setup_error", message=wall), bench)]
        if "fine" in run.text():
            problems.append(f"{wall}: the program ran all the same")
        bench.runs = bench.runs[-3:] if not problems else bench.runs
    return problems + bench.expect(Want(says="fine"), honest("write"))


EPERM, ENOSYS = 1, 38

# What a kernel or container refuses -> the walls of which one must be named. x86_64 numbers.
LACKS = {
    "Landlock": ({444: ENOSYS, 445: ENOSYS, 446: ENOSYS}, ("landlock",)),
    "seccomp": ({317: ENOSYS}, ("seccomp", "init_guard")),
    "the new mount calls": ({428: ENOSYS, 429: ENOSYS, 430: ENOSYS, 431: ENOSYS, 432: ENOSYS,
                             442: ENOSYS},
                            ("rootfs", "workspace", "proc", "mount_namespace", "devices")),
    "pivot_root": ({155: EPERM}, ("pivot_root",)),
    "unshare": ({272: EPERM}, ("user_namespace", "mount_namespace", "network")),
    "clone3": ({435: ENOSYS}, ("user_namespace", "pid_namespace")),
    "mount": ({165: EPERM, 430: EPERM, 429: EPERM}, ("rootfs", "mount_namespace", "devices",
                                                      "workspace", "proc")),
}


def lacks(name):
    calls, walls = LACKS[name]

    def check(bench):
        if os.uname().machine != "x86_64":
            return Skip("the numbers of the calls are those of x86_64")
        spec = ",".join(f"{number}:{errno}" for number, errno in calls.items())
        run = bench.run(honest("write"), before=(bench.path_of("lackof"), spec, "--"))
        problems = judge(run, Want(status="setup_error"), bench)
        message = ((run.result or {}).get("error") or {}).get("message") or ""
        if not problems and not any(wall in message for wall in walls):
            problems.append(f"error.message names none of {', '.join(walls)}: {message!r}")
        return problems

    return check


def weaker_on_request_only(bench):
    """Without Landlock, --without landlock runs, and the result says what was missing."""
    if os.uname().machine != "x86_64":
        return Skip("the numbers of the calls are those of x86_64")
    spec = f"444:{ENOSYS},445:{ENOSYS},446:{ENOSYS}"
    run = bench.run(honest("write"), ("--without", "landlock"),
                    before=(bench.path_of("lackof"), spec, "--"))
    problems = judge(run, Want(says="fine"), bench)
    if run.result and (run.result["meta"]["isolation"].get("landlock") or 0) != 0:
        problems.append(f"isolation claims Landlock: {run.result['meta']['isolation']}")
    return problems


def seccomp_is_no_option(bench):
    problems = []
    for wall in ("seccomp", "no_new_privs", "uid", "pid_namespace"):
        problems += [f"{wall}: {p}" for p in
                     bench.expect(Want(status="setup_error", message=wall), honest("write"),
                                  ("--without", wall))]
    return problems


def required_cgroup(bench):
    if bench.mode == "rootless":
        # Nothing is delegated to a stranger, so the demand cannot be met.
        return bench.expect(Want(status="setup_error", message="cgroup"), honest("write"),
                            ("--require", "cgroup"))
    # A mount namespace without any cgroup file system, as in many containers.
    if shutil.which("unshare") is None:
        return Skip("unshare is not installed")
    hidden = ("unshare", "-m", "sh", "-c",
              'mount -t tmpfs none /sys/fs/cgroup && exec "$0" "$@"')
    problems = bench.expect(Want(status="setup_error", message="cgroup"), honest("write"),
                            before=hidden)
    run = bench.run(honest("write"), ("--without", "cgroup"), before=hidden)
    problems += judge(run, Want(says="fine"), bench)
    if run.result and run.result["meta"]["isolation"].get("cgroup") not in ("none", None, False):
        problems.append(f"isolation claims a cgroup: {run.result['meta']['isolation']}")
    return problems


def one_id_only(bench):
    """As the root of a user namespace that maps one id: all walls or a named one missing."""
    if shutil.which("unshare") is None:
        return Skip("unshare is not installed")
    # what its owner outside lends is root's
    run = bench.run(honest("write"), before=("unshare", "-Ur"), is_own=bench.mode == "root")
    problems = judge(run, Want(status=("ok", "setup_error")), bench)
    if problems or run.result["status"] == "ok":
        return problems
    message = run.result["error"]["message"]
    if not any(wall in message for wall in WALLS + sum(WALLS_OF_MODE.values(), ())):
        problems.append(f"error.message names no layer: {message!r}")
    return problems


# ---- many ----------------------------------------------------------------------------------------


def many_in_a_row(bench):
    """200 runs: all alike, and the last as quick as the first."""
    problems, times = [], []
    for _ in range(200):
        run = bench.run(honest("exit", 3))
        bench.runs = bench.runs[-1:]
        problems += judge(run, Want(status="error", exit_code=3), bench)
        times.append(run.seconds)
        if problems:
            break
    first, last = statistics.median(times[:50]), statistics.median(times[-50:])
    if last > 3 * first + 0.05:
        problems.append(f"a run took {first * 1000:.0f} ms at first, {last * 1000:.0f} ms at last")
    return problems


def many_at_once(bench):
    bench.stand_ready(honest("canary", 5), ("-t", "30"), count=20)
    started = [bench.start(honest("canary", 5), ("-t", "30")) for _ in range(20)]
    runs = [one.finish() for one in started]
    problems = [p for run in runs for p in judge(run, Want(says="fine", within=30), bench)]
    uids = [run.result["meta"]["isolation"].get("uid") for run in runs if run.result]
    if bench.mode == "root" and len(set(uids)) != len(uids):
        problems.append(f"two cells at once had the same user: {uids}")
    problems += [f"not warm: {run.result['meta']}" for run in runs
                 if bench.lender and run.result and not run.result["meta"]["warm"]]
    bench.runs += [run for run in runs if run.exit != 0][:2]
    return problems


CASES = [
    Case("94", "the next run finds nothing of the last", next_run_finds_nothing),
    Case("94.slot", "nor does a later one in the same slot", next_run_in_the_same_slot,
         rootless=Skip("a rootless cell's user is always the same and tells no slot")),
    Case("95", "nothing of the caller leaks in", nothing_leaks_in),
    Case("96", "a wall that cannot be raised is a setup error", every_wall_is_needed,
         warm=OWN_CELL),
    *(Case(f"96.{number}", f"a machine without {name} is a setup error", lacks(name), warm=OWN_CELL)
      for number, name in enumerate(LACKS, 1)),
    Case("96.without", "a weaker run happens on request only, and says so", weaker_on_request_only,
         warm=OWN_CELL),
    Case("96.optional", "the main walls cannot be left out", seccomp_is_no_option),
    Case("96.cgroup", "a required cgroup that is not there is a setup error", required_cgroup,
         warm=OWN_CELL),
    Case("96.nested", "root of a small user namespace gets all walls or an error", one_id_only),
    Case("97", "200 runs in a row do not drift", many_in_a_row),
    Case("97.parallel", "20 runs at once do not disturb each other", many_at_once),
]
