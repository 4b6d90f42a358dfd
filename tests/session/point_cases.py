# SPDX-License-Identifier: Apache-2.0
"""Points: a session goes back to them, with its files, and branches off."""
from people import ERR_INVALID, ERR_MISSING, Sessions, background, end_of
from suite import Skip, check, claim, contains, equal, wait_until

STATE = "x, sorted(os.listdir('.')), open('f').read()"


@claim("a rollback brings variables and files back, as often as one likes")
def rollback(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        sessions.exec("a", "import os\nx = [1]\nopen('f', 'w').write('one')").is_ok()
        answer = sessions.verb("checkpoint", session="a", point="p")
        equal((answer["point"]["name"], answer["notes"]), ("p", []), "the point")
        before = sessions.value("a", STATE)
        for _ in range(3):
            sessions.exec("a", "x.append(2); os.remove('f'); open('g', 'w')\n"
                               "open('f', 'w').write('other')").is_ok()
            equal(sessions.verb("rollback", session="a", point="p")["point"]["id"],
                  answer["point"]["id"], "the point gone back to")
            equal(sessions.value("a", STATE), before, "state")
        sessions.refused(ERR_MISSING, sessions.verb, "rollback", session="a", point="q")
        sessions.refused(ERR_MISSING, sessions.verb, "rollback", session="a", point=99)
        sessions.refused(ERR_INVALID, sessions.verb, "checkpoint", session="a", point="p")
        sessions.refused(ERR_INVALID, sessions.verb, "checkpoint", session="a", point="12")
        second = sessions.verb("checkpoint", session="a")["point"]
        equal(second["parent"], answer["point"]["id"], "parent of the next")


@claim("undo takes back one turn after the other, along the line the state came by")
def undo(person):
    with Sessions(person) as sessions:
        sessions.new("a", undo=3)
        for number in range(1, 5):
            sessions.exec("a", f"import os\nx = {number}\nopen('f', 'w').write('{number}')").is_ok()
        for number in (3, 2, 1):
            sessions.verb("undo", session="a")
            equal(sessions.value("a", "x, open('f').read()"), f"({number}, '{number}')", "state")
            sessions.verb("undo", session="a")  # the look itself
        contains(sessions.refused(ERR_MISSING, sessions.verb, "undo", session="a"), "nothing left",
                 "one undo too many")
        equal(sessions.value("a", "x, open('f').read()"), "(1, '1')", "what is left")
        sessions.new("b")
        contains(sessions.refused(ERR_MISSING, sessions.verb, "undo", session="b"), "--undo",
                 "an undo where nothing is kept")


@claim("a branch goes its own way, with files of its own, and outlives what it came from")
def branches(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        sessions.exec("a", "import os, random\nx = ['a']\nopen('f', 'w').write('a')").is_ok()
        info = sessions.verb("fork", session="a", new="b")["session"]
        equal((info["name"], info["family"]), ("b", ["a"]), "the branch")
        sessions.refused(ERR_INVALID, sessions.verb, "fork", session="a", new="b")
        for turn in range(3):
            sessions.exec("b", f"x.append('b{turn}')\nopen('f', 'a').write('b')").is_ok()
            sessions.exec("a", f"x.append('a{turn}')\nopen('g{turn}', 'w')").is_ok()
        equal(sessions.value("a", STATE),
              "(['a', 'a0', 'a1', 'a2'], ['f', 'g0', 'g1', 'g2'], 'a')", "state of the first")
        equal(sessions.value("b", STATE), "(['a', 'b0', 'b1', 'b2'], ['f'], 'abbb')", "of the branch")
        check(sessions.value("a", "random.random()") != sessions.value("b", "random.random()"),
              "both draw the same numbers")
        sessions.verb("kill", session="a")
        equal(sessions.value("b", STATE), "(['a', 'b0', 'b1', 'b2'], ['f'], 'abbb')", "afterwards")
        equal(sessions.names(), ["b"], "sessions")


@claim("what a copy cannot carry is named, and there is no point then")
def cannot_carry(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        sessions.exec("a", "import threading\nstop = threading.Event()\n"
                           "threading.Thread(target=stop.wait, name='worker').start()").is_ok()
        contains(sessions.refused(ERR_INVALID, sessions.verb, "checkpoint", session="a"),
                 "worker", "the refusal")
        equal(sessions.verb("info", session="a")["points"], [], "points")
        sessions.exec("a", "stop.set()\nimport time; time.sleep(0.1)").is_ok()
        sessions.verb("checkpoint", session="a")


@claim("a rollback is refused while code runs, and forced it stops the code first")
def forced(person):
    with Sessions(person) as sessions:
        sessions.new("a")
        sessions.exec("a", "x = 1").is_ok()
        sessions.verb("checkpoint", session="a", point="p")
        turn = background(sessions, "a", "x = 2\nimport time\ntime.sleep(60)")
        wait_until(lambda: sessions.verb("info", session="a")["status"] == "busy", "the turn")
        contains(sessions.refused(6, sessions.verb, "rollback", session="a", point="p"), "busy", "")
        sessions.verb("rollback", session="a", point="p", force=True)
        end_of(turn).has_status("interrupted", 130)
        equal(sessions.value("a", "x"), "1", "x")


@claim("points are bounded in number, and what goes is told")
def bounded(person):
    with Sessions(person) as sessions:
        sessions.new("a", pids=128)
        sessions.verb("checkpoint", session="a", point="first")
        evicted = []
        for _ in range(66):
            evicted += sessions.verb("checkpoint", session="a")["evicted"]
        equal([point["id"] for point in evicted], [2, 3, 4], "what was evicted")
        points = sessions.verb("info", session="a")["points"]
        equal((len(points), points[-1]["name"]), (64, "first"), "points that are left")


@claim("a point has for itself what changed since, and not what the session has")
def memory(person):
    """A sanitized keeper copies in the same way; only our own programs are larger."""
    with Sessions(person) as sessions:
        sessions.new("a", memory="512m")
        sessions.exec("a", "data = bytearray(b'x') * (60 << 20); more = list(range(200000))").is_ok()
        for number in range(4):
            sessions.verb("checkpoint", session="a")
            sessions.exec("a", f"x = {number}").is_ok()
        info = sessions.verb("info", session="a")
        if info["private_kb"] is None:
            raise Skip("nobody may look at the memory of a process here")
        weights = [point["private_kb"] for point in info["points"]]
        check(max(weights) < 4096, f"points of {weights} kB")
        sessions.exec("a", "data[:] = bytes(60 << 20)").is_ok()
        weights = [point["private_kb"] for point in sessions.verb("info", session="a")["points"]]
        check(max(weights) < 4096, f"points of {weights} kB: they still share what one of them has")
        check(info["memory_kb"] is None or info["memory_kb"] < 150 << 10, f"a cell of {info['memory_kb']} kB")
