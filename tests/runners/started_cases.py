# SPDX-License-Identifier: Apache-2.0
"""Runners that were started ahead of time and wait: a program must not notice.

The runner is driven here as the supervisor drives it: a channel, three pipes, one frame.
"""
import contextlib
import dataclasses
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import javascript_programs
from suite import HUNG_AFTER, Failure, Skip, check, claim, equal, lacks

EMPTY = struct.pack(">I", 0)  # a frame
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


def definition(person, language):
    with open(os.path.join(person.build, "runtimes", language, "language.json"), encoding="utf-8") as file:
        known = json.load(file)
    for program in known.get("needs", known["argv"][:1]):
        if not os.access(program, os.X_OK):
            raise Skip(f"needs {program} (packages {known['package']})")
    return known


@dataclasses.dataclass
class Link:
    target: str


class Run:
    """One run of a program through its runner, cold or waiting."""

    def __init__(self, person, language, files, args=(), stdin=b"", env=None):
        self.known = definition(person, language)
        self.runtime = os.path.join(person.build, "runtimes", language)
        self.dir = tempfile.mkdtemp(dir=person.dir)
        self.files = files if isinstance(files, dict) else {self.known["program"]: files}
        self.argv = [next(iter(self.files)), *args]
        self.stdin = stdin
        self.own_env = {**ENV, "HOME": self.dir}
        self.env = {**self.own_env, **(env or {})}
        self.frames = []
        self.streams = {}
        self.exit_code = None
        self.is_done = False

    def cold(self):
        self.put()
        self.start("argv", self.env)
        return self.finish()

    def ready(self):
        """Starts the runner, and returns what hands it the program and waits for the end."""
        self.start("started", self.own_env)
        return self

    def go(self, before=b""):
        self.put()
        env = [f"{name}={value}" for name, value in self.env.items()]
        body = json.dumps({"run": {"argv": self.argv, "env": env, "cwd": self.dir}}, separators=(",", ":"),
                          ensure_ascii=False).encode()
        self.channel.sendall(before + struct.pack(">I", len(body)) + body)
        return self.finish()

    def put(self):
        for name, text in self.files.items():
            path = os.path.join(self.dir, name)
            if isinstance(text, Link):
                os.symlink(text.target, path)
            elif text is not None:
                with open(path, "wb") as file:
                    file.write(text.encode())

    def start(self, field, env):
        places = {"{runtime}": self.runtime, "{file}": self.argv[0]}
        argv = [re.sub(r"\{\w+\}", lambda found: places[found[0]], word) for word in self.known[field]]
        if field == "argv":
            argv += self.argv[1:]
        self.channel, theirs = socket.socketpair()
        self.channel.settimeout(HUNG_AFTER)
        self.process = subprocess.Popen(argv, cwd=self.dir, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, close_fds=False, start_new_session=True,
                                        preexec_fn=lambda: os.dup2(os.dup(theirs.fileno()), 3))
        theirs.close()

    def finish(self):
        threads = [threading.Thread(target=self.keep, args=(name,)) for name in ("stdout", "stderr")]
        threads.append(threading.Thread(target=self.feed))
        for thread in threads:
            thread.start()
        try:
            for frame in iter(self.receive, None):
                if frame["event"] == "done":
                    self.is_done = True
                    self.exit_code = frame["exit_code"]
                    break
                if frame["event"] != "status":
                    self.frames.append(frame)
            if self.is_done:
                os.killpg(self.process.pid, signal.SIGKILL)
            code = self.process.wait(HUNG_AFTER)
            if not self.is_done:
                self.exit_code = code
        except (TimeoutError, subprocess.TimeoutExpired):
            raise Failure(f"{self.argv} hung; {self.frames}, {self.streams}") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            for thread in threads:
                thread.join()
            self.channel.close()
        return self

    def keep(self, name):
        with getattr(self.process, name) as stream:
            self.streams[name] = stream.read().decode("utf-8", "replace")

    def feed(self):
        with contextlib.suppress(BrokenPipeError), self.process.stdin as stream:
            stream.write(self.stdin)

    def receive(self):
        head = self.read(4)
        return json.loads(self.read(struct.unpack(">I", head)[0])) if head else None

    def read(self, size):
        found = b""
        while len(found) < size:
            try:
                piece = self.channel.recv(size - len(found))
            except ConnectionResetError:
                piece = b""
            if not piece:
                return b""
            found += piece
        return found

    def told(self):
        """All that somebody outside can see; places and numbers of processes apart."""
        text = json.dumps([self.streams["stdout"], self.streams["stderr"], self.exit_code, self.frames])
        return json.loads(re.sub(r"\(node:\d+\)", "(node:N)", text.replace(os.path.basename(self.dir), "DIR")))


