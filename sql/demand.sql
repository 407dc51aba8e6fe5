-- A query that stops early has read at most twice what stock reads, or 16
-- pages more: all of its processes together.
load 'anago';
set max_parallel_workers_per_gather = 0;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_sort = off;
set enable_material = off;
set enable_memoize = off;

create table dem1 (id int, k int, ref int, pad text);
create table dem2 (id int, ref int, pad text);
create table dem3 (id int, pad text);
insert into dem1 select g, (hashint4(g) & 65535) % 12000, (hashint4(g + 1000000) & 65535) % 12000, repeat('x', 900) from generate_series(0, 11999) g;
insert into dem2 select g, g * 31 % 12000, repeat('y', 900) from generate_series(0, 11999) g;
insert into dem3 select g, repeat('z', 900) from generate_series(0, 11999) g;
create index dem1_k on dem1 (k);
create index dem2_ref on dem2 (ref);
create index dem3_id on dem3 (id);
vacuum analyze dem1, dem2, dem3;

create table dem_query (name text, query text);
insert into dem_query values
	('scan', 'select id, pad from dem1 where k >= 0'),
	('filter', 'select id, pad from dem1 where k >= 0 and id % 10 = 3'),
	('join', 'select dem1.id, dem2.pad from dem1 join dem2 on dem2.ref = dem1.ref where k >= 0'),
	('filtered join', 'select dem1.id, dem2.pad from dem1 join dem2 on dem2.ref = dem1.ref where k >= 0 and dem2.id % 7 = 4'),
	('three tables', 'select dem1.id, dem2.pad, dem3.pad from dem1 join dem2 on dem2.ref = dem1.ref join dem3 on dem3.id = dem2.id where k >= 0'),
	('left join', 'select dem1.id, dem2.pad from dem1 left join dem2 on dem2.ref = dem1.ref + 6000 where k >= 0'),
	('semijoin', 'select id, pad from dem1 where k >= 0 and exists (select from dem2 where dem2.ref = dem1.ref and dem2.pad > '''')'),
	('ordered', 'select id, pad from dem1 where k >= 0 order by k'),
	('descending', 'select id, pad from dem1 order by k desc'),
	('ordered filter', 'select id, pad from dem1 where id % 10 = 3 order by k'),
	('ordered join', 'select dem1.id, dem2.pad from dem1 join dem2 on dem2.ref = dem1.ref order by k desc'),
	('ordered three', 'select dem1.id, dem2.pad, dem3.pad from dem1 join dem2 on dem2.ref = dem1.ref join dem3 on dem3.id = dem2.id order by k'),
	('IN list', 'select id, pad from dem1 where k in (select generate_series(0, 11000, 2))'),
	('constant list', format('select id, pad from dem1 where k = any (%L::int[])',
							 (select array_agg(g) from generate_series(0, 11000, 2) g)));

-- Filters are such as let one of the first rows of the index pass where it is to be
-- expected.
set anago.debug_force = on;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;
set anago.sim_delay = 20;
select name, most, anago, in_workers from dem_query,
	anago_stop(query, 0, 1, 6, '{1, 2, 5, 20, 50, 100, 500, 1000, 5000, 10000}') s;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
select name, most, anago, in_workers from dem_query, anago_stop(query, 3, 1, 4, '{1, 2, 5, 20, 100, 1000, 10000}') s;
set parallel_leader_participation = off;
select name, most, anago, in_workers from dem_query, anago_stop(query, 3, 1, 4, '{1, 20, 1000}') s where name in ('scan', 'join');

-- What workers have counted is shown, also where a LIMIT has ended them: the
-- leader takes no part here.
create function dem_workers(query text, out rows boolean, out tasks boolean, out buffers boolean)
language plpgsql as $$
declare
	plan jsonb;
	node jsonb;
begin
	execute 'explain (analyze, buffers, costs off, timing off, format json) ' || query into plan;
	node := jsonb_path_query_first(plan, 'strict $.** ? (@."Node Type" == "Custom Scan")');
	rows := (select sum(n::int) from jsonb_path_query(node, '$."Processes"[*]."Rows"') n) >= 50;
	tasks := (node->>'Tasks')::int > 0;
	buffers := (node->>'Shared Hit Blocks')::int + (node->>'Shared Read Blocks')::int > 0;
end $$;
set max_parallel_workers_per_gather = 2;
set anago.io_method = default;
select * from dem_workers('select id, pad from dem1 where k >= 0 limit 50');
select * from dem_workers('select dem1.id, dem2.pad from dem1 join dem2 on dem2.ref = dem1.ref where k >= 0 limit 50');

-- How many rows a scan is wanted for is known where every row of it is one of
-- the consumer's: then hardly more are read.  Else reads go ahead as rows are
-- consumed.
set max_parallel_workers_per_gather = 0;
set anago.io_method = sim;
create function dem_ahead(query text, wanted int) returns text language plpgsql as $$
declare
	plan jsonb;
	reads bigint;
begin
	execute 'explain (analyze, buffers, costs off, timing off, format json) ' || query into plan;
	select sum(n::bigint) into reads from
		jsonb_path_query(plan, 'strict $.** ? (@."Node Type" == "Custom Scan")."Reads Issued"') n;
	return case when reads <= wanted * 1.05 + 8 then 'as wanted' else format('%s reads', reads) end;
end $$;
select name, dem_ahead(query, pages) from (values
	('limit', 'select id, pad from dem1 where k >= 0 limit 1000', 1000),
	('offset', 'select id, pad from dem1 where k >= 0 limit 500 offset 500', 1000),
	('above a subquery', 'select * from (select id, pad from dem1 where k >= 0 offset 0) s limit 1000', 1000),
	('append', 'select id, pad from dem1 where k >= 6000 union all select id, pad from dem1 where k < 6000 limit 1000', 1000),
	('exists', 'select exists (select from dem1 where k >= 0 and pad > '''')', 1),
	('lateral', 'select count(*) from generate_series(0, 50) g, lateral (select pad from dem1 where k > g limit 2) l', 102))
	as q (name, query, pages);

-- FETCH says how many rows are wanted; what comes after those begins as usual.
begin;
declare dem_cursor cursor for select id, pad from dem1 where k >= 0;
fetch 1 from dem_cursor \g /dev/null
close dem_cursor;
declare dem_cursor cursor for select id, pad from dem1 where k between 10 and 2000;
move 3 in dem_cursor;
fetch 2 from dem_cursor \g /dev/null
move 100 in dem_cursor;
move all in dem_cursor;
close dem_cursor;
select count(*) from dem1 where k between 10 and 2000;
commit;

-- Where a handful of rows is wanted nothing overlaps: the plan is core's, and no
-- node of ours is put in.
set anago.debug_force = off;
set anago.io_method = default;
set anago.io_gain = 8;
set anago.residency = off;
set anago.enable = on;
create function dem_ours(query text) returns boolean language sql as $$
	select bool_or(line ~ 'Anago') from anago_plan(query) line
$$;
select n as limit, dem_ours('select id, pad from dem1 where k >= 0 order by k limit ' || n) as scan,
	dem_ours('select dem1.id, dem2.pad from dem1 join dem2 on dem2.ref = dem1.ref where k >= 0 order by k limit ' || n) as join
	from unnest(array[1, 3, 1000]) n;

reset all;
drop table dem1, dem2, dem3, dem_query;
drop function dem_workers, dem_ahead, dem_ours;
