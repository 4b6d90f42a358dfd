# SPDX-License-Identifier: Apache-2.0
"""Sessions by their commands, and the line protocol of the prompt: what people and tools are told."""
import json
import os
import signal
import subprocess

from daemon import Daemon
from suite import (HUNG_AFTER, check, claim, contains, equal, lacks, nothing_left, parse_result, read)


class Sessions:
    """A daemon, and `hotcell session` with it."""

    def __init__(self, person):
        self.person = person
        self.daemon = Daemon(person)
        self.env = {"HOTCELL_SOCKET": self.daemon.path}

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.call("kill", "--all")  # they would outlive the daemon
        self.daemon.__exit__(*what)
        if what[0] is None:
            nothing_left(self.person)

    def call(self, verb, *args, **kwargs):
        return self.person.call("session", verb, *args, env=self.env, **kwargs)

    def new(self, *args):
        return self.call("new", *args).ok().out.strip()

    def out(self, name, code, *args):
        return self.call("exec", *args, name, "-c", code).ok().out

    def json(self, name, code, *args):
        ran = self.call("exec", "--json", *args, name, "-c", code)
        result = parse_result(ran.out, ran)
        equal(result["exit_code"], ran.code, f"exit_code beside the exit status of {ran!r}")
        return result

    def names(self):
        return [info["name"] for info in json.loads(self.call("list", "--json").ok().out)]

    def start(self, name, code="pass"):
        """Code that runs until it is told otherwise; returns when it does."""
        process = self.person.start(
            "session", "exec", name, "-c",
            f"{code}\nprint('begun', flush=True)\nimport time\ntime.sleep(60)", env=self.env)
        equal(process.stdout.readline(), b"begun\n", "its first word")
        return process


# ---- making and using ----------------------------------------------------------------------------


@claim("what one exec leaves is there for the next, and a session has the name it was given")
def state(person):
    with Sessions(person) as sessions:
        equal(sessions.new("work"), "work", "what new prints")
        equal(sessions.out("work", "import os; x = 41; os.mkdir('d'); os.chdir('d')"), "", "stdout")
        equal(sessions.out("work", "print(x + 1, os.getcwd())"), "42 /home/user/d\n", "stdout")
        unnamed = sessions.new()
        check(unnamed.startswith("s") and unnamed != "work", "name of one without", unnamed)
        equal(sorted(sessions.names()), sorted(["work", unnamed]), "list")
        info = json.loads(sessions.call("info", "--json", "work").ok().out)
        equal((info["language"], info["status"], info["executions"]), ("python", "idle", 2), "info")
        equal(sessions.call("kill", "work", unnamed).ok().out, "", "what kill says")
        equal(sessions.names(), [], "list afterwards")


