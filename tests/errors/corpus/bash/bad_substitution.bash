echo ${a b}
