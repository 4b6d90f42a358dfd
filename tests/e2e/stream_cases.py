# SPDX-License-Identifier: Apache-2.0
"""--stream: events as JSON lines while the program runs, the result as the last one."""
import json
import os
import subprocess

from suite import HUNG_AFTER, check, check_shape, claim, contains, equal, is_sanitized

EVENTS = {"status", "stdout", "stderr", "display", "result", "error", "done"}
BUNDLES = {"display", "result"}


def check_events(events):
    """What must hold for every stream."""
    for event in events:
        keys = ["data", "event", "execution_id", "seq"]
        keys += ["metadata"] if event["event"] in BUNDLES else []
        equal(sorted(event), sorted(keys), "keys of an event")
        check(event["event"] in EVENTS, "unknown event", event)
    equal([event["seq"] for event in events], list(range(len(events))), "seq")
    equal(len({event["execution_id"] for event in events}), 1, "number of execution_ids")
    equal([e["event"] for e in events].count("done"), 1, "number of done events")
    equal(events[-1]["event"], "done", "last event")
    equal(events[0]["event"], "status", "first event")
    check_shape(events[-1]["data"])
    equal(events[-1]["data"]["id"], events[0]["execution_id"], "id of the result")


def stream(person, *args, **kwargs):
    ran = person.run("--json", "--stream", *args, **kwargs)
    events = [json.loads(line) for line in ran.out.splitlines()]
    check_events(events)
    equal(events[-1]["data"]["exit_code"], ran.code, "exit_code beside the exit status")
    return events


def text_of(events, name):
    return "".join(event["data"] for event in events if event["event"] == name)


@claim("events are in order and end with the result")
def events_order(person):
    code = ("import sys, time\n"
            "for i in range(3):\n"
            "    print(i, flush=True); print('e', i, file=sys.stderr, flush=True)\n"
            "    time.sleep(0.1)")
    events = stream(person, "-c", code)
    equal(text_of(events, "stdout"), "0\n1\n2\n", "stdout in events")
    equal(text_of(events, "stderr"), "e 0\ne 1\ne 2\n", "stderr in events")
    check(len(events) >= 4, "too few events:", events)
    equal(events[-1]["data"]["stdout"], "0\n1\n2\n", "stdout of the result")


@claim("much output on both streams at once stays whole events in their order")
def events_whole(person):
    code = ("import os, threading\n"
            "def say(fd, byte):\n"
            "    for _ in range(9): os.write(fd, byte * 60000)\n"
            "threads = [threading.Thread(target=say, args=a) for a in ((1, b'o'), (2, b'e'))]\n"
            "for t in threads: t.start()\n"
            "for t in threads: t.join()")
    events = stream(person, "-c", code)
    equal(text_of(events, "stdout"), "o" * 540000, "stdout in events")
    equal(text_of(events, "stderr"), "e" * 540000, "stderr in events")


@claim("an event arrives while the program still runs")
def events_early(person):
    # it prints, then waits for an answer that only comes when the event has arrived
    code = "print('ready', flush=True); print('got', input())"
    process = person.start("run", "--json", "--stream", "--stdin", "-", "-t", "30", "-c", code,
                           stdin=subprocess.PIPE)
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if events[-1]["event"] == "stdout" and "ready" in events[-1]["data"]:
            check(process.poll() is None, "the program is over already")
            process.stdin.write(b"the answer\n")
            process.stdin.close()
    equal(process.wait(HUNG_AFTER), 0, "exit status")
    check_events(events)
    equal(text_of(events, "stdout"), "ready\ngot the answer\n", "stdout in events")


@claim("plain output arrives while the program still runs")
def plain_early(person):
    code = "print('ready', flush=True); print('got', input())"
    process = person.start("run", "--stdin", "-", "-t", "30", "-c", code, stdin=subprocess.PIPE)
    equal(process.stdout.readline(), b"ready\n", "first line")
    check(process.poll() is None, "the program is over already")
    out, err = process.communicate(b"the answer\n", timeout=HUNG_AFTER)
    equal((process.returncode, out, err), (0, b"got the answer\n", b""), "the end of it")


@claim("a character split over two writes stays whole in events")
def events_utf8(person):
    code = ("import os, time\n"
            "for byte in 'é€😀'.encode():\n"
            "    os.write(1, bytes([byte])); time.sleep(0.02)")
    events = stream(person, "-c", code)
    equal(text_of(events, "stdout"), "é€😀", "stdout in events")


@claim("bytes that are not UTF-8 become U+FFFD in events, also at the very end")
def events_not_utf8(person):
    events = stream(person, "-c", "import os; os.write(1, b'a\\xffb\\xc3')")
    equal(text_of(events, "stdout"), "a\ufffdb\ufffd", "stdout in events")


@claim("events carry everything, also what the result cuts")
def events_whole(person):
    events = stream(person, "--max-output", "1K", "-c", "print('y' * 300000)")
    equal(len(text_of(events, "stdout")), 300001, "length of stdout in events")
    check(events[-1]["data"]["meta"]["truncated"], "the result is not truncated")
    check(len(events[-1]["data"]["stdout"]) <= 1024, "the result is longer than it may be")


@claim("failures come as events too")
def events_failures(person):
    for args, status, code in (
            (["-c", "import sys; sys.exit(4)"], "error", 4),
            (["-t", "0.3", "-c", "import time; time.sleep(9)"], "timeout", 124),
            (["-c", "import os; os.kill(os.getpid(), 11)"], "signal", 139),
            (["-l", "pythn", "-c", "1"], "setup_error", 125),
            (["--exec", "--", "no-such-program"], "setup_error", 125)):
        last = stream(person, *args)[-1]["data"]
        equal((last["status"], last["exit_code"]), (status, code), f"result of {args}")


@claim("newlines, quotes and controls survive in events")
def events_controls(person):
    text = "a\"b\\c\n\t\r\0\x1b[31m\x7f"
    events = stream(person, "-c", f"import sys; sys.stdout.write({text!r})")
    equal(text_of(events, "stdout"), text, "stdout in events")
    equal(events[-1]["data"]["stdout"], text, "stdout of the result")


@claim("the warning about a stream that nobody asked for goes to stderr")
def stream_alone(person):
    ran = person.run("--stream", "-c", "1").exits(125)
    contains(ran.err, "--json", "stderr")


@claim("a flood of output is passed on, and hotcell stays small")
def flood(person):
    size = 64 << 20
    code = f"import os\nchunk = b'x' * 65535 + b'\\n'\nfor i in range({size >> 16}): os.write(1, chunk)"
    for mode in ([], ["--json"], ["--json", "--stream"]):
        process = person.start("run", *mode, "--output-limit", "1G", "-t", "120", "-c", code)
        early, peak, seen = 0, 0, 0
        while chunk := os.read(process.stdout.fileno(), 1 << 20):
            seen += len(chunk)
            peak = peak_of(process.pid) or peak
            early = early or peak
        equal(process.wait(timeout=HUNG_AFTER), 0, f"exit status with {mode}")
        check(mode == ["--json"] or seen >= size, f"{seen} bytes came with {mode}")
        # a sanitizer keeps what was freed
        check(is_sanitized() or peak - early < 4 << 10, f"{early} kB at first, {peak} kB at most with {mode}")


def peak_of(pid):
    """The most memory a process ever had, in kB; 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            return int(dict(line.split(":", 1) for line in status).get("VmHWM", "0").split()[0])
    except OSError:
        return 0
