# SPDX-License-Identifier: Apache-2.0
"""What somebody at a prompt asks a session: how a name goes on, what a thing is, whether code is
whole. Nothing is executed for it: attributes are looked up without running properties, and of calls
and subscripts only what plain containers can answer.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import ast
import builtins
import inspect as inspector
import keyword
import os
import re
import sys
import types

MATCHES_MAX = 2000
MATCH_BYTES = 255
TEXT_MAX = 64 << 10
REPR_MAX = 2000
NAME = re.compile(r"\w*\Z")
IMPORT = re.compile(r"^\s*(?:import\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*|from\s+)([\w.]*)\Z")
IMPORT_FROM = re.compile(
    r"^\s*from\s+([\w.]+)\s+import\s+\(?(?:\w+(?:\s+as\s+\w+)?\s*,\s*)*(\w*)\Z")
OPENING = {")": "(", "]": "[", "}": "{"}
PLAIN = (list, tuple, dict, str, bytes)
DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)


class Unknown(Exception):
    """It cannot be told without running code."""


# ---- looking without running ---------------------------------------------------------------------


def attribute(thing, name):
    if isinstance(thing, types.ModuleType):
        if name in vars(thing):
            return vars(thing)[name]
        raise Unknown
    try:
        found = inspector.getattr_static(thing, name)
    except AttributeError:
        raise Unknown from None
    if isinstance(found, (staticmethod, classmethod)):
        return found.__func__
    if isinstance(found, DESCRIPTORS) and not isinstance(thing, type):
        return getattr(thing, name)
    if isinstance(found, property) and not isinstance(thing, type):
        raise Unknown
    return found


def value_of(node, names):
    kind = type(node)
    if kind is ast.Constant:
        return node.value
    if kind is ast.Name:
        for space in (names, vars(builtins)):
            if node.id in space:
                return space[node.id]
    if kind is ast.Attribute:
        return attribute(value_of(node.value, names), node.attr)
    if kind is ast.Subscript:
        holder = value_of(node.value, names)
        if type(holder) in PLAIN:
            try:
                return holder[ast.literal_eval(node.slice)]
            except (ValueError, LookupError, TypeError):
                pass
    if kind in (ast.List, ast.Dict, ast.Tuple, ast.Set):
        return {ast.List: list, ast.Dict: dict, ast.Tuple: tuple, ast.Set: set}[kind]()
    raise Unknown


def look_up(text, names):
    try:
        return value_of(ast.parse(text.strip(), mode="eval").body, names)
    except (SyntaxError, ValueError, RecursionError):
        raise Unknown from None


# ---- completion ----------------------------------------------------------------------------------


def scan(text):
    """Where the brackets are that are still open, and the string, if there is one."""
    opened, quote, start, at = [], None, 0, 0
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif text.startswith(quote, at):
                at += len(quote) - 1
                quote = None
            elif char == "\n" and len(quote) == 1:
                quote = None
        elif char in "\"'":
            quote = char * 3 if text.startswith(char * 3, at) else char
            at += len(quote) - 1
            start = at + 1
        elif char == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif char in "([{":
            opened.append(at)
        elif char in OPENING and opened and text[opened[-1]] == OPENING[char]:
            opened.pop()
        at += 1
    return opened, (start if quote else None)


def expression_before(text):
    """The longest one that ends here and is a chain of names, attributes and subscripts."""
    end = at = len(text)
    while at > 0:
        char = text[at - 1]
        if char.isalnum() or char in "_.":
            at -= 1
        elif char in "\"'" and at == end:
            start = text.rfind(char, 0, at - 1)
            if start < 0:
                break
            return text[start:end]
        elif char in "]})":
            depth, back = 0, at
            while back > 0:
                back -= 1
                if text[back] in OPENING:
                    depth += 1
                elif text[back] in "([{":
                    depth -= 1
                    if depth == 0:
                        break
            if depth:
                break
            at = back
        else:
            break
    return text[at:end]


def matching(prefix, names):
    """Private ones only for who asks for them."""
    found = sorted({name for name in names if isinstance(name, str) and name.startswith(prefix)})
    if not prefix.startswith("_"):
        found = [name for name in found if not name.startswith("_")]
    elif not prefix.startswith("__"):
        found.sort(key=lambda name: name.startswith("__"))
    return found


def module_names(text):
    """Modules that can be imported, or of a package."""
    import pkgutil
    package, dot, prefix = text.rpartition(".")
    if not dot:
        names = {module.name for module in pkgutil.iter_modules()} | set(sys.builtin_module_names)
        names |= getattr(sys, "stdlib_module_names", set())
        return matching(prefix, names), len(prefix)
    holder = sys.modules.get(package)
    path = getattr(holder, "__path__", None) or package_path(package)
    names = {module.name for module in pkgutil.iter_modules(path)} if path else set()
    return matching(prefix, names), len(prefix)


def package_path(package):
    """Where a package is, which nobody has imported: only its top is looked for."""
    from importlib.machinery import PathFinder
    path = None
    for name in package.split("."):
        spec = PathFinder.find_spec(name, path)
        path = spec.submodule_search_locations if spec else None
        if not path:
            return None
    return list(path)


def imported_names(package, prefix):
    names = set()
    if package in sys.modules:
        names.update(dir(sys.modules[package]))
    path = getattr(sys.modules.get(package), "__path__", None) or package_path(package)
    if path:
        import pkgutil
        names.update(module.name for module in pkgutil.iter_modules(path))
    return matching(prefix, names)


def file_names(text):
    folder, slash, prefix = text.rpartition("/")
    found = []
    with os.scandir(os.path.expanduser(folder + slash) or ".") as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and (prefix or not entry.name.startswith(".")):
                found.append(entry.name + ("/" if entry.is_dir() else ""))
    return sorted(found), len(prefix)


def keys_of(text, opened, start, names):
    """Those of a mapping, or columns of a table, inside d[" or d[(."""
    before = text[:start].rstrip("\"'").rstrip("rRbBuUfF")
    if not opened or text[opened[-1]] != "[" or before.rstrip() != text[:opened[-1] + 1].rstrip():
        return None
    try:
        holder = look_up(expression_before(text[:opened[-1]]), names)
    except Unknown:
        return None
    if isinstance(holder, dict):
        return list(holder)
    own = getattr(type(holder), "_ipython_key_completions_", None)
    try:
        if own is not None:
            return list(own(holder))
        return list(holder.columns) if type(holder).__name__ == "DataFrame" else None
    except Exception:
        return None


def in_string(text, opened, start, names):
    written = text[start:]
    keys = keys_of(text, opened, start, names)
    if keys is not None:
        found = sorted({key for key in keys if isinstance(key, str) and key.startswith(written)})
        return found, len(written)
    if "\n" in written:
        return [], 0
    return file_names(written)


def arguments_of(text, opened, prefix, names):
    """`name=` for the function whose call this is in."""
    if not opened or text[opened[-1]] != "(":
        return []
    try:
        function = look_up(expression_before(text[:opened[-1]]), names)
        parameters = inspector.signature(function).parameters.values()
    except Exception:
        return []
    return [parameter.name + "=" for parameter in parameters
            if parameter.name.startswith(prefix)
            and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)]


