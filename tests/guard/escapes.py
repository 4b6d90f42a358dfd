# SPDX-License-Identifier: Apache-2.0
"""Programs that `strict` must stop: ways out of a jail made of Python, and abuse, by class.

Each prints ESCAPED when it has what it is after. With the guard off it does, or the cell stops it; in
`strict` it must not come so far. They are written for this suite, after the classes that are known
from the literature on Python jails. A row of a class is an expression that gives something a jail must not give,
or a whole program, when it has more than one line.
"""

# What an expression is tried on, by what it gives.
GOALS = {
    "os": "print('ESCAPED', ({0}).getpid())",
    "sys": "print('ESCAPED', len(({0}).modules))",
    "builtins": "b = {0}\nprint('ESCAPED', (b if isinstance(b, dict) else b.__dict__)['open'])",
    "open": "print('ESCAPED', ({0})('/etc/passwd').read(4))",
    "text": "print('ESCAPED', len(({0}).read()))",
    "call": "print('ESCAPED', {0})",
    "frame": "print('ESCAPED', ({0}).f_code)",
    "globals": "print('ESCAPED', ({0})['__name__'])",
    "class": "print('ESCAPED', ({0}).__name__)",
    "whole": "{0}",
    "code": "t = \"print('ESCAPED', __import__('o' + 's').getpid())\"\n{0}",
}

