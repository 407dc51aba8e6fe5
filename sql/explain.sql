-- What EXPLAIN shows, in every format, with and without ANALYZE.
load 'anago';
set anago.enable = on;
set anago.debug_force = on;

create table e1 (id int primary key, a int, t text);
create table e2 (id int primary key, e1 int, v int);
create table e3 (id int primary key, e2 int, v int);
insert into e1 select g, g % 10, 't' || g from generate_series(1, 300) g;
insert into e2 select g, g % 300, g % 7 from generate_series(1, 900) g;
insert into e3 select g, g % 900, g % 7 from generate_series(1, 1800) g;
create index e1_a on e1 (a);
create index e2_e1 on e2 (e1) include (v);
create index e3_e2 on e3 (e2);
vacuum analyze e1, e2, e3;

-- SETTINGS: what decides between plans, or how fast one is
set anago.io_gain = 5;
set anago.io_method = sync;
set anago.max_inflight_reads = 16;
set anago.mode = serial;
create function e_settings() returns setof text language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (settings, format json) select 1' into plan;
	return query select key || ' = ' || value from jsonb_each_text(plan #> '{0,Settings}')
		where key like 'anago.%' order by key collate "C";
end $$;
select e_settings();
reset anago.io_gain;
reset anago.io_method;
reset anago.max_inflight_reads;
reset anago.mode;
select e_settings();

-- without ANALYZE nothing runs, and no counter shows
explain (costs off) select * from e1 where a = 3;
explain (costs off) select * from e1 where a = 3 and t like '%5';
explain (costs off) select a from e1 where a between 3 and 5;
explain (costs off) select e1.t, e2.v from e1 join e2 on e2.e1 = e1.id where e1.a = 3;
explain (costs off, verbose) select e1.t, e3.v from e1 join e2 on e2.e1 = e1.id and e2.v > e1.a
	join e3 on e3.e2 = e2.id where e1.a = 3;
explain (costs off) select * from e1 left join e2 on e2.e1 = e1.id and e2.v = 2 where e1.a = 3 and coalesce(e2.v, 9) > 3;
explain (costs off) select * from e1 where a = 3 and exists (select 1 from e2 where e2.e1 = e1.id);
explain (costs off) select * from e1 where a = 3 and not exists (select 1 from e2 where e2.e1 = e1.id);
explain (costs off) select * from generate_series(1, 3) g join e2 on e2.e1 = g;
explain (costs off) select * from e1 where a = 3 order by id limit 3;
select anago_explain('costs off, format json', 'select e1.t, e2.v from e1 join e2 on e2.e1 = e1.id where e1.a = 3', false);
select anago_explain('costs off, format yaml', 'select e1.t, e2.v from e1 join e2 on e2.e1 = e1.id where e1.a = 3', false);
select anago_explain('costs off, format xml', 'select e1.t, e2.v from e1 join e2 on e2.e1 = e1.id where e1.a = 3', false);

-- the same names twice in one query
explain (costs off) select * from e1 x join e1 y on y.id = x.a where x.id = 3;

-- ANALYZE: figures are masked here
select anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select * from e1 where a = 3');
select anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select e1.t, e2.v from e1 join e2 on e2.e1 = e1.id join e3 on e3.e2 = e2.id where e1.a = 3');
select anago_explain('analyze, costs off, timing off, summary off, buffers off, format json',
	'select e1.t, e2.v from e1 join e2 on e2.e1 = e1.id where e1.a = 3');

-- rows are counted as stock counts them: these two figures are not masked
create function e_figure(query text, figure text) returns setof text
language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (analyze, costs off, timing off, summary off, buffers, format json) ' || query into plan;
	return query select distinct value #>> '{}' from
		jsonb_path_query(plan, ('strict $.**."' || figure || '"')::jsonpath) value
		where jsonb_typeof(value) <> 'null' order by 1;
end $$;
select e_figure('select * from e1 where a = 3', 'Actual Rows')::numeric::int as rows;
select e_figure('select * from e1 where a = 3', 'Actual Loops') as loops;
select max(e_figure::int) > 0 as buffers_counted
	from e_figure('select * from e1 where a = 3', 'Shared Hit Blocks');

-- a query that is explained with ANALYZE and never runs our part
select anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select * from e1 where a = 3 and false');
select anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select (select max(v) from e2 where e2.e1 = x.id) from (select id from e1 where id < 0) x');

-- EXPLAIN EXECUTE with a generic plan
set plan_cache_mode = force_generic_plan;
prepare e_q(int) as select * from e1 join e2 on e2.e1 = e1.id where e1.a = $1;
explain (costs off) execute e_q(3);
deallocate e_q;
reset plan_cache_mode;

-- off: a core plan
set anago.enable = off;
select anago_used('select * from e1 where a = 3');
set anago.enable = on;
select anago_used('select * from e1 where a = 3');

-- core's switches are honoured where anago is not forced
reset anago.debug_force;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_indexscan = off;
set enable_indexonlyscan = off;
select anago_used('select * from e1 where a = 3');
