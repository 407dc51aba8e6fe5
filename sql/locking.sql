-- Rows that are locked or changed: AnagoScan gives them, in the index's order, and
-- core's nodes do the rest; joins are core's nested loops, with looks.  What is
-- in the tables afterwards must be what stock leaves there.
load 'anago';
create schema locking;
set search_path = locking, public;

create table t (id int primary key, k int, v int, note text, twice int generated always as (v * 2) stored);
insert into t (id, k, v, note) select g, g * 7 % 50, g % 20, repeat(chr(65 + g % 26), g % 40) from generate_series(1, 3000) g;
create index t_k on t (k);
create table s (id int, tid int, grp int, v int);
insert into s select g, g * 3 % 3000, g % 20, g % 7 from generate_series(1, 800) g;
create index s_grp on s (grp);
create table p (id int, k int, v int, note text) partition by range (id);
create table p1 partition of p for values from (0) to (1000);
create table p2 partition of p for values from (1000) to (3000);
create table p3 (note text, v int, k int, id int);
alter table p attach partition p3 for values from (3000) to (9000);
insert into p select g, g * 7 % 50, g % 20, 'note ' || g from generate_series(1, 3500) g;
create index p_k on p (k);
create index p_id on p (id);
create table parent (id int, k int, v int);
create table child (more text) inherits (parent);
insert into parent select g, g % 40, g from generate_series(1, 500) g;
insert into child select g, g % 40, g, 'c' from generate_series(501, 1500) g;
create index parent_k on parent (k);
create index child_k on child (k);
vacuum analyze t, s, p, parent, child;

set anago.enable = on;
set anago.debug_force = on;

-- One statement, with anago and without: rows that it returns, and all that is in the
-- tables afterwards.  It is undone each time; what is to be known comes out as a
-- message.
create table audit (what text);
create function state_of(rel regclass) returns numeric language plpgsql as $$
declare
	result numeric;
begin
	execute format('select count(*) + sum(hashtext(x::text)::numeric) from %s x', rel) into result;
	return result;
end $$;
create function outcome(statement text, setting text) returns text language plpgsql as $$
declare
	returned text := '';
	row record;
	result text;
begin
	perform set_config('anago.enable', setting, true);
	perform set_config('anago.debug_force', setting, true);
	begin
		if statement ~ 'returning|for (no key )?(update|share)' then
			for row in execute statement loop
				returned := md5(returned || row::text);
			end loop;
		else
			execute statement;
		end if;
		raise exception using errcode = 'raise_exception', message =
			concat_ws(' ', returned, state_of('t'), state_of('p'), state_of('parent'), (select count(*) from audit));
	exception when raise_exception then
		get stacked diagnostics result = message_text;
	end;
	perform set_config('anago.enable', 'on', true);
	perform set_config('anago.debug_force', 'on', true);
	return result;
end $$;
create function change(statement text, out same boolean, out changes boolean, out scans bigint, out looks bigint)
language plpgsql as $$
declare
	before text := outcome('select 1', 'off');
	stock text := outcome(statement, 'off');
	ours text := outcome(statement, 'on');
begin
	select count(*) filter (where line ~ 'AnagoScan'), count(*) filter (where line ~ 'Look \d')
		into scans, looks from public.anago_plan(statement) line;
	same := stock = ours;
	changes := stock <> before;
	if not same then
		raise warning 'stock: %, anago: %', stock, ours;
	end if;
end $$;

-- stock by the same index, as the order of rows that are returned is its
set enable_seqscan = off;
set enable_bitmapscan = off;
-- rows picked by one index
select * from change('update t set v = v + 1 where k = 3');
select * from change('update t set v = v + 1, k = 4 where k between 3 and 5 and v % 3 = 0 returning *');
select * from change('update t set k = k + 1 where k >= 30 returning id, t');
select * from change('delete from t where k in (3, 9, 20) returning id');
select * from change('delete from t where k = 3 and note like ''%D%''');
select * from change('select * from t where k between 10 and 12 for update');
select * from change('select t, t.ctid, v from t where k between 10 and 12 and v > 5 for share');
select * from change('select id from t where k > 20 order by k limit 5 for no key update');
select * from change('select id from t where id > 20 order by id desc limit 5 for update skip locked');
select * from change('select x.id, s.grp from (select * from t where k = 3 for update) x join s on s.tid = x.id where grp > 3');
select * from change('with u as (update t set v = 0 where k = 7 returning id, v) select * from u');
select * from change('update t set v = (select count(*) from s where tid = t.id) where k = 9 and (select count(*) from s where tid = t.id) < 5');
-- children and partitions
select * from change('update p set v = v + 1 where k = 3 returning tableoid::regclass, *');
select * from change('update p set id = id + 1000 where k = 3 and id < 4000');
select * from change('delete from p where k between 5 and 6 returning p');
select * from change('select * from p where k = 8 for update');
select * from change('update parent set v = -v where k = 8');
select * from change('select tableoid::regclass, * from parent where k = 8 for share');
select * from change('delete from parent where k in (2, 3)');

