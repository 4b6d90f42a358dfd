import os.tools
