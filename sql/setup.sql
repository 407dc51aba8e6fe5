-- What the other test files use: functions that run a statement with anago off and
-- on, and compare.  This file must run first.
--
--   select anago_same($$select ...$$);
--        same         | rows | anago
--       --------------+------+-------
--        t            |   17 | t
--
-- same:  the rows (as a multiset) are those of stock, in every variant below.
-- rows:  how many rows stock gave.
-- anago: the plan has a node of ours.
--
-- A difference is also told as a WARNING, with query, settings and rows.
load 'anago';
select extname from pg_extension where extname = 'anago';

-- The settings under which anago must give stock's rows.  The simulated reads
-- complete in random order, and no page is found resident at first, so that
-- even small tables make tasks wait; only a superuser may have them.
create table anago_variant (name text primary key, settings jsonb);
insert into anago_variant values
	('ooo', '{"anago.mode": "ooo", "anago.io_method": "auto",
		"anago.max_inflight_reads": "256"}'),
	('serial', '{"anago.mode": "serial", "anago.io_method": "sync",
		"anago.max_inflight_reads": "256"}'),
	('sim 1', '{"anago.mode": "ooo", "anago.io_method": "sim",
		"anago.max_inflight_reads": "256",
		"anago.sim_seed": "1", "anago.sim_hit_rate": "0", "anago.sim_delay": "7"}'),
	('sim 2', '{"anago.mode": "ooo", "anago.io_method": "sim",
		"anago.max_inflight_reads": "1",
		"anago.sim_seed": "2", "anago.sim_hit_rate": "0.5", "anago.sim_delay": "40"}');
insert into anago_variant
	select 'pgaio', '{"anago.mode": "ooo", "anago.io_method": "pgaio",
		"anago.max_inflight_reads": "256"}'
	where current_setting('server_version_num')::int >= 180000;
grant select on anago_variant to public;

-- Run a statement that gives one text[] and return it.
create function anago_rows(statement text) returns text[]
language plpgsql as $$
declare
	result text[];
begin
	execute statement into result;
	return result;
end $$;

-- The plan of a statement, as EXPLAIN (COSTS OFF) prints it.  Subplans have
-- numbers or names, depending on the version: left out.
create function anago_plan(statement text) returns setof text
language plpgsql as $$
declare
	line text;
begin
	for line in execute 'explain (costs off) ' || statement loop
		return next regexp_replace(line, '(SubPlan|InitPlan) [^ ]+', '\1');
	end loop;
end $$;

-- Does the plan of a statement have a node of ours?
create function anago_used(statement text) returns boolean
language sql as $$
	select coalesce(bool_or(line ~ 'Anago(Scan|Join)'), false)
	from anago_plan(statement) line
$$;

-- What the order of rows is compared by: all of a row, or what stands before the
-- mark that anago_same_keys() puts into it.
create function anago_order_of(rows text[]) returns text[]
language sql as $$
	select array_agg(split_part(r, e'\x01', 1) order by n)
	from unnest(rows) with ordinality u(r, n)
$$;

-- Compare two lists of rows; tell the first few differences.
create function anago_differ(query text, variant text, stock text[], ours text[],
							 ordered boolean) returns boolean
language plpgsql as $$
declare
	missing text[];
	extra text[];
	as_stock text[] := anago_order_of(stock);
	as_ours text[] := anago_order_of(ours);
begin
	if ordered and as_stock is distinct from as_ours and
		(select array_agg(r order by r) from unnest(as_stock) r) is not distinct from
		(select array_agg(r order by r) from unnest(as_ours) r)
	then
		raise warning 'other order of rows'
			using detail = format('variant: %s; query: %s', variant, query);
		return true;
	end if;
	select array_agg(r) into missing from
		(select r from unnest(stock) r except all select r from unnest(ours) r limit 3) d(r);
	select array_agg(r) into extra from
		(select r from unnest(ours) r except all select r from unnest(stock) r limit 3) d(r);
	if missing is null and extra is null then
		return false;
	end if;
	raise warning 'other rows: missing %, extra %', missing, extra
		using detail = format('variant: %s; query: %s', variant, query);
	return true;
