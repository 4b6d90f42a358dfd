from helpers_of_mine import greet
greet()
