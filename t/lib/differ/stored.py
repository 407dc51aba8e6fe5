"""Values that are stored outside of their rows (TOAST): of every storage, in partitions with
other column orders, behind dropped and added columns; sent, sorted, joined, called with,
and inserted again.
"""

from differ.kind import Kind

ROWS = 900

CALLS = ("md5(s.note)", "s.body ->> '7'", "length(s.note)", "upper(s.name || s.note)",
         "left(s.note, 9)", "(s.pair).b", "s.list[3]", "md5(s.bytes)", "to_jsonb(s)",
         "case when s.k > 3 then md5(s.note) end", "s.note like '%a%'", "s.late")


class Stored(Kind):
    NAME = "stored"

    @staticmethod
    def create(conn):
        conn.execute(f"""
            create type stored_pair as (a int, b text);
            create domain stored_text as text check (length(value) > 2);
            create table stored (gone int, id int, k int, note text, body jsonb,
                name stored_text, pair stored_pair, list text[], bytes bytea,
                shout text generated always as (upper(note)) stored);
            alter table stored drop gone;
            alter table stored alter note set storage external;
            alter table stored alter bytes set storage external;
            alter table stored alter body set storage main;
            insert into stored select i, i % 7, case i % 5 when 0 then null when 1 then 's'
                when 2 then repeat(md5(i::text), i % 90 * 8) when 3 then repeat('a', 3000)
                else repeat(md5((i % 10)::text), 70) end,
                case when i % 4 > 0 then (select jsonb_object_agg(n, md5((i * n)::text))
                  from generate_series(1, i % 90) n) end,
                'name' || repeat(md5(i::text), i % 3 * 50),
                row(i, repeat(md5(i::text), i % 80))::stored_pair, array(select md5((i + n)::text)
                  from generate_series(1, i % 120) n),
                decode(repeat(md5(i::text), i % 100), 'hex')
              from generate_series(1, {ROWS}) i;
            alter table stored add late text default repeat('late', 700);
            create index on stored (id);
            create index on stored (k);
            create table stored_parts (id int, k int, note text) partition by range (id);
            create table stored_parts1 partition of stored_parts
                for values from (minvalue) to (300);
            create table stored_parts2 (note text, gone int, k int, id int);
            alter table stored_parts2 drop gone;
            alter table stored_parts2 alter note set storage external;
            alter table stored_parts attach partition stored_parts2
                for values from (300) to (maxvalue);
            insert into stored_parts select id, k, note from stored;
            create index on stored_parts (id);
            create table stored_copy (id int, note text, body jsonb)""")

    def make(self) -> str:
        self.draft.settings = {
            "work_mem": self.pick("64kB", "1MB", "4MB"),
            "anago.max_rows_ahead": self.pick(1, 2, 7, 1024)}
        if self.chance(0.25):
            return self._write()
        columns = ", ".join(self.rng.sample(CALLS + ("s.note", "s.body", "s.name", "s", "s.*",
                                                     "s.bytes"), self.rng.randint(1, 4)))
        where = self._where()
        return self.pick(
            f"select s.id, {columns} from stored s where {where}",
            f"select {columns} from stored s where {where} order by s.id limit {self.pick(3, 40)}",
            f"select s.note, p.note, md5(p.note) from stored s join stored_parts p using (id) "
            f"where {where}",
            f"select s.* from stored_parts s where {where}",
            f"select s.note, count(*), max(s.name::text) from stored s where {where} group by 1",
            f"with s as materialized (select * from stored s where {where}) "
            f"select {columns} from s join stored_parts p on p.id = s.k",
            f"select s.note from stored s where {where} union all "
            f"select s.note from stored_parts s where {where}",
            f"select s.id, (select p.note from stored_parts p where p.id = s.id), s.body "
            f"from stored s where {where}",
            f"select s.id, x.* from stored s cross join lateral (select p.note from stored p "
            f"where p.k = s.id % 7 order by p.id limit 2) x where {where}")

    def _where(self) -> str:
        low = self.rng.randint(0, ROWS)
        return self.pick(
            f"s.id between {self.value(low, 'int')} and {self.value(low + 60, 'int')}",
            f"s.k = {self.value(self.rng.randint(0, 7), 'int')}", "s.note like '%4f%'", "true")

    def _write(self) -> str:
        self.draft.execute = "write"
        self.draft.changes = ("stored", "stored_parts", "stored_copy")
        where = self._where()
        return self.pick(
            f"insert into stored_copy select s.id, s.note, s.body from stored s where {where} "
            "returning *",
            f"insert into stored_parts select s.id + 500, s.k, s.note || 'x' from stored s "
            f"where {where}",
            f"update stored s set note = s.name, k = s.k + 1 where {where} returning s.note",
            f"merge into stored_copy c using (select * from stored s where {where}) s "
            "on c.id = s.id when not matched then insert values (s.id, s.note, s.body)",
            f"with gone as (delete from stored s where {where} returning s.id, s.note) "
            "insert into stored_copy select id, note from gone")
