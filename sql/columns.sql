-- What a step fills beside a table's columns: system columns, whole rows,
-- names out of an index.  Answers are (same rows, how many, our plan).
load 'anago';

create table co_a (id int primary key, k int, t text);
create table co_b (id int primary key, a int, v int, t text);
create table co_c (id int primary key, b int, pad text);
insert into co_a select g, g % 50, 't' || g from generate_series(1, 600) g;
insert into co_b select g, g % 90 * 7, g % 9, 'u' || g from generate_series(1, 1500) g;
insert into co_c select g, g % 1900, repeat('x', g % 100) from generate_series(1, 1200) g;
create index co_a_k on co_a (k);
create index co_b_a on co_b (a);
create index co_c_b on co_c (b);
-- versions of rows, of several transactions
update co_a set t = t || '+' where id % 3 = 0;
delete from co_b where id % 11 = 0;
vacuum analyze co_a, co_b, co_c;

-- system columns, of a scan
select anago_same('select ctid, * from co_a where k = 3');
select anago_same('select tableoid, tableoid::regclass, id from co_a where k < 3');
select anago_same('select xmin, xmax, cmin, cmax, id from co_a where k < 3');
select anago_same('select id from co_a where k < 9 and ctid < $$(2,1)$$');
select anago_same('select ctid from co_a where k = 3 and xmax::text = $$0$$ and tableoid = $$co_a$$::regclass');
select anago_same('select count(*), max(ctid) from co_a where k = 3');

-- rows that this transaction has made, deleted and locked
begin;
insert into co_a select g, 1, 'new' from generate_series(1001, 1040) g;
update co_a set t = 'changed' where id between 1010 and 1020;
select count(*) from (select from co_a where k = 1 and id < 200 for update) x;
delete from co_a where id between 1015 and 1030;
select anago_same('select id, ctid, xmin, xmax, cmin, cmax from co_a where k = 1');
select count(*) from (select from co_a where k = 1 and xmax::text <> '0') x;
rollback;

