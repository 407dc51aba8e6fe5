-- AnagoAhead below DELETE and UPDATE of rows that other tables refer to, from which other keys
-- cascade on: looks go from the rows that they find in one table to what refers to these.
load 'anago';
create schema cascades;
set search_path = cascades, public;

create table top (id int primary key, code text unique, grp int);
insert into top select g, 'code ' || g, g % 10 from generate_series(1, 400) g;
create table kid (gone int, id uuid primary key, top int references top on delete cascade on update cascade, code text references top (code) on update cascade, unique (top, id));
alter table kid drop gone;
insert into kid (id, top, code) select md5(g::text)::uuid, g % 400 + 1, 'code ' || g % 400 + 1 from generate_series(1, 2000) g;
create index kid_top on kid (top);
create index kid_code on kid (code);
create table grand (id bigint primary key, kid uuid references kid on delete cascade);
insert into grand select g, case when g % 7 > 0 then md5((g % 2000 + 1)::text)::uuid end from generate_series(1, 5000) g;
create index grand_kid on grand (kid);
create table note (grand bigint references grand on delete set null, body text);
insert into note select g % 5000 + 1, 'note' from generate_series(1, 3000) g;
create index note_grand on note (grand);
create table deepest (note bigint);
-- refers to what an UPDATE of the first key sets in kid
create table pair (top int, kid uuid, foreign key (top, kid) references kid (top, id) on update cascade on delete cascade);
insert into pair select top, id from kid where top % 3 = 0;
create index pair_kid on pair (kid, top);
-- a table that refers to itself, and two to each other
create table tree (id int primary key, up int references tree on delete cascade, name text);
insert into tree select g, nullif(g / 3, 0), 'n' || g from generate_series(1, 2000) g;
create index tree_up on tree (up);
create table hen (id int primary key, egg int);
create table egg (id int primary key, hen int references hen on delete cascade);
alter table hen add foreign key (egg) references egg on delete cascade;
insert into egg select g, null from generate_series(1, 600) g;
insert into hen select g, g % 600 + 1 from generate_series(1, 600) g;
update egg set hen = (id * 7) % 600 + 1;
create index hen_egg on hen (egg);
create index egg_hen on egg (hen);
vacuum analyze;

create function family() returns table (t text, n bigint, sum numeric) language sql as $$
	select 'top', count(*), sum(hashtext(x::text)::numeric) from cascades.top x union all
	select 'kid', count(*), sum(hashtext(x::text)::numeric) from cascades.kid x union all
	select 'grand', count(*), sum(hashtext(x::text)::numeric) from cascades.grand x union all
	select 'note', count(*), sum(hashtext(x::text)::numeric) from cascades.note x union all
	select 'pair', count(*), sum(hashtext(x::text)::numeric) from cascades.pair x union all
	select 'tree', count(*), sum(hashtext(x::text)::numeric) from cascades.tree x union all
	select 'hen', count(*), sum(hashtext(x::text)::numeric) from cascades.hen x union all
	select 'egg', count(*), sum(hashtext(x::text)::numeric) from cascades.egg x
$$;

set anago.enable = on;
set anago.debug_force = on;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;

select * from anago_plan('delete from top where grp = 3');
select * from anago_plan('update top set id = id + 1000 where grp = 3');
select * from anago_plan('update top set code = code || ''x'' where grp = 3');
select * from anago_plan('delete from tree where id between 10 and 50');
select * from anago_plan('delete from hen where id < 50');
-- probes of further looks are those of rows that are found
create function made(statement text) returns setof text language sql as $$
	select ltrim(line) from public.anago_explain('analyze, costs off, timing off, summary off, buffers off', statement, false) line
	where line ~ '(Look|Probes|Index Key)'
$$;
begin;
select * from made('delete from top where grp = 3');
rollback;
select line from anago_explain('format json, costs off', 'delete from top where grp = 3') line where line ~ '(Index Key|Index Name|Relation Name)';

