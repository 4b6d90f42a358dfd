import astropy
print(astropy.__version__)