def find_matches(text, names):
    """The matches, and how many characters before the cursor they take the place of."""
    line = text[text.rfind("\n") + 1:]
    opened, start = scan(text)
    if start is not None:
        return in_string(text, opened, start, names)
    found = IMPORT_FROM.match(line)
    if found:
        return imported_names(found[1], found[2]), len(found[2])
    found = IMPORT.match(line)
    if found:
        return module_names(found[1])
    prefix = NAME.search(text)[0]
    before = text[:len(text) - len(prefix)]
    if before.endswith("."):
        thing = look_up(expression_before(before[:-1]), names)
        return matching(prefix, dir(thing)), len(prefix)
    words = list(keyword.kwlist) + list(getattr(keyword, "softkwlist", ()))
    found = arguments_of(text, opened, prefix, names)
    if prefix:
        found += matching(prefix, [*names, *vars(builtins), *words])
    return found, len(prefix)


def complete(session, request):
    code = request["code"]
    cursor = max(0, min(int(request.get("cursor", len(code))), len(code)))
    try:
        matches, size = find_matches(code[:cursor], session.main.__dict__)
    except (Unknown, OSError):
        matches, size = [], 0
    matches = [text for text in matches if len(text.encode("utf-8", "replace")) <= MATCH_BYTES]
    return {"event": "completions", "matches": matches[:MATCHES_MAX],
            "start": cursor - size, "end": cursor}


