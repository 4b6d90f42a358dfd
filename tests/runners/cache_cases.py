# SPDX-License-Identifier: Apache-2.0
"""What compilers made is kept: when it is used again, when it is not, and who can get at it."""
import json
import os
import subprocess
import time

from compile_cases import SCRIPT, cache_of, language, need
from suite import USER, check, claim, contains, equal, nothing_left

# A compiler whose work tells when it was done.
DATED = "echo a warning; printf '#!/bin/sh\\necho %s\\n' \"$(date +%s%N)\" > $1; chmod +x $1\n"


def code_of(person, what=""):
    """Code that nobody compiled before."""
    return f"# {os.getpid()} {person.name} {person.dir_count} {time.monotonic_ns()} {what}\n{DATED}"


def entry_of(person, code):
    """The directory in which the build of this code is kept, or None."""
    place = os.path.join(cache_of(person), "builds")
    for name in os.listdir(place) if os.path.isdir(place) else []:
        try:
            with open(os.path.join(place, name, "note"), "rb") as file:
                if code.encode() in file.read():
                    return os.path.join(place, name)
        except OSError:
            continue  # another run's, and gone meanwhile
    return None


def own(person, code, *args, **kwargs):
    """Runs the code: what it printed, and what meta.compile says."""
    result = person.json("-l", "own", *args, "-c", code, **kwargs).is_ok()
    return result.stdout, result.meta["compile"]


def compiled(person, code, *args, **kwargs):
    out, note = own(person, code, *args, **kwargs)
    equal(note["cached"], False, "cached")
    check(note["duration"] > 0, "a compile took no time:", note)
    return out


def recalled(person, code, *args, **kwargs):
    out, note = own(person, code, *args, **kwargs)
    equal((note["cached"], note["duration"], note["cpu_ms"], note["max_memory_kb"]),
          (True, 0, 0, 0), "what meta.compile says of a build that was kept")
    return out


@claim("the same code is compiled once, and meta.compile says so")
def once(person):
    with language(person):
        code = code_of(person)
        first = compiled(person, code)
        equal(recalled(person, code), first, "stdout of the second run")
        equal(recalled(person, code, "-m", "64M", "-t", "9"), first, "stdout with other limits")
        equal(person.run("-l", "own", "-c", code).ok().out, first, "stdout without --json")
        entry = entry_of(person, code)
        for path in (entry, os.path.dirname(entry)):
            equal(os.stat(path).st_mode & 0o077, 0, f"what others may do with {path}")
            equal(os.stat(path).st_uid, person.uid, f"owner of {path}")
    nothing_left(person)


@claim("what the compiler said is said again")
def said_again(person):
    with language(person):
        code = code_of(person)
        compiled(person, code)
        _out, note = own(person, code)
        equal((note["cached"], note["output"]), (True, "a warning\n"), "meta.compile")
        equal(person.run("-l", "own", "-c", code).ok().err, "a warning\n", "stderr")
        ran = person.run("--json", "--stream", "-l", "own", "-c", code).ok()
        events = [json.loads(line) for line in ran.out.splitlines()]
        equal([event["event"] for event in events], ["status", "stderr", "stdout", "done"], "events")
        equal([event["seq"] for event in events], [0, 1, 2, 3], "numbers")
        equal(events[1]["data"], "a warning\n", "the compiler's words")
        # what does not fit is not said in part
        compiled(person, code, "--max-output", "5")
        recalled(person, code)


@claim("words that were cut are not kept, and neither is the build")
def cut(person):
    with language(person):
        code = code_of(person) + "yes | head -c 5000"
        compiled(person, code, "--max-output", "1K")
        compiled(person, code, "--max-output", "1K")
        compiled(person, code)
        recalled(person, code)


OTHER_FLAGS = ["/usr/bin/sh", "-e", "{file}", "{binary}"]


@claim("other code, another name, other flags and another compiler compile anew")
def decides(person):
    code = code_of(person)
    person.write(person.path("cc"), "version 1")
    needs = [person.path("cc")]
    with language(person, needs=needs):
        compiled(person, code)
        compiled(person, code + "#")
        person.write(person.path("x.own"), code)
        result = person.json("x.own").is_ok()
        equal(result.meta["compile"]["cached"], False, "cached under another name")
        recalled(person, code)
        person.write(person.path("cc"), "version 2")
        compiled(person, code)
        recalled(person, code)
    with language(person, needs=needs, compile=OTHER_FLAGS):
        compiled(person, code)
        recalled(person, code)


@claim("code that comes with files or directories is compiled each time")
def more_inputs(person):
    person.write(person.path("in.txt"), "in")
    with language(person):
        code = code_of(person)
        first = compiled(person, code)
        for _ in range(2):
            compiled(person, code, "--file", "in.txt")
            compiled(person, code, "--ro", f"{person.dir}:/mnt/d")
        equal(recalled(person, code), first, "stdout")


@claim("--cold compiles anew, and that is what is kept")
def cold(person):
    with language(person):
        code = code_of(person)
        first = compiled(person, code)
        second = compiled(person, code, "--cold")
        check(first != second, "the second compile was none")
        equal(recalled(person, code), second, "stdout")


