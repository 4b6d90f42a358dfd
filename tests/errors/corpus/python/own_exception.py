class TooLate(Exception):
    pass

raise TooLate('sorry')
