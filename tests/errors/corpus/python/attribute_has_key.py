d = {}
if d.has_key('a'):
    print(1)
