-- Counters: core's count as with core's plans, ours count what we did.
load 'anago';

create table q1 (id int primary key, a int);
create table q2 (id int primary key, q1 int);
insert into q1 select g, g % 10 from generate_series(1, 1000) g;
insert into q2 select g, g % 1000 from generate_series(1, 3000) g;
create index q1_a on q1 (a);
create index q2_q1 on q2 (q1);
vacuum analyze q1, q2;

-- how many scans, index tuples and fetched rows a query counts
create function q_counts(query text, on_ boolean) returns void
language plpgsql as $$
begin
	perform set_config('anago.enable', on_::text, true);
	perform set_config('anago.debug_force', on_::text, true);
	-- stock's plan of the same kind
	perform set_config('enable_seqscan', 'off', true);
	perform set_config('enable_bitmapscan', 'off', true);
	perform set_config('enable_hashjoin', 'off', true);
	perform set_config('enable_mergejoin', 'off', true);
	perform set_config('enable_material', 'off', true);
	perform set_config('enable_memoize', 'off', true);
	execute query;
end $$;
create table q_before (name text, scans bigint, read bigint, fetched bigint, of_table bigint);
create function q_now() returns setof q_before language plpgsql as $$
begin
	perform pg_stat_force_next_flush();
	return query select i.indexrelname::text, i.idx_scan, i.idx_tup_read, i.idx_tup_fetch, t.idx_tup_fetch
		from pg_stat_user_indexes i join pg_stat_user_tables t using (relid)
		where i.relname in ('q1', 'q2') order by 1;
end $$;

select pg_stat_force_next_flush();
insert into q_before select * from q_now();
select q_counts('select * from q1 where a = 3', false);
select pg_stat_force_next_flush();
create table q_stock as select n.name, n.scans - b.scans as scans, n.read - b.read as read,
	n.fetched - b.fetched as fetched, n.of_table - b.of_table as of_table
	from q_now() n join q_before b using (name);
truncate q_before;
insert into q_before select * from q_now();
select q_counts('select * from q1 where a = 3', true);
select pg_stat_force_next_flush();
create table q_ours as select n.name, n.scans - b.scans as scans, n.read - b.read as read,
	n.fetched - b.fetched as fetched, n.of_table - b.of_table as of_table
	from q_now() n join q_before b using (name);
select * from q_stock except select * from q_ours;
select * from q_ours where scans > 0;

-- the same for a join
truncate q_before, q_stock, q_ours;
insert into q_before select * from q_now();
select q_counts('select * from q1 join q2 on q2.q1 = q1.id where q1.a = 3', false);
select pg_stat_force_next_flush();
insert into q_stock select n.name, n.scans - b.scans, n.read - b.read, n.fetched - b.fetched, n.of_table - b.of_table
	from q_now() n join q_before b using (name);
truncate q_before;
insert into q_before select * from q_now();
select q_counts('select * from q1 join q2 on q2.q1 = q1.id where q1.a = 3', true);
select pg_stat_force_next_flush();
insert into q_ours select n.name, n.scans - b.scans, n.read - b.read, n.fetched - b.fetched, n.of_table - b.of_table
	from q_now() n join q_before b using (name);
select * from q_stock except select * from q_ours;
select * from q_ours where scans > 0 order by name collate "C";

-- ours
select anago_stats_reset();
select queries from anago_stats;
set anago.enable = on;
set anago.debug_force = on;
select count(*) from q1 join q2 on q2.q1 = q1.id where q1.a = 3;
select queries, rows > 0 as rows, tasks > 0 as tasks, hits + reads > 0 as pages from anago_stats;
set anago.enable = off;
select count(*) from q1 join q2 on q2.q1 = q1.id where q1.a = 3;
select queries from anago_stats;

-- who may see, who may reset
create role anago_nobody;
create role anago_monitor;
grant pg_read_all_stats to anago_monitor;
set role anago_nobody;
select count(*) from anago_stats;
select anago_stats_reset();
set role anago_monitor;
select count(*) > 0 as seen from anago_stats;
select anago_stats_reset();
reset role;
drop role anago_nobody;
drop role anago_monitor;

-- every object of ours has a comment
select d.classid::regclass, pg_describe_object(d.classid, d.objid, 0) as without_comment
	from pg_depend d join pg_extension e on e.oid = d.refobjid and d.refclassid = 'pg_extension'::regclass
	where e.extname = 'anago' and d.deptype = 'e'
	and d.classid <> 'pg_type'::regclass and obj_description(d.objid, d.classid::regclass::name) is null;
