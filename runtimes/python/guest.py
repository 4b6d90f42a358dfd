# SPDX-License-Identifier: Apache-2.0
"""A template, and the guests that are forked from it.

What core.py does for a program in an interpreter of its own it does for a guest too; this file makes
the difference small. A guest has the template's modules on a shelf, standard streams that were made
before their pipes were known, and an end of its own: exit handlers run as ever, what the program made
is finalized, and then the process leaves. Taking down an interpreter that it shares with others would
first have to copy it.

What a template holds is the same in all its guests. Whatever must not be is made anew when a program
takes the module that has it: see FRESH.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import _random
import _thread
import _weakref
import os
import sys
import time

shelf = load("shelf")
RUNNER = "/run/hotcell/runner.py"
HOME = "/home/user"
PROGRAM = "/home/user/main.py"  # most have this name
USUAL = ["main.py"]  # and these arguments: the module knows them too
REHEARSED = b"print(end='')"
REHEARSALS = 20  # until the interpreter has learnt what is looked up where
PARTS = ("values", "figures", "failure", "guard", "rules", "strict", "session", "copies", "reload",
         "questions")
# What an interpreter that ends forgets first.
GONE_FIRST = ("path", "argv", "last_type", "last_value", "last_traceback", "last_exc", "path_hooks",
              "path_importer_cache", "meta_path")
# What goes without a word, and takes nothing along.
ENDLESS = frozenset((type(None), bool, int, float, complex, str, bytes))
# Files in the program's directory that an interpreter, or a module that is loaded already, would have
# read before: a program that has them gets an interpreter of its own.
EARLY_FILES = (".local", ".config", ".matplotlib", "matplotlibrc")


class Template:
    """Its class has no attributes: where one has the same name, finding an object's own takes more,
    and leaves traces in pages that are shared."""

    def __init__(self):
        self.core = None  # the names of core.py
        self.module = None  # _hotcell
        self.find_spec = None  # of its Finder
        self.handler_count = 0  # of logging
        self.can_draw = False  # numpy's state, without numpy
        self.kept = ()
        self.fresh = ()  # what to make anew at once, because its module is there
        self.main_names = frozenset()  # that it has from the beginning
        self.gc = None
        # while the last word is said: the channel's, if that takes none
        self.lock = _thread.allocate_lock()
        self.trial = ""  # a program that does what most do: what it touches is ready for all
        self.stdin_pipe = None  # sys.stdin for a pipe; the one for /dev/null is in its place already


template = Template()


# ---- what each guest must have for itself --------------------------------------------------------


def fresh_random(random):
    _random.Random.seed(random._inst)


def draw_numpy_state(mtrand):
    generator = mtrand._rand._bit_generator
    return (type(generator).__name__ == "MT19937"
            and template.module.draw_state(generator.capsule))


def can_draw_numpy_state(mtrand):
    """Whether it is where we look for it: what was drawn is seen through numpy's own functions."""
    states = []
    for _ in range(2):
        mtrand._rand.random_sample()
        if not draw_numpy_state(mtrand):
            return False
        kind, key, position = mtrand._rand.get_state()[:3]
        states.append(key.tobytes())
        if position != 624 or len(key) != 624 or key[0] < 1 << 31:
            return False
    return states[0] != states[1]


def fresh_numpy_random(mtrand):
    if not template.can_draw or not draw_numpy_state(mtrand):
        mtrand._rand.seed()


def fresh_openssl(_ssl):
    """It notices a fork by the process's number, which may be the template's in another namespace."""
    _ssl.RAND_add(os.urandom(64), 64.0)


def fresh_process(process):
    key = process.AuthenticationString(os.urandom(32))
    process._current_process._config["authkey"] = key


def fresh_logging(logging):
    now = time.time_ns if isinstance(logging._startTime, int) else time.time
    logging._startTime = now()


def fresh_threading(threading):
    if hasattr(threading._main_thread, "_native_id"):
        threading._main_thread._native_id = _thread.get_native_id()


