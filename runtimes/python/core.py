# SPDX-License-Identifier: Apache-2.0
"""Runs a program as `python3 FILE ARG…` would, and tells more about it than its bytes.

The program must not notice: no frame of ours beneath its own, no module of ours among its
modules, the same words on stderr, the same exit status. So this is how it goes:

1. prepare(): the file is compiled as a whole. Is its last statement an expression, the code gets
   one changed instruction: it returns that value instead of dropping it. What cannot be compiled
   is reported and then left to the bare interpreter, which has the right words for it.
2. The script raises an exception, so all our frames are gone, and the interpreter calls
   sys.excepthook: that is start(), which runs the program as a function of its own module. From
   there everything ends by the interpreter's own roads: a SystemExit passes through, other
   exceptions go to the program's own sys.excepthook, and returning means exit status 1.
3. start() itself, and failed(), are hidden: a frame that has not reached its RESUME instruction
   (3.11 and later) is not shown to anyone who walks the stack, and they have none. Only
   faulthandler sees them, and a recursion ends a call earlier.

Nothing is imported here that the bare interpreter has not imported by itself; what only some
programs need is in files of its own, loaded when needed.
"""
import _imp
import _signal
import _thread
import _warnings
import builtins
import os
import sys
from _frozen_importlib_external import SourceFileLoader

FRAME_MAX = 8 << 20
PATIENCE = 10  # seconds a full channel may keep the program waiting
EXTENDED_ARG = 71 if sys.version_info >= (3, 13) else 144
HAS_VALUES = sys.version_info >= (3, 8)  # of last expressions
NOP = {(3, 11): 9, (3, 12): 9, (3, 13): 30}.get(sys.version_info[:2])  # where hiding is tried

parts = {}


def load(name):
    """One of the files beside this one, as an object with its names."""
    part = parts.get(name)
    if part is None:
        part = type(sys)("hotcell." + name)
        part.__dict__.update(load=load, send=send, flush=flush, is_heard=is_heard,
                             quietly=quietly)
        exec(SourceFileLoader(name, HERE + name + ".py").get_code(name), part.__dict__)
        parts[name] = part
    return part


def quietly(step, *args):
    """Does something before the program is there, which must not find modules that the bare
    interpreter would not have loaded for it."""
    before = set(sys.modules)
    try:
        return step(*args)
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]


# ---- the channel ---------------------------------------------------------------------------------


channel_fd = -1
channel_inode = 0
channel_owner = 0
channel_lock = _thread.allocate_lock()


def open_channel():
    """Moves it to where no program looks for a descriptor; 3 is the program's again."""
    global channel_fd, channel_inode, channel_owner
    try:
        status = os.fstat(3)
        if status.st_mode & 0o170000 != 0o140000:
            return
        high = min(os.sysconf("SC_OPEN_MAX"), 1024) - 1
        channel_fd = os.dup2(3, high, False)
        os.set_blocking(channel_fd, False)
    except (OSError, ValueError):
        return
    os.close(3)
    channel_inode = status.st_ino
    channel_owner = os.getpid()


def is_heard():
    """A forked child has the descriptor but is not who the supervisor listens to; and a program
    may have closed it, or have a file of its own there."""
    if channel_fd < 0 or channel_owner != os.getpid():
        return False
    try:
        return os.fstat(channel_fd).st_ino == channel_inode
    except OSError:
        return False


def send(text):
    """Sends one message. Whatever happens to it, the program goes on."""
    global channel_fd
    data = text.encode("utf-8", "replace")
    if len(data) > FRAME_MAX or not is_heard():
        return False
    late = None
    # No handler of the program may break off a message that is half sent, and a reader that is
    # gone must not end a program that restored the default of SIGPIPE.
    with channel_lock:
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
        try:
            rest = memoryview(len(data).to_bytes(4, "big") + data)
            while rest:
                try:
                    rest = rest[os.write(channel_fd, rest):]
                except BlockingIOError:
                    if not wait():
                        os.close(channel_fd)
                        channel_fd = -1
                        break
                except OSError:
                    channel_fd = -1
                    if _signal.SIGPIPE not in mask:
                        _signal.sigtimedwait([_signal.SIGPIPE], 0)
                    break
                except BaseException as raised:  # by a handler that was called before the mask
                    late = raised
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    if late is not None:
        raise late
    return channel_fd >= 0


