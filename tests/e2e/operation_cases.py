# SPDX-License-Identifier: Apache-2.0
"""What whoever keeps a daemon running relies on: its log, traces, and an end in order."""
import json
import os
import re
import shutil
import signal
import subprocess
import threading

from served import Served, error_of
from suite import (HUNG_AFTER, Skip, check, claim, contains, equal, lacks, matches, nothing_left,
                   parse_result, read, wait_until)

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


def answer_to(served, method, path, body=None, **headers):
    connection = served.tcp()
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    answer = connection.getresponse()
    return answer, answer.read().decode()


def requests_in(served, count):
    """The lines of that many requests."""
    def lines():
        every = [json.loads(line) for line in served.daemon.words().splitlines()]
        return [line for line in every if line["message"] == "request"]
    wait_until(lambda: len(lines()) >= count, f"{count} lines of requests")
    return lines()


# ---- the log -------------------------------------------------------------------------------------


@claim("log: one line for each request, with its id, its trace, and nothing that was in it")
def log_lines(person):
    secret = "hunter2-in-the-code"
    with Served(person, "--log-format", "json") as served:
        answer, text = answer_to(served, "POST", "/v1/execute",
                                 {"code": f"print('{secret}'[:3])", "env": [f"KEY={secret}"]},
                                 traceparent=PARENT)
        refused, _text = answer_to(served, "GET", "/no%0Asuch%22path")
        answer_to(served, "GET", "/metrics", Authorization=f"Bearer {secret}")
        lines = requests_in(served, 3)
        lacks(served.daemon.words(), secret, "the log")
        check(all(json.loads(line) for line in served.daemon.words().splitlines()), "JSON lines")
    equal(lines[0]["request_id"], answer.headers["X-Request-Id"], "request id")
    equal((lines[0]["method"], lines[0]["route"], lines[0]["status"], lines[0]["trace_id"]),
          ("POST", "/v1/execute", 200, TRACE), "what the line says")
    equal(lines[0]["bytes"], len(text), "bytes")
    check(lines[0]["duration_ms"] > 0, "duration", lines[0])
    matches(lines[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$", "time")
    equal((lines[1]["path"], lines[1]["status"]), ("/no\nsuch\"path", 404), "a path of nothing")
    check(refused.headers["X-Request-Id"] != answer.headers["X-Request-Id"], "ids differ")


@claim("log: text is one line each, whatever a path holds")
def log_text(person):
    with Served(person) as served:
        answer_to(served, "GET", "/x%0Ahotcell:%20forged%1b[31m")
        wait_until(lambda: "request " in served.daemon.words(), "the request's line")
        words = served.daemon.words()
        check(not any(line.startswith("hotcell: forged") for line in words.splitlines()), words)
        lacks(words, "\x1b", "the log")
    for option, value, wanted in (("--log-level", "loud", "one of none, error, warning, info, debug"),
                                  ("--log-format", "xml", "text or json"),
                                  ("--drain-timeout", "-1", "0 to 86400")):
        ran = person.call("serve", "--socket", person.path("s"), option, value)
        ran.exits(125)
        contains(ran.err, wanted, f"{option} {value}")


@claim("log: SIGHUP changes its format and level, for the keeper too")
def log_reload(person):
    path = person.write(person.path("c.yaml"), "daemon:\n  log_level: info\n")
    with Served(person, "--config", path) as served:
        person.write(path, "daemon:\n  log_format: json\n  log_level: debug\n  parked: 3\n"
                           "  sessions: 0\n  queue: 0\n  drain_timeout: 1\n")
        served.daemon.process.send_signal(signal.SIGHUP)
        served.daemon.wait_for_log("log_format text -> json")
        contains(served.daemon.words(), "parked 64 -> 3", "what changed")
        said = json.loads(served.daemon.words().splitlines()[-1])
        equal(said["level"], "info", "the last line")
        # the keeper holds to its new limits
        env = {"HOTCELL_SOCKET": served.daemon.path}
        ran = person.call("session", "new", "one", env=env)
        ran.exits(125)
        wait_until(lambda: served.daemon.status()["keeper"]["parked"] <= 3, "fewer cells")
        person.write(path, "daemon:\n  log_level: warning\n")
        served.daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: person.call("session", "new", "one", env=env).code == 0, "the new limits")
        before = served.daemon.words()
        answer_to(served, "GET", "/healthz")
        answer_to(served, "GET", "/healthz")
        equal(served.daemon.words(), before, "what it says of requests")
        person.call("session", "kill", "one", env=env).ok()


@claim("trace: a traceparent is answered, told in the result and the audit log; a wrong one is not")
def traces(person):
    with Served(person) as served:
        answer, text = answer_to(served, "POST", "/v1/execute", {"code": "1"}, traceparent=PARENT)
        equal(answer.headers["traceparent"], PARENT, "the answer's header")
        equal(parse_result(text, "http")["meta"]["trace_id"], TRACE, "the result")
        answer_to(served, "POST", "/v1/sessions", {"name": "s"}, traceparent=PARENT)
        _answer, text = answer_to(served, "POST", "/v1/sessions/s/exec", {"code": "1"}, traceparent=PARENT)
        equal(parse_result(text, "http")["meta"]["trace_id"], TRACE, "the result of a turn")
        equal(answer_to(served, "POST", "/v1/check", {"code": "1"}, traceparent=PARENT)[0].status, 200, "a check")
        answer_to(served, "DELETE", "/v1/sessions/s")
        for wrong in (PARENT.upper(), PARENT + "-x", f"00-{'0' * 32}-b7ad6b7169203331-01", "no"):
            answer, text = answer_to(served, "POST", "/v1/execute", {"code": "1"}, traceparent=wrong)
            equal((answer.status, answer.headers["traceparent"]), (200, None), wrong)
            check("trace_id" not in json.loads(text)["meta"], "a trace from nowhere")
    records = json.loads(person.call("audit", "--json").ok().out)
    check(any(record.get("trace_id") == TRACE for record in records), "the audit log", records)
    equal(person.json("--traceparent", PARENT, "-c", "1")["meta"]["trace_id"], TRACE, "run")
    ran = person.run("--traceparent", "no", "-c", "1")
    ran.exits(125)
    contains(ran.err, "32 hexadecimal digits", "a wrong one on the command line")


# ---- units ---------------------------------------------------------------------------------------


@claim("units: systemd understands them, and names what is installed", who=("root",))
def units(person):
    if not shutil.which("systemd-analyze"):
        raise Skip("systemd-analyze is not installed")
    place = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "packaging", "systemd")
    for name in sorted(os.listdir(place)):
        text = read(os.path.join(place, name)).decode()
        for program in re.findall(r"^ExecStart=(\S+)", text, re.M):
            text = text.replace(program, os.path.join(person.build, os.path.basename(program)))
        path = person.write(person.path(name), text)
        scope = ["--user"] if "user" in name else []
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *scope, path],
                              capture_output=True, text=True, timeout=HUNG_AFTER, check=False,
                              env={**os.environ, "XDG_RUNTIME_DIR": person.dir})
        equal((done.returncode, done.stderr), (0, ""), name)


