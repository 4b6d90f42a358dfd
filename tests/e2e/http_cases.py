# SPDX-License-Identifier: Apache-2.0
"""HTTP of the daemon: results, events, errors in one shape, who may ask, and clients that leave."""
import json
import os

from served import Served, error_of
from suite import (HUNG_AFTER, USER_ID, check, claim, contains, equal, nothing_left, parse_result,
                   read, wait_until)


@claim("http: a spec in, an ExecutionResult out, over TCP and the unix socket, warm")
def execute(person):
    with Served(person) as served:
        for connection in (served.tcp(), served.unix()):
            status, text = served.ask("POST", "/v1/execute", {"code": "print(6 * 7)\n'v'"},
                                      connection)
            equal(status, 200, "status")
            result = parse_result(text, "http")
            result.is_ok()
            equal(result["stdout"], "42\n", "stdout")
            equal(result["outputs"][0]["data"]["text/plain"], "'v'", "value")
        result = parse_result(served.execute(code="1/0")[1], "http")
        equal(result["error"]["name"], "ZeroDivisionError", "error")
    nothing_left(person)


@claim("http: events as lines or as SSE, by what the client accepts, the result last")
def events(person):
    code = "import time\nfor i in range(3):\n  print(i, flush=True)\n  time.sleep(0.05)\n7"
    with Served(person) as served:
        _status, text = served.ask("POST", "/v1/execute", {"code": code},
                                   Accept="application/x-ndjson")
        found = [json.loads(line) for line in text.splitlines()]
        equal([e["event"] for e in found],
              ["status", "stdout", "stdout", "stdout", "result", "done"], "events")
        equal([e["seq"] for e in found], list(range(6)), "their numbers")
        equal(found[-1]["data"]["stdout"], "0\n1\n2\n", "the result's stdout")
        _status, text = served.ask("POST", "/v1/execute", {"code": code},
                                   Accept="text/event-stream")
        blocks = [block.split("\n") for block in text.strip().split("\n\n")]
        equal([block[0] for block in blocks],
              [f"event: {e['event']}" for e in found], "names of SSE")
        for block in blocks:
            json.loads(block[1].removeprefix("data: "))


@claim("http: bad requests get one shape, with field and fix")
def bad_requests(person):
    with Served(person) as served:
        cases = (
            ("POST", "/v1/execute", {"code": "1", "timeout": -1}, 400, "timeout"),
            ("POST", "/v1/execute", {"cod": "1"}, 400, "code"),
            ("POST", "/v1/execute", "{", 400, "JSON"),
            ("POST", "/v1/execute", {}, 400, "code"),
            ("GET", "/v1/execute", None, 405, "GET"),
            ("GET", "/nothing", None, 404, "/nothing"),
        )
        for method, path, body, wanted, word in cases:
            status, text = served.ask(method, path, body)
            equal(status, wanted, f"status of {method} {path} {body}")
            contains(error_of(text)["message"], word, "message")
        error = error_of(served.execute(code="1", timeout=-1)[1])
        equal((error["field"], error["code"]), ("timeout", "invalid"), "field and code")
        contains(error["fix"], "33", "fix")
        equal(served.ask("POST", "/v1/execute", "x" * (25 << 20))[0], 413, "of a huge body")
        parse_result(served.execute(code="print(1)")[1], "http").is_ok()


@claim("http: paths of the host are for its own user, over the unix socket")
def host_paths(person):
    person.write(person.path("code.py"), "print('from the host')")
    spec = {"file": person.path("code.py")}
    with Served(person) as served:
        status, text = served.ask("POST", "/v1/execute", spec)
        equal((status, error_of(text)["field"]), (400, "file"), "over TCP")
        for field, value in (("ro", ["/etc:/mnt"]), ("stdin", "/etc/passwd"), ("env", ["HOME"]),
                             ("files", ["/etc/passwd"]), ("spill", "/tmp")):
            status, text = served.execute(code="1", **{field: value})
            equal((status, error_of(text)["field"]), (400, field), f"{field} over TCP")
        _status, text = served.ask("POST", "/v1/execute", spec, served.unix())
        equal(parse_result(text, "http")["stdout"], "from the host\n", "over the unix socket")
        result = parse_result(served.execute(code="import os; print(os.environ['A'])",
                                             env=["A=1"])[1], "http")
        equal(result["stdout"], "1\n", "a variable with a value")


@claim("http: a page under another name cannot reach it")
def rebinding(person):
    with Served(person) as served:
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"},
                        {"Host": "localhost.evil.example"}, {"Origin": "null"}):
            status, text = served.ask("GET", "/healthz", **headers)
            equal((status, error_of(text)["code"]), (403, "foreign_origin"), str(headers))
        for headers in ({"Host": f"localhost:{served.port}"}, {"Host": "[::1]"},
                        {"Origin": "http://127.0.0.1:3000"}, {}):
            equal(served.ask("GET", "/healthz", **headers)[0], 200, str(headers))