select * from anago_change('delete from top where grp = 3');
select * from anago_change('delete from top');
select * from anago_change('delete from top where id in (select id from top where grp in (4, 5)) returning *');
select * from anago_change('update top set id = id + 1000 where grp = 3');
select * from anago_change('update top set id = id + 1000, code = code || ''y''');
select * from anago_change('update top set code = code || ''x'' where grp in (1, 2)');
select * from anago_change('delete from tree where id between 10 and 50');
select * from anago_change('delete from tree where id > 1');
select * from anago_change('delete from hen where id < 50');
select * from anago_change('delete from egg');
select * from anago_change('delete from kid where top < 100');

-- a few rows and memory; rows that are dead, or whose versions follow each other
set work_mem = '64kB';
select * from anago_change('delete from top');
reset work_mem;
set anago.max_inflight_reads = 1;
select * from anago_change('delete from top where grp < 6');
reset anago.max_inflight_reads;
begin;
update kid set code = code || '' where top < 200;
delete from kid where top between 20 and 60;
select * from anago_change('delete from top where grp = 3');
rollback;
-- a trigger that has core do otherwise; a check that fails further on
create function keep() returns trigger language plpgsql as $$
begin
	if old.id % 5 = 0 then
		return null;
	end if;
	return old;
end $$;
create trigger keep before delete on grand for each row execute function keep();
select * from anago_change('delete from top where grp = 3');
drop trigger keep on grand;
create table guard (grand bigint references grand);
insert into guard select id from grand where kid is not null limit 40;
create index guard_grand on guard (grand);
select * from anago_change('delete from top where grp < 5');
-- what is at work has no lock while a row is out
create function locked() returns trigger language plpgsql as $$
begin
	if exists (select from pg_locks where relation in ('cascades.grand'::regclass, 'cascades.grand_kid'::regclass, 'cascades.kid'::regclass)
		and pid = pg_backend_pid() and mode = 'AccessShareLock') then
		raise 'a row is out while other tables are locked';
	end if;
	return old;
end $$;
create trigger locked before delete on top for each row execute function locked();
drop table guard;
select * from anago_change('delete from top');
drop trigger locked on top;

-- somebody who may not read what is cascaded to; the keys are kept from nobody
create role cascades_writer;
grant usage on schema cascades to cascades_writer;
grant select (grp), delete on top to cascades_writer;
set role cascades_writer;
explain (verbose, costs off) delete from top where grp = 3;
begin;
delete from top where grp = 3;
rollback;
reset role;
revoke all on top from cascades_writer;
revoke all on schema cascades from cascades_writer;
drop role cascades_writer;

-- a plan that is kept, while a table further on becomes another one
prepare kept as delete from top where grp = 6 and id < $1;
set plan_cache_mode = force_generic_plan;
execute kept(100);
alter table note drop constraint note_grand_fkey;
alter table grand alter id type numeric;
drop index grand_kid;
begin;
execute kept(200);
rollback;
create index grand_kid on grand (kid, id);
execute kept(300);
select * from family();

-- of two indexes that say as much, the smaller one: core's trigger looks there
create table mother (id int primary key);
create table child (mother int references mother on delete cascade, pad text);
insert into mother select generate_series(1, 100);
insert into child select g % 100 + 1, repeat('x', 100) || g from generate_series(1, 5000) g;
create index child_wide on child (mother, pad);
create index child_small on child (mother);
analyze mother, child;
explain (costs off) delete from mother where id < 50;
-- nothing is asked for where all that a key leads to is cached
create function asks(statement text) returns table (looks boolean, columns boolean) language sql as $$
	select bool_or(line ~ 'Look'), bool_or(line ~ 'Output: .*\mid\M')
	from public.anago_explain('verbose, costs off', statement, false) line
$$;
set anago.debug_force = off;
set anago.residency = on;
select * from asks('delete from mother where id < 50');
set anago.residency = off;
select * from asks('delete from mother where id < 50');
reset anago.residency;
drop function asks(text);
drop schema cascades cascade;