# ---- numbers -------------------------------------------------------------------------------------

SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?[0-9.e+]+|\+Inf)$')


def parse_metrics(text):
    """The text format, held to what promtool checks: every metric has help and a type before its
    samples, in one block; counters end in _total; no series twice; histograms rise and are whole."""
    kinds, helped, samples, ended, current = {}, set(), {}, set(), None
    check(text.endswith("\n"), "no newline at the end")
    for line in text.splitlines():
        if line.startswith("# "):
            _hash, what, name, rest = line.split(" ", 3)
            check(what in ("HELP", "TYPE") and rest, line)
            if what == "HELP":
                check(name not in helped, f"help of {name} twice")
                check(rest.endswith("."), f"help of {name} is no sentence")
                helped.add(name)
            else:
                check(name not in kinds, f"type of {name} twice")
                check(rest in ("counter", "gauge", "histogram"), line)
                kinds[name] = rest
                equal(name.endswith("_total"), rest == "counter", f"the name of {name}")
            continue
        found = SAMPLE.match(line)
        check(found, "not a sample", line)
        name, labels, value = found.groups()
        base = re.sub("_(bucket|sum|count)$", "", name) if name not in kinds else name
        check(base in kinds and base in helped, f"no help or type for {line}")
        if base != current:
            check(base not in ended, f"{base} is told in two places")
            ended.add(base)
            current = base
        key = (name, labels or "")
        check(key not in samples, f"{line} twice")
        samples[key] = float(value)
    for name, kind in kinds.items():
        if kind == "histogram":
            check_histogram(name, samples)
    return samples


