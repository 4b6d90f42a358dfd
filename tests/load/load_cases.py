# SPDX-License-Identifier: Apache-2.0
"""Many requests, many streams, slow and rude clients: nobody else feels them."""
import contextlib
import http.client
import json
import os
import random
import resource
import socket
import threading
import time

from leftovers import KEPT_MARGIN, descriptors, kept_descriptors
from served import Served
from suite import (HUNG_AFTER, Failure, check, claim, descendants, equal, is_sanitized, nothing_left,
                   parse_result, read, wait_until)

REQUESTS = int(os.environ.get("LOAD_REQUESTS", "1500"))
STREAMS = int(os.environ.get("LOAD_STREAMS", "200"))
MUTATIONS = int(os.environ.get("HTTP_FUZZ", "400"))
SEED = int(os.environ.get("SEED", "1"))
CLIENTS = 8
WORKERS = 4  # executions at once
LONG = 600  # seconds that all of it may take on a busy machine


def memory_kb(pid):
    for line in read(f"/proc/{pid}/status").decode().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def weigh(served):
    """Memory and descriptors of the daemon, and of keeper and workers together."""
    daemon = served.daemon.process.pid
    others = [pid for pid in descendants(daemon) if "hotcell-worker" in name_of(pid)]
    others.append(served.daemon.keeper_pid())
    return {"daemon": memory_kb(daemon), "keeper": memory_kb(others[-1]),
            "workers": max([memory_kb(pid) for pid in others[:-1]] or [0]),
            "descriptors": len(os.listdir(f"/proc/{daemon}/fd")),
            "keeper's descriptors": descriptors(others[-1]),
            "of networks and groups": kept_descriptors(others[-1])}


def name_of(pid):
    with contextlib.suppress(OSError):
        return read(f"/proc/{pid}/comm").decode()
    return ""


def rest(served):
    """Until nothing is under way; a sanitized build has no interpreters that stand ready."""
    if is_sanitized():
        wait_until(lambda: served.daemon.status()["keeper"]["lent"] == 0, "no cell to be lent")
    else:
        served.daemon.settle()


# ---- one client's requests -----------------------------------------------------------------------


def execute(served, connection):
    status, text = served.ask("POST", "/v1/execute", {"code": "print(1)"}, connection)
    equal((status, json.loads(text)["stdout"]), (200, "1\n"), "an execution")


def stream(served, connection):
    status, text = served.ask("POST", "/v1/execute", {"code": "print(1)"}, connection,
                              Accept="application/x-ndjson")
    equal((status, json.loads(text.splitlines()[-1])["event"]), (200, "done"), "a stream")


def nonsense(served, connection):
    equal(served.ask("POST", "/v1/execute", "{no json", connection)[0], 400, "nonsense")


def nowhere(served, connection):
    equal(served.ask("GET", "/v1/nowhere", None, connection)[0], 404, "no route")


def health(served, connection):
    equal(served.ask("GET", "/healthz", None, connection)[0], 200, "health")


def leave(served, _connection):
    """Asks, and does not wait for the answer."""
    gone = served.tcp()
    gone.request("POST", "/v1/execute", json.dumps({"code": "import time; time.sleep(9)"}))
    gone.close()


KINDS = (execute, health, nonsense, execute, nowhere, stream, execute, leave, health, execute)


def work(served, first, count, failures):
    """One client on a connection that it keeps."""
    connection = served.tcp()
    try:
        for number in range(first, first + count):
            KINDS[number % len(KINDS)](served, connection)
    except (Failure, OSError, http.client.HTTPException, ValueError) as problem:
        failures.append(repr(problem))
    finally:
        connection.close()


