# SPDX-License-Identifier: Apache-2.0
"""Restricted shells: only the programs of --commands exist."""
import json
import os
import shutil

from suite import Skip, check, claim, contains, equal, lacks, matches

LIST = ("--commands", "ls,find,grep")


def bash(person, code, *args, **kwargs):
    return person.run("-l", "bash", *args, "-c", code, **kwargs)


def bash_json(person, code, *args, **kwargs):
    return person.json("-l", "bash", *args, "-c", code, **kwargs)


@claim("--commands leaves only these programs, and the shell itself")
def only_these(person):
    ran = bash(person, "ls /usr/bin /usr/sbin /usr/local/bin /bin/; echo one | grep -c o; "
                       "ls /usr/games /usr/local/games /usr/local/sbin /sbin/ 2>/dev/null; true",
               *LIST).ok()
    names = {line for line in ran.out.splitlines() if line and not line.endswith(":")}
    equal(names, {"ls", "find", "grep", "bash", "1"}, "what is there")


@claim("--commands works with every shell, with --exec, in a spec and with other languages")
def entrances(person):
    for language in ("bash", "sh"):
        ran = person.run("-l", language, *LIST, "-c", "ls /usr/bin | grep ls; cat /etc/hostname")
        contains(ran.exits(127).out, "ls\n", language)
        matches(ran.err, r"cat: (command )?not found", "stderr")
    equal(person.run("--commands", "ls", "--exec", "--", "ls", "/usr/bin").ok().out, "ls\n", "exec")
    equal(person.run("--commands", "ls", "--exec", "--", "/usr/bin/ls", "/bin/").ok().out, "ls\n",
          "exec by path")
    spec = {"language": "bash", "code": "ls /usr/bin; cat x", "commands": ["ls", "grep"]}
    path = person.write(person.path("spec.json"), json.dumps(spec))
    ran = person.run("--spec", path).exits(127)
    equal(ran.out, "bash\ngrep\nls\n", "stdout")
    ran = person.code("import subprocess, ssl; print(subprocess.run('ls /usr/bin', shell=True)"
                      ".returncode); print(subprocess.check_output(['ls', '/usr/bin']))",
                      "--commands", "ls")
    contains(ran.err, "No such file or directory: '/bin/sh'", "stderr")
    ran = person.run("-l", "sql", "--commands", "ls", "-c", "SELECT 42").ok()
    contains(ran.out, " 42\n", "stdout")


@claim("--commands explains an attempt to run something else, with the option that allows it")
def explains(person):
    result = bash_json(person, "ls / >/dev/null; git log", *LIST).has_status("error", 127)
    denial = result.denial("commands")
    equal((denial["operation"], denial["target"], denial["option"]),
          ("execute", "git", "--commands ls,find,grep,git"), "denial")
    contains(result["hint"], "--commands ls,find,grep,git", "hint")
    result = bash_json(person, "git log || true", *LIST).is_ok()
    equal(result.denial("commands")["target"], "git", "target")
    contains(bash(person, "git log", *LIST).exits(127).err, "hotcell: stopped by commands: execute "
             "git; to allow it: --commands ls,find,grep,git\n", "stderr")


@claim("--commands shows in meta.isolation and in --explain, and costs nothing unasked")
def shows(person):
    equal(bash_json(person, "true", *LIST).is_ok().meta["isolation"]["commands"], 3, "isolation")
    equal(bash_json(person, "true").is_ok().meta["isolation"]["commands"], False, "isolation")
    matches(bash(person, "true", "--explain", *LIST).ok().err,
            r"(?m)^hotcell: commands +raised .*: ls find grep bash$", "--explain")
    matches(bash(person, "true", "--explain").ok().err, r"(?m)^hotcell: commands +not wanted",
            "--explain")


@claim("--commands refuses what it cannot give, in one sentence")
def refuses(person):
    for names, words in (
            ("ls,no-such-thing", "there is no program 'no-such-thing'"),
            ("ls,bin/cat", "'ls,bin/cat' is not a list of names"),
            ("ls,,cat", "has an empty name"),
            ("..", "'..' is not the name of a program"),
            (",".join(f"p{i}" for i in range(65)), "more than 64 are given"),
    ):
        ran = bash(person, "echo ran", "--commands", names).exits(125)
        contains(ran.err, words, "stderr")
        equal(len(ran.err.splitlines()), 1, "lines")
        equal(ran.out, "", "stdout")
    if not os.path.exists("/usr/bin/rg"):
        contains(bash(person, "", "--commands", "rg").exits(125).err, "apt-get install ripgrep",
                 "stderr")
    contains(person.run("--commands", "ls", "--exec", "--", "cat").exits(125).err,
             "'cat' is to be executed, but is not in the list", "stderr")
    contains(bash(person, "", *LIST, "--without", "landlock").exits(125).err,
             "--commands: needs the layer 'landlock'", "stderr")


@claim("--commands takes a script only with its interpreter")
def scripts(person):
    with open("/usr/bin/egrep", "rb") as file:
        if not file.read(9) == b"#!/bin/sh":
            raise Skip("needs a program of the host that is a script")
    contains(bash(person, "", "--commands", "egrep").exits(125).err,
             "'egrep' is a script for /bin/sh, which is not in the list; for example "
             "--commands egrep,sh", "stderr")
    ran = bash(person, "echo word | egrep -o 'w.'", "--commands", "egrep,grep,sh").ok()
    equal(ran.out, "wo\n", "stdout")


@claim("--commands keeps pipes, files, arguments and exit codes as they are")
def ordinary(person):
    person.write(person.path("in.txt"), "b\na\n")
    code = """
        set -euo pipefail
        sort in.txt | tee sorted | wc -l
        while read -r line; do printf '<%s>' "$line"; done < sorted
        x=$(grep -c a sorted); echo " $x $1"
        find . -name '*.txt' -exec grep -H b {} +
        exit 7
    """
    ran = person.run("-l", "bash", "--commands", "sort,tee,wc,grep,find", "--file",
                     person.path("in.txt"), "-c", code, "word").exits(7)
    equal(ran.out, "2\n<a><b> 1 word\n./in.txt:b\n", "stdout")
    lacks(ran.err, "stopped", "stderr")


@claim("--commands finds programs behind links, as those of /etc/alternatives")
def links(person):
    if not os.path.islink("/usr/bin/awk"):
        raise Skip("needs an awk that is a link")
    ran = bash(person, "awk 'BEGIN { print 6 * 7 }'; ls /usr/bin", "--commands", "awk,ls").ok()
    equal(ran.out, "42\nawk\nbash\nls\n", "stdout")


@claim("--commands works with a root file system of its own")
def rootfs(person):
    if not os.path.exists("/usr/bin/busybox"):
        raise Skip("needs busybox-static")
    root = person.path("root")
    os.makedirs(f"{root}/bin")
    shutil.copy("/usr/bin/busybox", f"{root}/bin/busybox")
    for name in ("sh", "ls", "cat"):
        os.symlink("busybox", f"{root}/bin/{name}")
    ran = person.run("--rootfs", root, "--commands", "ls", "--exec", "--", "ls", "/bin").ok()
    equal(ran.out, "ls\n", "stdout")
    check(person.run("--rootfs", root, "--commands", "sh", "--exec", "--", "sh", "-c",
                     "/bin/cat /etc/hostname").code in (126, 127), "cat ran")
