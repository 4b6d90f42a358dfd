x=0
echo $((5 / x))
