ls *.nothing