def wait():
    import select
    poll = select.poll()
    poll.register(channel_fd, select.POLLOUT)
    return bool(poll.poll(PATIENCE * 1000))


def receive():
    """A message that the supervisor put into the channel before we were started; None: there is
    none, for that is never waited for."""
    data = b""
    try:
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            more = os.read(channel_fd, 1 << 16)
            if not more:
                return None
            data += more
    except OSError:
        return None
    text = data[4:].decode()
    return from_json(text) if "scan" in parts else quietly(from_json, text)


def from_json(text):
    if "scan" not in parts:
        from _json import make_scanner
        parts["scan"] = make_scanner(reading)
    return parts["scan"](text, 0)[0]


class reading:
    """How the C part of json is told to read."""
    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float, parse_int = float, int


def flush():
    """What the program printed so far comes before what is sent now."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


# ---- what a program finds ------------------------------------------------------------------------


def display(*values, **options):
    """Shows values as richly as they can be shown: pictures, tables, HTML, text."""
    load("values").display(values, options)


class Finder:
    """Waits for matplotlib, to make it draw without a screen and to see what it shows."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("matplotlib", "matplotlib.pyplot"):
            return load("figures").find_spec(Finder, name, path, target)
        return None


def keep(thing):
    """Forever: a code object may hold anything, and no garbage collector looks into it."""
    thing.kept = keep.__code__.replace(co_consts=(thing,))


def make_main(path):
    """The module of the program, as it is when the interpreter itself runs a file. Not the one
    that ran us: a trace of ours holds that one until the interpreter has ended, and what a
    program leaves in its module is to be finalized. The interpreter cleans up in it afterwards."""
    keep(sys.modules["__main__"])
    main = type(sys)("__main__")
    main.__loader__ = SourceFileLoader("__main__", path)
    main.__dict__.update(__annotations__={}, __builtins__=builtins, __file__=path, __cached__=None)
    sys.modules["__main__"] = main
    return main


def absolute(path):
    """As the interpreter does it: only joined, nothing resolved."""
    if path.startswith("/") or sys.version_info < (3, 9):
        return path
    return os.getcwd() + "/" + (path[2:] if path.startswith("./") else path)


# ---- compiling -----------------------------------------------------------------------------------


class Caught(Exception):
    pass


def compiled(source, path="<string>", run=exec):
    """The code that exec() or eval() would run. compile() makes every class of the syntax tree
    before it looks at its argument, which takes a tenth of the interpreter's whole start. So up to
    3.11 the code is caught on its way to be run: later tracing became the more expensive one.
    Whatever there is to complain about is left to compile(), which knows the name of the file."""
    if sys.version_info >= (3, 12):
        return compile(source, path, run.__name__, 0, True)
    found, space = [], {}

    def catch(frame, event, arg):
        if frame.f_globals is space:
            found.append(frame.f_code)
            raise Caught

    _warnings.filters.insert(0, ("error", None, Warning, None, 0))
    sys.settrace(catch)
    try:
        run(source, space)
    except Caught:
        _imp._fix_co_filename(found[0], path)
        return found[0]
    except SyntaxError:
        pass
    finally:
        sys.settrace(None)
        del _warnings.filters[0]
    return compile(source, path, run.__name__, 0, True)


# ---- the last expression -------------------------------------------------------------------------

# With these a line begins that holds other statements.
COMPOUND = {"if", "elif", "else", "for", "while", "with", "try", "except", "finally", "def",
            "class", "async", "match", "case", "from"}
CONSTANT = tuple(b"%c" % char for char in b"0123456789.-+~('\"")


def line_starts(source, cut):
    """Where lines begin that can be statements of the module, from the last one before `cut`."""
    while cut > 0:
        start = source.rfind(b"\n", 0, cut) + 1
        cut = start - 1
        if start == 0:
            yield 3 if source.startswith(b"\xef\xbb\xbf") else 0
        elif (source[start:start + 1] not in b" \t\f\r\n#)]}"
                and not source[:cut].endswith((b"\\", b"\\\r"))):
            yield start


