# SPDX-License-Identifier: Apache-2.0
"""Many at once: throughput, a burst, and cells that stand ready by the thousand, with their memory."""
import dataclasses
import json
import statistics
import subprocess
import time

import contenders
import measure
import memory
from stage import HERE, PYTHON, RUNTIMES, STOPWATCH, ask, environment, hotcell, which

LEVELS = (1, 2, 8, 32)
HTTP_BARS = {8: 0.8}  # over HTTP, of what clients at the unix socket get
THROUGHPUT_BARS = {8: 8}  # at so many outstanding, at least so many times the bare interpreter's
PRIVATE_BARS = {"python": 819, "data": 1229}  # kB
BURST_POOL = 8
POINT_BAR = 1024  # kB that a point of small work may have for itself
STUCK_AFTER = 3  # seconds without one more cell
UNREADABLE = {"failure": "only root may look"}


@dataclasses.dataclass
class Sizes:
    """How much of each; the quick ones show that it works."""

    load_ms: int = 1000
    passes: int = 4
    burst: int = 100
    parked: int = 1000
    data: int = 40
    node: int = 8
    running: int = 8
    points: int = 20


QUICK = Sizes(load_ms=200, passes=1, burst=20, parked=40, data=4, node=2, running=2, points=4)


def lent(lender, language="python", code="pass"):
    return contenders.Contender("crowd", language, ["lent", language, code], socket=lender.socket)


def http(lender):
    return contenders.Contender("crowd", "http", ["http", "python", "pass"], socket=lender.socket)


def forks(outstanding, milliseconds):
    """Copies of an interpreter with the modules that cells have, by os.fork() and without any wall, in a second."""
    preload = json.loads((RUNTIMES / "python" / "language.json").read_text())["preload"]["base"]
    told = ask(PYTHON, str(HERE / "forks.py"), str(outstanding), str(milliseconds), *preload)
    return float(told or 0)


def throughput(stage, sizes):
    """Runs in a second, bare and lent in turn, at several numbers of outstanding requests."""
    told = [{"outstanding": level, "bare_per_s": 0, "cells_per_s": 0, "http_per_s": 0, "forks_per_s": 0}
            for level in LEVELS]
    bare = contenders.Contender("crowd", "bare", ["spawn", PYTHON, "-c", "pass"])
    with stage.lender("crowd", 64) as lender:
        rows = {"bare_per_s": bare, "cells_per_s": lent(lender), "http_per_s": http(lender)}
        measure.park(stage, rows["cells_per_s"], 2, 30)
        for one in told * sizes.passes:
            for name, row in rows.items():
                measured = measure.load(stage, row, one["outstanding"], sizes.load_ms)
                one[name] += measured.per_second / sizes.passes
                if measured.failure:
                    one["failure"] = measured.failure
            one["forks_per_s"] += forks(one["outstanding"], sizes.load_ms) / sizes.passes
    for one in told:
        if "failure" not in one:
            one["http_ratio"] = one["http_per_s"] / one["cells_per_s"]
            one["ratio"] = one["cells_per_s"] / one["bare_per_s"]
    return told


def burst(stage, sizes):
    """All at once, on a pool that is far too small for them."""
    with stage.lender("burst", BURST_POOL) as lender:
        measure.park(stage, lent(lender), BURST_POOL, 30)
        measured = measure.load(stage, lent(lender), sizes.burst, 0)
    told = {"clients": sizes.burst, "pool": BURST_POOL}
    if measured.failure:
        return told | {"failure": measured.failure}
    return told | measured.summary()


def park(stage, lender, row, count):
    """Has cells stand ready and waits for the last of them. How many do, after how many seconds."""
    reached, took_us = measure.park(stage, row, count, 120)
    began = grew = time.monotonic()
    alive = 0
    while alive < reached and time.monotonic() < grew + STUCK_AFTER:
        seen = len(memory.cells_of(lender.keeper.pid))
        if seen > alive:
            grew = time.monotonic()
        alive = max(seen, alive)
    return min(alive, reached), took_us / 1e6 + grew - began


def parked(stage, sizes):
    """As many as that alive at once: how long it takes, what they weigh, and whether they serve."""
    before_kb, before_kernel_kb = memory.available_kb(), memory.kernel_kb()
    with stage.lender("thousand", sizes.parked) as lender:
        reached, seconds = park(stage, lender, lent(lender), sizes.parked)
        told = {"wanted": sizes.parked, "reached": reached, "seconds": seconds,
                "memory_kb": before_kb - memory.available_kb(),
                "kernel_kb": memory.kernel_kb() - before_kernel_kb}
        if reached < sizes.parked:
            told["failure"] = "no more stay alive"
        weight = memory.weigh_cells(lender.keeper.pid)
        measured = measure.load(stage, lent(lender), 1, 500)
        told["serves"] = measured.summary() if measured.samples else {"failure": measured.failure}
        ended = time.monotonic()
    told["ended_seconds"] = time.monotonic() - ended
    return told, weight


def standing(stage, language, code, count):
    """What cells of a language weigh while they stand ready."""
    with stage.lender(f"standing-{language}", count) as lender:
        park(stage, lender, lent(lender, language, code), count)
        return memory.weigh_cells(lender.keeper.pid) or UNREADABLE


def running(stage, sizes):
    """What they weigh while code runs in them."""
    code = "import time; time.sleep(3)"
    with stage.lender("running", 0) as lender:
        measure.park(stage, lent(lender), 0, 30)  # its interpreter stands ready, no cell does
        plan = measure.write_plan(stage, [lent(lender, "python", code)])
        crowd = [subprocess.Popen([str(STOPWATCH), "load", "0", plan], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, cwd="/", env=environment())
                 for _ in range(sizes.running)]
        time.sleep(1.5)
        weight = memory.weigh_cells(lender.keeper.pid) or UNREADABLE
        for client in crowd:
            client.terminate()
            client.wait()
    return weight


def session(lender, *words):
    """What a command about sessions says; a failure is told as its words."""
    done = subprocess.run([hotcell(), "session", *words], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, cwd="/",
                          env=environment() | {"HOTCELL_SOCKET": lender.socket})
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def points(stage, sizes):
    """What a point has for itself, with one small turn between each and the next."""
    with stage.lender("points", 1) as lender:
        session(lender, "new", "points", "--pids", "400")
        session(lender, "exec", "points", "-c", contenders.STATE)
        for _ in range(sizes.points):
            session(lender, "checkpoint", "points")
            session(lender, "exec", "points", "-c", contenders.STEP)
        info = json.loads(session(lender, "info", "points", "--json"))
    weights_kb = [point["private_kb"] for point in info["points"]]
    if None in weights_kb:
        return UNREADABLE
    return {"points": len(weights_kb), "private_kb": round(statistics.median(weights_kb)),
            "most_kb": max(weights_kb)}


def weights(stage, sizes, python_weight, thousand):
    """All of them by name."""
    told = {"python": python_weight or UNREADABLE}
    if python_weight and thousand["reached"]:
        told["python"]["kernel_kb"] = round(thousand["kernel_kb"] / thousand["reached"])
    told["python, running"] = running(stage, sizes)
    if ask(PYTHON, "-c", contenders.DATA) is not None:
        told["data"] = standing(stage, "python", contenders.DATA, sizes.data)
    if which("node"):
        told["node"] = standing(stage, "javascript", "0", sizes.node)
    return told
