# SPDX-License-Identifier: Apache-2.0
"""Plays the keeper and the client of a Python session, over a real line."""
import array
import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import struct
import subprocess
import threading

from suite import HUNG_AFTER, Failure

PYTHON = "/usr/bin/python3"
PR_SET_CHILD_SUBREAPER = 36


def pack(message):
    data = json.dumps(message, ensure_ascii=False).encode()
    return struct.pack(">I", len(data)) + data


class Turn:
    """How one went."""

    def __init__(self):
        self.out = b""
        self.err = b""
        self.events = []
        self.is_dead = False

    @property
    def done(self):
        return next((event for event in self.events if event["event"] == "done"), None)

    def event(self, kind):
        return next((event for event in self.events if event["event"] == kind), None)

    @property
    def code(self):
        return self.done["exit_code"]

    @property
    def text(self):
        """What a person sees: the output, and the value of the last expression."""
        result = self.event("result")
        value = result["data"]["text/plain"] + "\n" if result else ""
        return self.out.decode() + value

    def __repr__(self):
        return f"<out {self.out!r} err {self.err!r} events {self.events!r}>"


class Line:
    """One process of a session, seen from outside."""

    def __init__(self, end, pid, family=None):
        self.end = end
        self.pid = pid
        self.family = set() if family is None else family  # all that are not buried
        self.family.add(pid)
        self.number = 0
        self.end.settimeout(HUNG_AFTER)

    def packet(self):
        data = self.end.recv(4096)
        return json.loads(data) if data else None

    def expect(self, key):
        packet = self.packet()
        if packet is None or key not in packet:
            raise Failure(f"not {key}: {packet}")
        return packet

    def has_packet(self):
        poll = select.poll()
        poll.register(self.end, select.POLLIN)
        return bool(poll.poll(0))

    def send(self, message, fds=()):
        self.end.sendmsg([json.dumps(message).encode()],
                         [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])

    def ask(self, request, stdin=None, answers=(), interrupt=None, is_lost=False):
        """One turn. `interrupt` is called when the runner has it, with the pid; `is_lost`: there
        will be no last word."""
        self.number += 1
        turn = Turn()
        outs, errs = os.pipe(), os.pipe()
        ours, theirs = socket.socketpair()
        ins = os.pipe() if stdin is not None else (os.open("/dev/null", os.O_RDONLY), -1)
        sender = threading.Thread(target=ours.sendall, args=(pack(request),))  # it may be large
        sender.start()
        self.send({"turn": self.number}, [ins[0], outs[1], errs[1], theirs.fileno()])
        for fd in (ins[0], outs[1], errs[1]):
            os.close(fd)
        theirs.close()
        if stdin is not None:
            os.write(ins[1], stdin)
            os.close(ins[1])
        helper = None
        if interrupt:
            helper = threading.Thread(target=interrupt, args=(self.pid,))
            helper.start()
        self.follow(turn, outs[0], errs[0], ours, list(answers))
        if helper:
            helper.join()
        sender.join()
        for fd in (outs[0], errs[0]):
            os.close(fd)
        ours.close()
        if is_lost or not turn.is_dead:
            idle = self.packet()
            if idle != {"idle": self.number}:
                raise Failure(f"not idle: {idle}, {turn}")
        return turn

    def follow(self, turn, out, err, channel, answers):
        poll = select.poll()
        for fd in (out, err, channel.fileno()):
            poll.register(fd, select.POLLIN)
        received = b""
        is_over = False
        while not is_over or self.has_output(out, err):
            ready = dict(poll.poll(HUNG_AFTER * 1000))
            if not ready:
                raise Failure(f"hangs: {turn}")
            for name, fd in (("out", out), ("err", err)):
                if fd in ready:
                    data = os.read(fd, 65536)
                    setattr(turn, name, getattr(turn, name) + data)
                    if not data:
                        poll.unregister(fd)
            if channel.fileno() in ready:
                data = channel.recv(65536)
                received += data
                if not data:
                    turn.is_dead = not is_over
                    is_over = True
                    poll.unregister(channel.fileno())
            while len(received) >= 4:
                size = struct.unpack(">I", received[:4])[0]
                if len(received) < 4 + size:
                    break
                event = json.loads(received[4:4 + size])
                received = received[4 + size:]
                turn.events.append(event)
                if event["event"] == "input_request":
                    channel.sendall(pack({"input": answers.pop(0) if answers else None}))
                if event["event"] == "done":
                    is_over = True

    @staticmethod
    def has_output(out, err):
        poll = select.poll()
        for fd in (out, err):
            poll.register(fd, select.POLLIN)
        return any(what & select.POLLIN for _, what in poll.poll(0))

    def run(self, code, stdin=None, answers=(), interrupt=None, **fields):
        return self.ask({"execute": {"code": code, **fields}}, stdin, answers, interrupt)

    def question(self, **request):
        """Its answer, which is followed by the word that the turn is done."""
        turn = self.ask(request)
        if len(turn.events) != 2 or turn.code != 0:
            raise Failure(f"not one answer: {turn}")
        return turn.events[0]

    def fork(self, is_branch=False, **members):
        """A line to the copy; its notes are line.notes. Failure when it is refused."""
        self.number += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.send({"fork": self.number, "branch": is_branch, **members}, [theirs.fileno()])
        theirs.close()
        ours.settimeout(HUNG_AFTER)
        data, ancillary, _, _ = ours.recvmsg(4096, socket.CMSG_SPACE(12))
        if not data:
            raise Refused(self.expect("refused")["why"])
        packet = json.loads(data)
        if packet.get("forked") != self.number:
            raise Failure(f"not a copy: {packet}")
        copy = Line(ours, struct.unpack("3i", ancillary[0][2])[0], self.family)
        copy.notes = packet["notes"]
        return copy

    def end_process(self):
        """Kills it: copies are our children as the first one is."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.family.discard(self.pid)
        self.end.close()

    def leave(self):
        """The end that a session comes to by itself; its exit status."""
        self.send({"bye": True})
        status = os.waitpid(self.pid, 0)[1]
        self.family.discard(self.pid)
        self.end.close()
        return status


class Refused(Exception):
    """A copy that was not made; its argument says why."""


def adopt_orphans(is_on):
    """Where our module cannot be loaded, as with a sanitizer, copies are orphans: they come to us."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(is_on), 0, 0, 0)


@contextlib.contextmanager
def session(person, runtime=None, cwd=None, **env):
    """A cold one, outside a cell; what is left of it and its copies ends with the block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    runtime = runtime or os.path.join(person.build, "runtimes", "python")

    def place():
        os.dup2(theirs.fileno(), 3)
        os.closerange(4, 1024)
        if not person.is_root or os.geteuid() != person.uid:
            os.setresgid(person.uid, person.uid, person.uid)
            os.setresuid(person.uid, person.uid, person.uid)

    process = subprocess.Popen(
        [PYTHON, os.path.join(runtime, "runner.py"), "--session"], cwd=cwd or person.dir,
        env={**person.env, "PYTHONDONTWRITEBYTECODE": "1", **env}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, preexec_fn=place, close_fds=False)
    theirs.close()
    line = Line(ours, process.pid)
    adopt_orphans(True)
    try:
        line.expect("ready")
        yield line
    finally:
        adopt_orphans(False)
        for pid in sorted(line.family):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        ours.close()
        process.returncode = 0  # it is buried already
