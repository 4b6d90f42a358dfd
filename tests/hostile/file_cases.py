# SPDX-License-Identifier: Apache-2.0
"""Behaviours 41-60: disk and files."""
import os
import secrets
import socket
import stat
import time
from pathlib import Path

from harness import REFUSED, Case, Want, bash, honest, judge, program, python

OUT = ("--out", "*:{work}/out")
PROGRAM = "fileabuse"  # copied in, so it matches what is asked for


def told_at_most(what, limit):
    def check(run, _bench):
        number = int(run.lines().get(what, ["-1"])[-1])
        return [] if 0 < number <= limit else [f"'{what}' is {number}, not within 1..{limit}"]

    return check


# ---- results -------------------------------------------------------------------------------------


def harvested(bench):
    """Every file below the place results go to: path -> content."""
    out = bench.work / "out"
    return {str(path.relative_to(out)): path.read_bytes()
            for path in out.rglob("*") if path.is_file() and not path.is_symlink()}


def refused_paths(run):
    return {file["path"]: file["refused"] for file in run.result["files"] if file["refused"]}


def secrets_harvested(bench):
    """Files whose content no hostile program wrote."""
    return [f"{path} was harvested with {content[:40]!r}"
            for path, content in harvested(bench).items()
            if not content.startswith(b"mine") and os.path.basename(path) != PROGRAM]


def only_plain_files(*names):
    """Exactly these came out, with the program's own content; all others were refused."""

    def check(run, bench):
        problems = secrets_harvested(bench)
        found = {os.path.basename(path) for path in harvested(bench)}
        if found - {PROGRAM} != set(names):
            problems.append(f"harvested {sorted(found)}, not {sorted(names)}")
        out = bench.work / "out"
        for path in out.rglob("*"):
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                problems.append(f"{path.name} came out as something else than a file")
        return problems

    return check


def refuses(names, plain):
    def check(run, bench):
        refused = {os.path.basename(path) for path in refused_paths(run)}
        missing = [name for name in names if name not in refused]
        problems = [f"{name} is not told as refused: {run.result['files']}" for name in missing]
        return problems + only_plain_files(*plain)(run, bench)

    return check


STRANGE_NAMES = {"plain", "new\nline", 'tab\tquote"back\\', "été", "\x1b[31mred", "-rf", " ",
                 ".hidden", "*", "...", "n" * 255}


def harvests_strange_names(bench):
    (bench.work / "out").mkdir()
    run = bench.run(program("fileabuse", "names"), ("--out", "out:{work}/out"))
    problems = judge(run, Want(), bench)
    if problems:
        return problems
    found = {os.fsencode(os.path.basename(path)) for path in harvested(bench)}
    wanted = {os.fsencode(name) for name in STRANGE_NAMES}
    told = {os.path.basename(file["path"]) for file in run.result["files"]}
    problems += [f"not harvested: {name!r}" for name in wanted - found]
    problems += [f"not in files: {name!r}" for name in STRANGE_NAMES - told]
    # Bytes that are no text are refused or kept; the result stays text either way.
    if not any("invalid" in name for name in told):
        problems.append(f"the name that is not UTF-8 is not told: {sorted(told)}")
    return problems + secrets_harvested(bench)


