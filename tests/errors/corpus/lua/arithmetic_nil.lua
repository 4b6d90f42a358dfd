local x
print(x + 1)
