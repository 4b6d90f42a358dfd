import re
re.compile('(abc')
