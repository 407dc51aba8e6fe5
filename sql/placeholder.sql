-- Expressions of subqueries that are pulled up below outer joins.  Tables are
-- those of columns.sql.  Answers are (same rows, how many, our plan).
load 'anago';

set anago.enable = on;
set anago.debug_force = on;
select anago_plan('select co_a.id, x.five, x.up from co_a
	left join (select a, 5 as five, v + 1 as up, id from co_b) x on x.a = co_a.id
	left join co_c on co_c.b = x.id where co_a.k < 10');
select anago_plan('select co_a.id, x.five from co_a
	left join (select a, v, 5 as five from co_b) x on x.a = co_a.id and x.five > co_a.k
	left join co_c on co_c.b = x.five and co_c.id < x.five where co_a.k < 10 and x.five is distinct from co_a.k');
reset anago.debug_force;
reset anago.enable;

-- in the output
select anago_same('select co_a.id, x.* from co_a left join (select a, 5 as five from co_b) x
	on x.a = co_a.id where co_a.k < 10');
select anago_same('select co_a.id, x.* from co_a left join (select a, coalesce(v, 1) as c, t || $$!$$ as u,
	array[id, v] as l, null::int as n, now() as w from co_b) x on x.a = co_a.id where co_a.k < 10');
select anago_same('select co_a.id, x.row, x.place from co_a left join (select a, co_b as row,
	coalesce(ctid, $$(0,1)$$) as place from co_b) x on x.a = co_a.id where co_a.k < 10');
select anago_same('select count(x.five), count(*), sum(x.five) from co_a left join (select a, 5 as five from co_b) x
	on x.a = co_a.id where co_a.k < 10');
select anago_same('select x.five, count(*) from co_a left join (select a, 5 as five from co_b) x
	on x.a = co_a.id where co_a.k < 10 group by x.five');
select anago_same_order('select co_a.id, x.u, x.id from co_a left join (select id, a, coalesce(t, $$-$$) as u from co_b) x
	on x.a = co_a.id where co_a.k < 10 order by x.u nulls first, co_a.id, x.id limit 200');

-- through several levels
select anago_same('select co_a.id, x.*, y.* from co_a
	left join (select id, a, 5 as five, t || $$!$$ as u from co_b) x on x.a = co_a.id
	left join (select b, 6 as six, coalesce(pad, $$.$$) as p from co_c) y on y.b = x.id where co_a.k < 10');
select anago_same('select co_a.id, x.five, y.six from co_a
	left join (select id, a, 5 as five from co_b) x on x.a = co_a.id
	left join (select b, 6 as six from co_c) y on y.b = x.five where co_a.k < 10');
select anago_same('select co_a.id, x.n, y.m from co_a
	left join (select id, a, coalesce(id, 0) + 1 as n from co_b) x on x.a = co_a.id
	left join (select b, coalesce(b, 0) * 2 as m from co_c) y on y.b = x.n where co_a.k < 10');
select anago_same('select co_a.id, x.s from co_a
	left join (select y.a, y.q + 1 as s from (select a, coalesce(v, 0) as q from co_b) y) x on x.a = co_a.id where co_a.k < 10');
select anago_same('select co_a.id, x.s, x.q from co_a
	left join (select y.a, y.id, coalesce(y.q, 7) as s, y.q from (select id, a, coalesce(v, 0) as q from co_b) y) x on x.a = co_a.id
	left join co_c on co_c.b = x.id where co_a.k < 10');
select anago_same('select z.id, w.five, w.six from co_a z
	left join (select co_b.a, 5 as five, co_c.id, y.six from co_b left join (select b, id, 6 as six from co_c) y on y.b = co_b.id
		left join co_c on co_c.b = co_b.id) w on w.a = z.id where z.k < 10');

-- in conditions: of the outer join itself, of later joins, after it
select anago_same('select co_a.id, x.five from co_a left join (select a, v, v * 2 as five from co_b) x
	on x.a = co_a.id and x.five > 7 where co_a.k < 10');
select anago_same('select co_a.id, x.five from co_a left join (select a, v, 5 as five from co_b) x
	on x.a = co_a.id and x.five > co_a.k where co_a.k < 10');
select anago_same('select co_a.id from co_a left join (select a, 5 as five from co_b) x
	on x.a = co_a.id where co_a.k < 10 and x.five is null');
select anago_same('select co_a.id, x.c from co_a left join (select a, coalesce(v, 3) as c from co_b) x
	on x.a = co_a.id where co_a.k < 10 and coalesce(x.c, 100) > 4');
select anago_same('select co_a.id, x.five, co_c.id from co_a left join (select a, id, 5 as five from co_b) x
	on x.a = co_a.id left join co_c on co_c.b = x.id and co_c.id > x.five * 10 where co_a.k < 10');
select anago_same('select co_a.id, x.five from co_a left join (select a, id, 5 as five from co_b) x on x.a = co_a.id
	where co_a.k < 10 and not exists (select from co_c where co_c.b = x.id and co_c.id > x.five)');
select anago_same('select co_a.id, x.five from co_a left join (select a, id, 5 as five from co_b) x on x.a = co_a.id
	where co_a.k < 10 and exists (select from co_c where co_c.b = coalesce(x.id, x.five, 4))');
select anago_same('select co_a.id from co_a where k < 10 and not exists (select from
	(select a, coalesce(v, 0) as c from co_b) x where x.a = co_a.id and x.c > 4)');
select anago_same('select co_a.id, x.part from co_a left join (select a, 100 / v as part from co_b where v <> 0) x
	on x.a = co_a.id where co_a.k < 10');

-- of the outer side, of several tables, of a child plan
select anago_same('select x.five, co_c.id from (select id, 5 as five from co_b where a = 7) x
	left join co_c on co_c.b = x.id');
select anago_same('select y.k, x.* from (select co_a.id, co_b.v, 5 as five, coalesce(co_a.k, co_b.v) as c from co_a
	join co_b on co_b.a = co_a.id where co_a.k < 10) x full join (values (7), (14), (-1)) y(k) on y.k = x.id');
select anago_same('select y.k, x.* from (values (7), (14), (-1), (21)) y(k) left join
	(select co_a.id, co_b.v, 5 as five, coalesce(co_a.k, co_b.v) as c from co_a
	left join co_b on co_b.a = co_a.id where co_a.k < 10) x on y.k = x.id');
select anago_same('select x.*, co_c.id from (select max(id) as id, 5 as five from co_b where a < 100 group by a) x
	left join (select b, id, 6 as six from co_c) co_c on co_c.b = x.id');
select anago_same('select z.k, x.five, y.six from (values (1), (2), (3), (null)) z(k)
	left join (select column1 as k, 5 as five from (values (1), (2)) v) x on x.k = z.k
	left join (select b, 6 as six from co_c) y on y.b = x.five + z.k');
select anago_same('select x.id, x.kind from (select id, 1 as kind from co_a where k = 3 union all
	select id, 2 from co_b where a = 7) x left join co_c on co_c.id = x.id');
select anago_same('select co_c.id, x.kind from co_c left join (select id, 1 as kind from co_a where k < 30 union all
	select id, 2 from co_b where a < 70) x on x.id = co_c.b where co_c.id < 90');
select anago_same('select co_p.k, x.five from co_p left join (select a, 5 as five from co_b) x on x.a = co_p.k
	where co_p.k between 90 and 110');
select anago_same('select co_a.id, x.five, x.t from co_a left join (select k, coalesce(t, $$.$$) as t, 5 as five from co_p) x
	on x.k = co_a.id where co_a.k < 10');

-- out of an index alone, with a subplan, with parameters, in workers
select anago_same('select co_a.id, x.n from co_a left join (select a, coalesce(a, 0) + 1 as n from co_b) x
	on x.a = co_a.id where co_a.k < 10');
select anago_same('select co_a.id, x.n from co_a left join (select a, (select count(*) from co_c where co_c.b = co_b.id) as n
	from co_b) x on x.a = co_a.id where co_a.k < 10');
select anago_same('select co_a.id, x.n from co_a left join (select a, exists (select from co_c where co_c.b = co_b.id) as n
	from co_b) x on x.a = co_a.id where co_a.k < 10 and x.n is not true');
select anago_same_prepared('select co_a.id, x.p from co_a left join (select a, v, $2 as p from co_b) x
	on x.a = co_a.id and x.v > $1 where co_a.k < 10', 'int, text', $$4, 'four'$$, '5, null', $$null, 'x'$$);
select anago_same('select co_c.id, (select count(x.p) from co_a left join (select a, co_c.b as p from co_b) x
	on x.a = co_a.id where co_a.k = 3) from co_c where co_c.id < 20');
create function co_list(int) returns int[] language plpgsql immutable as $$
declare r int[] := array[$1];
begin
	for i in 2 .. 9 loop r[i] := $1 * i; end loop;
	return r;
end $$;
create function co_longer(int[]) returns int[] language plpgsql immutable as $$
begin
	$1[10] := 1;
	return $1;
end $$;
select anago_same('select co_a.id, x.l, co_longer(x.l), x.l, co_c.id from co_a
	left join (select id, a, co_list(v) as l from co_b) x on x.a = co_a.id
	left join co_c on co_c.b = x.id where co_a.k < 10');
select anago_same('select co_a.id, co_longer(x.l), x.l, cardinality(x.l) from co_a
	left join (select id, a, co_list(v) as l from co_b) x on x.a = co_a.id where co_a.k < 10');
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_index_scan_size = 0;
set min_parallel_table_scan_size = 0;
select anago_same('select co_a.id, x.*, y.* from co_a
	left join (select id, a, 5 as five, t || $$!$$ as u from co_b) x on x.a = co_a.id
	left join (select b, 6 as six, coalesce(pad, $$.$$) as p from co_c) y on y.b = x.id where co_a.k < 10');
reset parallel_setup_cost;
reset parallel_tuple_cost;
reset min_parallel_index_scan_size;
reset min_parallel_table_scan_size;

-- an error in the expression; none where the row does not get that far
set anago.enable = on;
set anago.debug_force = on;
select count(x.part) from co_a left join (select a, 100 / v as part from co_b) x on x.a = co_a.id where co_a.k < 10;
select count(x.part) from co_a left join (select a, 100 / v as part from co_b where v <> 0) x on x.a = co_a.id where co_a.k < 10;
reset anago.debug_force;
reset anago.enable;
