# SPDX-License-Identifier: Apache-2.0
"""Looks at a program before it is run: what it imports, and what it might be up to.

It is advice in front of a wall, not the wall. Three profiles: `trusted` does not come here at all;
`standard` warns of modules that reach outside the interpreter and of ways out of a jail; `strict`
lets through what is on its lists, and strict.py holds the program to them while it runs.

Most programs of `standard` have nothing to report, and that can be told from the code the compiler
made: every name it uses is in there. Only when one of them is a reason to look closer is the syntax
tree walked (rules.py). The same holds for `strict`, with more reasons (strict.py). The verdict is said
before anything of the program has run, and so by nobody but us.

`load`, `send`, `flush`, `is_heard` and `quietly` come from core.py.
"""
import os
import sys

# What reaches outside of the interpreter, and how.
DANGEROUS = {
    "os": "files, processes and the environment",
    "subprocess": "starts other programs",
    "shutil": "copies, moves and deletes whole trees",
    "socket": "talks to the network",
    "pathlib": "files and directories",
}
# Names that lead from any value to what it was made of, and so out of a jail of Python's own making.
TRAVERSAL = frozenset((
    "__subclasses__", "__globals__", "__builtins__", "__code__", "__closure__", "cell_contents", "__self__",
    "__loader__", "__spec__", "__import__", "__reduce__", "__reduce_ex__"))
FRAMES = frozenset((
    "tb_frame", "gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "cr_origin",
    "ag_frame", "ag_code", "ag_await", "f_back", "f_builtins", "f_code", "f_globals", "f_locals",
    "f_trace", "co_code", "co_consts", "co_names"))
# Private functions of the library that evaluate text or look into any module.
GADGETS = frozenset(("_evaluate", "_convert_", "_getframe", "_current_frames", "_eval_type",
                     "__forward_code__"))
# What of all that is hardly ever an ordinary program's: `standard` speaks of these only.
ALARMS = frozenset(("__subclasses__", "__globals__", "__builtins__", "f_globals", "f_builtins"))
# How modules are loaded by other ways than the statement.
LOADERS = frozenset(("__import__", "import_module", "importlib", "builtins", "runpy"))
CLOSER = ALARMS | LOADERS
LOOKUPS = frozenset(("getattr", "setattr", "delattr", "hasattr", "format", "format_map"))
# The instruction that imports; None where its number is not known.
IMPORT_NAME = 108 if (3, 10) <= sys.version_info < (3, 13) else None
LOAD_CONST = 100
TELLING = ("__", "f_", "_f")  # of a text that may be, or may become, the name of an attribute
WHAT_MAX = 256  # findings and imports in a report
REFUSED_STATUS = 126

policy = {}  # as the supervisor said it; nothing: `standard`


def matches(module, names):
    """The entry of the list that stands for this module or a package it is in."""
    while module:
        if module in names:
            return module
        module = module.rpartition(".")[0]
    return None


# ---- the short road ------------------------------------------------------------------------------


def is_telling(const):
    """Whether it may be one that the rules look for."""
    for part in TELLING:
        if part in const:
            return const != "__main__"
    return False


def import_lines(code, modules, found):
    """Adds (module, line) for each import of one of them; None when a closer look is needed."""
    stack, has_lookup, has_text = [code], False, False
    while stack:
        code = stack.pop()
        names = code.co_names
        if not CLOSER.isdisjoint(names):
            return None
        has_lookup = has_lookup or not LOOKUPS.isdisjoint(names)
        for const in code.co_consts:
            kind = type(const)
            if kind is type(code):
                stack.append(const)
            elif kind is str and is_telling(const):
                if "{" in const or const in ALARMS:
                    return None
                has_text = True
            elif kind is tuple and any(type(item) is str and is_telling(item) for item in const):
                if not ALARMS.isdisjoint(item for item in const if type(item) is str):
                    return None  # a pattern may look them up
                has_text = True
        hits = [i for i, name in enumerate(names) if matches(name, modules)]
        if hits:
            lines = None
            text = code.co_code
            for at in range(0, len(text), 2):
                if text[at] != IMPORT_NAME:
                    continue
                index = text[at + 1]
                if at < 4 or text[at - 2] != LOAD_CONST or text[at - 4] != LOAD_CONST:
                    return None  # numbers past 255, which take more instructions
                if index in hits and code.co_consts[text[at - 3]] == 0:  # no relative import
                    lines = lines or list(code.co_lines())
                    line = next((row for start, end, row in lines if start <= at < end), 0)
                    found.append((names[index], line or 0))
    return None if has_lookup and has_text else found


# ---- the report ----------------------------------------------------------------------------------


def finding(rule, severity, line, column, reason, module=None):
    made = {"rule": rule, "severity": severity, "line": line, "column": column, "reason": reason}
    if module:
        made["module"] = module
    return made


def tell(findings, imports):
    """The worst first when there is no room for all."""
    if len(findings) > WHAT_MAX:
        findings = sorted(findings, key=lambda item: ("block", "warn", "info").index(item["severity"]))
    send(quietly(load, "values").to_json({
        "event": "report", "findings": findings[:WHAT_MAX], "imports": imports[:WHAT_MAX],
        "left_out": max(len(findings) - WHAT_MAX, 0)}))


def import_finding(module, line, column):
    """What `standard` says to an import; None: nothing."""
    allowed, blocked = policy.get("allow", ()), policy.get("block", ())
    named = matches(module, blocked)
    if named:
        return finding("import-blocked", "block", line, column, "imports %s, which the policy blocks"
                       % named, named)
    named = matches(module, DANGEROUS)
    if not named or matches(module, allowed):
        return None
    return finding("import-dangerous", "block" if policy.get("block_imports") else "warn", line,
                   column, "imports %s: %s" % (module, DANGEROUS[named]), named)


