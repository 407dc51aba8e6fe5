-- OR over several indexes: a union of scans, each row once.
load 'anago';
-- (vacuum and analyze when it is said: costs of arms go by what they find)
create table oj (id int primary key, a int, b int, c int, t text, pay text)
	with (autovacuum_enabled = off);
insert into oj
	select g, nullif(g % 500, 3), nullif(g * 7919 % 700, 5), nullif(g % 11, 4), 't' || g % 300,
		repeat('p', g % 150)
	from generate_series(1, 10000) g;
create index oj_a on oj (a);
create index oj_b on oj (b);
create index oj_cb on oj (c, b);
create index oj_t on oj (t text_pattern_ops);
create index oj_x on oj ((a + b));
create index oj_part on oj (c) where b > 650;
-- HOT chains, and entries of rows that are dead
update oj set pay = 'hot' where id % 13 = 0;
update oj set a = a + 1 where id % 17 = 0;
delete from oj where id % 19 = 0;
vacuum analyze oj;
update oj set pay = 'hotter' where id % 13 = 0;
update oj set b = b + 1 where id % 23 = 0;

create function oj_plan(query text) returns text language sql as $$
	select coalesce((select 'union' from anago_plan(query) line
		where line ~ 'Append' having count(*) > 0), 'no union')
$$;
create function oj_same(query text, out same boolean, out rows bigint, out anago boolean)
language sql as $$ select * from anago_same(query) $$;

set enable_seqscan = off;
set enable_indexscan = on;
select * from oj_same('select * from oj where a = 1 or b = 2');
select * from oj_same('select * from oj where a = 1 or b = 2 or c = 7 and b = 9');
select * from oj_same('select id from oj where a < 5 or b < 5');
select * from oj_same('select id from oj where (a = 100 or b = 200) and pay > ''p''');
select * from oj_same('select id from oj where (a = 100 or b = 200) and c = 3');
select * from oj_same('select id from oj where a is null or b is null');
select * from oj_same('select id from oj where a = 1 or b is null');
select * from oj_same('select id from oj where a in (1, 2, null) or b in (3, 4)');
select * from oj_same('select id from oj where a = 7 or t like ''t1%''');
select * from oj_same('select id from oj where t like ''t29%'' or a = 7');
select * from oj_same('select id from oj where a + b = 300 or a = 9');
select * from oj_same('select id from oj where a = 9 or c = 7 and b > 650');
select * from oj_same('select id from oj where c = 7 and b > 650 or a = 9 or b = 655');
select * from oj_same('select id from oj where a = 9 or b = 9 or a = 9 and c = 1');
select * from oj_same('select id from oj where (a = 9 or b = 9) and (c = 1 or t = ''t9'')');
select * from oj_same('select id from oj where a between 5 and 7 or a between 6 and 9 and b < 300');
select * from oj_same('select ctid, id from oj where a = 1 or b = 2');
select * from oj_same('select o from oj o where a = 1 or b = 2');
select * from oj_same('select count(*), sum(id), min(pay) from oj where a = 1 or b = 2');
select * from oj_same('select id from oj where a = (select 5) or b = (select 6)');
select * from oj_same('select id from oj where a = 1 or false');
select * from oj_same('select id from oj where a = 1 or b = 2 limit 1000');
select * from oj_same('select o.id, p.id from oj o join oj p on p.a = o.b where o.a = 1 or o.b = 2');
select * from oj_same('select o.id, p.id from oj o left join oj p on p.a = o.b and p.c = 2 where o.a = 1 or o.b = 2');
select * from oj_same('select o.id from oj o where (a = 1 or b = 2) and not exists (select from oj p where p.b = o.a)');
select * from anago_same_prepared('select id from oj where a = $1 or b = $2', 'int, int',
	'1, 2', '7, 7', 'null, 3', '3, null', 'null, null');

set anago.enable = on;
set anago.debug_force = on;
explain (costs off) select id from oj where a = 1 or b = 2 and c = 3;
select oj_plan('select * from oj where a = 1 or b = 2');
-- each row once
select count(*) = count(distinct ctid), count(*) from oj where a < 30 or b < 30 or c < 2 and b < 100;
select id from oj where a = 1 or b = 2 order by id limit 5;
-- a cursor's row is to be found by UPDATE ... WHERE CURRENT OF
begin;
declare cur cursor for select id from oj where a = 1 or b = 2;
move 1 in cur;
update oj set pay = 'here' where current of cur;
select count(*) from oj where pay = 'here';
rollback;

