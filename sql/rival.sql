-- Plans that are hardly cheaper with anago than without: planned twice, and core's is
-- taken (docs/planner.md, "A plan that is hardly cheaper").
load 'anago';
create table rv_a (id int primary key, k int, pad text) with (autovacuum_enabled = off);
create table rv_b (id int primary key, a int, pad text) with (autovacuum_enabled = off);
create table rv_c (id int primary key, b int, pad text) with (autovacuum_enabled = off);
insert into rv_a select g, g * 7919 % 20000, repeat('x', 200) from generate_series(0, 19999) g;
insert into rv_b select g, g * 31 % 20000, repeat('x', 200) from generate_series(0, 19999) g;
insert into rv_c select g, g * 37 % 20000, repeat('x', 200) from generate_series(0, 19999) g;
create index rv_a_k on rv_a (k);
create index rv_b_a on rv_b (a);
-- (no B-tree: core's nested loop goes there)
create index rv_c_b on rv_c using hash (b);
vacuum analyze rv_a, rv_b, rv_c;
set anago.enable = on;
set anago.residency = off;
set anago.io_gain = 4;
set max_parallel_workers_per_gather = 0;
create view rv as select count(*), sum(length(c.pad)) from rv_a a
	join rv_b b on b.a = a.id join rv_c c on c.b = b.id where a.k < 100;

-- what costs little is planned once
set anago.least_gain = 0.999;
select anago_used('select * from rv');
-- the same at prices a thousand times as high
set seq_page_cost = 1000;
set random_page_cost = 4000;
set cpu_tuple_cost = 10;
set cpu_index_tuple_cost = 5;
set cpu_operator_cost = 2.5;
select anago_used('select * from rv');
select * from rv;
set anago.least_gain = 0;
select anago_used('select * from rv');
select * from rv;
reset anago.least_gain;
select anago_used('select * from rv');
-- it is said why; a subquery's tables count
set anago.least_gain = 0.999;
select distinct regexp_replace(why, '\d+\.\d+', 'N') from anago_explain_why('select * from rv') where why ~ 'least_gain';
select anago_used('select count(*) from rv_a a where k < 100 and exists
	(select 1 from rv_b b join rv_c c on c.b = b.id where b.a = a.id)');
select anago_used('with x as materialized (select c.pad from rv_a a
	join rv_b b on b.a = a.id join rv_c c on c.b = b.id where a.k < 100) select count(pad) from x');
-- with two tables, and where the pipeline has all of them, nothing of core's is above
select anago_used('select count(b.pad) from rv_a a join rv_b b on b.a = a.id where a.k < 100');
select anago_used('select count(b.pad) from rv_a a join rv_b b on b.a = a.id join rv_a c on c.k = b.id where a.k < 100');

-- it is decided anew for a prepared statement, and for a cursor by its first rows
prepare rv_query(int) as select count(*), sum(length(c.pad)) from rv_a a
	join rv_b b on b.a = a.id join rv_c c on c.b = b.id where a.k < $1;
select anago_used('execute rv_query(100)');
execute rv_query(100);
set anago.least_gain = 0;
select anago_used('execute rv_query(100)');
execute rv_query(100);
deallocate rv_query;
set anago.least_gain = 0.999;
begin;
declare rv_cursor cursor for select a.id, b.id, c.id from rv_a a
	join rv_b b on b.a = a.id join rv_c c on c.b = b.id where a.k < 100 order by 1, 2, 3;
fetch 2 from rv_cursor;
rollback;
-- where core's plan uses what is switched off, ours stays (before 18 that costs 10,000,000,000)
set seq_page_cost = 1000000;
set random_page_cost = 4000000;
set cpu_tuple_cost = 10000;
set cpu_index_tuple_cost = 5000;
set cpu_operator_cost = 2500;
set enable_seqscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_nestloop = off;
select anago_used('select * from rv');
reset enable_seqscan;
reset enable_hashjoin;
reset enable_mergejoin;
reset enable_nestloop;

\set VERBOSITY terse
set anago.least_gain = 2;
\set VERBOSITY default

drop view rv;
drop table rv_a, rv_b, rv_c;
reset all;
load 'anago';
