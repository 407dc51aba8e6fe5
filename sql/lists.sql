-- Lists on several columns: the index is walked once for all combinations, over
-- pages of several levels, in either direction of each column.
load 'anago';

-- long keys: a few on a page, so that the tree is deep
create table li (a int, b text, c int, d int, pad text);
insert into li select g % 60, 'b' || lpad((g * 7 % 97)::text, 300, '0'), g % 23,
	case when g % 11 = 0 then null else g % 41 end, 'p' || g
	from generate_series(1, 12000) g;
alter table li alter b set storage plain;
create index li_abc on li (a, b collate "C", c);
create index li_cba on li (c desc, b collate "C" desc, a desc nulls last);
create index li_dab on li (d nulls first, a desc, b collate "C");
vacuum analyze li;
create table li_outer as select g as k, array[g % 60, (g + 7) % 60, 59] as ks, g % 23 as c
	from generate_series(1, 150) g;
analyze li_outer;
create function li_b(variadic n int[]) returns text[] immutable language sql as $$
	select array_agg('b' || lpad(x::text, 300, '0')) from unnest(n) x
$$;
create function li_every(int, int, int) returns int[] immutable language sql as $$
	select array_agg(g) from generate_series($1, $2, $3) g
$$;

-- Are the rows stock's, and how many are there?
create function li_all() returns table (c text, same boolean, rows bigint)
language plpgsql as $$
declare
	r record;
begin
	foreach c in array array[
		'a in (3, 1, 59, 60, -5) and b = any (li_b(1, 4, 7, 50, 96, 97))',
		'a = any (li_every(0, 59, 2)) and b = any (li_b(1, 4, 7, 50, 96, 97)) and c in (1, 2, 3)',
		'a = any (li_every(0, 70, 3)) and b = any (li_b(1, 4, 7, 50, 96, 97)) and c > 12',
		'a = any (li_every(0, 70, 3)) and b = any (li_b(1, 4, 50, 96)) and c between 5 and 9',
		'a = any (li_every(-100, 200, 1)) and b = any (li_b(1, 4, 50, 96))',
		'a = any (li_every(0, 59, 1)) and b > (li_b(90))[1]',
		'a = 7 and b = any (li_b(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 80, 81, 82)) and c = any (li_every(0, 22, 2))',
		'a in (1, 2) and b = (li_b(5))[1] and c = any (li_every(0, 22, 1))',
		'a = any (li_every(3, 30, 1)) and c in (3, 5)',
		'a = any (li_every(0, 59, 1)::int8[]) and b = any (li_b(3, 4)) and c = any (array[7, 8]::int2[])',
		'c = any (li_every(0, 22, 3)) and b = any (li_b(1, 4, 7, 50, 96)) and a = any (li_every(0, 59, 2))',
		'c = any (li_every(0, 22, 3)) and b = any (li_b(1, 4, 7, 50, 96)) and a > 30',
		'c = any (li_every(0, 22, 2)) and b = any (li_b(1, 4, 7, 50, 96)) and a <= 30 and a > 3',
		'c = any (li_every(0, 22, 3)) and c > 6 and b = any (li_b(1, 4, 7)) and b < (li_b(7))[1]',
		'd is null and a = any (li_every(0, 59, 2)) and b = any (li_b(1, 4, 7, 50, 96))',
		'd in (1, 2, 40) and a = any (li_every(0, 59, 5)) and b >= (li_b(50))[1]',
		'd = any (array[1, null, 30]) and a = any (li_every(0, 59, 1)) and b is not null'] loop
		r := anago_same(case when c like 'a%' then 'select a, b, c' else 'select *' end ||
			' from li where ' || c);
		same := r.same;
		rows := r.rows;
		return next;
	end loop;
end $$;
select * from li_all();

-- of each index, whatever the planner likes best
begin;
drop index li_abc, li_dab;
select * from li_all();
rollback;
begin;
drop index li_cba, li_dab;
select * from li_all();
rollback;

-- joins: lists that come with a row
select anago_same('select o.k, li.a, li.c, li.pad from li_outer o join li on li.a = any (o.ks) and li.b = any (li_b(3, 9, 80)) and li.c = o.c');
select (anago_same('select o.k, li.a, li.pad from li_outer o left join li on li.a = any (o.ks) and li.b = any (li_b(3, 9)) and li.c in (o.c, 7)')).same;
select anago_same('select * from li_outer o where exists (select from li where li.a = any (o.ks) and li.b = any (li_b(3, 9, 80)) and li.c = o.c)');
select anago_same('select * from li_outer o where not exists (select from li where li.a = any (o.ks) and li.b = any (li_b(3, 9, 80)) and li.c = o.c)');

