f <- function() stop('too late')
f()
