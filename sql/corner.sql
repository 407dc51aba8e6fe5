-- Corners: types, lists, cursors and functions that the simple way of doing
-- things would get wrong.  Answers are (same rows, how many, our plan).
load 'anago';

-- IN lists of types whose B-tree operators are declared for a pseudotype
create type k_enum as enum ('low', 'middle', 'high', 'never');
create type k_pair as (x int, y text);
create table k_types (id int primary key, e k_enum, r int4range,
	m int4multirange, p k_pair, a int[], v varchar(10));
insert into k_types
	select g, (array['low', 'middle', 'high'])[1 + g % 3]::k_enum,
		int4range(g, g + 1), int4multirange(int4range(g, g + 1), int4range(g + 5, g + 6)),
		row(g, 'y' || g)::k_pair, array[g, g + 1], 'v' || g
	from generate_series(1, 2000) g;
create index k_types_e on k_types (e, id);
create index k_types_r on k_types (r);
create index k_types_m on k_types (m);
create index k_types_p on k_types (p);
create index k_types_v on k_types (v);
vacuum analyze k_types;

select anago_same($$select id, e from k_types where e in ('low', 'high')$$);
select anago_same($$select id from k_types where e in ('high', 'low', 'low', 'never', null) and id in (3, 4, 5)$$);
select anago_same($$select * from k_types where r in (int4range(5, 6), int4range(7, 8), int4range(7, 9))$$);
select anago_same($$select * from k_types where r = any ('{"[100,101)",empty,NULL,"[5,6)","[5,6)"}')$$);
select anago_same($$select id from k_types where m in ('{[5,6),[10,11)}', '{}', '{[7,8),[12,13)}')$$);
select anago_same($$select * from k_types
	where p in (row(1, 'y1')::k_pair, row(7, 'y7')::k_pair, row(7, 'y8')::k_pair, row(1, 'y1')::k_pair)$$);
select anago_same_prepared('select id from k_types where e = any ($1)', 'k_enum[]',
	$$'{low,high}'$$, $$'{}'$$, $$'{never,middle,middle}'$$, 'null');
select anago_same_prepared('select id from k_types where r = any ($1)', 'int4range[]',
	$$array[int4range(5, 6), int4range(100, 101)]$$, $$array[null, 'empty'::int4range]$$);
select anago_same_prepared('select id from k_types where p = any ($1)', 'k_pair[]',
	$$array[row(1, 'y1')::k_pair, row(7, 'y7')::k_pair]$$);
select anago_same_prepared('select id from k_types where v = any ($1)', 'varchar[]',
	$$'{v1,v2}'$$, $$'{v3,NULL,v3,none}'$$);
select anago_same($$select o.id, i.id from k_types o join k_types i
	on i.id = o.id + 1 and i.e in (o.e, 'high') where o.r < int4range(50, 51)$$);
select anago_same($$select o.id, i.id from k_types o join k_types i
	on i.r = any (array[o.r, int4range(o.id + 3, o.id + 4)]) where o.id < 50$$);

-- Values that a child plan hands over in memory of its own (expanded arrays of
-- PL/pgSQL), kept while rows overtake each other
create function k_made(n int) returns int[] language plpgsql immutable as $$
declare
	made int[] := array[0, 0];
begin
	made[1] := n;
	made[2] := n + 1;
	return made;
end $$;
create function k_made_row(n int) returns k_pair language plpgsql immutable as $$
declare
	made k_pair;
begin
	made.x := n;
	made.y := 'y' || n;
	return made;
