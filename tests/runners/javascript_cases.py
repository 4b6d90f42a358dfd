# SPDX-License-Identifier: Apache-2.0
"""JavaScript: nothing changes for the program, and its values, tables and errors are told."""
import base64
import os
import re

from javascript_programs import ARGS, PROGRAMS, STDIN
from suite import USER, Skip, check, claim, contains, equal, lacks

NODE = "/usr/bin/node"
TABLE = "application/vnd.hotcell.table+json"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8)).decode()


def need():
    if not os.access(NODE, os.X_OK):
        raise Skip(f"needs {NODE} (package nodejs)")


def run(person, text, *args, name="main.js", **kwargs):
    need()
    return person.json(*args, person.write(person.path(name), text), **kwargs)


def data(result, kind="result"):
    return [output["data"] for output in result["outputs"] if output["type"] == kind]


def values(result):
    return [bundle["text/plain"] for bundle in data(result)]


def has_value(person, text, value, **kwargs):
    result = run(person, text, **kwargs)
    equal(values(result), [value] if value is not None else [], f"value of {text!r}")
    return result


# ---- as if there were no runner ------------------------------------------------------------------


def told(result):
    streams = [re.sub(r"\(node:\d+\)", "(node:N)", result[name]) for name in ("stdout", "stderr")]
    return {"stdout": streams[0], "stderr": streams[1], "exit_code": result["exit_code"],
            "signal": result["signal"]}


@claim("a program prints and returns through the runner what it does with node alone", USER)
def same(person):
    need()
    for name, program in PROGRAMS.items():
        files = program if isinstance(program, dict) else {"main.js": program}
        paths = [person.write(person.path(file), text) for file, text in files.items()]
        copies = [word for path in paths[1:] for word in ("--file", path)]
        common = ["--stdin", "-", "--max-output", "1M", *copies]
        bare = person.json(*common, "--file", paths[0], "--exec", "--", NODE,
                           os.path.basename(paths[0]), *ARGS, stdin=STDIN)
        ours = person.json(*common, paths[0], *ARGS, stdin=STDIN)
        equal(told(ours), told(bare), f"what '{name}' gave")
        lacks(ours["stderr"] + ours["stdout"], "/run/hotcell", f"output of '{name}'")


# ---- the value of the last expression ------------------------------------------------------------


@claim("the value of the last expression is told as text and as data")
def value(person):
    has_value(person, "const a = 3; a * 2", "6")
    has_value(person, "const a = 3;\n\na;\n// the end\n", "3")
    has_value(person, "'te' + 'xt'", "'text'")
    has_value(person, "1 === 1", "true")
    has_value(person, "Math.max(1, 'x'.length) + 40", "41")
    has_value(person, 'Math.max(1, 2) * 21 - parseInt("3", 10) % 2 < 1.5\n', "false")
    has_value(person, "this < 1 > null", "false")
    has_value(person, "let a = 1; a ? 'yes' : 'no';", "'yes'")
    has_value(person, "[3, 1, 2]\n  .sort()\n  .map((x) => x * 2)\n", "[ 2, 4, 6 ]")
    has_value(person, "function f() {}\n(1, 2)", "2")
    result = has_value(person, "({ a: [1, null, 'x'] })", "{ a: [ 1, null, 'x' ] }")
    equal(data(result)[0]["application/json"], {"a": [1, None, "x"]}, "data")
    lacks(data(run(person, "new Map([[1, 2]])"))[0], "application/json", "types of a Map")
    lacks(data(run(person, "const a = []; a.push(a); a"))[0], "application/json", "types of a cycle")


@claim("no value is told where a program has none to show")
def no_value(person):
    for text in ("console.log(5)", "if (true) { 5 }", "const a = 5", "undefined", "'use strict'",
                 "setTimeout(() => {}, 1)", "process.stdout.write('x')", "module.exports = 5",
                 "async function f() {}\nf()", "function f() {}", "5; return 6", "{ a: 1 }",
                 "const f = (x) => 1\nf\n(2); let b"):
        has_value(person, text, None)


@claim("an array of like objects is a table too")
def records(person):
    shown = data(run(person, "[{ a: 1, b: 'x' }, { a: 2, c: true }]"))[0]
    equal(shown[TABLE], {"columns": ["a", "b", "c"], "rows": [[1, "x", None], [2, None, True]],
                         "total_rows": 2}, "table")
    contains(shown["text/html"], "<td>x</td>", "html")


