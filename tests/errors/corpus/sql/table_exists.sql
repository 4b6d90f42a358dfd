create table t (a);
create table t (a);
