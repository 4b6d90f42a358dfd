# SPDX-License-Identifier: Apache-2.0
"""Holds a program of the profile `strict` to its lists while it runs.

What the analysis cannot see has to come through one of a few doors, and each has somebody at it:

- `import` gives facades: modules that hold the public names of the real ones and nothing that leads
  on. Only what is on the list can be had.
- Names that are looked up by text: getattr() and its sisters are checked ones; `.format`, `.__dict__`
  and `.__getattribute__` are rewritten in the syntax tree to calls of a checked lookup.
- The builtins that make code of text, or open files, are not there.
- An audit hook, which nobody can take away again, refuses what all of that is for: files, processes,
  sockets, foreign memory, code objects.

None of it is the wall. That is the cell.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import _ast
import builtins
import sys

guard = load("guard")
rules = load("rules")

FORBIDDEN = guard.TRAVERSAL | guard.FRAMES | guard.GADGETS
LOOKUP = "hotcell: lookup"  # no program can write such a name
REWRITTEN = frozenset(("format", "format_map", "__dict__", "__getattribute__"))
# Of these modules a program gets no more than this.
ONLY = {
    "io": {"StringIO", "BytesIO", "SEEK_SET", "SEEK_CUR", "SEEK_END", "UnsupportedOperation"},
    "types": {"SimpleNamespace", "MappingProxyType", "GenericAlias", "NoneType", "NotImplementedType",
              "EllipsisType", "DynamicClassAttribute", "new_class", "prepare_class", "resolve_bases",
              "UnionType", "GeneratorType", "CoroutineType", "AsyncGeneratorType", "LambdaType",
              "BuiltinFunctionType", "MethodType", "TracebackType"},
    "sys": {"argv", "byteorder", "copyright", "exit", "float_info", "float_repr_style", "getdefaultencoding",
            "getrecursionlimit", "getrefcount", "getsizeof", "hash_info", "hexversion", "int_info",
            "intern", "maxsize", "maxunicode", "platform", "setrecursionlimit", "version",
            "version_info", "implementation", "exc_info", "get_int_max_str_digits",
            "set_int_max_str_digits", "thread_info", "api_version", "executable"},
}
# And of these not that: they evaluate text, or change other modules.
WITHOUT = {"string": {"Formatter"}, "enum": {"global_enum", "global_enum_repr"},
           "uuid": {"getnode", "main"}, "types": {"LambdaType"}, "contextlib": {"chdir"}}
# Functions written in C import these in the name of the program that calls them, and take them from
# sys.modules: so they are loaded, and the program gets an empty module.
HELPERS = frozenset(("_strptime", "copyreg", "warnings", "encodings", "locale", "traceback",
                     "linecache", "tokenize", "_pydecimal", "_pydatetime"))
# What is refused by the audit hook, by the beginning of the event.
REFUSED = (
    "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "tempfile.", "glob.", "fcntl.", "mmap.",
    "pty.", "signal.", "resource.", "syslog.", "sqlite3.", "urllib.", "http.", "ftplib.", "smtplib.",
    "poplib.", "imaplib.", "nntplib.", "telnetlib.", "webbrowser.", "gc.", "cpython.run_",
    "code.__new__", "function.__new__", "marshal.", "pickle.", "sys.settrace", "sys.setprofile",
    "sys.addaudithook", "sys._current_", "sys.unraisablehook", "setopencodehook", "_winapi.")
# And these only of the program itself: the library does them for it.
REFUSED_DIRECTLY = ("exec", "compile", "object.__getattr__", "object.__setattr__",
                    "object.__delattr__", "sys._getframe", "import")
OURS = ("hotcell", "importlib._bootstrap", "importlib._bootstrap_external")
TOLD_MAX = 16


class state:
    modules = None
    told = 0  # refusals that were said
    importing = 0  # a module of the list is being loaded
    is_looking = False  # the audit hook asks who it was


def blocked(kind, what, error):
    """Says that something was refused, and makes the exception that the program gets."""
    if state.told < TOLD_MAX:
        state.told += 1
        send(load("values").to_json({"event": "refused", "kind": kind, "name": str(what)[:200]}))
    return error("Security policy blocked %s: %s" % (kind, what))


# ---- the syntax tree -----------------------------------------------------------------------------


def lookup_call(node):
    place = {"lineno": node.lineno, "col_offset": node.col_offset}
    if hasattr(node, "end_lineno"):
        place.update(end_lineno=node.end_lineno, end_col_offset=node.end_col_offset)
    return _ast.Call(func=_ast.Name(id=LOOKUP, ctx=_ast.Load(), **place),
                     args=[node.value, _ast.Constant(value=node.attr, **place)], keywords=[], **place)


def is_rewritten(node):
    return (type(node) is _ast.Attribute and node.attr in REWRITTEN
            and type(node.ctx) is _ast.Load)


def rewrite(tree, path):
    """The code of the tree, with the lookups that need it going through ours."""
    stack = [tree]
    while stack:
        node = stack.pop()
        for name in node._fields:
            value = getattr(node, name, None)
            if is_rewritten(value):
                value = lookup_call(value)
                setattr(node, name, value)
            if type(value) is list:
                for i, item in enumerate(value):
                    if is_rewritten(item):
                        value[i] = item = lookup_call(item)
                    if isinstance(item, _ast.AST):
                        stack.append(item)
            elif isinstance(value, _ast.AST):
                stack.append(value)
    return compile(tree, path, "exec", 0, True)


# ---- looking up by name --------------------------------------------------------------------------


def check_name(name):
    if type(name) is not str:
        if not isinstance(name, str):
            return name  # the real one has the right words
        name = str.__str__(name)  # what a subclass says it is would be asked twice
    if name in FORBIDDEN:
        raise blocked("attribute", name, AttributeError)
    return name


def check_fields(text):
    for name in rules.field_names(str.__str__(text)):
        if name.startswith("__") or name in FORBIDDEN:
            raise blocked("attribute", name, AttributeError)


def format_of(owner, name, own_getattr):
    """str.format or its like, bound to a text or not."""
    real = own_getattr(owner, name)
    if not (isinstance(owner, str) or isinstance(owner, type) and issubclass(owner, str)):
        return real
    if isinstance(owner, str):
        if own_getattr(type(owner), name) is not own_getattr(str, name):
            return real

        def format(*args, **kwargs):
            check_fields(owner)
            return real(*args, **kwargs)
    else:
        if real is not own_getattr(str, name):
            return real

        def format(text, *args, **kwargs):
            check_fields(text)
            return real(text, *args, **kwargs)
    return format


def names_of(owner, real):
    """The namespace of a class or module without what leads on; that of an object is its own."""
    if isinstance(owner, (type, type(sys), type(load), type(len))):
        return {name: value for name, value in real.items()
                if name not in FORBIDDEN and not isinstance(value, type(sys))
                and not (isinstance(name, str) and name in REWRITTEN)}
    return real


def make_lookups(main):
    own_getattr, own_setattr = builtins.getattr, builtins.setattr
    own_delattr = builtins.delattr
    missing = object()

    def lookup(owner, name):
        if name in ("format", "format_map"):
            return format_of(owner, name, own_getattr)
        if name == "__dict__":
            return names_of(owner, own_getattr(owner, name))
        real = own_getattr(owner, name)

        def __getattribute__(*args):
            args = (*args[:-1], check_name(args[-1])) if args else args
            return real(*args)
        return __getattribute__

    def getattr(object, name, default=missing, /):
        name = check_name(name)
        if name in REWRITTEN:
            try:
                return lookup(object, name)
            except AttributeError:
                if default is missing:
                    raise
                return default
        if default is missing:
            return own_getattr(object, name)
        return own_getattr(object, name, default)

    def hasattr(object, name, /):
        try:
            getattr(object, name)
        except AttributeError:
            return False
        return True

    def setattr(object, name, value, /):
        return own_setattr(object, check_name(name), value)

    def delattr(object, name, /):
        return own_delattr(object, check_name(name))

    def vars(*args):
        if args:
            return lookup(args[0], "__dict__")
        return sys._getframe(1).f_locals

    return {"getattr": getattr, "hasattr": hasattr, "setattr": setattr, "delattr": delattr,
            "vars": vars, LOOKUP: lookup}


# ---- modules -------------------------------------------------------------------------------------


class Stream:
    """A standard stream without the file it writes to."""

    __slots__ = ("write", "read", "readline", "readlines", "writelines", "flush", "isatty", "name",
                 "encoding", "errors", "_lines")

    def __init__(self, name):
        def method(which):
            return lambda *args: getattr(getattr(sys, name), which)(*args)
        for which in ("write", "read", "readline", "readlines", "writelines", "flush", "isatty"):
            setattr(self, which, method(which))
        real = getattr(sys, name)
        self.name, self.encoding, self.errors = "<%s>" % name, real.encoding, real.errors

    def __iter__(self):
        return iter(self.readline, "")

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        pass


def attrgetter(*names):
    """operator.attrgetter, each name checked when it is looked up."""
    lookups = load("strict").lookups

    def find(value, path):
        for name in path.split("."):
            value = lookups["getattr"](value, name)
        return value

    for name in names:
        if not isinstance(name, str):
            raise TypeError("attribute name must be a string")
    if len(names) == 1:
        return lambda value: find(value, names[0])
    return lambda value: tuple([find(value, name) for name in names])


def methodcaller(name, /, *args, **kwargs):
    lookups = load("strict").lookups
    return lambda value: lookups["getattr"](value, name)(*args, **kwargs)


INSTEAD = {("operator", "attrgetter"): attrgetter, ("operator", "methodcaller"): methodcaller}


class Modules:
    """The facades of one program."""

    def __init__(self, allow, block, eval):
        self.allow, self.block = frozenset(allow), frozenset(block)
        self.facades = {}
        self.real_import = builtins.__import__
        self.eval = eval

    def is_granted(self, name):
        """Allowed by whoever runs the program: such a module comes as it is."""
        return bool(rules.matches(name, self.allow))

    def may_import(self, name):
        return not rules.matches(name, self.block) and rules.is_listed(name, self.allow)

    def facade(self, name):
        facade = self.facades.get(name)
        if facade is None:
            facade = self.facades[name] = type(sys)(name, sys.modules[name].__doc__)
            facade.__dict__.update(self.contents(name))
        return facade

    def contents(self, name):
        real = sys.modules[name].__dict__
        public = {key for key in real if not key.startswith("_")} | set(real.get("__all__", ()))
        public &= ONLY.get(name, public)
        made = {}
        for key in public - WITHOUT.get(name, set()):
            value = real.get(key)
            if isinstance(value, type(sys)):
                whole = "%s.%s" % (name, key)
                if sys.modules.get(whole) is value and self.may_import(whole):
                    made[key] = self.facade(whole)
                continue
            made[key] = INSTEAD.get((name, key), value)
        if name == "sys":
            made.update({key: Stream(key) for key in ("stdin", "stdout", "stderr")})
            made["argv"] = list(sys.argv)
        if "__all__" in real:
            made["__all__"] = [key for key in real["__all__"] if key in made]
        return made

    def load(self, name):
        state.importing += 1
        try:
            self.real_import(name)
        finally:
            state.importing -= 1
        typing = sys.modules.get("typing")
        if typing is not None:
            typing.eval = self.eval

    def top(self, name):
        """What `import a.b` binds: a, with b in it."""
        parts = name.split(".")
        if not self.may_import(parts[0]) and parts[0] not in self.facades:
            self.facades[parts[0]] = type(sys)(parts[0])
        top = module = self.given(parts[0])
        for i in range(1, len(parts)):
            inner = self.given(".".join(parts[:i + 1]))
            if module is not sys.modules.get(".".join(parts[:i])):
                setattr(module, parts[i], inner)
            module = inner
        return top, module

    def given(self, name):
        if self.is_granted(name):
            return sys.modules[name]
        return self.facade(name)

    def wanted(self, name, fromlist):
        """The modules that the statement needs, None when it may not have one of them."""
        if self.may_import(name):
            return [name]
        wholes = ["%s.%s" % (name, item) for item in fromlist or ()]
        return wholes if wholes and all(map(self.may_import, wholes)) else None

    def import_(self, name, globals=None, locals=None, fromlist=(), level=0):
        if level or type(name) is not str:
            raise ImportError("attempted relative import with no known parent package")
        wanted = self.wanted(name, fromlist)
        if wanted is None and name in HELPERS and not rules.matches(name, self.block):
            self.load(name)
            return type(sys)(name)
        if wanted is None:
            named = rules.matches(name, self.block) or name
            top = named.partition(".")[0]
            if not any(entry.startswith(top + ".") for entry in (*rules.LISTED, *self.allow)):
                named = top
            error = blocked("import", named, ImportError)
            error.name = name
            raise error
        for whole in wanted:
            self.load(whole)
        top, module = self.top(name)
        for whole in wanted:
            self.top(whole)
        for item in fromlist or ():
            self.load_inner(name, item, module)
        return module if fromlist else top

    def load_inner(self, name, item, module):
        """`from collections import abc` may name a module that is not loaded yet."""
        whole = "%s.%s" % (name, item)
        if type(item) is str and item.isidentifier() and not hasattr(module, item) and \
                self.may_import(whole) and not item.startswith("_"):
            try:
                self.load(whole)
            except ImportError:
                return
            if whole in sys.modules:
                setattr(module, item, self.given(whole))


# ---- builtins ------------------------------------------------------------------------------------


def refuse(name):
    def refused(*_args, **_kwargs):
        raise blocked("builtin", name, PermissionError)
    refused.__name__ = refused.__qualname__ = name
    return refused


def make_builtins(modules, lookups):
    made = {name: value for name, value in builtins.__dict__.items()
            if name not in ("__loader__", "__spec__")}
    made.update({name: refuse(name) for name in rules.RESTRICTED if name in made})
    made.update(lookups)
    import_ = modules.import_

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        return import_(name, globals, locals, fromlist, level)
    made["__import__"] = __import__
    return made


# ---- the audit hook ------------------------------------------------------------------------------


def library_places():
    """What may be read: the interpreter's own files, which are no secret."""
    places = ["/run/hotcell/", "/usr/share/zoneinfo/", "/usr/lib/python3", "/usr/lib/locale/"]
    places += [place + "/" for place in (sys.prefix, sys.base_prefix) if place not in ("/usr", "/")]
    return tuple(places)


