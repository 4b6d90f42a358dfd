# SPDX-License-Identifier: Apache-2.0
"""Batches over HTTP, and the history of what ran."""
import json
import signal

from served import Served, error_of
from suite import HUNG_AFTER, check, claim, contains, equal, nothing_left, parse_result, wait_until


def lines(jobs):
    return "\n".join(json.dumps(job) for job in jobs)


def ask_batch(served, body, query="", **headers):
    return served.ask("POST", "/v1/batch" + query, body, **headers)


def results_of(text):
    answer = json.loads(text)
    return [parse_result(json.dumps(item), "batch") for item in answer["results"]], answer["summary"]


def is_quiet(served):
    return "\nhotcell_executions_running 0\n" in served.ask("GET", "/metrics")[1]


@claim("http batch: results in the order of the jobs, of lines and of an array alike")
def order(person):
    jobs = [{"code": f"import time; time.sleep({0.15 if n % 3 == 0 else 0}); print({n})"}
            for n in range(10)]
    with Served(person) as served:
        for body in (lines(jobs), "\n\n" + lines(jobs) + "\n\n", json.dumps(jobs),
                     json.dumps(jobs, indent=4)):
            status, text = ask_batch(served, body)
            equal(status, 200, "status")
            results, summary = results_of(text)
            equal([r["stdout"] for r in results], [f"{n}\n" for n in range(10)], "the order")
            equal(summary, {"total": 10, "skipped": 0, "sent": 10, "is_whole": True,
                            "by_status": {"ok": 10}}, "the summary")
    nothing_left(person)


@claim("http batch: a job that fails or makes no sense is a result, and names its line")
def failures(person):
    body = '{"code": "print(1)"}\n\n{"cod": 1}\n{"code":\n[1]\n{"code": "1/0"}\n{"code": "1", "timeout": -1}'
    with Served(person) as served:
        results, summary = results_of(ask_batch(served, body)[1])
        equal([r["status"] for r in results],
              ["ok", "setup_error", "setup_error", "setup_error", "error", "setup_error"], "statuses")
        for result, line in zip(results, (None, 3, 4, 5, None, 7)):
            if line:
                contains(result["error"]["message"], f"line {line}: ", "message")
        equal(summary["by_status"], {"ok": 1, "error": 1, "setup_error": 4}, "the summary")
        results, _summary = results_of(ask_batch(served, '[{"code": "1"}, 7, , {"file": "/etc/passwd"}]')[1])
        equal([r["status"] for r in results], ["ok"] + ["setup_error"] * 3, "of an array")
        contains(results[1]["error"]["message"], "item 2: ", "message")
        contains(results[3]["error"]["message"], "path of the host", "message")


@claim("http batch: as lines or SSE each result comes as soon as those before it have")
def streams(person):
    jobs = [{"code": f"print({n})"} for n in range(6)]
    with Served(person) as served:
        found = [json.loads(line) for line in
                 ask_batch(served, json.dumps(jobs), Accept="application/x-ndjson")[1].splitlines()]
        equal([e["index"] for e in found if e["event"] == "result"], list(range(6)), "indices")
        equal([e["data"]["stdout"] for e in found if e["event"] == "result"],
              [f"{n}\n" for n in range(6)], "results")
        equal([e["data"] for e in found if e["event"] == "progress"][-1],
              {"finished": 6, "total": 6}, "progress")
        equal(found[-1]["event"], "done", "the last")
        text = ask_batch(served, json.dumps(jobs), Accept="text/event-stream")[1]
        equal(text.count("event: result\ndata: {"), 6, "results as SSE")
        first = [{"code": "print(0)"}, {"code": "import time\nwhile True: time.sleep(1)"}]
        connection = served.tcp()
        connection.request("POST", "/v1/batch", lines(first), {"Accept": "application/x-ndjson"})
        for line in connection.getresponse():
            event = json.loads(line)
            if event["event"] == "result":
                break
        equal(event["data"]["stdout"], "0\n", "the first, while the second runs")
        connection.close()
        wait_until(lambda: is_quiet(served), "the end of what its client left")