end $$;

-- The work of the functions below.  Only a superuser can force our plans: for
-- another role anago.debug_force must be on before.  "prepare" statements are run before each
-- variant, "statements" each give one text[]; "planned" is what must show our
-- node in its plan.
create function anago_compare(prepare text[], statements text[], planned text,
							  ordered boolean,
							  out same boolean, out rows bigint, out anago boolean)
language plpgsql
set anago.enable from current
set anago.mode from current
set anago.io_method from current
set anago.max_inflight_reads from current
as $$
declare
	stock text[] := '{}';
	one text[];
	statement text;
	v record;
	i int;
begin
	perform set_config('anago.enable', 'off', true);
	foreach statement in array prepare loop
		execute statement;
	end loop;
	rows := 0;
	for i in 1 .. cardinality(statements) loop
		one := anago_rows(statements[i]);
		rows := rows + cardinality(one);
		-- an array of arrays would have to be rectangular
		stock := stock || one::text;
	end loop;

	same := true;
	perform set_config('anago.enable', 'on', true);
	if current_setting('is_superuser')::bool then
		perform set_config('anago.debug_force', 'on', true);
	end if;
	for v in
		select name, settings from anago_variant
		where settings->>'anago.io_method' <> 'sim' or current_setting('is_superuser')::bool
		order by name
	loop
		perform set_config(key, value, true) from jsonb_each_text(v.settings);
		foreach statement in array prepare loop
			execute statement;
		end loop;
		if anago is null then
			anago := anago_used(planned);
		end if;
		for i in 1 .. cardinality(statements) loop
			if anago_differ(statements[i], v.name, stock[i]::text[],
							anago_rows(statements[i]), ordered)
			then
				same := false;
			end if;
		end loop;
	end loop;
end $$;

-- Same rows, in any order?
create function anago_same(query text,
						   out same boolean, out rows bigint, out anago boolean)
language sql as $$
	select * from anago_compare('{}', array[format(
		$q$select coalesce(array_agg(r::text), '{}') from (%s) r$q$, query)],
		query, false)
$$;

-- Same rows in the same order?  For queries whose order is total.
create function anago_same_order(query text,
								 out same boolean, out rows bigint, out anago boolean)
language sql as $$
	select * from anago_compare('{}', array[format(
		$q$select coalesce(array_agg(r::text), '{}') from (%s) r$q$, query)],
		query, true)
$$;

-- Same rows, and the values of `keys` in the same order?  Rows with the same keys
-- may come in any order, which LIMIT can tell: there the keys alone count.
-- kept: the plan keeps an order of ours and sorts nothing; merged: that of several
-- processes.
create function anago_same_keys(query text, keys text, out same boolean, out rows bigint,
								out kept boolean, out merged boolean)
language plpgsql as $$
declare
	behind text := case when query ~ 'limit|fetch' then '' else $q$ || e'\x01' || r::text$q$ end;
begin
	select c.same, c.rows into same, rows from anago_compare('{}', array[format(
		$q$select coalesce(array_agg(row(%s)::text%s), '{}') from (%s) r$q$, keys, behind, query)],
		query, true) c;
	perform set_config('anago.enable', 'on', true);
	perform set_config('anago.debug_force', 'on', true);
	select bool_or(line ~ 'Order Kept') and not bool_or(line ~ '^ *(->  )?(Incremental )?Sort *$'),
			bool_or(line ~ 'Gather Merge') and bool_or(line ~ 'Parallel Custom Scan .Anago')
		into kept, merged from anago_plan(query) line;
	merged := merged and kept;
	perform set_config('anago.enable', 'off', true);
end $$;

-- Same rows of a prepared statement with a generic plan, executed once for
-- each list of arguments?
create function anago_same_prepared(query text, types text, variadic arguments text[],
									out same boolean, out rows bigint, out anago boolean)
