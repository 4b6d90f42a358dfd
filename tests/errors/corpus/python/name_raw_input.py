x = raw_input()
