2nd = 3
