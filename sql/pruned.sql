-- AnagoAhead: looks at partitions of which PostgreSQL's Append leaves some out for each row. Looks
-- are at the others, and read no more than these.
load 'anago';
create schema pruned;
set search_path = pruned, public;

create table c (id int, name text, grp int, region text, at int);
insert into c select g, 'name ' || g % 40, g % 20, (array['de', 'fr', 'us', null, 'jp'])[g % 5 + 1], g * 13 % 130 - 10 from generate_series(1, 200) g;
insert into c values (null, null, 3, 'de', null), (1000, 'none', 3, 'xx', 50);
-- by hash: columns in another order in one partition
create table h (cust int, gone int, day int, note text) partition by hash (cust);
alter table h drop gone;
do $$
begin
	for i in 0 .. 22 loop
		execute format('create table h_%s partition of h for values with (modulus 24, remainder %s)', i, i);
	end loop;
end $$;
create table h_23 (note text, spare int, day int, cust int);
alter table h_23 drop spare;
alter table h attach partition h_23 for values with (modulus 24, remainder 23);
insert into h select g % 211, g * 31 % 100, 'note ' || g % 1000 from generate_series(1, 12000) g;
create index h_cust_day on h (cust, day);
-- by list, NULLs and a default partition; by range with partitions of partitions
create table l (region text, cust int, day int, note text) partition by list (region);
create table l_de partition of l for values in ('de', 'at');
create table l_fr partition of l for values in ('fr');
create table l_null partition of l for values in (null, 'us');
create table l_rest partition of l default;
insert into l select (array['de', 'fr', 'us', null, 'jp', 'at'])[g % 6 + 1], g % 211, g * 31 % 100, 'note ' || g % 1000 from generate_series(1, 12000) g;
create index l_region_cust on l (region, cust);
create table r (cust int, day int, region text, note text) partition by range (day);
create table r_1 partition of r for values from (0) to (25);
create table r_2 partition of r for values from (25) to (50);
create table r_3 partition of r for values from (50) to (75) partition by list (region);
create table r_3_de partition of r_3 for values in ('de', 'fr');
create table r_3_rest partition of r_3 default;
create table r_4 partition of r for values from (75) to (100);
insert into r select g % 211, g * 31 % 100, (array['de', 'fr', 'us', null, 'jp'])[g % 5 + 1], 'note ' || g % 1000 from generate_series(1, 12000) g;
create index r_cust_day on r (cust, day desc);
create table s (cust int, day int, note text) partition by range (day);
create table s_1 partition of s for values from (0) to (25);
create table s_2 partition of s for values from (25) to (50);
create table s_3 (note text, day int, cust int);
alter table s attach partition s_3 for values from (50) to (75);
create table s_4 partition of s for values from (75) to (100);
create table s_5 partition of s for values from (100) to (200);
insert into s select g % 211, g * 31 % 110, 'note ' || g % 1000 from generate_series(1, 12000) g;
create index s_cust_day on s (cust, day desc);
vacuum analyze c, h, l, r, s;

-- small partitions are scanned as a whole else; plans with what is off cost enough to be compiled on 15
set jit = off;
set enable_seqscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_memoize = off;
set anago.enable = on;
set anago.debug_force = on;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;
create function shown(query text) returns setof text language sql as $$
	select ltrim(line) from public.anago_plan(query) with ordinality p(line, n)
		where line ~ 'Look \d' or exists (select from public.anago_plan(query) with ordinality b(line, n) where b.n = p.n - 1 and b.line ~ 'Look \d')
$$;
-- What looks did, and whether they came to no more pages than PostgreSQL does: each counts whenever it is come to.
create function made(query text) returns table (look text, probes int, entries int, pruned int, no_more boolean) language plpgsql as $$
declare
	plan jsonb;
	stock bigint;
	own bigint;
