-- Joins whose inner side is looked up by OR over several indexes: each row once for
-- each row of the outer side.  Answers are (same rows, how many, our plan, by arms).
load 'anago';
create schema arms;
set search_path = arms, public;

create table o (id int primary key, k int, x int, y int, z int, t text, ids int[]);
insert into o select g, g % 50, nullif(g * 7 % 230, 4), nullif(g * 11 % 190, 6), g % 9, 'w' || g % 40,
		array[g % 30, null, g % 170]
	from generate_series(1, 600) g;
create index o_k on o (k);
create table i (id int primary key, a int, b int, c int, d bigint, t text, pay text);
insert into i select g, nullif(g % 230, 3), nullif(g * 7 % 190, 5), g % 11, g % 300, 'w' || g % 60,
		repeat('p', g % 90)
	from generate_series(1, 4000) g;
create index i_a on i (a);
create index i_b on i (b);
create index i_ca on i (c, a);
create index i_d on i (d desc);
create index i_t on i (t);
create index i_x on i ((a + b));
create index i_part on i (b) where c = 7;
-- HOT chains, entries of rows that are dead, rows that two arms find
update i set pay = 'hot' where id % 13 = 0;
update i set a = a + 1 where id % 17 = 0;
delete from i where id % 19 = 0;
insert into i select 10000 + g, g, g, g % 11, g, 'w1', '' from generate_series(1, 180) g;
vacuum analyze o, i;
update i set b = b + 1 where id % 23 = 0;

create function arms_same(query text, out same boolean, out rows bigint, out anago boolean, out arms boolean)
language sql as $$
	select s.*, (select coalesce(bool_or(line ~ ' Scan on .*(arms)'), false)
		or count(*) filter (where line ~ '^ +Index Scan') > 1 from anago_plan(query) line)
	from anago_same(query) s
$$;
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_seqscan = off;
set anago.enable = on;
set anago.debug_force = on;

-- which arms: of one column or several, lists, ranges, expressions, partial indexes
select arms_same('select o.id, i.id from o join i on i.a = o.x or i.b = o.y where o.k = 3');
select arms_same('select o.id, i.* from o join i on i.a = o.x or i.b = o.y or i.d = o.id where o.k = 3');
select anago_same('select o.id, i.id from o join i on i.a = o.x or i.a = o.y where o.k = 3');
select arms_same('select o.id, i.id from o join i on i.a = o.x and i.c = o.z or i.b = o.y where o.k < 5');
select arms_same('select o.id, i.id from o join i on i.a = o.x and i.d = o.id or i.b = o.y and i.c > 3 where o.k < 5');
select arms_same('select o.id, i.id from o join i on i.a in (o.x, o.y, null, 7) or i.b = any (o.ids) where o.k = 3');
select arms_same('select o.id, i.id from o join i on i.a between o.x and o.x + 1 or i.b between o.y and o.y + 2 where o.k = 3');
select arms_same('select o.id, i.id from o join i on i.a = o.x or i.b is null and i.c = o.z where o.k = 3');
select arms_same('select o.id, i.id from o join i on i.a + i.b = o.x or i.t = o.t where o.k = 3');
select arms_same('select o.id, i.id from o join i on i.c = 7 and i.b = o.y or i.a = o.x where o.k < 9');
select arms_same('select o.id, i.id from o join i on i.a = o.x or i.c = 7 and i.b = o.y or i.b = o.y + 1 where o.k < 9');
select arms_same('select o.id, i.id from o join i on (i.c, i.a) > (o.z + 5, o.x) or i.b = o.y where o.k = 3');
select arms_same('select o.id, i.id from o join i on i.a = o.x or i.b = 9 where o.k = 3');
select arms_same('select o.id, i.id from o join i on i.a = o.x or i.b = (select 9) where o.k = 3');
select arms_same('select o.id, i.id from o join i on i.d = o.x or i.d = o.y::bigint or i.b = o.y::smallint where o.k = 3');
-- the same rows by all arms
select arms_same('select o.id, i.id from o join i on i.a = o.x or i.b = o.x or i.d = o.x where o.k in (1, 7)');
select arms_same('select o.id, i.id from o join i on i.a = o.x or i.a = o.x and i.c < 9 or i.a = o.x + 0 where o.k = 3');
select count(*), count(distinct (o.id, i.id)) from o join i on i.a = o.x or i.b = o.x or i.d = o.x where o.k < 9;
-- NULLs: as the outer row's values, and in the columns
select arms_same('select o.id, i.id from o join i on i.a = o.x or i.b = o.y where o.x is null or o.y is null');
select arms_same('select o.id, i.id from (select id, null::int as x, y from o where k = 3) o join i on i.a = o.x or i.b = o.y');
select arms_same('select o.id, i.id from (select id, x, null::int as y from o where k = 3) o left join i on i.a = o.x or i.b = o.y');
select arms_same('select o.id, i.id from o left join i on i.a = nullif(o.x, o.x) or i.b = nullif(o.y, o.y) where o.k = 3');
-- conditions that are left to filter, of the table, of the join, above it
select arms_same('select o.id, i.id from o join i on (i.a = o.x or i.b = o.y) and i.c > o.z and i.pay > ''p'' where o.k < 5');
select arms_same('select o.id, i.id from o join i on (i.a = o.x or i.b = o.y) and i.c = 3 where o.k < 9');
select arms_same('select o.id, i.id from o join i on (i.a = o.x or i.b = o.y) and (i.c = o.z or i.t = o.t) where o.k < 9');
select arms_same('select o.id, i.id from o left join i on (i.a = o.x or i.b = o.y) and i.c = o.z where o.k < 9 and coalesce(i.c, 1) = 1');
select arms_same('select o.id, i.id from o left join i on (i.a = o.x or i.b = o.y) and current_user = ''nobody'' where o.k = 3');
-- left, semi, anti
select arms_same('select o.id, i.id from o left join i on i.a = o.x + 200 or i.b = o.y + 180 where o.k < 9');
select arms_same('select o.id from o where exists (select from i where i.a = o.x or i.b = o.y) and o.k < 9');
select arms_same('select o.id from o where exists (select from i where (i.a = o.x or i.b = o.y) and i.c = o.z and i.id > 3500)');
select arms_same('select o.id from o where not exists (select from i where (i.a = o.x or i.b = o.y) and i.c = o.z and i.id > 3500)');
select arms_same('select o.id from o where not exists (select from i where i.a = o.x + 150 or i.b = o.y + 150)');
select arms_same('select o.id, s.five, s.id from o left join (select 5 as five, i.* from i) s on s.a = o.x + 200 or s.b = o.y where o.k < 9');
-- system columns, whole rows, computed columns
select arms_same('select o.id, i.ctid, i.tableoid::regclass, i from o join i on i.a = o.x or i.b = o.y where o.k = 3');
-- tables behind it and before it, two of them, values of two tables
select arms_same('select o.id, i.id, j.id from o join i on i.a = o.x or i.b = o.y join i j on j.id = i.d where o.k = 3');
select arms_same('select o.id, i.id, j.id from o join i on i.id = o.x join i j on j.a = i.b or j.b = i.a where o.k < 5');
select arms_same('select o.id, i.id, j.id from o join i on i.id = o.x join i j on j.a = i.b or j.b = o.y where o.k < 5');
select arms_same('select count(*) from o join i on i.a = o.x or i.b = o.y join i j on j.a = i.c + 20 or j.b = i.c + 30 where o.k = 3');
-- below something else that is run again, with a limit
select arms_same('select o.id, l.* from o, lateral (select p.id as p, i.id as i from o p join i on i.a = p.x or i.b = o.y
	where p.k = o.z) l where o.k = 3');
