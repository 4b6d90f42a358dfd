local name
print('a' .. name)