def load(served, count):
    failures = []
    each = -(-count // CLIENTS)
    clients = [threading.Thread(target=work, args=(served, i * each, each, failures))
               for i in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(LONG)
    check(not failures, "clients failed:", failures[:3])


@claim(f"load: {REQUESTS} requests, and memory and descriptors are as before")
def flat(person):
    # as many cells as there may be: a pool that only learns of demand has more of them afterwards
    with Served(person, "--log-level", "info", "--concurrency", str(WORKERS), "--warm",
                "python=64") as served:
        load(served, REQUESTS // 2)
        rest(served)
        before = weigh(served)
        load(served, REQUESTS)
        wait_until(lambda: served.daemon.status()["http"]["running"] == 0, "the last executions")
        rest(served)
        after = weigh(served)
        # a sanitizer keeps what was freed for a while
        room_kb = 300000 if is_sanitized() else 2048
        for what in ("daemon", "keeper", "workers"):
            check(after[what] <= before[what] * 1.1 + room_kb, f"{what} grew", before, after)
        what = "descriptors"
        check(after[what] <= before[what] + 16, f"{what} grew", before, after)
        # a worker that holds a cell ahead is one cell more than one that keeps a seat: some 6 each
        what = "keeper's descriptors"
        check(after[what] <= before[what] + 16 + 8 * WORKERS, f"{what} grew", before, after)
        what = "of networks and groups"
        check(after[what] <= before[what] + KEPT_MARGIN, f"descriptors {what} grew", before, after)
        execute(served, served.tcp())
    nothing_left(person)


# ---- many streams --------------------------------------------------------------------------------


def open_stream(served, code, accept="text/event-stream"):
    connection = served.tcp()
    connection.request("POST", "/v1/execute", json.dumps({"code": code}), {"Accept": accept})
    return connection


@claim(f"load: {STREAMS} event streams open at once are all served to their end")
def streams(person):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * STREAMS + 512), hard))
    try:
        with Served(person, "--concurrency", "4", "--queue", str(max(STREAMS, 16))) as served:
            # those that run hold up the others until all are there
            holders = [open_stream(served, "import time; time.sleep(3600)") for _ in range(4)]
            wait_until(lambda: served.daemon.status()["http"]["running"] == 4, "the first ones")
            waiting = [open_stream(served, "print('streamed')") for _ in range(STREAMS)]
            wait_until(lambda: served.daemon.status()["http"]["waiting"] == STREAMS, "all streams")
            equal(served.ask("GET", "/healthz")[0], 200, "health meanwhile")
            check(memory_kb(served.daemon.process.pid) < 40000 + 64 * STREAMS + 400000 * is_sanitized(),
                  "the daemon's memory", memory_kb(served.daemon.process.pid))
            for holder in holders:
                holder.close()
            for connection in waiting:
                connection.sock.settimeout(LONG)
                text = connection.getresponse().read().decode()
                check("event: done\n" in text and "streamed" in text, "a stream", text[-300:])
                connection.close()
            wait_until(lambda: served.daemon.status()["http"]["requests"] == 0, "no request left")
        nothing_left(person)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# ---- rude clients --------------------------------------------------------------------------------


def raw(served, data=b""):
    sock = socket.create_connection(("127.0.0.1", served.port), timeout=HUNG_AFTER)
    sock.sendall(data)
    return sock


