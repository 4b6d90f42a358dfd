# SPDX-License-Identifier: Apache-2.0
"""`python3 plain_judge.py RUNTIME PROGRAMS COUNT`: what the module and the Python code decide about sources,
and where they differ, as JSON."""
import glob
import json
import random
import sys
import warnings

sys.path[:0] = [sys.argv[1], sys.argv[2]]
import _hotcell  # noqa: E402
from python_programs import PROGRAMS  # noqa: E402

warnings.simplefilter("ignore")
core = {"__name__": "hotcell", "HERE": sys.argv[1] + "/"}
exec(compile(open(sys.argv[1] + "/core.py").read(), "core.py", "exec"), core)
guard = core["load"]("guard")
drops, returns = core["endings"]()
road = dict.fromkeys((
    "core", "trial", "clean", "fresh", "take", "start", "leave", "stdin_pipe", "main", "main_names", "path",
    "path_bytes", "held", "left", "failed", "show", "known", "idle", "lock", "figures", "count_exits", "exit_count", "collect", "count_objects",
    "list_objects", "file_types", "nothing"))
road.update(closer=guard.CLOSER.union(guard.DANGEROUS), telling=guard.TELLING, main_word="__main__", drops=drops,
            returns=returns, prefix=bytes([core["EXTENDED_ARG"]]))
_hotcell.learn(road)
seen = {"sources": 0, "harmless": 0, "without": 0, "calls": 0, "wrong": []}


def expected_value(source, code):
    # as Program does
    if core["is_silenced"](source):
        return None
    if core["last_constant"](source) is not None:
        return "constant"
    returning = core["return_last"](source, code)
    return returning and returning[0].co_code


def judge(source):
    try:
        code = compile(source, "main.py", "exec", 0, True)
    except (SyntaxError, ValueError, RecursionError):
        return
    seen["sources"] += 1
    if _hotcell.is_harmless(code):
        seen["harmless"] += 1
        if guard.look_briefly(code) != []:
            seen["wrong"].append(["guard", repr(source[-300:])])
    found = _hotcell.find_value(code, source)
    if found is False:
        return
    seen["without" if found is None else "calls"] += 1
    if (found and found.co_code) != expected_value(source, code):
        seen["wrong"].append(["value", repr(source[-300:])])


for program in PROGRAMS.values():
    judge(program if isinstance(program, bytes) else program.encode())
for path in sorted(glob.glob("/usr/lib/python3.11/**/*.py", recursive=True))[:1500]:
    with open(path, "rb") as file:
        judge(file.read())
BEFORE = ["", "x = 1\n", "if x:\n    y\n", "f(\n", "s = '''\n", '"""', "x = \\\n", "def g():\n", "f('a',\n", "# c\n", "@f\n",
          "class A:\n", "for i in x: f(i)\n", "[\n", "global x\n", "'('\n", "import os\n", "f(1);\n", "x = [f(\n"]
LAST = ["f(1)", "f(x)", "a.b(1, [2])", "print('x')", "print(')')", "f(')'", "f(1))", "f('''", "f(1)'''", "pass", "x", "x = 1", "5",
        "-1", "'t'", '"""d"""', "True", "False", "None", "...", "f(1);", "f(1); g(2)", "f(1) # c", "# f(1)", "if(x): f(1)",
        "match(x)", "print(1) if x else g(2)", "f(1).y", "f(1)[0]", "f(x)(y)", "lambda: f(1)", "not(x)", "assert(x)", "del(x)",
        "x: f(1)", "x.y: f(1)", "f(1),", "await(x)", "    f(1)", "\tg(2)", "f(1) \\", "return(x)", "global x", "b'x'", "rb''", "u1",
        "bu1 = 2", "(1, 2)", "(f(1))", "f(\"'\")", "f('\\'')", "f(*a, **b)", "f(x for x in y)", "]", ")", "])", "f(d['('])", "{}",
        "type(x)", "print(f'{x}')", "case(1)", "async def h(): f(1)", "f(1)\\", "raise(f(1))", "yield(1)", "x += f(1)", "f(1) == 2"]
AFTER = ["", "\n", "\n\n", "\n# end\n", "\n#;\n", "  \n", "\n  # ;", "\r\n", "\n)\n", "\n'''", "\n\f\n", ";\n", "\n\t\n", "\n;"]
draw = random.Random(4)
for _ in range(int(sys.argv[3])):
    judge("".join(draw.choice(BEFORE) for _ in range(draw.randrange(3))).encode()
          + draw.choice(LAST).encode() + draw.choice(("", "\n" + draw.choice(LAST))).encode()
          + draw.choice(AFTER).encode())
print(json.dumps(seen))
