print('grün'.encode('ascii'))
