# SPDX-License-Identifier: Apache-2.0
"""A session once more: the process forks, and the copy serves a line of its own.

A copy is to be exact: no hook that runs at a fork runs for it, so its random numbers are those that
the original would have drawn. Only a branch, which goes on beside the original, draws its own.

What a fork does not carry is looked for first. Threads and child processes are refused, for the
code would wait for them in vain. What both would share (sockets, pipes, mappings) is told. Open
files have one position for all copies: each remembers its own, and puts it back for its turn.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import _signal
import os
import sys

HOME = "/home/user"
NAMES_MAX = 32  # of what is told about one copy
NAME_MAX = 64
PACKET_MAX = 4000
MODULE = "_hotcell.abi3.so"
ANONYMOUS = {"anon_inode:[eventpoll]": "epoll", "anon_inode:[timerfd]": "timer",
             "anon_inode:[eventfd]": "event", "anon_inode:inotify": "inotify",
             "anon_inode:[signalfd]": "signals", "anon_inode:[pidfd]": "process",
             "anon_inode:[io_uring]": "io_uring"}
TYPE, REGULAR, SOCKET, FIFO, TERMINAL = 0o170000, 0o100000, 0o140000, 0o010000, 0o020000

offsets = {}  # descriptor -> device, inode, position


class tools:
    module = None  # _hotcell; False: it cannot be loaded
    is_watching = False  # the positions of open files


def find_module():
    """The template's, or for an interpreter of its own, a new one."""
    if tools.module is None:
        tools.module = False
        module = load("guest").template.module
        if hasattr(module, "copy"):
            tools.module = module
        else:
            try:
                tools.module = load_module()
            except (ImportError, OSError):
                pass
    return tools.module


def load_module():
    from _frozen_importlib import ModuleSpec
    from _imp import create_dynamic
    here = load("session").session.core["HERE"]
    return create_dynamic(ModuleSpec("_hotcell", None, origin=here + MODULE))


# ---- what is in the way --------------------------------------------------------------------------


def short(text):
    return text[:NAME_MAX]


def read(path):
    try:
        with open(path, "rb", 0) as file:
            return file.read(4096)
    except OSError:
        return b""


def status_of(pid):
    """Name, state and parent of a process; None: it is gone."""
    head, _, rest = read("/proc/%s/stat" % pid).rpartition(b") ")
    if not rest:
        return None
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    state, parent = rest.split()[:2]
    return short(name), state.decode(), int(parent)


def find_threads(session):
    tasks = os.listdir("/proc/self/task")
    if len(tasks) == 1:
        return []
    threading = sys.modules.get("threading")
    known = {}
    if threading is not None:
        known = {str(thread.native_id): thread.name for thread in threading.enumerate()}
    if set(known) <= {str(os.getpid())}:
        load("guest").end_threads()  # those of a library that computes with them
        tasks = os.listdir("/proc/self/task")
    found = []
    for task in tasks:
        if int(task) != os.getpid():
            comm = read("/proc/self/task/%s/comm" % task).strip().decode("utf-8", "replace")
            found.append("thread " + short(known.get(task) or comm or task))
    return found


def has_children():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def had_children():
    module = find_module()
    if module:
        return module.had_children()
    import resource
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt > 0


def is_copy(session, pid):
    """Children of ours have closed the line when they were forked."""
    try:
        return os.readlink("/proc/%s/fd/%d" % (pid, session.line_place)).startswith("socket:")
    except FileNotFoundError:
        return False
    except OSError:
        return True  # not one of ours at all


def find_processes(session):
    """Children that live are in the way. One that has ended, or has left us for the cell's init, is
    told."""
    refused, notes = [], []
    is_parent = has_children()
    if not is_parent and not had_children():
        return refused, notes
    own, init = os.getpid(), os.getppid()
    for pid in os.listdir("/proc"):
        status = status_of(pid) if pid.isdigit() and int(pid) != own else None
        if status is None:
            continue
        name, state, parent = status
        if parent == own and state == "Z":
            notes.append("child process %s (%s), which has ended" % (pid, name))
        elif parent == own:
            refused.append("child process %s (%s)" % (pid, name))
        elif parent == init and state != "Z" and not is_copy(session, pid):
            notes.append("process %s (%s)" % (pid, name))
    return refused, notes


