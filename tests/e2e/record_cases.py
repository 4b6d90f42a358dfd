# SPDX-License-Identifier: Apache-2.0
"""What is kept of runs: the audit log and the artifacts."""
import hashlib
import json
import os
import shutil

from daemon import Daemon
from suite import (NONE, NUMBER, ROOT, USER, check, check_keys, claim, contains, equal, lacks, matches,
                   nothing_left)

RECORD_KEYS = {
    "seq": int, "prev": str, "time": str, "id": str, "uid": int, "user": (str, NONE),
    "token": (str, NONE), "host": str, "kind": str, "language": (str, NONE), "sha256": (str, NONE),
    "profile": str, "bypass": bool, "status": str, "exit_code": int,
    "signal": (int, NONE), "duration": NUMBER, "warm": bool, "provider": (str, NONE),
    "isolation": dict, "limits": dict, "hash": str,
}
RECORD_MORE = {"bytes": int, "session": str, "name": str, "reason": str, "torn": int}
SUMMARY_KEYS = {
    "name": str, "id": str, "status": str, "token": (str, NONE), "language": (str, NONE), "sha256": str,
    "code_bytes": int, "exit_code": int, "duration": NUMBER, "bytes": int,
}
VERDICT_KEYS = {
    "ok": bool, "records": int, "first": int, "last": int, "files": int, "torn": int, "cut": bool,
    "head": str, "expected": (bool, NONE), "broken": (dict, NONE),
}


class State:
    """A state directory of one test."""

    def __init__(self, person):
        self.person = person
        self.path = person.path("state")
        self.env = {"HOTCELL_STATE_DIR": self.path}
        self.log = os.path.join(self.path, "audit", "log.jsonl")

    def json(self, *args, **kwargs):
        return self.person.json(*args, env=self.env, **kwargs)

    def run(self, *args, **kwargs):
        return self.person.run(*args, env=self.env, **kwargs)

    def audit(self, *args):
        return self.person.call("audit", *args, env=self.env)

    def artifacts(self, *args):
        return self.person.call("artifacts", *args, env=self.env)

    def records(self, *args):
        records = json.loads(self.audit("list", "--json", *args).ok().out)
        for record in records:
            check_keys(record, RECORD_KEYS, RECORD_MORE, "record")
        return records

    def kept(self, *args):
        kept = json.loads(self.artifacts("list", "--json", *args).ok().out)
        for summary in kept:
            check_keys(summary, SUMMARY_KEYS, {}, "artifact")
        return kept

    def verify(self, *args):
        ran = self.audit("verify", "--json", *args)
        verdict = json.loads(ran.out)
        check_keys(verdict, VERDICT_KEYS, {}, "verdict")
        equal(ran.code, 0 if verdict["ok"] else 1, "exit status")
        return verdict


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


# ---- the audit log -------------------------------------------------------------------------------


