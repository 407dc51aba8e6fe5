-- Chains of index joins give stock's rows.  Answers are (same rows, how many,
-- our plan).
load 'anago';

create table r1 (id int primary key, a int, b text, n int);
create table r2 (id int primary key, r1 int, v int, n int);
create table r3 (id int primary key, r2 int, v int, t text);
create table r4 (id int primary key, r3 int, v int);
create table r5 (id int primary key, r4 int, v int);
create table r6 (id int primary key, r5 int, v int);
create table r7 (id int primary key, r6 int, v int);
insert into r1 select g, g % 20, 'b' || g % 5, nullif(g % 6, 0) from generate_series(1, 400) g;
insert into r2 select g, nullif(g % 350, 0) + case when g % 9 = 0 then 100 else 0 end,
	g % 13, nullif(g % 8, 0) from generate_series(1, 900) g;
insert into r3 select g, g * 7 % 1000, g % 11, 't' || g % 9 from generate_series(1, 1500) g;
insert into r4 select g, g * 3 % 1600, g % 5 from generate_series(1, 2000) g;
insert into r5 select g, g * 11 % 2200, g % 7 from generate_series(1, 2500) g;
insert into r6 select g, nullif(g % 2600, 5), g % 3 from generate_series(1, 2600) g;
insert into r7 select g, g % 2700, g from generate_series(1, 2700) g;
create index r1_a on r1 (a);
create index r2_r1 on r2 (r1);
create index r2_n on r2 (n, v);
create index r3_r2 on r3 (r2, v);
create index r4_r3 on r4 (r3);
create index r5_r4 on r5 (r4);
create index r6_r5 on r6 (r5);
create index r7_r6 on r7 (r6);
vacuum analyze r1, r2, r3, r4, r5, r6, r7;

