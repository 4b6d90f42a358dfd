# SPDX-License-Identifier: Apache-2.0
"""The Python runner: a program does not notice it, and its values, figures and errors are told."""
import base64
import os
import re

from python_programs import DIFFERENT, PROGRAMS
from suite import ROOT, USER, Skip, check, claim, contains, equal, lacks, matches

ONE = ROOT if os.geteuid() == 0 else USER  # what does not depend on who asks is asked once
PNG = b"\x89PNG\r\n\x1a\n"
TABLE = "application/vnd.hotcell.table+json"
INPUT = b"first\nsecond\nthird"


def both(person, source, name="program.py"):
    """A program through the runner and without it, in cells that are otherwise the same."""
    person.write(person.path(name), source)
    words = ["--stdin", "-", "-m", "512M"]
    runner = person.run(*words, name, "one", "two words", stdin=INPUT)
    bare = person.run(*words, "--file", name, "--exec", "--", "/usr/bin/python3", name, "one",
                      "two words", stdin=INPUT)
    return runner, bare


def without_addresses(data):
    """What differs from one process to the next in any case."""
    data = re.sub(rb"0x[0-9a-f]{6,}", b"0xADDRESS", data)
    return re.sub(rb"started \d+", b"started ID", data)


def declare(name, source):
    @claim(f"python is the same with and without the runner: {name}", ONE)
    def same(person):
        runner, bare = both(person, source)
        equal(without_addresses(runner.out_bytes), without_addresses(bare.out_bytes), "stdout")
        equal(without_addresses(runner.err_bytes), without_addresses(bare.err_bytes), "stderr")
        equal(runner.code, bare.code, "exit status")


for program_name, program_source in PROGRAMS.items():
    declare(program_name, program_source)


@claim("python: what is known to be different is so, and nothing else", ONE)
def different(person):
    source, _why = DIFFERENT["uncaught recursion"]
    runner, bare = both(person, source)
    count = re.compile(r"repeated (\d+) more times")
    equal(int(count.search(runner.err)[1]) + 1, int(count.search(bare.err)[1]), "repetitions")
    equal(count.sub("", runner.err), count.sub("", bare.err), "the rest of stderr")
    equal((runner.out, runner.code), (bare.out, bare.code), "stdout and exit status")
    source, _why = DIFFERENT["fault handler"]
    runner, bare = both(person, source)
    lines = runner.err.splitlines()
    contains(lines.pop(), "<hotcell>", "last line")
    equal([without_addresses(line.encode()) for line in lines],
          [without_addresses(line.encode()) for line in bare.err.splitlines()], "the others")


# ---- values --------------------------------------------------------------------------------------


def outputs(person, code, *args):
    result = person.json(*args, "-c", code).is_ok()
    return result["outputs"]


def one(person, code, *args, kind="result"):
    found = outputs(person, code, *args)
    equal([output["type"] for output in found], [kind], "types of the outputs")
    return found[0]["data"]


def need(person, module):
    if person.code(f"import {module}", "-t", "60").code != 0:
        raise Skip(f"needs python3-{ {'PIL': 'pil'}.get(module, module) }")


@claim("python: the value of the last expression is the result, None is none")
def last_expression(person):
    for code, text in (("6 * 7", "42"), ("x = 'a'\nx + 'b'", "'ab'"), ("1;2", "2"),
                       ("(\n1\n+ 1\n)\n# done\n", "2"), ("'''a\nb'''", "'a\\nb'"),
                       ("# coding: utf-8\n'é'", "'é'"), ("print('p')\n[]", "[]"),
                       ("if 1:\n    x = 3\nx", "3"), ("x = [\n1,\n]; x", "[1]"),
                       ("match = len\nmatch('abc')", "3"), ("b'x'", "b'x'"), ("...", "Ellipsis"),
                       ("def f():\n    return 1\nf()", "1"), ("-1.5", "-1.5"), ("True", "True")):
        equal(one(person, code)["text/plain"], text, f"the value of {code!r}")
    for code in ("None", "x = 5", "print(1)", "5;", "x = 3; x;  # quiet", "if 1:\n    5",
                 "for i in 'ab':\n    i", "def f(): pass", "import os", "from os import path", "",
                 "# 5", "len('a')\npass", "len('a')\nx: int", "with open('/dev/null') as f: f.read()", "try:\n    1\nexcept: 2",
                 "x = '''\n5\n'''", "if 1: \\\nlen('a')", "class A: 5", "raise SystemExit"):
        equal(outputs(person, code), [], f"outputs of {code!r}")


