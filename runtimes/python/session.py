# SPDX-License-Identifier: Apache-2.0
"""A Python that remembers: it serves a line, over which the keeper hands it turn after turn.

A turn brings its own standard streams and its own channel, as descriptors. They are put in their
places, one request is read from the channel, and afterwards the places are empty again: so nothing
of one turn can be mixed up with the next, and what a thread writes between turns goes nowhere.

Code is executed as at the interpreter's prompt, in one module that stays. SIGINT is blocked except
while code runs: what arrives too late for one turn is dropped before the next one begins.

Whatever code does to this file's objects it does to its own session. Nothing here is secret, and
nobody outside believes more of it than of the code.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import __future__
import _ast
import _signal
import _socket
import _thread
import builtins
import io
import os
import select
import sys
from _json import make_scanner

HIGHEST = 1024
PACKET_MAX = 4096
READ_SIZE = 4 << 10  # what most requests fit into, and no room has to be made for
READ_MORE = 64 << 10
DESCRIPTORS = 4  # of a turn: its three streams and its channel
VALUES_KEPT = 100  # results that have a name: _1, _2, …
INTERRUPTED = 128 + _signal.SIGINT
TOP_LEVEL_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
ONLY_AST = 0x400  # ast.PyCF_ONLY_AST
COROUTINE = 0x80  # of a code's flags
FUTURES = [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
SIGINT = {_signal.SIGINT}


class session:
    """What stays from turn to turn."""
    core = None  # the names of core.py
    main = None  # the module that code runs in
    line = None  # to the keeper
    new_line = -1  # of a copy that is to be made
    line_place = channel_place = null_place = -1  # descriptors
    owner = 0  # the process that serves: a child that code forks does not
    count = 0  # executions so far
    flags = TOP_LEVEL_AWAIT
    streams = [None, None, None]  # ours: code may put others in their place
    can_reuse_stdin = True  # nothing was read through it
    loop = None  # of asyncio, once code has awaited something
    own_input = None
    guard = None  # looks at code before it runs; None: nobody does
    strict = None  # holds it to its lists while it runs; None: nobody does
    builtins = builtins.__dict__  # those of code
    run = eval
    own_register_at_fork = None
    is_copying = False  # a fork that happens now is ours
    is_used = False  # it had a turn
    linecache = None
    before_turns = []  # what else is to be done around each
    after_turns = []


class turn:
    """What belongs to the one that runs."""
    received = b""  # from the channel, not looked at yet
    accepts_input = False
    codes = ()  # what was compiled
    parts = ()  # the same, until it runs
    is_done = False
    is_rich = False  # whether a value that is shown now is the result
    lock = _thread.allocate_lock()  # around a question and its answer


class reading:
    """How the C part of json is told to read."""
    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float, parse_int = float, int


parse = make_scanner(reading)


def to_json(value):
    return load("values").to_json(value)


# ---- places --------------------------------------------------------------------------------------


def choose_places():
    """Where no program looks for a descriptor."""
    high = min(os.sysconf("SC_OPEN_MAX"), HIGHEST) - 1
    session.channel_place, session.line_place, session.null_place = high, high - 1, high - 2


def move(fd, place):
    os.dup2(fd, place, False)
    os.close(fd)


def take_line(fd):
    """The line may come where a channel is in other programs."""
    choose_places()
    move(fd, session.line_place)
    session.line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, session.line_place)
    session.line.setblocking(True)
    move(os.open("/dev/null", os.O_RDWR), session.null_place)
    session.core["channel_fd"] = -1
    session.owner = os.getpid()


def take_places(fds):
    """Puts the descriptors of a turn where they belong."""
    core = session.core
    for place, fd in enumerate(fds[:3]):
        os.dup2(fd, place)
        os.close(fd)
    place = session.channel_place
    move(fds[3], place)
    os.set_blocking(place, False)
    core["channel_inode"] = os.fstat(place).st_ino
    core["channel_owner"] = session.owner
    core["channel_fd"] = place


def leave_streams():
    """What is left in a stream must not come out in the next turn. They are left before the last
    word is said: whoever hears it finds them ended."""
    is_flushed = flush_streams()
    for place in range(3):
        os.dup2(session.null_place, place)
    if not is_flushed:
        flush_streams()


def leave_channel():
    session.core["channel_fd"] = -1
    try:
        os.close(session.channel_place)
    except OSError:
        pass


def forget_places():
    """In a child that code forked: whose end would not be noticed while it holds these."""
    if session.is_copying:
        return
    for place in (session.line_place, session.channel_place, session.null_place):
        try:
            os.close(place)
        except OSError:
            pass
    session.core["channel_fd"] = -1


# ---- standard streams ----------------------------------------------------------------------------


def make_output(fd, old):
    """As for a terminal: a line is seen when it is whole."""
    raw = io.FileIO(fd, "w", closefd=False)
    raw.name = old.name
    stream = io.TextIOWrapper(io.BufferedWriter(raw), old.encoding, old.errors, "\n", True)
    stream.mode = old.mode
    return stream


def make_input(old):
    raw = io.FileIO(0, "r", closefd=False)
    raw.name = "<stdin>"
    stream = io.TextIOWrapper(io.BufferedReader(raw), old.encoding, old.errors)
    stream.mode = "r"
    return stream


def place_stream(at, name, stream):
    """Where the one before was, code's own choice stays."""
    if getattr(sys, name, None) is session.streams[at]:
        setattr(sys, name, stream)
    setattr(sys, "__%s__" % name, stream)
    session.streams[at] = stream


