# SPDX-License-Identifier: Apache-2.0
# `python3 check.py FILE`: what the guard says to it, over the channel. Nothing of it is run.
import sys
space = {"__name__": "hotcell", "HERE": __file__[:-8]}
loader = __import__("_frozen_importlib_external").SourceFileLoader
exec(loader("hotcell", __file__[:-8] + "core.py").get_code("hotcell"), space)
space["open_channel"]()
space["take_policy"]()
space["load"]("guard").check(sys.argv[1])
