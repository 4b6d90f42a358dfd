# SPDX-License-Identifier: Apache-2.0
"""Installed below a directory, hotcell runs from there."""
import os
import shutil
import subprocess

from suite import BUILD, ROOT, SOURCE, Skip, check, claim, contains, equal, is_sanitized

INSTALLED = {"bin/hotcell", "bin/hotcelld", "lib/hotcell/hotcell-keeper", "lib/hotcell/hotcell-zygote",
             "lib/hotcell/hotcell-bench", "lib/hotcell/hotcell-repl",
             "lib/hotcell/hotcell-token", "lib/hotcell/bench/run",
             "lib/hotcell/bench/true",
             "lib/hotcell/runtimes/python/language.json", "share/doc/hotcell/README.md",
             "include/hotcell.h", "lib/libhotcell.so.0", "lib/libhotcell.so", "lib/libhotcell.a",
             "lib/pkgconfig/hotcell.pc", "share/man/man3/hotcell.3",
             "lib/python3/dist-packages/hotcell/__init__.py"}


def make(*args):
    return subprocess.run(["make", "-C", SOURCE, f"BUILD={BUILD}", *args], capture_output=True,
                          text=True, timeout=170, check=False)


@claim("make install puts everything below PREFIX, it runs from there, and uninstall takes it away",
       ROOT)
def install(person):
    if not shutil.which("make"):
        raise Skip("needs make")
    if is_sanitized():
        raise Skip("a sanitized build is not for installing")
    root = person.path("root")
    # objects are not compiled again: -o says they are up to date
    made = make("install", f"DESTDIR={root}", "PREFIX=/usr", "-o", "all")
    equal(made.returncode, 0, f"exit status of make install: {made.stdout[-300:]} {made.stderr[-300:]}")
    for name in INSTALLED:
        check(os.path.isfile(os.path.join(root, "usr", name)), f"{name} is not installed")
    program = os.path.join(root, "usr/bin/hotcell")
    equal(person.run("-c", "print('installed')", program=program).ok().out, "installed\n", "stdout")
    contains(person.call("languages", program=program).ok().out, "python", "languages")
    person.call("doctor", program=program).ok()
    contains(person.call("bench", "--quick", "--rounds", "1", "bash", program=program).ok().out,
             "lent, parked", "the benchmark's table")
    # a link in a directory of the path is how people call it
    os.makedirs(person.path("bin"))
    os.symlink(program, person.path("bin/hotcell"))
    equal(person.run("-c", "print('linked')", program=person.path("bin/hotcell")).ok().out,
          "linked\n", "stdout through a link")
    equal(make("uninstall", f"DESTDIR={root}", "PREFIX=/usr").returncode, 0, "make uninstall")
    left = [os.path.join(where, name) for where, _dirs, names in os.walk(root) for name in names]
    equal(left, [], "files after make uninstall")


@claim("a copy without its runtimes says what is wrong")
def no_runtimes(person):
    os.makedirs(person.path("lone"))
    for name in ("hotcell", "hotcell-zygote"):
        shutil.copy(os.path.join(person.build, name), person.path("lone/" + name))
    ran = person.run("-c", "1", program=person.path("lone/hotcell")).exits(125)
    contains(ran.err, "language", "stderr")
    equal(len(ran.err.splitlines()), 1, "lines on stderr")


@claim("HOTCELL_RUNTIMES names the languages, and a broken definition is told by its file")
def own_runtimes(person):
    os.makedirs(person.path("runtimes/lisp"))
    person.write(person.path("runtimes/lisp/language.json"),
                 '{"name": "lisp", "title": "Lisp", "program": "main.lisp", '
                 '"argv": ["/usr/bin/cat", "{file}"], "package": "cat"}')
    env = {"HOTCELL_RUNTIMES": person.path("runtimes")}
    equal(person.run("-l", "lisp", "-c", "(print 1)", env=env).ok().out, "(print 1)", "stdout")
    person.write(person.path("runtimes/lisp/language.json"), '{"name": "lisp", ')
    ran = person.run("-l", "lisp", "-c", "1", env=env).exits(125)
    contains(ran.err, "lisp", "stderr")
    equal(len(ran.err.splitlines()), 1, "lines on stderr")