# ---- what a thing is -----------------------------------------------------------------------------


def cut(text, size):
    return text if len(text) <= size else "%s… %d characters more" % (text[:size], len(text) - size)


def attempt(look, *args):
    try:
        return look(*args)
    except Exception:
        return None


def signature_of(thing, name):
    if not callable(thing):
        return None
    found = attempt(inspector.signature, thing)
    return None if found is None else name.rpartition(".")[2] + str(found)


def source_of(thing):
    lines = attempt(inspector.getsource, thing)
    if lines is None and not isinstance(thing, type):
        lines = attempt(inspector.getsource, type(thing))
    return lines


def describe(thing, name, is_detailed):
    """A text of labelled parts, as they are shown at a prompt."""
    is_code = isinstance(thing, type) or inspector.isroutine(thing) or inspector.ismodule(thing)
    rows = [("Signature", signature_of(thing, name)), ("Type", type(thing).__name__)]
    if not is_code:
        text = attempt(load("values").plain_text, thing)
        rows.append(("Value", None if text is None else cut(text, REPR_MAX)))
        rows.append(("Length", attempt(len, thing) if hasattr(type(thing), "__len__") else None))
    rows.append(("File", attempt(inspector.getfile, thing if is_code else type(thing))))
    source = source_of(thing) if is_detailed else None
    if source is not None:
        rows.append(("Source", "\n" + source.rstrip()))
    else:
        doc = attempt(inspector.getdoc, thing)
        rows.append(("Docstring", "\n" + doc if doc else None))
    return "\n".join("%s: %s" % row if not str(row[1]).startswith("\n") else "%s:%s" % row
                     for row in rows if row[1] is not None)


def list_names(names):
    """What was given a name here, and of which kind it is; not what a session has by itself."""
    own = sorted(name for name in names if not name.startswith("_"))
    width = max(map(len, own), default=0)
    lines = ["%-*s  %s" % (width, name, type(names[name]).__name__) for name in own]
    return "\n".join(lines) or "no names yet"


def inspect(session, request):
    name = request["name"].strip().strip("?")
    names = session.main.__dict__
    if not name:
        return {"event": "inspection", "text": cut(list_names(names), TEXT_MAX)}
    try:
        thing = look_up(name, names)
    except Unknown:
        thing = sys.modules.get(name)
        if thing is None:
            return {"event": "inspection", "text": None}
    text = describe(thing, name, bool(request.get("detail")))
    return {"event": "inspection", "text": cut(text, TEXT_MAX)}


# ---- whether code is whole -----------------------------------------------------------------------


def indent_after(code):
    """How a person would go on."""
    line = code.rstrip("\n").rpartition("\n")[2]
    indent = line[:len(line) - len(line.lstrip())]
    opened, start = scan(code)
    if start is None and not opened and line.partition("#")[0].rstrip().endswith(":"):
        indent += "    "
    return indent


def is_in_block(code, flags):
    """Whether the last line could be followed by another one of its block: as at any prompt, an
    empty line ends it."""
    if "\n" not in code.strip() or not code.rpartition("\n")[2].strip():
        return False
    body = compile(code, "<input>", "exec", flags | ast.PyCF_ONLY_AST, True).body
    return hasattr(body[-1], "body")


def is_complete(session, request):
    import codeop
    code = request["code"]
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= session.flags
    try:
        made = compiler(code, "<input>", "exec")
    except (SyntaxError, ValueError, OverflowError):
        return {"event": "completeness", "state": "invalid", "indent": ""}
    if made is None or is_in_block(code, session.flags):
        return {"event": "completeness", "state": "incomplete", "indent": indent_after(code)}
    return {"event": "completeness", "state": "complete", "indent": ""}


ASKED = {"complete": complete, "inspect": inspect, "is_complete": is_complete}
NOTHING = {
    "complete": lambda request: {"event": "completions", "matches": [], "start": 0, "end": 0},
    "inspect": lambda request: {"event": "inspection", "text": None},
    "is_complete": lambda request: {"event": "completeness", "state": "complete", "indent": ""},
}
