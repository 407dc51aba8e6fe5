-- Left on: kinds of queries that took longer with anago than without (docs/benchmarks.md,
-- "Left on").  Plans are chosen by cost here, and nothing counts as cached.
load 'anago';
create table lo_orders (id int primary key, cust int, day int, note text) with (autovacuum_enabled = off);
create table lo_lines (oid int, line int, day int, note text) with (autovacuum_enabled = off);
insert into lo_orders select g, g * 7919 % 20000, g * 31 % 500, repeat('x', 200) from generate_series(0, 19999) g;
insert into lo_lines select g % 20000, g / 20000, g * 7 % 300, repeat('x', 150) from generate_series(0, 39999) g;
create index lo_orders_cust on lo_orders (cust);
create index lo_lines_day on lo_lines (day);
create index lo_lines_oid on lo_lines (oid);
vacuum analyze lo_orders, lo_lines;
set anago.enable = on;
set anago.residency = off;
set anago.io_gain = 4;
set max_parallel_workers_per_gather = 0;

-- a subquery in the filter of a scan of ours: it is evaluated above it, and what it reads is
-- read ahead; conditions before it stay where they are
create view lo_counted as select l.oid, l.line from lo_lines l
	where l.day = 17 and l.note is not null and (select count(*) from lo_orders o where o.id = l.oid) = 1 and l.line < 9;
select * from anago_plan('select * from lo_counted');
select count(*), sum(oid) from lo_counted;
select * from anago_same('select * from lo_counted');
set anago.enable = off;
select count(*), sum(oid) from lo_counted;
set anago.enable = on;
-- rows without columns
select count(*) from lo_counted;
select from lo_counted limit 2;
select anago_looks('select count(*) from lo_counted') as of_count, anago_looks('select from lo_counted') as of_none;
-- not without looks
set anago.ahead = off;
select anago_looks('select * from lo_counted');
select count(*), sum(oid) from lo_counted;
reset anago.ahead;
-- its rows may be wanted to stop early, or be those of another query's row
select count(*) from (select * from lo_counted limit 5) x;
select count(*), sum(oid) from lo_orders o, lateral (select l.oid from lo_lines l
	where l.day = o.day and (select count(*) from lo_orders i where i.id = l.oid and i.day >= o.day) = 0) x where o.id in (3, 30, 300);
set anago.enable = off;
select count(*), sum(oid) from lo_orders o, lateral (select l.oid from lo_lines l
	where l.day = o.day and (select count(*) from lo_orders i where i.id = l.oid and i.day >= o.day) = 0) x where o.id in (3, 30, 300);
set anago.enable = on;
-- an error in it is the query's
select count(*) from lo_lines l where l.day = 17 and (select 1 / count(*) from lo_orders o where o.id = l.oid + 20000) = 1;

