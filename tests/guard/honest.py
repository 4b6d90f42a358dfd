# SPDX-License-Identifier: Apache-2.0
"""Programs that `strict` must let work: the honest sister of each class of escapes (escapes.py), and what it says.

Each is (name, code, stdout).
"""

PROGRAMS = [
    ("a file is written and read back", """
with open("notes.txt", "w") as file:
    print(file.write("one\\ntwo\\n"), file.name, file.mode)
with open("notes.txt") as file:
    print([line.strip() for line in file], file.closed)
with open("notes.txt", "a") as file:
    file.write("three")
print(open("notes.txt").readlines()[-1], open("./notes.txt", "rb").read(3))
""", "8 notes.txt w\n['one', 'two'] False\nthree b'one'\n"),
    ("a table goes into a file and comes out of it", """
import csv
with open("/tmp/table.csv", "w", newline="") as file:
    csv.writer(file).writerows([("a", 1), ("b", 2)])
with open("/tmp/table.csv", newline="") as file:
    print({key: int(value) for key, value in csv.reader(file)})
""", "{'a': 1, 'b': 2}\n"),
    ("files in all their modes", """
import io
with open("/tmp/x.bin", "wb") as file:
    print(file.write(bytes(range(10))), file.tell())
with open("/tmp/x.bin", "r+b") as file:
    file.seek(5)
    file.write(b"!")
    file.seek(0)
    print(file.read())
with open("/tmp/x.bin", "rb", 0) as file:
    print(file.read(2), file.readable(), file.writable(), file.seekable())
try:
    open("/tmp/x.bin", "x")
except FileExistsError as error:
    print(error)
with io.open("/tmp/x.txt", "w", encoding="utf-16", newline="\\r\\n") as file:
    print("a\\nb", file=file)
print(open("/tmp/x.txt", "rb").read().decode("utf-16").encode(), open("/tmp/x.txt", encoding="utf-16").read())
try:
    open("nowhere/x")
except FileNotFoundError as error:
    print(error)
""", "10 10\nb'\\x00\\x01\\x02\\x03\\x04!\\x06\\x07\\x08\\t'\nb'\\x00\\x01' True False True\n"
     "[Errno 17] File exists: '/tmp/x.bin'\nb'a\\r\\nb\\r\\n' a\nb\n\n[Errno 2] No such file or directory: 'nowhere/x'\n"),
    ("paths of other kinds", """
class Path:
    def __init__(self, *parts): self.parts = parts
    def __fspath__(self): return "/".join(self.parts)
with open(Path("", "tmp", "p.txt"), "w") as file:
    file.write("p")
print(open(b"/tmp/p.txt").read(), open("/tmp/../tmp/./p.txt").read(), open(Path("", "tmp", "p.txt")).name)
""", "p p /tmp/p.txt\n"),
    ("what is displayed", """
display("text", [1, 2])
print("shown")
""", "shown\n"),
    ("json and a digest of a file", """
import hashlib, json
with open("data.json", "w") as file:
    json.dump({"a": [1, 2]}, file)
print(json.load(open("data.json")), hashlib.file_digest(open("data.json", "rb"), "sha256").hexdigest()[:8])
""", "{'a': [1, 2]} 0bf464f8\n"),
    ("output goes into a file", """
import contextlib
with open("/tmp/out.txt", "w") as file, contextlib.redirect_stdout(file):
    print("kept")
print(open("/tmp/out.txt").read())
""", "kept\n\n"),
    ("arguments that are files", """
import argparse
open("/tmp/in.txt", "w").write("in")
parser = argparse.ArgumentParser()
parser.add_argument("file", type=argparse.FileType())
print(parser.parse_args(["/tmp/in.txt"]).file.read())
""", "in\n"),
    ("the library's text may be read", """
import heapq, keyword
print("kwlist" in open("/usr/lib/python3.11/keyword.py").read())
""", "True\n"),
    ("expressions are evaluated", """
print(eval("1 + 2 * 3"), eval(" [x ** 2 for x in range(4)]"), eval(b"'b'"))
a = 5
print(eval("a + 1"), eval("a + b", {"a": 1, "b": 2}), eval("a + b", {"a": 1}, {"b": 20}))
def function(b):
    return eval("a * b")
print(function(4), list(map(eval, ["1", "'two'"])), eval("'{:>4}'.format(a)"))
""", "7 [0, 1, 4, 9] b\n6 3 21\n20 [1, 'two']    5\n"),
    ("expressions without builtins", """
import math
print(eval("sqrt(16) + 1", {"__builtins__": {}, "sqrt": math.sqrt}), eval("'{}!'.format(1)", {"__builtins__": {}}))
try:
    eval("len('a')", {"__builtins__": {}})
except NameError as error:
    print(error)
names = {"__builtins__": {"len": len}}
print(eval("len('abc')", names), sorted(names))
""", "5.0 1!\nname 'len' is not defined\n3 ['__builtins__']\n"),
    ("statements are executed", """
exec("def double(x):\\n    return 2 * x")
print(double(4))
names = {"start": 3}
exec("import math\\nfrom math import floor as down\\nclass A:\\n    n = start\\nvalue = down(math.pi) + A.n", names)
print(names["value"], names["A"]().n, "value" in globals())
space = {}
exec("x = 1\\ny = x + 1", {}, space)
print(space)
exec("for i in range(2):\\n    print(i)")
""", "8\n6 3 False\n{'x': 1, 'y': 2}\n0\n1\n"),
    ("functions, classes and generators of executed text live on", """
names = {}
exec('''
count = 0
def step():
    global count
    count += 1
    return count
def walk(n):
    for i in range(n):
        yield i * i
class Stack(list):
    def push(self, item):
        self.append(item)
        return self
def outer(x):
    def inner(y):
        return x + y
    return inner
''', names)
names["step"]()
print(names["step"](), names["count"], list(names["walk"](4)), names["Stack"]().push(1), names["outer"](1)(2))
""", "2 2 [0, 1, 4, 9] [1] 3\n"),
    ("text is compiled once and run often", """
code = compile("x * 2", "<formula>", "eval")
print([eval(code, {"x": x}) for x in range(3)])
exec(compile("print('whole')\\n", "<text>", "exec"))
exec(compile("1 + 1", "<text>", "single"))
try:
    compile("1 +", "<text>", "eval")
except SyntaxError as error:
    print(error.msg, error.filename, error.lineno)
try:
    exec(compile("\\n1 / 0", "<text>", "exec"))
except ZeroDivisionError as error:
    print(error)
""", "[0, 2, 4]\nwhole\n2\ninvalid syntax <text> 1\ndivision by zero\n"),
    ("mappings as names", """
class Names(dict):
    def __missing__(self, key):
        return key.upper()
print(eval("a + b", {}, Names(b="!")))
import collections
space = collections.ChainMap({}, {"x": 1})
exec("y = x + 1", {}, space)
print(space["y"], space.maps[0])
""", "A!\n2 {'y': 2}\n"),
    ("named tuples and data classes", """
from collections import namedtuple
from dataclasses import dataclass, field, replace, asdict
from typing import NamedTuple, get_type_hints
Point = namedtuple("Point", "x y", defaults=[0])
print(Point(1)._replace(y=2), Point(3)._asdict(), Point._fields)
class Pair(NamedTuple):
    left: int
    right: "int" = 2
print(Pair(1), get_type_hints(Pair)["right"].__name__)
@dataclass(order=True, frozen=True)
class Item:
    name: str
    parts: list = field(default_factory=list)
print(Item("a") < Item("b"), asdict(replace(Item("a"), parts=[1])))
""", "Point(x=1, y=2) {'x': 3, 'y': 0} ('x', 'y')\nPair(left=1, right=2) int\nTrue {'name': 'a', 'parts': [1]}\n"),
    ("patterns", """
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int
def tell(value):
    match value:
        case Point(0, y): return f"on the axis at {y}"
        case Point(x=x): return f"at {x}"
        case int(n) | float(n): return f"a number, {n}"
        case {"kind": str(kind), **rest}: return f"{kind} {rest}"
        case [first, *_]: return f"begins with {first}"
        case _: return "else"
for value in (Point(0, 2), Point(1, 2), 3.5, {"kind": "k", "a": 1}, [4, 5], None):
    print(tell(value))
""", "on the axis at 2\nat 1\na number, 3.5\nk {'a': 1}\nbegins with 4\nelse\n"),
    ("a pattern that cannot be checked is refused where it is reached, and only there", """
import collections
Spot = collections.namedtuple("Spot", "x y")
def tell(value):
    match value:
        case 1: return "one"
        case Spot(x, y): return f"{x} {y}"
print(tell(1))
try:
    tell(Spot(1, 2))
except PermissionError as error:
    print(error)
""", "one\nSecurity policy blocked pattern: Spot with names that are only known when it runs\n"),
    ("private names of the program's own objects", """
import types
class Slots(type):
    def __new__(meta, name, bases, space):
        slots = space.get("slot_names", [])
        made = type.__new__(meta, name, bases, space)
        for number, slot in enumerate(slots):
            type.__setattr__(made, slot, Member(slot, number))
        return made
class Member:
    def __init__(self, name, number): self.name, self.number = name, number
    def __get__(self, owner, kind=None): return owner._values[self.number]
    def __set__(self, owner, value): owner._values[self.number] = value
class Object(metaclass=Slots):
    slot_names = ["x", "y"]
    def __new__(cls):
        made = super().__new__(cls)
        object.__setattr__(made, "_val" + "ues", [None] * 2)
        return made
thing = Object()
thing.x, thing.y = 3, 4
print(thing.x + thing.y, thing._values)
""", "7 [3, 4]\n"),
    ("attributes that only look like the interpreter's", """
class Method:
    def __init__(self, function, owner):
        self.__func__, self.__self__ = function, owner
    def __call__(self, *args):
        return self.__func__(self.__self__, *args)
print(Method(lambda owner, x: (owner, x), "me")(1), Method(len, 5).__self__)
""", "('me', 1) 5\n"),
    ("modules by name", """
print(__import__("math").floor(2.5), [__import__(name).__name__ for name in ("json", "re")])
import json.decoder as decoder, urllib.parse as parse
from json import decoder as same, dumps
print(decoder.JSONDecodeError is same.JSONDecodeError, parse.quote("a b"), dumps(1))
try:
    from math import nothing
except ImportError as error:
    print(error)
def late():
    from string import ascii_lowercase as letters, digits
    return letters[:3] + digits[:3]
print(late(), 'late' in globals(), 'late' in vars())
""", "2 ['json', 're']\nTrue a%20b 1\ncannot import name 'nothing' from 'math' (unknown location)\nabc012 True True\n"),
    ("callbacks that ask for names", """
import contextlib, collections
x = 1
@contextlib.contextmanager
def doubled():
    yield 2 * eval("x")
with doubled() as value:
    print(value)
print("x" in collections.defaultdict(globals)["a"], sorted((lambda a, b: locals())(1, 2).items()))
class A:
    one = 1
    two = locals()["one"] + 1
print(A.two, "x" in dir())
""", "2\nTrue [('a', 1), ('b', 2)]\n2 True\n"),
    ("pretty printing, splitting, copying", """
import copy, pprint, shlex, reprlib
pprint.pprint({"b": [1, 2], "a": {"c": None}})
print(shlex.split("a 'b c' d"), reprlib.repr(list(range(100))))
class Node:
    __slots__ = ("value", "next")
    def __init__(self, value, next=None): self.value, self.next = value, next
print(copy.deepcopy(Node(1, Node([2]))).next.value, copy.copy({"a": 1}))
""", "{'a': {'c': None}, 'b': [1, 2]}\n['a', 'b c', 'd'] [0, 1, 2, 3, 4, 5, ...]\n[2] {'a': 1}\n"),
    ("time zones", """
import datetime, zoneinfo
print(datetime.datetime(2024, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).isoformat())
try:
    zoneinfo.ZoneInfo("No/Where")
except zoneinfo.ZoneInfoNotFoundError as error:
    print(type(error).__name__)
print(datetime.datetime.strptime("2024-02-03", "%Y-%m-%d").date())
""", "2024-01-01T00:00:00+01:00\nZoneInfoNotFoundError\n2024-02-03\n"),
    ("a program that catches a refusal goes on", """
for attempt in ("open('/etc/passwd')", "eval('().__class__.__base__.__subclasses__()')", "exec('import os')", "help()"):
    try:
        eval(attempt)
    except (PermissionError, ImportError) as error:
        print(error)
""", "Security policy blocked file: /etc/passwd\n"
     "Security policy blocked introspection: uses .__subclasses__, which leads from a value to what it was made of\n"
     "Security policy blocked import: os\nSecurity policy blocked builtin: help\n"),
]
