with open('/tmp/x', 'wb') as f:
    f.write('text')