-- inner, two to seven tables
select anago_same('select * from r1 join r2 on r2.r1 = r1.id where r1.a = 3');
select anago_same('select r1.b, r2.v, r3.t from r1 join r2 on r2.r1 = r1.id
	join r3 on r3.r2 = r2.id where r1.a = 3');
select anago_same('select * from r1 join r2 on r2.r1 = r1.id join r3 on r3.r2 = r2.id
	join r4 on r4.r3 = r3.id where r1.a between 3 and 4');
select anago_same('select r1.id, r5.* from r1 join r2 on r2.r1 = r1.id join r3 on r3.r2 = r2.id
	join r4 on r4.r3 = r3.id join r5 on r5.r4 = r4.id where r1.a = 3');
select anago_same('select r1.id, r6.v from r1 join r2 on r2.r1 = r1.id join r3 on r3.r2 = r2.id
	join r4 on r4.r3 = r3.id join r5 on r5.r4 = r4.id join r6 on r6.r5 = r5.id where r1.a < 5');
select anago_same('select r1.id, r7.v from r1 join r2 on r2.r1 = r1.id join r3 on r3.r2 = r2.id
	join r4 on r4.r3 = r3.id join r5 on r5.r4 = r4.id join r6 on r6.r5 = r5.id
	join r7 on r7.r6 = r6.id where r1.a < 10');
-- the inner side by its primary key, and the same table twice
select anago_same('select * from r2 join r1 on r1.id = r2.r1 where r2.n = 3 and r2.v = 4');
select anago_same('select x.id, y.id from r2 x join r2 y on y.r1 = x.r1 where x.n = 3');
-- more than equality
select anago_same('select * from r1 join r3 on r3.r2 = r1.id and r3.v = r1.a where r1.a < 8');
select anago_same('select * from r1 join r3 on r3.r2 = r1.id and r3.v < r1.a where r1.a = 8');
select anago_same('select r1.id, r2.id from r1 join r2 on r2.id between r1.id and r1.id + 3 where r1.a = 1');
select anago_same('select r1.id, r2.id from r1 join r2 on r2.id > r1.id * 2 and r2.id < r1.id * 2 + 4
	where r1.a = 1');
select anago_same('select r1.id, r2.id from r1 join r2 on r2.id in (r1.id, r1.id + 1, r1.a) where r1.a = 2');
select anago_same('select r1.id, r2.id from r1 join r2 on r2.r1 = r1.id + 1 where r1.a = 2');
select anago_same('select * from r1 join r2 on r2.id = r1.id::int8 where r1.a = 2');
select anago_same('select * from r1 join r2 on r2.n is null and r2.v = r1.a where r1.id < 40');
-- extra join conditions and filters
select anago_same('select * from r1 join r2 on r2.r1 = r1.id and r2.v + r1.a > 12 where r1.a < 9');
select anago_same('select * from r1 join r2 on r2.r1 = r1.id and (r2.n = r1.n or r1.n = 2) where r1.a < 9');
select anago_same('select * from r1 join r2 on r2.r1 = r1.id and r2.v > 6 join r3 on r3.r2 = r2.id
	and r3.v <> r1.a where r1.a < 9 and r3.t like $$t%$$');
select anago_same('select * from r1 join r2 on r2.r1 = r1.id where r1.a < 9 and r2.v * random() >= 0');
select anago_same('select count(*) from r1 join r2 on r2.r1 = r1.id where r1.a < 9 and clock_timestamp() > now()');

-- left
select anago_same('select * from r1 left join r2 on r2.r1 = r1.id where r1.a = 3');
select anago_same('select * from r2 left join r1 on r1.id = r2.r1 where r2.n = 3');
select anago_same('select * from r1 left join r2 on r2.r1 = r1.id and r2.v > 6 where r1.a = 3');
select anago_same('select * from r1 left join r2 on r2.r1 = r1.id and r1.b = $$b3$$ where r1.a < 6');
select anago_same('select * from r1 left join r2 on r2.r1 = r1.id and r2.v > r1.a where r1.a < 6');
select anago_same('select * from r1 left join r2 on r2.r1 = r1.id where r1.a = 3 and r2.id is null');
select anago_same('select r1.id, coalesce(r2.v, -1) from r1 left join r2 on r2.r1 = r1.id + 300
	where r1.a < 6 and coalesce(r2.v, 5) < 9');
select anago_same('select * from r1 left join r2 on r2.r1 = r1.n * 100 where r1.a < 6');
-- chains of left joins: nulls run through
select anago_same('select * from r2 left join r1 on r1.id = r2.r1 left join r3 on r3.r2 = r1.id where r2.n = 3');
select anago_same('select r2.id, r1.id, r3.id, r4.id from r2 left join r1 on r1.id = r2.r1
	left join r3 on r3.r2 = r1.id and r3.v < 5 left join r4 on r4.r3 = r3.id where r2.n = 3');
select anago_same('select r2.id, r3.id from r2 left join r1 on r1.id = r2.r1
	left join r3 on r3.r2 = coalesce(r1.id, 7) where r2.n < 3');
-- left then inner, inner then left, a left join of a join
select anago_same('select * from r1 left join r2 on r2.r1 = r1.id join r3 on r3.r2 = r1.id where r1.a = 3');
select anago_same('select * from r1 join r2 on r2.r1 = r1.id left join r3 on r3.r2 = r2.id where r1.a = 3');
select anago_same('select * from r1 left join (r2 join r3 on r3.r2 = r2.id) on r2.r1 = r1.id where r1.a = 3');
select anago_same('select * from r1 left join (r2 left join r3 on r3.r2 = r2.id and r3.v = 2) on r2.r1 = r1.id
	where r1.a = 3');
select anago_same('select r1.id, x.c from r1 left join (select r1 as k, 5 as c, v from r2) x on x.k = r1.id
	and x.v > 4 where r1.a < 5');
-- the null-extended side is the one with the filter
select anago_same('select * from r1 right join r2 on r2.r1 = r1.id where r2.n = 3');
select anago_same('select * from r1 full join r2 on r2.r1 = r1.id where r1.a = 3 or r2.n = 3');

-- semi
select anago_same('select * from r1 where r1.a < 9 and exists (select 1 from r2 where r2.r1 = r1.id)');
select anago_same('select * from r1 where r1.a < 9 and r1.id in (select r1 from r2 where v > 6)');
select anago_same('select * from r1 where r1.a < 9 and exists
	(select 1 from r2 where r2.r1 = r1.id and r2.v > r1.a)');
select anago_same('select * from r1 where r1.a < 9 and exists
	(select 1 from r2 join r3 on r3.r2 = r2.id where r2.r1 = r1.id and r3.v < 5)');
select anago_same('select * from r2 join r1 on r1.id = r2.r1 where r2.n = 3
	and exists (select 1 from r3 where r3.r2 = r2.id and r3.v = r1.a)');
select anago_same('select * from r1 where r1.a < 3 and r1.id = any (select r1 from r2) and
	exists (select 1 from r3 where r3.r2 = r1.id)');

-- anti
select anago_same('select * from r1 where r1.a < 9 and not exists (select 1 from r2 where r2.r1 = r1.id)');
select anago_same('select * from r1 where r1.a < 9 and not exists
	(select 1 from r2 where r2.r1 = r1.id and r2.v > 6)');
select anago_same('select * from r1 where r1.a < 9 and not exists
	(select 1 from r2 where r2.r1 = r1.id and r2.v > r1.a)');
select anago_same('select * from r2 where r2.n < 4 and not exists (select 1 from r1 where r1.id = r2.r1)');
select anago_same('select * from r1 where r1.a < 9 and r1.id not in (select r1 from r2 where r1 is not null)');
select anago_same('select * from r2 left join r1 on r1.id = r2.r1 where r2.n < 4 and r1.id is null');
select anago_same('select r2.id, r3.id from r2 join r3 on r3.r2 = r2.id where r2.n = 3
	and not exists (select 1 from r4 where r4.r3 = r3.id and r4.v < 3)');
-- all kinds in one chain
select anago_same('select r1.id, r2.id, r5.id from r1 join r2 on r2.r1 = r1.id
	left join r3 on r3.r2 = r2.id and r3.v > 2
	left join r5 on r5.r4 = r3.id
	where r1.a < 6 and exists (select 1 from r6 where r6.r5 = r2.id)
	and not exists (select 1 from r7 where r7.r6 = r2.id and r7.v % 5 = 0)');

-- the outer side is some other plan
select anago_same('select * from (values (1), (17), (null), (17), (9999)) x(k) join r1 on r1.id = x.k');
select anago_same('select * from (values (1), (17), (null), (9999)) x(k) left join r1 on r1.id = x.k');
select anago_same('select * from (values (1), (17), (null), (9999)) x(k)
	where not exists (select 1 from r1 where r1.id = x.k)');
select anago_same('select * from generate_series(1, 50) g join r2 on r2.r1 = g');
select anago_same('select * from unnest(array[4, 2, 4]) g left join r2 on r2.r1 = g and r2.v > 4');
select anago_same('with c as materialized (select a, count(*) as k from r1 group by a)
	select * from c join r2 on r2.r1 = c.k');
select anago_same('select * from (select distinct a from r1 where id < 9) x join r2 on r2.r1 = x.a');
select anago_same('select * from (select a, sum(n) s from r1 group by a) x left join r3 on r3.r2 = x.s and r3.v = x.a');
select anago_same('select * from (select id from r1 where a = 1 union all select id from r2 where n = 3) x
	join r3 on r3.r2 = x.id');
select anago_same('select * from (select id from r1 order by b, id limit 10) x join r2 on r2.r1 = x.id
	join r3 on r3.r2 = r2.id');
set enable_nestloop = off;
select anago_same('select * from r1 join r2 on r2.r1 = r1.id where r1.a = 3');
reset enable_nestloop;
select anago_same('select r4.* from (r1 join r2 on r1.b || $$x$$ = r2.v || $$x$$) join r4 on r4.r3 = r2.id
	where r1.id < 4');
create function three() returns setof int language plpgsql as
	'begin return next 3; return next null; return next 30; end';
select anago_same('select * from three() t join r2 on r2.r1 = t');
-- pipelines on both sides of a core join
select anago_same('select count(*) from (select r1.b from r1 join r2 on r2.r1 = r1.id where r1.a = 3) x
	join (select r3.t, r3.v from r3 join r4 on r4.r3 = r3.id where r3.id < 50) y on x.b = $$b$$ || y.v');

-- LATERAL
select anago_same('select * from r1, lateral (select * from r2 where r2.r1 = r1.id and r2.v > r1.a) x where r1.a < 6');
select anago_same('select * from r1 left join lateral (select v from r2 where r2.r1 = r1.id order by v, id limit 1) x
	on true where r1.a < 6');
select anago_same('select * from r1, lateral (select count(*) from r2 join r3 on r3.r2 = r2.id
	where r2.r1 = r1.id) x where r1.a < 6');
select anago_same('select r1.id, g, r2.id from r1, generate_series(r1.id, r1.id + 2) g join r2 on r2.r1 = g where r1.a = 6');

-- placeholders: expressions over the null-extended side
select anago_same('select r1.id, x.k from r1 left join (select id, 42 as k, r1 from r2) x on x.r1 = r1.id
	left join r3 on r3.r2 = x.k and r3.v = 1 where r1.a < 5');

-- whole rows, system columns, no column at all
select anago_same('select r1, r2 from r1 join r2 on r2.r1 = r1.id where r1.a = 3');
select anago_same('select r1, r2 from r1 left join r2 on r2.r1 = r1.id and r2.v = 1 where r1.a = 3');
select anago_same('select r1.ctid, r2.ctid from r1 join r2 on r2.r1 = r1.id where r1.a = 3');
select anago_same('select count(*) from r1 join r2 on r2.r1 = r1.id where r1.a = 3');
select anago_same('select 1 from r1 left join r2 on r2.r1 = r1.id where r1.a = 3');

-- index-only on the inner side
select anago_same('select r1.id, r3.r2, r3.v from r1 join r3 on r3.r2 = r1.id where r1.a < 6');
select anago_same('select r1.id from r1 join r3 on r3.r2 = r1.id and r3.v > 3 where r1.a < 6');

-- values by reference through several levels
create table w1 (k text primary key, pay text);
create table w2 (k text, n numeric, pay text);
insert into w1 select 'k' || g, repeat(g::text, 50) from generate_series(1, 200) g;
insert into w2 select 'k' || g % 250, g / 3.0, repeat(md5(g::text), 100) from generate_series(1, 1000) g;
create index w2_k on w2 (k);
vacuum analyze w1, w2;
select anago_same('select w1.*, w2.n, md5(w2.pay) from w1 join w2 on w2.k = w1.k where w1.k < $$k3$$');
select anago_same('select x.k, w1.pay, y.n from w2 x join w1 on w1.k = x.k left join w2 y on y.k = w1.k and y.n < x.n
	where x.k like $$k1%$$ and x.k < $$k12$$');

-- order and limit above
select anago_same_order('select r1.id, r2.id as i from r1 join r2 on r2.r1 = r1.id where r1.a = 3 order by 1, 2');
select anago_same_order('select r1.id, r2.id as i from r1 join r2 on r2.r1 = r1.id order by 1, 2 limit 11');
select anago_same('select count(*) from (select 1 from r1 join r2 on r2.r1 = r1.id limit 5) x');
select anago_same('select r1.b, count(*), sum(r3.v) from r1 join r2 on r2.r1 = r1.id join r3 on r3.r2 = r2.id
	where r1.a < 8 group by r1.b');

-- more matches than any window
create table many (k int, v int);
insert into many select 1, g from generate_series(1, 30000) g;
create index many_k on many (k);
analyze many;
select anago_same('select count(*), sum(v) from r1 join many on many.k = r1.id where r1.id < 4');
select anago_same('select count(*), sum(m.v) from r1 join many m on m.k = r1.a join r2 on r2.id = m.v where r1.a = 1');

-- plans
set anago.enable = on;
set anago.debug_force = on;
select anago_plan('select * from r1 join r2 on r2.r1 = r1.id join r3 on r3.r2 = r2.id where r1.a = 3');
select anago_plan('select * from r1 left join r2 on r2.r1 = r1.id and r2.v > r1.a
	where r1.a = 3 and not exists (select 1 from r4 where r4.r3 = r1.id)');
select anago_plan('select * from (values (1), (17)) x(k) join r1 on r1.id = x.k join r2 on r2.r1 = r1.id');
