# SPDX-License-Identifier: Apache-2.0
"""Every status and exit code of the contract, the whole shape of a result, plausible numbers.

The shape itself is checked by suite.check_shape() on every result that any test asks for.
"""
import re

from suite import DELEGATE, EVERYONE, ROOT, STATUSES, check, claim, contains, equal, lacks, matches

BURN = "while True: pass"
EAT = ("blocks = []\n"
       "while True: blocks.append(b'x' * (1 << 20))")


@claim("a program that ends well is ok")
def status_ok(person):
    result = person.json("-c", "print(1)").is_ok()
    equal(result.stdout, "1\n", "stdout")
    equal(result["stderr"], "", "stderr")
    for key in ("signal", "error", "hint"):
        equal(result[key], None, key)
    for key in ("outputs", "denials", "files"):
        equal(result[key], [], key)
    equal(result.ran.err, "", "hotcell's own words")


@claim("an exit status is passed on")
def status_error(person):
    for code in (1, 3, 77, 124, 125, 255):
        result = person.json("-c", f"import sys; sys.exit({code})").has_status("error", code)
        equal(result["signal"], None, "signal")
        equal(result["error"]["kind"], "runtime", "error.kind")
        person.code(f"import sys; sys.exit({code})").exits(code)


@claim("an uncaught exception is an error with the text of stderr")
def status_exception(person):
    result = person.json("-c", "raise ValueError('a bad one')").has_status("error", 1)
    equal(result["error"]["kind"], "runtime", "error.kind")
    matches(result["error"]["message"], r"^Execution failed: ", "error.message")
    contains(result["error"]["message"], "ValueError: a bad one", "error.message")
    contains(result["stderr"], "ValueError: a bad one", "stderr")


@claim("a syntax error of Python is told as one")
def status_syntax(person):
    for code in ("print(1", "def f():\nreturn 1", "x = = 2"):
        result = person.json("-c", code).has_status("error", 1)
        equal(result["error"]["kind"], "syntax", f"error.kind of {code!r}")
        matches(result["error"]["message"], r"^Python syntax error: \S", "error.message")


@claim("a missing module is told as a failed import")
def status_import(person):
    result = person.json("-c", "import no_such_module_anywhere").has_status("error", 1)
    equal(result["error"]["kind"], "import", "error.kind")
    contains(result["error"]["message"], "no_such_module_anywhere", "error.message")


@claim("a signal is told by its number")
def status_signal(person):
    for number in (6, 9, 11, 15):
        code = f"import os; os.kill(os.getpid(), {number})"
        result = person.json("-c", code).has_status("signal", 128 + number)
        equal(result["signal"], number, "signal")
        matches(result["error"]["message"], r"^Execution failed: ", "error.message")
        person.code(code).exits(128 + number)


@claim("a timeout ends the run with 124 and the exact message")
def status_timeout(person):
    result = person.json("-t", "0.5", "-c", "import time; print('x', flush=True); time.sleep(30)")
    result.has_status("timeout", 124)
    equal(result["error"]["kind"], "timeout", "error.kind")
    equal(result["error"]["message"], "Code execution timed out after 0.5s", "error.message")
    equal(result.stdout, "x\n", "what it had printed")
    check(0.4 < result["duration"] < 10, "duration is", result["duration"])
    denial = result.denial("time")
    contains(denial["option"], "--timeout", "option")
    ran = person.code("import time; time.sleep(30)", "-t", "1").exits(124)
    contains(ran.err, "Code execution timed out after 1s", "stderr")


@claim("a timeout also ends what ignores signals and what hides in the background")
def timeout_stubborn(person):
    code = ("import os, signal, time\n"
            "for number in range(1, 32):\n"
            "    if number not in (9, 19): signal.signal(number, signal.SIG_IGN)\n"
            "if os.fork() == 0:\n"
            "    os.setsid()\n"
            "    if os.fork(): os._exit(0)\n"
            "time.sleep(60)")
    result = person.json("-t", "0.5", "-c", code).has_status("timeout", 124)
    check(result["duration"] < 15, "duration is", result["duration"])


@claim("a program that leaves children behind ends when it ends")
def children_end(person):
    code = ("import os, time\n"
            "if os.fork() == 0:\n"
            "    time.sleep(60)\n"
            "print('parent done')")
    result = person.json("-t", "20", "-c", code).is_ok()
    equal(result.stdout, "parent done\n", "stdout")
    check(result["duration"] < 15, "duration is", result["duration"])


@claim("used up CPU time is a cpu_limit", EVERYONE + DELEGATE)
def status_cpu(person):
    result = person.json("--cpu-time", "0.4", "-t", "30", "-c", BURN)
    result.has_status("cpu_limit", 137)
    check(300 < result["usage"]["cpu_ms"] < 5000, "cpu_ms is", result["usage"])
    contains(result.denial("cpu")["option"], "--cpu-time", "option")