language sql set plan_cache_mode = force_generic_plan as $$
	select * from anago_compare(
		array[
			$q$do 'begin if exists (select from pg_prepared_statements where name = ''anago_p'')
				then deallocate anago_p; end if; end'$q$,
			format($q$prepare anago_p(%s) as
				select coalesce(array_agg(r::text), '{}') from (%s) r$q$, types, query)],
		(select array_agg(format('execute anago_p(%s)', a) order by n)
			from unnest(arguments) with ordinality u(a, n)),
		format('execute anago_p(%s)', arguments[1]), false)
$$;

-- EXPLAIN without what differs between versions of PostgreSQL or from run to
-- run; other figures are masked if asked for.
create function anago_explain(options text, query text, mask boolean default true)
returns setof text
language plpgsql as $$
declare
	line text;
begin
	for line in execute format('explain (%s) %s', options, query) loop
		return query
			select case when mask then regexp_replace(part, '\d+(\.\d+)?', 'N', 'g') else part end
			from (select regexp_replace(part,
					'(SubPlan|InitPlan|method=|"I/O Method":) ?[^ ]+', '\1') as part
				from regexp_split_to_table(line, E'\n') part
				where part !~ '(Disabled|Replaces|Index Searches|In Flight|Latency|Tasks: \d+ .*Memory)') x;
	end loop;
end $$;

-- How many looks has the plan of a statement?
create function anago_looks(statement text) returns bigint language sql as $$
	select count(*) from public.anago_plan(statement) line where line ~ 'Look \d'
$$;

-- Same rows, and how many looks has the plan?
create function anago_same_looks(query text, out same boolean, out rows bigint, out looks bigint)
language plpgsql
set anago.enable from current
set anago.debug_force from current
as $$
begin
	select r.same, r.rows into same, rows from public.anago_same(query) r;
	perform set_config('anago.enable', 'on', true);
	perform set_config('anago.debug_force', 'on', true);
	looks := public.anago_looks(query);
end $$;

-- Runs a statement; how many rows was each look of its plan made for?
create function anago_looks_made(statement text) returns table (look text, probes int) language sql as $$
	select * from (select ltrim(line), (regexp_match(lead(line) over (), 'Probes: (\d+)'))[1]::int
		from public.anago_explain('analyze, costs off, timing off, summary off, buffers off', statement, false) line
		where line ~ '(Look|Probes)') x where x.ltrim ~ 'Look'
$$;

-- Does a query that gives one number give the same one whatever the order of reads, and with
-- little room?  With anago.sim_fault_rate, whichever reads fail.
create function anago_same_seeds(query text) returns boolean language plpgsql as $$
declare
	n bigint;
	wanted bigint;
begin
	for seed in 1 .. 20 loop
		perform set_config('anago.sim_seed', seed::text, true);
		perform set_config('anago.max_inflight_reads', (1 + seed * 7 % 40)::text, true);
		perform set_config('anago.max_rows_ahead', (1 + seed * 5 % 30)::text, true);
		perform set_config('work_mem', case when seed % 2 = 0 then '64kB' else '4MB' end, true);
		execute query into n;
		wanted := coalesce(wanted, n);
		if n is distinct from wanted then
			raise warning 'seed %: other rows', seed;
			return false;
		end if;
	end loop;
	return true;
end $$;

-- What a statement makes of a table, partition by partition, or of all tables of the
-- current schema: the same without looks and with looks, forced by default; or the
-- same error?  All of it is undone.  n: rows that are there then.
create type anago_outcome as (looks bigint, n bigint, sum numeric, error text);
create function anago_change(statement text, of_table text default null, forced text default 'on',
							 out same boolean, out looks bigint, out n bigint, out error text)
language plpgsql as $$
declare
	setting text;
	name text;
	one record;
	result anago_outcome;
	results anago_outcome[];
