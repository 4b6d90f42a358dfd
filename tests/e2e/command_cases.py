# SPDX-License-Identifier: Apache-2.0
"""The commands around run: help, version, doctor, providers, and what happens to wrong words."""
import json
import re

from suite import check, claim, contains, equal, lacks, matches

COMMANDS = ("run", "check", "session", "token", "repl", "serve", "top", "batch", "mcp", "audit", "artifacts", "config",
            "bench", "doctor", "languages", "providers")


@claim("hotcell alone shows how it is used and fails")
def alone(person):
    ran = person.call().exits(125)
    contains(ran.err, "usage: hotcell", "stderr")
    equal(ran.out, "", "stdout")


@claim("--help lists every command, and every command has help")
def help_lists(person):
    for word in ("--help", "-h", "help"):
        text = person.call(word).ok().out
        for command in COMMANDS:
            contains(text, f"  {command} ", f"hotcell {word}")
    for command in COMMANDS:
        for word in ("--help", "-h"):
            ran = person.call(command, word).ok()
            contains(ran.out, f"usage: hotcell {command}", f"hotcell {command} {word}")
            if command == "config":  # each of its words has options of its own
                ran = person.call(command, "show", word).ok()
            elif command == "session":
                ran = person.call(command, "list", word).ok()
            contains(ran.out, "--help", f"hotcell {command} {word}")
            equal(ran.err, "", "stderr")
        if command not in ("run", "batch", "mcp"):  # what the last two print is JSON already
            contains(ran.out, "--json", f"hotcell {command} --help")


@claim("the commands that exist are the ones tested here")
def commands_known(person):
    text = person.call("--help").ok().out
    found = re.findall(r"^  ([a-z]+) {2,}", text, re.MULTILINE)
    equal(sorted(found), sorted(COMMANDS), "commands")


@claim("the help of run tells every default and shows examples")
def run_help(person):
    text = person.run("--help").ok().out
    for option, default in (("--timeout", "33"), ("--memory", "512M"), ("--pids", "128"),
                            ("--disk", "256M"), ("--max-output", "10K"), ("--net", "none"),
                            ("--provider", "local"), ("--cpu-time", "none"), ("--cpus", "host"),
                            ("--rootfs", "host"), ("--inodes", None), ("--output-limit", None)):
        line = next((l for l in text.splitlines() if f"{option} " in l), None)
        check(line, f"help lacks {option}")
        matches(line, r"\[.+\]$", f"default of {option}")
        if default:
            contains(line, f"[{default}]", f"default of {option}")
    contains(text, "examples:", "help")
    for line in text.split("examples:")[1].splitlines():
        check(not line or line.startswith("  hotcell run "), "an odd example:", line)


@claim("the examples of the help run")
def examples_run(person):
    text = person.run("--help").ok().out.split("examples:")[1]
    ran = 0
    import os
    import shlex
    os.makedirs(person.path("in"))
    for name in ("script.py", "test.py", "plot.py"):
        person.write(person.path(name), "import sys; open('a.png', 'w').write('x')")
    person.write(person.path("data.csv"), "1,2")
    for line in filter(None, text.splitlines()):
        words = shlex.split(line)
        equal(words[:2], ["hotcell", "run"], "start of an example")
        person.run(*words[2:]).ok()
        ran += 1
    check(ran >= 3, "only", ran, "examples")


@claim("help asks for nothing else to be right")
def help_wins(person):
    contains(person.run("-c", "1", "--help").ok().out, "usage:", "stdout")
    contains(person.run("--help", "--json").ok().out, "usage:", "stdout")


@claim("--version tells a version")
def version(person):
    matches(person.call("--version").ok().out, r"^hotcell \d+\.\d+\.\d+\n$", "stdout")


@claim("an unknown command is refused with the nearest name")
def unknown_command(person):
    for wrong, near in (("rn", "run"), ("docter", "doctor"), ("language", "languages"),
                        ("provider", "providers")):
        ran = person.call(wrong).exits(125)
        contains(ran.err, f"'{wrong}' is not a command", "stderr")
        contains(ran.err, f"did you mean '{near}'?", "stderr")
        equal(len(ran.err.splitlines()), 1, "lines on stderr")
    lacks(person.call("xyzzyxyzzy").exits(125).err, "did you mean", "stderr")


@claim("controls in a wrong word are made visible")
def unknown_controls(person):
    for args in (["\033[31mred"], ["run", "--\033[2J"], ["run", "-l", "\033]0;x\007", "-c", "1"],
                 ["run", "\033[31m.py"], ["run", "--ro", "\033[1m:/x", "-c", "1"]):
        ran = person.call(*args).exits(125)
        lacks(ran.err, "\033", f"stderr of {args}")
        equal(len(ran.err.splitlines()), 1, f"lines on stderr of {args}")


