-- What nobody may see: that a pipeline asks for more rows of its child plan than
-- LIMIT comes to need.  Each answer is how often something happened for the one
-- row that was wanted, in stock and here.
load 'anago';

create table ah_a (id int, k int);
create table ah_b (id int, aid int);
insert into ah_a select g, g % 10 from generate_series(1, 500) g;
insert into ah_b select g, g from generate_series(1, 500) g;
create index ah_a_id on ah_a (id);
create index ah_b_aid on ah_b (aid);
vacuum analyze ah_a, ah_b;
create sequence ah_calls;
create function ah_call(int) returns boolean language plpgsql volatile as
	$$ begin return nextval('ah_calls') > 0; end $$;
create function ah_number(int) returns int language plpgsql volatile as
	$$ begin perform nextval('ah_calls'); return $1; end $$;

-- how often ah_calls was asked while a query gave its first row
create function ah_calls_of(query text) returns bigint language plpgsql as $$
declare
	one text;
begin
	alter sequence ah_calls restart;
	execute format('select x::text from (%s limit 1) x', query) into strict one;
	return nextval('ah_calls') - 1;
end $$;
-- how many rows of ah_a were locked meanwhile
create function ah_locks_of(query text) returns bigint language plpgsql as $$
declare
	one text;
	result bigint;
	before bigint := pg_current_xact_id()::text;
begin
	begin
		execute format('select x::text from (%s limit 1) x', query) into strict one;
		select count(*) into result from ah_a where xmax::text::bigint > before;
		raise exception 'unlock';
	exception when raise_exception then
		return result;
	end;
end $$;
create function ah_count(query text, out stock bigint, out ours bigint) language plpgsql as $$
begin
	set local anago.enable = off;
	stock := ah_calls_of(query);
	set local anago.enable = on;
	ours := ah_calls_of(query);
end $$;
create function ah_locked(query text, out stock bigint, out ours bigint) language plpgsql as $$
begin
	set local anago.enable = off;
	stock := ah_locks_of(query);
	set local anago.enable = on;
	ours := ah_locks_of(query);
end $$;

set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_memoize = off;
set enable_material = off;
set join_collapse_limit = 1;
set max_parallel_workers_per_gather = 0;
set anago.debug_force = on;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;

-- our plan, where nothing is seen
set anago.enable = on;
select anago_used('select * from ah_a a join ah_b b on b.aid = a.id where abs(a.k) >= 0 limit 1');

-- a condition of a table, of a subquery that is pulled up, of a view
select * from ah_count('select * from ah_a a join ah_b b on b.aid = a.id where ah_call(a.id)');
select * from ah_count('select * from (select * from ah_a where ah_call(id)) a join ah_b b on b.aid = a.id');
create view ah_view as select * from ah_a where ah_call(id);
select * from ah_count('select * from ah_view a left join ah_b b on b.aid = a.id');
select * from ah_count('select * from ah_a a where ah_call(a.id) and exists (select from ah_b b where b.aid = a.id)');
select * from ah_count('select * from (select * from ah_a where ah_call(id) union all select * from ah_a) a
	join ah_b b on b.aid = a.id');

-- a join clause below the pipeline
select * from ah_count('select * from (ah_a a join ah_a a2 on a2.id = a.id and ah_call(a.id + a2.k)) join ah_b b on b.aid = a2.id');
select * from ah_count('select * from (ah_a a left join ah_a a2 on a2.id = a.id and ah_call(a.id + a2.k)) join ah_b b on b.aid = a.id');

-- VALUES, functions, a subquery's select list
select * from ah_count($$select * from (values (nextval('ah_calls')::int), (nextval('ah_calls')::int),
	(nextval('ah_calls')::int), (nextval('ah_calls')::int)) v(x) join ah_b b on b.aid = v.x$$);
select * from ah_count('select * from ah_a a cross join lateral ah_number(a.id) n join ah_b b on b.aid = n');
select * from ah_count('select * from (select ah_number(id) n from ah_a) a join ah_b b on b.aid = a.n');
select * from ah_count('select * from (select ah_number(id) n from ah_a union all select id from ah_a) a join ah_b b on b.aid = a.n');

-- CTEs, one that reads another, and one that a condition reads
select * from ah_count('with c as materialized (select ah_number(id) n from ah_a) select * from c join ah_b b on b.aid = c.n');
select * from ah_count('with c as materialized (select ah_number(id) n from ah_a), d as materialized (select n from c)
	select * from d join ah_b b on b.aid = d.n');
select * from ah_count('with c as materialized (select ah_number(id) n from ah_a)
	select * from (select * from c offset 0) d join ah_b b on b.aid = d.n');
select * from ah_count('with c as materialized (select ah_number(id) n from ah_a)
	select * from ah_a a left join ah_b b on b.aid = a.id where (select c.n from c where c.n >= a.id limit 1) > 0');

-- a sampling method's own arguments are evaluated once; the rows are only read
select anago_used('select * from ah_a a tablesample bernoulli (50) repeatable (1) join ah_b b on b.aid = a.id');

-- subplans that lock rows: in a condition, an equality, a join clause, below
-- an outer join, and of a query without references, asked once and late
select * from ah_locked('select * from ah_a a join ah_b b on b.aid = a.id
	where (select a2.k from ah_a a2 where a2.id = a.id for update) >= 0');
select * from ah_locked('select * from ah_b a join ah_b b on b.aid = a.id
	where a.aid = (select a2.id from ah_a a2 where a2.id = a.id for update)');
select * from ah_locked('select * from (select a.id, (select a2.k from ah_a a2 where a2.id = a.id for update) k from ah_b a) a
	left join ah_b b on b.aid = a.id where a.k >= 0');
select * from ah_locked('select b.id, x.k from ah_b c left join (select a.id, (select a2.k from ah_a a2 where a2.id = a.id for update) k
	from ah_b a) x on x.id = c.id join ah_b b on b.aid = c.id');
select * from ah_locked('select * from ah_b a left join ah_b b on b.aid = a.id
	where a.id <= 1 or a.id = (select id from ah_a where k = 3 limit 1 for update)');

-- the select list is evaluated for rows that are wanted
select * from ah_count('select ah_number(b.id), b.aid from ah_a a join ah_b b on b.aid = a.id');
select anago_used('select ah_number(b.id) from ah_a a join ah_b b on b.aid = a.id limit 1');
