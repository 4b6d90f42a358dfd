const x = 5;
x();
