-- Row comparisons as index conditions.  Answers are (same rows, how many, our
-- plan).
load 'anago';

create table rc (id int primary key, a int, b int, c int, t text, n name);
insert into rc select g, nullif(g % 23, 22), nullif(g * 7 % 31, 30), nullif(g * 3 % 11, 10),
	't' || g % 29, 'n' || g % 13 from generate_series(1, 3000) g;
create index rc_abc on rc (a, b, c);
create index rc_down on rc (a desc, b desc, id desc);
create index rc_mixed on rc (b, c desc, a);
create index rc_first on rc (c nulls first, b nulls first) include (a);
create index rc_last on rc (c desc nulls last, a desc nulls last);
create index rc_text on rc (t, n);
create table rc_at (k int primary key, x int, y int, z bigint);
insert into rc_at select g, nullif(g % 25, 24), nullif(g % 33, 32), g from generate_series(1, 60) g;
vacuum analyze rc, rc_at;

-- How many entries of the index does the one step look at?
create function rc_entries(query text) returns bigint language plpgsql
set anago.enable = on set anago.debug_force = on as $$
declare
	line text;
begin
	for line in execute 'explain (analyze, costs off, timing off, summary off) ' || query loop
		if line ~ 'Entries:' then
			return substring(line from 'Entries: (\d+)')::bigint;
		end if;
	end loop;
	return null;
end $$;

-- all operators, either way round, in all kinds of index
create function rc_each(columns text, type text, queries text[]) returns table (same bool, rows bigint, anago bool)
language plpgsql as $$
declare
	op text;
	query text;
begin
	foreach query in array queries loop
		foreach op in array array['<', '<=', '>', '>='] loop
			return query select s.same, s.rows, s.anago
				from anago_same(format(query, columns, op)) s;
		end loop;
	end loop;
end $$;
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(a, b)', '', array[
	'select * from rc where %s %s (7, 12)', 'select * from rc where %s %s (7, 12) and c = 3',
	'select * from rc where %s %s (-1, 12)', 'select * from rc where %s %s (99, 12)',
	'select * from rc where %s %s (21, 29)', 'select * from rc where (7, 12) %2$s %1$s',
	'select * from rc where %s %s (7, 12) and a > 9 and a > 3', 'select * from rc where %s %s (7, 12) and a < 20 and a <= 5',
	'select * from rc where %s %s (7, 12) and a > 3 and a > 1 and a <= 9 and a < 15',
	'select a, b from rc where %s %s (7, 12)', 'select count(*) from rc where %s %s (7, 12)']);
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(a, b, c)', '', array[
	'select * from rc where %s %s (7, 12, 4)', 'select * from rc where %s %s (7, 12, null)',
	'select * from rc where %s %s (7, null, 4)', 'select * from rc where %s %s (null, 12, 4)',
	'select * from rc where %s %s (7, 12, 4) and a < 12 and b > 3',
	'select * from rc where %s %s (7, 12, 4) and (a, b) > (3, 3) and (a, b) < (12, 3)']);
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(a, b, id)', '', array[
	'select * from rc where %s %s (7, 12, 1400)', 'select * from rc where %s %s (7, 12, 1400) and a = 7',
	'select * from rc where %s %s (7, 12, 1400) and a > 5']);
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(b, c)', '', array[
	'select * from rc where %s %s (12, 4)', 'select * from rc where %s %s (12, 4) and a > 5']);
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(c, b)', '', array[
	'select * from rc where %s %s (4, 12)', 'select c, b, a from rc where %s %s (4, 12)',
	'select * from rc where %s %s (4, null)']);
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(c, a)', '', array[
	'select * from rc where %s %s (4, 12)', 'select * from rc where %s %s (4, 12) and a is not null']);
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(t, n)', '', array[
	'select * from rc where %s %s ($$t17$$, $$n5$$)', 'select t, n from rc where %s %s ($$t17$$, $$n5$$)',
	'select * from rc where %s %s ($$t17$$, null)']);

-- a prefix of the columns, a gap, columns that no index has, expressions
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(a, t)', '', array[
	'select * from rc where %s %s (7, $$t2$$)']);
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(a, c)', '', array[
	'select * from rc where %s %s (7, 4)', 'select * from rc where %s %s (7, 4) and b = 3']);
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(a, b, t)', '', array[
	'select * from rc where %s %s (7, 12, $$t2$$)', 'select * from rc where %s %s (7, null, $$t2$$)']);
