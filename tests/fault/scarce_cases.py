# SPDX-License-Identifier: Apache-2.0
"""A machine or a caller with too little: a clear error or a whole cell, never a weaker one."""
import json
import os
import shlex
import shutil
import subprocess

from suite import (HUNG_AFTER, ROOT, USER, Skip, check, claim, contains, equal,
                   is_sanitized, matches, nothing_left, parse_result)

RAN = "print('the program ran')"


def in_namespace(person, script, *args, **kwargs):
    """Runs hotcell after a shell script in a mount namespace of its own."""
    shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f'set -e; {script}; exec "$@"', "sh"]
    return person.run(*args, prefix=shell, **kwargs)


def one_clear_line(ran, *words):
    equal(ran.code, 125, f"exit status of {ran!r}")
    equal(ran.out, "", "stdout")
    equal(len(ran.err.splitlines()), 1, f"lines on stderr of {ran!r}")
    matches(ran.err, r"^hotcell: ", "stderr")
    for word in words:
        contains(ran.err, word, "stderr")


# ---- the lock directory --------------------------------------------------------------------------
# Each of these must fail before a slot is taken: cells of others share the cgroups.


@claim("a lock directory that is not ours is refused by name", ROOT)
def locks_of_others(person):
    for options in ("mode=0755,uid=61999", "mode=0777", "mode=0770,gid=61999"):
        ran = in_namespace(person, f"mkdir -p /run/hotcell; "
                           f"mount -t tmpfs -o {options} none /run/hotcell", "-c", RAN)
        one_clear_line(ran, "/run/hotcell")


@claim("a lock directory that cannot be made or written is told by name", ROOT)
def locks_unwritable(person):
    one_clear_line(in_namespace(person, "mount -t tmpfs none /run; mount -o remount,ro /run",
                                "-c", RAN), "/run/hotcell")
    one_clear_line(in_namespace(person, "mkdir -p /run/hotcell; mount -t tmpfs none /run/hotcell; "
                                "mount -o remount,ro /run/hotcell", "-c", RAN), "/run/hotcell")


@claim("a lock directory that is a link or a file is refused by name", ROOT)
def locks_linked(person):
    one_clear_line(in_namespace(person, f"mount -t tmpfs none /run; ln -s {person.dir} /run/hotcell",
                                "-c", RAN), "/run/hotcell")
    one_clear_line(in_namespace(person, "mount -t tmpfs none /run; touch /run/hotcell",
                                "-c", RAN), "/run/hotcell")
    equal(os.listdir(person.dir), [], "what was made behind the link")


# ---- missing parts -------------------------------------------------------------------------------


@claim("without the zygote's program it runs or says what is missing")
def no_zygote(person):
    shutil.copytree(person.build, person.path("build"))
    os.remove(person.path("build/hotcell-zygote"))
    ran = person.code(RAN, program=person.path("build/hotcell"))
    if ran.code == 0:
        equal(ran.out, "the program ran\n", "stdout")
    else:
        one_clear_line(ran, "hotcell-zygote")


@claim("without cgroups a root's cell is refused, unless --without cgroup", ROOT)
def no_cgroups(person):
    script = "umount -l /sys/fs/cgroup/* 2>/dev/null || :; umount -l /sys/fs/cgroup"
    ran = in_namespace(person, script, "-c", RAN)
    one_clear_line(ran, "'cgroup'", "--without cgroup")
    ran = in_namespace(person, script, "--json", "--without", "cgroup", "-c", RAN).ok()
    result = json.loads(ran.out)
    equal(result["stdout"], "the program ran\n", "stdout")
    equal(result["meta"]["isolation"]["cgroup"], "none", "meta.isolation.cgroup")
    equal(result["meta"]["isolation"]["seccomp"], True, "meta.isolation.seccomp")


