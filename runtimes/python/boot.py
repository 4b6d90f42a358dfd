# SPDX-License-Identifier: Apache-2.0
# A Python that stands ready: `python3 boot.py MODULE…`, started by the keeper with its socket at
# descriptor 3. It runs without anybody's code, until it returns in a cell, once for each. As with
# runner.py, what is loaded is compiled already, the script is not.
import sys
cold = dict.fromkeys(sys.modules), sys.path_importer_cache.copy()
sys.path[0] = __file__.rpartition("/")[0]
import _hotcell  # noqa: E402
_hotcell.enter(3)
try:
    space = {"__name__": "hotcell", "HERE": "/run/hotcell/"}
    loader = __import__("_frozen_importlib_external").SourceFileLoader
    exec(loader("hotcell", "/run/hotcell/core.py").get_code("hotcell"), space)
    space["load"]("guest").prepare(space, _hotcell, cold, sys.argv[1:])
except BaseException as error:
    _hotcell.refuse("%s: %s" % (type(error).__name__, error))
raise SystemError  # takes our frames away and calls start() of core.py