def request_bytes(code, *headers):
    body = json.dumps({"code": code}).encode()
    head = ["POST /v1/execute HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


@claim("load: clients that dribble their heads and bodies hold up nobody")
def dribblers(person):
    with Served(person, "--concurrency", "2", "--queue", "4") as served:
        whole = request_bytes("print(1)")
        socks = [raw(served, whole[:i % (len(whole) - 1) + 1]) for i in range(200)]
        for round_ in range(3):
            for i, sock in enumerate(socks):
                at = i % (len(whole) - 1) + 1 + round_
                with contextlib.suppress(OSError):  # one that is refused already
                    sock.sendall(whole[at:at + 1])
            execute(served, served.tcp())
            health(served, served.tcp())
        equal(served.daemon.status()["http"]["waiting"], 0, "who waits")
        for sock in socks:
            sock.close()
        wait_until(lambda: served.daemon.status()["http"]["requests"] == 0, "none of them left")
        execute(served, served.tcp())
    nothing_left(person)


@claim("load: half-closed clients, resets and nonsense cost their own connection alone")
def rude(person):
    with Served(person, "--concurrency", "4") as served:
        for i in range(60):
            sock = raw(served, request_bytes("import time; time.sleep(0.05)"))
            if i % 3 == 0:
                sock.shutdown(socket.SHUT_WR)
            elif i % 3 == 1:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
        for data in (b"\0" * 4096, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 40000,
                     b"POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                     b"POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                     b"Content-Length: 6\r\n\r\n{}",
                     b"POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
                     b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 5000 + b"\r\n"):
            with contextlib.suppress(OSError), raw(served, data) as sock:
                sock.shutdown(socket.SHUT_WR)
                sock.settimeout(0.2)  # what is no whole request may have to wait for its end
                sock.recv(4096)
        # whoever half-closes after its request is answered or hung up on, not left alone
        with raw(served, request_bytes("print('half')")) as half:
            half.shutdown(socket.SHUT_WR)
            while half.recv(65536):
                pass
        execute(served, served.tcp())
        # a request that was never whole goes when its connection has been silent for a while
        wait_until(lambda: served.daemon.status()["http"] | {"workers": 0, "requests": 0} ==
                   {"running": 0, "waiting": 0, "requests": 0, "workers": 0}, "none of them left")
    nothing_left(person)


@claim("load: readers that stand still hold up their own runs, and the daemon's memory has an end")
def slow_readers(person):
    flood = "import sys\nwhile True: sys.stdout.write('x' * 1000)"
    count = 8
    with Served(person, "--concurrency", str(count + 2)) as served:
        before = memory_kb(served.daemon.process.pid)
        body = json.dumps({"code": flood, "output_limit": "1G", "timeout": 600}).encode()
        head = (f"POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        socks = [raw(served, head + body) for _ in range(count)]
        wait_until(lambda: served.daemon.status()["http"]["running"] == count, "all of them")
        for _ in range(10):
            execute(served, served.tcp())
            time.sleep(0.05)
        grown = memory_kb(served.daemon.process.pid) - before
        # each has its events up to STREAM_HIGH, and what a worker said beyond
        check(grown < count * 6000 + 400000 * is_sanitized(), "the daemon grew by", grown)
        for sock in socks:
            sock.close()
        wait_until(lambda: served.daemon.status()["http"]["running"] == 0, "their ends")
        result = parse_result(served.execute(code="print(1)")[1], "http")
        result.is_ok()
    nothing_left(person)


# ---- mutations -----------------------------------------------------------------------------------

SAMPLES = (
    request_bytes("print(1)"),
    request_bytes("print(1)", "Accept: text/event-stream", "Expect: 100-continue"),
    b"GET /v1/executions?limit=3&status=ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"GET /v1/sessions/x/files/a/b?x=%41 HTTP/1.1\r\nHost: localhost\r\nRange: bytes=1-2\r\n\r\n",
    b"POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"d\r\n{\"code\": \"1\"}\r\n0\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
    b"Content-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    b"OPTIONS /v1/execute HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
    b"Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: a, b\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer hct_x\r\n"
    b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n",
)
PIECES = (b"\r\n", b"\n", b"\0", b"{", b'"', b"\\u0000", b": ", b"%00", b"/../", b"-1", b"99999999999999999999",
          b"\xff\xfe", b"[" * 200, b"A" * 9000, b"chunked", b"{\"code\":{\"code\":1}}")


def mutate(random_, sample):
    data = bytearray(sample)
    for _ in range(random_.randint(1, 6)):
        at = random_.randrange(len(data) + 1)
        kind = random_.randrange(4)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << random_.randrange(8)
        elif kind == 1:
            data[at:at] = random_.choice(PIECES)
        elif kind == 2:
            del data[at:at + random_.randint(1, 40)]
        else:
            other = random_.choice(SAMPLES)
            data[at:at] = other[random_.randrange(len(other)):]
    return bytes(data)


@claim(f"load: {MUTATIONS} mutated requests, each answered or hung up on, and the daemon goes on")
def mutations(person):
    random_ = random.Random(SEED)
    with Served(person, "--concurrency", "4") as served:
        pid = served.daemon.process.pid
        for number in range(MUTATIONS):
            data = mutate(random_, random_.choice(SAMPLES))
            with contextlib.suppress(OSError), raw(served, data) as sock:
                sock.settimeout(0.02)  # one that is not whole has no answer
                sock.recv(65536)
            check(served.daemon.process.poll() is None, f"it ended after {data!r} (SEED={SEED}, {number})",
                  served.daemon.words()[-2000:])
        execute(served, served.tcp())
        equal(served.daemon.process.pid, pid, "the daemon")
        rest(served)
