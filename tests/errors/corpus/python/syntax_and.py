a = b = True
if a && b:
    pass
