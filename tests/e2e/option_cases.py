# SPDX-License-Identifier: Apache-2.0
"""Every option of `hotcell run`: a value that works, and values that are refused."""
import json
import os
import re

from suite import DELEGATE, ROOT, check, claim, contains, equal, is_sanitized, lacks, matches

ANYTHING = ["-c", "print('ran')"]


def options_of_help(person, command="run"):
    """Long option -> (short one or None, takes a value?) as the help text lists them."""
    text = person.call(command, "--help").ok().out
    found = {}
    for line in text.splitlines():
        match = re.match(r"  (?:-(\w), |    )--([a-z-]+)( \S+)?", line)
        if match:
            found[match[2]] = (match[1], match[3] is not None)
    return found


# ---- values that work ----------------------------------------------------------------------------


def run_ok(person, *args, out="ran\n", code=None, **kwargs):
    ran = person.run(*args, *(ANYTHING if code is None else ["-c", code]), **kwargs).ok()
    equal(ran.out, out, f"stdout with {args}")
    return ran


def make_input(person):
    os.makedirs(person.path("in"))
    person.own(person.path("in"))
    return person.write(person.path("in/data.txt"), "from outside\n")


def works_file(person):
    make_input(person)
    run_ok(person, "--file", "in/data.txt", code="print(open('data.txt').read(), end='')",
           out="from outside\n")


def works_out(person):
    person.code("open('made.txt', 'w').write('x' * 10)", "--out", "made.txt").ok()
    equal(os.path.getsize(person.path("made.txt")), 10, "size of what came out")


def works_ro(person):
    make_input(person)
    run_ok(person, "--ro", "in:/mnt/in", code="print(open('/mnt/in/data.txt').read(), end='')",
           out="from outside\n")


def works_rw(person):
    make_input(person)
    run_ok(person, "--rw", "in:/mnt/in", code="open('/mnt/in/new', 'w').write('y')", out="")
    check(os.path.exists(person.path("in/new")), "nothing was written through --rw")


def works_spill(person):
    os.makedirs(person.path("logs"))
    person.own(person.path("logs"))
    run_ok(person, "--spill", "logs")
    check(any(name.endswith(".stdout") for name in os.listdir(person.path("logs"))),
          "no spilled stdout:", os.listdir(person.path("logs")))


def works_stdin(person):
    make_input(person)
    run_ok(person, "--stdin", "in/data.txt", code="print(input())", out="from outside\n")


def works_spec(person):
    person.write(person.path("spec.json"), json.dumps({"code": "print('specified')"}))
    equal(person.run("--spec", "spec.json").ok().out, "specified\n", "stdout with --spec")


def works_config(person):
    person.write(person.path("c.yaml"), "env: {WORD: ran}\n")
    run_ok(person, "--config", "c.yaml", code="import os; print(os.environ['WORD'])")


def works_no_config(person):
    run_ok(person, "--no-config", env={"HOTCELL_CONFIG": "/nowhere/to/be/found"})


def works_exec(person):
    equal(person.run("--exec", "--", "echo", "-n", "a b").ok().out, "a b", "stdout with --exec")


def works_stream(person):
    lines = run_json_lines(person, "--json", "--stream", *ANYTHING)
    equal(lines[-1]["event"], "done", "last event")


def run_json_lines(person, *args):
    return [json.loads(line) for line in person.run(*args).ok().out.splitlines()]


def works_explain(person):
    contains(run_ok(person, "--explain").err, "seccomp", "stderr with --explain")


def works_net(person):
    code = ("import socket\n"
            "server = socket.create_server(('127.0.0.1', 0))\n"
            "client = socket.create_connection(server.getsockname())\n"
            "server.accept()[0].sendall(b'over the loopback')\n"
            "print(client.recv(100).decode())")
    run_ok(person, "--net", "loopback", code=code, out="over the loopback\n")


def limit_is_told(flag, value, key, wanted):
    def works(person):
        limits = person.json(flag, value, *ANYTHING).is_ok().meta["resource_limits"]
        equal(limits[key], wanted, f"resource_limits.{key} with {flag} {value}")
    return works


def plain(*args, out="ran\n", code=None):
    return lambda person: run_ok(person, *args, out=out, code=code)


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

