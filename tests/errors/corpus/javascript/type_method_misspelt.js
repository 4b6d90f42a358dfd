const list = [1, 2];
list.psuh(3);
