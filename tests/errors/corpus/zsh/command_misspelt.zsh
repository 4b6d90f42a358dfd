echo start
grpe x
