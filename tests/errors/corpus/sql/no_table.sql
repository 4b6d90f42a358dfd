create table users (id integer);
select * from usrs;