end $$;
select anago_same('select s.g, s.arr, t.id from
	(select g, k_made(g) as arr from generate_series(1, 1500) g offset 0) s
	join k_types t on t.id = s.g and s.arr[2] = t.id + 1');
select anago_same('select s.arr, t.id from
	(select g, k_made(g) as arr from generate_series(1, 1500) g offset 0) s
	left join k_types t on t.id = s.arr[1] and t.a = s.arr');
select anago_same('select s.made, (s.made).y, t.id from
	(select g, k_made_row(g) as made from generate_series(1, 1500) g offset 0) s
	join k_types t on t.p = s.made');

-- UPDATE and DELETE ... WHERE CURRENT OF find the row that was fetched last,
-- whichever child of an Append it is of
create table k_parts (k int, v int, w int) partition by range (v);
create table k_parts1 partition of k_parts for values from (0) to (100);
create table k_parts2 partition of k_parts for values from (100) to (200);
create table k_parts3 partition of k_parts for values from (200) to (300);
insert into k_parts select g % 10, g, 0 from generate_series(0, 299) g;
create index k_parts_k on k_parts (k) include (v);
vacuum analyze k_parts;

-- mark each row that a cursor gives by its own value
create function k_mark(query text, tab text, out rows bigint, out anago boolean)
language plpgsql as $$
declare
	c refcursor;
	r record;
begin
	anago := anago_used('declare c no scroll cursor for ' || query);
	rows := 0;
	open c no scroll for execute query;
	loop
		fetch c into r;
		exit when not found;
		execute format('update %s set w = %s where current of %I', tab, r.v + 1000, c);
		rows := rows + 1;
	end loop;
	close c;
end $$;
set anago.enable = on;
set anago.debug_force = on;
begin;
select k_mark('select v from k_parts where k between 3 and 5 and w = 0', 'k_parts');
select count(*), bool_and(k between 3 and 5) from k_parts where w = v + 1000;
select count(*) from k_parts where w <> 0;
rollback;
begin;
select k_mark('select v from k_parts where k between 3 and 5', 'k_parts');
select count(*), bool_and(k between 3 and 5) from k_parts where w = v + 1000;
rollback;
begin;
select k_mark('select v from k_parts2 where k between 3 and 5 and w = 0', 'k_parts2');
select count(*), bool_and(k between 3 and 5) from k_parts where w = v + 1000;
rollback;
begin;
select k_mark('select v, k from k_parts2 where k between 3 and 5', 'k_parts2');
select count(*), bool_and(k between 3 and 5) from k_parts where w = v + 1000;
rollback;
-- before the first row and after the last there is none
begin;
declare c no scroll cursor for select v from k_parts where k = 3 and w = 0;
savepoint a;
update k_parts set w = 1 where current of c;
rollback to a;
move 2 in c;
update k_parts set w = 1 where current of c;
move 18 in c;
delete from k_parts where current of c;
move 40 in c;
savepoint b;
update k_parts set w = 1 where current of c;
rollback to b;
select count(*), sum(w) from k_parts where k = 3;
rollback;
reset anago.debug_force;
reset anago.enable;

-- SCROLL cursors have plans of core, that go back and have a current row
set anago.enable = on;
set anago.debug_force = on;
select anago_used('declare c cursor for select id from k_types where id between 10 and 14'),
	anago_used('declare c no scroll cursor with hold for select id from k_types where id between 10 and 14'),
	anago_used('declare c scroll cursor for select id from k_types where id between 10 and 14'),
	anago_used('declare c scroll cursor with hold for select id from k_types where id between 10 and 14'),
	anago_used('declare c scroll cursor for select o.id from k_types o join k_types i on i.id = o.id + 1 where o.r < int4range(50, 51)');
begin;
declare c scroll cursor for select id, v from k_types where id between 10 and 14;
move 3 in c;
fetch backward 1 from c;
update k_types set v = 'current' where current of c;
select id from k_types where v = 'current';
move all in c;
fetch prior from c;
fetch absolute 2 from c;
rollback;
reset anago.debug_force;
reset anago.enable;

-- Functions of an operator class that run queries of ours, while a page of
-- the index that they belong to is looked at
create table k_helper (id int primary key, k int);
insert into k_helper select g, g from generate_series(1, 1000) g;
create index k_helper_k on k_helper (k);
vacuum analyze k_helper;
-- (they run with a safe search path where an index is built)
create function k_ask(n int) returns bigint language plpgsql stable as $$
declare
	result bigint;
begin
	-- planned on every call, with the settings of the moment
	execute 'select count(*) from public.k_helper where k between $1 and $1 + 3' into result using n;
	return result;
end $$;
create function k_ge(int, int) returns boolean language plpgsql stable strict as $$
begin
	return $1 >= $2 and public.k_ask($1 % 900 + 1) = 4;
end $$;
-- only when anago is on: it takes many calls to build an index
create function k_cmp(int, int) returns int language plpgsql immutable strict as $$
begin
	if current_setting('anago.enable')::boolean and public.k_ask($1 % 900 + 1) <> 4 then
		raise exception 'no answer';
	end if;
	return btint4cmp($1, $2);
end $$;
create operator >== (leftarg = int, rightarg = int, procedure = k_ge);
create operator class k_asking for type int using btree as
	operator 1 <, operator 2 <=, operator 3 =, operator 4 >==, operator 5 >,
	function 1 k_cmp(int, int);
create table k_asked (a int, b int, c int);
set anago.enable = off;
insert into k_asked select g % 20, g % 50, g from generate_series(1, 1000) g;
create index k_asked_ab on k_asked (a, b k_asking);
create index k_asked_c on k_asked (c k_asking);
vacuum analyze k_asked;
reset anago.enable;
select anago_used('select id from k_helper where k between 5 and 8');
select anago_same('select * from k_asked where a > 15 and b >== 30');
select anago_same('select * from k_asked where c between 300 and 330');
select anago_same('select * from k_asked where c in (5, 900, 70, 70, 33)');

-- A moment can have two local names, and a local name no moment: lists of
-- local times for a column of moments
create table k_times (t timestamptz, l timestamp, d date);
set timezone = 'Pacific/Apia';
insert into k_times select t, t, t
	from (select timestamptz '2011-12-25 10:00+00' + g * interval '1 hour' from generate_series(0, 400) g) x(t);
set timezone = 'America/New_York';
insert into k_times select t, t, t
	from (select timestamptz '2024-03-09 05:00+00' + g * interval '30 minutes' from generate_series(0, 200) g) x(t);
insert into k_times select t, t, t
	from (select timestamptz '2024-11-02 04:00+00' + g * interval '30 minutes' from generate_series(0, 200) g) x(t);
create index k_times_t on k_times (t);
create index k_times_l on k_times (l);
create index k_times_d on k_times (d);
analyze k_times;
-- stock reads the table: its index scan gave rows twice here, before 17
set random_page_cost = 1000;
-- 02:30 became 03:30; 01:30 came twice
select '2024-03-10 02:30'::timestamp::timestamptz = '2024-03-10 03:30'::timestamp::timestamptz;
select anago_same($$select t from k_times
	where t = any ('{2024-03-10 02:30,2024-03-10 03:30,2024-03-10 01:30}'::timestamp[])$$);
select anago_same($$select t from k_times
	where t = any ('{2024-11-03 01:00,2024-11-03 01:30,2024-11-03 02:00}'::timestamp[])$$);
select anago_same($$select t from k_times where t < any ('{2024-03-10 02:30,2024-03-10 03:30}'::timestamp[])$$);
select anago_same($$select l from k_times
	where l = any ('{2024-11-03 01:30-04,2024-11-03 01:30-05,2024-03-10 03:30-04}'::timestamptz[])$$);
select anago_same($$select d from k_times
	where d = any ('{2024-11-03 00:00-04,2024-03-10 00:00-05,2024-03-10 00:00-04}'::timestamptz[])$$);
-- a day that was not
set timezone = 'Pacific/Apia';
select '2011-12-30'::date::timestamptz = '2011-12-31'::date::timestamptz;
select anago_same($$select t from k_times where t = any ('{2011-12-30,2011-12-31,2012-01-01}'::date[])$$);
select anago_same($$select t from k_times
	where t = any ('{2011-12-30 07:00,2011-12-31 07:00,2011-12-29 07:00}'::timestamp[])$$);
select anago_same($$select d from k_times
	where d = any ('{2011-12-29 10:00+00,2011-12-30 10:00+00}'::timestamptz[])$$);
select anago_same($$select l from k_times where l = any ('{2011-12-30,2011-12-31}'::date[])$$);
reset timezone;
reset random_page_cost;

-- Long lists: one, and two that multiply to more than 65,536 ranges
create table k_long (a int, b int, c int);
insert into k_long select g % 1000, g / 10, g from generate_series(1, 10000) g;
create index k_long_ab on k_long (a, b);
vacuum analyze k_long;
create function k_count(query text, out n bigint, out anago boolean)
language plpgsql set anago.enable = on set anago.debug_force = on as $$
begin
	anago := anago_used(query);
	execute 'select count(*) from (' || query || ') x' into n;
end $$;
select k_count('select c from k_long where a = 7 and b = any (array(select g from generate_series(1, 66000) g))');
select k_count('select c from k_long where a < 500 and b = any (array(select g from generate_series(-65000, 999) g))');
select k_count('select c from k_long where a = 7 and b in (' || (select string_agg(g::text, ',') from generate_series(1, 66000) g) || ')');
select anago_same('select c from k_long
	where a = any (array(select g from generate_series(0, 299) g))
	and b = any (array(select g from generate_series(100, 399) g))');
select anago_same('select c from k_long
	where a = any (array(select g from generate_series(0, 5) g))
	and b = any (array(select g from generate_series(1, 12000) g))');

-- INSERT into the table that is probed, whose index grows meanwhile: the rows
-- are those of before the statement
create table k_from (id int);
insert into k_from select g % 15000 from generate_series(1, 20000) g;
analyze k_from;
create table k_into (id int) with (autovacuum_enabled = off);
create index k_into_id on k_into (id);
insert into k_into values (7), (20000);
set anago.enable = on;
set anago.debug_force = on;
select anago_used('insert into k_into select id from k_from
	where not exists (select 1 from k_into i where i.id = k_from.id)');
insert into k_into select id from k_from
	where not exists (select 1 from k_into i where i.id = k_from.id);
select count(*), count(distinct id) from k_into;
insert into k_into select id from k_from
	where not exists (select 1 from k_into i where i.id = k_from.id);
insert into k_into select id + 15000 from k_from
	where not exists (select 1 from k_into i where i.id = k_from.id + 15000);
select count(*), count(distinct id), max(id) from k_into;
reset anago.debug_force;
reset anago.enable;
