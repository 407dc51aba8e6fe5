-- The server's budget of reads: settings, functions, views, and who may what.
load 'anago';

-- limits are the configuration file's, shares the superuser's to give
set anago.server_inflight_reads = 10;
set anago.server_reads_per_s = 10;
set anago.server_mb_per_s = 10;
alter system set anago.server_inflight_reads = -1;
alter system set anago.server_inflight_reads = 1000000;
alter system set anago.server_reads_per_s = 'many';
alter system set anago.server_mb_per_s = -1;
alter system set anago.server_mb_per_s = 1000001;
set anago.share = 0;
set anago.share = 10001;
set anago.share = 200;
show anago.share;
reset anago.share;
create role anago_nobody;
create role anago_monitor;
create role anago_some_user;
grant pg_read_all_stats to anago_monitor;
alter role anago_some_user set anago.share = 400;
set role anago_nobody;
set anago.share = 1000;
alter role anago_nobody set anago.share = 1000;
select * from anago_budget();
select count(*) from anago_activity;
select count(*) from anago_activity();
select * from anago_guard;
set role anago_monitor;
select inflight_limit, reads_per_s_limit, mb_per_s_limit, processes, in_flight, peak from anago_budget();
select count(*) from anago_activity;
select * from anago_guard;
reset role;
alter system set anago.oltp_slowdown = 1;
set anago.guard = on;

-- limits of running queries: bad input, and who may
alter system set anago.server_processes = -1;
set anago.server_processes = 4;
select anago_set_resources(null, 1, 1);
select anago_set_resources(0, 1, 1);
select anago_set_resources(pg_backend_pid(), -1);
select anago_set_resources(pg_backend_pid(), 5000, 10);
select anago_set_resources(pg_backend_pid(), 1, 1000000);
set role anago_nobody;
do $$
declare
	detail text;
begin
	perform anago_set_resources(pg_backend_pid(), 1, 1);
exception when insufficient_privilege then
	get stacked diagnostics detail = pg_exception_detail;
	raise notice '% %', regexp_replace(sqlerrm, '[0-9]+', 'N'), detail;
end $$;
reset role;

-- what a query shows of itself, and to whom
create table busy (id int primary key, pad text);
insert into busy select g, repeat('x', 100) from generate_series(1, 2000) g;
vacuum analyze busy;
set anago.enable = on;
set anago.debug_force = on;
create function shown() returns text language plpgsql as $$
begin
	return (select string_agg(format('%s %s share=%s allowed=%s rows=%s', a.pid = pg_backend_pid(), a.pid = a.leader_pid,
		a.share, a.allowed, a.rows >= 0), ', ') from anago_activity a);
end $$;
grant select on busy to anago_nobody;
select distinct shown() from busy where id > 1990;
set role anago_nobody;
select distinct shown() from busy where id > 1990;
reset role;
-- nothing of it is left at the end, nor after an error
select count(*) from anago_activity;
select 1 / (id - 1995) from busy where id > 1990;
select count(*) from anago_activity;
begin;
declare c cursor for select id from busy where id > 1990;
fetch 1 from c;
select count(*) from anago_activity;
savepoint s;
select 1 / (id - 1995) from busy where id > 1990;
rollback to s;
select count(*) from anago_activity;
close c;
select count(*) from anago_activity;
rollback;
reset anago.enable;
reset anago.debug_force;
drop function shown();
drop table busy;
drop role anago_nobody;
drop role anago_monitor;
drop role anago_some_user;