@claim("read-only cgroups are refused, unless --without cgroup", ROOT)
def frozen_cgroups(person):
    script = ("for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mountpoint -q $d && "
              "mount -o remount,bind,ro $d; done; :")
    one_clear_line(in_namespace(person, script, "-c", RAN), "cgroup")
    in_namespace(person, script, "--without", "cgroup", "-c", RAN).ok()


@claim("without /proc nothing runs", ROOT)
def no_proc(person):
    ran = in_namespace(person, "umount -l /proc", "-c", RAN)
    if ran.code != 0:
        equal(ran.code, 125, f"exit status of {ran!r}")
        equal(ran.out, "", "stdout")
        check(ran.err.startswith("hotcell: "), "stderr:", ran.err)


@claim("where user namespaces are forbidden the error names the layer and what mends it", USER)
def no_user_namespaces(person):
    shell = ["unshare", "--user", "--map-root-user", "sh", "-c",
             'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    ran = person.run("-c", RAN, prefix=shell)
    if "unshare:" in ran.err or "Permission" in ran.err:
        raise Skip("needs a nested user namespace")
    one_clear_line(ran, "user_namespace", "max_user_namespaces")


@claim("inside a user namespace it runs or says what is missing", USER)
def nested_user_namespace(person):
    for options in (["--map-root-user"], ["--map-current-user"]):
        ran = person.run("-c", RAN, prefix=["unshare", "--user", *options])
        if ran.code == 0:
            equal(ran.out, "the program ran\n", "stdout")
        else:
            one_clear_line(ran)


# ---- full disks and long files -------------------------------------------------------------------

SMALL = "mkdir -p small; mount -t tmpfs -o size=64k none small"


@claim("a full disk under --spill is told and leaves no half file", ROOT)
def spill_full(person):
    code = "print('x' * 500000)"
    ran = in_namespace(person, SMALL + "; trap 'ls small' EXIT", "--spill", "small", "-c", code)
    check(ran.code != 0, f"exit status 0 though the output is lost: {ran.err!r}")
    contains(ran.err, "--spill", "stderr")
    script = f'"$@" >/dev/null 2>&1 || :; ls -A small; exit 0'
    shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"{SMALL}; {script}", "sh"]
    listed = person.run("--spill", "small", "-c", code, prefix=shell)
    equal(listed.out, "", "files left on the full disk")


@claim("a full disk under --out is told file by file, and whole files stay whole", ROOT)
def out_full(person):
    code = "open('big', 'wb').write(b'x' * 300000); open('little', 'w').write('l')"
    ran = in_namespace(person, SMALL, "--json", "--out", "*:small", "-c", code)
    result = json.loads(ran.out)
    files = {file["path"]: file for file in result["files"]}
    check(files["big"]["refused"] and not files["big"]["saved_to"], "big was saved:", files)
    contains(files["big"]["refused"], "space", "the reason")
    check(files["little"]["saved_to"], "little was not saved:", files)
    script = f'"$@" >/dev/null 2>&1 || :; ls -A small; exit 0'
    shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"{SMALL}; {script}", "sh"]
    listed = person.run("--out", "*:small", "-c", code, prefix=shell)
    equal(listed.out, "little\n", "files on the small disk")


@claim("a read-only directory under --out or --spill is told by name", ROOT)
def out_read_only(person):
    script = "mkdir -p small; mount -t tmpfs none small; mount -o remount,ro small"
    ran = in_namespace(person, script, "--spill", "small", "-c", RAN)
    one_clear_line(ran, "--spill")
    ran = in_namespace(person, script, "--out", "x:small", "-c", "open('x', 'w').write('x')")
    contains(ran.err, "small" if ran.code else "Read-only", "stderr")
    contains(ran.err, "--out", "stderr")


