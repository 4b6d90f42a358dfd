# SPDX-License-Identifier: Apache-2.0
"""The rules of the guard for Python, and the walk along a syntax tree that applies them.

The tree is CPython's own, made by the interpreter that will run the program, so there is no second
opinion on what the text means. The walk needs no recursion: how deeply a program is nested is up to
its author.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import _ast
import _string

guard = load("guard")
finding, matches = guard.finding, guard.matches

# rule -> how grave it is in `standard` and in `strict`
RULES = {
    "import-blocked": ("block", "block"),    # the policy names the module
    "import-dangerous": ("warn", "block"),   # reaches outside of the interpreter
    "import-unlisted": (None, "block"),      # not on the list of what may be imported
    "introspection": ("warn", "block"),      # from a value to what it was made of
    "format-attribute": ("warn", "block"),   # the same through a format string
    # What follows, strict.py refuses when it runs:
    "builtin": (None, "warn"),               # a builtin that is not there
    "private-attribute": (None, "warn"),     # somebody else's, if it is
    "own-attribute": (None, "warn"),         # looks like introspection: the object's own, or nothing
    "positional-pattern": (None, "warn"),    # a list of names that may change
    # and this it checks:
    "import-dynamic": ("info", "info"),      # the name of the module is not in the text
    "dynamic-code": ("info", "info"),        # text becomes code
    "file-access": (None, "info"),           # opens files
    "attribute-by-name": (None, "info"),     # a name that is only known when it runs
}

# What a program of `strict` may import: nothing here reaches outside of the interpreter.
LISTED = frozenset((
    "__future__", "abc", "argparse", "array", "base64", "binascii", "bisect", "calendar", "cmath",
    "collections", "colorsys", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal",
    "difflib", "enum", "fractions", "functools", "graphlib", "hashlib", "heapq", "hmac", "html", "io",
    "ipaddress", "itertools", "json", "keyword", "math", "numbers", "operator", "pprint", "queue",
    "random", "re", "reprlib", "secrets", "shlex", "statistics", "string", "struct", "sys",
    "textwrap", "time", "types", "typing", "unicodedata", "urllib.parse", "uuid", "zlib", "zoneinfo"))

CODE = {"eval": "evaluates text as code", "exec": "executes text as code",
        "compile": "makes code of text"}
OTHER = {"breakpoint": "starts a debugger", "help": "loads the documentation system",
         "license": "reads files", "copyright": "reads files", "credits": "reads files"}
RESTRICTED = frozenset((*CODE, *OTHER, "open", "__import__"))
# Names that mean more than they say on what the interpreter made, and nobody can set there: those that
# a program gives its own objects are the program's.
OWNABLE = guard.FRAMES - {"f_trace"} | {"__self__"}
BY_NAME = {"getattr": 1, "setattr": 1, "delattr": 1, "hasattr": 1}
OPENERS = {"io.open", "io.open_code", "io.FileIO", "codecs.open", "os.open", "os.fdopen"}
# Private by their look, but part of what is documented.
PUBLIC = frozenset((
    "_asdict", "_fields", "_field_defaults", "_make", "_replace", "_missing_", "_ignore_", "_order_",
    "_generate_next_value_", "_value_", "_name_", "_value2member_map_", "_member_map_",
    "_member_names_", "_"))
CATCHES = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
TEXT_MAX = 4096  # of a string that is put together to see what it says
TWICE = object()


class Names:
    """What the names of a program stand for, as far as that does not change: modules, functions of
    theirs, texts. Wherever a name is bound a second time, it stands for nothing."""

    def __init__(self):
        self.meanings = {}  # name -> "os.path" or ("text",)
        self.bound = set()
        self.private = set()  # attributes with an underscore that the program itself defines
        self.owned = set()  # those of OWNABLE that it sets
        self.classes = {}  # of earlier turns: as classes_of() has them

    def copy(self):
        names = Names()
        names.meanings, names.bound = dict(self.meanings), set(self.bound)
        names.private, names.owned = set(self.private), set(self.owned)
        names.classes = dict(self.classes)
        return names

    def bind(self, name, meaning=None):
        self.bound.add(name)
        if self.meanings.setdefault(name, meaning) != meaning:
            self.meanings[name] = TWICE

    def meaning(self, name):
        found = self.meanings.get(name)
        return None if found is TWICE else found


def text_of(node, names, depth=16):
    """The text that an expression plainly is, None when it is not plain."""
    if depth == 0:
        return None
    kind = type(node)
    if kind is _ast.Constant:
        return node.value if type(node.value) is str else None
    if kind is _ast.Name:
        found = names.meaning(node.id)
        return found[0] if type(found) is tuple else None
    if kind is _ast.BinOp and type(node.op) is _ast.Add:
        left = text_of(node.left, names, depth - 1)
        right = text_of(node.right, names, depth - 1) if left is not None else None
        return left + right if right is not None and len(left + right) <= TEXT_MAX else None
    if kind is _ast.JoinedStr:
        return all_of([item.value if type(item) is _ast.FormattedValue else item
                       for item in node.values], names, depth, "")
    if kind is _ast.Subscript and is_reversal(node.slice):
        text = text_of(node.value, names, depth - 1)
        return text[::-1] if text is not None else None
    if kind is _ast.Call and not node.keywords and len(node.args) <= 1:
        return called_text(node, names, depth)
    return None


def all_of(nodes, names, depth, between):
    texts = [text_of(node, names, depth - 1) for node in nodes[:64]]
    if None in texts or len(nodes) > 64 or sum(map(len, texts)) > TEXT_MAX:
        return None
    return between.join(texts)


def called_text(node, names, depth):
    """chr(111), "".join(["o", "s"]), "OS".lower()"""
    function = node.func
    if type(function) is _ast.Name and function.id == "chr" and node.args:
        number = getattr(node.args[0], "value", None)
        return chr(number) if type(number) is int and 0 <= number < 0x110000 else None
    if type(function) is not _ast.Attribute:
        return None
    text = text_of(function.value, names, depth - 1)
    if text is None:
        return None
    if function.attr == "join" and node.args and type(node.args[0]) in (_ast.List, _ast.Tuple):
        return all_of(node.args[0].elts, names, depth, text)
    if function.attr in ("lower", "upper", "strip", "swapcase") and not node.args:
        return getattr(text, function.attr)()
    return None


def is_reversal(node):
    step = getattr(node, "step", None)
    return (type(node) is _ast.Slice and node.lower is node.upper is None
            and type(step) is _ast.UnaryOp and type(step.op) is _ast.USub
            and getattr(step.operand, "value", None) == 1)


def path_of(node, names):
    """"os.path.join" of such an expression, by what its first name stands for."""
    parts = []
    while type(node) is _ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not _ast.Name or len(parts) > 16:
        return None
    meaning = names.meaning(node.id)
    if meaning is None and node.id not in names.bound:
        meaning = "builtins." + node.id
    if type(meaning) is not str:
        return None
    return ".".join([meaning, *reversed(parts)])


def children(node):
    for name in node._fields:
        value = getattr(node, name, None)
        if type(value) is list:
            for item in value:
                if isinstance(item, _ast.AST):
                    yield item
        elif isinstance(value, _ast.AST):
            yield value


def collect(tree, names):
    """All nodes; adds the names the program binds."""
    nodes, stack = [], [tree]
    while stack:
        node = stack.pop()
        nodes.append(node)
        bind(node, names)
        stack.extend(children(node))
    return nodes


def bind(node, names):
    kind = type(node)
    if kind is _ast.Import:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            names.bind(alias.asname or top, alias.name if alias.asname else top)
    elif kind is _ast.ImportFrom:
        for alias in node.names:
            names.bind(alias.asname or alias.name, "%s.%s" % (node.module or "", alias.name))
    elif kind is _ast.Assign:
        for target in node.targets:
            if type(target) is _ast.Name:
                text = text_of(node.value, Names())
                if text is not None:
                    meaning = (text,)
                elif type(node.value) in (_ast.Name, _ast.Attribute):
                    meaning = path_of(node.value, names)
                else:
                    meaning = None
                names.bind(target.id, meaning)
    elif kind is _ast.Name:
        if type(node.ctx) is not _ast.Load:
            names.bound.add(node.id)
            if node.id.startswith("_"):
                names.private.add(node.id)
    elif kind is _ast.Attribute:
        if type(node.ctx) is not _ast.Load:
            if node.attr.startswith("_"):
                names.private.add(node.attr)
            if node.attr in OWNABLE:
                names.owned.add(node.attr)
    elif kind is _ast.arg:
        names.bind(node.arg)
    elif kind in (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef):
        names.bind(node.name)
        if node.name.startswith("_"):
            names.private.add(node.name)
    elif kind is _ast.ExceptHandler and node.name:
        names.bind(node.name)
    elif kind is _ast.For and type(node.target) is _ast.Name:
        names.bind(node.target.id)


def is_caught(node):
    """Whether an import that fails in this try statement is what the program expects."""
    for handler in node.handlers:
        kinds = [handler.type] if type(handler.type) is not _ast.Tuple else handler.type.elts
        if any(kind is None or getattr(kind, "id", None) in CATCHES for kind in kinds):
            return True
    return False


def caught_nodes(nodes):
    """The nodes of import statements whose failure is caught."""
    found, stack = set(), []
    for node in nodes:
        if type(node) is _ast.Try and is_caught(node):
            stack.extend(node.body)
    while stack:
        node = stack.pop()
        if type(node) in (_ast.Import, _ast.ImportFrom):
            found.add(id(node))
        elif type(node) not in (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.Lambda):
            stack.extend(children(node))
    return found


def is_private(name):
    return (name.startswith("_") and not name.endswith("__") and name not in PUBLIC
            and name not in guard.GADGETS)


def place(node):
    """Line and column, both from 1; of an attribute those of its name."""
    if type(node) is _ast.Attribute and getattr(node, "end_col_offset", None):
        return node.end_lineno, node.end_col_offset - len(node.attr.encode()) + 1
    return getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1


def is_of_self(node):
    return getattr(node.value, "id", None) in ("self", "cls")


def is_foreign(node, names):
    """Whether an attribute is private and perhaps not the program's."""
    return is_private(node.attr) and node.attr not in names.private and not is_of_self(node)


