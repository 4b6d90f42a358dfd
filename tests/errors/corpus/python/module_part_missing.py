import json.tools
