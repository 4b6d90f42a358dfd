n = int('')
