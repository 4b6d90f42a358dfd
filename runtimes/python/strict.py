# SPDX-License-Identifier: Apache-2.0
"""Holds a program of the profile `strict` to its lists while it runs.

What the analysis cannot see has to come through one of a few doors, and each has somebody at it:

- `import` gives facades: modules that hold the public names of the real ones and nothing that leads
  on. Only what is on the list can be had.
- Names that are looked up by text: getattr() and its sisters are checked ones; `.format`, `.__dict__`,
  `.__getattribute__` and private names of others are rewritten in the syntax tree to calls of a
  checked lookup (tree.py).
- The builtins that make code of text, or open files, are checked ones (texts.py, files.py).
- An audit hook, which nobody can take away again, refuses what all of that is for: files, processes,
  sockets, foreign memory, code objects (hook.py).

None of it is the wall. That is the cell.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import builtins
import sys
from opcode import opmap

guard = load("guard")
rules = load("rules")
ground = load("ground")
files = load("files")
tree = load("tree")
texts = load("texts")
hook = load("hook")
blocked, lookups, state, program_frame = (ground.blocked, ground.lookups, ground.state,
                                          ground.program_frame)
FORBIDDEN, REWRITTEN, REACHING = ground.FORBIDDEN, ground.REWRITTEN, ground.REACHING
rewrite, bound, hush, hide = tree.rewrite, tree.bound, ground.hush, ground.hide

BOUND, UNBOUND, UNBOUND_SLOT = type("".format), type(str.format), type(object.__setattr__)
NATIVE = (BOUND, UNBOUND, UNBOUND_SLOT, type("".__getattribute__))
# Of these modules a program gets no more than this.
ONLY = {
    "io": {"StringIO", "BytesIO", "SEEK_SET", "SEEK_CUR", "SEEK_END", "UnsupportedOperation", "open",
           "IOBase", "RawIOBase", "BufferedIOBase", "TextIOBase", "TextIOWrapper", "BufferedReader",
           "BufferedWriter", "BufferedRandom", "BufferedRWPair", "IncrementalNewlineDecoder",
           "DEFAULT_BUFFER_SIZE"},
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
           "uuid": {"getnode", "main"}, "contextlib": {"chdir"}}
# These look up names that they are given: from now on with our getattr().
LOOKING = {"functools": ("getattr", "setattr"), "dataclasses": ("getattr", "setattr"),
           "argparse": ("getattr", "setattr"), "reprlib": ("getattr", "setattr"), "copy": ("setattr",),
           "pprint": ("getattr",)}
# These open files that they are told, and give away the streams: from now on with the program's.
OPENING = {"argparse": "_sys", "shlex": "sys", "pprint": "_sys"}
# Functions written in C import these in the name of the program that calls them, and take them from
# sys.modules: so they are loaded, and the program gets an empty module.
HELPERS = frozenset(("_strptime", "copyreg", "warnings", "encodings", "locale", "traceback",
                     "linecache", "tokenize", "_pydecimal", "_pydatetime"))


# ---- the short road ------------------------------------------------------------------------------

# Names that are a reason to look at the syntax tree. What is not among them needs no other lookup.
HOLDERS = frozenset(("__builtins__", "__loader__", "__spec__"))  # as the name of anything
TELLING = FORBIDDEN | REWRITTEN | HOLDERS | {"__import__"}
BARE = frozenset(rules.OTHER)  # only where they are no attributes
BY_TEXT = frozenset((*rules.BY_NAME, "attrgetter", "methodcaller"))
IMPORT_FROM = opmap["IMPORT_FROM"]
IMPORT_NAME, LOAD_CONST, EXTENDED_ARG = opmap["IMPORT_NAME"], opmap["LOAD_CONST"], opmap["EXTENDED_ARG"]
STORES = tuple(opmap[name] for name in ("STORE_NAME", "STORE_GLOBAL", "STORE_ATTR"))
STORE_FAST = opmap["STORE_FAST"]
LOAD_NAME, LOAD_GLOBAL = opmap["LOAD_NAME"], opmap["LOAD_GLOBAL"]
GLOBAL_SHIFT = int(sys.version_info >= (3, 11))  # its lowest bit has another meaning since then
MATCH_CLASS = opmap.get("MATCH_CLASS", -1)  # -1: there are no patterns


def is_plain(code):
    """Whether nothing in a compiled program is a reason to look at its syntax tree: every name it uses
    is in the code. What the compiler left out, because it can never run, is not looked at."""
    block, allow = guard.policy.get("block", ()), guard.policy.get("allow", ())
    if any("." in name for name in block):
        return False  # `from a import b` may mean a.b
    codes, words, names, variables, has_from = [code], [], set(), set(), False
    for code in codes:
        names.update(code.co_names)
        variables.update(code.co_varnames, code.co_cellvars)
        instructions = code.co_code[::2]
        if MATCH_CLASS in instructions:
            return False
        if IMPORT_NAME in instructions:
            if not imports_plainly(code, instructions, allow, block):
                return False
            has_from = has_from or IMPORT_FROM in instructions
        for const in code.co_consts:
            kind = type(const)
            if kind is str:
                words.append(const)
            elif kind is type(code):
                codes.append(const)
            elif kind is tuple:
                some = [item for item in const if type(item) is str]
                if any(item[:1] == "_" for item in some):
                    return False  # of `from a import _b`, or of a pattern
                words += some
    if not TELLING.isdisjoint(names) or not HOLDERS.isdisjoint(variables):
        return False
    if has_from and not REACHING.isdisjoint(names):
        return False  # see checked_import() in tree.py
    if not BARE.isdisjoint(names) and not all(BARE.isdisjoint(loaded(code)) for code in codes):
        return False
    privates = {name for name in names if name[:1] == "_" and rules.is_private(name)}
    if privates and not stores(codes, privates):
        return False
    return BY_TEXT.isdisjoint(names) or not any(map(is_telling, words))


def is_telling(text):
    """Whether a lookup by this text, or a part of it, is to be seen before the program runs."""
    return "__" in text or any(part in TELLING or part in BARE or rules.is_private(part)
                               for part in text.split("."))


def imports_plainly(code, instructions, allow, block):
    """Whether all it imports is on the list."""
    text, at = code.co_code, instructions.find(IMPORT_NAME)
    while at >= 0:
        if at < 2 or instructions[at - 1] != LOAD_CONST or instructions[at - 2] != LOAD_CONST or \
                at > 2 and instructions[at - 3] == EXTENDED_ARG:
            return False  # numbers past 255, which take more instructions
        wanted = code.co_consts[text[2 * at - 1]]
        if wanted is None and instructions[at + 1] == IMPORT_FROM or wanted == ("*",):
            return False  # import a.b as c, from a import *
        module = code.co_names[text[2 * at + 1]]
        if code.co_consts[text[2 * at - 3]] != 0 or rules.matches(module, block) or \
                not rules.is_listed(module, allow):
            return False
        at = instructions.find(IMPORT_NAME, at + 1)
    return True


def numbers(code, instructions, instruction):
    """What follows each of these instructions."""
    text, at = code.co_code, instructions.find(instruction)
    while at >= 0:
        number = text[2 * at + 1]
        if at > 0 and instructions[at - 1] == EXTENDED_ARG:
            number |= text[2 * at - 1] << 8
        yield number
        at = instructions.find(instruction, at + 1)


def loaded(code):
    """The names that are looked up, where they are no attributes."""
    names, instructions = code.co_names, code.co_code[::2]
    if len(names) > 1 << 15:
        return names  # numbers of three bytes
    found = {names[number] for number in numbers(code, instructions, LOAD_NAME)}
    return found | {names[number >> GLOBAL_SHIFT] for number in numbers(code, instructions, LOAD_GLOBAL)}


def stores(codes, wanted):
    """Whether the program gives each of these names a value."""
    left = set(wanted)
    for code in codes:
        if left.isdisjoint(code.co_names) and left.isdisjoint(code.co_varnames):
            continue
        instructions = code.co_code[::2]
        for instruction in (*STORES, STORE_FAST):
            names = code.co_varnames if instruction == STORE_FAST else code.co_names
            left.difference_update([names[number] for number in numbers(code, instructions, instruction)
                                    if number < len(names)])
        if not left:
            return True
    return False


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


def tame_format(real):
    """str.format or its like, bound to a text or not; and that of collections.UserString, which calls
    it unseen."""
    function = builtins.getattr(real, "__func__", real)
    if type(function) is type(load) and is_of_user_string(function):
        own = str.format if function.__name__ == "format" else str.format_map

        def format(owner, *args, **kwargs):
            text = builtins.str(owner)
            check_fields(text)
            return own(text, *args, **kwargs)
        return format if real is function else format.__get__(real.__self__)
    if type(real) is BOUND and isinstance(real.__self__, str):
        text = real.__self__

        def format(*args, **kwargs):
            check_fields(text)
            return real(*args, **kwargs)
    elif type(real) is UNBOUND and real.__objclass__ is str:
        def format(text, *args, **kwargs):
            check_fields(text)
            return real(text, *args, **kwargs)
    else:
        return real  # the program's own
    return format


def is_of_user_string(function):
    """By what it is, not by what it is called."""
    module = sys.modules.get("collections") or shelved("collections")
    names = module.UserString.__dict__ if module is not None else {}
    return function is names.get("format") or function is names.get("format_map")


def tame_object(owner, real):
    """An AttributeError has what had no such attribute, also when that was the library's."""
    if isinstance(owner, AttributeError) and not tree.is_programs(real):
        raise blocked("attribute", "obj", AttributeError)
    return real