FRESH = {
    "random": fresh_random, "numpy.random.mtrand": fresh_numpy_random, "_ssl": fresh_openssl,
    "multiprocessing.process": fresh_process, "logging": fresh_logging, "threading": fresh_threading,
}


# The same as calls that take no Python code, and so fewer pages, where there is one.
QUICK = {
    "random": lambda random: (_random.Random.seed, (random._inst,)),
    "numpy.random.mtrand": lambda mtrand: template.can_draw and (
        template.module.draw_state, (mtrand._rand._bit_generator.capsule,)),
    "logging": lambda logging: (template.module.set_now, (logging.__dict__, "_startTime")),
    "threading": lambda threading: hasattr(threading._main_thread, "_native_id") and (
        template.module.set_thread, (threading._main_thread, "_native_id")),
}


def quick_call(name, owner):
    return name in QUICK and QUICK[name](owner) or (FRESH[name], (owner,))


# ---- what a template must not remember -----------------------------------------------------------


def forget_tempfile(tempfile):
    tempfile.tempdir = tempfile._name_sequence = None


def forget_uuid(uuid):
    uuid._node = uuid._last_timestamp = None


def forget_platform(platform):
    platform._uname_cache = None
    platform._platform_cache.clear()


def forget_matplotlib(matplotlib):
    """Where its files are: a guest's are elsewhere."""
    for function in (matplotlib.get_configdir, matplotlib.get_cachedir):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name == "called":
                cell.cell_contents = False


FORGET = {"tempfile": forget_tempfile, "uuid": forget_uuid, "platform": forget_platform,
          "matplotlib": forget_matplotlib}


# ---- what need not be done ----------------------------------------------------------------------


def is_needed(function):
    """Whether an exit handler of a module that the template loaded has anything to do: finding that
    out takes less than doing nothing."""
    logging = sys.modules.get("logging")
    if logging is not None and function is logging.shutdown:
        return len(logging._handlerList) > template.handler_count
    owner = getattr(function, "__self__", None)
    if getattr(owner, "__name__", "") == "Gcf":
        return bool(owner.figs)
    return not is_tidying(function)


def is_tidying(function):
    """Whether it only gives memory back."""
    return getattr(function, "__module__", "") == "PIL._imaging"


def idle_parts():
    """What must not have grown if there is to be nothing to do at the end: pairs of a container and its
    size; None: an exit handler is not known."""
    found = []
    for function, _args, _kwargs in shelf.exits:
        owner = getattr(function, "__self__", None)
        if getattr(function, "__name__", "") == "shutdown" and function.__module__ == "logging":
            found.append((find_module("logging")._handlerList, template.handler_count))
        elif getattr(owner, "__name__", "") == "Gcf":
            found.append((owner.figs, 0))
        elif not is_tidying(function):
            return None
    threading = find_module("threading")
    if threading is not None:
        names = ("_active", 1), ("_shutdown_locks", 1), ("_threading_atexits", 0)
        if not all(hasattr(threading, name) for name, _size in names):
            return None
        found += [(getattr(threading, name), size) for name, size in names]
    return found


def find_module(name):
    return sys.modules.get(name) or shelf.modules.get(name)


def quicken_threading(threading):
    """Its end waits for threads, if there are any."""
    if hasattr(threading, "_maintain_shutdown_locks"):
        threading._maintain_shutdown_locks()  # there were some while modules were loaded
    own, active = threading._shutdown, getattr(threading, "_active", None)
    if not hasattr(threading, "_shutdown_locks") or not hasattr(threading, "_threading_atexits"):
        return

    locks, exits = threading._shutdown_locks, threading._threading_atexits

    def _shutdown():
        if len(active) > 1 or len(locks) > 1 or exits:  # one of each is the main thread's
            own()

    threading._shutdown = _shutdown


# ---- the template --------------------------------------------------------------------------------


def make_stream(fd, old):
    """As the interpreter makes them, for what the descriptor is now."""
    buffer = open(fd, old.mode + "b", -1, closefd=False)
    buffer.raw.name = old.name
    stream = type(old)(buffer, old.encoding, old.errors, "\n", old.line_buffering)
    stream.mode = old.mode
    return stream


