from datetime import datetime
print(datetime.strptime('2026/01/31', '%Y-%m-%d'))