def make_hook(main, path, modules):
    places = library_places()
    globals_of_main, getframe = main.__dict__, sys._getframe
    granted = modules.allow

    def is_read(args):
        name, _mode, flags = (*args, None, None, None)[:3]
        if isinstance(name, bytes):
            name = name.decode("utf-8", "replace")
        is_reading = isinstance(flags, int) and flags & 3 == 0
        return (is_reading and isinstance(name, str) and ".." not in name
                and (name.startswith(places) or name == path))

    def asker(frame):
        """Whose doing it is: "program", "ours", "granted" or "library"."""
        first = True
        while frame is not None:
            names = frame.f_globals
            if names is globals_of_main:
                return "program" if first else "library"
            name = names.get("__name__")
            if first and name in OURS:
                return "ours"
            if granted and isinstance(name, str) and rules.matches(name, granted):
                return "granted"
            first = False
            frame = frame.f_back
        return "library"

    def hook(event, args):
        if state.importing or state.is_looking:
            return
        is_open = event == "open"
        if not is_open and not event.startswith(REFUSED) and event not in REFUSED_DIRECTLY:
            return
        if is_open and is_read(args):
            return
        state.is_looking = True
        try:
            who = asker(getframe(1))
        finally:
            state.is_looking = False
        if who == "ours" or who == "granted":
            return
        if event in REFUSED_DIRECTLY and who != "program":
            return
        if event == "import":
            return
        name = event
        if event == "object.__getattr__" and len(args) > 1:
            name = args[1]
        raise blocked("operation", name, PermissionError)

    return hook