def make_streams():
    """A stream remembers what its descriptor was when it was made: a guest's are pipes, or for its
    input /dev/null, which is what we have."""
    ends = os.pipe()
    null = os.dup(0)
    os.dup2(ends[0], 0)
    template.stdin_pipe = make_stream(0, sys.stdin)
    os.dup2(null, 0)
    os.dup2(ends[1], 1)
    os.dup2(ends[1], 2)
    sys.stdout = sys.__stdout__ = make_stream(1, sys.stdout)
    sys.stderr = sys.__stderr__ = make_stream(2, sys.stderr)
    for fd in (null, *ends):
        os.close(fd)


def end_threads():
    """A library that computes with threads ends them before a fork, and starts them when it needs
    them again. Ours is not one that it notices."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def compiled(source, path="<string>", run=exec):
    """core.py avoids the first compile() of an interpreter, which is expensive. This was ours."""
    return compile(source, path, "exec" if run is exec else "eval", 0, True)


def find_spec(name, path=None, target=None):
    """Finder's, in a guest."""
    return shelf.find_spec(name, path, target) or template.find_spec(name, path, target)


def make_main(path):
    """The program's module stands ready too."""
    main = sys.modules["__main__"]
    if path != main.__file__:
        main.__file__ = main.__loader__.path = path
    return main


def prepare(core, module, cold, names):
    """Makes a template of this interpreter. What core.py does for each program and can do before
    there is one is done here, once. The rest follows in arrive()."""
    import atexit
    modules, cache = cold
    finder = core["Finder"]
    template.core, template.module, template.find_spec = core, module, finder.find_spec
    is_shared = getattr(module, "IS_SHARED", True)
    # the first, so it is called last
    atexit.register(module.leave if is_shared else leave)
    os.chdir(HOME)
    if is_shared:
        make_streams()
        os.environ["MPLCONFIGDIR"] = "/tmp/matplotlib"
    sys.meta_path.insert(0, finder)
    if is_shared:
        module.begin_modules()
    shelf.fill(names, PARTS)
    core["from_json"]("{}")
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    for name in FORGET.keys() & sys.modules.keys():
        FORGET[name](sys.modules[name])
    if "numpy.random.mtrand" in sys.modules:
        template.can_draw = can_draw_numpy_state(sys.modules["numpy.random.mtrand"])
    if "threading" in sys.modules:
        quicken_threading(sys.modules["threading"])
    if "logging" in sys.modules:
        template.handler_count = len(sys.modules["logging"]._handlerList)
    template.fresh = {name: sys.modules[name] for name in FRESH if name in sys.modules}
    if is_shared:
        end_threads()
        core["is_heard"] = module.is_heard
        template.lock = core["channel_lock"]
    import gc
    template.gc = gc
    finder.find_spec = staticmethod(find_spec)
    core["compiled"] = compiled
    core["endings"]()
    core["builtins"].display = core["display"]
    for name in ("LD_BIND_NOW", "MPLCONFIGDIR"):
        os.environ.pop(name, None)
    sys.modules.pop("_hotcell", None)
    sys.path[0] = HOME
    for entry in set(sys.path_importer_cache) - set(cache):
        del sys.path_importer_cache[entry]
    sys.path_importer_cache[PROGRAM] = sys.path_importer_cache.pop(sys.argv[0], None)
    set_argv(USUAL)
    shelf.close(modules, names)
    load("strict").prepare(shelf)
    for name, owner in template.fresh.items():
        if name in shelf.modules:
            shelf.effects.setdefault(name, []).append((FRESH[name], (owner,), {}))
    template.fresh = [(name, owner) for name, owner in template.fresh.items() if name in sys.modules]
    # Without those that the guard would speak of, which takes more pages than all the rest; and of the
    # library's own modules a program takes a few, each a page at most.
    usual = {*load("guard").DANGEROUS, *getattr(sys, "stdlib_module_names", ())}
    template.trial = "".join("import %s\n" % name for name in names
                             if name in sys.modules and name.partition(".")[0] not in usual)
    template.trial += "print(1)\n"
    for hidden in (core["start"], core["failed"], arrive, take):
        core["hide"](hidden)
    # these are the template's too: a guest that lets go of them need not take them apart
    template.kept = sys.path, sys.path_hooks, sys.path_importer_cache, sys.meta_path
    module.forget_lookups()
    make_new_main = core["make_main"]
    for _ in range(REHEARSALS):
        rehearse()
    load("guard").rehearse(gc)
    road = make_road(gc) if is_shared else None
    gc.collect()
    if is_shared:
        module.end_modules()
    gc.freeze()
    # a program's module is the garbage collector's like all that the program makes
    main = make_new_main(PROGRAM)
    template.main_names = frozenset(main.__dict__)
    if is_shared:
        road.update(main=main, main_names=template.main_names)
        module.learn(road)
        sys.excepthook = module.run
    else:
        core["take_program"] = arrive
        sys.excepthook = core["start"]


