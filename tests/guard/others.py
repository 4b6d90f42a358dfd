# SPDX-License-Identifier: Apache-2.0
"""Runs in a cell, with the runtimes at /mnt/guard: reads many mutated shell scripts or SQL texts.

    others.py shell|sql FIRST COUNT

What a language takes for a program is asked of the shells and SQLite themselves. To each that they accept a
line is added that they accept, too: then it is a command of its own, and the analysis must see it,
whatever it made of the quotes, comments and brackets before it.
"""
import importlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile

KIND, FIRST, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.path.insert(0, "/mnt/guard/" + ("bash" if KIND == "shell" else "sql"))
tell = importlib.import_module("tell")
tell.read_policy = lambda: {"profile": "strict"}
check = importlib.import_module("check")
with open("/mnt/in/seeds", encoding="utf-8") as file:
    seeds = json.load(file)

PIECES = {
    "shell": ["'", '"', "`", "$(", ")", "(", "${", "}", "#", " # ", "\\", "\n", ";", "|", "&", "&&", "<<E\na\nE\n", "<<'E'\n'\nE\n",
              "$((1<<2))", "((", "))", "$'", "<(", ">", "2>&1", "case a in b) ;; esac\n", "if :; then :; fi\n", "{ :; }\n",
              "f() { :; }\n", "[[ a =~ (b) ]]\n", "\t", "é", "$", "${a:-b}", "=(a b)", "\\\n", "!", "*", "~", "\r"],
    "sql": ["'", '"', "`", "[", "]", ";", "--", "/*", "*/", "\n", "(", ")", "\n.shell x\n", "CASE", "END", "BEGIN", "CREATE TRIGGER t ",
            "WITH", ".", "''", "\\", "é", "\t", "SELECT 1;", "EXPLAIN ", "$", "?", "x'", "TRIGGER", "TEMP"],
}[KIND]


def mutate(draw):
    text = draw.choice(seeds)
    if len(text) > 800:
        begin = draw.randrange(len(text) - 600)
        text = text[text.find("\n", begin) + 1:begin + 600]
    for _ in range(draw.randrange(0, 4)):
        at, kind = draw.randrange(len(text) + 1), draw.randrange(6)
        if kind == 0:
            text = text[:at] + draw.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + draw.randrange(1, 12):]
        elif kind == 2:
            text = text[:at] + chr(draw.randrange(32, 127)) + text[at + 1:]
        elif kind == 3:
            text = text + "\n" + draw.choice(seeds)[:400]
        elif kind == 4:
            text = text.replace(draw.choice(PIECES), draw.choice(PIECES), 1)
        else:
            lines = text.split("\n")
            draw.shuffle(lines)
            text = "\n".join(lines)
    return text.replace("\0", "")


SHELLS = [command for command in (["/bin/bash", "--norc"], ["/bin/dash"], ["/usr/bin/zsh", "-f"])
          if os.access(command[0], os.X_OK)]


def is_script(text):
    """Whether a shell can read it, one or another by turns; of one that ends inside of a here-document
    bash only warns."""
    shell = SHELLS[len(text) % len(SHELLS)]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        ran = subprocess.run([*shell, "-n", file.name], stdin=subprocess.DEVNULL,
                             capture_output=True, check=False, timeout=20)
    return ran.returncode == 0 and not ran.stderr


def is_statements(text):
    """Whether SQLite takes it for whole statements. Lines that begin with a dot between them are the
    shell's."""
    held = ""
    for line in text.split("\n"):
        if not held.strip() and re.match(r"\.[A-Za-z]", line):
            continue
        held += line + "\n"
        if sqlite3.complete_statement(held):
            held = ""
    return not held.strip() and ";" in text


PLANTS = {"shell": ("\n\n:\npkexec planted\n", is_script, "privilege"),
          "sql": ("\nDROP TABLE planted;\n", is_statements, "drop")}


def one(text):
    """Whether it is a program, and what is wrong with the analysis of it; None: nothing."""
    plant, is_right, rule = PLANTS[KIND]
    check.analyse(text, tell.Report(check.RULES))
    if not is_right(text) or not is_right(text + plant + " " * (-len(plant) % 6)):  # the same shell
        return False, None
    report = tell.Report(check.RULES)
    check.analyse(text + plant, report)
    line = (text + plant).rstrip("\n").count("\n") + 1
    if any(item["rule"] == "not-analysed" or item["rule"] == rule and item["line"] == line
           for item in report.findings):
        return True, None
    return True, "what was added is not seen in line %d: %s" % (line, report.findings[-3:])


def main():
    failures, accepted = [], 0
    signal.signal(signal.SIGALRM, lambda *_: 1 / 0)
    for number in range(FIRST, FIRST + COUNT):
        text = mutate(random.Random(number))
        signal.alarm(20)
        try:
            is_program, wrong = one(text)
        except BaseException as error:  # whatever it is, it is not the analysis's to raise
            is_program, wrong = False, "%s: %s" % (type(error).__name__, error)
        signal.alarm(0)
        accepted += is_program
        if wrong:
            failures.append((number, wrong[:300], text[-400:]))
            if len(failures) > 10:
                break
    print(json.dumps({"count": COUNT, "accepted": accepted, "failures": failures}))


os.chdir("/tmp")
main()
