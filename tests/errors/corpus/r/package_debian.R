library(ggplot2)
