name = input('name? ')
