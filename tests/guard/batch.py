# SPDX-License-Identifier: Apache-2.0
"""Runs in a cell, with the guard's files at /mnt/guard: analyses many programs at once.

    batch.py reports             both reports of each program, in `standard` and in `strict`
    batch.py fuzz FIRST COUNT    so many mutated programs
"""
import ast
import json
import random
import re
import signal
import sys
import warnings

warnings.simplefilter("ignore")
HERE = "/mnt/guard/"
space = {"__name__": "hotcell", "HERE": HERE}
with open(HERE + "core.py", encoding="utf-8") as file:
    exec(compile(file.read(), "core.py", "exec"), space)
guard, rules, strict = map(space["load"], ("guard", "rules", "strict"))
with open("/mnt/in/programs", encoding="utf-8") as file:
    programs = json.load(file)

PIECES = ["__import__('os')", "().__class__", "import os", "from os import *", "\t", "    ", "\n", "(", ")",
          "[", "]", "{", "}", ":", "lambda: ", "async ", "await ", "yield ", "@", "\\", "'", '"', '"""',
          "f'{", "\0", "\f", "\r", "\ufeff", "é", "\u2028", "\ud800", "# -*- coding: utf-7 -*-\n", "0x", "1e9",
          "1_", "...", ":=", "->", "**", "match x:\n  case A(b):\n    pass\n", "getattr(a, 'b' + 'c')",
          "'{0.__class__}'.format(x)", "global x", "nonlocal y", "del ", "print", "if 1:\n ", "else:", "try:",
          "except* E:", "class A(B): pass", "import a.b.c as d", "from . import x", "type X = int", "def f[T](): 1",
          "(" * 150, "x" * 300, "-" * 500, "[" * 90, "a." * 400 + "b", "not " * 200]


NAME = re.compile(r"\b[a-z_]\w*\b")
NAMES = ["os", "eval", "getattr", "__globals__", "_x", "open", "__import__", "self", "format", "math", "subprocess",
         "__builtins__", "importlib", "a", "f_globals", "__class__", "str", "{0.__class__}", "é"]
FUTURE_ANNOTATIONS = 0x1000000  # of a code's flags
short = [item for item in programs if len(item[1]) < 600]


def reports():
    made = []
    for _name, text in programs:
        tree = guard.parse(text, "x")
        code = compile(text, "x", "exec", 0, True)
        made.append((rules.analyse(tree, False, {})[0], rules.analyse(tree, True, {})[0],
                     strict.is_plain(code)))
    return made


def mutate(draw):
    text = draw.choice(programs)[1]
    if len(text) > 1000:
        begin = draw.randrange(len(text) - 800)
        text = text[text.find("\n", begin) + 1:begin + 800]
    is_gentle = draw.randrange(2)  # half of them may well stay programs
    for _ in range(draw.randrange(1, 5)):
        at = draw.randrange(len(text) + 1)
        kind = draw.randrange(7, 10) if is_gentle else draw.randrange(7)
        if kind == 0:
            text = text[:at] + draw.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + draw.randrange(1, 30):]
        elif kind == 2:
            text = text[:at] + chr(draw.choice((draw.randrange(128), draw.randrange(0xd7ff)))) + text[at + 1:]
        elif kind == 3:
            end = at + draw.randrange(1, 200)
            text = text[:end] + text[at:]
        elif kind == 4:
            other = draw.choice(programs)[1]
            begin = draw.randrange(len(other) + 1)
            text = text[:at] + other[begin:begin + draw.randrange(1, 400)]
        elif kind == 5:
            lines = text.split("\n")
            draw.shuffle(lines)
            text = "\n".join(lines)
        elif kind == 7:
            text = text + "\n" + draw.choice(short)[1]
        elif kind == 8:
            words = NAME.findall(text) or ["x"]
            text = re.sub(r"\b%s\b" % draw.choice(words), draw.choice(NAMES), text)
        elif kind == 9:
            text = re.sub(r"'[^'\n]*'", repr(draw.choice(NAMES)), text, count=draw.randrange(3))
        else:
            text = "".join(chr(draw.randrange(32, 127)) for _ in range(draw.randrange(80)))
    return text.encode("utf-8", "surrogatepass")


def compiles(source):
    """The code, or the kind of what CPython says against it."""
    try:
        return compile(source, "x", "exec", 0, True), None
    except SyntaxError:
        return None, "syntax"
    except (ValueError, OverflowError, RecursionError, MemoryError):
        return None, "other"


def one(source):
    """What is wrong with the analysis of it; None: nothing."""
    code, error = compiles(source)
    told.clear()
    guard.look_at(source, "x", True)
    is_syntax = any(item["rule"] == "syntax-error" for item in told)
    if is_syntax != (error is not None):
        return "CPython: %s, the guard: %s" % (error, told)
    if code is None:
        return None
    brief = guard.look_briefly(code)
    try:
        tree = guard.parse(source, "x")
        whole, _ = rules.analyse(tree, False, {})
        names = rules.Names()
        held, _ = rules.analyse(tree, True, {}, names)
    except (RecursionError, MemoryError):
        return None
    if brief is not None and not code.co_flags & FUTURE_ANNOTATIONS:
        wanted = {key_of(item) for item in whole if item["severity"] != "info"}
        found = {key_of(item) for item in brief}
        dropped = {key for key in wanted - found if key[1] not in compiled_lines(code)}
        if found != wanted - dropped:
            return "the short road found %s, the long one %s" % (found, wanted)
    if not any(item["severity"] == "block" for item in held):
        strict.bound(compile(strict.rewrite(tree, names), "x", "exec", 0, True))
    elif strict.is_plain(code):
        wrong = [item for item in held if item["severity"] == "block"
                 and item["line"] in compiled_lines(code) - annotated_lines(tree)]
        if wrong and not code.co_flags & FUTURE_ANNOTATIONS:
            return "strict is content with the code, and not with the tree: %s" % wrong[:2]
    return None


told = []


def key_of(item):
    return item["rule"], item["line"], item.get("module")


def annotated_lines(tree):
    """Where something stands that no code is made of: what a local variable is said to be."""
    return {line for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)
            for line in range(node.lineno, node.end_lineno + 1)}


def compiled_lines(code):
    """The lines that are still there: the compiler leaves out what can never run."""
    found, stack = set(), [code]
    while stack:
        code = stack.pop()
        found.update(line for _, _, line in code.co_lines())
        stack.extend(const for const in code.co_consts if type(const) is type(code))
    return found


def fuzz(first, count):
    """Deterministic: the same programs each time."""
    failures, syntax = [], 0
    guard.tell = lambda findings, imports: told.extend(findings)
    signal.signal(signal.SIGALRM, lambda *_: 1 / 0)
    for number in range(first, first + count):
        source = mutate(random.Random(number))
        signal.alarm(20)
        try:
            wrong = one(source)
        except BaseException as error:  # whatever it is, it is not the analysis's to raise
            wrong = "%s: %s" % (type(error).__name__, error)
        signal.alarm(0)
        syntax += any(item["rule"] == "syntax-error" for item in told)
        if wrong:
            failures.append((number, wrong[:300], source.decode("utf-8", "replace")[:300]))
            if len(failures) > 10:
                break
    return {"count": count if not failures else number - first, "syntax": syntax, "failures": failures}


if __name__ == "__main__":
    answer = reports() if sys.argv[1] == "reports" else fuzz(int(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps(answer))
