age = 41
print('age: ' + age)
