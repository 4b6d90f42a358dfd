# SPDX-License-Identifier: Apache-2.0
"""What a cell stops is explained, and the option the explanation names really helps.

Each case follows the advice of the result, a few times if it must, until the program passes. A
placeholder in the advice (DIR, SIZE, N) is filled in as a person would.
"""
import os
import shlex

from suite import Failure, check, claim, contains, equal, lacks

STEPS_MAX = 6


def follow_advice(person, layer, args, run, fill=None):
    """Runs, reads the denial's option, adds it, runs again. Returns the first result."""
    first = None
    options = list(args)
    for _ in range(STEPS_MAX):
        result = person.json(*options, *run)
        if first is None:
            first = result
            check(result.status != "ok", "nothing was stopped:", result.stdout)
        if result.status == "ok":
            return first
        option = result.denial(layer)["option"]
        check(option, "a denial without an option:", result["denials"])
        contains(result["hint"] or "", option, "hint")
        for placeholder, value in (fill or {}).items():
            option = option.replace(placeholder, value)
        options += shlex.split(option)
    raise Failure(f"did not pass after {options}: {dict(result)}")


def python(text):
    return ["-c", text]


def bash(text):
    return ["-l", "bash", "-c", text]


@claim("a socket is explained, and --net loopback lets it pass")
def network(person):
    code = ("import socket\n"
            "s = socket.create_server(('127.0.0.1', 0))\n"
            "c = socket.create_connection(s.getsockname())")
    result = follow_advice(person, "network", [], python(code))
    denial = result.denial("network")
    equal((denial["operation"], denial["evidence"]), ("socket", "kernel"), "the denial")
    contains(denial["target"], "AF_INET", "target")


@claim("a socket of IPv6 is explained, and --net loopback lets it pass")
def network6(person):
    code = "import socket; socket.create_server(('::1', 0), family=socket.AF_INET6)"
    if not os.path.exists("/proc/sys/net/ipv6"):
        return
    result = follow_advice(person, "network", [], python(code))
    contains(result.denial("network")["target"], "AF_INET6", "target")


@claim("a write to a read-only path is explained, and --rw lets it pass")
def read_only(person):
    os.makedirs(person.path("d"))
    person.own(person.path("d"))
    for number, run in enumerate((python("open('/data/new', 'w').write('x')"),
                                  bash("set -e; echo x > /data/new"))):
        result = person.json("--ro", "d:/data", *run)
        check(result.status == "error", "nothing was stopped:", result.status)
        denial = result.denial("filesystem")
        equal((denial["operation"], denial["target"]), ("write", "/data/new"), "the denial")
        contains(denial["option"], "--rw", "option")
        contains(result["hint"], "--rw", "hint")
        person.json("--rw", "d:/data", *run).is_ok()
        check(os.path.exists(person.path("d/new")), f"case {number} wrote nothing")
        os.remove(person.path("d/new"))


@claim("a path that is not in the cell is explained, and --ro lets it pass")
def missing_path(person):
    os.makedirs(person.path("d"))
    person.write(person.path("d/table.csv"), "1,2\n")
    for run in (python("print(open('/data/table.csv').read())"), bash("cat /data/table.csv")):
        result = person.json(*run).has_status("error", 1)
        denial = result.denial("filesystem")
        equal(denial["target"], "/data/table.csv", "target")
        contains(denial["option"], "--ro", "option")
        person.json("--ro", "d:/data", *run).is_ok()


@claim("no option is named where none would help")
def no_option(person):
    for run in (python("open('/usr/new', 'w')"), bash("echo x > /etc/new")):
        denial = person.json(*run).has_status("error", 1).denial("filesystem")
        equal(denial["operation"], "write", "operation")
        equal(denial["option"], None, f"option for {denial['target']}, which --rw refuses")


@claim("too many threads are explained, and --pids lets them pass")
def threads(person):
    code = ("import threading, time\n"
            "for _ in range(12): threading.Thread(target=time.sleep, args=(0.3,)).start()")
    follow_advice(person, "pids", ["--pids", "5"], python(code), {" N": " 40"})


@claim("too many processes are explained, and --pids lets them pass")
def processes(person):
    code = ("import os, time\n"
            "for _ in range(12):\n"
            "    if os.fork() == 0: time.sleep(0.3); os._exit(0)\n"
            "for _ in range(12): os.wait()")
    follow_advice(person, "pids", ["--pids", "5"], python(code), {" N": " 40"})


@claim("too much memory is explained, and --memory lets it pass")
def memory(person):
    code = "import time; x = b'x' * (100 << 20); time.sleep(0.3)"
    result = follow_advice(person, "memory", ["-m", "32M", "-t", "20"], python(code),
                           {"SIZE": "300M"})
    equal(result.status, "oom", "status")


