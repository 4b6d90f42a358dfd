# SPDX-License-Identifier: Apache-2.0
"""The audit hook of the profile `strict`, which nobody can take away again: it refuses what all other
doors are for, and asks whose doing it is.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import os
import sys
from _frozen_importlib_external import PathFinder

files = load("files")
rules = load("rules")
ground = load("ground")
blocked, state, is_program_frame = ground.blocked, ground.state, ground.is_program_frame

# What is refused by the audit hook, by the beginning of the event.
REFUSED = (
    "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "tempfile.", "glob.", "fcntl.", "mmap.",
    "pty.", "signal.", "resource.", "syslog.", "sqlite3.", "urllib.", "http.", "ftplib.", "smtplib.",
    "poplib.", "imaplib.", "nntplib.", "telnetlib.", "webbrowser.", "gc.", "cpython.run_",
    "code.__new__", "function.__new__", "marshal.", "pickle.", "sys.settrace", "sys.setprofile",
    "sys.addaudithook", "sys._current_", "sys.unraisablehook", "setopencodehook", "_winapi.")
# And these only of the program itself: the library does them for it.
REFUSED_DIRECTLY = ("exec", "compile", "object.__getattr__", "object.__setattr__",
                    "object.__delattr__", "sys._getframe")
LOOKING_EVENTS = ("sys._getframe", "object.__getattr__")  # what finding out who it was brings
IMPORTERS = ("importlib._bootstrap", "importlib._bootstrap_external")
TRACERS = ("linecache", "tokenize")  # lines for a trace
# Who else reads the library's files in the name of a program: modules, time zones.
READERS = frozenset((*IMPORTERS, "zoneinfo", "zoneinfo._common", "zoneinfo._tzpath",
                     "zoneinfo._zoneinfo", "importlib.resources", "importlib.resources._legacy",
                     "importlib.resources.abc", "importlib.readers", "pathlib"))


class looking:
    is_so = False  # somebody finds out who it was


def bring(name, real_import=__import__):
    """The only one of ours below whom the library may do what loading a module takes."""
    real_import(name)
    return sys.modules[name]


def is_ours(name):
    return isinstance(name, str) and (name == "hotcell" or name.startswith("hotcell."))


def asker(frame):
    """Whose doing it is: "program", "ours", "granted", "loading" or "library", and the name of who
    did it."""
    first, name_of_first, granted = frame, None, state.modules.allow
    while frame is not None:
        if is_program_frame(frame):
            return "program" if frame is first else "library", name_of_first
        name = dict.get(frame.f_globals, "__name__")
        if frame is first:
            name_of_first = name
            if is_ours(name) or name == "os" and frame.f_back is not None and \
                    is_ours(dict.get(frame.f_back.f_globals, "__name__")) and \
                    not is_program_frame(frame.f_back):
                return "ours", name
        if frame.f_code is bring.__code__:
            return "loading", name_of_first
        if granted and isinstance(name, str) and rules.matches(name, granted):
            return "granted", name_of_first
        frame = frame.f_back
    return "library", name_of_first


def who_asks():
    looking.is_so = True  # looking for it is an event, too
    try:
        return asker(sys._getframe(3))
    except ValueError:  # the interpreter itself, at its end
        return "nobody", None
    finally:
        looking.is_so = False


def may_read(args, who, name):
    """Whether a file is one that the interpreter reads for a program."""
    file, _mode, flags = (*args, None, None, None)[:3]
    if isinstance(file, bytes):
        file = os.fsdecode(bytes.__getitem__(file, slice(None)))
    if not isinstance(file, str) or not isinstance(flags, int) or flags & os.O_ACCMODE:
        return False
    file = str.__str__(file)
    if file == state.path:
        return True  # lines for a trace
    real = os.path.realpath(file)
    if who == "program":
        return real.startswith(files.ZONES)
    if who == "nobody" or name in TRACERS:
        return files.may_open(real, False)
    return name in READERS and real.startswith(files.LIBRARY)


def is_let(event, args):
    """None: no, and nobody need hear of it."""
    who, name = who_asks()
    if event == "open" and name in IMPORTERS and args and files.was_written(args[0]):
        return False  # a module that the program made
    if who in ("ours", "granted", "loading"):
        return True
    if event in REFUSED_DIRECTLY:
        return who != "program"
    if event == "open" and may_read(args, who, name):
        return True
    if name in IMPORTERS:
        return may_import(event, args)
    return who == "nobody" and event != "open"


def may_import(event, args):
    """What the interpreter does for a module that the library asks for late: it looks where modules
    are, and makes code of what it read. It may try to keep that."""
    if event == "os.listdir" and args and type(args[0]) is str:
        return args[0] in sys.path or args[0].startswith(files.LIBRARY) or None
    return event.startswith("marshal.") or None


def hook(event, args):
    if event == "import":
        if len(args) > 1 and args[1] is not None and files.was_written(args[1]):
            raise blocked("file", args[1], PermissionError)
        return
    if event != "open" and not event.startswith(REFUSED) and event not in REFUSED_DIRECTLY:
        return
    if looking.is_so and event in LOOKING_EVENTS:
        return
    is_so = is_let(event, args)
    if is_so:
        return
    if is_so is None:
        raise PermissionError("Security policy blocked operation: %s" % event)
    if event == "object.__getattr__" and len(args) > 1:
        event = args[1]
    raise blocked("operation", event, PermissionError)


class Beside:
    """Finds modules beside the program: those that are granted, and what they need."""

    def __init__(self, home):
        self.home = home

    def find_spec(self, name, path=None, target=None):
        if path is not None or not rules.matches(name, state.modules.allow) and not self.is_asked():
            return None
        return PathFinder.find_spec(name, [self.home], target)

    def is_asked(self):
        """Whether it is a granted module that imports."""
        frame = sys._getframe(2)
        while frame is not None and dict.get(frame.f_globals, "__name__") in IMPORTERS:
            frame = frame.f_back
        return asker(frame)[0] == "granted"