# ---- what is shared ------------------------------------------------------------------------------


def name_of_file(fd, status):
    """What is to be told about an open file; None for one below the home directory."""
    import fcntl
    offsets[fd] = status.st_dev, status.st_ino, os.lseek(fd, 0, os.SEEK_CUR)
    path = os.readlink("/proc/self/fd/%d" % fd)
    if path.startswith("/memfd:"):
        return "memory file %d (%s)" % (fd, short(path[7:].partition(" ")[0]))
    is_written = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    if is_written and not path.startswith(HOME + "/"):
        return "file %d (%s)" % (fd, short(path))
    return None


def name_of(fd):
    """Of a descriptor that a copy can only share."""
    status = os.fstat(fd)
    kind = status.st_mode & TYPE
    if kind == REGULAR:
        return name_of_file(fd, status)
    if kind == SOCKET:
        return "socket %d" % fd
    if kind == FIFO:
        return "pipe %d" % fd
    if kind == TERMINAL:
        return "terminal %d" % fd if os.isatty(fd) else None
    if kind == 0:
        link = os.readlink("/proc/self/fd/%d" % fd)
        return "%s %d" % (ANONYMOUS.get(link, short(link)), fd)
    return None


def find_descriptors(session):
    """Their names; the positions of open files are noted on the way."""
    found = []
    offsets.clear()
    own = {session.line_place, session.null_place, session.new_line, *loop_descriptors(session)}
    for text in os.listdir("/proc/self/fd"):
        fd = int(text)
        if fd > 2 and fd not in own:
            try:
                name = name_of(fd)
            except OSError:  # that of the directory which we have just read
                continue
            if name is not None:
                found.append(name)
    return found


def shared_in_maps():
    found = []
    with open("/proc/self/maps", "rb", 0) as file:
        for line in file.readall().split(b"\n"):
            fields = line.split(None, 5)
            if len(fields) > 4 and fields[1].endswith(b"s") and b"w" in fields[1]:
                found.append(b"".join(fields[5:]).decode("utf-8", "replace"))
    return found


def find_mappings():
    module = find_module()
    shared = module.list_shared() if module else None
    if shared is None:
        shared = shared_in_maps()
    return ["mapping (%s)" % short(name if name[:9] != "/dev/zero" else "anonymous")
            for name in shared]


def find_timers():
    for timer, name in ((_signal.ITIMER_REAL, "ITIMER_REAL"),
                        (_signal.ITIMER_VIRTUAL, "ITIMER_VIRTUAL"),
                        (_signal.ITIMER_PROF, "ITIMER_PROF")):
        if _signal.getitimer(timer)[0]:
            yield "timer (%s)" % name


# ---- the loop of asyncio -------------------------------------------------------------------------


def loop_descriptors(session):
    """Those of our own loop, when nothing of the code's is registered with it: a copy gets new
    ones."""
    loop = session.loop
    try:
        if loop is None or loop.is_closed() or len(loop._selector.get_map()) != 1:
            return ()
        return loop._selector.fileno(), loop._ssock.fileno(), loop._csock.fileno()
    except (AttributeError, ValueError):
        return ()


def renew_loop(session):
    if loop_descriptors(session):
        loop = session.loop
        loop._close_self_pipe()
        loop._selector.close()
        loop._selector = type(loop._selector)()
        loop._make_self_pipe()


# ---- positions of open files ---------------------------------------------------------------------


