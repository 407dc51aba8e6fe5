-- AnagoAhead: core's nested loops whose outer rows are held back while looks read
-- what they lead to.  Rows must be those of stock, whatever looks meet.
load 'anago';
create schema looks;
set search_path = looks, public;

create type color as enum ('red', 'green', 'blue');
create table c (id int, name text, color color, grp int);
insert into c select g, 'name ' || g % 50, (array['red', 'green', 'blue', null])[g % 4 + 1]::color, g % 20
	from generate_series(1, 400) g;
insert into c values (null, null, null, 3), (1000, 'none', 'red', 3);
create table o (id int primary key, cid int, day int, name text, color color, note text);
insert into o select g, g * 7 % 411 + 1, g * 31 % 100, 'name ' || g % 60,
	(array['red', 'green', 'blue', null])[g % 4 + 1]::color, repeat('x', 100)
	from generate_series(1, 6000) g;
create index o_cid on o (cid);
create index o_cid_day on o (cid, day);
create index o_name on o (name);
create index o_color on o (color, day);
create table l (oid int, item int, amount int);
insert into l select g % 6000, g % 7, g from generate_series(1, 12000) g;
create index l_oid on l (oid);
vacuum analyze c, o, l;

-- only a superuser may force them; rows in stock and here
set enable_hashjoin = off;
set enable_mergejoin = off;

-- LATERAL: the first of an index, the last of it, all for a sort
select * from anago_same_looks('select c.id, x.* from c, lateral (select * from o where cid = c.id order by day limit 3) x where grp = 3');
select * from anago_same_looks('select c.id, x.* from c, lateral (select * from o where cid = c.id order by day desc limit 3) x where grp = 3');
select * from anago_same_looks('select c.id, x.* from c, lateral (select * from o where cid = c.id order by note, id limit 3) x where grp = 3');
select * from anago_same_looks('select c.id, x.* from c, lateral (select * from o where cid = c.id and id % 2 = 0 order by day, id offset 1 limit 2) x');
select * from anago_same_looks('select c.id, x.* from c left join lateral (select day from o where cid = c.id order by day limit 1) x on true');
select * from anago_same_looks('select c.id, x.* from c, lateral (select count(*), sum(day) from o where cid = c.id) x where grp < 5');
-- other types, conditions and kinds of inner sides
select * from anago_same_looks('select c.id, x.* from c, lateral (select id from o where name = c.name order by note, id limit 4) x');
select * from anago_same_looks('select c.id, x.* from c, lateral (select id from o where color = c.color and day between c.grp and c.grp + 2 order by note, id limit 4) x');
select * from anago_same_looks('select c.id, x.* from c, lateral (select id from o where cid in (c.id, c.id + 1, c.grp) order by note, id limit 4) x where grp = 3');
select * from anago_same_looks('select c.id, x.* from c, lateral (select id from o where cid = abs(-c.id) order by note, id limit 4) x');
select * from anago_same_looks('select c.id, x.* from c, lateral (select id from o where cid = c.id union all select oid from l where oid = c.id order by 1 limit 5) x');
select * from anago_same_looks('select c.id, x.* from c, lateral (select o.id, amount from o join l on l.oid = o.id where cid = c.id order by note, 1, 2 limit 5) x where grp = 3');
set enable_memoize = on;
select * from anago_same_looks('select c.grp, x.* from c, lateral (select id from o where cid = c.grp order by note, id limit 2) x');
-- each row of an outer loop begins a loop of its own
select * from anago_same_looks('select c.id, x.* from c, lateral (select o.id, y.amount from o, lateral
	(select amount from l where oid = o.id order by amount limit 1) y where o.cid = c.id order by 1, 2 limit 7) x where grp = 3');
select * from anago_same_looks('select c.id, (select count(*) from o, lateral (select amount from l where oid = o.id limit 1) y where o.cid = c.id) from c where grp = 3');
-- arguments of a prepared statement
select * from anago_same_prepared('select c.id, x.* from c, lateral (select * from o where cid = c.id and day > $2 order by day, id limit 3) x where grp = $1',
	'int, int', '3, 0', '4, 50', 'null, 1');

