# SPDX-License-Identifier: Apache-2.0
"""hotcell mcp: tools in every era, work that does not block, and messages of strangers."""
import base64
import json
import os
import signal
import subprocess

from peer import LEGACY, MODERN, PREFIX, TOOLS, Stdio, error_of, message, result_of, text_of
from suite import HUNG_AFTER, check, claim, contains, equal, lacks, nothing_left, wait_until

SLEEP = "import time\nprint('begun', flush=True)\ntime.sleep(50)"


@claim("mcp: every version is agreed upon, lists the tools and runs code")
def eras(person):
    for version in (*LEGACY, MODERN):
        with Stdio(person, version=version) as peer:
            tools = result_of(peer.ask("tools/list"))["tools"]
            equal([tool["name"] for tool in tools], TOOLS, f"tools of {version}")
            result = peer.run("print(6 * 7)\n'v'")
            equal(text_of(result), "42\n=> 'v'\n", f"text of {version}")
            equal(result["isError"], False, "isError")
            equal("structuredContent" in result, version >= "2025-06-18", "structuredContent")
            equal("resultType" in result, version == MODERN, "resultType")
    nothing_left(person)


@claim("mcp: an unknown version is answered with the newest that begins like that")
def unknown_version(person):
    with Stdio(person) as peer:
        for wish in ("1999-01-01", MODERN, "x"):
            agreed = result_of(peer.ask("initialize", {"protocolVersion": wish, "capabilities": {},
                                                       "clientInfo": {"name": "t", "version": "1"}}))
            equal(agreed["protocolVersion"], "2025-11-25", f"version for {wish}")
        error_of(peer.ask("initialize", {}), -32602)
        answer = peer.ask("server/discover", {"_meta": {
            PREFIX + "protocolVersion": "2031-01-01", PREFIX + "clientCapabilities": {}}})
        error_of(answer, -32022)
        equal(answer["error"]["data"], {"supported": [MODERN], "requested": "2031-01-01"}, "data")


@claim("mcp: a tool says what it takes, what it returns and what it does, as far as a version can")
def lists(person):
    with Stdio(person, version=MODERN) as peer:
        whole = result_of(peer.ask("tools/list"))
        equal((whole["cacheScope"], whole["ttlMs"] > 0), ("public", True), "what may be kept")
        tools = {tool["name"]: tool for tool in whole["tools"]}
        for tool in tools.values():
            equal(tool["inputSchema"]["type"], "object", "inputSchema")
            equal(tool["inputSchema"]["additionalProperties"], False, "more arguments")
            check(len(tool["description"]) > 40, "a short description", tool)
            for name, schema in tool["inputSchema"]["properties"].items():
                check(schema["description"], f"{tool['name']}.{name} is not described")
            equal(tool["annotations"]["openWorldHint"], False, "openWorldHint")
        reading = [name for name in TOOLS if tools[name]["annotations"]["readOnlyHint"]]
        equal(reading, ["check_code", "session_list", "list_languages"], "tools that only read")
        destroying = [name for name in TOOLS if tools[name]["annotations"]["destructiveHint"]]
        equal(destroying, ["session_rollback", "session_kill"], "tools that destroy")
        equal(tools["python_exec"]["_meta"], {"hotcell/kind": "system"}, "the system tool")
        equal([n for n in TOOLS if "_meta" in tools[n]], ["python_exec"], "system tools")
    for version, lacking in (("2024-11-05", ("annotations", "outputSchema", "title")),
                             ("2025-03-26", ("outputSchema", "title")), ("2025-06-18", ())):
        with Stdio(person, version=version) as peer:
            tool = result_of(peer.ask("tools/list"))["tools"][0]
            equal([key for key in ("annotations", "outputSchema", "title") if key not in tool],
                  list(lacking), f"what a tool of {version} lacks")


