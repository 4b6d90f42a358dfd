it = iter([])
print(next(it))
