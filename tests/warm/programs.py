# SPDX-License-Identifier: Apache-2.0
"""Programs that must come to the same end in a cell that stood ready as in one of their own: what
languages print and return, what limits and walls stop, what goes in and comes out."""
import dataclasses
import signal


@dataclasses.dataclass(frozen=True)
class Program:
    """One run: the command line, what lies beside it and what is done to it."""

    args: tuple
    stdin: bytes = b""
    files: dict = dataclasses.field(default_factory=dict)  # in the person's directory
    env: dict = dataclasses.field(default_factory=dict)  # of hotcell itself
    signals: tuple = ()  # sent to hotcell, the first of them once stdout says "ready"
    out: str = None  # a directory whose files are part of what is compared


def python(code, *options, argv=(), **more):
    return Program((*options, "-c", code, *(("--", *argv) if argv else ())), **more)


def javascript(code, *options, argv=(), **more):
    return python(code, "-l", "javascript", *options, argv=argv, **more)


def typescript(code, *options, argv=(), **more):
    return python(code, "-l", "typescript", *options, argv=argv, **more)


def bash(code, *options, **more):
    return python(code, "-l", "bash", *options, **more)


def sh(code, *options, **more):
    return python(code, "-l", "sh", *options, **more)


def sql(code, *options, **more):
    return python(code, "-l", "sql", *options, **more)


def execute(*argv, options=(), **more):
    return Program((*options, "--exec", "--", *argv), **more)


CALL = ("import ctypes, sys\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print({}, ctypes.get_errno())\n"
        "sys.exit(1)")

READY = "print('ready', flush=True)\nimport time; time.sleep(40)"

PEOPLE = ("CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT, score REAL);\n"
          "INSERT INTO people(name, score) VALUES ('Zoë', 1.5), ('日本語', NULL);\n")

# What is only read of the interpreter, wherever it lies, and whether there is memory that can be
# written to and executed.
OWN_CODE = """
import ctypes, struct, sys
AT_PHDR, AT_PHNUM = 3, 5
libc = ctypes.CDLL(None)
libc.getauxval.restype, libc.getauxval.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
with open(sys.executable, "rb") as file:
    image = file.read()
head_at = struct.unpack_from("<Q", image, 32)[0]
heads = [struct.unpack_from("<IIQQQQ", image, head_at + 56 * i)
         for i in range(libc.getauxval(AT_PHNUM))]
base = libc.getauxval(AT_PHDR) - head_at - min(head[3] for head in heads if head[0] == 1)
for kind, flags, offset, address, _, size in heads:
    if kind == 1 and not flags & 2:
        print(flags, ctypes.string_at(base + address, size) == image[offset:offset + size])
with open("/proc/self/maps") as maps:
    print([line for line in maps if line.split()[1].startswith("rwx")])
"""

ENVIRONMENT = "import os\nfor k, v in sorted(os.environ.items()): print(k, v)"

