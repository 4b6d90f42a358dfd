# SPDX-License-Identifier: Apache-2.0
"""Compiled languages: two cells, limits of their own, and what a hostile build may try.

Where the compiler itself is to misbehave, it is a language of the test's own: its code is a shell
script that is run as the compiler, with the path of the binary as its argument.
"""
import contextlib
import json
import os
import signal
import subprocess
import time

from suite import ROOT, Skip, check, claim, contains, equal, lacks, matches, nothing_left

OWN = {
    "name": "own", "title": "Own", "program": "build.sh", "endings": [".own"],
    "compile": ["/usr/bin/sh", "{file}", "{binary}"], "argv": ["{binary}"], "package": "own",
}
SCRIPT = "printf '#!/bin/sh\\necho made \"$@\"\\n' > $1; chmod +x $1"


@contextlib.contextmanager
def language(person, **fields):
    """A language in the user's own directory, for as long as a test takes."""
    definition = {**OWN, **fields}
    place = os.path.join(person.home, ".config/hotcell/runtimes", definition["name"])
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, "language.json")
    person.write(path, json.dumps(definition))
    try:
        yield path
    finally:
        os.unlink(path)


def need(person, name):
    listed = {entry["name"]: entry
              for entry in json.loads(person.call("languages", "--json", timeout=120).ok().out)}
    if not listed[name]["available"]:
        raise Skip(f"needs the package {listed[name]['package']}")


# ---- definitions ---------------------------------------------------------------------------------


@claim("a language is added by a file in the user's configuration")
def added(person):
    with language(person):
        equal(person.run("-l", "own", "-c", SCRIPT, "a", "b").ok().out, "made a b\n", "stdout")
        person.write(person.path("x.own"), SCRIPT)
        equal(person.run("x.own").ok().out, "made\n", "stdout by its ending")
        listed = {e["name"]: e for e in json.loads(person.call("languages", "--json").ok().out)}
        equal(listed["own"]["path"], "/usr/bin/sh", "path")
    person.run("-l", "own", "-c", SCRIPT).exits(125)


@claim("a definition with an unknown field is refused with the file, the field and the nearest name")
def unknown_field(person):
    with language(person, complie=["/bin/x"]) as path:
        for args in (("run", "-l", "own", "-c", "1"), ("languages",)):
            ran = person.call(*args).exits(125)
            contains(ran.err, f"{path}: unknown field 'complie', did you mean 'compile'?", "stderr")


@claim("a language whose program is missing says what to install")
def missing(person):
    with language(person, needs=["/usr/bin/no-such-compiler"], package="no-such-package"):
        ran = person.run("-l", "own", "-c", SCRIPT).exits(125)
        contains(ran.err, "own needs /usr/bin/no-such-compiler", "stderr")
        contains(ran.err, "apt-get install no-such-package", "stderr")
        contains(person.call("languages").ok().out, "missing: apt-get install no-such-package",
                 "the list")


# ---- two cells -----------------------------------------------------------------------------------


@claim("what the compiler left lying about does not meet the program")
def two_cells(person):
    with language(person):
        code = ("touch left /tmp/left; (sleep 60 &) ; echo $$ > /dev/shm/pid\n"
                "printf '#!/bin/sh\\nls -A /home/user /tmp /dev/shm; "
                "ls /proc | grep -c \"^[0-9]\"\\n' > $1; chmod +x $1")
        ran = person.run("-l", "own", "-c", code).ok()
        lacks(ran.out, "left", "what the program sees")
        contains(ran.out, "build.sh", "what the program sees")
        equal(ran.out.splitlines().count("hotcell-build"), 1, "the binary's directory")