@claim("exec tells as run does: streams apart, the code's exit status, one result as JSON")
def told(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        ran = sessions.call("exec", "a", "-c", "import sys; print(1); print(2, file=sys.stderr)").ok()
        equal((ran.out, ran.err), ("1\n", "2\n"), "stdout and stderr")
        equal(sessions.call("exec", "a", "-c", "import sys; sys.exit(3)").code, 3, "exit status")
        ran = sessions.call("exec", "a", "-c", "1/0")
        equal((ran.code, ran.out), (1, ""), "exit status and stdout of a failure")
        contains(ran.err, "ZeroDivisionError", "stderr")
        result = sessions.json("a", "'val' + 'ue'")
        equal(result["outputs"][0]["data"]["text/plain"], "'value'", "the value")
        equal(result.meta["session"], "a", "meta.session")
        equal(result.meta["execution_count"], 4, "meta.execution_count")
        path = person.write(person.path("step.py"), "print('from a file')\n")
        equal(sessions.call("exec", "a", path).ok().out, "from a file\n", "stdout of a file")
        equal(sessions.call("exec", "a", "-", stdin=b"print('typed')").ok().out, "typed\n",
              "stdout of standard input")
        ran = sessions.call("exec", "--json", "--stream", "a", "-c", "print(7)").ok()
        events = [json.loads(line) for line in ran.out.splitlines()]
        equal([event["event"] for event in events], ["status", "stdout", "done"], "events")


@claim("limits, environment, files and mounts of a session hold for all of its turns")
def options(person):
    project = person.make_dir(f"project-{person.dir_count}")
    person.write(os.path.join(project, "part.py"), "VALUE = 1\n")
    data = person.write(person.path("data.csv"), "a,b\n")
    with Sessions(person) as sessions:
        sessions.new("a", "-m", "256M", "-t", "5", "-e", "LEVEL=3", "--file", data,
                     "--ro", f"{project}:/home/user/project")
        code = "import os, sys; sys.path.insert(0, 'project'); import part; " \
               "print(os.environ['LEVEL'], open('data.csv').read().strip(), part.VALUE)"
        equal(sessions.out("a", code), "3 a,b 1\n", "stdout")
        result = sessions.json("a", "1")
        limits = result.meta["resource_limits"]
        equal((limits["memory"], limits["timeout"]), (256 << 20, 5), "limits in the result")
        person.write(os.path.join(project, "part.py"), "VALUE = 22\n")
        equal(sessions.out("a", "print(part.VALUE)", "--reload"), "22\n", "a module that changed")


@claim("a session is not a run: what only one execution has is refused, with the way out")
def refused(person):
    with Sessions(person) as sessions:
        sessions.new("work")
        for args, part in (
                (("new", "-c", "1"), "-c: no such option"),
                (("new", "a", "b"), "takes one name"),
                (("new", "-x"), "-x: no such option"),
                (("new", "../x"), "cannot be a session's name"),
                (("new", "work"), "work"),
                (("new", "--idle", "0"), "--idle: '0' is not a whole number"),
                (("new", "-l", "pyton"), "python"),
                (("exec", "work"), "exactly one of -c CODE, FILE"),
                (("exec", "work", "-c", "1", "file.py"), "exactly one of -c CODE, FILE"),
                (("exec", "work", "/nonexistent.py"), "/nonexistent.py"),
                (("exec",), "needs a session's name"),
                (("exec", "--stream", "work", "-c", "1"), "only goes with --json"),
                (("exec", "wrok", "-c", "1"), "did you mean 'work'"),
                (("info", "wrk"), "did you mean 'work'"),
                (("rollback", "work", "nowhere"), "no point 'nowhere'"),
                (("rollback", "work"), "a name is missing"),
                (("undo", "work"), "--undo"),
                (("kill",), "needs names, or --all"),
                (("interrupt", "a", "b"), "too many names"),
                (("chekpoint", "work"), "did you mean 'checkpoint'")):
            ran = sessions.call(*args)
            equal(ran.code, 125, f"exit status of {args}")
            contains(ran.err, part, f"stderr of {args}")
            equal(ran.err.count("\n"), 1, f"lines on stderr of {args}: {ran.err!r}")
        ran = sessions.call("exec", "--json", "wrok", "-c", "1")
        equal(json.loads(ran.out)["status"], "setup_error", "status as JSON")


@claim("where nobody serves, there are no sessions, and none is started to say so")
def nobody(person):
    env = {"HOTCELL_SOCKET": person.path("nobody.sock")}
    equal(json.loads(person.call("session", "list", "--json", env=env).ok().out), [], "list")
    equal(person.call("session", "list", env=env).ok().out, "", "list for people")
    ran = person.call("session", "info", "a", env=env)
    equal(ran.code, 125, "exit status")
    contains(ran.err, "there is no session 'a'", "stderr")
    equal(person.call("session", "kill", "--all", env=env).ok().err, "", "kill --all")
    check(not os.path.exists(env["HOTCELL_SOCKET"]), "a daemon was started")


@claim("the first session starts a daemon, which says so once and stays for the session")
def on_demand(person):
    env = {"HOTCELL_SOCKET": person.path("own.sock")}
    try:
        ran = person.call("session", "new", "a", env=env).ok()
        contains(ran.err, "starting a daemon", "stderr")
        equal(person.call("session", "new", "b", env=env).ok().err, "", "stderr of the next")
        person.call("session", "exec", "a", "-c", "x = 1", env=env).ok()
        equal(person.call("session", "exec", "a", "-c", "print(x)", env=env).ok().out, "1\n", "stdout")
    finally:
        person.call("serve", "--stop", env=env)
    nothing_left(person)
    env = {"HOTCELL_SOCKET": person.path("quiet.sock")}
    try:
        equal(person.call("session", "new", "-q", env=env).ok().err, "", "stderr with --quiet")
    finally:
        person.call("serve", "--stop", env=env)


# ---- files ---------------------------------------------------------------------------------------


@claim("session put and get copy files in and out, also while code runs; session files lists them")
def files(person):
    person.write(person.path("data.csv"), "a,b\n1,2\n")
    with Sessions(person) as sessions:
        sessions.new("work")
        sessions.call("put", "work", person.path("data.csv"), person.path("data.csv") + ":in/",
                      person.path("data.csv") + ":in/deep/other.csv").ok()
        equal(sessions.out("work", "print(open('in/deep/other.csv').read())"), "a,b\n1,2\n\n", "inside")
        sessions.call("put", "work", "/dev/stdin:typed", stdin=b"from stdin").ok()
        listed = json.loads(sessions.call("files", "--json", "work").ok().out)
        equal(sorted(item["path"] for item in listed["files"]),
              ["data.csv", "in/", "in/data.csv", "in/deep/", "in/deep/other.csv", "typed"], "the list")
        contains(sessions.call("files", "work").ok().out, "in/deep/other.csv", "for a person")
        process = sessions.start("work", "open('made', 'w').write('by code')")
        sessions.call("get", "work", "made:" + person.path("got")).ok()
        equal(read(person.path("got")), b"by code", "what came out")
        equal(sessions.call("get", "work", "/home/user/typed:-").ok().out, "from stdin", "to stdout")
        sessions.call("interrupt", "work").ok()
        process.communicate(timeout=HUNG_AFTER)
        sessions.out("work", "import os; os.symlink('/etc/passwd', 'link'); os.symlink('/', 'root')")
        for path, word in (("link", "symbolic link"), ("root/etc/passwd", "symbolic link"),
                           ("../x", "'..'"), ("/etc/passwd", "/home/user"), ("nothing", "no 'nothing'")):
            ran = sessions.call("get", "work", f"{path}:-")
            ran.exits(125)
            contains(ran.err, word, f"stderr of getting {path}")
        ran = sessions.call("put", "work", person.path("data.csv") + ":root/tmp/x")
        ran.exits(125)
        contains(ran.err, "no directory", "stderr of putting one outside")
        sessions.call("put", "wrk", person.path("data.csv")).exits(125)


@claim("session exec --out copies out what the execution made")
def exec_out(person):
    with Sessions(person) as sessions:
        sessions.new("work")
        result = sessions.json("work", "import os\nos.mkdir('p')\nopen('p/a.txt', 'w').write('A')\n"
                               "os.symlink('/etc/passwd', 'p/b.txt')",
                               "--out", "p/*.txt:" + person.path("out"))
        equal(read(person.path("out/p/a.txt")), b"A", "the file")
        found = {item["path"]: item for item in result["files"]}
        equal(sorted(found), ["p/a.txt", "p/b.txt"], "files of the result")
        contains(str(found["p/b.txt"]), "symbolic link", "one that is not had")
        equal(sessions.out("work", "print(os.listdir('p'))", "--out", "none*").count("a.txt"), 1,
              "stdout where nothing matches")


# ---- interrupting and waiting --------------------------------------------------------------------


@claim("Ctrl-C, session interrupt and the timeout stop the code and keep the state")
def interrupted(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        sessions.out("a", "x = 1")
        process = sessions.start("a", "x = 2")
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=HUNG_AFTER)
        equal(process.returncode, 130, "exit status after Ctrl-C")
        contains(err.decode(), "interrupted", "stderr")
        process = sessions.start("a", "x += 1")
        sessions.call("interrupt", "a").ok()
        process.communicate(timeout=HUNG_AFTER)
        check(process.returncode != 0, "an interrupted exec succeeds")
        result = sessions.json("a", "x += 1\nwhile True: pass", "-t", "0.5")
        result.has_status("timeout", 124)
        equal(result["error"]["message"], "Code execution timed out after 0.5s", "message")
        equal(sessions.out("a", "print(x)"), "4\n", "the state")
        contains(sessions.call("interrupt", "a").ok().err, "nothing ran", "stderr of one too many")


@claim("one execution has the turn: another is told so, or waits when it is asked to")
def busy(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        process = sessions.start("a")
        ran = sessions.call("exec", "a", "-c", "print(1)")
        equal(ran.code, 125, "exit status while it is busy")
        contains(ran.err, "busy", "stderr")
        contains(sessions.call("list").ok().out, "busy", "list")
        waiting = person.start("session", "exec", "--wait", "a", "-c", "print('next')",
                               env=sessions.env)
        sessions.call("interrupt", "a").ok()
        out, _err = waiting.communicate(timeout=HUNG_AFTER)
        equal((waiting.returncode, out), (0, b"next\n"), "who waited")
        process.communicate(timeout=HUNG_AFTER)


# ---- points and branches -------------------------------------------------------------------------


@claim("checkpoint, rollback, undo and fork do what they say, to variables and to files")
def points(person):
    with Sessions(person) as sessions:
        sessions.new("--undo", "3", "a")
        sessions.out("a", "x = [1]; print(end=str(open('f', 'w').write('one')))")
        equal(sessions.call("checkpoint", "a", "before").ok().out.split("'")[1], "before", "the point")
        sessions.out("a", "x.append(2); print(end=str(open('f', 'w').write('two')))")
        sessions.call("fork", "a", "b").ok()
        contains(sessions.call("rollback", "a", "before").ok().out, "back at point", "stdout")
        equal(sessions.out("a", "print(x, open('f').read())"), "[1] one\n", "after the rollback")
        equal(sessions.out("b", "print(x, open('f').read())"), "[1, 2] two\n", "the branch")
        sessions.out("a", "x.clear()")
        sessions.call("undo", "a").ok()
        equal(sessions.out("a", "print(x)"), "[1]\n", "after undo")
        info = json.loads(sessions.call("info", "--json", "a").ok().out)
        check("before" in [point["name"] for point in info["points"]], "points", info["points"])
        contains(sessions.call("info", "a").ok().out, "before", "info for people")
        equal(json.loads(sessions.call("kill", "--all", "--json").ok().out), ["a", "b"], "killed")


# ---- the prompt, for programs --------------------------------------------------------------------


class Tool:
    """Drives `hotcell repl --json`."""

    def __init__(self, sessions, *args):
        self.process = sessions.person.start("repl", "--json", *args, env=sessions.env,
                                             stdin=subprocess.PIPE)
        self.count = 0
        self.ready = self.line()
        equal(self.ready["event"], "ready", "first event")

    def line(self):
        text = self.process.stdout.readline()
        check(text, "it ended:", self.process.stderr.read().decode() if not text else "")
        return json.loads(text)

    def send(self, **verb):
        self.count += 1
        self.process.stdin.write(json.dumps({"id": self.count, **verb}).encode() + b"\n")
        self.process.stdin.flush()
        return self.count

    def answer(self, number, events=None):
        while True:
            line = self.line()
            if "event" in line:
                (events if events is not None else []).append(line)
            elif line["id"] == number:
                return line

    def ask(self, events=None, **verb):
        return self.answer(self.send(**verb), events)

    def good(self, events=None, **verb):
        line = self.ask(events, **verb)
        check(line["ok"], "refused:", line)
        return line["answer"]

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(HUNG_AFTER), 0, "exit status")


@claim("repl --json answers each request with its id, and tells what happens as events")
def protocol(person):
    with Sessions(person) as sessions:
        tool = Tool(sessions)
        events = []
        answer = tool.good(events, execute={"code": "print('hi')\n6 * 7"})
        equal((answer["status"], answer["exit_code"], answer["execution_count"]), ("ok", 0, 1), "answer")
        equal([event["event"] for event in events], ["status", "stdout", "result", "done"], "events")
        equal(events[-1]["data"]["id"], answer["execution_id"], "id of the result")
        equal(tool.good(execute={"code": "1/0"})["status"], "error", "status of a failure")
        matches = tool.good(complete={"code": "imp", "cursor": 3})["matches"]
        check("import" in matches, "matches", matches)
        contains(tool.good(inspect={"name": "len"})["text"], "len(", "inspection")
        equal(tool.good(is_complete={"code": "if x:"})["state"], "incomplete", "completeness")
        tool.good(execute={"code": "y = 1"})
        tool.good(checkpoint={"name": "p"})
        tool.good(execute={"code": "y = 2"})
        tool.good(rollback={"point": "p"})
        events = []
        tool.good(events, execute={"code": "y"})
        equal(events[-1]["data"]["outputs"][0]["data"]["text/plain"], "1", "after the rollback")
        equal(sessions.names(), [tool.ready["session"]], "sessions")
        tool.end()
        equal(sessions.names(), [], "sessions afterwards")


@claim("repl --json interrupts what runs and hands lines to input()")
def protocol_control(person):
    with Sessions(person) as sessions:
        tool = Tool(sessions)
        number = tool.send(execute={"code": "print('go', flush=True)\nimport time\ntime.sleep(60)"})
        while tool.line().get("event") != "stdout":
            pass
        asked = tool.send(interrupt={})
        lines = [tool.line() for _ in range(2)]
        while not any(line.get("id") == number for line in lines):
            lines.append(tool.line())
        equal([line["answer"] for line in lines if line.get("id") == asked], [{"interrupted": True}],
              "answer to the interrupt")
        equal(lines[-1]["answer"]["status"], "interrupted", "status")
        number = tool.send(execute={"code": "input('name? ') * 2"})
        line = tool.line()
        while line.get("event") != "input_request":
            line = tool.line()
        equal(line["prompt"], "name? ", "prompt")
        tool.send(input={"text": "ab"})
        events = []
        tool.answer(number, events)
        equal(events[-1]["data"]["outputs"][0]["data"]["text/plain"], "'abab'", "the value")
        tool.end()


@claim("repl --json refuses what is no request with a sentence, and goes on")
def protocol_errors(person):
    with Sessions(person) as sessions:
        tool = Tool(sessions)
        for line, part in ((b"rubbish", "JSON"), (b"[]", "JSON"), (b"{}", "needs a verb"),
                           (b'{"id":1,"exekute":{}}', "did you mean 'execute'"),
                           (b'{"execute":{},"info":{}}', "one verb"),
                           (b'{"execute":"1"}', "must be an object"),
                           (b'{"execute":{}}', "needs 'code'"),
                           (b'{"complete":{"code":"x"}}', "needs 'cursor'"),
                           (b'{"rollback":{}}', "needs 'point'"),
                           (b'{"rollback":{"point":"q"}}', "no point 'q'"),
                           (b'{"input":{"text":"x"}}', "nothing asks")):
            tool.process.stdin.write(line + b"\n")
            tool.process.stdin.flush()
            answer = tool.line()
            equal(answer["ok"], False, f"answer to {line}")
            contains(answer["error"], part, f"error of {line}")
        equal(tool.good(execute={"code": "1"})["status"], "ok", "status afterwards")
        tool.end()
        ran = person.call("repl", "--json", "--session", "../x", env=sessions.env)
        equal((ran.code, json.loads(ran.out)["ok"]), (125, False), "a session that cannot be")


@claim("repl reads a script from a pipe, keeps a session that has a name, and ends one that has not")
def piped(person):
    script = b"x = 20\nfor i in range(2):\n    x += 1\n\nx + 20\n%checkpoint here\nprint('end')\n"
    with Sessions(person) as sessions:
        ran = person.call("repl", env=sessions.env, stdin=script).ok()
        contains(ran.out, "42", "stdout")
        contains(ran.out, "'here'", "stdout")
        contains(ran.out, "end\n", "stdout")
        lacks(ran.out, "In [", "stdout")
        equal(sessions.names(), [], "sessions")
        person.call("repl", "--session", "kept", env=sessions.env, stdin=b"x = 1\n").ok()
        equal(sessions.out("kept", "print(x)"), "1\n", "the session's state")
        ran = person.call("repl", "--session", "kept", env=sessions.env, stdin=b"print(x + 1)\n1/0\n")
        equal((ran.code, ran.out), (1, "2\n"), "joined again")
        ran = person.call("repl", "--session", "kept", "-l", "bash", env=sessions.env)
        equal(ran.code, 125, "exit status with another language")
        contains(ran.err, "speaks python", "stderr")


@claim("%save tests, shows, asks, and writes only after a yes")
def save(person):
    target = person.path("made.py")
    question = "Write this to file? (y/n)"

    def at_prompt(sessions, *lines):
        text = "".join(line + "\n" for line in lines)
        return person.call("repl", env=sessions.env, stdin=text.encode()).out

    with Sessions(person) as sessions:
        out = at_prompt(sessions, f"%%save {target}", "x = 6", "print(x * 7)", "", "n")
        check(0 <= out.find("42\n") < out.find("print(x * 7)\n") < out.find(question), "order of", out)
        check(not os.path.exists(target), "written without a yes")
        out = at_prompt(sessions, "print(6 * 7)", f"%save {target}", "y")
        equal(out.count("42\n"), 1, f"how often it ran: {out}")
        equal(read(target), b"print(6 * 7)\n", "the file")
        contains(at_prompt(sessions, "1/0", f"%save {target}", "n"), "it FAILED", "stdout")
        contains(at_prompt(sessions, "2", f"%save {target}", "n"), "this replaces", "stdout")
        equal(read(target), b"print(6 * 7)\n", "the file afterwards")
