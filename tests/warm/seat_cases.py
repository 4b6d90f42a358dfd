# SPDX-License-Identifier: Apache-2.0
"""A client that stays keeps its seat for its next cell, as long as nobody else waits for the place.

Workers stay: those of HTTP end with the daemon, those of MCP and of a batch do not. Where no cells
are parked a worker that has told its result holds none ahead: it has nothing but its seat.
"""
import contextlib
import json
import os
import signal
import threading
import time

from ahead_cases import Http
from daemon import POLICY, Client, Daemon
from peer import LEGACY, Stdio
from suite import (HUNG_AFTER, check, children, claim, equal, lacks, marked_processes, nothing_left,
                   parse_result, read, wait_until)

MARK = f"hotcell-seat-{os.getpid()}"
LOANS = 8  # that everybody must come to who shares one place


def account(daemon):
    return daemon.status()["keeper"]


def kept(daemon):
    """Seats, with a cell that is held ahead or without."""
    found = account(daemon)
    return found["seats"] + found["ahead"]


def keep_seat(daemon, count=1):
    """A raw client that has had a cell and given it back; with others that many keep seats."""
    client = daemon.client()
    client.borrow()
    client.send("return")
    wait_for_seats(daemon, count)
    return client


def wait_for_seats(daemon, count):
    wait_until(lambda: (account(daemon)["seats"], account(daemon)["lent"]) == (count, 0),
               f"{count} seats and no cell that is lent")


def say_in_vain(client, *kinds):
    """What is said to somebody who hangs up before or after it came."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for kind in kinds:
            client.send(kind, POLICY if kind == "ask" else "")


class Stayer:
    """Runs in a thread: gives back and asks again, over its seat while it has one."""

    def __init__(self, daemon, is_over):
        self.path, self.is_over = daemon.path, is_over
        self.client = None
        self.loans = self.again = 0

    def borrow(self):
        """False: it was hung up on."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.client.ask()
            while True:
                answer = self.client.receive()
                if answer is None or answer.kind == "granted":
                    return answer is not None
                equal(answer.kind, "queued", f"kind of {answer!r}")
        return False

    def leave(self):
        if self.client:
            self.client.close()
        self.client = None

    def work(self):
        while not self.is_over():
            is_seated = self.client is not None
            if not is_seated:
                self.client = Client(self.path)
            if self.borrow():
                self.loans += 1
                self.again += is_seated
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self.client.send("return")
            else:
                check(is_seated, "the daemon hung up on who had just come")
                self.leave()
        self.leave()