select anago_same_order('select o.id, i.id from o join i on i.a = o.x or i.b = o.y where o.k = 3 order by o.id, i.id limit 50');
select arms_same('select count(*) from (select from o join i on i.a = o.x or i.b = o.y where o.k < 30 limit 70) s');
select anago_same_prepared('select o.id, i.id from o join i on i.a = o.x or i.b = o.y + $2 where o.k = $1', 'int, int',
	'3, 0', '7, 7', '9, null', 'null, 1');
-- more arms than a step may have
select arms_same('select o.id, i.id from o join i on ' || string_agg(format('i.a > o.x + %s and i.a < o.x + %s', g * 3, g * 3 + 2), ' or ') || ' where o.k = 3')
	from generate_series(1, 40) g;

-- what is shown
select anago_plan('select o.id, i.id from o left join i on (i.a = o.x or i.b = o.y) and i.c = o.z where o.k = 3');
-- (entries of dead rows are there until a scan marks them: not as long as another session
-- may see these)
select regexp_replace(line, 'Entries: 4\d+', 'Entries: N') as line
	from anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select o.id, i.id from o join i on i.a = o.x or i.b = o.y where o.k = 3', false) line where line ~ '(Step|Probes|Index Scan|Filter)';
select line from anago_explain('costs off, format yaml',
	'select o.id, i.id from o join i on i.a = o.x or i.b = o.y where o.k = 3', false) line
	where line ~ '(Arms|Index Name|Tables|Filter|Cond)';