def tame_state(real):
    """That of a class or module is its namespace as it is."""
    if type(real) not in NATIVE:
        return real

    def __getstate__(*args):
        for item in (*args[:1], builtins.getattr(real, "__self__", None)):
            if isinstance(item, (type, type(sys))):
                raise blocked("attribute", "__getstate__", AttributeError)
        return real(*args)
    return __getstate__


def tame_namespace(owner, real):
    """That of a class or module without what leads on; that of an object is its own."""
    if isinstance(owner, (type, type(sys))) or type(real) is type(type.__dict__):
        return {name: value for name, value in real.items()
                if not (isinstance(name, str) and (name in FORBIDDEN or name in REWRITTEN))
                and not isinstance(value, type(sys))}
    return real


def tame_lookup(real):
    """__getattribute__, __setattr__ or __delattr__, bound or not: its name comes after the object."""
    bound = builtins.getattr(real, "__self__", None)
    is_bound = bound is not None and not isinstance(real, UNBOUND_SLOT)
    at = 0 if is_bound else 1

    def __getattribute__(*args):
        if len(args) > at:
            args = (*args[:at], check_name(args[at]), *args[at + 1:])
        value = real(*args)
        if len(args) == at + 1:
            value = tame(bound if is_bound else args[0], args[at], value)
        return value
    return __getattribute__


