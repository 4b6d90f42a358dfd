frobnicate()
