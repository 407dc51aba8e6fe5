-- Pages in shared buffers that are brought nearer to the CPU while other probes run: tables
-- and indexes that are larger than the CPU's caches (src/ops/btree/near.c).
load 'anago';
create table nr_a (id int primary key, k int) with (autovacuum_enabled = off);
create table nr_b (id int primary key, a int, v int, pad text) with (autovacuum_enabled = off, fillfactor = 10);
insert into nr_a select g, g % 100 from generate_series(1, 8000) g;
insert into nr_b select g, g * 7919 % 8000 + 1, g, repeat('x', 20) from generate_series(1, 24000) g;
-- (entries of a leaf: 37)
create index nr_b_a on nr_b (a, id) with (fillfactor = 10);
create index nr_a_k on nr_a (k);
vacuum analyze nr_a, nr_b;
select relname, relpages > 512 as large from pg_class where relname in ('nr_b', 'nr_b_a') order by 1;
set max_parallel_workers_per_gather = 0;
select count(*), sum(length(pad)) from nr_b;

select anago_same('select a.id, b.id, b.v from nr_a a join nr_b b on b.a = a.id where a.k < 20');
select anago_same('select a.id, b.id, b.v from nr_a a left join nr_b b on b.a = a.id and b.v % 3 = 0 where a.k < 20');
select anago_same('select a.id from nr_a a where a.k < 20 and exists (select 1 from nr_b b where b.a = a.id and b.v > 12000)');
select anago_same('select a.id from nr_a a where a.k < 20 and not exists (select 1 from nr_b b where b.a = a.id and b.v > 12000)');
select anago_same('select a.id, b.a from nr_a a join nr_b b on b.a = a.id where a.k < 20');
-- ordered, and some rows of many: tasks do not nap there
select anago_same('select a.id, b.id from nr_a a join nr_b b on b.a = a.id where a.k < 20 order by 1, 2 limit 50');

-- what is met is counted as in core's plan
create function nr_count(on_ boolean) returns void language plpgsql as $$
begin
	perform set_config('anago.enable', on_::text, true);
	perform set_config('anago.debug_force', on_::text, true);
	perform set_config('enable_seqscan', 'off', true);
	perform set_config('enable_bitmapscan', 'off', true);
	perform set_config('enable_hashjoin', 'off', true);
	perform set_config('enable_mergejoin', 'off', true);
	perform set_config('enable_memoize', 'off', true);
	perform count(b.v) from nr_a a join nr_b b on b.a = a.id where a.k < 20;
end $$;
create view nr_now as select heap_blks_hit as hit, heap_blks_read as read from pg_statio_user_tables where relname = 'nr_b';
create table nr_counts (n int, hit bigint, read bigint);
select pg_stat_force_next_flush();
insert into nr_counts select 1, * from nr_now;
select nr_count(false);
select pg_stat_force_next_flush();
insert into nr_counts select 2, * from nr_now;
select nr_count(true);
select pg_stat_force_next_flush();
insert into nr_counts select 3, * from nr_now;
select hit >= 4800 as many, hit - lag(hit) over (order by n) as more, read from
	(select n, hit - lag(hit) over (order by n) as hit, read - lag(read) over (order by n) as read from nr_counts) d
	where n > 1 order by n;

-- and as used, for who looks for a victim
create extension if not exists pg_buffercache;
select nr_count(true) from generate_series(1, 5);
select usagecount from pg_buffercache where relfilenode = pg_relation_filenode('nr_b') and reldatabase =
	(select oid from pg_database where datname = current_database()) group by 1 having count(*) > 400;
drop extension pg_buffercache;

drop function nr_count;
drop view nr_now;

-- Where blocks were is remembered for the next execution, and the tables change between them: other
-- rows in the same blocks, other files, fewer blocks, and more memory for it, or less
-- (src/ops/btree/recent.c).
create function nr_again() returns table (joined text, scanned text) language sql as $$
	select public.anago_same('select a.id, b.id, b.v from nr_a a join nr_b b on b.a = a.id where a.k < 20'),
		public.anago_same('select id, a, v from nr_b where a between 100 and 3000')
$$;
select * from nr_again();
update nr_b set v = v + 1;
select * from nr_again();
delete from nr_b where id % 3 = 0;
vacuum nr_b;
select * from nr_again();
set work_mem = '64kB';
select * from nr_again();
reset work_mem;
vacuum full nr_b;
select * from nr_again();
begin;
truncate nr_b;
insert into nr_b select g, g * 7919 % 8000 + 1, g, repeat('y', 20) from generate_series(1, 24000) g;
select * from nr_again();
rollback;
select * from nr_again();
-- more tables than there is room for
create table nr_p (id int, a int) partition by hash (id);
do $$
begin
	for i in 0..79 loop
		execute format('create table nr_p%s partition of nr_p for values with (modulus 80, remainder %s)', i, i);
	end loop;
