# SPDX-License-Identifier: Apache-2.0
"""A client that stays holds its next cell before it needs it, and is in nobody's way with it."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket

from daemon import Daemon
from suite import HUNG_AFTER, Skip, children, claim, descendants, equal, check, nothing_left, parse_result, read, wait_until

AHEAD = 1  # number of an 'ask' for later


class Http:
    """The daemon's own clients that stay: its workers."""

    def __init__(self, daemon):
        self.path = daemon.path + ".http"

    def execute(self, code, **settings):
        connection = http.client.HTTPConnection("localhost", timeout=HUNG_AFTER)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(HUNG_AFTER)
        connection.sock.connect(self.path)
        connection.request("POST", "/v1/execute", json.dumps({"code": code, **settings}))
        result = parse_result(connection.getresponse().read().decode(), "http")
        result.is_ok()
        return result


def held(daemon):
    return daemon.status()["keeper"]["ahead"]


def hold_one(daemon):
    """Has a worker hold its next cell; what asks it to run."""
    client = Http(daemon)
    client.execute("open('left', 'w').write('secret')")
    daemon.settle()
    client.execute("pass")
    wait_until(lambda: held(daemon) == 1, "a cell that is held")
    return client


def stand_ready(daemon):
    """A pool whose cells a raw client may ask for."""
    first = daemon.client()
    first.borrow()
    first.close()
    daemon.settle()


@claim("ahead: a worker holds the next cell, which is fresh and is used once")
def worker_holds(person):
    with Daemon(person) as daemon:
        http_client = hold_one(daemon)
        told = set()
        for _ in range(3):
            result = http_client.execute("import os; print(os.listdir('.'), os.urandom(8).hex())")
            equal(result["stdout"].split("]")[0], "['main.py'", "files of a fresh cell")
            equal(result["meta"]["warm"], True, "warm")
            told.add(result["stdout"])
            daemon.settle()  # who asks for the next one before it stands ready gets none
        equal(len(told), 3, "cells that draw numbers of their own")
    nothing_left(person)


@claim("ahead: what was made for a run like the last one serves no other")
def foreseen(person):
    code = "import os, sys; print(sys.argv[1:], os.environ.get('N'), os.listdir('.'), __file__)"
    with Daemon(person) as daemon:
        http_client = hold_one(daemon)
        for number in "1", "1", "2", "2", "1":
            result = http_client.execute(code, args=[number, "x"], env=[f"N={number}"])
            equal(result["stdout"], f"['{number}', 'x'] {number} ['main.py'] /home/user/main.py\n",
                  "what the run was given")
            equal(result["meta"]["warm"], True, "warm")
            daemon.settle()
        long = http_client.execute(f"{'#' * 100000}\nprint(1)")
        equal(long["stdout"], "1\n", "stdout of a long program")
        equal(http_client.execute("print(2)")["stdout"], "2\n", "stdout of a short one after it")
    nothing_left(person)


@claim("ahead: what a compiler made for the last run serves no other code")
def foreseen_build(person):
    if not shutil.which("go", path="/usr/local/bin:/usr/bin:/bin"):
        raise Skip("Go is not installed")
    code = 'package main\nimport "os"\nfunc main() { print("%s"); _ = os.Args }\n'
    with Daemon(person) as daemon:
        http_client = hold_one(daemon)
        for word in "one", "one", "one", "two", "one":
            result = http_client.execute(code % word, language="go")
            equal(result["stderr"], word, "what the program says")
            daemon.settle()
        listing = "ls /tmp /home/user"
        equal(http_client.execute(listing, language="bash")["stdout"],
              "/home/user:\nmain.bash\n\n/tmp:\n", "what a shell finds after it")
    nothing_left(person)


def cpus_of_nodes(daemon):
    """How many processors each node may use that the daemon's keeper started."""
    found = []
    for pid in descendants(daemon.keeper_pid()):
        if read(f"/proc/{pid}/comm") == b"node\n":
            with contextlib.suppress(ProcessLookupError):
                found.append(len(os.sched_getaffinity(pid)))
    return found


COUNT_CPUS = {
    "bash": "nproc",
    "python": "import os; print(len(os.sched_getaffinity(0)))",
    "javascript": "console.log(require('os').availableParallelism())",
}


@claim("ahead: a node that is held keeps off its client's processor; no program that was held has to")
def held_elsewhere(person):
    count = len(os.sched_getaffinity(0))
    for language, code in COUNT_CPUS.items():
        if language == "javascript" and not shutil.which("node", path="/usr/bin"):
            raise Skip("Node.js is not installed")
        with Daemon(person) as daemon:
            http_client = Http(daemon)
            for _ in range(4):
                result = http_client.execute(code, language=language)
                equal(result["stdout"], f"{count}\n", f"processors of a program of {language}")
                daemon.settle()
            wait_until(lambda: held(daemon) == 1, "a cell that is held")
            if person.is_root and count > 1 and language == "javascript":
                wait_until(lambda: count - 1 in cpus_of_nodes(daemon), "a node that is kept off one processor")
        nothing_left(person)


@claim("ahead: what is held and not used is had back, and the next run has another")
def had_back(person):
    with Daemon(person) as daemon:
        http_client = hold_one(daemon)
        wait_until(lambda: held(daemon) == 0, "it to be had back")
        daemon.wait_for(running=0)
        http_client.execute("print(1)")
    nothing_left(person)


@claim("ahead: granted only while nobody waits and half of the places are free")
def in_nobodys_way(person):
    with Daemon(person, "--concurrency", "2") as daemon:
        stand_ready(daemon)
        holder = daemon.client().send("ask", '{"form":"gate","spec":{}}', AHEAD)
        holder.expect("granted")
        equal(held(daemon), 1, "held")
        # the second place counts as taken by half, so there is none for later
        daemon.client().send("ask", '{"form":"gate","spec":{}}', AHEAD).expect_end()
        other, third = daemon.client(), daemon.client()
        other.borrow()
        third.borrow()  # the place of the one that is held
        holder.expect_end()
        daemon.client().send("ask", '{"form":"gate","spec":{}}', AHEAD).expect_end()
    with Daemon(person, "--concurrency", "1") as daemon:
        stand_ready(daemon)
        daemon.client().send("ask", '{"form":"gate","spec":{}}', AHEAD).expect_end()
        daemon.client().borrow()
    nothing_left(person)


@claim("ahead: none is raised for who does not need it")
def not_raised(person):
    with Daemon(person, "--parked", "0") as daemon:
        stand_ready(daemon)
        daemon.client().send("ask", '{"form":"gate","spec":{}}', AHEAD).expect("refused")
        daemon.client().borrow()
    nothing_left(person)


@claim("ahead: a cell that died while it was held costs the next run nothing but time")
def died(person):
    with Daemon(person) as daemon:
        http_client = hold_one(daemon)
        keeper = daemon.keeper_pid()
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: not read(f"/proc/{keeper}/stat") or children(keeper) == [], "its end")
        equal(http_client.execute("print(2)")["stdout"], "2\n", "the next run")
        workers = [pid for pid in children(daemon.process.pid)
                   if read(f"/proc/{pid}/comm").startswith(b"hotcell-worker")]
        check(workers, "no worker is there")
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not set(workers) & set(children(daemon.process.pid)), "their burial")
        wait_until(lambda: not daemon.status()["keeper"] or held(daemon) == 0, "its loan to end")
        equal(http_client.execute("print(3)")["stdout"], "3\n", "with another worker")
    nothing_left(person)
