data = '{"a": 1}'
print(json.loads(data))