@claim("python: a failed program has no result, and what it displayed before is kept")
def failed(person):
    result = person.json("-c", "display('before')\n1 / 0\n5").has_status("error", 1)
    equal([o["data"]["text/plain"] for o in result["outputs"]], ["'before'"], "outputs")


@claim("python: plain data is JSON and pretty text")
def plain_data(person):
    data = one(person, "{'name': 'é', 'list': [1, 2.5, None, True], 'deep': {'a': {'b': []}}}")
    equal(data["application/json"],
          {"name": "é", "list": [1, 2.5, None, True], "deep": {"a": {"b": []}}}, "JSON")
    contains(data["text/plain"], "'name': 'é'", "text")
    data = one(person, "{f'key number {i}': list(range(i)) for i in range(9)}")
    check(len(data["text/plain"].splitlines()) >= 9, "not one line each:", data["text/plain"])
    check(max(map(len, data["text/plain"].splitlines())) <= 79, "too wide:", data["text/plain"])
    equal(eval(data["text/plain"]), {f"key number {i}": list(range(i)) for i in range(9)}, "value")
    for code in ("{1: 2}", "[1 << 70]", "[float('nan')]", "[{1}]", "(1, 2)",
                 "x = []; x.append(x); x", "x = []\nfor i in range(99): x = [x]\nx"):
        data = one(person, code)
        lacks(data, "application/json", code)
        check(data["text/plain"], "no text for", code)


@claim("python: an endless value is cut, not waited for")
def endless(person):
    for code in ("list(range(3000000))", "'x' * 30000000", "{i: i for i in range(1000000)}",
                 "['y' * 9000000] * 3",
                 "class A:\n    def __repr__(self): return 'z' * 9000000\nA()"):
        data = one(person, code, "-m", "1G")
        check(len(data["text/plain"]) < 600000, "long text for", code)
        matches(data["text/plain"][-60:], r"… \d+ (characters )?more", f"the end of {code}")


@claim("python: display() shows values in their order, between what is printed")
def display(person):
    found = outputs(person, "print(1)\ndisplay('a', {'b': 2})\ndisplay(3)\n4")
    equal([(o["type"], o["data"]["text/plain"]) for o in found],
          [("display", "'a'"), ("display", "{'b': 2}"), ("display", "3"), ("result", "4")],
          "outputs")
    data = one(person, "display({'text/plain': 't', 'text/html': '<b>t</b>'}, raw=True)",
               kind="display")
    equal(data, {"text/plain": "t", "text/html": "<b>t</b>"}, "raw bundle")
    equal(outputs(person, "display()"), [], "outputs of display()")


FACES = """
class A:
    def __repr__(self): return 'text'
    def _repr_html_(self): return '<b>é</b>'
    def _repr_markdown_(self): return '**b**'
    def _repr_svg_(self): return '<svg/>'
    def _repr_png_(self): return b'\\x89PNG', {'width': 3}
    def _repr_jpeg_(self): return b'\\xff\\xd8'
    def _repr_latex_(self): return '$x$'
    def _repr_json_(self): return {'a': 1}
A()
"""