@claim("every way a run can end is in the audit log, with its id, before the answer")
def every_end(person):
    state = State(person)
    program = person.write(person.path("p.py"), "print(2)\n")
    ends = [
        (("-c", "print(1)"), "ok", "code", sha256("print(1)")),
        (("-c", "1/0"), "error", "code", sha256("1/0")),
        (("p.py",), "ok", "file", sha256("print(2)\n")),
        (("--exec", "--", "true", "x"), "ok", "exec", sha256("true\0x\0")),
        (("-t", "0.3", "-c", "while True: pass"), "timeout", "code", None),
        (("-c", "import os; os.kill(os.getpid(), 9)"), "signal", "code", None),
        (("-c", "print('x' * 99999)", "--output-limit", "4K"), "output_limit", "code", None),
        (("missing.py",), "setup_error", "file", None),
        (("-l", "klingon", "-c", "x"), "setup_error", "code", None),
        (("--require", "seccomp", "-c", "print(1)"), "ok", "code", None),
    ]
    told = [state.json(*args) for args, *_rest in ends]
    told.append(state.json("-", stdin=b"print(3)"))
    ends.append((("-",), "ok", "stdin", sha256("print(3)")))
    if shutil.which("gcc"):
        told.append(state.json("-l", "c", "-c", "int main(void) { return nothing; }"))
        ends.append((("c",), "error", "code", None))
    records = state.records()
    equal([record["id"] for record in records], [result["id"] for result in told], "ids")
    for record, result, (args, status, kind, digest) in zip(records, told, ends):
        equal((record["status"], record["kind"]), (status, kind), f"record of {args}")
        equal(record["status"], result["status"], f"status of {args}")
        equal(record["exit_code"], result["exit_code"], f"exit_code of {args}")
        equal(record["signal"], result["signal"], f"signal of {args}")
        equal(record["uid"], person.uid, "uid")
        equal(record["isolation"], result.meta["isolation"], f"isolation of {args}")
        if digest:
            equal(record["sha256"], digest, f"hash of {args}")
    equal(records[2]["name"], "p.py", "name of a file")
    equal(records[3]["name"], "true", "name of a program")
    contains(records[7]["reason"], "missing.py", "reason")
    equal(state.verify()["records"], len(told), "records")
    check(os.path.exists(program), "the program")
    nothing_left(person)


@claim("a run in a warm cell is recorded like any other")
def warm(person):
    state = State(person)
    with Daemon(person, "--warm", "python", env=state.env) as daemon:
        env = {**state.env, "HOTCELL_SOCKET": daemon.path}
        result = person.json("-c", "print(1)", env=env).is_ok()
        result = person.json("-c", "print(1)", env=env).is_ok()
    records = state.records()
    equal(len(records), 2, "records")
    equal((records[1]["id"], records[1]["warm"]), (result["id"], result.meta["warm"]), "the second")
    check(state.verify()["ok"], "the chain is broken")


@claim("what the guard refuses is recorded with its reason, and so is that it was passed by")
def guarded(person):
    state = State(person)
    refused = state.json("--block-dangerous-imports", "-c", "import os").has_status("refused", 126)
    state.json("--profile", "trusted", "-c", "import os").is_ok()
    first, second = state.records()
    equal((first["id"], first["status"], first["exit_code"]), (refused["id"], "refused", 126), "record")
    contains(first["reason"], "Security policy blocked import: os", "reason")
    equal((first["profile"], first["bypass"]), ("standard", False), "policy")
    equal((second["profile"], second["bypass"]), ("trusted", True), "policy passed by")


@claim("each job of a batch and each turn of a session is recorded")
def other_entrances(person):
    state = State(person)
    person.write(person.path("jobs.jsonl"), '{"code": "print(1)"}\n{"code": "1/0"}\n')
    ran = person.call("batch", "jobs.jsonl", env=state.env)
    ids = {json.loads(line)["id"] for line in ran.out.splitlines()}
    equal({record["id"] for record in state.records()}, ids, "ids of the jobs")
    with Daemon(person, env=state.env) as daemon:
        env = {**state.env, "HOTCELL_SOCKET": daemon.path}
        person.call("session", "new", "a", env=env).ok()
        ran = person.call("session", "exec", "--json", "a", "-c", "x = 1", env=env).ok()
        person.call("session", "exec", "nobody", "-c", "x", env=env).exits(125)
        person.call("session", "kill", "a", env=env).ok()
    records = state.records()
    equal((len(records), records[-1]["id"]), (3, json.loads(ran.out)["id"]), "the turn's record")
    equal(records[-1]["sha256"], sha256("x = 1"), "hash of the turn's code")
    check(state.verify()["ok"], "the chain is broken")


@claim("a bad option is no run: nothing is recorded, nothing is made")
def no_run(person):
    state = State(person)
    for args in (("--no-such",), ("-t", "x", "-c", "1"), (), ("-c", "1", "--audit", "loud"),
                 ("-c", "1", "--ro", "/tmp:/etc")):
        state.run(*args).exits(125)
    check(not os.path.exists(state.path), "the state directory was made")
    equal(state.records(), [], "records")
    contains(state.audit("verify").ok().out, "ok: the log is empty", "verify")


