age = '18'
if age > 17:
    print('in')
