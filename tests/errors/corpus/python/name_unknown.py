values = [1, 2]
print(frobnicate(values))
