-- Row security and leakproof order: what a user may not see reaches no function
-- of his.  Answers are (same rows, how many, our plan).
load 'anago';

create role anago_reader;
grant usage, create on schema public to anago_reader;
create table sec (id int primary key, owner text, secret text);
create table sec_more (id int primary key, sec int, note text);
insert into sec select g, case g % 3 when 0 then 'anago_reader' else 'other' end, 'secret' || g
	from generate_series(1, 600) g;
insert into sec_more select g, g % 650, 'note' || g from generate_series(1, 1200) g;
create index sec_secret on sec (secret collate "C");
create index sec_more_sec on sec_more (sec);
alter table sec enable row level security;
create policy sec_own on sec using (owner = current_user);
create view sec_view with (security_barrier) as select * from sec where owner = 'anago_reader';
grant select on sec, sec_more, sec_view to anago_reader;
vacuum analyze sec, sec_more;

-- a cheap function that tells what it is given, and is not leakproof
create table sec_seen (t text);
grant insert, select, delete on sec_seen to anago_reader;
set role anago_reader;
create function sec_leak(t text) returns boolean language plpgsql cost 0.0001 as $$
begin
	insert into sec_seen values (t);
	return true;
end $$;
reset role;
-- the owner of the view asks with it, too
grant execute on function sec_leak to public;

-- only a superuser may force our plans; what is set stays for the role
set anago.debug_force = on;
set role anago_reader;
select anago_same('select * from sec where id < 100');
select anago_same('select * from sec where id = 2');
select anago_same('select * from sec where id = 3');
select anago_same($$select * from sec where secret collate "C" like 'secret1%'$$);
select anago_same('select * from sec join sec_more on sec_more.sec = sec.id where sec.id < 100');
select anago_same('select * from sec_more left join sec on sec.id = sec_more.sec where sec_more.id < 100');
select anago_same('select * from sec_more where sec_more.id < 100
	and not exists (select 1 from sec where sec.id = sec_more.sec)');
select anago_same('select * from sec where id < 100 and sec_leak(secret)');
select anago_same('select * from sec_more join sec on sec.id = sec_more.sec and sec_leak(sec.secret)
	where sec_more.id < 100');
select anago_same('select * from sec_view where id < 100 and sec_leak(secret)');
select anago_same('select * from sec_more join sec_view on sec_view.id = sec_more.sec
	and sec_leak(secret) where sec_more.id < 100');
select count(*) > 0 as something_seen from sec_seen;
-- nothing of other owners has been seen
select count(*) as leaked from sec_seen where replace(t, 'secret', '')::int % 3 <> 0;
delete from sec_seen where false;
reset role;

-- a condition with a non-leakproof operator must not be used as index condition
-- before the policy's
create function sec_int_leak(a int, b int) returns boolean language plpgsql as $$
begin
	insert into sec_seen values ('op' || a);
	return a = b;
end $$;
set role anago_reader;
select anago_same('select * from sec where sec_int_leak(id, 6)');
reset role;
select count(*) as leaked from sec_seen where t like 'op%' and replace(t, 'op', '')::int % 3 <> 0;

-- plans are made for the role that runs them
prepare sec_q as select count(*) from sec where id < 100;
set anago.enable = on;
set anago.debug_force = on;
execute sec_q;
set role anago_reader;
execute sec_q;
select anago_plan('select * from sec where id < 100 and sec_leak(secret)');
reset role;
execute sec_q;
reset anago.enable;

-- column privileges and missing privileges: stock's errors
revoke select on sec_more from anago_reader;
grant select (id, sec) on sec_more to anago_reader;
set anago.debug_force = on;
set role anago_reader;
set anago.enable = on;
select count(*) from sec join sec_more on sec_more.sec = sec.id where sec.id < 10;
select note from sec_more where id = 1;
select * from sec_more where id = 1;
reset role;
reset anago.enable;

-- a view reads with its owner's rights
create view sec_owner_view as select s.id, m.note from sec s join sec_more m on m.sec = s.id;
grant select on sec_owner_view to anago_reader;
set role anago_reader;
select anago_same('select * from sec_owner_view where id < 20');
reset role;

drop view sec_owner_view, sec_view;
drop table sec, sec_more, sec_seen;
drop function sec_leak, sec_int_leak;
revoke all on schema public from anago_reader;
drop role anago_reader;
