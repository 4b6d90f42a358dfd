local user
print(user.name)