def is_quiet(text):
    """Whether nothing follows here but brackets that close, comments and semicolons."""
    return not b"".join(line.partition(b"#")[0] for line in text.split(b"\n")).strip(b" \t\r\f)]};\\")


def is_silenced(source):
    """A semicolon after the last expression says that its value is not to be shown."""
    for line in reversed(source[-1000:].split(b"\n")):
        line = line.partition(b"#")[0].strip()
        if line:
            return line.endswith(b";")
    return False


def line_of(code, offset):
    """The line that the instruction belongs to; 0 where the version does not tell."""
    for start, end, line in code.co_lines() if hasattr(code, "co_lines") else ():
        if start <= offset < end:
            return line or 0
    return 0


def start_of(source, line):
    """Where the line begins that follows this one, or the end."""
    at = 0
    for _ in range(line):
        at = source.find(b"\n", at) + 1
        if at == 0:
            return len(source)
    return at


def is_last(source, code, offset, line):
    """Whether the value that is dropped here is that of the last statement of the module, and not
    of one that is part of another or has others after it that leave no code."""
    after = start_of(source, line) if line else len(source)
    start = next(line_starts(source, after - 1), 0)
    text = source[start:start + 200]
    word = text.replace(b":", b" ").replace(b"(", b" ").split(None, 1)[:1]
    if text[:1] == b"@" or not word:
        return False
    if word[0].decode("latin-1") in COMPOUND and not is_expression(source[start:]):
        return False
    if is_quiet(source[after:]):
        return True
    if not hasattr(code, "co_positions"):
        return next(line_starts(source, len(source)), 0) == start
    for i, (_, end_line, _, end_column) in enumerate(code.co_positions()):
        if i * 2 == offset:
            if not end_line:
                return False
            return is_quiet(source[start_of(source, end_line - 1) + end_column:])
    return False


def is_expression(source):
    """Whether such a word is a name here, as `match` can be."""
    try:
        compiled(source.strip(), run=eval)
    except (SyntaxError, ValueError):
        return False
    return True


def endings():
    """How this version drops a value and ends, and how it returns one."""
    if "endings" not in parts:
        value = compiled("a", run=eval).co_code
        parts["endings"] = compiled("a").co_code[len(value) - 2:], value[-2:]
    return parts["endings"]


def return_last(source, code):
    """The same code, returning the value of its last expression instead of dropping it, and the
    line of that; None when the program does not end with an expression."""
    drops, returns = endings()
    text, size = code.co_code, len(drops)
    if text[-size::2] != drops[::2]:
        # the number of the constant None may have taken a prefix of its own
        if text[-size - 2::2] != bytes([drops[0], EXTENDED_ARG]) + drops[2::2]:
            return None
        size += 2
    line = line_of(code, len(text) - size)
    if not is_last(source, code, len(text) - size, line):
        return None
    return code.replace(co_code=text[:-size] + returns + text[2 - size:]), line


def constant(text):
    """The value of a constant expression; None when it is none."""
    try:
        code = compiled(text.decode().strip(), run=eval)
    except (SyntaxError, ValueError):
        return None
    return code.co_consts[0] if not code.co_names and len(code.co_consts) == 1 else None


def last_constant(source):
    """The value of a last expression that is a constant: the compiler leaves it out."""
    end = source.rstrip()
    semicolon = end.rfind(b";", end.rfind(b"\n") + 1)
    if semicolon > 0 and not any(mark in end[semicolon:] for mark in (b"'", b'"', b"#")):
        return constant(end[semicolon + 1:])
    for start, _ in zip(line_starts(source, len(end)), range(8)):
        if end[start:start + 3].lower().lstrip(b"bru")[:1] in CONSTANT \
                or end[start:start + 4] in (b"True", b"Fals"):
            value = constant(end[start:])
            if value is not None:
                return value
    return None


class Program:
    """What is to be run: a function without arguments, and what is known about its value."""

    def __init__(self, path, source, code):
        self.path = path
        self.line = 0
        self.constant = None
        if HAS_VALUES and not is_silenced(source):
            self.constant = last_constant(source)
            returning = return_last(source, code) if self.constant is None else None
            if returning:
                code, self.line = returning
        self.main = make_main(path)
        if policy and policy["profile"] == "strict":
            quietly(load, "strict").equip(self.main)
        self.function = type(load)(code, self.main.__dict__)


