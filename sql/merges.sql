-- AnagoAhead below MERGE: looks of all its actions, for the rows that each takes, as far as
-- conditions say it.  Tables must be afterwards what stock makes of them.
load 'anago';
create schema merges;
set search_path = merges, public;

create table source (id int primary key, tid int, a int, b text, v int);
insert into source select g, g * 7 % 1201 + 1, g * 7919 % 2003, 'name ' || g * 31 % 200, g % 10 from generate_series(1, 900) g;
create table parent (id int primary key, note text);
insert into parent select g, g from generate_series(1, 2100) g;
create table target (id int primary key, gone int, a int, b text, p int references parent, v int);
alter table target drop gone;
insert into target select g, g * 31 % 2003, 'name ' || g % 300, g % 500 + 1, g % 7 from generate_series(1, 1000) g;
create index target_a on target (a);
create index target_b on target (lower(b), v);
create index target_v on target (v, id);
create table kid (id int, target int references target on delete cascade on update cascade);
insert into kid select g, g * 3 % 1000 + 1 from generate_series(1, 2000) g;
create index kid_target on kid (target);
create table log (what text, id int);
vacuum analyze;

set anago.enable = on;
set anago.debug_force = on;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;

create function looks(statement text) returns setof text language sql as $$
	select ltrim(line) from public.anago_plan(statement) line where line ~ '(Tid Scan|Insertion|Index Key|kid|parent_pkey)'