def begin_streams():
    """A stream remembers whether its descriptor could seek: so they are made while it is a pipe."""
    session.streams[:] = sys.stdin, sys.stdout, sys.stderr
    ends = os.pipe()
    for at, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(ends[1], at)
        place_stream(at, name, make_output(at, session.streams[at]))
        os.dup2(session.null_place, at)
    for fd in ends:
        os.close(fd)


def renew_streams():
    """A stream that was closed, and the input, which may have read ahead what nobody asked for."""
    stdin, stdout, stderr = session.streams
    is_null = os.fstat(0).st_mode & 0o170000 == 0o020000
    if not (is_null and session.can_reuse_stdin) or stdin.closed:
        place_stream(0, "stdin", make_input(stdin))
    session.can_reuse_stdin = is_null
    if stdout.closed:
        place_stream(1, "stdout", make_output(1, stdout))
    if stderr.closed:
        place_stream(2, "stderr", make_output(2, stderr))


def flush_streams():
    is_flushed = True
    for stream in (sys.stdout, sys.stderr, session.streams[1], session.streams[2]):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:  # also an interrupt: a reader may be slow for ever
            is_flushed = False
    return is_flushed


# ---- interrupts ----------------------------------------------------------------------------------


def drop_interrupts():
    """Those that came too late for the turn they were meant for. The keeper sends none for the next
    turn before its packet is taken."""
    while _signal.sigtimedwait(SIGINT, 0) is not None:
        pass


def guarded(step, *args):
    """Does it, as the only moment at which it can be interrupted. Returns what was raised."""
    failure = None
    try:
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGINT)
        step(*args)
    except BaseException as raised:
        failure = raised
    while True:
        try:
            _signal.pthread_sigmask(_signal.SIG_BLOCK, SIGINT)
            return failure
        except BaseException as raised:  # by the handler of one that came just before
            failure = failure or raised


# ---- the channel ---------------------------------------------------------------------------------


def read_more(size=READ_SIZE):
    place = session.channel_place
    while True:
        try:
            data = os.read(place, size)
        except BlockingIOError:
            poll = select.poll()
            poll.register(place, select.POLLIN)
            poll.poll()
            continue
        if not data:
            raise EOFError("nobody answers")
        turn.received += data
        return


def read_frame():
    while len(turn.received) < 4:
        read_more()
    size = int.from_bytes(turn.received[:4], "big")
    if size > session.core["FRAME_MAX"]:
        raise ValueError("a frame of %d bytes" % size)
    if len(turn.received) < 4 + size:
        parts = [turn.received]
        have = len(turn.received)
        while have < 4 + size:
            turn.received = b""
            read_more(READ_MORE)
            parts.append(turn.received)
            have += len(turn.received)
        turn.received = b"".join(parts)
    text = turn.received[4:4 + size].decode("utf-8", "surrogatepass")
    turn.received = turn.received[4 + size:]
    return parse(text, 0)[0]


