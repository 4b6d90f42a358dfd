# SPDX-License-Identifier: Apache-2.0
"""TypeScript: esbuild takes the types out, node runs the rest, places are those of the source."""
import os

from suite import Skip, claim, contains, equal, lacks

PROGRAMS = ("/usr/bin/node", "/usr/bin/esbuild")


def need():
    for program in PROGRAMS:
        if not os.access(program, os.X_OK):
            raise Skip(f"needs {program} (packages nodejs and esbuild)")


def run(person, text, *args, name="main.ts", **kwargs):
    need()
    return person.json(*args, person.write(person.path(name), text), **kwargs)


def values(result):
    return [output["data"]["text/plain"] for output in result["outputs"] if output["type"] == "result"]


@claim("typescript runs: types, enums, generics, decorators, namespaces")
def runs(person):
    result = run(person, """
interface Point { x: number; y?: number }
type Names = 'a' | 'b';
enum Color { Red, Green = 5 }
const enum Size { Big = 7 }
namespace Space { export const inside = 1; }
function logged(target: any, key: string, descriptor: PropertyDescriptor) {
  console.log('decorated', key);
  return descriptor;
}
abstract class Base<T> { constructor(protected readonly value: T) {} abstract get(): T }
class Box<T> extends Base<T> { @logged get(): T { return this.value!; } }
const point = { x: 1 } satisfies Point as Point;
console.log(Color.Green, Color[0], Size.Big, Space.inside, new Box<Names>('a').get(), <number>point.x);
point.x as number;
""").is_ok()
    equal(result.stdout, "decorated get\n5 Red 7 1 a 1\n", "stdout")
    equal(values(result), ["1"], "value")


@claim("typescript reads stdin, has arguments and an exit status")
def streams(person):
    result = run(person, "import { readFileSync } from 'fs';\n"
                         "console.log(process.argv.slice(2), readFileSync(0, 'utf8'));\n"
                         "console.error(process.execArgv.length as number);\nprocess.exit(5);\n",
                 "--stdin", "-", stdin=b"typed")
    result.has_status("error", 5)
    equal((result.stdout, result["stderr"]), ("[] typed\n", "0\n"), "streams")


@claim("typescript by its other names and endings")
def names(person):
    need()
    for word in ("typescript", "ts"):
        result = person.json("-l", word, "-c", "const a: number = 2; a * 2").is_ok()
        equal((values(result), result.meta["language"]), (["4"], "typescript"), word)
    for ending in ("ts", "mts", "cts"):
        equal(values(run(person, "const a: number = 3; a", name=f"main.{ending}").is_ok()), ["3"], ending)
    tsx = run(person, "const React = { createElement: (...a: any[]) => a };\n"
                      "const el = <b id=\"i\">{1 as number}</b>;\nel", name="main.tsx").is_ok()
    equal(values(tsx), ["[ 'b', { id: 'i' }, 1 ]"], "jsx")


@claim("typescript imports other files, with and without their ending")
def imports(person):
    need()
    os.mkdir(person.path("lib"))
    person.write(person.path("lib/index.ts"), "import type { T } from './t';\n"
                 "export const two: T = 2;\nexport default function three(): T { return 3 }")
    person.write(person.path("lib/t.ts"), "export type T = number;")
    person.write(person.path("lib/cycle.ts"), "import { late } from './other.js';\n"
                 "export const early = 1;\nexport const get = () => late;")
    person.write(person.path("lib/other.ts"), "import { early } from './cycle';\n"
                 "export const late = 4; export const seen = () => early;")
    person.write(person.path("lib/plain.js"), "module.exports = { five: 5 };")
    person.write(person.path("lib/data.json"), '{"six": 6}')
    result = run(person, "import three, { two } from './lib';\nimport * as cycle from './lib/cycle';\n"
                         "import { five } from './lib/plain.js';\nimport data from './lib/data.json';\n"
                         "console.log(two, three(), cycle.get(), five, data.six, typeof require, __filename);\n",
                 "--ro", f"{person.path('lib')}:/home/user/lib")
    equal(result.is_ok().stdout, "2 3 4 5 6 function /home/user/main.ts\n", "stdout")


@claim("typescript awaits at the top level, with imports and exports beside it")
def awaits(person):
    need()
    lib = person.write(person.path("lib.ts"), "export const one: number = 1;\nexport default 'main';")
    result = run(person, "import os, { EOL as eol } from 'os';\nimport * as path from 'path';\n"
                         "import name, { one } from './lib';\n"
                         "const v: number = await Promise.resolve(one);\n"
                         "export const x = v;\nconsole.log(typeof os.EOL, eol === os.EOL, path.sep, name);\nv + 1;\n",
                 "--file", lib).is_ok()
    equal((result.stdout, values(result)), ("string true / main\n", ["2"]), "stdout and value")
    result = run(person, "const v: number = await 1;\n\ninterface X {}\nfunction f(x: any) {\n  x.a.b();\n}\nf(v);\n")
    equal((result["error"]["line"], result["error"]["column"]), (5, 7), "place")


@claim("a typescript error has the places of the source, in the result and on stderr")
def places(person):
    result = run(person, "interface A { x: number }\n\ntype B = A;\nfunction fail(v: any): never {\n"
                         "  throw new RangeError('too ' + v);\n}\nenum E { A, B }\nfail(E.B);\n")
    found = result.has_status("error", 1)["error"]
    equal((found["kind"], found["name"], found["value"], found["line"], found["column"]),
          ("runtime", "RangeError", "too 1", 5, 9), "error")
    equal([(frame["file"], frame["line"], frame["function"]) for frame in found["traceback"]],
          [("main.ts", 8, "<main>"), ("main.ts", 5, "fail")], "frames")
    contains(result["stderr"], "main.ts:5\n  throw new RangeError('too ' + v);", "stderr")
    contains(result["stderr"], "/home/user/main.ts:8:1)", "stderr")
    lacks(result["stderr"], "/run/hotcell", "stderr")


@claim("an error in an imported typescript file has its place there")
def places_beside(person):
    need()
    lib = person.write(person.path("lib.ts"), "type T = any;\n\n\nexport const f = (t: T) => t.a.b;\n")
    found = run(person, "import { f } from './lib';\ntype Q = 1;\nf({});\n", "--file", lib)["error"]
    equal([(frame["file"], frame["line"]) for frame in found["traceback"]], [("main.ts", 3), ("lib.ts", 4)], "frames")


@claim("a typescript syntax error has file, line and column; a missing module is one of import")
def complaints(person):
    result = run(person, "const ok = 1;\nconst é: number = = 2;\n").has_status("error", 1)
    found = result["error"]
    equal((found["kind"], found["name"], found["line"], found["column"]), ("syntax", "SyntaxError", 2, 19), "error")
    contains(result["stderr"], "/home/user/main.ts:2:19\nconst é: number = = 2;\n                  ^\n\nSyntaxError: ", "stderr")
    found = run(person, "import { x } from 'left-pad';\nx();\n")["error"]
    equal((found["kind"], found["line"]), ("import", 1), "error")
    result = run(person, "import { x } from './nope';\nx();\n")
    equal(result["error"]["kind"], "import", "kind")
    lacks(result["stderr"], "/run/hotcell", "stderr")


@claim("types are not checked")
def unchecked(person):
    equal(run(person, "const a: number = 'text' as any; const b: string = 5; console.log(a, b)").is_ok().stdout,
          "text 5\n", "stdout")
