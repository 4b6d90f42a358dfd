# SPDX-License-Identifier: Apache-2.0
"""Modules of a project whose files changed are loaded again before code runs that asks for it.

A module is executed anew in its own namespace. Functions and classes that somebody holds already
(`from project import f`, instances) are the same objects afterwards, with the new code in them,
where that is simple: functions with the same closure, classes with the same name.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import os
import sys
import types

seen = {}  # module name -> its file, and what that was when the module was loaded


class looked:
    count = 0  # modules, when they were last looked through
    last = None  # the name of the last one


def stamp(path):
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


def file_of(module):
    """The source of a module of the code's own; None for the interpreter's and for packages that
    are installed."""
    path = getattr(module, "__file__", None)
    if not isinstance(path, str) or not path.endswith(".py"):
        return None
    if path.startswith((sys.prefix + "/lib", sys.base_prefix + "/lib", "/run/hotcell/")) or \
            "-packages/" in path:
        return None
    return path


def note_modules():
    """Called after each turn: what was loaded in it is as its file is now. New ones come last, and
    the others are not touched."""
    if len(sys.modules) == looked.count:
        return
    new = []
    for name in reversed(sys.modules):
        if name == looked.last:
            break
        new.append(name)
    looked.count, looked.last = len(sys.modules), next(reversed(sys.modules))
    for name in new:
        path = file_of(sys.modules[name]) if name not in seen and name != "__main__" else None
        if path is not None:
            try:
                seen[name] = path, stamp(path)
            except OSError:
                pass


# ---- the same objects with new code --------------------------------------------------------------


def patch_function(old, new):
    """Whether it could be done."""
    if not isinstance(old, types.FunctionType) or not isinstance(new, types.FunctionType) or \
            old.__code__.co_freevars != new.__code__.co_freevars:
        return False
    for name in ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__annotations__"):
        setattr(old, name, getattr(new, name))
    old.__dict__.update(new.__dict__)
    return True


def adopt(function, owner):
    """A method that is moved to another class finds that one with super()."""
    function = getattr(function, "__func__", None) or getattr(function, "fget", None) or function
    code = getattr(function, "__code__", None)
    for name, cell in zip(getattr(code, "co_freevars", ()), getattr(function, "__closure__", None) or ()):
        if name == "__class__":
            cell.cell_contents = owner


def patch_class(old, new):
    for name, value in list(vars(new).items()):
        if name in ("__dict__", "__weakref__") or patch_function(vars(old).get(name), value):
            continue
        try:
            setattr(old, name, value)
            adopt(value, old)
        except (AttributeError, TypeError):
            pass
    for name in list(vars(old)):
        if name not in vars(new) and not name.startswith("__"):
            try:
                delattr(old, name)
            except (AttributeError, TypeError):
                pass
    return True


def bases_of(kind):
    """By name: one of them may have been made anew, too."""
    return [(base.__module__, base.__qualname__) for base in kind.__bases__]


def patch(old, new, module):
    """Whether the old one can stay: only what the module made itself."""
    if getattr(old, "__module__", None) != module or type(old) is not type(new):
        return False
    if isinstance(old, type):
        return bases_of(old) == bases_of(new) and patch_class(old, new)
    return patch_function(old, new)


def reload_module(module):
    import importlib
    before = dict(vars(module))
    importlib.reload(module)
    for name, old in before.items():
        new = vars(module).get(name)
        if old is not new and patch(old, new, module.__name__):
            vars(module)[name] = old


def reload_changed():
    """Says on stderr what could not be loaded: the old one stays."""
    for name, (path, before) in list(seen.items()):
        module = sys.modules.get(name)
        try:
            now = stamp(path)
        except OSError:
            continue
        if module is None or now == before:
            continue
        seen[name] = path, now
        try:
            reload_module(module)
        except Exception as error:
            sys.stderr.write("hotcell: %s was not loaded again: %s: %s\n" % (
                name, type(error).__name__, error))
