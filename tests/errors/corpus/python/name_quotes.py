colour = red
