-- Settings: names, units, ranges, and what bad values get.
load 'anago';

select name, setting, unit, vartype, context, min_val, max_val, enumvals
	from pg_settings where name like 'anago.%' order by name collate "C";
-- each has a one-sentence description
select name, short_desc from pg_settings where name like 'anago.%' order by name collate "C";

set anago.enable = maybe;
set anago.mode = sideways;
set anago.io_method = telepathy;
set anago.io_gain = 0;
set anago.io_gain = 0.5;
reset anago.io_gain;
set anago.io_gain = -1;
set anago.io_gain = 'much';
set anago.io_gain = 1e9;
set anago.max_inflight_reads = 0;
set anago.max_inflight_reads = 16385;
set anago.max_inflight_reads = 'many';
set anago.max_inflight_reads = 1;
set anago.max_inflight_reads = 16384;
reset anago.max_inflight_reads;
set anago.numa = on;
set anago.numa = off;
set anago.numa = auto;
set anago.pin_workers = 2;
set anago.residency = cold;
set anago.dive_pages = -1;
set anago.dive_pages = 1025;
set anago.dive_pages = 0;
set anago.dive_pages = 1024;
reset anago.dive_pages;
set anago.pin_workers = on;
reset anago.pin_workers;
-- the prefix is ours
set anago.no_such_setting = 1;
set anago.enabled = on;

-- what is for tests needs a superuser
create role anago_plain;
set role anago_plain;
set anago.io_method = sim;
set anago.sim_seed = 3;
set anago.enable = on;
set anago.debug_force = on;
set anago.enable = off;
set anago.mode = serial;
set anago.io_method = sync;
set anago.io_gain = 5;
set anago.max_inflight_reads = 10;
set anago.numa = off;
set anago.pin_workers = on;
reset all;
reset role;
drop role anago_plain;

-- a setting of a function, of a role, of a database
create table st (a int primary key);
insert into st select generate_series(1, 100);
analyze st;
set anago.enable = on;
set anago.debug_force = on;
create function st_off() returns boolean language plpgsql set anago.enable = off as
	$$ begin return anago_used('select * from st where a = 1'); end $$;
select st_off(), anago_used('select * from st where a = 1');
begin;
set local anago.enable = off;
select anago_used('select * from st where a = 1');
rollback;
select anago_used('select * from st where a = 1');

-- a plan that was prepared with anago on still runs when it is off, and the
-- other way round
prepare st_q as select count(*) from st where a < 50;
execute st_q;
set anago.enable = off;
execute st_q;
set anago.enable = on;
set anago.mode = serial;
execute st_q;
set anago.io_method = sync;
execute st_q;
reset all;
set anago.enable = on;

-- cost: with nothing to gain stock's plan is kept, the rows are the same
set anago.io_gain = 1;
select anago_same('select * from st where a < 50');

-- What decides between plans does so at once, for plans that are kept, too
reset all;
load 'anago';
set plan_cache_mode = force_generic_plan;
set anago.enable = on;
set anago.debug_force = on;
create function st_count(n int) returns bigint language plpgsql as
	$$ begin return (select count(*) from st where a < n); end $$;
-- does our node run in there?
create function st_count_is_ours() returns boolean language plpgsql as $$
declare
	before bigint := (select queries from anago_stats);
begin
	perform st_count(50);
	return (select queries from anago_stats) > before;
end $$;
prepare st_kept(int) as select count(*) from st where a < $1;
execute st_kept(50);
select anago_used('execute st_kept(50)'), st_count_is_ours();
set anago.enable = off;
select anago_used('execute st_kept(50)'), st_count_is_ours();
set anago.enable = on;
select anago_used('execute st_kept(50)'), st_count_is_ours();
begin;
set local anago.enable = off;
select anago_used('execute st_kept(50)'), st_count_is_ours();
rollback;
select anago_used('execute st_kept(50)'), st_count_is_ours();
begin;
savepoint s;
set local anago.enable = off;
select 1/0;
rollback to s;
select anago_used('execute st_kept(50)'), st_count_is_ours();
commit;
set anago.debug_force = off;
select anago_used('execute st_kept(50)'), st_count_is_ours();
set anago.debug_force = on;
select anago_used('execute st_kept(50)'), st_count_is_ours();

-- a cursor that is open goes on
begin;
declare st_open cursor for select a from st where a < 6;
fetch 2 from st_open;
set anago.enable = off;
fetch all from st_open;
select anago_used('execute st_kept(50)'), st_count_is_ours();
rollback;
select anago_used('execute st_kept(50)'), st_count_is_ours();