WORKS = {
    "language": [plain("-l", "bash", code="echo $((6 * 7))", out="42\n"),
                 plain("--language=py")],
    "code": [lambda person: equal(person.run("--code=print(3)").ok().out, "3\n", "stdout")],
    "timeout": [limit_is_told("-t", "2.5", "timeout", 2.5),
                limit_is_told("--timeout", "10", "timeout", 10)],
    "cpu-time": [limit_is_told("--cpu-time", "5.5", "cpu_time", 5.5)],
    "memory": [limit_is_told("-m", "128M", "memory", 128 << 20),
               limit_is_told("--memory", "1G", "memory", 1 << 30),
               limit_is_told("--memory", "65536K", "memory", 64 << 20)],
    "traceparent": [lambda person: equal(
        person.json("--traceparent", TRACE, *ANYTHING).is_ok()["meta"]["trace_id"],
        TRACE.split("-")[1], "trace")],
    "pids": [limit_is_told("--pids", "17", "pids", 17)],
    "disk": [limit_is_told("--disk", "1M", "disk", 1 << 20)],
    "inodes": [limit_is_told("--inodes", "100", "inodes", 100)],
    "max-output": [limit_is_told("--max-output", "2K", "max_output", 2048)],
    "output-limit": [limit_is_told("--output-limit", "5M", "output_limit", 5 << 20)],
    "stdin": [works_stdin],
    "env": [plain("-e", "A=1", "--env", "B=2=3",
                  code="import os; print(os.environ['A'], os.environ['B'])", out="1 2=3\n")],
    "file": [works_file],
    "out": [works_out],
    "ro": [works_ro],
    "rw": [works_rw],
    "spill": [works_spill],
    "net": [works_net, plain("--net", "none")],
    "proc": [plain("--proc", "masked", code="open('/proc/meminfo'); print('ran')"),
             plain("--proc", "auto")],
    "provider": [plain("--provider", "local")],
    "rootfs": [plain("--rootfs", "host")],
    "require": [plain("--require", "seccomp,pid_namespace"),
                plain("--require", "seccomp", "--require", "no_new_privs")],
    "commands": [plain("--commands", "ls,cat")],
    "preload": [plain("--preload", "auto"), plain("--preload", "base")],
    "python": [plain("--python", "/usr/bin/python3")],
    "without": [plain("--without", "landlock")],
    "cold": [plain("--cold")],
    "unique-layout": [plain("--unique-layout")],
    "store": [plain("--store", "never"), plain("--store", "on_error"), plain("--store", "always")],
    "store-size": [plain("--store-size", "1M"), plain("--store-size", "2G")],
    "store-days": [plain("--store-days", "1"), plain("--store-days", "36500")],
    "audit": [plain("--audit", "off"), plain("--audit", "on"), plain("--audit", "required"),
              plain("--audit", "sync")],
    "audit-size": [plain("--audit-size", "1M"), plain("--audit-size", "2G")],
    "profile": [plain("--profile", "strict"), plain("--profile", "standard"),
                plain("--profile", "trusted")],
    "block-dangerous-imports": [plain("--block-dangerous-imports")],
    "allow-import": [plain("--allow-import", "os", "--allow-import", "urllib.request")],
    "block-import": [plain("--block-import", "ctypes")],
    "exec": [works_exec],
    "json": [lambda person: equal(person.json(*ANYTHING).is_ok().stdout, "ran\n", "stdout")],
    "stream": [works_stream],
    "compact": [plain("--compact")],
    "explain": [works_explain],
    "spec": [works_spec],
    "config": [works_config],
    "no-config": [works_no_config],
    "color": [plain("--color", "auto"), plain("--color", "always"), plain("--color", "never")],
    "rows": [plain("--rows", "100")],
    "help": [lambda person: contains(person.run("--help").ok().out, "usage:", "help")],
}


def declare_works(name, tries):
    @claim(f"--{name} takes a value that is right")
    def works(person):
        for one in tries:
            one(person)
            person.fresh_dir()


for option_name, option_tries in WORKS.items():
    declare_works(option_name, option_tries)


@claim("--cpus takes a value that is right", ROOT + DELEGATE)
def cpus_works(person):
    limit_is_told("--cpus", "0.5", "cpus", 0.5)(person)


@claim("--cpus holds a cell to its share", ROOT + DELEGATE)
def cpus_limits(person):
    burn = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass"
    result = person.json("--cpus", "0.2", "-c", burn).is_ok()
    used = result["usage"]["cpu_ms"] / result["usage"]["wall_ms"]
    check(used < 0.5, "a fifth of a CPU was asked for, but it used", used)


# ---- values that are refused ---------------------------------------------------------------------