@claim("mcp: code that fails is an error for the model, with line and hint; structured beside it")
def failing_code(person):
    with Stdio(person, version="2025-11-25") as peer:
        result = peer.run("x = 1\nx / 0")
        equal(result["isError"], True, "isError")
        contains(text_of(result), "error: ZeroDivisionError: division by zero\nline 2: x / 0\n", "text")
        structured = result["structuredContent"]
        equal((structured["status"], structured["error"]["line"]), ("error", 2), "structured")
        schema = result_of(peer.ask("tools/list"))["tools"][0]["outputSchema"]
        equal(sorted(structured), sorted(schema["required"]), "members that the schema promises")
        equal(sorted(structured["meta"]), sorted(schema["properties"]["meta"]["required"]), "meta")
        timed = peer.run("while True: pass", timeout=0.3)
        equal(timed["structuredContent"]["status"], "timeout", "status")
        contains(text_of(timed), "Code execution timed out after 0.3s", "text")


@claim("mcp: wrong arguments are told to the model, before 2025-11-25 as an error of the protocol")
def wrong_arguments(person):
    cases = (({"cod": "1"}, "no argument 'cod'; it takes code, language"), ({}, "'code' is missing"),
             ({"code": "1", "timeout": -1}, "timeout: '-1' is not a number"),
             ({"code": 5}, "code"), ({"code": "1", "env": ["HOME"]}, "'HOME' has no value"),
             ({"code": "1", "file": "/etc/passwd"}, "no argument 'file'"),
             ({"code": "1", "rw": ["/"]}, "no argument 'rw'"))
    with Stdio(person, version="2025-11-25") as peer, Stdio(person, version="2025-06-18") as older:
        for arguments, words in cases:
            result = peer.call("run_code", **arguments)
            equal(result["isError"], True, f"isError for {arguments}")
            contains(text_of(result), words, "what is said")
            asked = {"name": "run_code", "arguments": arguments}
            contains(error_of(older.ask("tools/call", asked), -32602), words, "what is said")
        equal(peer.run("1")["isError"], False, "the honest version")
        contains(error_of(peer.ask("tools/call", {"name": "run_cod"}), -32602),
                 "did you mean 'run_code'?", "an unknown tool")
        error_of(peer.ask("tools/call", {"name": "run_code", "arguments": [1]}), -32602)
        error_of(peer.ask("tools/call"), -32602)
        error_of(peer.ask("no/such"), -32601)
        error_of(peer.ask("prompts/list"), -32601)