begin
	set local anago.enable = off;
	execute 'explain (analyze, buffers, costs off, timing off, format json) ' || query into plan;
	stock := (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
	set local anago.enable = on;
	execute 'explain (analyze, buffers, costs off, timing off, format json) ' || query into plan;
	select sum(n::bigint) into own from unnest('{"Reads Issued", "Synchronous Reads", "Shared Reads", "Hits"}'::text[]) name,
		jsonb_path_query(plan, format('strict $.** ? (@."Custom Plan Provider" == "AnagoAhead").%I', name)::jsonpath) n;
	return query select concat_ws(' ', s->>'Access', coalesce(s->>'Index Name', s->>'Relation Name'), s->>'Number of Row''s Table'), (s->>'Probes')::int,
			(s->>'Index Entries')::int, (s->>'Tables Pruned')::int, own <= stock
		from jsonb_path_query(plan, 'strict $.**.Looks[*]') s;
end $$;
select * from shown('select c.id, x.n from c, lateral (select count(*) as n from h where cust = c.id) x');
select * from made('select c.id, x.n from c, lateral (select count(*) as n from h where cust = c.id) x');
-- how many rows come from the index alone is not for a look to say
select line from anago_explain('analyze, costs off, timing off, summary off, buffers off',
	'select c.id, x.n from c, lateral (select count(*) as n from h where cust = c.id) x') line where line ~ 'Tables Pruned';
select * from made('select c.id, x.note from c, lateral (select * from h where cust = c.id order by day desc limit 3) x');
select * from made('select c.id, x.n from c, lateral (select count(note) as n from l where cust = c.id and region = c.region) x');
select * from made('select c.id, x.n from c, lateral (select count(note) as n from r where cust = c.id and day = c.at) x');
select * from made('select c.id, x.n from c, lateral (select count(note) as n from r where cust = c.id and day between c.at and c.at + 9 and region = c.region) x');
-- of a LIMIT: from one to the next in order of time, up to the fourth
select * from shown('select c.id, x.day from c, lateral (select * from s where cust = c.id and day <= c.at order by day desc limit 3) x');
select * from made('select c.id, x.note from c, lateral (select * from s where cust = c.id and day <= c.at order by day desc limit 3) x');
select * from made('select c.id, x.note from c, lateral (select * from s where cust = c.id and day <= c.at order by day limit 15) x');
-- one look where a row has one at most
select * from made('select c.id, x.note from c, lateral (select note from h where cust = c.id limit 1) x');
select * from made('select c.id, x.note from c, lateral (select note from l where cust = c.id and region = c.region limit 1) x');
select * from made('select c.id, x.note from c, lateral (select note from s where cust = c.id and day = c.at limit 2) x');
select * from made('select c.id, x.note from c, lateral (select note from s where cust = c.id and day between c.at and c.at + 30 limit 20) x');
-- no more of partitions of partitions; of a MergeAppend all
select * from made('select c.id, x.note from c, lateral (select * from r where cust = c.id and day <= c.at order by day desc limit 3) x');
select * from made('select c.id, x.note from c, lateral (select * from l where cust = c.id and region in (c.region, ''de'') order by region, cust limit 3) x');
select * from made('select c.id, (select max(note) from h where cust = c.id) from c');
-- behind another join, whose rows are not known; of several tables
select * from made('select c.id, x.n from c, lateral (select count(*) as n from c b join h on h.cust = b.id where b.id = c.id) x');
select * from made('select c.id, x.n from c, lateral (select count(*) as n from (select 1 from h where cust = c.id union all select 1 from l where cust = c.id and region = c.region) y) x');
select * from made('select c.id, x.n from c, lateral (select count(*) as n from (select 1 from h where cust = c.id union all select 1 from l where cust = c.id and region = c.region limit 5) y) x');
set anago.enable = off;
set anago.debug_force = off;
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from h where cust = c.id order by day desc limit 3) x');
select * from anago_same_looks('select c.id, x.day from c left join lateral (select * from h where cust = c.id and day > c.grp order by day limit 1) x on true');
select * from anago_same_looks('select c.id, x.note from c, lateral (select note from h where cust in (c.id, c.grp) order by day, note limit 5) x');
select * from anago_same_looks('select c.id, x.n, x.m from c, lateral (select count(*) as n, max(note) as m from l where cust = c.id and region = c.region) x');
select * from anago_same_looks('select c.id, x.n from c, lateral (select count(note) as n from l where cust = c.id and region is not distinct from c.region) x');
select * from anago_same_looks('select c.id, x.n from c, lateral (select count(note) as n from r where cust = c.id and day between c.at and c.at + 9 and region = c.region) x');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from s where cust = c.id and day <= c.at order by day desc limit 3) x');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from r where cust = c.id and day <= c.at order by day desc limit 3) x');
select * from anago_same_looks('select c.id, x.day from c, lateral (select * from s where cust = c.id and day > c.at order by day limit 70) x');
select * from anago_same_looks('select c.id from c where exists (select from r where cust = c.id and day > c.at)');
select * from anago_same_looks('select c.id from c where not exists (select from h where cust = c.id)');
select * from anago_same_looks('select c.id, x.cust from c left join lateral (select cust from h where cust = c.id limit 1) x on true');
select * from anago_same_looks('select c.id, x.cust from c left join lateral (select cust from l where region = c.region limit 1) x on true where exists (select from l where cust = c.id and region = c.region)');
select * from anago_same_looks('select c.id, (select max(day) from h where cust = c.id), (select sum(day) from r where cust = c.grp and day < c.at) from c');
select * from anago_same_looks('select g, (select sum(x.day) from c, lateral (select day from s where cust = c.id and day < c.at - g order by day desc limit 2) x where c.grp = g) from generate_series(1, 9) g');
select * from anago_same_looks('select c.id, x.n from c, lateral (select count(*) as n from (select 1 from h where cust = c.id union all select 1 from l where cust = c.id and region = c.region limit 5) y) x');
-- key of the row in a function; what a user has written, or what may differ, is not called ahead
create function of_user(int) returns int language plpgsql stable as $$ begin return $1; end $$;
create function by_user(int4, int8) returns int8 language sql immutable strict as $$ select $1::int8 $$;
create operator class by_user for type int4 using hash as operator 1 = (int4, int4), function 2 by_user(int4, int8);
create table u (cust int, day int) partition by hash (cust by_user);
create table u_0 partition of u for values with (modulus 2, remainder 0);
create table u_1 partition of u for values with (modulus 2, remainder 1);
insert into u select g % 211, g from generate_series(1, 2000) g;
create index u_cust on u (cust);
analyze u;
select * from anago_same_looks('select c.id, x.n from c, lateral (select count(note) as n from h where cust = abs(c.id - 100)) x');
select * from anago_same_looks('select c.id, x.n from c, lateral (select count(note) as n from h where cust = of_user(c.id)) x');
select * from anago_same_looks('select c.id, x.n from c, lateral (select count(note) as n from h where cust = (select max(id) from c b where b.grp = c.grp)) x');
select * from anago_same_looks('select c.id, x.n from c, lateral (select count(day) as n from u where cust = c.id) x');

