x = float('3,5')
