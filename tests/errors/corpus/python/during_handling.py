try:
    {}['a']
except KeyError:
    print(undefined_thing)