exit_status = None  # how the program did, once it has ended


def status_of(raised):
    """As far as it can be told without asking anything of the program's own."""
    if type(raised) is not SystemExit:
        return None
    code = raised.code
    if code is None:
        return 0
    if not isinstance(code, int):
        return 1
    return code & 255 if -1 << 31 <= code < 1 << 31 else 255


class Held:
    """Takes the place of stderr while something is compiled, which may warn."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


held = Held()


def prepare(path, source=None, code=None):
    """Compiles the file, which may have been read, or compiled. None: let the interpreter say what is
    wrong."""
    stderr, sys.stderr, held.text = sys.stderr, held, ""
    try:
        if source is None:
            with open(path, "rb", 0) as file:
                source = file.read()
        code = guarded(source, code or compiled(source, path), path)
        warned = held.text
        program = Program(path, source, code)
    except SyntaxError as error:
        load("failure").tell_syntax(error, path)
        failure = error
    except Exception as error:
        failure = error
    else:
        failure = None
    finally:
        sys.stderr = stderr
    if failure is not None:
        if is_bound():
            leave_unrun(failure)
        return None
    if warned:
        stderr.write(warned)
    return program


# ---- the guard -----------------------------------------------------------------------------------

policy = None  # what the guard goes by; None: its defaults


def take_policy():
    """As the supervisor said it."""
    global policy
    option = sys._xoptions.pop("hotcell", None)  # from another interpreter, which had taken it
    if option:
        policy = quietly(from_json, option)
        if hasattr(sys, "orig_argv"):
            del sys.orig_argv[1:3]
    elif policy is None and channel_fd >= 0:
        policy = (receive() or {}).get("guard")
    if policy and policy["profile"] != "trusted":
        load("guard").policy.update(policy)


def is_bound():
    """Whether the guard may refuse the program: then nothing runs that it has not seen."""
    return bool(policy) and policy["profile"] != "trusted" and (
        policy["profile"] == "strict" or policy["block_imports"] or bool(policy["block"]))


def leave_unrun(failure):
    """The bare interpreter, which would have the last word otherwise, might understand it."""
    if isinstance(failure, SyntaxError):
        sys.__excepthook__(type(failure), failure.with_traceback(None), None)
        sys.stderr.flush()
        os._exit(1)
    load("guard").refuse_unseen()


def guarded(source, code, path):
    """The code to run, once the guard has looked at it. Does not return when it must not."""
    if not is_heard() or policy and policy["profile"] == "trusted":
        return code
    return load("guard").look(source, code, path)


# ---- the run -------------------------------------------------------------------------------------


def bare():
    """Becomes what would have been without us."""
    argv = getattr(sys, "orig_argv", None)
    if argv:
        del argv[-len(sys.argv)]
    else:
        argv = [sys.executable] + sys.argv[1:]
    os.execv(sys.executable, argv)


def clean():
    """What must look untouched when the program begins."""
    sys.excepthook = sys.__excepthook__
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)


def has_figures():
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return "matplotlib.pyplot" in sys.modules and (helpers is None or bool(helpers.Gcf.figs))


def finish(value=None, failure=None, path=None):
    """Tells what there is to tell after the program's last line."""
    try:
        if not is_heard():
            return
        if failure is not None:
            flush()
            load("failure").tell(failure, path)
        if value is not None:
            load("values").tell_result(value)
        if has_figures():
            load("figures").show_open()
    except BaseException:  # whatever a value does when it is looked at, the program has ended
        pass


def drop(main, path, line, box):
    """Something that complains when it is dropped, as a coroutine that nobody awaited, does so
    where that happens: in the last line of the program."""
    code = compiled("\n" * (line - 1) + "''.clear()", path)
    consts = tuple(box if const == "" else const for const in code.co_consts)
    type(load)(code.replace(co_consts=consts), main.__dict__)()


def print_failure(failure):
    """What the interpreter does with an exception that nobody caught."""
    kind, trace = type(failure), failure.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = kind, failure, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = failure
    return getattr(sys, "excepthook", None), kind, trace


