cat input.txt
