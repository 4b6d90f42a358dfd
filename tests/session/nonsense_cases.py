# SPDX-License-Identifier: Apache-2.0
"""A runner that talks nonsense to the keeper, or nothing at all: its session ends, nobody else's."""
from people import ERR_INVALID, ERR_MISSING, Sessions
from suite import claim, contains, equal, wait_until

# The line is the runner's socket that is no stream; code finds it as any descriptor.
FIND_LINE = """
import os, socket
def find_line():
    for fd in sorted(map(int, os.listdir('/proc/self/fd')), reverse=True):
        try:
            s = socket.socket(fileno=os.dup(fd))
        except OSError:
            continue
        if s.type == socket.SOCK_SEQPACKET:
            return s
line = find_line()
"""
SAID = (b"nonsense", b"{}", b'{"idle":999999}', b'{"ready":true}', b'{"forked":1}', b"\\xff" * 40,
        b'{"idle":1,"more":2}', b'{"refused":7,"why":[1]}', b"[" * 2000, b"x" * 5000,
        b'{"refused":99,"why":["x"]}')


@claim("a runner that says something that is no message loses its session, and only that")
def nonsense(person):
    with Sessions(person) as sessions:
        sessions.new("other")
        sessions.exec("other", "x = 1").is_ok()
        for said in SAID:
            sessions.new("a")
            sessions.exec("a", FIND_LINE).is_ok()
            sessions.exec("a", f"line.send({said!r})\nimport time; time.sleep(30)")
            wait_until(lambda: sessions.names() == ["other"], f"the end after {said[:30]!r}")
            contains(sessions.refused(ERR_MISSING, sessions.verb, "info", session="a"),
                     "no message", "what is remembered")
        equal(sessions.value("other", "x"), "1", "x of the other")


@claim("a runner that sends descriptors, or floods its line, harms nobody")
def flood(person):
    with Sessions(person) as sessions:
        sessions.new("other")
        sessions.new("a")
        sessions.exec("a", FIND_LINE).is_ok()
        sessions.exec("a", "import array\nline.sendmsg([b'{\"idle\":1}'], [(socket.SOL_SOCKET, "
                           "socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))])")
        wait_until(lambda: sessions.names() == ["other"], "the end")
        sessions.new("a")
        sessions.exec("a", FIND_LINE).is_ok()
        sessions.exec("a", "line.setblocking(False)\nfor _ in range(100000):\n"
                           "    try: line.send(b'{\"idle\":1}')\n    except OSError: break")
        wait_until(lambda: sessions.names() == ["other"], "the end")
        equal(sessions.value("other", "1"), "1", "the other")


@claim("a request that makes no sense is refused in one sentence")
def requests(person):
    with Sessions(person) as sessions:
        for text in ('{}', '{"verb":"dance"}', '{"verb":"turn","session":"a"}', '{"verb":"info"}',
                     '{"verb":"list","what":1}', '{"verb":"new"}', '{"verb":"info","session":7}',
                     '{"verb":"rollback","session":"a"}'):
            client = sessions.daemon.client()
            answer = client.send("session", text).expect("refused")
            equal(answer.number in (ERR_INVALID, ERR_MISSING), True, f"code of {answer!r}")
        client = sessions.daemon.client()
        for _ in range(3):  # one connection, one thing after the other
            contains(client.send("session", '{"verb":"list"}').expect("session").text, "sessions", "")
