# SPDX-License-Identifier: Apache-2.0
"""Sessions over HTTP: what they remember, points and branches, interrupts, input, and clients that
leave."""
import contextlib
import json

from served import Served, error_of
from suite import check, claim, contains, equal, nothing_left, parse_result, wait_until

FOREVER = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.1)"


class Session:
    """One session of a served daemon; ended when the test is over."""

    def __init__(self, served, **spec):
        self.served = served
        status, text = served.ask("POST", "/v1/sessions", spec)
        equal(status, 201, f"status of a new session: {text}")
        self.name = json.loads(text)["name"]

    def __enter__(self):
        return self

    def __exit__(self, *why):
        with contextlib.suppress(OSError):
            self.served.ask("DELETE", f"/v1/sessions/{self.name}")

    def ask(self, method, what="", body=None, **headers):
        status, text = self.served.ask(method, f"/v1/sessions/{self.name}{what}", body, **headers)
        return status, json.loads(text)

    def post(self, what, **body):
        return self.ask("POST", f"/{what}", body)

    def exec(self, code, **spec):
        status, text = self.served.ask("POST", f"/v1/sessions/{self.name}/exec",
                                       {"code": code, **spec})
        equal(status, 200, f"status of an execution: {text}")
        return parse_result(text, "http")

    def begin(self, code, connection=None, accept="application/x-ndjson", **spec):
        """An execution whose answer is not waited for."""
        connection = connection or self.served.tcp()
        connection.request("POST", f"/v1/sessions/{self.name}/exec",
                           json.dumps({"code": code, **spec}), {"Accept": accept})
        return connection

    def state(self):
        status, info = self.ask("GET")
        equal(status, 200, f"status of what is told of it: {info}")
        return info["status"]


def events(answer):
    return (json.loads(line) for line in answer)


def next_event(found, name):
    for event in found:
        if event["event"] == name:
            return event
    raise AssertionError(f"no event {name}")


@claim("http sessions: they remember, are listed, told of and ended")
def remembers(person):
    with Served(person) as served:
        with Session(served, name="work", memory="256M", idle=600) as session:
            session.exec("x = 6").is_ok()
            result = session.exec("print(x * 7)")
            equal(result["stdout"], "42\n", "stdout")
            equal(result["meta"]["session"], "work", "session in the result")
            listed = json.loads(served.ask("GET", "/v1/sessions")[1])["sessions"]
            equal([item["name"] for item in listed], ["work"], "the list")
            wait_until(lambda: session.ask("GET")[1]["executions"] == 2, "both to be counted")
            status, info = session.ask("GET")
            equal((status, info["executions"], info["idle"], info["limits"]["memory"]),
                  (200, 2, 600, 256 << 20), "what is told of it")
            status, answer = session.ask("DELETE")
            equal((status, answer), (200, {"killed": "work"}), "its end")
            equal(session.ask("GET")[0], 404, "status after its end")
            contains(session.ask("GET")[1]["error"]["message"], "killed", "why it ended")
        with Session(served) as unnamed:
            check(unnamed.name, "a name is made up")
        equal(json.loads(served.ask("GET", "/v1/sessions")[1]), {"sessions": []}, "the list then")
    nothing_left(person)


@claim("http sessions: events as lines or as SSE, with the status of a refusal")
def streams(person):
    with Served(person) as served, Session(served) as session:
        found = list(events(session.begin("print(1)\n2").getresponse()))
        equal([e["event"] for e in found], ["status", "stdout", "result", "done"], "events")
        answer = session.begin("print(1)", accept="text/event-stream").getresponse()
        contains(answer.headers["Content-Type"], "text/event-stream", "type")
        contains(answer.read().decode(), "event: done\ndata: {", "SSE")
        for accept in ("application/json", "application/x-ndjson", "text/event-stream"):
            status, text = served.ask("POST", "/v1/sessions/nobody/exec", {"code": "1"},
                                      Accept=accept)
            equal((status, error_of(text)["code"]), (404, "missing"), f"refusal as {accept}")


