x = 3
assert x == 4, 'x is ' + str(x)
