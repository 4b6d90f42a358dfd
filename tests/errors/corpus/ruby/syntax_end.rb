def f
  1