@claim("a directory we may not write to is told by name", USER)
def out_forbidden(person):
    os.makedirs(person.path("closed"))
    if os.geteuid() == 0:
        os.chown(person.path("closed"), 0, 0)
    os.chmod(person.path("closed"), 0o555)
    one_clear_line(person.run("--spill", "closed", "-c", RAN), "--spill", "closed")
    ran = person.run("--out", "x:closed", "-c", "open('x', 'w').write('x')")
    contains(ran.err, "--out", "stderr")
    ran = person.run("--out", "x:closed/new", "-c", "open('x', 'w').write('x')").exits(125)
    contains(ran.err, "closed/new", "stderr")


@claim("a huge spec, an endless one and a deep one are refused quickly")
def huge_spec(person):
    with open(person.path("huge.json"), "wb") as file:
        file.write(b'{"code": "' + b"x" * (30 << 20) + b'"}')
    ran = person.run("--spec", "huge.json")
    one_clear_line(ran, "--spec")
    one_clear_line(person.run("--spec", "/dev/zero"), "--spec")
    person.write(person.path("deep.json"), '{"code": ' + "[" * 100000 + "]" * 100000 + "}")
    one_clear_line(person.run("--spec", "deep.json"), "--spec")
    person.write(person.path("keys.json"), "{" + ",".join(
        f'"k{i}": 1' for i in range(100000)) + "}")
    one_clear_line(person.run("--spec", "keys.json"), "--spec")


@claim("endless code and a huge file of code are refused quickly")
def huge_code(person):
    one_clear_line(person.run("/dev/zero"), "/dev/zero")
    with open("/dev/zero", "rb") as endless:
        process = person.start("run", "-", stdin=endless)
        out, err = process.communicate(timeout=HUNG_AFTER)
    equal((process.returncode, out), (125, b""), "exit status and stdout")
    contains(err.decode(), "bytes", "stderr")


@claim("endless input is read only as far as the program reads it")
def endless_stdin(person):
    code = "import sys; print(len(sys.stdin.buffer.read(100000)))"
    equal(person.run("--stdin", "/dev/zero", "-c", code).ok().out, "100000\n", "stdout")


# ---- limits of the caller ------------------------------------------------------------------------


def whole_or_clear(person, prefix, reference, what):
    """It runs in a whole cell, or it says why not in one line. Returns whether it ran. Limits are
    inherited, so the program itself may fail of them; then the result says so."""
    ran = person.run("--json", "-t", "20", "-c", RAN, prefix=prefix, timeout=40)
    if ran.code < 0 and person.call("--version", prefix=prefix).code < 0:
        return False  # the kernel could not even start it
    result = parse_result(ran.out, ran)
    if result.status == "setup_error":
        equal(ran.code, 125, f"exit status, {what}")
        matches(ran.err, r"^hotcell: ", f"stderr, {what}")
        return False
    isolation = dict(result.meta["isolation"], uid=None)
    equal(isolation, reference, f"isolation, {what}")
    if ran.code == 0:
        equal(result.stdout, "the program ran\n", f"stdout, {what}")
    return ran.code == 0


def reference(person):
    return dict(person.json("-c", RAN).is_ok().meta["isolation"], uid=None)


def declare_limit(option, values):
    @claim(f"a small {option} of the caller gives a clear error or a whole cell")
    def limit(person):
        if option in ("as", "data", "stack") and is_sanitized():
            raise Skip("a sanitizer needs its memory")
        wanted = reference(person)
        for value in values:
            has_run = whole_or_clear(person, ["prlimit", f"--{option}={value}"], wanted,
                                     f"{option}={value}")
        check(has_run, f"{option}={values[-1]} is enough for any program, but not for hotcell")
        nothing_left(person)


# the last value of each is plenty
declare_limit("nofile", [3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 32, 64])
declare_limit("nproc", [1, 2, 3, 4, 6, 10, 200])
declare_limit("as", [1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 64 << 20, 4 << 30])
declare_limit("data", [4096, 1 << 16, 1 << 20, 1 << 24, 4 << 30])
declare_limit("stack", [262144, 1 << 20, 8 << 20])
declare_limit("fsize", [0, 1, 4096, 65536, 1 << 20, 1 << 30])
declare_limit("memlock", [0, 4096])
declare_limit("sigpending", [0, 100])
declare_limit("core", [0])
declare_limit("msgqueue", [0])