@claim("the compile is accounted apart, with what the compiler said")
def accounted(person):
    with language(person):
        code = ("echo to out; echo to err >&2\n"
                f"x=$(head -c 60000000 /dev/zero | tr '\\0' x); {SCRIPT}")
        result = person.json("-l", "own", "-c", code).is_ok()
        equal((result["stdout"], result["stderr"]), ("made\n", ""), "output of the program")
        note = result.meta["compile"]
        equal(note["output"], "to out\nto err\n", "output of the compiler")
        check(note["max_memory_kb"] > 40000, "memory of the compiler:", note)
        check(note["duration"] > 0 and note["cpu_ms"] > 0, "usage of the compiler:", note)
        check(result["usage"]["max_memory_kb"] < 40000, "memory of the program:", result["usage"])


@claim("what the compiler says is bounded")
def bounded(person):
    with language(person):
        result = person.json("-l", "own", "--max-output", "1K", "-c",
                             f"yes | head -c 1000000; {SCRIPT}").is_ok()
        note = result.meta["compile"]
        check(len(note["output"]) <= 1024 and note["truncated"], "kept:", len(note["output"]))


@claim("a failed compile is the run's error, with the compiler's words and exit code")
def failed(person):
    with language(person):
        result = person.json("-l", "own", "-c", "echo build.sh:1: wrong >&2; exit 3")
        result.has_status("error", 3)
        equal((result["stdout"], result["stderr"]), ("", "build.sh:1: wrong\n"), "output")
        equal(result["error"]["kind"], "syntax", "kind")
        check(result.meta["compile"] is not None, "no meta.compile")
        ran = person.run("-l", "own", "-c", "echo wrong; exit 3").exits(3)
        equal((ran.out, ran.err), ("", "wrong\n"), "output")


@claim("a compile that meets a limit says that it was compiling")
def limits(person):
    with language(person, compile_defaults={"timeout": "0.5", "memory": "32M", "disk": "1M"}):
        result = person.json("-l", "own", "-c", "while :; do :; done").has_status("timeout", 124)
        equal(result["error"]["message"], "Code execution timed out after 0.5s while compiling",
              "message")
        result = person.json("-l", "own", "-c", "x=xxxxxxxx; while :; do x=$x$x; done")
        check(result.status in ("oom", "error"), "status is", result.status)
        if result.status == "oom":
            contains(result["error"]["message"], "memory of 32M while compiling", "message")
        result = person.json("-l", "own", "-c", "head -c 2000000 /dev/zero > x || exit 1")
        result.has_status("disk_limit")
        contains(result["error"]["message"], "while compiling", "message")
        # a small limit is the program's, a large one helps the compiler too
        equal(person.run("-l", "own", "-t", "0.3", "-c", f"sleep 0.4; {SCRIPT}").ok().out, "made\n",
              "stdout with a short timeout")
        equal(person.run("-l", "own", "-t", "9", "-c", f"sleep 1; {SCRIPT}").ok().out, "made\n",
              "stdout with a long timeout")


@claim("the compiler sees files and mounts, changes no directory and has no network")
def surroundings(person):
    os.mkdir(person.path("d"))
    person.own(person.path("d"))
    person.write(person.path("d/x"), "x")
    person.write(person.path("in.txt"), "in")
    with language(person):
        code = ("cat in.txt /mnt/d/x || exit 1; touch /mnt/d/y && exit 2\n"
                "cat > /dev/null; cat /proc/net/dev | grep -q eth && exit 3\n"
                "[ -z \"$SECRET\" ] || exit 4\n" + SCRIPT)
        result = person.json("-l", "own", "--file", "in.txt", "--rw", "d:/mnt/d", "--net", "loopback",
                             "--stdin", "-", "-e", "SECRET=1", "-c", code, stdin=b"never read")
        result.is_ok()
        contains(result.meta["compile"]["output"], "inx", "what the compiler read")
        equal(os.listdir(person.path("d")), ["x"], "the directory")


