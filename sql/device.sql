-- What is known of a device: calibration of a simulated one, whose figures are
-- known; bad arguments; rows that were edited; and what plans make of it.
load 'anago';
set anago.io_method = sim;
select * from anago_device();

-- nothing that could be measured, in this database
select anago_calibrate('pg_global');
select anago_calibrate('no_such_tablespace');
select anago_calibrate(duration => '0');
select anago_calibrate(duration => '-1 second');
select anago_calibrate(duration => '11 minutes');
select anago_calibrate(duration => null);
select anago_calibrate(max_in_flight => 0);
select anago_calibrate(max_in_flight => 1025);
select anago_calibrate(max_in_flight => null);
begin read only;
select anago_calibrate();
rollback;

-- data for it
create table dev (a int, b int, pad text);
insert into dev select g, g * 7919 % 30000, repeat('x', 700) from generate_series(1, 30000) g;
create index dev_b on dev (b);
vacuum (freeze, analyze) dev;

-- figures are the device's
set anago.sim_device_latency = 250;
set anago.sim_device_parallel = 20;
set anago.sim_device_sequential = 400;
create function dev_calibrate(max_in_flight int) returns table
	(tablespace name, taken_by boolean, method text, direct boolean, data boolean,
	 in_flight int[], reads_per_second int[], latency_us int[], sequential int)
language sql as $$
	select c.tablespace, c.taken_by = current_user, c.method, c.direct, c.data_bytes >= 16 * 1024 * 1024,
		c.in_flight,
		array(select round(r, -2) from unnest(c.reads_per_second::numeric[]) r),
		array(select round(l, -1) from unnest(c.latency_us::numeric[]) l),
		round(c.sequential_mb_per_second)
	from anago_calibrate(duration => '1 second', max_in_flight => $1) c $$;
select in_flight, reads_per_second, latency_us, sequential from dev_calibrate(64);
select tablespace, taken_by, method, data from dev_calibrate(1);
select in_flight, reads_per_second from dev_calibrate(12);
-- the latest counts, and a figure beyond what was measured is the last one
select source, round(latency_us) as latency, round(reads_per_second, -2) as reads, round(gain) as gain
	from (select source, latency_us::numeric, reads_per_second::numeric, gain::numeric
		from anago_device()) d;
select count(*) from anago_calibration;
-- one that is taken back is not used
begin;
set local anago.sim_device_latency = 1000;
select count(*) from dev_calibrate(1);
select round(latency_us) as latency from anago_device();
rollback;
select round(latency_us) as latency from anago_device();
-- nor one that is deleted
delete from anago_calibration where cardinality(in_flight) <> 7;
select round(gain) as gain from anago_device();
-- a setting goes before
set anago.io_gain = 2.5;
select source, gain from anago_device();
reset anago.io_gain;

-- a role that was granted it; it need not be allowed to write to the table
create role dev_plain;
set role dev_plain;
select count(*) from anago_calibrate(duration => '1 second');
select anago_device();
select count(*) from anago_calibration;
delete from anago_calibration;
reset role;
grant execute on function anago_calibrate to dev_plain;
set role dev_plain;
select taken_by from anago_calibrate(duration => '1 second', max_in_flight => 1);
reset role;
delete from anago_calibration where taken_by = 'dev_plain';
revoke execute on function anago_calibrate from dev_plain;
drop role dev_plain;

-- rows edited by hand: what cannot be is passed over, what is huge is bounded
create function dev_with(changes text) returns table (source text, latency numeric, gain numeric)
language plpgsql as $$
begin
	execute 'update anago_calibration set ' || changes;
	return query select d.source, round(d.latency_us::numeric, 1), round(d.gain::numeric, 1) from anago_device() d;
