const done = True;
