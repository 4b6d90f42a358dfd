# SPDX-License-Identifier: Apache-2.0
"""A daemon that serves HTTP, for a test."""
import http.client
import json
import socket

from daemon import Daemon
from suite import HUNG_AFTER, equal


class Unix(http.client.HTTPConnection):
    """Over the socket beside the daemon's own."""

    def __init__(self, path):
        super().__init__("localhost", timeout=HUNG_AFTER)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(HUNG_AFTER)
        self.sock.connect(self.path)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def text_of(answer, path):
    """All of an answer; of the one that has no end, one event."""
    if path != "/v1/events" or answer.status != 200:
        return answer.read().decode()
    text = "".join(iter(lambda: answer.readline().decode().strip("\n"), ""))
    answer.close()
    return text


class Served:
    """A daemon with a port of its own."""

    def __init__(self, person, *options):
        self.port = free_port()
        self.daemon = Daemon(person, "--listen", f"127.0.0.1:{self.port}", *options)

    def __enter__(self):
        self.daemon.__enter__()
        return self

    def __exit__(self, *why):
        return self.daemon.__exit__(*why)

    def tcp(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=HUNG_AFTER)

    def unix(self):
        return Unix(self.daemon.path + ".http")

    def ask(self, method, path, body=None, connection=None, **headers):
        connection = connection or self.tcp()
        connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body,
                           {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, text_of(answer, path)

    def execute(self, **spec):
        return self.ask("POST", "/v1/execute", spec)


def error_of(text):
    error = json.loads(text)["error"]
    equal(sorted(error), ["code", "field", "fix", "message", "request_id"], "members of an error")
    return error
