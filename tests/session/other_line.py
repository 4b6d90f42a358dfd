# SPDX-License-Identifier: Apache-2.0
"""Plays the keeper and the client of a session in any language but Python, over a real line."""
import array
import atexit
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from suite import BUILD, Failure

HUNG_AFTER = 60
LANGUAGES = {}


def pack(message):
    data = json.dumps(message).encode()
    return struct.pack(">I", len(data)) + data


def command(language):
    """What language.json says, outside of a cell."""
    runtime = os.path.join(BUILD, "runtimes", language)
    with open(os.path.join(runtime, "language.json"), encoding="utf-8") as file:
        words = json.load(file)["session"]
    return [word.replace("{runtime}", runtime) for word in words]


class Turn:
    """How one went."""

    def __init__(self):
        self.out = b""
        self.err = b""
        self.events = []

    def event(self, kind):
        return next((event for event in self.events if event["event"] == kind), None)

    @property
    def done(self):
        return self.event("done")

    @property
    def code(self):
        return self.done["exit_code"] if self.done else None

    @property
    def value(self):
        result = self.event("result")
        return result["data"]["text/plain"] if result else None

    def __repr__(self):
        return f"<out {self.out!r} err {self.err!r} events {self.events!r}>"


class Session:
    def __init__(self, language, argv=None, home=None):
        self.home = home or tempfile.mkdtemp(prefix="hotcell-session-")
        atexit.register(shutil.rmtree, self.home, ignore_errors=True)
        self.end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.end.settimeout(HUNG_AFTER)
        self.number = 0
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.home, "USER": "user", "LANG": "C.UTF-8",
               "TERM": "dumb", "TMPDIR": "/tmp"}
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.closerange(4, 256)
os.execv(sys.argv[2], sys.argv[2:])""", str(theirs.fileno()), *(argv or command(language))],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()], cwd=self.home, env=env)
        atexit.register(self.close)
        theirs.close()
        self.expect("ready")

    def close(self):
        if self.process.poll() is None:
            self.end.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def packet(self):
        data = self.end.recv(4096)
        return json.loads(data) if data else None

    def expect(self, key):
        packet = self.packet()
        if packet is None or key not in packet:
            raise Failure(f"not {key}: {packet}")
        return packet

    def say(self, message, fds=()):
        self.end.sendmsg([json.dumps(message).encode()],
                         [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])

    def interrupt(self):
        os.kill(self.process.pid, signal.SIGINT)

    def ask(self, request, stdin=b"", interrupt_at=None, slow=False, on_output=None):
        """One turn. `interrupt_at`: what must be in the output before the interrupt, or None."""
        self.number += 1
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        channel, theirs = socket.socketpair()
        self.say({"turn": self.number}, [in_read, out_write, err_write, theirs.fileno()])
        for fd in (in_read, out_write, err_write):
            os.close(fd)
        theirs.close()
        turn = Turn()
        channel.sendall(pack(request))
        waiting = {out_read: "out", err_read: "err", channel.fileno(): "channel"}
        os.set_blocking(in_write, False)
        said = b""
        deadline = time.monotonic() + HUNG_AFTER
        while waiting:
            if time.monotonic() > deadline:
                raise Failure(f"hung: {turn}")
            if in_write >= 0 and not stdin:
                os.close(in_write)
                in_write = -1
            ready, writable, _ = select.select(list(waiting), [in_write] if in_write >= 0 else [], [], 1)
            if writable:
                try:
                    stdin = stdin[os.write(in_write, stdin[:65536]):]
                except BrokenPipeError:
                    stdin = b""  # the turn is over
            for fd in ready:
                data = os.read(fd, 4096 if slow else 1 << 20)
                if not data:
                    del waiting[fd]
                elif waiting[fd] == "channel":
                    said += data
                else:
                    setattr(turn, waiting[fd], getattr(turn, waiting[fd]) + data)
                    if interrupt_at is not None and interrupt_at in turn.out + turn.err:
                        interrupt_at = None
                        self.interrupt()
        if in_write >= 0:
            os.close(in_write)
        os.close(out_read)
        os.close(err_read)
        channel.close()
        while len(said) >= 4:
            size = struct.unpack(">I", said[:4])[0]
            turn.events.append(json.loads(said[4:4 + size]))
            said = said[4 + size:]
        self.said = self.packet()
        return turn

    def run(self, code, **more):
        return self.ask({"execute": {"code": code, "name": f"<cell {self.number + 1}>"}}, **more)
