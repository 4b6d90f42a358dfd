BEGIN { frob(1) }
