-- Rows leave in the order of the index where that is asked for.
load 'anago';
set max_parallel_workers_per_gather = 0;
set enable_incremental_sort = off;

-- Many duplicates, so that some span leaves; NULLs; values in no order of the heap.
create table ord1 (id int, a int, b int, c text, n int, pad text);
insert into ord1 select g, (hashint4(g) & 65535) % 1500, g % 5, ((hashint4(g + 77) & 65535) % 500)::text,
	nullif(g % 90, 0) % 40, repeat('x', g % 200)
	from generate_series(1, 6000) g;
insert into ord1 select g, 750, g % 3, null, null, '' from generate_series(6001, 7500) g;
create index ord1_a on ord1 (a);
create index ord1_ba on ord1 (b, a, id);
create index ord1_c on ord1 (lower(c));
create index ord1_n on ord1 (n);
create index ord1_nf on ord1 (n nulls first, id) where n is null or n > 5;
create index ord1_bd on ord1 (b desc, a, id desc);
create table ord2 (id int, ref int, v int);
insert into ord2 select g, (hashint4(g + 5) & 65535) % 7500, g % 10 from generate_series(1, 9000) g;
create index ord2_ref on ord2 (ref, v);
create index ord2_id on ord2 (id);
-- An index of three levels.
create table ord3 (id int, k int, pad text);
insert into ord3 select g, (hashint4(g) & 65535) % 20000, repeat('z', 20) from generate_series(1, 16000) g;
create index ord3_k on ord3 (k, id) with (fillfactor = 10);
vacuum analyze ord1, ord2, ord3;

-- ascending and descending, ranges and all of it
select same, rows, kept from anago_same_keys('select a, id, pad from ord1 where a between 100 and 900 order by a', 'a');
select same, rows, kept from anago_same_keys('select a, id, pad from ord1 where a between 100 and 900 order by a desc', 'a');
select same, rows, kept from anago_same_keys('select a, id from ord1 order by a', 'a');
select same, rows, kept from anago_same_keys('select a, id from ord1 order by a desc', 'a');
select same, rows from anago_same_keys('select a, id from ord1 where a = 750 order by a', 'a');
select same, rows from anago_same_keys('select a, id from ord1 where a = 750 order by a desc', 'a');
select same, rows, kept from anago_same_keys('select a, id from ord1 where a > 1490 order by a desc', 'a');
select same, rows, kept from anago_same_keys('select a, id from ord1 where a < 3 order by a desc', 'a');
select same, rows, kept from anago_same_keys('select a, id from ord1 where a < -3 order by a desc', 'a');
select same, rows, kept from anago_same_keys('select a, id from ord1 where a > 70000 order by a desc', 'a');

-- over many pages of the level above the leaves
select same, rows, kept from anago_same_keys('select k, id, pad from ord3 where k > 40 order by k', 'k');
select same, rows, kept from anago_same_keys('select k, id, pad from ord3 where k > 40 order by k desc, id desc', 'k, id');
select same, rows, kept from anago_same_keys('select k, id from ord3 where k between 3000 and 15000 order by k desc', 'k');
select same, rows, kept from anago_same_keys('select k, id from ord3 where k between 3000 and 15000 order by k desc limit 3000', 'k');
select same, rows from anago_same_keys('select k, id from ord3 where k = any (array(select generate_series(100, 19000, 700))) order by k', 'k');
select same, rows from anago_same_keys('select k, id from ord3 where k = any (array(select generate_series(100, 19000, 700))) order by k desc', 'k');
select same, rows from anago_same_keys('select k, id from ord3 where k = any (array(select generate_series(100, 19000, 700))) and id > 4000 order by k desc', 'k');

-- several columns, in one direction and another
select same, rows, kept from anago_same_keys('select b, a, id, pad from ord1 where b > 1 order by b, a, id', 'b, a, id');
select same, rows, kept from anago_same_keys('select b, a, id, pad from ord1 where b > 1 order by b desc, a desc, id desc', 'b, a, id');
select same, rows, kept from anago_same_keys('select b, a, id, pad from ord1 where b = 2 and a > 10 order by a, id', 'b, a, id');
select same, rows, kept from anago_same_keys('select b, a, id, pad from ord1 where b = 2 and a > 10 order by a desc', 'b, a');
select same, rows, kept from anago_same_keys('select b, a, id, pad from ord1 where b < 3 order by b desc, a, id desc', 'b, a, id');
select same, rows, kept from anago_same_keys('select b, a, id, pad from ord1 where b < 3 order by b, a desc, id', 'b, a, id');
select same, rows, kept from anago_same_keys('select b, a, id, pad from ord1 where b = 2 order by a, id limit 500', 'a, id');