-- rows that are changed; partitions of the target are pruned, too
set anago.enable = on;
set anago.debug_force = on;
select * from shown('update h set note = note || ''x'' from c where cust = c.id and c.grp = 3');
select * from anago_change('update h set note = note || ''x'' from c where cust = c.id and c.grp = 3');
select * from anago_change('update s set day = day + 20 from c where cust = c.id and day = c.at');
select * from anago_change('delete from l using c where cust = c.id and l.region = c.region');
select * from anago_change('merge into h using c on cust = c.id and c.grp = 3 when matched and day < 50 then update set note = name when matched then delete when not matched then insert (cust, note) values (c.id, c.name)');
-- the planner knows of these looks, and takes such a nested loop in place of a hash join; not where
-- partitions are found by what a look must not evaluate, nor of partitions of partitions
set enable_hashjoin = on;
set enable_seqscan = on;
create function looped(query text) returns boolean language sql as $$
	select bool_or(line ~ 'Nested Loop') and public.anago_looks(query) > 0 from public.anago_plan(query) line
$$;
select looped('delete from h using c where cust = c.id') as by_hash, looped('delete from l using c where cust = c.id and l.region = c.region') as by_list,
	looped('delete from s using c where cust = c.id and day = c.at') as by_range, looped('delete from r using c where cust = c.id and day = c.at') as further,
	looped('delete from h using c where cust = of_user(c.id)') as by_function, looped('delete from u using c where cust = c.id') as by_user;
