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
    # ---- code from text
    "code from text": ("whole", """
eval("print('ESCAPED')")
exec("print('ESCAPED')")
exec(compile("print('ESCAPED')", 'x', 'exec'))
e = eval; e("print('ESCAPED')")
[eval][0]("print('ESCAPED')")
(lambda f: f("print('ESCAPED')"))(exec)
list(map(eval, ["print('ESCAPED')"]))
getattr(__builtins__, 'eval')("print('ESCAPED')")
getattr(__builtins__, 'ev' + 'al')("print('ESCAPED')")
globals()['__builtins__'].eval("print('ESCAPED')")
vars(globals()['__builtins' + '__'])['ex' + 'ec']("print('ESCAPED')")
@exec\\n@(lambda c: "print('ESCAPED')")\\nclass X: pass
@print\\n@eval\\n@(lambda c: "'ESCAPED'")\\nclass X: pass
class X:\\n    __class_getitem__ = eval\\nX["print('ESCAPED')"]
class X:\\n    __add__ = lambda s, o: eval(o)\\nX() + "print('ESCAPED')"
print(f"{eval('chr(69)')}SCAPED")
breakpoint(); print('ESCAPED')
help('os'); print('ESCAPED')
print('ESCAPED', compile('1', 'x', 'eval'))
"""),
    # ---- files
    "files": ("whole", """
print('ESCAPED', open('/etc/passwd').read(4))
print('ESCAPED', open(0))
o = open; print('ESCAPED', o('/etc/passwd').read(4))
with open('/tmp/x', 'w') as f: print('ESCAPED', f.write('x'))
print('ESCAPED', [open][0]('/etc/passwd').read(4))
print('ESCAPED', list(map(open, ['/etc/passwd'])))
print('ESCAPED', getattr(__builtins__, 'open')('/etc/passwd').read(4))
print('ESCAPED', license._Printer__setup() or license._Printer__lines)
license._Printer__filenames = ['/etc/passwd']; print('ESCAPED', license)
print('ESCAPED', __loader__.get_data('/etc/passwd')[:4])
print('ESCAPED', globals()['__loa' + 'der__'].get_data('/etc/passwd')[:4])
print('ESCAPED', type(globals()['__loader__'])('x', '/etc/passwd').get_data('/etc/passwd')[:4])
import argparse; print('ESCAPED', argparse.FileType()('/etc/passwd').read(4))
import argparse; print('ESCAPED', argparse.ArgumentParser(fromfile_prefix_chars='@').parse_known_args(['@/etc/passwd'])[1][0][:4])
import shlex; s = shlex.shlex(''); s.source = 'source'; print('ESCAPED', s.sourcehook('/etc/passwd')[1].read(4))
import csv; print('ESCAPED', next(csv.reader(open('/etc/passwd')))[0])
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
g = globals(); b = [k for k in g if k.startswith('__bui')][0]; v = g[b]; v = v if isinstance(v, dict) else v.__dict__; v['ev' + 'al']("print('ESCAPED')")
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
import copy\\nclass X:\\n    def __reduce_ex__(s, v): return (eval, ("print('ESCAPED')",))\\ncopy.copy(X())
"""),
    # ---- the guard's own functions: there is nothing of the kind without it
    "the guard's functions": ("whole", """
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


AIMED_AT_THE_GUARD = {"the guard's functions"}  # nothing works there without it


def programs():
    """(name, code), all of them."""
    for title, (goal, rows) in CLASSES.items():
        for number, row in enumerate(rows.strip("\n").split("\n"), 1):
            yield f"{title} {number}", GOALS[goal].format(row.replace("\\n", "\n")) + "\n"
