let x;
x.name = 'a';
