count = 0

def add():
    count += 1

add()
