pragma foreign_keys = on;
create table a (id integer primary key);
create table b (a integer references a(id));
insert into b values (7);