-- so does the extension's coming and going
begin;
drop extension anago;
select anago_used('execute st_kept(50)');
create extension anago;
select anago_used('execute st_kept(50)');
drop extension anago;
select anago_used('execute st_kept(50)');
rollback;
select anago_used('execute st_kept(50)'), st_count_is_ours();

-- functions that come and go have no plan made anew: it would not hash
create table st_plain (a int);
prepare st_other as select a, count(*) from st_plain group by a;
execute st_other;
explain (costs off) execute st_other;
set enable_hashagg = off;
create function st_new() returns int language sql as 'select 1';
drop function st_new();
explain (costs off) execute st_other;
reset enable_hashagg;
drop table st_plain;

-- and what a plan gains by; all of this is cached, where there is nothing to gain
set anago.residency = off;
create table st_wide (a int, pad text);
insert into st_wide select g * 7919 % 20000, repeat('x', 400) from generate_series(1, 20000) g;
create index on st_wide (a);
vacuum analyze st_wide;
set anago.debug_force = off;
set anago.io_gain = 50;
prepare st_gain as select count(pad) from st_wide where a < 500;
execute st_gain;
select anago_used('execute st_gain');
set anago.io_gain = 1;
select anago_used('execute st_gain');
set anago.io_gain = 50;
select anago_used('execute st_gain');
set anago.residency = on;
select anago_used('execute st_gain');
set anago.residency = off;
select anago_used('execute st_gain');

-- where nothing overlaps core's plan is kept, unless ours is forced
set anago.io_method = sim;
reset anago.io_gain;
select anago_used('execute st_gain');
set anago.io_method = sync;
select anago_used('execute st_gain');
set anago.io_method = sim;
set anago.max_inflight_reads = 1;
select anago_used('execute st_gain');
reset anago.max_inflight_reads;
set anago.mode = serial;
select anago_used('execute st_gain');
set anago.mode = static;
select anago_used('execute st_gain');
set anago.debug_force = on;
select anago_used('execute st_gain');
set anago.debug_force = off;
reset anago.mode;
select anago_used('execute st_gain');

-- a page of ours costs no less than one that is read in order, however large the
-- gain: most of the table is read by a sequential scan
set anago.io_gain = 1000;
select anago_used('select count(pad) from st_wide where a < 12000');
set random_page_cost = 1.1;
select anago_used('select count(pad) from st_wide where a < 12000');
set random_page_cost = 0.5;
select anago_used('select count(pad) from st_wide where a < 12000');
drop table st_wide;
reset random_page_cost;
reset anago.io_gain;

-- a table and index that are cached soon, however often they are probed, are no
-- reason for a chain of ours: stock hashes them; a large one is
create table st_fact (k int, d int, b int);
insert into st_fact select g, g * 7919 % 5000, g * 7919 % 20000 from generate_series(1, 20000) g;
create index on st_fact (k);
create table st_dim (id int primary key, pad text);
insert into st_dim select g, repeat('x', 100) from generate_series(0, 4999) g;
create table st_big (id int primary key, pad text);
insert into st_big select g, repeat('x', 1000) from generate_series(0, 19999) g;
vacuum analyze st_fact, st_dim, st_big;
select anago_used('select count(pad) from st_fact join st_dim on id = d where k <= 120');
select anago_used('select count(pad) from st_fact join st_big on id = b where k <= 120');
-- where stock itself probes it, we do
select anago_used('select count(pad) from st_fact join st_dim on id = d where k <= 20');
-- of the first rows nothing overlaps: keys and joins of which few rows are wanted
-- stay core's
set enable_seqscan = off;
set enable_hashjoin = off;
select n, anago_used('select st_fact.k, pad from st_fact join st_big on id = b where k <= 1000 limit ' || n)
	from unnest('{1, 5, 10, 200}'::int[]) n;
select anago_used('select * from st_big where id = 7 limit 1'),
	anago_used('select exists (select from st_big where id between 70 and 80)');
-- settings of costs beyond all measure lead to costs that are numbers, and to rows
do $$
declare
	setting text;
	line text;
	n int;
begin
	foreach setting in array '{random_page_cost, seq_page_cost, cpu_tuple_cost, cpu_index_tuple_cost, cpu_operator_cost}'::text[] loop
		perform set_config(setting, '1e300', true);
		for line in explain select count(pad) from st_fact join st_big on id = b where k <= 500 loop
			if line ~ 'NaN' then
				raise notice '%: %', setting, line;
			end if;
		end loop;
		execute 'select count(pad) from st_fact join st_big on id = b where k <= 500' into n;
		if n <> 500 then
			raise notice '%: % rows', setting, n;
		end if;
		execute 'reset ' || setting;
	end loop;
end $$;
reset enable_seqscan;
reset enable_hashjoin;
drop table st_fact, st_dim, st_big;
