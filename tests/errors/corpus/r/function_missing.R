frobnicate(3)
