# SPDX-License-Identifier: Apache-2.0
"""The benchmark: that it runs and tells what it promises. No time is judged here."""
import glob
import json
import os
import shutil
import signal

from suite import (BUILD, HUNG_AFTER, NONE, NUMBER, Skip, check, check_keys, claim, contains, equal,
                   nothing_left, processes_of, wait_until)

PATIENCE = 170  # seconds; half a minute where nobody else is at work
GROUPS = {"static", "python"}  # the others need programs that may be missing

REPORT_KEYS = {"machine": dict, "rounds": int, "is_quick": bool, "contenders": list,
               "throughput": list, "burst": dict, "parked": dict, "memory": dict, "points": dict,
               "bars": list, "seconds": NUMBER}
MACHINE_KEYS = {"kernel": str, "cpu": str, "cpus": int, "memory_kb": int, "user": str,
                "load": NUMBER, "versions": dict}
SUMMARY_KEYS = {"p25_us": int, "p50_us": int, "p95_us": int, "p99_us": int, "min_us": int,
                "max_us": int, "samples": int, "warm": int}
NAME_KEYS = {"name": str, "group": str, "title": str, "against": str}
CONTENDER_KEYS = NAME_KEYS | SUMMARY_KEYS | {"ratio": NUMBER + (NONE,),
                                             "calm_ratio": NUMBER + (NONE,), "bars": list}
BAR_KEYS = {"what": str, "value": NUMBER, "limit": NUMBER, "is_least": bool, "holds": bool}
LEVEL_KEYS = {"outstanding": int, "bare_per_s": NUMBER, "cells_per_s": NUMBER,
              "http_per_s": NUMBER, "forks_per_s": NUMBER}
PARKED_KEYS = {"wanted": int, "reached": int, "seconds": NUMBER, "ended_seconds": NUMBER,
               "memory_kb": int, "kernel_kb": int, "serves": dict}
WEIGHT_KEYS = {"cells": int, "private_kb": int, "pss_kb": int}
POINT_KEYS = {"points": int, "private_kb": int, "most_kb": int}


def need_bwrap():
    if not shutil.which("bwrap"):
        raise Skip("needs bwrap, which others are compared with")
    if not glob.glob(f"{BUILD}/runtimes/python/_hotcell*.so"):
        raise Skip("times a Python that stands ready, and its module is not built")


def check_summary(told, what):
    order = [told[key] for key in ("min_us", "p25_us", "p50_us", "p95_us", "p99_us", "max_us")]
    equal(order, sorted(order), f"quantiles of {what}")
    check(0 <= told["warm"] <= told["samples"], f"warm results of {what}")


def check_contenders(told):
    names = {row["name"] for row in told}
    check(GROUPS <= {row["group"] for row in told}, "groups", names)
    for row in told:
        if "failure" in row:
            check_keys(row, NAME_KEYS, {"failure": str}, row["name"])
            continue
        check_keys(row, CONTENDER_KEYS, {}, row["name"])
        check_summary(row, row["name"])
        check(row["against"] in names, f"whom {row['name']} is compared with", row["against"])
    failed = {row["name"]: row["failure"] for row in told if "failure" in row}
    # what others cannot do here is a finding; all of ours must run
    ours = [name for name in failed if "hotcell" in name or "lent" in name or "held" in name or "zygote" in name]
    equal(ours, [], f"rows that failed, of {failed}")
    lent = [row for row in told if row["title"] in ("lent, parked", "held, parked")]
    check(lent and all(row["warm"] > 0 for row in lent), "rows of parked cells that were not warm",
          {row["name"]: (row["warm"], row["samples"]) for row in lent})


def check_crowds(report, is_root):
    equal([row["outstanding"] for row in report["throughput"]], [1, 2, 8, 32], "levels")
    for row in report["throughput"]:
        # how many an ordinary user may have at once is not for this test to judge
        may_fail = not is_root and row["outstanding"] > 2
        more = {"failure": str} if may_fail and "failure" in row else {"ratio": NUMBER, "http_ratio": NUMBER}
        check_keys(row, LEVEL_KEYS | more, {}, "throughput")
        check(row["forks_per_s"] > 0, "copies without walls", row)
    check_keys(report["burst"], SUMMARY_KEYS | {"clients": int, "pool": int}, {}, "burst")
    equal(report["burst"]["samples"], report["burst"]["clients"], "answers to a burst")
    parked = report["parked"]
    check_keys(parked, PARKED_KEYS, {}, "parked")
    equal(parked["reached"], parked["wanted"], "cells parked")
    check_keys(parked["serves"], SUMMARY_KEYS, {}, "parked.serves")
    if is_root:  # nobody else may look into a cell
        for name, weight in report["memory"].items():
            check_keys(weight, WEIGHT_KEYS, {"kernel_kb": int}, f"memory of {name}")
        check_keys(report["points"], POINT_KEYS, {}, "points")


@claim("bench --quick prints a table, writes what it promises as JSON and leaves nothing behind")
def quick(person):
    need_bwrap()
    ran = person.call("bench", "--quick", "--rounds", "2", "--json", "bench.json",
                      timeout=PATIENCE).ok()
    equal(ran.err, "", "stderr")
    with open(person.path("bench.json"), encoding="utf-8") as file:
        report = json.load(file)
    check_keys(report, REPORT_KEYS, {}, "report")
    check_keys(report["machine"], MACHINE_KEYS, {}, "machine")
    equal(report["machine"]["user"], "root" if person.is_root else "ordinary", "user")
    check_contenders(report["contenders"])
    check_crowds(report, person.is_root)
    for bar in report["bars"]:
        check_keys(bar, BAR_KEYS, {}, "bar")
        holds = bar["value"] >= bar["limit"] if bar["is_least"] else bar["value"] <= bar["limit"]
        equal(bar["holds"], holds, f"verdict on {bar}")
    for part in ("ratio", "p50", "p99", "lent, parked", "throughput", "burst of", "private",
                 f"{len(report['bars'])} bars"):
        contains(ran.out, part, "the table")
    equal(os.listdir(person.dir), ["bench.json"], "files afterwards")
    nothing_left(person)


@claim("bench takes the contenders that are named, and whom they are compared with")
def some(person):
    need_bwrap()
    ran = person.call("bench", "--quick", "--rounds", "1", "--json", "-", "static: held").ok()
    report = json.loads(ran.out)
    equal({row["name"] for row in report["contenders"]},
          {"static: held, parked", "static: vfork+exec", "static: bwrap"}, "contenders")
    check("throughput" not in report, "crowds nobody asked for")
    nothing_left(person)


@claim("bench refuses what it does not know with one line")
def refusals(person):
    for args, part in ((("--rounds", "0"), "--rounds"), (("--rounds", "many"), "--rounds"),
                       (("--quick", "nobody"), "nobody"), (("--fast",), "--fast"),
                       (("--json",), "--json")):
        ran = person.call("bench", *args).exits(125)
        contains(ran.err, part, f"stderr of {args}")
        equal((ran.out, len(ran.err.splitlines())), ("", 1), f"stdout and lines of {args}")
    nothing_left(person)


@claim("a bench that is told to end takes its daemons along")
def ended(person):
    for number in (signal.SIGTERM, signal.SIGINT):
        process = person.start("bench", "--rounds", "1000", "static", env={"TMPDIR": person.dir})
        wait_until(lambda: any("hotcell-bench" in line for line in processes_of(person)),
                   "the first round")
        process.send_signal(number)
        equal(process.wait(HUNG_AFTER), 128 + number, f"exit status after signal {number}")
        equal(os.listdir(person.dir), [], f"files after signal {number}")
        nothing_left(person)
