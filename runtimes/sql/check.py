# SPDX-License-Identifier: Apache-2.0
"""The guard's look at SQL: statements that write, drop, or reach outside of the database.

`python3 check.py FILE`. The text is cut into statements as SQLite cuts it: strings, quoted names,
comments, and the bodies of triggers, whose semicolons end nothing. Lines that begin with a dot are
commands of the shell.
"""
import re
import sys

from tell import Report, read_code

# rule -> in `standard`, in `strict`
RULES = {
    "write": ("info", "info"),           # adds or changes rows, makes tables
    "write-all": ("warn", "block"),      # changes or deletes every row of a table
    "drop": ("warn", "block"),           # what is gone is gone
    "outside": ("warn", "block"),        # other files, extensions, programs
    "schema": ("warn", "block"),         # changes what the database is
}
TOKEN = re.compile(r"""
    (?P<space>\s+) | (?P<comment>--[^\n]* | /\*.*?(?:\*/|\Z))
  | (?P<text>'(?:[^']|'')*(?:'|\Z)) | (?P<name>"(?:[^"]|"")*(?:"|\Z) | `[^`]*(?:`|\Z) | \[[^\]]*(?:\]|\Z))
  | (?P<word>[^\W\d][\w$]*) | (?P<number>\d[\w.]*) | (?P<end>;) | (?P<mark>.)
""", re.X | re.S)
DOT = re.compile(r"\.([A-Za-z]+)[^\n]*")
OUTSIDE_CALLS = {"load_extension": "loads a library into the database",
                 "readfile": "reads a file", "writefile": "writes a file", "edit": "starts an editor",
                 "fts3_tokenizer": "takes an address of memory"}
OUTSIDE_DOTS = {
    "shell": "starts a program", "system": "starts a program", "load": "loads a library",
    "open": "opens another database", "output": "writes to a file or program",
    "once": "writes to a file or program", "import": "reads a file", "read": "runs another file",
    "backup": "writes a file", "save": "writes a file", "restore": "replaces the database from a file",
    "clone": "writes a file", "archive": "reads or writes an archive", "ar": "reads or writes an archive",
    "excel": "starts a program", "log": "writes a file", "cd": "changes the directory", "dump": None,
}
PRAGMAS = {"writable_schema": "lets the schema be overwritten", "trusted_schema": "trusts the schema",
           "temp_store_directory": "writes files elsewhere", "data_store_directory": "writes files elsewhere",
           "ignore_check_constraints": "switches constraints off", "journal_mode": None}


class Statement:
    def __init__(self):
        self.words = []  # (upper case, line, column), marks among them


# How SQLite tells that a statement ends (sqlite3_complete): a trigger's ends with `; END ;`.
KINDS = {"EXPLAIN": 2, "CREATE": 3, "TEMP": 4, "TEMPORARY": 4, "TRIGGER": 5, "END": 6}
SEMICOLON, OTHER = 0, 1
START, NORMAL, EXPLAIN, CREATE, TRIGGER, ENDED, CLOSED = range(7)
STATES = {  # on a semicolon, another word, EXPLAIN, CREATE, TEMP, TRIGGER, END
    START: (START, NORMAL, EXPLAIN, CREATE, NORMAL, NORMAL, NORMAL),
    NORMAL: (START,) + (NORMAL,) * 6,
    EXPLAIN: (START, EXPLAIN, NORMAL, CREATE, NORMAL, NORMAL, NORMAL),
    CREATE: (START, NORMAL, NORMAL, NORMAL, CREATE, TRIGGER, NORMAL),
    TRIGGER: (ENDED,) + (TRIGGER,) * 6,
    ENDED: (ENDED,) + (TRIGGER,) * 5 + (CLOSED,),
    CLOSED: (START,) + (TRIGGER,) * 6,
}


def statements(text, dots):
    """The statements; adds the commands of the shell, which stand where a statement could begin:
    (name, line)."""
    current, state, line, start, at = Statement(), START, 1, 0, 0
    while at < len(text):
        match = DOT.match(text, at) if at == start and not current.words else None
        if match:
            dots.append((match[1].lower(), line))
        match = match or TOKEN.match(text, at)
        kind, value = match.lastgroup, match[0]
        if kind == "end" or kind in ("word", "mark", "name", "text", "number"):
            word = value.upper() if kind == "word" else value
            state = STATES[state][SEMICOLON if kind == "end" else KINDS.get(word, OTHER)]
            if kind != "end":
                current.words.append(("''" if kind == "text" else word, line, at - start + 1))
        if state == START and kind == "end":
            if current.words:
                yield current
            current = Statement()
        breaks = value.count("\n")
        if breaks:
            line += breaks
            start = at + value.rfind("\n") + 1
        at = match.end()
    if current.words:
        yield current


def main_word(statement):
    """What kind of statement it is, past WITH … and EXPLAIN."""
    words = [word for word, _, _ in statement.words]
    for i, word in enumerate(words):
        if word in ("EXPLAIN", "QUERY", "PLAN"):
            continue
        if word != "WITH":
            return word, i
        depth = 0
        for j in range(i + 1, len(words)):
            depth += (words[j] == "(") - (words[j] == ")")
            if depth == 0 and words[j] in ("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "VALUES"):
                return words[j], j
        return word, i
    return "", 0


def judge(statement, report):
    word, index = main_word(statement)
    _, line, column = statement.words[index] if statement.words else ("", 1, 1)
    words = [item[0] for item in statement.words]

    def say(rule, reason):
        report.say(rule, line, column, reason)

    if words[0] == "EXPLAIN":
        pass
    elif word == "DROP":
        say("drop", "DROP %s: it is gone for good" % " ".join(words[index + 1:index + 2]))
    elif word in ("DELETE", "UPDATE") and "WHERE" not in words[index:] and "LIMIT" not in words[index:]:
        say("write-all", "%s without WHERE: every row of the table" % word)
    elif word == "ALTER":
        say("drop" if "DROP" in words else "schema", "ALTER changes what the table is")
    elif word == "ATTACH":
        say("outside", "ATTACH opens another database")
    elif word == "VACUUM" and "INTO" in words:
        say("outside", "VACUUM INTO writes a file")
    elif word == "PRAGMA":
        for name in PRAGMAS:
            if name.upper() in words and PRAGMAS[name] and ("=" in words or "(" in words):
                say("schema", "PRAGMA %s %s" % (name, PRAGMAS[name]))
    elif word in ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "REINDEX"):
        say("write", "%s writes to the database" % word)
    for i, (name, call_line, call_column) in enumerate(statement.words[:-1]):
        if name.lower() in OUTSIDE_CALLS and statement.words[i + 1][0] == "(":
            report.say("outside", call_line, call_column,
                       "%s() %s" % (name.lower(), OUTSIDE_CALLS[name.lower()]))


def analyse(text, report):
    dots = []
    for statement in statements(text, dots):
        judge(statement, report)
    for name, line in dots:
        full = next((dot for dot in OUTSIDE_DOTS if len(name) > 1 and dot.startswith(name)), None)
        if full and OUTSIDE_DOTS[full]:
            report.say("outside", line, 1, ".%s %s" % (full, OUTSIDE_DOTS[full]))
    report.findings.sort(key=lambda item: (item["line"], item["column"]))


if __name__ == "__main__":
    told = Report(RULES)
    analyse(read_code(sys.argv[1]), told)
    told.tell()