@claim("--audit off records nothing, and --help runs nothing")
def off(person):
    state = State(person)
    state.run("--audit", "off", "-c", "print(1)").ok()
    state.run("--help").ok()
    check(not os.path.exists(state.path), "the state directory was made")


@claim("the log is the person's alone, and has neither code nor output nor variables")
def private(person):
    state = State(person)
    state.run("-e", "KEY=hush-1", "-c", "print('hush-2')", "hush-3").ok()
    for path, mode in (("", 0o700), ("audit", 0o700), ("audit/log.jsonl", 0o600)):
        equal(os.stat(os.path.join(state.path, path)).st_mode & 0o777, mode, f"mode of {path}")
    with open(state.log, encoding="utf-8") as file:
        lacks(file.read(), "hush", "the log")


@claim("without a word about it, the state is where XDG puts it", USER)
def default_place(person):
    person.run("-c", "print(1)", env={"HOME": person.dir}).ok()
    check(os.path.exists(person.path(".local/state/hotcell/audit/log.jsonl")), "no log in HOME")
    person.run("-c", "print(1)", env={"XDG_STATE_HOME": person.path("xdg")}).ok()
    check(os.path.exists(person.path("xdg/hotcell/audit/log.jsonl")), "no log in XDG_STATE_HOME")


@claim("a settings file says where the state is, to run and to audit alike")
def configured_place(person):
    person.write(person.path("c.yaml"), f"state_dir: {person.path('there')}\nstore: always\n")
    env = {"HOTCELL_STATE_DIR": ""}
    person.run("--config", "c.yaml", "-c", "print(1)", env=env).ok()
    for command in ("audit", "artifacts"):
        ran = person.call(command, "list", "--config", "c.yaml", "--json", env=env).ok()
        equal(len(json.loads(ran.out)), 1, f"entries of {command}")


@claim("verify finds a change, names its file and line, and exits 1; the honest log holds")
def tampering(person):
    state = State(person)
    for i in range(4):
        state.run("-c", f"print({i})").ok()
    verdict = state.verify()
    equal((verdict["ok"], verdict["records"], verdict["first"], verdict["last"]), (True, 4, 1, 4),
          "the honest log")
    head = verdict["head"]
    ran = state.audit("verify", "--expect", head).ok()
    contains(ran.out, f"head: {head}", "verify")
    with open(state.log, "rb") as file:
        honest = file.read()
    lines = honest.splitlines(True)
    changes = {
        "status": (lines[:1] + [lines[1].replace(b'"ok"', b'"oom"')] + lines[2:], 2, "was changed"),
        "removed": (lines[:1] + lines[2:], 2, "what was between is gone"),
        "swapped": ([lines[0], lines[2], lines[1], lines[3]], 2, "what was between is gone"),
        "added": (lines[:2] + [b"{}\n"] + lines[2:], 3, "this is no record"),
    }
    for what, (changed, line, why) in changes.items():
        person.write(state.log, b"".join(changed), 0o600)
        ran = state.audit("verify").exits(1)
        matches(ran.out, rf"^broken: log\.jsonl:{line}: .*{why}", f"verify, {what}")
        equal(state.verify()["broken"]["line"], line, f"line, {what}")
    person.write(state.log, b"".join(lines[:-1]), 0o600)
    state.audit("verify").ok()
    ran = state.audit("verify", "--expect", head).exits(1)
    contains(ran.out, "missing: ", "verify of a log whose end is gone")
    person.write(state.log, honest, 0o600)
    state.audit("verify", "--expect", head).ok()


