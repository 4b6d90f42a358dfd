# SPDX-License-Identifier: Apache-2.0
"""A daemon for a test, and clients that speak its protocol (src/loan/loan.h) themselves: they can
hold a loan as long as a test likes, and say what no program of ours would."""
import array
import contextlib
import json
import os
import signal
import socket
import struct

from suite import HUNG_AFTER, Failure, check, equal, wait_until

MAGIC = 0x68634C6F
HEAD = struct.Struct("=IIII")
KINDS = ("none", "ask", "info", "queued", "granted", "refused", "warm", "adopt", "lent", "end", "session",
         "settings", "revoke", "return")
ERR_INVALID, ERR_LIMIT, ERR_BROKEN = 1, 3, 5
POLICY = '{"form":"gate","spec":{}}'


class Answer:
    def __init__(self, kind, number, text, fd_count):
        self.kind, self.number, self.text, self.fd_count = kind, number, text, fd_count

    def __repr__(self):
        return f"{self.kind} {self.number} {self.text[:200]!r} with {self.fd_count} descriptors"


class Client:
    """One connection. What a test leaves open is closed with the daemon."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(HUNG_AFTER)
        self.sock.connect(path)

    def send(self, kind, text="", number=0):
        data = text.encode()
        self.sock.send(HEAD.pack(MAGIC, KINDS.index(kind), number, len(data)) + data)
        return self

    def receive(self):
        """The next message, or None: the other side hung up."""
        try:
            data, extra, _flags, _from = self.sock.recvmsg(1 << 17, socket.CMSG_SPACE(4 * 32))
        except socket.timeout:
            raise Failure(f"no answer for {HUNG_AFTER} s") from None
        except ConnectionResetError:
            return self.receive()  # the last words come after it
        fds = array.array("i")
        for _level, _kind, body in extra:
            fds.frombytes(body[:len(body) - len(body) % fds.itemsize])
        for fd in fds:
            os.close(fd)
        if not data:
            return None
        magic, kind, number, size = HEAD.unpack_from(data)
        equal((magic, size), (MAGIC, len(data) - HEAD.size), "magic and length of an answer")
        return Answer(KINDS[kind], number, data[HEAD.size:].decode(), len(fds))

    def expect(self, kind):
        answer = self.receive()
        check(answer is not None, f"hung up on, when '{kind}' was expected")
        equal(answer.kind, kind, f"kind of {answer!r}")
        return answer

    def expect_end(self):
        answer = self.receive()
        check(answer is None, f"not hung up on, but told {answer!r}")

    def ask(self, policy=POLICY):
        return self.send("ask", policy)

    def borrow(self):
        """Asks, and waits through the queue for the loan."""
        self.ask()
        return self.wait_for_loan()

    def wait_for_loan(self):
        """The places in the queue it was told on the way."""
        places = []
        while True:
            answer = self.receive()
            check(answer is not None, "hung up on while waiting for a loan")
            if answer.kind == "granted":
                return places
            equal(answer.kind, "queued", f"kind of {answer!r}")
            places.append(answer.number)

    def close(self):
        self.sock.close()


class Elsewhere(Client):
    """A client in a session of its own, as another terminal has it."""

    def __init__(self, path, uid=None):
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                # a copy of another client's connection would keep that one alive
                os.closerange(3, theirs.fileno())
                os.closerange(theirs.fileno() + 1, 4096)
                os.setsid()
                if uid is not None:
                    os.setresuid(uid, uid, uid)
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                connection.connect(path)
                socket.send_fds(theirs, [b"x"], [connection.fileno()])
                connection.close()
                theirs.recv(1)  # its process is looked at when it is accepted
            os._exit(0)
        theirs.close()
        self.hold = ours
        _data, fds, _flags, _address = socket.recv_fds(ours, 1, 1)
        check(fds, f"could not connect to {path} from another session")
        self.sock = socket.socket(fileno=fds[0])
        self.sock.settimeout(HUNG_AFTER)

    def close(self):
        super().close()
        self.hold.close()
        with contextlib.suppress(ChildProcessError):  # closed before
            os.waitpid(self.pid, 0)


class Daemon:
    """`hotcell serve`, ended with the test."""

    def __init__(self, person, *args, path=None, env=None):
        self.person = person
        self.path = path or person.path("d.sock")
        self.clients = []
        self.log = person.path(f"log-{len(person.started)}")
        with open(self.log, "wb") as log:
            # a test that wants what is under way to go on says so
            self.process = person.start("serve", "--socket", self.path, "--drain-timeout", "0", *args,
                                        stderr=log, env=env)
        self.wait_for_log("serving at")

    def __enter__(self):
        return self

    def __exit__(self, kind, _value, _trace):
        for client in self.clients:
            client.close()
        if kind is None:
            equal(self.end(), 0, "exit status of the daemon")
        else:
            self.end()

    def words(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def wait_for_log(self, text):
        wait_until(lambda: text in self.words() or self.process.poll() is not None,
                   f"'{text}' in the daemon's log")
        check(text in self.words(), f"the daemon ended and said {self.words()!r}")

    def client(self):
        self.clients.append(Client(self.path))
        return self.clients[-1]

    def elsewhere(self, uid=None):
        self.clients.append(Elsewhere(self.path, uid))
        return self.clients[-1]

    def status(self):
        client = Client(self.path)
        try:
            return json.loads(client.send("info").expect("info").text)
        finally:
            client.close()

    def wait_for(self, **wanted):
        """Until its status has these numbers."""
        found = {}

        def is_so():
            found.update(self.status())
            return all(found[key] == value for key, value in wanted.items())

        wait_until(is_so, f"{wanted}")

    def settle(self):
        """Until nothing is lent and every pool has what it wants, in the form that was asked for.
        Returns the keeper's account."""
        found = {}

        def is_settled():
            found.update(self.status()["keeper"] or {"lent": None})
            return found["lent"] == 0 and all(
                pool["whole"] == pool["parked"] >= pool["wanted"] for pool in found["pools"])

        wait_until(is_settled, "cells to stand ready")
        return found

    def keeper_pid(self):
        return self.status()["keeper"]["pid"]

    def kill(self):
        """As a crash: the keeper stays."""
        self.process.kill()
        self.process.wait(HUNG_AFTER)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(HUNG_AFTER)