REFUSED = {
    "language": ["pythn", "", "../python", "x" * 300],
    "code": [None],
    "timeout": ["abc", "0", "-1", "1e99", "", "nan", "inf", "5s", "86401", "0.001", " 5"],
    "cpu-time": ["abc", "0", "-2", "", "nan"],
    "memory": ["abc", "0", "-1", "1", "1Q", "", "99999999999999999999G", "2T", "0x10M", "5 M"],
    "traceparent": ["", "abc", TRACE[:-1], "ff" + TRACE[2:], TRACE.upper()],
    "pids": ["0", "-1", "many", "1.5", "40000", "99999999999999999999", ""],
    "disk": ["0", "-1", "1K", "abc", ""],
    "inodes": ["0", "3", "abc", ""],
    "cpus": ["0", "-1", "abc", "2000", ""],
    "max-output": ["-1", "abc", "65M", ""],
    "output-limit": ["0", "10", "abc", ""],
    "stdin": ["/nowhere/to/be/found", ""],
    "env": ["1A=2", "=x", "", "A-B=1", "A B=1"],
    "file": ["/nowhere/to/be/found", "", "a:", ":b", "/etc/hostname:../x", "/etc/hostname:/etc/x",
             "/dev/null"],
    "out": ["../x", "", "/etc/passwd", ":x", "x:"],
    "ro": ["/nowhere/to/be/found:/mnt/x", "", "/usr:/etc", "/usr:relative", "/usr:/mnt/../etc",
           "/usr:/", "/usr:/home/user", "/usr:/proc/x", "/dev/null:/mnt/null"],
    "rw": ["/nowhere/to/be/found:/mnt/x", "", "/var:/etc", "/var:relative", "/var:/usr/lib"],
    "spill": ["/nowhere/to/be/found", "/etc/hostname", ""],
    "net": ["all", "", "NONE"],
    "proc": ["whole", "", "PID"],
    "provider": ["locl", "", "nobody"],
    "rootfs": ["/nowhere/to/be/found", "relative", "", "/etc/hostname"],
    "require": ["seccmp", "", ",", "seccomp,,x"],
    "python": ["", "/nowhere/to/be/found", "/etc/hostname", "/etc"],
    "preload": ["", "no-such-set", "AUTO"],
    "profile": ["", "lax", "STRICT"],
    "allow-import": ["", "a b", "x;y"],
    "block-import": ["", "a b", "\"os\""],
    "commands": ["", "ls,", "bin/ls", "..", "no-such-program", "ls cat"],
    "without": ["seccomp", "landlok", "", "pid_namespace"],
    "store": ["sometimes", "", "ALWAYS", "on-error"],
    "store-size": ["1K", "0", "-1", "x", "", "2T"],
    "store-days": ["0", "-1", "36501", "1.5", ""],
    "audit": ["yes", "", "ON", "loud"],
    "audit-size": ["1K", "0", "-1", "x", "", "2T"],
    "spec": ["/nowhere/to/be/found", ""],
    "config": ["/nowhere/to/be/found", ""],
    "color": ["blue", "", "AUTO"],
    "rows": ["0", "-1", "many", ""],
}


