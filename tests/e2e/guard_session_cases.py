# SPDX-License-Identifier: Apache-2.0
"""Sessions under the guard: each turn is held to the profile the session was made with."""
import json

from guard_cases import BLOCKED, HIDDEN, HONEST, HONEST_SAYS, is_refused
from http_cases import Served
from http_session_cases import Session
from session_cases import Sessions
from suite import ROOT, claim, contains, equal

STRICT = ("--profile", "strict")


@claim("a turn that the policy blocks is refused as a run is, and the session stays as it was")
def blocked_turns(person):
    with Sessions(person) as sessions:
        sessions.new("a", "--block-dangerous-imports")
        equal(sessions.out("a", "x = 6"), "", "stdout")
        for code in ("x = 0\nimport os", "x = 0; __import__('o' + 's')", "import os.path as p; x = 0"):
            run = is_refused(person.json("--block-dangerous-imports", "-c", code), BLOCKED + "os")
            turn = is_refused(sessions.json("a", code), BLOCKED + "os")
            for key in ("stdout", "stderr", "outputs", "exit_code", "signal", "error"):
                equal(turn[key], run[key], f"{key} of a turn beside that of a run")
            equal(turn.meta["blocked_imports"], ["os"], "meta.blocked_imports")
            equal(turn.meta["guard"], {"profile": "standard", "verdict": "block"}, "meta.guard")
        ran = sessions.call("exec", "a", "-c", "import os").exits(126)
        equal(ran.err, f"hotcell: refused: {BLOCKED}os\n", "stderr")
        equal(sessions.out("a", "print(x * 7)"), "42\n", "the state")
        equal(sessions.out("a", HONEST), HONEST_SAYS, "honest code")


@claim("the setting that blocks imports counts for sessions, too", ROOT)
def blocked_by_a_variable(person):
    with Sessions(person) as sessions:
        sessions.env["SANDBOX_BLOCK_DANGEROUS_IMPORTS"] = "true"
        sessions.new("a")
        is_refused(sessions.json("a", "import subprocess"), BLOCKED + "subprocess")
        equal(sessions.out("a", "print(1)"), "1\n", "honest code")
        sessions.new("b", "--allow-import", "subprocess")
        sessions.json("b", "import subprocess").is_ok()


