# SPDX-License-Identifier: Apache-2.0
"""Faults of a daemon that serves HTTP: it is killed under load, or the machine has too little."""
import contextlib
import http.client
import json
import os
import resource
import socket
import subprocess
import threading
import time

from daemon import Daemon
from served import Served, error_of
from suite import (HUNG_AFTER, check, claim, contains, descendants, equal, nothing_left, parse_result,
                   wait_until)

CLIENTS = 6


class Crowd:
    """Clients that execute one after the other until they are told to stop, and remember the ids of
    what they were answered."""

    def __init__(self, served, code="print(1)"):
        self.served, self.code = served, code
        self.known, self.is_over = [], False
        self.threads = [threading.Thread(target=self.work) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def work(self):
        while not self.is_over:
            connection = self.served.tcp()
            try:
                while not self.is_over:
                    status, text = self.served.ask("POST", "/v1/execute", {"code": self.code}, connection)
                    if status == 200:
                        self.known.append(json.loads(text)["id"])
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.05)  # the daemon is gone
            finally:
                connection.close()

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join(HUNG_AFTER)


def recorded(person):
    """All ids in the audit log, which must be whole."""
    contains(person.call("audit", "verify").out, "ok", "the chain")
    return {record["id"] for record in json.loads(person.call("audit", "--json", "--limit", "100000").ok().out)}


@claim("killed under load: no cell survives, no answered run is missing in the audit log, the next serves")
def killed(person):
    env = {"HOTCELL_STATE_DIR": person.path("state")}
    person.env.update(env)
    with Served(person, "--concurrency", "4") as served:
        crowd = Crowd(served)
        try:
            for _ in range(3):
                before = len(crowd.known)
                wait_until(lambda: len(crowd.known) > before + 20, "some executions")
                workers = [pid for pid in descendants(served.daemon.process.pid)]
                served.daemon.kill()
                wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers
                                           if comm(pid) == "hotcell-worker"), "the workers' ends")
                served.daemon = Daemon(person, "--listen", f"127.0.0.1:{served.port}",
                                       "--concurrency", "4", path=served.daemon.path)
                wait_until(lambda: served.daemon.status()["keeper"], "a keeper")
        finally:
            crowd.end()
        missing = set(crowd.known) - recorded(person)
        equal(missing, set(), "answered and not in the audit log")
        # what they had under way at the moment is gone with them
        wait_until(lambda: served.daemon.status()["running"] == 0, "no loan")
        wait_until(lambda: served.daemon.status()["keeper"]["lent"] == 0, "no cell")
    nothing_left(person)


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


@claim("a full disk for the state is told with each run, breaks nothing, and heals", who=("root",))
def disk_full(person):
    small = person.make_dir("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", small], check=True)
    try:
        person.env["HOTCELL_STATE_DIR"] = os.path.join(small, "state")
        with Served(person) as served:
            parse_result(served.execute(code="print(1)")[1], "http").is_ok()
            filler = os.path.join(small, "filler")
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            warned = None
            for _ in range(200):  # until the page that the log is at is full, too
                status, text = served.execute(code="print(1)")
                equal(status, 200, "status with a full disk")
                result = parse_result(text, "http")
                equal(result["stdout"], "1\n", "stdout")
                warned = warned or result["meta"]["warnings"]
                if warned:
                    break
            check(warned and "audit" in warned[0], "nobody was told:", warned)
            equal(served.ask("GET", "/healthz")[0], 200, "health")
            os.unlink(filler)
            result = parse_result(served.execute(code="print(1)")[1], "http")
            equal(result["meta"]["warnings"], [], "warnings when there is room again")
    finally:
        subprocess.run(["umount", "-l", small], check=True)
    nothing_left(person)


@claim("without descriptors new connections wait, nobody else feels it, and it heals")
def no_descriptors(person):
    most = 160
    person.prefix, before = [*person.prefix, "prlimit", f"--nofile={most}"], person.prefix
    try:
        served = Served(person, "--concurrency", "2", "--queue", "4", "--warm", "")
    finally:
        person.prefix = before
    with served:
        old = served.tcp()
        served.ask("GET", "/healthz", None, old)
        flood = []
        for _ in range(300):
            sock = socket.socket()
            sock.settimeout(HUNG_AFTER)
            sock.connect(("127.0.0.1", served.port))
            flood.append(sock)
        # one that has a connection goes on, or hears clearly what is missing
        for _ in range(5):
            status, text = served.ask("POST", "/v1/execute", {"code": "print(1)"}, old)
            if status != 200:
                error = error_of(text)
                equal((status, bool(error["message"])), (503, True), "an error")
        check(served.daemon.process.poll() is None, "the daemon ended", served.daemon.words())
        silent = flood[0]
        for sock in flood[1:]:
            sock.close()
        wait_until(lambda: served.ask("GET", "/healthz")[0] == 200, "connections again")
        parse_result(served.execute(code="print(1)")[1], "http").is_ok()
        # nobody was dropped for his silence first
        silent.setblocking(False)
        with silent, contextlib.suppress(BlockingIOError):
            equal(silent.recv(1), "nothing, and no end", "what who is silent hears")
    nothing_left(person)


@claim("without processes a request is refused with the reason, and it heals", who=("user",))
def no_processes(person):
    with Served(person) as served:
        served.daemon.settle()
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        limit = [*person.prefix, "prlimit", "--pid", str(served.daemon.process.pid)]
        subprocess.run([*limit, f"--nproc=1:{hard}"], check=True)
        for _ in range(3):
            status, text = served.execute(code="print(1)")
            equal((status, error_of(text)["code"]), (503, "system"), "status and code")
            contains(error_of(text)["message"], "hotcell-worker", "the reason")
        equal(served.ask("GET", "/healthz")[0], 200, "health")
        subprocess.run([*limit, f"--nproc={hard}:{hard}"], check=True)
        parse_result(served.execute(code="print(1)")[1], "http").is_ok()
    nothing_left(person)