-- of steps of a join, stored between steps, and NULL where there is no match
select anago_same('select co_a.ctid, co_a.xmin, co_b.ctid, co_b.tableoid::regclass from co_a
	join co_b on co_b.a = co_a.id where co_a.k = 3');
select anago_same('select co_a.ctid, co_b.ctid, co_c.ctid, co_c.pad from co_a join co_b on co_b.a = co_a.id
	join co_c on co_c.b = co_b.id where co_a.k < 10');
select anago_same('select co_a.ctid, co_b.ctid, co_b.cmin, co_c.tableoid, co_c.id from co_a
	left join co_b on co_b.a = co_a.id left join co_c on co_c.b = co_b.id where co_a.k < 10');
select anago_same('select co_b.id, co_a.ctid from co_b left join co_a on co_a.id = co_b.a
	where co_b.id < 300 and co_a.ctid is null');
select anago_same('select co_b.id from co_b join co_a on co_a.id = co_b.a and co_a.ctid > co_b.ctid
	where co_b.id < 300');
select anago_same('select ctid from co_a where k < 10
	and exists (select 1 from co_b where co_b.a = co_a.id and co_b.ctid > co_a.ctid)');
select anago_same('select ctid from co_a where k < 10
	and not exists (select 1 from co_b where co_b.a = co_a.id and co_b.ctid > co_a.ctid)');
select anago_same('select co_a.ctid as x, co_b.ctid as y from co_a join co_b on co_b.a = co_a.id
	where co_a.k = 3 order by co_b.ctid, co_a.ctid limit 5');
set anago.enable = on;
set anago.debug_force = on;
select anago_plan('select co_a.ctid, co_b.tableoid from co_a left join co_b on co_b.a = co_a.id
	and co_b.ctid > co_a.ctid where co_a.k = 3');
reset anago.debug_force;
reset anago.enable;

-- whole rows
select anago_same('select co_a from co_a where k = 3');
select anago_same('select co_a, id, k from co_a where k = 3');
select anago_same('select co_a, co_b, co_c from co_a join co_b on co_b.a = co_a.id
	join co_c on co_c.b = co_b.id where co_a.k < 10');
select anago_same('select co_a, co_b, co_c, co_b is null, co_c is not null from co_a
	left join co_b on co_b.a = co_a.id left join co_c on co_c.b = co_b.id where co_a.k < 10');
select anago_same('select to_json(co_a), row_to_json(co_b) from co_a left join co_b on co_b.a = co_a.id
	where co_a.k < 10');
select anago_same('select count(co_b), count(distinct co_b), count(*) from co_a
	left join co_b on co_b.a = co_a.id where co_a.k < 10');
select anago_same('select co_a.id from co_a left join co_b on co_b.a = co_a.id
	where co_a.k < 10 and co_b is null');
select anago_same('select co_a.id, (co_b).v from co_a join co_b on co_b.a = co_a.id and (co_b).t <> co_a.t
	where co_a.k < 10 and co_b is not null');
select anago_same('select (x.co_b).*, x.ctid from (select co_b, co_b.ctid from co_a
	join co_b on co_b.a = co_a.id where co_a.k < 4 offset 0) x');
select anago_same('select co_a.id, (select count(co_b) from co_b where co_b.a = co_a.id) from co_a where k = 7');
select anago_same('select co_a.id from co_a where k < 10
	and exists (select from co_b where co_b.a = co_a.id and co_b::text like $$%9%$$ || co_a.id || $$%$$)');
select anago_same('select array_agg(co_b order by co_b) from co_a join co_b on co_b.a = co_a.id
	where co_a.k < 10 group by co_a.k');
create function co_text(co_b) returns text language sql immutable as 'select $1.t || $1.v';
select anago_same('select co_b.co_text, co_text(co_b) from co_a left join co_b on co_b.a = co_a.id where co_a.k = 3');
create function co_strict(co_b) returns text language plpgsql immutable strict as 'begin return $1.t; end';
select anago_same('select co_strict(co_b) from co_a left join co_b on co_b.a = co_a.id where co_a.k < 5');
set anago.enable = on;
set anago.debug_force = on;
select anago_plan('select co_b, co_b.ctid from co_a join co_b on co_b.a = co_a.id
	and co_b is not null where co_a.k = 3');
reset anago.debug_force;
reset anago.enable;

-- the row type has had other columns
create table co_alt (a int, b text, c int, d numeric);
insert into co_alt select g % 90, 'b' || g, g, g from generate_series(1, 300) g;
alter table co_alt drop column b;
insert into co_alt (a, c, d) select g, -g, null from generate_series(1, 40) g;
alter table co_alt add column e text default 'added', add column f int;
insert into co_alt select g, g, g, 'own', g from generate_series(1, 40) g;
create index co_alt_a on co_alt (a);
vacuum analyze co_alt;
select anago_same('select co_alt, to_json(co_alt) from co_alt where a < 20');
select anago_same('select co_a.id, co_alt, co_alt is null, (co_alt).e from co_a
	left join co_alt on co_alt.a = co_a.id where co_a.k < 10');
select anago_same('select x, to_json(x) from co_alt x(one, two, three, four) where one < 20');
select anago_same_prepared('select co_alt from co_alt where a = $1', 'int', '3', '77');

-- out-of-line and compressed columns of a whole row
create table co_big (a int, big text, zip text);
alter table co_big alter big set storage external, alter zip set storage main;
insert into co_big select g, repeat(md5(g::text), 150), repeat(g::text, 6000) from generate_series(1, 60) g;
create index co_big_a on co_big (a);
select anago_same('select md5(co_big::text) from co_big where a < 20');
select anago_same('select co_big, co_b.id from co_big join co_b on co_b.a = co_big.a where co_big.a < 15');
select anago_same('select co_a.id, md5(co_big::text), (co_big).a from co_a left join co_big on co_big.a = co_a.id
	where co_a.k < 5');

-- partitions: each has a type and an oid of its own
create table co_p (k int, v int, t text) partition by range (k);
create table co_p1 partition of co_p for values from (0) to (100);
create table co_p2 (t text, x int, k int, v int);
alter table co_p2 drop column x;
alter table co_p attach partition co_p2 for values from (100) to (200);
insert into co_p select g, g % 7, 'p' || g from generate_series(0, 199) g;
create index co_p_k on co_p (k);
analyze co_p;
select anago_same('select tableoid::regclass, ctid, co_p, to_json(co_p) from co_p where k between 90 and 110');
select anago_same('select co_p.tableoid::regclass, co_p, co_b, co_b.ctid from co_p
	left join co_b on co_b.a = co_p.k where co_p.k between 90 and 110');
select anago_same('select co_p from co_p where k between 90 and 110 and co_p::text like $$%5%$$');
create table co_par (id int primary key, k int);
create table co_inh (more int, primary key (id)) inherits (co_par);
insert into co_par select g, g % 50 from generate_series(1, 600) g;
insert into co_inh select g, g % 50, g from generate_series(601, 700) g;
select anago_same('select co_par.tableoid::regclass, co_par, co_par.ctid from co_par where id between 590 and 610');
select anago_same('select co_par.tableoid::regclass, co_par, co_b from co_par left join co_b on co_b.a = co_par.id
	where co_par.id between 590 and 610');
drop table co_inh, co_par;

-- written by the same statement, in workers
select anago_same('with x as materialized (select ctid, co_a from co_a where k = 3)
	select * from x join co_b on co_b.a = (x.co_a).id');
create table co_into as select co_a.ctid as place, co_a as row, co_b as other from co_a
	left join co_b on co_b.a = co_a.id where co_a.k = 3;
select count(*), count(other) from co_into;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_index_scan_size = 0;
set min_parallel_table_scan_size = 0;
select anago_same('select co_a, co_b, co_c.ctid, co_b.tableoid::regclass from co_a
	left join co_b on co_b.a = co_a.id left join co_c on co_c.b = co_b.id where co_a.k < 10');
reset parallel_setup_cost;
reset parallel_tuple_cost;
reset min_parallel_index_scan_size;
reset min_parallel_table_scan_size;

-- not of a row's type
select co_a.nothing from co_a where k = 3;

-- a name column: cstring in the index, a name in the table
create table co_n (n name, x int, m name);
insert into co_n select repeat('n', g % 60) || g, g, 'm' || g % 20 from generate_series(1, 400) g;
insert into co_n values (null, 0, null), ('', 1, ''), (repeat('y', 63), 2, repeat('z', 63));
create index co_n_n on co_n (n);
create index co_n_xn on co_n (x, n);
create index co_n_inc on co_n (m) include (n);
create table co_ref (id int, n name);
insert into co_ref select x, n from co_n where x % 5 < 2;
create index co_ref_id on co_ref (id);
vacuum analyze co_n, co_ref;
select anago_same('select n from co_n where n > $$nnn$$');
select anago_same('select n, x from co_n where x < 90');
select anago_same('select n, length(n), n::text || $$.$$, hashname(n) from co_n where n >= $$$$');
select anago_same('select m, n from co_n where m in ($$m3$$, $$m17$$, $$$$)');
select anago_same('select n, count(*) from co_n where n < $$nnnnnnn5$$ group by n');
select anago_same('select co_ref.id, co_n.n from co_ref join co_n on co_n.n = co_ref.n where co_ref.id < 90');
select anago_same('select co_ref.id, co_n.n, co_a.t from co_ref left join co_n on co_n.x = co_ref.id
	and co_n.n > $$nnnn$$ left join co_a on co_a.id = co_ref.id and co_a.t <> co_n.n::text where co_ref.id < 90');
select anago_same('select c.relname, n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
	where c.relname like $$co\_%$$ and c.relname >= $$co$$ and c.relname < $$cp$$');
set anago.enable = on;
set anago.debug_force = on;
select anago_plan('select n from co_n where n > $$nnn$$');
select anago_plan('select co_ref.id, co_n.n from co_ref join co_n on co_n.n = co_ref.n where co_ref.id < 90');
reset anago.debug_force;
reset anago.enable;
