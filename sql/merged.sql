-- Rows leave each process of a parallel query in the order of the index, and core
-- merges them.
load 'anago';

-- A merge costs nothing, and a sort cannot be had.
create function mrg_settings(leader text, workers text) returns void language sql as $$
	select set_config(name, value, false) from (values
		('parallel_setup_cost', '0'), ('parallel_tuple_cost', '0'), ('cpu_operator_cost', '0'), ('cpu_tuple_cost', '10'),
		('min_parallel_table_scan_size', '0'), ('min_parallel_index_scan_size', '0'),
		('enable_sort', 'off'), ('enable_incremental_sort', 'off'), ('enable_hashjoin', 'off'),
		('enable_mergejoin', 'off'), ('enable_hashagg', 'off'), ('enable_material', 'off'),
		('parallel_leader_participation', leader),
		('max_parallel_workers_per_gather', workers)) v (name, value)
$$;
select count(*) from mrg_settings('on', '2');

-- Many duplicates, so that some span leaves; NULLs; values in no order of the heap.
create table mrg1 (id int, a int, b int, n int, pad text);
insert into mrg1 select g, (hashint4(g) & 65535) % 1500, g % 5, nullif(g % 90, 0) % 40, repeat('x', g % 200)
	from generate_series(1, 6000) g;
insert into mrg1 select g, 750, g % 3, null, '' from generate_series(6001, 7500) g;
create index mrg1_a on mrg1 (a);
create index mrg1_ba on mrg1 (b, a, id);
create index mrg1_n on mrg1 (n);
create table mrg2 (id int, ref int, v int);
insert into mrg2 select g, (hashint4(g + 5) & 65535) % 7500, g % 10 from generate_series(1, 9000) g;
create index mrg2_ref on mrg2 (ref, v);
-- An index of three levels.
create table mrg3 (id int, k int, pad text);
insert into mrg3 select g, (hashint4(g) & 65535) % 20000, repeat('z', 20) from generate_series(1, 16000) g;
create index mrg3_k on mrg3 (k, id) with (fillfactor = 10);
-- One with separators as wide as they can be, which are not compressed.
create table mrg4 (id int, w text);
alter table mrg4 alter w set storage plain;
insert into mrg4 select g, string_agg(md5((g * 31 + i)::text), '' order by i)
	from generate_series(1, 500) g, generate_series(1, 80) i group by g;
create index mrg4_w on mrg4 (w);
-- Of a single page, and of none.
create table mrg5 (id int, k int);
insert into mrg5 select g, g % 7 from generate_series(1, 50) g;
create index mrg5_k on mrg5 (k);
create table mrg6 (id int, k int);
create index mrg6_k on mrg6 (k);
vacuum analyze mrg1, mrg2, mrg3, mrg4, mrg5, mrg6;

set anago.enable = on;
set anago.debug_force = on;
create function mrg_plan(query text) returns setof text language sql as $$
	select line from anago_plan(query) line
	where line ~ '^ *(->|Step|Workers|Order|Gather|Limit|Group|Unique|WindowAgg|Merge|Partial|Finalize)'
$$;
select mrg_plan('select a, id from mrg1 where a between 100 and 900 order by a');
select mrg_plan('select a, id from mrg1 order by a desc limit 10');
select mrg_plan('select a, mrg1.id, mrg2.id from mrg1 join mrg2 on ref = mrg1.id where a > 500 order by a');
select mrg_plan('select a, mrg1.id from mrg1 left join mrg2 on ref = mrg1.id and v = 4 where b = 2 order by a desc');
select mrg_plan('select distinct a from mrg1 where a > 20');
-- below the size that core asks for, and a skip scan
set min_parallel_index_scan_size = '512kB';
select mrg_plan('select a, id from mrg1 where a between 100 and 900 order by a');
set min_parallel_index_scan_size = 0;
select mrg_plan('select b, a, id from mrg1 where b > 1 and id > 100 order by b, a');
-- in static mode, too, leaves are taken one by one
set anago.mode = static;
select mrg_plan('select a, id from mrg1 where a between 100 and 900 order by a');
reset anago.mode;
reset anago.enable;
reset anago.debug_force;

