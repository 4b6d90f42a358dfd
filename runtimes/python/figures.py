# SPDX-License-Identifier: Apache-2.0
"""Figures of matplotlib, drawn without a screen and shown without being asked for.

plt.show() shows all open figures and closes them, as a window does that a person closes; what is
still open at the end of the program is shown then.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import os
import sys


class Loader:
    """Loads a module as its own loader would, and then gives it to `after`."""

    def __init__(self, loader, after):
        self.loader = loader
        self.after = after

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.after(module)


def choose_backend(matplotlib):
    """The one that needs no screen, unless the program's user wanted another."""
    if "MPLBACKEND" not in os.environ:
        dict.__setitem__(matplotlib.rcParams, "backend", "agg")


def watch_show(pyplot):
    own_show = pyplot.show

    def show(*args, **kwargs):
        if is_heard() and pyplot.get_backend().lower() == "agg":
            show_open()
            return None
        return own_show(*args, **kwargs)

    show.__doc__ = own_show.__doc__
    show.__name__ = show.__qualname__ = "show"
    show.__module__ = pyplot.__name__
    pyplot.show = show


AFTER = {"matplotlib": choose_backend, "matplotlib.pyplot": watch_show}


def find_spec(finder, name, path, target):
    """Asks the other finders. After pyplot there is nothing left to wait for."""
    if name == "matplotlib.pyplot" and finder in sys.meta_path:
        sys.meta_path.remove(finder)
    for other in list(sys.meta_path):
        spec = other.find_spec(name, path, target) if other is not finder else None
        if spec is not None:
            if spec.loader is not None:
                spec.loader = Loader(spec.loader, AFTER[name])
            return spec
    return None


def picture(figure):
    """The figure as PNG."""
    import io
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=figure.dpi, bbox_inches="tight")
    figure.stale = False  # drawn: only what changes from now on is news
    figure._hotcell_shown = True
    return file.getvalue()


def show_open():
    """Shows the open figures that have not been shown as they are now, and closes them."""
    pyplot = sys.modules["matplotlib.pyplot"]
    values = load("values")
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        if not getattr(figure, "_hotcell_shown", False) or figure.stale:
            values.make_bundle(figure).send("display")
    pyplot.close("all")
