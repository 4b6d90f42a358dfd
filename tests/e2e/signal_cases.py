# SPDX-License-Identifier: Apache-2.0
"""Interrupts, closed and slow readers, many cells at once: the end is clean and in time."""
import concurrent.futures
import fcntl
import json
import os
import signal
import subprocess
import time

from suite import (HUNG_AFTER, Failure, check, claim, contains, descendants, equal,
                   nothing_left, parse_result, read, wait_until)

SLEEP = "print('ready', flush=True); import time; time.sleep(40)"
BUSY = ("import os\n"
        "for _ in range(3): os.fork()\n"
        "print('ready', flush=True)\n"
        "while True: pass")
F_SETPIPE_SZ = 1031


def end(process, patience=15):
    """Waits for hotcell's end; returns exit status, stdout, stderr and how long it took."""
    started = time.monotonic()
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise Failure(f"no end after {patience} s; stdout {out[-200:]!r}, "
                      f"stderr {err[-200:]!r}") from None
    return process.returncode, out, err, time.monotonic() - started


def interrupt(person, number, code=SLEEP, args=()):
    process = person.start("run", "-t", "50", *args, "-c", code)
    if "--json" not in args:
        equal(process.stdout.readline(), b"ready\n", "first line")
    else:
        wait_until(lambda: any(read(f"/proc/{pid}/comm").startswith(b"python")
                               for pid in descendants(process.pid)), "the program's start")
        time.sleep(0.5)
    process.send_signal(number)
    return end(process)


@claim("SIGINT ends the run with 130 and leaves nothing")
def interrupt_int(person):
    code, _out, err, _took = interrupt(person, signal.SIGINT)
    equal(code, 130, "exit status")
    contains(err.decode(), "interrupted", "stderr")
    nothing_left(person)


@claim("SIGTERM and SIGHUP end the run and leave nothing")
def interrupt_term(person):
    for number in (signal.SIGTERM, signal.SIGHUP):
        code, _out, _err, _took = interrupt(person, number)
        check(code in (130, 128 + number), f"exit status {code} after signal {number}")
    nothing_left(person)


@claim("SIGINT ends a tree of busy processes and leaves nothing")
def interrupt_tree(person):
    code, _out, _err, _took = interrupt(person, signal.SIGINT, BUSY)
    equal(code, 130, "exit status")
    nothing_left(person)


@claim("an interrupted run is still one result, with what was printed")
def interrupt_json(person):
    code, out, _err, _took = interrupt(person, signal.SIGINT, args=["--json"])
    equal(code, 130, "exit status")
    result = parse_result(out.decode(), out)
    result.has_status("interrupted", 130)
    equal(result.stdout, "ready\n", "stdout")


@claim("an interrupted stream ends with its done event")
def interrupt_stream(person):
    process = person.start("run", "--json", "--stream", "-t", "50", "-c", SLEEP)
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if events[-1]["event"] == "stdout":
            process.send_signal(signal.SIGINT)
    equal(process.wait(HUNG_AFTER), 130, "exit status")
    equal(events[-1]["event"], "done", "last event")
    equal(events[-1]["data"]["status"], "interrupted", "status")


@claim("a program that ignores SIGINT is ended all the same")
def interrupt_ignored(person):
    code, _out, _err, _took = interrupt(
        person, signal.SIGINT, "import signal; signal.signal(2, signal.SIG_IGN)\n" + SLEEP)
    equal(code, 130, "exit status")


@claim("two interrupts are as good as one")
def interrupt_twice(person):
    process = person.start("run", "-t", "50", "-c", SLEEP)
    process.stdout.readline()
    for _ in range(5):
        process.send_signal(signal.SIGINT)
    equal(end(process)[0], 130, "exit status")
    nothing_left(person)


