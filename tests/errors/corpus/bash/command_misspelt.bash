echo start
grpe x /etc/passwd
