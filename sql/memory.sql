-- A query's tasks are bounded by the window of reads in flight, and its memory
-- by work_mem * hash_mem_multiplier, however many and however wide its rows.
load 'anago';
-- its table is another matter
set anago.hash_fallback = off;
set anago.enable = on;
set anago.debug_force = on;
set max_parallel_workers_per_gather = 0;
set enable_hashjoin = off;
set enable_mergejoin = off;

create table mem1 (id int, ref int, refs int[], pad text);
create table mem2 (id int, ref int, pad text);
create table mem3 (id int, ref int, pad text);
insert into mem1 select g, (g * 7919) % 2000, array[g % 2000, (g * 31) % 2000], repeat('x', 1900) from generate_series(0, 1199) g;
insert into mem2 select g, (g * 104729) % 2000, repeat('y', 300) from generate_series(0, 1999) g;
insert into mem3 select g, g % 2000, repeat('z', 100) from generate_series(0, 3999) g;
create index mem2_id on mem2 (id) include (ref);
create index mem3_ref on mem3 (ref);
vacuum analyze mem1, mem2, mem3;

-- Does a query keep to its bounds?  No depth has more tasks than twice the
-- window; those of probes have at most so many again.  Memory is the limit, one row's
-- consequences, and what does not depend on rows: work areas of each step, tables
-- of the reads in flight.
create function mem_bounded(query text, steps int, kilobytes int,
						  out tasks text, out memory text, out used boolean)
language plpgsql as $$
declare
	plan jsonb;
	n bigint;
	processes int;
begin
	execute 'explain (analyze, costs off, timing off, buffers, format json) ' || query into plan;
	used := plan::text ~ 'Anago(Scan|Join)';
	n := jsonb_path_query_first(plan, 'strict $.**."Peak Tasks"');
	tasks := case when n <= 1 + steps * 5 * 2 * current_setting('anago.max_inflight_reads')::int
		then 'bounded' else n::text end;
	n := jsonb_path_query_first(plan, 'strict $.**."Memory"');
	processes := greatest(1, jsonb_array_length(coalesce(
		jsonb_path_query_first(plan, 'strict $.**."Processes"'), '[]')));
	memory := case when n <= kilobytes * processes then 'bounded' else n::text || ' kB' end;
end $$;

create table mem_query (name text, steps int, query text);
insert into mem_query values
	('one step', 1, 'select count(mem1.pad), count(mem2.pad) from mem1 join mem2 on mem2.id = mem1.ref'),
	('two steps', 2, 'select count(mem1.pad), count(mem3.pad) from mem1 join mem2 on mem2.id = mem1.ref join mem3 on mem3.ref = mem2.ref where mem2.pad > '''''),
	('index-only in between', 2, 'select count(mem1.pad), count(mem3.pad) from mem1 join mem2 on mem2.id = mem1.ref join mem3 on mem3.ref = mem2.ref'),
	('outer join without matches', 2, 'select count(mem1.pad), count(mem3.pad) from mem1 left join mem2 on mem2.id = mem1.ref + 1000000 left join mem3 on mem3.ref = mem1.ref'),
	('antijoin in between', 2, 'select count(mem1.pad), count(mem3.pad) from mem1 join mem3 on mem3.ref = mem1.ref where not exists (select from mem2 where mem2.id = mem1.ref and mem2.pad < '''')'),
	('semijoin', 1, 'select count(mem1.pad) from mem1 where exists (select from mem3 where mem3.ref = mem1.ref and mem3.pad > '''')'),
	('IN lists', 1, 'select count(mem1.pad) from mem1 join mem2 on mem2.id = any (mem1.refs)'),
	('keys that are copied', 1, 'select count(mem1.pad) from mem1 join mem2 on mem2.id = any (mem1.refs || array_fill(7, array[100]))'),
	('many matches', 2, 'select count(mem3.pad), count(mem2.pad) from mem3 join mem2 on mem2.id = mem3.ref where mem3.ref between 1 and 1500');

-- As little memory as can be set, and simulated reads in random order.
set work_mem = '64kB';
set hash_mem_multiplier = 1;
set anago.io_method = sim;
set anago.sim_hit_rate = 0.2;
set anago.sim_delay = 20;
select name, b.* from mem_query, mem_bounded(query, steps, 384) b;

-- few tasks, where memory is no bound
set work_mem = '1GB';
set anago.max_inflight_reads = 8;
select name, b.* from mem_query, mem_bounded(query, steps, 1024) b;
reset anago.max_inflight_reads;
reset anago.io_method;

-- reads as they are, and one at a time
set work_mem = '64kB';
select name, b.* from mem_query, mem_bounded(query, steps, 384) b;
set anago.mode = serial;
select name, b.* from mem_query, mem_bounded(query, steps, 384) b;
reset anago.mode;

-- the rows are the same
select name, s.* from mem_query, anago_same(query) s where name <> 'two steps';

-- wide rows of a child plan: three or so have room, and one does in any case
select * from mem_bounded('select sum(length(s.big)), count(mem2.pad) from
	(select g, repeat(''x'', 100000 + g) as big from generate_series(1, 200) g offset 0) s join mem2 on mem2.id = s.g', 1, 512);
set work_mem = '1MB';
select * from mem_bounded('select sum(length(s.big)), count(mem2.pad) from
	(select g, repeat(''x'', 100000 + g) as big from generate_series(1, 200) g offset 0) s join mem2 on mem2.id = s.g', 1, 1536);

-- so have wide columns that a step computes, however many rows of one block match
create table mem4 (ref int, id int);
insert into mem4 select g % 11, (g * 7919) % 2000 from generate_series(1, 2400) g;
create index mem4_ref on mem4 (ref);
create table mem5 as select g as ref, g * 2 as id from generate_series(0, 99) g;
create index mem5_id on mem5 (id);
vacuum analyze mem4, mem5;
create function mem_computed() returns text language sql as $$
	select 'select sum(length(s.big)), count(mem2.pad) from mem5
		left join (select ref, id, coalesce(repeat(''x'', 100000 + id), ''none'') as big from mem4) s on s.ref = mem5.ref
		left join mem2 on mem2.id = s.id where mem5.id between 0 and 20' $$;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;
set anago.sim_delay = 100;
set enable_seqscan = off;
select * from mem_bounded(mem_computed(), 3, 2048);
reset anago.io_method;
select s.* from anago_same(mem_computed()) s;
reset enable_seqscan;

-- a value that is stored out of line stays there
alter table mem1 alter pad set storage external;
update mem1 set pad = repeat('x', 100000) where id < 100;
select * from mem_bounded('select sum(length(mem1.pad)), count(mem2.pad) from mem1 join mem2 on mem2.id = mem1.ref where mem1.id < 100', 1, 256);

-- each process has its own bounds
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
set work_mem = '64kB';
select name, b.* from mem_query, mem_bounded(query, steps, 384) b where name in ('one step', 'many matches');
