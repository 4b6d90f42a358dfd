# SPDX-License-Identifier: Apache-2.0
"""No two guests of one template share a random number."""
import os
import shutil

from suite import EVERYONE, ROOT, Skip, claim, equal
from template import Template

SOURCES = {
    "random": "import random; print(random.random(), random.getrandbits(64))",
    "random.Random": "import random; print(random.Random().random())",
    "random.SystemRandom": "import random; print(random.SystemRandom().random())",
    "os.urandom": "import os; print(os.urandom(16).hex())",
    "secrets": "import secrets; print(secrets.token_hex(16))",
    "uuid1": "import uuid; u = uuid.uuid1(); print(u.time_low, u.clock_seq, u.node)",
    "uuid4": "import uuid; print(uuid.uuid4())",
    "tempfile": "import tempfile; print(next(tempfile._get_candidate_names()), tempfile.mktemp())",
    "ssl": "import ssl; print(ssl.RAND_bytes(16).hex())",
    "multiprocessing": "import multiprocessing as m; print(m.current_process().authkey.hex())",
    "numpy.random": "import numpy; print(numpy.random.rand(), numpy.random.randint(1 << 30))",
    "numpy.random.default_rng": "import numpy; print(numpy.random.default_rng().random())",
}
MODULES = ("random", "secrets", "uuid", "tempfile", "ssl", "multiprocessing", "numpy")
CELLS = 5
# Made anew by us for each guest: without that, all of them would have the same.
OURS = {"random": "random", "multiprocessing": "multiprocessing.process",
        "numpy.random": "numpy.random.mtrand"}


def drawn(template, source):
    """What guests find, some in cells that stood ready and some not."""
    found = []
    for number in range(CELLS):
        way = "parked" if number % 2 else "guest"
        found.append(template.ask(way, source, memory="512M").is_ok()["stdout"])
    return found


@claim("no two guests of one template draw the same numbers")
def different(person):
    with Template(person, *MODULES) as template:
        for name, source in SOURCES.items():
            if name.startswith("numpy") and template.cold("import numpy").status != "ok":
                continue
            found = drawn(template, source)
            equal(len(set(found)), CELLS, f"different draws of {name}, {found}")


def changed_runtime(person, name, line):
    """A copy of the runner's files that does one thing otherwise."""
    place = person.path(name)
    shutil.copytree(os.path.join(person.build, "runtimes", "python"), place,
                    ignore=shutil.ignore_patterns("__pycache__"))
    with open(os.path.join(place, "guest.py"), "a") as file:
        file.write(f"\n{line}\n")
    return place


@claim("what is not made anew is the same in all guests, so the test above would tell", ROOT)
def same_without(person):
    """The same draws from a template that forgets one of its duties."""
    for name, module in OURS.items():
        forgetful = changed_runtime(person, "forgets-" + name, f"del FRESH[{module!r}]")
        with Template(person, *MODULES, runtime=forgetful) as template:
            if name.startswith("numpy") and template.cold("import numpy").status != "ok":
                raise Skip("needs python3-numpy")
            found = drawn(template, SOURCES[name])
            equal(len(set(found)), 1, f"different draws of {name} that is not made anew, {found}")


@claim("OpenSSL draws anew even when a guest has the number of its template's process", ROOT)
def same_number(person):
    """As the first process of a pid namespace, the supervisor is 1, its zygote 2, the template 3; a
    guest is 3 in its cell too. If it has drawn before, OpenSSL takes it for the same process."""
    prefix = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    draw = "import _ssl; _ssl.RAND_bytes(1)"
    for line, wanted in ((draw, CELLS), (draw + "; del FRESH['_ssl']", 1)):
        runtime = changed_runtime(person, f"draws-{wanted}", line)
        with Template(person, *MODULES, runtime=runtime, prefix=prefix) as template:
            equal(template.guest("import os; print(os.getpid())").is_ok()["stdout"], "3\n", "pid")
            found = drawn(template, SOURCES["ssl"])
            equal(len(set(found)), wanted, f"different draws after {line!r}, {found}")


@claim("after a fork of its own a guest draws other numbers than its child", EVERYONE)
def own_forks(person):
    code = """
import os, random, sys
random.random()
pid = os.fork()
print(random.random(), flush=True)
if pid:
    os.waitpid(pid, 0)
"""
    with Template(person, "random") as template:
        lines = template.guest(code).is_ok()["stdout"].split()
    equal(len(set(lines)), 2, f"different draws, {lines}")
