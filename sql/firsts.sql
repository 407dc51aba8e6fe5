-- AnagoAhead: looks at partitions of which a LIMIT wants the first rows together. Core
-- goes through the partitions of an Append until there are enough, and takes rows of a MergeAppend one by
-- one; so do looks, and read no more.
load 'anago';
create schema firsts;
set search_path = firsts, public;

create table c (id int, name text, grp int);
insert into c select g, 'name ' || g % 40, g % 20 from generate_series(1, 200) g;
insert into c values (null, null, 3), (1000, 'none', 3);
-- partitions in order of time; columns in another order, and partitions of partitions
create table t (cust int, gone int, day int, region int, name text, amount numeric) partition by range (day);
alter table t drop gone;
create table t_1 partition of t for values from (0) to (25);
create table t_2 (amount numeric, name text, spare text, day int, cust int, region int);
alter table t_2 drop spare;
alter table t attach partition t_2 for values from (25) to (50);
create table t_3 partition of t for values from (50) to (75) partition by list (region);
create table t_31 partition of t_3 for values in (0, 1, 2);
create table t_32 partition of t_3 default;
create table t_4 partition of t for values from (75) to (100);
insert into t select g % 211, g * 31 % 100, g % 7, 'name ' || g % 60, g % 1000 from generate_series(1, 20000) g;
create index t_cust_day on t (cust, day desc);
create index t_cust_amount on t (cust, amount);
-- in no such order, with NULLs
create table l (cust int, day int, region int, name text) partition by list (region);
create table l_0 partition of l for values in (0);
create table l_1 partition of l for values in (1);
create table l_2 partition of l for values in (2, 3);
create table l_3 partition of l default;
insert into l select g % 211, nullif(g * 31 % 100, 7), nullif(g % 7, 6), rpad('name ' || g % 60, 100) from generate_series(1, 12000) g;
create index l_cust_day on l (cust, day desc);
create index l_name on l (name, day);
vacuum analyze c, t, l;

set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_memoize = off;
set anago.enable = on;
set anago.debug_force = on;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;
-- rows that reach each look, of 202 and 3 that are wanted of each; PostgreSQL's scans below the Append are as often begun
create function made(query text) returns table (look text, probes int, n_rows int) language sql as $$
	select * from (select ltrim(line), (regexp_match(lead(line) over (), 'Probes: (\d+)'))[1]::int,
			case when line ~ 'Merged' then (regexp_match(lead(line) over (), 'Rows: (\d+)'))[1]::int end
		from public.anago_explain('analyze, costs off, timing off, summary off, buffers off', query, false) line
		where line ~ '(Look|Probes|Step)') x where x.ltrim ~ 'Look'
$$;
select * from made('select c.id, x.name from c, lateral (select * from t where cust = c.id order by day desc limit 3) x');
-- the second partition has what the first lacks
select * from made('select c.id, x.name from c, lateral (select * from t where cust = c.id order by day limit 30) x');
-- of all the first row, and two more
select * from made('select c.id, x.name from c, lateral (select * from l where cust = c.id order by day desc limit 3) x');
select * from made('select c.id, x.name from c, lateral (select * from l where cust = c.id order by day limit 1) x');
-- what is merged is passed by reference, or filtered: each partition has its share
select * from made('select c.id, x.amount from c, lateral (select * from t where cust = c.id order by amount limit 3) x');
select * from made('select c.id, x.name from c, lateral (select * from l where cust = c.id and region <> 9 order by day desc limit 3) x');
-- first rows of several keys each: nothing is merged
select * from made('select c.id, x.name from c, lateral (select * from l where cust = any(array[c.id, c.id + 1]) order by cust, day desc limit 3) x');
-- tables of a union, and of one that gives a part of its rows
select * from made('select c.id, x.n from c, lateral (select count(*) as n from (select 1 from l_0 where cust = c.id union all select 1 from t_1 where cust = c.id limit 3) y) x');
select * from made('select c.id, x.n from c, lateral (select count(*) as n from (select 1 from l_0 where cust = c.id and region > 5 union all select 1 from t_1 where cust = c.id limit 3) y) x');
-- the last ones; with an offset; ties; all
select * from made('select c.id, x.day from c, lateral (select * from t where cust = c.id order by day desc offset 2 limit 20) x');
select * from made('select c.id, x.day from c, lateral (select * from t where cust = c.id order by day desc fetch first 2 rows with ties) x');
select * from made('select c.id, x.n from c, lateral (select count(*) as n from t where cust = c.id) x');
-- partitions that are pruned for each row: pruned.sql
select count(*) from made('select c.id, x.day from c, lateral (select * from t where cust = c.id and day < c.grp order by day desc limit 3) x');

