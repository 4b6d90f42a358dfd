BEGIN { x = (1 }