@claim("mcp: pictures are blocks of their own, and the structured part says which")
def pictures(person):
    svg = "class S:\n  def _repr_svg_(self): return '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\nS()"
    png = ("import base64\nclass P:\n  def _repr_png_(self):\n"
           "    return base64.b64decode('iVBORw0KGgo=')\nP()")
    with Stdio(person, version="2025-11-25") as peer:
        result = peer.run(png)
        equal(result["content"][1], {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
              "block")
        output = result["structuredContent"]["outputs"][0]
        equal(output["metadata"]["content"], 1, "index of its block")
        lacks(output["data"], "image/png", "data")
        result = peer.run(svg)
        equal(result["content"][1]["type"], "resource", "block")
        equal(result["content"][1]["resource"]["mimeType"], "image/svg+xml", "type")


@claim("mcp: what a program prints is told while it runs, to who asked for progress")
def progress(person):
    code = "import time\nfor i in range(3):\n  print('line', i, flush=True)\n  time.sleep(0.2)"
    for version in ("2025-06-18", MODERN):
        with Stdio(person, version=version) as peer:
            asked = {"name": "run_code", "arguments": {"code": code}, "_meta": {"progressToken": "t"}}
            equal(text_of(result_of(peer.ask("tools/call", asked))), "line 0\nline 1\nline 2\n", "text")
            told = [m["params"] for m in peer.heard if m.get("method") == "notifications/progress"]
            equal({p["progressToken"] for p in told}, {"t"}, "tokens")
            values = [p["progress"] for p in told]
            check(len(values) >= 2 and values == sorted(set(values)), "no rising progress:", told)
            contains([p.get("message") for p in told], "line 0", "messages")
            peer.heard.clear()
            peer.run(code)
            equal(peer.heard, [], "what is said to who did not ask for progress")


@claim("mcp: a run blocks nothing, and a cancelled one ends without a word")
def cancellation(person):
    for version in ("2025-11-25", MODERN):
        with Stdio(person, "-j", "4", version=version) as peer:
            asked = {"name": "run_code", "arguments": {"code": SLEEP}, "_meta": {"progressToken": 1}}
            long = peer.begin("tools/call", asked)
            while not any(m.get("method") == "notifications/progress" and
                          m["params"].get("message") == "begun" for m in peer.heard):
                peer.heard.append(peer.read())
            equal(text_of(peer.run("print(1)")), "1\n", "another run meanwhile")
            peer.tell("notifications/cancelled", {"requestId": "nobody's"})
            peer.tell("notifications/cancelled", {"requestId": long, "reason": "test"})
            peer.heard.clear()
            equal(text_of(peer.run("print(2)")), "2\n", "a run behind it")
            equal([m for m in peer.heard if m.get("id") == long], [], "an answer to what was cancelled")
        nothing_left(person)


@claim("mcp: requests are answered as they end, not as they came")
def concurrency(person):
    with Stdio(person, "-j", "3", version=MODERN) as peer:
        slow = peer.begin("tools/call", {"name": "run_code", "arguments": {
            "code": "import time\ntime.sleep(1.5)\nprint('slow')"}})
        quick = peer.begin("tools/call", {"name": "run_code", "arguments": {"code": "print('quick')"}})
        first = peer.read()
        equal(first["id"], quick, "who is answered first")
        equal(text_of(result_of(peer.answer(slow))), "slow\n", "the other")


@claim("mcp: a session remembers, goes back, branches and ends")
def sessions(person):
    with Stdio(person, version="2025-11-25") as peer:
        made = peer.call("session_new", name="m1")
        equal((made["isError"], made["structuredContent"]["name"]), (False, "m1"), "the new session")
        peer.call("session_exec", session="m1", code="x = 5")
        equal(peer.call("session_checkpoint", session="m1", point="five")["structuredContent"]["point"]
              ["name"], "five", "point")
        peer.call("session_exec", session="m1", code="x = 7")
        peer.call("session_fork", session="m1", name="m2")
        contains(text_of(peer.call("session_rollback", session="m1", point="five")), "(five)", "text")
        equal(text_of(peer.call("session_exec", session="m1", code="x")), "=> 5\n", "rolled back")
        equal(text_of(peer.call("session_exec", session="m2", code="x")), "=> 7\n", "the branch")
        listed = peer.call("session_list")["structuredContent"]["sessions"]
        equal(sorted(s["name"] for s in listed), ["m1", "m2"], "sessions")
        for name in ("m1", "m2"):
            equal(peer.call("session_kill", session=name)["isError"], False, "kill")
        gone = peer.call("session_exec", session="m1", code="x")
        equal(gone["isError"], True, "a session that ended")
        contains(text_of(gone), "it was killed", "why")
        contains(text_of(peer.call("session_exec", session="never", code="x")), "no session", "why")
    person.call("serve", "--stop")


@claim("mcp: files of sessions are resources, and what an execution wrote comes as links")
def resources(person):
    with Stdio(person, version="2025-11-25") as peer, Stdio(person, version=MODERN) as modern:
        for name in ("r1", "r2"):
            peer.call("session_new", name=name)
        equal(result_of(peer.ask("resources/list"))["resources"], [], "files of the first")
        wrote = peer.call("session_exec", session="r1", code=(
            "import os\nos.mkdir('out')\nopen('out/a b.csv', 'w').write('x,y\\n')\n"
            "open('raw.bin', 'wb').write(bytes(range(256)))\nopen('.hidden', 'w').close()"))
        links = {link["uri"]: link for link in wrote["content"] if link["type"] == "resource_link"}
        equal(sorted(links), ["hotcell://session/r1/out/a%20b.csv", "hotcell://session/r1/raw.bin"],
              "links")
        link = links["hotcell://session/r1/out/a%20b.csv"]
        equal((link["name"], link["mimeType"], link["size"]), ("out/a b.csv", "text/csv", 4), "link")
        read = result_of(peer.ask("resources/read", {"uri": link["uri"]}))["contents"]
        equal(read, [{"uri": link["uri"], "mimeType": "text/csv", "text": "x,y\n"}], "the text")
        raw = result_of(modern.ask("resources/read", {"uri": "hotcell://session/r1/raw.bin"}))
        equal(base64.b64decode(raw["contents"][0]["blob"]), bytes(range(256)), "the bytes")
        equal((raw["ttlMs"], raw["cacheScope"]), (0, "private"), "what may be kept")
        peer.call("session_exec", session="r2", code="open('only', 'w').write('1')")
        names, cursor = [], {}
        while True:
            page = result_of(modern.ask("resources/list", cursor))
            names += [resource["uri"].split("/", 3)[3] for resource in page["resources"]]
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        equal(sorted(names), ["r1/.hidden", "r1/out/a%20b.csv", "r1/raw.bin", "r2/only"], "all pages")
        contains(result_of(peer.ask("resources/templates/list"))["resourceTemplates"][0]["uriTemplate"],
                 "hotcell://session/{session}", "template")
        peer.call("session_exec", session="r1", code=(
            "os.symlink('/etc/passwd', 'link')\nopen('big', 'w').truncate(5 << 20)"))
        for uri, words in (("hotcell://session/r1/none", "none"), ("hotcell://session/no/x", "no session"),
                           ("hotcell://session/r1/link", "link"), ("file:///etc/passwd", "are called"),
                           ("hotcell://session/r1/..%2f..%2fetc/passwd", ""),
                           ("hotcell://session/r1/%00", "are called"), ("hotcell://session/r1", "called")):
            contains(error_of(peer.ask("resources/read", {"uri": uri}), -32002), words, f"about {uri}")
            answer = modern.ask("resources/read", {"uri": uri})
            error_of(answer, -32602)
            equal(answer["error"]["data"], {"uri": uri}, "data")
        contains(error_of(peer.ask("resources/read", {"uri": "hotcell://session/r1/big"}), -32603),
                 "more than", "about a large file")
        error_of(peer.ask("resources/read", {"uri": 5}), -32602)
        for name in ("r1", "r2"):
            peer.call("session_kill", session=name)
    person.call("serve", "--stop")


@claim("mcp: other tools: check_code, python_exec, run_python_code, list_languages")
def other_tools(person):
    with Stdio(person, version="2025-11-25") as peer:
        report = peer.call("check_code", code="import os\nos.system('ls')")
        equal(report["structuredContent"]["verdict"], "warn", "verdict")
        contains(text_of(report), "verdict: warn\nline 1: imports os", "text")
        equal(text_of(peer.call("run_python_code", code="print(3)")), "3\n", "run_python_code")
        result = peer.call("python_exec", code="print(4)", memory="64M")
        equal(result["structuredContent"]["meta"]["execution_mode"], "python_exec_tool", "mode")
        refused = peer.call("python_exec", code="import csv", block_modules=["csv"])
        equal(refused["structuredContent"]["status"], "refused", "status")
        languages = peer.call("list_languages")["structuredContent"]["languages"]
        check("python" in [language["name"] for language in languages], "no python", languages)
        equal(text_of(peer.call("run_code", code="echo $X", language="bash", env=["X=9"])), "9\n",
              "bash with a variable")


@claim("mcp: run_file runs files of its directory, and tells of no others whether they are there")
def files(person):
    person.write(person.path("a.py"), "import sys\nprint('a', sys.argv[1:])")
    inner = person.make_dir(os.path.join(os.path.basename(person.dir), "inner"))
    person.write(os.path.join(inner, "b.sh"), "echo b")
    os.symlink("/etc/passwd", person.path("link.py"))
    with Stdio(person, version="2025-11-25") as peer:
        equal(text_of(peer.call("run_file", path="a.py", args=["1"])), "a ['1']\n", "a.py")
        equal(text_of(peer.call("run_file", path="inner/b.sh")), "b\n", "b.sh")
        said = set()
        for path in ("/etc/passwd", "/etc/none", "link.py", "inner/../../x.py", "inner", "none.py"):
            result = peer.call("run_file", path=path)
            equal(result["isError"], True, f"isError for {path}")
            said.add(text_of(result).replace(f"'{path}'", "'P'"))
        equal(len(said), 1, f"ways to say no: {said}")
    with Stdio(person, "--root", inner, version="2025-11-25") as peer:
        equal(text_of(peer.call("run_file", path="b.sh")), "b\n", "b.sh")
        equal(peer.call("run_file", path=person.path("a.py"))["isError"], True, "outside --root")
    with Stdio(person, "--no-root", version="2025-11-25") as peer:
        lacks([t["name"] for t in result_of(peer.ask("tools/list"))["tools"]], "run_file", "tools")
        error_of(peer.ask("tools/call", {"name": "run_file", "arguments": {"path": "a.py"}}), -32602)


@claim("mcp: messages of strangers are refused in one line, and the next is served")
def strangers(person):
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 40 + b"1" + b"}" * 40 + b"}"
    cases = ((b"nonsense", -32700), (b"{", -32700), (b'"text"', -32700), (b"\xff\xfe", -32700),
             (deep, -32700), (b'{"jsonrpc":"2.0","id":1,"method":"a\\u0000b"}', -32700),
             (b"{}", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
             (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
             (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
             (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
             (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
             (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
             (b'{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled"}', -32601),
             (b"[]", -32600), (b'{"jsonrpc":"2.0","id":1,"method":"x"}', -32601))
    with Stdio(person) as peer:
        for data, code in cases:
            peer.write(data + b"\n")
            error_of(peer.read(), code)
        peer.write(b"\n  \r\n")  # nothing at all
        peer.write(b'{"jsonrpc":"2.0","id":9,"result":{}}\n')  # an answer to nothing
        peer.write(b'{"jsonrpc":"2.0","method":"notifications/unknown"}\n')
        peer.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}\n')
        peer.write(b'{"jsonrpc":"2.0","id":"' + b"i" * 300 + b'","method":"ping"}\n')
        error_of(peer.read(), -32600)
        peer.write(b'{"jsonrpc":"2.0","id":"a","method":"ping"}\r\n')
        equal(peer.read(), {"jsonrpc": "2.0", "id": "a", "result": {}}, "ping")


@claim("mcp: a message that is too long is refused, not kept, and the next is served")
def long_message(person):
    with Stdio(person) as peer:
        piece = b"x" * (1 << 20)
        peer.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"')
        for _ in range(30):
            peer.write(piece)
        peer.write(b'"}}\n')
        contains(error_of(peer.read(), -32700), "too long", "what is said")
        equal(result_of(peer.ask("ping")), {}, "the next")


@claim("mcp: a batch is answered as one where the version has them, and bounded")
def batches(person):
    ping = [message("ping", None, n) for n in range(3)]
    with Stdio(person, version="2025-03-26") as peer:
        run = message("tools/call", {"name": "run_code", "arguments": {"code": "print(1)"}}, 7)
        peer.write([*ping, message("notifications/x"), run, {"jsonrpc": "2.0", "id": 8}, 5])
        answers = peer.read()
        equal(sorted(str(a["id"]) for a in answers), ["0", "1", "2", "7", "8", "None"], "ids")
        peer.write([message("notifications/x")])
        peer.write([message("ping", None, n) for n in range(33)])
        error_of(peer.read(), -32600)
    with Stdio(person, version="2025-06-18") as peer:
        peer.write(ping)
        error_of(peer.read(), -32600)
        equal(result_of(peer.ask("ping")), {}, "the next")


@claim("mcp: it ends with its input after all was answered, at once with a signal or its reader")
def ends(person):
    run = message("tools/call", {"name": "run_code", "arguments": {"code": "print(1)"}}, 1)
    path = person.write(person.path("in"), json.dumps(run))
    with open(path, "rb") as file:
        ran = person.start("mcp", stdin=file)
        out, err = ran.communicate(timeout=HUNG_AFTER)
    equal((ran.returncode, err), (0, b""), "end")
    equal(text_of(result_of(json.loads(out))), "1\n", "the answer to a file without a last newline")
    with open(person.path("out"), "wb") as out_file, open(path, "rb") as file:
        equal(person.start("mcp", stdin=file, stdout=out_file).wait(HUNG_AFTER), 0, "end")
    with open(person.path("out"), "rb") as file:
        equal(json.loads(file.read())["id"], 1, "the answer in a file")
    sleeping = json.dumps(message("tools/call", {
        "name": "run_code", "arguments": {"code": SLEEP}, "_meta": {"progressToken": 1}}, 1)).encode()
    for way in ("signal", "reader"):
        process = person.start("mcp", stdin=subprocess.PIPE)
        process.stdin.write(sleeping + b"\n")
        process.stdin.flush()
        while b"begun" not in process.stdout.readline():
            pass
        if way == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdout.close()
        equal(process.wait(HUNG_AFTER), 0, f"end by {way}")
        process.stdin.close()
        nothing_left(person)


@claim("mcp: a client that reads nothing is waited for, and loses nothing")
def slow_reader(person):
    with Stdio(person, "-j", "2", version="2025-11-25") as peer:
        big = {"name": "run_code", "arguments": {"code": "print('x' * 400000)", "max_output": "1M"}}
        numbers = [peer.begin("tools/call", big) for _ in range(6)]
        for number in numbers:
            equal(len(result_of(peer.answer(number))["structuredContent"]["stdout"]), 400001, "bytes")


@claim("mcp: an answer that is too long is an error that says so")
def long_answer(person):
    with Stdio(person, version=MODERN) as peer:
        asked = {"name": "run_code", "arguments": {"code": "print('x' * (12 << 20))", "max_output": "16M"}}
        contains(error_of(peer.ask("tools/call", asked), -32603), "over 20971520 bytes", "what is said")
        equal(text_of(peer.run("print(1)")), "1\n", "the next")


@claim("mcp: more calls than may wait are refused by name, not lost")
def too_many(person):
    with Stdio(person, "-j", "1", version=MODERN) as peer:
        asked = {"name": "run_code", "arguments": {"code": SLEEP}}
        numbers = [peer.begin("tools/call", asked) for _ in range(260)]
        refused = peer.answer(numbers[-1])
        contains(text_of(result_of(refused)), "257 calls are under way already", "what is said")
        for number in numbers:
            peer.tell("notifications/cancelled", {"requestId": number})
        wait_until(lambda: text_of(peer.run("print(1)")) == "1\n", "a run behind them")


@claim("mcp: help, and options that make no sense")
def options(person):
    contains(person.call("mcp", "--help").ok().out, "claude mcp add hotcell", "help")
    for words, said in ((("--root", "/nonexistent"), "is no directory"), (("x",), "takes no 'x'"),
                        (("--root", "/tmp", "--no-root"), "does not go with"),
                        (("-j", "0"), "--concurrency"), (("--rot", "/"), "--rot")):
        contains(person.call("mcp", *words).exits(125).err, said, f"what is said to {words}")