def same(person, language, name, files, **kwargs):
    """Runs a program both ways; returns the waiting run."""
    waiting = Run(person, language, files, **kwargs).ready()
    cold = Run(person, language, files, **kwargs).cold()
    waiting.go()
    equal(waiting.told(), cold.told(), f"what '{name}' gave")
    return waiting


def script(person, text, **kwargs):
    return same(person, "javascript", text, text, **kwargs)


# What a program finds when it looks around, and the ways it may end.
LOOKS = {
    "process": "console.log(Object.keys(process), process.exitCode, process.mainModule === module)",
    "modules": "const M = require('module'); console.log(Object.keys(M), Object.keys(M._cache),"
               "M.runMain.name, M.runMain.length, M._extensions, module.paths, Object.getOwnPropertyDescriptor(M, 'runMain'))",
    "globals": "console.log(Reflect.ownKeys(globalThis), Object.keys(console), RegExp.$1, RegExp.lastMatch, Error.stackTraceLimit)",
    "files": "const fs = require('fs'); console.log(Object.keys(fs), fs.realpathSync.name, Object.keys(fs.realpathSync),"
             "fs.readFileSync.name, Object.keys(require('module')._pathCache).map((key) => key.replace(__dirname, '')))",
    "functions": "console.log(process.reallyExit.name, require('fs').readFileSync.name, process.stdout.write.name, typeof gc)",
    "streams": "for (const name of ['stdout', 'stderr']) { const { get, ...rest } = Object.getOwnPropertyDescriptor(process, name);"
               "console.log(get.name, rest, Object.keys(process[name]), process[name]._events, process[name].bytesWritten,"
               "process[name].writableLength) }",
    "resources": "const found = [process.getActiveResourcesInfo(), process._getActiveHandles().length, process._getActiveRequests().length];"
                 "console.log(found, process.getActiveResourcesInfo())",
    "descriptors": "const fs = require('fs'); const flags = (fd) => /flags:.*/.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))[0];"
                   "const before = [0, 1, 2].map(flags); console.log(before); console.log([0, 1].map(flags)); process.stderr; console.log(flags(2))",
    "a stream of its own": "const lines = []; Object.defineProperty(process, 'stdout', { value: { write: (text) => lines.push(text),"
                           "on() {}, once() {}, removeListener() {}, listenerCount: () => 0 } });"
                           "console.log('kept'); console.error(lines)",
    "console of its own": "const { Console } = console; new Console(process.stdout, process.stderr).error('own'); console.log('global')",
    "stdout ends": "process.stdout.end('last'); process.stdout.on('finish', () => console.error('finished'))",
    "exit code of many bits": "process.exit(256 + 7)",
    "exit code by name": "process.exitCode = '3'",
    "exit in an exit handler": "process.on('exit', () => { console.log('once'); process.exit(5) })",
    "exit code in an exit handler": "process.on('exit', (code) => { console.log(code); process.exitCode = 6 })",
    "exit handler throws": "process.on('exit', () => { throw new Error('late') })",
    "many exit handlers": "for (let i = 0; i < 12; i++) process.on('exit', () => console.log(i))",
    "goes on before the exit": "let n = 0; process.on('beforeExit', () => { if (n++ < 3) setTimeout(() => console.log(n), 1) })",
    "exit handler made before the exit": "process.on('beforeExit', () => process.once('exit', () => console.log('made late')))",
    "nobody listens any more": "process.removeAllListeners(); console.log('on')",
    "emit of its own": "const { emit } = process; process.emit = function (name) { const r = emit.apply(this, arguments);"
                       "if (name === 'exit') console.log('after all'); return r }",
    "really": "process.on('exit', () => console.log('never')); process.reallyExit(4)",
    "abort": "process.abort()",
    "killed": "process.kill(process.pid, 'SIGKILL')",
    "a native addon": "try { process.dlopen({ exports: {} }, '/lib/nothing.node') } catch (e) { console.log(e.code) }",
    "async hooks": "const h = require('async_hooks'); console.log(h.executionAsyncId(), h.triggerAsyncId())",
    "a timer": "const at = performance.now(); setTimeout(() => { const ms = performance.now() - at; console.log(ms > 49 && ms < 2000) }, 50)",
    "a worker prints": "const { Worker } = require('worker_threads'); new Worker('console.log(process.argv.length); process.exit(3)', { eval: true })"
                       ".on('exit', (code) => console.log(code))",
    "a module in CommonJS": {"main.js": "const m = require('./m.js'); console.log(m.a)", "m.js": "exports.a = __filename.length > 0"},
    "a package beside it": {"main.js": "console.log(require('./package.json').name, typeof require)", "package.json": '{"name": "n", "type": "commonjs"}'},
    "a package by its own name": {"main.js": "console.log(require('self'))", "package.json": '{"name": "self", "exports": "./main.js"}'},
}


