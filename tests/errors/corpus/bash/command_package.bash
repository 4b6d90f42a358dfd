cowsay hello