@claim("compile and run are streamed, the compiler's words first")
def streamed(person):
    with language(person):
        process = person.start("run", "--json", "--stream", "-l", "own", "-c",
                               f"echo building; sleep 1; {SCRIPT}")
        started = time.monotonic()
        events = []
        for line in process.stdout:
            events.append((json.loads(line), time.monotonic() - started))
        process.wait()
    names = [event["event"] for event, _when in events]
    equal(names, ["status", "stderr", "stdout", "done"], "events")
    equal(events[1][0]["data"], "building\n", "the compiler's words")
    check(events[2][1] - events[1][1] > 0.5, "the compiler's words came late")
    equal([event["seq"] for event, _when in events], [0, 1, 2, 3], "numbers")


@claim("an interrupt ends a compile")
def interrupted(person):
    with language(person):
        process = person.start("run", "--json", "--stream", "-l", "own", "-c",
                               "echo up; while :; do :; done")
        for line in process.stdout:
            if json.loads(line)["event"] == "stderr":
                break
        process.send_signal(signal.SIGINT)
        out, _err = process.communicate(timeout=20)
        result = json.loads(out.splitlines()[-1])["data"]
        equal((result["status"], result["exit_code"]), ("interrupted", 130), "end")
        contains(result["error"]["message"], "while compiling", "message")
    nothing_left(person)


# ---- what a build may try ------------------------------------------------------------------------

NO_BINARY = {
    "a link": "ln -s /etc/passwd $1", "a fifo": "mkfifo $1",
    "a link for the directory": "rmdir /tmp/hotcell-build; ln -s /etc /tmp/hotcell-build",
    "nothing": "true", "a file too long": "truncate -s 3G $1 || exit 9",
    "too many directories": "d=$1; for i in $(seq 80); do d=$d/d; done; mkdir -p $d",
}


@claim("a build that leaves something else than a program is refused")
def no_binary(person):
    with language(person):
        for what, code in NO_BINARY.items():
            result = person.json("-l", "own", "--disk", "4G", "-c", code)
            result.has_status("setup_error", 125)
            contains(result["error"]["message"], "the compiler made", f"message for {what}")
    nothing_left(person)


@claim("a build of a whole directory is taken, links in it are not")
def directory(person):
    with language(person, argv=["/usr/bin/sh", "{binary}/run.sh"]):
        code = ("mkdir -p $1/lib; echo 'cat $0.txt; ls \"${0%/*}\" \"${0%/*}/lib\"' > $1/run.sh\n"
                "echo text > $1/run.sh.txt; ln -s /etc/passwd $1/lib/link; touch $1/lib/file")
        equal(person.run("-l", "own", "-c", code).ok().out.split(),
              ["text", "/tmp/hotcell-build/main:", "lib", "run.sh", "run.sh.txt",
               "/tmp/hotcell-build/main/lib:", "file"], "stdout")


@claim("a binary that cannot be executed is told as such")
def not_executable(person):
    with language(person):
        ran = person.run("-l", "own", "-c", "echo x > $1").exits(125)
        contains(ran.err, "execute '/tmp/hotcell-build/main' in the cell", "stderr")


@claim("a binary that does not fit into the program's cell is told as such")
def too_large(person):
    with language(person):
        ran = person.run("-l", "own", "--disk", "1M", "-c",
                         "head -c 3000000 /dev/urandom > $1; chmod +x $1").exits(125)
        contains(ran.err, "does not fit; give the cell more room with --disk", "stderr")


@claim("the binary is no result of the run")
def no_result(person):
    with language(person):
        code = "printf '#!/bin/sh\\ntouch /tmp/mine\\n' > $1; chmod +x $1"
        result = person.json("-l", "own", "--out", "/tmp/*:got", "-c", code).is_ok()
        equal([file["path"] for file in result["files"]], ["/tmp/mine"], "files")


