done = true
