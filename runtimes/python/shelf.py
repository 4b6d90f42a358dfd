# SPDX-License-Identifier: Apache-2.0
"""Modules that are loaded but not there yet.

A template loads modules ahead, yet a program must find what it would find in an interpreter of its
own: sys.modules without them, no attribute of a package for a module that nobody imported, none of
their exit handlers. So they are put on a shelf. The first import of one takes it from there, with
everything that loading it would have brought: what each module asked for was recorded when it was
loaded. From then on it is a module like any other.

Modules from outside the standard library are hundreds, and whoever chooses a template that has them
will import them: moving so many would take longer than all the rest of a short program. They, and
what they need, stay where they are.

A program's own file may have the name of a module on the shelf, or of one that such a module needs.
Then the shelf is not used: the usual road leads to the right one.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import _warnings
import builtins
import os
import sys
from _frozen_importlib import BuiltinImporter, FrozenImporter, ModuleSpec

import _frozen_importlib as bootstrap

modules = {}  # name -> module
needs = {}  # name -> names that loading it asked for
places = {}  # name -> its turn: the order in which they were done
holders = {}  # name -> the package that has it as an attribute, and whether that is so
effects = {}  # name -> what to do when it appears
tops = set()  # names without a dot, of modules that files can hide
stock = []  # the interpreter's own part of sys.path
exits = []  # exit handlers of what stays, with their arguments
known = set()  # names of modules that are the template's, taken or not


class taken:
    count = 0  # modules that are there, of those that are known


# ---- filling -------------------------------------------------------------------------------------


class Recorder:
    """Records who needs whom while modules are loaded, and what they do beside that."""

    def __init__(self):
        import atexit
        self.stack = []
        self.filters = list(_warnings.filters)
        self.is_over = False
        self.atexit = atexit
        self.own_import = builtins.__import__
        self.own_load = bootstrap._load_unlocked
        self.own_register = atexit.register

    def __enter__(self):
        builtins.__import__ = self.import_
        bootstrap._load_unlocked = self.load
        self.atexit.register = self.register
        return self

    def __exit__(self, *_error):
        self.is_over = True
        builtins.__import__ = self.own_import
        bootstrap._load_unlocked = self.own_load
        self.atexit.register = self.own_register
        _warnings.filters[:] = self.filters
        _warnings._filters_mutated()

    def note(self, name):
        if self.stack:
            needs.setdefault(self.stack[-1], set()).add(name)

    def effect(self, action, *args, **kwargs):
        if self.stack:
            effects.setdefault(self.stack[-1], []).append((action, args, kwargs))

    def import_(self, name, globals=None, locals=None, fromlist=(), level=0):
        module = self.own_import(name, globals, locals, fromlist, level)
        if self.stack:
            if level:
                name = bootstrap._resolve_name(name, bootstrap._calc___package__(globals), level)
            self.note(name)
            for item in fromlist or ():
                if "%s.%s" % (name, item) in sys.modules:
                    self.note("%s.%s" % (name, item))
        return module

    def load(self, spec):
        before = set(sys.modules)
        filters = list(_warnings.filters)
        self.note(spec.name)
        self.stack.append(spec.name)
        try:
            return self.own_load(spec)
        finally:
            # also what put itself there without being loaded
            for name in sys.modules.keys() - before:
                self.note(name)
                places.setdefault(name, len(places))
            for item in reversed(_warnings.filters):
                if item not in filters:
                    self.effect(add_filter, item)
            self.stack.pop()

    def register(self, function, *args, **kwargs):
        if self.is_over or not self.stack:
            return self.own_register(function, *args, **kwargs)
        self.effect(register, function, *args, **kwargs)
        return function


def register(function, *args, **kwargs):
    import atexit
    atexit.register(function, *args, **kwargs)


def add_filter(item):
    if item not in _warnings.filters:
        _warnings.filters.insert(0, item)
        _warnings._filters_mutated()


def fill(names, parts):
    """Loads what is there of these modules, and parts of the runner."""
    with Recorder():
        for part in parts:
            load(part)
        for name in names:
            before = set(sys.modules)
            try:
                __import__(name)
            except Exception:  # whoever needs it will be told why
                for new in sys.modules.keys() - before:
                    del sys.modules[new]


def find_open(names):
    """What stays: the modules among these that are not the interpreter's own, with their needs."""
    modules.update(sys.modules)
    found = set()
    for name in names:
        origin = getattr(getattr(sys.modules.get(name), "__spec__", None), "origin", None) or ""
        if "-packages/" in origin:
            found |= all_for(name)
    modules.clear()
    return found


