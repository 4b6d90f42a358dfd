# SPDX-License-Identifier: Apache-2.0
"""Small programs that node alone can run; a runner must not change what they print or return.

Each is the text of main.js, or a dictionary of files of which the first is the program.
"""
ARGS = ["one", "two words", "--three"]
STDIN = b"first line\nsecond line\n"

PROGRAMS = {
    "hello": "console.log('hello')",
    "streams": "console.log('o1'); console.error('e1'); console.info('o2'); console.warn('e2');"
               "console.debug('o3'); process.stdout.write('o4\\n'); process.stderr.write('e3\\n')",
    "trace": "function f() { console.trace('here %d', 5) }\nf()\n",
    "argv": "console.log(process.argv.slice(2), process.argv[1], process.argv0, process.execArgv)",
    "names": "console.log(__filename, __dirname, module.id, module.filename, module.paths.length,"
             "require.main === module, module.children.length, module.parent)",
    "wrapper": "console.log(arguments.length, this === module.exports, typeof exports, new.target)",
    "callee": "console.log(String(arguments.callee).length)\narguments.length",
    "cache": "console.log(Object.keys(require.cache), process._preload_modules)",
    "globals": "console.log(Object.keys(globalThis), Object.keys(process).length > 10)",
    "listeners": "console.log(process.listenerCount('exit'), process.listenerCount('uncaughtException'))",
    "sloppy": "x = 5; delete globalThis.x; console.log(typeof x, (function () { return typeof this })())",
    "strict": "'use strict';\ntry { undeclared = 1 } catch (e) { console.log(e.message) }\n"
              "(function () { return this === undefined })()",
    "strict directive is the last": "'use strict'",
    "hoisting": "console.log(f(), typeof v, v); var v = 1; function f() { return 'f' }\nv",
    "var is no global": "var a = 1; let b = 2; function c() {}\n"
                        "console.log('a' in globalThis, 'b' in globalThis, 'c' in globalThis); a",
    "top-level return": "console.log(1);\nif (true) return;\nconsole.log(2);\n3",
    "return at the end": "const a = 1; return a",
    "octal and with": "with ({ a: 010 }) { console.log(a) }\n010",
    "html comment": "<!-- a comment\nconsole.log('after');\n1\n--> another",
    "hashbang": "#!/usr/bin/env node\nconsole.log('ran'); 1 + 1",
    "byte order mark": "\ufeffconsole.log('marked'); 5 + 5",
    "crlf": "console.log('a');\r\nnew Error('x').stack.split('\\n')[1].replace(/.*main/, '');\r\n",
    "empty": "",
    "only a comment": "// nothing\n/* at all */\n",
    "stack seen by the program": "const s = () => new Error('x').stack; console.log(s()); s()",
    "stack in the last expression": "console.log(1); (() => console.log(new Error('q').stack))()",
    "stack of the last call": "function where() { return new Error('w').stack.split('\\n')[1] }\n"
                              "console.log(where());\nconsole.log(where()) || where()",
    "names of functions": "const f = function () {};\nconsole.log((() => {}).name, f.name);\n"
                          "() => {}",
    "inferred names": "(function () { console.log(new Error('i').stack) })()",
    "continued line": "const f = (x) => (console.log('called', x), f)\nf\n(1)",
    "continued by a template": "const t = (s) => console.log('tag', s)\nt\n`text`",
    "divided": "let a = 8, g = 2\na\n/2/g",
    "regular expressions": "const r = /[/\\]'\"`]/g;\nconsole.log('a]b/c'.replace(r, '-'));\n/x/.test('x')",
    "templates": "const n = 2; console.log(`a${`b${n}`}c${{ x: '}' }.x}`); `${n}\n${n}`",
    "labels": "outer: for (;;) { for (;;) break outer }\nconsole.log('out')\nlast: 5",
    "if is the last": "const a = 1;\na;\nif (a) { console.log('yes') }",
    "a class is the last": "console.log(1)\nclass A {}",
    "async function is the last": "console.log(1)\nasync function f() {}",
    "let is a name": "var let_ = 1; var let\nlet = 5\nconsole.log(let)",
    "do while": "let i = 0; do i++; while (i < 3) console.log(i)",
    "one plain line": "Math.max(1, 2) * process.pid / 'a'",
    "one plain line that fails": "missing.name + 1",
    "one plain line that fails in a call": "parseInt(missing, 10)",
    "one plain line of a word that is none": "enum + 1",
    "one plain line of exports": "exports.a + 1",
    "comma": "let i = 0; i++, console.log(i), i",
    "assignment": "let a; console.log(a = 5); a = { b: 1 }",
    "destructuring": "let a = 1, b = 2; [a, b] = [b, a]; console.log(a, b); ({ a, b } = { a: 3, b: 4 })",
    "arrow": "console.log(1); x => x",
    "getter with effects": "const o = { get x() { console.log('got'); return 1 } }; o",
    "custom inspect": "console.log({ a: 1n, b: Symbol('s'), c: [undefined, , null], d: new Map([[1, 2]]) })",
    "exit": "process.on('exit', (c) => console.log('exit', c)); process.exit(7)",
    "exit code": "process.exitCode = 9; process.on('exit', (c) => console.log('exit', c)); 1",
    "exit in a callback": "setTimeout(() => process.exit(3), 1); setInterval(() => {}, 1000)",
    "uncaught": "console.log('before');\nthrow new Error('thrown')",
    "uncaught in a function": "function a() { b() }\nfunction b() { null.x }\na();\n",
    "uncaught in the last line": "const o = {};\no.missing();",
    "uncaught before the last line": "const o = {}\no.missing()\no === 1",
    "uncaught after a blank": "const o = {}; o.a.b === 3;  // why",
    "uncaught, the only expression": "o.a.b === 3",
    "uncaught with tabs": "\tconst o = {};\n\t\to.p.q || 3;",
    "uncaught with properties": "const e = new TypeError('t'); e.code = 'E_X'; e.more = { a: [1] };\nthrow e;",
    "uncaught with a cause": "throw new Error('outer', { cause: new RangeError('inner') })",
    "uncaught value": "throw 5",
    "uncaught object": "throw { a: 1 }",
    "uncaught null": "(function () { throw null })();",
    "uncaught string": "const f = () => { throw 'text' }; f();",
    "uncaught class": "class Mine extends Error { constructor(m) { super(m); this.name = 'Mine' } }\n"
                      "throw new Mine('own')",
    "uncaught in a timer": "setTimeout(function later() { throw new Error('late') }, 1)",
    "uncaught from json": "JSON.parse('{bad');",
    "uncaught from eval": "eval('1 +');",
    "uncaught from new Function": "new Function('return 1 +')();",
    "uncaught from a regexp": "console.log(1); new RegExp('(');",
    "uncaught from a builtin": "require('fs').readFileSync('/nonexistent/file');",
    "uncaught from a native": "[1].reduce(0);",
    "uncaught in an aggregate": "Promise.any([Promise.reject(1)])",
    "uncaught with handler": "process.on('uncaughtException', (e, o) => console.log('caught', e.message, o));\n"
                             "setTimeout(() => console.log('goes on'), 1);\nthrow new Error('x')",
    "uncaught with monitor": "process.on('uncaughtExceptionMonitor', (e) => console.log('seen', e.message));\n"
                             "throw new Error('x');",
    "exit handler sees the error": "process.on('exit', (c) => console.log('code', c)); undefinedName;",
    "prepareStackTrace": "Error.prepareStackTrace = (e, s) => s.map((c) => c.getLineNumber() + ':' +"
                         " c.getColumnNumber()).join();\nconsole.log(new Error('x').stack); new Error('y').stack",
    "stack limit": "Error.stackTraceLimit = 1; function f(n) { n ? f(n - 1) : null.x } f(3)",
    "rejection": "Promise.reject(new Error('refused'))",
    "rejection of a value": "Promise.reject(5)",
    "rejection in async": "async function f() { await 1; throw new Error('async') }\nf()",
    "rejection deep": "const g = async () => { await null; undefined.x };\nconst f = async () => { await g() };\nf();",
    "rejection handled": "process.on('unhandledRejection', (r, p) => console.log('h', r, p));\nPromise.reject(3)",
    "rejection handled later": "const p = Promise.reject(1); p.catch(() => console.log('caught')); p",
    "promise is the last": "async function main() { await 1; console.log('done'); return 5 }\nmain()",
    "order of ticks": "setTimeout(() => console.log('timeout'), 50); setImmediate(() => console.log('immediate'));\n"
                      "process.nextTick(() => console.log('tick')); Promise.resolve().then(() => console.log('micro'));\n"
                      "queueMicrotask(() => console.log('micro 2')); console.log('main')",
    "timers keep it alive": "let n = 0; const t = setInterval(() => { console.log(n); if (++n == 3) clearInterval(t) }, 1)",
    "unref": "setTimeout(() => console.log('never'), 5000).unref(); console.log('end')",
    "stdin": "console.log(require('fs').readFileSync(0, 'utf8').toUpperCase())",
    "stdin by stream": "let n = 0; process.stdin.on('data', (d) => n += d.length).on('end', () => console.log(n))",
    "stdin by lines": "require('readline').createInterface({ input: process.stdin }).on('line', (l) => console.log('>' + l))",
    "signal": "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 5000)",
    "signal caught": "process.on('SIGUSR2', (s) => { console.log(s); process.exit(4) });"
                     "process.kill(process.pid, 'SIGUSR2'); setTimeout(() => {}, 5000)",
    "warning": "process.emitWarning('careful', 'MyWarning', 'C1'); console.log(1)",
    "deprecation": "new Buffer(3); console.log('still')",
    "console table": "console.table([{ a: 1, b: 'x' }, { a: 2, c: true }]); console.table([[1, 2], [3]]);"
                     "console.table(new Map([['k', { v: 1 }]])); console.table(new Set([1])); console.table(5);"
                     "console.table([{ a: 1, b: 2 }], ['b']); console.group(); console.table({ x: { y: 1 } });",
    "console table of odd things": "console.table([]); console.table({}); console.table(null); console.table();"
                                   "console.table([1, 'a', null, undefined]); console.table(new Map().entries());"
                                   "console.table([{ a: { b: { c: 1 } } }]); console.table([{ get g() { return 1 } }]);"
                                   "console.table(new Map([[1, 2]]).values()); console.table('100%d')",
    "console table complains": "try { console.table([1], 5) } catch (e) { console.log(e.message) }",
    "console rest": "console.group('g'); console.log('in'); console.groupEnd(); console.dir({ a: { b: { c: { d: 1 } } } });"
                    "console.assert(false, 'a %s', 'b'); console.count(); console.count('x'); console.log('%o %j %%', [1], { a: 1 })",
    "own display": "function display(x) { console.log('mine', x) }\ndisplay(1)",
    "big output": "process.stdout.write('x'.repeat(300000) + '\\n'); process.stderr.write('y'.repeat(100000))",
    "unicode": "console.log('é€😀', '\\u{1F600}'.length); const ä = 1; ä",
    "require": {"main.js": "const { add } = require('./lib'); console.log(add(1, 2), require('./data.json').k,"
                           "module.children.length, Object.keys(require.cache).length); add(3, 4)",
                "lib.js": "exports.add = (a, b) => a + b; console.log(module.parent.id, require.main === module)",
                "data.json": '{"k": [1, 2]}'},
    "require of a syntax error": {"main.js": "console.log(1);\nrequire('./bad');\n", "bad.js": "let = = 3\n"},
    "require of nothing": "require('./nope')",
    "require of a package": "try { require('left-pad') } catch (e) { console.log(e.code, e.message) }\nrequire('left-pad');",
    "throwing module": {"main.js": "require('./t');", "t.js": "exports.a = 1;\nthrow new TypeError('in t')"},
    "cycle": {"main.js": "exports.a = 1; console.log(require('./b').seen); exports.b = 2; require('./b')",
              "b.js": "exports.seen = Object.keys(require('./main'))"},
    "reads itself": "console.log(require('fs').readFileSync(__filename, 'utf8')); 1 + 1",
    "reads itself by promise": "require('fs').promises.readFile(__filename, 'utf8').then(console.log); 1 + 1",
    "functions of fs": "const fs = require('fs'); console.log(fs.readFileSync.name, fs.readFileSync.length,"
                       "fs.promises.readFile.name); fs.readFileSync === require('node:fs').readFileSync",
    "dynamic import": {"main.js": "import('./m.mjs').then((m) => console.log(m.default, m.x)); import('os')",
                       "m.mjs": "export default 1; export const x = 2; console.log(import.meta.url)"},
    "dynamic import fails": "import('./nope.mjs')",
    "syntax error": "console.log('never');\nfunction f( {\n}\n",
    "syntax error at the end": "const a = [1, 2",
    "syntax error of await": "function f() { await 1 }\nf()",
    "invalid regexp": "const a = 1;\nconst b = /(/;\nb",
    "duplicate": "let a = 1;\nlet a = 2;\na",
    "worker": "const { Worker, isMainThread, parentPort } = require('worker_threads');\n"
              "if (isMainThread) { const w = new Worker(__filename, { argv: ['w'] }); w.on('message', (m) => console.log(m))"
              " } else { parentPort.postMessage([process.argv.slice(2), typeof display, process.execArgv,"
              "Object.keys(require.cache).length, new Error('x').stack]) }",
    "worker throws": "const { Worker } = require('worker_threads');\n"
                     "new Worker('throw new Error(\"inside\")', { eval: true })\n"
                     "  .on('error', (e) => { throw e })",  # left alone, node tells by which of two ways it came
    "child": "const { spawnSync } = require('child_process');\n"
             "const c = spawnSync(process.execPath, ['-e', 'console.log(process.execArgv, process.argv.length);"
             "try { require(\"fs\").fstatSync(3).isSocket() && console.log(\"leak\") } catch {}; process.exit(6)']);\n"
             "console.log(String(c.stdout), String(c.stderr), c.status)",
    "fork": {"main.js": "const c = require('child_process').fork('./kid.js', ['a']); c.on('message', (m) => {"
                        "console.log(m); c.send('bye') }); c.on('exit', (code) => console.log(code))",
             "kid.js": "process.send([process.argv.slice(2), process.execArgv, typeof display]);"
                       "process.on('message', () => process.exit(2))"},
    "spawn inherits": "require('child_process').spawn('echo', ['from the child'], { stdio: 'inherit' })",
    "domain": "const d = require('domain').create(); d.on('error', (e) => console.log('domain', e.message));\n"
              "d.run(() => { throw new Error('in domain') })",
    "vm": "const vm = require('vm'); console.log(vm.runInNewContext('a + 1', { a: 1 }));\n"
          "vm.runInThisContext('throw new Error(\"vm\")', 'inner.js')",
    "capture callback": "process.setUncaughtExceptionCaptureCallback((e) => console.log('captured', e.message));\n"
                        "throw new Error('c')",
    "async prototype": "const p = Object.getPrototypeOf(async () => {});\n"
                       "setTimeout(() => console.log(Reflect.ownKeys(p)), 1); p === undefined",
    "symlink": "console.log(require('path').basename(__filename)); require('os').EOL",
    "weird last lines": "console.log(1)\n;\n;;\n",
    "semicolon on its own line": "const a = 4\na\n;\n",
    "comment after": "const a = 4;\na /* one\ntwo */ ; // three\n// four\n",
    "long chain": "console.log([3, 1, 2]\n  .sort()\n  .map((x) => x * 2)\n  .join());\n[1]\n  .concat([2])\n  .length",
    "esm": {"main.mjs": "import fs, { readFileSync } from 'fs';\nimport * as os from 'os';\n"
                        "console.log(typeof fs.readFileSync, readFileSync === fs.readFileSync, typeof os.EOL, this,"
                        "import.meta.url, typeof require);\nexport const a = 1;\nexport default a;\na + 1\n"},
    "esm await": {"main.mjs": "const a = await new Promise((r) => setTimeout(r, 1, 5));\nconsole.log(a);\nawait a;\n"},
    "esm of files": {"main.mjs": "import { a, inc } from './lib.mjs';\nimport c from './c.cjs';\nconsole.log(a); inc(); console.log(a, c);\n[a, c]\n",
                     "lib.mjs": "export let a = 1; export const inc = () => a++;", "c.cjs": "module.exports = 'cjs'"},
    "esm throws": {"main.mjs": "import 'fs';\nfunction f() { null.x }\nf();\n"},
    "esm throws in the last line": {"main.mjs": "const a = await 1;\na.b.c;\n"},
    "esm rejects": {"main.mjs": "await Promise.reject(new Error('r'));\n1;"},
    "esm syntax error": {"main.mjs": "import fs from 'fs';\nlet a = = 1;\n"},
    "esm no such module": {"main.mjs": "import x from './nope.mjs';\nx"},
    "esm no such package": {"main.mjs": "import x from 'left-pad';\nx"},
    "esm no such export": {"main.mjs": "import { nope } from 'fs';\nnope"},
    "esm never ends": {"main.mjs": "console.log(1);\nawait new Promise(() => {});\n2"},
    "esm reads itself": {"main.mjs": "import fs from 'fs';\nconsole.log(fs.readFileSync(new URL(import.meta.url), 'utf8'),"
                                     "await fs.promises.readFile(new URL(import.meta.url), 'utf8'));\n5 + 5"},
    "esm by package.json": {"main.js": "import os from 'os';\nconsole.log(typeof os, import.meta.url);\n1 + 1",
                            "package.json": '{"type": "module"}'},
    "commonjs by package.json": {"main.js": "console.log(typeof require); 1 + 1", "package.json": '{"type": "commonjs"}'},
    "module package without syntax": {"main.js": "console.log(typeof require, this); 1 + 1",
                                      "package.json": '{"type": "module"}'},
    "cjs": {"main.cjs": "const os = require('os'); console.log(typeof os, __filename); 1 + 1"},
    "cjs with import": {"main.cjs": "import os from 'os';\n1"},
}
