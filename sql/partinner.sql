-- Joins whose inner side is several tables: partitions, children, branches of
-- UNION ALL.  Answers are (same rows, how many, our plan).
load 'anago';
create schema partinner;
set search_path = partinner, public;

create table po (id int primary key, k int, at int, r text, n int);
insert into po select g, g * 13 % 130, g * 7 % 1300, chr(97 + g % 5), nullif(g % 9, 0)
	from generate_series(1, 400) g;
create index po_n on po (n);

-- by range, with columns in another order, a default, and parts in turn divided
create table pe (k int, at int, v int, t text) partition by range (at);
create table pe1 partition of pe for values from (0) to (300);
create table pe2 (t text, gone int, v int, at int, k int);
alter table pe2 drop column gone;
alter table pe attach partition pe2 for values from (300) to (600);
create table pe3 partition of pe for values from (600) to (900) partition by list (t);
create table pe3a partition of pe3 for values in ('t0', 't1');
create table pe3b partition of pe3 default;
create table pe_empty partition of pe for values from (900) to (1000);
create table pe_rest partition of pe default;
insert into pe select g % 130, g % 1290, g % 7, 't' || g % 4
	from generate_series(0, 3000) g where g % 1290 not between 900 and 999;
insert into pe values (1, null, 3, 't1'), (null, 5, 1, 't2');
create index pe_at on pe (at, k);
create index pe_k on pe (k);
-- by list, and by hash
create table pl (r text, k int, v int) partition by list (r);
create table pl_ab partition of pl for values in ('a', 'b');
create table pl_c partition of pl for values in ('c', null);
create table pl_d partition of pl for values in ('d');
insert into pl select chr(97 + g % 4), g % 130, g from generate_series(1, 900) g;
insert into pl values (null, 5, 1);
create index pl_r on pl (r, k) include (v);
create table ph (id int, v int) partition by hash (id);
create table ph0 partition of ph for values with (modulus 4, remainder 0);
create table ph1 partition of ph for values with (modulus 4, remainder 1);
create table ph2 partition of ph for values with (modulus 4, remainder 2);
create table ph3 partition of ph for values with (modulus 4, remainder 3);
insert into ph select g, g % 10 from generate_series(1, 800) g;
create unique index ph_id on ph (id);
-- children, and UNION ALL
create table pi (k int, v int);
create table pi_1 (extra int) inherits (pi);
create table pi_2 (k int, v int);
alter table pi_2 inherit pi;
insert into pi select g, g from generate_series(1, 50) g;
insert into pi_1 select g, g, g from generate_series(30, 130) g;
insert into pi_2 select g % 40, g from generate_series(1, 90) g;
create index on pi (k);
create index on pi_1 (k);
create index on pi_2 (k);
vacuum analyze po, pe, pl, ph, pi, pi_1, pi_2;
create view pu as select k, v from pi_2 union all select id, v from ph union all select k, at from pe;

-- the key tells the partition, or some of them, or nothing
select anago_same('select * from po join pe on pe.at = po.at where po.n = 3');
select anago_same('select * from po join pe on pe.at = po.at and pe.k = po.k where po.n < 5');
select anago_same('select * from po join pe on pe.at between po.at and po.at + 30 where po.n = 4');
select anago_same('select * from po join pe on pe.at > po.at + 900 and pe.at < po.at + 1000 where po.n = 4');
select anago_same('select * from po join pe on pe.k = po.k where po.n = 3');
select anago_same('select * from po join pe on pe.at in (po.at, po.at + 300, po.k) where po.n = 3');
select anago_same($$select * from po join pe on pe.at = po.at and pe.t = 't' || po.n % 3 where po.n < 5$$);
select anago_same('select po.id, pl.v from po join pl on pl.r = po.r where po.n = 2');
select anago_same('select po.id, pl.k from po join pl on pl.r = po.r and pl.k > po.k where po.n = 2');
select anago_same('select * from po join ph on ph.id = po.at where po.n = 2');
select anago_same('select * from po join pi on pi.k = po.k where po.n = 2');
select anago_same('select * from po join pu on pu.k = po.k where po.n = 2');
-- filters, parameters, a constant that prunes as well
select anago_same('select * from po join pe on pe.k = po.k where po.n = 3 and pe.v > 3 and pe.at > 500');
select anago_same_prepared('select * from po join pe on pe.k = po.k and pe.at < $2 where po.n = $1',
	'int, int', '3, 250', '5, 5000', '7, 0', '1, null');
