-- What planning looks up in indexes themselves: how many entries a probe finds.
load 'anago';
set anago.io_method = sim;

-- What it finds against what is true, for each number of leading columns.
create function dv_check(index regclass, tab regclass, variadic cols text[])
returns table (columns int, leaves text, near boolean, within boolean)
language plpgsql as $$
declare
	g record;
	truth float8;
begin
	for g in select * from anago_index_groups(index) loop
		execute format('select count(*)::float8 / count(distinct (%s)) from %s',
					   array_to_string(cols[1:g.columns], ','), tab) into truth;
		columns := g.columns;
		leaves := case when g.leaves = 0 then 'none' when g.leaves <= 16 then 'some' else 'many' end;
		near := g.entries between truth / 1.5 and truth * 1.5;
		within := truth between g.low * 0.8 and g.high * 1.25;
		if not near then
			raise notice '% columns of %: % against %, % to %', g.columns, index, g.entries, truth, g.low, g.high;
		end if;
		return next;
	end loop;
end $$;

create table dv (id int, four int, clustered int, many int, two int, t text, n int, nm name, pad text)
	with (autovacuum_enabled = off);
insert into dv
	select g, g * 7919 % 40000 / 4, g / 4, g % 37, g % 2, 'some words before ' || g / 10,
		case when g % 3 > 0 then g / 6 end, 'n' || g % 500, repeat('x', 100)
	from generate_series(0, 39999) g;
create unique index dv_id on dv (id);
create index dv_four on dv (four);
create index dv_clustered on dv (clustered desc);
create index dv_many on dv (many);
create index dv_plain on dv (many) with (deduplicate_items = off);
create index dv_two on dv (two, four, id);
create index dv_t on dv (t, two);
create index dv_n on dv (n nulls first);
create index dv_nm on dv (nm);
create index dv_part on dv (four) where two = 0;
create index dv_expr on dv ((four % 100));
vacuum analyze dv;
select * from dv_check('dv_id', 'dv', 'id');
select * from dv_check('dv_four', 'dv', 'four');
select * from dv_check('dv_clustered', 'dv', 'clustered');
select * from dv_check('dv_many', 'dv', 'many');
select * from dv_check('dv_plain', 'dv', 'many');
select * from dv_check('dv_two', 'dv', 'two', 'four', 'id');
select * from dv_check('dv_t', 'dv', 't', 'two');
select * from dv_check('dv_nm', 'dv', 'nm');
select * from dv_check('dv_expr', 'dv', 'four % 100');
-- all NULLs are one group of 13,334 beside 6,667 of 4
select entries between 3.5 and 7 as near from anago_index_groups('dv_n');
-- in order of the heap a group is in one block or two, in no order in as many as it has entries
select columns, blocks < 1.2 as near from anago_index_groups('dv_clustered');
select columns, blocks > 3.5 as near from anago_index_groups('dv_four');
-- more leaves
set anago.dive_pages = 1000;
select * from dv_check('dv_two', 'dv', 'two', 'four', 'id');
select entries between 1.9 and 2.1 as near from anago_index_groups('dv_part');
-- none
set anago.dive_pages = 0;
select * from anago_index_groups('dv_id');
reset anago.dive_pages;
-- an index that is empty, one that has lost all its entries, one page
create table dv_small (a int) with (autovacuum_enabled = off);
create index dv_small_a on dv_small (a);
select * from anago_index_groups('dv_small_a');
insert into dv_small select g / 5 from generate_series(0, 99) g;
select * from anago_index_groups('dv_small_a');
analyze dv_small;
select columns, entries, low, high, leaves from anago_index_groups('dv_small_a');
delete from dv_small;
vacuum dv_small;
select * from anago_index_groups('dv_small_a');
drop table dv_small;
-- what is no B-tree
create index dv_hash on dv using hash (id);
select * from anago_index_groups('dv_hash');
select * from anago_index_groups('dv');
select * from anago_index_groups(0);
drop index dv_hash;
create role dv_reader;
set role dv_reader;
select * from anago_index_groups('dv_id');
select anago_resident('dv');
reset role;
drop role dv_reader;