CLASSES = {
    # ---- plain imports of what reaches outside
    "import": ("whole", """
import os; print('ESCAPED', os.getpid())
import os as fine; print('ESCAPED', fine.getpid())
from os import getpid as g; print('ESCAPED', g())
import os.path as p; print('ESCAPED', p.os.getpid())
from os import *; print('ESCAPED', getpid())
import posix; print('ESCAPED', posix.getpid())
import subprocess; print('ESCAPED', subprocess.run(['true']).returncode)
import shutil; print('ESCAPED', shutil.which('sh'))
import socket; print('ESCAPED', socket.socket)
import pathlib; print('ESCAPED', pathlib.Path('/etc/passwd').read_text()[:4])
import ctypes; print('ESCAPED', ctypes.CDLL(None).getpid())
import _ctypes; print('ESCAPED', _ctypes.dlopen)
import importlib; print('ESCAPED', importlib.import_module('os').getpid())
import builtins; print('ESCAPED', builtins.open)
import gc; print('ESCAPED', len(gc.get_objects()))
import inspect; print('ESCAPED', inspect.currentframe())
import pickle; print('ESCAPED', pickle.loads(b"cos\\x0agetpid\\x0a(tR."))
import marshal; print('ESCAPED', marshal.loads)
import code; print('ESCAPED', code.InteractiveInterpreter)
import pty; print('ESCAPED', pty.spawn)
import signal; print('ESCAPED', signal.SIGKILL)
import mmap; print('ESCAPED', mmap.mmap(-1, 4096))
import tempfile; print('ESCAPED', tempfile.gettempdir())
import threading; print('ESCAPED', threading._os if hasattr(threading, '_os') else threading.Thread)
import multiprocessing; print('ESCAPED', multiprocessing.Process)
import runpy; print('ESCAPED', runpy.run_module)
import timeit; print('ESCAPED', timeit.timeit('pass', number=1))
import urllib.request; print('ESCAPED', urllib.request.urlopen)
import http.client; print('ESCAPED', http.client.HTTPConnection)
import asyncio; print('ESCAPED', asyncio.create_subprocess_exec)
import types; print('ESCAPED', types.FunctionType)
from types import CodeType; print('ESCAPED', CodeType)
import sqlite3; print('ESCAPED', sqlite3.connect('/tmp/x.db'))
import logging; print('ESCAPED', logging.FileHandler('/tmp/x'))
import fileinput; print('ESCAPED', next(fileinput.input('/etc/passwd')))
import linecache; print('ESCAPED', linecache.getline('/etc/passwd', 1)[:4])
import glob; print('ESCAPED', glob.glob('/etc/*')[:1])
import sysconfig; print('ESCAPED', sysconfig.get_paths())
"""),
    # ---- imports by other means than the statement
    "import by name": ("os", """
__import__('os')
__import__('o' + 's')
__import__('so'[::-1])
__import__(''.join(['o', 's']))
__import__(chr(111) + chr(115))
__import__('OS'.lower())
(lambda name: __import__(name))('os')
[__import__][0]('os')
{'i': __import__}['i']('os')
__import__(name='os')
__import__('importlib').import_module('os')
getattr(__builtins__, '__import__')('os')
getattr(__builtins__, '__imp' + 'ort__')('os')
__builtins__.__dict__['__import__']('os')
vars(__builtins__)['__import__']('os')
globals()['__builtins__'].__import__('os')
globals()['__buil' + 'tins__'].__import__('os')
vars(globals()['__builtins__'])['__import__']('os')
(lambda: 0).__globals__['__builtins__'].__import__('os')
print.__self__.__import__('os')
getattr(print, '__se' + 'lf__').__import__('os')
len.__self__.__dict__['__import__']('os')
__loader__.load_module('os') if hasattr(__loader__, 'x') else __import__('os')
__builtins__.__loader__.load_module('posix')
__builtins__.__spec__.loader.load_module('posix')
type(__builtins__.__spec__).__init__.__globals__['sys'].modules['os']
"""),
    # ---- modules of the list, as a way to those that are not
    "through a module": ("os", """
__import__('random')._os
__import__('statistics').sys.modules['os']
__import__('collections')._sys.modules['os']
__import__('json').codecs.sys.modules['os']
__import__('dataclasses').sys.modules['os']
__import__('re').enum.sys.modules['os']
__import__('typing').sys.modules['os']
__import__('uuid').os
"""),
    "through a listed module": ("whole", """
import random; print('ESCAPED', random._os.getpid())
import random as r; s = r; print('ESCAPED', s._os.getpid())
from random import _os; print('ESCAPED', _os.getpid())
import random; print('ESCAPED', getattr(random, '_os').getpid())
import random; print('ESCAPED', getattr(random, ''.join(map(chr, [95, 111, 115]))).getpid())
import random; print('ESCAPED', vars(random)[''.join(map(chr, [95, 111, 115]))].getpid())
import random; print('ESCAPED', random.__dict__['_o' + 's'].getpid())
import json; print('ESCAPED', json.codecs.open)
import json; print('ESCAPED', json.decoder.scanner.re.enum.sys.modules['os'].getpid())
import dataclasses; print('ESCAPED', dataclasses.sys.modules)
import dataclasses; print('ESCAPED', dataclasses.builtins.open)
import collections; print('ESCAPED', collections._sys.modules)
import statistics; print('ESCAPED', statistics.sys.modules)
import enum; print('ESCAPED', enum.sys.modules)
import enum; print('ESCAPED', enum.bltns.open)
import typing; print('ESCAPED', typing.sys.modules)
import argparse; print('ESCAPED', argparse._os.getpid())
import uuid; print('ESCAPED', uuid.os.getpid())
import shlex; print('ESCAPED', shlex.os.getpid())
import calendar; print('ESCAPED', calendar.sys.modules)
import heapq; print('ESCAPED', heapq.__loader__)
import math; print('ESCAPED', math.__spec__.loader.load_module('posix').getpid())
import math; print('ESCAPED', math.__loader__)
import json; print('ESCAPED', json.__builtins__['open'])
import json; print('ESCAPED', json.dumps.__globals__['codecs'])
import json; print('ESCAPED', getattr(json.dumps, '__glob' + 'als__')['codecs'])
import operator; import json; print('ESCAPED', operator.attrgetter('__globals__')(json.dumps)['codecs'])
import operator; import json; print('ESCAPED', operator.attrgetter(''.join(['__glo', 'bals__']))(json.dumps))
import operator; import json; print('ESCAPED', operator.methodcaller('__getattribute__', '__glo' + 'bals__')(json.dumps))
import string; import json; print('ESCAPED', string.Formatter().get_field('0.__globals__', (json.dumps,), {})[0]['codecs'])
import functools; import json; print('ESCAPED', functools.reduce(getattr, ['__globals__'], json.dumps)['codecs'])
import functools; import json; n = '__glo' + 'bals__'; print('ESCAPED', functools.partial(getattr, json.dumps)(n))
import io; print('ESCAPED', io.open('/etc/passwd').read(4))
import io; print('ESCAPED', io.FileIO('/etc/passwd').read(4))
import io; print('ESCAPED', io.open_code('/etc/passwd').read(4))
from io import open as o; print('ESCAPED', o('/etc/passwd').read(4))
import sys; print('ESCAPED', sys.modules['os'].getpid())
import sys; print('ESCAPED', sys._getframe().f_globals)
import sys; m = [k for k in dir(sys) if k.startswith('mod')]; print('ESCAPED', getattr(sys, m[0])['os'])
import sys; print('ESCAPED', type(sys.stdout.buffer.raw)('/etc/passwd').read(4))
import sys; print('ESCAPED', sys.stdout.buffer.raw.__class__('/etc/passwd').read(4))
import sys; sys.settrace(lambda *a: None); print('ESCAPED')
import sys; print('ESCAPED', sys.meta_path)
import contextlib; print('ESCAPED', contextlib.os.getcwd())
import enum; E = enum.Enum._convert_('E', 'os', lambda n: n == 'getpid'); print('ESCAPED', E)
import typing; print('ESCAPED', typing.ForwardRef('__import__("os").getpid()')._evaluate({}, {}, frozenset()))
import typing; print('ESCAPED', typing.get_type_hints(type('X', (), {'__annotations__': {'a': '__import__("os").getpid.__class__'}})))
"""),
    # ---- from any value to all classes
    "classes": ("class", """
().__class__.__base__.__subclasses__()[1]
().__class__.__bases__[0].__subclasses__()[2]
''.__class__.__mro__[1].__subclasses__()[3]
[].__class__.mro()[1].__subclasses__()[4]
{}.__class__.__base__.__subclasses__()[5]
(1).__class__.__mro__[-1].__subclasses__()[6]
type(type).__subclasses__(type)[0]
object.__subclasses__()[0]
type.__subclasses__(object)[0]
type.__dict__['__subclasses__'](object)[0]
type.__dict__['__sub' + 'classes__'](object)[0]
vars(type)['__subclasses__'](object)[0]
getattr(object, '__subclasses__')()[0]
getattr(object, '__sub' + 'classes__')()[0]
getattr(object, ''.join(['__', 'subclasses', '__']))()[0]
getattr(object, '__sessalcbus__'[::-1])()[0]
object.__getattribute__(object, '__class__').__subclasses__(object)[0]
type.__getattribute__(object, '__sub' + 'classes__')()[0]
(lambda o, n: getattr(o, n))(object, '__subclasses__')()[0]
[c for c in ().__class__.__base__.__subclasses__() if 'wrap' in c.__name__][0]
"".__class__.__class__.__subclasses__(object)[0]
super(int, 1).__class__.__base__.__subclasses__()[0]
type(lambda: 0).__mro__[1].__subclasses__()[0]
"""),
    "classes to power": ("whole", """
print('ESCAPED', [c for c in object.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__['getpid']())
print('ESCAPED', [c for c in ().__class__.__base__.__subclasses__() if 'BuiltinImporter' in c.__name__][0].load_module('posix').getpid())
print('ESCAPED', [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'FileLoader'][0]('x', '/etc/passwd').get_data('/etc/passwd')[:4])
for c in ().__class__.__bases__[0].__subclasses__():\\n    if c.__name__ == 'catch_warnings':\\n        print('ESCAPED', c()._module.__builtins__['open'])
match object:\\n    case type(__subclasses__=f):\\n        print('ESCAPED', f()[0])
match print:\\n    case object(__self__=b):\\n        print('ESCAPED', b.open)
class M(type):\\n    pass\\nprint('ESCAPED', M.__base__.__subclasses__(object)[0])
"""),
    # ---- frames, tracebacks, code
    "frames": ("whole", """
try:\\n    1/0\\nexcept Exception as e:\\n    print('ESCAPED', e.__traceback__.tb_frame.f_globals)
try:\\n    1/0\\nexcept Exception as e:\\n    print('ESCAPED', getattr(e.__traceback__, 'tb_fr' + 'ame'))
try:\\n    1/0\\nexcept Exception as e:\\n    t = e.__traceback__\\n    match t:\\n        case object(tb_frame=f):\\n            print('ESCAPED', f)
g = (x for x in [1]); print('ESCAPED', g.gi_frame.f_builtins['open'])
g = (x for x in [1]); print('ESCAPED', getattr(g, 'gi_' + 'frame'))
g = (x for x in [1]); print('ESCAPED', g.gi_code)
async def f(): pass\\nc = f(); print('ESCAPED', c.cr_frame); c.close()
async def f(): yield 1\\nprint('ESCAPED', f().ag_frame)
def f():\\n    yield g.gi_frame.f_back\\ng = f()\\nprint('ESCAPED', next(g).f_globals)
def f(): pass\\nprint('ESCAPED', f.__code__.co_code)
def f(): pass\\nprint('ESCAPED', f.__globals__['__builtins__'])
def f(): pass\\nprint('ESCAPED', getattr(f, '__co' + 'de__'))
def f(): pass\\nprint('ESCAPED', type(f)(f.__code__, {})())
def f(): pass\\nprint('ESCAPED', type(f).__dict__['__globals__'].__get__(f))
def f(): pass\\nprint('ESCAPED', vars(type(f))['__glo' + 'bals__'].__get__(f))
def f(): pass\\nf.__code__ = (lambda: print('ESCAPED')).__code__\\nf()
def f(): pass\\nsetattr(f, '__co' + 'de__', getattr(lambda: print('ESCAPED'), '__co' + 'de__'))\\nf()
def a():\\n    x = 1\\n    return lambda: x\\nprint('ESCAPED', a().__closure__[0].cell_contents)
def f(): pass\\nprint('ESCAPED', f.__code__.replace(co_consts=(1,)))
def f(): pass\\nprint('ESCAPED', f.__builtins__['open'])
"""),
    # ---- code from text: t is what has to be judged when it runs
    "code from text": ("code", """
eval(t)
exec(t)
exec(compile(t, 'x', 'exec'))
e = eval; e(t)
[eval][0](t)
(lambda f: f(t))(exec)
list(map(eval, [t]))
getattr(__builtins__, 'eval')(t)
getattr(__builtins__, 'ev' + 'al')(t)
globals()['__builtins__'].eval(t)
vars(globals()['__builtins' + '__'])['ex' + 'ec'](t)
@exec\\n@(lambda c: t)\\nclass X: pass
@eval\\n@(lambda c: t)\\nclass X: pass
class X:\\n    __class_getitem__ = eval\\nX[t]
class X:\\n    __add__ = lambda s, o: eval(o)\\nX() + t
print(f"{eval(t)}")
breakpoint(); print('ESCAPED')
help('os'); print('ESCAPED')
"""),
    # ---- text that looks like other text, and what it runs in
    "text and names": ("code", """
class S(str):\\n    def __str__(s): return '1'\\neval(S(t))
class S(str):\\n    def lstrip(s, *a): return '1'\\n    def encode(s, *a): return b'1'\\neval(S(t))
eval(t.encode())
exec(bytearray(t.encode()))
exec(memoryview(t.encode()))
class B(bytes):\\n    def decode(s, *a): return '1'\\n    def __bytes__(s): return b'1'\\nexec(B(t.encode()))
exec(b"# coding: utf-7¶print('ESCAPED', +AF8AXw-import+AF8AXw-('os').getpid())")
print('ESCAPED', eval("().__\\uff43lass__.__base__.__\\uff53ubclasses__()")[0])
exec("eval(" + repr(t) + ")")
exec("exec(" + repr("exec(" + repr(t) + ")") + ")")
eval("(lambda c: eval(c))(" + repr(t) + ")")
eval(t, {})
eval(t, {'__name__': 'importlib._bootstrap'})
eval(t, {}, {})
exec(t, dict(globals()))
class D(dict):\\n    def __missing__(s, k): return __import__(k)\\nexec("print('ESCAPED', posix.getpid())", {}, D(print=print))
class D(dict):\\n    def __getitem__(s, k): return dict.get(s, k) or __import__(k)\\nexec("print('ESCAPED', posix.getpid())", D(print=print))
exec("from __future__ import annotations¶" + t)
exec(compile(t, 'x', 'single'))
exec(compile(t, 'x', 'exec', 0, True, 2))
exec(compile(t, 'x', 'exec', dont_inherit=True))
exec(compile(compile(t, 'x', 'exec', 0x400), 'x', 'exec'))
a = compile('1', 'x', 'exec', 0x400); b = compile(t, 'x', 'exec', 0x400); a.body = b.body; exec(compile(a, 'x', 'exec'))
d = {}\\nexec("def f(c):¶    return eval(c)", d)\\nd['f'](t)
d = {}\\nexec("def f(c):¶    yield¶    yield eval(c)", d)\\ng = d['f'](t)\\nnext(g)\\nd['__name__'] = 'hotcell.files'\\nnext(g)
d = {}\\nexec("def f(p):¶    yield¶    yield open(p).read(4)", d)\\ng = d['f']('/etc/passwd')\\nnext(g)\\nd['__name__'] = 'hotcell.files'\\nprint('ESCAPED', next(g))
class M(type):\\n    def __prepare__(n, b): return {}\\nexec("class A(metaclass=M):¶    " + t)
exec("class A:¶    def __del__(s): " + t + "¶A()")
eval("[" + t + " for _ in [1]]")
exec("def f(x=" + t + "): pass")
exec("@(lambda f: " + t + ")¶def f(): pass")
import functools; functools.reduce(lambda a, b: eval(b), ['1', t])
import functools; functools.partial(eval, t)()
import contextlib; contextlib.contextmanager(eval)(t)
import contextlib\\nwith contextlib.ExitStack() as s:\\n    s.callback(exec, t)
import contextlib; print('ESCAPED', contextlib.contextmanager(eval)('os.getpid()').gen)
import contextlib; print('ESCAPED', contextlib.contextmanager(eval)('globals()').gen['os'])
import contextlib; print('ESCAPED', contextlib.contextmanager(globals)().gen['os'].getpid())
import contextlib; print('ESCAPED', contextlib.contextmanager(locals)().gen['func'])
import contextlib; print('ESCAPED', contextlib.contextmanager(vars)().gen['func'])
import typing\\nclass A:\\n    a: "eval(t)"\\ntyping.get_type_hints(A)
import typing\\nclass A:\\n    a: "glob" "als()['__buil' 'tins__']"\\nprint('ESCAPED', typing.get_type_hints(A, globals()))
exec("import os as o¶print('ESCAPED', o.getpid())")
exec("try:¶    import os¶except NameError: pass¶print('ESCAPED', os.getpid())")
print('ESCAPED', eval("(lambda: 0).__globals__"))
print('ESCAPED', eval("'{0.__globals__}'.format(lambda: 0)"))
f = eval("lambda t, o: t.format(o)"); print('ESCAPED', f('{0.__co' + 'de__}', f))
print('ESCAPED', eval("getattr(f, n)", {'f': eval, 'n': '__se' + 'lf__', 'getattr': getattr}))
c = compile(t, 'x', 'exec'); print('ESCAPED', c.co_consts)
c = compile('1', 'x', 'eval'); print('ESCAPED', c.replace(co_consts=(2,)))
c = compile('1', 'x', 'eval'); print('ESCAPED', type(lambda: 0)(c, {})())
"""),
    # ---- an importer of the program's own, and what an import statement does with it
    "imports that fall back": ("whole", """
import math\\nmath.__name__ = 'os'\\nfrom math import path\\nprint('ESCAPED', path.os.getpid())
class N: __name__ = 'os'\\nn = N(); n.__name__ = 'os'\\nb = globals()['__buil' + 'tins__']\\nb = b if isinstance(b, dict) else b.__dict__\\nb['__import__'] = lambda *a: n\\nfrom math import path\\nprint('ESCAPED', path.os.getpid())
class N: pass\\nn = N(); n.__name__ = 'os'\\nexec("from math import path¶print('ESCAPED', path.os.getpid())", {'__builtins__': {'__import__': lambda *a: n, 'print': print}})
class N: pass\\nn = N(); n.__name__ = 'os'\\nexec("import math.path as path¶print('ESCAPED', path.os.getpid())", {'__builtins__': {'__import__': lambda *a: n, 'print': print}})
class N: pass\\nn = N(); n.__name__ = 'os'\\nexec("def f():¶    from . import path¶    return path", d := {'__builtins__': {'__import__': lambda *a: n}, '__package__': 'a'})\\nprint('ESCAPED', d['f']().os.getpid())
class N: pass\\nn = N(); n.__name__ = 'os'\\nd = {}\\nexec("def f():¶    def g():¶        from math import path¶        return path¶    return g", d)\\nd['__builtins__'] = {'__import__': lambda *a: n}\\nprint('ESCAPED', d['f']()().os.getpid())
class N: pass\\nn = N(); n.__name__ = 'os'\\nglobals()['__buil' + 'tins__'] = {'__import__': lambda *a: n, 'print': print}\\ndef f():\\n    from math import path\\n    return path\\nprint('ESCAPED', f().os.getpid())
import math\\nmath.path = 1\\nclass L(dict):\\n    def __setitem__(s, k, v):\\n        dict.__setitem__(s, k, v)\\n        if k == 'floor':\\n            del math.path\\n            math.__name__ = 'os'\\nexec("from math import floor, path¶print('ESCAPED', path.os.getpid())", {}, L())
import math\\nmath.path = 1\\nclass L(dict):\\n    def __setitem__(s, k, v):\\n        dict.__setitem__(s, k, v)\\n        if k == 'floor':\\n            del math.path\\n            math.__name__ = 'os'\\nclass M(type):\\n    def __prepare__(*a): return L()\\nclass A(metaclass=M):\\n    from math import floor, path\\n    print('ESCAPED', path.os.getpid())
import math; math.__init__('os'); from math import path; print('ESCAPED', path.os.getpid())
import json\\ndel json.decoder\\nfrom json import decoder\\nprint('ESCAPED', decoder.scanner.re.enum.sys.modules)
import json.decoder as d\\nprint('ESCAPED', d.scanner.re.enum.sys.modules)
from zoneinfo import _common; print('ESCAPED', _common.struct)
import zoneinfo._tzpath; print('ESCAPED', zoneinfo._tzpath.os.getpid())
print('ESCAPED', __import__('json', fromlist=['decoder']).decoder.scanner.re.enum.sys)
i = __import__; print('ESCAPED', i('os.path', None, None, ['os']).os.getpid())
"""),
    # ---- files
    "files": ("whole", """
print('ESCAPED', open('/etc/passwd').read(4))
print('ESCAPED', open(0))
print('ESCAPED', open(True, closefd=False))
print('ESCAPED', open(1, 'w', closefd=False))
o = open; print('ESCAPED', o('/etc/passwd').read(4))
print('ESCAPED', [open][0]('/etc/passwd').read(4))
print('ESCAPED', list(map(open, ['/etc/passwd'])))
print('ESCAPED', getattr(__builtins__, 'open')('/etc/passwd').read(4))
print('ESCAPED', open('/tmp/../etc/passwd').read(4))
print('ESCAPED', open('../../etc/passwd').read(4))
print('ESCAPED', open('/home/user/../../etc/passwd', 'rb', 0).read(4))
print('ESCAPED', open('//etc//passwd').read(4))
print('ESCAPED', open(b'/etc/passwd').read(4))
print('ESCAPED', open('/proc/self/comm').read(4) if 0 else open('/dev/null').read() == '')
print('ESCAPED', open('/dev/zero', 'rb', 0).read(4))
print('ESCAPED', open('/dev/../etc/passwd').read(4))
print('ESCAPED', open('/usr/bin/env', 'rb').read(4))
print('ESCAPED', open('/bin/sh', 'rb').read(4))
class S(str):\\n    def __str__(s): return '/tmp/x'\\n    def startswith(s, *a): return True\\nprint('ESCAPED', open(S('/etc/passwd')).read(4))
class B(bytes):\\n    def decode(s, *a): return '/tmp/x'\\n    def __getitem__(s, k): return b'/tmp/x'\\nprint('ESCAPED', open(B(b'/etc/passwd')).read(4))
class P:\\n    n = 0\\n    def __fspath__(s):\\n        s.n += 1\\n        return '/etc/passwd' if s.n % 2 else '/etc/passwd'\\nprint('ESCAPED', open(P()).read(4))
class P:\\n    n = 0\\n    def __fspath__(s):\\n        P.n += 1\\n        return '/etc/passwd' if P.n != 1 else __file__\\np = P()\\nopen(p).close()\\nprint('ESCAPED', open(p).read(4))
class S(str):\\n    def __fspath__(s): return '/tmp/x'\\nclass P:\\n    def __fspath__(s): return S('/etc/passwd')\\nprint('ESCAPED', open(P()).read(4))
class I(int):\\n    def __str__(s): return '/tmp/x'\\nprint('ESCAPED', open(I(0)))
print('ESCAPED', open(__file__, opener=lambda p, f: 0))
print('ESCAPED', open('/tmp/x', 'r', opener=lambda p, f: 2))
print('ESCAPED', open('/run/x', 'w') if 0 else open('/etc/hostname'))
import io; print('ESCAPED', io.open('/etc/passwd').read(4))
import io; print('ESCAPED', io.FileIO(0))
import io; print('ESCAPED', io.open_code('/etc/passwd').read(4))
import io; print('ESCAPED', io.open(0))
from io import open as o; print('ESCAPED', o('/etc/passwd').read(4))
F = type(open(__file__).buffer.raw); print('ESCAPED', F('/etc/passwd').read(4))
F = type(open(__file__, 'rb', 0)); print('ESCAPED', F(__file__, 'r', True, lambda p, f: 0))
F = open(__file__).buffer.raw.__class__; print('ESCAPED', F(0))
r = open(__file__, 'rb', 0); r.__init__('/etc/passwd'); print('ESCAPED', r.read(4))
r = open(__file__).detach().detach(); r.__init__(0); print('ESCAPED', r)
r = open(__file__, 'rb', 0); type(r).__init__(r, '/etc/passwd'); print('ESCAPED', r.read(4))
import shlex; F = type(shlex.shlex().instream.buffer.raw); print('ESCAPED', F(__file__, 'r', True, lambda p, f: 0))
import pprint; n = '_str' + 'eam'; F = type(getattr(pprint.PrettyPrinter(), n).buffer.raw); print('ESCAPED', F(__file__, 'r', True, lambda p, f: 0))
import argparse; F = type(argparse.FileType()('-').buffer.raw); print('ESCAPED', F(__file__, 'r', True, lambda p, f: 0))
import argparse; F = type(argparse.FileType()(__file__).buffer.raw); print('ESCAPED', F(__file__, 'r', True, lambda p, f: 0))
import argparse; print('ESCAPED', argparse.FileType()('/etc/passwd').read(4))
import argparse; print('ESCAPED', argparse.ArgumentParser(fromfile_prefix_chars='@').parse_known_args(['@/etc/passwd'])[1][0][:4])
import shlex; s = shlex.shlex(''); s.source = 'source'; print('ESCAPED', s.sourcehook('/etc/passwd')[1].read(4))
import csv; print('ESCAPED', next(csv.reader(open('/etc/passwd')))[0])
import zoneinfo\\nclass Z(zoneinfo.ZoneInfo): pass\\nprint('ESCAPED', zoneinfo.ZoneInfo.from_file(open('/etc/localtime', 'rb')) if 0 else open('/etc/passwd').read(4))
with open('tzdata.py', 'w') as f: f.write("print('ESCAPED', __import__('os').getpid())")\\nimport zoneinfo\\nzoneinfo.ZoneInfo('No/Where')
print('ESCAPED', license._Printer__setup() or license._Printer__lines)
license._Printer__filenames = ['/etc/passwd']; r = repr(license); print('ESCAPED', r[r.index('root')])
print('ESCAPED', __loader__.get_data('/etc/passwd')[:4])
print('ESCAPED', globals()['__loa' + 'der__'].get_data('/etc/passwd')[:4])
print('ESCAPED', type(globals()['__loader__'])('x', '/etc/passwd').get_data('/etc/passwd')[:4])
"""),
    # ---- files that a cell does not have, or not for everybody
    "files of others": ("whole", """
print('ESCAPED', open('/dev/stdin'))
print('ESCAPED', open('/dev/fd/1', 'w'))
print('ESCAPED', open('/proc/self/environ').read(4))
print('ESCAPED', open('/proc/self/mem', 'rb', 0))
print('ESCAPED', open('/proc/self/root/etc/passwd').read(4))
print('ESCAPED', open('/proc/self/fd/0'))
print('ESCAPED', open('/sys/kernel/notes', 'rb').read(4))
print('ESCAPED', open('/run/hotcell/x', 'w'))
print('ESCAPED', open('/usr/lib/python3.11/abc.py', 'a'))
print('ESCAPED', open('/etc/x', 'w'))
"""),
    # ---- attributes that the syntax looks up by other means than a dot
    "patterns": ("whole", """
def f(): pass\\nmatch '{0.__co' + 'de__}':\\n    case str(format=m):\\n        print('ESCAPED', m(f))
def f(): pass\\nmatch type(f):\\n    case type(__dict__=d):\\n        print('ESCAPED', d['__glo' + 'bals__'].__get__(f))
def f(): pass\\nmatch f:\\n    case object(__getattribute__=g):\\n        print('ESCAPED', g('__co' + 'de__'))
import random\\nmatch random:\\n    case object(__dict__=d):\\n        print('ESCAPED', d['_' + 'os'].getpid())
def f(): pass\\nclass C:\\n    __match_args__ = ('format',)\\nclass M(type):\\n    def __instancecheck__(c, o): return True\\nclass C(metaclass=M):\\n    __match_args__ = ('format',)\\nmatch '{0.__co' + 'de__}':\\n    case C(m):\\n        print('ESCAPED', m(f))
class M(type):\\n    def __instancecheck__(c, o): return True\\nD = M('D', (), {'__match' + '_args__': ('__glo' + 'bals__',)})\\ndef f(): pass\\nmatch f:\\n    case D(g):\\n        print('ESCAPED', g)
class M(type):\\n    def __instancecheck__(c, o): return True\\nclass N: pass\\nN.D = M('D', (), {'__match' + '_args__': ('__glo' + 'bals__',)})\\ndef f(): pass\\nmatch f:\\n    case N.D(g):\\n        print('ESCAPED', g)
class M(type):\\n    def __instancecheck__(c, o): return True\\nD = M('D', (), {'__match' + '_args__': ('__glo' + 'bals__',)})\\nclass P: D = D\\nfor k in 'hotcell: patterns', 'x': globals()[k] = P\\ndef f(): pass\\nmatch [f]:\\n    case [D(g)]:\\n        print('ESCAPED', g)\\nraise SystemExit(1)
class A:\\n    def __init__(self): self.__self__ = 1\\nmatch print:\\n    case object(__self__=b):\\n        print('ESCAPED', b.open)
class A:\\n    def __init__(self): self.f_globals = 1\\ng = (x for x in [1])\\nmatch g:\\n    case object(gi_frame=b):\\n        print('ESCAPED', b)
def f(): pass\\nclass E:\\n    def __eq__(s, o): s.o = o\\ne = E()\\nt = '{0.__co' + 'de__}'\\nmatch e:\\n    case t.format: pass\\nprint('ESCAPED', e.o(f))
def f(): pass\\nclass E(dict):\\n    def get(s, k, *a):\\n        s.k = k\\n        return 1\\ne = E(a=1)\\nt = '{0.__co' + 'de__}'\\nmatch e:\\n    case {t.format: x}: pass\\nprint('ESCAPED', e.k(f))
import random\\nclass A: _os = 1\\nmatch random:\\n    case object(_os=o):\\n        print('ESCAPED', o.getpid())\\nraise SystemExit(1)
"""),
    "assignments that look": ("whole", """
def f(): pass\\nclass E:\\n    def __radd__(s, m): s.m = m\\ne = E()\\nt = '{0.__co' + 'de__}'\\ntry:\\n    t.format += e\\nexcept AttributeError: pass\\nprint('ESCAPED', e.m(f))
def f(): pass\\nclass E:\\n    def __ror__(s, m): s.m = m\\n    __radd__ = __ror__\\ne = E()\\ntry:\\n    type(f).__dict__ += e\\nexcept (AttributeError, TypeError): pass\\nprint('ESCAPED', e.m['__glo' + 'bals__'].__get__(f))
class A:\\n    def __init__(self): self.__self__ = 1\\nclass E:\\n    def __radd__(s, m): s.m = m\\ne = E()\\ntry:\\n    print.__self__ += e\\nexcept AttributeError: pass\\nprint('ESCAPED', e.m.open)
class A:\\n    def __init__(self): self.__self__ = 1\\nprint('ESCAPED', print.__self__.open)
class A:\\n    def __init__(self): self.__self__ = 1\\nprint('ESCAPED', getattr(print, '__self__').open)
class A:\\n    def __init__(self): self.__self__ = 1\\nprint('ESCAPED', [].append.__self__)
class A:\\n    def __init__(self): self.gi_frame = self.f_globals = 1\\ng = (x for x in [1])\\nprint('ESCAPED', g.gi_frame.f_globals)
class A:\\n    def __init__(self): self.tb_frame = self.f_back = self.f_globals = 1\\ntry:\\n    1/0\\nexcept Exception as e:\\n    print('ESCAPED', e.__traceback__.tb_frame.f_globals)
class A:\\n    def __init__(self): self.__globals__ = 1\\ndef f(): pass\\nprint('ESCAPED', f.__globals__)
class A:\\n    def __init__(self): self.__code__ = 1\\ndef f(): pass\\nprint('ESCAPED', f.__code__)
class A:\\n    def __init__(self): self.__self__ = 1\\nclass B(A):\\n    __self__ = print.__self__\\nprint('ESCAPED', B().__self__)
class A:\\n    def __init__(self): self.__self__ = 1\\nprint('ESCAPED', super(A, A()).__init__.__self__)
"""),
    "private parts": ("whole", """
import random; print('ESCAPED', random._inst._randbelow)
import random; x = random; print('ESCAPED', [x][0]._os.getpid())
import sys; print('ESCAPED', sys._xoptions)
import sys; print('ESCAPED', sys._current_frames())
import typing; print('ESCAPED', typing._eval_type)
import argparse; print('ESCAPED', argparse.ArgumentParser()._get_kwargs.__func__.__globals__)
import argparse; a = argparse.ArgumentParser(); print('ESCAPED', a._registries)
import json; print('ESCAPED', json.JSONDecoder()._x if 0 else json.decoder.JSONDecoder.decode._WHITESPACE if 0 else json._default_encoder)
import string; print('ESCAPED', string._string.formatter_parser)
class A:\\n    def _x(self): pass\\nimport collections; print('ESCAPED', collections.Counter._keep_positive)
"""),
    # ---- attributes through format strings
    "format": ("whole", """
def f(): pass\\nprint('ESCAPED', '{0.__globals__}'.format(f))
def f(): pass\\nprint('ESCAPED', '{x.__globals__[__builtins__]}'.format(x=f))
def f(): pass\\nprint('ESCAPED', '{0.__class__.__mro__}'.format(f))
def f(): pass\\nprint('ESCAPED', '{x.__code__}'.format_map({'x': f}))
def f(): pass\\nt = '{0.__glo' + 'bals__}'\\nprint('ESCAPED', t.format(f))
def f(): pass\\nt = ''.join(['{0.__co', 'de__}'])\\nprint('ESCAPED', t.format(f))
def f(): pass\\nprint('ESCAPED', str.format('{0.__code__}', f))
def f(): pass\\nm = str.format\\nprint('ESCAPED', m('{0.__co' + 'de__}', f))
def f(): pass\\nm = getattr(str, 'for' + 'mat')\\nprint('ESCAPED', m('{0.__co' + 'de__}', f))
def f(): pass\\nm = getattr('{0.__co' + 'de__}', 'for' + 'mat')\\nprint('ESCAPED', m(f))
def f(): pass\\nprint('ESCAPED', list(map('{0.__code__}'.format, [f])))
def f(): pass\\nm = str.__dict__['format']\\nprint('ESCAPED', m('{0.__code__}', f))
def f(): pass\\nm = vars(str)['for' + 'mat']\\nprint('ESCAPED', m('{0.__co' + 'de__}', f))
class S(str): pass\\ndef f(): pass\\nprint('ESCAPED', S('{0.__co' + 'de__}').format(f))
class S(str): pass\\ndef f(): pass\\nprint('ESCAPED', super(S, S('{0.__co' + 'de__}')).format(f))
def f(): pass\\nprint('ESCAPED', (lambda s, *a: s.format(*a))('{0.__co' + 'de__}', f))
def f(): pass\\nprint('ESCAPED', '{0.x.__class__}'.format(type('T', (), {'x': f})))
def f(): pass\\nprint('ESCAPED', '{:{0.__code__}}'.format(f, 1) if 0 else '{0.__code__!r}'.format(f))
"""),
    # ---- tricks with the jail's own functions and data
    "the jail itself": ("whole", """
import math; print('ESCAPED', math.__class__.__dict__['__dict__'].__get__(math)['__loader__'].load_module)
class A:\\n    def __getattribute__(s, n): return object.__getattribute__(s, n)\\nprint('ESCAPED', object.__getattribute__(A.__getattribute__, '__glo' + 'bals__'))
class A:\\n    def f(s): return super().__getattribute__('f')\\nprint('ESCAPED', super(type(A.f), A.f).__getattribute__('__glo' + 'bals__'))
class D:\\n    __slots__ = ()\\n    def __getattr__(s, n): return n\\nprint('ESCAPED', type(D.__getattr__).__getattribute__(D.__getattr__, '__co' + 'de__'))
g = globals(); b = [k for k in g if k.startswith('__bui')][0]; v = g[b]; v = v if isinstance(v, dict) else v.__dict__; print('ESCAPED', v['open']('/etc/passwd').read(4))
g = globals(); b = [k for k in g if k.startswith('__bui')][0]; v = g[b]; v = v if isinstance(v, dict) else v.__dict__; print('ESCAPED', v['__import__']('os').getpid())
g = globals(); b = [k for k in g if k.startswith('__bui')][0]; v = g[b]; v = v if isinstance(v, dict) else v.__dict__; v['ev' + 'al']("print('ESCAPED', __import__('os'))")
import builtins\\nbuiltins.__import__ = lambda *a: None\\nprint('ESCAPED')
import sys; sys.modules.clear(); print('ESCAPED')
class X:\\n    def __del__(self): print('ESCAPED', __import__('o' + 's').getpid())\\nX()
import functools\\n@functools.singledispatch\\ndef f(x): pass\\nimport json\\n@functools.wraps(json.dumps)\\ndef g(x): pass\\ng.__annotations__ = {'x': "print('ESCAPED', codecs.open)"}\\nf.register(g)
import typing, json\\n@__import__('functools').wraps(json.dumps)\\ndef g(x): pass\\ng.__annotations__ = {'x': "codecs.builtins.open"}\\nprint('ESCAPED', typing.get_type_hints(g))
import typing\\nclass A:\\n    __module__ = 'os'\\n    a: "getpid.__class__"\\nprint('ESCAPED', typing.get_type_hints(A)['a'])
import typing\\nr = typing.get_args(typing.List["__import__('os').getpid()"])[0]\\nprint('ESCAPED', getattr(r, '_eval' + 'uate')({}, {}, frozenset()))
"""),
    # ---- names that are looked up by somebody else
    "looked up by others": ("whole", """
import typing, functools, json\\nclass F(typing.ForwardRef, _root=True):\\n    def __init__(self): pass\\n    def _evaluate(self, *names):\\n        for d in names:\\n            if 'getpid' in d or 'codecs' in d: print('ESCAPED', d['__name__'])\\n        return int\\nclass A:\\n    __module__ = 'os'\\n    a: F()\\ntyping.get_type_hints(A)\\nraise SystemExit(1)
import typing, functools, json\\nclass F(typing.ForwardRef, _root=True):\\n    def __init__(self): pass\\n    def _evaluate(self, *names):\\n        for d in names:\\n            if 'getpid' in d or 'codecs' in d: print('ESCAPED', d['__name__'])\\n        return int\\n@functools.singledispatch\\ndef f(x): pass\\n@functools.wraps(json.dumps)\\ndef g(x): pass\\ng.__annotations__ = {'x': F()}\\nf.register(g)\\nraise SystemExit(1)
import functools\\nt = hash(dict)\\nclass M(type):\\n    __mro__ = property(lambda c: (K(),))\\nclass K:\\n    def __hash__(self): return t\\n    def __eq__(self, o): print('ESCAPED', o)\\nclass X(metaclass=M): pass\\n@functools.singledispatch\\ndef f(x): pass\\nf.register(object)(lambda x: 0)\\nf(X())\\nraise SystemExit(1)
import json\\ndef f(): pass\\nd = object.__getstate__(type(f))\\nprint('ESCAPED', d['__glo' + 'bals__'].__get__(json.dumps)['codecs'])
import json\\ndef f(): pass\\nd = getattr(object, '__get' + 'state__')(type(f))\\nprint('ESCAPED', d['__glo' + 'bals__'].__get__(json.dumps)['codecs'])
import typing\\nx = (i for i in [1])\\na = typing.List[int]\\na.__origin__ = x\\nprint('ESCAPED', a.__getattr__('gi_' + 'frame'))
import typing\\ndef f(): pass\\na = typing.List[int]\\na.__origin__ = '{0.__co' + 'de__}'\\nprint('ESCAPED', a.__getattr__('for' + 'mat')(f))
import collections\\ndef f(): pass\\nprint('ESCAPED', collections.UserString('{0.__co' + 'de__}').format(f))
import collections\\ndef f(): pass\\nclass U(collections.UserString): pass\\nm = U.format\\nprint('ESCAPED', m(U('{0.__co' + 'de__}'), f))
import collections\\ndef f(): pass\\nprint('ESCAPED', getattr(collections.UserString('{x.__co' + 'de__}'), 'format' + '_map')({'x': f}))
import functools, json\\ndef f(): pass\\nc = functools.cached_property(lambda t: 1 / 0)\\nc.attrname = '__glo' + 'bals__'\\nprint('ESCAPED', c.__get__(type(f)).__get__(json.dumps)['codecs'])
import copy, json\\ndef f(): pass\\nclass X:\\n    def __reduce_ex__(s, v): return (lambda: type(f), (), {'a': 1})\\ntry:\\n    copy.copy(X())\\nexcept AttributeError as e:\\n    print('ESCAPED', e.obj['__glo' + 'bals__'].__get__(json.dumps)['codecs'])
import copy, json\\ndef f(): pass\\nclass X:\\n    def __reduce_ex__(s, v): return (lambda: type(f), (), {'a': 1})\\ntry:\\n    copy.copy(X())\\nexcept AttributeError as e:\\n    match e:\\n        case AttributeError(obj=o): print('ESCAPED', o['__glo' + 'bals__'])
import copy, json\\ndef f(): pass\\nclass X:\\n    def __reduce_ex__(s, v): return (lambda: type(f), (), {'a': 1})\\ntry:\\n    copy.copy(X())\\nexcept AttributeError as e:\\n    print('ESCAPED', getattr(e, 'o' + 'bj')['__glo' + 'bals__'])
import json\\njson.dumps.__all__ = ['__glo' + 'bals__']\\nd = {'__builtins__': {'__import__': lambda *a: json.dumps}}\\nexec('from math import *', d)\\nprint('ESCAPED', d['__glo' + 'bals__']['codecs'])
import json\\njson.dumps.__all__ = ['__glo' + 'bals__']\\nb = globals()['__buil' + 'tins__']\\nb = b if isinstance(b, dict) else b.__dict__\\nb['__import__'] = lambda *a: json.dumps\\nfrom math import *\\nprint('ESCAPED', globals()['__glo' + 'bals__']['codecs'])
import pprint, dataclasses\\ndef f(): pass\\n@dataclasses.dataclass\\nclass S(str):\\n    a: int = 1\\n    def __new__(cls, t): return str.__new__(cls, t)\\n    def __init__(self, t): pass\\nS.__dataclass_fields__['a'].name = 'for' + 'mat'\\nclass P(pprint.PrettyPrinter):\\n    def format(self, o, c, m, l):\\n        if not isinstance(o, str): print('ESCAPED', o(f))\\n        return super().format(o, c, m, l)\\nP(width=1).pprint(S('{0.__co' + 'de__}'))
import functools\\nclass W: pass\\nw = W()\\nfunctools.update_wrapper(w, functools.wraps, assigned=['__glo' + 'bals__'], updated=[])\\nprint('ESCAPED', vars(w)['__glo' + 'bals__'])
import functools\\nclass W: pass\\nw = functools.wraps(functools.wraps, ['__co' + 'de__'], [])(W())\\nprint('ESCAPED', vars(w)['__co' + 'de__'])
import dataclasses\\nclass M(type): pass\\nclass MM(type): pass\\nf = dataclasses.field()\\nf.name = '__sub' + 'classes__'\\nf._field_type = dataclasses._FIELD\\nMM.__dataclass_fields__ = {'x': f}\\nclass K(type, metaclass=MM): pass\\nprint('ESCAPED', dataclasses.asdict(K)[f.name](object)[0])
import dataclasses\\nclass X:\\n    a = 1\\nX.__annotations__ = {"a, print('ESCAPED', ().__class__.__base__.__subclasses__()[0])": int}\\nX = dataclasses.dataclass(X, init=False, repr=False)\\nX() == X()
import dataclasses\\nclass X:\\n    a = 1\\n    __module__ = 'os'\\nX.__annotations__ = {"a, print('ESCAPED', getpid())": int}\\nX = dataclasses.dataclass(X, init=False, repr=False)\\nX() == X()
import dataclasses\\nclass X:\\n    a = 1\\nX.__annotations__ = {"a, print('ESCAPED', __import__('os').getpid())": int}\\nX = dataclasses.dataclass(X, init=False, repr=False)\\nX() == X()
import dataclasses\\nclass X:\\n    a = 1\\nX.__annotations__ = {"a, print('ESCAPED', open)": int}\\nX = dataclasses.dataclass(X, init=False, repr=False)\\nX() == X()
import contextlib\\nclass R(contextlib.redirect_stdout): _stream = 'modules'\\nr = R({})\\ntry:\\n    r.__enter__()\\nfinally:\\n    r.__exit__(None, None, None) if 0 else None\\nm = getattr(r, '_old_' + 'targets')[0]\\nprint('ESCAPED', m['os'].getpid(), file=m['sys'].__stdout__)
class M(type):\\n    def __instancecheck__(c, o): return True\\nclass C(metaclass=M):\\n    __match_args__ = ('__glo' + 'bals__',)\\ndef f(): pass\\nmatch f:\\n    case C(g):\\n        print('ESCAPED', g)
class M(type):\\n    def __instancecheck__(c, o): return True\\nclass C(metaclass=M):\\n    __match_args__ = ('__globals__',)\\ndef f(): pass\\nmatch f:\\n    case C(g):\\n        print('ESCAPED', g)
class M(type):\\n    def __instancecheck__(c, o): return True\\nE = M('E', (), {'__match' + '_args__': ('__co' + 'de__',)})\\ndef f(): pass\\nmatch f:\\n    case E(g):\\n        print('ESCAPED', g)
class M(type):\\n    def __instancecheck__(c, o): return True\\nglobals()['int'] = M('E', (), {'__match' + '_args__': ('__co' + 'de__',)})\\ndef f(): pass\\nmatch f:\\n    case int(g):\\n        print('ESCAPED', g.co_name)
def f(): pass\\nt = '{0[:].__co' + 'de__}'\\nclass D(dict):\\n    def __getitem__(s, k): return f\\nprint('ESCAPED', t.format(D()))
class S(str): pass\\ndef f(): pass\\nj = ''.join\\nprint('ESCAPED', super(S, S(j(['{0.__co', 'de__}']))).format(f))
def f(): pass\\nj = ''.join\\nm = type.__getattribute__(str, 'format')\\nprint('ESCAPED', m(j(['{0.__co', 'de__}']), f))
def f(): pass\\nd = type.__getattribute__(type(f), '__dict__')\\nprint('ESCAPED', d['__glo' + 'bals__'].__get__(f))
def f(): pass\\ng = object.__getattribute__(object, '__getattr' + 'ibute__')\\nprint('ESCAPED', g(f, '__co' + 'de__'))
import json.tool; print('ESCAPED', json.tool.Path('/etc/passwd').read_text()[:4])
import typing\\nr = typing.get_args(typing.List["print"])[0]\\nc = r.__forward_code__\\nprint('ESCAPED', type(lambda: 0)(c, {})())
import copy\\nclass X:\\n    def __reduce_ex__(s, v): return (eval, ("print('ESCAPED', __import__('os'))",))\\ncopy.copy(X())
"""),
    # ---- the guard's own functions: there is nothing of the kind without it
    "the guard's functions": ("whole", """
from __future__ import annotations\\ndef f(a: [].format, b: x._y) -> z.__dict__: pass\\nprint('ESCAPED', [t for t in f.__annotations__.values() if 'hotcell' in t][0])
exec("from __future__ import annotations¶def f(a: x._y): pass¶v: x._y = 1")\\nprint('ESCAPED', [t for t in (*f.__annotations__.values(), *globals()['__annotations__'].values()) if 'hotcell' in t][0])
import typing, json\\nclass Fake:\\n    co_names = co_consts = ()\\n    co_code = b''\\n    def replace(s, **k): return "json.dumps.__globals__['codecs']"\\nclass F(typing.ForwardRef, _root=True):\\n    __forward_code__ = Fake()\\n    __forward_evaluated__ = __forward_is_class__ = False\\n    __forward_module__ = None\\n    __forward_is_argument__ = True\\n    __forward_arg__ = 'x'\\n    def __init__(self): pass\\nclass A:\\n    a: F()\\nprint('ESCAPED', typing.get_type_hints(A, {'json': json}))
import sys\\ntry:\\n    type(sys.stdout)('nothing')\\nexcept AttributeError as e:\\n    print('ESCAPED', e.obj.modules)\\nraise SystemExit(1)
import sys\\ntry:\\n    type(sys.stdout)('modules')\\nexcept AttributeError as e:\\n    print('ESCAPED', e.obj['os'])\\nraise SystemExit(1)
print('ESCAPED', getattr.__globals__)
print('ESCAPED', getattr.__closure__)
print('ESCAPED', getattr(getattr, '__clo' + 'sure__')[0])
print('ESCAPED', hasattr.__code__)
class S(str):\\n    def __eq__(s, o): return False\\n    __hash__ = str.__hash__\\nprint('ESCAPED', getattr(object, S('__subclasses__'))()[0])
class S(str):\\n    def __eq__(s, o): return False\\n    def __hash__(s): return 1\\nprint('ESCAPED', getattr(object, S('__subclasses__'))()[0])
class S(str):\\n    def __str__(s): return 'a'\\nprint('ESCAPED', getattr(object, S('__subclasses__'))()[0])
import sys; s = type(sys.stdout); t = s('modules'); print('ESCAPED', t)
import sys; sys.stdout.__init__('modules'); print('ESCAPED', sys.stdout.write)
import math; print('ESCAPED', math.__getattr__.__closure__)
import warnings; print('ESCAPED', warnings.sys)
i = [v for k, v in globals().items() if k.startswith('__bui')][0]['__import__']; print('ESCAPED', i('copyreg').__builtins__)
i = [v for k, v in globals().items() if k.startswith('__bui')][0]['__import__']; print('ESCAPED', i('_strptime').locale)
b = globals()['__buil' + 'tins__']; print('ESCAPED', [v(getattr, '__glo' + 'bals__') for k, v in b.items() if k.startswith('hotcell')])
b = globals()['__buil' + 'tins__']; p = [v for k, v in b.items() if k.startswith('hotcell')][0]; print('ESCAPED', p.Point)
r = open('/tmp/x', 'w').buffer.raw; print('ESCAPED', [n for n in dir(r) if len(n) == 17 and n[1] != '_'][0])
r = open('/tmp/x', 'w').buffer.raw\\ntry:\\n    type(r).__new__(type(r)).read()\\nexcept Exception as e:\\n    while e:\\n        if "'_" in str(e) and 'attribute' in str(e): print('ESCAPED', e)\\n        e = e.__context__\\nraise SystemExit(1)
r = open('/tmp/x', 'w').buffer.raw\\ntry:\\n    type(r).readinto(5, b'')\\nexcept Exception as e:\\n    while e:\\n        if "'_" in str(e): print('ESCAPED', e)\\n        e = e.__context__\\nraise SystemExit(1)
import io\\nr = open('/tmp/x', 'w').buffer.raw\\nclass Y(io.RawIOBase): __slots__ = ('inner',)\\nr.__class__ = Y\\nprint('ESCAPED', r.inner)
c = compile('1', 'x', 'eval')\\nclass Y: __slots__ = ('code',)\\nc.__class__ = Y\\nprint('ESCAPED', c.code)
c = compile('1', 'x', 'eval')\\nprint('ESCAPED', [getattr(c, n) for n in dir(c) if n.startswith('co_')][0])
c = type(compile('1', 'x', 'eval')); print('ESCAPED', eval(c()))
c = type(compile('1', 'x', 'eval')); print('ESCAPED', eval(object.__new__(c)))
class K:\\n    n = 0\\n    def __hash__(s): return hash('__buil' + 'tins__')\\n    def __eq__(s, o):\\n        K.n += 1\\n        return K.n == 1\\nfor i in range(8):\\n    K.n = 1 - i % 2\\n    d = {K(): {}, 'f': getattr, 'n': '__se' + 'lf__'}\\n    try:\\n        exec("b = getattr(print, n)", d)\\n    except Exception: continue\\n    print('ESCAPED', d['b'])\\nraise SystemExit(1)
class K:\\n    def __hash__(s): return hash('__buil' + 'tins__')\\n    def __eq__(s, o): return s.yes\\nimport typing\\nclass A:\\n    a: "getattr(print, n)"\\nk = K(); k.yes = True\\nd = {'n': '__se' + 'lf__', k: {}}\\nk.yes = False\\nprint('ESCAPED', typing.get_type_hints(A, d))
d = {}; exec('', d); print('ESCAPED', d['__builtins__']['getattr'](print, '__se' + 'lf__'))
d = {'__builtins__': {}}; exec('def f(): pass', d); del d['__builtins__']; exec('g = getattr', d); print('ESCAPED', d['g'](print, '__se' + 'lf__'))
del globals()['__buil' + 'tins__']; exec('def f(): return getattr'); print('ESCAPED', f()(print, '__se' + 'lf__'))
import dataclasses\\nclass X:\\n    a = 1\\nX.__annotations__ = {"a¶  from math import path¶  #": int}\\nX = dataclasses.dataclass(X, init=False, repr=False)\\nprint('ESCAPED', X() == X())
import typing, copy\\ndef f(): pass\\nr = typing.get_args(typing.List["getattr.__globals__"])[0]\\nc = getattr(r, '__forward' + '_code__')\\nclass X:\\n    def __reduce_ex__(s, v): return (lambda: f, (), (None, {'__co' + 'de__': c}))\\ncopy.copy(X())\\nprint('ESCAPED', f())
import copy\\ndef f(): pass\\nclass X:\\n    def __reduce_ex__(s, v): return (lambda: f, (), (None, {'__co' + 'de__': 1}))\\ntry:\\n    copy.copy(X())\\nexcept TypeError as e: print('ESCAPED', e)
import argparse\\nclass A:\\n    def __del__(s):\\n        try:\\n            print('ESCAPED', argparse.FileType()('/etc/passwd').read(4))\\n        except Exception: pass\\nfor i in range(3000):\\n    a = A(); a.a = a\\nimport difflib, html, graphlib\\nraise SystemExit(1)
"""),
    # ---- abuse of the machine
    "abuse": ("whole", """
import os\\nwhile True:\\n    os.fork()\\n    print('ESCAPED')\\n    break
import subprocess; print('ESCAPED', subprocess.getoutput('id'))
import os; print('ESCAPED', os.system('id') == 0)
import os; os.execv('/bin/echo', ['echo', 'ESCAPED'])
import os; print('ESCAPED', os.listdir('/'))
import os; print('ESCAPED', os.environ)
import os; os.kill(os.getpid(), 0); print('ESCAPED')
import os; os.remove(__file__); print('ESCAPED')
import shutil; shutil.rmtree('/home/user', ignore_errors=True); print('ESCAPED')
import socket; socket.socketpair(); print('ESCAPED')
import socket; s = socket.socket(socket.AF_UNIX); print('ESCAPED')
import ctypes; print('ESCAPED', ctypes.string_at(id(1), 4))
import ctypes; ctypes.pythonapi.PyObject_SetAttr; print('ESCAPED')
import resource; print('ESCAPED', resource.getrlimit(resource.RLIMIT_AS))
import threading; threading.Thread(target=lambda: print('ESCAPED')).start()
import multiprocessing; p = multiprocessing.get_context('fork').Process(target=print, args=('ESCAPED',)); p.start(); p.join()
import asyncio; asyncio.run(asyncio.sleep(0)); print('ESCAPED')
import atexit; atexit.register(print, 'ESCAPED')
import tempfile; print('ESCAPED', tempfile.mkdtemp())
import pathlib; print('ESCAPED', list(pathlib.Path('/').iterdir())[:1])
import zipfile; zipfile.ZipFile('/tmp/a.zip', 'w'); print('ESCAPED')
import gzip; gzip.open('/tmp/a.gz', 'wb'); print('ESCAPED')
import shelve; shelve.open('/tmp/s'); print('ESCAPED')
import webbrowser; print('ESCAPED', webbrowser.open)
import smtplib; print('ESCAPED', smtplib.SMTP)
import site; print('ESCAPED', site.getsitepackages())
import faulthandler; print('ESCAPED', faulthandler.is_enabled())
import uuid; print('ESCAPED', uuid.getnode())
import contextlib; contextlib.chdir('/tmp').__enter__(); print('ESCAPED')
"""),
}


AIMED_AT_THE_GUARD = {"the guard's functions", "files of others"}  # nothing works there without it


def programs():
    """(name, code), all of them."""
    for title, (goal, rows) in CLASSES.items():
        for number, row in enumerate(rows.strip("\n").split("\n"), 1):
            row = row.replace("\\n", "\n").replace("¶", "\\n")  # a new line, and one in a text
            yield f"{title} {number}", GOALS[goal].format(row) + "\n"