@claim("an interrupt at any moment of the start ends the run and leaves nothing")
def interrupt_early(person):
    for step in range(40):
        process = person.start("run", "-t", "50", "-c", SLEEP)
        time.sleep(step * 0.0005)
        process.send_signal(signal.SIGINT)
        code = end(process)[0]
        check(code in (130, -2), f"exit status {code} after {step * 0.5} ms")
    nothing_left(person)


@claim("a hang-up that our caller ignores, as nohup does, does not end the run")
def interrupt_as_nohup(person):
    process = person.start("run", "-t", "20", "-c",
                           "print('ready', flush=True); import time; time.sleep(1); print('done')",
                           preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    code, out, _err, _took = end(process)
    equal((code, out), (0, b"done\n"), "exit status and stdout")


# ---- who reads us --------------------------------------------------------------------------------


@claim("a reader that has enough ends the run at once")
def reader_leaves(person):
    started = time.monotonic()
    shell = f'"{person.hotcell}" run -t 50 -c "while True: print(12345)" | head -n 1'
    ran = subprocess.run(person.prefix + ["sh", "-c", shell], env=person.env, cwd=person.dir,
                         capture_output=True, timeout=HUNG_AFTER, check=False)
    equal(ran.stdout, b"12345\n", "what head showed")
    check(time.monotonic() - started < 20, "it took", time.monotonic() - started, "s")
    nothing_left(person)


@claim("a reader of events that leaves ends the run")
def reader_of_events_leaves(person):
    process = person.start("run", "--json", "--stream", "-t", "50", "-c",
                           "while True: print('x' * 100)")
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    code, _out, _err, took = end(process, 20)
    check(code != 0, "exit status 0 though nobody read the result")
    check(took < 20, "it took", took, "s")
    nothing_left(person)


@claim("closed streams of ours do not hang, crash or change the exit status")
def closed_streams(person):
    for redirect in (">&-", "2>&-", "<&-", ">&- 2>&-", ">&- 2>&- <&-"):
        for code, wanted in (("print(1)", 0), ("print(1); raise SystemExit(3)", 3)):
            process = subprocess.Popen(
                person.prefix + ["sh", "-c", f'exec "$0" run -t 20 -c "{code}" {redirect}',
                                 person.hotcell],
                env=person.env, cwd=person.dir, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True)
            equal(end(process)[0], wanted, f"exit status with {redirect}")
    nothing_left(person)


@claim("a closed stdout does not end up inside the cell or in a file of ours")
def no_stdout_mixup(person):
    os.makedirs(person.path("d"))
    person.own(person.path("d"))
    shell = (f'exec "{person.hotcell}" run --spill d --rw d:/data -t 20 '
             '-c "print(\'out\'); open(\'/data/x\', \'w\').write(\'inner\')" >&- 2>&- <&-')
    subprocess.run(person.prefix + ["sh", "-c", shell], env=person.env, cwd=person.dir,
                   timeout=HUNG_AFTER, check=False)
    for name in os.listdir(person.path("d")):
        with open(person.path("d/" + name), encoding="utf-8") as file:
            text = file.read()
        wanted = "inner" if name == "x" else "out\n" if name.endswith("stdout") else ""
        equal(text, wanted, f"content of {name}")


@claim("a full stdout is told, not passed over")
def full_stdout(person):
    with open("/dev/full", "wb") as full:
        process = person.start("run", "-t", "20", "--json", "-c", "print(1)", stdout=full)
        _out, err = process.communicate(timeout=HUNG_AFTER)
    equal(process.returncode, 125, "exit status of a run whose result is lost")
    contains(err.decode(), "No space left", "stderr")
    with open("/dev/full", "wb") as full:
        process = person.start("doctor", "--json", stdout=full)
        process.communicate(timeout=HUNG_AFTER)
    equal(process.returncode, 125, "exit status of a doctor who cannot be heard")


@claim("a slow reader does not delay the timeout")
def slow_reader(person):
    process = person.start("run", "-t", "1", "-c", "while True: print('x' * 1000)")
    fcntl.fcntl(process.stdout, F_SETPIPE_SZ, 4096)
    process.stdout.read(1)
    started = time.monotonic()
    # nothing is read: the cell must be gone all the same, only what it printed waits for us
    wait_until(lambda: not any(read(f"/proc/{pid}/comm").startswith(b"python")
                               for pid in descendants(process.pid)), "the end of the cell", 15)
    check(time.monotonic() - started < 10, "it took", time.monotonic() - started, "s")
    code, _out, err, _took = end(process, 20)
    equal(code, 124, "exit status")
    contains(err.decode(), "timed out", "stderr")


@claim("a reader that never reads does not keep hotcell from an interrupt")
def stuck_reader(person):
    process = person.start("run", "-t", "1", "-c", "while True: print('x' * 1000)")
    fcntl.fcntl(process.stdout, F_SETPIPE_SZ, 4096)
    time.sleep(2.5)  # the cell is over, hotcell waits for its reader
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failure("SIGTERM had no effect for 10 s") from None
    process.communicate()
    nothing_left(person)


@claim("a non-blocking stdout gets everything")
def non_blocking(person):
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, False)
    process = person.start("run", "-t", "20", "-c", "print('x' * 300000)", stdout=write_fd)
    os.close(write_fd)
    time.sleep(0.5)
    with open(read_fd, "rb") as reader:
        equal(len(reader.read()), 300001, "bytes read")
    equal(process.wait(HUNG_AFTER), 0, "exit status")
    process.stderr.close()


