import sqlite3
db = sqlite3.connect(':memory:')
db.execute('select * from users')