def make_road(gc):
    """What the module needs, besides the program's module, to run it by itself as long as it is a plain
    one."""
    core, guard = template.core, load("guard")
    drops, returns = core["endings"]()
    io, atexit = sys.modules["io"], find_module("atexit")
    helpers = find_module("matplotlib._pylab_helpers")
    return {
        "core": core, "trial": template.trial.encode(), "clean": core["clean"],
        "fresh": [quick_call(*pair) for pair in template.fresh], "take": take, "start": core["start"],
        "leave": leave, "stdin_pipe": template.stdin_pipe, "path": PROGRAM,
        "path_bytes": os.fsencode(PROGRAM),
        "held": core["held"], "closer": guard.CLOSER.union(guard.DANGEROUS),
        "telling": guard.TELLING, "main_word": "__main__", "drops": drops, "returns": returns,
        "prefix": bytes([core["EXTENDED_ARG"]]), "left": core["left"], "failed": core["failed"],
        "show": core["show"], "known": shelf.known, "idle": idle_parts(), "lock": template.lock,
        "figures": helpers and helpers.Gcf.figs, "count_exits": getattr(atexit, "_ncallbacks", None),
        "exit_count": 1,
        "collect": gc.collect, "count_objects": gc.get_count, "list_objects": gc.get_objects,
        "file_types": (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom,
                       io.BufferedRWPair, io.TextIOWrapper),
        "nothing": REHEARSED,
    }


# ---- the life of a guest -------------------------------------------------------------------------


def set_environment(variables):
    given = dict(item.split("=", 1) for item in variables)
    for name in [name for name in os.environ if name not in given]:
        del os.environ[name]
    for name, value in given.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
    if "TZ" in given:
        time.tzset()


def set_argv(argv):
    sys.argv[:] = argv
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = [sys.executable, *argv]


def is_late():
    """Whether the program has files that should have been seen earlier."""
    files = os.listdir(".")
    return any(name in files for name in EARLY_FILES) or bool(shelf.hidden_by("."))


def rehearse():
    """Goes through what a program will go through, while nobody waits: a template learns what is
    looked up where, a guest has it in the processor's caches. Nothing of it can be seen later."""
    core = template.core
    core["make_main"] = type(sys)
    core["prepare"](PROGRAM, REHEARSED).function()
    load("guard").look(REHEARSED, compiled(REHEARSED), PROGRAM)
    core["make_main"] = make_main
    core["clean"]()
    try:
        core["finish"]()
        raise SystemExit
    except SystemExit:
        pass
    run_exits(is_rehearsal=True)
    is_flushed()
    shelf.new_names()
    with template.lock:
        template.gc.collect(1)


def freshen():
    for name, owner in template.fresh:
        FRESH[name](owner)


def arrive():
    """The program of an interpreter that was not forked."""
    module = template.module
    try:
        freshen()
        arrival = module.arrive()
    except BaseException as error:
        module.refuse("%s: %s" % (type(error).__name__, error))
    take(*arrival)
    return template.core["parts"].pop("program")