PROGRAMS = {
    # ---- values, displays, tables, pictures ----
    "python: value": python("x = 6\nx * 7"),
    "python: nothing": python(""),
    "python: displays and a result": python("print(1)\ndisplay('a', {'b': [1, None]})\n[4]"),
    "python: a raw bundle": python("display({'text/plain': 't', 'text/html': '<b>é</b>'}, raw=True)"),
    "python: faces": python("class A:\n    def __repr__(self): return 'text'\n"
                            "    def _repr_html_(self): return '<b>é</b>'\n"
                            "    def _repr_png_(self): return b'\\x89PNG'\nA()"),
    "python: a value that is cut": python("list(range(300000))"),
    "python: displays before an error": python("display('before')\n1 / 0\n5"),
    "python: a table of pandas": python("import pandas\npandas.DataFrame({'a': [1, 2], 'b': ['x', 'é']})",
                                        "-m", "2G", "-t", "60"),
    "python: a figure of matplotlib":
        python("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()\nplt.figure()\n"
               "plt.bar([1], [2])", "-m", "2G", "-t", "60"),
    "python: what numpy says of itself":
        python("import numpy as np\nnp.arange(6).reshape(2, 3)", "-m", "2G", "-t", "60"),
    "python: preload asked for": python("import sys\n'pandas' in sys.modules", "--preload", "base"),
    "typescript: value": typescript("enum E { A = 3 }\nconst n: number = 2;\nn * E.A"),
    "typescript: error": typescript("interface A { x: number }\n\nfunction f(a: A | null): number { return a!.x }\nf(null)"),
    "typescript: syntax error": typescript("const a: = 3"),
    "typescript: await": typescript("const n: number = await Promise.resolve(6);\nconsole.log(n);\nn * 7"),
    "typescript: memory": typescript("const a: Buffer[] = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))", "--memory", "128M"),
    "typescript: child": typescript("import { execFileSync } from 'child_process';\nString(execFileSync('/bin/echo', ['x']))"),
    "javascript: value": javascript("const o = { a: [1, null], b: 'é' }; o"),
    "javascript: table": javascript("console.table([{ a: 1, b: 'x' }, { a: 2 }])"),
    "javascript: display": javascript("display({ a: 1 }); console.log('x'); 5"),
    "javascript: error": javascript("function f() { null.x }\nf()"),
    "javascript: rejection": javascript("Promise.reject(new TypeError('refused'))"),
    "javascript: syntax error": javascript("let a = = 3"),
    "javascript: exit in a timer": javascript("setTimeout(() => process.exit(3), 5)"),
    "javascript: warning": javascript("process.emitWarning('careful'); console.log(1)"),
    "javascript: arguments": javascript("console.log(process.argv)", argv=("one", "two words")),
    "javascript: environment": javascript("console.log(process.env.A, Object.keys(process.env).sort())",
                                          "-e", "A=é"),
    "javascript: input": javascript("console.log(require('fs').readFileSync(0, 'utf8').toUpperCase())",
                                    "--stdin", "-", stdin=b"some\ninput"),
    "javascript: signal": javascript("process.kill(process.pid, 'SIGKILL')"),
    "javascript: memory": javascript("const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))",
                                     "-m", "128M"),
    "javascript: timeout": javascript("console.log('x'); for (;;);", "-t", "1"),
    "javascript: no network": javascript("require('net').connect(80, '1.1.1.1')"),
    "javascript: child": javascript("console.log(String(require('child_process')"
                                    ".execSync('echo out; echo err >&2')))"),
    "sql: tables": sql(PEOPLE + "SELECT * FROM people; SELECT count(*) FROM people;"),
    "sql: error": sql("SELECT 1;\nSELECT nope FROM nowhere;"),
    "sql: syntax error": sql("SELEC 1"),
    "sql: a script that goes on": sql("SELECT 1;\n\nSELECT 2 AS two;"),
    "sql: disk": sql("CREATE TABLE t(x); INSERT INTO t SELECT randomblob(1000) FROM "
                     "generate_series(1, 5000); SELECT count(*) FROM t;", "--disk", "1M"),

    "python: the interpreter's code": python(OWN_CODE),

    # ---- how programs end ----
    "python: exit 0": python("import sys; sys.exit(0)"),
    "python: exit 3": python("import sys; sys.exit(3)"),
    "python: exit 255": python("import sys; sys.exit(255)"),
    "python: exit 256": python("import sys; sys.exit(256)"),
    "python: exit -1": python("import sys; sys.exit(-1)"),
    "python: exit with a large number": python("import sys; sys.exit(1 << 70)"),
    "python: exit with text": python("import sys; print('out'); sys.exit('why')"),
    "python: exit with two values": python("raise SystemExit(1, 2)"),
    "python: exit 124": python("import sys; sys.exit(124)"),
    "python: exit 125": python("import sys; sys.exit(125)"),
    "python: exit 137": python("import sys; sys.exit(137)"),
    "python: _exit with text in the buffer": python("import os\nprint('lost')\nos._exit(5)"),
    "python: _exit(0) after an error is told": python("import os\ntry:\n    1 / 0\nfinally:\n    os._exit(0)"),
    **{f"python: signal {number}": python(f"import os\nprint('x', flush=True)\nos.kill(os.getpid(), {number})")
       for number in (1, 2, 3, 6, 8, 9, 11, 13, 14, 15)},
    "python: stack overflow": python("import sys\nsys.setrecursionlimit(10**6)\nf = lambda: f()\nf()"),
    "python: abort in a thread": python("import os, threading\nt = threading.Thread(target=os.abort)\n"
                                        "t.start(); t.join()"),
    "python: thread that never ends": python("import threading, time\nthreading.Thread("
                                             "target=time.sleep, args=(60,)).start()\nprint('main')",
                                             "-t", "1"),
    "python: daemon thread": python("import threading, time\nthreading.Thread("
                                    "target=time.sleep, args=(60,), daemon=True).start()\nprint('main')"),
    "python: exit in a thread": python("import sys, threading\nthreading.Thread(target=lambda: "
                                       "sys.exit(4)).start()"),
    "python: child left behind": python("import os, time\nif os.fork() == 0:\n    time.sleep(60)\n"
                                        "print('parent done')", "-t", "20"),
    "python: child that prints after the end":
        python("import os, time\nif os.fork() == 0:\n    time.sleep(0.3)\n    print('late', flush=True)\n"
               "    os._exit(0)\nprint('parent')"),
    "python: child that exits by the interpreter's end":
        python("import os\npid = os.fork()\nif pid:\n    print(os.waitpid(pid, 0)[1])\n"
               "else:\n    raise SystemExit(7)"),
    "python: kills all": python("import os\nprint('x', flush=True)\nos.kill(-1, 9)"),
    "python: kills its init": python("import os\ntry:\n    os.kill(1, 9)\nexcept OSError as e: print(e)\nprint('still here')"),
    "python: atexit prints and fails": python("import atexit\natexit.register(lambda: 1 / 0)\n"
                                              "atexit.register(print, 'bye')\nprint('end')"),
    "python: atexit exits": python("import atexit, os\natexit.register(os._exit, 9)\nprint('end')"),
    "python: atexit sleeps beyond the timeout":
        python("import atexit, time\natexit.register(time.sleep, 60)\nprint('end')", "-t", "1"),
    "python: finalizer prints": python("class A:\n    def __del__(self): print('del')\na = A()"),
    "python: finalizer of a ring that was let go":
        python("class A:\n    def __del__(self): print('del')\na = A(); a.own = a\ndel a, A"),
    "python: finalizer in a module made by hand":
        python("import types\nmade = types.ModuleType('made')\nexec('class A:\\n    def __del__(self): "
               "print(\"del\")\\na = A()', made.__dict__)"),
    "python: finalizer in a module that has another's name":
        python("import sys, types\nmade = types.ModuleType('sys')\nexec('class A:\\n    def __del__(self): "
               "print(\"del\")\\na = A()', made.__dict__)"),
    "python: nothing left but modules and numbers":
        python("import json, sys\nx, y = 1, 'text'\nsys.out = open('out.txt', 'w')\n"
               "print(sys.out.write(json.dumps([x, y])))", "--out", "*.txt:out", out="out"),
    "python: exec of a program": python("import os\nprint('before', flush=True)\n"
                                        "os.execv('/bin/sh', ['sh', '-c', 'echo after; exit 6'])"),
    "python: exec of python": python("import os, sys\nos.execv(sys.executable, "
                                     "[sys.executable, '-c', 'import sys; print(sys.argv); 1/0'])"),
    "python: stop and go on": python("import os, signal, time\nif os.fork() == 0:\n    time.sleep(0.2)\n"
                                     "    os.kill(os.getppid(), signal.SIGCONT)\n    os._exit(0)\n"
                                     "os.kill(os.getpid(), signal.SIGSTOP)\nprint('on')"),
    "sh: exit 0": sh("exit 0"),
    "sh: exit 9": sh("echo out; echo err >&2; exit 9"),
    "sh: signal": sh("kill -TERM $$"),
    "sh: job left behind": sh("sleep 60 & echo done"),
    "sh: command not found": sh("nonesuch"),
    "bash: error": bash("set -e\nfalse\necho never"),
    "bash: unbound": bash("set -u\necho $nope"),
    "bash: syntax error": bash("if true; then"),
    "bash: pipe": bash("seq 1000 | head -3 | tr '\\n' ' '; echo ${PIPESTATUS[@]}"),
    "bash: exit 127": bash("nonesuch --flag"),
    "bash: ps": bash("for p in /proc/[0-9]*; do echo ${p#/proc/} $(tr '\\0' ' ' <$p/cmdline); done"),
    "exec: echo": execute("/bin/echo", "a", "two words", "é"),
    "exec: by name": execute("true"),
    "exec: false": execute("false"),
    "exec: no such program": execute("no-such-program"),
    "exec: not a program": execute("/etc/passwd"),
    "exec: cat": execute("cat", options=("--stdin", "-"), stdin=b"\x00\xff bytes \xc3\xa9\n"),
    "exec: environment": execute("env", options=("-e", "B=2", "-e", "A=1")),
    "exec: ignored signals": execute("grep", "Sig", "/proc/self/status"),
    "bash: hung up": bash("kill -HUP $$; echo still here"),
    "bash: how much disk there is": bash("head -c 3M /dev/zero > big; stat -c %s big", "--disk", "1M"),
    "exec: descriptors": execute("ls", "/proc/self/fd"),
    "exec: a python": execute("/usr/bin/python3", "-c", "import sys; print(sys.argv, sys.flags)"),

    # ---- in and out ----
    "python: arguments": python("import sys; print(sys.argv, sys.orig_argv)",
                                argv=("one", "two words", "--flag", "é", "")),
    "python: environment": python(ENVIRONMENT, "-e", "A=1", "-e", "LONG=" + "x" * 5000, "-e", "E="),
    "python: environment of another home": python(ENVIRONMENT, "-e", "HOME=/tmp", "-e", "PATH=/bin"),
    "python: environment of our own": python(ENVIRONMENT, "-e", "MINE", env={"MINE": "of the caller"}),
    "python: environment for the interpreter":
        python("import sys; print(sys.flags)\nassert 0", "-e", "PYTHONOPTIMIZE=1", "-e", "PYTHONUTF8=0"),
    "python: time zone": python("import time; print(time.tzname, time.localtime(0).tm_hour)",
                                "-e", "TZ=Asia/Tokyo"),
    "python: locale": python("import locale; print(locale.setlocale(locale.LC_ALL, ''))\n"
                             "print('é'.encode(), open(0).encoding)", "-e", "LC_ALL=C"),
    "python: getenv of C": python("import ctypes\nlibc = ctypes.CDLL(None)\nlibc.getenv.restype = "
                                  "ctypes.c_char_p\nprint(libc.getenv(b'A'), libc.getenv(b'HOME'))",
                                  "-e", "A=of C"),
    "python: environment of a child": python("import subprocess\nprint(subprocess.check_output("
                                             "['env']).decode())", "-e", "A=1"),
    "python: environ of /proc": python("print(sorted(open('/proc/self/environ').read().split('\\0')))",
                                       "-e", "A=1"),
    "python: cmdline of /proc": python("print(open('/proc/self/cmdline').read().split('\\0'))\n"
                                       "print(open('/proc/self/comm').read())", argv=("arg",)),
    "python: state of the process":
        python("import os, resource, signal, sys\n"
               "print(os.getppid(), oct(os.umask(0)), os.getcwd())\n"
               "print([(n, resource.getrlimit(getattr(resource, n))) for n in dir(resource)\n"
               "       if n.startswith('RLIMIT')])\n"
               "print(sorted(os.listdir('/proc/self/fd')), os.getgroups(), os.nice(0))\n"
               "print([(n, signal.getsignal(n)) for n in range(1, 32)], signal.pthread_sigmask(0, []))\n"
               "print([l for l in open('/proc/self/status') if l.split(':')[0] in 'SigBlk SigPnd SigCgt CapInh"
               " CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp Seccomp_filters Threads TracerPid State'.split()])\n"
               "print(os.readlink('/proc/self/exe'), os.sched_getaffinity(0), os.sched_getscheduler(0))\n"
               "print(os.get_blocking(0), os.get_blocking(1), sys.stdin.isatty())\n"
               "print(os.fstat(0).st_rdev, [os.fstat(i).st_mode for i in range(3)])"),
    "python: what is in the cell":
        python("import os\nfor top in ('/', '/home', '/home/user', '/tmp', '/dev', '/dev/shm', '/run', '/run/hotcell',"
               " '/etc', '/var', '/usr'):\n    try: print(top, sorted(os.listdir(top)))\n"
               "    except OSError as e: print(e)\n"
               "print([(os.stat(p).st_mode, os.stat(p).st_uid == os.getuid(), os.stat(p).st_gid == os.getgid())"
               " for p in ('/', '/home/user', '/tmp', '/dev/shm', '/home/user/main.py')])\n"
               "print(open('/etc/passwd').read().count('user'), os.path.expanduser('~user'))"),
    "python: mounts": python("print([l.split()[1:4] for l in open('/proc/self/mounts')])"),
    "python: numbers of processes": python("import os\nprint(os.getpid(), os.getsid(0), os.getpgid(0))"),
    "python: the file's own attributes":
        python("import os\nprint(__file__, oct(os.stat(__file__).st_mode), open(__file__).read()[:20])\n"
               "open(__file__, 'a').write('#')\nos.remove(__file__)\nprint(os.listdir('.'))"),
    "python: input": python("import sys\nprint(input(), sys.stdin.read())", "--stdin", "-",
                            stdin=b"one\ntwo\nthree"),
    "python: no input": python("import sys\nprint(repr(sys.stdin.read()))\ninput()"),
    "python: big input": python("import sys\nprint(len(sys.stdin.buffer.read()))", "--stdin", "-",
                                stdin=b"x" * 3000000),
    "python: input nobody reads": python("print('done')", "--stdin", "-", stdin=b"x" * 3000000),
    "python: input from a file": python("print(open(0).read())", "--stdin", "in.txt",
                                        files={"in.txt": "from a file\n"}),
    "python: unicode": python("import sys\nprint('é€😀 日本語'); print('ü', file=sys.stderr)\n'ß😀'"),
    "python: bytes that are no text": python("import sys\nsys.stdout.buffer.write(b'\\xff\\xfe\\0a')\n"),
    "python: escapes": python("print('\\033[31mred\\033[0m\\r\\a')"),
    "python: big output": python("print('x' * 300000)", "--max-output", "1M"),
    "python: output that is cut": python("import sys\nprint('x' * 300000)\nsys.stderr.write('y' * 20000)"),
    "python: output in drops": python("import sys\nfor i in range(300): sys.stdout.write(str(i)); sys.stdout.flush()"),
    "python: streams in turns": python("import sys\nfor i in range(20):\n    print(i, flush=True)\n"
                                       "    print('e', i, file=sys.stderr)"),
    "python: closed streams": python("import os\nos.close(0); os.close(1); os.close(2)"),
    "python: files": python("import os\nprint(sorted((r, f) for r, _, f in os.walk('.')))\n"
                            "print(open('in/data.csv').read())\n"
                            "open('result.txt', 'w').write('made')\nos.makedirs('d'); open('d/x.bin', 'wb').write(b'\\0' * 99)",
                            "--file", "data.csv:in/data.csv", "--file", "tree", "--out", "*.txt:out", "--out", "d/*:out",
                            files={"data.csv": "1,2\n", "tree/a/b.txt": "deep", "tree/run.sh": "#!/bin/sh\n"},
                            out="out"),
    "python: files that are refused": python("import os\nos.symlink('/etc/passwd', 'a.txt')\nos.mkfifo('b.txt')\n"
                                             "open('c.txt', 'w').write('fine')", "--out", "*.txt:out", out="out"),
    "python: a program in a file": Program(("prog.py", "arg"), files={"prog.py": "import sys\nprint(__file__, sys.argv)\n1 / 0\n"}),
    "python: a program from stdin": Program(("-",), stdin=b"print('from stdin')\n"),
    "python: a program named with a dash": Program(("--", "-x.py"), files={"-x.py": "print(__file__)\n1 / 0"}),
    "python: spill": python("print('x' * 50000)", "--spill", "out", out="out"),
    "bash: a program in a file": Program(("prog.sh", "a b"), files={"prog.sh": "echo $0 $# \"$1\"\nnope\n"}),
    "javascript: a module in a file": Program(("prog.mjs",), files={"prog.mjs": "import os from 'os';\nconsole.log(import.meta.url);\nawait 5;\n"}),
    "sql: a program in a file": Program(("q.sql",), files={"q.sql": "SELECT 'é' AS x;\nSELECT;\n"}),
    "a mount to read": python("print(open('/data/x').read())\nopen('/data/new', 'w')", "--ro", "d:/data",
                              files={"d/x": "of the host"}),
    "a loopback network": python("import socket\ns = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
                                 "c = socket.create_connection(s.getsockname())\nprint('connected')", "--net", "loopback"),
    "only some commands": bash("ls /usr/bin; git log", "--commands", "ls,grep"),
    "other proc": python("print(len(open('/proc/meminfo').read()) > 0)", "--proc", "masked"),
    "a required layer": python("print(1)", "--require", "seccomp,landlock"),
    "human: value": python("print(1)\n{'a': 1}"),

    # ---- limits and walls ----
    "python: timeout": python("print('x', flush=True)\nwhile True: pass", "-t", "0.6"),
    "python: timeout of a sleeper with children":
        python("import os, time, signal\nfor n in range(1, 32):\n    if n not in (9, 19): signal.signal(n, signal.SIG_IGN)\n"
               "os.fork(); os.setsid() if os.getpid() != os.getsid(0) else 0\ntime.sleep(60)", "-t", "0.6"),
    "python: CPU time": python("while True: pass", "--cpu-time", "0.4", "-t", "30"),
    "python: memory": python("blocks = []\nwhile True: blocks.append(b'x' * (1 << 20))", "-m", "64M", "-t", "30"),
    "python: memory of a child": python("import os\nif os.fork() == 0:\n    b = []\n    while True: b.append(b'x' * (1 << 20))\n"
                                        "print(os.wait()[1])", "-m", "64M", "-t", "30"),
    "python: memory error": python("x = bytearray(1 << 45)"),
    "python: processes": python("import os, time\nfor _ in range(12):\n    if os.fork() == 0: time.sleep(0.3); os._exit(0)\n"
                                "for _ in range(12): os.wait()", "--pids", "5"),
    "python: threads": python("import threading, time\nfor _ in range(12): threading.Thread(target=time.sleep, args=(0.3,)).start()",
                              "--pids", "5"),
    "python: as many processes as are allowed":
        python("import os, time\nn = 0\ntry:\n    for _ in range(12):\n        if os.fork() == 0: time.sleep(9); os._exit(0)\n"
               "        n += 1\nexcept OSError as e: print(e)\nprint(n)", "--pids", "6"),
    "python: disk": python("open('big', 'wb').write(b'x' * (3 << 20))", "--disk", "1M"),
    "python: disk of /tmp": python("open('/tmp/big', 'wb').write(b'x' * (3 << 20))", "--disk", "1M"),
    "python: how much disk there is": python("import os\nn = 0\ntry:\n    with open('big', 'wb', 0) as f:\n        while True: n += f.write(b'x' * 4096)\n"
                                             "except OSError as e: print(e, n)", "--disk", "1M"),
    "python: inodes": python("for i in range(200): open(f'f{i}', 'w').close()", "--inodes", "64"),
    "python: how many inodes there are": python("n = 0\ntry:\n    while True: open(f'f{n}', 'w').close(); n += 1\n"
                                                "except OSError as e: print(e.strerror, n)", "--inodes", "64"),
    "python: large file": python("import os\nos.truncate(os.open('x', 66), 1 << 40)"),
    "python: output limit": python("import time\nprint('x' * 102500, end='', flush=True)\ntime.sleep(60)", "--output-limit", "100K", "-t", "30"),
    "python: output limit of stderr": python("import sys, time\nsys.stderr.write('x' * 102500)\ntime.sleep(60)", "--output-limit", "100K", "-t", "30"),
    "bash: output limit": bash("yes | head -c 102500; sleep 60", "--output-limit", "100K", "-t", "30"),
    "bash: timeout": bash("echo x; while :; do :; done", "-t", "0.6"),
    "bash: memory": bash("tail /dev/zero", "-m", "32M", "-t", "30"),
    "bash: disk": bash("head -c 3M /dev/zero > big", "--disk", "1M"),
    "exec: timeout": execute("sleep", "60", options=("-t", "0.6")),
    "exec: memory": execute("tail", "/dev/zero", options=("-m", "32M", "-t", "30")),
    **{f"python: denied {name}": python(CALL.format(call)) for name, call in (
        ("mount", "libc.mount(b'x', b'/tmp', b'tmpfs', 0, None)"), ("unshare", "libc.unshare(0x10000000)"),
        ("ptrace", "libc.ptrace(0, 0, 0, 0)"), ("setns", "libc.setns(0, 0)"), ("chroot", "libc.chroot(b'/tmp')"),
        ("bpf", "libc.syscall(321, 0, 0, 0)"), ("keyctl", "libc.syscall(250, 0, 0, 0)"),
        ("kill of nobody", "libc.kill(99999, 9)"), ("setuid", "libc.setuid(0)"))},
    "python: denials are counted": python("import ctypes\nfor _ in range(7): ctypes.CDLL(None).unshare(0x10000000)\nraise SystemExit(1)"),
    "python: denied, and goes on": python("import ctypes\nctypes.CDLL(None).unshare(0x10000000)\nprint('fine')"),
    "python: no network": python("import socket\nsocket.create_connection(('1.1.1.1', 80), 3)"),
    "python: no name": python("import urllib.request\nurllib.request.urlopen('http://example.com', timeout=3)"),
    "python: no raw socket": python("import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
    "bash: no network": bash("echo x > /dev/tcp/127.0.0.1/80"),
    "python: a path that is not there": python("open('/data/table.csv')"),
    "python: a path that is read-only": python("open('/usr/new', 'w')"),
    "python: a file of root": python("open('/etc/shadow')"),
    "bash: a path that is read-only": bash("echo x > /etc/new"),

    # ---- interrupts ----
    **{f"python: interrupted by {number}": python(READY, "-t", "50", signals=(number,))
       for number in (signal.SIGINT, signal.SIGTERM)},
    "python: interrupted twice": python(READY, "-t", "50", signals=(signal.SIGINT, signal.SIGINT)),
    "bash: interrupted": bash("trap 'echo trapped' INT TERM; echo ready; while :; do sleep 1; done", "-t", "50", signals=(signal.SIGINT,)),
    "javascript: interrupted": javascript("console.log('ready'); setInterval(() => {}, 1000)", "-t", "50", signals=(signal.SIGINT,)),
    "exec: interrupted": execute("sh", "-c", "echo ready; sleep 40", options=("-t", "50"), signals=(signal.SIGTERM,)),
}

# What is known to be different, and why it may be. The patterns take it out of both results; the
# rest must be the same.
DIFFERENT = {
    "python: numbers of processes": (
        "a guest is the third process of its cell: two helpers brought it there, and the second of"
        " them began its session",
        (r"^(2 1 1|3 2 2)\n$",)),
    "python: environ of /proc": (
        "/proc shows what the interpreter was started with, long before this run",
        (r"^\[.*\]\n$",)),
    "python: cmdline of /proc": (
        "/proc shows what the interpreter was started with, long before this run",
        (r"^\[.*\]\n",)),
    "python: mounts": (
        "cells of one zygote have files of users each, a single cell has them in its template",
        (r"^\[.*\]\n$",)),
}