@claim("a program cannot tell a runner that waited from one that was started for it")
def programs(person):
    for name, program in {**javascript_programs.PROGRAMS, **LOOKS}.items():
        run = same(person, "javascript", name, program, args=javascript_programs.ARGS,
                   stdin=javascript_programs.STDIN)
        lacks(run.streams["stderr"] + run.streams["stdout"], run.runtime, f"output of '{name}'")


# The job that is most probable is taken over before it comes.
FORESEEN = {
    **LOOKS,
    "arguments": "console.log(process.argv.slice(2), process.argv[1] === __filename, process.cwd() === __dirname, process.env)",
    "value": "6 * 7",
    "error": "const a = null;\na.b",
    "line that breaks off": "process.",
    "syntax error": "let let = 1",
    "module": "import fs from 'fs'; console.log(import.meta.url === 'file://' + process.argv[1]); typeof fs",
    "await": "const { sep } = require('path'); await 1; sep",
    "nothing there": {"main.js": None},
    "link": {"main.js": Link("other.js"), "other.js": "console.log(__filename.slice(-8), process.argv[1].slice(-7))"},
    "linked module": {"main.js": "display(1); console.log(require('./lib/a.js'))", "a.js": Link("real.js"), "lib": Link("."),
                      "real.js": "module.exports = __filename.slice(-8)"},
    "link to nothing": {"main.js": Link("other.js")},
    "link to itself": {"main.js": Link("main.js")},
    "package of modules": {"main.js": "import 'fs'; console.log(typeof require)", "package.json": '{"type": "module"}'},
}


@claim("nor whether its job was foreseen")
def foreseen(person):
    for name, program in FORESEEN.items():
        same(person, "javascript", name, program)
    for name, program in TYPED.items():
        same(person, "typescript", name, program)


TYPED = {
    "value": "const n: number = 2; enum E { A = 3 }\nn * E.A",
    "looks": "import M from 'module';\nconsole.log(Object.keys((M as any)._extensions), Object.keys((M as any)._cache),"
             " (M as any)._findPath.name, process.argv, process.execArgv, process.sourceMapsEnabled, process.listenerCount('exit'))",
    "error": "interface A { x: number }\n\nfunction fail(v: any): never {\n  throw new RangeError('too ' + v);\n}\nfail(1);\n",
    "syntax error": "const ok = 1;\nconst x: number = = 2;\n",
    "await": "const v: number = await Promise.resolve(1);\nconsole.log(v);\nv + 1;\n",
    "files": {"main.ts": "import { two } from './lib';\nimport { j } from './j.js';\ntwo + j", "lib.ts": "export const two: number = 2;",
              "j.js": "exports.j = 1"},
    "settings": {"main.ts": "class A { x = 1 }\nconsole.log(Object.keys(new A()))",
                 "tsconfig.json": '{"compilerOptions": {"useDefineForClassFields": false}}'},
    "javascript": {"main.js": "console.log(Object.keys(require('module')._extensions), process.sourceMapsEnabled); 1"},
    "exit": "process.on('exit', (c: number) => console.log(c)); process.exit(4)",
}


@claim("nor can a program in TypeScript")
def typed_programs(person):
    for name, program in TYPED.items():
        same(person, "typescript", name, program, args=["one"])


@claim("a waiting runner takes over arguments, environment and directory as they are in the job")
def takes_over(person):
    text = ("const { execFileSync } = require('child_process');\n"
            "console.log(process.argv.slice(2), process.argv0, process.execPath, process.execArgv, process.cwd() === __dirname);\n"
            "console.log(Object.entries(process.env).map(([k, v]) => [k, v.length]), String(execFileSync('/usr/bin/env')).length)")
    for env in ({}, {"A": "", "B": "b=c\nd", "É": "é€😀"}, {f"LARGE{i}": "x" * 60000 for i in range(4)}, {"PATH": "/nowhere:/bin"}):
        run = script(person, text, args=["", "-x", "ü ñ", "a\nb"], env=env)
        check(run.is_done, "no end was told:", run.told())