-- several tables, each by OR; a partition has another order of columns, and one nothing
create table p (id int, a int, b int, v int) partition by range (id);
create table p1 partition of p for values from (0) to (1000);
create table p2 (v int, gone int, b int, a int, id int);
alter table p2 drop column gone;
alter table p attach partition p2 for values from (1000) to (2000);
create table p3 partition of p for values from (2000) to (3000) partition by list (v);
create table p3a partition of p3 for values in (0, 1);
create table p3b partition of p3 default;
create table p_empty partition of p for values from (3000) to (4000);
insert into p select g, nullif(g % 230, 3), nullif(g * 7 % 190, 5), g % 5 from generate_series(0, 2999) g;
create index on p (a);
create index on p (b, id);
create table n (a int, b int);
create table n1 (extra int) inherits (n);
insert into n select g % 230, g % 190 from generate_series(1, 500) g;
insert into n1 select g % 200, g % 170, g from generate_series(1, 900) g;
create index on n (a);
create index on n (b);
create index on n1 (a);
create index on n1 (b) where extra > 0;
create index on n1 (b);
vacuum analyze p, n, n1;
select arms_same('select o.id, p.* from o join p on p.a = o.x or p.b = o.y where o.k = 3');
select arms_same('select o.id, p.id from o left join p on (p.a = o.x or p.b = o.y) and p.id between o.id and o.id + 900 where o.k < 5');
select arms_same('select o.id, p.id, p.tableoid::regclass, p from o join p on (p.a = o.x or p.b = o.y) and p.id < o.id * 5 where o.k < 5');
select arms_same('select o.id from o where exists (select from p where (p.a = o.x or p.b = o.y) and p.v = o.z)');
select arms_same('select o.id from o where not exists (select from p where (p.a = o.x or p.b = o.y) and p.v = o.z and p.id > o.id * 4)');
select arms_same('select o.id, n.* from o join n on n.a = o.x or n.b = o.y where o.k = 3');
select arms_same('select o.id, u.* from o join (select a, b from n union all select a, b from i) u on u.a = o.x or u.b = o.y where o.k = 3');
select anago_plan('select o.id, p.id from o left join p on (p.a = o.x or p.b = o.y) and p.id between o.id and o.id + 900 where o.k < 5');
select line from anago_explain('verbose, costs off',
	'select o.id, p.id from o join p on p.a = o.x or p.b = o.y where o.k = 3', false) line where line ~ '(Tables|Step)';

-- in several processes
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
select arms_same('select o.id, i.id from o join i on i.a = o.x or i.b = o.y where o.k < 40');
select arms_same('select o.id, p.id from o left join p on (p.a = o.x or p.b = o.y) and p.id > o.id * 4 where o.k < 40');
select count(*) from anago_plan('select o.id, i.id from o join i on i.a = o.x or i.b = o.y where o.k < 40') line
	where line ~ 'Parallel Custom Scan .AnagoJoin|arms';
reset parallel_setup_cost;
reset parallel_tuple_cost;
reset min_parallel_table_scan_size;
reset min_parallel_index_scan_size;

-- where rows are changed core's loop stays, with a look for each arm
select line from anago_plan('update i set pay = i.pay from o where (i.a = o.x or i.b = o.y) and o.k = 3') line
	where line ~ 'Nested|Anago|Look';
begin;
with changed as (update i set c = -1 from o where (i.a = o.x or i.b = o.y) and o.k = 3 returning i.id)
	select count(*), sum(id) from changed;
rollback;
set anago.enable = off;
begin;
with changed as (update i set c = -1 from o where (i.a = o.x or i.b = o.y) and o.k = 3 returning i.id)
	select count(*), sum(id) from changed;
rollback;
set anago.enable = on;

-- row security: what the policy hides stays hidden
create role regress_arms;
grant usage on schema arms to regress_arms;
grant select on o, i to regress_arms;
create policy i_policy on i using (c < 9);
alter table i enable row level security;
create function tell(int) returns boolean language plpgsql cost 1 as $$
begin
	raise notice 'told of %', $1;
	return true;
end $$;
grant execute on function tell to regress_arms;
set role regress_arms;
select count(*), max(i.c) from o join i on i.a = o.x or i.b = o.y where o.k < 5;
select count(*) from o join i on i.a = o.x or i.b = o.y where o.k < 5 and i.c >= 9 and tell(i.c);
reset role;
alter table i disable row level security;
drop policy i_policy on i;

-- an error in the key of one arm comes out, as does one that only some row raises
select count(*) from o join i on i.a = o.x or i.b = 10 / (o.z - 3) where o.k = 3;
select count(*) from o join i on i.a = o.x or i.b = 10 / (o.z - 30) where o.k = 3;

-- at its own price: where pages are waited for it wins, where none are it does not
create table wide (id int, a int, b int, pay text);
alter table wide alter pay set storage plain;
insert into wide select g, g, g * 7 % 2400, repeat('w', 7000) from generate_series(1, 2400) g;
create index on wide (a);
create index on wide (b);
vacuum analyze wide;
reset anago.debug_force;
set anago.io_gain = 4;
set anago.residency = off;
select anago_plan('select o.id, wide.id from o join wide on wide.a = o.x or wide.b = o.y where o.k < 9');
set anago.io_gain = 1;
select anago_plan('select o.id, wide.id from o join wide on wide.a = o.x or wide.b = o.y where o.k < 9');
reset anago.io_gain;
reset anago.residency;

reset anago.enable;
reset enable_hashjoin;
reset enable_mergejoin;
reset enable_seqscan;
set client_min_messages = warning;
drop schema arms cascade;
drop role regress_arms;