def tame(owner, name, real):
    """What may be had of what was found by a name that needs a look."""
    if name in ("format", "format_map"):
        return tame_format(real)
    if name == "__dict__":
        return tame_namespace(owner, real)
    if name == "obj":
        return tame_object(owner, real)
    if name == "__getstate__":
        return tame_state(real)
    if name in REWRITTEN and type(real) in NATIVE:
        return tame_lookup(real)
    return real


def make_lookups():
    own_getattr, own_setattr = builtins.getattr, builtins.setattr
    own_delattr = builtins.delattr
    missing = object()

    def getattr(object, name, default=missing, /):
        name = check_name(name)
        if default is missing:
            return tame(object, name, own_getattr(object, name))
        return tame(object, name, own_getattr(object, name, default))

    def hasattr(object, name, /):
        try:
            own_getattr(object, check_name(name))
        except AttributeError:
            return False
        return True

    def setattr(object, name, value, /):
        return own_setattr(object, check_name(name), value)

    def delattr(object, name, /):
        return own_delattr(object, check_name(name))

    def vars(*args):
        if args:
            return getattr(args[0], "__dict__")
        return program_frame().f_locals

    return {"getattr": getattr, "hasattr": hasattr, "setattr": setattr, "delattr": delattr,
            "vars": vars}


# ---- modules -------------------------------------------------------------------------------------


