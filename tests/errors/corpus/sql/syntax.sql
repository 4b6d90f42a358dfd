select 1;
selec 2;
