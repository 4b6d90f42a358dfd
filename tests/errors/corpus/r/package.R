library(nosuchpackage)