@claim("http sessions: points, rollback, undo and branches")
def points(person):
    with Served(person) as served, Session(served, undo=5) as session:
        session.exec("x = 1\nopen('f', 'w').write('one')")
        status, answer = session.post("checkpoint", point="before")
        equal((status, answer["point"]["name"]), (200, "before"), "a point")
        session.exec("x = 2\nopen('f', 'w').write('two')")
        equal(session.post("rollback", point="before")[0], 200, "status of a rollback")
        equal(session.exec("print(x, open('f').read())")["stdout"], "1 one\n", "after it")
        session.exec("x = 3")
        equal(session.post("undo")[0], 200, "status of undo")
        equal(session.exec("print(x)")["stdout"], "1\n", "after undo")
        status, answer = session.post("fork", name="other")
        equal((status, answer["session"]["name"]), (201, "other"), "a branch")
        served.ask("POST", "/v1/sessions/other/exec", {"code": "x = 9"})
        equal(session.exec("print(x)")["stdout"], "1\n", "the branch is another")
        served.ask("DELETE", "/v1/sessions/other")
        equal(session.post("rollback", point="never")[0], 404, "a point that is not there")
        equal(session.post("rollback", point=1)[0], 200, "a point by its number")


@claim("http sessions: an interrupt never waits, not even behind a worker that is busy")
def interrupts(person):
    with Served(person, "--concurrency", "1") as served, Session(served) as session:
        session.exec("x = 5")
        for _ in range(2):
            busy = session.begin(FOREVER)
            found = events(busy.getresponse())
            next_event(found, "stdout")
            equal(session.state(), "busy", "status while it runs")
            equal(session.ask("POST", "/interrupt")[1], {"interrupted": True}, "the answer")
            equal(next_event(found, "done")["data"]["status"], "interrupted", "the result")
        equal(session.exec("print(x)")["stdout"], "5\n", "the state")
        wait_until(lambda: session.state() == "idle", "its end")
        equal(session.ask("POST", "/interrupt")[1], {"interrupted": False}, "when nothing runs")


@claim("http sessions: a client that leaves interrupts its code, and the state stays")
def gone(person):
    with Served(person) as served, Session(served) as session:
        session.exec("x = 1")
        for accept in ("application/x-ndjson", "text/event-stream", "application/json"):
            session.exec("x += 1")
            connection = session.begin(FOREVER, accept=accept)  # which may be interrupted before it began
            wait_until(lambda: session.state() == "busy", "the execution")
            if accept != "application/json":
                connection.getresponse().readline()
            connection.close()
            wait_until(lambda: session.state() == "idle", "its end")
        equal(session.exec("print(x)")["stdout"], "4\n", "the state")


@claim("http sessions: one has the turn; another is refused, or waits for it")
def busy(person):
    with Served(person) as served, Session(served) as session:
        first = session.begin(FOREVER)
        found = events(first.getresponse())
        next_event(found, "stdout")
        status, text = served.ask("POST", f"/v1/sessions/{session.name}/exec", {"code": "1"})
        error = error_of(text)
        equal((status, error["code"]), (409, "busy"), "another")
        contains(error["fix"], "wait", "its fix")
        equal(session.post("checkpoint")[0], 409, "a point meanwhile")
        second = session.begin("print('second')", wait=True)
        session.ask("POST", "/interrupt")
        next_event(found, "done")
        equal(next_event(events(second.getresponse()), "done")["data"]["stdout"], "second\n",
              "the one that waited")


