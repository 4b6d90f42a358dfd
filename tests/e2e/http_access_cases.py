# SPDX-License-Identifier: Apache-2.0
"""Who may ask over HTTP: tokens, scopes, limits, tenants and TLS."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import ssl
import subprocess

from daemon import Daemon
from served import Served, error_of, free_port
from suite import (HUNG_AFTER, Skip, check, claim, contains, equal, lacks, parse_result, read,
                   wait_until)

WRONG = "hct_" + "0" * 64


class Guarded(Served):
    """A daemon with a state directory of its own, in which tokens can be made."""

    def __init__(self, person, *options, listen="127.0.0.1"):
        self.person = person
        self.port = free_port()
        self.env = {"HOTCELL_STATE_DIR": person.path("state"),
                    "HOTCELL_SOCKET": person.path("d.sock")}
        self.options = ("--listen", f"{listen}:{self.port}", *options)
        self.secrets = {}
        self.daemon = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *why):
        self.call("serve", "--stop")
        return self.daemon.__exit__(*why) if why[0] else None

    def start(self, *more):
        self.daemon = Daemon(self.person, *self.options, *more, env=self.env)

    def call(self, *args):
        return self.person.call(*args, env=self.env)

    def token(self, name, *options):
        secret = self.call("token", "new", name, *options).ok().out.strip()
        self.secrets[name] = secret
        return secret

    def limit(self, name, *options):
        return json.loads(self.call("token", "limits", name, "--json", *options).ok().out)[0]

    def as_(self, name, method, path, body=None, connection=None, **headers):
        secret = self.secrets.get(name, name)
        return self.ask(method, path, body, connection, Authorization=f"Bearer {secret}", **headers)

    def full(self, method, path, body=None, **headers):
        """Status, headers and text."""
        connection = self.tcp()
        connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, {
            name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def run(self, name, code="print(1)", **spec):
        status, text = self.as_(name, "POST", "/v1/execute", {"code": code, **spec})
        equal(status, 200, f"status of an execution as {name}: {text[:300]}")
        return parse_result(text, "http")


# ---- the command -------------------------------------------------------------------------------


@claim("tokens: one is shown once, kept as a hash, listed, limited, rotated and revoked")
def command(person):
    state = {"env": {"HOTCELL_STATE_DIR": person.path("state")}}
    made = person.call("token", "new", "ci", "--scope", "execute", "--rate", "60", "--memory", "1G",
                       "--expires", "30d", **state).ok()
    check(re.fullmatch(r"hct_[0-9a-f]{64}\n", made.out), "the token alone on stdout", made.out)
    contains(made.err, "not shown again", "stderr")
    secret = made.out.strip()
    for name in os.listdir(person.path("state/access")):
        path = person.path(f"state/access/{name}")
        lacks(read(path).decode("latin-1"), secret[4:], f"the secret in {name}")
        equal(os.stat(path).st_mode & 0o777, 0o600, f"mode of {name}")
    listed = json.loads(person.call("token", "list", "--json", **state).ok().out)
    equal([(t["name"], t["status"], t["scopes"]) for t in listed],
          [("ci", "valid", ["execute"])], "the list")
    equal(listed[0]["limits"], {"concurrency": None, "rate": 60, "memory": 1 << 30, "cpu": None,
                                "sessions": None}, "limits")
    person.call("token", "limits", "ci", "--rate", "none", "--cpu", "9", **state).ok()
    contains(person.call("token", "limits", **state).ok().out, " 9 ", "limits for a person")
    again = json.loads(person.call("token", "rotate", "ci", "--json", **state).ok().out)
    check(again["token"] != secret, "another secret")
    person.call("token", "revoke", "ci", **state).ok()
    contains(person.call("token", "list", **state).ok().out, "revoked", "the list then")
    for words, text in (
            (("new", "ci"), "rotate ci"), (("new", "a/b"), "cannot be the name"), (("new",), "needs"),
            (("new", "x", "--scope", "all"), "--scope execute"), (("new", "x", "--rate", "0"), "--rate"),
            (("new", "x", "--expires", "1999-01-01"), "past"), (("revoke", "nobody"), "no token"),
            (("revoke", "ci", "--rate", "1"), "--rate"), (("remove", "ci"), "nothing it does")):
        ran = person.call("token", *words, **state).exits(125)
        contains(ran.err, text, f"stderr of {words}")
        equal(ran.out, "", f"stdout of {words}")


# ---- every route -------------------------------------------------------------------------------


def routes(served):
    """Method, path and scope (None: everybody's) of each, from what the daemon says of itself."""
    described = json.loads(served.ask("GET", "/openapi.json")[1])
    found = [(method.upper(), path, what["security"][0]["token"][0] if what["security"] else None)
             for path, methods in described["paths"].items() for method, what in methods.items()]
    check(len(found) > 15, "routes", found)
    return found


def fill(path, names=None):
    return re.sub(r"\{(\w+)(\.\.\.)?\}", lambda part: (names or {}).get(part.group(1), "x"), path)


BODY = '{"code": "1", "name": "mine", "point": "p", "text": "x", "jsonrpc": "2.0", "method": "ping"}'


@claim("access: no route answers without a token, to a wrong one, or to one without its scope")
def every_route(person):
    with Guarded(person) as served:
        scopes = ("execute", "sessions", "admin")
        for scope in scopes:
            served.token(f"all-but-{scope}", "--scope", ",".join(s for s in scopes if s != scope))
        for method, path, scope in routes(served):
            where, what = f"{method} {path}", fill(path)
            body = BODY if method in ("POST", "PUT") else None
            for value in (f"Bearer {WRONG}", "Bearer", f"Basic {WRONG}", "Bearer hct_", "x" * 3000):
                status, headers, text = served.full(method, what, body, Authorization=value)
                equal((status, error_of(text)["code"]), (401, "invalid_token"), f"{where}, {value[:20]}")
                contains(headers["WWW-Authenticate"], 'error="invalid_token"', where)
            status, headers, text = served.full(method, what, body)
            if scope is None:
                equal(status, 200, f"{where} for everybody")
                continue
            equal((status, error_of(text)["code"]), (401, "unauthorized"), f"{where} without a token")
            contains(headers["WWW-Authenticate"], 'Bearer realm="hotcell"', where)
            status, text = served.as_(f"all-but-{scope}", method, what, body)
            equal((status, error_of(text)["code"]), (403, "insufficient_scope"), f"{where}, other scope")
            contains(error_of(text)["message"], f"'{scope}'", where)
        equal(served.ask("GET", "/nothing")[0], 401, "what there is not is not told")
        equal(served.as_("all-but-admin", "GET", "/nothing")[0], 404, "but to those with a token")


@claim("access: no route lets one tenant see, name or touch what another has")
def other_tenant(person):
    scopes = ("--scope", "execute,sessions,admin")
    with Guarded(person) as served:
        served.token("one", *scopes)
        served.token("two", *scopes)
        one = lambda method, path, body=None: served.as_("one", method, path, body)  # noqa: E731
        equal(one("POST", "/v1/sessions", {"name": "mine"})[0], 201, "a session")
        one("POST", "/v1/sessions/mine/exec", {"code": "x = 'ours'\nopen('f', 'w').write(x)"})
        one("POST", "/v1/sessions/mine/checkpoint", {"point": "p"})
        ran = served.run("one", "print('hush')", store="always")
        names = {"name": "mine", "id": ran["id"], "path": "f", "point": "p"}
        for method, path, _scope in routes(served):
            what = fill(path, names)
            status, text = served.as_("two", method, what, BODY if method in ("POST", "PUT") else None)
            if what != path:
                check(status in (400, 404), f"{method} {what} for another tenant", status, text[:300])
                lacks(text, "ours", f"{method} {what}")
            else:
                for secret in ("hush", ran["id"]):
                    lacks(text, secret, f"{method} {what}")
        status, text = one("POST", "/v1/sessions/mine/exec", {"code": "print(x, open('f').read())"})
        equal((status, json.loads(text)["stdout"]), (200, "ours ours\n"), "the session afterwards")
        # those it made itself, walking, are its own
        listed = json.loads(served.as_("two", "GET", "/v1/sessions")[1])["sessions"]
        check(all(item["executions"] == 0 for item in listed), "sessions of the other", listed)
        for name in [item["name"] for item in listed]:
            served.as_("two", "DELETE", f"/v1/sessions/{name}")
        check([s["name"] for s in json.loads(one("GET", "/v1/sessions")[1])["sessions"]] == ["mine"],
              "sessions of the one")
        # neither is the daemon's own user's
        equal(json.loads(served.call("session", "list", "--json").ok().out), [], "our own sessions")
        equal(one("DELETE", "/v1/sessions/mine")[0], 200, "its end")


@claim("access: tenants have sessions of the same name, and records that name the token")
def same_name(person):
    with Guarded(person) as served:
        for name in ("one", "two"):
            served.token(name)
            equal(served.as_(name, "POST", "/v1/sessions", {"name": "same"})[0], 201, name)
            served.as_(name, "POST", "/v1/sessions/same/exec", {"code": f"who = '{name}'"})
        served.call("session", "new", "same").ok()
        served.call("session", "exec", "same", "-c", "who = 'us'").ok()
        for name in ("one", "two"):
            status, text = served.as_(name, "POST", "/v1/sessions/same/exec", {"code": "print(who)"})
            equal((status, json.loads(text)["stdout"]), (200, f"{name}\n"), "whose it is")
        equal(served.call("session", "exec", "same", "-c", "print(who)").ok().out, "us\n", "our own")
        equal(served.as_("one", "DELETE", "/v1/sessions/same")[0], 200, "its end")
        equal(served.as_("one", "DELETE", "/v1/sessions/same")[0], 404, "its end, again")
        equal(served.as_("two", "GET", "/v1/sessions/same")[0], 200, "the other's")
        # whoever runs the daemon sees and ends them all
        listed = json.loads(served.call("session", "list", "--all", "--json").ok().out)
        equal([(item["tenant"], item["name"]) for item in listed], [("two", "same"), (None, "same")],
              "sessions of all tenants")
        contains(served.call("session", "list", "--all").ok().out, "TENANT", "a table of them")
        equal(len(json.loads(served.call("session", "list", "--json").ok().out)), 1, "our own alone")
        served.call("session", "info", "--tenant", "two", "same").ok()
        served.call("session", "kill", "--tenant", "two", "same").ok()
        served.call("session", "kill", "--tenant", "two", "same").exits(125)
        equal(served.as_("two", "GET", "/v1/sessions/same")[0], 404, "the other's, ended")
        served.call("session", "kill", "same").ok()
        served.run("one")
        records = json.loads(served.call("audit", "list", "--json").ok().out)
        equal(sorted({record["token"] or "" for record in records}), ["", "one", "two"], "tokens")
        records = json.loads(served.call("audit", "list", "--json", "--token", "one").ok().out)
        equal([record["token"] for record in records], ["one"] * 3, "records of one")


# ---- who it is ---------------------------------------------------------------------------------


@claim("access: a token is worth nothing as soon as it is revoked, rotated or past its end")
def revoked(person):
    with Guarded(person) as served:
        parse_result(served.execute(code="1")[1], "http").is_ok()  # there is none: everybody's port
        old = served.token("ci")
        equal(served.execute(code="1")[0], 401, "without a token, once there is one")
        served.run("ci")
        new = served.call("token", "rotate", "ci").ok().out.strip()
        equal([served.as_(t, "GET", "/v1/languages")[0] for t in (old, new)], [401, 200], "rotated")
        served.call("token", "revoke", "ci").ok()
        status, text = served.as_(new, "GET", "/v1/languages")
        equal((status, error_of(text)["message"]), (401, "the token was revoked"), "revoked")
        equal(served.execute(code="1")[0], 401, "the port is not everybody's again")
        served.token("short", "--expires", "2s")
        wait_until(lambda: served.as_("short", "GET", "/v1/languages")[0] == 401, "its end")
        contains(served.as_("short", "GET", "/v1/languages")[1], "expired", "why")


@claim("access: at the unix socket the kernel says who it is, and a token narrows that")
def unix_socket(person):
    person.write(person.path("code.py"), "print('from the host')")
    spec = {"file": person.path("code.py")}
    with Guarded(person) as served:
        served.token("ci", "--scope", "execute")
        status, text = served.ask("POST", "/v1/execute", spec, served.unix())
        equal((status, json.loads(text)["stdout"]), (200, "from the host\n"), "without a token")
        status, text = served.as_("ci", "POST", "/v1/execute", spec, served.unix())
        equal((status, error_of(text)["field"]), (400, "file"), "with one")
        equal(served.as_("ci", "GET", "/v1/sessions", None, served.unix())[0], 403, "its scope")
        equal(served.as_(WRONG, "GET", "/healthz", None, served.unix())[0], 401, "a wrong one")
        for field in ("audit", "audit_size", "store_size", "store_days"):
            value = "off" if field == "audit" else 1 << 20
            status, text = served.as_("ci", "POST", "/v1/execute", {"code": "1", field: value})
            equal((status, error_of(text)["field"]), (400, field), "what is kept of all")


@claim("access: a name of the machine is said with --public-name, others are refused")
def public_name(person):
    with Guarded(person, "--public-name", "cells.example.org,other.example") as served:
        for host, wanted in (("cells.example.org", 200), ("CELLS.example.org:7070", 200),
                             ("other.example", 200), ("localhost", 200), ("evil.example", 403),
                             ("cells.example.org.evil.example", 403), ("example.org", 403)):
            equal(served.ask("GET", "/healthz", Host=host)[0], wanted, host)
            equal(served.ask("GET", "/healthz", Origin=f"https://{host}")[0], wanted, f"from {host}")
    ran = person.call("serve", "--socket", person.path("s"), "--listen", "127.0.0.1:1",
                      "--public-name", "a b").exits(125)
    contains(ran.err, "--public-name", "stderr")
    settings = person.write(person.path("settings.yaml"), "daemon:\n  public_name: before.example\n")
    with Guarded(person, "--config", settings) as served:
        for name, other in (("before.example", "after.example"), ("after.example", "before.example")):
            equal(served.ask("GET", "/healthz", Host=name)[0], 200, f"{name} of the settings")
            equal(served.ask("GET", "/healthz", Host=other)[0], 403, f"{other}, which is not there")
            person.write(settings, "daemon:\n  public_name: after.example\n")
            served.daemon.process.send_signal(signal.SIGHUP)
            served.daemon.wait_for_log("settings read again")


# ---- how much ----------------------------------------------------------------------------------


def limited(answer, name):
    status, headers, text = answer
    equal((status, error_of(text)["code"]), (429, f"limit_{name}"), f"past {name}: {text}")
    check(int(headers["Retry-After"]) > 0, "Retry-After", headers["Retry-After"])
    return int(headers["Retry-After"])


@claim("access: each limit of a token is kept to, and says when to come again")
def limits(person):
    with Guarded(person) as served:
        secret = served.token("ci")

        def ask(code="print(1)", **spec):
            return served.full("POST", "/v1/execute", {"code": code, **spec},
                               Authorization=f"Bearer {secret}")

        served.limit("ci", "--memory", "64M")
        status, _headers, text = ask(memory="65M")
        equal((status, error_of(text)["code"], error_of(text)["field"]),
              (403, "limit_memory", "memory"), "more memory than it may have")
        result = parse_result(ask()[2], "http")
        equal(result["meta"]["resource_limits"]["memory"], 64 << 20, "the default, lowered")
        result = parse_result(ask(memory="32M")[2], "http")
        equal(result["meta"]["resource_limits"]["memory"], 32 << 20, "less than it may have")
        status, text = served.as_("ci", "POST", "/v1/sessions", {"name": "s"})
        equal((status, json.loads(text)["limits"]["memory"]), (201, 64 << 20), "of a session")
        equal(served.as_("ci", "POST", "/v1/sessions", {"memory": "1G"})[0], 403, "of another")
        served.as_("ci", "DELETE", "/v1/sessions/s")

        served.limit("ci", "--sessions", "1")
        equal(served.as_("ci", "POST", "/v1/sessions", {"name": "a"})[0], 201, "a session")
        for path, body in (("/v1/sessions", {"name": "b"}), ("/v1/sessions/a/fork", {"name": "b"})):
            status, text = served.as_("ci", "POST", path, body)
            equal((status, error_of(text)["code"]), (409, "limit"), f"another: {path}")
            contains(error_of(text)["message"], "1 sessions at once", "message")
        served.token("many")
        equal(served.as_("many", "POST", "/v1/sessions", {"name": "a"})[0], 201, "somebody else's")
        served.as_("many", "DELETE", "/v1/sessions/a")
        served.limit("ci", "--sessions", "2")
        equal(served.as_("ci", "POST", "/v1/sessions/a/fork", {"name": "b"})[0], 201, "a branch")
        for name in ("a", "b"):
            served.as_("ci", "DELETE", f"/v1/sessions/{name}")

        served.limit("ci", "--memory", "none", "--rate", "3")
        for _ in range(3):
            equal(ask()[0], 200, "within the rate")
        check(limited(ask(), "rate") <= 21, "Retry-After of a rate")
        served.limit("ci", "--rate", "none", "--concurrency", "1")
        busy = served.tcp()
        busy.request("POST", "/v1/execute", json.dumps({"code": "import time; time.sleep(60)"}),
                     {"Authorization": f"Bearer {secret}", "Accept": "application/x-ndjson"})
        contains(busy.getresponse().readline().decode(), "running", "the first")
        limited(ask(), "concurrency")
        served.token("other")
        served.run("other")  # it is nobody else's limit
        busy.close()
        wait_until(lambda: ask()[0] == 200, "the place of the one that left")
        text = served.ask("GET", "/metrics", connection=served.unix())[1]
        check(int(re.search(r"^hotcell_http_limited_total (\d+)", text, re.M).group(1)) >= 4, "metrics")


@claim("access: CPU time is counted by the day, bounds what runs, and outlives the daemon")
def cpu_time(person):
    served = Guarded(person)
    with served:
        secret = served.token("ci", "--cpu", "1")
        result = served.run("ci", "while True: pass")
        equal(result["status"], "cpu_limit", "what runs with a second left")
        wait_until(lambda: served.limit("ci")["cpu_today"] > 0.9, "the ledger")
        answer = served.full("POST", "/v1/execute", {"code": "1"}, Authorization=f"Bearer {secret}")
        check(limited(answer, "cpu") <= 86400, "until midnight")
        equal(served.as_("ci", "GET", "/v1/languages")[0], 200, "what executes nothing")
        used = served.limit("ci")["cpu_today"]
    with served:
        limited(served.full("POST", "/v1/execute", {"code": "1"}, Authorization=f"Bearer {secret}"),
                "cpu")
        served.limit("ci", "--cpu", "1000")
        result = served.run("ci", "sum(range(5000000))")
        equal(result["meta"]["resource_limits"]["cpu_time"], None, "with much left nothing is bound")
        wait_until(lambda: served.limit("ci")["cpu_today"] > used, "the ledger, again")


@claim("access: of 500 executions that wait, two tokens have half each of the next 250", who=("root",))
def fair(person):
    each, shown = 250, 250
    options = ("--concurrency", "1", "--queue", "600")
    with Guarded(person, *options) as served, contextlib.ExitStack() as stack:
        for name in ("one", "two", "blocker"):
            served.token(name)

        def begin(name, code):
            connection = served.tcp()
            stack.callback(connection.close)
            connection.request("POST", "/v1/execute", json.dumps({"code": code}),
                               {"Authorization": f"Bearer {served.secrets[name]}"})
            return connection

        def waiting():
            text = served.ask("GET", "/metrics", connection=served.unix())[1]
            return int(re.search(r"^hotcell_executions_waiting (\d+)", text, re.M).group(1))

        blocker = begin("blocker", "import time; time.sleep(3600)")
        crowd = [begin("one", "1") for _ in range(each)]
        wait_until(lambda: waiting() == each, "all of one to wait")
        crowd += [begin("two", "1") for _ in range(each)]
        wait_until(lambda: waiting() == 2 * each, "all of two to wait", patience=60)
        blocker.close()
        for connection in crowd:
            equal(connection.getresponse().status, 200, "status")
        records = json.loads(served.call("audit", "list", "--json", "--limit", "2000").ok().out)
        order = [record["token"] for record in records if record["token"] in ("one", "two")][:shown]
        share = order.count("one") / shown
        check(0.4 <= share <= 0.6, "the share of one", share)


# ---- what goes wrong with the ledger -------------------------------------------------------------


@claim("access: a locked or damaged ledger is told of, holds nobody up, and needs no restart")
def trouble(person):
    with Guarded(person) as served:
        served.token("ci", "--cpu", "1000")
        served.run("ci")
        wait_until(lambda: served.limit("ci")["cpu_today"] > 0, "what was used")
        before = served.limit("ci")["cpu_today"]
        path = person.path("state/access/tokens.db")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        served.run("ci", "sum(range(3000000))")
        served.daemon.wait_for_log("locked")
        served.run("ci")  # and it goes on
        ran = served.call("token", "revoke", "ci").exits(125)
        contains(ran.err, "locked; try again", "stderr")
        other.execute("COMMIT")
        other.close()
        wait_until(lambda: served.limit("ci")["cpu_today"] > before, "what was used meanwhile")
        os.rename(path, path + ".aside")
        person.write(path, "x" * 8192, 0o600)
        status, headers, text = served.full("POST", "/v1/execute", {"code": "1"},
                                            Authorization=f"Bearer {served.secrets['ci']}")
        equal((status, error_of(text)["code"]), (503, "access_unavailable"), "with a damaged ledger")
        equal(headers["Retry-After"], "1", "Retry-After")
        equal(served.execute(code="1")[0], 503, "without a token, too")
        equal(served.ask("GET", "/healthz", connection=served.unix())[0], 200, "over the socket")
        contains(served.call("token", "list").exits(125).err, "damaged", "stderr")
        os.rename(path + ".aside", path)
        served.run("ci")
        served.daemon.wait_for_log("read again")


@claim("access: a full disk is told of, and who has a token goes on", who=("root",))
def full_disk(person):
    state = person.path("state")
    os.mkdir(state, 0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k,mode=700", "none", state],
                      capture_output=True, check=False).returncode:
        raise Skip("cannot mount a file system")
    try:
        with Guarded(person) as served:
            served.token("ci")
            served.run("ci")
            with open(state + "/filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
                while filler.write(b"x" * 4096):
                    pass
            ran = served.call("token", "new", "late")
            if ran.code == 0:  # it found a page that was left
                for number in range(200):
                    ran = served.call("token", "new", f"late{number}")
                    if ran.code:
                        break
            ran.exits(125)
            check(re.search("full|room|No space", ran.err), "stderr", ran.err)
            equal(ran.out, "", "no token that was not kept")
            served.run("ci")
            os.unlink(state + "/filler")
            served.token("later")
            served.run("later")
    finally:
        subprocess.run(["umount", state], check=False)


# ---- ports that others can reach, and TLS ------------------------------------------------------


def make_certificate(person, name):
    """The paths of a new certificate for localhost and of its key."""
    if not shutil.which("openssl"):
        raise Skip("there is no openssl")
    cert, key = person.path(f"{name}.cert"), person.path(f"{name}.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, capture_output=True)
    person.own(cert, 0o644)
    person.own(key, 0o600)
    return cert, key


@claim("access: a port that other machines reach needs a token, and TLS or a word that says so")
def exposed(person):
    def refused(*options):
        return person.call("serve", "--socket", person.path("d.sock"), *options,
                           env={"HOTCELL_STATE_DIR": person.path("state")}).exits(125).err

    for address in ("0.0.0.0:7070", "[::]:7070"):
        contains(refused("--listen", address), "hotcell token new", "stderr without a token")
    person.call("token", "new", "ci", env={"HOTCELL_STATE_DIR": person.path("state")}).ok()
    contains(refused("--listen", "0.0.0.0:7070"), "--tls-cert", "stderr without TLS")
    person.call("token", "revoke", "ci", env={"HOTCELL_STATE_DIR": person.path("state")}).ok()
    contains(refused("--listen", "0.0.0.0:7070", "--plain-http"), "hotcell token new",
             "stderr with a token that is worth nothing")
    served = Guarded(person, "--plain-http", listen="0.0.0.0")
    served.token("other")
    with served:
        served.run("other")
        equal(served.execute(code="1")[0], 401, "without a token")
        equal(served.ask("GET", "/healthz", Host=f"192.0.2.7:{served.port}")[0], 200, "an address")
        equal(served.ask("GET", "/healthz", Host="evil.example")[0], 403, "a foreign name")


class Secure(Guarded):
    trusted = None

    def tcp(self):
        context = ssl.create_default_context(cafile=self.trusted)
        return http.client.HTTPSConnection("localhost", self.port, timeout=HUNG_AFTER, context=context)


@claim("access: HTTPS with given files, 1.2 and newer, and a new certificate at a signal")
def tls(person):
    cert, key = make_certificate(person, "first")
    second, second_key = make_certificate(person, "second")
    served = Secure(person, "--tls-cert", cert, "--tls-key", key)
    served.trusted = cert
    served.token("ci")
    with served:
        served.run("ci", "print('x' * 100000)", max_output="1M")
        status, text = served.as_("ci", "POST", "/v1/execute", {"code": "print(1)\n2"},
                                  Accept="application/x-ndjson")
        equal((status, len(text.splitlines())), (200, 4), "events")
        old = ssl.create_default_context(cafile=cert)
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
        try:
            http.client.HTTPSConnection("localhost", served.port, timeout=HUNG_AFTER,
                                        context=old).request("GET", "/healthz")
            raise AssertionError("TLS 1.1 is spoken")
        except (ssl.SSLError, ConnectionError):
            pass
        kept = served.tcp()
        equal(served.ask("GET", "/healthz", connection=kept)[0], 200, "a connection that stays")
        shutil.copy(second, cert)  # the key is not its own yet
        served.daemon.process.send_signal(signal.SIGHUP)
        served.daemon.wait_for_log("does not belong to the certificate")
        equal(served.ask("GET", "/healthz", connection=kept)[0], 200, "it goes on")
        shutil.copy(second_key, key)
        served.trusted = second
        served.daemon.process.send_signal(signal.SIGHUP)

        def is_new():
            try:
                return served.as_("ci", "GET", "/healthz")[0] == 200
            except ssl.SSLError:
                return False

        wait_until(is_new, "the new certificate")
        equal(served.ask("GET", "/healthz", connection=kept)[0], 200, "the connection of before")
        served.run("ci")


@claim("access: what is wrong with a certificate is said with the file and the fix")
def bad_certificates(person):
    cert, key = make_certificate(person, "good")
    _other, other_key = make_certificate(person, "other")
    junk = person.write(person.path("junk"), "no PEM", 0o600)
    open_key = person.write(person.path("open.key"), read(key), 0o644)
    listen = ("serve", "--socket", person.path("d.sock"), "--listen", f"127.0.0.1:{free_port()}")
    for options, words in (
            (("--tls-cert", cert), "--tls-key"),
            (("--tls-cert", person.path("none"), "--tls-key", key), person.path("none")),
            (("--tls-cert", junk, "--tls-key", key), f"no certificate in '{junk}'"),
            (("--tls-cert", cert, "--tls-key", junk), f"no key in '{junk}'"),
            (("--tls-cert", cert, "--tls-key", other_key), f"'{other_key}' does not belong"),
            (("--tls-cert", cert, "--tls-key", open_key), f"chmod 600 '{open_key}'"),
            (("--tls-cert", cert, "--tls-key", key, "--plain-http"), "--plain-http")):
        contains(person.call(*listen, *options).exits(125).err, words, f"stderr of {options}")
    ran = person.call("serve", "--socket", person.path("d.sock"), "--tls-cert", cert, "--tls-key", key)
    contains(ran.exits(125).err, "--listen", "stderr without a port")


# ---- MCP ---------------------------------------------------------------------------------------


def call_tool(served, who, tool, **arguments):
    """The result of one tool, as a client of the legacy line asks for it."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": tool, "arguments": arguments}}
    status, text = served.as_(who, "POST", "/mcp", message, Content_Type="application/json",
                              Accept="application/json, text/event-stream",
                              MCP_Protocol_Version="2025-11-25")
    equal(status, 200, f"status of {tool} as {who}: {text[:300]}")
    found = [line[6:] for line in text.splitlines() if line.startswith("data: ")] or [text]
    return json.loads(found[-1])["result"]


@claim("access: over MCP each tool needs its scope, counts, and is of its tenant")
def mcp(person):
    with Guarded(person) as served:
        served.token("runs", "--scope", "execute")
        served.token("one")
        served.token("two")
        result = call_tool(served, "runs", "run_code", code="print(6 * 7)")
        equal((result.get("isError", False), result["structuredContent"]["stdout"]), (False, "42\n"), "a run")
        result = call_tool(served, "runs", "session_list")
        check(result["isError"] and "scope 'sessions'" in str(result), "without the scope", result)
        call_tool(served, "one", "session_new", name="mine")
        check("mine" in str(call_tool(served, "one", "session_list")), "its own")
        lacks(str(call_tool(served, "two", "session_list")), "mine", "the other's list")
        result = call_tool(served, "two", "session_exec", session="mine", code="1")
        check(result["isError"] and "no session 'mine'" in str(result), "the other's", result)
        call_tool(served, "one", "session_kill", session="mine")
        served.limit("runs", "--cpu", "1")
        call_tool(served, "runs", "run_code", code="while True: pass")
        result = call_tool(served, "runs", "run_code", code="print(1)")
        check(result["isError"] and "CPU time" in str(result), "past its CPU time", result)
        equal(served.ask("POST", "/mcp", "{}")[0], 401, "without a token")