@claim("a standard session warns in the result, a trusted one looks at nothing")
def warned_turns(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        result = sessions.json("a", "import json\nimport os").is_ok()
        equal(result.meta["warnings"],
              ["guard: line 2: imports os: files, processes and the environment"], "meta.warnings")
        equal(result.meta["guard"], {"profile": "standard", "verdict": "warn"}, "meta.guard")
        result = sessions.json("a", "1").is_ok()
        equal((result.meta["warnings"], result.meta["guard"]["verdict"]), ([], "allow"), "honest code")
        sessions.new("b", "--profile", "trusted")
        result = sessions.json("b", "import os").is_ok()
        equal((result.meta["warnings"], result.meta["guard"]),
              ([], {"profile": "trusted", "verdict": None}), "trusted code")


@claim("what a name stands for is known from turn to turn")
def names_of_earlier_turns(person):
    with Sessions(person) as sessions:
        sessions.new("a", "--block-dangerous-imports")
        sessions.json("a", "load = __import__").is_ok()
        is_refused(sessions.json("a", "load('os')"), BLOCKED + "os")
        sessions.new("b", *STRICT)
        sessions.json("b", "class P:\n    __match_args__ = ('x',)\n    x = _own = 3").is_ok()
        code = "match P():\n    case P(y):\n        print(y, P()._own)"
        equal(sessions.out("b", code), "3 3\n", "private names and patterns of an earlier turn")
        is_refused(sessions.json("b", "[]._other"), "Security policy blocked attribute: _other")


@claim("strict holds the turns of a session while they run, cold and warm")
def strict_turns(person):
    with Sessions(person) as sessions:
        for extra in ((), ("--cold",)):
            name = sessions.new(*STRICT, *extra)
            equal(sessions.out(name, HONEST), HONEST_SAYS, "honest code")
            for code, message in HIDDEN.items():
                result = sessions.json(name, code)
                if message:
                    is_refused(result, message)
                else:
                    contains(result["stderr"], "Security policy blocked file: /etc/passwd", "stderr")
            equal(sessions.out(name, "x = 6\nprint(x)"), "6\n", "honest code")
            result = sessions.json(name, "x * 7").is_ok()
            equal(result["outputs"][0]["data"], {"text/plain": "42"}, "the value")
            equal(sessions.json(name, "_ + 1").is_ok()["outputs"][0]["data"], {"text/plain": "43"}, "_")
            equal(sessions.out(name, "print(1)", "-e", "A=1", "--reload"), "1\n", "a variable, reloaded")
            result = sessions.json(name, "while True: pass", "-t", "0.3")
            equal(result["status"], "timeout", "status")
            equal(sessions.out(name, "print(x)"), "6\n", "the state after an interrupt")


@claim("strict is still there after a rollback, an undo, in a branch and in its points", ROOT)
def strict_copies(person):
    hidden, message = next((code, said) for code, said in HIDDEN.items() if said)
    with Sessions(person) as sessions:
        sessions.new("a", *STRICT, "--undo", "3")
        sessions.json("a", "x = 1").is_ok()
        sessions.call("checkpoint", "a", "p").ok()
        sessions.json("a", "x = 2").is_ok()
        sessions.call("rollback", "a", "p").ok()
        equal(sessions.out("a", "print(x)"), "1\n", "after a rollback")
        is_refused(sessions.json("a", hidden), message)
        sessions.json("a", "x = 3").is_ok()
        sessions.call("undo", "a").ok()
        is_refused(sessions.json("a", hidden), message)
        sessions.call("fork", "a", "b").ok()
        is_refused(sessions.json("b", hidden), message)
        is_refused(sessions.json("b", "import os"), BLOCKED + "os")
        equal(sessions.out("b", "print(x)"), "1\n", "in a branch")
        info = json.loads(sessions.call("info", "--json", "b").ok().out)
        equal(info["guard"], {"profile": "strict", "block_imports": False, "allow": [], "block": []},
              "guard of info")


@claim("sessions of other languages are held to strict before each turn", ROOT)
def other_languages(person):
    with Sessions(person) as sessions:
        for language, first, bad, then, says in (
                ("bash", "x=5", "x=1; rm -rf /", "echo $x", "5\n"),
                ("sh", "x=5", "x=1; curl http://x | sh", "echo $x", "5\n"),
                ("javascript", "let x = 5", "x = 1; require('child_process')", "console.log(x)", "5\n"),
                ("sql", "CREATE TABLE t(a); INSERT INTO t VALUES(5)", "DROP TABLE t", "SELECT a FROM t",
                 " a \n---\n 5\n(1 row)\n\n")):
            name = sessions.new("-l", language, *STRICT)
            sessions.json(name, first).is_ok()
            result = sessions.json(name, bad).has_status("refused", 126)
            equal((result.stdout, result.meta["guard"]["verdict"]), ("", "block"), f"what ran of {bad!r}")
            equal(sessions.out(name, then), says, f"the state of {language}")


@claim("what each turn was held to is in the audit log, and that a trusted one was passed by", ROOT)
def recorded(person):
    with Sessions(person) as sessions:
        sessions.env["HOTCELL_STATE_DIR"] = person.fresh_dir()
        for profile in ("strict", "trusted"):
            name = sessions.new("--profile", profile)
            sessions.call("exec", name, "-c", "import os")
        ran = person.call("audit", "list", "--json", env=sessions.env).ok()
        records = json.loads(ran.out)
        equal([(one["profile"], one["bypass"], one["status"]) for one in records],
              [("strict", False, "refused"), ("trusted", True, "ok")], "records")
        equal(records[0]["reason"], BLOCKED + "os", "reason")


@claim("turns over HTTP are held to the profile of their session, whatever the language", ROOT)
def over_http(person):
    hidden, message = next((code, said) for code, said in HIDDEN.items() if said)
    with Served(person) as served:
        with Session(served, profile="strict") as session:
            session.exec("x = 6").is_ok()
            is_refused(session.exec("x = 0\nimport os"), BLOCKED + "os")
            is_refused(session.exec(hidden), message)
            equal(session.exec("print(x * 7)").is_ok().stdout, "42\n", "the state")
        with Session(served, language="bash", profile="strict") as session:
            session.exec("x=6").is_ok()
            session.exec("x=0; rm -rf /").has_status("refused", 126)
            equal(session.exec("echo $x").is_ok().stdout, "6\n", "the state")
