-- Cursors: forward, backward where core allows it, held, in functions, and
-- queries that stop early.
load 'anago';
set anago.enable = on;
set anago.debug_force = on;

create table c1 (id int primary key, a int);
create table c2 (id int primary key, c1 int);
insert into c1 select g, g % 10 from generate_series(1, 1000) g;
insert into c2 select g, g % 1000 from generate_series(1, 3000) g;
create index c1_a on c1 (a);
create index c2_c1 on c2 (c1);
vacuum analyze c1, c2;

-- forward in pieces: all rows, each once
create function c_pieces(query text, piece int, out n bigint, out different bigint)
language plpgsql as $$
declare
	c refcursor;
	r record;
	got text[] := '{}';
	more boolean := true;
begin
	open c no scroll for execute query;
	while more loop
		for i in 1 .. piece loop
			fetch c into r;
			more := found;
			exit when not more;
			got := got || r::text;
		end loop;
		-- something else in between, through the same tables
		perform count(*) from c1 join c2 on c2.c1 = c1.id where c1.a = 5;
	end loop;
	close c;
	select count(*), count(distinct x) into n, different from unnest(got) x;
end $$;
select c_pieces('select * from c1 where a = 3', 7);
select c_pieces('select * from c1 join c2 on c2.c1 = c1.id where c1.a = 3', 1);
select c_pieces('select * from c1 join c2 on c2.c1 = c1.id where c1.a = 3', 64);

-- two cursors over the same query at a time
begin;
declare x cursor for select c1.id from c1 join c2 on c2.c1 = c1.id where c1.a = 3;
declare y cursor for select c1.id from c1 join c2 on c2.c1 = c1.id where c1.a = 3;
move 10 in x;
\echo :ROW_COUNT
move 5 in y;
\echo :ROW_COUNT
move all in x;
\echo :ROW_COUNT
move all in y;
\echo :ROW_COUNT
move 1 in y;
\echo :ROW_COUNT
close x;
close y;
commit;

-- a cursor sees its snapshot, not what came later
begin;
declare x cursor for select id from c1 where a = 3;
move 2 in x;
\echo :ROW_COUNT
delete from c1 where a = 3;
move all in x;
\echo :ROW_COUNT
select count(*) from c1 where a = 3;
rollback;

-- scroll cursors go backward
begin;
declare x scroll cursor for select id from c1 where id between 10 and 14;
move 3 in x;
\echo :ROW_COUNT
move backward 2 in x;
\echo :ROW_COUNT
move all in x;
\echo :ROW_COUNT
move backward all in x;
\echo :ROW_COUNT
rollback;
begin;
declare x scroll cursor for select id from c1 where id between 10 and 14 order by id;
fetch 3 from x;
fetch backward 2 from x;
fetch last from x;
fetch first from x;
fetch absolute 2 from x;
fetch relative 2 from x;
commit;
-- without SCROLL: core's error where the plan cannot go backward, else rows
begin;
declare x no scroll cursor for select id from c1 where id between 10 and 14;
move 2 in x;
\echo :ROW_COUNT
move backward 1 in x;
\echo :ROW_COUNT
rollback;

-- held over commit
begin;
declare x cursor with hold for select id from c1 where id between 10 and 14 order by id;
fetch 2 from x;
commit;
fetch all from x;
close x;

-- an abandoned cursor, left by an error and by a rollback to a savepoint
begin;
savepoint a;
declare x cursor for select c1.id from c1 join c2 on c2.c1 = c1.id where c1.a = 3;
move 3 in x;
\echo :ROW_COUNT
rollback to a;
move 1 in x;
\echo :ROW_COUNT
rollback;
begin;
declare x cursor for select c1.id from c1 join c2 on c2.c1 = c1.id where c1.a = 3;
move 3 in x;
\echo :ROW_COUNT
savepoint a;
select 1 / 0;
rollback to a;
move all in x;
\echo :ROW_COUNT
commit;

-- FOR loops, and leaving them
do $$
declare
	r record;
	n int := 0;
begin
	for r in select c1.id from c1 join c2 on c2.c1 = c1.id where c1.a = 3 loop
		n := n + 1;
		exit when n = 5;
	end loop;
	raise notice 'left after %', n;
end $$;

-- WHERE CURRENT OF needs the core scan
begin;
declare x cursor for select * from c1 where id = 10;
fetch 1 from x;
update c1 set a = 77 where current of x;
select * from c1 where id = 10;
rollback;

