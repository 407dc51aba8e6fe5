-- AnagoAhead where values are stored outside of their rows: looks read their chunks
-- before rows go to the client, or are inserted.
load 'anago';
create schema toast;
set search_path = toast, public;

create table docs (gone int, id int primary key, kind int, note text, body jsonb, name varchar(40));
alter table docs drop column gone;
alter table docs alter note set storage external;
-- of five notes one is missing, one short, one of many chunks; others are compressed, and inline
insert into docs select g, g % 3, case g % 5 when 0 then null when 1 then 'short' when 2 then repeat(md5(g::text), 200)
		when 3 then repeat('a', 3000) else repeat(md5(g::text), 70 + g % 7) end,
	case when g % 4 > 0 then (select jsonb_object_agg(k, md5((g * k)::text)) from generate_series(1, 90) k) end, 'n' || g
	from generate_series(1, 200) g;
create table parts (id int, note text) partition by range (id);
create table parts_1 partition of parts for values from (0) to (100);
create table parts_2 (note text, more int, id int);
alter table parts_1 alter note set storage external;
alter table parts_2 alter note set storage external;
insert into parts_2 select repeat(md5(g::text), 90), g, g from generate_series(100, 160) g;
alter table parts_2 drop column more;
alter table parts attach partition parts_2 for values from (100) to (1000);
insert into parts select g, repeat(md5(g::text), 80) from generate_series(1, 99) g;
create index on parts (id);
create table ids (id int);
insert into ids select g * 7 % 200 from generate_series(1, 60) g;
create table copies (id int, note text, body jsonb);
vacuum analyze docs, parts, ids;

set anago.enable = on;
set anago.debug_force = on;
set anago.io_method = sim;
set anago.sim_hit_rate = 0;

-- plans
create function looks(query text) returns setof text language sql as $$
	select ltrim(line) from public.anago_plan(query) line where line ~ 'Look \d'
$$;
select * from anago_plan('select id, note, name from docs where kind = 1');
select looks('select * from docs where id < 100 order by id');
select looks('select d.note, p.note from docs d join parts p using (id)');
select looks('select p.note from ids join parts p using (id)');
select looks('select note from (select id, note from docs offset 3) x where id > 9 limit 50');
select looks('with x as materialized (select * from docs) select body from x join ids using (id)');
select looks('select note, count(*) from docs group by note');
select looks('insert into copies select id, note, body from docs');
select looks('insert into copies select id, note || ''x'', body from docs');
-- none: the values are not surely wanted, or not stored elsewhere
select looks('select id, kind from docs');
select looks('select note from docs limit 2') from set_config('anago.debug_force', 'off', false);
set anago.debug_force = on;
select looks('select * from docs for update');
select looks('update docs set kind = 1 returning note');
select looks('select note from docs order by random()');
set anago.ahead = off;
select looks('select * from docs');
reset anago.ahead;

-- what functions fetch, and what they may not
select * from anago_plan('select id, length(note), body ->> ''7'' from docs where kind = 1');
select looks('select id, upper(note || name), body -> ''1'' ->> 0 from docs where id < 50');
select looks('select sum(length(x.note)) from (select note from docs offset 0) x');
select looks('select case when id > 3 then md5(note) end, coalesce(id::text, md5(note)), octet_length(note), substr(note, 3), note = ''x'' from docs');
select looks('select id from docs where md5(note) > ''c'' and length(note) > 8');
select anago_same('select id, length(note), md5(body ->> ''7''), md5(upper(note || name)) from docs where kind = 1');
select anago_same('select d.id, md5(d.note), md5(p.note || d.name) from docs d join parts p using (id)');
select anago_same('select ids.id, x.m from ids left join (select id, md5(note) as m from docs where id % 3 > 0) x using (id)');

-- the same values; a client gets them from COPY, too
select anago_same('select id, note, body from docs');
select anago_same('select d.id, d.note, p.note from docs d join parts p using (id)');
select anago_same('select p.id, p.note from ids join parts p using (id)');
select anago_same('select note from (select id, note from docs offset 3) x where id > 9 order by id limit 50');
select anago_same('with x as materialized (select * from docs) select body from x join ids using (id)');
\pset format unaligned
set anago.ahead = off;
\o | md5sum | cut -c 1-32
select id, note, body, name from docs order by id;
select p.id, p.note from parts p order by id;
\o
set anago.ahead = on;
\o | md5sum | cut -c 1-32
select id, note, body, name from docs order by id;
select p.id, p.note from parts p order by id;
\o
\pset format aligned

-- inserted, and made a table of: what is stored is what was there
create function stored(setting text) returns table (looks bigint, docs text, made text) language plpgsql as $$
begin
	perform set_config('anago.ahead', setting, true);
	truncate copies;
	looks := (select count(*) from looks('insert into copies select id, note, body from docs'));
	insert into copies select id, note, body from docs;
	create temp table made as select id, note, body from docs;
	docs := (select md5(string_agg(c::text, '' order by id)) from copies c);
	made := (select md5(string_agg(m::text, '' order by id)) from made m);
	drop table made;
	return next;
end $$;
select s.looks, s.docs = md5(string_agg((d.id, d.note, d.body)::text, '' order by d.id)), s.made = s.docs
	from docs d, (select * from stored('off') union all select * from stored('on')) s group by s.looks, s.docs, s.made order by 1;

-- 40 CTEs, each of which reads the one before twice: planned at once
select count(*) from looks((select 'with c1 as materialized (select * from docs)' ||
	string_agg(format(', c%s as materialized (select a.id, a.note from c%s a join c%s b using (id))', i, i - 1, i - 1), '' order by i) ||
	' select c40.note, docs.note from c40 join docs using (id)' from generate_series(2, 40) i));

set client_min_messages = warning;
drop schema toast cascade;
