echo $((1 / 0))
