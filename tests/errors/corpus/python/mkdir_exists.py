import os
os.mkdir('/tmp/d')
os.mkdir('/tmp/d')