# ---- questions of the code -----------------------------------------------------------------------


def ask(prompt, is_secret):
    with turn.lock:
        flush()
        send(to_json({"event": "input_request", "prompt": str(prompt)[:4096],
                      "password": is_secret}))
        answer = read_frame().get("input")
    if not isinstance(answer, str):
        raise EOFError("EOF when reading a line")
    return answer


def is_asking():
    return turn.accepts_input and sys.stdin is session.streams[0] and is_heard()


def input(prompt="", /):
    """Read a string from standard input. The trailing newline is stripped.

    The prompt string, if given, is shown without a trailing newline before reading input. At the
    end of the input, EOFError is raised."""
    if not is_asking():
        return session.own_input(prompt)
    sys.audit("builtins.input", prompt)
    answer = ask(prompt, False)
    sys.audit("builtins.input/result", answer)
    return answer


def watch_getpass(module):
    own_getpass = module.getpass

    def getpass(prompt="Password: ", stream=None):
        return ask(prompt, True) if is_asking() else own_getpass(prompt, stream)

    getpass.__doc__ = own_getpass.__doc__
    module.getpass = getpass


class Finder:
    """Waits for getpass, which otherwise looks for a terminal."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "getpass":
            return None
        sys.meta_path.remove(Finder)
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = load("figures").Loader(spec.loader, watch_getpass)
                return spec
        return None


# ---- values --------------------------------------------------------------------------------------


def keep_value(value):
    """`_` is the last one, `__` and `___` those before, `_3` that of the third execution."""
    names = session.builtins
    if names.get("_") is not value:
        names["___"], names["__"], names["_"] = names.get("__"), names.get("_"), value
    names["_%d" % session.count] = value
    names.pop("_%d" % (session.count - VALUES_KEPT), None)


def displayhook(value, /):
    """Shows the value of an expression: the last one of the code as richly as it can be."""
    if value is None:
        return
    before = builtins.__dict__.get("_")
    if turn.is_rich and is_heard():
        load("values").tell_result(value)
    else:
        sys.__displayhook__(value)
    builtins._ = before
    keep_value(value)


# ---- compiling -----------------------------------------------------------------------------------


def is_silenced(source, node):
    """A semicolon after the last expression says that its value is not to be shown."""
    rest = source.split("\n")[node.end_lineno - 1].encode("utf-8", "replace")[node.end_col_offset:]
    return rest.lstrip().startswith(b";")


def made_code(tree, name, mode):
    code = compile(tree, name, mode, session.flags, True)
    return code if session.strict is None else session.strict.bound(code)


def compile_part(nodes, name, is_shown):
    tree = _ast.Interactive(nodes) if is_shown else _ast.Module(nodes, [])
    code = made_code(tree, name, "single" if is_shown else "exec")
    for flag in FUTURES:
        session.flags |= code.co_flags & flag
    return code


def is_statement(source):
    """Whether a line can only be one: it is not tried as an expression first, which takes long to
    fail. False where that is not plain to see."""
    target, equals, value = source.partition("=")
    if equals and value[:1] != "=" and target.rstrip().rstrip("+-*/%&|^@").rstrip().isidentifier():
        return True
    return source.startswith(("import ", "from ", "del ", "def "))


def compile_line(source, name):
    """One simple line, without a syntax tree: the tree's classes are pages that a copy of the
    session would have to copy, too. None: it is not that simple, or wrong."""
    if "\n" in source or ";" in source:
        return None
    for mode in ("single",) if is_statement(source) else ("eval", "single"):
        try:
            return [(compile(source, name, mode, session.flags, True), mode == "eval")]
        except (SyntaxError, ValueError, OverflowError):
            pass
    return None


def make_tree(source, name):
    return compile(source, name, "exec", session.flags | ONLY_AST, True)


def compile_cell(source, name):
    """Its parts, each with whether its value is the result. One statement, or one line of them, is
    what it is at the prompt: each value is shown. Of more, only the last can be one."""
    parts = compile_line(source.rstrip("\n"), name)
    if parts is not None:
        return parts
    return compile_body(make_tree(source, name).body, source, name)


def compile_body(body, source, name):
    if not body:
        return []
    last = body[-1]
    is_line = body[0].lineno == last.lineno
    if not isinstance(last, _ast.Expr):
        return [(compile_part(body, name, is_line), False)]
    parts = []
    if len(body) > 1:
        parts.append((compile_part(body[:-1], name, is_line), False))
    if is_silenced(source, last):
        parts.append((compile_part([last], name, False), False))
    else:
        parts.append((made_code(_ast.Expression(last.value), name, "eval"), True))
    return parts


class Refused(BaseException):
    """The guard said no."""


def compile_strictly(source, name):
    """What runs is what was seen: the tree, with the lookups that are checked when it runs."""
    try:
        tree = make_tree(source, name)
    except (RecursionError, MemoryError):
        session.guard.is_told([session.guard.unseen(True)], [])
        raise Refused from None
    earlier = session.guard.turns.names
    if not session.guard.look_at_turn(tree):
        raise Refused
    session.strict.state.told = 0
    names = session.guard.turns.names
    body = session.strict.rewrite(tree, names, earlier.classes if earlier else (), session.flags).body
    return compile_body(body, source, name)


def see_again(source, name):
    """A tree for the guard; what there is to warn of was said when it was compiled."""
    stderr, sys.stderr = sys.stderr, session.core["Held"]()
    try:
        return make_tree(source, name)
    finally:
        sys.stderr = stderr


def compile_seen(source, name):
    """The parts of code that may run."""
    if session.strict is not None:
        return compile_strictly(source, name)
    parts = compile_cell(source, name)
    if session.guard is not None and not session.guard.look_at_parts(
            [code for code, _ in parts], lambda: see_again(source, name)):
        raise Refused
    return parts


def remember_source(source, name):
    """For tracebacks, inspect.getsource() and debuggers."""
    lines = [line + "\n" for line in source.split("\n")]
    session.linecache.cache[name] = len(source), None, lines, name


# ---- executing -----------------------------------------------------------------------------------


def run_coroutine(coroutine):
    """All that was started with asyncio goes on while something is awaited, in any turn."""
    import asyncio
    if session.loop is None or session.loop.is_closed():
        session.loop = asyncio.new_event_loop()
    asyncio.set_event_loop(session.loop)
    task = session.loop.create_task(coroutine)
    try:
        return session.loop.run_until_complete(task)
    finally:
        if not task.done():  # interrupted
            task.cancel()
            session.loop.run_until_complete(asyncio.wait([task]))


def run_parts(parts):
    for code, is_rich in parts:
        turn.is_rich = False
        value = session.run(code, session.main.__dict__)
        if code.co_flags & COROUTINE:
            value = run_coroutine(value)
        if is_rich:
            turn.is_rich = True
            sys.displayhook(value)


def take_code(source, name):
    turn.codes, turn.parts = [], ()
    turn.parts = compile_seen(source, name)
    turn.codes = [code for code, _ in turn.parts]


def run_cell(request):
    if request.get("reload"):
        load("reload").reload_changed()
    parts, turn.parts = turn.parts, ()
    run_parts(parts)


def own_trace(failure):
    """Without our own frames, and those of the loop that awaits for us."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    first = trace
    while first is not None and first.tb_frame.f_code not in turn.codes:
        first = first.tb_next
    failure.__traceback__ = first or trace
    if session.strict is not None:
        session.strict.hide(failure)
    return failure.__traceback__


