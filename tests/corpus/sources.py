# SPDX-License-Identifier: Apache-2.0
"""Where the programs of the corpus come from: other people's, found on this machine.

A source is a row of SOURCES: a rule that finds programs in files of one Debian package, in an order
of its own, and how many of them an ordinary run takes. Rules look at what a program says, never at
how it ends. What waits for a person, a display or the world is left out, for it never ends.
"""
import dataclasses
import gzip
import itertools
import re
import subprocess
import textwrap
from pathlib import Path


@dataclasses.dataclass
class Program:
    name: str  # unique, and a path that tells where it is from
    language: str  # hotcell's name for it
    file: str  # its name in the home directory
    text: bytes
    args: tuple = ()
    data: dict = dataclasses.field(default_factory=dict)  # files beside it: name -> bytes


def first_glob(pattern):
    """Versions are part of some paths."""
    return next(iter(sorted(Path("/").glob(pattern))), Path("/nonexistent"))


# ---- Go: the programs its compiler is tested with ------------------------------------------------


def go_tests():
    root = first_glob("usr/share/go-*/test")
    for path in sorted([*root.glob("*.go"), *root.glob("*/*.go")]):
        text = path.read_bytes()
        if text.startswith(b"// run\n"):
            yield Program(f"go/{path.relative_to(root)}", "go", path.name, text)


# ---- Node: the examples of its documentation -----------------------------------------------------

NODE_FENCE = re.compile(r"^```(js|mjs|cjs)\b[^\n]*\n(.*?)^```$", re.M | re.S)
NODE_WAITS = re.compile(r"listen\(|createServer|setInterval|stdin|readline|https?:|fetch\("
                        r"|inspector|cluster|repl\b|watchFile|/path/|'\./")


def node_examples():
    for path in sorted(Path("/usr/share/doc/nodejs/api").glob("*.md*")):
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as file:
            page = file.read()
        stem = path.name.partition(".")[0]
        for match in NODE_FENCE.finditer(page):
            ending, text = match.groups()
            is_module = re.search(r"^import ", text, re.M)
            is_whole = is_module or "require(" in text
            if stem != "all" and is_whole and re.search(r"console\.|assert", text) and \
                    not NODE_WAITS.search(text):
                line = page.count("\n", 0, match.start()) + 2
                ending = "mjs" if is_module else ending
                yield Program(f"node/{stem}:{line}.{ending}", "javascript", f"{stem}.{ending}",
                              text.encode())


# ---- Python: its documentation, its library, its examples ----------------------------------------

PYTHON_PAGES = "usr/share/doc/python3.*/html/_sources"
PYTHON_BLOCK = re.compile(r"^( *)\S[^\n]*(?:::|code-block:: *python3?)\n(?: *:[^\n]*\n)*\n"
                          r"((?:\1 +[^\n]*\n|\n)+)", re.M)
PYTHON_WAITS = re.compile(r"tkinter|turtle|curses|_forever|start_server|create_server|listen\("
                          r"|accept\(|asyncore|datagram_endpoint|add_signal_handler|pty\.spawn")


def python_pages():
    root = first_glob(PYTHON_PAGES)
    for path in sorted(root.glob("*/*.rst.txt")):
        yield str(path.relative_to(root)).removesuffix(".rst.txt"), path.read_text()


def python_blocks():
    """Code on a page that begins with an import and prints something."""
    for page, text in python_pages():
        for match in PYTHON_BLOCK.finditer(text):
            code = textwrap.dedent(match[2]).strip("\n") + "\n"
            if re.match(r"(#.*\n|\n)*(import|from) ", code) and "print(" in code and \
                    ">>>" not in code and not PYTHON_WAITS.search(code):
                line = text.count("\n", 0, match.start(2)) + 1
                yield Program(f"python/doc/{page}:{line}", "python", "example.py", code.encode())


def python_doctests():
    """The library's doctest.py, run on each page with a dialogue."""
    doctest = first_glob("usr/lib/python3.*/doctest.py")
    for page, text in python_pages():
        if ">>> " in text:
            name = page.rpartition("/")[2] + ".rst"
            yield Program(f"python/doctest/{page}", "python", "doctest.py", doctest.read_bytes(),
                          (name,), {name: text.encode()})