-- NULLs at either end
select same, rows, kept from anago_same_keys('select n, id from ord1 order by n', 'n');
select same, rows, kept from anago_same_keys('select n, id from ord1 order by n desc', 'n');
select same, rows, kept from anago_same_keys('select n, id from ord1 where n is null or n > 5 order by n nulls first, id', 'n, id');
select same, rows, kept from anago_same_keys('select n, id from ord1 where n is null or n > 5 order by n desc nulls last, id desc', 'n, id');
select same, rows, kept from anago_same_keys('select n, id from ord1 where n is not null order by n desc', 'n');
select same, rows, kept from anago_same_keys('select n, id, pad from ord1 where n > 30 order by n desc', 'n');

-- an expression; a filter; index-only
select same, rows, kept from anago_same_keys('select lower(c) as l, id from ord1 where lower(c) > ''2'' order by lower(c)', 'l');
select same, rows, kept from anago_same_keys('select lower(c) as l, id from ord1 where lower(c) > ''2'' order by lower(c) desc', 'l');
select same, rows, kept from anago_same_keys('select a, id from ord1 where a > 100 and id % 7 = 3 order by a desc', 'a');
select same, rows, kept from anago_same_keys('select b, a from ord1 where b > 2 order by b, a', 'b, a');
select same, rows, kept from anago_same_keys('select b, a from ord1 where b > 2 order by b desc, a desc', 'b, a');
update ord1 set pad = 'new' where id % 500 = 0;
select same, rows, kept from anago_same_keys('select b, a, id from ord1 where b > 2 order by b, a, id', 'b, a, id');
select same, rows, kept from anago_same_keys('select b, a, id from ord1 where b > 2 order by b desc, a desc, id desc', 'b, a, id');

-- lists; some versions claim an order for one that others sort
select same, rows from anago_same_keys('select a, id from ord1 where a in (3, 1499, 17, 750, 4, 900) order by a', 'a');
select same, rows from anago_same_keys('select a, id from ord1 where a in (3, 1499, 17, 750, 4, 900) order by a desc', 'a');
select same, rows from anago_same_keys('select a, id from ord1 where a = any (array(select generate_series(0, 1600, 3))) order by a', 'a');
select same, rows from anago_same_keys('select a, id from ord1 where a = any (array(select generate_series(0, 1600, 3))) order by a desc', 'a');
select same, rows from anago_same_keys('select b, a, id from ord1 where b in (1, 3, 4) and a in (5, 750, 77, 1200) order by b, a, id', 'b, a, id');
select same, rows from anago_same_keys('select b, a, id from ord1 where b in (1, 3, 4) and a in (5, 750, 77, 1200) order by b desc, a desc, id desc', 'b, a, id');
select same, rows from anago_same_keys('select b, a, id from ord1 where b in (0, 2) and a > 1400 order by b desc, a desc, id desc', 'b, a, id');

-- LIMIT, OFFSET, and ties
select same, rows, kept from anago_same_keys('select a, id from ord1 where a > 100 order by a limit 7', 'a');
select same, rows, kept from anago_same_keys('select a, id from ord1 where a > 100 order by a desc limit 700', 'a');
select same, rows, kept from anago_same_keys('select b, a, id from ord1 where b > 1 order by b, a, id offset 300 limit 40', 'b, a, id');
select same, rows, kept from anago_same_keys('select b, a from ord1 where b > 1 order by b, a fetch first 13 rows with ties', 'b, a');

-- joins
set enable_hashjoin = off;
set enable_mergejoin = off;
select same, rows, kept from anago_same_keys('select ord1.b, a, ord1.id, ord2.id as i2 from ord1 join ord2 on ref = ord1.id where ord1.b = 2 and a > 500 order by ord1.b, a, ord1.id', 'b, a, id');
select same, rows, kept from anago_same_keys('select ord1.b, a, ord1.id, ord2.id as i2 from ord1 join ord2 on ref = ord1.id where ord1.b = 2 and a > 500 order by ord1.b desc, a desc, ord1.id desc', 'b, a, id');
select same, rows, kept from anago_same_keys('select a, ord1.id, ord2.id as i2, pad from ord1 left join ord2 on ref = ord1.id and v > 4 where a > 500 order by a', 'a');
select same, rows, kept from anago_same_keys('select a, ord1.id, pad from ord1 where a > 500 and exists (select from ord2 where ref = ord1.id and v > 4) order by a desc', 'a');
select same, rows, kept from anago_same_keys('select a, ord1.id, pad from ord1 where a > 500 and not exists (select from ord2 where ref = ord1.id and v > 4) order by a desc', 'a');
select same, rows, kept from anago_same_keys('select o.a, o.id, p.a as a2 from ord1 o join ord2 on ref = o.id join ord1 p on p.a = ord2.v where o.b = 1 and o.a < 200 order by o.a', 'a');
select same, rows, kept from anago_same_keys('select a, ord1.id, ord2.id as i2 from ord1 join ord2 on ref = ord1.id where a > 500 order by a limit 100', 'a');