def close(cold, names):
    """Puts everything on the shelf that was not there at first."""
    stays = find_open(names) - set(cold)
    for name in [name for name in sys.modules if name not in cold]:
        module = sys.modules[name]
        spec = getattr(module, "__spec__", None)
        if "." not in name and getattr(spec, "loader", None) not in (BuiltinImporter, FrozenImporter):
            tops.add(name)
        if name in stays:
            continue
        modules[name] = sys.modules.pop(name)
        package, _, attribute = name.rpartition(".")
        holder = sys.modules.get(package) or modules.get(package)
        if holder is not None:
            is_there = holder.__dict__.get(attribute) is module
            holders[name] = holder, attribute if is_there else None
            if is_there:
                delattr(holder, attribute)
    stock[:] = sys.path[1:]
    known.update(modules, sys.modules)
    known.discard("__main__")
    taken.count = len(sys.modules) - 1
    for name in sorted(stays, key=lambda name: places.get(name, 0)):
        for action, args, kwargs in effects.pop(name, ()):
            if action is register:
                exits.append((args[0], args[1:], kwargs))
            else:
                action(*args, **kwargs)


def is_own(module):
    """Whether a module is the program's, and not one that any interpreter has."""
    origin = getattr(getattr(module, "__spec__", None), "origin", None) or ""
    return origin not in ("built-in", "frozen") and not origin.startswith(tuple(stock))


def new_names():
    """The program's own modules."""
    if len(sys.modules) == taken.count + 1:  # most have one
        return ["__main__"]
    return [name for name, module in sys.modules.items() if name not in known and is_own(module)]


# ---- what a program's own files hide -------------------------------------------------------------


class looked:
    key = None
    found = frozenset()


def hidden_by(entry):
    """Names of the shelf that a directory has too."""
    found = set()
    for file in os.listdir(entry or "."):
        name = file.partition(".")[0]
        if name in tops and is_module(entry, name):
            found.add(name)
    return found


def find_hidden():
    """Those that directories before the interpreter's own have; None when the search path was
    changed so that nobody can tell."""
    try:
        at = sys.path.index(stock[0])
        if sys.path[at:at + len(stock)] != stock:
            return None
        key = [(entry, os.stat(entry or ".").st_mtime_ns) for entry in sys.path[:at]]
        if key != looked.key:
            looked.found = set().union(*[hidden_by(entry) for entry, _time in key])
            looked.key = key
    except (ValueError, OSError, TypeError):
        return None
    return looked.found


def is_module(entry, name):
    spec = sys.path_hooks[-1](entry or ".").find_spec(name)
    return spec is not None and spec.loader is not None


def is_hidden(name):
    hidden = find_hidden()
    if hidden is None:
        return name in tops
    return bool(hidden) and any(one.partition(".")[0] in hidden for one in all_for(name))


# ---- taking from it ------------------------------------------------------------------------------


def all_for(name):
    """The names on the shelf that come with this one."""
    found, rest = set(), [name]
    while rest:
        one = rest.pop()
        if one in modules and one not in found:
            found.add(one)
            rest.extend(needs.get(one, ()))
            rest.append(one.rpartition(".")[0])
    return found


def apply_effects(name):
    for action, args, kwargs in effects.pop(name, ()):
        action(*args, **kwargs)


def take(name):
    """From now on the module is there, and what it needs."""
    for one in sorted(all_for(name), key=lambda one: places.get(one, 0)):
        sys.modules[one] = module = modules.pop(one)
        taken.count += 1
        holder, attribute = holders.pop(one, (None, None))
        if attribute is not None:
            setattr(holder, attribute, module)
        apply_effects(one)


class Loader:
    """Loads a module by taking it from the shelf."""

    def __init__(self, module):
        self.spec = module.__spec__

    def create_module(self, spec):
        take(spec.name)
        return sys.modules[spec.name]

    def exec_module(self, module):
        module.__spec__ = self.spec


def find_spec(name, path=None, target=None):
    module = modules.get(name)
    if module is None or target is not None or getattr(module, "__spec__", None) is None:
        return None
    package = name.rpartition(".")[0]
    if package and holders.get(name, (None,))[0] is not sys.modules.get(package):
        return None
    if is_hidden(name):
        return None
    own = module.__spec__
    spec = ModuleSpec(name, Loader(module), origin=own.origin)
    spec.submodule_search_locations = own.submodule_search_locations
    spec._set_fileattr = own.has_location
    return spec