@claim("a line cut off by a crash is told from a change, and the next run closes it off")
def torn(person):
    state = State(person)
    for _ in range(2):
        state.run("-c", "1").ok()
    with open(state.log, "rb") as file:
        honest = file.read()
    person.write(state.log, honest[:-100], 0o600)
    contains(state.audit("verify").ok().out, "the last line is incomplete", "verify")
    state.run("-c", "1").ok()
    verdict = state.verify()
    equal((verdict["ok"], verdict["records"], verdict["torn"]), (True, 2, 1), "verdict")


@claim("list and show find records by status, time and the beginning of an id")
def look_up(person):
    state = State(person)
    ids = [state.json("-c", code)["id"] for code in ("1", "1/0", "2", "2/0")]
    equal([r["id"] for r in state.records()], ids, "all")
    equal([r["id"] for r in state.records("--status", "error")], [ids[1], ids[3]], "errors")
    equal([r["id"] for r in state.records("--limit", "1")], ids[3:], "the newest")
    equal(len(state.records("--since", "1h")), 4, "since an hour ago")
    equal(state.records("--since", "2999-01-01"), [], "since the far future")
    table = state.audit().ok().out
    for part in ids + ["STATUS", "error", "python"]:
        contains(table, part, "the table")
    contains(state.audit("show", ids[1][:24]).ok().out, ids[1], "show")
    equal(json.loads(state.audit("show", "--json", ids[2]).ok().out)["id"], ids[2], "show --json")
    contains(state.audit("show", "2").exits(125).err, "more than one", "stderr")
    contains(state.audit("show", "x").exits(125).err, "no record's id", "stderr")


@claim("audit and artifacts refuse what they do not know with one clear line")
def refusals(person):
    state = State(person)
    for args, part in ((("lst",), "did you mean 'list'?"), (("show",), "needs an id"),
                       (("list", "x"), "takes no argument"), (("--status", "okay"), "--status"),
                       (("--since", "yesterday"), "--since"), (("--limit", "0"), "--limit"),
                       (("--no-such",), "--no-such")):
        for command in (state.audit, state.artifacts):
            ran = command(*args).exits(125)
            equal((ran.out, len(ran.err.splitlines())), ("", 1), f"output of {args}")
            contains(ran.err, part, f"stderr of {args}")
    contains(state.audit("verify", "--expect", "x").exits(125).err, "--expect", "stderr")
    for command in (state.audit, state.artifacts):
        contains(command("--help").ok().out, "examples:", "help")


# ---- when it cannot be written -------------------------------------------------------------------


@claim("a log that cannot be written is a warning, and with required nothing runs")
def unwritable(person):
    state = State(person)
    outside = person.path("ran")
    os.mkdir(outside)
    person.own(outside)
    person.write(state.path, "a file where a directory belongs")
    write = ("--rw", f"{outside}:/out", "-c", "open('/out/proof', 'w').close()")
    result = state.json(*write).is_ok()
    check(os.path.exists(os.path.join(outside, "proof")), "the program did not run")
    equal(len(result.meta["warnings"]), 1, f"warnings {result.meta['warnings']}")
    contains(result.meta["warnings"][0], "the run is not in the audit log", "meta.warnings")
    equal(len(result.ran.err.splitlines()), 1, f"lines on stderr: {result.ran.err}")
    ran = state.run("-c", "print(1)").ok()
    equal((ran.out, len(ran.err.splitlines())), ("1\n", 1), "a run for people")
    contains(ran.err, "the run is not in the audit log", "stderr")
    os.unlink(os.path.join(outside, "proof"))
    for mode in ("required", "sync"):
        result = state.json("--audit", mode, *write).has_status("setup_error", 125)
        contains(result["error"]["message"], f"--audit {mode}: a run cannot be recorded", "error")
    check(not os.path.exists(os.path.join(outside, "proof")), "the program ran without a record")
    os.unlink(state.path)
    for mode in ("required", "sync"):
        equal(state.json("--audit", mode, *write).is_ok().meta["warnings"], [], "warnings")
    equal(state.verify()["records"], 4, "records: each run begins and ends")
    equal([record["status"] for record in state.records()], ["ok", "ok"], "what is listed")