end $$;
\set edit 'rollback to edit; select * from dev_with'
begin;
savepoint edit;
:edit ('reads_per_second[1] = 0');
:edit ('reads_per_second[7] = ''NaN''');
:edit ('reads_per_second[2] = ''infinity''');
:edit ('reads_per_second[2] = -1');
:edit ('reads_per_second[2] = null');
:edit ('reads_per_second = ''{}''');
:edit ('reads_per_second = reads_per_second[1:2]');
:edit ('in_flight[1] = 2');
:edit ('in_flight[3] = 2');
:edit ('in_flight = array[in_flight, in_flight]');
:edit ('sequential_mb_per_second = ''NaN''');
:edit ('kernel_page_us = 0');
:edit ('tablespace = ''gone''');
:edit ('reads_per_second[1] = 1e-300');
:edit ('reads_per_second[7] = 1e300');
:edit ('in_flight[7] = 2147483647');
rollback;

-- a table that lacks a column
begin;
alter table anago_calibration drop column in_flight;
select source from anago_device();
select count(*) from anago_calibrate(duration => '1 second');
rollback;
select source from anago_device();

truncate anago_calibration;
select source from anago_device();

-- what plans make of it, at both extremes; nothing is taken to be cached
set anago.enable = on;
set anago.residency = off;
set max_parallel_workers_per_gather = 0;
create table dev_key (id int primary key, c int);
insert into dev_key select g, g * 7919 % 30000 from generate_series(1, 30000) g;
create index dev_key_c on dev_key (c);
create index dev_a on dev (a);
vacuum (freeze, analyze) dev_key, dev;
create function dev_plans(parallel int, latency float8 default 100, sequential float8 default 500) returns table
	(gain numeric, few boolean, many boolean, joined boolean)
language plpgsql as $$
begin
	perform set_config('anago.sim_device_parallel', parallel::text, false),
		set_config('anago.sim_device_latency', latency::text, false),
		set_config('anago.sim_device_sequential', sequential::text, false);
	perform anago_calibrate(duration => '1 second');
	return query select round(d.gain::numeric),
		anago_used('select count(pad) from dev where b < 600'),
		anago_used('select count(pad) from dev where b < 6000'),
		anago_used('select count(pad) from dev_key join dev on dev.a = id where c < 1500')
	from anago_device() d;
end $$;
set effective_io_concurrency = 0;
-- one read at a time: nothing to gain
select * from dev_plans(1);
select * from dev_plans(1, 10000, 50);
-- a fast disk
select * from dev_plans(7, 75, 1500);
-- many at a time, and no faster in order
select * from dev_plans(1000, 1000, 200);
-- a disk that is good at nothing but order
select * from dev_plans(2, 8000, 200);
-- where core's bitmap scan has as many in flight it is left to that
select * from dev_plans(4);
set effective_io_concurrency = 200;
select * from dev_plans(4);
set enable_bitmapscan = off;
select * from dev_plans(4);
reset enable_bitmapscan;
reset effective_io_concurrency;
-- kept plans follow
prepare dev_kept as select count(pad) from dev where b < 600;
set plan_cache_mode = force_generic_plan;
select anago_used('execute dev_kept') from dev_plans(1);
select anago_used('execute dev_kept') from dev_plans(1000, 1000, 200);
select anago_used('execute dev_kept');
truncate anago_calibration;
select anago_used('execute dev_kept');
insert into anago_calibration values ('pg_default', now(), 'somebody', '18', 'by hand', true, 1,
	'{1,64}', '{10000,10000}', '{100,6400}', 500, 1, 1);
select anago_used('execute dev_kept');
-- however wrong it is, a page has its price
update anago_calibration set reads_per_second = '{1e-9,1e300}', sequential_mb_per_second = 1e-300;
select anago_used('execute dev_kept');
select anago_same('select count(pad) from dev_key join dev on dev.a = id where c < 1500');
-- a setting goes before
set anago.io_gain = 1;
select anago_used('execute dev_kept');
reset anago.io_gain;
reset plan_cache_mode;

truncate anago_calibration;
drop function dev_calibrate, dev_with, dev_plans;
drop table dev, dev_key;