class Stream:
    """A standard stream without the file it writes to."""

    __slots__ = ("write", "read", "readline", "readlines", "writelines", "flush", "isatty", "name",
                 "encoding", "errors")

    def __init__(self, name):
        if type(name) is not str or name not in ("stdin", "stdout", "stderr"):
            raise ValueError("there is no such stream")

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


def make_redirect(name):
    """contextlib's is a class that looks up any name of sys, when a subclass says so."""
    class Redirect:
        __slots__ = ("_target", "_old")

        def __init__(self, target):
            self._target, self._old = target, []

        def __enter__(self):
            self._old.append(Stream(name))
            kept.append(getattr(sys, name))
            setattr(sys, name, self._target)
            return self._target

        def __exit__(self, *_error):
            setattr(sys, name, kept.pop())

    kept = []
    Redirect.__name__ = Redirect.__qualname__ = "redirect_" + name
    return Redirect


class cached_property:
    """functools' looks for any name in the namespace of anything."""

    def __init__(self, func):
        self.func, self.attrname, self.__doc__ = func, None, func.__doc__

    def __set_name__(self, owner, name):
        if self.attrname is None:
            self.attrname = name
        elif name != self.attrname:
            raise TypeError("Cannot assign the same cached_property to two different names (%r and %r)."
                            % (self.attrname, name))

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        if self.attrname is None:
            raise TypeError("Cannot use cached_property instance without calling __set_name__ on it.")
        kept = lookups["getattr"](instance, "__dict__", None)
        if type(kept) is not dict:
            raise TypeError("No '__dict__' attribute on %r instance to cache %r property."
                            % (type(instance).__name__, self.attrname))
        if self.attrname not in kept:
            kept[self.attrname] = self.func(instance)
        return kept[self.attrname]

    __class_getitem__ = classmethod(type(list[int]))


def typing_getattr(owner, name, *default):
    """typing's, which has its own use for the names of a function: it evaluates text there, with ours."""
    return (getattr if name == "__globals__" else lookups["getattr"])(owner, name, *default)


def names_of(thing):
    """Where the words of an annotation are looked up: in names that are no module's."""
    while hasattr(thing, "__wrapped__"):
        thing = thing.__wrapped__
    names = getattr(thing, "__globals__", None)
    return names if type(names) is dict and "__spec__" not in names else state.names


def get_type_hints(obj, globalns=None, localns=None, include_extras=False):
    """typing's hands the names of any module to whatever calls itself a reference."""
    typing = sys.modules["typing"]
    return typing.own_type_hints(obj, names_of(obj) if globalns is None else globalns, localns,
                                 include_extras)


def compose_mro(cls, types):
    """functools compares all subclasses of a class with the ancestors of another, as that one tells
    them: it must not be the program who tells."""
    real_mro, real_dict = type.__dict__["__mro__"].__get__, type.__dict__["__dict__"].__get__
    for kind in real_mro(type(cls)):
        if kind is type or kind is object:
            continue
        if not {"__mro__", "__getattribute__"}.isdisjoint(real_dict(kind)):
            raise blocked("attribute", "__mro__", AttributeError)
    return sys.modules["functools"].own_compose_mro(cls, types)


INSTEAD = {("typing", "get_type_hints"): get_type_hints, ("io", "open"): files.open,
           ("functools", "cached_property"): cached_property,
           ("operator", "attrgetter"): attrgetter, ("operator", "methodcaller"): methodcaller,
           ("contextlib", "redirect_stdout"): make_redirect("stdout"),
           ("contextlib", "redirect_stderr"): make_redirect("stderr")}


def is_foreign(module, value):
    """Whether a class or function is only there because the module imported it for itself."""
    home = getattr(value, "__module__", None)
    if not isinstance(value, (type, type(load))) or type(home) is not str:
        return False
    return home.partition(".")[0].strip("_") not in (module.partition(".")[0].strip("_"), "builtins")


def shelved(name):
    """A module that a template has and nobody asked for yet."""
    shelf = load.__globals__["parts"].get("shelf")
    return shelf.modules.get(name) if shelf else None