set anago.enable = off;
set anago.debug_force = off;
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from t where cust = c.id order by day desc limit 3) x');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from t where cust = c.id order by day limit 30 offset 5) x where grp < 5');
select * from anago_same_looks('select c.id, x.day from c left join lateral (select * from t where cust = c.id order by day desc limit 1) x on true');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from l where cust = c.id order by day desc limit 4) x');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from l where cust = c.id order by day desc nulls last limit 4) x');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from l where cust = c.id order by day limit 64) x');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from l where cust = c.id order by day limit 65) x');
select * from anago_same_looks('select c.id, x.amount from c, lateral (select * from t where cust = c.id order by amount limit 5) x');
select * from anago_same_looks('select c.id, x.day, y.day from c, lateral (select * from l where cust = c.id order by day desc limit 2) x,
	lateral (select * from t where cust = c.id order by day desc limit 2) y');
select * from anago_same_looks('select c.id, (select sum(day) from (select day from l where cust = c.id order by day desc limit 3) x), (select sum(day) from (select day from t where cust = c.id order by day desc limit 3) x) from c');
select * from anago_same_looks('select c.id, x.day from c, lateral (select day from l where name = rpad(c.name, 100) order by day limit 5) x');
select * from anago_same_looks('select c.id, x.n from c, lateral (select count(*) as n from (select 1 from l where cust = c.id union all select 1 from t where cust = c.id limit 50) y) x');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from t where cust = c.id and day < c.grp * 5 order by day desc limit 3) x');
-- entries of rows that are gone: PostgreSQL goes further than looks have
delete from t where day > 80;
delete from l where day > 80;
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from t where cust = c.id order by day desc limit 3) x');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from l where cust = c.id order by day desc limit 3) x');
-- arguments of a prepared statement, by which partitions are left out at the start
select * from anago_same_prepared('select c.id, x.day from c, lateral (select * from t where cust = c.id and day < $1 order by day desc limit 3) x',
	'int', '60', '20', 'null', '1000');

-- each row of an outer loop begins anew; cursors stop anywhere
set anago.enable = on;
set anago.debug_force = on;
select * from anago_same_looks('select g, (select sum(x.day) from c, lateral (select day from l where cust = c.id + g order by day desc limit 2) x where c.grp = g) from generate_series(1, 9) g');
begin;
declare k cursor for select c.id, x.day from c, lateral (select day from l where cust = c.id order by day desc nulls last limit 3) x where grp = 3 order by c.id;
fetch 4 from k;
move 3 from k;
fetch 2 from k;
close k;
commit;
-- faults of looks are nobody's affair; little room
set anago.debug_force = off;
set anago.residency = off;
select count(*) from anago_plan('select c.id, x.name from c, lateral (select name from l where cust = c.id order by day desc limit 3) x') line where line ~ '(AnagoScan|Look)';
set anago.sim_fault_rate = 0.03;
select anago_same_seeds('select sum(hashtext(x.name)) from c, lateral (select name from l where cust = c.id order by day desc limit 3) x');
reset anago.sim_fault_rate;
drop schema firsts cascade;
