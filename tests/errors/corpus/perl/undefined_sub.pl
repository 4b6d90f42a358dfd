hello(1);
