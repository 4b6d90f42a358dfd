# SPDX-License-Identifier: Apache-2.0
"""MCP over HTTP: what each era says with statuses and headers, and clients that leave."""
import base64
import json
import re

from peer import (MODERN, PREFIX, TOOLS, Http, envelope, error_of, events_of, message, result_of,
                  text_of)
from suite import ROOT, check, claim, contains, equal, lacks, wait_until

RUN = {"name": "run_code", "arguments": {"code": "print(6 * 7)"}}
SLEEP = {"name": "run_code", "arguments": {"code": "import time\ntime.sleep(50)"}}


def only(answer):
    status, _headers, messages = answer
    equal(len(messages), 1, f"messages with status {status}")
    return status, messages[0]


@claim("mcp over http: modern requests are answered as JSON, with progress as a stream")
def modern(person):
    with Http(person) as served:
        status, found = only(served.modern("server/discover"))
        equal((status, result_of(found)["supportedVersions"]), (200, [MODERN]), "discover")
        tools = result_of(only(served.modern("tools/list"))[1])["tools"]
        equal([t["name"] for t in tools], [t for t in TOOLS if t != "run_file"], "tools")
        status, headers, messages = served.modern("tools/call", RUN)
        equal((status, headers["Content-Type"]), (200, "application/json"), "an answer without progress")
        equal(text_of(result_of(messages[0])), "42\n", "text")
        status, headers, messages = served.modern(
            "tools/call", {**RUN, "_meta": {"progressToken": 1}})
        equal((status, headers["Content-Type"]), (200, "text/event-stream"), "one with progress")
        equal(headers["X-Accel-Buffering"], "no", "X-Accel-Buffering")
        equal([m.get("method") for m in messages[:-1]].count("notifications/progress"),
              len(messages) - 1, "what comes before the answer")
        equal(text_of(result_of(messages[-1])), "42\n", "text")
        lacks([k.lower() for k in headers], "mcp-session-id", "headers")


@claim("mcp over http: a stream is only for who takes one")
def no_stream(person):
    with Http(person) as served:
        body = message("tools/call", {**RUN, "_meta": {"progressToken": 1}}, 1, MODERN)
        status, headers, messages = served.post(body, {
            "Accept": "application/json", "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call",
            "Mcp-Name": "run_code"})
        equal((status, headers["Content-Type"], len(messages)), (200, "application/json", 1), "answer")


@claim("mcp over http: headers must say what the message says")
def headers_of_modern(person):
    encoded = "=?base64?" + base64.b64encode(b"run_code").decode() + "?="
    with Http(person) as served:
        for wrong in ({"Mcp_Method": "tools/list"}, {"Mcp_Method": None}, {"Mcp_Name": "run_cod"},
                      {"Mcp_Name": None}, {"Mcp_Name": "RUN_CODE"}, {"MCP_Protocol_Version": "2025-11-25"},
                      {"MCP_Protocol_Version": None}):
            status, found = only(served.modern("tools/call", RUN, 7, **wrong))
            equal((status, found["id"]), (400, 7), f"status and id for {wrong}")
            error_of(found, -32020)
        for right in ({}, {"Mcp_Name": "  run_code\t"}, {"Mcp_Name": encoded}):
            equal(only(served.modern("tools/call", RUN, **right))[0], 200, f"status for {right}")


@claim("mcp over http: what is wrong with a message has its status and its code")
def refusals(person):
    version = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
    half = {"_meta": {PREFIX + "protocolVersion": MODERN}}
    other = {"_meta": envelope("2031-01-01")}
    cases = (("nonsense", {}, 400, -32700), ("", {}, 400, -32700),
             (message("tools/list", None, 1), version, 400, -32602),
             (message("tools/list", half, 1), version, 400, -32602),
             (message("tools/list", other, 1), {**version, "MCP-Protocol-Version": "2031-01-01"}, 400,
              -32022),
             (message("ping", None, 1), {"MCP-Protocol-Version": "2019-01-01"}, 400, -32600),
             (message("ping", None, 1, MODERN), {**version, "Mcp-Method": "ping"}, 404, -32601),
             (message("initialize", None, 1, MODERN), {**version, "Mcp-Method": "initialize"}, 404,
              -32601),
             (message("no/such", None, 1), {}, 200, -32601),
             (message("tools/call", {"name": "x"}, 1), {}, 200, -32602),
             ([message("ping", None, 1)], {"MCP-Protocol-Version": "2025-11-25"}, 400, -32600))
    with Http(person) as served:
        for body, headers, wanted, code in cases:
            status, found = only(served.post(body, headers))
            equal(status, wanted, f"status of {body}")
            error_of(found, code)
        status, _headers, _messages = served.post(message("ping", None, 1), {"Content-Type": "text/plain"})
        equal(status, 415, "status of what is not JSON")
        for method in ("GET", "DELETE", "PUT"):
            equal(served.post(None, method=method)[0], 405, f"status of {method}")
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            equal(served.post(message("ping", None, 1), headers)[0], 403, f"status with {headers}")
        ok = served.post(message("ping", None, 1), {"Origin": "http://localhost:5173"})
        equal(only(ok), (200, {"jsonrpc": "2.0", "id": 1, "result": {}}), "an honest origin")
        equal(served.post(message("notifications/initialized"))[0], 202, "a notification")
        status, _headers, messages = served.post(
            [message("ping", None, n) for n in (1, 2)], {"MCP-Protocol-Version": "2025-03-26"})
        equal((status, [m["id"] for m in messages[0]]), (200, [1, 2]), "a batch of 2025-03-26")


