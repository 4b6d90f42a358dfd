echo $((3 + ))
