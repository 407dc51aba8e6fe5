-- Joins by index that turn into hash joins while they run: stock's rows, whatever
-- the join and the types.  Answers are (same rows, how many, our plan).
load 'anago';

-- after so many rows in each of the usual variants, too
create temp table usual as select * from anago_variant;
update anago_variant set settings = settings || '{"anago.debug_turn_after": "1"}';
insert into anago_variant
	select name || ', after ' || n, settings || jsonb_build_object('anago.debug_turn_after', n::text)
	from usual, (values (7), (100)) v(n);
set anago.debug_turn_after = 1;

create table t_outer (id int primary key, k int, big int8, small int2, num numeric, txt text, c5 char(5), f float8, sel int);
create table t_inner (id int, k int, v int, num numeric, txt text, vc varchar, c9 char(9), nm name, f float4, at date);
insert into t_outer select g, nullif(g % 70, 3), g % 50, g % 40, case when g % 2 = 0 then g % 30 else (g % 30)::numeric(9, 2) end,
	'w' || g % 60, 'c' || g % 20, case g % 4 when 0 then '-0' when 1 then 'NaN' else (g % 9)::float8 end, g % 3
	from generate_series(1, 600) g;
insert into t_inner select g, nullif(g % 60, 5), g % 7, case when g % 3 = 0 then g % 40 else (g % 40)::numeric(9, 3) end,
	'w' || g % 50, 'w' || g % 45, 'c' || g % 25, 'w' || g % 55, case g % 5 when 0 then '0' when 1 then 'NaN' else (g % 9)::float4 end,
	date '2026-01-01' + g % 40
	from generate_series(1, 500) g;
create index t_outer_sel on t_outer (sel);
create index t_inner_k on t_inner (k, v);
create index t_inner_id on t_inner (id) include (nm);
create index t_inner_num on t_inner (num);
create index t_inner_txt on t_inner (txt, k);
create index t_inner_vc on t_inner (vc);
create index t_inner_c9 on t_inner (c9);
create index t_inner_nm on t_inner (nm, id);
create index t_inner_f on t_inner (f);
create index t_inner_at on t_inner (at);
vacuum analyze t_outer, t_inner;

