# SPDX-License-Identifier: Apache-2.0
"""Fail closed: for every wall, a cell that cannot raise it never runs anything.

HOTCELL_FAULT=step:NAME makes one step fail. The program would print and leave a marker on the
host; the same command without the fault does both.
"""
import json
import os
import re
import subprocess

from daemon import Daemon
from suite import (BUILD, DELEGATE, EVERYONE, ROOT, USER, check, claim, contains, equal,
                   is_sanitized, lacks, matches, nothing_left, parse_result, wait_until)

# Raised only where there is no root; everything else is for everyone.
ROOTLESS = {"user_namespace", "cell_user_namespace", "no_nested_namespaces"}

CODE = "open('/data/marker', 'w').write('ran'); print('the program ran')"


def layer_names():
    """All steps there are, whoever may use them: claims are made before anybody runs."""
    told = subprocess.run([os.path.join(BUILD, "hotcell"), "doctor", "--json"], check=False,
                          capture_output=True, text=True, timeout=60).stdout
    return [layer["name"] for layer in json.loads(told)["layers"]]


def prepare(person):
    os.makedirs(person.path("d"))
    person.own(person.path("d"))
    return ["--net", "loopback", "--rw", "d:/data", "--file", "/etc/hostname:x",
            "--commands", "ls,touch"]


def marker_is_there(person):
    return os.path.exists(person.path("d/marker"))


def raised_steps(person, *options):
    ran = person.code("1", *options, "--explain").ok()
    return set(re.findall(r"(?m)^hotcell: (\w+) +raised ", ran.err))


def fails_closed(person, name, options):
    env = {"HOTCELL_FAULT": f"step:{name}"}
    for mode in ([], ["--json"], ["--json", "--stream"]):
        ran = person.run(*options, *mode, "-c", CODE, env=env)
        equal(ran.code, 125, f"exit status of {ran!r}")
        check(not marker_is_there(person), f"THE PROGRAM RAN without {name}")
        lacks(ran.out, "the program ran", "stdout")
        contains(ran.err, f"'{name}'", "stderr")
        matches(ran.err, r"to mend it: \S", "stderr")
        if not mode:
            equal(ran.out, "", "stdout")
            equal(len(ran.err.splitlines()), 1, "lines on stderr")
            continue
        last = ran.out.splitlines()[-1]
        data = json.loads(last)["data"] if "--stream" in mode else json.loads(last)
        result = parse_result(json.dumps(data), last)
        result.has_status("setup_error", 125)
        contains(result["error"]["message"], f"'{name}'", "error.message")
        equal(result["usage"]["cpu_ms"], 0, "CPU time of a program that never ran")
    nothing_left(person)


def declare(name):
    who = USER if name in ROOTLESS else ROOT + DELEGATE if name == "cgroup" else EVERYONE

    @claim(f"without the layer {name} nothing runs, and the error says so", who)
    def one(person):
        options = prepare(person)
        check(name in raised_steps(person, *options), f"{name} is no part of this cell")
        fails_closed(person, name, options)
        ran = person.run(*options, "-c", CODE).ok()
        equal(ran.out, "the program ran\n", "stdout without the fault")
        check(marker_is_there(person), "the marker does not work")


for step_name in layer_names():
    declare(step_name)


@claim("a cell without one of its layers is not lent either")
def never_lent(person):
    options = ("--net", "loopback", "--commands", "ls,touch", "-l", "bash", "-c", "echo it ran")
    for name in sorted(raised_steps(person, *options[:4])):
        with Daemon(person, "--warm", "bash=1", path=person.path(f"{name}.sock"),
                    env={"HOTCELL_FAULT": f"step:{name}"}) as daemon:
            env = {"HOTCELL_SOCKET": daemon.path}
            for _ in range(2):  # of the second cell some may have been parked
                result = person.json(*options, env=env).has_status("setup_error", 125)
                contains(result["error"]["message"], f"'{name}'", "error.message")
                equal(result.stdout, "", f"stdout without {name}")
            wait_until(lambda: daemon.status()["keeper"]["lent"] == 0, "the end of these loans")
    result = person.json(*options).is_ok()
    equal(result.stdout, "it ran\n", "stdout without a fault")
    nothing_left(person)


@claim("every layer that doctor lists for root is one that root's cells have, or a rootless one", ROOT)
def layers_of_root(person):
    raised = raised_steps(person, *prepare(person))
    equal(sorted(set(layer_names()) - raised - ROOTLESS), [], "layers that nobody raises")
    equal(sorted(raised & ROOTLESS), [], "rootless layers in a root's cell")