end $$;
insert into nr_p select g, g * 7919 % 8000 + 1 from generate_series(1, 30000) g;
create index on nr_p (a);
analyze nr_p;
select anago_same('select a.id, p.id from nr_a a join nr_p p on p.a = a.id where a.k < 20') from generate_series(1, 3);
select * from nr_again();
drop table nr_p;
drop function nr_again();

drop table nr_a, nr_b, nr_counts;

-- What naps save is part of the price, where tables are in shared buffers, and not in the CPU's
-- caches, and probes are many and come to pages at random (src/plan/naps.c).
create table nr_o (id int, r int) with (autovacuum_enabled = off);
create table nr_s (id int primary key, v int) with (autovacuum_enabled = off);
create table nr_c (id int, v int, pad text) with (autovacuum_enabled = off, fillfactor = 10);
create table nr_d (id int, v int, pad text) with (autovacuum_enabled = off, fillfactor = 10);
insert into nr_o select g * 10, g * 7919 % 60000 from generate_series(1, 6000) g;
insert into nr_s select g, g from generate_series(0, 60000) g;
insert into nr_c select g * 7919 % 60000, g, repeat('x', 20) from generate_series(1, 60000) g;
insert into nr_d select g, g, repeat('x', 20) from generate_series(1, 60000) g;
create index on nr_c (id);
create index on nr_d (id);
vacuum analyze nr_o, nr_s, nr_c, nr_d;
select relname, relpages > 4096 as large from pg_class where relname in ('nr_c', 'nr_d') order by 1;
-- (into shared buffers, where neither a full scan nor CREATE INDEX has put all pages)
set enable_seqscan = off;
set enable_bitmapscan = off;
select sum(v), sum(length(pad)) from nr_d where id >= 0;
select sum(v), sum(length(pad)) from nr_c where id >= 0;
reset enable_seqscan;
create function nr_node(query text) returns text language plpgsql as $$
declare
	line text;
begin
	for line in execute 'explain (costs off) ' || query loop
		if line ~ 'AnagoJoin|Nested Loop|AnagoScan|Index Scan' then
			return substring(line from 'AnagoJoin|Nested Loop|AnagoScan|Index Scan');
		end if;
	end loop;
end $$;
set anago.enable = on;
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_bitmapscan = off;
set enable_memoize = off;
select nr_node('select count(c.v) from nr_o o join nr_c c on c.id = o.id') as table_without_order;
select nr_node('select count(d.v) from nr_o o join nr_d d on d.id = o.r') as keys_without_order;
select nr_node('select count(d.v) from nr_o o join nr_d d on d.id = o.id') as both_in_order;
select nr_node('select count(c.v) from nr_o o join nr_c c on c.id = o.id where o.id <= 40000') as fewer;
select nr_node('select c.v from nr_o o join nr_c c on c.id = o.id limit 5500') as some_of_all;
select nr_node('select count(c.v) from nr_o o join nr_c c on c.id = o.id - 1') as expression;
select nr_node('select count(d.v) from nr_o o join nr_d d on d.id = o.r - 1') as unknown_order;
select nr_node('select count(s.v) from nr_o o join nr_s s on s.id = o.r') as small_table;
-- (and of a scan by itself)
set enable_seqscan = off;
select nr_node('select sum(v) from nr_c where id < 20000') as scan_without_order;
select nr_node('select sum(v) from nr_d where id < 20000') as scan_in_order;
select nr_node('select sum(v) from nr_s where id < 20000') as scan_of_small_table;
select nr_node('select sum(v) from nr_c where id < 4000') as scan_of_fewer;
select nr_node('select v from nr_c where id < 20000 limit 5500') as some_of_a_scan;
select sum(v), count(*) from nr_c where id < 20000;
set anago.enable = off;
select sum(v), count(*) from nr_c where id < 20000;
set anago.enable = on;
update nr_c set v = v + 1 where id < 100;
select anago_same('select id, v from nr_c where id < 20000') from generate_series(1, 3);
set max_parallel_workers_per_gather = 2;
select nr_node('select sum(v) from nr_c where id < 20000') as scan_perhaps_parallel;
select nr_node('select count(c.v) from nr_o o join nr_c c on c.id = o.id') as perhaps_parallel;
reset enable_seqscan;
set max_parallel_workers_per_gather = 0;
set anago.residency = off;
select nr_node('select count(d.v) from nr_o o join nr_d d on d.id = o.id') as as_if_cold;
reset anago.residency;
select count(*), sum(c.v) from nr_o o join nr_c c on c.id = o.id;
select count(*), sum(d.v) from nr_o o join nr_d d on d.id = o.r;
set anago.enable = off;
select count(*), sum(c.v) from nr_o o join nr_c c on c.id = o.id;
select count(*), sum(d.v) from nr_o o join nr_d d on d.id = o.r;
reset enable_hashjoin;
reset enable_mergejoin;
reset enable_bitmapscan;
reset enable_memoize;
drop function nr_node;
drop table nr_o, nr_s, nr_c, nr_d;
