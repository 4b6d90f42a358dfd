# SPDX-License-Identifier: Apache-2.0
"""The network of a dead cell serves the next one when nothing in it has changed, and only then.

Which network it is, a cell learns from the kernel's cookie of it, which is never given twice. What
it is like, from all files that are there to be read of it.
"""
import contextlib
import http.client
import json
import socket

from daemon import Daemon
from suite import HUNG_AFTER, check, claim, equal, nothing_left

# Code of the cell. What is left out is told of the whole machine, or is a socket of this program.
LOOK = r"""
import hashlib, json, os, re, socket
SO_NETNS_COOKIE = 71
with socket.socket(socket.AF_UNIX) as own:
    cookie = own.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8).hex()
files = {}
for place, _, names in os.walk('/proc/self/net'):
    for name in names:
        path = os.path.join(place, name)
        if name in ('softnet_stat', 'rt_acct', 'rt_cache', 'protocols'):
            continue
        try:
            text = open(path).read()
        except OSError:
            continue
        text = re.sub(r'(orphan|alloc|mem) \d+', '', text) if name == 'sockstat' else text
        if name == 'netlink':  # addresses and inodes are each network's own
            text = '\n'.join(' '.join(line.split()[1:-1]) for line in text.splitlines())
        files[path[15:]] = hashlib.sha256(text.encode()).hexdigest()[:12]
print(json.dumps([cookie, files]))
"""

USE = {
    "a socket by name, and a child that holds it": r"""
import os, socket, time
s = socket.socket(socket.AF_UNIX); s.bind('\0left'); s.listen()
if os.fork() == 0:
    os.setsid(); time.sleep(60)
""",
    "a socket that asks the kernel about its routes": r"""
import socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.send(struct.pack('=IHHIIB3x', 20, 26, 0x301, 1, 0, 0))
s.recv(65536)
""",
    "descriptors on their way to each other": r"""
import array, socket
a, b = socket.socketpair()
for one in (a, b, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)):
    a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [one.fileno()]))])
""",
}

PACKETS = r"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('127.0.0.1', 0))
s.sendto(b'x', s.getsockname())
"""

ROUNDS = 8


class Cells:
    """Cells of one policy, one after the other."""

    def __init__(self, person, daemon, *options):
        self.person, self.daemon, self.options = person, daemon, options

    def run(self, code):
        self.daemon.settle()
        result = self.person.json(*self.options, "-c", code, env={"HOTCELL_SOCKET": self.daemon.path})
        return result.is_ok()

    def look(self):
        cookie, files = json.loads(self.run(LOOK).stdout)
        check(len(files) > 20, f"only {len(files)} files of the network were looked at")
        return cookie, files


@contextlib.contextmanager
def cells(person, *options):
    with Daemon(person) as daemon:
        yield Cells(person, daemon, *options)
    nothing_left(person)


@claim("network: one that was left as it was serves again, and tells nothing of who was in it")
def serves_again(person):
    with cells(person) as those:
        seen = [those.look() for _ in range(ROUNDS)]
        check(len({cookie for cookie, _ in seen}) < ROUNDS, "each cell had a network of its own")
        for _, files in seen:
            equal(files, seen[0][1], "what a cell sees of its network")


@claim("network: what a cell did in it, no later cell can see")
def nothing_is_seen(person):
    with cells(person) as those:
        _, wanted = those.look()
        for what, code in USE.items():
            for _ in range(2):
                those.run(code)
                for _ in range(3):
                    equal(those.look()[1], wanted, f"what a cell sees of its network after {what}")


@claim("network: where packets can be sent, each cell has its own")
def packets_are_private(person):
    with cells(person, "--net", "loopback") as those:
        cookies = []
        _, wanted = those.look()
        for _ in range(4):
            those.run(PACKETS)
            cookie, files = those.look()
            equal(files, wanted, "what a cell sees of its network after packets were sent")
            cookies.append(cookie)
        equal(len(set(cookies)), len(cookies), "networks")


SETTINGS = r"""
import os
print([place for place in ('/proc/sys', '/proc/sys/net') if os.path.isdir(place) and os.listdir(place)])
"""


@claim("network: its settings are out of reach")
def settings_are_hidden(person):
    with cells(person) as those:
        equal(those.run(SETTINGS).stdout.strip(), "[]", "settings that a program sees")
    with cells(person, "-l", "bash") as those:
        equal(those.run("ls -d /proc/sys/* 2>/dev/null; true").stdout, "", "the same in bash")


def ask(daemon, secret):
    """A request of somebody with a token."""
    connection = http.client.HTTPConnection("localhost", timeout=HUNG_AFTER)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(HUNG_AFTER)
    connection.sock.connect(daemon.path + ".http")
    connection.request("POST", "/v1/execute", json.dumps({"code": "1"}),
                       {"Authorization": f"Bearer {secret}"})
    equal(connection.getresponse().status, 200, "status of a request with a token")
    connection.close()


@contextlib.contextmanager
def own_state(person):
    """Tokens of nobody else's concern: one that was there once is never forgotten."""
    before = person.env.get("HOTCELL_STATE_DIR")
    person.env["HOTCELL_STATE_DIR"] = person.make_dir("state-with-tokens", 0o700)
    try:
        yield
    finally:
        del person.env["HOTCELL_STATE_DIR"]
        if before is not None:
            person.env["HOTCELL_STATE_DIR"] = before


@claim("network: from the first token on each cell has its own")
def tenants_share_nothing(person):
    with own_state(person), cells(person) as those:
        cookies = {those.look()[0] for _ in range(ROUNDS)}
        check(len(cookies) < ROUNDS, "each cell had a network of its own already")
        ask(those.daemon, person.call("token", "new", "somebody").ok().out.strip())
        later = [those.look()[0] for _ in range(ROUNDS)]
        equal(len(set(later) | cookies), len(cookies) + ROUNDS, "networks")
