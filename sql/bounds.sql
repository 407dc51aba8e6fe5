-- Several conditions on one column: the tightest bounds the walk, whatever order
-- they are written in, and what contradicts itself is not looked for at all.
load 'anago';
set timezone = 'UTC';

create table bd (a int, b int, d int, n int, ts timestamp, t text, pad text);
insert into bd select g, g % 10, g, case when g % 3 = 0 then null else g % 100 end,
	timestamp '2024-01-01' + g * interval '1 hour', 't' || lpad(g::text, 5, '0'), repeat('x', 50)
	from generate_series(1, 20000) g;
create index bd_a on bd (a);
create index bd_ba on bd (b, a);
create index bd_d on bd (d desc);
create index bd_n on bd (n nulls first);
create index bd_ts on bd (ts);
create index bd_t on bd (t collate "C");
vacuum analyze bd;
create table bd_outer (k int, l int8, s int2, hi int);
insert into bd_outer select g * 50, g * 50 + 5, g, g * 50 + 20 from generate_series(1, 300) g;
analyze bd_outer;

-- What our plan of a query does: is there any descent, are pages read that are
-- not needed?  (Each of the queries below needs few.)
create function bd_cost(query text) returns text
language plpgsql
set anago.enable = on set anago.debug_force = on set enable_seqscan = off
set enable_bitmapscan = off set max_parallel_workers_per_gather = 0
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
	plan json;
	step jsonb;
	pages int;
