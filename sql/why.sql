-- anago_explain_why(): what planning thought of paths of ours.
load 'anago';
set anago.io_method = sim;
set anago.residency = off;
set anago.enable = on;
set max_parallel_workers_per_gather = 0;
create table why_a (id int primary key, a int, pad text) with (autovacuum_enabled = off);
create table why_b (id int, a_id int, pad text) with (autovacuum_enabled = off);
insert into why_a select g, g * 7919 % 20000, repeat('x', 200) from generate_series(1, 20000) g;
insert into why_b select g, g * 31 % 20000, repeat('x', 200) from generate_series(1, 40000) g;
create index why_a_a on why_a (a);
create index why_b_a on why_b (a_id);
create table why_none (id int);
vacuum analyze why_a, why_b, why_none;

-- costs are not for an expected file
create function why_of(query text) returns table (relation text, path text, has_cost boolean,
												  is_compared boolean, why text)
language sql as $$
	select relation, path, cost > 0, cheapest_cost > 0,
		regexp_replace(why, '\d+\.\d+', 'N')
	from anago_explain_why(query)
$$;
-- a scan that is taken, and one that is not
select * from why_of('select pad from why_a where a between 100 and 400');
select * from why_of('select pad from why_a where a > 10');
-- a join, and what is below it
set enable_hashjoin = off;
set enable_mergejoin = off;
select relation, path, why from why_of('select count(b.pad) from why_a a join why_b b on b.a_id = a.id where a.a < 300')
	where why = 'in the plan';
reset enable_hashjoin;
reset enable_mergejoin;
-- not built: nothing to search for, no index, too little to gain, rows that are locked, what must not be ahead
select * from why_of('select count(pad) from why_a');
select * from why_of('select * from why_none');
select * from why_of('select pad from why_a where id = 5');
select * from why_of('select pad from why_a where a between 100 and 400 for update');
select * from why_of('select pad from why_a where a between 100 and 400 and random() < 2');
select * from why_of('select 1');
-- the first rows are there before a pipeline has begun, and what takes all rows is not tried beside
select * from why_of('select pad from why_a where a > 10 order by a limit 1');
select * from why_of('select b.pad from why_a a join why_b b on b.a_id = a.id where a.a > 10 order by a.a limit 1');
-- all is cached: nothing to wait for, unless an index says that far fewer entries are found than core believes
set anago.residency = on;
select count(pad), count(id) from why_a, (select count(pad), count(a_id) from why_b) b;
select * from why_of('select pad from why_a where a between 100 and 400');
select * from why_of('select pad from why_a where a > 10');
select relation, path, why from why_of('select count(b.pad) from why_a a join why_b b on b.a_id = a.id where a.a < 300')
	where path is not null order by path;
select * from why_of('select pad from why_a where a between 100 and 400 for update');
alter table why_b alter a_id set (n_distinct = 20);
analyze why_b;
select relation, path, why from why_of('select count(b.pad) from why_a a join why_b b on b.a_id = a.id where a.a < 300')
	where path ~ 'why_b';
select relation, path, why from why_of('select count(b.pad) from why_a a join why_b b on b.a_id = a.id where a.a < 1500')
	where path ~ 'why_b';
-- nor is anything gained by fewer entries that cost the same pages
create table why_c (a_id int, pad text) with (autovacuum_enabled = off);
create index why_c_a on why_c (a_id);
insert into why_c select g / 4, repeat('x', 200) from generate_series(4, 80003) g;
alter table why_c alter a_id set (n_distinct = 7000);
vacuum analyze why_c;
select entries between 3.9 and 4.1 as are_four from anago_index_groups('why_c_a');
select relation, path, why from why_of('select count(c.pad) from why_a a join why_c c on c.a_id = a.id where a.a < 1500')
	where path ~ 'why_c';
alter table why_c alter a_id set (n_distinct = 100);
analyze why_c;
select relation, path, why from why_of('select count(c.pad) from why_a a join why_c c on c.a_id = a.id where a.a < 1500')
	where path ~ 'why_c';
set anago.residency = off;
\set VERBOSITY terse
-- nothing is executed, and one query is asked for
select * from why_of('delete from why_a where a between 100 and 400');
select count(*) from why_a;
select * from why_of('select 1; select 2');
select * from why_of('analyze why_a');
select * from why_of('nonsense');
select why from why_of('select * from why_gone');
select why from why_of('select pad from why_a where a between 100 and 400') limit 1;
-- as EXPLAIN, it shows nothing of tables that one may not read
create role anago_why_user;
grant usage on schema public to anago_why_user;
set role anago_why_user;
select * from anago_explain_why('select pad from why_a where a between 100 and 400');
reset role;
revoke usage on schema public from anago_why_user;
drop role anago_why_user;
\set VERBOSITY default
-- off, or without reads that overlap
set anago.enable = off;
select * from why_of('select pad from why_a where a between 100 and 400');
set anago.enable = on;
set anago.io_method = sync;
select * from why_of('select pad from why_a where a between 100 and 400');

drop table why_a, why_b, why_none;
drop function why_of;
reset all;
load 'anago';