@claim("SIGKILL at any moment of a compile leaves nothing")
def killed(person):
    with language(person):
        for delay in (0.02, 0.05, 0.1, 0.2, 0.4):
            process = person.start("run", "-l", "own", "-c", f"sleep 0.2; {SCRIPT}",
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.kill()
            process.wait()
        equal(person.run("-l", "own", "-c", SCRIPT).ok().out, "made\n", "stdout of the next run")
    nothing_left(person)


# ---- what is prepared ----------------------------------------------------------------------------

PREPARED = {
    "prepare": ["/usr/bin/sh", "{runtime}/prepare.sh", "{binary}"],
    "compile": ["/usr/bin/sh", "{prepared}/compile.sh", "{file}", "{binary}"],
}


def cache_of(person):
    return "/var/cache/hotcell" if person.is_root else os.path.join(person.home, ".cache/hotcell")


def entries(person):
    cache = cache_of(person)
    return sorted(name for name in os.listdir(cache) if name.lstrip(".").startswith("own-")) \
        if os.path.isdir(cache) else []


def clear(person):
    for name in entries(person):
        subprocess.run(["rm", "-r", os.path.join(cache_of(person), name)], check=True)
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(cache_of(person), "own.lock"))


@contextlib.contextmanager
def prepared(person, script, **fields):
    with language(person, **PREPARED, **fields) as path:
        place = os.path.dirname(path)
        person.write(os.path.join(place, "prepare.sh"), script)
        clear(person)
        try:
            yield
        finally:
            clear(person)
            os.unlink(os.path.join(place, "prepare.sh"))


PREPARE = ("mkdir $1; ls -A /home/user /tmp > $1/seen; date +%N > $1/when\n"
           "echo 'cat ${0%/*}/seen ${0%/*}/when; touch ${0%/*}/x; sh $1 $2' > $1/compile.sh\n")


@claim("what a language needs once is prepared once, without any code, and shown read-only")
def prepared_once(person):
    with prepared(person, PREPARE):
        person.write(person.path("secret"), "")
        first = person.json("-l", "own", "--file", "secret", "-c", SCRIPT).is_ok()
        said = first.meta["compile"]["output"]
        lacks(said, "build.sh", "what the preparation saw")
        lacks(said, "secret", "what the preparation saw")
        contains(said, "Read-only file system", "what the compiler may do to it")
        second = person.json("-l", "own", "-c", SCRIPT).is_ok()
        equal(second.meta["compile"]["output"], said, "what the second compile saw")
        equal(len(entries(person)), 1, "entries")
        for root, dirs, files in os.walk(os.path.join(cache_of(person), entries(person)[0])):
            for name in dirs + files:
                mode = os.stat(os.path.join(root, name)).st_mode
                equal(mode & 0o022, 0, f"write bits of {name} for others")
    nothing_left(person)


@claim("what was prepared is there for the compiler, and for a program only if its command says so")
def prepared_shown(person):
    code = "printf '#!/bin/sh\\nfind /run\\n' > $1; chmod +x $1"
    with prepared(person, PREPARE):
        lacks(person.run("-l", "own", "-c", code).ok().out, "compile.sh", "what the program sees")
    with prepared(person, PREPARE, argv=["{binary}", "{prepared}"]):
        contains(person.run("-l", "own", "-c", code).ok().out, "compile.sh",
                 "what a program that asks for it sees")


@claim("two runs at once prepare once")
def prepared_together(person):
    with prepared(person, "sleep 0.5; " + PREPARE):
        runs = [person.start("run", "--json", "-l", "own", "-c", SCRIPT) for _ in range(4)]
        said = set()
        for process in runs:
            out, _err = process.communicate(timeout=60)
            said.add(json.loads(out)["meta"]["compile"]["output"])
        equal(len(said), 1, "different preparations")
        equal(len(entries(person)), 1, "entries")


@claim("a preparation that fails is told, and tried again")
def preparation_fails(person):
    with prepared(person, "echo no such tool >&2; exit 4"):
        for _ in range(2):
            ran = person.run("-l", "own", "-c", SCRIPT).exits(125)
            contains(ran.err, "prepare own: it ended as error: no such tool", "stderr")
        equal(entries(person), [], "entries")


