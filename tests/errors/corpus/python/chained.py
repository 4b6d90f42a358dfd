try:
    int('x')
except ValueError as e:
    raise RuntimeError('could not read it') from e
