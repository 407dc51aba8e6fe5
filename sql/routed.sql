-- AnagoAhead below an INSERT through a partitioned table: looks read the leaves of the
-- indexes of the partitions that rows will go to.  Tables must be afterwards what
-- stock makes of them.
load 'anago';
create schema routed;
set search_path = routed, public;

create table source (a int, b text, k int, p int);
insert into source select g * 7919 % 2003, 'name ' || g * 31 % 200, case when g % 10 > 0 then g * 13 % 300 end, g % 500 + 1
from generate_series(1, 900) g;
create table parent (id int primary key, note text);
insert into parent select g, g from generate_series(1, 500) g;

-- The share of rows that each look was made for: all but those that came before the partition's first.
create function made(statement text, of_rows int) returns table (look text, nearly_all boolean) language sql as $$
	select look, probes between of_rows * 0.9 and of_rows - 1 from public.anago_looks_made(statement)
	where look ~ 'Insertion'
$$;

-- lists with NULL and a default, ranges of two columns, hashes; columns in another order
create table lists (gone int, k int, a int, b text, p int references parent) partition by list (k);
alter table lists drop gone;
create table lists_none partition of lists for values in (null, 0, 1);
create table lists_some (p int, b text, a int, spare text, k int);
alter table lists_some drop spare;
alter table lists attach partition lists_some for values in (2, 3, 4, 5, 6, 7, 8, 9, 10);
create table lists_rest partition of lists default;
create index lists_a on lists (a desc);
create index lists_b on lists (lower(b), k) where a % 2 = 0;
create index lists_some_own on lists_some (p);
create table ranges (a int, k int, b text) partition by range (k, b);
create table ranges_1 partition of ranges for values from (minvalue, minvalue) to (100, 'name 5');
create table ranges_2 (b text, k int, a int);
alter table ranges attach partition ranges_2 for values from (100, 'name 5') to (200, minvalue);
create index ranges_a on ranges (a);
create table hashes (a int, b text, k int) partition by hash (b, k);
create table hashes_0 partition of hashes for values with (modulus 3, remainder 0);
create table hashes_1 partition of hashes for values with (modulus 3, remainder 1);
create table hashes_2 partition of hashes for values with (modulus 6, remainder 2);
create table hashes_5 partition of hashes for values with (modulus 6, remainder 5);
create unique index hashes_a on hashes (a, b, k);

set anago.enable = on;
set anago.debug_force = on;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;

select * from anago_plan('insert into lists (k, a, b, p) select k % 12, a, b, p from source');
select * from anago_change('insert into lists (k, a, b, p) select k % 12, a, b, p from source', 'lists');
select * from anago_change('insert into lists (p, b, a, k) select p, b, a, k % 12 from source order by a limit 50', 'lists');
select * from anago_change('insert into lists (a) select a from source', 'lists');
select * from anago_change('insert into lists (k, a) values (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (20, 8), (null, 9)', 'lists');
select * from anago_change('insert into ranges select a, k % 200, b from source where k is not null', 'ranges');
select * from anago_change('insert into hashes select a, b, k from source', 'hashes');
select * from anago_change('with gone as (delete from source returning *) insert into lists (k, a, b) select k, a, b from gone returning *', 'lists');

-- looks are made for all rows that come when their partition is known; with full indexes
insert into lists (k, a, b, p) select k % 12, a, b, p from source, generate_series(1, 10);
insert into ranges select a, k % 200, b from source, generate_series(1, 10) where k is not null;
vacuum analyze lists, ranges;
begin;
select * from made('insert into lists (k, a, b, p) select k % 12, a, b, p from source', 900);
rollback;

-- a partition of partitions, whose key is another column, which stands elsewhere
create table deep (a int, k int, b text) partition by range (k);
create table deep_low partition of deep for values from (0) to (100);
create table deep_high (b text, note int, a int, k int) partition by list (b);
alter table deep_high drop note;
alter table deep attach partition deep_high for values from (100) to (1000);
create table deep_high_1 partition of deep_high for values in ('name 1', 'name 2', 'name 3', 'name 4', 'name 5');
create table deep_high_rest partition of deep_high default partition by hash (a);
create table deep_high_rest_0 (k int, a int, b text);
alter table deep_high_rest attach partition deep_high_rest_0 for values with (modulus 2, remainder 0);
create table deep_high_rest_1 partition of deep_high_rest for values with (modulus 2, remainder 1);
create index deep_a on deep (a);
insert into deep select a, k, b from source, generate_series(1, 10) where k is not null;
vacuum analyze deep;
select * from anago_change('insert into deep select a, k, b from source where k is not null', 'deep');
begin;
select * from made('insert into deep select a, k, b from source where k is not null', 810);
rollback;
select * from anago_change('insert into deep_high select b, a, k from source where k >= 100', 'deep');

-- an expression as a key: of functions that may be called ahead, or not
create table thirds (a int, b text) partition by list ((a % 3));
create table thirds_0 partition of thirds for values in (0);
create table thirds_1 partition of thirds for values in (1, 2);
create index thirds_a on thirds (a);
select * from anago_change('insert into thirds select a, b from source', 'thirds');
create function own(a int) returns int language plpgsql immutable as 'begin return a % 3; end';
create table owned (a int, b text) partition by list (own(a));
create table owned_rest partition of owned default;
create index owned_a on owned (a);
select * from anago_change('insert into owned select a, b from source', 'owned');
-- one that fails for a row: in a look, and in core, once
create table divided (a int, b text) partition by list ((1000 / (a - 1077)));
create table divided_rest partition of divided default;
create index divided_a on divided (a);
select * from anago_change('insert into divided select a, b from source', 'divided');
select * from anago_change('insert into divided select a, b from source where a <> 1077', 'divided');

