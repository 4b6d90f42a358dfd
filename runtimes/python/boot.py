# SPDX-License-Identifier: Apache-2.0
"""A Python that stands ready: it loads what cells will want, then forks into them.

Started by the keeper with its socket at descriptor 3. What runs here runs once, with privilege and
without anybody's code; what runs after serve() runs in a cell.
"""
import gc
import os
import sys

sys.path[0] = os.path.dirname(os.path.abspath(__file__))
import _hotcell  # noqa: E402

CONTROL = 3

_hotcell.enter(CONTROL)
sys.path[0] = "/run/hotcell"

gc.collect()
gc.freeze()
argv, env = _hotcell.serve(CONTROL)

# ---- in a cell -----------------------------------------------------------------------------------

os.environ.clear()
os.environ.update(item.split("=", 1) for item in env)
sys.argv[:] = argv
sys.path[0] = "/home/user"
main = sys.modules["__main__"].__dict__
with open(argv[0], "rb") as source:
    code = compile(source.read(), argv[0], "exec")
exec(code, {"__name__": "__main__"})
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
