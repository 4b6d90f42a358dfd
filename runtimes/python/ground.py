# SPDX-License-Identifier: Apache-2.0
"""What the parts of `strict` stand on: what they know of the program, and how they refuse.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import os
import sys

guard = load("guard")

FORBIDDEN = guard.TRAVERSAL | guard.FRAMES | guard.GADGETS
# Names that are looked up by ours, wherever the program writes them.
REWRITTEN = frozenset(("format", "format_map", "__dict__", "__getattribute__", "__setattr__",
                       "__delattr__", "__getstate__", "obj"))
# With these a program has names that it may change, of a module or of text that runs.
REACHING = frozenset(("globals", "locals", "vars", "eval", "exec", "compile"))
TOLD_MAX = 16
PLACE = "/run/hotcell/"  # of the runner's own files


class state:
    modules = None  # what it may import
    builtins = None  # its builtins
    names = None  # of the program's module
    path = None  # of its file
    told = 0  # refusals that were said


SLOT = "_" + os.urandom(8).hex()  # a class with a slot of the same name could take the place of ours


class Secret:
    """What is in the slot SLOT of a class's objects, which nobody else can name any more."""

    def __init__(self, kind):
        self.slot = kind.__dict__[SLOT]
        delattr(kind, SLOT)
        del kind.__slots__

    def put(self, made, value):
        self.slot.__set__(made, value)

    def get(self, made):
        """None: it has none. The descriptor's own words would tell its name."""
        try:
            return self.slot.__get__(made)
        except (AttributeError, TypeError):
            return None


class Mark:
    """In the constants of all code that was made of the program's text while it ran."""


MARK = Mark()


def blocked(kind, what, error):
    """Says that something was refused, and makes the exception that the program gets."""
    if state.told < TOLD_MAX:
        state.told += 1
        send(load("values").to_json({"event": "refused", "kind": kind, "name": str(what)[:200]}))
    return error("Security policy blocked %s: %s" % (kind, what))


def hush():
    """Says no more of what is refused: what an earlier turn left behind may still try something, and
    the first word of the next turn is the guard's."""
    state.told = TOLD_MAX


def hide(failure):
    """What stands in the place of a builtin is in no trace, as a builtin is in none."""
    trace = failure.__traceback__
    while trace is not None:
        after = trace.tb_next
        while after is not None and after.tb_frame.f_code.co_filename.startswith(PLACE):
            after = after.tb_next
        trace.tb_next = after
        trace = after


lookups = {}  # getattr() and its sisters, checked


class Ground:
    """In the place of a frame, where there is none."""

    class f_code:
        co_flags = 0

    def __init__(self, names):
        self.f_globals = self.f_locals = names


def is_program_frame(frame):
    """Whether it is the program's code that runs there, by what nobody can change."""
    if frame.f_globals is state.names:
        return True
    consts = frame.f_code.co_consts
    return len(consts) > 0 and consts[-1] is MARK


def program_frame():
    """The frame that called one of our builtins: the innermost of the program's own. The library, which
    may have been told to call it, has names that are none of the program's business."""
    frame = sys._getframe(2)
    while frame is not None and not is_program_frame(frame):
        frame = frame.f_back
    return frame or Ground(state.names)