def check_refusal(ran, name):
    """One sentence that names the option, and nothing else."""
    equal(ran.code, 125, f"exit status of {ran!r}")
    lines = ran.err.splitlines()
    equal(len(lines), 1, f"number of lines on stderr of {ran!r}")
    matches(lines[0], r"^hotcell: ", "stderr")
    contains(lines[0], f"--{name}", "the refusal")
    check(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", lines[0]), "raw controls in", lines[0])


def declare_refused(name, values):
    @claim(f"--{name} refuses what is wrong in one sentence and makes nothing")
    def refused(person):
        for value in values:
            args = [f"--{name}"] if value is None else [f"--{name}", value]
            before = ["--out", "*:made"] if name != "out" else []
            # an option without its value must stand last
            command = [*before, *ANYTHING, *args] if value is None else [*before, *args, *ANYTHING]
            ran = person.run(*command)
            check_refusal(ran, name)
            equal(ran.out, "", f"stdout of {ran!r}")
            equal(os.listdir(person.dir), [], f"what {args} made")


for option_name, option_values in REFUSED.items():
    declare_refused(option_name, option_values)


@claim("a refused option is a setup_error when --json is asked for")
def refused_as_json(person):
    for args in (["--timeout", "abc"], ["--nonsense"], ["--language", "pythn"], ["-m"],
                 ["--spec", "/nowhere"], ["--ro", "/nowhere:/mnt/x"], ["--require", "nothing"]):
        place = [*ANYTHING, *args] if args == ["-m"] else [*args, *ANYTHING]
        result = person.json(*place).has_status("setup_error", 125)
        contains(result["error"]["message"], args[0].lstrip("-")[:1], "error.message")
        contains(result.ran.err, result["error"]["message"][:40], "stderr beside the JSON")


@claim("a refused option ends a stream with a done event")
def refused_as_stream(person):
    ran = person.run("--json", "--stream", "--timeout", "abc", *ANYTHING).exits(125)
    last = json.loads(ran.out.splitlines()[-1])
    equal(last["event"], "done", "last event")
    equal(last["data"]["status"], "setup_error", "status in the last event")


@claim("every option of the help text is tried with right and wrong values")
def all_tried(person):
    listed = options_of_help(person)
    tried = set(WORKS) | {"cpus"}
    equal(sorted(set(listed) - tried), [], "options without a right value here")
    equal(sorted(tried - set(listed)), [], "options that the help text lacks")
    with_value = {name for name, (_short, has_value) in listed.items() if has_value}
    equal(sorted(with_value - set(REFUSED)), [], "options without a wrong value here")


@claim("options of the contract have their short forms")
def short_forms(person):
    listed = options_of_help(person)
    for name, short in (("language", "l"), ("code", "c"), ("timeout", "t"), ("memory", "m"),
                        ("env", "e"), ("help", "h")):
        equal(listed.get(name, (None,))[0], short, f"short form of --{name}")


@claim("an unknown option is refused with the nearest name")
def unknown_option(person):
    for wrong, near in (("--timeot", "--timeout"), ("--memry", "--memory"), ("--jsn", "--json"),
                        ("--envv", "--env"), ("--streem", "--stream")):
        ran = person.run(wrong, "5", *ANYTHING)
        check_refusal(ran, wrong[2:])
        contains(ran.err, f"did you mean {near}?", "the refusal")
    ran = person.run("--entirely-different", *ANYTHING)
    check_refusal(ran, "entirely-different")
    lacks(ran.err, "did you mean", "the refusal")


@claim("an unknown short option is refused")
def unknown_short(person):
    ran = person.run("-x", *ANYTHING).exits(125)
    contains(ran.err, "-x", "the refusal")


@claim("options that need a value say so when it is missing")
def missing_values(person):
    listed = options_of_help(person)
    for name, (short, has_value) in listed.items():
        if not has_value:
            continue
        for word in [f"--{name}"] + ([f"-{short}"] if short else []):
            ran = person.run(word).exits(125)
            contains(ran.err, word, "the refusal")
            contains(ran.err, "needs a value", "the refusal")


@claim("a switch refuses a value")
def switch_with_value(person):
    for word in ("--json=1", "--cold=perhaps", "--explain=x"):
        person.run(word, *ANYTHING).exits(125)


@claim("nothing to run and two things to run are refused")
def what_to_run(person):
    person.write(person.path("a.py"), "print(1)")
    for args in ([], ["--json"], ["-c", "print(1)", "--exec", "--", "ls"],
                 ["--exec", "--"], ["--exec"], ["-l", "python", "--exec", "--", "ls"]):
        ran = person.run(*args).exits(125)
        equal(len(ran.err.splitlines()), 1, f"lines on stderr of {ran!r}")


@claim("a missing file of code is told by name")
def missing_file(person):
    ran = person.run("nowhere.py").exits(125)
    contains(ran.err, "nowhere.py", "stderr")
    contains(ran.err, "No such file", "stderr")
    ran = person.run(person.dir).exits(125)
    contains(ran.err, person.dir, "stderr")


@claim("--stream without --json is refused")
def stream_alone(person):
    check_refusal(person.run("--stream", *ANYTHING), "stream")


@claim("two mounts or two files of one target are refused")
def double_targets(person):
    person.write(person.path("a"), "1")
    check_refusal(person.run("--ro", "/usr:/mnt/x", "--ro", "/var:/mnt/x", *ANYTHING), "ro")
    check_refusal(person.run("--ro", "/usr:/mnt/x", "--rw", "/var:/mnt/x/", *ANYTHING), "rw")
    check_refusal(person.run("--file", "a", "--file", "a", *ANYTHING), "file")
    check_refusal(person.run("--file", "a:main.py", *ANYTHING), "file")


@claim("too many mounts are refused with the number that is allowed")
def too_many_mounts(person):
    args = [word for i in range(40) for word in ("--ro", f"/usr:/mnt/{i}")]
    ran = person.run(*args, *ANYTHING).exits(125)
    contains(ran.err, "32", "the refusal")


@claim("as many mounts as are allowed work")
def most_mounts(person):
    args = [word for i in range(32) for word in ("--ro", f"/usr:/mnt/{i}")]
    code = "import os; print(len(os.listdir('/mnt')), os.path.isdir('/mnt/31/bin'))"
    equal(person.run(*args, "-c", code).ok().out, "32 True\n", "stdout")


@claim("the last of two values of an option counts")
def last_counts(person):
    result = person.json("-t", "5", "-t", "7", *ANYTHING).is_ok()
    equal(result.meta["resource_limits"]["timeout"], 7, "timeout")


@claim("--require refuses a layer that is not active and says how to get it")
def require_inactive(person):
    ran = person.run("--require", "loopback", *ANYTHING)
    check_refusal(ran, "require")
    contains(ran.err, "loopback", "the refusal")
    contains(ran.err, "--net loopback", "the refusal's fix")
    run_ok(person, "--require", "loopback", "--net", "loopback")


@claim("--require and --without of one layer are refused")
def require_without(person):
    ran = person.run("--require", "landlock", "--without", "landlock", *ANYTHING).exits(125)
    contains(ran.err, "landlock", "the refusal")


@claim("--without shows in the result, and only there where it was asked for")
def without_shows(person):
    whole = person.json(*ANYTHING).is_ok().meta["isolation"]
    if whole["landlock"] > 0:
        weaker = person.json("--without", "landlock", *ANYTHING).is_ok().meta["isolation"]
        equal(weaker["landlock"], 0, "meta.isolation.landlock")
    check(whole["seccomp"] is True and whole["no_new_privs"] is True, "a weak cell:", whole)
    if whole["cgroup"] != "none" and not is_sanitized():
        weaker = person.json("--without", "cgroup", *ANYTHING).is_ok().meta["isolation"]
        equal(weaker["cgroup"], "none", "meta.isolation.cgroup")


@claim("--require holds back a cell that --without made weaker")
def require_weaker(person):
    ran = person.run("--without", "cgroup", "--require", "cgroup", *ANYTHING)
    check_refusal(ran, "require")


# ---- --spec --------------------------------------------------------------------------------------


def write_spec(person, value):
    text = value if isinstance(value, (str, bytes)) else json.dumps(value)
    return person.write(person.path("spec.json"), text)


@claim("--spec sets what options set, and options override it")
def spec_overridden(person):
    write_spec(person, {"code": "import sys; print(sys.argv[1:])", "args": ["a", "b c"],
                        "timeout": 9, "memory": "64M", "env": ["A=1"]})
    result = person.json("--spec", "spec.json", "-t", "4").is_ok()
    equal(result.stdout, "['a', 'b c']\n", "stdout")
    equal(result.meta["resource_limits"]["timeout"], 4, "timeout")
    equal(result.meta["resource_limits"]["memory"], 64 << 20, "memory")
    result = person.json("-t", "4", "--spec", "spec.json").is_ok()
    equal(result.meta["resource_limits"]["timeout"], 4, "timeout, option before --spec")


@claim("--spec - reads the settings from standard input")
def spec_stdin(person):
    text = json.dumps({"code": "print('from stdin')", "language": "python"}).encode()
    equal(person.run("--spec", "-", stdin=text).ok().out, "from stdin\n", "stdout")


@claim("--spec runs a program with exec")
def spec_exec(person):
    write_spec(person, {"exec": ["echo", "hello", "there"]})
    equal(person.run("--spec", "spec.json").ok().out, "hello there\n", "stdout")


@claim("--spec refuses an unknown field with the nearest name")
def spec_unknown(person):
    for wrong, near in (("timeot", "timeout"), ("memry", "memory"), ("envs", "env"),
                        ("max-outputs", "max_output")):
        write_spec(person, {"code": "print(1)", wrong: 1})
        ran = person.run("--spec", "spec.json").exits(125)
        contains(ran.err, wrong, "the refusal")
        contains(ran.err, near, "the refusal")
        equal(ran.out, "", "stdout")


@claim("--spec refuses wrong types, wrong values and text that is no JSON")
def spec_wrong(person):
    for value in ({"code": 5}, {"code": "1", "timeout": "soon"}, {"code": "1", "timeout": -1},
                  {"code": "1", "pids": 1.5}, {"code": "1", "env": "A=1"}, {"code": "1", "cold": 3},
                  {"code": "1", "memory": []}, [], 5, "text", None, "", "{", '{"code": "a"} x',
                  {"code": "a\0b"}, b'{"code": "\xff"}',
                  {"code": "1", "ro": ["/usr:/etc"]}, {"code": "1", "exec": ["ls"]}, {}):
        write_spec(person, value)
        ran = person.run("--spec", "spec.json")
        equal(ran.code, 125, f"exit status with {value!r}: {ran!r}")
        equal(len(ran.err.splitlines()), 1, f"lines on stderr with {value!r}: {ran!r}")
        equal(ran.out, "", f"stdout with {value!r}")