$$;
select * from looks('merge into target t using source s on t.id = s.tid when matched and s.v > 7 then delete
	when matched and t.v < 3 then update set a = s.a, b = s.b when matched and s.v = 0 then do nothing
	when matched then update set v = t.v + s.v, p = s.a + 1
	when not matched and s.v > 4 then insert (id, a) values (s.tid, s.a) when not matched then insert (id, b, p) values (s.tid, s.b, s.a + 1)');
select * from looks('merge into target t using source s on t.id = s.tid when matched then delete');
select * from looks('merge into target t using source s on t.id = s.tid when not matched then do nothing');
-- each row is looked for by its own action alone
begin;
select look, probes > 0 as some from anago_looks_made('merge into target t using source s on t.id = s.tid when matched and s.v > 7 then delete
	when matched and t.v < 3 then update set a = s.a, b = s.b when not matched then insert (id, a) values (s.tid, s.a)')
	where look ~ '(target|kid|parent)';
rollback;

select * from anago_change('merge into target t using source s on t.id = s.tid when matched and s.v > 7 then delete
	when matched and t.v < 3 then update set a = s.a, b = s.b when matched and s.v = 0 then do nothing
	when matched then update set v = t.v + s.v, p = s.a + 1
	when not matched and s.v > 4 then insert (id, a) values (s.tid, s.a) when not matched then insert (id, b, p) values (s.tid, s.b, s.a + 1)');
select * from anago_change('merge into target t using source s on t.id = s.tid when matched then delete when not matched then insert (id, a, p) values (s.tid, s.a, s.a + 1)');
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and s.v > 2 then delete');
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and t.v = s.v then do nothing when matched then update set id = t.id + 5000, v = s.v');
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and t.v = s.v then update set id = t.id + 5000 when matched then update set b = upper(t.b)');
select * from anago_change('merge into target t using source s on t.id = s.tid when not matched and s.v = 3 then do nothing when not matched and s.v = 5 then insert values (s.tid) when not matched then insert values (s.tid, s.a, s.b, s.a + 1, 4)');
-- conditions that can't be asked ahead, and those that fail; a system column, and a whole row
create function own(i int) returns boolean language plpgsql stable as 'begin return i % 2 = 0; end';
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and own(s.v) then delete when matched then update set a = s.a');
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and exists (select from kid where kid.target = t.v) then update set a = s.a when matched then delete');
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and 10 / (s.v - 4) > 1 then delete when matched then update set a = s.a');
select * from anago_change('merge into target t using (select * from source where v <> 4) s on t.id = s.tid when matched and 10 / (s.v - 4) > 1 then delete when matched then update set a = s.a');
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and t.tableoid::int > 0 then update set a = t.xmin::text::bigint % 1, b = t.ctid::text when matched then delete');
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and t is not null then update set b = length(t::text) when matched then delete');
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and t.v > 3 then update set b = default, a = nullif(random(), random()) * 0 when matched then delete');
-- a parent that is not there; a row twice
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and s.v > 5 then update set p = s.a + 2000 when matched then delete');
select * from anago_change('merge into target t using source s on t.id = s.v + 1 when matched and t.v > 4 then update set a = s.a when matched then delete');

-- few rows and memory, faults, triggers
set work_mem = '64kB';
set anago.max_rows_ahead = 3;
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and s.v > 4 then delete when matched then update set a = s.a, b = repeat(s.b, 40)');
reset work_mem;
reset anago.max_rows_ahead;
set anago.sim_fault_rate = 0.03;
do $$
declare
	sums numeric[];
	one numeric;
begin
	-- without anago, as a forced scan of ours would fail
	for seed in 0 .. 8 loop
		perform set_config('anago.enable', (seed > 0)::text, true);
		perform set_config('anago.sim_seed', seed::text, true);
		begin
			merge into target t using source s on t.id = s.tid when matched and s.v > 4 then do nothing
				when matched then update set a = s.a, b = repeat(s.b, 40);
			select sum(hashtext(t::text)::numeric) into one from target t;
			raise exception 'back';
		exception
			when raise_exception then null;
		end;
		sums := sums || one;
	end loop;
	if sums[1] <> any (sums) then
		raise warning 'other rows: %', sums;
	end if;
end $$;
reset anago.sim_fault_rate;
create function logged() returns trigger language plpgsql as $$
begin
	insert into merges.log values (tg_op, coalesce(old.id, new.id));
	if old.id % 7 = 0 then
		return null;
	end if;
	return coalesce(new, old);
end $$;
create trigger logged before insert or update or delete on target for each row execute function logged();
select * from anago_change('merge into target t using source s on t.id = s.tid when matched and s.v > 4 then delete when matched then update set a = s.a when not matched then insert (id) values (s.tid)');
drop trigger logged on target;

-- partitions, whose columns stand elsewhere
create table parts (id int not null, k int, a int, b text) partition by range (k);
create table parts_1 partition of parts for values from (0) to (5);
create table parts_2 (b text, gone int, a int, k int, id int not null);
alter table parts_2 drop gone;
alter table parts attach partition parts_2 for values from (5) to (9);
create table parts_3 partition of parts default;
insert into parts select g, g % 13, g * 31 % 2003, 'p' || g from generate_series(1, 1000) g;
create index parts_a on parts (a);
create index parts_id on parts (id);
create index parts_b on parts (b) where a % 2 = 0;
vacuum analyze parts;
select * from looks('merge into parts t using source s on t.id = s.tid when matched and t.a > s.a then delete
	when matched and s.v < 5 then update set b = s.b when matched then update set k = s.v, a = t.a + 1 when not matched then insert values (s.tid, s.v, s.a, s.b)');
select * from anago_change('merge into parts t using source s on t.id = s.tid when matched and t.a > s.a then delete
	when matched and s.v < 5 then update set b = s.b when matched then update set k = s.v, a = t.a + 1 when not matched then insert values (s.tid, s.v, s.a, s.b)');
select * from anago_change('merge into parts t using source s on t.id = s.tid when matched and t.b < s.b then update set k = t.k + 1, b = s.b when matched then do nothing when not matched and s.v = 2 then insert (b, id) values (s.b, s.tid)');
select * from anago_change('merge into parts t using source s on t.id = s.tid and t.k = 6 when matched and t.a > s.a then update set k = t.k + 1 when matched then update set b = s.b, a = s.a when not matched then insert values (s.tid + 5000, s.v, s.a, s.b)');
select * from anago_change('merge into parts_2 t using source s on t.id = s.tid when matched and t.a > s.a then delete when matched then update set b = s.b, a = s.a when not matched then insert values (s.b, s.a, 7, s.tid)');

-- rows of the table that nothing finds (17)
do $$
declare
	statement text;
begin
	if current_setting('server_version_num')::int < 170000 then
		return;
	end if;
	foreach statement in array array[
		'merge into target t using source s on t.id = s.tid when matched and s.v > 4 then update set a = s.a when not matched by source and t.v = 2 then delete when not matched by source then update set b = ''none'', v = t.v + 1',
		'merge into target t using source s on t.id = s.tid when not matched by source then delete when not matched then insert (id, b) values (s.tid, s.b)',
		'merge into target t using source s on t.id = s.tid when matched then delete when not matched by source and own(t.v) then update set v = 8 when not matched by source then update set id = t.id + 9000',
		'merge into parts t using source s on t.id = s.tid when matched then update set b = s.b when not matched by source and t.k > 6 then update set k = t.k - 4 when not matched by source then delete when not matched by target then insert values (s.tid, s.v)']
	loop
		if not (select same and looks > 1 from anago_change(statement)) then
			raise warning '%: other rows, or no looks', statement;
		end if;
	end loop;
end $$;

-- a plan that is kept
prepare kept as merge into target t using (select * from source where v < $1) s on t.id = s.tid when matched and s.v > 2 then delete when matched then update set a = s.a;
set plan_cache_mode = force_generic_plan;
execute kept(3);
drop table kid;
drop index target_a;
execute kept(5);
select count(*), sum(a) from target;
drop schema merges cascade;