def look_briefly(code):
    """What `standard` finds in most programs; None: look closer."""
    blocked = policy.get("block")
    if IMPORT_NAME is None or blocked and any("." in name for name in blocked):
        return None  # `from a import b` may mean a.b
    # a copy of it is a page for each name and its reason
    modules = {**DANGEROUS, **dict.fromkeys(blocked)} if blocked else DANGEROUS
    found = import_lines(code, modules, [])
    if found is None:
        return None
    return [item for item in (import_finding(module, line, 0) for module, line in found) if item]


def parse(source, path):
    return compile(source, path, "exec", 0x400, True)  # only to the syntax tree


def look(source, code, path):
    """Says what there is to say about a program that was compiled, and ends here if it must not run.
    The code to run: in `strict` not the one that was given."""
    is_strict = policy.get("profile") == "strict"
    if is_strict and quietly(load, "strict").is_plain(code):
        return code
    findings = None if is_strict else look_briefly(code)
    if findings is None:
        rules = quietly(load, "rules")
        names = rules.Names()
        try:
            tree = parse(source, path)
            findings, imports = rules.analyse(tree, is_strict, policy, names)
        except (RecursionError, MemoryError):
            findings, imports = [unseen(is_strict)], []
    else:
        imports = []
    if findings:
        tell(findings, imports)
    if any(item["severity"] == "block" for item in findings):
        flush()
        os._exit(REFUSED_STATUS)
    if not is_strict:
        return code
    strict = load("strict")
    return strict.bound(compile(strict.rewrite(tree, names), path, "exec", 0, True))


def rehearse(gc):
    """The first syntax tree of an interpreter makes all of its classes."""
    source = b"import math\nprint('{}'.format(math.pi))\n"
    tree, names, strict = parse(source, "<rehearsal>"), load("rules").Names(), load("strict")
    load("rules").analyse(tree, True, policy, names)
    strict.bound(compile(strict.rewrite(tree, names), "<rehearsal>", "exec", 0, True))
    strict.rehearse()
    gc.collect()
    fill_gaps()


GAP_BYTES = 64 << 10  # of each size: more than a rehearsal leaves free
gaps = []


def fill_gaps():
    """What was freed lies scattered among what stays. A guest that got its memory there would have to
    copy all of those pages: so they are filled, and it gets pages of its own."""
    overhead = bytes.__basicsize__
    for size in range(48, 513, 16):  # what the interpreter's own allocator serves
        gaps.append([bytes(size - overhead) for _ in range(GAP_BYTES // size)])
    gaps.append([float(number) for number in range(GAP_BYTES // 32)])


def refuse_unseen():
    tell([unseen(True)], [])
    flush()
    os._exit(REFUSED_STATUS)


def unseen(is_strict):
    is_bound = is_strict or policy.get("block_imports") or policy.get("block")
    return finding("not-analysed", "block" if is_bound else "warn", 0, 0,
                   "cannot be compiled, or is nested too deeply to be analysed")


# ---- the turns of a session ----------------------------------------------------------------------


class turns:
    """What names stand for that earlier turns bound; None: none of them needed a closer look."""
    names = None


def look_at_turn(tree):
    """Says what there is to say about one turn. False: it must not run. What refused code would have
    bound is not known to the next."""
    rules = quietly(load, "rules")
    is_strict = policy.get("profile") == "strict"
    names = rules.Names() if turns.names is None else turns.names.copy()
    try:
        findings, imports = rules.analyse(tree, is_strict, policy, names)
    except (RecursionError, MemoryError):
        findings, imports = [unseen(is_strict)], []
    return is_told(findings, imports) and keep_names(tree, names)


def keep_names(tree, names):
    names.classes = load("rules").classes_of(tree, names.classes)
    turns.names = names
    return True


def is_told(findings, imports):
    if findings:
        tell(findings, imports)
    return not any(item["severity"] == "block" for item in findings)


def look_at_parts(codes, make_tree):
    """The same in `standard`, where most turns have nothing to report. One that needed a closer look
    may have given something another name: from then on all do."""
    found = [] if turns.names is None else None
    for code in codes:
        some = look_briefly(code) if found is not None else None
        found = found + some if some is not None else None
    if found is not None:
        return is_told(found, [])
    try:
        tree = make_tree()
    except (RecursionError, MemoryError):
        return is_told([unseen(False)], [])
    return look_at_turn(tree)


# ---- hotcell check -------------------------------------------------------------------------------


def check(path):
    """Only looks. A syntax error is told as what it is."""
    with open(path, "rb", 0) as file:
        source = file.read()
    look_at(source, path, policy.get("profile") == "strict")


def look_at(source, path, is_strict):
    try:
        compile(source, path, "exec", 0, True)
    except SyntaxError as error:
        line, column = error.lineno or 0, error.offset or 0
        reason = "Python syntax error: %s" % load("failure").cut(error.msg, 400)
        return tell([finding("syntax-error", "warn", max(line, 0), max(column, 0), reason)], [])
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        reason = "Python cannot compile it: %s" % load("failure").cut(error, 400)
        return tell([finding("syntax-error", "warn", 0, 0, reason)], [])
    rules = load("rules")
    try:
        findings, imports = rules.analyse(parse(source, path), is_strict, policy)
    except (RecursionError, MemoryError):
        findings, imports = [unseen(is_strict)], []
    tell(findings, imports)
