import hashlib
print(hashlib.sha256(b'').update('abc'))
open('/tmp/x', 'wb').write('text')
