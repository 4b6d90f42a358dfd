select (1;