@claim("CPU time counts what children use")
def cpu_of_children(person):
    code = ("import os\n"
            "for _ in range(2):\n"
            "    if os.fork() == 0:\n"
            "        while True: pass\n"
            "os.wait()")
    person.json("--cpu-time", "0.4", "-t", "30", "-c", code).has_status("cpu_limit", 137)


@claim("memory that runs out is told as such", EVERYONE + DELEGATE)
def status_oom(person):
    result = person.json("-m", "64M", "-t", "30", "-c", EAT).has_status("oom", 137)
    contains(result["error"]["message"], "64M", "error.message")
    contains(result.denial("memory")["option"], "--memory", "option")


@claim("too much output ends the run as an output_limit")
def status_output(person):
    code = "while True: print('x' * 1000)"
    result = person.json("--output-limit", "100K", "-t", "30", "-c", code)
    result.has_status("output_limit", 137)
    check(result.meta["truncated"], "not truncated")
    contains(result.denial("output")["option"], "--output-limit", "option")


@claim("a full disk is told as a disk_limit")
def status_disk(person):
    code = "open('big', 'wb').write(b'x' * (3 << 20))"
    result = person.json("--disk", "1M", "-c", code).has_status("disk_limit")
    check(result["exit_code"] != 0, "exit_code is 0")
    contains(result.denial("disk")["option"], "--disk", "option")


@claim("no inodes left are told as a disk_limit")
def status_inodes(person):
    code = "for i in range(200): open(f'f{i}', 'w').close()"
    result = person.json("--inodes", "64", "-c", code).has_status("disk_limit")
    contains(result.denial("disk")["option"], "--inodes", "option")


@claim("a program that cannot be executed is a setup_error")
def status_setup(person):
    result = person.json("--exec", "--", "no-such-program").has_status("setup_error", 125)
    contains(result["error"]["message"], "no-such-program", "error.message")
    contains(result["error"]["message"], "No such file", "error.message")
    person.json("--exec", "--", "/etc/passwd").has_status("setup_error", 125)


@claim("all statuses are known to these tests but the guard's")
def all_statuses(person):
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    used = set(re.findall(r'has_status\("(\w+)"', text)) | {"ok"}
    # interrupted is tested with the signals
    equal(STATUSES - used - {"refused", "interrupted"}, set(), "statuses without a test")


@claim("ids are unique and told by time")
def ids(person):
    found = [person.json("-c", "1").is_ok()["id"] for _ in range(5)]
    equal(len(set(found)), 5, "number of different ids")
    stamps = [one.split("-")[0] for one in found]
    equal(stamps, sorted(stamps), "time stamps in order")


@claim("the defaults of the contract hold")
def defaults(person):
    limits = person.json("-c", "1").is_ok().meta["resource_limits"]
    for key, value in (("timeout", 33), ("memory", 512 << 20), ("pids", 128), ("disk", 256 << 20),
                       ("max_output", 10 << 10), ("cpu_time", None), ("cpus", None)):
        equal(limits[key], value, f"resource_limits.{key}")


@claim("meta tells the truth about the cell")
def meta_truth(person):
    code = ("import os\n"
            "status = dict(l.split(':', 1) for l in open('/proc/self/status') if ':' in l)\n"
            "print(os.getuid(), status['NoNewPrivs'].strip(), status['Seccomp'].strip(),"
            " status['CapEff'].strip(), len(os.listdir('/sys/class/net')) "
            "if os.path.isdir('/sys/class/net') else 0, os.uname().nodename)")
    result = person.json("-c", code).is_ok()
    uid, no_new_privs, seccomp, caps, _nets, host = result.stdout.split()
    isolation = result.meta["isolation"]
    # rootless, meta names the host's uid, which a namespace shows as another inside
    equal(isolation["uid"], int(uid) if person.is_root else person.uid, "meta.isolation.uid")
    check(int(uid) != 0, "root inside the cell")
    equal((no_new_privs, seccomp, int(caps, 16)), ("1", "2", 0), "confinement seen from inside")
    equal(host, "cell", "host name")
    for key in ("pid_namespace", "mount_namespace", "seccomp", "no_new_privs"):
        equal(isolation[key], True, f"meta.isolation.{key}")
    equal(isolation["network"], "none", "meta.isolation.network")
    equal(isolation["rootfs"], "host", "meta.isolation.rootfs")
    equal(isolation["mode"], "root" if person.is_root else "rootless", "meta.isolation.mode")
    if person.is_root:
        check(isolation["cgroup"] in ("v1", "v2"), "meta.isolation.cgroup is", isolation["cgroup"])
    equal(result.meta["execution_mode"], "direct", "meta.execution_mode")
    equal(result.meta["warm"], False, "meta.warm")


