x = 1
print 'hello'