@claim("with required a turn does not run that cannot be recorded, and the session goes on", ROOT)
def unwritable_turns(person):
    state = State(person)
    with Daemon(person) as daemon:
        env = {"HOTCELL_SOCKET": daemon.path, **state.env}
        person.call("session", "new", "a", env=env).ok()
        person.call("session", "exec", "a", "-c", "x = 1", env=env).ok()
        log = os.path.join(state.path, "audit")
        shutil.move(log, person.path("aside"))
        person.write(log, "a file where a directory belongs")
        must = {**env, "HOTCELL_AUDIT": "required"}
        ran = person.call("session", "exec", "a", "-c", "x = 2", env=must).exits(125)
        contains(ran.err, "--audit required: a run cannot be recorded", "stderr")
        os.unlink(log)
        equal(person.call("session", "exec", "a", "-c", "print(x)", env=must).ok().out, "1\n", "x")
        ran = person.call("session", "exec", "none", "-c", "1", env=must).exits(125)
        person.call("session", "kill", "a", env=env).ok()
    equal([(record["status"], record.get("session")) for record in state.records()],
          [("ok", "a"), ("setup_error", "none")], "records")


@claim("links in the state directory lead nowhere")
def links(person):
    state = State(person)
    os.mkdir(person.path("other"))
    person.own(person.path("other"), 0o700)
    os.symlink("other", state.path)
    contains(state.json("-c", "1").is_ok().meta["warnings"][0], "is a link", "meta.warnings")
    os.unlink(state.path)
    state.run("-c", "1").ok()
    shutil.move(state.log, person.path("other/log"))
    os.symlink("../../other/log", state.log)
    size = os.stat(person.path("other/log")).st_size
    contains(state.json("-c", "1").is_ok().meta["warnings"][0], "is a link", "meta.warnings")
    equal(os.stat(person.path("other/log")).st_size, size, "size of what the link leads to")
    state.json("--audit", "required", "-c", "1").has_status("setup_error", 125)


# ---- artifacts -----------------------------------------------------------------------------------


@claim("nothing is kept by default; on_error and always keep what they say")
def policies(person):
    state = State(person)
    state.run("-c", "print(1)").ok()
    state.run("-c", "1/0").exits(1)
    check(not os.path.exists(os.path.join(state.path, "artifacts")), "something was kept")
    state.run("--store", "on_error", "-c", "print(1)").ok()
    equal(state.kept(), [], "kept of a run that went well")
    failed = state.json("--store", "on_error", "-c", "1/0").has_status("error", 1)
    equal([kept["id"] for kept in state.kept()], [failed["id"]], "kept on_error")
    late = state.json("--store", "on_error", "-t", "0.2", "-c", "while 1: pass")
    well = state.json("--store", "always", "-c", "print(1)")
    equal([kept["status"] for kept in state.kept()], ["ok", "timeout", "error"], "kept at last")
    check(late["id"] != well["id"], "one id for two runs")
    state.env["SANDBOX_STORE_CODE"] = "always"
    state.run("-c", "print(2)").ok()
    equal(len(state.kept()), 4, "kept because of SANDBOX_STORE_CODE")
    for kept in state.kept():
        equal(kept["name"], f"{kept['id'][:16]}-{kept['sha256'][:16]}", "name")


@claim("turns of a session are kept as the settings or an option of the turn say", ROOT)
def kept_turns(person):
    state = State(person)
    with Daemon(person) as daemon:
        env = {"HOTCELL_SOCKET": daemon.path, **state.env}

        def turn(code, *args, **more):
            return person.call("session", "exec", *args, "a", "-c", code, env={**env, **more})
        person.call("session", "new", "a", env=env).ok()
        turn("x = 1").ok()
        equal(state.kept(), [], "what is kept by default")
        turn("x = 2", SANDBOX_STORE_CODE="on_error").ok()
        turn("1 / 0", SANDBOX_STORE_CODE="on_error").exits(1)
        turn("x = 3", "--store", "always").ok()
        turn("x = 4", "--audit", "off").ok()
        person.call("session", "kill", "a", env=env).ok()
    codes = [json.loads(state.artifacts("show", "--json", one["id"]).ok().out)["code"] for one in state.kept()]
    equal(codes, ["x = 3", "1 / 0"], "the code that is kept, newest first")
    equal(len(state.records()), 4, "records")


