pritn('a')