select anago_same('select * from po join pe on pe.at = po.at and pe.v + po.n > 6 where po.n < 6');
-- system columns of the tables themselves
select anago_same('select po.id, pe.tableoid::regclass, pe.ctid, pe.v from po join pe on pe.at = po.at where po.n = 3');
-- whole rows: of the parent's type, whatever the order of columns
select anago_same('select po.id, pe from po join pe on pe.at = po.at where po.n = 3');
select anago_same('select po.id, pe, pe.t, to_jsonb(pe) from po join pe on pe.k = po.k where po.n = 3');
select anago_same('select po, pe, pe is null from po left join pe on pe.at = po.at and pe.v > 3 where po.n = 3');
select anago_same('select po.id, pe, ph, pl.v from po join pe on pe.at = po.at join ph on ph.id = po.k + pe.v
	join pl on pl.r = po.r and pl.k = pe.k where po.n in (1, 3)');
select anago_same('select po.id, pi from po join pi on pi.k = po.k where po.n = 2');
select anago_same($$select po.id from po join pe on pe.at = po.at where po.n = 3 and pe::text > '(3'$$);
select anago_same('select po.id, pu from po join pu on pu.k = po.k where po.n = 2');
-- left, semi, anti; where no partition can match
select anago_same('select * from po left join pe on pe.at = po.at and pe.v > 3 where po.n = 3');
select anago_same('select po.*, pl.v from po left join pl on pl.r = po.r and pl.k = po.k where po.n is null');
select anago_same('select * from po left join ph on ph.id = po.at + 700 where po.n = 5');
select anago_same('select * from po where exists (select 1 from pe where pe.k = po.k and pe.v = 3) and po.n < 4');
select anago_same('select * from po where not exists (select 1 from pe where pe.k = po.k and pe.v = po.n) and po.n < 8');
select anago_same('select * from po where not exists (select 1 from pl where pl.r = po.r and pl.k = po.k)');
select anago_same('select * from po where po.at in (select at from pe where v < 3) and po.n < 5');
select anago_same('select po.id, x.five, x.v from po left join (select 5 as five, pe.* from pe) x on x.at = po.at where po.n = 3');
-- where no partition can match, conditions on the joined row still count
select anago_same('select * from po left join ph on ph.id = nullif(po.at, po.k * 0 + po.at) where coalesce(ph.v, 1) = po.n');
select anago_same('select po.id, pl.v from po left join pl on pl.r = po.r and pl.k = po.k where coalesce(pl.v, 1) = po.n');
-- and the row comes in its place, where rows come in order
set enable_sort = off;
set enable_hashjoin = off;
select anago_same_order('select po.id, pl.v from po left join pl on pl.r = po.r and pl.k = po.k and pl.v = po.id * 7 order by po.id limit 300');
select anago_same_order('select po.id from po where not exists (select from pl where pl.r = po.r and pl.k = po.k) order by po.id');
reset enable_hashjoin;
reset enable_sort;
-- branches with conditions of their own, and their own policies
create table pb (k int, v int, who text);
insert into pb select g % 130, g, case when g % 3 = 0 then 'x' else 'y' end from generate_series(1, 300) g;
create index on pb (k);
vacuum analyze pb;
create view pv as select k, v from pb where who = 'x' union all select k, v from pi_2;
create view pc as select k, v, 'b' as src from pb union all select k, v, 'i' from pi_2;
create view pt2 as select k, k as twice from pb union all select k, v from pi_2;
select anago_same('select * from po join pv on pv.k = po.k where po.n = 2');
select anago_same('select * from po join pc on pc.k = po.k where po.n = 2');
select anago_same('select * from po join pt2 on pt2.k = po.k and pt2.twice < 100 where po.n = 2');
select anago_same('select * from po left join pv on pv.k = po.k and current_user = $$nobody$$ where po.n = 2');
select anago_same('select * from po left join lateral (select * from pe where pe.at = po.at and po.n = 2) x on true where po.n < 3');

-- longer chains, before and behind; aggregates; limits
select anago_same('select po.*, pe.v, pl.v as w from po join pe on pe.at = po.at join pl on pl.k = pe.k and pl.r = po.r where po.n = 3');
select anago_same('select po.id, sum(ph.v) from po join pe on pe.at = po.at join ph on ph.id = pe.k left join pi on pi.k = ph.v
	where po.n < 3 group by po.id');
select anago_same('select count(*) from (select * from po join pe on pe.k = po.k where po.n = 3 limit 20) x');
select anago_same('select po.id, (select count(*) from pe join ph on ph.id = pe.k where pe.at = po.at) from po where po.n = 3');

-- what is shown
set anago.enable = on;
set anago.debug_force = on;
select anago_plan('select * from po join pe on pe.at = po.at and pe.v > 3 where po.n = 3');
select anago_plan('select po.id, pl.v from po join pl on pl.r = po.r and pl.k = po.k where po.n = 2');
-- (before 16 core does not prune below a UNION ALL)
select replace(line, ', pruned by row', '') from anago_plan('select * from po join pu on pu.k = po.k where po.n = 2') line;
select anago_explain('costs off, verbose', 'select po.id, pl.v from po join pl on pl.r = po.r and pl.k = po.k where po.n = 2');
select line from anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select * from po join pe on pe.at = po.at where po.n = 3', false) line where line ~ '(Step|Probes)';
select line from anago_explain('analyze, costs off, timing off, summary off, buffers off, format yaml',
	'select po.id, ph.v from po left join ph on ph.id = po.at where po.n = 2', false) line where line ~ '(Tables|Prune|Alias)';
-- one match is enough, in whichever table it is
select regexp_replace(line, 'Entries: \d+|Heap Fetches: \d+', '', 'g') as line from anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select * from po where po.n = 3 and exists (select 1 from pi where pi.k = po.k)', false) line where line ~ '(Step|Probes)';

-- a part without an index on the key is nothing for a step
create table pm (k int, v int) partition by range (k);
create table pm1 partition of pm for values from (0) to (60);
create table pm2 partition of pm for values from (60) to (1000);
insert into pm select g, g from generate_series(0, 999) g;
create index on pm1 (k);
vacuum analyze pm;
select line from anago_plan('select * from po join pm on pm.k = po.k where po.n = 3') line where line ~ 'Step 2';
select anago_same('select * from po join pm on pm.k = po.k where po.n = 3');

-- partitions come and go under a plan that is kept
set plan_cache_mode = force_generic_plan;
prepare kept(int) as select count(*), sum(pl.v) from po join pl on pl.r = po.r and pl.k = po.k where po.n = $1;
execute kept(3);
create table pl_e partition of pl for values in ('e');
insert into pl select 'e', g % 130, g from generate_series(1, 200) g;
execute kept(3);
alter table pl detach partition pl_ab;
execute kept(3);
alter table pl attach partition pl_ab for values in ('a', 'b');
execute kept(3);
deallocate kept;
reset plan_cache_mode;
-- those that a parameter, or a stable function, leaves out at the start are not opened, nor their indexes locked
prepare early(int) as select count(*), sum(pe.v) from po join pe on pe.k = po.k and pe.at < $1 where po.n = 3;
set plan_cache_mode = force_generic_plan;
execute early(250);
begin;
execute early(250);
select relation::regclass from pg_locks join pg_class k on k.oid = relation
	where pid = pg_backend_pid() and relkind = 'i' and relname ~ '^pe' order by 1;
commit;
execute early(5000);
execute early(null);
deallocate early;
-- also where partitions of these are left out for each row
prepare early(int) as select count(*), sum(pe.v) from po join pe on pe.k = po.k and pe.t = 't' || po.n % 3 and pe.at > $1 where po.n < 5;
execute early(650);
begin;
execute early(650);
select relation::regclass from pg_locks join pg_class k on k.oid = relation
	where pid = pg_backend_pid() and relkind = 'i' and relname ~ '^pe' order by 1;
commit;
set anago.enable = off;
execute early(650);
deallocate early;
prepare early(int) as select count(*), sum(pe.v) from po join pe on pe.k = po.k and pe.t = 't' || po.n % 3 and pe.at > $1 where po.n < 5;
execute early(650);
set anago.enable = on;
deallocate early;
select anago_same_prepared($$select g, (select count(*) from po join pe on pe.k = po.k and pe.t = 't' || po.n % 3 and pe.at < $1 where po.n = g) from generate_series(1, 4) g$$,
	'int', '250', '0', 'null', '5000');
select anago_same_prepared('select g, (select count(*) from po join pe on pe.k = po.k and pe.at < $1 where po.n = g) from generate_series(1, 4) g',
	'int', '250', '0', 'null', '5000');
select anago_same_prepared('select * from po left join pe on pe.k = po.k and pe.at between $1 and $2 where po.n = 3', 'int, int', '10, 20', '950, 970', '20, 10');
set partinner.at = '700';
select anago_same('select * from po join pe on pe.k = po.k and pe.at > current_setting($$partinner.at$$)::int where po.n = 3');
set partinner.at = 'late';
select count(*) from po join pe on pe.k = po.k and pe.at > current_setting('partinner.at')::int where po.n = 3;
reset plan_cache_mode;

-- nor under a cursor, in the same session: no table is looked into yet
begin;
declare early cursor for select po.id, pe.v from po join pe on pe.at = po.at where po.n = 3 order by 1, 2;
savepoint s;
truncate pe2;
rollback to s;
reindex index pe1_at_k_idx;
rollback to s;
alter table pe detach partition pe1;
rollback to s;
alter table pe alter column v type bigint;
rollback to s;
fetch 3 from early;
commit;

-- an error in a condition of one partition
select count(*) from po join pe on pe.at = po.at and 1 / (pe.at - 301) > 0 where po.n < 9;
-- a part that a parallel query's processes each open for themselves
set min_parallel_table_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set max_parallel_workers_per_gather = 2;
set parallel_leader_participation = off;
select anago_same('select count(*), sum(pe.v) from po join pe on pe.at = po.at where po.n > 0');
select anago_same('select count(*), sum(pl.v) from po join pl on pl.r = po.r left join ph on ph.id = pl.k where po.n > 0');
reset parallel_leader_participation;
select anago_same('select count(*), sum(pe.v) from po join pe on pe.k = po.k where po.n > 0');
reset max_parallel_workers_per_gather;
reset parallel_tuple_cost;
reset parallel_setup_cost;
reset min_parallel_table_scan_size;
