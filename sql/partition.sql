-- Partitioned tables and inheritance, through Append.  Answers are (same rows,
-- how many, our plan).
load 'anago';

create table pt (k int, d date, v int, t text) partition by range (k);
create table pt1 partition of pt for values from (0) to (1000);
create table pt2 partition of pt for values from (1000) to (2000);
-- columns in another order than the parent's
create table pt3 (t text, junk int, v int, d date, k int);
alter table pt3 drop column junk;
alter table pt attach partition pt3 for values from (2000) to (3000);
create table pt4 partition of pt for values from (3000) to (5000) partition by list (v);
create table pt4a partition of pt4 for values in (0, 1, 2);
create table pt4b partition of pt4 default;
insert into pt select g, date '2020-01-01' + g % 300, g % 7, 't' || g % 50 from generate_series(0, 4999) g;
create index pt_k on pt (k);
create index pt_d on pt (d, v);
vacuum analyze pt;
create table pr (id int primary key, k int);
insert into pr select g, g * 13 % 5200 from generate_series(1, 400) g;
vacuum analyze pr;

select anago_same('select * from pt where k = 1500');
select anago_same('select * from pt where k between 990 and 1010');
select anago_same('select * from pt where k between 1990 and 3010');
select anago_same('select k, v from pt where k in (5, 1005, 2005, 3005, 4005, 9005)');
select anago_same($$select * from pt where d = '2020-03-01'$$);
select anago_same($$select t, count(*) from pt where d = '2020-03-01' and v < 4 group by t$$);
select anago_same('select * from pt where k < 3500 and k > 2990 and v = 1');
select anago_same('select tableoid::regclass, * from pt where k between 1990 and 2010');
select anago_same_order('select k from pt where k between 900 and 1100 order by k');
select anago_same_order('select k from pt where k > 1990 order by k limit 30');

-- joins with a partitioned inner and outer side
select anago_same('select * from pr join pt on pt.k = pr.k where pr.id < 60');
select anago_same('select * from pr left join pt on pt.k = pr.k and pt.v > 3 where pr.id < 60');
select anago_same('select * from pr where pr.id < 60 and not exists (select 1 from pt where pt.k = pr.k)');
select anago_same('select * from pt join pr on pr.id = pt.k where pt.k < 500');

-- pruning when the query starts, and while it runs
select anago_same_prepared('select * from pt where k = $1', 'int', '5', '2500', '4500', '9999', 'null');
select anago_same_prepared('select * from pt where k between $1 and $2', 'int, int', '995, 1005', '1995, 3005');
select anago_same('select id, (select sum(v) from pt where pt.k = pr.k) from pr where id < 60');

-- partition by partition
create table pu (k int, w int) partition by range (k);
create table pu1 partition of pu for values from (0) to (2000);
create table pu2 partition of pu for values from (2000) to (5000);
create table pw (k int, z int) partition by range (k);
create table pw1 partition of pw for values from (0) to (2000);
create table pw2 partition of pw for values from (2000) to (5000);
insert into pu select g, g % 11 from generate_series(0, 4999) g;
insert into pw select g, g % 5 from generate_series(0, 4999, 3) g;
create index pu_k on pu (k);
create index pu_w on pu (w);
create index pw_k on pw (k);
vacuum analyze pu, pw;
set enable_partitionwise_join = on;
select anago_same('select * from pu join pw on pw.k = pu.k where pu.w = 4');
select anago_same('select * from pu left join pw on pw.k = pu.k and pw.z = 2 where pu.w = 4');
set anago.enable = on;
set anago.debug_force = on;
-- (how the join is run depends on the version: by partitions or by one step)
select count(*) as our_scans
  from anago_plan('select * from pu join pw on pw.k = pu.k where pu.w = 4') line
 where line ~ 'AnagoScan\) on pu[12]';
reset anago.debug_force;
reset anago.enable;
reset enable_partitionwise_join;

-- plain inheritance, and UNION ALL views
create table inh (a int primary key, b int);
create table inh_child (c int, primary key (a)) inherits (inh);
insert into inh select g, g from generate_series(1, 300) g;
insert into inh_child select g, g, g from generate_series(200, 500) g;
vacuum analyze inh, inh_child;
select anago_same('select * from inh where a between 190 and 210');
select anago_same('select * from only inh where a between 190 and 210');
create view uni as select a, b from inh union all select k, v from pt;
select anago_same('select * from uni where a between 190 and 210');
select anago_same('select * from pr join uni on uni.a = pr.id where pr.id < 20');

set anago.enable = on;
set anago.debug_force = on;
select anago_plan('select * from pt where k between 990 and 1010');
select anago_plan('select * from pr join pt on pt.k = pr.k where pr.id < 60');
