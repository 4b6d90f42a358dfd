import re
m = re.match('x', 'abc')
print(m.group())