@claim("mcp over http: a legacy client begins, lists, runs, and cancels what is its own")
def legacy(person):
    wish = {"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}}
    with Http(person) as served:
        status, headers, messages = served.post(message("initialize", wish, 0))
        equal((status, result_of(messages[0])["protocolVersion"]), (200, "2025-06-18"), "initialize")
        session = headers["Mcp-Session-Id"]
        check(session and session.isascii() and session.isprintable(), "no session id", session)
        other = served.post(message("initialize", wish, 0))[1]["Mcp-Session-Id"]
        check(session != other, "one session id for two clients")
        result = result_of(only(served.legacy("tools/call", RUN, session=session))[1])
        equal((text_of(result), "resultType" in result), ("42\n", False), "result")
        connection = served.connect(message("tools/call", SLEEP, 5), {
            "MCP-Protocol-Version": "2025-06-18", "Mcp-Session-Id": session})
        wait_until(lambda: served.running() == 1, "the run to begin")
        cancel = message("notifications/cancelled", {"requestId": 5})
        for headers in ({}, {"Mcp-Session-Id": other}):
            equal(served.post(cancel, headers)[0], 202, "status")
        equal(served.running(), 1, "runs after others cancelled it")
        equal(served.post(cancel, {"Mcp-Session-Id": session})[0], 202, "status")
        equal(connection.getresponse().status, 202, "status of what was cancelled")
        connection.close()
        wait_until(lambda: served.running() == 0, "the run to end")


@claim("mcp over http: who leaves cancels in the modern era, and only there")
def leaving(person):
    with Http(person) as served:
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "run_code"}
        for token in ({}, {"_meta": {"progressToken": 1}}):
            connection = served.connect(message("tools/call", {**SLEEP, **token}, 1, MODERN), headers)
            wait_until(lambda: served.running() == 1, "the run to begin")
            connection.close()
            wait_until(lambda: served.running() == 0, "the run to end")
        short = {"name": "run_code", "arguments": {
            "code": "import time\ntime.sleep(2)\nprint('over')"}}
        connection = served.connect(message("tools/call", short, 1))
        wait_until(lambda: served.running() == 1, "the run to begin")
        connection.close()
        wait_until(lambda: served.running() == 0, "the run to end")
        for status, count in (("ok", 1), ("interrupted", 2)):
            # one that was cancelled before its worker had read it has no language yet
            told = re.findall(rf'hotcell_executions_total{{[^}}]*status="{status}"}} (\d+)\n', metrics(served))
            equal(sum(map(int, told)), count, f"executions that ended as {status}")
        contains(metrics(served), 'hotcell_mcp_calls_total{tool="run_code"} 3\n', "metrics")


def metrics(served):
    import urllib.request
    with urllib.request.urlopen(served.url.replace("/mcp", "/metrics")) as answer:
        return answer.read().decode()


