# SPDX-License-Identifier: Apache-2.0
"""Clients that say exactly what a test wants said, over stdio and over HTTP."""
import http.client
import json
import os
import select
import socket
import subprocess
import time

from daemon import Daemon
from suite import HUNG_AFTER, Failure, check, equal

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
TOOLS = ["run_code", "run_python_code", "python_exec", "run_file", "check_code", "session_new",
         "session_exec", "session_checkpoint", "session_rollback", "session_fork", "session_list",
         "session_kill", "list_languages"]


def envelope(version=MODERN):
    """What every request of the modern era carries."""
    return {PREFIX + "protocolVersion": version, PREFIX + "clientCapabilities": {},
            PREFIX + "clientInfo": {"name": "test", "version": "1"}}


def message(method, params=None, number=None, version=None):
    whole = {"jsonrpc": "2.0", "method": method}
    if number is not None:
        whole["id"] = number
    params = dict(params or {})
    if version == MODERN:
        params["_meta"] = {**envelope(), **params.get("_meta", {})}
    if params:
        whole["params"] = params
    return whole


def result_of(answer):
    check("result" in answer, f"no result: {answer!r}")
    return answer["result"]


def error_of(answer, code):
    check("error" in answer, f"no error: {str(answer)[:300]}")
    equal(answer["error"]["code"], code, f"code of {answer['error']!r}")
    return answer["error"]["message"]


def text_of(result):
    equal(result["content"][0]["type"], "text", "first block")
    return result["content"][0]["text"]


class Stdio:
    """`hotcell mcp`, which ends with the test."""

    def __init__(self, person, *options, version=None, cwd=None, env=None):
        self.process = person.start("mcp", *options, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                    cwd=cwd or person.dir, env=env)
        self.version = version
        self.number = 0
        self.heard = []  # what came and was not asked for yet
        self.unread = b""
        if version in LEGACY:
            agreed = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                             "clientInfo": {"name": "test", "version": "1"}})
            equal(result_of(agreed)["protocolVersion"], version, "the version agreed upon")
            self.tell("notifications/initialized")

    def __enter__(self):
        return self

    def __exit__(self, kind, _value, _trace):
        self.process.stdin.close()
        if kind is None:
            equal(self.process.wait(HUNG_AFTER), 0, "exit status")
            equal(self.process.stderr.read(), b"", "stderr")

    def write(self, data):
        self.process.stdin.write(data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n")
        self.process.stdin.flush()

    def tell(self, method, params=None):
        self.write(message(method, params))

    def begin(self, method, params=None):
        """Asks and does not wait: the number of the request."""
        self.number += 1
        self.write(message(method, params, self.number, self.version))
        return self.number

    def read(self):
        fd = self.process.stdout.fileno()
        while b"\n" not in self.unread:
            if not select.select([fd], [], [], HUNG_AFTER)[0]:
                raise Failure(f"no answer for {HUNG_AFTER} s")
            data = os.read(fd, 1 << 20)
            if not data:
                raise Failure(f"the output ended: {self.unread!r} {self.process.stderr.read()!r}")
            self.unread += data
        line, _newline, self.unread = self.unread.partition(b"\n")
        return json.loads(line)

    def answer(self, number):
        for heard in self.heard:
            if isinstance(heard, dict) and heard.get("id") == number and "method" not in heard:
                self.heard.remove(heard)
                return heard
        while True:
            heard = self.read()
            if isinstance(heard, dict) and heard.get("id") == number and "method" not in heard:
                return heard
            self.heard.append(heard)

    def ask(self, method, params=None):
        return self.answer(self.begin(method, params))

    def call(self, tool, /, **arguments):
        return result_of(self.ask("tools/call", {"name": tool, "arguments": arguments}))

    def run(self, code, **arguments):
        return self.call("run_code", code=code, **arguments)


class Http:
    """A daemon with a port of its own."""

    def __init__(self, person, *options, env=None):
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            self.port = sock.getsockname()[1]
        self.daemon = Daemon(person, "--listen", f"127.0.0.1:{self.port}", *options, env=env)
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def __enter__(self):
        return self

    def __exit__(self, *why):
        return self.daemon.__exit__(*why)

    def connect(self, body, headers=None, method="POST"):
        """The connection, with the request sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HUNG_AFTER)
        whole = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                 **(headers or {})}
        data = body if isinstance(body, (str, bytes)) or body is None else json.dumps(body)
        connection.request(method, "/mcp", data, {k: v for k, v in whole.items() if v is not None})
        return connection

    def post(self, body, headers=None, method="POST"):
        """Status, headers, and the messages that came: of JSON one, of a stream all."""
        connection = self.connect(body, headers, method)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        kind = answer.getheader("Content-Type") or ""
        if kind.startswith("text/event-stream"):
            return answer.status, answer.headers, events_of(text)
        return answer.status, answer.headers, [json.loads(text)] if text else []

    def modern(self, method, params=None, number=1, **headers):
        body = message(method, params, number, MODERN)
        name = body["params"].get("name") or body["params"].get("uri")
        whole = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if name:
            whole["Mcp-Name"] = name
        whole.update({key.replace("_", "-"): value for key, value in headers.items()})
        return self.post(body, whole)

    def legacy(self, method, params=None, number=1, version="2025-11-25", session=None):
        return self.post(message(method, params, number),
                         {"MCP-Protocol-Version": version, "Mcp-Session-Id": session})

    def running(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HUNG_AFTER)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        for line in text.splitlines():
            if line.startswith("hotcell_executions_running "):
                return int(line.split()[1])
        raise Failure("no count of what runs in /metrics")


def events_of(text):
    found = []
    for block in text.split("\n\n"):
        for line in block.split("\n"):
            if line.startswith("data: "):
                found.append(json.loads(line[len("data: "):]))
    return found


def seconds(function):
    started = time.monotonic()
    function()
    return time.monotonic() - started
