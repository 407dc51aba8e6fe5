-- Parameters: of prepared statements, of InitPlans, of correlated subplans.
-- Answers are (same rows, how many, our plan).
load 'anago';

create table p1 (id int primary key, a int, b text);
create table p2 (id int primary key, p1 int, v int);
insert into p1 select g, g % 20, 'b' || g % 5 from generate_series(1, 500) g;
insert into p2 select g, g % 550, g % 13 from generate_series(1, 1500) g;
create index p1_a on p1 (a);
create index p2_p1 on p2 (p1, v);
vacuum analyze p1, p2;

-- generic plans, executed several times: each time with other values
select anago_same_prepared('select * from p1 where id = $1', 'int', '1', '17', 'null', '9999', '17');
select anago_same_prepared('select * from p1 where id between $1 and $2', 'int, int',
	'1, 5', '5, 1', 'null, 5', '490, 600');
select anago_same_prepared('select * from p1 where id = any ($1)', 'int[]',
	'''{1,2,3}''', '''{}''', 'null', '''{5,null,5}''');
select anago_same_prepared('select * from p1 join p2 on p2.p1 = p1.id and p2.v > $2 where p1.a = $1',
	'int, int', '3, 4', '3, 0', '7, null', '99, 0');
select anago_same_prepared('select * from p1 left join p2 on p2.p1 = p1.id and p2.v = $2 where p1.a = $1',
	'int, int', '3, 4', '3, null', '19, 1');
select anago_same_prepared('select * from p1 where a = $1 and b = $2', 'int, text',
	'3, ''b3''', '3, ''b1''', '3, null');
select anago_same_prepared('select id + $2 from p1 where a = $1', 'int, int', '3, 100', '4, null');
select anago_same_prepared('select * from p1 where id < $1::int8', 'int8', '10', '99999999999', '-1');
select anago_same_prepared('select * from p1 where b like $1 and id < 50', 'text', '''b1%''', '''%''');
select anago_same_prepared('select count(*) from (select * from p1 where id > $1 limit $2) x', 'int, int',
	'3, 7', '3, null', '498, 9');

-- the same through PL/pgSQL's cached plans
create function p_sum(k int) returns bigint language plpgsql as $$
begin
	return (select sum(v) from p1 join p2 on p2.p1 = p1.id where p1.a = k);
end $$;
set plan_cache_mode = force_generic_plan;
select anago_same('select g, p_sum(g) from generate_series(0, 21) g');
reset plan_cache_mode;

-- InitPlans
select anago_same('select * from p1 where id = (select max(v) from p2)');
select anago_same('select * from p1 where id < (select avg(v)::int from p2) and a = (select min(a) from p1)');
select anago_same('select * from p1 join p2 on p2.p1 = p1.id and p2.v > (select avg(v) from p2) where p1.a = 3');
select anago_same('select * from p1 where id = (select 3 where false)');
select anago_same('select * from p1 where id = any (array(select v from p2 where p1 = 4))');
select anago_same('with x as (select 7 as k) select * from p1 where id = (select k from x)');

-- correlated subplans: rescan
select anago_same('select id, (select count(*) from p2 where p2.p1 = p1.id) from p1');
select anago_same('select id, (select sum(y.v) from p2 x join p2 y on y.p1 = x.id where x.p1 = p1.id) from p1 where a < 4');
select anago_same('select id, array(select v from p2 where p2.p1 = p1.id and p2.v > p1.a order by v) from p1 where a < 9');
select anago_same('select id from p1 where a < (select max(v) from p2 where p2.p1 = p1.id) - 5');
select anago_same('select id, exists (select 1 from p2 where p2.p1 = p1.id and v = 3) from p1 where a < 9');
select anago_same('select id, id in (select p1 from p2 where v = 3) from p1 where a < 9');
select anago_same('select * from p1 where a = 3 and (select count(*) from p2 where p2.p1 = p1.id) = 3');
-- a subplan inside our filter and our join condition
select anago_same('select * from p1 where id < 100 and a < (select count(*) from p2 where p2.v = p1.a)');
select anago_same('select * from p1 join p2 on p2.p1 = p1.id
	and p2.v > (select min(v) from p2 z where z.p1 = p1.id) where p1.a < 5');
select anago_same('select * from p1 left join p2 on p2.p1 = p1.id
	and p2.v in (select z.v + 1 from p2 z where z.p1 = p1.id) where p1.a < 5');
-- rescan after LIMIT left the inner side half way
select anago_same('select id, (select v from p2 where p2.p1 > p1.id order by p1, v limit 1) from p1');
select anago_same('select id, x.n from p1, lateral
	(select count(*) n from (select 1 from p2 where p2.p1 >= p1.id limit 3) y) x where a < 5');
-- the inner side of a core nested loop, with and without a parameter
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_material = off;
select anago_same('select count(*) from p1, p2 where p1.id < 20 and p2.id < 30');
select anago_same('select count(*) from p1, (select * from p2 where id < 40 offset 0) x where p1.a = x.v and p1.id < 50');
reset enable_hashjoin;
reset enable_mergejoin;
reset enable_material;

-- recursion: the outer side changes from round to round
create table tree (id int primary key, parent int);
insert into tree select g, g / 3 from generate_series(1, 700) g;
create index tree_parent on tree (parent);
vacuum analyze tree;
select anago_same('with recursive t(id, depth) as (select 1, 0 union all
	select tree.id, depth + 1 from t join tree on tree.parent = t.id) select * from t');
select anago_same('with recursive t(id) as (select 700 union
	select tree.parent from t join tree on tree.id = t.id) select * from t');

-- functions, set-returning ones and SQL ones that are inlined
create function p_of(k int) returns setof p2 language sql stable as
	'select * from p2 where p1 = k';
select anago_same('select * from p_of(3)');
select anago_same('select p1.id, f.v from p1, p_of(p1.id) f where p1.a = 3');
select anago_same('select id, p_of(id) from p1 where a = 3');

-- a function that queries the same tables, called from our filter
create function p_count(k int) returns int language plpgsql as $$
begin
	return (select count(*) from p2 where p2.p1 = k);
end $$;
select anago_same('select id from p1 where id < 60 and p_count(id) = 2');
select anago_same('select p1.id, p2.id from p1 join p2 on p2.p1 = p1.id and p_count(p2.v) > 2 where p1.a = 3');
-- and one that fails half way, caught by the caller
create function p_fail(k int) returns int language plpgsql as $$
begin
	return 100 / (40 - k);
end $$;
create function p_caught() returns text language plpgsql as $$
begin
	perform count(*) from p1 where id < 60 and p_fail(id) > -1000;
	return 'no error';
exception when division_by_zero then
	return (select 'caught, then ' || count(*) from p1 where id < 60);
end $$;
select anago_same('select p_caught()');

-- parameters show in plans
set anago.enable = on;
set anago.debug_force = on;
set plan_cache_mode = force_generic_plan;
prepare shown(int, int) as select * from p1 join p2 on p2.p1 = p1.id and p2.v > $2 where p1.a = $1;
select anago_plan('execute shown(1, 2)');
select anago_plan('select id, (select count(*) from p2 where p2.p1 = p1.id) from p1 where a = 1');
