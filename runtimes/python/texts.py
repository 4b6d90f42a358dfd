# SPDX-License-Identifier: Apache-2.0
"""eval(), exec() and compile() for a program of the profile `strict`.

Text is parsed once; the tree is judged by the rules that the program was judged by, rewritten as the
program was, and compiled. What comes of it bears a mark in its constants, and in those of every
function in it: by that the audit hook knows it for the program's, whatever names it is given to run
in. It runs with the program's builtins, unless it is given others.

compile() gives an object that only eval() and exec() can look into. The syntax tree itself is not to
be had, nor taken.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import __future__
import _ast
import builtins
from opcode import opmap

guard = load("guard")
rules = load("rules")
ground = load("ground")
tree = load("tree")

ONLY_AST = 0x400
FUTURES = 0
for feature in __future__.all_feature_names:
    FUTURES |= getattr(__future__, feature).compiler_flag
# How an unfinished text is taken, which says nothing about what it does.
HARMLESS = FUTURES | 0x200 | 0x1000 | 0x4000
own_compile, own_eval, own_exec = builtins.compile, builtins.eval, builtins.exec


# Of what is not rewritten in code that the library makes. Data classes use object.__setattr__.
NOT_FOR_LIBRARY = (ground.FORBIDDEN | ground.REWRITTEN | ground.REACHING | rules.RESTRICTED) - {
    "__setattr__", "__delattr__"}
IMPORT_NAME, MATCH_CLASS = opmap["IMPORT_NAME"], opmap.get("MATCH_CLASS", -1)


class runner:
    """As the builtins of the program were when it was first needed."""
    function = None


class Code:
    """What compile() makes of text."""

    __slots__ = (ground.SLOT,)

    def __new__(cls, *_args, **_kwargs):
        raise TypeError("cannot create 'code' instances")

    def __init_subclass__(cls):
        raise TypeError("type 'code' is not an acceptable base type")


Code.__name__ = Code.__qualname__ = "code"
secret = ground.Secret(Code)


def hidden_code(made):
    """What is in such an object."""
    code = secret.get(made)
    if code is None:
        raise TypeError("this is not what compile() made")
    return code


def run(call, code, globals, locals):
    """Runs code as eval() or exec() does. Where there are no builtins, the interpreter gives it those of
    whoever calls: so that one has the program's."""
    if runner.function is None:
        def pass_on(call, code, globals, locals):
            return call(code, globals, locals)
        runner.function = type(load)(pass_on.__code__, {"__builtins__": ground.state.builtins,
                                                        "__name__": "hotcell.texts"})
    return runner.function(call, code, globals, locals)


# ---- text ----------------------------------------------------------------------------------------


def exact(source, what):
    """The text as it is, whatever its class makes of it."""
    if isinstance(source, str):
        return str.__str__(source)
    if isinstance(source, _ast.AST):
        raise ground.blocked("builtin", "%s of a syntax tree" % what, PermissionError)
    try:
        return memoryview(source).tobytes()
    except TypeError:
        pass
    raise TypeError("%s() arg 1 must be a string, bytes or code object" % what)


def file_name(name):
    """Where the text is said to be from: it is shown, and never read unless it may be."""
    if isinstance(name, str):
        return str.__str__(name)
    return load("files").text_of(name)


def judged(source, name, mode, flags, optimize=-1):
    """The code of a text that may run."""
    parsed = own_compile(source, name, mode, flags | ONLY_AST, True)
    names = rules.Names()
    for item in rules.analyse(parsed, True, guard.policy, names)[0]:
        if item["severity"] != "block":
            continue
        if item.get("module"):
            error = ground.blocked("import", item["module"], ImportError)
            error.name = item["module"]
            raise error
        raise ground.blocked(item["rule"], item["reason"], PermissionError)
    code = own_compile(tree.rewrite(parsed, names, (), flags), name, mode, flags, True, optimize)
    return tree.bound(code, is_marked=True)


