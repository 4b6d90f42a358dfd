# SPDX-License-Identifier: Apache-2.0
# A script is compiled at every start, what it loads is not: so this is all the script there is.
space = {"__name__": "hotcell", "HERE": __file__[:-9]}
loader = __import__("_frozen_importlib_external").SourceFileLoader
exec(loader("hotcell", __file__[:-9] + "core.py").get_code("hotcell"), space)
space["begin"]()