@claim("meta.isolation has an entry for each layer that doctor lists")
def isolation_whole(person):
    import json
    layers = {layer["name"] for layer in json.loads(person.call("doctor", "--json").out)["layers"]}
    isolation = person.json("-c", "1").is_ok().meta["isolation"]
    equal(sorted(layers - set(isolation)), [], "layers without an entry")


# ---- usage ---------------------------------------------------------------------------------------


@claim("wall and CPU time are plausible", EVERYONE + DELEGATE)
def usage_time(person):
    result = person.json("-c", "import time; time.sleep(0.5)").is_ok()
    check(500 <= result["usage"]["wall_ms"] < 10000, "wall_ms is", result["usage"])
    check(result["usage"]["cpu_ms"] < 400, "a sleeper's cpu_ms is", result["usage"])
    code = "import time\nwhile time.process_time() < 0.4: pass"
    result = person.json("-c", code).is_ok()
    check(400 <= result["usage"]["cpu_ms"] < 2000, "a burner's cpu_ms is", result["usage"])


@claim("CPU time of children that ended is counted")
def usage_children(person):
    code = ("import os, time\n"
            "if os.fork() == 0:\n"
            "    while time.process_time() < 0.3: pass\n"
            "    os._exit(0)\n"
            "os.wait()")
    result = person.json("-c", code).is_ok()
    check(result["usage"]["cpu_ms"] >= 290, "cpu_ms is", result["usage"])


@claim("the peak of memory is plausible", EVERYONE + DELEGATE)
def usage_memory(person):
    # held for a moment: without a cgroup the peak is sampled
    code = "import time; x = bytearray(b'x') * (40 << 20); time.sleep(0.5)"
    big = person.json("-c", code).is_ok()["usage"]["max_memory_kb"]
    small = person.json("-c", "1").is_ok()["usage"]["max_memory_kb"]
    check(40 << 10 <= big <= 100 << 10, "40 MB held, max_memory_kb is", big)
    check(1 << 10 <= small < 35 << 10, "nothing held, max_memory_kb is", small)


@claim("the most processes at once are plausible", EVERYONE + DELEGATE)
def usage_processes(person):
    code = ("import os, time\n"
            "pids = []\n"
            "for _ in range(6):\n"
            "    pid = os.fork()\n"
            "    if pid == 0:\n"
            "        time.sleep(0.8); os._exit(0)\n"
            "    pids.append(pid)\n"
            "for pid in pids: os.waitpid(pid, 0)")
    equal(person.json("-c", code).is_ok()["usage"]["processes"], 7, "processes at once")
    equal(person.json("-c", "1").is_ok()["usage"]["processes"], 1, "processes at once")


@claim("bytes read and written are plausible")
def usage_bytes(person):
    code = ("data = b'x' * 300000\n"
            "open('f', 'wb').write(data)\n"
            "for _ in range(3): assert len(open('f', 'rb').read()) == 300000")
    usage = person.json("-c", code).is_ok()["usage"]
    check(300000 <= usage["write_bytes"] < 400000, "write_bytes is", usage)
    check(900000 <= usage["read_bytes"] < 2000000, "read_bytes is", usage)


@claim("counters of output are exact")
def usage_output(person):
    code = "import sys; sys.stdout.write('é' * 1000); sys.stderr.write('abc')"
    meta = person.json("-c", code).is_ok().meta
    equal((meta["stdout_bytes"], meta["stderr_bytes"]), (2000, 3), "stdout_bytes, stderr_bytes")


@claim("human output is the program's own and nothing else")
def human_output(person):
    ran = person.code("import sys; print('out'); print('err', file=sys.stderr)").ok()
    equal((ran.out, ran.err), ("out\n", "err\n"), "stdout and stderr")
    ran = person.code("import sys; print('err', file=sys.stderr); sys.exit(2)").exits(2)
    equal((ran.out, ran.err), ("", "err\n"), "stdout and stderr")


@claim("without --json no escape sequences or tables appear in a pipe")
def plain_pipe(person):
    ran = person.code("print('x')", env={"TERM": "xterm-256color"}).ok()
    lacks(ran.out + ran.err, "\033", "output")


@claim("memory is limited by the kernel where there is a cgroup", ROOT + DELEGATE)
def memory_by_kernel(person):
    isolation = person.json("-c", "1").is_ok().meta["isolation"]
    check(isolation["cgroup"] in ("v1", "v2"), "no cgroup:", isolation)
