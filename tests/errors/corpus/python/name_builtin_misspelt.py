pritn('hello')