@claim("python: a value with faces of its own shows all of them")
def faces(person):
    output = outputs(person, FACES)[0]
    equal(output["data"], {
        "text/plain": "text", "text/html": "<b>é</b>", "text/markdown": "**b**",
        "image/svg+xml": "<svg/>", "image/png": base64.b64encode(b"\x89PNG").decode(),
        "image/jpeg": base64.b64encode(b"\xff\xd8").decode(), "text/latex": "$x$",
        "application/json": {"a": 1}}, "data")
    equal(output["metadata"], {"image/png": {"width": 3}}, "metadata")
    code = ("class B:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "        return {'text/plain': 'p', 'application/x-own+json': [1]}, {'m': 1}\nB()")
    output = outputs(person, code)[0]
    equal((output["data"], output["metadata"]),
          ({"text/plain": "p", "application/x-own+json": [1]}, {"m": 1}), "bundle")


@claim("python: a face that fails, lies or is endless takes only itself away")
def bad_faces(person):
    code = ("class A:\n    def __repr__(self): return 'text'\n"
            "    def _repr_html_(self): {}\n    def _repr_png_(self): raise KeyError\n"
            "    def _repr_svg_(self): return object()\n    def _repr_json_(self): return {1: 2}\n"
            "    def _repr_latex_(self): return 'x' * 9000000\n"
            "    def _repr_mimebundle_(self, **k): return {'no mime': 1, '/': 2, 3: 4}\nA()\n")
    data = one(person, code, "-m", "1G")
    contains(data["text/plain"], "text", "text")
    contains(data["text/plain"], "left out, too large: text/latex of", "text")
    equal(sorted(data), ["text/plain"], "types")
    equal(one(person, "class A: _repr_html_ = 5\nA")["text/plain"], "<class '__main__.A'>", "text")
    data = one(person, "from unittest.mock import Mock\nMock()")
    equal(sorted(data), ["text/plain"], "types of a mock")


@claim("python: many values and a large one leave the channel whole")
def many(person):
    result = person.json("-c", "for i in range(400): display(i)").is_ok()
    check(0 < len(result["outputs"]) <= 256, "outputs", len(result["outputs"]))
    contains(" ".join(result.meta["warnings"]), "left out", "warnings")
    code = ("class A:\n    def _repr_png_(self): return b'x' * (5 << 20)\n"
            "display(A())\ndisplay('small')\n7")
    result = person.json("-m", "1G", "-c", code).is_ok()
    equal([o["data"].get("text/plain", "")[-7:] for o in result["outputs"]][-2:], ["'small'", "7"],
          "the last outputs")


@claim("python: threads may display at once, forked children only print")
def display_parallel(person):
    code = ("import threading\n"
            "def f(n):\n    for i in range(5): display('x' * 1000 + str(n))\n"
            "t = [threading.Thread(target=f, args=(n,)) for n in range(8)]\n"
            "[x.start() for x in t]; [x.join() for x in t];")
    equal(len(outputs(person, code)), 40, "number of outputs")
    result = person.json("-c", "import os\nif os.fork():\n    os.wait()\n    display('parent')\n"
                               "else:\n    display('child')\n    raise SystemExit").is_ok()
    equal(([o["data"]["text/plain"] for o in result["outputs"]], result.stdout),
          (["'parent'"], "'child'\n"), "outputs and stdout")


# ---- libraries -----------------------------------------------------------------------------------

PLOT = "import matplotlib.pyplot as plt\n"


def pictures(person, code):
    found = outputs(person, PLOT + code, "-t", "60")
    for output in found:
        check(base64.b64decode(output["data"]["image/png"]).startswith(PNG), "no PNG:", output)
    return [output["type"] for output in found]


@claim("python: figures are shown by show(), by display() and at the end, each once", ONE)
def figures(person):
    need(person, "matplotlib")
    equal(pictures(person, "plt.plot([1, 2]);"), ["display"], "left open")
    equal(pictures(person, "plt.plot([1, 2])\nplt.show()\nprint(plt.get_fignums())"), ["display"],
          "shown")
    equal(pictures(person, "plt.plot([1])\nplt.show()\nplt.plot([2])\nplt.show()"),
          ["display"] * 2, "shown twice")
    equal(pictures(person, "f, a = plt.subplots()\na.plot([1])\nf"), ["result"], "as a value")
    equal(pictures(person, "f, a = plt.subplots()\ndisplay(f)\na.plot([1]);"), ["display"] * 2,
          "changed after it was shown")
    equal(pictures(person, "plt.figure(); plt.figure(); plt.close('all')"), [], "closed")
    result = person.json("-t", "60", "-c", PLOT + "plt.plot([1])\n1 / 0").has_status("error", 1)
    equal(len(result["outputs"]), 1, "outputs of a failed program")


@claim("python: matplotlib finds no changed environment and no word on stderr", ONE)
def matplotlib_quiet(person):
    need(person, "matplotlib")
    code = (PLOT + "import os, sys, matplotlib\nplt.plot([1])\nplt.show()\n"
            "print(matplotlib.get_backend(), [k for k in os.environ if 'MPL' in k])\n"
            "print(matplotlib.__spec__.loader is matplotlib.__loader__, matplotlib.__loader__)")
    result = person.json("-t", "60", "-c", code).is_ok()
    matches(result.stdout, r"^agg \[\]\nTrue <_frozen_importlib_external.SourceFileLoader", "stdout")
    lacks(result["stderr"], "Warning", "stderr")
    code = "import matplotlib\nmatplotlib.use('svg')\n" + PLOT + "print(matplotlib.get_backend())"
    equal(person.code(code, "-t", "60").ok().out, "svg\n", "a backend that was asked for")


@claim("python: a pandas frame is a table, HTML and text", ONE)
def frame(person):
    need(person, "pandas")
    code = ("import pandas as pd\n"
            "pd.DataFrame({'n': [1, 2], 'f': [1.5, float('nan')], 't': ['é', None],"
            " 'd': pd.to_datetime(['2026-01-02', None])})")
    data = one(person, code, "-t", "60")
    equal(data[TABLE], {"columns": ["n", "f", "t", "d"], "total_rows": 2, "rows": [
        [1, 1.5, "é", "2026-01-02 00:00:00"], [2, None, None, None]]}, "table")
    contains(data["text/html"], "<table", "HTML")
    contains(data["text/plain"], "2026-01-02", "text")
    data = one(person, "import pandas as pd\npd.DataFrame({'a': range(5000)})", "-t", "60")
    equal((data[TABLE]["total_rows"], len(data[TABLE]["rows"])), (5000, 1000), "rows")
    data = one(person, "import pandas as pd\npd.Series([1, 2], index=['x', 'y'], name='s')",
               "-t", "60")
    equal(data[TABLE], {"columns": ["index", "s"], "rows": [["x", 1], ["y", 2]],
                        "total_rows": 2}, "table of a series")
    data = one(person, "import pandas as pd\nd = pd.DataFrame({'a': [1], 'b': [2], 'c': [3]})\n"
                       "d.groupby(['a', 'b']).sum()", "-t", "60")
    equal(data[TABLE]["columns"], ["a", "b", "c"], "columns with two levels of index")


@claim("python: a picture of PIL is PNG", ONE)
def image(person):
    need(person, "PIL")
    data = one(person, "from PIL import Image\nImage.new('RGB', (8, 4), 'red')")
    check(base64.b64decode(data["image/png"]).startswith(PNG), "no PNG")
    contains(data["text/plain"], "PIL.Image.Image", "text")


# ---- errors --------------------------------------------------------------------------------------


@claim("python: an error is told with its kind, place and frames")
def error(person):
    person.write(person.path("err.py"), "def outer(x):\n    return inner(x)\n\n\n"
                 "def inner(x):\n    é = 1; return é / x\n\n\nouter(0)\n")
    error = person.json("err.py").has_status("error", 1)["error"]
    equal([error[k] for k in ("kind", "name", "value", "line", "column")],
          ["runtime", "ZeroDivisionError", "division by zero", 6, 19], "error")
    equal([(f["line"], f["column"], f["function"], f["source"]) for f in error["traceback"]],
          [(9, 1, "<module>", "outer(0)"), (2, 12, "outer", "    return inner(x)"),
           (6, 19, "inner", "    é = 1; return é / x")], "traceback")
    equal({f["file"] for f in error["traceback"]}, {"/home/user/err.py"}, "files")


@claim("python: errors have the kind that fits")
def kinds(person):
    for code, kind, name, line in (
            ("x = 1\nprint(", "syntax", "SyntaxError", 2),
            ("if 1:\nx = 1", "syntax", "IndentationError", 2),
            ("return 5", "syntax", "SyntaxError", 1),
            ("import nope", "import", "ModuleNotFoundError", 1),
            ("from os import nope", "import", "ImportError", 1),
            ("compile('(', 'f', 'exec')", "runtime", "SyntaxError", 1),
            ("\neval('1 +')", "runtime", "SyntaxError", 2),
            ("import json\n\njson.loads('{')", "runtime", "JSONDecodeError", 3),
            ("raise ExceptionGroup('g', [ValueError(1)])", "runtime", "ExceptionGroup", 1),
            ("def f(): f()\nf()", "runtime", "RecursionError", 1)):
        error = person.json("-c", code).has_status("error", 1)["error"]
        equal([error["kind"], error["name"], error["line"]], [kind, name, line], f"of {code!r}")
        check(len(error["traceback"]) <= 64, "frames", len(error["traceback"]))


@claim("python: a syntax error of an imported file is shown where it is")
def imported(person):
    error = person.json("-c", "open('m.py', 'w').write('x = (')\nimport m")["error"]
    equal((error["name"], error["line"]), ("SyntaxError", 2), "error")
    equal([(f["file"], f["line"], f["column"], f["source"]) for f in error["traceback"]],
          [("/home/user/main.py", 2, 1, "import m"), ("/home/user/m.py", 1, 5, "x = (")], "frames")


@claim("python: no word of an error where there is none")
def no_error(person):
    for code in ("try:\n    1 / 0\nexcept ZeroDivisionError: pass", "raise SystemExit(0)",
                 "import sys\nsys.exit()"):
        equal(person.json("-c", code).is_ok()["error"], None, f"error of {code!r}")
    result = person.json("-c", "import sys\nsys.exit(3)").has_status("error", 3)
    equal(result["error"]["name"], None, "name of an exit")


# ---- project code --------------------------------------------------------------------------------


@claim("python: a mounted project is imported from (R8)")
def project(person):
    os.makedirs(person.path("project/pack"))
    person.write(person.path("project/pack/__init__.py"), "from .deep import f\n")
    person.write(person.path("project/pack/deep.py"), "def f(x):\n    return 1 / x\n")
    for path in ("project", "project/pack"):
        person.own(person.path(path))
    words = ["--ro", "project:/home/user/project", "-e", "PYTHONPATH=/home/user/project"]
    equal(person.json(*words, "-c", "import pack\npack.f(4)").is_ok()["outputs"][0]["data"],
          {"text/plain": "0.25"}, "result")
    error = person.json(*words, "-c", "import pack\npack.f(0)").has_status("error", 1)["error"]
    equal((error["line"], error["traceback"][-1]["file"]),
          (2, "/home/user/project/pack/deep.py"), "line of the program, file of the failure")


# ---- other interpreters --------------------------------------------------------------------------

WHERE = "import sys\nprint(sys.prefix)\nimport only_here\nonly_here.x"


def environment(person, name="venv"):
    """A virtual environment as `python3 -m venv` makes one, with a module of its own."""
    version = person.code("import sys; print('%d.%d' % sys.version_info[:2])").ok().out.strip()
    packages = f"{name}/lib/python{version}/site-packages"
    os.makedirs(person.path(packages))
    os.makedirs(person.path(name + "/bin"))
    os.symlink("/usr/bin/python3", person.path(name + "/bin/python3"))
    person.write(person.path(name + "/pyvenv.cfg"),
                 "home = /usr/bin\ninclude-system-site-packages = false\n")
    person.write(person.path(packages + "/only_here.py"), "x = 'from the environment'\n")
    for root, dirs, _files in os.walk(person.path(name)):
        person.own(root)
        for directory in dirs:
            person.own(os.path.join(root, directory))
    return person.path(name)


@claim("--python runs the code with a virtual environment, given as it is or by its interpreter")
def python_environment(person):
    path = environment(person)
    for given in (path, "venv", "./venv/", "venv/bin/python3", path + "/bin/python3"):
        result = person.json("--python", given, "-c", WHERE).is_ok()
        equal(result.stdout, path + "\n", f"prefix with {given}")
        equal(result["outputs"][0]["data"]["text/plain"], "'from the environment'", "value")
        check(result.meta["language_version"], "no version with", given)
    person.code(WHERE).exits(1)
    result = person.json("--python", "venv", "-c", f"open('{path}/new', 'w')")
    result.has_status("error", 1)
    check(not os.path.exists(path + "/new"), "the environment was changed")


@claim("--python shows the run the environment and nothing beside it")
def python_only(person):
    path = environment(person)
    person.write(person.path("secret"), "not yours")
    ran = person.code(f"import os\nprint(os.listdir('{person.dir}'))", "--python", path).ok()
    equal(ran.out, "['venv']\n", "what the cell sees beside it")


@claim("--python takes an interpreter of the system and a link to one")
def python_program(person):
    os.symlink("/usr/bin/python3", person.path("mine"))
    for given in ("/usr/bin/python3", "mine", "./mine"):
        equal(person.code("6 * 7; print(1)", "--python", given).ok().out, "1\n", given)


@claim("--python refuses what is no Python, and says what to do")
def python_refused(person):
    person.write(person.path("text"), "x")
    person.write(person.path("script"), "#!/bin/sh\nexec python3 \"$@\"\n", 0o755)
    os.makedirs(person.path("empty"))
    environment(person, "gone")
    os.remove(person.path("gone/bin/python3"))
    os.symlink("/usr/bin/no-such-python", person.path("gone/bin/python3"))
    for given, words in (("nowhere", "No such file"), ("text", "is no program"),
                         ("empty", "python3 -m venv"), ("gone", "is gone"),
                         ("script", "--ro DIR"), ("", "empty")):
        ran = person.code("1", "--python", given).exits(125)
        contains(ran.err, "--python", "stderr")
        contains(ran.err, words, f"stderr for {given!r}")
        equal(ran.out, "", "stdout")
    path = environment(person)
    for args in (["-l", "bash", "-c", "echo"], ["--exec", "--", "ls"],
                 ["--rootfs", "/", "-c", "1"]):
        contains(person.run("--python", path, *args).exits(125).err, "--python", "stderr")


@claim("--python never shows a whole home directory")
def python_home(person):
    """An environment that is the home itself, as some make it by mistake."""
    path = environment(person)
    env = {"HOME": path}
    ran = person.code("1", "--python", path, env=env).exits(125)
    contains(ran.err, "cannot be shown", "stderr")
    person.code("1", "--python", path).ok()
