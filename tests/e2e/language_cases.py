# SPDX-License-Identifier: Apache-2.0
"""The languages: success, arguments, exit codes, syntax errors, unicode, big output, versions."""
import json
import subprocess

from suite import Skip, check, claim, contains, equal, matches

LANGUAGES = {
    "python": {
        "aliases": ["py", "python3"], "package": "python3", "version": r"^3\.\d+\.\d+$",
        "hello": "print('hello')", "exit": "raise SystemExit(5)",
        "unicode": "print('é€😀 ' + 'ü'.upper())", "syntax": "print(",
        "big": "for i in range(30000): print('0123456789')",
        "stderr": "import sys; print('to err', file=sys.stderr)",
        "stdin": "import sys; print(sys.stdin.read()[::-1])",
        "files": "open('f', 'w').write('kept'); print(open('f').read())",
        "crash": "import os; os.abort()",
    },
    "javascript": {
        "aliases": ["js", "node", "nodejs"], "package": "nodejs", "version": r"^\d+\.\d+\.\d+$",
        "hello": "console.log('hello')", "exit": "process.exit(5)",
        "unicode": "console.log('é€😀 ' + 'ü'.toUpperCase())", "syntax": "console.log(",
        "big": "process.stdout.write('0123456789\\n'.repeat(30000))",
        "stderr": "console.error('to err')",
        "stdin": "console.log([...require('fs').readFileSync(0, 'utf8')].reverse().join(''))",
        "files": "const fs = require('fs'); fs.writeFileSync('f', 'kept');"
                 "console.log(fs.readFileSync('f', 'utf8'))",
        "crash": "process.abort()",
    },
    "bash": {
        "aliases": ["shell"], "package": "bash", "version": r"^\d+\.\d+\.\d+",
        "hello": "echo hello", "exit": "exit 5", "unicode": "x=ü; echo \"é€😀 ${x^^}\"",
        "syntax": "if then", "big": "for ((i = 0; i < 30000; i++)); do echo 0123456789; done",
        "stderr": "echo to err >&2", "stdin": "rev 2>/dev/null || cat",
        "files": "echo kept > f; cat f", "crash": "kill -ABRT $$",
    },
    "sh": {
        "aliases": [], "package": "dash", "version": None,
        "hello": "echo hello", "exit": "exit 5", "unicode": "echo 'é€😀 Ü'",
        "syntax": "if then", "big": "i=0; while [ $i -lt 30000 ]; do echo 0123456789; "
                                    "i=$((i + 1)); done",
        "stderr": "echo to err >&2", "stdin": "cat", "files": "echo kept > f; cat f",
        "crash": "kill -ABRT $$",
    },
}


def available(person):
    listed = json.loads(person.call("languages", "--json").ok().out)
    return {entry["name"]: entry for entry in listed}


def need(person, name):
    if not available(person)[name]["available"]:
        raise Skip(f"needs {name} (package {LANGUAGES[name]['package']})")


def declare(name, words):
    def run(person, key, *args, **kwargs):
        need(person, name)
        return person.run("-l", name, *args, "-c", words[key], **kwargs)

    @claim(f"{name} runs, also by its other names")
    def runs(person):
        equal(run(person, "hello").ok().out, "hello\n", "stdout")
        for alias in words["aliases"]:
            equal(person.run("-l", alias, "-c", words["hello"]).ok().out, "hello\n", alias)
            result = person.json("-l", alias, "-c", words["hello"]).is_ok()
            equal(result.meta["language"], name, f"meta.language of {alias}")

    @claim(f"{name} passes its exit status on")
    def exits(person):
        run(person, "exit").exits(5)

    @claim(f"{name} fails on a syntax error and says so on stderr")
    def syntax(person):
        ran = run(person, "syntax")
        check(ran.code not in (0, 125), "exit status", ran)
        check(ran.err != "", "nothing on stderr", ran)
        equal(ran.out, "", "stdout")

    @claim(f"{name} speaks UTF-8")
    def unicode(person):
        equal(run(person, "unicode").ok().out, "é€😀 Ü\n", "stdout")

    @claim(f"{name} writes a lot, whole")
    def big(person):
        ran = run(person, "big").ok()
        check(ran.out == "0123456789\n" * 30000, "output changed:", len(ran.out))

    @claim(f"{name} has a stderr of its own, reads its input and keeps files")
    def streams(person):
        ran = run(person, "stderr").ok()
        equal((ran.out, ran.err), ("", "to err\n"), "stdout and stderr")
        ran = run(person, "stdin", "--stdin", "-", stdin=b"abc").ok()
        check(ran.out.strip() in ("cba", "abc"), "input came as", ran.out)
        equal(run(person, "files").ok().out, "kept\n", "stdout")

    @claim(f"{name} that aborts is a signal")
    def aborts(person):
        run(person, "crash").exits(134)

    @claim(f"{name} tells its version in meta and in the list of languages")
    def version(person):
        need(person, name)
        meta = person.json("-l", name, "-c", words["hello"]).is_ok().meta
        equal(meta["language"], name, "meta.language")
        equal(meta["language_version"], available(person)[name]["version"], "the two versions")
        if words["version"]:
            matches(meta["language_version"] or "", words["version"], "meta.language_version")

    @claim(f"{name} ends at its timeout")
    def timeout(person):
        need(person, name)
        endless = {"python": "while True: pass", "javascript": "for (;;);"}
        code = endless.get(name, "while :; do :; done")
        person.json("-l", name, "-t", "0.7", "-c", code).has_status("timeout", 124)