def note_offsets():
    offsets.clear()
    session = load("session").session
    if tools.module and not tools.module.has_descriptors(
            session.line_place, session.null_place, session.channel_place):
        return
    for text in os.listdir("/proc/self/fd"):
        try:
            status = os.fstat(int(text))
            if status.st_mode & TYPE == REGULAR:
                at = os.lseek(int(text), 0, os.SEEK_CUR)
                offsets[int(text)] = status.st_dev, status.st_ino, at
        except OSError:
            pass


def put_back_offsets():
    for fd, (device, inode, at) in offsets.items():
        try:
            status = os.fstat(fd)
            if (status.st_dev, status.st_ino) == (device, inode):
                os.lseek(fd, at, os.SEEK_SET)
        except OSError:
            pass


def watch_offsets(session):
    """From the first copy on a position can be moved by another process."""
    if not tools.is_watching:
        tools.is_watching = True
        session.before_turns.append(put_back_offsets)
        session.after_turns.append(note_offsets)


# ---- the copy ------------------------------------------------------------------------------------


def fork_twice():
    """Without the module: the first child ends, and its own is adopted."""
    child = os.fork()
    if child != 0:
        _, status = os.waitpid(child, 0)
        if status != 0:
            raise OSError("fork the process")
        return child
    try:
        if os.fork() != 0:
            os._exit(0)
    except OSError:
        os._exit(1)
    return 0


def fork(session, fd, number, is_branch, is_ahead, notes):
    """Returns in the copy when it has said its first word; by then it may be a branch."""
    module = find_module()
    session.is_copying = True
    try:
        if module:
            return module.copy(fd, session.line_place, number, is_branch, is_ahead,
                               notes.encode())
        pid = fork_twice()
    finally:
        session.is_copying = False
    if pid == 0:
        runner = load("session")
        runner.move(fd, session.line_place)
        runner.say('{"forked":%d%s}' % (number, notes))
    return pid, is_branch


def be_other(is_branch):
    """What the copy must not have in common with the original."""
    fresh = load("guest").FRESH
    names = ("threading",)
    if is_branch:
        names = "threading", "random", "numpy.random.mtrand", "_ssl", "multiprocessing.process"
    for name in names:
        if name in sys.modules:
            try:
                fresh[name](sys.modules[name])
            except Exception:
                pass


def member(key, names):
    """As it follows the first one of a packet. A list that is too long ends with how many there are
    more."""
    to_json = load("values").to_json
    shown = names[:NAMES_MAX]
    while True:
        more = len(names) - len(shown)
        text = to_json(shown + (["%d more" % more] if more else []))
        if len(text.encode("utf-8", "replace")) <= PACKET_MAX:
            return ',"%s":%s' % (key, text.encode("utf-8", "replace").decode())
        shown = shown[:-1]


def look_around(session, fd):
    """What is in the way of a copy, and what is to be told about it."""
    module = find_module()
    if module and session.loop is None and module.is_plain(
            session.line_place, session.null_place, fd):
        offsets.clear()
        return [], []
    refused = find_threads(session)
    processes, notes = find_processes(session)
    refused += processes
    if not refused:
        notes += find_descriptors(session)
        notes += find_mappings()
        notes += find_timers()
    return refused, notes


def make_copy(number, is_branch, is_ahead, fd):
    """`is_ahead`: nobody waits for it."""
    runner = load("session")
    session = runner.session
    session.new_line = fd
    put_back_offsets()
    try:
        refused, notes = look_around(session, fd)
        if refused:
            runner.say('{"refused":%d%s}' % (number, member("why", refused)))
            return
        watch_offsets(session)
        pid, is_branch = fork(session, fd, number, is_branch, is_ahead,
                              member("notes", notes))
    except OSError as error:
        why = member("why", ["no other process: %s" % short(str(error))])
        runner.say('{"refused":%d%s}' % (number, why))
        return
    finally:
        if session.owner == os.getpid():
            os.close(fd)
    if pid == 0:
        session.owner = os.getpid()
        session.is_used = False
        renew_loop(session)
        be_other(is_branch)