def python_modules():
    """Modules of the library that are programs too."""
    for path in sorted(first_glob("usr/lib/python3.*/doctest.py").parent.glob("*.py")):
        text = path.read_bytes()
        if re.search(rb"^if __name__ == ['\"]__main__['\"]", text, re.M) and \
                not PYTHON_WAITS.search(text.decode(errors="replace")):
            yield Program(f"python/lib/{path.name}", "python", path.name, text)


def python_scripts():
    root = first_glob("usr/share/doc/python3.*/examples")
    for path in sorted(root.glob("*/*.py")):
        text = path.read_bytes()
        if "bench" not in str(path) and not PYTHON_WAITS.search(text.decode(errors="replace")):
            yield Program(f"python/examples/{path.relative_to(root)}", "python", path.name, text)


# ---- shells, Perl, Ruby, AWK ---------------------------------------------------------------------


def bash_examples():
    root = Path("/usr/share/doc/bash/examples")
    beside = {path.name: path.read_bytes() for path in root.glob("shellmath/*")
              if path.suffix in (".sh", ".in")}
    for path in sorted([*root.glob("scripts/*"), *root.glob("misc/*"),
                        *root.glob("shellmath/*.sh")]):
        data = beside if path.parent.name == "shellmath" else {}
        yield Program(f"bash/{path.relative_to(root)}", "bash", path.name, path.read_bytes(),
                      data={name: text for name, text in data.items() if name != path.name})


def bash_functions():
    """Most define functions and do nothing more."""
    for path in sorted(Path("/usr/share/doc/bash/examples/functions").glob("*")):
        yield Program(f"bash/functions/{path.name}", "bash", path.name, path.read_bytes())


def scripts_of(language, mark, packages):
    """Scripts that are commands, asked for help, for their version, and for nothing."""
    listed = subprocess.run(["dpkg-query", "-L", *packages], capture_output=True, text=True)
    for path in sorted({Path(line) for line in listed.stdout.split()
                        if re.match(r"(/usr)?/bin/.", line)}):
        if path.is_file() and re.match(mark, text := path.read_bytes()):
            for args in (("--help",), ("--version",), ()):
                yield Program(f"{language}{path} {''.join(args)}".rstrip(), language, path.name,
                              text, args)


SHELL_PACKAGES = ["bash", "bzip2", "debianutils", "dpkg", "grep", "gzip", "libc-bin", "xz-utils"]


def shell_scripts():
    return scripts_of("sh", rb"#! ?/bin/sh\b", SHELL_PACKAGES)


def bash_scripts():
    return scripts_of("bash", rb"#! ?/bin/(ba)?sh\b", SHELL_PACKAGES)


def perl_scripts():
    return scripts_of("perl", rb"#!/usr/bin/perl\b", ["perl", "dpkg-dev"])


def ruby_scripts():
    return scripts_of("ruby", rb"#!/usr/bin/ruby", ["ruby", Path("/usr/bin/ruby").resolve().name])


def awk_examples():
    root = Path("/usr/share/doc/gawk/examples")
    data = {path.name: path.read_bytes() for path in root.glob("data/*")
            if path.name in ("mail-list", "inventory-shipped")}
    for path in sorted([*root.glob("prog/*.awk"), *root.glob("misc/*.awk")]):
        yield Program(f"awk/{path.relative_to(root)}", "awk", path.name, path.read_bytes(),
                      tuple(sorted(data)), data)


@dataclasses.dataclass
class Source:
    name: str
    language: str
    find: object
    every: int  # an ordinary run takes each so-manieth
    package: str  # whose files they are

    def programs(self, is_all):
        return list(itertools.islice(self.find(), 0, None, 1 if is_all else self.every))


SOURCES = [
    Source("python/doctest", "python", python_doctests, 5, "python3-doc"),
    Source("python/doc", "python", python_blocks, 3, "python3-doc"),
    Source("python/lib", "python", python_modules, 1, "python3"),
    Source("python/examples", "python", python_scripts, 3, "python3-examples"),
    Source("node", "javascript", node_examples, 6, "nodejs-doc"),
    Source("go", "go", go_tests, 16, "golang-src"),
    Source("bash", "bash", bash_examples, 1, "bash-doc"),
    Source("bash/functions", "bash", bash_functions, 4, "bash-doc"),
    Source("bash/commands", "bash", bash_scripts, 4, "gzip"),
    Source("sh", "sh", shell_scripts, 2, "gzip"),
    Source("perl", "perl", perl_scripts, 3, "perl"),
    Source("ruby", "ruby", ruby_scripts, 3, "ruby"),
    Source("awk", "awk", awk_examples, 1, "gawk"),
]