class Walk:
    def __init__(self, tree, is_strict, policy, names):
        self.is_strict = is_strict
        self.allow = frozenset(policy.get("allow", ()))
        self.block = frozenset(policy.get("block", ()))
        self.findings = []
        self.imports = {}
        self.tree, self.classes = tree, None
        self.names = names
        self.nodes = collect(tree, names)
        self.caught = caught_nodes(self.nodes) if is_strict else ()

    def say(self, rule, node, reason, module=None, severity=None):
        severity = severity or RULES[rule][self.is_strict]
        if severity:
            line, column = place(node)
            self.findings.append(finding(rule, severity, line, column, reason, module))

    # ---- imports

    def import_(self, module, node, how="imports", is_caught=False):
        self.imports[module] = True
        if not self.is_strict:
            made = guard.import_finding(module, getattr(node, "lineno", 0),
                                        getattr(node, "col_offset", -1) + 1)
            if made:
                if how != "imports":
                    made["reason"] = how + made["reason"][len("imports"):]
                self.findings.append(made)
            return
        named = matches(module, self.block)
        if named:
            self.say("import-blocked", node, "%s %s, which the policy blocks" % (how, named), named)
        elif not is_listed(module, self.allow):
            module = unlisted_name(module, self.allow)
            self.say("import-unlisted", node,
                     "%s %s, which is not on the list of strict" % (how, module), module,
                     "warn" if is_caught else None)

    def Import(self, node):
        for alias in node.names:
            self.import_(alias.name, alias if hasattr(alias, "lineno") else node,
                         is_caught=id(node) in self.caught)

    def ImportFrom(self, node):
        if node.level:
            return  # a program is in no package
        is_caught = id(node) in self.caught
        wholes = ["%s.%s" % (node.module, alias.name) for alias in node.names]
        if self.is_strict and not is_listed(node.module, self.allow) and \
                all(is_listed(whole, self.allow) for whole in wholes):
            for whole in wholes:
                self.import_(whole, node, is_caught=is_caught)
            return
        self.import_(node.module, node, is_caught=is_caught)
        for alias, whole in zip(node.names, wholes):
            if alias.name.startswith("_") and self.is_strict:
                self.import_(whole, node, is_caught=is_caught)
                self.attribute(node, alias.name)
            elif whole in self.block:
                self.import_(whole, node, is_caught=is_caught)
            elif whole in OPENERS:
                self.say("file-access", node, "imports %s, which opens files" % whole)

    def loaded(self, node, argument, how):
        text = text_of(argument, self.names) if argument is not None else None
        if text is None:
            self.say("import-dynamic", node,
                     "%s a module whose name is only known when it runs" % how)
        elif text and not text.startswith("."):
            self.import_(text, node, how)

    # ---- names and attributes

    def Name(self, node):
        name = node.id
        if name in ("__builtins__", "__loader__", "__spec__"):
            if self.is_strict or name == "__builtins__" and name not in self.names.bound:
                self.say("introspection", node, "uses %s, which holds more than a program needs" % name)
        elif type(node.ctx) is not _ast.Load or name not in RESTRICTED or name in self.names.bound:
            return
        elif name in CODE:
            self.say("dynamic-code", node, "%s: %s" % (name, CODE[name]))
        elif name == "open":
            self.say("file-access", node, "open: opens files")
        elif name == "__import__":
            if self.is_strict:
                self.say("import-dynamic", node, "__import__: imports by name")
        else:
            self.say("builtin", node, "%s: %s" % (name, OTHER[name]))

    def attribute(self, node, name, how="uses"):
        if name in self.names.owned and self.is_strict and type(node) is _ast.Attribute:
            self.say("own-attribute", node,
                     "%s .%s, which is looked up in the object's own attributes only" % (how, name))
        elif name in guard.ALARMS or self.is_strict and (
                name in guard.TRAVERSAL or name in guard.FRAMES or name in guard.GADGETS):
            self.say("introspection", node,
                     "%s .%s, which leads from a value to what it was made of" % (how, name))
        elif self.is_strict and is_private(name) and name not in self.names.private:
            self.say("private-attribute", node,
                     "%s .%s, which this program does not define" % (how, name))

    def Attribute(self, node):
        if not is_private(node.attr) or not is_of_self(node):
            self.attribute(node, node.attr)
        if type(node.ctx) is not _ast.Load:
            return
        path = path_of(node, self.names)
        if path in OPENERS:
            self.say("file-access", node, "uses %s, which opens files" % path)
        elif path and path.startswith("builtins.") and path[9:] in CODE:
            self.say("dynamic-code", node, "%s: %s" % (path, CODE[path[9:]]))

    def MatchClass(self, node):
        names = list(node.kwd_attrs)
        if self.is_strict and node.patterns:
            if self.classes is None:
                self.classes = classes_of(self.tree, self.names.classes)
            positions = positions_of(node, self.classes)
            if positions is None:
                self.say("positional-pattern", node, "a class pattern with positions, which looks up "
                         "names that are only known when it runs: name them, as in Point(x=a)")
            elif positions is not ITSELF:
                names += positions
        for name in names:
            self.attribute(node, name)

    # ---- calls

    def Call(self, node):
        function = node.func
        path = path_of(function, self.names)
        first = node.args[0] if node.args else None
        if path is not None:
            name = path[9:] if path.startswith("builtins.") else None
            if name == "__import__":
                self.loaded(node, first, "imports by name")
            elif path in ("importlib.import_module", "importlib.__import__", "runpy.run_module",
                          "importlib.util.find_spec"):
                self.loaded(node, first, "imports by name")
            elif name in BY_NAME and len(node.args) > 1:
                self.by_name(node, node.args[1], name)
            elif path in ("operator.attrgetter", "operator.methodcaller") and self.is_strict:
                for argument in node.args[:1 if path.endswith("methodcaller") else None]:
                    self.by_name(node, argument, path)
        if type(function) is _ast.Attribute and function.attr in ("format", "format_map"):
            self.format(node, function.value)

    def by_name(self, node, argument, how):
        text = text_of(argument, self.names)
        if text is None:
            self.say("attribute-by-name", node, "%s: the name is checked when it runs" % how)
            return
        for part in text.split("."):
            if part in CODE and how == "getattr":
                self.say("dynamic-code", node, "%s: asks for %s" % (how, part))
            else:
                self.attribute(node, part, how=how + " looks up")

    def format(self, node, value):
        text = text_of(value, self.names)
        if text is None:
            return
        for name in field_names(text):
            if name.startswith("__") or name in guard.FRAMES:
                self.say("format-attribute", node, "a format string looks up .%s" % name)
                return