-- joins: the other table's scan is ours, the loop core's
select * from change('update t set v = s.v from s where s.tid = t.id and s.grp = 3');
select * from change('delete from t using s where s.tid = t.id and s.grp between 3 and 5 and t.v > 3');
select * from change('update t set v = 100 where id in (select tid from s where grp = 3)');
select * from change('delete from t where exists (select 1 from s where s.tid = t.id and s.grp = 4)');
select * from change('select count(*), sum(x.id) from (select t.id from s, t where s.tid = t.id and s.grp = 5 for update of t) x');
select * from change('select count(*), sum(x.id) from (select t.id from s left join t on s.tid = t.id and t.v > 3 where s.grp = 5 for share of s) x');
select * from change('merge into t using (select distinct on (tid) * from s where grp = 3) s on s.tid = t.id
	when matched and t.v > 10 then delete when matched then update set v = s.v when not matched then insert (id, k) values (s.tid, 0)');
select * from change('update p set v = s.v from s where s.id = p.k and s.grp = 3');
-- (also where partitions are pruned for each row)
select * from change('delete from p using s where s.tid = p.id and s.grp = 3');
select * from change('update parent set v = s.v from s where s.id = parent.k and s.grp = 3');
-- subqueries in the filter are evaluated above the scan, each with what it reads there already
select * from change('update t set v = v + 1 where k = 3 and (select count(*) from s where s.grp = t.v) > 0');
select * from change('delete from t where k in (3, 4) and v > 2 and (select count(*) from s where s.grp = t.v and s.v > 3) > 10 and v < 19');
select * from change('select id, v from t where k = 3 and (select count(*) from t x where x.id = t.id - 1 and x.v < 10) = 1 for no key update');
select * from change('update p set v = v + 1, id = id + 900 where k = 3 and (select max(s.tid) from s where s.grp = p.v) > 2300');
select * from change('delete from parent where k = 3 and (select count(*) from t where t.id = parent.v and t.v > 2) = 1');

-- triggers see each row when it is changed
create function audited() returns trigger language plpgsql as $$
begin
	insert into audit values (tg_op || old.id);
	if tg_op = 'UPDATE' then
		new.note := (select max(note) from t where k = old.k);
		return new;
	end if;
	delete from t where id = old.id + 50;
	return old;
end $$;
create trigger audited before update or delete on t for each row execute function audited();
select * from change('update t set v = v + 1 where k = 3');
select * from change('update t set v = s.v from s where s.tid = t.id and s.grp = 3');
select * from change('update t set v = v + 1 where k = 3 and (select count(*) from s where s.grp = t.v) > 0');
drop trigger audited on t;

-- row security
create role locking_user;
grant usage on schema locking to locking_user;
grant select, update on t to locking_user;
alter table t enable row level security;
create policy own on t using (v < 15);
create function seen(int) returns boolean language plpgsql cost 0.0001 as 'begin raise notice ''seen %'', $1; return true; end';
set role locking_user;
select id from t where k = 3 and id < 300 and seen(v) for update;
select id from t where k = 3 and id < 300 and seen(v) and (select count(*) from t x where x.id = t.id and x.v > 2) = 1 for update;
reset role;
alter table t disable row level security;
revoke all on t from locking_user;
revoke all on schema locking from locking_user;
drop role locking_user;

-- the plans
reset enable_seqscan;
reset enable_bitmapscan;
select * from anago_plan('update t set v = v + 1 where k = 3 and note > ''B''');
select * from anago_plan('select id from t where k between 3 and 5 order by k desc for update');
select * from anago_plan('update t set v = s.v from s where s.tid = t.id and s.grp = 3');
select * from anago_plan('delete from t where id in (select tid from s where grp = 3)');
select * from anago_plan('update p set v = v + 1 where k = 3');
-- not by several indexes at once
select anago_used('delete from t where k = 3 or id = 5');
-- a table that nobody else sees: no looks
create temporary table mine as select * from t;
create index on mine (id);
analyze mine;
select count(*) as looks from anago_plan('update mine set v = s.v from s where s.tid = mine.id and s.grp = 3') line where line ~ 'Look \d';
set anago.ahead = off;
select count(*) as looks from anago_plan('update t set v = s.v from s where s.tid = t.id and s.grp = 3') line where line ~ 'Look \d';
reset anago.ahead;

-- a cursor, and the row it is on
begin;
declare c cursor for select id from t where k = 3 for update;
fetch 2 from c;
update t set v = -1 where current of c returning id;
fetch 1 from c;
delete from t where current of c returning id;
close c;
rollback;

-- prepared, with a generic plan
set plan_cache_mode = force_generic_plan;
prepare change(int, int) as update t set v = $2 where k = $1;
begin;
select count(*) as scans from anago_plan('execute change(3, 4)') line where line ~ 'AnagoScan';
execute change(5, 4);
select count(*), sum(id) from t where k = 5 and v = 4;
rollback;
deallocate change;
reset plan_cache_mode;

drop schema locking cascade;