# ---- modules and await ---------------------------------------------------------------------------


@claim("import, export and await work in a file of any name, require in a script")
def modules(person):
    has_value(person, "import os from 'os';\nconst n = await 5;\n[n, typeof os.EOL]", "[ 5, 'string' ]")
    has_value(person, "export const a = 1;\na + 1", "2", name="main.mjs")
    has_value(person, "const os = require('os');\nawait 5 + os.EOL.length", "6")
    has_value(person, "const v = await Promise.all([1, 2]);\nv", "[ 1, 2 ]")
    has_value(person, "const m = await import('path');\nrequire('path') === m.default", "true")


@claim("a module in a .js file imports modules and scripts beside it")
def imports(person):
    lib = person.write(person.path("lib.js"), "export const two = 2;")
    old = person.write(person.path("old.js"), "module.exports = { three: 3 };")
    result = run(person, "import { two } from './lib.js';\nimport old from './old.js';\n"
                         "console.log(import.meta.url);\ntwo + old.three",
                 "--file", lib, "--file", old)
    equal(values(result), ["5"], f"value, beside {result['stderr']}")
    equal(result.stdout, "file:///home/user/main.js\n", "stdout")


@claim("an error after an await in a script has its place, and nothing of the runner in its stack")
def awaited(person):
    result = run(person, "const fs = require('fs');\nawait 1;\nnull.x;\n").has_status("error", 1)
    equal((result["error"]["line"], result["error"]["column"]), (3, 6), "place")
    contains(result["stderr"], "/home/user/main.js:3\nnull.x;\n     ^\n", "stderr")
    lacks(result["stderr"], "/run/hotcell", "stderr")


@claim("a top-level await that never ends gives node's exit status for it")
def unfinished(person):
    run(person, "require('fs'); await new Promise(() => {})").has_status("error", 13)


# ---- display and tables --------------------------------------------------------------------------


@claim("display() sends HTML, pictures, data and bundles")
def display(person):
    result = run(person, f"""
        display('plain');
        display('<b>bold</b>');
        display('<svg xmlns="x"></svg>');
        display(Buffer.from('{PNG}', 'base64'));
        display({{ a: 1 }});
        display({{ 'text/plain': 'p', 'text/markdown': '# m' }});
        display('a,b', 'text/csv');
        display({{ [Symbol.for('Jupyter.display')]() {{ return {{ 'text/html': '<i>' }} }} }});
    """).is_ok()
    shown = data(result, "display")
    equal(shown[0], {"text/plain": "plain"}, "text")
    equal(shown[1]["text/html"], "<b>bold</b>", "html")
    equal(shown[2]["image/svg+xml"], '<svg xmlns="x"></svg>', "svg")
    equal(shown[3]["image/png"], PNG, "png")
    equal(shown[4]["application/json"], {"a": 1}, "json")
    equal(shown[5], {"text/plain": "p", "text/markdown": "# m"}, "bundle")
    equal(shown[6]["text/csv"], "a,b", "csv")
    equal(shown[7]["text/html"], "<i>", "own bundle")
    equal(result.stdout, "", "stdout")


@claim("console.table prints as ever and sends the table")
def tables(person):
    result = run(person, "console.table([{ a: 1, b: 'x' }, { a: 2 }]);").is_ok()
    contains(result.stdout, "(index)", "stdout")
    shown = data(result, "display")[0]
    equal(shown[TABLE], {"columns": ["(index)", "a", "b"], "rows": [[0, 1, "x"], [1, 2, None]],
                         "total_rows": 2}, "table")
    equal(shown["text/plain"] + "\n", result.stdout, "text")
    contains(shown["text/html"], "<td>x</td>", "html")


@claim("a table is cut to a thousand rows and tells how many there were")
def long_table(person):
    shown = data(run(person, "console.table(Array.from({ length: 1500 }, (_, i) => [i]))",
                     "--max-output", "1M"), "display")[0]
    equal((len(shown[TABLE]["rows"]), shown[TABLE]["total_rows"]), (1000, 1500), "rows")


@claim("a value that is too large is replaced by a word about it")
def too_large(person):
    shown = data(run(person, "display('x'.repeat(9 << 20), 'text/html'); display('next')").is_ok(), "display")
    contains(shown[0]["text/plain"], "left out: text/html", "text")
    equal(shown[1], {"text/plain": "next"}, "the next")


