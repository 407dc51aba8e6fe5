-- Rows of our own transaction, and statements that write.  Answers are (same
-- rows, how many, our plan).
load 'anago';

create table m (id int primary key, a int, b int, t text) with (fillfactor = 50);
create table m2 (id int primary key, m int, v int);
insert into m select g, g % 20, g, 't' || g from generate_series(1, 1000) g;
insert into m2 select g, g % 1000, g % 9 from generate_series(1, 2000) g;
create index m_a on m (a);
create index m2_m on m2 (m);
vacuum analyze m, m2;

-- own rows, not yet committed
begin;
insert into m select g, 3, g, 'new' from generate_series(2001, 2010) g;
delete from m where id between 20 and 60;
update m set a = 3 where id between 100 and 110;
select anago_same('select * from m where a = 3');
select anago_same('select * from m where id between 15 and 110');
select anago_same('select * from m join m2 on m2.m = m.id where m.a = 3');
rollback;
select anago_same('select * from m where a = 3');

-- subtransactions, kept and undone
begin;
insert into m values (3001, 3, 1, 'outer');
savepoint s1;
insert into m values (3002, 3, 1, 'undone');
delete from m where id = 3;
rollback to s1;
savepoint s2;
insert into m values (3003, 3, 1, 'kept');
update m set t = 'changed' where a = 3 and id < 100;
release s2;
select anago_same('select * from m where a = 3');
select count(*), count(*) filter (where t = 'undone') from m where a = 3;
commit;
select anago_same('select * from m where a = 3');

-- HOT updates, several in a row, and what pruning leaves
begin;
update m set b = b + 1 where id between 200 and 260;
update m set b = b + 1 where id between 200 and 260;
update m set b = b + 1 where id between 200 and 260;
select anago_same('select * from m where id between 190 and 270');
commit;
select anago_same('select * from m where id between 190 and 270');
-- an update that changes an indexed column, there and back: broken chains
update m set a = a + 100 where id between 300 and 340;
update m set a = a - 100 where id between 300 and 340;
select anago_same('select * from m where a = 5');
select anago_same('select * from m where a >= 0 and id between 300 and 340');
vacuum m;
select anago_same('select * from m where id between 190 and 345');

-- a query that inserts from our pipeline, into the table it reads
begin;
set local anago.enable = on;
set local anago.debug_force = on;
insert into m select id + 5000, a, b, 'copy' from m where a = 7;
select count(*) from m where a = 7;
create table m_copy as select m.id, m2.v from m join m2 on m2.m = m.id where m.a = 7;
select count(*), sum(v) from m_copy;
insert into m_copy select m.id, m2.v from m join m2 on m2.m = m.id where m.a = 8 returning id % 20 = 8 as ok;
rollback;

-- UPDATE, DELETE, MERGE and row locks: scans are ours (see locking.sql)
set anago.enable = on;
set anago.debug_force = on;
select anago_used('update m set b = 1 where a = 3');
select anago_used('delete from m where a = 3');
select anago_used('select * from m where a = 3 for update');
select anago_used('select * from m where a = 3 for key share');
select anago_used('merge into m using m2 on m.id = m2.m and m2.id = 3 when matched then delete');
begin;
update m set b = 1 where a = 3;
update m set b = m2.v from m2 where m2.m = m.id and m.a = 4;
delete from m using m2 where m2.m = m.id and m.a = 5 and m2.v = 2;
delete from m where a = 6 and exists (select 1 from m2 where m2.m = m.id);
select count(*), sum(b), sum(a) from m;
select count(*) from (select * from m where a = 3 for update) x;
select count(*) from (select m.* from m join m2 on m2.m = m.id where m.a = 4 for share of m) x;
rollback;
begin;
set local anago.enable = off;
update m set b = 1 where a = 3;
update m set b = m2.v from m2 where m2.m = m.id and m.a = 4;
delete from m using m2 where m2.m = m.id and m.a = 5 and m2.v = 2;
delete from m where a = 6 and exists (select 1 from m2 where m2.m = m.id);
select count(*), sum(b), sum(a) from m;
rollback;

-- WITH that writes and reads: the reading part sees the state before
begin;
with gone as (delete from m where a = 3 returning id)
	select count(*), (select count(*) from m where m.a = 3) from gone;
with added as (insert into m select 9000 + g, 3, g from generate_series(1, 5) g returning id)
	select count(*), (select count(*) from m where m.a = 3) from added;
rollback;

-- triggers and foreign keys ask while the statement is on its way
create table fk_p (id int primary key, k int);
create table fk_c (id int primary key, p int references fk_p on delete cascade);
create index fk_c_p on fk_c (p);
insert into fk_p select g, g % 5 from generate_series(1, 200) g;
insert into fk_c select g, g % 200 + 1 from generate_series(1, 600) g;
begin;
delete from fk_p where k = 3;
select anago_same('select * from fk_p join fk_c on fk_c.p = fk_p.id where fk_p.k in (2, 3)');
insert into fk_c values (1001, 5000);
rollback;

-- rows that are locked or deleted by an aborted transaction
begin;
select id from m where id = 3 for update;
delete from m where id = 4;
rollback;
select anago_same('select * from m where id in (3, 4)');

-- isolation levels
begin isolation level repeatable read;
select anago_same('select * from m where a = 3');
commit;
begin isolation level serializable;
select anago_same('select * from m where a = 3');
select anago_same('select * from m join m2 on m2.m = m.id where m.a = 3');
-- predicate locks are those of an index scan
set local enable_seqscan = off;
set local enable_bitmapscan = off;
select count(*) from m where a = 3;
select distinct relation::regclass::text collate "C" as relation, locktype from pg_locks
	where mode = 'SIReadLock' and relation::regclass::text in ('m', 'm_a') order by 1, 2;
commit;
