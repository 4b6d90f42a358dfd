text = '''abc
print(text)
