const f = () => 1;
new f();