-- more combinations than can be numbered
select anago_same('select * from li where a = any (li_every(0, 1500, 1)) and b = any (li_b(variadic li_every(0, 1500, 1))) and c = any (li_every(10, 1500, 1))');

-- one visit to the pages, however many combinations there are
create function li_descents(query text) returns bigint
language plpgsql
set anago.enable = on set anago.debug_force = on set enable_seqscan = off
set enable_bitmapscan = off set max_parallel_workers_per_gather = 0 as $$
declare
	plan json;
begin
	execute 'explain (analyze, format json, costs off, timing off, summary off) ' || query into plan;
	return jsonb_path_query_first(plan::jsonb, 'strict $.**.Steps[0]') ->> 'Index Descents';
end $$;
create table li_flat as select g % 400 as a, g / 7 % 400 as b, g % 13 as c from generate_series(1, 20000) g;
create index li_flat_i on li_flat (a, b, c);
vacuum analyze li_flat;
select li_descents('select * from li_flat where a = any (li_every(0, 700, 2)) and b = any (li_every(0, 700, 2)) and c in (1, 2, 3)');

-- a tuple finds its combination with about one comparison for each column
create sequence li_calls;
create function li_cmp(int, int) returns int immutable strict language plpgsql as $$
begin
	perform nextval('public.li_calls');
	return btint4cmp($1, $2);
end $$;
create operator class li_counted for type int using btree as
	operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >,
	function 1 li_cmp(int, int);
create function li_comparisons(query text) returns bigint
language plpgsql
set anago.enable = on set anago.debug_force = on set enable_seqscan = off
set enable_bitmapscan = off set max_parallel_workers_per_gather = 0 as $$
begin
	perform setval('li_calls', 1);
	execute query;
	return currval('li_calls');
end $$;
create table li_three as select g / 100 as a, g / 10 % 10 as b, g % 10 as c from generate_series(0, 1999) g;
create index li_three_i on li_three (a li_counted, b li_counted, c li_counted);
vacuum analyze li_three;
select li_comparisons('select * from li_three where a = any (li_every(0, 20, 1)) and b = any (li_every(0, 9, 1)) and c = any (li_every(1, 9, 2))') between 100 and 12500;

-- equal entries, NULLs, and what follows the lists
create table li_dup (a bigint, b smallint, c int, d int);
insert into li_dup select nullif(g % 6, 4), g % 5, nullif(g % 7, 3), g % 31 from generate_series(1, 300) g, generate_series(1, 25);
create index on li_dup (a desc, b, c nulls first, d);
vacuum analyze li_dup;
create function li_dups() returns table (c text, same boolean, rows bigint)
language plpgsql as $$
declare
	r record;
begin
	foreach c in array array[
		'a in (1, 3, 5) and b in (0, 2)',
		'a in (0, 1, 2, 9) and b in (0, 2, 4) and c in (0, 1, 6)',
		'a in (0, 1, 2, 9) and b in (0, 2, 4) and c is null and d in (1, 2, 30)',
		'a is null and b = any (array[0, null, 2]::int2[]) and c in (5, 6)',
		'a in (1, 2) and b = 3 and c in (1, 2, 4) and d > 3 and d < 20',
		'a in (1, 2, 3) and b in (1, 2) and c is not null',
		'a in (1, 2, 3) and b in (1, 2) and c < 4',
		'a in (1, 2, 3) and b in (1, 2) and (c, d) > (4, 20)',
		'a = any (array[5, 4, 3]::int4[]) and b in (1, 2) and c in (0, 5) and d = any (li_every(0, 30, 3))'] loop
		r := anago_same('select * from li_dup where ' || c);
		same := r.same;
		rows := r.rows;
		return next;
	end loop;
end $$;
select * from li_dups();

-- several processes, each with some of the combinations
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
set max_parallel_workers_per_gather = 2;
alter table li set (parallel_workers = 2);
alter table li_flat set (parallel_workers = 2);
select * from li_all();
select anago_same('select * from li_flat where a = any (li_every(0, 700, 2)) and b = any (li_every(0, 700, 2)) and c > 2');
set anago.mode = static;
select anago_same('select * from li_flat where a = any (li_every(0, 700, 2)) and b = any (li_every(0, 700, 2)) and c > 2');
reset anago.mode;

drop table li, li_outer, li_flat, li_three, li_dup;
drop operator family li_counted using btree;
drop sequence li_calls;
drop function li_all(), li_dups(), li_b(int[]), li_every(int, int, int), li_descents(text), li_comparisons(text), li_cmp(int, int);