def all_at_once(*works):
    problems = []

    def try_one(work):
        try:
            work()
        except Exception as problem:  # told by the thread of the test
            problems.append(problem)

    threads = [threading.Thread(target=try_one, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for problem in problems:
        raise problem


# ---- what a cell over a kept seat is ---------------------------------------------------------------

LITTER = """
import os, sys, time
places = [place for place in ('.', '/tmp', '/dev/shm') if os.path.isdir(place)]
print([sorted(os.listdir(place)) for place in places], sum(map(str.isdigit, os.listdir('/proc'))))
for place in places:
    with open(place + '/left', 'w') as file:
        file.write(sys.argv[1])
sys.stdout.flush()
if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, sys.argv[1].encode())
        os.write(2, sys.argv[1].encode())
        time.sleep(0.001)
"""


@claim("seat: each run over a kept seat has a fresh cell: no file, no process, no byte of the last one")
def fresh(person):
    for options in (), ("--parked", "0"):
        with Daemon(person, "--concurrency", "1", *options) as daemon:
            http_client = Http(daemon)
            heads = set()
            for number in range(6):
                result = http_client.execute(LITTER, args=[f"secret {number};"], env=[f"MARK={MARK}"])
                heads.add(result["stdout"].partition("\n")[0])
                for other in set(range(6)) - {number}:
                    lacks(result["stdout"] + result["stderr"], f"secret {other};", f"output of run {number}")
                wait_until(lambda: not marked_processes(MARK), "the end of what the run left")
                daemon.settle()
            equal(len(heads), 1, f"what runs found, {heads}")
            lacks(heads.pop(), "left", "what all of them found")
            check(account(daemon)["again"] > 0, "no cell was had over a seat")
        nothing_left(person)


@claim("seat: the account tells who keeps a seat, and what was lent over it")
def told(person):
    with Daemon(person) as daemon:
        client = keep_seat(daemon)
        equal(daemon.status()["running"], 1, "places taken")
        equal(account(daemon)["again"], 0, "loans over seats")
        client.borrow()
        found = account(daemon)
        equal((found["seats"], found["lent"], found["again"]), (0, 1, 1), "the account of a loan over a seat")
        client.send("return")
        wait_for_seats(daemon, 1)
        client.close()
        wait_for_seats(daemon, 0)
        daemon.wait_for(running=0)
    nothing_left(person)


# ---- who loses it ----------------------------------------------------------------------------------


@claim("seat: who lost it to another runs in a cell that stood ready all the same")
def lost(person):
    for options in (), ("--parked", "0"):
        with Daemon(person, "--concurrency", "1", *options) as daemon:
            http_client = Http(daemon)
            wait_until(lambda: http_client.execute("pass")["meta"]["warm"], "a run that is warm")
            for number in range(3):
                result = http_client.execute(f"print({number})")
                equal((result["stdout"], result["meta"]["warm"]), (f"{number}\n", True), "stdout, and warm")
                wait_until(lambda: kept(daemon) == 1, "a seat")
                other = daemon.client()
                other.borrow()
                equal(kept(daemon), 0, "seats beside the other's loan")
                other.close()
                daemon.settle()
        nothing_left(person)


@claim("seat: it ends when it is not used for some seconds, and the next run has a cell all the same")
def unused(person):
    with Daemon(person, "--parked", "0") as daemon:
        http_client = Http(daemon)
        raw = keep_seat(daemon)
        http_client.execute("pass")
        raw.expect_end()
        wait_for_seats(daemon, 0)
        daemon.wait_for(running=0)
        served = account(daemon)["served"]
        equal(http_client.execute("print(1)")["stdout"], "1\n", "the next run")
        equal(account(daemon)["served"], served + 1, "cells lent")
    nothing_left(person)


@claim("seat: many runs of workers that share one place are all served by the keeper")
def batch(person):
    jobs = "".join(json.dumps({"code": f"print({number})"}) + "\n" for number in range(40))
    with Daemon(person, "--concurrency", "1") as daemon:
        env = {"HOTCELL_SOCKET": daemon.path}
        person.json("-c", "pass", env=env).is_ok()
        served = daemon.settle()["served"]
        ran = person.call("batch", "-j", "3", "-", stdin=jobs.encode(), env=env).ok()
        results = [parse_result(line, ran) for line in ran.out.splitlines()]
        equal([result.is_ok().stdout for result in results], [f"{number}\n" for number in range(40)], "what they say")
        equal([result.meta["warm"] for result in results], [True] * 40, "whether they were warm")
        check(account(daemon)["served"] >= served + 40, "some ran in cells of their own", account(daemon))
    nothing_left(person)


# ---- others ----------------------------------------------------------------------------------------


@claim("seat: with one place, who comes while another only keeps its seat takes it over")
def taken_over(person):
    with Daemon(person, "--concurrency", "1") as daemon:
        first, second = keep_seat(daemon), daemon.client()
        second.ask().expect("queued")
        say_in_vain(first, "ask")  # too late
        first.expect_end()
        second.wait_for_loan()
        equal(account(daemon)["again"], 0, "loans over seats")
    nothing_left(person)


@claim("seat: with one place, who comes while another runs is the next")
def next_in_turn(person):
    with Daemon(person, "--concurrency", "1") as daemon:
        first, second, third = daemon.client(), daemon.client(), daemon.client()
        first.borrow()
        second.ask().expect("queued")
        third.ask().expect("queued")
        say_in_vain(first, "return", "ask")
        first.expect_end()
        second.wait_for_loan()
        say_in_vain(second, "return", "ask")  # the third waited before it had its cell
        second.expect_end()
        third.wait_for_loan()
        third.send("return")  # nobody waits
        third.borrow()
        equal(account(daemon)["again"], 1, "loans over seats")
    nothing_left(person)


@claim("seat: with one place, clients that stay and never rest all make progress")
def fair(person):
    deadline = time.monotonic() + HUNG_AFTER / 2
    with Daemon(person, "--concurrency", "1") as daemon:
        http_client = Http(daemon)
        runs = []

        def is_over():
            return min(len(runs), *(one.loans for one in stayers)) >= LOANS or time.monotonic() > deadline

        def run():
            while not is_over():
                runs.append(http_client.execute("print(1)")["stdout"])

        stayers = [Stayer(daemon, is_over) for _ in range(2)]
        http_client.execute("pass")
        all_at_once(run, *(one.work for one in stayers))
        found = [len(runs), *(one.loans for one in stayers)]
        check(min(found) >= LOANS, f"one came to too little: {found} loans")
        equal(set(runs), {"1\n"}, "what the runs say")
    nothing_left(person)


@claim("seat: a daemon that drains waits for no seat, and lets nobody have another cell over it")
def drained(person):
    with Daemon(person, "--drain-timeout", str(HUNG_AFTER)) as daemon:
        idle, busy = keep_seat(daemon), daemon.client()
        busy.borrow()
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: daemon.status()["state"] == "draining", "it to drain")
        say_in_vain(idle, "ask")
        idle.expect_end()
        say_in_vain(busy, "return", "ask")
        busy.expect_end()
        equal(daemon.process.wait(HUNG_AFTER), 0, "exit status of the daemon")
    nothing_left(person)


# ---- the dead --------------------------------------------------------------------------------------


@claim("seat: a keeper that dies while seats are kept costs the next run nothing but time")
def keeper_dies(person):
    with Daemon(person, "--parked", "0") as daemon:
        http_client = Http(daemon)
        http_client.execute("pass")
        wait_for_seats(daemon, 1)
        raw = keep_seat(daemon, 2)
        keeper = daemon.keeper_pid()
        os.kill(keeper, signal.SIGKILL)
        raw.expect_end()
        wait_until(lambda: not read(f"/proc/{keeper}/stat") or children(keeper) == [], "its end")
        equal(http_client.execute("print(2)")["stdout"], "2\n", "the next run")
        wait_until(lambda: account(daemon) and account(daemon)["served"] > 0, "a cell of the next keeper")
        check(daemon.keeper_pid() != keeper, "the keeper lives")
    nothing_left(person)


def run_in(mcp, text):
    equal(mcp.run(f"print({text!r})")["structuredContent"]["stdout"], text + "\n", f"stdout of '{text}'")


@claim("seat: a daemon that dies while seats are kept costs the next run nothing, with or without another")
def daemon_dies(person):
    path = person.path("d.sock")
    first = Daemon(person, "--parked", "0", path=path)
    with Stdio(person, "-j", "1", version=LEGACY[-1], env={"HOTCELL_SOCKET": path}) as mcp:
        run_in(mcp, "before")
        wait_for_seats(first, 1)
        served = account(first)["served"]
        first.kill()
        run_in(mcp, "without a daemon")
        second = Daemon(person, "--parked", "0", path=path)
        wait_until(lambda: account(second), "the keeper that is taken over")
        equal(account(second)["served"], served + 1, "cells lent without a daemon")
        run_in(mcp, "with another")
        equal(account(second)["served"], served + 2, "cells lent, and one with another")
        wait_for_seats(second, 1)
        equal(second.status()["running"], 1, "places taken")
        keeper = second.keeper_pid()
        second.kill()
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: not read(f"/proc/{keeper}/stat"), "the keeper's end")
        run_in(mcp, "alone")
    nothing_left(person)


@claim("seat: a daemon that took a keeper over has seats back for those who wait")
def taken_with_the_keeper(person):
    for is_busy in True, False:
        first = Daemon(person)
        seated = Client(first.path)
        seated.borrow()
        if not is_busy:
            seated.send("return")
            wait_for_seats(first, 1)
        first.kill()
        with Daemon(person, "--concurrency", "1") as second:
            second.clients.append(seated)
            second.wait_for(running=1)
            waiting = second.client()
            waiting.ask().expect("queued")
            say_in_vain(seated, *(("return", "ask") if is_busy else ("ask",)))
            answer = seated.receive()
            check(answer is None, f"who waits is passed over: {answer and answer.kind}")
            waiting.wait_for_loan()
        nothing_left(person)
