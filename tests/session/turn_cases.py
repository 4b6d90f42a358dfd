# SPDX-License-Identifier: Apache-2.0
"""Turns: one execution after the other in a process that remembers."""
import json
import signal
import time

from people import ERR_BUSY, ERR_INVALID, ERR_MISSING, Sessions, background, end_of
from suite import check, claim, contains, equal, matches, wait_until


@claim("a session remembers names, imports, files, directory and environment from turn to turn")
def remembers(person):
    with Sessions(person) as sessions:
        info = sessions.new("a", env="GREETING=hello")
        equal((info["name"], info["language"], info["status"]), ("a", "python", "idle"), "its info")
        sessions.exec("a", "import os, math\nx = [1]\ndef f(): return len(x)\n"
                           "os.makedirs('d'); os.chdir('d'); open('t', 'w').write('text')\n"
                           "os.environ['OWN'] = '1'").is_ok()
        equal(sessions.value("a", "x.append(2); f(), math.pi > 3, open('/home/user/d/t').read()"),
              "(2, True, 'text')", "what it remembers")
        equal(sessions.value("a", "os.getcwd(), os.environ['OWN'], os.environ['GREETING']"),
              "('/home/user/d', '1', 'hello')", "directory and environment")
        result = sessions.exec("a", "print('out'); import sys; print('err', file=sys.stderr); 7")
        equal((result["stdout"], result["stderr"]), ("out\n", "err\n"), "its streams")
        equal((result.meta["session"], result.meta["execution_count"]), ("a", 4), "meta")
        check(result.meta["isolation"]["seccomp"], "no seccomp in", result.meta["isolation"])
        wait_until(lambda: sessions.verb("info", session="a")["executions"] == 4, "4 executions")


