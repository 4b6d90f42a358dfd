# SPDX-License-Identifier: Apache-2.0
"""SIGKILL and a full disk: what was told is in the audit log, and the log holds."""
import hashlib
import json
import os
import random
import subprocess
import time

from daemon import Daemon
from suite import (ROOT, HUNG_AFTER, check, claim, contains, equal, nothing_left, processes_of, wait_until)

SEED = int(os.environ.get("SEED", "1"))
KILLS = int(os.environ.get("RECORD_KILLS", "120"))


def verify(person, env):
    ran = person.call("audit", "verify", "--json", env=env)
    verdict = json.loads(ran.out)
    check(verdict["ok"] and ran.code == 0, "the log is broken:", verdict)
    return verdict


def recorded(person, env):
    ran = person.call("audit", "list", "--json", "--limit", "100000", env=env).ok()
    return {record["id"] for record in json.loads(ran.out)}


def told(out):
    """The id of a result that was printed whole."""
    try:
        return json.loads(out)["id"]
    except ValueError:
        return None


@claim("runs killed at any moment lose no record of a result that was told")
def kills(person):
    rng = random.Random(SEED)
    env = {"HOTCELL_STATE_DIR": person.path("state")}
    size = f"{1 + KILLS // 500}M"  # room for all, in files that are full after a few dozen runs
    args = ("run", "--json", "--store", "always", "--audit-size", size, "-l", "sh", "-c", "echo x")
    ids = set()
    started = time.monotonic()
    person.call(*args, env=env).ok()
    length = time.monotonic() - started  # of one run here and now
    done = 0
    while done < KILLS:
        running = [person.start(*args, env=env, stderr=subprocess.DEVNULL) for _ in range(4)]
        time.sleep(rng.uniform(0, 2 * length))
        for process in running:
            process.kill()
            out, _err = process.communicate(timeout=HUNG_AFTER)
            ids.add(told(out))
        done += len(running)
        if done % 40 == 0:
            verify(person, env)
    ids.discard(None)
    check(0 < len(ids) < KILLS, "all were killed too early or too late:", len(ids), KILLS)
    wait_until(lambda: not processes_of(person), "the dead to go")
    person.call(*args, env=env).ok()
    verify(person, env)
    equal(ids - recorded(person, env), set(), "told, but not in the log")
    directory = os.path.join(person.path("state"), "artifacts", "executions")
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            check("result" in json.load(file), f"half an artifact: {name}")
    nothing_left(person)


@claim("with required, a run and a turn that were killed are on record as begun")
def killed_while_required(person):
    env = {"HOTCELL_STATE_DIR": person.path("state"), "HOTCELL_AUDIT": "required"}
    code = "print('begun', flush=True)\nimport time\ntime.sleep(60)"
    with Daemon(person) as daemon:
        env["HOTCELL_SOCKET"] = daemon.path
        person.call("session", "new", "a", env=env).ok()
        for command in (("run", "--cold"), ("run",), ("session", "exec", "a")):
            process = person.start(*command, "-c", code, env=env)
            equal(process.stdout.readline(), b"begun\n", "its first word")
            process.kill()
            process.communicate(timeout=HUNG_AFTER)
        ran = person.call("session", "exec", "--json", "--wait", "a", "-c", "1", env=env).ok()
        person.call("session", "kill", "a", env=env).ok()
    records = json.loads(person.call("audit", "list", "--json", env=env).ok().out)
    equal([record["status"] for record in records], ["begun"] * 3 + ["ok"], "what is on record")
    hashes = {record["sha256"] for record in records[:3]}
    equal(hashes, {hashlib.sha256(code.encode()).hexdigest()}, "the code that began")
    equal([record.get("session") for record in records[2:]], ["a", "a"], "the session")
    equal(records[3]["id"], told(ran.out), "the id of the one that was told")
    begun = json.loads(person.call("audit", "list", "--status", "begun", "--json", env=env).ok().out)
    equal(begun, records[:3], "those without an end")
    equal(verify(person, env)["records"], 5, "records: each begins, and one has ended")


def on_small_disk(person, size, script):
    """Runs a shell script with a small file system as state directory."""
    os.mkdir(person.path("small"))
    shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"set -e; mount -t tmpfs -o mode=0700,size={size} none small; "
             f"export HOTCELL_STATE_DIR=$PWD/small; {script}"]
    return subprocess.run(shell, env=person.env, cwd=person.dir, capture_output=True, text=True,
                          timeout=HUNG_AFTER, check=False)


@claim("a full disk is a warning, half a record is taken back, and what follows holds", ROOT)
def full_disk(person):
    hotcell = person.hotcell
    ran = on_small_disk(
        person, "64K",
        f"{hotcell} run -c 'print(1)'; {hotcell} run -c 'print(2)'; "
        "dd if=/dev/zero of=small/ballast bs=1K count=100 2>/dev/null || true; "
        f"for i in 1 2 3 4 5; do {hotcell} run -c 'print(3)'; done; "
        f"{hotcell} audit verify; rm small/ballast; {hotcell} run -c 'print(4)'; {hotcell} audit verify")
    equal(ran.returncode, 0, f"exit status, stderr {ran.stderr!r}")
    equal(ran.stdout.splitlines().count("3"), 5, "answers on a full disk")
    equal(ran.stdout.count("ok: "), 2, f"verdicts in {ran.stdout!r}")
    contains(ran.stderr, "the run is not in the audit log: write to the audit log: No space left",
             "stderr")
    check("torn" not in ran.stdout and "incomplete" not in ran.stdout, "half a record", ran.stdout)


@claim("with required nothing runs on a full disk", ROOT)
def full_disk_required(person):
    hotcell = person.hotcell
    os.mkdir(person.path("out"))
    os.chmod(person.path("out"), 0o777)
    ran = on_small_disk(
        person, "64K",
        "dd if=/dev/zero of=small/ballast bs=1K count=100 2>/dev/null || true; "
        f"{hotcell} run --audit required --rw out:/out -c 'open(\"/out/proof\", \"w\")' || echo $?; "
        f"rm small/ballast; {hotcell} run --audit required -c 'print(4)'")
    equal(ran.stdout, "125\n4\n", f"stdout, stderr {ran.stderr!r}")
    contains(ran.stderr, "--audit required: a run cannot be recorded", "stderr")
    equal(os.listdir(person.path("out")), [], "what a run without a record left")


@claim("a read-only state is a warning, and with required nothing runs", ROOT)
def read_only(person):
    hotcell = person.hotcell
    ran = on_small_disk(
        person, "64K",
        "mount -o remount,ro small; "
        f"{hotcell} run -c 'print(1)'; {hotcell} run --audit required -c 'print(2)' || echo $?")
    equal(ran.stdout, "1\n125\n", f"stdout, stderr {ran.stderr!r}")
    equal(ran.stderr.count("hotcell: "), 2, f"words in {ran.stderr!r}")
    contains(ran.stderr, "Read-only file system", "stderr")