-- so it is where rows are locked or changed
set enable_bitmapscan = off;
select * from anago_plan('select oid, line from lo_lines l
	where day = 17 and note is not null and (select count(*) from lo_orders o where o.id = l.oid) = 1 and line < 9 for update');
select * from anago_plan('delete from lo_lines l where day = 17 and (select count(*) from lo_orders o where o.id = l.oid) = 1');
create function lo_locked(query text) returns table (looks bigint, n bigint, sum bigint) language plpgsql as $$
declare
	setting text;
begin
	foreach setting in array '{on, off}'::text[] loop
		perform set_config('anago.ahead', setting, true);
		execute format('with x as materialized (%s) select count(*), sum(oid) from x', query) into n, sum;
		looks := public.anago_looks(query);
		return next;
	end loop;
end $$;
select * from lo_locked('select oid, line from lo_lines l where day = 17 and (select count(*) from lo_orders o where o.id = l.oid) = 1 for update');
select * from lo_locked('select oid, line from lo_lines l where day = 17 and exists (select from lo_orders o where o.id = l.oid and o.day > l.line) or day = 18 and note < ''x'' for share skip locked');
select * from lo_locked('select oid from lo_lines l where day = 17 and (select max(day) from lo_orders o where o.id = l.oid) > 100 limit 7 for update');
select * from anago_change('delete from lo_lines l where day = 17 and (select count(*) from lo_orders o where o.id = l.oid and o.day % 2 = 0) = 1', 'lo_lines', 'off');
select * from anago_change('update lo_lines l set day = line, note = (select left(note, 9) from lo_orders o where o.id = l.oid) where day = 17 and (select o.day from lo_orders o where o.id = l.oid) > 100', 'lo_lines', 'off');
select * from anago_change('update lo_lines l set day = 1 where day = 17 and (select 1 / count(*) from lo_orders o where o.id = l.oid + 10000) = 1', 'lo_lines', 'off');
drop function lo_locked;
reset enable_bitmapscan;

-- below an incremental sort a LIMIT wants few rows: a group and a few
set enable_sort = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
create view lo_sorted as select o.cust, o.id, l.line from lo_orders o
	cross join lateral (select line from lo_lines where oid = o.id order by line, day limit 1) l
	where o.day < 20 order by o.cust, o.id, l.line;
select anago_looks('select * from lo_sorted') as all, anago_looks('select * from lo_sorted limit 3') as few, anago_looks('select * from lo_sorted limit 500') as many;
select anago_looks('select distinct cust, id from lo_sorted limit 3') as few, anago_looks('select * from lo_sorted for update limit 3') as locked;
select * from lo_sorted limit 3 offset 2;
set anago.enable = off;
select * from lo_sorted limit 3 offset 2;
set anago.enable = on;
reset enable_sort;
reset enable_hashjoin;
reset enable_mergejoin;
-- a short range of a table in the order of its index is core's: the kernel reads ahead; not so
-- a list of keys, nor a range in no order
set enable_bitmapscan = off;
set enable_seqscan = off;
select anago_used('select note from lo_orders where id between 4000 and 9000') as range,
	anago_used('select note from lo_orders where cust between 4000 and 9000') as in_no_order;
select count(*), sum(length(note)) from lo_orders where id between 4000 and 9000;
-- nor is a join by keys that follow each other, where only the index is read
set enable_hashjoin = off;
set enable_mergejoin = off;
create table lo_users as select g as id, g / 10 as since, repeat('y', 60) as name from generate_series(0, 19999) g;
create index lo_users_since on lo_users (since);
vacuum analyze lo_users, lo_orders;
create view lo_without as select u.id, u.name from lo_users u
	where u.since between 500 and 900 and not exists (select from lo_orders o where o.cust = u.id);
select anago_used('select * from lo_without') as in_order;
select count(*) from lo_without;
select * from anago_same('select * from lo_without');
-- of rows that one match is wanted of, below a join: no more are looked at, so that pages are not
-- read in vain: 27 times as many as stock comes to
set enable_material = off;
create function lo_looks(query text) returns table (looks bigint, no_more_than_twice boolean) language plpgsql as $$
declare
	plan jsonb;
	stock bigint;
	own bigint;
begin
	set local anago.io_method = sim;
	set local anago.sim_hit_rate = 0;
	set local anago.enable = off;
	execute 'explain (analyze, buffers, costs off, timing off, format json) ' || query into plan;
	stock := (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
	set local anago.enable = on;
	set local anago.debug_force = on;
	execute 'explain (analyze, buffers, costs off, timing off, format json) ' || query into plan;
	select sum(n::bigint) into own from unnest('{"Reads Issued", "Synchronous Reads", "Shared Reads", "Hits"}'::text[]) name,
		jsonb_path_query(plan, format('strict $.** ? (@."Custom Plan Provider" == "AnagoAhead").%I', name)::jsonpath) n;
	return query select count(*), own between 1 and 2 * stock from jsonb_path_query(plan, 'strict $.**.Looks[*]');
end $$;
create view lo_none as select u.id from lo_users u where u.since between 500 and 505 and not exists
	(select from lo_lines l join lo_orders o on o.id = l.oid where l.day = u.id % 300);
select * from lo_looks('select * from lo_none');
select * from anago_same('select * from lo_none');
drop view lo_none;
drop function lo_looks;
reset enable_material;
reset enable_bitmapscan;
reset enable_seqscan;
reset enable_hashjoin;
reset enable_mergejoin;
drop view lo_without;
drop table lo_users;
drop view lo_counted, lo_sorted;
drop table lo_orders, lo_lines;