@claim("http sessions: code that asks for input is answered, or refused at once")
def inputs(person):
    with Served(person) as served, Session(served) as session:
        running = session.begin("name = input('who? ')\nprint('hello', name)", input=True)
        found = events(running.getresponse())
        equal(next_event(found, "input_request")["data"]["prompt"], "who? ", "the prompt")
        equal(session.post("input", text="you")[1], {"told": True}, "the answer to the answer")
        equal(next_event(found, "done")["data"]["stdout"], "hello you\n", "stdout")
        equal(session.post("input", text="late")[0], 409, "when nothing asks")
        running = session.begin("input()", input=True)
        found = events(running.getresponse())
        next_event(found, "input_request")
        session.post("input")
        equal(next_event(found, "done")["data"]["error"]["name"], "EOFError", "no more input")
        equal(session.exec("input()")["error"]["name"], "EOFError", "nobody said it answers")
        status, text = served.ask("POST", f"/v1/sessions/{session.name}/exec",
                                  {"code": "1", "input": True})
        equal((status, error_of(text)["code"]), (400, "invalid"), "without events")
        running = session.begin("input()", input=True)
        next_event(events(running.getresponse()), "input_request")
        running.close()
        wait_until(lambda: session.state() == "idle", "the end of one whose client left")


@claim("http sessions: what makes no sense is refused with its field")
def nonsense(person):
    with Served(person) as served, Session(served) as session:
        for body, word in (({"nam": "x"}, "name"), ({"code": "1"}, "code"),
                           ({"idle": 0}, "idle"), ({"undo": "many"}, "undo"),
                           ({"name": "../x"}, "name"), ({"name": 7}, "name"),
                           ({"ro": ["/etc:/mnt"]}, "ro"), ({"verb": "kill"}, "verb")):
            status, text = served.ask("POST", "/v1/sessions", body)
            equal(status, 400, f"status of {body}")
            contains(error_of(text)["message"], word, f"message of {body}")
        for what, body, word in (("exec", {}, "code"), ("exec", {"code": "1", "memory": "1G"}, "memory"),
                                 ("exec", {"code": "1", "session": "x"}, "session"),
                                 ("exec", {"code": "1", "stdin": "/etc/passwd"}, "stdin"),
                                 ("rollback", {}, "point"), ("rollback", {"point": True}, "point"),
                                 ("checkpoint", {"pint": "x"}, "pint"),
                                 ("fork", {"name": "a b"}, "name"), ("undo", {"n": 1}, "n")):
            status, answer = session.post(what, **body)
            equal(status, 400, f"status of {what} {body}")
            contains(answer["error"]["message"], word, f"message of {what} {body}")
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        status, _text = served.ask("POST", f"/v1/sessions/{session.name}/exec", {"code": "1"},
                                   traceparent=trace)
        equal(status, 200, "status of one that is part of a trace")
        listed = json.loads(served.ask("GET", "/v1/executions?limit=1")[1])["executions"]
        contains(str(listed), "0af7651916cd43dd8448eb211c80319c", "its record")
        status, answer = session.post("exec", code="print(1)", timeout=5, env={"A": "1"},
                                      filename="step.py", reload=False)
        equal((status, answer["stdout"]), (200, "1\n"), "an honest one")


@claim("http: check tells the guard's verdict, and runs nothing")
def checks(person):
    with Served(person) as served:
        status, text = served.ask("POST", "/v1/check", {"code": "import os", "autorun": True})
        report = json.loads(text)
        equal((status, report["verdict"], report["autorun"]["verdict"]), (200, "warn", "ask"),
              "a warning")
        report = json.loads(served.ask("POST", "/v1/check",
                                       {"code": "import os", "profile": "strict"})[1])
        equal(report["verdict"], "block", "strict")
        report = json.loads(served.ask("POST", "/v1/check", {"code": "print(1)"})[1])
        equal(report["verdict"], "allow", "nothing to warn of")
        status, text = served.ask("POST", "/v1/check", {"code": "1", "language": "cobol"})
        equal(status, 404 if error_of(text)["code"] == "missing" else 400, "no such language")
        equal(served.ask("POST", "/v1/check", {"cod": "1"})[0], 400, "nonsense")
