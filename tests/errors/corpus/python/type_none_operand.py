def f():
    pass

print(f() + 1)
