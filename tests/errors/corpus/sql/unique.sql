create table t (id integer primary key);
insert into t values (1);
insert into t values (1);