@claim("a non-blocking stdout gets a large result as JSON")
def non_blocking_json(person):
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, False)
    process = person.start("run", "--json", "-t", "20", "--max-output", "1M", "-c",
                           "print('x' * 300000)", stdout=write_fd)
    os.close(write_fd)
    time.sleep(0.5)
    with open(read_fd, "rb") as reader:
        text = reader.read().decode()
    equal(process.wait(HUNG_AFTER), 0, "exit status")
    process.stderr.close()
    equal(len(parse_result(text, text[-100:]).stdout), 300001, "length of stdout")


# ---- many at once --------------------------------------------------------------------------------


@claim("ten cells at once do not disturb each other")
def ten_at_once(person):
    code = ("import os, sys, time\n"
            "me = sys.argv[1]\n"
            "open('mine', 'w').write(me); open('/tmp/mine', 'w').write(me)\n"
            "time.sleep(0.3)\n"
            "others = [p for p in os.listdir('/proc') if p.isdigit()]\n"
            "print(open('mine').read(), open('/tmp/mine').read(), len(others) <= 2, len(os.listdir('/tmp')))")

    def one(number):
        return person.json("-c", code, str(number))

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        results = list(pool.map(one, range(10)))
    uids = set()
    for number, result in enumerate(results):
        result.is_ok()
        equal(result.stdout, f"{number} {number} True 1\n", f"stdout of cell {number}")
        uids.add(result.meta["isolation"]["uid"])
    if person.is_root:
        equal(len(uids), 10, "number of different uids")
    equal(len({result["id"] for result in results}), 10, "number of different ids")
    nothing_left(person)


@claim("a cell that is killed does not disturb its neighbours")
def neighbours(person):
    victims = [person.start("run", "-t", "50", "-c", SLEEP) for _ in range(3)]
    honest = [person.start("run", "-t", "50", "-c",
                           "import time; time.sleep(1); print('done')") for _ in range(3)]
    for victim in victims:
        victim.stdout.readline()
        victim.kill()
    for process in honest:
        code, out, err, _took = end(process, 30)
        equal((code, out), (0, b"done\n"), f"exit status and stdout ({err!r})")
    for victim in victims:
        victim.communicate()
    person.code("1").ok()
    nothing_left(person)


@claim("when everything is over nothing is left")
def all_over(person):
    person.code("print(1)").ok()
    nothing_left(person)
