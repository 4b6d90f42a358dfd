name = 'Ada
print(name)
