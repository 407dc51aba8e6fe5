-- Skip scans: conditions on index columns behind one without an equality.
load 'anago';

-- many levels: keys are wide, so that an inner page has few of them
create function sk_wide(n int) returns text language sql immutable as $$
	select string_agg(md5((n * 100 + g)::text), '') from generate_series(1, 18) g
$$;
create table sk (id int primary key, a int, b int, c bigint, d date, t text, u uuid, n numeric, pay text);
insert into sk
	select g, nullif(g % 7, 3), nullif(g * 7919 % 5000, 17), nullif(g % 11, 4),
		date '2020-01-01' + g % 5, nullif('t' || g % 9, 't5'), md5((g % 6)::text)::uuid,
		(g % 4) * 0.5, repeat('p', g % 100)
	from generate_series(1, 12000) g;
create index sk_ab on sk (a, b);
create index sk_desc on sk (a desc, b desc nulls last, c);
create index sk_first on sk (a nulls first, b nulls first);
create index sk_tb on sk (t, b);
create index sk_db on sk (d desc, b);
create index sk_ub on sk (u, b);
create index sk_nb on sk (n, b);
create index sk_acb on sk (a, c, b);
create index sk_xb on sk ((a * 2), b);
create index sk_part on sk (c, b) where a > 1;

create table sk_deep (w text collate "C", b int, id int);
insert into sk_deep
	select nullif(sk_wide(g / 700), sk_wide(5)), nullif(g % 700, 33), g from generate_series(0, 8999) g;
create index sk_deep_wb on sk_deep (w, b);
do $$ begin perform anago_settle(); end $$;
vacuum analyze sk, sk_deep;

-- which index is used is left open: all have to do
create function sk_same(query text) returns table (same boolean, rows bigint, anago boolean)
language sql as $$ select * from anago_same(query) $$;

set enable_seqscan = off;
set enable_bitmapscan = off;
select * from sk_same('select id, a, b from sk where b = 4000');
select * from sk_same('select id, a, b from sk where b between 100 and 140');
select * from sk_same('select id, a, b from sk where b in (5, 600, 601, 4999, null, 70000)');
select * from sk_same('select id, a, b from sk where b is null');
select * from sk_same('select id, a, b from sk where a is null and b is null');
select * from sk_same('select id, a, b from sk where a is not null and b < 30');
select * from sk_same('select id, a, b from sk where a between 2 and 5 and b = 4000');
select * from sk_same('select id, a, b from sk where a > 1 and a <= 5 and b > 4980');
select * from sk_same('select id, a, b from sk where a >= 2 and a in (1, 2, 5, 6) and b = 4000::bigint');
select * from sk_same('select id, a, b from sk where a > 2::bigint and b < 12::smallint');
select * from sk_same('select id, a, b from sk where a > 5 and b = any (array[]::int[])');
select * from sk_same('select id, a, b from sk where (a, b) > (2, 4000) and b > 4990');
select * from sk_same('select id, a, b from sk where a < 5 and (b, c) > (4995, 3)');
select * from sk_same('select id, a, b, c from sk where a in (1, 2) and b = 4000');
select * from sk_same('select id, a, b, c from sk where a = 1 and b = 4000');
select * from sk_same('select id, a, b, c from sk where c = 2 and b < 200');
select * from sk_same('select id, a, b, c from sk where a in (1, 6, 9) and b between 10 and 40');
select * from sk_same('select id, a, b, c from sk where a > 4 and c in (2, 3, 10) and b > 4900');
select * from sk_same('select id, a, b, c from sk where a > 4 and c is null and b > 4900');
select * from sk_same('select id, t, b from sk where t > ''t1'' and b = 1234');
select * from sk_same('select id, t, b from sk where t is null and b < 100');
select * from sk_same('select id, t, b from sk where t like ''t%'' and b < 10');
select * from sk_same('select id, d, b from sk where d > date ''2020-01-02'' and b = 4000');
select * from sk_same('select id, d, b from sk where d >= timestamp ''2020-01-02 12:00'' and b in (1, 4000)');
select * from sk_same('select id, d, b from sk where d < timestamptz ''2020-01-04 00:00+00'' and b in (1, 4000)');
select * from sk_same('select id, u, b from sk where u > ''33333333-3333-3333-3333-333333333333'' and b = 4000');
select * from sk_same('select id, n, b from sk where n > 0.50 and b = 4000');
select * from sk_same('select id from sk where a * 2 > 3 and b = 4000');
select * from sk_same('select id from sk where a > 1 and c > 2 and b = 4000');
select * from sk_same('select a, b from sk where b = 4000');
select * from sk_same('select * from sk where a is null and a > 3 and b = 4');
select * from sk_same('select * from sk where a > 3 and a < 2 and b = 4');

