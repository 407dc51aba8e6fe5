-- Correlated subqueries in a join's filter, evaluated again for the same values
-- (src/plan/repeats.c).  Plans are chosen by cost.
load 'anago';
create table rp_parts (id int primary key, brand int, note text) with (autovacuum_enabled = off);
create table rp_items (part int, quantity int, sort int, note text) with (autovacuum_enabled = off);
insert into rp_parts select g, g % 800, repeat('p', 80) from generate_series(0, 3999) g;
insert into rp_items select g * 7919 % 4000, g::bigint * 48271 % 1009 % 50, g % 10, repeat('i', 100) from generate_series(0, 119999) g;
create index rp_items_part on rp_items (part);
vacuum analyze rp_parts, rp_items;
set max_parallel_workers_per_gather = 0;
set enable_memoize = off;

-- of five parts the items below the part's average: core counts the subquery once in
-- a hash join, which scans all items, and for each row in a nested loop
create view rp_below as select p.id, i.quantity from rp_parts p join rp_items i on i.part = p.id
	where p.brand = 7 and i.quantity < (select 0.4 * avg(s.quantity) from rp_items s where s.part = p.id);
set anago.enable = off;
select anago_plan($$select * from rp_below$$);
select count(*), sum(quantity), sum(id) from rp_below;
set anago.enable = on;
select anago_plan($$select * from rp_below$$);
select count(*), sum(quantity), sum(id) from rp_below;
select * from anago_same('select * from rp_below');

-- also where pages have to be waited for
set anago.residency = off;
select anago_plan($$select * from rp_below$$);
select * from anago_same('select * from rp_below');
reset anago.residency;

-- what all parts want is read in one scan, whatever the subquery takes
select anago_plan($$select count(*) from rp_parts p join rp_items i on i.part = p.id
	where i.quantity < (select 0.4 * avg(s.quantity) from rp_items s where s.part = p.id)$$);

-- for a value of the item's own each evaluation is another one
select anago_plan($$select count(*) from rp_parts p join rp_items i on i.part = p.id
	where p.brand = 7 and i.quantity < (select 0.4 * avg(s.quantity) from rp_items s where s.part = p.id + i.sort)$$);

-- few rows are left by a guess: what is joined to them is planned for these
select anago_used('select count(*) from rp_parts p join rp_items i on i.part = p.id
	where p.brand = 7 and i.quantity = (select max(s.quantity) from rp_items s where s.part = p.id)');

-- a Memoize of core's spares most evaluations, where the same parts come again; it makes no
-- difference where they do not
create table rp_orders (part int, note text) with (autovacuum_enabled = off);
insert into rp_orders select g * 7919 % 200 * 20, repeat('o', 50) from generate_series(0, 1999) g;
vacuum analyze rp_orders;
set enable_memoize = on;
create view rp_again as select i.quantity from rp_orders o join rp_items i on i.part = o.part
	and i.quantity < (select 0.2 * avg(s.quantity) from rp_items s where s.part = o.part);
select anago_used('select * from rp_again') as again, anago_used('select * from rp_below') as below;
set enable_memoize = off;
select anago_used('select * from rp_again') as without_memoize;
select * from anago_same('select * from rp_again');
drop view rp_again;
drop table rp_orders;

-- EXPLAIN shows subqueries of one-time conditions, too
select count(*) from anago_plan('select p.id, i.quantity from rp_parts p join rp_items i on i.part = p.id
	where p.brand = 7 and 3 in (select q.brand from rp_parts q)
	and i.quantity < (select 0.4 * avg(s.quantity) from rp_items s where s.part = p.id)') line where line ~ '^ *SubPlan$';

-- EXISTS, of which core has two plans; and a subquery in an outer join
select * from anago_same('select p.id, i.quantity from rp_parts p join rp_items i on i.part = p.id
	where p.brand = 7 and exists (select from rp_items s where s.part = p.id and s.quantity < i.quantity offset 0)');
select * from anago_same('select p.id, i.quantity from rp_parts p left join rp_items i on i.part = p.id
	and i.quantity < (select 0.1 * avg(s.quantity) from rp_items s where s.part = p.id) where p.brand = 7');

-- an error in it is the query's
select count(*) from rp_parts p join rp_items i on i.part = p.id
	where p.brand = 7 and i.quantity < (select 1 / (count(*) - 30) from rp_items s where s.part = p.id);


-- what the subquery reads is read ahead of it: it is tested above the join
create table rp_sales (part int, month int, amount int, note text) with (autovacuum_enabled = off);
insert into rp_sales select g * 4799 % 4000, g % 12, g % 100, repeat('s', 100) from generate_series(0, 39999) g;
create index rp_sales_part on rp_sales (part);
vacuum analyze rp_sales;
set anago.residency = off;
set anago.io_gain = 4;
create view rp_much as select p.id, i.sort, i.note from rp_parts p join rp_items i on i.part = p.id
	where p.brand < 40 and i.sort < 5 and i.quantity > (select 0.02 * sum(s.amount) from rp_sales s where s.part = i.part and s.month = i.sort)
	and i.note is not null;
select anago_plan($$select id, sort from rp_much$$);
select * from anago_same('select id, sort from rp_much');
select anago_looks('select count(*) from rp_much') as of_count, anago_looks('select id from rp_much limit 2') as of_some;
set anago.ahead = off;
select anago_looks('select id, sort from rp_much');
select * from anago_same('select id, sort from rp_much');
reset anago.ahead;
-- an error in it is the query's
select count(*) from rp_parts p join rp_items i on i.part = p.id
	where p.brand < 40 and i.quantity > (select 1 / (count(*) - 10) from rp_sales s where s.part = i.part);

-- not where the subquery says which row of a unique index is the only one, nor in an outer join or a semijoin
create table rp_firsts (part int, month int, note text, primary key (part, month)) with (autovacuum_enabled = off);
insert into rp_firsts select g / 12, g % 12, repeat('f', 100) from generate_series(0, 47999) g;
vacuum analyze rp_firsts;
set enable_hashjoin = off;
set enable_mergejoin = off;
select anago_looks(q), same.* from (values
	('select p.id, f.month, f.note from rp_parts p join rp_firsts f on f.part = p.id
		and f.month = (select min(s.month) from rp_sales s where s.part = p.id and s.amount > 50) where p.brand < 40'),
	('select p.id, i.sort from rp_parts p left join rp_items i on i.part = p.id
		and i.quantity > (select 0.02 * sum(s.amount) from rp_sales s where s.part = i.part and s.month = i.sort) where p.brand < 40'),
	('select p.id from rp_parts p where p.brand < 40 and exists (select from rp_items i where i.part = p.id
		and i.quantity > (select 0.02 * sum(s.amount) from rp_sales s where s.part = i.part and s.month = i.sort))')) v (q),
	anago_same(q) same;

drop view rp_below, rp_much;
drop table rp_parts, rp_items, rp_sales, rp_firsts;