def public_parts(name, real):
    """What a program may have of a module: the names that lead nowhere, and those of modules in it."""
    listed = real.get("__all__", ())
    public = {key for key in real if not key.startswith("_")} | set(listed)
    public &= ONLY.get(name, public)
    plain, inner = {}, []
    for key in public - WITHOUT.get(name, set()):
        value = real.get(key)
        if isinstance(value, type(sys)):
            inner.append(key)
        elif key in listed or not is_foreign(name, value):
            plain[key] = INSTEAD.get((name, key), value)
    return plain, inner


def refusal(module, real):
    """What a program hears that asks for more than it was given."""
    has = real.__contains__

    def __getattr__(name):
        if has(name) and not name.startswith("__"):
            raise blocked("attribute", "%s.%s" % (module, name), AttributeError)
        raise AttributeError("module %r has no attribute %r" % (module, name))
    return __getattr__


def fill(facade, name, real, plain, inner):
    facade.__dict__.update(plain)
    facade.__dict__.update(inner)
    if "__all__" in real:
        facade.__dict__["__all__"] = [key for key in real["__all__"] if key in facade.__dict__]
    facade.__dict__["__getattr__"] = refusal(name, real)


ready = {}  # facades that were made before there was a program, for the list as it is


def prepare(shelf):
    """In a template: of the modules on the list that it has."""
    for name in rules.LISTED - {"sys"}:
        make_ready(name, shelf)


def make_ready(name, shelf):
    module = shelf.modules.get(name) or sys.modules.get(name)
    if name in ready or module is None:
        return ready.get(name)
    facade = ready[name] = type(sys)(name, module.__doc__)
    inner = {}
    for whole in shelf.all_for(name):  # what importing it brings, not what others have brought
        package, _, key = whole.rpartition(".")
        if package == name and not key.startswith("_") and shelf.holders.get(whole, ("", None))[1]:
            inner[key] = make_ready(whole, shelf)
    fill(facade, name, module.__dict__, public_parts(name, module.__dict__)[0], inner)
    return facade


class Modules:
    """The facades of one program."""

    def __init__(self, allow, block):
        self.allow, self.block = frozenset(allow), frozenset(block)
        self.facades = {} if allow or block else dict(ready)

    def is_granted(self, name):
        """Allowed by whoever runs the program: such a module comes as it is."""
        return bool(rules.matches(name, self.allow))

    def may_import(self, name):
        return not rules.matches(name, self.block) and rules.is_listed(name, self.allow)

    def facade(self, name):
        facade = self.facades.get(name)
        if facade is None:
            facade = self.facades[name] = type(sys)(name, sys.modules[name].__doc__)
            real = sys.modules[name].__dict__
            plain, inner = public_parts(name, real)
            if name == "sys":
                plain.update({key: Stream(key) for key in ("stdin", "stdout", "stderr")})
                plain["argv"] = list(sys.argv)
                plain["implementation"] = type(sys.implementation)(**vars(sys.implementation))
            fill(facade, name, real, plain, self.inner_facades(name, real, inner))
        return facade

    def inner_facades(self, name, real, keys):
        made = {}
        for key in keys:
            whole = "%s.%s" % (name, key)
            if sys.modules.get(whole) is real[key] and self.may_import(whole):
                made[key] = self.facade(whole)
        return made

    def load(self, name):
        hook.bring(name)
        if name in ("functools", "typing", "dataclasses"):
            self.tame_library()
        for key in LOOKING.get(name, ()):
            sys.modules[name].__dict__[key] = lookups[key]
        if name in OPENING:
            sys.modules[name].__dict__.update({"open": files.open, OPENING[name]: self.facade("sys")})

    def tame_library(self):
        """What these evaluate is made of the program's text."""
        typing = sys.modules.get("typing") or shelved("typing") or hook.bring("typing")
        typing.eval, typing.getattr = texts.library_eval, typing_getattr
        if typing.get_type_hints is not get_type_hints:
            typing.own_type_hints, typing.get_type_hints = typing.get_type_hints, get_type_hints
        functools = sys.modules.get("functools")
        if functools is not None and functools._compose_mro is not compose_mro:
            functools.own_compose_mro, functools._compose_mro = functools._compose_mro, compose_mro
        if "dataclasses" in sys.modules:
            sys.modules["dataclasses"].exec = texts.library_exec

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
            named = rules.matches(name, self.block) or rules.unlisted_name(name, self.allow)
            error = blocked("import", named, ImportError)
            error.name = name
            raise error
        for whole in wanted:
            self.load(whole)
        top, module = self.top(name)
        for whole in wanted:
            self.top(whole)
        if not fromlist:
            return top
        for item in fromlist:
            self.load_inner(name, item, module)
        return module if self.is_granted(name) or "*" in fromlist else self.parcel(module, name, fromlist)

    def parcel(self, module, name, fromlist):
        """A module with all that was asked for, which nobody else has: what is not there is looked for
        in sys.modules."""
        parcel = type(sys)(name)
        parcel.__dict__.update(module.__dict__)
        for item in fromlist:
            if type(item) is not str:
                raise TypeError("Item in ``from list'' must be str, not %s" % type(item).__name__)
            try:
                parcel.__dict__[item] = lookups["getattr"](module, item)
            except AttributeError as error:
                words = str(error)
            else:
                continue
            if not words.startswith("Security policy"):
                words = "cannot import name %r from %r (unknown location)" % (item, name)
            raise ImportError(words, name=name)
        return parcel

    def module(self, name):
        """What `import a.b as c` binds."""
        self.import_(name)
        return self.top(name)[1]

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


