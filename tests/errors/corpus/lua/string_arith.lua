print('abc' + 1)
