-- What the other test files use: functions that run a query with anago off and
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

-- Compare two lists of rows; tell the first few differences.
create function anago_differ(query text, variant text, stock text[], ours text[],
							 ordered boolean) returns boolean
language plpgsql as $$
declare
	missing text[];
	extra text[];
begin
	if ordered and stock is distinct from ours and
		(select array_agg(r order by r) from unnest(stock) r) is not distinct from
		(select array_agg(r order by r) from unnest(ours) r)
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
