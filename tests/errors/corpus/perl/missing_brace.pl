if (1) {
  print 1;