@claim("http batch: it goes on behind what was done before, and holds to its concurrency")
def resumes(person):
    jobs = [{"code": f"print({n})"} for n in range(8)]
    with Served(person) as served:
        results, summary = results_of(ask_batch(served, lines(jobs), "?skip=5")[1])
        equal([r["stdout"] for r in results], ["5\n", "6\n", "7\n"], "the rest")
        equal((summary["skipped"], summary["is_whole"]), (5, True), "the summary")
        equal(results_of(ask_batch(served, lines(jobs), "?skip=8")[1])[0], [], "nothing is left")
        for query in ("?skip=9", "?skip=-1", "?skip=x", "?concurrency=0", "?concurrency=1000"):
            equal(ask_batch(served, lines(jobs), query)[0], 400, f"status of {query}")
        marks = [{"code": "import time\nb = time.time()\ntime.sleep(0.1)\nprint(b, time.time())"}
                 for _ in range(4)]
        results, _summary = results_of(ask_batch(served, lines(marks), "?concurrency=1")[1])
        times = [tuple(map(float, r["stdout"].split())) for r in results]
        check(all(a[1] <= b[0] for a, b in zip(times, times[1:])), "one after the other", times)


@claim("http batch: what is no batch is refused before anything runs")
def nonsense(person):
    with Served(person) as served:
        for body in ("[", '[{"code": "1"}', '[{"code": "1"}] 7', '[{"code": "]"}', '["'):
            status, text = ask_batch(served, body)
            equal((status, error_of(text)["code"]), (400, "invalid"), f"of {body}")
        equal(ask_batch(served, "[" + "1," * 200000 + "1]")[0], 400, "of very many")
        for body in ("", "[]", " [ ] ", "\n\n"):
            equal(results_of(ask_batch(served, body)[1])[0], [], f"of {body!r}")


@claim("http batch: a reader that does not read holds up its own batch alone")
def slow_reader(person):
    jobs = [{"code": "print('x' * 900000)", "max_output": "1M"}] * 40
    with Served(person, "--concurrency", "2") as served:
        slow = served.tcp()
        slow.request("POST", "/v1/batch", lines(jobs), {"Accept": "application/x-ndjson"})
        for _ in range(3):
            parse_result(served.execute(code="print(1)")[1], "http").is_ok()
        count = sum(json.loads(line)["event"] == "result" for line in slow.getresponse())
        equal(count, 40, "results in the end")


@claim("http batch: with a full queue it waits, and loses nothing")
def full_queue(person):
    jobs = [{"code": f"print({n})"} for n in range(12)]
    with Served(person, "--concurrency", "1", "--queue", "1") as served:
        connections = [served.tcp() for _ in range(3)]
        for connection in connections:
            connection.request("POST", "/v1/batch", lines(jobs))
        for connection in connections:
            results, _summary = results_of(connection.getresponse().read().decode())
            equal([r["stdout"] for r in results], [f"{n}\n" for n in range(12)], "results")


@claim("http batch: a daemon that is told to end sends what it has, and it can be gone on with")
def drained(person):
    jobs = [{"code": f"print({n})"} for n in range(3)]
    jobs[1] = {"code": "import time\nprint('ready', flush=True)\nwhile True: time.sleep(1)"}
    with Served(person, "--drain-timeout", "1") as served:
        connection = served.tcp()
        connection.request("POST", "/v1/batch?concurrency=1", lines(jobs),
                           {"Accept": "application/x-ndjson"})
        answer = connection.getresponse()
        for line in answer:
            if json.loads(line)["event"] == "result":
                break
        served.daemon.process.send_signal(signal.SIGTERM)
        rest = [json.loads(line) for line in answer]
        equal([e["data"]["status"] for e in rest if e["event"] == "result"], ["interrupted"],
              "what ran")
        equal((rest[-1]["event"], rest[-1]["data"]["sent"], rest[-1]["data"]["is_whole"]),
              ("done", 2, False), "the end")
        served.daemon.process.wait(timeout=HUNG_AFTER)