-- partitions and inheritance have no unions of their own
create table oj_parent (id int, a int, b int) partition by range (id);
create table oj_p1 partition of oj_parent for values from (0) to (5000);
create table oj_p2 partition of oj_parent for values from (5000) to (10000);
insert into oj_parent select g, g % 500, g * 7919 % 700 from generate_series(0, 9999) g;
create index on oj_parent (a);
create index on oj_parent (b);
vacuum analyze oj_parent;
reset anago.debug_force;
select (oj_same('select * from oj_parent where a = 1 or b = 2')).same;
select (oj_same('select * from oj_parent where (a = 1 or b = 2) and id > (select 6000)')).same;

-- where clocks were set forward an index on a timestamp is not in the order of
-- moments: an arm may miss a row for which its condition is true, another one not
set anago.debug_force = on;
set timezone = 'America/New_York';
create table oj_clock (id int, at timestamp);
insert into oj_clock select g, timestamp '2024-03-10 00:00' + g * interval '1 min' from generate_series(0, 400) g;
create index on oj_clock (at);
create index on oj_clock (id);
analyze oj_clock;
select minute, n from generate_series(120, 180, 20) minute,
	lateral (select count(*) as n from oj_clock where id between 100 and 200 or
		at = timestamptz '2024-03-10 00:00-05' + minute * interval '1 min') c order by minute;
select (oj_same('select * from oj_clock where id < 200 or at = timestamptz ''2024-03-10 03:10-04''')).same;
select (oj_same('select * from oj_clock where id < 200 or at in (timestamptz ''2024-03-10 03:10-04'', timestamptz ''2024-03-10 03:20-04'')')).same;
select (oj_same('select * from oj_clock where id < 200 or (at, id) > (timestamptz ''2024-03-10 03:10-04'', 500)')).same;
select oj_plan('select * from oj_clock where id < 200 or at = timestamp ''2024-03-10 02:10''');
drop table oj_clock;
reset timezone;
reset anago.debug_force;

-- row security: what the policy hides stays hidden
create role regress_oj;
grant select on oj to regress_oj;
create policy oj_policy on oj using (c < 9);
alter table oj enable row level security;
create function oj_tell(int) returns boolean language plpgsql cost 1 as $$
begin
	raise notice 'told of %', $1;
	return true;
end $$;
set anago.debug_force = on;
set role regress_oj;
select count(*), max(c) from oj where a = 1 or b = 2;
select count(*) from oj where (a = 1 or b = 2) and c >= 9 and oj_tell(c);
reset role;
alter table oj disable row level security;
drop policy oj_policy on oj;

-- in several processes
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
select * from oj_same('select * from oj where a < 40 or b < 20');
select * from oj_same('select o.id, p.id from oj o join oj p on p.a = o.b where o.a < 20 or o.b < 20');
-- arms that are not worth a worker each, but together
create function oj_costly(int) returns boolean language plpgsql immutable parallel safe cost 10000
	as 'begin return $1 % 3 <> 0; end';
create function oj_shape(query text) returns setof text language sql as $$
	select line from anago_plan(query) line where line ~ 'Append|Workers|Custom Scan'
$$;
reset anago.debug_force;
set enable_bitmapscan = off;
set anago.residency = off;
set anago.io_gain = 4;
set parallel_setup_cost = 850;
select oj_shape('select count(*), sum(id) from oj where (a = 1 or b = 1 or t = ''t1'' or a + b = 300) and oj_costly(id)');
select count(*), sum(id) from oj where (a = 1 or b = 1 or t = 't1' or a + b = 300) and oj_costly(id);
set enable_parallel_append = off;
select oj_shape('select count(*), sum(id) from oj where (a = 1 or b = 1 or t = ''t1'' or a + b = 300) and oj_costly(id)');
select count(*), sum(id) from oj where (a = 1 or b = 1 or t = 't1' or a + b = 300) and oj_costly(id);
reset enable_parallel_append;
reset enable_bitmapscan;
reset anago.residency;
reset anago.io_gain;
set anago.debug_force = on;
reset parallel_setup_cost;
reset parallel_tuple_cost;
reset min_parallel_table_scan_size;
reset min_parallel_index_scan_size;

-- an error in an arm's condition comes out
select count(*) from oj where a = 1 or b = (select 1 / (id - id) from oj where id = 2);

reset anago.debug_force;
reset anago.enable;
reset enable_seqscan;
drop table oj, oj_parent;
drop function oj_costly, oj_shape;
drop role regress_oj;