def check_histogram(name, samples):
    series = {}
    for (sample, labels), value in samples.items():
        if sample == f"{name}_bucket":
            others, _comma, bound = labels.rpartition(",le=")
            series.setdefault(others, []).append((float(bound.strip('"').replace("+Inf", "inf")), value))
    for labels, buckets in series.items():
        equal(buckets, sorted(buckets), f"buckets of {name}{labels}")
        equal([value for _bound, value in buckets], sorted(value for _bound, value in buckets),
              f"counts of {name}{labels}")
        equal(buckets[-1], (float("inf"), samples[f"{name}_count", labels]), f"whole of {name}{labels}")
        check((f"{name}_sum", labels) in samples, f"sum of {name}{labels}")


@claim("metrics: Prometheus can read them, and they count what happened")
def metrics(person):
    with Served(person) as served:
        before = parse_metrics(served.ask("GET", "/metrics")[1])
        served.daemon.settle()
        for code in ("1", "1/0", 'print(\'"language":"forged"\')', "display({'language': 'forged'})"):
            served.execute(code=code)
        served.execute(code="echo hi", language="bash")
        served.execute(exec=["true"])
        served.ask("GET", "/nowhere")
        env = {"HOTCELL_SOCKET": served.daemon.path}
        person.call("session", "new", "s", env=env).ok()
        text = served.ask("GET", "/metrics")[1]
        after = parse_metrics(text)
        person.call("session", "kill", "s", env=env).ok()
        lacks(text, "forged", "metrics")
        for name, labels, wanted in (
                ("hotcell_executions_total", 'language="python",status="ok"', 3),
                ("hotcell_executions_total", 'language="python",status="error"', 1),
                ("hotcell_executions_total", 'language="bash",status="ok"', 1),
                ("hotcell_executions_total", 'language="none",status="ok"', 1),
                ("hotcell_execution_seconds_count", 'language="python"', 4),
                ("hotcell_http_requests_total", 'method="POST",route="/v1/execute",code="200"', 6),
                ("hotcell_http_requests_total", 'method="none",route="none",code="404"', 1),
                ("hotcell_http_errors_total", "", 1), ("hotcell_sessions", "", 1),
                ("hotcell_keeper_up", "", 1), ("hotcell_executions_waiting", "", 0),
                ("hotcell_workers", 'state="busy"', 0), ("hotcell_draining", "", 0)):
            equal(after.get((name, labels)), wanted, f"{name} {labels}")
        check(after["hotcell_loans_total", ""] - before["hotcell_loans_total", ""] >= 6, "loans")
        for process in ("daemon", "keeper"):
            memory = after["hotcell_memory_bytes", f'process="{process}"']
            check(1 << 20 < memory < 100 << 20, f"memory of the {process}", memory)
        check(after["hotcell_cells_parked", 'language="python",form="guest"'] +
              after["hotcell_cells_served_total", ""] > 0, "cells")


# ---- the end -------------------------------------------------------------------------------------


def begin(served, seconds, accept="application/x-ndjson"):
    """An execution that has begun to run."""
    connection = served.tcp()
    connection.request("POST", "/v1/execute",
                       json.dumps({"code": f"print('begun', flush=True)\nimport time\ntime.sleep({seconds})\nprint('over')"}),
                       {"Accept": accept})
    return connection.getresponse()


def last_of(answer, *seen):
    line = None
    for line in answer:
        if any(word in line for word in seen):
            return json.loads(line)
    return json.loads(line)