@claim("a preparation that was killed leaves nothing that counts")
def preparation_killed(person):
    with prepared(person, "sleep 1; " + PREPARE):
        process = person.start("run", "-l", "own", "-c", SCRIPT)
        time.sleep(0.3)
        process.kill()
        process.wait()
        equal(entries(person), [], "entries")
        half = os.path.join(cache_of(person), ".own-0123456789abcdef")
        os.makedirs(os.path.join(half, "d"))
        for path in (half, os.path.join(half, "d")):
            person.own(path)
        equal(person.run("-l", "own", "-c", SCRIPT).ok().out, "made\n", "stdout")
        check(not os.path.exists(half), "what a killed one left is still there")
        nothing_left(person)


@claim("a cache that others can write to is not used")
def poisoned(person):
    with prepared(person, PREPARE):
        person.run("-l", "own", "-c", SCRIPT).ok()
        entry = os.path.join(cache_of(person), entries(person)[0])
        os.chmod(entry, 0o777)
        ran = person.run("-l", "own", "-c", SCRIPT)
        check(ran.code != 0, "an entry that others can write to was used:", ran)
        os.chmod(entry, 0o755)
        if person.is_root:
            return
        cache = person.make_dir(f"cache-{person.dir_count}")
        os.mkdir(os.path.join(cache, "hotcell"))
        person.own(os.path.join(cache, "hotcell"), 0o777)
        ran = person.run("-l", "own", "-c", SCRIPT, env={"XDG_CACHE_HOME": cache}).exits(125)
        contains(ran.err, "can be changed by others", "stderr")


# ---- Go ------------------------------------------------------------------------------------------

GO = {
    "a bare statement": ('fmt.Println("hi")', "hi\n"),
    "statements with imports": ('import "fmt"\nx := 6\nfmt.Println(x * 7)', "42\n"),
    "functions and methods among statements":
        ('func f(n int) int { return n * 2 }\ntype T struct{ a int }\n'
         'func (t T) String() string { return fmt.Sprint("T", t.a) }\nvar g = 5\n'
         'func() { fmt.Println("called") }()\nfmt.Println(f(g), T{3})', "called\n10 T3\n"),
    "main without a package": ('import "fmt"\nfunc main() { fmt.Println("m") }', "m\n"),
    "a whole file": ('package main\nimport "fmt"\nfunc main() { fmt.Println("w") }', "w\n"),
    "several in one line": ('x := 1; y := 2; fmt.Println(x + y)', "3\n"),
    "if, else and switch": ('x := 1\nif x > 1 {\n} else {\n\tfmt.Println("else")\n}\n'
                            'switch {\ncase x == 1:\n\tfmt.Println("one")\n}', "else\none\n"),
    "the usual of two packages": ('fmt.Println(rand.Intn(1))', "0\n"),
    "nothing": ("", ""), "a comment": ("// nothing", ""),
    "a string with brackets": ('fmt.Println("{(", `[`, \'{\')', "{( [ 123\n"),
    "a label and a goto": ('i := 0\nagain:\ni++\nif i < 3 {\n\tgoto again\n}\nfmt.Println(i)', "3\n"),
    "generics": ("func m[T any](x T) T { return x }\nfmt.Println(m(4))", "4\n"),
}


@claim("Go runs snippets as a person means them")
def go_snippets(person):
    need(person, "go")
    for what, (code, wanted) in GO.items():
        equal(person.run("-l", "go", "-c", code).ok().out, wanted, f"stdout of {what}")


GO_ERRORS = {
    "in a statement": ("x := 1\nfmt.Println(x,\n\ty)", "./main.go:3:2: undefined: y"),
    "in a function behind statements": ("fmt.Println(1)\n\nfunc f() {\n\tz()\n}",
                                        "./main.go:4:2: undefined: z"),
    "in a whole file": ("package main\nfunc main() { var x int }", "./main.go:2:19: x declared"),
    "of the grammar": ("x := 1\nx := := 2", "./main.go:2:6: syntax error"),
    "of a word": ('fmt.Println("open', "./main.go:1:18: newline in string"),
}