-- of an index of four levels
select * from sk_same('select w, b from sk_deep where b = 100');
select * from sk_same('select w, b, id from sk_deep where b between 30 and 36');
select * from sk_same('select w, b, id from sk_deep where b is null');
select * from sk_same('select w, b, id from sk_deep where w > sk_wide(3) and b in (7, 699)');
select * from sk_same('select w, b, id from sk_deep where w is null and b < 5');
select * from sk_same('select w, b, id from sk_deep where w <= sk_wide(9) and b > 690');
select * from sk_same('select w, b, id from sk_deep where b < 0');
select * from sk_same('select w, b, id from sk_deep where w < ''0'' and b = 5');
select * from sk_same('select w, b, id from sk_deep where w > ''g'' and b = 5');

-- each index alone
create function sk_alone(query text) returns table (index text, same boolean, rows bigint)
language plpgsql as $$
declare
	one text;
begin
	foreach one in array '{sk_ab,sk_desc,sk_first}'::text[] loop
		begin
			execute (select string_agg(format('drop index %I;', indexname), '') from pg_indexes
				where tablename = 'sk' and indexname not in (one, 'sk_pkey'));
			return query select one, s.same, s.rows from anago_same(query) s;
			raise exception 'undo';
		exception when raise_exception then null;
		end;
	end loop;
end $$;
select * from sk_alone('select id, a, b from sk where b = 4000');
select * from sk_alone('select id, a, b from sk where b < 20');
select * from sk_alone('select id, a, b from sk where b > 4980');
select * from sk_alone('select id, a, b from sk where b is null');
select * from sk_alone('select id, a, b from sk where b is not null and a is null');
select * from sk_alone('select id, a, b from sk where a > 2 and b in (5, 600, 601, 4999)');
select * from sk_alone('select id, a, b from sk where a <= 5 and b between 7 and 19');
select * from sk_alone('select id, a, b from sk where a is not null and b is null');

-- in order, forward and backward
set max_parallel_workers_per_gather = 0;
set enable_incremental_sort = off;
create function sk_order(query text) returns table (same boolean, rows bigint, forward boolean, backward boolean)
language sql as $$
	select u.same and d.same, u.rows, u.kept, d.kept
	from anago_same_keys(query || ' order by a, b', 'a, b') u, anago_same_keys(query || ' order by a desc, b desc', 'a, b') d
$$;
select * from sk_order('select id, a, b from sk where b = 4000');
select * from sk_order('select id, a, b from sk where b < 40');
select * from sk_order('select id, a, b from sk where b > 4980');
select * from sk_order('select id, a, b from sk where b is null');
select * from sk_order('select id, a, b from sk where b in (5, 600, 601, 4999, 70000)');
select * from sk_order('select id, a, b from sk where a between 2 and 5 and b between 100 and 140');
select * from sk_order('select id, a, b from sk where a >= 2 and a in (1, 2, 5, 6) and b > 4900');
select * from sk_order('select id, a, b from sk where a is not null and b < 30');
select * from sk_order('select id, a, b from sk where a > 5 and b = any (array[]::int[])');
select * from sk_order('select id, a, b from sk where a > 1 and b < -3');
select * from sk_order('select a, b from sk where b between 10 and 200');
create function sk_deep_order(cond text, more text default '') returns table (same boolean, rows bigint, kept boolean)
language sql as $$
	select same, rows, kept from anago_same_keys(
		format('select w, b, id from sk_deep where %s order by w desc, b desc %s', cond, more), 'w, b')
$$;
select * from sk_deep_order('b = 100');
select * from sk_deep_order('b between 30 and 36');
select * from sk_deep_order('b is null');
select * from sk_deep_order('w > sk_wide(3) and b in (7, 699)');
select * from sk_deep_order('w <= sk_wide(9) and b > 690');
select * from sk_deep_order('w < ''0'' and b = 5');
select * from sk_deep_order('b < 0');
select * from sk_deep_order('b > 10');
select * from sk_deep_order('b < 650', 'limit 300');
select * from sk_deep_order('b = 0', 'limit 3');
select same, rows, kept from anago_same_keys(
	'select s.w, s.b, i.id from sk_deep s join sk i on i.id = s.id where s.b between 4 and 9 order by s.w desc, s.b desc', 'w, b');
reset max_parallel_workers_per_gather;
reset enable_incremental_sort;

-- for each row of a join
set enable_hashjoin = off;
set enable_mergejoin = off;
select * from sk_same('select o.id, i.id from sk o join sk i on i.b = o.b where o.id < 40');
select * from sk_same('select o.id, i.id from sk o left join sk i on i.b = o.b + 1 and i.a > o.a where o.id < 40');
select * from sk_same('select o.id, i.id from sk o left join sk_deep i on i.b = o.b where o.id < 40');
select * from sk_same('select o.id from sk o where o.id < 400 and exists (select from sk_deep i where i.b = o.b and i.id > o.id)');
select * from sk_same('select o.id from sk o where o.id < 400 and not exists (select from sk_deep i where i.b = o.b and i.id > o.id)');
reset enable_hashjoin;
reset enable_mergejoin;

