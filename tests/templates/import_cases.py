# SPDX-License-Identifier: Apache-2.0
"""Modules that a template has loaded: a program finds them as if it loaded them itself."""
import json
import os
import re

from random_cases import changed_runtime
from suite import ROOT, SOURCE, USER, Skip, check, claim, contains, equal
from template import Template

ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
ONE = ROOT if os.geteuid() == 0 else USER
with open(os.path.join(SOURCE, "runtimes", "python", "language.json")) as definition:
    SETS = json.load(definition)["preload"]

# Each is run cold and in both kinds of guests, and must say the same.
SAME = {
    "modules after one import": "import sys\nimport {module}\nprint(sorted(sys.modules))",
    "attributes of packages":
        "import sys\nimport {module}\n"
        "print([(n, sorted(a for a in vars(m) if isinstance(vars(m)[a], type(sys))))"
        " for n, m in sorted(sys.modules.items()) if hasattr(m, '__path__')])",
}
PROGRAMS = {
    "a module that is not imported is not there":
        "import sys\nprint('json' in sys.modules, 'random' in sys.modules)\nimport collections\n"
        "print(hasattr(collections, 'abc'))\nimport importlib\nprint(hasattr(importlib, 'resources'))",
    "looking for a module does not load it":
        "import importlib.util, sys\ns = importlib.util.find_spec('json')\n"
        "print(s.name, s.origin, s.submodule_search_locations, s.has_location, 'json' in sys.modules)\n"
        "print(importlib.util.find_spec('json.decoder').origin, 'json' in sys.modules)",
    "what a module says of itself":
        "import json, random, uuid\nfor m in (json, random, uuid):\n"
        "    print(m.__name__, m.__file__, m.__package__, m.__spec__, m.__loader__.__class__)",
    "loading it again":
        "import importlib, json, sys\nfirst = json\nprint(importlib.reload(json) is first)\n"
        "del sys.modules['json']\nimport json\nprint(json is first, json.dumps([1]))",
    "a module that was put there before":
        "import sys, types\nsys.modules['json'] = m = types.ModuleType('json')\nm.x = 5\n"
        "import json\nprint(json.x)",
    "a module that is forbidden":
        "import sys\nsys.modules['json'] = None\ntry:\n    import json\n"
        "except ImportError as e:\n    print(e)",
    "from a package": "from json import decoder, JSONDecodeError\nfrom concurrent import futures\n"
                      "print(decoder.__name__, JSONDecodeError, futures.__name__)",
    "all names of a module": "from random import *\nprint(sorted(n for n in dir() if n[0] != '_'))",
    "by its name": "import importlib\nprint(importlib.import_module('json.encoder').__name__)\n"
                   "print(__import__('json.encoder').__name__)",
    "own file beside it, written first":
        "open('json.py', 'w').write('x = 7')\nimport json\nprint(json.x, json.__file__)",
    "own file that a module needs, written first":
        "open('heapq.py', 'w').write('x = 7\\nprint(\"mine\")')\nimport heapq\nprint(heapq.x)",
    "own directory on the path":
        "import os, sys\nos.mkdir('lib')\nopen('lib/uuid.py', 'w').write('x = 8')\n"
        "sys.path.insert(0, 'lib')\nimport uuid\nprint(uuid.x)",
    "a path of its own": "import sys\nsys.path[:] = sys.path[1:]\nimport json\nprint(json.loads('[1]'))",
    "filters for warnings": "import warnings\nprint(warnings.filters)",
    "who finds modules": "import sys\nprint(len(sys.meta_path), sys.path_hooks)",
    "hooks at a fork":
        "import os, random, threading, logging\npid = os.fork()\nif pid == 0:\n"
        "    print(threading.current_thread() is threading.main_thread(), flush=True)\n"
        "    logging.warning('child')\n    os._exit(0)\nos.waitpid(pid, 0)",
    "names of threads": "import threading\nprint(threading.main_thread().native_id == "
                        "threading.get_native_id(), threading.main_thread().ident == threading.get_ident())",
    "the machine's name": "import platform, socket\nprint(platform.node(), socket.gethostname())",
    "where temporary files go": "import tempfile\nprint(tempfile.gettempdir())",
    "time since logging began":
        "import logging\nr = logging.makeLogRecord({})\nr = logging.LogRecord('', 0, '', 0, '', (), None)\n"
        "print(0 <= r.relativeCreated < 60000)",
}