-- A clustered column of which statistics say far fewer distinct values than there are.
create table dv_ord (id int primary key, c int) with (autovacuum_enabled = off);
insert into dv_ord select g, g * 7919 % 20000 from generate_series(1, 20000) g;
create index on dv_ord (c);
create table dv_line (ord int, x int, pad text) with (autovacuum_enabled = off);
insert into dv_line select g / 4, g % 7, repeat('x', 700) from generate_series(4, 80003) g;
create index dv_line_ord on dv_line (ord);
alter table dv_line alter ord set (n_distinct = 40);
vacuum analyze dv_ord, dv_line;
set anago.enable = on;
set anago.residency = off;
set max_parallel_workers_per_gather = 0;
set anago.dive_pages = 0;
select anago_plan('select count(pad) from dv_ord join dv_line on ord = id where c < 300');
reset anago.dive_pages;
select anago_plan('select count(pad) from dv_ord join dv_line on ord = id where c < 300');
select anago_same('select ord, x, length(pad) from dv_ord join dv_line on ord = id where c < 300');

-- Where all is cached, core's own nested loop for a few probes, at the price that the index
-- says, also of the first rows in order.
set anago.residency = on;
select count(pad), count(ord), count(id) from dv_line, (select count(c) from dv_ord) o, dv_ord where id = ord;
set anago.dive_pages = 0;
select anago_plan('select count(pad) from dv_ord join dv_line on ord = id where c < 300');
reset anago.dive_pages;
select anago_plan('select count(pad) from dv_ord join dv_line on ord = id where c < 300');
select anago_plan('select c, pad from dv_ord join dv_line on ord = id where c < 15000 order by c limit 100');
select anago_same('select ord, x, length(pad) from dv_ord join dv_line on ord = id where c < 300');
select anago_same('select c, x from dv_ord join dv_line on ord = id where c < 300 order by c, x limit 100');
set anago.residency = off;

-- Page reads of planning: no more than the setting allows, and not again.
create function dv_planning(query text) returns bigint language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (buffers, format json) ' || query into plan;
	return (plan->0->'Planning'->>'Shared Hit Blocks')::bigint +
		(plan->0->'Planning'->>'Shared Read Blocks')::bigint;
end $$;
create function dv_pages(query text, leaves int)
returns table (first boolean, again boolean) language plpgsql as $$
declare
	without bigint;
	pages bigint;
begin
	set local anago.dive_pages = 0;
	perform dv_planning(query);
	without := dv_planning(query);
	perform set_config('anago.dive_pages', leaves::text, true);
	pages := dv_planning(query) - without;
	if pages not between 1 and leaves + 16 then
		raise notice '% pages', pages;
	end if;
	-- the constants' places are looked up anew after a while: two descents
	first := pages between 1 and leaves + 16;
	again := dv_planning(query) - without <= 16;
	return next;
end $$;
select * from dv_pages('select count(pad) from dv_ord join dv_line on ord = id where c < 300', 10);
select * from dv_pages('select count(pad) from dv_ord join dv_line on ord = id where c < 300', 100);

-- Ranges of which the histogram is out of date.
create table dv_new (a int, pad text) with (autovacuum_enabled = off);
insert into dv_new select g * 7919 % 20000, repeat('x', 300) from generate_series(1, 20000) g;
create index dv_new_a on dv_new (a);
vacuum analyze dv_new;
create function dv_cost(query text) returns float8 language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (format json) ' || query into plan;
	return (plan->0->'Plan'->'Plans'->0->>'Total Cost')::float8;
end $$;
create function dv_dived(query text) returns float8 language plpgsql as $$
declare
	without float8;
begin
	set local anago.dive_pages = 0;
	without := dv_cost(query);
	set local anago.dive_pages = 16;
	return round((dv_cost(query) / without)::numeric, 1);
end $$;
set enable_seqscan = off;
set enable_bitmapscan = off;
set random_page_cost = 40;
-- statistics are right: the same price
select dv_dived('select count(pad) from dv_new where a between 5000 and 9000') between 0.9 and 1.1 as same;
-- three quarters of what the histogram believes in are gone: less
delete from dv_new where a between 5000 and 9000 and a % 4 > 0;
vacuum dv_new;
select dv_dived('select count(pad) from dv_new where a between 5000 and 9000') < 0.9 as less;
-- bounds of other types, of one side, strict, none of constants
select dv_dived('select count(pad) from dv_new where a >= 5000::bigint and a < 9000::bigint') < 0.9 as less;
select dv_dived('select count(pad) from dv_new where a > 19000') between 0.9 and 1.1 as same;
select dv_dived('select count(pad) from dv_new where a < 1500') between 0.9 and 1.1 as same;
-- not below a security barrier: what is there that one may not see is not told
create role dv_reader;
grant select on dv_new to dv_reader;
alter table dv_new enable row level security;
create policy dv_policy on dv_new to dv_reader using (a % 4 = 1);
set role dv_reader;
select dv_dived('select count(pad) from dv_new where a between 5000 and 9000') = 1 as same;
reset role;
reset all;
load 'anago';
drop owned by dv_reader;
drop role dv_reader;