@claim("http: another user cannot use the unix socket", who=("root",))
def other_user(person):
    with Served(person) as served:
        path = served.daemon.path + ".http"
        equal(os.stat(path).st_mode & 0o777, 0o600, "mode of the socket")
        os.chmod(path, 0o666)
        for up in (person.dir, os.path.dirname(person.dir)):
            os.chmod(up, 0o755)
        child = os.fork()
        if child == 0:
            os.setuid(USER_ID)
            try:
                status, _text = served.ask("GET", "/healthz", connection=served.unix())
                os._exit(0 if status == 403 else 1)
            except OSError:
                os._exit(2)
        equal(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, "another user's answer")
        equal(served.ask("GET", "/healthz", connection=served.unix())[0], 200, "our own")


@claim("http: a client that leaves ends what it asked for")
def gone(person):
    code = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(1)"

    with Served(person, "--warm", "") as served:
        for accept in ("application/x-ndjson", "application/json"):
            connection = served.tcp()
            connection.request("POST", "/v1/execute", json.dumps({"code": code}),
                               {"Accept": accept})
            wait_until(lambda: json.loads(person.call(
                "serve", "--socket", served.daemon.path, "--status", "--json").out)["running"] == 1,
                "the run")
            connection.close()
            wait_until(lambda: json.loads(person.call(
                "serve", "--socket", served.daemon.path, "--status", "--json").out)["running"] == 0,
                "the run's end")
        text = served.ask("GET", "/metrics")[1]
        contains(text, 'hotcell_executions_total{language="python",status="interrupted"} 2', "metrics")
    nothing_left(person)


@claim("http: more than may wait are refused, and those who wait are served")
def queue_full(person):
    slow = {"code": "import time; time.sleep(0.5); print('done')"}
    with Served(person, "--concurrency", "1", "--queue", "2") as served:
        connections = []
        for _ in range(3):
            connections.append(served.tcp())
            connections[-1].request("POST", "/v1/execute", json.dumps(slow))
        statuses = [served.execute(code="1")[0] for _ in range(1)]
        check(503 in statuses, "refused", statuses)
        for connection in connections:
            answer = connection.getresponse()
            equal(answer.status, 200, "status")
            equal(parse_result(answer.read().decode(), "http")["stdout"], "done\n", "stdout")


@claim("http: a reader that does not read slows its own run alone")
def slow_reader(person):
    flood = {"code": "for i in range(400000): print('x' * 100)", "output_limit": "100M"}
    with Served(person) as served:
        slow = served.tcp()
        slow.request("POST", "/v1/execute", json.dumps(flood), {"Accept": "application/x-ndjson"})
        parse_result(served.execute(code="print(1)")[1], "http").is_ok()
        memory = next(int(line.split()[1]) for line in
                      read(f"/proc/{served.daemon.process.pid}/status").decode().splitlines()
                      if line.startswith("VmRSS"))
        check(memory < 60000, "the daemon's memory", memory)
        last = None
        for line in slow.getresponse():
            last = line
        equal(json.loads(last)["data"]["status"], "ok", "status in the end")


@claim("http: only this machine, and only an address")
def listen(person):
    for value, word in (("0.0.0.0:7070", "other machines"), ("[::]:7070", "other machines"),
                        ("localhost", "--listen"), ("127.0.0.1:0", "--listen"),
                        ("127.0.0.1:99999", "--listen"), ("example.com:80", "numeric")):
        ran = person.call("serve", "--socket", person.path("sock"), "--listen", value)
        ran.exits(125)
        contains(ran.err, word, f"stderr for {value}")


@claim("http: it tells of itself")
def about(person):
    with Served(person) as served:
        equal(json.loads(served.ask("GET", "/healthz")[1])["status"], "ok", "health")
        served.execute(code="1")
        contains(served.ask("GET", "/metrics")[1],
                 'hotcell_executions_total{language="python",status="ok"} 1', "metrics")
        described = json.loads(served.ask("GET", "/openapi.json")[1])
        for path in described["paths"]:
            for method in described["paths"][path]:
                text = served.ask(method.upper(), path)[1]
                check('"not_found"' not in text and '"method_not_allowed"' not in text,
                      f"{method} {path}")
        for session in json.loads(served.ask("GET", "/v1/sessions")[1])["sessions"]:
            served.ask("DELETE", f"/v1/sessions/{session['name']}")  # which was made by asking
        contains(str(described["components"]["schemas"]["Spec"]["properties"]), "timeout", "spec")
        languages = json.loads(served.ask("GET", "/v1/languages")[1])
        check(any(item["name"] == "python" and item["available"] for item in languages), "python")
        equal(json.loads(served.ask("GET", "/v1/providers")[1])[0]["name"], "local", "provider")