@claim("an error in a turn is analysed as one of a run is, and costs the session nothing")
def errors(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        result = sessions.exec("a", "x = 1\nx / 0").has_status("error", 1)
        equal((result["error"]["name"], result["error"]["line"]), ("ZeroDivisionError", 2), "error")
        contains(result["error"]["traceback"][-1]["file"], "<cell 1>", "the trace")
        sessions.exec("a", "import socket\ntry: socket.socket()\nexcept OSError: pass").is_ok(
            ).denial("network")
        equal(sessions.exec("a", "x +")["error"]["kind"], "syntax", "kind of a syntax error")
        equal(sessions.value("a", "x"), "1", "x")


@claim("a turn reads its stdin, and asks its client for lines")
def inputs(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        path = person.write(person.path("lines"), "first\nsecond\n")
        equal(sessions.exec("a", "print(input(), input())", f"stdin={path}")["stdout"],
              "first second\n", "what it read")
        result = sessions.exec("a", "print(input('who? ') + '!')", "input=me").is_ok()
        contains(result["stdout"], "me!", "what it made of the answer")
        contains(result.words, "asked for 'who? '", "what was asked")
        equal(sessions.exec("a", "input()")["error"]["name"], "EOFError", "error without input")


@claim("time that is over interrupts the code and keeps the state; code that ignores it costs the session")
def timeouts(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        result = sessions.exec("a", "k = 1\nwhile True: k += 1", "timeout=300")
        result.has_status("timeout", 124)
        equal(result["error"]["message"], "Code execution timed out after 0.3s", "message")
        contains(result["hint"], "the session goes on", "hint")
        equal(result["signal"], None, "signal")
        equal(sessions.value("a", "k > 1"), "True", "what was kept")
        result = sessions.exec("a", "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                                    "while True: pass", "timeout=300")
        result.has_status("timeout", 124)
        contains(result["hint"], "its state is lost", "hint")
        words = sessions.exec("a", "k").has_status("setup_error")["error"]["message"]
        matches(words, r"session 'a' ended \d+ s ago: its code did not stop", "the next turn")
        equal(sessions.names(), [], "sessions")


@claim("one client has the turn; others hear that it is busy, or wait in order, and control never waits")
def one_writer(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        first = background(sessions, "a", "order = ['first']\nimport time\ntime.sleep(60)")
        wait_until(lambda: sessions.verb("info", session="a")["status"] == "busy", "the turn")
        words = sessions.refused(ERR_BUSY, sessions.ask_client, "question", "a",
                                 json.dumps({"is_complete": {"code": "x"}}))
        matches(words, r"busy: process \d+ has had the turn for \d+ s", "the refusal")
        refused = sessions.exec("a", "1").has_status("setup_error")
        contains(refused["error"]["message"], "--wait", "the refusal")
        for verb in ("checkpoint", "fork"):
            sessions.refused(ERR_BUSY, sessions.verb, verb, session="a")
        second = background(sessions, "a", "order.append('second')", "wait")
        wait_until(lambda: sessions.verb("interrupt", session="a")["interrupted"], "the interrupt")
        end_of(first).has_status("interrupted", 130)
        end_of(second).is_ok()
        equal(sessions.value("a", "order"), "['first', 'second']", "order")
        equal(sessions.verb("interrupt", session="a"), {"interrupted": False}, "nothing to stop")


@claim("a client that leaves, by Ctrl-C or killed, interrupts its code, and the state stays")
def leaving(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        for number, end in ((1, signal.SIGINT), (2, signal.SIGKILL)):
            process = background(sessions, "a", f"n = {number}\nimport time\ntime.sleep(60)")
            wait_until(lambda: sessions.verb("info", session="a")["status"] == "busy", "the turn")
            time.sleep(0.1)
            process.send_signal(end)
            out, _err = process.communicate(timeout=20)
            check(end != signal.SIGINT or json.loads(out)["status"] == "interrupted", "told", out)
            equal(sessions.exec("a", "n", "wait").is_ok()["outputs"][0]["data"]["text/plain"],
                  str(number), "what was kept")


@claim("a process that leaves or is killed ends its session, and the result says how")
def deaths(person):
    with Sessions(person) as sessions:
        for code, status, exit_code, why in (
                ("import os; os._exit(3)", "error", 3, "left with status 3"),
                ("import os; os.kill(os.getpid(), 11)", "signal", 139, "signal 11"),
                ("import os; os.closerange(3, 4096)", "signal", 137, "closed the line")):
            sessions.new("a")
            result = sessions.exec("a", code).has_status(status, exit_code)
            contains(result["hint"], why, "hint")
            wait_until(lambda: not sessions.names(), "the session's end")
            contains(sessions.refused(ERR_MISSING, sessions.verb, "info", session="a"),
                     why, "what is remembered")


@claim("memory that runs out ends the session, or takes it back to its last point")
def memory(person):
    with Sessions(person) as sessions:
        sessions.new("a", memory="100M")
        result = sessions.exec("a", "b = bytearray(400 << 20)")
        if result["status"] == "error":  # without a cgroup the kernel refuses, and Python says so
            equal(result["error"]["name"], "MemoryError", "error")
            return
        result.has_status("oom", 137)
        contains(result["hint"], "its state is lost", "hint")
        sessions.new("b", memory="100M", undo=2)
        sessions.exec("b", "y = 5").is_ok()
        result = sessions.exec("b", "b = bytearray(400 << 20)").has_status("oom", 137)
        contains(result["hint"], "brought back to point", "hint")
        equal(sessions.value("b", "y"), "5", "what it came back with")


@claim("what cannot be a session is refused in one sentence")
def refusals(person):
    with Sessions(person, "--sessions", "2") as sessions:
        contains(sessions.refused(ERR_INVALID, sessions.new, ".a"), "cannot be a name", "words")
        contains(sessions.refused(ERR_INVALID, sessions.new, "a", code="1"), "session exec", "words")
        contains(sessions.refused(ERR_INVALID, sessions.new, "a", language="c"),
                 "no sessions for c", "words")
        sessions.refused(ERR_MISSING, sessions.verb, "info", session="nobody")
        matches(sessions.new("")["name"], r"^s[0-9a-f]{8}$", "a name of its own")
        sessions.new("b")
        contains(sessions.refused(3, sessions.new, "c"), "--sessions", "one too many")
        sessions.verb("kill", session="b")
        sessions.verb("kill", session=sessions.names()[0])
        sessions.new("c")
        contains(sessions.refused(ERR_INVALID, sessions.new, "c"), "already", "the same again")


@claim("files and directories that were given are there")
def given(person):
    with Sessions(person) as sessions:
        project = person.make_dir(f"project-{person.dir_count}")
        person.write(f"{project}/own.py", "answer = 42\n")
        data = person.write(person.path("data.txt"), "data")
        sessions.new("a", files=data, ro=f"{project}:/mnt/project")
        equal(sessions.value("a", "import sys; sys.path.append('/mnt/project'); import own\n"
                                  "own.answer, open('data.txt').read()"), "(42, 'data')", "both")
        equal(sessions.exec("a", "open('/mnt/project/x', 'w')")["status"], "error", "writing there")
        sessions.refused(2, sessions.new, "b", files="nothing.txt")
        equal(sessions.names(), ["a"], "sessions")


@claim("a turn tells what it has read and written, itself and below it")
def bytes_used(person):
    code = {"python": ("open('f', 'w').write('x' * 300000)", "len(open('f').read())"),
            "bash": ("head -c 300000 /dev/zero >f", "md5sum f")}
    with Sessions(person) as sessions:
        for language, (write, read) in code.items():
            sessions.new(language, language=language)
            used = sessions.exec(language, write).is_ok()["usage"]
            check(300000 <= used["write_bytes"] < 400000, f"{language} wrote {used}")
            used = sessions.exec(language, read).is_ok()["usage"]
            check(300000 <= used["read_bytes"] < 400000, f"{language} read {used}")
            used = sessions.exec(language, "x=1").is_ok()["usage"]
            check(used["read_bytes"] + used["write_bytes"] < 20000, f"{language} did {used}")