@claim("an artifact has code, settings and result, but no value of a variable")
def artifact(person):
    state = State(person)
    result = state.json("--store", "always", "-e", "KEY=hush", "-m", "64M", "-c", "print(6*7)")
    text = state.artifacts("show", "--json", result["id"]).ok().out
    lacks(text, "hush", "the artifact")
    kept = json.loads(text)
    equal(kept["code"], "print(6*7)", "code")
    equal((kept["spec"]["env"], kept["spec"]["memory"]), (["KEY"], 64 << 20), "settings")
    equal(kept["result"], dict(result), "result")
    shown = state.artifacts("show", result["id"][:20]).ok().out
    for part in ("print(6*7)", "42", result["id"]):
        contains(shown, part, "show")
    code = state.artifacts("show", "--code", kept["sha256"][:6]).ok().out_bytes
    equal(state.run("-", stdin=code).ok().out, "42\n", "the code, run again")
    directory = os.path.join(state.path, "artifacts", "executions")
    for name in os.listdir(directory):
        equal(os.stat(os.path.join(directory, name)).st_mode & 0o777, 0o600, f"mode of {name}")


@claim("artifacts are removed by name, by size and by age, and a wrong name removes nothing")
def removal(person):
    state = State(person)
    ids = [state.json("--store", "always", "-c", f"print({i})")["id"] for i in range(3)]
    state.artifacts("rm", ids[0], "no-such").exits(125)
    equal(len(state.kept()), 3, "kept after a wrong name")
    state.artifacts("rm", ids[0], ids[1]).ok()
    equal([kept["id"] for kept in state.kept()], [ids[2]], "kept")
    directory = os.path.join(state.path, "artifacts", "executions")
    old = "20200101T000000Z-0123456789abcdef.json"
    shutil.copy(os.path.join(directory, os.listdir(directory)[0]), os.path.join(directory, old))
    person.own(os.path.join(directory, old), 0o600)
    report = json.loads(state.artifacts("prune", "--json").ok().out)
    equal((report["removed"]["count"], report["left"]["count"]), (1, 1), "prune by age")
    much = "print('x' * 200000)"
    for i in range(12):
        state.run("--store", "always", "--store-size", "1M", "--max-output", "1M", "-c",
                  f"{much} # {i}").ok()
    sizes = [kept["bytes"] for kept in state.kept("--limit", "100")]
    check(sum(sizes) <= 1 << 20, "more was kept than --store-size:", sizes)
    check(len(sizes) >= 3, "too much was removed:", sizes)


@claim("an artifact that cannot be kept is a warning")
def unkept(person):
    state = State(person)
    state.run("-c", "1").ok()
    person.write(os.path.join(state.path, "artifacts"), "a file")
    result = state.json("--store", "always", "-c", "print(1)").is_ok()
    contains(result.meta["warnings"][0], "the run is not kept", "meta.warnings")
    equal(state.verify()["records"], 2, "records")


@claim("the log of many runs at once is one chain")
def crowd(person):
    state = State(person)
    running = [person.start("run", "--json", "--audit-size", "1M", "-l", "sh", "-c", "true", env=state.env)
               for _ in range(24)]
    ids = set()
    for process in running:
        out, _err = process.communicate(timeout=60)
        ids.add(json.loads(out)["id"])
    equal(len(ids), 24, "runs")
    equal({record["id"] for record in state.records("--limit", "100")}, ids, "ids in the log")
    check(state.verify()["ok"], "the chain is broken")
