create table t (a text not null);
insert into t values (null);