def compare(template, code, what):
    cold = template.cold(code, max_output="1M")
    for way in ("guest", "parked"):
        found = template.ask(way, code, max_output="1M")
        for key in ("status", "stdout", "stderr"):
            equal(ADDRESS.sub("*", found[key]), ADDRESS.sub("*", cold[key]),
                  f"{key} of a {way}, {what}")


@claim("what a program finds of loaded modules is what it would load", ONE)
def programs(person):
    with Template(person, *SETS["base"], "concurrent.futures") as template:
        for name, code in PROGRAMS.items():
            compare(template, code, name)


@claim("an import brings what it would bring, and nothing else", ONE)
def closures(person):
    with Template(person, *SETS["base"]) as template:
        for name, code in SAME.items():
            for module in SETS["base"]:
                compare(template, code.format(module=module), f"{name} of {module}")


@claim("a program's own file of a module's name is found by whoever needs it", ONE)
def shadows(person):
    """There before the program begins: then its interpreter is its own."""
    path = person.write(person.path("random.py"), "x = 9\n")
    code = "import random\nprint(random.x, random.__file__)\nimport tempfile"
    with Template(person, *SETS["base"]) as template:
        cold = template.cold(code, files=[path])
        contains(cold["stderr"], "from random import Random", "what tempfile says when it is cold")
        for way in ("guest", "parked", "started"):
            found = template.ask(way, code, files=[path])
            equal((found["status"], found["stdout"], found["stderr"]),
                  (cold["status"], cold["stdout"], cold["stderr"]), f"a {way}")


@claim("a module that is not there, or fails, is left to the program", ONE)
def missing(person):
    with Template(person, "no_such_module", "json", "antigravity.nothing") as template:
        template.guest("import json").is_ok()
        result = template.guest("import no_such_module").has_status("error")
        contains(result["stderr"], "No module named 'no_such_module'", "stderr")


@claim("a template with a thread of its own is refused, and it is told why", ONE)
def threads(person):
    line = "import _thread, time; _thread.start_new_thread(time.sleep, (1000,))"
    template = Template(person, runtime=changed_runtime(person, "threaded", line))
    _out, err = template.process.communicate(b'guest {"code": "pass"}\n', timeout=30)
    contains(err.decode(), "a module has started a thread", "stderr")
    equal(template.process.returncode, 1, "exit status")


@claim("libraries that compute with threads do so in guests", ONE)
def computing(person):
    code = ("import numpy\na = numpy.ones((600, 600))\nprint((a @ a).sum())\n"
            "print(numpy.linalg.inv(numpy.eye(300) * 2).trace())")
    with Template(person, "numpy") as template:
        if template.cold("import numpy").status != "ok":
            raise Skip("needs python3-numpy")
        compare(template, code, "products of matrices")


@claim("pandas and matplotlib give guests what they give everyone, and keep nothing of the template", ONE)
def data(person):
    codes = {
        "frame": "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']}).groupby('b').sum()",
        "figure": "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.title('t')",
        "places": "import matplotlib\nprint(matplotlib.get_configdir(), matplotlib.get_cachedir(), "
                  "matplotlib.get_backend())",
    }
    fields = {"memory": "1G", "timeout": 60}
    with Template(person, *SETS["base"], *SETS["data"]) as template:
        if template.cold("import pandas, matplotlib", **fields).status != "ok":
            raise Skip("needs python3-pandas and python3-matplotlib")
        for name, code in codes.items():
            cold = template.cold(code, **fields).is_ok()
            check(name == "places" or cold["outputs"], "nothing was shown:", dict(cold))
            for way in ("guest", "parked"):
                found = template.ask(way, code, **fields).is_ok()
                equal(found["outputs"], cold["outputs"], f"outputs of a {way}: {name}")
                equal((found["stdout"], found["stderr"]), (cold["stdout"], cold["stderr"]), name)