@claim("Go's errors name the lines that the person wrote")
def go_errors(person):
    need(person, "go")
    for what, (code, wanted) in GO_ERRORS.items():
        result = person.json("-l", "go", "-c", code).has_status("error")
        contains(result["stderr"], wanted, f"stderr of an error {what}")
        lacks(result["stderr"], "hotcell-main", f"stderr of an error {what}")
        equal(result["error"]["kind"], "syntax", "kind")
    trace = person.json("-l", "go", "-c", 'x := 1\n\npanic(fmt.Sprint(x))').has_status("error", 2)
    contains(trace["stderr"], "/home/user/main.go:3", "trace")


@claim("Go leaves modules, cgo and embedded files to the go command")
def go_command(person):
    need(person, "go")
    embed = ('package main\nimport (_ "embed"; "fmt")\n//go:embed in.txt\nvar s string\n'
             'func main() { fmt.Print(s) }')
    person.write(person.path("in.txt"), "embedded\n")
    equal(person.run("-l", "go", "--file", "in.txt", "-c", embed).ok().out, "embedded\n", "embed")
    person.write(person.path("go.mod"), "module m\ngo 1.19\n")
    os.mkdir(person.path("p"))
    person.write(person.path("p/p.go"), "package p\nfunc F() string { return \"module\" }\n")
    person.write(person.path("main.go"),
                 'package main\nimport ("fmt"; "m/p")\nfunc main() { fmt.Println(p.F()) }\n')
    equal(person.run("--file", "go.mod", "--file", "p", "main.go").ok().out, "module\n", "a module")
    result = person.json("-l", "go", "-c", 'package main\nimport "example.org/x"\nfunc main() { x.F() }')
    result.has_status("error")
    contains(result["stderr"], "example.org/x", "stderr")


@claim("Go's program has 30 s and 100 MB, its compiler more")
def go_limits(person):
    need(person, "go")
    limits = person.json("-l", "go", "-c", "fmt.Println()").is_ok().meta["resource_limits"]
    equal((limits["timeout"], limits["memory"]), (30, 100 << 20), "limits")


@claim("Java starts the class with a main(), whatever it is called")
def java_classes(person):
    need(person, "java")
    code = ("class Helper { static String s() { return \"help\"; } }\n"
            "public class Odd { public static void main(String... a) {"
            " System.out.println(Helper.s()); } }")
    equal(person.run("-l", "java", "-c", code).ok().out, "help\n", "stdout")
    ran = person.run("-l", "java", "-c", "public class Odd { int x = y; }").exits(1)
    contains(ran.err, "Main.java:1: error: cannot find symbol", "stderr")
    ran = person.run("-l", "java", "-c", "class Odd { }").exits(1)
    contains(ran.err, "no class has a method", "stderr")
    lacks(ran.err, "network", "stderr")


@claim("C and C++ compile together with headers that came in")
def headers(person):
    person.write(person.path("h.h"), "#define N 42\n")
    for name in ("c", "cpp"):
        need(person, name)
        code = '#include "h.h"\n#include <stdio.h>\nint main() { printf("%d\\n", N); }'
        equal(person.run("-l", name, "--file", "h.h", "-c", code).ok().out, "42\n", name)


@claim("a file of any name is compiled as the language says")
def odd_names(person):
    for name, code in (("c", "int puts(const char *);\nint main(void) { puts(\"odd\"); }"),
                       ("go", "println(\"odd\")")):
        need(person, name)
        for file in ("-x", "x y.txt", "{binary}"):
            person.write(person.path(file), code)
            ran = person.run("-l", name, "--", file).ok()
            contains(ran.out + ran.err, "odd\n", f"{name} in {file}")


@claim("root's cache is root's alone", ROOT)
def root_cache(person):
    need(person, "go")
    person.run("-l", "go", "-c", "println()").ok()
    st = os.stat("/var/cache/hotcell")
    equal((st.st_uid, st.st_mode & 0o022), (0, 0), "owner and write bits")
    matches(" ".join(os.listdir("/var/cache/hotcell")), r"\bgo-[0-9a-f]{16}\b", "entries")