@claim("the end of a program is told at once, unless node has more to say")
def ends(person):
    for text, is_told in (("1", True), ("process.exit(3)", True), ("process.exitCode = 3", True),
                          ("setTimeout(() => {}, 5)", True), ("await 1", True),
                          ("process.on('exit', () => {}); process.exit()", True), ("process.on('exit', () => {})", False),
                          ("await new Promise(() => {})", False), ("throw 1", False), ("Promise.reject(1)", False),
                          ("require('trace_events')", False), ("process.kill(process.pid, 'SIGTERM'); for (;;);", False)):
        equal(script(person, text).is_done, is_told, f"whether the end of {text!r} was told")


@claim("what was tried before the program leaves its pipes as they were")
def pipes(person):
    large = 300000
    for text in (f"require('fs').writeSync(1, 'x'.repeat({large})); require('fs').writeSync(2, 'y'.repeat({large}))",
                 f"require('child_process').spawnSync('head', ['-c', '{large}', '/dev/zero'], {{ stdio: 'inherit' }}).status",
                 f"console.log(1); process.stdout.write('x'.repeat({large}), () => console.error('written'))"):
        check(len(script(person, text).streams["stdout"]) >= large, "not all was written by", text)


def servants(run):
    """The esbuilds that were started with a run; which is the first of its session."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            name, state, _, _, session = re.match(r"\d+ \((.*)\) (\S+) (\S+) (\S+) (\S+)", file.read()).groups()
            if name == "esbuild" and state not in "ZX" and int(session) == run.process.pid:
                found.append(int(pid))
    return found


ALONE = ("import fs from 'fs';\n"
         "const isServant = (pid: string): boolean => {\n"
         "  try { return / \\(esbuild\\) [^ZX] \\d+ \\d+ SESSION /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8')); }\n"
         "  catch { return false; }\n"
         "};\n"
         "const until: number = Date.now() + 5000;\n"
         "while (fs.readdirSync('/proc').some(isServant) && Date.now() < until);\n"
         "Date.now() < until")


@claim("a waiting runner of TypeScript has an esbuild at its service, and its program none of it")
def served(person):
    for language_file, text in (("main.ts", ALONE), ("main.js", re.sub(r": (string|boolean|number)\b", "", ALONE)
                                 .replace("import fs from 'fs'", "const fs = require('fs')"))):
        run = Run(person, "typescript", {language_file: text}).ready()
        run.receive()
        equal(len(servants(run)), 1, "how many esbuilds stand ready")
        run.files = {language_file: text.replace("SESSION", str(run.process.pid))}
        run.go()
        equal([frame.get("data", frame) for frame in run.frames],
              [{"text/plain": "true", "application/json": True}], f"what {language_file} said of esbuild")


@claim("an esbuild that is gone, or does not answer, is not missed")
def unserved(person):
    for name in ("value", "await", "files", "syntax error"):
        cold = Run(person, "typescript", TYPED[name]).cold()
        run = Run(person, "typescript", TYPED[name]).ready()
        run.receive()
        os.kill(servants(run)[0], signal.SIGKILL)
        equal(run.go().told(), cold.told(), f"what '{name}' gave without it")
    run = Run(person, "typescript", TYPED["value"]).ready()
    run.receive()
    os.kill(servants(run)[0], signal.SIGSTOP)
    equal(run.go().frames[0]["data"]["text/plain"], "6", "what came of a servant that sleeps")


@claim("a runner says that it waits, and words that only wake it up change nothing")
def roused(person):
    for language, text in (("javascript", "6 * 7"), ("typescript", "const n: number = 6;\nn * 7")):
        for before, with_job in ((0, 1), (1, 0), (3, 2)):
            run = Run(person, language, text).ready()
            equal(run.receive(), {"event": "status", "state": "waiting"}, f"the first word of {language}")
            for _ in range(before):
                run.channel.sendall(EMPTY)
                time.sleep(0.01)
            run.go(EMPTY * with_job)
            equal((run.exit_code, [frame["data"]["text/plain"] for frame in run.frames]), (0, ["42"]), f"what {language} gave")


@claim("a waiting runner that nobody gives a job leaves by itself")
def nobody(person):
    for language in ("javascript", "typescript"):
        run = Run(person, language, "1").ready()
        run.channel.shutdown(socket.SHUT_WR)
        run.finish()
        equal((run.exit_code, run.streams, run.frames), (1, {"stdout": "", "stderr": ""}, []), f"what {language} gave")
