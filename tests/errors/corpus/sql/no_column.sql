create table users (id integer, name text);
select nme from users;
