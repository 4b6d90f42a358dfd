import datetime
datetime(2026, 1, 1)