def make_plain_builtins():
    """All but what imports."""
    made = {name: value for name, value in builtins.__dict__.items()
            if name not in ("__loader__", "__spec__")}
    made.update({name: refuse(name) for name in rules.OTHER if name in made})
    made.update(lookups)
    made.update({name: getattr(texts, name) for name in REACHING - {"vars"}})
    made["open"], made[tree.PATTERNS] = files.open, tree.Patterns()
    made["display"] = load.__globals__["display"]  # an interpreter of its own gets it later
    return made


def make_builtins(modules, made):
    import_ = modules.import_

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        return import_(name, globals, locals, fromlist, level)
    made["__import__"] = __import__
    return made


def plainly_compiled(source, path="<string>", run=exec):
    """core.py has a way that traces, which the hook would take for the program's."""
    return compile(source, path, run.__name__, 0, True)


REHEARSED = b"""
import math
class A:
    _b = 1
    def c(self):
        return self._b
print(getattr(A(), 'c')(), math.pi)
"""


class prepared:
    builtins = None  # the program's, as far as they were made before there was one


def rehearse():
    """Until the interpreter has learnt what is looked up where: a guest need not copy the pages."""
    code = compile(REHEARSED, "<rehearsal>", "exec", 0, True)
    for _ in range(20):
        is_plain(code)
        equip(type(sys)("__main__"))
        state.modules.parcel(type(sys)("rehearsal"), "rehearsal", ("__name__",))
        hook.hook("rehearsal", ())
    state.modules = state.builtins = state.names = None
    prepared.builtins = make_plain_builtins()


def equip(main):
    """The program's module has what the lists allow. Before its function is made, which looks where
    its builtins are only then."""
    policy = guard.policy
    if not lookups:
        lookups.update(make_lookups())
    state.modules = Modules(policy.get("allow", ()), policy.get("block", ()))
    made = make_plain_builtins() if prepared.builtins is None else dict(prepared.builtins)
    state.builtins = main.__dict__["__builtins__"] = make_builtins(state.modules, made)
    main.__dict__["__loader__"] = None
    state.names = main.__dict__


def run(code, names):
    """Runs a turn of a session: whatever was done to its names, with its own builtins."""
    return texts.run(builtins.eval, code, names, names)


def enforce(main, path):
    """The last thing before the program: from here on the hook is there."""
    home = sys.path[0] if sys.path else None
    if home is not None and home in ("", path.rpartition("/")[0]):
        del sys.path[0]  # a file beside the program must not pass for the library's
        if state.modules.allow:
            sys.meta_path.append(hook.Beside(home))
    state.path = path
    for part in ("values", "failure"):  # what is needed when the program has ended
        load(part)
    load.__globals__["compiled"] = plainly_compiled
    sys.addaudithook(hook.hook)