def field_names(text, depth=3):
    """The attributes and keys that a format string looks up, read by the interpreter's own parser. What
    comes after an error in it is never looked up."""
    found = []
    try:
        for _, field, spec, _ in _string.formatter_parser(text):
            if field:
                found += [name for _, name in _string.formatter_field_name_split(field)[1]
                          if type(name) is str]
            if spec and depth:
                found += field_names(spec, depth - 1)
    except ValueError:
        pass
    return found


# ---- class patterns with positions ---------------------------------------------------------------

ITSELF = object()
SELF_MATCHING = frozenset(("bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list",
                           "set", "str", "tuple"))


def classes_of(tree, earlier=()):
    """The names that `case Class(a, b)` stands for, for classes that the program itself defines as
    dataclasses or named tuples, or with a plain __match_args__. Defined twice: None."""
    found, stack = dict(earlier), [tree]
    while stack:
        node = stack.pop()
        if type(node) is _ast.ClassDef:
            found[node.name] = None if node.name in found else match_args(node)
        stack.extend(children(node))
    return found


def match_args(node):
    for item in node.body:
        if type(item) is _ast.Assign and getattr(item.targets[0], "id", None) == "__match_args__":
            if type(item.value) is not _ast.Tuple:
                return None
            names = [getattr(part, "value", None) for part in item.value.elts]
            return names if all(type(name) is str for name in names) else None
    decorators = [getattr(item, "func", item) for item in node.decorator_list]
    is_data = any("dataclass" in (getattr(item, "id", None), getattr(item, "attr", None))
                  for item in decorators)
    is_tuple = any("NamedTuple" in (getattr(base, "id", None), getattr(base, "attr", None))
                   for base in node.bases)
    if not is_tuple and (not is_data or node.bases):
        return None
    return [item.target.id for item in node.body
            if type(item) is _ast.AnnAssign and type(item.target) is _ast.Name]


