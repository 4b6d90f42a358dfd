# SPDX-License-Identifier: Apache-2.0
"""`hotcell run --compact`: one short text, and the exit status of any run."""
from suite import claim, contains, equal

# arguments, exit status, stdout
TEXTS = (
    (("-c", "print('hello')\n6 * 7"), 0, "hello\n=> 42\n"),
    (("-c", "pass"), 0, "(no output)\n"),
    (("-c", "import sys\nprint('warn', file=sys.stderr)\ndef mean(x):\n    return sum(x) / len(x)\n"
      "mean([])"), 1,
     "stderr: warn\nerror: ZeroDivisionError: division by zero\n"
     "line 4: return sum(x) / len(x) (called from line 5)\n"
     "hint: The divisor is 0 here: test it before dividing.\n"),
    (("-c", "x = (1,\ny = 2"), 1,
     "error: Python syntax error: '(' was never closed (line 1)\nline 1: x = (1,\n"
     "hint: The bracket ( of line 1 has no partner: close it, or look for a quote that swallows it.\n"),
    (("-t", "1", "-c", "while True: pass"), 124,
     "error: Code execution timed out after 1s\n"
     "hint: The cell stopped it (time: run on); to allow it: --timeout 2\nlimits: timeout 1s\n"),
    (("-c", "import sys; sys.exit(4)"), 4, "error: exit status 4\n"),
    (("-c", "import os; os.kill(os.getpid(), 9)"), 137, "error: killed by signal 9 (Killed)\n"),
    (("--max-output", "1K", "-c", "print('x' * 9999)"), 0, None),
    (("-c", "for i in range(50): print(f'\\r{i}%', end='')\nprint('\\r\\033[32mdone\\033[0m')"), 0,
     "done\n"),
    (("--exec", "--", "sh", "-c", "echo out; echo err >&2; exit 3"), 3,
     "out\nstderr: err\nerror: exit status 3\n"),
)


@claim("--compact says output, value, error with its line and hint, and limits, and no more")
def texts(person):
    for args, code, out in TEXTS:
        ran = person.run("--compact", *args).exits(code)
        if out is not None:
            equal(ran.out, out, f"stdout of {args}")
        else:
            contains(ran.out, "\nlimits: stdout shortened from 10K\n", f"stdout of {args}")
        equal(ran.err, "", f"stderr of {args}")


@claim("--compact tells what could not be run too")
def refused(person):
    ran = person.run("--compact", "-l", "klingon", "-c", "1").exits(125)
    contains(ran.out, "error: --language: 'klingon' is not known", "stdout")
    ran = person.run("--timeot", "3", "--compact", "-c", "1").exits(125)
    contains(ran.out, "error: --timeot: no such option", "stdout")
    ran = person.run("--compact", "--json", "-c", "1").exits(125)
    contains(ran.err, "--compact: does not go with --json", "stderr")
