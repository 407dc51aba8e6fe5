-- Pipelines in several processes: which plans are made, and their rows.
load 'anago';

create table pq_a (k int primary key, grp int, pad text);
insert into pq_a select g, g % 100, repeat('x', 100) from generate_series(1, 10000) g;
create index pq_a_grp on pq_a (grp);
create table pq_b (k int primary key, a int, v int);
insert into pq_b select g, g * 7 % 10000 + 1, g % 13 from generate_series(1, 30000) g;
create index pq_b_a on pq_b (a);
create table pq_c (b int, w int);
insert into pq_c select g * 11 % 30000 + 1, g % 5 from generate_series(1, 50000) g;
create index pq_c_b on pq_c (b);
vacuum analyze pq_a, pq_b, pq_c;

-- How our node and those around it stand in a plan, without conditions.
create function pq_shape(query text) returns setof text
language sql as $$
	select line from anago_plan(query) line
	where line ~ '^ *(->|Step|Workers|Gather|Finalize|Partial|Aggregate|Custom)' or line ~ '^[^ ]'
$$;

set anago.enable = on;
set anago.debug_force = on;
-- the plans below are those of this gain, whatever the default is
set anago.io_gain = 4;

-- Starting workers and passing on rows has its price, against which forced
-- costs are nothing: no Gather.
select pq_shape('select * from pq_a where grp < 20');

set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
set max_parallel_workers_per_gather = 2;

