import jsno