@claim("a caller with few descriptors is told so")
def few_descriptors(person):
    ran = person.run("-c", RAN, prefix=["prlimit", "--nofile=10"])
    if ran.code != 0:
        one_clear_line(ran)
        check("open files" in ran.err or "descriptor" in ran.err, "stderr does not say why:",
              ran.err)


@claim("descriptors of the caller never reach the program")
def inherited_descriptors(person):
    secret = person.write(person.path("secret"), "secret")
    fds = [os.open(secret, os.O_RDONLY) for _ in range(50)]
    code = "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:4])"
    try:
        ran = person.code(code, pass_fds=fds).ok()
    finally:
        for fd in fds:
            os.close(fd)
    equal(ran.out, "[0, 1, 2, 3]\n", "descriptors")  # 3 is the directory it reads
    ran = person.run("--exec", "--", "ls", "/proc/self/fd", pass_fds=[]).ok()
    equal(ran.out, "0\n1\n2\n3\n", "descriptors of an executed program")


@claim("an empty environment, an odd umask and a directory that is gone do no harm")
def odd_callers(person):
    command = shlex.join([person.hotcell, "run", "-c", "import os; open('f','w').close(); "
                          "os.mkdir('d'); print(oct(os.stat('f').st_mode), oct(os.umask(0)))"])
    usual = person.run("-c", "import os; open('f','w').close(); os.mkdir('d'); "
                       "print(oct(os.stat('f').st_mode), oct(os.umask(0)))").ok().out
    for script in (f"exec env -i {command}", f"umask 777; exec {command}",
                   f"umask 000; exec {command}", f"mkdir gone; cd gone; rmdir ../gone; exec {command}",
                   f"cd /; exec {command}", f"exec setsid -w {command}", f"exec nice -n 19 {command}",
                   f"trap '' INT TERM PIPE CHLD USR1; exec {command}"):
        ran = subprocess.run(person.prefix + ["sh", "-c", script], env=person.env, cwd=person.dir,
                             capture_output=True, text=True, timeout=HUNG_AFTER, check=False)
        equal((ran.returncode, ran.stdout), (0, usual), f"after {script!r}: {ran.stderr!r}")


@claim("files come out with sound modes whatever the umask is")
def odd_umask_out(person):
    for umask in ("000", "077", "777"):
        script = (f"umask {umask}; exec {person.hotcell} run --out 'a:got{umask}' "
                  "-c 'open(\"a\", \"w\").write(\"x\")'")
        ran = subprocess.run(person.prefix + ["sh", "-c", script], env=person.env, cwd=person.dir,
                             capture_output=True, text=True, timeout=HUNG_AFTER, check=False)
        if umask == "777":
            check(ran.returncode in (0, 125), "exit status", ran.returncode)
            continue
        equal(ran.returncode, 0, f"exit status with umask {umask}: {ran.stderr!r}")
        mode = os.stat(person.path(f"got{umask}/a")).st_mode & 0o777
        equal(mode & 0o022, 0, f"others' right to write with umask {umask}")


@claim("signals that our caller ignores or blocks are whole again in the program")
def caller_signals(person):
    code = ("status = dict(l.split(':', 1) for l in open('/proc/self/status') if ':' in l)\n"
            "import signal\n"
            "print(status['SigBlk'].strip(), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,"
            " signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL)")
    script = f"trap '' TERM CHLD USR1 HUP; exec {shlex.join([person.hotcell, 'run', '-c', code])}"
    ran = subprocess.run(person.prefix + ["sh", "-c", script], env=person.env, cwd=person.dir,
                         capture_output=True, text=True, timeout=HUNG_AFTER, check=False)
    equal(ran.stdout, "0000000000000000 True True\n", f"signals inside: {ran.stderr!r}")
