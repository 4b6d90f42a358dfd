x = [3, 1].sort()
print(x[0])
