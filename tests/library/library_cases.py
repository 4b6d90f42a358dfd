# SPDX-License-Identifier: Apache-2.0
"""libhotcell in a program of somebody else."""
import os
import re
import subprocess

import people
from daemon import Daemon
from suite import BUILD, HUNG_AFTER, ROOT, SOURCE, Skip, check, claim, contains, equal, is_sanitized

SPEC = {"language": "python", "timeout": "10"}


class Sessions(Daemon):
    """A daemon that is stopped with its sessions."""

    def end(self):
        self.person.call("serve", "--stop", "--socket", self.path).ok()
        return self.process.wait(HUNG_AFTER)


def declared():
    with open(os.path.join(SOURCE, "include/hotcell.h"), encoding="utf-8") as header:
        return set(re.findall(r"\b(hotcell_\w+)\(", re.sub(r"/\*.*?\*/", "", header.read(), flags=re.S)))


def seen(*args):
    out = subprocess.run(["nm", "--defined-only", *args], capture_output=True, text=True, check=True).stdout
    return {line.split()[2].split("@")[0] for line in out.splitlines()
            if len(line.split()) == 3 and line.split()[1] not in "Aa"}


@claim("what is visible of the library is what its header declares, no less and no more", ROOT)
def symbols(_person):
    if is_sanitized():
        raise Skip("a sanitizer adds its own")
    equal(seen("-D", os.path.join(BUILD, "libhotcell.so.0")), declared(), "symbols of the shared library")
    equal(seen("-g", os.path.join(BUILD, "libhotcell.a")), declared(), "symbols of the archive")


# What could print or end a process. _exit is for children that a run makes, abort for memory that is
# over.
LOUD = set("""exit _exit _Exit quick_exit abort printf vprintf puts putchar perror fputs fputc putc fwrite fprintf
vfprintf dprintf vdprintf err errx warn warnx error psignal syslog vsyslog stdout stderr __assert_fail __printf_chk
__fprintf_chk __vfprintf_chk __dprintf_chk __vdprintf_chk""".split())


@claim("the library never prints and never exits: it knows no function that does", ROOT)
def quiet(_person):
    if is_sanitized():
        raise Skip("a sanitizer adds its own")
    out = subprocess.run(["nm", "-D", "--undefined-only", os.path.join(BUILD, "libhotcell.so.0")],
                         capture_output=True, text=True, check=True).stdout
    needed = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    check("strlen" in needed, "nothing is known of what it needs:", needed)
    equal(needed & LOUD, {"_exit", "abort"}, "functions it needs")


@claim("a run in somebody else's program: output, result, limits, a file, a program of the cell")
def runs(person):
    told = people.library(person, "run", {**SPEC, "code": "import sys\nprint(sys.argv[1:])",
                                          "args": ["a", "b c"]})
    equal((told["status"], told["stdout"]), ("ok", "['a', 'b c']\n"), "status and stdout")
    equal(told["json"]["meta"]["warm"], False, "meta.warm")
    told = people.library(person, "run", {"exec": ["sh", "-c", "printf 'a\\000b\\377'; exit 3"]})
    equal((told["exit_code"], told["stdout"]), (3, "a\0b\xff"), "exit code and bytes of a program")
    path = person.write(person.path("hello.sh"), "echo $HOME")
    equal(people.library(person, "run", {"file": path})["stdout"], "/home/user\n", "stdout of a file")


@claim("loaded by a name that is relative, the library finds its parts")
def relative(person):
    name = os.path.relpath(os.path.join(person.build, people.LIBRARY), person.dir)
    told = people.library(person, "run", {**SPEC, "code": "print(1)"}, env={"LIBHOTCELL": name})
    equal(told["status"], "ok", f"status of {told}")


@claim("what cannot be run is told by the call and by a result")
def refused(person):
    told = people.library(person, "run", {**SPEC, "language": "klingon", "code": "1"})
    contains(told["failure"], "'klingon' is not known", "the error")
    equal((told["status"], told["exit_code"]), ("setup_error", 125), "status and exit code")
    equal(told["message"], told["failure"], "message beside the error")
    told = people.library(person, "run", {"timeout": "3"})
    contains(told["failure"], "code", "the error of a spec without code")
    told = people.library(person, "settings")
    equal(told[0], "unknown field 'timeot', did you mean 'timeout'?", "an unknown field")
    contains(told[1], "'soon' is not a number of seconds", "a bad value")
    contains(told[2], "whole number from 0 to 64", "too much undo")
    equal(told[3], "", "what a right field is told")
    people.library(person, "python_code", "1", -3.0, refused=True)


@claim("settings files and variables count for the library as they do for hotcell run")
def heeds_settings(person):
    path = person.write(person.path("c.yaml"), "timeout: 7\n")
    told = people.library(person, "run", {"code": "1"}, env={"HOTCELL_CONFIG": path})
    equal(told["json"]["meta"]["resource_limits"]["timeout"], 7, "timeout")
    person.write(path, "timeot: 7\n")
    told = people.library(person, "run", {"code": "1"}, env={"HOTCELL_CONFIG": path})
    contains(told["failure"], "timeot", "the error of a file that is wrong")
    told = people.library(person, "analyzed", {"code": "import os"},
                          env={"SANDBOX_BLOCK_DANGEROUS_IMPORTS": "true"})
    equal(told["verdict"], "block", "verdict")


@claim("a program that forks goes on in both, and no child of a run is left for it to wait for")
def forks(person):
    told = people.library(person, "run_in_children", {**SPEC, "code": "print(1)"})
    equal(told, ["1\n", "1\n", 7, "1\n", "no child is left"], "runs before, beside and after a fork")


