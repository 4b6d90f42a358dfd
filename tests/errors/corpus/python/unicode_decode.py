print(b'caf\xe9 noir'.decode('utf-8'))
