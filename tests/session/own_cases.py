# SPDX-License-Identifier: Apache-2.0
"""A language whose runner keeps points of its own: one of the test's, in which code is a word."""
import json
import os

from people import ERR_INVALID, ERR_MISSING, Sessions
from suite import ROOT, USER, claim, contains, equal

ONE = ROOT if os.geteuid() == 0 else USER
LANGUAGE = {
    "name": "words", "title": "Words", "program": "main.words", "endings": [".words"],
    "argv": ["/usr/bin/cat", "{file}"], "package": "words", "points": "own",
    "session": ["/usr/bin/python3", "{runtime}/session.py"],
}
# Remembers the words it was given. `stubborn` refuses points from then on, `mad` says nonsense
# when it is asked for one; `kept` prints the points it keeps, `write` and `size` are about a file.
RUNNER = r'''
import array, json, os, socket, struct
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, 3)
words, points = [], {}

def say(**members):
    line.send(json.dumps(members).encode())

def frame(channel, message=None):
    if message is not None:
        data = json.dumps(message).encode()
        return channel.sendall(struct.pack(">I", len(data)) + data)
    size = struct.unpack(">I", channel.recv(4, socket.MSG_WAITALL))[0]
    return json.loads(channel.recv(size, socket.MSG_WAITALL))

def serve_turn(number, fds):
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fds[3])
    code = frame(channel).get("execute", {}).get("code", "").strip()
    if code == "kept":
        os.write(fds[1], (" ".join(map(str, sorted(points))) + "\n").encode())
    elif code == "write":
        open("file", "a").write("x")
    elif code == "size":
        os.write(fds[1], b"%d\n" % os.path.getsize("file"))
    elif code:
        words.append(code)
        os.write(fds[1], (" ".join(words) + "\n").encode())
    for fd in fds[:3]:
        os.close(fd)
    frame(channel, {"event": "done", "exit_code": 0, "execution_count": len(words), "interrupted": False})
    channel.close()
    say(idle=number)

say(ready=True)
while True:
    data, ancillary, _, _ = line.recvmsg(4096, socket.CMSG_SPACE(16))
    if not data:
        break
    packet = json.loads(data)
    fds = array.array("i")
    for _level, _kind, given in ancillary:
        fds.frombytes(given)
    if "turn" in packet:
        serve_turn(packet["turn"], list(fds))
    elif "drop" in packet:
        points.pop(packet["drop"], None)
    elif "mad" in words:
        say(done=packet.get("point", 1) + 1000)
    elif "point" in packet and "stubborn" in words:
        say(refused=packet["point"], why=["a stubborn word"])
    elif "point" in packet:
        points[packet["point"]] = list(words)
        say(done=packet["point"], notes=["a note"])
    elif "rollback" in packet:
        words[:] = points[packet["rollback"]]
        say(done=packet["rollback"])
'''


class Words(Sessions):
    """Sessions of that language."""

    def __init__(self, person):
        place = os.path.join(person.home, ".config/hotcell/runtimes/words")
        os.makedirs(place, exist_ok=True)
        self.paths = [os.path.join(place, name) for name in ("language.json", "session.py")]
        for path, text in zip(self.paths, (json.dumps(LANGUAGE), RUNNER)):
            person.write(path, text)
        super().__init__(person)

    def __exit__(self, *how):
        super().__exit__(*how)
        for path in self.paths:
            os.unlink(path)

    def say(self, word, name="a"):
        return self.exec(name, word).is_ok()["stdout"].strip()


@claim("own points: a runner goes back by itself, and the files with it", ONE)
def back(person):
    with Words(person) as sessions:
        equal(sessions.new("a", language="words")["covers"], "own", "what its points cover")
        equal([sessions.say("one"), sessions.say("two")], ["one", "one two"], "words")
        sessions.say("write")
        answer = sessions.verb("checkpoint", session="a", point="p")
        equal(answer["notes"], ["a note"], "what the runner had to tell")
        for _ in range(2):
            sessions.say("write")
            sessions.say("three")
            sessions.verb("rollback", session="a", point="p")
            equal(sessions.say("four"), "one two four", "words after going back")
            equal(sessions.say("size"), "1", "size of the file")


@claim("own points: one that is dropped is told, and undo uses its point up", ONE)
def dropped(person):
    with Words(person) as sessions:
        sessions.new("a", language="words", undo=2)
        for word in ("one", "two", "three", "four"):
            sessions.say(word)
        equal(sessions.say("kept"), "4 5", "points that are kept")
        sessions.verb("undo", session="a")
        sessions.verb("undo", session="a")
        equal(sessions.say("five"), "one two three five", "words after undo")


@claim("own points: a refusal tells why, and there is no point and no branch then", ONE)
def refused(person):
    with Words(person) as sessions:
        sessions.new("a", language="words")
        sessions.say("stubborn")
        contains(sessions.refused(ERR_INVALID, sessions.verb, "checkpoint", session="a"),
                 "a stubborn word", "the refusal")
        equal(sessions.verb("info", session="a")["points"], [], "points")
        contains(sessions.refused(ERR_INVALID, sessions.verb, "fork", session="a", new="b"),
                 "cannot be branched", "a branch")
        equal(sessions.say("more"), "stubborn more", "the session goes on")


@claim("own points: a runner that answers what it was not asked loses its session", ONE)
def mad(person):
    with Words(person) as sessions:
        sessions.new("a", language="words")
        sessions.say("mad")
        contains(sessions.refused(ERR_MISSING, sessions.verb, "checkpoint", session="a"),
                 "no message", "why it ended")
        equal(sessions.names(), [], "sessions")