select bool_and(same), bool_and(anago), sum(rows), count(*) from rc_each('(a, a)', '', array[
	'select * from rc where %s %s (7, 4)', 'select * from rc where %s %s (7, 9)']);
select anago_same('select * from rc where a = 7 and (b, c) > (12, 4)');
select anago_same('select * from rc where a in (3, 7, 9) and (b, c) > (12, 4)');
select anago_same('select * from rc where a = 7 and b in (3, 12, 9) and (c, id) >= (4, 0)');
select anago_same('select * from rc where a is null and (b, c) <= (12, 4)');
select anago_same('select * from rc where (a, b) > (7, 12) and (a, b) <= (9, 4)');
select anago_same('select * from rc where (a, b) > (7::bigint, 12::smallint)');
select anago_same('select * from rc where row(a) > row(20)');
select anago_same('select * from rc where not ((a, b) > (3, 12))');
select anago_same('select * from rc where (a, b) > (select 7, 12)');
select anago_same('select * from rc where (a, b) = (7, 12) or (a, b) > (20, 12)');

-- keyset pagination: no more than the page
select anago_same_order('select * from rc where (a, b, id) > (7, 12, 1400) order by a, b, id limit 10');
select anago_same_order('select * from rc where (a, b, id) < (7, 12, 1400) order by a desc, b desc, id desc limit 10');
set enable_seqscan = off;
select rc_entries('select * from rc where a = 7 and (b, c) > (28, 4)') <
	(select count(*) from rc where a = 7 and b > 26) as bounded;
select rc_entries('select id from rc where (a, b, id) > (20, 29, 0) and (a, b, id) < (21, 1, 0)') <
	(select count(*) from rc where a >= 20) / 2 as bounded;
reset enable_seqscan;
set anago.enable = on;
set anago.debug_force = on;
select anago_plan('select * from rc where a = 7 and (b, c) > (12, 4)');
select anago_plan('select * from rc where ($$t2$$, 7) < (t, id)');
select bool_or(line ~ 'Index Cond: .*ROW\(rc.a, rc.b\) > ROW\(rc_at.x, rc_at.y\)') as as_expected
	from anago_plan('select rc.* from rc_at join rc on (rc.a, rc.b) > (rc_at.x, rc_at.y) and rc.a < 9 where rc_at.k < 4') line;
reset anago.debug_force;
reset anago.enable;

-- With values that are not constant.  PostgreSQL 18's own index scan fails an
-- assertion when it is restarted with a row comparison of descending columns.
drop index rc_down, rc_mixed, rc_last;
select anago_same_prepared('select * from rc where (a, b, c) > ($1, $2, $3)', 'int, int, int',
	'7, 12, 4', '7, null, 4', 'null, 2, 4', '7, 12, null', '21, 29, 9');
select anago_same_prepared('select * from rc where (a, b, id) < ($1, $2, $3)', 'int, int, int',
	'7, 12, 1400', '7, null, 4', 'null, 2, 4', '7, 12, null', '21, 29, 9');
select anago_same('select rc_at.k, rc.id from rc_at join rc on (rc.a, rc.b) > (rc_at.x, rc_at.y) and rc.a < 9 where rc_at.k < 9');
select anago_same('select rc_at.k, rc.id from rc_at left join rc on (rc.a, rc.b, rc.c) > (20, rc_at.y, rc_at.z)');
select anago_same('select rc_at.k, rc.id from rc_at left join rc on rc.a = rc_at.x and (rc.b, rc.c) < (rc_at.y, 4)
	where rc_at.k < 50');
select anago_same('select rc_at.k, rc.id from rc_at left join rc on rc.c = rc_at.x and (rc.a, rc.t) <= (rc_at.y, $$t2$$)
	where rc_at.k < 50');
select anago_same('select k from rc_at where not exists (select from rc where (rc.a, rc.b) >= (rc_at.z - 20, rc_at.y))');
select anago_same('select k, (select sum(id) from rc where (rc.a, rc.b) < (rc_at.x, rc_at.y)) from rc_at where k < 20');

-- many lists: the walk ends before the row
select anago_same(format('select * from rc where a in (%1$s) and b in (%1$s) and (c, id) > (1, 5)',
	(select string_agg(g::text, ', ') from generate_series(1, 300) g)));

-- no order, no row
select * from rc where (a, b) > (1, 2, 3);
select * from rc where (a, b) > ('x', 2);