lookups = {}


def plainly_compiled(source, path="<string>", run=exec):
    """core.py has a way that traces, which the hook would take for the program's."""
    return compile(source, path, run.__name__, 0, True)


def make_eval(main):
    """What the library evaluates for a program, annotations above all, is the program's text: it is
    held to the same names, wherever the library was told to look them up."""
    own_eval, names_of_main = builtins.eval, main.__dict__

    def eval(code, globals=None, locals=None):
        if type(code) is str:
            code = compile(code, "<annotation>", "eval", 0, True)
        for name in code.co_names:
            if name.startswith("_") or name in FORBIDDEN or name in REWRITTEN:
                raise blocked("attribute", name, AttributeError)
        if globals is not names_of_main:
            globals = {"__builtins__": names_of_main["__builtins__"]}
        return own_eval(code, globals, locals)
    return eval


def equip(main):
    """The program's module has what the lists allow. Before its function is made, which looks where
    its builtins are only then."""
    policy = guard.policy
    lookups.update(make_lookups(main))
    state.modules = Modules(policy.get("allow", ()), policy.get("block", ()), make_eval(main))
    main.__dict__["__builtins__"] = make_builtins(state.modules, lookups)
    main.__dict__["__loader__"] = None


def enforce(main, path):
    """The last thing before the program: from here on the hook is there."""
    home = sys.path[0] if sys.path else None
    if home is not None and home in ("", path.rpartition("/")[0]):
        sys.path.append(sys.path.pop(0))  # a file beside the program must not pass for the library's
    for part in ("values", "failure"):  # what is needed when the program has ended
        load(part)
    load.__globals__["compiled"] = plainly_compiled
    sys.addaudithook(make_hook(main, path, state.modules))