-- no partition for a row, or none at all; the partition's own check; a row of a partition that is another's
select * from anago_change('insert into ranges select a, k, b from source where k is not null', 'ranges');
create table none (a int) partition by range (a);
create index on none (a);
select * from anago_change('insert into none select a from source', 'none');
alter table lists_some add check (a < 1990) not valid;
select * from anago_change('insert into lists (k, a, b, p) select k % 12, a, b, p from source', 'lists');
alter table lists_some drop constraint lists_some_a_check;
select * from anago_change('insert into deep_high select b, a, k from source where k > 90', 'deep');
select * from anago_change('insert into lists (k, a, p) select k, a, p + 100 from source', 'lists');

-- ON CONFLICT
create table counted (k int, a int, n int default 1, primary key (k, a)) partition by list (k);
create table counted_0 partition of counted for values in (0, 1, 2);
create table counted_3 (n int default 1, a int not null, k int not null);
alter table counted attach partition counted_3 for values in (3, 4, 5);
insert into counted select a % 6, a from source;
select * from anago_plan('insert into counted select a % 6, a / 2 from source on conflict (k, a) do update set n = counted.n + 1');
select * from anago_change('insert into counted select a % 6, a / 2 * 2 + a % 2 from source on conflict (k, a) do update set n = counted.n + 1', 'counted');
select * from anago_change('insert into counted select a % 6, a / 2 from source on conflict do nothing', 'counted');
select * from anago_change('insert into counted select a % 6, a from source', 'counted');

-- MERGE into a table with one partition, whose columns stand elsewhere: rows that are inserted are not the partition's
create table merged (k int, b text, a int) partition by list (k);
create table merged_1 (a int, gone int, b text, k int);
alter table merged_1 drop gone;
alter table merged attach partition merged_1 for values in (1);
create index merged_a on merged (a);
create index merged_b on merged (b);
insert into merged select 1, b, a from source where a % 2 = 0;
select * from anago_change('merge into merged m using source s on m.a = s.a when matched then update set a = m.a + 1 when not matched then insert values (1, s.b, s.a + 5000)', 'merged');
create table merged_2 partition of merged for values in (2);
select * from anago_change('merge into merged m using source s on m.a = s.a and m.k = 1 when matched then delete when not matched then insert values (2, s.b, s.a + 5000)', 'merged');

-- partitions that are no heap here, or have another kind of index; a trigger that makes another row
create foreign data wrapper nowhere;
create server nowhere foreign data wrapper nowhere;
create table mixed (a int, k int) partition by list (k);
create foreign table mixed_0 partition of mixed for values in (0) server nowhere;
create table mixed_1 partition of mixed for values in (1);
create index mixed_1_a on mixed_1 (a);
create table mixed_2 partition of mixed for values in (2);
create table mixed_3 partition of mixed for values in (3) partition by list ((a % 2));
create table mixed_3_0 partition of mixed_3 default;
create index mixed_a on only mixed (a);
alter index mixed_a attach partition mixed_1_a;
select * from anago_change('insert into mixed select a, 1 + a % 3 from source', 'mixed_1');
select * from anago_change('insert into mixed select a, a % 3 from source', 'mixed_1');
create function other_row() returns trigger language plpgsql as $$
begin
	if new.a % 7 = 0 then
		return null;
	end if;
	new.a := 2003 - new.a;
	return new;
end $$;
create trigger other_row before insert on lists for each row execute function other_row();
select * from anago_change('insert into lists (k, a, b, p) select k % 12, a, b, p from source', 'lists');
drop trigger other_row on lists;

-- reads that fail in looks are nobody's affair
set anago.sim_fault_rate = 0.05;
select * from anago_change('insert into lists (k, a, b) select k % 12, a, b from source', 'lists');
select * from anago_change('insert into deep select a, k, b from source where k is not null', 'deep');
reset anago.sim_fault_rate;

-- Locks: none that core has not, and what a trigger may do with a partition that no row
-- has come to.
create table open_parts (a int, k int) partition by list (k);
create table open_parts_0 partition of open_parts for values in (0);
create table open_parts_1 partition of open_parts for values in (1);
create index open_parts_a on open_parts (a);
create function rebuild() returns trigger language plpgsql as $$
begin
	if new.a = 300 then
		reindex table routed.open_parts_1;
		alter table routed.open_parts_1 set (autovacuum_enabled = off);
	end if;
	return new;
end $$;
create trigger rebuild before insert on open_parts for each row execute function rebuild();
select * from anago_change('insert into open_parts select g, (g > 400)::int from generate_series(1, 600) g', 'open_parts');
begin;
insert into open_parts select g, 0 from generate_series(1, 299) g;
select count(*) from pg_locks where relation in ('open_parts_1'::regclass, 'open_parts_1_a_idx'::regclass) and pid = pg_backend_pid();
rollback;

-- a plan that is kept, while partitions come and go
prepare kept as insert into lists (k, a, b) select k % 12, a, b from source;
set plan_cache_mode = force_generic_plan;
execute kept;
alter table lists detach partition lists_some;
create table lists_two partition of lists for values in (5, 6);
execute kept;
drop table lists_two;
execute kept;
select count(*), count(distinct tableoid), sum(hashtext(tableoid::text || x::text)::numeric) is not null as sums from lists x;
drop schema routed cascade;
drop server nowhere cascade;
drop foreign data wrapper nowhere;
