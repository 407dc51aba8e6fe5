"""Statements that change or lock rows: what they return, and all that is in the tables
afterwards, is compared.

Each is undone (compare.py), so that both sides begin with the same rows.  A row is never
joined by two: which of them an UPDATE takes is nobody's promise.
"""

from differ.kind import Kind

ROWS = 4_000
SOURCES = 1_200

TABLES = ("wt", "wp", "wc", "wg", "wlog")


class Writes(Kind):
    NAME = "writes"

    @staticmethod
    def create(conn):
        conn.execute(f"""
            create table wt (id int primary key, k int, g int, v int, note text,
                pad text);
            insert into wt select i, case when i % 17 > 0 then i * 31 % 300 end,
                i % 50, i % 23, repeat('n', i % 60) || i from generate_series(1, {ROWS}) i;
            create index on wt (k);
            create index on wt (g, v);
            create index on wt (note);
            create table ws (id int primary key, tid int unique, g int, v int, k int);
            insert into ws select i, i * 7 % 4903 + 1, i % 40, i % 11, i % 300
              from generate_series(1, {SOURCES}) i;
            create index on ws (g);
            create table wp (id int not null, k int not null, v int, note text)
                partition by range (k);
            create table wp1 partition of wp for values from (0) to (100);
            create table wp2 (note text, v int, dropped int, k int not null, id int not null);
            alter table wp2 drop column dropped;
            alter table wp attach partition wp2 for values from (100) to (200);
            create table wp3 partition of wp default partition by list (v);
            create table wp31 partition of wp3 default;
            insert into wp select i, i * 37 % 300, i % 19, 'p' || i
              from generate_series(1, {ROWS}) i;
            create index on wp (v);
            create index on wp (id);
            create index on wp (lower(note), v) where k % 2 = 0;
            create table wc (id int primary key, wt int references wt on delete cascade on update cascade);
            insert into wc select i, i * 3 % {ROWS} + 1 from generate_series(1, 2500) i;
            create index on wc (wt);
            create table wg (wc int references wc on delete cascade, note text);
            insert into wg select i * 7 % 2500 + 1, 'g' || i from generate_series(1, 4000) i;
            create index on wg (wc);
            create table wlog (what text);
            create function wlogged() returns trigger language plpgsql as $$
            begin
                insert into wlog values (tg_op || old.id);
                return coalesce(new, old);
            end $$;
            create trigger logged before update or delete on wp for each row
                when (old.v = 3) execute function wlogged()""")

    def make(self) -> str:
        self.draft.execute = "write"
        self.draft.changes = TABLES
        self.draft.settings = {
            "work_mem": self.pick("64kB", "1MB", "4MB"),
            "enable_hashjoin": self.pick("on", "off"),
            "enable_mergejoin": self.pick("on", "off"),
            "enable_memoize": self.pick("on", "off"),
            "anago.max_rows_ahead": self.pick(1, 2, 7, 1024)}
        return self.pick(self._update, self._delete, self._lock, self._update_by_join,
                         self._delete_by_join, self._merge, self._merge_parts,
                         self._on_conflict, self._within, self._partitioned)()

    # --- what is picked ---------------------------------------------------

    def _span(self, column, most, wide) -> str:
        low = self.rng.randint(0, most)
        return self.pick(f"{column} = {low}", f"{column} between {low} and {low + wide}",
                         f"{column} in ({low}, {low + 3}, {most - low})",
                         f"{column} > {most - wide}")

    def _picked(self, alias="wt") -> str:
        where = self.pick(
            self._span(f"{alias}.k", 300, 12), self._span(f"{alias}.id", ROWS, 90),
            f"{alias}.g = {self.rng.randint(0, 50)} and {self._span(alias + '.v', 22, 4)}",
            f"{alias}.k is null and {self._span(alias + '.id', ROWS, 900)}",
            f"{alias}.k = {self.rng.randint(0, 300)} or {self._span(alias + '.id', ROWS, 9)}")
        more = self.pick("", f" and {alias}.v % 3 > 0",
                         f" and (select count(*) from ws where ws.k = {alias}.k) > 2")
        return f"({where}){more}"

    def _sources(self) -> str:
        return self._span("s.g", 40, self.pick(0, 5))

    def _set(self) -> str:
        return self.pick("v = wt.v + 1", "k = coalesce(wt.k, 0) + 5", "note = wt.note || 'x'",
                         "g = wt.g + 1, v = 0", "g = wt.g",
                         f"pad = repeat('p', {self.pick(1, 30, 300, 9000)})", f"id = wt.id + {10 * ROWS}",
                         "v = (select count(*) from ws where ws.k = wt.k)")

    def _returning(self, columns="wt.*") -> str:
        return self.pick("", f" returning {columns}")

    # --- statements -------------------------------------------------------

    def _update(self) -> str:
        return (f"update wt set {self._set()} where {self._picked()}"
                f"{self._returning()}")

    def _delete(self) -> str:
        return f"delete from wt where {self._picked()}{self._returning()}"

    def _lock(self) -> str:
        how = self.pick("update", "no key update", "share", "key share")
        return self.pick(
            f"select wt.*, wt.ctid from wt where {self._picked()} for {how}",
            f"select wt.id, s.* from ws s join wt on wt.id = s.tid where {self._sources()} "
            f"for {how} of wt",
            f"select wt.id, s.* from ws s left join wt on wt.id = s.tid and "
            f"{self._picked()} where {self._sources()} for {how} of s",
            f"select x.*, s.v from (select * from wt where {self._picked()} for {how}) x "
            f"left join ws s on s.tid = x.id")

    def _update_by_join(self) -> str:
        value = self.pick("v = s.v", "k = s.k", "note = 's' || s.id",
                          f"pad = repeat('s', s.v * {self.pick(1, 8, 60)})")
        return self.pick(
            f"update wt set {value} from ws s where s.tid = wt.id and {self._sources()}"
            f"{self._returning('wt.*, s.*')}",
            f"update wt set {self._set()} where id in (select tid from ws s where "
            f"{self._sources()}){self._returning()}",
            f"update wt set v = wt.v + 1 from ws s where s.k = wt.k and {self._sources()}",
            f"update wt set v = x.n from (select tid, count(*) n from ws s where "
            f"{self._sources()} group by tid) x where x.tid = wt.id")

    def _delete_by_join(self) -> str:
        return self.pick(
            f"delete from wt using ws s where s.tid = wt.id and {self._sources()}"
            f"{self._returning('wt.*, s.*')}",
            f"delete from wt where exists (select 1 from ws s where s.tid = wt.id and "
            f"{self._sources()}){self._returning()}",
            f"delete from wt where {self._picked()} and not exists "
            f"(select 1 from ws s where s.tid = wt.id and {self._sources()})")

    def _merge(self) -> str:
        matched = self.pick("delete", "update set v = s.v", "do nothing",
                            "update set pad = repeat(wt.note, s.v), g = wt.g")
        inserted = self.pick("(id, k, v) values (s.tid, s.k, s.v)",
                             "(id, note, v) values (s.tid + s.v * 0, upper('m' || s.id), 1)",
                             "(id, g) values (s.tid, coalesce(s.g, s.v))")
        also = self.pick("", "when not matched and s.v = 3 then do nothing ")
        return (f"merge into wt using (select * from ws s where {self._sources()}) s "
                f"on s.tid = wt.id when matched and wt.v > 9 then {matched} "
                "when matched then update set k = s.k "
                f"{also}when not matched then insert {inserted}")

    def _merge_parts(self) -> str:
        """Several actions, in a partitioned table; ids are those of one row each."""
        first = self.pick("delete", "do nothing", "update set k = s.k",
                          "update set k = (wp.k + 100) % 300, note = 's' || s.id")
        condition = self.pick("s.v > 5", "wp.v < s.v", "wp.k between 90 and 150")
        return (f"merge into wp using (select * from ws s where {self._sources()}) s "
                f"on s.tid = wp.id when matched and {condition} then {first} "
                f"when matched and wp.v > 9 then {self.pick('delete', 'update set v = s.v')} "
                "when matched then update set note = upper(wp.note) "
                "when not matched and s.v > 8 then insert (id, k) values (s.tid, s.k) "
                "when not matched then insert values (s.tid, s.k, s.v, 'm')")

    def _on_conflict(self) -> str:
        moved = self.pick(0, 50, ROWS)
        action = self.pick("nothing", "update set v = excluded.v + wt.v",
                           "update set k = excluded.k where wt.v > 3")
        source = self.pick(
            f"select wt.id + {moved}, wt.k, wt.g, wt.v, 'new' from wt where {self._picked()}",
            f"select s.tid, s.k, s.g, s.v, 'new' from ws s where {self._sources()}")
        return (f"insert into wt {source} on conflict (id) do {action}"
                f"{self._returning()}")

    def _within(self) -> str:
        """A statement that changes rows within one that reads them."""
        return (f"with changed as ({self.pick(self._update, self._delete)()}) "
                f"select count(*), sum(s.v) from ws s join wt on wt.id = s.tid "
                f"where {self._sources()}")

    def _partitioned(self) -> str:
        picked = self.pick(self._span("wp.v", 19, 2), self._span("wp.id", ROWS, 50))
        return self.pick(
            f"update wp set v = v + 1 where {picked} returning tableoid::regclass, *",
            f"update wp set k = (k + {self.pick(10, 100)}) % 300 where {picked}",
            f"update wp set k = (k + 70) % 300, note = repeat(note, {self.pick(1, 90)}) "
            f"where {picked} returning tableoid::regclass, *",
            f"update wp set note = repeat('p', {self.pick(30, 900)}) where {picked}",
            f"update wp set k = {self.rng.randint(0, 300)} where k = "
            f"{self.rng.randint(0, 300)}",
            f"update wp set k = s.k, v = s.v from ws s where s.tid = wp.id and "
            f"{self._sources()}",
            f"delete from wp where {picked} returning wp",
            f"select * from wp where {picked} for update",
            f"update wp set note = 's' || s.g from ws s where s.tid = wp.id and "
            f"{self._sources()} and s.g = s.g % 40",
            f"insert into wp (v, note, id, k) select s.v, 'new' || s.id, s.id, s.k "
            f"from ws s where {self._sources()} returning tableoid::regclass, *",
            f"insert into wp select wt.id, coalesce(wt.k, wt.g), wt.v, wt.note from wt "
            f"where {self._picked()} order by wt.id",
            f"insert into wp select s.id, s.k - 5, s.v from ws s where {self._sources()}",
            f"delete from wp using ws s where s.tid = wp.id and {self._sources()}",
            f"delete from wp where id in (select tid from ws s where {self._sources()})")
