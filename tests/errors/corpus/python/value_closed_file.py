with open('/tmp/a', 'w') as f:
    f.write('x')
f.write('y')
