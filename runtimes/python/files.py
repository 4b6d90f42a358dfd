# SPDX-License-Identifier: Apache-2.0
"""open() for a program of the profile `strict`: the cell's own places, and nothing else.

A program may read and write regular files below its working directory, its home and /tmp, and read
the interpreter's own files. A name is looked at once, as the text it is, and resolved; what is opened
is what was resolved. Descriptors, an opener of the program's own and everything else is refused.

What a program gets has a raw file of ours beneath: the real class would open whatever descriptor an
opener gives it, and no audit event tells of that.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import io
import os
import stat
import sys
from _io import _RawIOBase as RawBase
from _operator import index

ground = load("ground")

own_open = io.open


class state:
    places = None  # to read and write: real directories, with a slash at the end
    written = set()  # device and inode of what the program may have changed


# What is no place of a program, even if it was started there.
SYSTEM = ("usr", "etc", "proc", "dev", "sys", "run", "bin", "sbin", "lib", "lib32", "lib64", "boot", "var")


def library_places():
    """What may be read: the interpreter's own files, which are no secret."""
    places = ["/run/hotcell/", "/usr/share/zoneinfo/", "/usr/lib/python3", "/usr/lib/locale/"]
    places += [place + "/" for place in (sys.prefix, sys.base_prefix) if place not in ("/usr", "/")]
    return tuple(places)


def own_places():
    """Found out when they are first needed: nothing a program can do moves them."""
    if state.places is None:
        try:
            found = [os.getcwd()]
        except OSError:  # it was removed
            found = []
        found = {os.path.realpath(place) for place in (*found, os.environ.get("HOME"), "/tmp") if place}
        state.places = tuple(place + "/" for place in found
                             if place != "/" and place.split("/")[1] not in SYSTEM)
    return state.places


LIBRARY = library_places()
ZONES = "/usr/share/zoneinfo/"


def may_open(real, is_writing):
    return (real + "/").startswith(own_places()) or not is_writing and (
        real.startswith(LIBRARY) or real == ground.state.path)


def refused(what):
    return ground.blocked("file", what, PermissionError)


def text_of(name):
    """The name as it will be used: whoever made it is asked once."""
    if not isinstance(name, (str, bytes)):
        look = getattr(type(name), "__fspath__", None)
        if look is None:
            raise TypeError("expected str, bytes or os.PathLike object, not %s" % type(name).__name__)
        name = look(name)
    if isinstance(name, bytes):
        return os.fsdecode(bytes.__getitem__(name, slice(None)))
    if isinstance(name, str):
        return str.__str__(name)
    raise TypeError("__fspath__() must return str or bytes, not %s" % type(name).__name__)


def open_checked(name, flags):
    """The descriptor of a file that may be opened. `flags` tell what for."""
    is_writing = flags & os.O_ACCMODE != os.O_RDONLY or flags & (os.O_CREAT | os.O_TRUNC) != 0
    real = os.path.realpath(name)
    if not may_open(real, is_writing):
        raise refused(name)
    try:
        mode = os.stat(real).st_mode
    except OSError:
        mode = stat.S_IFREG  # opening it makes it, or has the right words
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise refused(name)
    try:
        fd = os.open(real, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        error.filename = name  # as it was given
        raise
    if is_writing:
        status = os.fstat(fd)
        state.written.add((status.st_dev, status.st_ino))
    return fd


def was_written(name):
    """Whether the program may have changed a file."""
    if not state.written:
        return False
    try:
        status = os.stat(name)
    except (OSError, ValueError, TypeError):
        return False
    return (status.st_dev, status.st_ino) in state.written


class Raw(io.RawIOBase):
    """A raw file whose descriptor nobody can choose."""

    __slots__ = (ground.SLOT,)

    def __init__(self, *_args, **_kwargs):
        raise refused("a raw file")

    def readinto(self, buffer, /):
        return inner(self).readinto(buffer)

    def readall(self):
        return inner(self).readall()

    def write(self, data, /):
        return inner(self).write(data)

    def seek(self, offset, whence=0, /):
        return inner(self).seek(offset, whence)

    def tell(self):
        return inner(self).tell()

    def truncate(self, size=None, /):
        return inner(self).truncate(size)

    def fileno(self):
        return inner(self).fileno()

    def isatty(self):
        return inner(self).isatty()

    def readable(self):
        return inner(self).readable()

    def writable(self):
        return inner(self).writable()

    def seekable(self):
        return inner(self).seekable()

    def close(self):
        try:
            super().close()
        finally:
            inner(self).close()

    @property
    def name(self):
        return inner(self).name

    @property
    def mode(self):
        return inner(self).mode

    def __repr__(self):
        return "<file name=%r mode=%r>" % (self.name, self.mode)


secret = ground.Secret(Raw)


def inner(raw):
    """The real one."""
    file = secret.get(raw)
    if file is None:
        raise ValueError("I/O operation on closed file")
    return file


def make_raw(file):
    made = RawBase.__new__(Raw)  # nobody can change that one
    secret.put(made, file)
    return made


def wrapped(file, buffering, newline, mode):
    """The same file, with ours beneath."""
    if isinstance(file, io.FileIO):
        return make_raw(file)
    text = file if isinstance(file, io.TextIOWrapper) else None
    if text is not None:
        encoding, errors, is_lines = text.encoding, text.errors, text.line_buffering
        file = text.detach()
    kind, raw = type(file), file.detach()
    size = buffering if buffering > 1 else max(getattr(raw, "_blksize", 0), io.DEFAULT_BUFFER_SIZE)
    buffer = kind(make_raw(raw), size)
    if text is None:
        return buffer
    made = io.TextIOWrapper(buffer, encoding, errors, newline, is_lines)
    made.mode = mode
    return made


def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True,
         opener=None):
    """Open a file below the working directory, the home or /tmp, or one of the library to read.

    As the usual open(), but for descriptors and `opener`."""
    if isinstance(file, int):
        raise refused("descriptor %d" % int.__index__(file))
    name = text_of(file)
    if opener is not None:
        raise refused("%s through an opener" % name)
    if not isinstance(mode, str):
        raise TypeError("open() argument 'mode' must be str, not %s" % type(mode).__name__)
    mode, buffering = str.__str__(mode), int.__add__(index(buffering), 0)
    made = own_open(name, mode, buffering, encoding, errors, newline, closefd, open_checked)
    return wrapped(made, buffering, newline, mode)
