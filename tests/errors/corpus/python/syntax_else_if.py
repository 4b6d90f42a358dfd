x = 1
if x == 1:
    pass
else if x == 2:
    pass
