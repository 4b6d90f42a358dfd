open('/etc/motd2', 'w')