-- the plan
set enable_memoize = off;
set anago.enable = on;
set anago.debug_force = on;
select * from anago_plan('select c.id, x.* from c, lateral (select * from o where cid = c.id order by day desc limit 3) x where grp = 3');
select * from anago_plan('select c.id, x.* from c, lateral (select id from o where cid = c.id union all select oid from l where oid = c.id order by 1 limit 5) x');
select * from anago_plan('select c.id, x.id from c, lateral (select id from o where color = c.color and day between c.grp and c.grp + 2 order by note, id limit 4) x');
-- off
set anago.ahead = off;
select anago_looks('select c.id, x.* from c, lateral (select * from o where cid = c.id order by day limit 3) x');
reset anago.ahead;
set anago.mode = serial;
select anago_looks('select c.id, x.* from c, lateral (select * from o where cid = c.id order by day limit 3) x');
reset anago.mode;

-- what may not be run ahead of demand, or called for nothing
create sequence calls;
create function own_int(i int) returns int language sql immutable as 'select i + nextval(''calls'')::int * 0';
select anago_looks('select c.id, x.* from (select id, nextval(''calls'') from c offset 0) c, lateral (select * from o where cid = c.id order by day limit 3) x');
select anago_looks('select c.id, x.* from (select id from c for update) c, lateral (select * from o where cid = c.id order by day limit 3) x');
-- an initplan is run when it is first asked for, here by the outer side
create function looks_of_outer(select_list text, condition text) returns bigint language sql as $$
	select public.anago_looks('select c.id, x.*' || select_list || ' from c, lateral (select * from o where cid = c.id order by day limit 3) x
		where case when c.id < 9 then true else ' || condition || ' end')
$$;
select looks_of_outer('', 'c.id = (select max(oid) from l)') as calm,
	looks_of_outer('', 'c.id = (select nextval(''calls''))') as changes,
	looks_of_outer('', 'c.id = (select oid from l limit 1 for update)') as locks,
	looks_of_outer('', 'c.id = (select max(oid) from l where amount < (select nextval(''calls'')))') as by_another,
	looks_of_outer(', (select nextval(''calls''))', 'c.id > 9') as in_select_list;
create function own_cid(i int) returns int language plpgsql immutable as 'begin return i; end';
select anago_looks('select c.id, x.* from c, lateral (select * from o where cid = own_cid(c.id) order by day limit 3) x');
-- nor what calls some for values of a type, or runs queries, though it is built in
create type pair as (id int, grp int);
create function own_json(c color) returns json language plpgsql stable as $$ begin raise 'called for nothing'; end $$;
create cast (color as json) with function own_json(color);
select key, anago_looks('select c.id, x.* from (select *, row(id, grp)::pair as pair, array[color] as colors, row(color, id) as row from c offset 0) c,
		lateral (select * from o where name = ' || key || ' order by day limit 3) x') as looks
	from unnest(array['c.name', 'case when c.color = ''red'' then c.name end', 'c.color::text', 'case when c.color = any(''{red,blue}'') then c.name end',
		'to_json(c.color) #>> ''{}''', 'case when c.pair = ''(1,2)''::pair then c.name end', 'c.pair::text', 'case when c.colors = ''{red}'' then c.name end',
		'case when c.row = row(''red''::color, 1) then c.name end', 'table_to_xml(c.id, true, true, '''')::text',
		'pg_get_viewdef(c.id::oid)', 'case when satisfies_hash_partition(c.id::oid, 2, 1, c.id) then c.name end']) with ordinality k(key, n) order by n;
-- an error in one would leave its function's owner as the user
create role looks_owner;
create or replace function own_json(c color) returns json language plpgsql stable security definer as $$ begin
	if c = 'blue' then raise 'called for nothing'; end if;
	return '"none"';
end $$;
alter function own_json(color) owner to looks_owner;
begin;
set local anago.io_method = sim;
declare cu cursor for select c.id, current_user = session_user as same, x.id from (select * from c where id % 4 < 2 or id > 80 order by id) c,
	lateral (select min(id) as id from o where name = to_json(c.color) #>> '{}') x;
move 38 in cu;
fetch 3 from cu;
select current_user = session_user as same;
commit;
drop cast (color as json);
drop function own_json(color);
drop type pair;
drop role looks_owner;
-- the key of the second is known only when the first has been found; that of
-- the last is an initplan's
select anago_looks('select c.id from c, lateral (select 1 from o, lateral (select 1 from l where l.oid = o.id and amount > c.id limit 1) y
	where o.day = c.id order by o.note limit 1) x');
select anago_looks('select c.id from c, lateral (select * from o where cid = (select max(id) from l, c where amount < 0) order by day limit 3) x');

-- subqueries that a scan evaluates: it is cut, and they are evaluated above it
select * from anago_same_looks('select c.id, (select sum(day) from o where cid = c.id) from c where grp < 4');
select * from anago_same_looks('select c.id, c.grp + (select count(*) from o where cid = c.id), (select max(note) from o where cid = c.grp) from c where grp < 4');
select * from anago_same_looks('select c from c where grp < 4 and (select count(*) from o where cid = c.id) > 14 and length(name) < 9');
select * from anago_same_looks('select c.id, exists (select 1 from o where cid = c.id and day > 50), array(select day from o where name = c.name order by day, id limit 3) from c');
select * from anago_same_looks('select x.id, (select sum(day) from o where cid = x.id) from (select id from c order by id limit 20) x');
select * from anago_same_looks('select c.id, (select sum(day) from o where cid = c.id) from c where grp < 4 order by c.grp, c.id limit 3');
select * from anago_same_looks('select c.id, (select sum(o.day + (select sum(amount) from l where oid = o.id)) from o where cid = c.id) from c where grp < 4');
select * from anago_plan('select c.ctid, c.id, (select sum(day) from o where cid = c.id) from c where grp < 4 and (select count(*) from o where cid = c.grp) > 14 and id > 3');
-- one that a merge join goes back in is not cut
create table m1 as select g / 3 as id from generate_series(1, 600) g;
create index on m1 (id);
analyze m1;
set enable_mergejoin = on;
set enable_nestloop = off;
set enable_sort = off;
set enable_material = off;
select * from anago_same_looks('select x.id, y.id from m1 x join m1 y on x.id = y.id where x.id < 30 and (select count(*) + (random() * 0)::int from o where cid = y.id) > 3');
select * from anago_plan('select x.id, y.id from m1 x join m1 y on x.id = y.id where x.id < 30 and (select count(*) + (random() * 0)::int from o where cid = y.id) > 3');
reset enable_nestloop;
reset enable_sort;
reset enable_material;
set enable_mergejoin = off;
-- nor one that asks for an initplan with effects
select anago_looks('select c.id, (select sum(day) from o where cid = c.id) from c where case when c.id < 9 then true else c.id = (select max(id) from c) end') as calm,
	anago_looks('select c.id, (select sum(day) from o where cid = c.id) from c where case when c.id < 9 then true else c.id = (select nextval(''calls'')) end') as changes;
-- not in a cursor, where a row's place is looked for in the scan
begin;
declare k cursor for select c.id, (select sum(day) from o where cid = c.id) from c where c.grp < 4;
fetch 2 from k;
update c set name = 'current' where current of k returning id, name;
rollback;
-- a filter's order: what hides rows comes before what might leak them
create function leak(i int) returns boolean language plpgsql cost 0.0001 as 'begin raise notice ''seen %'', i; return true; end';
create role looks_reader;
grant usage on schema looks to looks_reader;
grant select on c, o to looks_reader;
alter table c enable row level security;
create policy p on c using (id < 4 and (select count(*) from o where cid = c.id) > 0);
set role looks_reader;
select id from c where leak(id);
reset role;
alter table c disable row level security;
revoke all on c, o from looks_reader;
revoke all on schema looks from looks_reader;
drop role looks_reader;

-- locks and changes: core's nested loops, and its tables afterwards
create table changed (how text, ahead boolean, n bigint, sum numeric);
create function change(how text, statement text) returns setof changed language plpgsql as $$
declare
	setting text;
begin
	if anago_looks(statement) = 0 then
		raise warning 'no looks: %', statement;
	end if;
	foreach setting in array '{off, on}'::text[] loop
		perform set_config('anago.ahead', setting, true);
		begin
			execute statement;
			return query select how, setting::boolean, count(*), sum(hashtext(o::text)::numeric) from o;
			raise exception 'back' using errcode = 'raise_exception';
		exception when raise_exception then
			null;
		end;
	end loop;
	perform set_config('anago.ahead', 'on', true);
end $$;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;
select * from change('update', 'update o set day = day + c.grp from c where cid = c.id and c.grp < 4');
select * from change('delete', 'delete from o using c where cid = c.id and c.grp < 4');
select * from change('update, subquery', 'update o set day = (select sum(amount) from l where oid = o.id) where cid < 9 and (select count(*) from l where oid = o.id) = 2');
select * from change('merge', 'merge into o using (select * from c where grp < 4) c on cid = c.id when matched then update set note = c.name');
select count(*), sum(id) from (select o.id from c, o where cid = c.id and c.grp < 4 for update of o) x;
select anago_looks('select o.id from c, o where cid = c.id and c.grp < 4 for update of o');

-- reads that fail in looks are nobody's affair; there are no looks afterwards
set anago.sim_fault_rate = 1;
select * from change('update', 'update o set day = day + c.grp from c where cid = c.id and c.grp < 4');
set anago.sim_fault_rate = 0.02;
do $$
declare
	ids bigint;
begin
	for seed in 1 .. 20 loop
		perform set_config('anago.sim_seed', seed::text, true);
		perform set_config('anago.max_inflight_reads', (1 + seed * 7 % 40)::text, true);
		select sum(id) into ids from (select o.id from c, o where cid = c.id and c.grp < 4 for update of o) x;
		if ids is distinct from 3501759 then
			raise warning 'seed %: other rows', seed;
		end if;
	end loop;
end $$;
reset anago.sim_fault_rate;

-- cursors, which may stop anywhere and go back
begin;
declare k scroll cursor for select c.id, x.day from c, lateral (select * from o where cid = c.id order by day, id limit 2) x where grp = 3 order by 1;
fetch 3 from k;
move 5 from k;
fetch 2 from k;
fetch backward 2 from k;
close k;
commit;
begin;
declare k cursor with hold for select c.id, x.day from c, lateral (select * from o where cid = c.id order by day, id limit 2) x where c.id between 7 and 9;
fetch 1 from k;
savepoint s;
fetch 1 from k;
rollback to s;
fetch 1 from k;
commit;
fetch all from k;
close k;
do $$
declare
	r record;
	n int := 0;
begin
	for r in select o.id from c, o where cid = c.id for update of o loop
		n := n + 1;
		exit when n = 5;
	end loop;
	raise notice '% rows', n;
end $$;

-- few rows, little memory, wide rows
create table w as select id, repeat(id::text, 2000) as wide from c;
analyze w;
set work_mem = '64kB';
select count(*), sum(length(w.wide)), sum(x.day) from w, lateral (select day from o where cid = w.id order by day limit 2) x;
set anago.max_rows_ahead = 1;
select count(*), sum(length(w.wide)), sum(x.day) from w, lateral (select day from o where cid = w.id order by day limit 2) x;
reset anago.max_rows_ahead;
reset work_mem;
set anago.ahead = off;
select count(*), sum(length(w.wide)), sum(x.day) from w, lateral (select day from o where cid = w.id order by day limit 2) x;
reset anago.ahead;

-- a LIMIT reads for few rows more than it takes
create function looked_for(query text) returns int language plpgsql as $$
declare
	line text;
begin
	for line in execute 'explain (analyze, costs off, timing off, summary off) ' || query loop
		if line ~ 'Probes' then
			return substring(line from 'Probes: (\d+)');
		end if;
	end loop;
end $$;
select looked_for('select c.id, o.id from c, o where cid = c.id limit 1 for update of o') <= 8 as few,
	looked_for('select c.id, o.id from c, o where cid = c.id limit 600 for update of o') <= 100 as some;

-- statistics and predicate locks are of what core has done
set anago.io_method = auto;
create table traced (setting text, scans bigint, locks bigint);
create function traces(setting text) returns void language plpgsql as $$
declare
	before bigint := pg_stat_get_xact_numscans('o_cid_day'::regclass);
	scans bigint;
	locks bigint;
begin
	perform set_config('anago.ahead', setting, true);
	perform count(*) from (select o.id from c, o where cid = c.id and c.grp < 4 for update of o) x;
	scans := pg_stat_get_xact_numscans('o_cid_day'::regclass) - before;
	select count(*) into locks from pg_locks where mode = 'SIReadLock' and pid = pg_backend_pid();
	insert into traced values (setting, scans, locks);
end $$;
drop index o_cid;
begin isolation level serializable;
select traces('on');
commit;
begin isolation level serializable;
select traces('off');
commit;
select count(distinct (scans, locks)) as same, min(scans) > 0 as scans, min(locks) > 0 as locks from traced;

-- several processes, each ahead of its own rows
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select * from anago_same_looks('select c.id, x.* from c, lateral (select * from o where cid = c.id order by note, id limit 3) x where grp < 9');

-- what a worker meets while its leader is at looks is no error of theirs.  They take their time here, and core
-- comes to no row
create table worked (id int, note text) with (parallel_workers = 2);
insert into worked select g, repeat('x', 100) from generate_series(1, 5000) g;
create table nobody (id int) with (parallel_workers = 0);
create function meets(int) returns bool language plpgsql stable parallel safe as $$
begin
	if $1 = 600 then
		perform pg_sleep(0.3);
		raise exception 'bad row' using errcode = 'AN001';
	end if;
	return true;
end $$;
set parallel_leader_participation = off;
set from_collapse_limit = 1;
select line from anago_plan('select count(*) from (select id from worked where meets(id) offset 0) w, lateral
	(select 1 from nobody, o where cid = length(factorial(3000 + w.id % 2)::text) offset 0) x') line where line ~ 'Ahead|Look|Gather';
\set VERBOSITY sqlstate
select count(*) from (select id from worked where meets(id) offset 0) w, lateral
	(select 1 from nobody, o where cid = length(factorial(3000 + w.id % 2)::text) offset 0) x;
\set VERBOSITY default
reset parallel_leader_participation;
reset from_collapse_limit;
set max_parallel_workers_per_gather = 0;

-- a Sort is told through the node how many rows a LIMIT wants, each time anew
select substring(line, 'Custom.*Ahead|Look.*|Sort Method: [^ ]*') as line from anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select s.id, (select count(*) from o where cid = s.id) from (select id, name from c order by name, id offset 0) s limit 20') line where line ~ 'Ahead|Look|Sort Method';
select * from anago_same_looks('select s.id, (select count(*) from o where cid = s.id) from (select id, name from c order by name, id offset 0) s limit 20 offset 3');
select * from anago_same_looks('select g, x.* from generate_series(-12, 12) g, lateral (select s.id, (select count(*) from o where cid = s.id) from
	(select id, name from c order by name, id offset 0) s limit 2 * abs(g)) x');
select * from anago_same_looks('select g, x.* from generate_series(-12, 12) g, lateral (select s.id, (select count(*) from o where cid = s.id) from
	(select id, name from c where grp = 3 or id < g order by name, id offset 0) s limit 20 - abs(g)) x');
select * from anago_same_looks('select g, x.* from generate_series(0, 12) g, lateral (select s.name, (select count(*) from o where cid = s.id) from
	(select id, name from c order by name, id offset 0) s order by s.name fetch first (g + 1) rows with ties) x');
-- who asks for some rows at a time may ask for more
do $$
declare
	r record;
	n int := 0;
begin
	for r in select s.id, (select count(*) from o where cid = s.id) from (select id, name from c order by name, id offset 0) s loop
		n := n + 1;
	end loop;
	raise notice '% rows', n;
end $$;

create function rows_given(int) returns int language plpgsql stable parallel safe as $$
declare
	r record;
	n int := 0;
begin
	for r in select s.id, (select count(*) from o where cid = s.id) from (select id, name from c order by name, id offset 0) s loop
		n := n + 1;
	end loop;
	return n;
end $$;
set max_parallel_workers_per_gather = 2;
select line from anago_plan('select distinct rows_given(id) from worked where id in (1, 1000, 4000)') line where line ~ 'Gather';
select distinct rows_given(id) from worked where id in (1, 1000, 4000);
set max_parallel_workers_per_gather = 0;

-- run-time figures
select * from anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select o.id from c, o where cid = c.id and c.grp < 4 for update of o') line where line ~ '(Ahead|Look|Cond|Probes)';
create function looks_json(query text) returns jsonb language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, costs off, timing off, summary off, format json) ' || query into plan;
	return jsonb_path_query_first(plan::jsonb, '$.**."Looks"[0]') - '{Probes,Index Descents,Index Entries,Heap Tuples,Rows,Alias}'::text[];
end $$;
select looks_json('select o.id from c, o where cid = c.id for update of o');
drop schema looks cascade;
