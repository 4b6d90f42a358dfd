user = {'name': 'Ada'}
print(user.name)
