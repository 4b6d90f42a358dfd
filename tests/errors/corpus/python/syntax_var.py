var x = 3
