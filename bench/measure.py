# SPDX-License-Identifier: Apache-2.0
"""Runs the stopwatch and makes sense of what it says."""
import dataclasses
import statistics
import subprocess
import threading

from stage import STOPWATCH, environment

# Seconds after which nothing more is to be expected: of a contender that only begins, of one of its
# runs, and of a crowd beyond its time. A cell that never stands ready costs the first of them.
BEGINS_WITHIN, RUNS_WITHIN, ENDS_WITHIN = 30, 5, 60
QUANTILES = {"p25": 25, "p50": 50, "p95": 95, "p99": 99}


def quantile(samples, percent):
    """The smallest sample that so many percent are not above."""
    return sorted(samples)[max(0, -(-len(samples) * percent // 100) - 1)]


@dataclasses.dataclass
class Measured:
    """The samples of one contender in microseconds, or why there are none."""

    samples: list = dataclasses.field(default_factory=list)
    warm: int = 0
    failure: str = None
    per_second: float = 0  # of all clients together

    def value(self, name):
        if name == "p50":
            return statistics.median(self.samples)
        return quantile(self.samples, QUANTILES[name])

    def summary(self):
        told = {f"{name}_us": round(self.value(name)) for name in QUANTILES}
        return told | {"min_us": min(self.samples), "max_us": max(self.samples),
                       "samples": len(self.samples), "warm": self.warm}


def parse(text):
    """The stopwatch's lines: NAME, then the number of warm results and the samples, or a failure."""
    found = {}
    for line in text.splitlines():
        name, *values = line.split("\t")
        if not values or values[0].startswith("failed: "):
            found[name] = Measured(failure=(values or ["it said nothing"])[0].removeprefix("failed: "))
        else:
            found[name] = Measured([int(value) for value in values[1:]], int(values[0]))
    return found


def write_plan(stage, rows):
    plan = stage.work / "plan"
    plan.write_text("".join("\t".join([row.name, str(row.every), row.socket, *row.words]) + "\n"
                            for row in rows))
    return str(plan)


def rounds(stage, rows, count):
    done = subprocess.run([str(STOPWATCH), "rounds", str(count), write_plan(stage, rows)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
                          cwd="/", env=environment(),
                          timeout=len(rows) * (BEGINS_WITHIN + count * RUNS_WITHIN))
    return parse(done.stdout)


def load(stage, row, clients, milliseconds):
    """So many clients at once, each running the contender over and over; all their samples."""
    plan = write_plan(stage, [row])
    crowd = [subprocess.Popen([str(STOPWATCH), "load", str(milliseconds), plan],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
                              env=environment()) for _ in range(clients)]
    deadline = threading.Timer(milliseconds / 1000 + BEGINS_WITHIN + ENDS_WITHIN, end_all, [crowd])
    deadline.start()
    try:
        return hear_all(crowd)
    finally:
        deadline.cancel()
        end_all(crowd)


def end_all(crowd):
    for client in crowd:
        if client.poll() is None:
            client.kill()


def hear_all(crowd):
    for client in crowd:
        client.stdout.readline()  # "ready"
    for client in crowd:
        client.stdin.close()
    together = Measured()
    for client in crowd:
        with client:
            took, _newline, rest = client.stdout.read().partition("\n")
            if client.wait() < 0:
                together.failure = "it did not end in time"
                continue
            for measured in parse(rest if took.isdigit() else took).values():
                if not measured.failure:
                    together.per_second += len(measured.samples) * 1e6 / int(took)
                together.samples += measured.samples
                together.warm += measured.warm
                together.failure = together.failure or measured.failure
    return together


def park(stage, row, count, seconds):
    """Has so many cells stand ready. How many do, after how many microseconds."""
    done = subprocess.run([str(STOPWATCH), "park", str(count), str(seconds),
                           write_plan(stage, [row])], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=True, cwd="/",
                          env=environment(), timeout=seconds + ENDS_WITHIN)
    reached, took_us = done.stdout.split()
    return int(reached), int(took_us)
