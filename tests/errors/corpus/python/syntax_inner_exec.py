exec('x = = 1')