-- by cost
create table big (cust int, day int, note text) partition by hash (cust);
create table big_0 partition of big for values with (modulus 2, remainder 0);
create table big_1 partition of big for values with (modulus 2, remainder 1);
insert into big select g * 7919 % 20000, g, repeat('x', 400) from generate_series(1, 44000) g;
create index big_cust on big (cust);
analyze big;
set anago.debug_force = off;
set anago.residency = off;
set anago.io_gain = 16;
select * from shown('update big set note = note || ''x'' from c where cust = c.id and c.grp in (3, 4, 5)');
select looped('delete from big using c where cust = c.id') as pruned, looped('delete from big using c where cust = of_user(c.id)') as by_function;
select * from anago_change('delete from big using c where cust = c.id', null, 'off');
set anago.ahead = off;
select looped('delete from big using c where cust = c.id') as no_looks;
reset anago.ahead;
reset anago.residency;
reset anago.io_gain;
drop table big;
set enable_hashjoin = off;
set enable_seqscan = off;

-- a prepared statement: partitions that its arguments leave out are not opened; others come and go
set plan_cache_mode = force_generic_plan;
set anago.enable = on;
set anago.debug_force = on;
prepare q (int, int) as select sum(x.day), count(*) from c, lateral (select * from s where cust = c.id and day <= c.at and day >= $1 order by day desc limit 3) x where grp < $2;
prepare e (int, int) as select count(*), sum(x.n) from c, lateral (select count(*) as n, max(note) from s where cust = c.id and day between $1 and $2) x;
execute q(0, 20);
execute q(60, 20);
execute q(110, 20);
execute q(null, 20);
execute e(0, 100);
execute e(60, 70);
execute e(null, 5);
select count(*) from anago_explain('costs off', 'execute q(60, 20)') line where line ~ 'Look';
-- no index is locked but of the tables that PostgreSQL goes to
begin;
execute e(60, 70);
select relation::regclass from pg_locks join pg_class k on k.oid = relation
	where pid = pg_backend_pid() and relkind = 'i' and relname ~ '^s_';
commit;
alter table s detach partition s_4;
execute q(0, 20);
execute e(0, 100);
create table s_6 (note text, cust int, day int);
insert into s_6 select 'new', g % 211, 200 + g % 50 from generate_series(1, 2000) g;
alter table s attach partition s_6 for values from (200) to (300);
analyze s_6;
execute q(0, 20);
execute e(200, 300);
alter table s attach partition s_4 for values from (75) to (100);
drop table s_2;
execute q(0, 20);
execute e(0, 300);
set anago.enable = off;
execute q(0, 20);
execute e(0, 300);
deallocate q;
deallocate e;
prepare q (int, int) as select sum(x.day), count(*) from c, lateral (select * from s where cust = c.id and day <= c.at and day >= $1 order by day desc limit 3) x where grp < $2;
prepare e (int, int) as select count(*), sum(x.n) from c, lateral (select count(*) as n, max(note) from s where cust = c.id and day between $1 and $2) x;
execute q(0, 20);
execute q(60, 20);
execute q(110, 20);
execute q(null, 20);
execute e(60, 70);
execute e(null, 5);
reset plan_cache_mode;

-- an error in what partitions are found by is PostgreSQL's: where it comes to the row, and not before
set anago.enable = on;
set anago.debug_force = on;
select count(*) from (select c.id, x.n from c, lateral (select count(note) as n from h where cust = 100 / (c.id - 150)) x limit 149) y;
select count(*), sum(x.n) from c, lateral (select count(note) as n from h where cust = 100 / (c.id - 150)) x;
-- cursors stop anywhere, and keep what they look into
begin;
declare k cursor for select c.id, x.day from c, lateral (select day from s where cust = c.id and day <= c.at order by day desc limit 2) x where grp < 5;
fetch 4 from k;
savepoint a;
drop table s_1;
rollback to a;
move 3 from k;
savepoint b;
fetch 2 from k;
rollback to b;
fetch 2 from k;
close k;
commit;
-- faults of looks are nobody's affair; little room
set anago.debug_force = off;
set anago.residency = off;
set anago.sim_fault_rate = 0.03;
select anago_same_seeds('select sum(hashtext(x.note)) from c, lateral (select note from s where cust = c.id and day <= c.at order by day desc limit 3) x');
reset anago.sim_fault_rate;
drop schema pruned cascade;
