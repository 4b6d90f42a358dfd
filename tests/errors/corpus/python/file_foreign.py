print(open('/data/in.csv').read())
