-- Other implementations of parts of a pipeline: the same rows, by other ways.
load 'anago';
set anago.enable = on;
set anago.debug_force = on;

-- what can be chosen
set anago.operators = 'range=right_links, heap_visit=by_row';
show anago.operators;
set anago.operators = ' range = parent ,heap_visit=by_block ';
set anago.operators = 'range';
set anago.operators = 'range=right_links, =';
set anago.operators = 'color=red';
set anago.operators = 'range=no_such';
set anago.operators = 'heap_visit=right_links';
reset anago.operators;

create table op_a (k int, grp int, u int, pad text) with (fillfactor = 50);
insert into op_a select g * 7919 % 6000, g % 100, g, repeat('x', 40) from generate_series(1, 6000) g;
create index op_a_k on op_a (k) with (fillfactor = 20);
create index op_a_grp on op_a (grp, k);
create index op_a_pad on op_a (pad, k) include (grp) with (fillfactor = 20);
create table op_b (a int, v int);
insert into op_b select g * 7 % 8000, g % 13 from generate_series(1, 6000) g;
create index op_b_a on op_b (a);
vacuum analyze op_a, op_b;
-- heap blocks that are not all visible, entries that are dead
delete from op_a where k % 50 = 7;
update op_b set v = 100 where a % 20 = 3;

-- Every way, for queries whose ranges have one leaf, many, and none.
create function op_same(query text, out operators text, out same boolean, out rows bigint, out anago boolean)
returns setof record language plpgsql as $$
begin
	foreach operators in array '{range=right_links, heap_visit=by_row, "range=right_links, heap_visit=by_row"}'::text[] loop
		perform set_config('anago.operators', operators, true);
		select s.* into same, rows, anago from anago_same(query) s;
		return next;
	end loop;
	perform set_config('anago.operators', '', true);
end $$;

select * from op_same('select k, u from op_a where k = 17');
select * from op_same('select k, u from op_a where k between 1000 and 4000');
select * from op_same('select * from op_a where k > 5000');
select * from op_same('select * from op_a where k > 30000');
select * from op_same('select k, grp from op_a where grp in (1, 5, 77) and k in (19, 119, 195, 5019, 5995, 163)');
select * from op_same('select k from op_a where grp = any(array(select generate_series(0, 90, 9)))');
select * from op_same('select k, grp from op_a where pad >= ''x'' and k % 3 = 0');
select * from op_same('select k, grp from op_a where pad = repeat(''x'', 40) and k between 100 and 5000');
select * from op_same('select a.u, b.v from op_a a join op_b b on b.a = a.k where a.grp < 10');
select * from op_same('select a.u, b.v from op_a a left join op_b b on b.a = a.k and b.v < 7 where a.grp < 10');
select * from op_same('select a.u from op_a a where a.grp < 10 and exists (select from op_b b where b.a = a.k and b.v < 7)');
select * from op_same('select a.u from op_a a where a.grp < 10 and not exists (select from op_b b where b.a = a.k and b.v < 7)');
select * from op_same('select a.u from op_b b join op_a a on a.k between b.a and b.a + 300 where b.a < 100');

-- in several processes
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0;
set max_parallel_workers_per_gather = 2;
select * from op_same('select count(*), sum(u) from op_a where k between 500 and 5500');
select * from op_same('select count(*), sum(a.u) from op_a a join op_b b on b.a = a.k where a.grp < 30');
select * from op_same('select count(*), sum(u) from op_a where grp in (3, 4, 50) and k between 20 and 5000');
insert into anago_variant values ('static', '{"anago.mode": "static", "anago.io_method": "sync",
	"anago.max_inflight_reads": "256"}');
select * from op_same('select count(*), sum(u) from op_a where k between 500 and 5500');
delete from anago_variant where name = 'static';
set max_parallel_workers_per_gather = 0;
drop index op_a_grp, op_a_pad;

-- EXPLAIN says which, where it is not ours
set anago.operators = 'heap_visit=by_block, range=right_links';
select anago_explain('costs off', 'select u from op_a where k between 1000 and 4000');
set anago.operators = 'heap_visit=by_block';
select anago_explain('costs off', 'select u from op_a where k between 1000 and 4000');

-- they are what they say: each match is a look at its block, one task walks all leaves
create function op_figure(operators text, figure text) returns bigint language plpgsql as $$
declare
	plan jsonb;
begin
	perform set_config('anago.operators', operators, true);
	perform set_config('anago.io_method', 'sync', true);
	execute 'explain (analyze, buffers, timing off, summary off, format json)
		select u, pad from op_a where k between 1000 and 4000' into plan;
	return jsonb_path_query_first(plan, ('strict $.**."' || figure || '"')::jsonpath);
end $$;
-- the matches of a leaf are in about as many blocks as there are, so nearly as many
select op_figure('heap_visit=by_row', 'Hits') >= op_figure('', 'Hits') as more_looks;
select op_figure('range=right_links', 'Tasks') as one_task, op_figure('', 'Tasks') > 5 as many_tasks;

-- a prepared statement is planned anew
reset anago.operators;
prepare op_p as select u from op_a where k between 1000 and 4000;
select anago_explain('costs off', 'execute op_p');
set anago.operators = 'heap_visit=by_row';
select anago_explain('costs off', 'execute op_p');
deallocate op_p;

-- a setting for a function, for a role: taken as they are until a session has them
create function op_f() returns bigint language sql set anago.operators = 'range=right_links'
	as 'select count(*) from op_a where k < 100';
select op_f();
create role op_role;
alter role op_role set anago.operators = 'range=of_some_library';
alter role op_role set anago.operators = 'color=red';
drop role op_role;
reset anago.operators;
drop table op_a, op_b;
drop function op_same, op_figure, op_f;
