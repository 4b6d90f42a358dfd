# SPDX-License-Identifier: Apache-2.0
"""Ordinary interactive work, step by step: a session says what a plain prompt says.

The steps are the dialogues of Python's own documentation. Each page is one piece of work: its steps
are typed at a `python3 -i`, and are turns of a session, both in an empty directory.

Environment: REPLAY=all takes every page that is fit for it; REPLAY_SHOW=1 prints the differences.
"""
import ast
import doctest
import glob
import os
import re
import shutil
import subprocess

import python_line
from suite import ROOT, USER, Skip, check, claim, equal

ONE = ROOT if os.geteuid() == 0 else USER
PAGES = "/usr/share/doc/python3.*/html/_sources/"
WORK = ("tutorial/introduction", "tutorial/controlflow", "tutorial/datastructures",
        "tutorial/classes", "tutorial/errors", "tutorial/inputoutput", "tutorial/stdlib",
        "tutorial/floatingpoint", "library/stdtypes", "library/itertools", "library/collections",
        "library/statistics", "library/textwrap", "library/fractions", "library/enum")
STEPS_MAX = 60  # of one page
WANTED = 300
# What needs the world, a person or another process, or would change this machine.
UNFIT = re.compile(r"urlopen|smtplib|socket|subprocess|os\.(system|fork|kill|exec|chdir)|shutil|"
                   r"input\(|getpass|threading|multiprocessing|webbrowser|tkinter|exit\(|quit\(|"
                   r"time\.sleep|while True|readline|help\(|sys\.stdin|/tmp|glob")
# What differs from one moment or process to the next.
CHANGING = re.compile(r"0x[0-9a-f]{6,}|\b(19|20)\d\d[-, ]+\d+[-, ]+\d+\S*|\d+\.\d+ (sec|usec)|"
                      r"id='?\d+'?|<(stdin|cell \d+)>")
END = "\x01END\x01"
# Steps that may differ, by what is in them.
REASONS = (
    (r"\n\s*\n", "has an empty line, which ends a block at the prompt"),
    (r"ps1|ps2|dir\(sys\)|dir\(builtins\)|setrecursionlimit", "asks about the prompt itself"),
    (r"gc\.|weakref|primary", "lives longer as a result"),
    (r"__name__|__main__|__file__", "names the module or its file"),
    (r"timeit|time\(|now\(|today\(|getpid|random|uuid|id\(|hash\(", "differs from run to run"),
)


# What a session has more than a prompt, by what it then says or does not say.
SOURCE = re.compile(r"<cell \d+>")
MEANT = re.compile(r"\. Did you mean: '_\d+'\?$", re.M)
WARNING = re.compile(r"^.*Warning: ", re.M)
DEFINED = re.compile(r"^(?:class|def) (\w+)", re.M)
HOOK = "sys.displayhook ="


def pages():
    root = next(iter(sorted(glob.glob(PAGES))), None)
    if root is None:
        raise Skip("needs the package python3-doc")
    names = WORK
    if os.environ.get("REPLAY") == "all":
        names = sorted(os.path.relpath(path, root)[:-8]
                       for path in glob.glob(root + "*/*.rst.txt"))
    for name in names:
        with open(f"{root}{name}.rst.txt", encoding="utf-8") as file:
            yield name, file.read()


def is_statement(source):
    """A prompt takes one at a time."""
    try:
        compile(source, "<step>", "single")
    except (SyntaxError, ValueError, OverflowError):
        return False
    return True


def steps_of(text):
    """The examples of a page; nothing after one that is unfit, which the rest may need."""
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return []
    steps = []
    for example in examples:
        if UNFIT.search(example.source):
            continue
        if is_statement(example.source):
            steps.append(example.source)
    return steps if os.environ.get("REPLAY") == "all" else steps[:STEPS_MAX]


