total = 10
people = 0
print(total / people)