@claim("drain: told to end, the daemon finishes what is under way and takes nothing new")
def drained(person):
    with Served(person, "--drain-timeout", "60", "--concurrency", "1") as served:
        running = begin(served, 2)
        last_of(running, b"begun")
        waiting = threading.Thread(target=lambda: results.append(served.execute(code="print(2)")))
        results = []
        waiting.start()
        wait_until(lambda: "hotcell_executions_waiting 1" in served.ask("GET", "/metrics")[1], "one waits")
        kept = served.tcp()
        kept.connect()
        served.daemon.process.send_signal(signal.SIGTERM)
        served.daemon.wait_for_log("told to end")
        answer, text = answer_to(served, "POST", "/v1/execute", {"code": "1"})
        equal((answer.status, error_of(text)["code"]), (503, "draining"), "new work")
        check(int(answer.headers["Retry-After"]) > 0, "Retry-After", answer.headers)
        answer, text = answer_to(served, "GET", "/healthz")
        equal((answer.status, json.loads(text)["status"]), (503, "draining"), "health")
        equal(served.daemon.status()["state"], "draining", "status")
        # who comes to the socket does without
        env = {"HOTCELL_SOCKET": served.daemon.path}
        equal(person.call("run", "-c", "print(3)", env=env).ok().out, "3\n", "a run")
        equal(last_of(running)["data"]["stdout"], "begun\nover\n", "what was under way")
        waiting.join(HUNG_AFTER)
        equal(parse_result(results[0][1], "http")["stdout"], "2\n", "what waited")
        equal(served.daemon.process.wait(HUNG_AFTER), 0, "exit status")
    nothing_left(person)


@claim("drain: what takes too long is cancelled and told so; a second signal ends at once")
def drained_late(person):
    with Served(person, "--drain-timeout", "1") as served:
        running = begin(served, 600)
        last_of(running, b"begun")
        served.daemon.process.send_signal(signal.SIGTERM)
        equal(last_of(running)["data"]["status"], "interrupted", "what was under way")
        equal(served.daemon.process.wait(HUNG_AFTER), 0, "exit status")
    nothing_left(person)
    for order in (lambda served: served.daemon.process.send_signal(signal.SIGTERM),
                  lambda served: person.call("serve", "--socket", served.daemon.path, "--stop",
                                             "--now").ok()):
        with Served(person, "--drain-timeout", "86400") as served:
            running = begin(served, 600)
            last_of(running, b"begun")
            served.daemon.process.send_signal(signal.SIGTERM)
            served.daemon.wait_for_log("told to end")
            check(served.daemon.process.poll() is None, "it ended too early")
            order(served)
            equal(served.daemon.process.wait(HUNG_AFTER), 0, "exit status")
        nothing_left(person)


@claim("drain: a lent cell keeps its time, sessions outlive the daemon, idle it ends at once")
def drained_loans(person):
    env = {}
    with Served(person, "--drain-timeout", "60") as served:
        env["HOTCELL_SOCKET"] = served.daemon.path
        run = person.start("run", "-c", "import time; print(1, flush=True); time.sleep(2); print(2)",
                           env=env, stdout=-1)
        served.daemon.wait_for(running=1)
        person.call("session", "new", "s", env=env).ok()
        person.call("session", "exec", "s", "-c", "x = 41", env=env).ok()
        served.daemon.process.send_signal(signal.SIGTERM)
        served.daemon.wait_for_log("told to end")
        ran = person.call("session", "exec", "s", "-c", "x", env=env)
        ran.exits(125)
        contains(ran.err, "told to end", "a turn meanwhile")
        equal(run.communicate(timeout=HUNG_AFTER)[0], b"1\n2\n", "the run")
        equal(served.daemon.process.wait(HUNG_AFTER), 0, "exit status")
    with Served(person, "--drain-timeout", "86400") as served:
        equal(person.call("session", "exec", "s", "-c", "print(x + 1)", env=env).ok().out, "42\n",
              "the session")
        person.call("session", "kill", "s", env=env).ok()
    nothing_left(person)
