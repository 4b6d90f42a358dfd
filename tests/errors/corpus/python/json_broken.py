import json
json.loads('{"a": 1 "b": 2}')