-- the rows
create table mrg_query (n serial, query text, keys text);
insert into mrg_query (query, keys) values
	('select a, id, pad from mrg1 where a between 100 and 900 order by a', 'a'),
	('select a, id, pad from mrg1 where a between 100 and 900 order by a desc', 'a'),
	('select a, id from mrg1 order by a', 'a'),
	('select a, id from mrg1 order by a desc', 'a'),
	('select a, id from mrg1 where a > 1490 order by a desc', 'a'),
	('select a, id from mrg1 where a < -3 order by a', 'a'),
	('select a, id from mrg1 where a > 70000 order by a desc', 'a'),
	('select b, a, id, pad from mrg1 where b > 1 order by b, a, id', 'b, a, id'),
	('select b, a, id, pad from mrg1 where b > 1 order by b desc, a desc, id desc', 'b, a, id'),
	('select b, a, id, pad from mrg1 where b = 2 and a > 10 order by a, id', 'b, a, id'),
	('select b, a from mrg1 where b > 2 order by b desc, a desc', 'b, a'),
	('select n, id from mrg1 order by n', 'n'),
	('select n, id from mrg1 order by n desc', 'n'),
	('select a, id from mrg1 where a > 100 and id % 7 = 3 order by a desc', 'a'),
	('select k, id, pad from mrg3 where k > 40 order by k, id', 'k, id'),
	('select k, id, pad from mrg3 where k > 40 order by k desc, id desc', 'k, id'),
	('select k, id from mrg3 where k between 3000 and 15000 order by k desc', 'k'),
	('select k, id from mrg3 where k between 3000 and 15000 order by k limit 3000', 'k'),
	('select k, id from mrg3 where k between 3000 and 15000 order by k desc offset 100 limit 500', 'k'),
	('select k, id from mrg3 order by k limit 1', 'k'),
	('select id, w from mrg4 where w > ''3'' order by w', 'w'),
	('select id, w from mrg4 order by w desc', 'w'),
	('select k, id from mrg5 where k > 1 order by k', 'k'),
	('select k, id from mrg5 order by k desc', 'k'),
	('select k, id from mrg6 order by k', 'k'),
	('select a, id from mrg1 where a > 100 order by a limit 7', 'a'),
	('select a, id from mrg1 where a > 100 order by a desc limit 700', 'a'),
	('select b, a from mrg1 where b > 1 order by b, a fetch first 13 rows with ties', 'b, a'),
	-- lists: elements are handed out
	('select k, id from mrg3 where k = any (array(select generate_series(100, 19000, 70))) order by k, id', 'k, id'),
	('select k, id from mrg3 where k = any (array(select generate_series(100, 19000, 70))) order by k desc, id desc', 'k, id'),
	('select b, a, id from mrg1 where b in (0, 2, 3) order by b, a, id', 'b, a, id'),
	('select b, a, id from mrg1 where b in (0, 2, 3) and a > 700 order by b desc, a desc, id desc', 'b, a, id'),
	-- joins
	('select a, mrg1.id, mrg2.id as i2, pad from mrg1 join mrg2 on ref = mrg1.id where b = 2 and a > 500 order by a, mrg1.id', 'a, id'),
	('select a, mrg1.id, mrg2.id as i2, pad from mrg1 join mrg2 on ref = mrg1.id where a > 500 order by a desc', 'a'),
	('select a, mrg1.id, mrg2.id as i2, pad from mrg1 left join mrg2 on ref = mrg1.id and v > 4 where a > 500 order by a', 'a'),
	('select a, mrg1.id, pad from mrg1 where a > 500 and exists (select from mrg2 where ref = mrg1.id and v > 4) order by a desc', 'a'),
	('select a, mrg1.id, pad from mrg1 where a > 500 and not exists (select from mrg2 where ref = mrg1.id and v > 4) order by a desc', 'a'),
	('select o.a, o.id, p.a as a2 from mrg1 o join mrg2 on ref = o.id join mrg1 p on p.a = mrg2.v where o.b = 1 and o.a < 200 order by o.a', 'a'),
	-- one row with very many matches
	('select x.id, y.id as i2 from mrg5 x join mrg1 y on y.b = x.k where x.k < 3 order by x.k', 'true'),
	('select a, mrg1.id, mrg2.id as i2 from mrg1 join mrg2 on ref = mrg1.id where a > 500 order by a limit 100', 'a'),
	-- groups
	('select a, count(*), sum(id) from mrg1 where a > 20 group by a order by a', 'a'),
	('select distinct a from mrg1 where a > 20 order by a', 'a');
select n, s.same, s.rows, s.merged from mrg_query, anago_same_keys(query, keys) s order by n;

