-- Where entries of an index are in another order than the comparison says, rows
-- that fail the condition are not returned (they may be missing, as with stock).
load 'anago';
set timezone = 'America/New_York';

-- Rows of `query` that are wrong: not among those of `truth`, or twice; in
-- brackets, whether the plan is ours.
create function anago_wrong(query text, truth text) returns text
language plpgsql
set anago.enable = on set anago.debug_force = on set enable_seqscan = off
set enable_bitmapscan = off set max_parallel_workers_per_gather = 0 as $$
declare
	wrong text;
begin
	execute format('select string_agg(x::text, %L) from
		(select * from (%s offset 0) q except all select * from (%s) r) w (x)', ', ', query, truth)
		into wrong;
	return format('%s (%s)', coalesce(wrong, 'none'), anago_used(query));
end $$;

-- timestamp and timestamptz in the gap of 2024-03-10: 02:30 and 03:30 are equal
-- to 07:30+00 there, what is between is not.  Where the search of an index
-- lands depends on where the entries lie on a page: so it is tried at many
-- offsets, and over many pages.
create table lt (n int, ts timestamp, pad text);
create index lt_i on lt (ts);
create function anago_gap(pages boolean, condition text) returns text
language plpgsql as $$
declare
	answer text;
	truth text := 'select ts from lt where ' ||
		regexp_replace(condition, '\mts\M', '(ts + interval ''0'')', 'g');
	right_ones timestamp[];
	result text := 'none (t)';
	missing int := 0;
	stock timestamp[];
	ours timestamp[];
begin
	for shift in 0 .. 40 loop
		truncate lt;
		insert into lt select g, timestamp '2024-03-10 00:00' + (g - shift) * interval '5 min'
			from generate_series(0, 100) g, generate_series(1, case when pages then 30 else 1 end);
		answer := anago_wrong('select ts from lt where ' || condition, truth);
		if answer <> 'none (t)' then
			result := format('shift %s: %s', shift, answer);
		end if;

		-- what stock's index scan finds is found, but for rows that fail the
		-- condition, which 17 returns, too
		execute format('select array_agg(ts) from (%s) t', truth) into right_ones;
		set local enable_seqscan = off;
		set local enable_bitmapscan = off;
		execute 'select array_agg(ts) from lt where ' || condition into stock;
		set local anago.enable = on;
		set local anago.debug_force = on;
		execute 'select array_agg(ts) from lt where ' || condition into ours;
		set local anago.enable = off;
		set local enable_seqscan = on;
		if exists ((select unnest(stock) intersect all select unnest(right_ones))
				   except all select unnest(ours)) then
			missing := missing + 1;
		end if;
		exit when pages and shift = 5;
	end loop;
	return format('wrong: %s; missing: %s', result, missing);
end $$;
set anago.enable = off;
select anago_gap(p, c), c from unnest(array[
	$$ts = timestamptz '2024-03-10 07:30+00'$$,
	$$ts = timestamptz '2024-03-10 07:25+00'$$,
	$$ts >= timestamptz '2024-03-10 07:30+00' and ts < timestamp '2024-03-10 03:40'$$,
	$$ts > timestamptz '2024-03-10 07:10+00' and ts <= timestamptz '2024-03-10 07:20+00'$$,
	$$ts = any (array[timestamptz '2024-03-10 07:10+00', timestamptz '2024-03-10 07:50+00'])$$]) c,
	unnest(array[false, true]) p order by c, p;
set anago.enable = on;
drop table lt;
drop function anago_gap(boolean, text);

-- An operator class whose order follows a setting: an index that was built with
-- one order is searched with another, as where a collation has changed.
create function anago_fickle(a int, b int) returns int immutable strict parallel safe
language plpgsql as $$
begin
	if current_setting('test.lies', true) = 'on' then
		return btint4cmp(a % 64 * 10000 + a, b % 64 * 10000 + b);
	end if;
	return btint4cmp(a, b);
end $$;
create operator class fickle_ops for type int4 using btree as
	operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >,
	function 1 anago_fickle(int, int);
create table fickle (a int, b int, pad text);
insert into fickle select g, g % 7, repeat('x', 20) from generate_series(1, 3000) g;
create index fickle_i on fickle (a fickle_ops, b);
vacuum analyze fickle;
create table fickle_seq as select * from fickle;
create table fickle_outer as select g * 11 as k, g from generate_series(1, 200) g;
analyze fickle_outer;
create function anago_fickle_wrong(cond text) returns text language sql as $$
	select anago_wrong('select (f.a, f.b)::text from fickle f where ' || cond, 'select (f.a, f.b)::text from fickle_seq f where ' || cond)
$$;

-- in order: stock's rows
select anago_same('select * from fickle where a between 100 and 140');
select anago_same('select * from fickle where a in (5, 900, 17, 2999) and b > 1');
select anago_same('select * from fickle_outer o join fickle f on f.a = o.k');
-- in another: no wrong ones
set test.lies = 'on';
select c, anago_fickle_wrong(c) from unnest(array[
	'a = 100', 'a > 100 and a < 140', 'a >= 2000', 'a <= 30', 'a between 128 and 700 and b = 3',
	'a in (5, 6, 7, 900, 17, 1280, 2999)', 'a in (5, 6, 7, 64, 128, 900) and b in (1, 2, 5)',
	'a in (64, 128, 65, 129, 130, 1, 2, 3) and b > 2',
	'a = any (array(select g from generate_series(1, 3000, 2) g))']) c;
select anago_wrong('select f.a from fickle f where a between 128 and 700',
	'select f.a from fickle_seq f where a between 128 and 700');
select anago_wrong('select (o.k, f.a, f.b)::text from fickle_outer o join fickle f on f.a >= o.k and f.a < o.k + 20',
	'select (o.k, f.a, f.b)::text from fickle_outer o join fickle_seq f on f.a >= o.k and f.a < o.k + 20');
reset test.lies;

drop table fickle, fickle_seq, fickle_outer;
drop operator class fickle_ops using btree;
drop function anago_fickle(int, int), anago_fickle_wrong(text), anago_wrong(text, text);