class Prompt:
    """A plain one."""

    def __init__(self, person, folder):
        self.process = subprocess.Popen(
            [python_line.PYTHON, "-q", "-i"], cwd=folder,
            env={**person.env, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, steps):
        """What each says on stdout, and the last line of what it says on stderr."""
        mark = (f"print({END!r}, flush=True); "
                f"__import__('builtins').print({END!r}, file=__import__('sys').stderr)\n")
        text = "".join(step.rstrip("\n") + "\n\n" + mark for step in steps)
        out, err = self.process.communicate(text.encode(), timeout=120)
        outs = out.decode("utf-8", "replace").split(END + "\n")[:-1]
        errs = [re.sub(r"^((>>>|\.\.\.|C>) )+", "", part, flags=re.M)
                for part in err.decode("utf-8", "replace").split(END + "\n")[:-1]]
        return list(zip(outs, errs))


def last_line(text):
    """Of a trace: what happened. Where it did is told with the lines of a session, which a prompt
    does not have."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(" ")]
    return lines[-1] if lines else ""


def still(text):
    return CHANGING.sub("~", text).strip("\n")


def is_laid_out(one, other):
    """The same value, of which one is written on several lines."""
    try:
        return ast.dump(ast.parse(one.strip())) == ast.dump(ast.parse(other.strip()))
    except (SyntaxError, ValueError):
        return re.sub(r"\s+", "", one) == re.sub(r"\s+", "", other)


def compare(step, plain, turn):
    """None when they are the same, or why not."""
    out, err = still(plain[0]), still(last_line(plain[1]))
    own_out, own_err = still(turn.text), still(last_line(turn.err.decode()))
    if (out, err) == (own_out, own_err):
        return None
    if err == own_err and is_laid_out(out, own_out):
        return "laid out on several lines"
    for pattern, reason in REASONS:
        if re.search(pattern, step):
            return reason
    return compare_more(out, err, own_out, turn.err.decode())


def compare_more(out, err, own_out, own_err):
    """What a session says more, or a prompt."""
    if out == own_out and err == still(last_line(MEANT.sub("", own_err))):
        return "the name of a result could be meant, too"
    if out == own_out and WARNING.search(own_err):
        return "a warning is news in each turn"
    if out == own_out and "never awaited" in err or "tracemalloc" in err:
        return "lives longer as a result"
    if SOURCE.search(own_err) and out == own_out:
        return "tells a line of the code, which a prompt does not have"
    return "differs"


def follows(step, earlier):
    """Why a step differs that itself is not to blame: what it uses was made by one that differs."""
    for before, why in earlier:
        if HOOK in before:
            return "values are shown by a hook, which shows ours, too"
        if why and "empty line" in why and any(
                re.search(rf"\b{name}\b", step) for name in DEFINED.findall(before)):
            return "uses what has an empty line, which ends a block at the prompt"
    return "differs"


def prompt(person, steps):
    folder = person.path("work")
    os.mkdir(folder)
    said = Prompt(person, folder).run(steps)
    shutil.rmtree(folder)
    return said


def explain(person, steps, plain, turns, found):
    """What differs is compared with what a second prompt says, and with the steps before."""
    again = prompt(person, steps) if "differs" in found else ()
    for at, why in enumerate(found):
        if why != "differs":
            continue
        if tuple(map(still, plain[at])) != tuple(map(still, again[at])):
            found[at] = "differs from run to run"
        elif SOURCE.search(turns[at].text):
            found[at] = "tells a line of the code, which a prompt does not have"
        else:
            found[at] = follows(steps[at], zip(steps[:at], found))


def replay(person, name, text):
    steps = steps_of(text)
    if not steps:
        return []
    plain, turns, found = prompt(person, steps), [], []
    folder = person.path("work")
    os.mkdir(folder)
    with python_line.session(person, cwd=folder, PYTHONHASHSEED="0") as line:
        for step, one in zip(steps, plain):
            turns.append(line.run(step))
            found.append(compare(step, one, turns[-1]))
    shutil.rmtree(folder)
    explain(person, steps, plain, turns, found)
    for step, one, turn, why in zip(steps, plain, turns, found):
        if why == "differs" and os.environ.get("REPLAY_SHOW"):
            print(f"# {name}: {step!r}: {one} but {turn}")
    return found


@claim("python session: steps of ordinary work say what a plain prompt says", ONE)
def replays(person):
    found = []
    for name, text in pages():
        found += replay(person, name, text)
    counts = {why: found.count(why) for why in sorted({why or "same" for why in found} - {"same"})}
    same = found.count(None)
    print(f"# {same} of {len(found)} steps are the same; {counts}")
    check(len(found) >= WANTED, f"only {len(found)} steps")
    equal(counts.get("differs", 0), 0, f"steps that differ (of {len(found)})")