def suggest(line, failure):
    """Which name could have been meant is known only to the interpreter's own printing before 3.12,
    which in turn does not know the lines of a session."""
    stderr, sys.stderr = sys.stderr, io.StringIO()
    try:
        sys.__excepthook__(type(failure), failure, failure.__traceback__)
        said = sys.stderr.getvalue().splitlines(True)
    finally:
        sys.stderr = stderr
    return said[-1] if said and said[-1].startswith(line.rstrip("\n")) else line


def print_failure(failure, trace):
    """As the prompt does, with the lines of earlier executions."""
    kind = type(failure)
    sys.last_type, sys.last_value, sys.last_traceback = kind, failure, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = failure
    hook = getattr(sys, "excepthook", None)
    if hook is not None and hook is not sys.__excepthook__:
        try:
            hook(kind, failure, trace)
            return
        except SystemExit:
            raise
        except BaseException as second:
            own_trace(second)
            session.core["print_hook_failure"](hook, failure, second)
            return
    import traceback
    lines = traceback.format_exception(kind, failure, trace)
    if sys.version_info < (3, 12) and isinstance(failure, (NameError, AttributeError)):
        lines[-1] = suggest(lines[-1], failure)
    sys.stderr.write("".join(lines))


def print_exit(failure):
    """What the interpreter says when it leaves with this."""
    code = failure.code
    if code is not None and not isinstance(code, int):
        sys.stderr.write("%s\n" % (code,))


