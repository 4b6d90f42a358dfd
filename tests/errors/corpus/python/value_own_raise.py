def check(n):
    if n > 3:
        raise ValueError('too big: ' + str(n))

check(5)
