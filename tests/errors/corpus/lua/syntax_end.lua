if true then
  print(1)