def tell_failure(failure, name):
    if isinstance(failure, SystemExit):
        print_exit(failure)
        return
    trace = own_trace(failure)
    flush()
    if not turn.codes and isinstance(failure, SyntaxError):
        load("failure").tell_syntax(failure, name)
    else:
        load("failure").tell(failure, name)
    print_failure(failure, trace)


def tell_rest(failure, name):
    """After the last line of the code."""
    try:
        if failure is not None:
            tell_failure(failure, name)
    finally:
        if session.core["has_figures"]():
            load("figures").show_open()
        flush_streams()


def status_of(failure):
    if failure is None:
        return 0
    if isinstance(failure, SystemExit):
        status = session.core["status_of"](failure)
        return 1 if status is None else status
    return INTERRUPTED if isinstance(failure, KeyboardInterrupt) else 1


def set_environment(variables):
    import time
    for variable in variables:
        name, _, value = variable.partition("=")
        os.environ[name] = value
        if name == "TZ":
            time.tzset()


def say_done(status, is_interrupted):
    turn.is_done = True
    leave_streams()
    send('{"event":"done","exit_code":%d,"execution_count":%d,"interrupted":%s}' % (
        status, session.count, "true" if is_interrupted else "false"))


def leave_fork(status):
    """A child that code forked has come to the end of the code: it is not who serves."""
    import atexit
    atexit._run_exitfuncs()
    flush_streams()
    os._exit(status)


def execute(request):
    source = request["code"]
    session.count += 1
    name = request.get("name") or "<cell %d>" % session.count
    turn.accepts_input = bool(request.get("accepts_input"))
    session.main.__dict__.pop("__warningregistry__", None)  # a warning is news in each execution
    remember_source(source, name)
    failure = guarded(take_code, source, name)
    if isinstance(failure, Refused):
        say_done(session.core["load"]("guard").REFUSED_STATUS, False)
        return
    if request.get("env"):
        set_environment(request["env"])
    if failure is None:
        failure = guarded(run_cell, request)
    status = status_of(failure)
    if os.getpid() != session.owner:
        guarded(tell_rest, failure, name)
        leave_fork(status)
    is_interrupted = isinstance(failure, KeyboardInterrupt)
    guarded(tell_rest, failure, name)
    turn.accepts_input = False
    say_done(status, is_interrupted)


# ---- questions to the session --------------------------------------------------------------------


def answer(kind, request):
    """One that executes nothing. Looking at things may run code all the same, and fail."""
    found = []
    questions = load("questions")
    failure = guarded(lambda: found.append(questions.ASKED[kind](session, request)))
    send(to_json(found[0] if found else questions.NOTHING[kind](request)))
    say_done(0, isinstance(failure, KeyboardInterrupt))


# ---- turns ---------------------------------------------------------------------------------------


def take_turn(number, fds):
    turn.received, turn.is_done, session.is_used = b"", False, True
    try:
        take_places(fds)
        renew_streams()
        for action in session.before_turns:
            action()
        request = read_frame()
        for kind, body in request.items():
            if kind == "execute":
                execute(body)
            elif kind in ("complete", "inspect", "is_complete"):
                answer(kind, body)
        for action in session.after_turns:
            action()
    except BaseException:  # who asked is gone, or makes no sense
        pass
    if not turn.is_done:
        leave_streams()
    leave_channel()
    if session.strict is not None:
        session.strict.hush()
    say('{"idle":%d}' % number)