begin
	foreach setting in array '{off, on}'::text[] loop
		perform set_config('anago.ahead', setting, true);
		perform set_config('anago.debug_force', forced, true);
		result := row(anago_looks(statement), 0, 0, null);
		begin
			execute statement;
			set constraints all immediate;
			for name in select oid::regclass from pg_class
				where case when of_table is null then relkind = 'r' and relnamespace = current_schema()::regnamespace
					else oid = to_regclass(of_table) end
			loop
				execute format('select count(*) as n, coalesce(sum(hashtext(tableoid::text || x::text)::numeric), 0) as sum from %s x', name)
					into one;
				result.n := result.n + one.n;
				result.sum := result.sum + one.sum;
			end loop;
			raise exception 'back' using errcode = 'raise_exception';
		exception
			when raise_exception then
				if sqlerrm <> 'back' then
					result.error := sqlerrm;
				end if;
			when others then
				result.error := sqlerrm;
		end;
		if result.error is not null then
			result.n := null;
			result.sum := null;
		end if;
		results := results || result;
	end loop;
	perform set_config('anago.ahead', 'on', true);
	same := (results[1].n, results[1].sum, results[1].error) is not distinct from
		(results[2].n, results[2].sum, results[2].error) and results[1].looks = 0;
	looks := results[2].looks;
	n := results[2].n;
	-- what depends on the version, or on what else there is in the database
	error := regexp_replace(regexp_replace(results[2].error, 'blocks? [0-9.]+ in file "[^"]*"', 'a block'),
							'(_fkey)[_0-9]+', '\1');
end $$;

-- Wait until nobody in this database, autovacuum say, has a snapshot from before
-- now: then VACUUM finds that all sees what was inserted, and marks it so.  For
-- tests that count pages of index-only scans.
create function anago_settle() returns void
language plpgsql as $$
declare
	now xid8 := pg_current_xact_id();
begin
	while exists (select from pg_stat_activity
				  where datname = current_database() and pid <> pg_backend_pid() and
					age(backend_xmin) > age(now::xid)) loop
		perform pg_sleep(0.01);
		perform pg_stat_clear_snapshot();
	end loop;
end $$;

-- What does a query read before it stops?  Every page that stock looks at
-- counts, as in a cold cache; simulated reads make each of ours count, too.
create function anago_read(query text, out pages bigint, out ours boolean,
						   out workers boolean, out merged boolean)
language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (analyze, buffers, costs off, timing off, format json) ' || query into plan;
	ours := plan::text ~ 'Anago(Scan|Join)';
	merged := plan::text ~ 'Gather Merge';
	if ours then
		select sum(n::bigint) into pages from unnest('{"Reads Issued", "Synchronous Reads"}'::text[]) name,
			jsonb_path_query(plan, format('strict $.** ? (@."Node Type" == "Custom Scan").%I', name)::jsonpath) n;
		workers := coalesce((jsonb_path_query_first(plan, 'strict $.**."Workers Launched"'))::int > 0, false);
	else
		pages := (plan->0->'Plan'->>'Shared Hit Blocks')::bigint +
			(plan->0->'Plan'->>'Shared Read Blocks')::bigint;
	end if;
end $$;

-- Under each limit, does a query read at most twice the pages that one process of
-- stock does, or 16 more, for each of so many processes?  Rows may come in another
-- order than stock's, so that a filter drops more or fewer of the first ones: the
-- mean of several runs is what counts.
create function anago_stop(query text, workers int, processes int, runs int, limits int[],
						   out most text, out anago boolean, out in_workers boolean, out merged boolean)
language plpgsql as $$
declare
	stock record;
	ours record;
	pages bigint;
	n int;
begin
	most := 'bounded';
	anago := true;
	in_workers := false;
	merged := true;
	foreach n in array limits loop
		set anago.enable = off;
		set max_parallel_workers_per_gather = 0;
		select * into stock from anago_read(query || ' limit ' || n);
		set anago.enable = on;
		perform set_config('max_parallel_workers_per_gather', workers::text, false);
		pages := 0;
		for seed in 1 .. runs loop
			perform set_config('anago.sim_seed', (n * runs + seed)::text, false);
			select * into ours from anago_read(query || ' limit ' || n);
			anago := anago and ours.ours;
			in_workers := in_workers or ours.workers;
			merged := merged and ours.merged;
			pages := pages + ours.pages;
		end loop;
		if pages > runs * processes * (stock.pages + greatest(16, stock.pages)) then
			most := format('limit %s: %s pages, one process of stock %s', n, pages / runs, stock.pages);
			raise notice '%: %', query, most;
		end if;
	end loop;
end $$;