@claim("a failed compile is not kept")
def failed(person):
    with language(person, compile_defaults={"timeout": "0.5"}):
        for words, status in (("echo wrong; exit 3", "error"), ("while :; do :; done", "timeout")):
            code = code_of(person) + words
            for _ in range(2):
                result = person.json("-l", "own", "-c", code).has_status(status)
                equal(result.meta["compile"]["cached"], False, "cached")
            equal(entry_of(person, code), None, "entry")


@claim("a build whose program fails is kept all the same")
def program_fails(person):
    with language(person):
        code = code_of(person) + "echo 'exit 7' >> $1"
        for is_cached in (False, True):
            result = person.json("-l", "own", "-c", code).has_status("error", 7)
            equal(result.meta["compile"]["cached"], is_cached, "cached")


def shorten(path):
    os.truncate(path, 3)


def overwrite(path):
    with open(path, "r+b") as file:
        file.write(b"xx")


def link(path):
    os.rename(path, path + ".real")
    os.symlink(path + ".real", path)


def open_up(path):
    os.chmod(path, 0o777)


@claim("a damaged build is ignored, and made good")
def damaged(person):
    with language(person):
        code = code_of(person)
        compiled(person, code)
        for part in ("main", "note", ""):
            for damage in (shorten, overwrite, link, os.unlink, open_up):
                if not part and damage is not open_up:
                    continue
                first = recalled(person, code)
                damage(os.path.join(entry_of(person, code), part))
                check(compiled(person, code) != first, "damage by", damage.__name__, "to", part)


@claim("a cache that is somebody else's, or open to them, is not used and that is told", USER)
def foreign(person):  # not root's: the system's cache is not a test's to spoil
    with language(person):
        code = code_of(person)
        ways = ("open", "link", "foreign") if os.geteuid() == 0 else ("open", "link")
        for number, spoil in enumerate(ways):
            cache = person.make_dir(f"cache-{person.dir_count}-{number}")
            env = {"XDG_CACHE_HOME": cache}
            compiled(person, code, env=env)
            recalled(person, code, env=env)
            builds = os.path.join(cache, "hotcell", "builds")
            if spoil == "open":
                os.chmod(builds, 0o777)
            elif spoil == "link":
                link(builds)
            else:
                os.chown(builds, 0, 0)
                os.chmod(builds, 0o755)
            for _ in range(2):
                result = person.json("-l", "own", "-c", code, env=env).is_ok()
                equal(result.meta["compile"]["cached"], False, f"cached in one made {spoil}")
                if spoil != "link":
                    contains(" ".join(result.meta["warnings"]), "can be changed by others",
                             "warnings")


@claim("without a place for a cache code is compiled each time", USER)
def no_place(person):  # root's needs no variable
    with language(person):
        code = code_of(person)
        env = {"XDG_CONFIG_HOME": os.path.join(person.home, ".config"), "HOME": ""}
        for _ in range(2):
            compiled(person, code, env=env)


@claim("many runs at once keep one build and leave nothing")
def together(person):
    with language(person):
        for _ in range(3):
            code = code_of(person)
            runs = [person.start("run", "--json", "-l", "own", "-c", code) for _ in range(6)]
            for process in runs:
                out, err = process.communicate(timeout=60)
                check(process.returncode == 0, "a run among many:", out, err)
            check(recalled(person, code), "nothing was printed")
        left = [name for name in os.listdir(os.path.join(cache_of(person), "builds"))
                if any(name.startswith(f".new-{process.pid}-") for process in runs)]
        equal(left, [], "what was left")
    nothing_left(person)


@claim("SIGKILL at any moment of keeping leaves nothing that counts")
def killed(person):
    with language(person):
        for step in range(12):
            code = code_of(person, step) + "head -c 3000000 /dev/zero >> $1"
            process = person.start("run", "-l", "own", "-c", code, stderr=subprocess.DEVNULL)
            process.stdout.read(1)  # the program has spoken: now it is kept
            time.sleep(step / 2000)
            process.kill()
            process.wait()
            out, _note = own(person, code)
            equal(own(person, code)[0], out, "stdout")
        compiled(person, code_of(person))
        builds = os.path.join(cache_of(person), "builds")
        equal([name for name in os.listdir(builds) if name.startswith(f".new-{process.pid}-")], [],
              "what was left")
    nothing_left(person)


@claim("no cell reaches the cache")
def out_of_reach(person):
    with language(person):
        code = code_of(person)
        compiled(person, code)
        entry = entry_of(person, code)
        ran = person.run("-l", "sh", "-c", f"ls -d {entry} {cache_of(person)} /var/cache 2>&1")
        equal(ran.out.count("No such file"), 3, "what a cell sees of the cache")
        trick = f"ls {entry} >&2 && echo reached; {SCRIPT}"
        equal(own(person, trick)[1]["output"].count("reached"), 0, "what a compiler sees of it")


@claim("C, Go and Java are compiled once")
def languages(person):
    codes = {
        "c": '#include <stdio.h>\nint main(void) { puts("c"); return 0; } /* %d */',
        "go": 'fmt.Println("go") // %d',
        "java": 'class Main { public static void main(String[] a) {'
                ' System.out.println("java"); } } // %d',
    }
    for name, code in codes.items():
        need(person, name)
        for is_cached in (False, True):
            result = person.json("-l", name, "-c", code % os.getpid()).is_ok()
            equal((result.stdout, result.meta["compile"]["cached"]), (name + "\n", is_cached),
                  f"stdout and cached of {name}")