-- in several processes
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
select * from sk_same('select id, a, b from sk where b between 100 and 140');
select * from sk_same('select w, b, id from sk_deep where b between 30 and 36');
select * from sk_same('select w, b, id from sk_deep where w > sk_wide(3) and b in (7, 699)');
set anago.mode = static;
set anago.enable = on;
set anago.debug_force = on;
select count(*), sum(id) from sk_deep where b between 30 and 36;
select count(*), sum(id) from sk where b between 100 and 140;
reset anago.mode;
reset anago.enable;
reset anago.debug_force;
reset parallel_setup_cost;
reset parallel_tuple_cost;
reset min_parallel_table_scan_size;
reset min_parallel_index_scan_size;

-- Core skips from 18 on.  Not many more pages than it reads, each page counted
-- each time; less before, where core reads all that is between.
set max_parallel_workers_per_gather = 0;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;
create function sk_pages(query text, out few boolean, out most text)
language plpgsql as $$
declare
	stock record;
	ours record;
begin
	perform set_config('anago.enable', 'off', true);
	select * into stock from anago_read(query);
	perform set_config('anago.enable', 'on', true);
	perform set_config('anago.debug_force', 'on', true);
	select * into ours from anago_read(query);
	few := ours.ours and ours.pages <= stock.pages + 8;
	if not few then
		most := format('%s, stock %s', ours.pages, stock.pages);
	end if;
end $$;
select * from sk_pages('select a, b from sk where b = 4000');
select * from sk_pages('select a, b from sk where a between 2 and 5 and b between 100 and 120');
select * from sk_pages('select t, b from sk where b = 4000');
select * from sk_pages('select u, b from sk where b in (7, 4000)');
select * from sk_pages('select w, b from sk_deep where b = 100');
select * from sk_pages('select w, b from sk_deep where w > sk_wide(3) and b between 30 and 40');
select * from sk_pages('select a, b from sk where b = 4000 order by a desc, b desc');
select * from sk_pages('select w, b from sk_deep where b = 100 order by w desc, b desc');
select * from sk_pages('select w, b from sk_deep where w > sk_wide(3) and b between 30 and 40 order by w desc');
select * from sk_pages('select w, b from sk_deep where b between 30 and 40 order by w desc limit 5');
-- nearly each value another one: not more than all leaves
create table sk_many as select g as a, g % 10 as b from generate_series(1, 20000) g;
create index sk_many_ab on sk_many (a, b);
do $$ begin perform anago_settle(); end $$;
vacuum analyze sk_many;
select * from sk_pages('select a, b from sk_many where a > 100 and b = 7');
select * from sk_pages('select a, b from sk_many where a between 100 and 900 and b = 7');
reset anago.io_method;
reset anago.sim_hit_rate;
reset max_parallel_workers_per_gather;

-- EXPLAIN shows the conditions as core does
set anago.enable = on;
set anago.debug_force = on;
explain (costs off) select * from sk where a between 2 and 5 and b = 4000 and c = 3;
reset anago.debug_force;

-- where nothing is forced: ours, as the pages it reads are far from each other
set anago.residency = off;
create table sk_cost (a int, b int, pay text);
insert into sk_cost select g % 5, g * 7919 % 20000, repeat('x', 200) from generate_series(1, 20000) g;
create index sk_cost_ab on sk_cost (a, b);
vacuum analyze sk_cost;
create function sk_ours_since_18(query text) returns boolean language sql as $$
	select current_setting('server_version_num')::int < 180000 or anago_used(query)
$$;
select sk_ours_since_18('select * from sk_cost where a > 1 and b < 500');
select sk_ours_since_18('select * from sk_cost where b < 500');
select sk_ours_since_18('select * from sk_cost where a between 2 and 4 and b in (7, 17, 27, 37, 47, 57, 67, 77, 87)');
reset enable_seqscan;
reset enable_bitmapscan;

-- an error while a value is compared comes out as it does with stock
create function sk_cmp(int, int) returns int language plpgsql immutable as $$
begin
	if $2 = 4242 then
		raise exception 'compared with %', $2;
	end if;
	return sign($1 - $2);
end $$;
create operator class sk_ops for type int using btree as
	operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >, function 1 sk_cmp(int, int);
create table sk_err as select g % 4 as a, g as b from generate_series(1, 2000) g;
create index sk_err_ab on sk_err (a, b sk_ops);
analyze sk_err;
set enable_seqscan = off;
set anago.debug_force = on;
select a, b from sk_err where b = 2000;
select a, b from sk_err where b = 4242;
select a, b from sk_err where b = 1999;
reset anago.debug_force;
reset anago.enable;
reset enable_seqscan;

drop table sk, sk_deep, sk_many, sk_cost, sk_err;