for language_name, language_words in LANGUAGES.items():
    declare(language_name, language_words)


@claim("the version in meta is the one of the program")
def true_version(person):
    told = subprocess.run(["/usr/bin/python3", "--version"], capture_output=True, text=True,
                          check=True).stdout.split()[1]
    equal(person.json("-c", "1").is_ok().meta["language_version"], told, "version of python")
    inside = person.code("import platform; print(platform.python_version())").ok().out.strip()
    equal(inside, told, "version inside the cell")


@claim("languages are listed with version, path and package")
def list_languages(person):
    for name, entry in available(person).items():
        equal(sorted(entry), ["aliases", "available", "compiled", "definition", "documentation",
                              "endings", "name", "package", "path", "start", "title", "version", "warm"],
              f"keys of {name}")
        if name in LANGUAGES:
            equal(entry["package"], LANGUAGES[name]["package"], f"package of {name}")
        check(entry["path"].startswith("/"), f"path of {name} is", entry["path"])
        check(isinstance(entry["available"], bool), "available of", entry)
    table = person.call("languages").ok()
    for name, entry in available(person).items():
        line = next((l for l in table.out.splitlines() if l.split()[:1] == [name]), None)
        check(line, f"the table lacks {name}:", table.out)
        contains(line, entry["path"] if entry["available"] else "apt-get install", "its line")


@claim("an unknown language is refused with the nearest name and the list")
def unknown(person):
    for wrong, near in (("pyton", "python"), ("javascrpt", "javascript"), ("bassh", "bash")):
        ran = person.run("-l", wrong, "-c", "1").exits(125)
        contains(ran.err, f"did you mean '{near}'?", "stderr")
        for name in LANGUAGES:
            contains(ran.err, name, "stderr")


@claim("python finds its standard library and no user's packages")
def python_library(person):
    code = ("import sqlite3, ssl, json, decimal, multiprocessing, sys, site\n"
            "print(site.ENABLE_USER_SITE, any('home' in p and p != '/home/user' for p in sys.path))")
    ran = person.code(code).ok()
    contains(ran.out, "False", "stdout")


@claim("python can start threads, processes and a pool")
def python_parallel(person):
    code = ("import concurrent.futures as c, multiprocessing as m, subprocess\n"
            "def f(x): return x * x\n"
            "if __name__ == '__main__':\n"
            "    with c.ThreadPoolExecutor(4) as pool: print(sum(pool.map(f, range(10))))\n"
            "    with m.Pool(2) as pool: print(sum(pool.map(f, range(10))))\n"
            "    print(subprocess.check_output(['echo', 'sub']).decode().strip())")
    equal(person.code(code).ok().out, "285\n285\nsub\n", "stdout")


@claim("javascript can use timers, promises, workers and child processes")
def javascript_parallel(person):
    need(person, "javascript")
    code = ("const {Worker} = require('worker_threads'), cp = require('child_process');\n"
            "const w = new Worker('require(\"worker_threads\").parentPort.postMessage(6*7)',"
            " {eval: true});\n"
            "w.on('message', async m => { console.log(m);"
            " await new Promise(r => setTimeout(r, 10));"
            " console.log(cp.execSync('echo sub').toString().trim()); });")
    equal(person.run("-l", "js", "-c", code).ok().out, "42\nsub\n", "stdout")