@claim("commands without arguments refuse them")
def no_arguments(person):
    for command in ("doctor", "languages", "providers"):
        ran = person.call(command, "extra").exits(125)
        contains(ran.err, command, "stderr")
        person.call(command, "--nonsense").exits(125)


# ---- doctor --------------------------------------------------------------------------------------

MUST_HOLD = ("mount_namespace", "rootfs", "pid_namespace", "network", "uid", "capabilities",
             "no_new_privs", "seccomp", "init_guard", "workspace", "proc")


@claim("doctor lists every layer with its state")
def doctor_text(person):
    ran = person.call("doctor").ok()
    contains(ran.out, "mode: root\n" if person.is_root else "mode: rootless\n", "stdout")
    for name in MUST_HOLD:
        matches(ran.out, rf"(?m)^ok +{name} ", "doctor")
    contains(ran.out, "host hardening", "doctor")
    equal(ran.err, "", "stderr")


@claim("doctor --json tells the same")
def doctor_json(person):
    ran = person.call("doctor", "--json").ok()
    told = json.loads(ran.out)
    equal(sorted(told), ["hardening", "layers", "mode"], "keys")
    equal(told["mode"], "root" if person.is_root else "rootless", "mode")
    states = {}
    for layer in told["layers"]:
        equal(sorted(layer), ["detail", "fix", "name", "state", "title"], "keys of a layer")
        check(layer["state"] in ("ok", "not used", "absent", "MISSING", "unknown"), "state:", layer)
        states[layer["name"]] = layer["state"]
    for name in MUST_HOLD:
        equal(states[name], "ok", f"state of {name}")
    check("unknown" not in states.values(), "unknown states:", states)
    equal(states["user_namespace"], "not used" if person.is_root else "ok", "user_namespace")
    for item in told["hardening"]:
        equal(sorted(item), ["name", "ok", "value"], "keys of a hardening")
    text = person.call("doctor").out
    for name in states:
        contains(text, name, "doctor's text")


@claim("doctor shows a layer that fails, with what mends it, and fails")
def doctor_fault(person):
    for name in ("seccomp", "pid_namespace", "workspace", "uid"):
        ran = person.call("doctor", env={"HOTCELL_FAULT": f"step:{name}"})
        check(ran.code != 0, f"doctor is content without {name}:", ran)
        matches(ran.out, rf"(?m)^MISSING +{name} ", f"doctor without {name}")
        contains(ran.out, "to mend it: ", f"doctor without {name}")
        ran = person.call("doctor", "--json", env={"HOTCELL_FAULT": f"step:{name}"})
        check(ran.code != 0, f"doctor --json is content without {name}:", ran)
        layers = {layer["name"]: layer for layer in json.loads(ran.out)["layers"]}
        equal(layers[name]["state"], "MISSING", f"state of {name}")
        check(layers[name]["fix"], f"no fix for {name}")


@claim("doctor finds other layers well when one is absent")
def doctor_others(person):
    ran = person.call("doctor", "--json", env={"HOTCELL_FAULT": "step:landlock"})
    states = {layer["name"]: layer["state"] for layer in json.loads(ran.out)["layers"]}
    equal(states["landlock"], "absent", "state of landlock")
    equal(states["seccomp"], "ok", "state of seccomp")


# ---- providers -----------------------------------------------------------------------------------


@claim("providers lists local as text and as JSON")
def providers(person):
    matches(person.call("providers").ok().out, r"(?m)^local +\S", "stdout")
    told = json.loads(person.call("providers", "--json").ok().out)
    check("local" in [entry["name"] for entry in told], "no local:", told)


# ---- --explain -----------------------------------------------------------------------------------


@claim("--explain tells what each layer did, on stderr")
def explain(person):
    ran = person.code("print('out')", "--explain").ok()
    equal(ran.out, "out\n", "stdout")
    layers = [layer["name"] for layer in
              json.loads(person.call("doctor", "--json").out)["layers"]]
    for name in layers:
        matches(ran.err, rf"(?m)^hotcell: {name} +(raised|not wanted) ", "stderr")
    for words in (r"seccomp +raised +\d+ us  system call filter: \d+ instructions, watched",
                  r"workspace +raised +\d+ us  .*: \d+ bytes, \d+ files in all",
                  r"rootfs +raised +\d+ us  .*: host, \d+ paths shown, read-only"):
        matches(ran.err, rf"(?m)^hotcell: {words}$", "stderr")
    equal(len(ran.err.splitlines()), len(layers), "lines on stderr")


@claim("--explain goes with --json")
def explain_json(person):
    result = person.json("--explain", "-c", "print(1)").is_ok()
    contains(result.ran.err, "raised", "stderr")


@claim("--explain shows the layer that failed")
def explain_fault(person):
    ran = person.code("print(1)", "--explain", env={"HOTCELL_FAULT": "step:proc"}).exits(125)
    matches(ran.err, r"(?m)^hotcell: proc +FAILED ", "stderr")
    equal(ran.out, "", "stdout")
