x = []
x.push(3)