-- join types, duplicates, NULLs
select anago_same('select o.id, i.id, i.txt from t_outer o join t_inner i on i.k = o.k where o.sel = 1');
select anago_same('select o.id, i.id, i.v from t_outer o left join t_inner i on i.k = o.k and i.v = 3 where o.sel = 1');
select anago_same('select o.id, i.id, i.v from t_outer o left join t_inner i on i.k = o.k and i.v > o.k % 7 where o.sel = 1');
select anago_same('select o.id, i.id from t_outer o left join t_inner i on i.k = o.k where o.sel = 1 and i.v is distinct from 4');
select anago_same('select o.id from t_outer o where o.sel = 1 and exists (select from t_inner i where i.k = o.k and i.v = 2)');
select anago_same('select o.id from t_outer o where o.sel = 1 and exists (select from t_inner i where i.k = o.k and i.id % 50 = o.id % 50)');
select anago_same('select o.id from t_outer o where o.sel = 1 and not exists (select from t_inner i where i.k = o.k)');
select anago_same('select o.id from t_outer o where o.sel = 1 and not exists (select from t_inner i where i.k = o.k and i.id % 9 = o.id % 9)');
-- other index conditions beside the key: lists, ranges, NULLs, of the outer row or not
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.k = o.k and i.v in (1, 3, 5) where o.sel = 2');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.k = o.k and i.v in (o.sel, o.id % 7, null) where o.sel = 2');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.k = o.k and i.v between o.sel and 5 where o.sel = 2');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.k = o.k and i.v is not null and i.v <> 3 where o.sel = 2');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.txt = o.txt and i.k is null where o.sel = 2');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.k = o.k and i.v in (1, 3, 5) and i.v > o.sel where o.sel = 2');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.k in (1, 2, o.k) and i.v = o.sel where o.sel = 2');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.k = o.k and i.v = o.id % 7 where o.sel = 2');
select anago_same('select o.id, i.id from t_outer o join t_inner i on (i.k, i.v) >= (o.k, 5) and i.k = o.k where o.sel = 2');
-- types
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.k = o.big where o.sel = 0');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.k = o.small where o.sel = 0');
select anago_same('select o.id, o.num, i.id, i.num from t_outer o join t_inner i on i.num = o.num where o.sel = 0');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.vc = o.txt where o.sel = 0');
select anago_same('select o.id, i.id, i.c9 from t_outer o join t_inner i on i.c9 = o.c5 where o.sel = 0');
select anago_same('select o.id, i.id, i.nm from t_outer o join t_inner i on i.nm = o.txt where o.sel = 0');
select anago_same('select o.id, i.f from t_outer o join t_inner i on i.f = o.f where o.sel = 0');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.at = date ''2026-01-01'' + o.sel * o.id % 30 where o.sel > 0');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.at = timestamp ''2026-01-01'' + o.sel * o.id % 30 * interval ''12 h'' where o.sel > 0');
-- out of the index alone
select anago_same('select o.id, i.k, i.v from t_outer o join t_inner i on i.k = o.k where o.sel = 1');
select anago_same('select o.id, i.nm, i.id from t_outer o join t_inner i on i.nm = o.txt where o.sel = 1');
select anago_same('select o.id, i.nm from t_outer o join t_inner i on i.id = o.k where o.sel = 1');
-- several steps, each turns
select anago_same('select o.id, i.id, j.id, x.k from t_outer o join t_inner i on i.k = o.k join t_inner j on j.id = i.id
	left join t_outer x on x.id = j.v where o.sel = 1');
select anago_same('select o.id, i.txt || j.txt from t_outer o join t_inner i on i.k = o.k
	join t_inner j on j.txt = i.txt and j.k = o.k where o.sel = 1');
-- what keeps it from turning: system columns, whole rows, rows compared, no equality,
-- expressions, some of the rows, no hash function
create index t_inner_expr on t_inner ((id % 10));
create index t_inner_part on t_inner (id, v) where v = 3;
select anago_same('select o.id, i.ctid, i.id from t_outer o join t_inner i on i.k = o.k where o.sel = 1');
select anago_same('select o.id, i from t_outer o join t_inner i on i.k = o.k where o.sel = 1');
select anago_same('select o.id, i.id from t_outer o join t_inner i on (i.k, i.v) < (o.sel, 3) where o.sel = 1');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.id between o.id and o.id + 2 where o.sel = 1');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.id % 10 = o.small where o.sel = 1 and o.id < 40');
select anago_same('select o.id, i.id from t_outer o join t_inner i on i.id = o.k and i.v = 3 where o.sel = 1');
-- run again: with other parameters, from a cursor, with an order, with a limit
set enable_hashjoin = off; set enable_mergejoin = off; set enable_memoize = off; set enable_material = off;
select anago_same('select g, l.* from generate_series(0, 6) g, lateral (select o.id, i.id as i from t_outer o
	join t_inner i on i.k = o.k and i.v = g where o.sel = g % 3 offset 0) l');
select anago_same('select g, l.* from generate_series(0, 6) g, lateral (select o.id, i.id as i from t_outer o
	left join t_inner i on i.k = o.k and i.id % 7 > g where o.sel = g % 3 offset 0) l');
select anago_same('select id, (select count(*) from t_outer o join t_inner i on i.txt = o.txt and i.k = x.k where o.sel = x.sel)
	from t_outer x where id < 30');
select anago_same_order('select o.id, i.id from t_outer o join t_inner i on i.k = o.k where o.id < 300 order by o.id, i.id');
select anago_same('select count(*) from (select o.id, i.id from t_outer o join t_inner i on i.k = o.k where o.sel = 1 limit 777) x');
reset enable_hashjoin; reset enable_mergejoin; reset enable_memoize; reset enable_material;

-- what EXPLAIN says
set anago.enable = on; set anago.debug_force = on; set anago.debug_turn_after = 20;
create function turned(query text) returns setof text language plpgsql as $$
declare
	line text;
begin
	for line in execute 'explain (analyze, costs off, timing off, summary off) ' || query loop
		if line ~ 'Step|Turned' then
			return next regexp_replace(line, '[0-9]+kB', 'NkB');
		end if;
	end loop;
end $$;
select turned('select o.id, i.id, i.txt from t_outer o join t_inner i on i.k = o.k and i.v < 3 where o.sel = 1');
select turned('select o.id from t_outer o where o.sel = 1 and not exists (select from t_inner i where i.k = o.k and i.at > ''2026-01-09'')');
explain (costs off) select o.id, i.id from t_outer o join t_inner i on i.k = o.k where o.sel = 1;
-- what may not
select turned('select o.id, i.ctid from t_outer o join t_inner i on i.k = o.k where o.sel = 1');
select turned('select o.id, i.id from t_outer o join t_inner i on i.id between o.id and o.id + 2 where o.sel = 1');
-- too large: as before, and it says so
set work_mem = '64kB'; set hash_mem_multiplier = 1;
select turned('select o.id, i.id, i.txt from t_outer o join t_inner i on i.k = o.k where o.sel = 1');
select anago_same('select o.id, i.id, i.txt, i.c9 from t_outer o join t_inner i on i.k = o.k where o.sel = 1');
reset work_mem; reset hash_mem_multiplier;

-- By itself it turns when probes have taken what a scan of a small table takes.
set anago.debug_turn_after = 0;
create table t_many (id int, a int, b int, k int);
insert into t_many select g, g % 100, g % 100, g * 7 % 5000 from generate_series(1, 100000) g;
create index on t_many (a);
create table t_keys (k int primary key, v int, filler text);
insert into t_keys select g, g, 'x' from generate_series(0, 4999) g;
vacuum analyze t_many, t_keys;
select turned('select count(v) from t_many join t_keys using (k) where a < 80 and b < 80');
set anago.hash_fallback = off;
select turned('select count(v) from t_many join t_keys using (k) where a < 80 and b < 80');
reset anago.hash_fallback;
-- A plan that is older than most rows of the table: a scan takes what it would take now.
prepare old_plan as select count(v) from t_many join t_keys using (k) where a < 80 and b < 80;
select turned('execute old_plan');
insert into t_keys select g, g, repeat('x', 500) from generate_series(5000, 44999) g;
select turned('execute old_plan');
deallocate old_plan;
-- Rows of a group that only a range tells apart: lookups take longer than probes did.
create table t_groups (k int, v int);
insert into t_groups select g % 4, g from generate_series(1, 20000) g;
create index on t_groups (k, v);
vacuum analyze t_groups;
set max_parallel_workers_per_gather = 0; set enable_hashjoin = off; set enable_mergejoin = off;
select regexp_replace(line, '\d+ (probes|lookups)', 'N \1') from turned('select count(*) from t_many m
	join t_groups g on g.k = m.k % 4 and g.v between m.id and m.id + 30 where a < 80 and b < 80') line;
select count(*), sum(g.v), sum(m.k * g.v) from t_many m join t_groups g on g.k = m.k % 4 and g.v between m.id and m.id + 30
	where a < 80 and b < 80;
set anago.enable = off;
select count(*), sum(g.v), sum(m.k * g.v) from t_many m join t_groups g on g.k = m.k % 4 and g.v between m.id and m.id + 30
	where a < 80 and b < 80;
set anago.enable = on;
reset max_parallel_workers_per_gather; reset enable_hashjoin; reset enable_mergejoin;
-- row level security: a condition that tells of rows must not see hidden ones
create function tells(v int) returns boolean language plpgsql cost 0.0000001 immutable as $$
begin
	if v = 6 then
		raise warning 'sees what is hidden';
	end if;
	return true;
end $$;
alter table t_inner enable row level security;
create policy visible on t_inner using (v <> 6);
create role turn_reader;
grant select on t_inner, t_outer to turn_reader;
set anago.debug_turn_after = 1;
set role turn_reader;
select turned('select count(*) from t_outer o join t_inner i on i.k = o.k where o.sel = 1 and tells(i.v)');
reset role;

-- errors while the table is read, and then another query
select count(*) from t_outer o join t_inner i on i.k = o.k where o.sel = 1 and 1 / (i.id - 400) < 5;
select turned('select o.id, i.id, i.txt from t_outer o join t_inner i on i.k = o.k and i.v < 3 where o.sel = 1');

-- cancelled while the table is read
create function slow(v int) returns boolean language plpgsql cost 10000 immutable as $$
begin
	perform pg_sleep(0.01);
	return v < 3;
end $$;
set statement_timeout = '400ms';
\set SHOW_CONTEXT never
select count(*) from t_outer o join t_inner i on i.k = o.k where o.sel = 1 and slow(i.v);
reset statement_timeout;
select turned('select o.id, i.id, i.txt from t_outer o join t_inner i on i.k = o.k and i.v < 3 where o.sel = 1');

delete from anago_variant;
insert into anago_variant select * from usual;
drop table t_outer, t_inner, t_many, t_keys, t_groups;
drop role turn_reader;
drop function turned, tells, slow;