-- a scan, a chain, and aggregates of them in the workers
select pq_shape('select * from pq_a where grp < 20');
select pq_shape('select * from pq_a join pq_b on pq_b.a = pq_a.k where grp < 20');
select pq_shape('select grp % 7, count(*) from pq_a where grp < 20 group by grp % 7');
select pq_shape('select count(*) from pq_a where grp < 20');
select pq_shape('select sum(w) from pq_a join pq_b on pq_b.a = pq_a.k join pq_c on pq_c.b = pq_b.k
	where grp < 20');
select pq_shape('select count(*) from pq_a left join pq_b on pq_b.a = pq_a.k and v = 3 where grp < 20');
select pq_shape('select count(*) from pq_a where grp < 20
	and not exists (select from pq_b where pq_b.a = pq_a.k and v = 3)');
select pq_shape('select count(*) from pq_a where grp < 20
	and exists (select from pq_b where pq_b.a = pq_a.k and v = 3)');

-- rows made unique first would be so in each process only
select ltrim(line) from anago_plan('select grp from pq_a
	where k in (select b + 0 from pq_c where w < 3)') line where line ~ 'Custom Scan';

-- a partial child plan
alter table pq_a drop constraint pq_a_pkey;
drop index pq_a_grp;
select pq_shape('select count(*) from pq_a join pq_b on pq_b.a = pq_a.k where grp < 20');
select pq_shape('select count(*) from pq_a join pq_b on pq_b.a = pq_a.k join pq_c on pq_c.b = pq_b.k
	where grp < 20');
alter table pq_a add primary key (k);
create index pq_a_grp on pq_a (grp);

-- partitions
create table pq_p (k int, d int, v int) partition by list (v);
create table pq_p0 partition of pq_p for values in (0);
create table pq_p1 partition of pq_p for values in (1);
insert into pq_p select g, g % 50, g % 2 from generate_series(1, 10000) g;
create index pq_p_d on pq_p (d);
vacuum analyze pq_p;
select pq_shape('select count(*) from pq_p where d < 10');

-- below a subquery, beside an InitPlan
select pq_shape('select count(*) from (select k from pq_a where grp < 20 offset 0) s where k % 2 = 0');
select pq_shape('select count(*) from pq_a where grp < (select 10 + max(v) % 2 from pq_b where a < 5)');

-- Only the part of a plan that must be in the leader is there.
create function pq_restricted(int) returns int language plpgsql immutable parallel restricted
	as 'begin return $1; end';
create function pq_unsafe(int) returns int language plpgsql immutable parallel unsafe
	as 'begin return $1; end';
select pq_shape('select * from pq_a where grp < 20 and pq_restricted(k) > 5');
select pq_shape('select * from pq_a where grp < 20 and pq_unsafe(k) > 5');
select pq_shape('select pq_restricted(k) from pq_a where grp < 20');
select pq_shape('select count(*) from pq_a join pq_b on pq_b.a = pq_a.k and pq_restricted(v + grp) > 3
	where grp < 20');

-- nothing parallel: temporary tables, writers, no workers
create temp table pq_t as select g as k, g % 100 as grp from generate_series(1, 10000) g;
create index pq_t_grp on pq_t (grp);
analyze pq_t;
select pq_shape('select * from pq_t where grp < 20');
select pq_shape('select * from pq_a join pq_t on pq_t.grp = pq_a.k where pq_a.grp < 20');
select pq_shape('insert into pq_b select k, grp, 0 from pq_a where grp < 20');
set max_parallel_workers_per_gather = 0;
select pq_shape('select * from pq_a where grp < 20');
set max_parallel_workers_per_gather = 2;

-- the storage parameter of the first table counts
alter table pq_a set (parallel_workers = 0);
select pq_shape('select count(*) from pq_a join pq_b on pq_b.a = pq_a.k where grp < 20');
alter table pq_a set (parallel_workers = 1);
select pq_shape('select count(*) from pq_a join pq_b on pq_b.a = pq_a.k where grp < 20');
alter table pq_a set (parallel_workers = 9);
set max_parallel_workers_per_gather = 3;
select pq_shape('select count(*) from pq_a join pq_b on pq_b.a = pq_a.k where grp < 20');
set max_parallel_workers_per_gather = 2;
alter table pq_a reset (parallel_workers);

-- The work decides how many workers: one for each parallel_setup_cost of it.
-- Here it is 2500 for the function and some pages, whoever makes the plan.
create function pq_costly(int) returns boolean language plpgsql immutable parallel safe cost 1000
	as 'begin return $1 % 3 = 0; end';
create function pq_workers(query text) returns setof text
language sql as $$ select ltrim(line) from anago_plan(query) line where line ~ 'Workers|Custom Scan' $$;
reset anago.debug_force;
set anago.residency = off;
set anago.io_gain = 8;
set max_parallel_workers_per_gather = 4;
set enable_bitmapscan = off;
set parallel_setup_cost = 10000;
select pq_workers('select * from pq_a where grp < 10 and pq_costly(k)');
set parallel_setup_cost = 1000;
select pq_workers('select * from pq_a where grp < 10 and pq_costly(k)');
set parallel_setup_cost = 100;
select pq_workers('select * from pq_a where grp < 10 and pq_costly(k)');
-- a cheap first step does not decide for all
set parallel_setup_cost = 1000;
select pq_workers('select * from pq_a join pq_b on pq_b.a = pq_a.k where grp < 10 and pq_costly(v)');
-- a first step for which there would be no AnagoScan
set parallel_setup_cost = 100;
select pq_workers('select pq_a.k from pq_a where pq_a.k <= 100');
select pq_shape('select pq_b.k from pq_a join pq_b on pq_b.a = pq_a.k where pq_a.k <= 100 and pq_costly(v)');
-- Of pages that are in memory only the CPU time is work, whatever core charges:
-- less than it costs to start a worker.
set parallel_setup_cost = 200;
set enable_seqscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set random_page_cost = 20;
reset min_parallel_table_scan_size;
reset min_parallel_index_scan_size;
select pq_workers('select * from pq_a join pq_b on pq_b.a = pq_a.k where grp < 10');
set anago.residency = on;
select pq_workers('select * from pq_a join pq_b on pq_b.a = pq_a.k where grp < 10');
set anago.residency = off;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
reset random_page_cost;
reset enable_mergejoin;
reset enable_hashjoin;
reset enable_seqscan;
set anago.io_gain = 4;
reset enable_bitmapscan;
set parallel_setup_cost = 0;
set max_parallel_workers_per_gather = 2;

-- Rows.  Answers are (same rows, how many, our plan).
select anago_same('select k, grp from pq_a where grp < 20');
select anago_same('select k, grp from pq_a where grp in (3, 5, 99, 100) and k % 3 = 0');
select anago_same('select grp from pq_a where grp between 90 and 200');
select anago_same('select pq_a.k, grp, pq_b.k as b, v from pq_a join pq_b on pq_b.a = pq_a.k where grp < 20');
select anago_same('select grp, count(*), sum(w) from pq_a join pq_b on pq_b.a = pq_a.k
	join pq_c on pq_c.b = pq_b.k where grp < 20 group by grp');
select anago_same('select pq_a.k, grp, pq_b.k as b from pq_a left join pq_b on pq_b.a = pq_a.k and v = 3 where grp < 20');
select anago_same('select k, grp from pq_a where grp < 20
	and exists (select from pq_b where pq_b.a = pq_a.k and v = 3)');
select anago_same('select k, grp from pq_a where grp < 20
	and not exists (select from pq_b where pq_b.a = pq_a.k and v = 3)');
select anago_same_order('select k, grp from pq_a where grp < 20 order by k');
select anago_same('select * from pq_p where d < 10');
select anago_same('select count(*) from pq_p join pq_a on pq_a.k = pq_p.k where d < 10');
select anago_same('select k, (select count(*) from pq_b where pq_b.a = pq_a.k) from pq_a where grp < 5');
select anago_same_prepared('select pq_a.k, grp, pq_b.k as b, v from pq_a join pq_b on pq_b.a = pq_a.k where grp < $1', 'int',
	'3', '20', '0', 'null');
select anago_same('select k from pq_a where grp < 20 union all select k from pq_b where a < 2000');
select anago_same('select pq_b.k, grp from pq_a join pq_b on pq_b.v = pq_a.grp where grp < 5 and a < 500');
select anago_same('select grp from pq_a where k in (select b + 0 from pq_c where w < 3)');
-- a Gather that is run again
set enable_material = off;
select anago_same('select x, k from (values (1), (2), (3)) v(x) join
	(select k from pq_a where grp < 5 offset 0) s on s.k % 3 + 1 >= x');
reset enable_material;
-- a partial child plan
alter table pq_a drop constraint pq_a_pkey;
drop index pq_a_grp;
select anago_same('select pq_b.k, pq_c.w from pq_a join pq_b on pq_b.a = pq_a.k
	join pq_c on pq_c.b = pq_b.k where grp < 20');

-- Ranges over many pages of level 1, of the source and of probes for which
-- many rows match, walked by several processes or cut into parts.
create table pq_wide as select g as id, g % 10 as grp, g % 17 as v,
	md5(g::text) || repeat('z', 250) as pad from generate_series(1, 4000) g;
create index pq_wide_grp on pq_wide (grp, pad) with (fillfactor = 15);
create table pq_few as select g as k, g % 12 as grp from generate_series(1, 60) g;
alter table pq_few add primary key (k);
vacuum analyze pq_wide, pq_few;
insert into anago_variant values ('static', '{"anago.mode": "static"}');
select anago_same('select id, v from pq_wide where grp < 7');
select anago_same('select id from pq_wide where grp in (1, 3, 4, 9) and v < 10');
select anago_same('select f.k, w.id from pq_few f join pq_wide w on w.grp = f.grp where f.k < 9');
select anago_same('select f.k, w.id, x.grp from pq_few f join pq_wide w on w.grp = f.grp
	left join pq_few x on x.k = w.v where f.k < 9');
delete from anago_variant where name = 'static';
drop table pq_wide, pq_few;

-- The cut of static mode reads pages; it hears a cancel meanwhile, in whichever
-- process that is.  Comparisons that sleep make it long.
create function pq_cmp(int, int) returns int language plpgsql immutable strict parallel safe
	as $$begin
		if current_setting('application_name') = 'pq_slow' then
			perform pg_sleep(0.02);
		end if;
		return btint4cmp($1, $2);
	end$$;
create operator class pq_ops for type int using btree as
	operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >, function 1 pq_cmp(int, int);
create table pq_cut as select g as k from generate_series(1, 120000) g;
create index pq_cut_k on pq_cut (k pq_ops) with (fillfactor = 10);
vacuum analyze pq_cut;
set anago.mode = static;
set anago.debug_force = on;
select pq_shape('select count(*) from pq_cut where k between 5 and 1000000');
create function pq_cancel(query text) returns boolean language plpgsql as $$
declare
	start timestamptz := clock_timestamp();
begin
	execute query;
	return false;
exception when query_canceled then
	return clock_timestamp() - start < interval '8 s';
end$$;
set application_name = 'pq_slow';
set statement_timeout = 200;
select pq_cancel('select count(*) from pq_cut where k between 5 and 1000000');
reset statement_timeout;
reset application_name;
reset anago.mode;
reset anago.debug_force;
drop table pq_cut;
drop operator family pq_ops using btree;
drop function pq_cmp, pq_cancel;

drop table pq_a, pq_b, pq_c, pq_p, pq_t;
drop function pq_shape, pq_workers, pq_restricted, pq_unsafe, pq_costly;
