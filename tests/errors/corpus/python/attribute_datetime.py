import datetime
print(datetime.now())
