# SPDX-License-Identifier: Apache-2.0
"""hotcell batch: many runs, results in order, failures as data, stopped and gone on with."""
import json
import os
import signal

from suite import (claim, contains, descendants, equal, nothing_left, parse_result, read,
                   wait_until)
from signal_cases import end


def lines(*jobs):
    return "".join(json.dumps(job) + "\n" for job in jobs)


def results(text):
    return [parse_result(line, "batch") for line in text.splitlines()]


@claim("batch: results come in the order of the jobs, whichever is done first")
def order(person):
    jobs = [{"code": f"import time; time.sleep({(10 - i) / 50}); print({i})"} for i in range(10)]
    ran = person.call("batch", "-j", "4", "-", stdin=lines(*jobs).encode())
    ran.ok()
    equal([r["stdout"] for r in results(ran.out)], [f"{i}\n" for i in range(10)], "outputs")
    contains(ran.err, "10 runs, 10 ok", "summary")
    nothing_left(person)


@claim("batch: a job that cannot be run is a result, and the others run")
def partial(person):
    text = ('{"code": "print(1)"}\n\n{"code": 1/0}\n{"cod": "x"}\n'
            '{"code": "exit(3)"}\n{"language": "bash", "code": "echo 2"}\n')
    ran = person.call("batch", "-", stdin=text.encode())
    ran.ok()
    found = results(ran.out)
    equal([r["status"] for r in found], ["ok", "setup_error", "setup_error", "error", "ok"],
          "statuses")
    contains(found[2]["error"]["message"], "code", "the nearest field")
    equal(found[3]["exit_code"], 3, "exit code")
    contains(ran.err, "2 ok, 1 error, 2 setup_error", "summary")


@claim("batch: --resume goes on behind the results that are there")
def resume(person):
    jobs = person.path("jobs.jsonl")
    out = person.path("out.jsonl")
    person.write(jobs, lines(*({"code": f"print({i})"} for i in range(6))))
    person.call("batch", "-q", "-o", out, jobs).ok()
    whole = read(out).decode().splitlines(keepends=True)
    again = person.call("batch", "-o", out, jobs)
    again.exits(125)
    contains(again.err, "--resume", "stderr")
    equal(read(out).decode(), "".join(whole), "what was there")
    person.write(out, "".join(whole[:2]) + whole[2][:50])  # as if it had been killed
    ran = person.call("batch", "-o", out, "--resume", jobs)
    ran.ok()
    contains(ran.err, "4 runs, 4 ok; 2 were done before", "summary")
    found = read(out).decode().splitlines(keepends=True)
    equal(found[:2], whole[:2], "the first part")
    equal([r["stdout"] for r in results("".join(found))], [f"{i}\n" for i in range(6)], "outputs")


@claim("batch: SIGINT stops it, and what was written can be gone on with")
def stopped(person):
    jobs = person.path("jobs.jsonl")
    out = person.path("out.jsonl")
    person.write(jobs, lines({"code": "print(0)"}, {"code": "import time; time.sleep(50)"},
                             {"code": "print(2)"}))
    process = person.start("batch", "-j", "1", "-o", out, jobs)
    wait_until(lambda: os.path.exists(out) and read(out).count(b"\n") == 1, "the first result")
    process.send_signal(signal.SIGINT)
    code, _out, err, _took = end(process)
    equal(code, 130, "exit status")
    contains(err.decode(), "interrupted", "stderr")
    nothing_left(person)
    found = results(read(out).decode())
    equal([r["stdout"] for r in found], ["0\n"], "what was written")


@claim("batch: a worker that dies costs its own job alone")
def dead_worker(person):
    jobs = [{"code": "import time; time.sleep(50)"}, {"code": "print(1)"}, {"code": "print(2)"}]
    process = person.start("batch", "-j", "1", "-", stdin=-1)
    process.stdin.write(lines(*jobs).encode())
    process.stdin.close()
    process.stdin = None

    def workers():
        return [pid for pid in descendants(process.pid)
                if read(f"/proc/{pid}/comm") == b"hotcell-worker\n"]

    wait_until(lambda: any(read(f"/proc/{pid}/comm").startswith(b"python")
                           for pid in descendants(process.pid)), "the program's start")
    os.kill(workers()[0], signal.SIGKILL)
    code, out, _err, _took = end(process)
    equal(code, 0, "exit status")
    found = results(out.decode())
    equal([r["status"] for r in found], ["setup_error", "ok", "ok"], "statuses")
    contains(found[0]["error"]["message"], "line 1: the worker that ran it died", "message")
    nothing_left(person)


@claim("batch: bad words get one sentence")
def bad_words(person):
    for args, word in ((("batch",), "needs one file"), (("batch", "-j", "0", "-"), "--concurrency"),
                       (("batch", "--resume", "-"), "--output"),
                       (("batch", "/nonexistent"), "/nonexistent")):
        ran = person.call(*args)
        ran.exits(125)
        contains(ran.err, word, "stderr")
        equal(ran.err.count("\n"), 1, "lines")