@claim("mcp over http: who waits for long hears that we are here", who=ROOT)
def alive(person):
    with Http(person) as served:
        body = message("tools/call", {"name": "run_code", "arguments": {
            "code": "import time\ntime.sleep(11)\nprint('over')"}}, 1, MODERN)
        connection = served.connect(body, {
            "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "run_code"})
        answer = connection.getresponse()
        equal(answer.getheader("Content-Type"), "text/event-stream", "type")
        text = answer.read().decode()
        connection.close()
        check(text.startswith(": alive\n\n"), "no comment", text[:80])
        equal([text_of(result_of(m)) for m in events_of(text)], ["over\n"], "answers")


@claim("mcp over http: a token's scopes hold for tools")
def scopes(person):
    env = {"HOTCELL_STATE_DIR": person.path("state")}
    secret = person.call("token", "new", "narrow", "--scope", "execute", env=env).ok().out.strip()
    with Http(person, env=env) as served:
        headers = {"MCP-Protocol-Version": "2025-11-25"}
        run = message("tools/call", RUN, 1)
        status, found, _messages = served.post(run, headers)
        equal((status, (found["WWW-Authenticate"] or "")[:6]), (401, "Bearer"), "without a token")
        headers["Authorization"] = f"Bearer {secret}"
        equal(text_of(result_of(only(served.post(run, headers))[1])), "42\n", "what it is for")
        for tool, arguments in (("session_new", {}), ("session_list", {}),
                                ("session_exec", {"session": "a", "code": "1"})):
            asked = message("tools/call", {"name": tool, "arguments": arguments}, 1)
            result = result_of(only(served.post(asked, headers))[1])
            equal(result["isError"], True, f"isError of {tool}")
            contains(text_of(result), "needs the scope 'sessions'", "what is said")
        status, refused = only(served.post(message("resources/list", None, 1), headers))
        contains(error_of(refused, -32603), "needs the scope 'sessions'", "what is said")


@claim("mcp over http: one tenant's sessions and files are not another's")
def tenants(person):
    env = {"HOTCELL_STATE_DIR": person.path("state")}
    secrets = [person.call("token", "new", name, env=env).ok().out.strip() for name in ("ann", "bob")]
    with Http(person, env=env) as served:

        def ask(secret, method, params=None):
            headers = {"MCP-Protocol-Version": "2025-11-25", "Authorization": f"Bearer {secret}"}
            return only(served.post(message(method, params, 1), headers))[1]

        def call(secret, tool, **arguments):
            return result_of(ask(secret, "tools/call", {"name": tool, "arguments": arguments}))

        ann, bob = secrets
        equal(call(ann, "session_new", **{"name": "s"})["isError"], False, "ann's session")
        call(ann, "session_exec", session="s", code="open('f', 'w').write('hers')")
        uri = {"uri": "hotcell://session/s/f"}
        equal(result_of(ask(ann, "resources/read", uri))["contents"][0]["text"], "hers", "ann's file")
        error_of(ask(bob, "resources/read", uri), -32002)
        equal(result_of(ask(bob, "resources/list"))["resources"], [], "what bob sees")
        for tool in ("session_exec", "session_checkpoint", "session_fork", "session_kill"):
            arguments = {"session": "s", **({"code": "1"} if tool == "session_exec" else {})}
            contains(text_of(call(bob, tool, **arguments)), "no session", f"{tool} by bob")
        equal(call(bob, "session_list")["structuredContent"]["sessions"], [], "sessions bob sees")
        equal(call(ann, "session_kill", session="s")["isError"], False, "ann's own")


@claim("mcp over http: sessions outlive requests, and a client of the protocol may be any")
def sessions(person):
    with Http(person) as served:

        def call(tool, **arguments):
            answer = served.modern("tools/call", {"name": tool, "arguments": arguments})
            return result_of(only(answer)[1])

        equal(call("session_new", **{"name": "h"})["isError"], False, "session_new")
        call("session_exec", session="h", code="x = 3")
        old = served.legacy("tools/call", {"name": "session_exec",
                                           "arguments": {"session": "h", "code": "x + 1"}})
        equal(text_of(result_of(only(old)[1])), "=> 4\n", "from the other era")
        equal(call("session_kill", session="h")["isError"], False, "session_kill")


@claim("mcp over http: hostile bodies crash nothing")
def hostile(person):
    bodies = [b"\x00" * 100, b"[" * 100000, b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
              json.dumps([message("ping", None, n) for n in range(1000)]).encode(),
              json.dumps(message("tools/call", {"name": "a" * 100000}, 1)).encode(),
              json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m" * 100000}).encode(),
              b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":'
              b'{"code":' + b'"\\ud800"}}}', b"\xef\xbb\xbf{}"]
    with Http(person) as served:
        for body in bodies:
            status, _headers, _messages = served.post(body)
            check(status in (200, 400), f"status {status} for {body[:60]!r}")
        equal(only(served.legacy("ping"))[0], 200, "status of the next")
