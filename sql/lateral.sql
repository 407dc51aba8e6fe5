-- Pipelines with parameters of a nested loop further out: star joins, LATERAL,
-- correlated subqueries.  Answers are (same rows, how many, our plan).
load 'anago';
create schema lateral_;
set search_path = lateral_, public;

create table d1 (id int primary key, name text, v int);
create table d2 (id int primary key, name text, v int);
create table d3 (id int primary key, name text, v int);
insert into d1 select g, 'one' || g, g % 7 from generate_series(1, 40) g;
insert into d2 select g, 'two' || g, g % 5 from generate_series(1, 40) g;
insert into d3 select g, 'three' || g, g % 3 from generate_series(1, 20) g;
create table fact (k1 int, k2 int, k3 int, amount int, note text);
insert into fact select g * 7 % 41, g * 11 % 43, g * 13 % 21, g, 'n' || g % 10
	from generate_series(1, 20000) g;
create index fact_k on fact (k1, k2, k3);
create table line (fact int, item int);
insert into line select g % 20000, g % 30 from generate_series(1, 8000) g;
create index line_fact on line (fact);
create table part (k1 int, k2 int, amount int) partition by range (k1);
create table part1 partition of part for values from (0) to (20);
create table part2 partition of part for values from (20) to (100);
insert into part select k1, k2, amount from fact;
create index on part (k2, k1);
vacuum analyze d1, d2, d3, fact, line, part;

-- a star join is a nested loop in a nested loop, whose inner one is ours: the index
-- on the fact table wants keys of both dimensions, of which none has an index
create table e1 as select * from d1;
create table e2 as select * from d2;
create table e3 as select * from d3;
analyze e1, e2, e3;
set join_collapse_limit = 1;
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_bitmapscan = off;
set enable_material = off;
set enable_memoize = off;
select anago_same('select d1.name, d2.name, f.amount from e1 d1 join (e2 d2 join fact f on f.k2 = d2.id) on f.k1 = d1.id
	where d1.v = 3 and d2.v = 2');
select anago_same('select d1.name, d2.name, f.amount from e1 d1 join (e2 d2 join fact f on f.k2 = d2.id) on f.k1 = d1.id
	and f.amount + d1.v > d2.v * 2000 where d1.v < 3 and d2.v = 2');
select anago_same('select d1.name, d2.name, d3.name, f.amount from e1 d1 join (e2 d2 join (e3 d3 join fact f
	on f.k3 = d3.id) on f.k2 = d2.id) on f.k1 = d1.id where d1.v = 3 and d2.v = 2 and d3.v = 1');
select anago_same('select d1.name, d2.name, f.amount, l.item from e1 d1 join ((e2 d2 join fact f on f.k2 = d2.id)
	join line l on l.fact = f.amount) on f.k1 = d1.id where d1.v = 3 and d2.v = 2');
select anago_same('select d1.name, d2.name, p.amount from e1 d1 join (e2 d2 join part p on p.k2 = d2.id) on p.k1 = d1.id
	where d1.v = 3 and d2.v = 2');
select anago_same('select d1.name, d2.name, f.amount from e1 d1 left join (e2 d2 join fact f on f.k2 = d2.id) on f.k1 = d1.id
	and f.amount > 9000 where d1.v < 3');
select anago_same('select d1.name from e1 d1 where exists (select 1 from e2 d2 join fact f on f.k2 = d2.id where f.k1 = d1.id and f.k3 = d2.v)');
select anago_same('select d1.name, d2.name, f.amount from e1 d1, e2 d2, fact f where f.k1 = d1.id + d2.id and f.k2 = d2.v and d1.v = 3');
select anago_same_prepared('select d1.name, d2.name, f.amount from e1 d1 join (e2 d2 join fact f on f.k2 = d2.id) on f.k1 = d1.id
	where d1.v = $1 and d2.v = $2 and f.amount > $3',
	'int, int, int', '3, 2, 0', '1, 1, 9000', '0, null, 0');
set anago.enable = on;
set anago.debug_force = on;
select line from anago_plan('select d1.name, d2.name, f.amount from e1 d1 join (e2 d2 join fact f on f.k2 = d2.id) on f.k1 = d1.id
	and f.amount + d1.v > d2.v * 2000 where d1.v < 3 and d2.v = 2') line where line !~ 'Join Filter';
select line from anago_plan('select d1.name, d2.name, p.amount from e1 d1 join (e2 d2 join part p on p.k2 = d2.id) on p.k1 = d1.id
	where d1.v = 3 and d2.v = 2') line where line !~ 'Join Filter';
-- a condition that nobody may evaluate ahead, nor twice, on all of them
create function noted(int, int, int) returns boolean language plpgsql volatile as 'begin return true; end';
select trim(line) as line from anago_plan('select d1.name from e1 d1 left join ((e2 d2 join fact f on f.k2 = d2.id)
	join line l on l.fact = f.amount) on f.k1 = d1.id and noted(d1.v, d2.v, l.item) where d1.v = 3') line where line ~ 'noted';
-- an error in the inner pipeline, and the next query
select count(*) from e1 d1 join (e2 d2 join fact f on f.k2 = d2.id) on f.k1 = d1.id and 1 / (d1.id - 17) + f.amount > d2.v where d1.v = 3;
select count(*) from e1 d1 join (e2 d2 join fact f on f.k2 = d2.id) on f.k1 = d1.id where d1.v = 3 and d2.v = 2;
-- left to core: a table that is soon cached, of which each run finds little
reset anago.debug_force;
select count(*) from anago_plan('select d1.name, d2.name, f.amount from e1 d1 join (e2 d2 join fact f on f.k2 = d2.id) on f.k1 = d1.id
	where d1.v = 3 and d2.v = 2') line where line ~ 'Anago';
reset anago.enable;
reset enable_memoize;
reset enable_material;
reset enable_bitmapscan;
reset enable_mergejoin;
reset enable_hashjoin;
reset join_collapse_limit;

-- LATERAL, and correlated subqueries
select anago_same('select d1.id, x.amount from d1, lateral (select * from fact f where f.k1 = d1.id order by amount desc limit 3) x where d1.v < 3');
select anago_same('select d1.id, x.s from d1 left join lateral (select sum(l.item) as s from fact f join line l on l.fact = f.amount
	where f.k1 = d1.id and f.k2 = d1.v) x on true where d1.v < 5');
select anago_same('select d1.id, d2.id, x.n from d1 join d2 on d2.v = d1.v, lateral (select count(*) as n from fact f
	where f.k1 = d1.id and f.k2 = d2.id offset 0) x where d1.id < 10');
select anago_same('select d1.id from d1 where exists (select 1 from fact f join line l on l.fact = f.amount
	where f.k1 = d1.id and l.item = d1.v)');
select anago_same('select d1.id, (select max(l.item) from fact f, line l where f.k1 = d1.id and l.fact = f.amount + d1.v) from d1 where d1.v = 2');