-- the leader only merges; static mode; fewer workers than planned, and none
create function mrg_others(out other text, out rows numeric) returns record language sql as $$
	select string_agg(query, '; ') filter (where not s.same), sum(s.rows)
	from mrg_query, anago_same_keys(query, keys) s where n % 4 = 3
$$;
select count(*) from mrg_settings('off', '3');
select * from mrg_others();
create table mrg_variant as select * from anago_variant;
delete from anago_variant;
insert into anago_variant select name, settings || '{"anago.mode": "static"}' from mrg_variant
	where name in ('ooo', 'sim 2');
select * from mrg_others();
delete from anago_variant;
insert into anago_variant select * from mrg_variant;
set max_parallel_workers = 1;
select * from mrg_others();
set max_parallel_workers = 0;
select * from mrg_others();
reset max_parallel_workers;
select count(*) from mrg_settings('on', '2');

-- below a merge join, which is the child of a pipeline
create table mrg7 as select g as id, g % 1500 as a, g % 7 as v from generate_series(1, 3000) g;
analyze mrg7;
set enable_mergejoin = on;
set enable_nestloop = off;
set enable_sort = on;
set cpu_operator_cost = 1e-6;
select same, rows from anago_same_keys('select o.a, o.id, y.id as i2 from mrg1 o left join mrg7 y on y.a = o.a where o.a > 700
	and exists (select from mrg2 z where z.ref = o.id + coalesce(y.v, 0)) order by o.a', 'a');
set anago.enable = on;
set anago.debug_force = on;
select mrg_plan('select o.a, o.id, y.id as i2 from mrg1 o left join mrg7 y on y.a = o.a where o.a > 700
	and exists (select from mrg2 z where z.ref = o.id + coalesce(y.v, 0)) order by o.a');
reset anago.enable;
reset anago.debug_force;
reset enable_nestloop;
select count(*) from mrg_settings('on', '2');

-- run again and again, to its end and not
set enable_memoize = off;
select same, rows, merged from anago_same_keys('select x, s.a, s.id from generate_series(0, 5) x left join
	(select a, id from mrg1 where a > 500 order by a offset 0) s on s.a % 6 <> x and s.id % 9 = x', 'x, a');
select same, rows, merged from anago_same_keys('select x, s.a from generate_series(0, 5) x left join
	(select a from mrg1 where a > 500 order by a limit 40) s on s.a % 6 <> x', 'x, a');

-- an error of one row, whoever comes to it; the next query is right
set anago.enable = on;
set anago.debug_force = on;
create function mrg_error(query text) returns text language plpgsql as $$
begin
	execute 'select max(q::text) from (' || query || ' offset 0) q';
	return 'none';
exception when division_by_zero then
	return sqlerrm;
end $$;
select mrg_error(query) from unnest(array[
	'select a from mrg1 where a > 3 and 1 / (a - 1000) > -5 order by a',
	'select a from mrg1 join mrg2 on ref = mrg1.id and 1 / (a - 1000) > -5 order by a desc',
	'select a, 1 / (a - 1000) from mrg1 where a > 3 order by a']) query;
select count(*), sum(a) from (select a from mrg1 where a > 3 order by a offset 0) q;

-- A merge has no row before each process has given one, and each may come to give
-- as many as are wanted.  So its pages are bounded by those of as many processes of
-- stock.
set anago.io_method = sim;
set anago.sim_hit_rate = 0;
set anago.sim_delay = 20;
set enable_seqscan = off;
set enable_bitmapscan = off;
select most, merged from anago_stop('select k, id, pad from mrg3 where k > 40 order by k', 2, 3, 3, '{1, 2, 5, 20, 50, 100, 500, 1000, 5000, 10000}');
select most, merged from anago_stop('select k, id, pad from mrg3 order by k desc', 2, 3, 3, '{1, 2, 5, 20, 50, 100, 500, 1000, 5000, 10000}');
select most, merged from anago_stop('select k, mrg3.id, v, mrg2.id from mrg3 join mrg2 on ref = mrg3.id order by k', 2, 3, 3, '{1, 2, 5, 20, 50, 100, 500, 1000, 5000, 10000}');

drop table mrg1, mrg2, mrg3, mrg4, mrg5, mrg6, mrg7, mrg_query, mrg_variant;
drop function mrg_settings, mrg_plan, mrg_others, mrg_error;
