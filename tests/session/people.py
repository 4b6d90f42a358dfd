# SPDX-License-Identifier: Apache-2.0
"""A daemon with sessions for a test, and the client that the tests use."""
import json
import os
import shutil

from daemon import Daemon
from suite import BUILD, HUNG_AFTER, Failure, check, equal, parse_result

ERR_INVALID, ERR_LIMIT, ERR_MISSING, ERR_BROKEN, ERR_BUSY = 1, 3, 4, 5, 6


class Refused(Failure):
    """The words of a refusal, and its code."""

    def __init__(self, line):
        code, _space, self.text = line.strip().partition(" ")
        self.code = int(code) if code.isdigit() else 0
        super().__init__(line)


class Sessions:
    """A daemon, and somebody who has sessions in it."""

    def __init__(self, person, *args):
        self.person = person
        self.daemon = Daemon(person, *args)
        self.client = os.path.join(person.build, "session-client")
        if not os.path.exists(self.client):
            shutil.copy(os.path.join(BUILD, "tests", "session-client"), self.client)

    def __enter__(self):
        return self

    def __exit__(self, kind, _value, _trace):
        """Sessions would outlive the daemon."""
        stopped = self.person.call("serve", "--stop", "--socket", self.daemon.path)
        self.daemon.process.wait(HUNG_AFTER)
        if kind is None:
            equal(stopped.code, 0, f"exit status of {stopped!r}")

    def start(self, *args, **kwargs):
        return self.person.start(*args, program=self.client,
                                 env={"HOTCELL_SOCKET": self.daemon.path}, **kwargs)

    def call(self, *args):
        process = self.start(*args)
        out, err = process.communicate(timeout=HUNG_AFTER)
        return process.returncode, out.decode(), err.decode()

    def ask_client(self, *args):
        code, out, err = self.call(*args)
        if code == 1:
            raise Refused(err.strip().splitlines()[-1] if err.strip() else "")
        check(code == 0, f"the client left with {code}: {args} {err}")
        return json.loads(out)

    def new(self, name="a", **fields):
        words = [f"{key}={value}" for key, value in fields.items()]
        return self.ask_client("new", name, *words)

    def exec(self, name, code, *words):
        """The result, whatever it is."""
        _code, out, err = self.call("exec", name, code, *words)
        result = parse_result(out, err)
        result.words = err
        return result

    def value(self, name, code):
        """What an expression is worth there."""
        result = self.exec(name, code).is_ok()
        check(result["outputs"], f"{code!r} has no value: {result['stdout']!r}")
        return result["outputs"][-1]["data"]["text/plain"]

    def verb(self, verb, **members):
        return self.ask_client("ask", json.dumps({"verb": verb, **members}))

    def refused(self, wanted, function, *args, **kwargs):
        try:
            answer = function(*args, **kwargs)
        except Refused as refusal:
            equal(refusal.code, wanted, f"code of {refusal}")
            return refusal.text
        raise Failure(f"not refused, but told {answer}")

    def names(self):
        return [session["name"] for session in self.verb("list")["sessions"]]

    def restart(self):
        """A daemon that was killed, and the next."""
        self.daemon.kill()
        path = self.daemon.path
        self.daemon = Daemon(self.person, path=path)


def background(sessions, name, code, *words):
    """A turn that goes on while the test does other things."""
    return sessions.start("exec", name, code, *words)


def end_of(process):
    out, err = process.communicate(timeout=HUNG_AFTER)
    return parse_result(out.decode(), err)


__all__ = ["Sessions", "Refused", "background", "end_of", "ERR_INVALID", "ERR_LIMIT",
           "ERR_MISSING", "ERR_BROKEN", "ERR_BUSY"]