-- Probes of all columns of a unique index find one entry, whatever statistics say
create table dv_pair (a int, b int, pad text, primary key (a, b)) with (autovacuum_enabled = off);
insert into dv_pair select g % 200, g / 200, repeat('x', 500) from generate_series(0, 19999) g;
alter table dv_pair alter a set (n_distinct = 2), alter b set (n_distinct = 2);
vacuum analyze dv_pair;
set anago.enable = on;
set anago.io_method = sim;
set anago.residency = off;
set max_parallel_workers_per_gather = 0;
select anago_plan('select count(pad) from dv_ord join dv_pair on a = id % 200 and b = id % 100 where c < 300');
select anago_same('select id, a, b from dv_ord join dv_pair on a = id % 200 and b = id % 100 where c < 300');

-- the first rows in an index's order, from pages at random places: ours if some hundred pages are read
-- for them; no matter that all rows together would meet each page many times
set anago.residency = off;
select n, anago_used(format('select pad from dv where four < 8000 order by four desc limit %s', n)) as used
	from unnest(array[1, 5, 300, 3000]) n;
select anago_used('select pad from dv where id = 17 order by id limit 1');
select anago_same('select four from dv where four < 8000 order by four desc limit 300');
set random_page_cost = 1.1;
select anago_used('select pad from dv where four < 8000 order by four desc limit 300');
reset random_page_cost;
reset anago.residency;

-- reads of temporary tables never overlap, so that there is nothing to gain, whatever is cached
create temp table dv_temp as select * from dv_line where ord < 10000;
create table dv_perm as table dv_temp;
create index on dv_temp (ord);
create index on dv_perm (ord);
vacuum analyze dv_temp, dv_perm;
set anago.residency = off;
create view dv_both as select t, anago_used(format('select count(pad) from dv_ord join %s on ord = id where c < 300', t)) as joined
	from unnest(array['dv_perm', 'dv_temp']) t;
select * from dv_both;
reset anago.residency;
select * from dv_both where t = 'dv_temp';
select anago_resident('dv_temp');
drop view dv_both;
drop table dv_perm;

-- partitions, prepared statements with generic plans
create table dv_parts (ord int, pad text) partition by range (ord);
create table dv_parts1 partition of dv_parts for values from (0) to (10000);
create table dv_parts2 partition of dv_parts for values from (10000) to (30000);
insert into dv_parts select ord, pad from dv_line order by hashint4(ord);
create index on dv_parts (ord);
vacuum analyze dv_parts;
set enable_seqscan = off;
set enable_bitmapscan = off;
set anago.residency = off;
select anago_plan('select count(pad) from dv_parts where ord between 8000 and 12000');
select anago_same('select * from dv_parts where ord between 8000 and 12000');
reset enable_bitmapscan;
-- a short range in the table's order stays core's, also where the index says that it is shorter than core believes
truncate dv_parts;
insert into dv_parts select ord, pad from dv_line order by ord;
vacuum analyze dv_parts;
select anago_plan('select count(pad) from dv_parts where ord between 8000 and 12000');
reset anago.residency;
reset enable_seqscan;
set plan_cache_mode = force_generic_plan;
-- what a generic plan does not know is a risk (risk.sql)
prepare dv_p(int) as select count(pad) from dv_ord join dv_line on ord = id where c between $1 and $1 + 299;
select anago_plan('execute dv_p(0)');
execute dv_p(0);
deallocate dv_p;

drop table dv, dv_ord, dv_line, dv_new, dv_pair, dv_temp, dv_parts;
reset all;
load 'anago';
drop function dv_check, dv_planning, dv_pages, dv_cost, dv_dived;
