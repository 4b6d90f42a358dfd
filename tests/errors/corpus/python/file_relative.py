with open('data.csv') as f:
    print(f.read())
