def rest(a, b):
    return a % b

for n in (3, 0):
    print(rest(7, n))