@claim("odd values and types do not end the channel")
def odd(person):
    result = run(person, '''
        display('x', 'no type'); display('x', 5); display({ 'a/b': 1, 'c d': 2 });
        display(Object.fromEntries(Array.from({ length: 40 }, (_, i) => ['x/' + i, i])));
        let deep = []; for (let i = 0; i < 1000; i++) deep = [deep];
        display(deep); display('\\ud800\\0'); display(10n ** 50n); display(Symbol('s')); display();
        display(new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } }));
        display({ get x() { throw 3 } }); display([, 1]); display(NaN); display(-0); display(1e300);
        display({ ['__proto__']: 1, toJSON() { throw 4 } }); display({ [Symbol.for('Jupyter.display')]() { throw 5 } });
        ({ [require('util').inspect.custom]() { throw 6 } })''').is_ok()
    equal(result.meta["warnings"], [], "warnings")
    equal(len(data(result, "display")), 17, "displays")


@claim("a program that closes or takes the channel runs on")
def lost(person):
    for text in ("require('fs').closeSync(3); display(1); console.log('on'); 5",
                 "const fs = require('fs'); fs.closeSync(3); const fd = fs.openSync('f', 'w+');"
                 "display(1); console.log(fd === 3 ? 'on' : 'on', fs.readFileSync('f').length)"):
        result = run(person, text).is_ok()
        contains(result.stdout, "on", "stdout")
        lacks(result.stdout.replace("on 0", "on"), "on ", "bytes in the program's own file")


# ---- errors --------------------------------------------------------------------------------------


def error(person, text, **kwargs):
    result = run(person, text, **kwargs)
    check(result["error"] is not None, "no error in", dict(result))
    return result["error"]


@claim("an uncaught error has kind, name, value, place and frames, the outermost first")
def runtime(person):
    found = error(person, "function inner() {\n  return null.x;\n}\nconst outer = () => inner();\nouter();\n")
    equal((found["kind"], found["name"], found["line"], found["column"]), ("runtime", "TypeError", 2, 15), "error")
    contains(found["value"], "Cannot read properties of null", "value")
    equal([(frame["file"], frame["line"], frame["function"], frame["source"]) for frame in found["traceback"]],
          [("main.js", 5, "<main>", "outer();"), ("main.js", 4, "outer", "const outer = () => inner();"),
           ("main.js", 2, "inner", "  return null.x;")], "frames")


@claim("errors of the three kinds are told apart in scripts and modules")
def kinds(person):
    for text, name, kind, line in (
            ("let a = 1;\nlet b = = 2;", "main.js", "syntax", 2),
            ("let a = 1;\nlet b = = 2;", "main.mjs", "syntax", 2),
            ("const a = [1,\n2", "main.js", "syntax", None),
            ("\nrequire('left-pad')", "main.js", "import", 2),
            ("import x from 'left-pad';", "main.mjs", "import", None),
            ("import { nope } from 'fs';", "main.mjs", "import", None),
            ("await import('./nope.mjs')", "main.mjs", "import", None),
            ("\n\nthrow new RangeError('r')", "main.mjs", "runtime", 3),
            ("JSON.parse('{')", "main.js", "runtime", 1),
            ("Promise.reject(new Error('r'))", "main.js", "runtime", 1)):
        found = error(person, text, name=name)
        equal(found["kind"], kind, f"kind of {text!r}")
        if line:
            equal(found["line"], line, f"line of {text!r}")


@claim("a syntax error in a required file is placed in that file")
def required(person):
    need()
    bad = person.write(person.path("bad.js"), "let ok;\nlet = = 3\n")
    found = run(person, "const fs = require('fs');\nrequire('./bad');\n", "--file", bad)["error"]
    equal((found["kind"], found["traceback"][-1]["file"], found["line"]), ("syntax", "bad.js", 2), "place")


@claim("what is thrown need not be an error")
def thrown(person):
    equal(error(person, "throw 5")["value"], "5", "value")
    equal(error(person, "throw 'text'")["value"], "'text'", "value")
    equal(error(person, "throw null")["value"], "null", "value")
    contains(error(person, "throw { a: 1 }")["value"], "{ a: 1 }", "value")
    contains(error(person, "Promise.reject(5)")["value"], "5", "value")
    equal(error(person, "const e = new Error('m'); e.name = 'x'.repeat(9999); throw e")["value"], "m", "value")


@claim("an error that the program handles is not told")
def handled(person):
    result = run(person, "process.on('uncaughtException', () => {});\nthrow new Error('x')").is_ok()
    equal(result["error"], None, "error")
