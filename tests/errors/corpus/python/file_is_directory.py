open('/tmp').read()
