print('abc'.uper())