@claim("http: what is described of answers and fields is true of them")
def described(person):
    with Served(person) as served:
        api = json.loads(served.ask("GET", "/openapi.json")[1])
        schemas = api["components"]["schemas"]

        def has_members(method, path, body=None, at=None):
            """The answer has what is said of it."""
            said = api["paths"][at or path][method.lower()]["responses"]
            status, text = served.ask(method, path, body)
            check(str(status) in said, f"status of {method} {path}", status, text[:200])
            name = said[str(status)]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
            answer = json.loads(text)
            for member in schemas[name]["required"]:
                check(member in answer, f"{member} in the answer of {method} {path}", text[:200])
            return answer

        one = "/v1/sessions/{name}"
        has_members("POST", "/v1/execute", {"code": "1"})
        has_members("POST", "/v1/check", {"code": "1"})
        has_members("POST", "/v1/batch", '[{"code": "1"}]')
        has_members("POST", "/v1/sessions", {"name": "api", "undo": 3})
        has_members("GET", "/v1/sessions")
        has_members("GET", "/v1/sessions/api", at=one)
        has_members("POST", "/v1/sessions/api/exec", {"code": "1"}, at=one + "/exec")
        has_members("POST", "/v1/sessions/api/interrupt", at=one + "/interrupt")
        has_members("POST", "/v1/sessions/api/undo", at=one + "/undo")
        has_members("POST", "/v1/sessions/api/checkpoint", {"point": "p"}, at=one + "/checkpoint")
        has_members("POST", "/v1/sessions/api/rollback", {"point": "p"}, at=one + "/rollback")
        has_members("POST", "/v1/sessions/api/fork", {"name": "other"}, at=one + "/fork")
        has_members("PUT", "/v1/sessions/api/files/x", "data", at=one + "/files/{path}")
        has_members("GET", "/v1/sessions/api/files", at=one + "/files")
        has_members("DELETE", "/v1/sessions/api/files/x", at=one + "/files/{path}")
        for name in ("other", "api"):
            has_members("DELETE", f"/v1/sessions/{name}", at=one)
        listed = has_members("GET", "/v1/executions")["executions"]
        has_members("GET", f"/v1/executions/{listed[0]['id']}", at="/v1/executions/{id}")
        for name in ("Spec", "Turn", "NewSession", "Check"):
            check(schemas[name]["additionalProperties"] is False, f"{name} takes nothing else")
        equal(sorted(schemas["Turn"]["properties"])[:3], ["code", "env", "filename"], "of a turn")
        error_of(served.ask("POST", "/v1/execute", "{}")[1])
    nothing_left(person)


@claim("http history: what ran is listed, the newest first, and told of one by one")
def history(person):
    with Served(person) as served:
        ids = [parse_result(served.execute(code=code, store=store)[1], "http")["id"]
               for code, store in (("print(1)", "never"), ("1/0", "always"), ("print(3)", "never"))]
        listed = json.loads(served.ask("GET", "/v1/executions?limit=3")[1])["executions"]
        equal([item["id"] for item in listed], ids[::-1], "the list")
        listed = json.loads(served.ask("GET", "/v1/executions?status=error&since=1h")[1])["executions"]
        equal(listed[0]["id"], ids[1], "by status")
        before = json.loads(served.ask("GET", f"/v1/executions?before={ids[2]}&limit=1")[1])
        check(before["executions"][0]["id"] < ids[2], "the page after", before)
        one = json.loads(served.ask("GET", f"/v1/executions/{ids[1]}")[1])
        equal((one["id"], one["status"]), (ids[1], "error"), "one of them")
        equal(one["artifact"]["code"], "1/0", "what is kept of it")
        equal(json.loads(served.ask("GET", f"/v1/executions/{ids[0]}")[1])["artifact"], None,
              "what is not kept")
        status, text = served.ask("GET", "/v1/executions/20000101T000000Z-00000000")
        equal((status, error_of(text)["code"]), (404, "missing"), "one that never was")
        for query in ("?limit=0", "?limit=x", "?status=fine", "?since=yesterday", "?limit=100000"):
            equal(served.ask("GET", "/v1/executions" + query)[0], 400, f"status of {query}")
        equal(served.ask("GET", "/v1/executions/..%2F..%2Fx")[0], 404, "a strange id")
