# SPDX-License-Identifier: Apache-2.0
"""Rewrites the syntax tree of a program of the profile `strict`, and is called by what comes of it.

A name after a dot that needs a look becomes a call of a checked lookup, `from a import b` a call of
our importer, and a pattern whose names nobody can know one that refuses. What is called is no name: a
constant stands for it in the tree, and the code gets the object itself.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import __future__
import _ast
import os
import sys

rules = load("rules")
ground = load("ground")
blocked, lookups, state = ground.blocked, ground.lookups, ground.state
REWRITTEN = ground.REWRITTEN

PATTERNS = "hotcell: patterns"  # no program can write such a name
LOOKER = "hotcell: " + os.urandom(16).hex()  # nor this: stands for an object of ours
REFUSED_PATTERN = "pattern "
PATTERN_KINDS = frozenset(getattr(_ast, name, None)
                          for name in ("MatchValue", "MatchMapping", "MatchClass"))
TEXTS = ("annotation", "returns")
POSTPONED = __future__.annotations.compiler_flag
HEAP_TYPE = 1 << 9  # of a class's flags: made while the interpreter runs


def place_of(node):
    place = {"lineno": node.lineno, "col_offset": node.col_offset}
    if hasattr(node, "end_lineno"):
        place.update(end_lineno=node.end_lineno, end_col_offset=node.end_col_offset)
    return place


def call(node, method, *args):
    """A call of ours, in the place of a node. Constants are put into the tree as they are."""
    place = place_of(node)
    args = [item if isinstance(item, _ast.AST) else _ast.Constant(value=item, **place) for item in args]
    looker = _ast.Constant(value=LOOKER, **place)
    return _ast.Call(func=_ast.Attribute(value=looker, attr=method, ctx=_ast.Load(), **place),
                     args=args, keywords=[], **place)


def all_names(node):
    """`from a import *` asks whatever the importer gave for whatever it says it has. The statement stays
    where it is never reached: it is wrong in a function."""
    place = place_of(node)
    fetch = _ast.Expr(value=call(node, "fetch", node.module or "", node.level or 0), **place)
    made = _ast.If(test=_ast.Constant(value=0, **place), body=[node], orelse=[fetch], **place)
    made.is_ours = True  # there is nothing to rewrite in it
    return made


def checked_import(node):
    """`from a import b` asks sys.modules for what an importer did not give, and an importer can be the
    program's own: so it is b = pick("a", "b")."""
    if type(node) is _ast.ImportFrom:
        if node.module == "__future__":
            return [node]
        if node.names[0].name == "*":
            return [all_names(node)]
        found = [(alias.asname or alias.name, (node.module or "", alias.name, node.level or 0))
                 for alias in node.names]
    elif any(alias.asname and "." in alias.name for alias in node.names):
        found = [(alias.asname, (alias.name, None, 0)) if alias.asname and "." in alias.name else alias
                 for alias in node.names]
    else:
        return [node]
    made, place = [], place_of(node)
    for item in found:
        if isinstance(item, _ast.AST):
            made.append(_ast.Import(names=[item], **place))
        else:
            name, args = item
            made.append(_ast.Assign(targets=[_ast.Name(id=name, ctx=_ast.Store(), **place)],
                                    value=call(node, "pick", *args), **place))
    return made


def name_positions(node, classes):
    """`case Point(a, b)` looks up names that the class has in a list when it runs; here they are
    written down. Where they are not known, the pattern is one that refuses."""
    names = rules.positions_of(node, classes) if node.patterns else []
    if names is rules.ITSELF:
        inner = _ast.MatchClass(cls=node.cls, patterns=[], kwd_attrs=[], kwd_patterns=[],
                                **place_of(node))
        name = node.patterns[0].name
        return inner if name is None else _ast.MatchAs(pattern=inner, name=name, **place_of(node))
    is_known = names is not None
    if not is_known:
        names = ["hotcell%d" % number for number in range(len(node.patterns))]
    node.kwd_attrs = names[:len(node.patterns)] + node.kwd_attrs
    node.kwd_patterns = node.patterns + node.kwd_patterns
    node.patterns = []
    if not is_known:
        node.cls = refusing(node.cls)
    return node


def refusing(node):
    """An expression of a pattern, which may only be names and dots, as one that raises."""
    name = getattr(node, "id", None) or getattr(node, "attr", "")
    return _ast.Attribute(value=_ast.Name(id=PATTERNS, ctx=_ast.Load(), **place_of(node)),
                          attr=REFUSED_PATTERN + name, ctx=_ast.Load(), **place_of(node))


def is_unsafe(node, names):
    """Whether such an expression needs a lookup of ours."""
    while type(node) is _ast.Attribute:
        if is_checked(node, names):
            return True
        node = node.value
    return False


def is_checked(node, names):
    """Whether an attribute is one that goes through our lookup."""
    return node.attr in REWRITTEN or node.attr in names.owned or rules.is_foreign(node, names)


