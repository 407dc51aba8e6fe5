-- Estimates that may be far too low: what is chosen by our discount must not be a
-- catastrophe then (docs/planner.md, "What if there are more rows").
load 'anago';
create table rk (a int, b int, d int, ref int) with (autovacuum_enabled = off);
create table rk_in (id int, k int, pad text) with (autovacuum_enabled = off, fillfactor = 20);
-- b depends on a, d does not; the order of ref and k has nothing to do with the tables'
insert into rk select g % 200, g % 200, g / 200, g * 7919 % 40000 from generate_series(0, 39999) g;
insert into rk_in select g, g * 7919 % 40000, repeat('x', 100) from generate_series(0, 39999) g;
create unique index rk_in_id on rk_in (id);
create index rk_in_k on rk_in (k);
vacuum analyze rk, rk_in;
set anago.enable = on;
set anago.residency = off;
set anago.io_gain = 3;
set max_parallel_workers_per_gather = 0;

-- as many rows by one column, of which statistics know, and by two that depend on each other
select anago_plan('select count(pad) from rk join rk_in on id = ref where d < 15');
select anago_plan('select count(pad) from rk join rk_in on id = ref where a < 55 and b < 55');
select anago_same('select ref, k, length(pad) from rk join rk_in on id = ref where a < 55 and b < 55');
-- core's own nested loop has the same risk: ours stays below it
set enable_hashjoin = off;
set enable_mergejoin = off;
select anago_plan('select count(pad) from rk join rk_in on id = ref where a < 55 and b < 55');
reset enable_hashjoin;
reset enable_mergejoin;
-- of columns of which extended statistics know that they depend, less is to be feared
create statistics rk_ab (mcv) on a, b from rk;
alter table rk alter a set statistics 1000, alter b set statistics 1000;
analyze rk;
select anago_plan('select count(pad) from rk join rk_in on id = ref where a < 15 and b < 15');

-- between values that are known, and that are not
set random_page_cost = 1.2;
set plan_cache_mode = force_custom_plan;
prepare rk_scan(int, int) as select count(pad) from rk_in where k between $1 and $2;
select anago_plan('execute rk_scan(100, 300)');
set plan_cache_mode = force_generic_plan;
select anago_plan('execute rk_scan(100, 300)');
execute rk_scan(100, 30000);
-- equalities have statistics of their own
prepare rk_equal(int) as select count(pad) from rk join rk_in on id = ref where d = $1;
select anago_plan('execute rk_equal(7)');
execute rk_equal(7);
deallocate rk_scan;
deallocate rk_equal;
reset plan_cache_mode;

drop table rk, rk_in;
reset all;
load 'anago';
