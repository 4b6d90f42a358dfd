d = {2: 1}
d.sort()