def rewritten_pattern(node, names, classes):
    kind = type(node)
    if kind is _ast.MatchValue and is_unsafe(node.value, names):
        node.value = refusing(node.value)
    elif kind is _ast.MatchMapping:
        node.keys = [refusing(key) if is_unsafe(key, names) else key for key in node.keys]
    elif kind is _ast.MatchClass:
        node = name_positions(node, classes)
        inner = node if type(node) is _ast.MatchClass else node.pattern
        if is_unsafe(inner.cls, names) or any(
                name in REWRITTEN or rules.is_private(name) and name not in names.private
                for name in inner.kwd_attrs):
            inner.cls = refusing(inner.cls)
    return node


def rewritten(node, names, classes):
    kind = type(node)
    if kind is _ast.Attribute:
        if type(node.ctx) is _ast.Load and is_checked(node, names):
            return call(node, "find", node.value, node.attr)
    elif kind is _ast.AugAssign:
        target = node.target
        if type(target) is _ast.Attribute and (target.attr in REWRITTEN or target.attr in names.owned):
            return _ast.Expr(value=call(node, "refuse", target.attr), **place_of(node))
    elif classes is not None and kind in PATTERN_KINDS:
        return rewritten_pattern(node, names, classes)
    return node


def is_postponed(tree):
    """Whether annotations become texts: those must not tell what stands for ours."""
    return any(type(node) is _ast.ImportFrom and node.module == "__future__" and
               any(alias.name == "annotations" for alias in node.names)
               for node in (tree.body if type(tree.body) is list else ()))


def rewrite(tree, names, earlier=(), flags=0):
    """The tree, with the lookups that need it going through ours. `names`: what analysing it has
    found; `flags`: what it will be compiled with."""
    classes = rules.classes_of(tree, earlier) if hasattr(_ast, "MatchClass") else None
    left_out = TEXTS if flags & POSTPONED or is_postponed(tree) else ()
    stack = [tree]
    while stack:
        node = stack.pop()
        for name in node._fields:
            if name in left_out:
                continue
            value = getattr(node, name, None)
            if isinstance(value, _ast.AST):
                value = rewritten(value, names, classes)
                setattr(node, name, value)
                stack.append(value)
            elif type(value) is list:
                value[:] = [item for some in value for item in rewritten_items(some, names, classes)]
                stack.extend(item for item in value if isinstance(item, _ast.AST) and not hasattr(item, "is_ours"))
    return tree


def rewritten_items(node, names, classes):
    if type(node) in (_ast.ImportFrom, _ast.Import):
        return checked_import(node)
    return [rewritten(node, names, classes)]


def bound(code, is_marked=False):
    """The code with what the tree could only stand for."""
    consts = []
    for const in code.co_consts:
        if type(const) is str and const == LOOKER:
            const = looker
        elif type(const) is type(code):
            const = bound(const, is_marked)
        consts.append(const)
    if is_marked:
        consts.append(ground.MARK)
    if len(consts) == len(code.co_consts) and all(map(is_same, consts, code.co_consts)):
        return code
    return code.replace(co_consts=tuple(consts))


def is_same(one, other):
    return one is other


class Looker:
    """What rewritten code calls."""

    @staticmethod
    def find(owner, name):
        """An attribute that may be had of some objects."""
        if name in rules.OWNABLE:
            return own_attribute(owner, name)
        if name not in REWRITTEN and not isinstance(owner, type(sys)) and not is_programs(owner):
            raise blocked("attribute", name, AttributeError)
        return lookups["getattr"](owner, name)

    @staticmethod
    def pick(module, name, level):
        """What `from module import name` binds; without a name: the module."""
        if name is None:
            return state.modules.module(module)
        return lookups["getattr"](state.modules.import_(module, None, None, (name,), level), name)

    @staticmethod
    def fetch(module, level):
        """What `from module import *` does."""
        found = state.modules.import_(module, None, None, ("*",), level)
        names = getattr(found, "__all__", None)
        if type(names) not in (list, tuple):
            names = [name for name in dict(vars(found)) if type(name) is str and name[:1] != "_"]
        values = {name: lookups["getattr"](found, name) for name in names if type(name) is str}
        space = ground.program_frame().f_locals
        for name, value in values.items():
            space[name] = value

    @staticmethod
    def refuse(name):
        raise blocked("attribute", name, AttributeError)


class Patterns:
    """Has no class: each that is asked for is refused."""

    def __getattr__(self, name):
        raise blocked("pattern", "%s with names that are only known when it runs"
                      % name[len(REFUSED_PATTERN):], PermissionError)


looker = Looker()


def own_attribute(owner, name):
    """What an object has for itself, and was not made with."""
    own = {}
    if not isinstance(owner, (type, type(sys))):
        own = getattr(owner, "__dict__", own)
    if type(own) is not dict or name not in own:
        raise blocked("attribute", name, AttributeError)
    return own[name]


def is_programs(owner):
    """Whether an object is the program's own: of a class that is no module's."""
    kind = owner if isinstance(owner, type) else type(owner)
    if not kind.__flags__ & HEAP_TYPE:
        return False
    home = type.__dict__["__module__"].__get__(kind)
    return type(home) is not str or home in ("__main__", "builtins") or home not in sys.modules