def take(argv, variables, source, fd, is_alone, is_told_more, code=None):
    """Prepares a program, which may be any, and may be compiled already. Of whatever a guest does first,
    it copies a page or two: so this is kept short."""
    core = template.core
    if variables is not None:
        set_environment(variables)
    is_usual, argv = argv is None, argv or USUAL
    if not is_alone and is_late():
        leave_to_another(fd, argv)
    if argv[0] == "--session":
        session = core["load"]("session")
        session.begin(core, fd, *argv[1:2])
        session.serve()
    if is_told_more:
        core["take_policy"]()
    path = PROGRAM if argv[0] == "main.py" else core["absolute"](argv[0])
    program = core["prepare"](path, source, code)
    if program is None:
        sys.argv[:] = [RUNNER, *argv]
        sys.orig_argv[:] = [sys.executable, RUNNER, *argv]
        core["bare"]()
    if not is_usual:
        set_argv(argv)
    if path != PROGRAM:
        sys.path_importer_cache[path] = sys.path_importer_cache.pop(PROGRAM)
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    if core["policy"] and core["policy"]["profile"] == "strict":
        load("strict").enforce(program.main, path)
    core["parts"]["program"] = program


def leave_to_another(fd, argv):
    """Becomes an interpreter that knows nothing yet."""
    if fd >= 0:
        os.set_blocking(fd, True)
        os.dup2(fd, 3)
    policy = template.core["policy"]
    options = ["-X", "hotcell=" + load("values").to_json(policy)] if policy else []
    os.execv(sys.executable, [sys.executable, *options, RUNNER, *argv])


# ---- its end -------------------------------------------------------------------------------------


def is_flushed():
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:
            return False
    return True


def clear(names):
    """As a module's names are cleared when somebody still holds it: first those with an underscore."""
    for is_first in (True, False):
        for name in list(names):
            if name != "__builtins__" and is_first == (name[:1] == "_" and name[1:2] != "_"):
                names[name] = None


def clear_sys():
    for name in GONE_FIRST:
        if hasattr(sys, name):
            setattr(sys, name, None)
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__


def drop_modules(names):
    """What the program made goes as it does when an interpreter is taken down."""
    left = []
    for name in names:
        module = sys.modules[name]
        if isinstance(module, type(sys)):
            left.append(_weakref.ref(module))
        sys.modules[name] = module = None
    template.gc.collect()
    for reference in reversed(left):
        module = reference()
        if module is not None:
            clear(module.__dict__)


def has_nothing(main):
    """Whether nobody can tell when the names of a program go: what they are for has no end of its own,
    and nothing else goes with it."""
    return type(main) is type(sys) and all(
        name in template.main_names or is_endless(value) for name, value in main.__dict__.items())


def is_endless(value):
    if type(value) is not type(sys):
        return type(value) in ENDLESS
    name = value.__dict__.get("__name__")
    return type(name) is str and sys.modules.get(name) is value  # which has it too


def close_files():
    """What something of the template still holds open."""
    for thing in template.gc.get_objects():
        if type(thing).__module__ == "_io" and hasattr(thing, "flush"):
            try:
                if not thing.closed and thing.writable():
                    thing.flush()
            except Exception:
                pass


def run_exits(is_rehearsal=False):
    for function, args, kwargs in reversed(shelf.exits):
        if is_needed(function) and not is_rehearsal:
            function(*args, **kwargs)


def leave():
    """The last exit handler. A forked child goes the usual way, and so does whoever would end with
    something to say that only the interpreter knows how."""
    run_exits()
    status, module = template.core["exit_status"], template.module
    if status is None or not module.is_owner() or not is_flushed():
        return
    names = shelf.new_names()
    if names == ["__main__"] and has_nothing(sys.modules.get("__main__")):
        # what is older than that only exists if it came so far, or was made to
        is_young = template.gc.get_count()[2] == 0 and "gc" not in sys.modules
        template.gc.collect(1 if is_young else 2)
    else:
        clear_sys()
        drop_modules(names)
    close_files()
    if not is_flushed():
        status = 120
    with template.lock:
        module.say_done(status)
    os._exit(status)
