const x = new Array(-1);