def positions_of(node, classes):
    """The names for the positions of a class pattern; ITSELF: it is the value; None: not known."""
    name = getattr(node.cls, "id", None)
    names = classes.get(name)
    if names is not None:
        return names if len(node.patterns) <= len(names) else None
    if name in SELF_MATCHING and name not in classes and len(node.patterns) == 1 and \
            not node.kwd_attrs and type(node.patterns[0]) is _ast.MatchAs and \
            node.patterns[0].pattern is None:
        return ITSELF
    return None


def is_listed(module, allow):
    """A private part of a listed module is not."""
    if "._" in module and not matches(module, allow):
        return False
    return bool(matches(module, LISTED) or matches(module, allow))


def unlisted_name(module, allow):
    """What to call a module that is not listed: the package, if nothing of it is."""
    top = module.partition(".")[0]
    if top in LISTED or any(entry.startswith(top + ".") for entry in (*LISTED, *allow)):
        return module
    return top


VISITORS = {getattr(_ast, name): getattr(Walk, name)
            for name in ("Import", "ImportFrom", "Name", "Attribute", "MatchClass", "Call")
            if hasattr(_ast, name)}


def analyse(tree, is_strict, policy, names=None):
    """The findings, from the first line to the last, and the modules it imports. `names`: what is
    known of earlier turns; those of this one are added."""
    walk = Walk(tree, is_strict, policy, Names() if names is None else names)
    for node in walk.nodes:
        visit = VISITORS.get(type(node))
        if visit:
            visit(walk, node)
    walk.findings.sort(key=lambda item: (item["line"], item["column"]))
    unique = []
    for item in walk.findings:
        if not unique or item != unique[-1]:
            unique.append(item)
    return unique, sorted(walk.imports)
