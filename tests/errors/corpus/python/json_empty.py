import json
json.loads('')
