# SPDX-License-Identifier: Apache-2.0
"""Small programs that look closely at how they are run. Each must do the same through the runner
as with the bare interpreter: the same bytes on stdout and stderr, the same exit status."""

PROGRAMS = {
    "hello": "print('hello')",
    "nothing": "",
    "only a comment": "# nothing here",
    "only a docstring": '"""What this is."""\n',
    "docstring": '"""What this is."""\nprint(__doc__)',
    "last expression": "x = 5\nx",
    "last expression prints": "def f():\n    print('called')\n    return 7\nf()",
    "constant at the end": "print(1)\n42",
    "names of the module": "print(list(globals()))",
    "values of the module":
        "print(__name__, __file__, __package__, __spec__, __cached__, __annotations__)\n"
        "print(type(__loader__), __loader__.name, __loader__.path, type(__builtins__))",
    "module is in sys.modules":
        "import sys\nm = sys.modules['__main__']\nprint(m, m.__dict__ is globals())",
    "import of itself": "import __main__\nx = 3\nprint(__main__.x, __main__)",
    "locals are globals": "print(locals() is globals())\nx = 1\nprint(vars()['x'])",
    "arguments": "import sys\nprint(sys.argv)",
    "original arguments": "import sys\nprint(sys.orig_argv, sys.executable, sys.flags)",
    "module path": "import sys\nprint(sys.path)",
    "modules that are loaded": "import sys\nprint(sorted(sys.modules))",
    "import cache": "import sys\nprint(sorted(sys.path_importer_cache))",
    "warning options": "import sys\nprint(sys.warnoptions, sys._xoptions)",
    "environment": "import os\nprint(sorted(os.environ))",
    "descriptors": "import os\nprint(os.open('/dev/null', 0), os.open('/dev/null', 0))",
    "descriptors of a child":
        "import subprocess\nprint(subprocess.run(['ls', '/proc/self/fd'], capture_output=True,"
        " close_fds=False, text=True).stdout)",
    "input": "print(repr(input('name? ')))\nimport sys\nprint(sys.stdin.read())",
    "no more input": "input()\ninput()\ninput()\ninput()",
    "exception": "def f():\n    g()\ndef g():\n    1 / 0\nf()",
    "exception with a caret": "a = {'x': None}\nprint('before')\ny = a['x']['y'] + 1\n",
    "exception in a lambda": "f = lambda x: x.nope\nlist(map(f, [1]))",
    "exception in a class body": "class A:\n    x = 1\n    y = x + 'a'\n",
    "exception in a comprehension": "print([1 / x for x in (2, 1, 0)])",
    "exception with notes":
        "e = ValueError('v')\ne.add_note('first note')\ne.add_note('second')\nraise e",
    "chained exceptions":
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
    "exception during handling":
        "def f():\n    try:\n        {}['x']\n    finally:\n        int('y')\nf()",
    "suppressed context":
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('only this') from None",
    "exception group":
        "def f(x):\n    try:\n        raise x\n    except type(x) as e:\n        return e\n"
        "raise ExceptionGroup('many', [f(ValueError(1)), ExceptionGroup('inner', [f(KeyError(2))])])",
    "except star":
        "try:\n    raise ExceptionGroup('g', [ValueError(1), TypeError(2)])\n"
        "except* ValueError as g:\n    print('got', g.exceptions)\n",
    "own exception class": "class Trouble(Exception):\n    pass\nraise Trouble('deep', 3)",
    "exception without a text":
        "class E(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise E",
    "exception that is a base exception": "class E(BaseException):\n    pass\nraise E('base')",
    "generator exit": "raise GeneratorExit('g')",
    "unicode in an error": "größe = 'é€😀'\nraise ValueError(größe + '\\ud800')",
    "caret after wide letters": "x = 'äöü€😀'; y = x + 1",
    "assertion": "assert 1 == 2, 'not equal'",
    "module not found": "import os\nimport not_there_at_all",
    "name of a module misspelt": "from os import pth",
    "name misspelt": "import sys\nvalue = 3\nprint(valu)",
    "attribute misspelt": "import sys\nsys.agrv",
    "error in an imported module":
        "open('other.py', 'w').write('def f():\\n    return 1 / 0\\n')\nimport other\nother.f()",
    "syntax error in an imported module":
        "open('other.py', 'w').write('x = 1\\ndef f(:\\n')\nimport other",
    "import of a neighbour":
        "open('other.py', 'w').write('import __main__\\nx = __main__.y\\n')\n"
        "y = 9\nimport other\nprint(other.x, other.__file__)",
    "syntax error": "print('a')\nx = (1 +\n",
    "syntax error in the middle": "a = 1\nif a = 2:\n    pass\n",
    "syntax error of the compiler": "x = 1\nreturn x\n",
    "syntax error after a warning": "x = 1 is 1\nbreak\n",
    "indentation error": "def f():\nprint(1)\n",
    "tab error": "if 1:\n\tx = 1\n        y = 2\n",
    "syntax warning": "x = 1\nprint(x is 1)\nprint('\\d')\n",
    "syntax error at run time": "compile('x = (', 'made-up', 'exec')",
    "syntax error of eval": "eval('1 +')",
    "null byte": "x = 1\n\0y = 2\n",
    "not UTF-8": b"x = '\xff\xfe'\n",
    "declared latin-1": b"# -*- coding: latin-1 -*-\nx = '\xe9'\nprint(ascii(x))\nx",
    "declared utf-8": "# -*- coding: utf-8 -*-\nx = 'é'\nprint(ascii(x))\nx",
    "wrong declaration": b"# coding: no-such-thing\nprint(1)\n",
    "byte order mark": b"\xef\xbb\xbfprint('marked')\n1 / 0\n",
    "line ends of windows": b"x = 1\r\nif x:\r\n    print('crlf')\r\nx / 0\r\n",
    "form feed": "x = 1\n\fprint(x)\n",
    "no newline at the end": "if 1:\n    print(2)",
    "future annotations":
        "from __future__ import annotations\ndef f(x: Nope) -> Never: pass\n"
        "print(f.__annotations__)\nx: int = 3\nprint(__annotations__)",
    "annotations": "x: int = 3\nprint(__annotations__)",
    "exit": "raise SystemExit",
    "exit with a number": "import sys\nsys.exit(7)",
    "exit with a large number": "import sys\nsys.exit(300)",
    "exit with none": "import sys\nprint(1)\nsys.exit(None)",
    "exit with a text": "import sys\nprint('out')\nsys.exit('an error text')",
    "exit with an object": "import sys\nsys.exit({'a': [1]})",
    "exit with true": "import sys\nsys.exit(True)",
    "exit within a function": "def f():\n    try:\n        exit(4)\n    finally:\n        print('f')\nf()",
    "exit of a subclass":
        "class Mine(SystemExit):\n    @property\n    def code(self):\n        print('asked')\n"
        "        return 9\nraise Mine",
    "os._exit": "import os\nprint('lost or not', flush=True)\nos._exit(11)",
    "killed by itself": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "abort": "import os\nprint('x', flush=True)\nos.abort()",
    "keyboard interrupt": "raise KeyboardInterrupt",
    "keyboard interrupt by a signal":
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)",
    "keyboard interrupt that is caught":
        "try:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt:\n    print('caught')",
    "own excepthook":
        "import sys\ndef hook(kind, value, trace):\n"
        "    print('hook', kind.__name__, value, trace.tb_lineno, trace.tb_next, sys.exc_info())\n"
        "    print(sys.last_type is kind, sys.last_value is value, sys.last_traceback is trace)\n"
        "sys.excepthook = hook\n1 / 0",
    "excepthook that fails":
        "import sys\ndef hook(*_):\n    {}['gone']\nsys.excepthook = hook\n1 / 0",
    "excepthook that exits":
        "import sys\ndef hook(*_):\n    sys.exit(5)\nsys.excepthook = hook\n1 / 0",
    "excepthook that is gone": "import sys\ndel sys.excepthook\n1 / 0",
    "excepthook as it is": "import sys\nprint(sys.excepthook is sys.__excepthook__,"
                           " hasattr(sys, 'last_type'), sys.displayhook is sys.__displayhook__)",
    "stack of callers":
        "import sys, traceback, inspect\ndef f():\n    traceback.print_stack()\n"
        "    print([x.function for x in inspect.stack()], sys._getframe(1).f_back)\nf()\n"
        "print(sys._getframe().f_back)\ntry:\n    sys._getframe(1)\n"
        "except ValueError as e:\n    print(e)",
    "warnings": "import warnings\ndef f():\n    warnings.warn('here')\n"
                "    warnings.warn('caller', stacklevel=2)\n    warnings.warn('far', stacklevel=9)\n"
                "f()\nwarnings.warn('above', stacklevel=2)",
    "deprecation warning": "import warnings\nwarnings.warn('old', DeprecationWarning)",
    "resource warning": "import warnings\nwarnings.simplefilter('always')\nopen('/dev/null')\n",
    "coroutine that nobody awaits": "async def main():\n    pass\n\nmain()\n",
    "logging": "import logging\nlogging.warning('w')\nlogging.basicConfig(format='%(funcName)s "
               "%(lineno)d %(filename)s', force=True)\ndef f():\n    logging.error('e', stack_info=True)\nf()",
    "atexit": "import atexit\natexit.register(print, 'bye')\n"
              "atexit.register(lambda: print('__file__' in globals()))\nprint('end')",
    "atexit after an error": "import atexit\natexit.register(lambda: print('__file__' in globals()))\n"
                             "1 / 0",
    "atexit after an exit": "import atexit, sys\n"
                            "atexit.register(lambda: print('__file__' in globals()))\nsys.exit(2)",
    "atexit that fails": "import atexit\natexit.register(lambda: 1 / 0)\nprint('end')",
    "thread that outlives the program":
        "import threading, time\ndef f():\n    time.sleep(0.2)\n    print('thread ends')\n"
        "threading.Thread(target=f).start()\nprint('main ends')",
    "thread that fails":
        "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()",
    "threads": "import threading\nprint(threading.current_thread(), threading.main_thread() is "
               "threading.current_thread(), threading.active_count())",
    "finalizers":
        "class A:\n    def __init__(self, n):\n        self.n = n\n    def __del__(self):\n"
        "        print('del', self.n)\nkept = A('kept')\nA('dropped')\nA('last')",
    "finalizer in a cycle":
        "class A:\n    def __del__(self):\n        print('del')\na = A()\na.me = a\n"
        "def f():\n    return a\n",
    "finalizer after an error":
        "class A:\n    def __del__(self):\n        print('del')\na = A()\n1 / 0",
    "finalizer that fails": "class A:\n    def __del__(self):\n        1 / 0\nA()",
    "file that is not closed":
        "import atexit, os\nf = open('left', 'w')\nf.write('x' * 10)\n"
        "print(os.path.getsize('left'))",
    "pickle": "import pickle\nclass A:\n    def __eq__(self, o): return True\n"
              "print(pickle.loads(pickle.dumps(A())) == A(), pickle.dumps(A)[:60])",
    "dataclass": "from __future__ import annotations\nimport dataclasses, typing\n"
                 "@dataclasses.dataclass\nclass P:\n    x: int\n    y: list = dataclasses.field("
                 "default_factory=list)\n    z: typing.ClassVar[int] = 3\nprint(P(1), P.__module__)",
    "enum and named tuple": "import enum, collections\nclass C(enum.Enum):\n    A = 1\n"
                            "T = collections.namedtuple('T', 'a b')\nprint(C.A, T(1, 2), T.__module__)",
    "source of a function":
        "import inspect, linecache, sys\ndef f():\n    return 3  # three\nprint(inspect.getsource(f))\n"
        "print(inspect.getsourcefile(f), inspect.getmodule(f), f.__code__.co_filename)\n"
        "print(inspect.getsource(sys.modules['__main__'])[:20])",
    "names of code": "def f():\n    class A:\n        def m(self): return lambda: 0\n    return A\n"
                     "print(f().m.__qualname__, f().m(0).__code__.co_qualname, "
                     "f.__code__.co_firstlineno)",
    "multiprocessing by fork":
        "import multiprocessing as m\ndef f(x):\n    return x * x\nif __name__ == '__main__':\n"
        "    with m.get_context('fork').Pool(2) as p:\n        print(p.map(f, range(4)))",
    "multiprocessing by spawn":
        "import multiprocessing as m\ndef f(x):\n    return x * x\nif __name__ == '__main__':\n"
        "    with m.get_context('spawn').Pool(1) as p:\n        print(p.map(f, range(4)))",
    "multiprocessing by forkserver":
        "import multiprocessing as m\ndef f(x):\n    return x * x\nif __name__ == '__main__':\n"
        "    with m.get_context('forkserver').Pool(1) as p:\n        print(p.map(f, range(4)))",
    "fork": "import os\npid = os.fork()\nif pid:\n    print(os.waitpid(pid, 0)[1])\nelse:\n"
            "    print('child', flush=True)\n5",
    "fork whose child fails": "import os\npid = os.fork()\nif pid:\n"
                              "    print(os.waitpid(pid, 0)[1] >> 8)\nelse:\n    1 / 0",
    "exec of another": "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', "
                       "'import sys; print(sys.argv, sys.path[0] == str())'])",
    "subprocess": "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', "
                  "'print(__name__)']))",
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 8\n"
               "print(asyncio.run(f()))",
    "asyncio that fails": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1 / 0\n"
                          "asyncio.run(f())",
    "caught recursion": "def f():\n    f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)",
    "recursion limit": "import sys\nprint(sys.getrecursionlimit())",
    "tracing": "import sys\nseen = []\ndef trace(frame, event, arg):\n"
               "    seen.append((event, frame.f_code.co_name))\ndef f():\n    return 1\n"
               "print(sys.gettrace(), sys.getprofile())\nsys.settrace(trace)\nf()\n"
               "sys.settrace(None)\nprint(seen)",
    "profile": "import cProfile, io, pstats\np = cProfile.Profile()\ndef f():\n    return 1\n"
               "p.runcall(f)\ns = io.StringIO()\npstats.Stats(p, stream=s).print_stats()\n"
               "print(s.getvalue().count('(f)'))",
    "flags of the code": "import sys\nc = sys._getframe().f_code\n"
                         "print(c.co_flags, c.co_name, c.co_names, c.co_consts)",
    "runpy": "open('mod.py', 'w').write('print(__name__)')\nimport runpy\n"
             "runpy.run_module('mod', run_name='__main__')\nrunpy.run_path('mod.py')",
    "code that is executed": "exec(compile('x = 1\\nprint(x)', 'c', 'exec'))\nprint(x)\n"
                             "exec('y = 2\\n1 / 0')",
    "walrus at the end": "(n := 10)",
    "call in brackets over lines": "print('a')\n(\n    len\n    ('abc')\n)",
    "block at the end": "for i in range(2):\n    i\nif i:\n    len('a')",
    "if main at the end": "def main():\n    return 3\nif __name__ == '__main__':\n    main()",
    "many constants": "x = [" + ", ".join(f"'c{i}'" for i in range(300)) + "]\n" +
                      "\n".join(f"y = {i}.5" for i in range(300)) + "\nlen(x)",
    "stdout is closed": "import sys\nprint('x')\nsys.stdout.close()\n5",
    "stdout is gone": "import os\nprint('buffered')\nos.close(1)\n5",
    "stdout is replaced": "import io, sys\nsys.stdout = io.StringIO()\nprint('hidden')\n"
                          "sys.stderr.write('shown')\n5",
    "stderr is none": "import sys\nsys.stderr = None\n1 / 0",
    "all descriptors are closed": "import os\nprint('x', flush=True)\nos.closerange(3, 4096)\n5",
    "descriptors are limited": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))\n"
                               "print('limited')\n5",
    "a value without a face": "class A:\n    def __repr__(self):\n        raise KeyError('no')\nA()",
    "a value that exits": "class A:\n    def __repr__(self):\n        raise SystemExit(3)\nA()",
    "large program": "\n".join(f"def f{i}(x):\n    return x + {i}" for i in range(800)) + "\nf3(4)",
    "deep expression": "x = " + "+".join(["1"] * 500) + "\nprint(x)",
    "own module named core": "open('core.py', 'w').write('x = 5')\nimport core\nprint(core.x)",
    "own module named values": "open('values.py', 'w').write('x = 6')\nimport values\n"
                               "print(values.x)\n[1]",
    "display of its own": "def display(x):\n    print('mine', x)\ndisplay(3)",
    "locale and encodings": "import sys, locale\nprint(sys.stdout.encoding, sys.stderr.errors, "
                            "sys.getfilesystemencoding(), locale.getpreferredencoding())",
    "gc": "import gc\nprint(gc.isenabled(), gc.get_threshold(), gc.garbage)",
    "tracemalloc": "import tracemalloc\ntracemalloc.start(5)\nx = [1] * 1000\n"
                   "s = tracemalloc.take_snapshot().statistics('traceback')\n"
                   "print([len(t.traceback) for t in s if 'hotcell' in str(t.traceback)])",
    "unraisable": "import sys\nsys.unraisablehook = lambda u: print('hook', u.exc_value)\n"
                  "class A:\n    def __del__(self):\n        1 / 0\nx = A()\ndel x\n",
    "signal handler": "import signal, os\nsignal.signal(signal.SIGUSR1, lambda *a: print('usr1'))\n"
                      "os.kill(os.getpid(), signal.SIGUSR1)\nprint(signal.getsignal(signal.SIGINT))",
    "default of broken pipes": "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
                               "print(signal.pthread_sigmask(signal.SIG_BLOCK, []))\n5",
    "doctest": "def f():\n    '''\n    >>> f()\n    2\n    '''\n    return 1\n"
               "import doctest\ndoctest.testmod()",
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
                "        pass\nunittest.main(argv=['x'], exit=True, testRunner="
                "unittest.TextTestRunner(stream=open('/dev/null', 'w')))",
    "argparse": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--need', "
                "required=True)\np.parse_args([])",
    "match": "match [1, 2]:\n    case [a, b]:\n        print(a + b)\n",
    "breakpoint that is off": "import os\nos.environ['PYTHONBREAKPOINT'] = '0'\nbreakpoint()\nprint(1)",
    "sqlite": "import sqlite3\nc = sqlite3.connect(':memory:')\nprint(c.execute('select 1').fetchall())",
    "typing hints": "import typing\nclass A:\n    x: 'B'\nclass B: pass\n"
                    "print(typing.get_type_hints(A))",
}

# What is known to be different, and how.
DIFFERENT = {
    "uncaught recursion": (
        "def f():\n    f()\nf()",
        "a recursion ends one call earlier, because one of the calls is the runner's",
    ),
    "fault handler": (
        "import faulthandler\nfaulthandler.dump_traceback(all_threads=False)",
        "faulthandler looks at the bare stack and sees one more frame, named <hotcell>",
    ),
}