@claim("--without lets a cell run without an optional layer, and only then", EVERYONE + DELEGATE)
def optional_layers(person):
    options = prepare(person)[:-2]  # few programs are not to be had without Landlock
    optional = {"landlock"} if is_sanitized() else {"cgroup", "landlock"}
    for name in optional & raised_steps(person):
        env = {"HOTCELL_FAULT": f"step:{name}"}
        fails_closed(person, name, options)
        result = person.json(*options, "--without", name, "-c", CODE, env=env).is_ok()
        equal(result.stdout, "the program ran\n", "stdout")
        check(not result.meta["isolation"][name] or result.meta["isolation"][name] == "none",
              f"meta.isolation.{name} is", result.meta["isolation"][name])
        os.remove(person.path("d/marker"))


@claim("--without does not help for a layer that no cell stands without")
def mandatory_layers(person):
    options = prepare(person)
    for name in sorted(raised_steps(person) - {"cgroup", "landlock"}):
        ran = person.run(*options, "--without", name, "-c", CODE,
                         env={"HOTCELL_FAULT": f"step:{name}"}).exits(125)
        check(not marker_is_there(person), f"THE PROGRAM RAN without {name}")
        contains(ran.err, "--without", "stderr")


@claim("a fault of a layer that was left out does no harm")
def fault_left_out(person):
    person.code("1", "--without", "landlock", env={"HOTCELL_FAULT": "step:landlock"}).ok()


@claim("a fault that does not exist is refused")
def unknown_fault(person):
    ran = person.code("1", env={"HOTCELL_FAULT": "step:nonsense"}).exits(125)
    contains(ran.err, "nonsense", "stderr")


@claim("a layer fails closed for a program as for code")
def fault_exec(person):
    options = prepare(person)
    for name in ("seccomp", "uid", "init_guard", "pivot_root"):
        ran = person.run(*options, "--exec", "--", "touch", "/data/marker",
                         env={"HOTCELL_FAULT": f"step:{name}"}).exits(125)
        check(not marker_is_there(person), f"THE PROGRAM RAN without {name}")
        contains(ran.err, f"'{name}'", "stderr")


def network_origins(person):
    """A network is begun before the program itself is, but not where somebody seems to lend cells."""
    return {}, {"HOTCELL_SOCKET": person.write(person.path("nobody.sock"), "")}


@claim("a network fails closed wherever it is made")
def fault_network(person):
    for env in network_origins(person):
        for name in ("network", "loopback"):
            ran = person.run("--net", "loopback", "-c", "print('the program ran')",
                             env={**env, "HOTCELL_FAULT": f"step:{name}"}).exits(125)
            equal(ran.out, "", f"stdout, {env}")
            contains(ran.err, f"'{name}'", f"stderr, {env}")


@claim("a cell's network is its own wherever it is made")
def own_network(person):
    code = "import os, socket; print(os.readlink('/proc/self/ns/net'), socket.if_nameindex())"
    isolation = []
    for env in network_origins(person):
        result = person.json("-c", code, env=env).is_ok()
        lacks(result.stdout, os.readlink("/proc/self/ns/net"), f"stdout, {env}")
        contains(result.stdout, " [(1, 'lo')]\n", f"stdout, {env}")
        isolation.append(dict(result.meta["isolation"], uid=None))
    equal(isolation[1], isolation[0], "meta.isolation")


@claim("a layer fails closed each of a hundred times")
def fault_often(person):
    options = prepare(person)
    # the layers raised last, beside a payload that is ready to go
    for number in range(100):
        name = ("init_guard", "seccomp", "landlock", "rlimits")[number % 4]
        ran = person.run(*options, "-c", CODE, env={"HOTCELL_FAULT": f"step:{name}"})
        equal(ran.code, 125, f"exit status of {ran!r}")
        check(not marker_is_there(person), f"THE PROGRAM RAN without {name}, time {number}")
    nothing_left(person)


@claim("files that were to come out are not made by a cell that failed")
def no_out(person):
    options = prepare(person)
    os.makedirs(person.path("logs"))
    person.own(person.path("logs"))
    person.run(*options, "--out", "*:got", "--spill", "logs", "-c", CODE,
               env={"HOTCELL_FAULT": "step:seccomp"}).exits(125)
    check(not os.path.exists(person.path("got")), "the directory of --out was made")
    equal(os.listdir(person.path("logs")), [], "files of --spill")