@claim("a full disk is explained, and --disk lets it pass")
def disk(person):
    code = "open('big', 'wb').write(b'x' * (3 << 20))"
    result = follow_advice(person, "disk", ["--disk", "1M"], python(code))
    equal(result.status, "disk_limit", "status")
    follow_advice(person, "disk", ["--disk", "1M"], bash("head -c 3M /dev/zero > big"))


@claim("a full /tmp and /dev/shm are explained as well")
def disk_elsewhere(person):
    for place in ("/tmp", "/dev/shm"):
        code = f"open('{place}/big', 'wb').write(b'x' * (3 << 20))"
        follow_advice(person, "disk", ["--disk", "1M"], python(code))


@claim("too many files are explained, and --inodes lets them pass")
def inodes(person):
    code = "for i in range(100): open(f'f{i}', 'w').close()"
    follow_advice(person, "disk", ["--inodes", "32"], python(code))


@claim("a timeout is explained, and --timeout lets it pass")
def timeout(person):
    follow_advice(person, "time", ["-t", "0.3"], python("import time; time.sleep(1.5)"))


@claim("used up CPU time is explained, and --cpu-time lets it pass")
def cpu_time(person):
    code = "import time\nwhile time.process_time() < 0.5: pass"
    follow_advice(person, "cpu", ["--cpu-time", "0.2"], python(code))


@claim("too much output is explained, and --output-limit lets it pass")
def output(person):
    code = "for _ in range(50): print('x' * 1000)"
    follow_advice(person, "output", ["--output-limit", "10K"], python(code))


CALL = ("import ctypes, sys\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "if {} != -1: sys.exit('it was allowed')\n"
        "sys.exit(ctypes.get_errno())")


@claim("a denied system call is explained by its name")
def system_calls(person):
    for name, call in (("mount", "libc.mount(b'x', b'/tmp', b'tmpfs', 0, None)"),
                       ("umount2", "libc.umount2(b'/tmp', 2)"),
                       ("unshare", "libc.unshare(0x10000000)"),
                       ("ptrace", "libc.ptrace(0, 0, 0, 0)"),
                       ("chroot", "libc.chroot(b'/tmp')"),
                       ("sethostname", "libc.sethostname(b'x', 1)"),
                       ("setns", "libc.setns(0, 0)"),
                       ("swapon", "libc.swapon(b'/tmp/x', 0)")):
        result = person.json("-c", CALL.format(call)).has_status("error", 1)
        denial = result.denial("seccomp")
        equal((denial["operation"], denial["evidence"]), (name, "kernel"), f"denial of {name}")
        equal(denial["option"], None, f"option for {name}: there is none")
        check(denial["target"], f"{name} is not described")


@claim("calls are counted")
def counted(person):
    code = "import ctypes\nfor _ in range(7): ctypes.CDLL(None).unshare(0x10000000)\nraise SystemExit(1)"
    equal(person.json("-c", code).denial("seccomp")["count"], 7, "count")


@claim("a person reads on stderr what stopped the program and what would help")
def human(person):
    ran = person.code("import socket; socket.socket()").exits(1)
    contains(ran.err, "hotcell: stopped by network: socket AF_INET stream", "stderr")
    contains(ran.err, "to allow it: --net loopback", "stderr")
    ran = person.code("import time; x = b'x' * (100 << 20); time.sleep(1)", "-m", "32M").exits(137)
    contains(ran.err, "hotcell: oom: Code ran out of its memory of 32M", "stderr")
    contains(ran.err, "--memory 64M", "stderr")


@claim("a program that goes on after a denial and succeeds is left in peace")
def quiet_success(person):
    code = ("import ctypes\n"
            "ctypes.CDLL(None).unshare(0x10000000)\n"
            "try: open('/usr/new', 'w')\n"
            "except OSError: pass\n"
            "print('fine')")
    ran = person.code(code).ok()
    equal((ran.out, ran.err), ("fine\n", ""), "stdout and stderr")


@claim("error texts that a program merely prints are not taken for denials")
def not_fooled(person):
    code = "print(\"No space left on device: Read-only file system: '/data/x'\")"
    equal(person.json("-c", code).is_ok()["denials"], [], "denials")


@claim("a missing file of the program's own is its own affair")
def own_files(person):
    result = person.json("-c", "open('nowhere.txt')").has_status("error", 1)
    equal(result["denials"], [], "denials")
    result = person.json("-c", "open('/tmp/nowhere.txt')").has_status("error", 1)
    equal(result["denials"], [], "denials")


@claim("a denial never tells whether a file exists on the host")
def no_oracle(person):
    answers = []
    for path in ("/root/.bashrc", "/root/.no-such-file", "/var/log/dpkg.log", "/var/log/none"):
        result = person.json("-c", f"open('{path}')")
        answers.append([(d["operation"], d["option"]) for d in result["denials"]])
        lacks(result["stderr"], "Permission", f"stderr for {path}")
    check(all(answer == answers[0] for answer in answers), "answers differ:", answers)
