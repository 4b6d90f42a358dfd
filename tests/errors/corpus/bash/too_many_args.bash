x='a b'
[ $x = a ]