def harvest_of_depth_is_bounded(bench):
    """So deep that no path reaches the bottom; neither the harvest nor the clean-up may mind.
    Not deeper, because Landlock climbs all the way up at each step."""
    (bench.work / "out").mkdir()
    run = bench.run(program("fileabuse", "deep", 15000),
                    ("--out", "deep:{work}/out", "-t", "40"))
    problems = judge(run, Want(lines={"depth": "15000"}, within=50), bench)
    depth, path = 0, bench.work / "out"
    while True:
        inner = [entry for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
        if not inner:
            break
        depth, path = depth + 1, Path(inner[0].path)
        if depth > 70:
            problems.append("more than 70 directories deep were harvested")
            break
    return problems + bench.expect(Want(says="fine"), honest("tree"))


def swapped_directory_never_leads_out(bench):
    problems = []
    for turn in range(8):
        out = bench.work / f"out{turn}"
        out.mkdir()
        run = bench.run(program("fileabuse", "swap"), ("--out", f"d/passwd:{out}", "-t", "5"))
        problems += judge(run, Want(says="swapping"), bench)
        for path in out.rglob("*"):
            if path.is_symlink():
                problems.append(f"a symbolic link came out: {path.name}")
            elif path.is_file() and path.read_bytes() != b"mine\n":
                problems.append(f"read outside: {path.read_bytes()[:40]!r}")
    return problems


def growing_file_is_bounded(bench):
    limit = 32 << 20
    problems = []
    for turn in range(4):
        out = bench.work / f"out{turn}"
        out.mkdir()
        run = bench.run(program("fileabuse", "grow"),
                        ("--out", f"result:{out}", "--disk", str(limit), "-t", "5"))
        problems += judge(run, Want(says="growing", within=15), bench)
        problems += [f"{path} has {path.stat().st_size} bytes" for path in out.rglob("*")
                     if path.is_file() and path.stat().st_size > limit]
    return problems


def stamps_are_normal(run, bench):
    problems = []
    now = time.time()
    for name in ("past", "future", "suid"):
        found = [path for path in (bench.work / "out").rglob(name)]
        if not found:
            problems.append(f"{name} was not harvested: {run.result['files']}")
            continue
        st = found[0].lstat()
        if abs(st.st_mtime - now) > 86400:
            problems.append(f"{name} kept the time {st.st_mtime}")
        if st.st_uid != os.getuid() or st.st_gid != os.getgid():
            problems.append(f"{name} belongs to {st.st_uid}:{st.st_gid}")
        if st.st_mode & 0o7000 or st.st_mode & 0o002:
            problems.append(f"{name} has the mode {oct(st.st_mode)}")
    return problems


def harvesting(case_function):
    """Makes the place for results first."""

    def check(bench):
        (bench.work / "out").mkdir()
        return case_function(bench)

    return check


def harvest(act, also, lines=None):
    return harvesting(lambda bench: bench.expect(Want(also=also, lines=lines or {}, within=10),
                                                 program("fileabuse", act), (*OUT, "-t", "5")) or
                      honest_harvest(bench))


def honest_harvest(bench):
    out = bench.work / "honest"
    out.mkdir()
    run = bench.run(honest("results"), ("--out", f"result.txt:{out}", "--out", f"dir:{out}"))
    problems = judge(run, Want(says="fine"), bench)
    found = sorted(path.read_text() for path in out.rglob("result.txt"))
    if found != ["mine\n", "mine too\n"]:
        problems.append(f"honest results came out as {found}")
    return problems


# ---- secrets -------------------------------------------------------------------------------------


def finds_no_secret(bench):
    """Files, sockets and another cell's file, all with a name to look for, in likely places."""
    token = "secret-" + secrets.token_hex(8)
    places = [Path(place) for place in ("/tmp", "/var/tmp", "/run", "/root", "/home", "/srv",
                                        str(bench.home), str(bench.tmp))]
    planted, listener = [], socket.socket(socket.AF_UNIX)
    for place in places:
        try:
            (place / token).write_text("a secret of the host\n")
            planted.append(place / token)
        except OSError:
            continue
    listener.bind(f"/tmp/{token}.socket")
    planted.append(Path(f"/tmp/{token}.socket"))
    other = bench.start(bash(f"echo mine > /tmp/{token}; echo mine > /home/user/{token}; "
                             f"echo mine > /dev/shm/{token}; sleep 160"), ("-t", "170"), seconds=180)
    time.sleep(0.5)
    try:
        want = Want(lines={"secrets": "0", "sockets": "0", "devices": "0", "cgroups": "0",
                           "seen-some": "1",
                           **dict.fromkeys(PRIVATE, ("ENOENT", "EACCES", "EPERM", "ENXIO",
                                                     "empty"))},
                    within=160)
        # every directory there is, from a disk that may be slow
        problems = bench.expect(want, program("rootabuse", "walk", token), ("-t", "150"), seconds=170)
        if other.poll() is not None:
            problems.append("the other cell was gone too early")
    finally:
        other.process.terminate()
        listener.close()
        for path in planted:
            path.unlink(missing_ok=True)
        other.finish()
    if len(planted) < 3:
        problems.append("too few secrets could be planted")
    return problems + bench.expect(Want(says="fine"), honest("write"))


PRIVATE = ("/etc/shadow", "/root/.ssh", "/root/.bashrc", "/var/log", "/var/lib/dpkg",
           "/run/hotcell", "/sys/fs/cgroup", "/home/user/../root", "/dev/kmsg", "/dev/mem",
           "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/proc/kcore", "/proc/kallsyms",
           "/proc/keys")


def locks_tell_nothing(bench):
    """A lock one cell takes on a shared file must not show in another, or must be documented."""
    first = bench.start(program("rootabuse", "lock", "/usr/bin/env", 1500))
    time.sleep(0.5)
    second = bench.run(program("rootabuse", "lock", "/usr/bin/env"))
    run = first.finish()
    bench.runs.append(run)
    answers = Want(lines={"flock": ("ok", "EAGAIN", "EPERM", "EACCES", "EBADF"),
                          "ofd": ("ok", "EAGAIN", "EPERM", "EACCES", "EBADF"),
                          "lease": ("ok", "EAGAIN", "EPERM", "EACCES")})
    problems = judge(run, answers, bench) + judge(second, answers, bench)
    told, other = run.lines(), second.lines()
    shared = [kind for kind in ("flock", "ofd", "lease")
              if told.get(kind) == ["ok"] and other.get(kind) in (["EAGAIN"], ["EWOULDBLOCK"])]
    documents = " ".join(path.read_text(errors="replace") for path in
                         [*(bench.source / "docs").rglob("*.md"), *bench.source.glob("*.md")])
    if shared and not ("covert" in documents and "lock" in documents):
        problems.append(f"{' and '.join(shared)} on a shared file is seen by another cell, and "
                        "docs/ does not name it as a covert channel")
    return problems + bench.expect(Want(says="fine"), program("rootabuse", "own-lock"))


# ---- data ----------------------------------------------------------------------------------------

READ_ONLY_PATHS = (
    "/x", "/usr/x", "/usr/bin/env", "/usr/lib/x", "/etc/x", "/etc/passwd", "/dev/x", "/dev/sda",
    "/proc/x", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger",
    "/sys/x", "/sys/kernel/uevent_helper", "/home/x", "/var/x", "/run/x", "/opt/x", "/root/x",
    "/boot/x", "mkdir-root", "unlink-usr", "rename-etc", "chmod-usr", "truncate-usr", "utime-usr")

MOUNT_CALLS = ("tmpfs", "bind", "remount", "propagation", "umount", "pivot_root", "chroot",
               "fsopen", "fspick", "fsmount", "fsconfig", "open_tree", "move_mount",
               "mount_setattr")

INSIDE = ("inside", "EACCES", "EPERM", "ENOENT")

# The tmpfs of home, tmp and shm hangs beneath the home that covers it; a part of it that is nobody's
# business would show as an entry, or as a parent on the home's own device.
BENEATH_HOME = """
import os
home = os.stat('/home/user').st_dev
fd = os.open('/home/user', os.O_PATH)
os.chdir('/home/user')
seen = []
for path in ('..', '/home/user/..', '/proc/self/cwd/..', '/proc/self/fd/%d/..' % fd, '/tmp/..', '/dev/shm/..'):
    if os.stat(path).st_dev == home or 'shm' in os.listdir(path) and 'null' not in os.listdir(path):
        seen.append(path)
for path in ('/home/user', '/home/user/.', '/home/user/../user', '/proc/self/cwd/../user'):
    seen += [path + '/' + name for name in ('home', 'tmp', 'shm', 'etc') if os.path.exists(path + '/' + name)]
print('seen', seen or 'nothing')
"""
WORKSPACE = """
for place in ('/home/user', '/tmp', '/dev/shm'):
    open(place + '/own', 'w').write('mine')
    assert open(place + '/own').read() == 'mine'
print('fine')
"""

CASES = [
    Case("41", "a full disk is an error the program sees",
         program("fileabuse", "fill", 0, "/tmp", "/home/user", "/dev/shm"),
         Want(lines={"write": "ENOSPC"}, also=told_at_most("kib", 16 << 10)),
         ("--disk", "16M"), honest("write"), canary=True),
    Case("41.fails", "a program that fails for it is told why",
         program("fileabuse", "fill", 3, "/tmp"),
         Want(status=("error", "disk_limit"), exit_code=3, lines={"write": "ENOSPC"},
              denials=(("disk", None),)),
         ("--disk", "16M"), honest("write")),
    Case("41.python", "a Python program that fails for it is told why",
         python("open('/tmp/full', 'wb').write(b'x' * (64 << 20))"),
         Want(status=("error", "disk_limit"), denials=(("disk", None),)),
         ("--disk", "16M"), python("open('/tmp/x', 'wb').write(b'x' * 1000)\nprint('fine')")),
    Case("42", "inodes run out before the host's do", program("fileabuse", "inodes"),
         Want(lines={"create": "ENOSPC"}, also=told_at_most("files", 500)),
         ("--inodes", "500"), honest("tree")),
    Case("43", "a sparse terabyte is too large", program("fileabuse", "sparse"),
         Want(lines={"ftruncate": "EFBIG", "fallocate": ("EFBIG", "ENOSPC"), "pwrite": "EFBIG"}),
         (), honest("mmap")),
    Case("43.signal", "a sparse terabyte is a SIGXFSZ to who asks for it",
         program("fileabuse", "sparse", "deadly"),
         Want(status="signal", signal=25), (), honest("mmap")),
    Case("44", "mapping more than the disk holds is a bus error", program("fileabuse", "bus", 12),
         Want(status=("signal", "disk_limit"), signal=7, exit_code=135, says="mapping"),
         ("--disk", "16M"), honest("mmap")),
    Case("45", "strange names come out as they are", harvests_strange_names),
    Case("45.deep", "a tree 15 000 deep is harvested to a bound", harvest_of_depth_is_bounded),
    Case("46", "symbolic links are no results",
         harvest("symlinks", refuses(("shadow", "passwd", "relative", "environ", "etc", "loop",
                                      "own"), ("plain",)))),
    Case("47", "a directory swapped for a link never leads out", swapped_directory_never_leads_out),
    Case("48", "pipes, sockets and devices are no results",
         harvest("special", refuses(("fifo", "socket"), ("plain",)),
                 {"fifo": "ok", "socket": "ok", "block-device": "EPERM", "char-device": "EPERM",
                  "null-device": "EPERM"})),
    Case("49", "the system's files cannot be linked", program("fileabuse", "hard-link"),
         Want(lines={"usr": ("EXDEV", "EPERM", "EACCES"), "etc": ("EXDEV", "EPERM", "EACCES"),
                     "proc": ("EXDEV", "EPERM", "EACCES"),
                     "empty-path": ("EXDEV", "EPERM", "EACCES", "ENOENT")}),
         (), honest("write")),
    Case("50", "a result that grows meanwhile is bounded", growing_file_is_bounded),
    Case("51", "set-user-id and file capabilities give nothing", program("rootabuse", "setuid"),
         Want(lines={"file-caps": ("EPERM", "EOPNOTSUPP"), "setuid": ("EPERM", "EINVAL"),
                     "setgid": ("EPERM", "EINVAL"), "setgroups": ("EPERM", "EINVAL"),
                     "chown": ("EPERM", "EINVAL"),
                     "same-user": "ok", "not-root": "ok", "no_new_privs": "ok"}),
         (), honest("exec")),
    Case("52", "the system is read-only", program("rootabuse", "read-only"),
         Want(lines=dict.fromkeys(READ_ONLY_PATHS, REFUSED)), (), honest("write")),
    Case("52.python", "a refused write is explained",
         python("open('/usr/lib/x', 'w')"),
         Want(status="error", denials=(("filesystem", None),)), (),
         python("open('/home/user/x', 'w').write('x')\nprint('fine')")),
    Case("53", "nothing can be mounted", program("rootabuse", "mounts"),
         Want(lines=dict.fromkeys(MOUNT_CALLS, "EPERM"),
              denials=(("seccomp", "mount"), ("seccomp", "umount2"), ("seccomp", "pivot_root"),
                       ("seccomp", "chroot"), ("seccomp", "fsopen"))),
         (), honest("write")),
    Case("54", "nothing of the host or of another cell is to be found", finds_no_secret),
    Case("55", "no path leads out of the root", program("rootabuse", "traverse"),
         Want(lines={**dict.fromkeys(("dots", "root-dots", "self-root", "self-root-dots",
                                      "self-cwd-dots", "thread-root", "cwd"), "inside"),
                     **dict.fromkeys(("init-root", "init-cwd", "init-fd", "init-ns", "parent"),
                                     INSIDE)}),
         (), honest("tree")),
    Case("55.workspace", "what a home is part of cannot be reached from it", python(BENEATH_HOME),
         Want(says="seen nothing"), (), python(WORKSPACE)),
    Case("56", "files cannot be opened by handle", program("rootabuse", "handles"),
         Want(lines={"denied": "100"}, denials=(("seccomp", "open_by_handle_at"),)),
         (), honest("write")),
    Case("57", "locks on shared files tell other cells nothing", locks_tell_nothing),
    Case("58", "a locked-out workspace is cleaned up all the same",
         program("fileabuse", "lock-out"),
         Want(lines={"chmod-home": "ok"}), (), honest("write")),
    Case("59", "handles, fanotify, quotas, swap and accounting are refused",
         program("rootabuse", "handles"),
         Want(lines={"name_to_handle_at": ("EPERM", "EOPNOTSUPP"), "fanotify": "EPERM",
                     "quotactl": "EPERM", "swapon": "EPERM", "acct": "EPERM"}),
         (), program("rootabuse", "own-lock")),
    Case("60", "strange times, modes and owners come out normal",
         harvest("stamps", stamps_are_normal, {"chown": ("EPERM", "EINVAL")})),
]