-- the outer side is some other plan that has an order
select same, rows from anago_same_keys('select s.a, s.n, ord2.id from (select a, id, count(*) as n from ord1 where a < 400 group by a, id order by a, id offset 0) s join ord2 on ref = s.id order by s.a, s.id', 'a');
select line from (values ($$select s.a, s.n, ord2.id from (select a, id, count(*) as n from ord1 where a < 400 group by a, id order by a, id offset 0) s join ord2 on ref = s.id order by s.a, s.id$$)) v(query),
	lateral (select set_config('anago.enable', 'on', false), set_config('anago.debug_force', 'on', false) offset 0) c,
	lateral anago_plan(query) line where line ~ 'Order Kept: Child';
reset anago.enable;
reset anago.debug_force;

-- merge joins, on both sides
reset enable_hashjoin;
reset enable_mergejoin;
set enable_hashjoin = off;
set enable_nestloop = off;
set enable_sort = off;
select same, rows from anago_same_keys('select o.a, o.id, p.id as i2 from ord1 o join ord2 p on o.a = p.ref where o.a < 700 and o.a > 3 order by o.a', 'a');
select same, rows from anago_same_keys('select o.a, o.id, p.a as a2 from ord1 o join ord1 p on o.a = p.a where o.a between 740 and 749 order by o.a', 'a');
select same, rows from anago_same_keys('select o.a, o.id, p.id as i2 from ord1 o left join ord2 p on o.a = p.ref where o.a < 700 order by o.a', 'a');
select same, rows from anago_same_keys('select o.a, o.id, p.id as i2 from ord1 o full join ord2 p on o.a = p.ref and p.v = 3 order by o.a', 'a');
reset enable_nestloop;
reset enable_hashjoin;

-- groups, distinct rows, windows
set enable_hashagg = off;
select same, rows, kept from anago_same_keys('select a, count(*), sum(id), max(pad) from ord1 where a > 100 group by a', 'a');
select same, rows, kept from anago_same_keys('select distinct a from ord1 where a > 100', 'a');
select same, rows from anago_same_keys('select distinct on (b, a) b, a, id from ord1 where b = 3 order by b, a, id', 'b, a, id');
select same, rows, kept from anago_same_keys('select a, row_number() over (order by a) from ord1 where a between 10 and 60', 'a, row_number');
select same, rows, kept from anago_same_keys('select b, a, id, lag(id) over (partition by b order by a, id) from ord1 where b > 3', 'b, a, id, lag');
select same, rows, kept from anago_same_keys('select min(a), max(a) from ord1 where a > 4 and a < 1250', 'min, max');
reset enable_hashagg;
reset enable_sort;

-- as the inner side of a nested loop, with a parameter; a correlated subquery
select same, rows from anago_same_keys('select g, l.a, l.id from generate_series(1, 40) g, lateral (select b, a, id from ord1 where b = g % 5 and a > g * 10 order by b, a, id limit 5) l order by g, l.a, l.id', 'g, a, id');
select same, rows from anago_same_keys('select g, (select a from ord1 where a > g * 20 order by a limit 1) from generate_series(1, 70) g order by g', 'g');

-- partitions: a MergeAppend
create table ordp (k int, id int, pad text) partition by range (id);
create table ordp1 partition of ordp for values from (0) to (3000);
create table ordp2 partition of ordp for values from (3000) to (6000);
create table ordp3 partition of ordp for values from (6000) to (9000);
insert into ordp select (hashint4(g) & 65535) % 5000, g, repeat('p', 50) from generate_series(1, 8999) g;
create index on ordp (k);
vacuum analyze ordp;
select same, rows, kept from anago_same_keys('select k, id from ordp where k > 50 order by k', 'k');
select same, rows, kept from anago_same_keys('select k, id from ordp where k > 50 order by k desc limit 60', 'k');

-- cursors; one that scrolls is stock's
set anago.enable = on;
set anago.debug_force = on;
begin;
declare ord_cursor cursor for select b, a, id from ord1 where b = 2 order by a desc, id desc;
fetch 3 from ord_cursor;
move 50 in ord_cursor;
fetch 2 from ord_cursor;
close ord_cursor;
declare ord_cursor scroll cursor for select b, a, id from ord1 where b = 2 order by a desc, id desc;
fetch 3 from ord_cursor;
fetch backward 2 from ord_cursor;
move last in ord_cursor;
fetch backward 2 from ord_cursor;
close ord_cursor;
rollback;
begin;
declare ord_cursor no scroll cursor for select id from ord1 where a between 10 and 20 order by a;
fetch 1 from ord_cursor \gset
delete from ord1 where current of ord_cursor;
select :id = id as deleted_it from (values (:id)) v(id) where not exists (select from ord1 o where o.id = v.id);
rollback;

-- what EXPLAIN says
explain (costs off) select a, id from ord1 where a < 100 order by a desc limit 5;
select * from anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select a, ord1.id from ord1 join ord2 on ref = ord1.id where a < 100 order by a limit 5');
select * from anago_explain('analyze, costs off, timing off, summary off, buffers on, format json',
	'select a, id from ord1 where a < 100 order by a') line where line ~ '"(Order Kept|Peak Rows Kept)"';
reset anago.debug_force;
reset anago.enable;

drop table ord1, ord2, ord3, ordp;
reset all;
