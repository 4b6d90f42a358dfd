class Point:
    pass

p = Point()
print(p.colour)
