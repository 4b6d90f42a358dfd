# SPDX-License-Identifier: Apache-2.0
"""Pages in headless Chromium ask the daemon; each reports what it was told to the test."""
import contextlib
import http.server
import json
import os
import queue
import shutil
import signal
import subprocess
import threading

from served import Served
from suite import Failure, Skip, check, claim, contains, equal, nothing_left

PATIENCE = 90  # seconds: a browser takes its time to start on a busy machine

PAGE = """<!doctype html><meta charset="utf-8"><title>hotcell</title><script>
const api = %s;
const report = value => fetch("/report", {method: "POST", body: JSON.stringify(value)});
const told = async (name, work) => { try { return [name, await work()]; }
                                     catch (error) { return [name, "failed: " + error]; } };
(async () => {
  const found = [];
  %s
  await report(Object.fromEntries(found));
})();
</script>"""

ASK = """
  found.push(await told("result", async () => {
    const answer = await fetch(api + "/v1/execute", {method: "POST", body: JSON.stringify({code: "print(6 * 7)"}),
      headers: {"Content-Type": "application/json"}});
    return [answer.status, (await answer.json()).stdout, !!answer.headers.get("X-Request-Id")];
  }));
  found.push(await told("error", async () => {
    const answer = await fetch(api + "/v1/execute", {method: "POST", body: "{"});
    return [answer.status, (await answer.json()).error.code];
  }));
  found.push(await told("stream", async () => {
    const answer = await fetch(api + "/v1/execute", {method: "POST", headers: {Accept: "text/event-stream"},
      body: JSON.stringify({code: "print('one', flush=True)\\nimport time; time.sleep(0.2)\\nprint('two')"})});
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "", pieces = 0;
    for (;;) { const {value, done} = await reader.read(); if (done) break; text += value; pieces++; }
    return [pieces > 1, text.split("\\n").filter(line => line.startsWith("event: ")).map(line => line.slice(7))];
  }));
  found.push(await told("events", () => new Promise((good, bad) => {
    const source = new EventSource(api + "/v1/events"), states = [];
    source.addEventListener("status", event => {
      states.push(JSON.parse(event.data).state);
      if (states.length == 2) { source.close(); good(states); }
    });
    source.onerror = () => bad("no events");
  })));
  found.push(await told("cancel", async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 300);
    try {
      await fetch(api + "/v1/execute", {method: "POST", signal: stop.signal,
        body: JSON.stringify({code: "import time; time.sleep(600)"})});
    } catch (error) { return error.name; }
  }));
"""

SNEAK = """
  const tries = [["POST", "/v1/execute", JSON.stringify({code: "open('/tmp/x', 'w')"})], ["GET", "/healthz"],
                 ["GET", "/v1/languages"], ["DELETE", "/v1/sessions/x"]];
  for (const [method, path, body] of tries)
    found.push(await told(method + " " + path, async () => {
      const answer = await fetch(api + path, {method, body});
      return [answer.status, await answer.text()];
    }));
  found.push(await told("events", () => new Promise((good, bad) => {
    const source = new EventSource(api + "/v1/events");
    source.onopen = () => good("open");
    source.onerror = () => { source.close(); bad("refused"); };
  })));
"""


class Site:
    """A page, and what it reports."""

    def __init__(self, page):
        reports = self.reports = queue.Queue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(page.encode())

            def do_POST(self):
                reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer(b"")

            def answer(self, data):
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def visit(person, site, host):
    """What the page at this name reports, in a browser for which every name leads to this machine."""
    browser = shutil.which("chromium")
    if not browser:
        raise Skip("chromium is not installed (tools/deps test)")
    profile = person.make_dir("profile", 0o700)
    process = subprocess.Popen(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", f"--user-data-dir={profile}",
         "--host-resolver-rules=MAP * 127.0.0.1", "--disable-features=LocalNetworkAccessChecks",
         f"http://{host}:{site.port}/"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "HOME": profile})
    try:
        return site.reports.get(timeout=PATIENCE)
    except queue.Empty:
        raise Failure(f"the page at {host} did not report within {PATIENCE} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)


@claim("browser: fetch, a stream, EventSource and an abort work from a page of this machine", who=("root",))
def local_page(person):
    with Served(person) as served:
        with Site(PAGE % (json.dumps(f"http://127.0.0.1:{served.port}"), ASK)) as site:
            found = visit(person, site, "localhost")
        equal(found["result"], [200, "42\n", True], "a result")
        equal(found["error"], [400, "invalid"], "an error")
        equal(found["stream"], [True, ["status", "stdout", "stdout", "done"]], "a stream")
        equal(found["events"], ["serving", "serving"], "an EventSource")
        equal(found["cancel"], "AbortError", "an abort")
        text = served.ask("GET", "/metrics")[1]
        contains(text, 'status="interrupted"} 1', "the run that was aborted")
    nothing_left(person)


@claim("browser: a page of somewhere else reads nothing and runs nothing, under its own name or ours", who=("root",))
def foreign_page(person):
    with Served(person) as served:
        for name in ("127.0.0.1", "evil.example"):
            with Site(PAGE % (json.dumps(f"http://{name}:{served.port}"), SNEAK)) as site:
                found = visit(person, site, "evil.example")
            for what, answer in found.items():
                check(str(answer).startswith("failed: "), f"{what} of {name} was answered:", answer)
        text = served.ask("GET", "/metrics")[1]
        check("hotcell_executions_total{" not in text, "something ran", text)
    nothing_left(person)


@claim("browser: what a browser asks beforehand is answered for pages of this machine alone")
def preflight(person):
    with Served(person) as served:
        for origin, status in (("http://localhost:3000", 204), ("http://127.0.0.1", 204),
                               ("http://evil.example", 403), ("null", 403)):
            connection = served.tcp()
            connection.request("OPTIONS", "/v1/execute", headers={
                "Origin": origin, "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization, content-type"})
            answer = connection.getresponse()
            answer.read()
            allowed = answer.headers["Access-Control-Allow-Origin"]
            equal((answer.status, allowed), (status, origin if status == 204 else None), origin)
            if status == 204:
                equal(answer.headers["Access-Control-Allow-Headers"], "authorization, content-type", "headers")
                contains(answer.headers["Access-Control-Allow-Methods"], "DELETE", "methods")
        equal(served.ask("OPTIONS", "/v1/execute")[0], 405, "without an origin it is no question")
