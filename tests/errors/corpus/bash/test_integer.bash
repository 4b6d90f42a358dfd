x=abc
[ $x -gt 3 ]
