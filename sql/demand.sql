-- A query that stops early has read at most twice what stock reads, or 16
-- pages more.
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
	('IN list', 'select id, pad from dem1 where k in (select generate_series(0, 11000, 2))'),
	('constant list', format('select id, pad from dem1 where k = any (%L::int[])',
							 (select array_agg(g) from generate_series(0, 11000, 2) g)));

-- What does a query read before it stops?  Every page that stock looks at
-- counts, as in a cold cache; simulated reads make each of ours count, too.
create function dem_read(query text, out pages bigint, out ours boolean)
language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (analyze, buffers, costs off, timing off, format json) ' || query into plan;
	ours := plan::text ~ 'Anago(Scan|Join)';
	if ours then
		select sum(n::bigint) into pages from unnest('{"Reads Issued", "Synchronous Reads"}'::text[]) name,
			jsonb_path_query(plan, format('strict $.**.%I', name)::jsonpath) n;
	else
		pages := (plan->0->'Plan'->>'Shared Hit Blocks')::bigint +
			(plan->0->'Plan'->>'Shared Read Blocks')::bigint;
	end if;
end $$;

-- Rows come in another order than stock's, so that a filter may drop more or
-- fewer of the first ones: the mean of several runs is what counts, and filters
-- are such as let one of the first rows of the index pass where it is to be
-- expected.
create function dem_stop(query text, out most text, out anago boolean)
language plpgsql as $$
declare
	runs constant int := 6;
	stock record;
	ours record;
	pages bigint;
	n int;
begin
	most := 'bounded';
	anago := true;
	foreach n in array '{1, 2, 5, 20, 50, 100, 500, 1000, 5000, 10000}'::int[] loop
		perform set_config('anago.enable', 'off', false);
		select * into stock from dem_read(query || ' limit ' || n);
		perform set_config('anago.enable', 'on', false);
		pages := 0;
		for seed in 1 .. runs loop
			perform set_config('anago.sim_seed', (n * runs + seed)::text, false);
			select * into ours from dem_read(query || ' limit ' || n);
			anago := anago and ours.ours;
			pages := pages + ours.pages;
		end loop;
		if pages > runs * (stock.pages + greatest(16, stock.pages)) then
			most := format('limit %s: %s pages, stock %s', n, pages / runs, stock.pages);
			raise notice '%: %', query, most;
		end if;
	end loop;
end $$;

set anago.debug_force = on;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;
set anago.sim_delay = 20;
select name, s.* from dem_query, dem_stop(query) s;

-- a cursor is a query that may stop at any row; a rescan begins anew
set anago.enable = on;
begin;
declare dem_cursor cursor for select id, pad from dem1 where k >= 0;
fetch 1 from dem_cursor \g /dev/null
close dem_cursor;
commit;
select count(*) from generate_series(0, 50) g,
	lateral (select dem1.id from dem1 where k > g offset 0 limit 2) l;

reset all;
drop table dem1, dem2, dem3, dem_query;
drop function dem_read, dem_stop;
