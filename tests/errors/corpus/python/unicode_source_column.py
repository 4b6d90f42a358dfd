größe = {'ä': 1}
print(größe['ä'], größe['ö'])