@claim("one spec serves many threads at once, each with a cell of its own")
def threads(person):
    told = people.library(person, "run_many", {**SPEC, "code": "import os; print(os.getuid())"}, 6)
    equal([item["status"] for item in told], ["ok"] * 6, "statuses")
    if person.is_root:
        equal(len({item["stdout"] for item in told}), 6, "users of cells that ran at once")


@claim("a descriptor interrupts a run, output can be followed, and a reader that left ends the run, not the program")
def descriptors(person):
    told = people.library(person, "interrupted", {**SPEC, "code": "import time; time.sleep(30)"})
    equal(told["status"], "interrupted", "status")
    told = people.library(person, "followed", {**SPEC, "code": "print('hello')"})
    equal(told, ["hello\n", "ok", "interrupted"], "what was followed, and both statuses")


@claim("the guard's report is that of hotcell check")
def analysis(person):
    told = people.library(person, "analyzed", {"code": "import socket", "profile": "strict"})
    equal((told["verdict"], told["autorun"]["verdict"]), ("block", "no"), "verdicts")
    equal(told["findings"][0]["module"], "socket", "module")
    equal(people.library(person, "analyzed", {"code": "print(1)"})["verdict"], "allow", "verdict")


@claim("sessions of the library remember, go back, branch and end")
def sessions(person):
    with Sessions(person) as daemon:
        told = people.library(person, "session_story", {"language": "python"},
                              env={"HOTCELL_SOCKET": daemon.path})
    wanted = {"name": "story", "first": "=> 1\n", "point": "one", "second": "=> 2\n", "back": "=> 1\n",
              "branch": "=> 2\n", "undone": "=> 1\n", "timeout": "Code execution timed out after 0.3s",
              "info": "story", "list": ["branch", "story"]}
    equal({key: told[key] for key in wanted}, wanted, "the story")
    contains(told["not of a turn"], '"memory": belongs to the session', "a field that is not of a turn")
    contains(told["dead"], "story", "the error of a session that was killed")


@claim("cells that stand ready are lent to the library, too")
def lent(person):
    with Daemon(person, "--warm", "python") as daemon:
        env = {"HOTCELL_SOCKET": daemon.path}
        told = people.library(person, "run", {**SPEC, "code": "print(1)"}, env=env)
        equal(told["status"], "ok", "status")


@claim("the languages are those of hotcell languages")
def languages(person):
    equal([item["name"] for item in people.library(person, "languages")][:3], ["awk", "bash", "c"],
          "the first languages")


@claim("the examples do what they say")
def examples(person):
    ran = people.example(person, "run").ok()
    equal(ran.out, "status: ok\nexit code: 0\nstdout: 45\n\n", "stdout of run")
    contains(people.example(person, "run", "1 / 0").exits(1).out,
             "hint: The divisor is 0 here: test it before dividing.\n", "stdout of run with 1 / 0")
    contains(people.example(person, "analyze").ok().out, "\nSecurity policy blocked import: socket\n",
             "stdout of analyze")
    equal(people.example(person, "analyze", "print(1)").ok().out.splitlines()[-1], "it ran",
          "the last line of analyze with honest code")
    with Sessions(person) as daemon:
        ran = people.example(person, "session", env={"HOTCELL_SOCKET": daemon.path}).ok()
    equal(ran.out, ">>> names = ['Ada', 'Grace']\n(no output)\n>>> names.clear(); len(names)\n=> 0\n"
          ">>> names\n=> ['Ada', 'Grace']\n", "stdout of session")


@claim("a program is built against what is installed, shared and static, and runs", ROOT)
def installed(person):
    if is_sanitized():
        raise Skip("a sanitized build is not for installing")
    root = person.path("root")
    make = ["make", "-C", SOURCE, f"BUILD={BUILD}", "install", f"PREFIX={root}", "-o", "all"]
    done = subprocess.run(make, capture_output=True, text=True, timeout=HUNG_AFTER, check=False)
    equal(done.returncode, 0, f"exit status of make install: {done.stderr[-300:]}")
    env = {**os.environ, "PKG_CONFIG_PATH": f"{root}/lib/pkgconfig"}

    def options(*args):
        try:
            return subprocess.run(["pkg-config", *args, "hotcell"], capture_output=True, text=True,
                                  check=True, env=env).stdout.split()
        except FileNotFoundError:
            raise Skip("needs pkg-config") from None

    equal(options("--modversion"), ["0.1.0"], "version")
    source = os.path.join(SOURCE, "examples/run.c")
    static = [word if word != "-lhotcell" else f"{root}/lib/libhotcell.a"
              for word in options("--cflags", "--libs", "--static")]
    for name, words in (("shared", options("--cflags", "--libs") + [f"-Wl,-rpath,{root}/lib"]),
                        ("bin/static", static)):
        program = os.path.join(root, name)
        built = subprocess.run(["cc", source, "-o", program, *words], capture_output=True, text=True,
                               check=False)
        equal(built.returncode, 0, f"exit status of cc for {name}: {built.stderr[-600:]}")
        contains(people.run(person, program).ok().out, "stdout: 45", f"stdout of {name}")
    check(os.path.isfile(f"{root}/share/man/man3/hotcell.3"), "there is no manual page")
    ran = people.run(person, people.PYTHON, "-B", "-c",
                     "import hotcell; print(hotcell.execute_code('print(1)').stdout)",
                     env={"PYTHONPATH": f"{root}/lib/python3/dist-packages"}).ok()
    equal(ran.out, "1\n\n", "stdout through the installed package")