def say(text):
    session.line.send(text.encode(), _socket.MSG_NOSIGNAL)


def descriptors(ancillary):
    fds = []
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            for at in range(0, len(data) - len(data) % 4, 4):
                fds.append(int.from_bytes(data[at:at + 4], sys.byteorder))
    return fds


def leave():
    """The exit handlers of the code, and the end. A copy that nobody used has nothing to end."""
    if session.is_used:
        import atexit
        guarded(atexit._run_exitfuncs)
        flush_streams()
    os._exit(0)


def serve_one():
    session.line.recv(1, _socket.MSG_PEEK)  # waits for a packet
    drop_interrupts()
    text, ancillary, _, _ = session.line.recvmsg(
        PACKET_MAX, _socket.CMSG_SPACE(DESCRIPTORS * 4), _socket.MSG_CMSG_CLOEXEC)
    if not text:
        leave()
    packet, fds = parse(text.decode(), 0)[0], descriptors(ancillary)
    if "turn" in packet and len(fds) == DESCRIPTORS:
        take_turn(packet["turn"], fds)
    elif "fork" in packet and len(fds) == 1:
        load("copies").make_copy(packet["fork"], bool(packet.get("branch")),
                                 bool(packet.get("ahead")), fds[0])
    elif "branch" in packet:
        load("copies").be_other(True)
    elif "bye" in packet:
        leave()


def serve():
    """Does not return."""
    session.core["clean"]()
    say('{"ready":true}')
    while True:
        try:
            serve_one()
        except BrokenPipeError:
            os._exit(1)  # the keeper is gone
        except BaseException:  # a handler of the code's own, for a signal between turns
            pass


# ---- the beginning -------------------------------------------------------------------------------


def make_main():
    """As it is at the prompt."""
    main = type(sys)("__main__")
    main.__loader__ = sys.modules["sys"].__spec__.loader
    main.__dict__.update(__annotations__={}, __builtins__=builtins)
    session.core["keep"](sys.modules["__main__"])
    sys.modules["__main__"] = main
    return main


def register_at_fork(**hooks):
    """What modules want to do at each fork is for the forks of code: a copy of the session is to be
    exact, down to its random numbers."""
    session.own_register_at_fork(**{when: unless_copying(hook) for when, hook in hooks.items()})


def unless_copying(hook):
    def run():
        if not session.is_copying:
            hook()
    return run


def take_guard(text):
    """What the guard goes by, as the keeper was told when the session was made."""
    policy = parse(text, 0)[0]
    if policy["profile"] == "trusted":
        return
    session.guard = load("guard")
    session.guard.policy.update(policy)
    if policy["profile"] != "strict":
        return
    session.strict = load("strict")
    session.flags = 0  # awaiting takes a loop, and that a socket
    session.strict.prepared.builtins = None  # input() is ours here
    session.strict.equip(session.main)
    session.builtins = session.main.__dict__["__builtins__"]
    session.run = session.strict.run
    for part in ("values", "copies", "questions"):
        load(part)
    session.strict.enforce(session.main, "")


def begin(core, fd, policy=None):
    """Everything up to the first packet; the rest is serve(). `fd` is the line, `policy` what the
    guard is to go by."""
    session.core = core
    _signal.pthread_sigmask(_signal.SIG_BLOCK, SIGINT)
    take_line(fd)
    begin_streams()
    core["is_heard"] = is_heard
    session.linecache = load("failure").linecache
    session.main = make_main()
    sys.argv[:] = [""]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = [sys.executable]
    sys.path[0] = ""
    sys.displayhook = displayhook
    session.own_input, builtins.input = builtins.input, input
    session.own_register_at_fork, os.register_at_fork = os.register_at_fork, register_at_fork
    session.own_register_at_fork(after_in_child=forget_places)
    getpass = sys.modules.get("getpass") or load("shelf").modules.get("getpass")
    if getpass is not None:
        watch_getpass(getpass)
    else:
        sys.meta_path.insert(0, Finder)
    session.after_turns.append(load("reload").note_modules)
    for function in (serve, serve_one, take_turn, execute, guarded, run_cell, run_parts, input,
                     ask):
        core["hide"](function)
    if policy is not None:
        take_guard(policy)
