for i in 10:
    print(i)
