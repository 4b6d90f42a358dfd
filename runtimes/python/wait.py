# SPDX-License-Identifier: Apache-2.0
# A Python that was started for one cell alone, before its program is known: it shares its memory's
# layout and its hash seed with nobody. It waits for the program on its channel.
import sys
cold = dict.fromkeys(sys.modules), sys.path_importer_cache.copy()
space = {"__name__": "hotcell", "HERE": __file__[:-7]}
loader = __import__("_frozen_importlib_external").SourceFileLoader
exec(loader("hotcell", __file__[:-7] + "core.py").get_code("hotcell"), space)
alone = space["load"]("alone")
alone.core = space
space["load"]("guest").prepare(space, alone, cold, sys.argv[1:])
raise SystemError  # takes our frames away and calls start() of core.py