def print_hook_failure(hook, failure, second):
    """The same when the program's own hook is missing or fails."""
    if second is None:
        sys.stderr.write("sys.excepthook is missing\n")
    else:
        sys.stderr.write("Error in sys.excepthook:\n")
        sys.__excepthook__(type(second), second, second.__traceback__)
        sys.stderr.write("\nOriginal exception was:\n")
    sys.__excepthook__(type(failure), failure, failure.__traceback__)


def own_trace(failure):
    """Where the interpreter does not hide our frame, the trace begins with it."""
    trace = failure.__traceback__
    if trace is not None and trace.tb_frame.f_code in (start.__code__, failed.__code__):
        failure.__traceback__ = trace.tb_next
    if policy and policy["profile"] == "strict":
        load("ground").hide(failure)
    return failure


def take_program():
    return parts.pop("program")


def start(*_):
    """Runs the program; the interpreter calls it in the place of sys.excepthook."""
    program = take_program()
    main, path, function, value, failure = program.main, program.path, program.function, None, None
    program.function = None
    clean()
    try:
        value = function()
    except SystemExit as raised:
        left(main, path, own_trace(raised))
        raise
    except BaseException as raised:
        failure = own_trace(raised)
    function = None
    if failure is not None:
        return failed(main, path, failure)
    box = [] if value is None else [value]
    value = None
    show(main, path, program.line, box, program.constant)


def left(main, path, raised):
    """The program ended by itself."""
    global exit_status
    finish()
    exit_status = status_of(raised)


def show(main, path, line, box, constant=None):
    """The program ran to its end, with the value that is in the box."""
    global exit_status
    finish(box[0] if box else constant)
    if box:
        drop(main, path, line, box)
    main.__dict__.pop("__file__", None)
    main.__dict__.pop("__cached__", None)
    exit_status = 0
    raise SystemExit


def failed(main, path, failure):
    """What the interpreter does when nobody caught an exception, and what we tell of it."""
    global exit_status
    finish(None, failure, path)
    hook, kind, trace = print_failure(failure)
    second = None
    if hook is not None:
        try:
            hook(kind, failure, trace)
        except SystemExit as raised:
            exit_status = status_of(raised)
            raise
        except BaseException as raised:
            second = own_trace(raised)
    if hook is None or second is not None:
        print_hook_failure(hook, failure, second)
    main.__dict__.pop("__file__", None)
    main.__dict__.pop("__cached__", None)
    if kind is not KeyboardInterrupt:
        exit_status = 1
    else:
        # text that is executed sets the mark by which the interpreter ends itself with SIGINT
        try:
            exec("raise KeyboardInterrupt")
        except KeyboardInterrupt:
            pass


def hide(function):
    """Takes the RESUME instruction away, where that is known to hide a frame."""
    code = function.__code__
    if NOP is not None:
        function.__code__ = code.replace(co_code=bytes([NOP]) + code.co_code[1:],
                                         co_filename="<hotcell>")


def begin_session():
    """The same for a Python that remembers, whose line is where the channel would be."""
    builtins.display = display
    sys.meta_path.insert(0, Finder)
    session = load("session")
    session.begin(globals(), channel_fd, *sys.argv[2:3])
    hide(start)
    hide(failed)
    sys.excepthook = start
    globals()["take_program"] = session.serve
    raise SystemError


def begin():
    """Puts everything where the program expects it. Does not return."""
    open_channel()
    if sys.argv[1] == "--session":
        begin_session()
    take_policy()
    script = sys.argv[0]
    path = absolute(sys.argv[1])
    program = prepare(path)
    if program is None:
        bare()
    del sys.argv[0]
    if hasattr(sys, "orig_argv"):
        del sys.orig_argv[-len(sys.argv) - 1]
    if sys.path and sys.path[0] + "/" == HERE:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    if script in sys.path_importer_cache:
        sys.path_importer_cache[path] = sys.path_importer_cache.pop(script)
    builtins.display = display
    sys.meta_path.insert(0, Finder)
    parts["program"] = program
    if policy and policy["profile"] == "strict":
        load("strict").enforce(program.main, path)
    del program  # the trace of what is raised here lives as long as the interpreter
    hide(start)
    hide(failed)
    sys.excepthook = start
    raise SystemError  # takes our frames away and calls start()