def code_of(source, mode, frame):
    """The code to run for eval() or exec()."""
    if type(source) is Code:
        return hidden_code(source)
    text = exact(source, mode)
    if mode == "eval":
        text = text.lstrip(" \t" if type(text) is str else b" \t")
    return judged(text, "<string>", mode, frame.f_code.co_flags & FUTURES)


def compile(source, filename, mode, flags=0, dont_inherit=False, optimize=-1, *,
            _feature_version=-1):
    """Compile source into a code object that can be executed by exec() or eval()."""
    if type(source) is Code:
        raise TypeError("compile() arg 1 must be a string, bytes or AST object")
    flags = int.__index__(flags)
    if flags & ONLY_AST:
        raise ground.blocked("builtin", "compile to a syntax tree", PermissionError)
    if flags & ~HARMLESS:
        raise ValueError("compile(): unrecognised flags")
    if not dont_inherit:
        flags |= ground.program_frame().f_code.co_flags & FUTURES
    mode = str.__str__(mode)
    if mode not in ("exec", "eval", "single"):
        raise ValueError("compile() mode must be 'exec', 'eval' or 'single'")
    code = judged(exact(source, "compile"), file_name(filename), mode, flags,
                  int.__index__(optimize))
    made = object.__new__(Code)
    secret.put(made, code)
    return made


# ---- running -------------------------------------------------------------------------------------


def spaces(frame, globals, locals, what):
    """Where names are looked up: what was given, or that of the program's own frame."""
    if globals is None:
        return frame.f_globals, frame.f_locals if locals is None else locals
    if not isinstance(globals, dict):
        raise TypeError("%s() globals must be a dict, not %s" % (what, type(globals).__name__))
    return globals, globals if locals is None else locals


def eval(source, globals=None, locals=None, /):
    """Evaluate the given source in the context of globals and locals."""
    frame = ground.program_frame()
    names = spaces(frame, globals, locals, "eval")
    return run(own_eval, code_of(source, "eval", frame), *names)


def exec(source, globals=None, locals=None, /):
    """Execute the given source in the context of globals and locals."""
    frame = ground.program_frame()
    names = spaces(frame, globals, locals, "exec")
    run(own_exec, code_of(source, "exec", frame), *names)


def globals():
    """The names of the program's module, or of the text that is running."""
    return ground.program_frame().f_globals


def locals():
    """The names of the function of the program that is running."""
    return ground.program_frame().f_locals


# ---- for the library -----------------------------------------------------------------------------


def check_code(code):
    """What the library made of the program's words: data classes, annotations."""
    stack = [code]
    while stack:
        code = stack.pop()
        for name in code.co_names:
            if name in NOT_FOR_LIBRARY:
                raise ground.blocked("attribute", name, AttributeError)
        instructions = code.co_code[::2]
        if IMPORT_NAME in instructions or MATCH_CLASS in instructions:
            raise ground.blocked("operation", "import", PermissionError)
        stack.extend(const for const in code.co_consts if type(const) is type(code))


def space(names):
    """The program's own, or a copy of what is no module's."""
    if names is ground.state.names:
        return names
    own = {} if names is None or "__spec__" in names else dict(names)
    own["__builtins__"] = ground.state.names["__builtins__"]
    return own


def run_for_library(call, code, globals, locals):
    """The same names are refused as in the program, and it finds the program's builtins, wherever the
    library was told to look things up."""
    if type(code) is str:
        code = own_compile(code, "<annotation>", call.__name__, 0, True)
    if type(code) is not type(load.__code__):
        raise TypeError("this is no code")
    check_code(code)
    return run(call, tree.bound(code, is_marked=True), space(globals), locals)


def library_eval(code, globals=None, locals=None):
    return run_for_library(own_eval, code, globals, locals if locals is None else space(locals))


def library_exec(code, globals=None, locals=None):
    return run_for_library(own_exec, code, globals, locals)