begin
	execute 'explain (analyze, buffers, format json, costs off, timing off, summary off) ' || query
		into plan;
	step := jsonb_path_query_first(plan::jsonb, 'strict $.**.Steps[last]');
	pages := (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int +
		(plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
	return case when step is null then 'not our plan'
		when (step ->> 'Index Descents')::int = 0 then 'no descent' else 'descends' end ||
		case when pages <= 30 then '' else ', many pages' end;
end $$;

-- Rows and cost of queries on bd with a condition.
create function bd_try(condition text) returns text
language sql as $$
	select concat_ws(' ', anago_same('select * from bd where ' || condition),
		bd_cost('select * from bd where ' || condition))
$$;

select c, bd_try(c) from unnest(array[
	-- one side
	'a > 0 and a > 19990', 'a > 19990 and a > 0', 'a >= 19990 and a > 19990', 'a > 19990 and a >= 19990',
	'a < 20000 and a < 10', 'a <= 10 and a < 10', 'a < 10 and a <= 10', 'a > 5 and a >= 6 and a < 9 and a <= 8',
	-- types
	'a > 0::int8 and a > 19990::int2', 'a > 19990::int8 and a > 0', 'a < 12::int8 and a < 10::int2 and a > 3',
	-- equalities
	'a = 7 and a = 7', 'a = (select 7) and a = (select 8)', 'a = 7 and a = 7::int8', 'a = (select 7) and a = (select 8::int2)',
	'a = 7 and a > 3', 'a = 7 and a > 7', 'a = 7 and a >= 7 and a <= 7', 'a > 9 and a = 7::int8',
	-- nothing can match
	'a > 10 and a < 5', 'a > 10 and a < 10', 'a >= 10 and a < 10', 'a >= 10 and a <= 10', 'a > 10::int8 and a < 5::int2',
	'b = 3 and a > 10 and a < 5', 'b > 5 and a > 10 and a < 5', 'b = (select 3) and b = (select 4) and a = 5',
	-- lists
	'a in (1, 5, 7) and a > 4', 'a in (1, 5, 7) and a = 5', 'a in (1, 5, 7) and a = 6', 'a in (1, 5, 7) and a > 7',
	'a in (1, 5, 7) and a in (5, 6, 7, 8)', 'a in (1, 5, 7) and a in (2, 6)', 'a in (1, 5, 7) and a = any (array[5, 6]::int8[])',
	'a in (1, 5, 7) and a >= 5::int8 and a < 7::int2', 'a = any (array[null, 3]) and a < 3', 'a < any (array[3, 5]) and a > 2',
	'b in (1, 2, 3) and b > 2 and a in (12, 13, 14, 23, 33) and a > 13',
	-- descending
	'd > 0 and d > 19990', 'd < 10 and d < 20000', 'd <= 10 and d < 10 and d > 3', 'd > 10 and d < 5', 'd in (3, 9, 5) and d > 4',
	'd >= 19990 and d > 19990', 'd = 4 and d < 9::int8',
	-- nulls
	'n is null and n = 5', 'n is not null and n > 200 and n > 5', 'n is not null and n < 50 and n < 0',
	-- what cannot be compared is rechecked
	$$ts > timestamp '2024-01-01' and ts > timestamptz '2026-04-13 00:00+00'$$,
	$$ts > timestamptz '2026-04-13 00:00+00' and ts > timestamp '2024-01-01'$$,
	$$ts > timestamp '2026-04-12' and ts > date '2024-01-01' and ts < timestamptz '2026-04-13 00:00+00'$$,
	$$ts = timestamp '2024-02-01' and ts >= timestamptz '2024-02-01 00:00+00'$$,
	-- text
	$$t collate "C" > 't' and t collate "C" > 't1999'$$, $$t collate "C" like 't1999%' and t collate "C" > 't19995'$$,
	$$t collate "C" = 't00007' and t collate "C" > 't00009'$$
	]) with ordinality c (c, i) order by i;

-- values that are known at run time: parameters
prepare bd_p (int, int8, int) as select a from bd where a > $1 and a > $2 and a < $3 and a = any (array[$3 - 1, $3 - 2, $1]);
prepare bd_q (int, int8, int) as select count(*), min(a), max(a) from bd where a > $1 and a >= $2 and a < $3;
set plan_cache_mode = force_generic_plan;
set anago.enable = on;
set anago.debug_force = on;
set enable_seqscan = off;
execute bd_p (1, 5, 9);
execute bd_p (5, 1, 8);
execute bd_p (5, 9, 8);
execute bd_p (null, 9, 8);
execute bd_q (5, 19000, 19003);
execute bd_q (19000, 5, 19003);
execute bd_q (19000, 19001, 19003);
execute bd_q (19000, 5, 18000);
select bd_cost('execute bd_q (5, 19000, 19003)'), bd_cost('execute bd_q (19000, 5, 19003)'), bd_cost('execute bd_q (19000, 5, 18000)');
reset plan_cache_mode;
reset enable_seqscan;
reset anago.debug_force;

select anago_same('select * from bd where n is not null and n < 2 and n < 50');
select anago_same('select * from bd where n is not null and n = 98 and n > 97 and a < 2000');

-- and columns of an outer row
select anago_same('select * from bd_outer o join bd on bd.a > o.k and bd.a > o.l and bd.a < o.hi');
select anago_same('select * from bd_outer o join bd on bd.a > o.l and bd.a >= o.k and bd.a <= o.hi and bd.a < o.hi + o.s - 100');
select anago_same('select * from bd_outer o left join bd on bd.a = o.k and bd.a = o.l - 5 and bd.a > o.s');
select anago_same('select * from bd_outer o join bd on bd.a = o.k and bd.a = o.hi - o.s');
select anago_same('select * from bd_outer o join bd on bd.b = o.s and bd.b < 5 and bd.a > o.k and bd.a > o.l and bd.a < 1000');
select anago_same('select * from bd_outer o join bd on bd.d > o.k and bd.d > o.l and bd.d < o.hi');
select anago_same('select * from bd_outer o join bd on bd.a = any (array[o.k, o.l, o.hi]) and bd.a > o.l');
select anago_same('select * from bd_outer o where not exists (select from bd where bd.a > o.l and bd.a < o.k)');

-- a family that compares the values of two conditions, but not those of each
create operator class bd_partly for type int using btree as
	operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >,
	function 1 btint4cmp(int, int);
alter operator family bd_partly using btree add
	operator 1 < (int, bigint), operator 5 > (int, bigint), function 1 (int, bigint) btint48cmp(int, bigint),
	operator 1 < (int, smallint), operator 5 > (int, smallint), function 1 (int, smallint) btint42cmp(int, smallint),
	function 1 (bigint, smallint) btint82cmp(bigint, smallint),
	function 1 (smallint, bigint) btint28cmp(smallint, bigint);
create table bd_few as select g as a from generate_series(1, 1000) g;
create index on bd_few (a bd_partly);
analyze bd_few;
select anago_same('select * from bd_few where a > 5::bigint and a < 9::smallint');
select anago_same('select * from bd_few where a > 9::bigint and a < 5::smallint');
drop table bd_few;
drop operator family bd_partly using btree;

drop table bd, bd_outer;
drop function bd_cost(text), bd_try(text);
