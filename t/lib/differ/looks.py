"""Nested loops of core's own, whose outer rows lead to pages that looks read ahead:
LATERAL with ORDER BY and LIMIT, aggregates, joins and unions below; rows that are locked;
correlated subqueries of a scan.
"""

from differ.kind import Kind

SETTINGS = {"enable_hashjoin": "off", "enable_mergejoin": "off",
            "enable_material": "off"}

ROWS = 6_000
KEYS = 700


class Looks(Kind):
    NAME = "looks"

    @staticmethod
    def create(conn):
        conn.execute(f"""
            create table lead (id int primary key, k int, name text, g int);
            insert into lead select i, case when i % 9 > 0 then i * 7 % {KEYS} end,
                'name ' || i % 90, i % 23 from generate_series(1, 1500) i;
            create table led (id int primary key, k int, d int, name text, filler text);
            insert into led select i, case when i % 11 > 0 then i * 31 % {KEYS} end,
                i * 17 % 101, 'name ' || i % 120, repeat('f', i % 200)
              from generate_series(1, {ROWS}) i;
            create index on led (k);
            create index on led (k, d);
            create index on led (name);
            create table deep (led int, n int);
            insert into deep select i * 13 % {ROWS}, i from generate_series(1, 9000) i;
            create index on deep (led)""")

    def make(self) -> str:
        self.draft.settings = dict(
            SETTINGS, work_mem=self.pick("64kB", "1MB", "4MB"),
            enable_bitmapscan=self.pick("on", "off"),
            enable_memoize=self.pick("on", "off"))
        self.draft.settings["anago.max_rows_ahead"] = self.pick(1, 2, 7, 1024)
        if self.chance(0.2):
            return (f"select a.id, b.id from lead a, led b where b.k = a.k and "
                    f"{self._outer()} for update of b")
        if self.chance(0.25):
            return (f"select a.id, {self._subquery()} from lead a where {self._outer()} "
                    f"and {self.pick('true', self._subquery() + ' > 3')}")
        join = self.pick("cross join lateral ({}) x", "left join lateral ({}) x on true")
        return (f"select a.id, x.* from lead a {join.format(self._inner())} "
                f"where {self._outer()}")

    def _outer(self) -> str:
        low = self.rng.randint(0, 1500)
        return self.pick(
            f"a.g = {self.value(self.rng.randint(0, 23), 'int')}",
            f"a.id between {self.value(low, 'int')} and {self.value(low + 90, 'int')}")

    def _subquery(self) -> str:
        return self.pick(
            f"(select count(*) from led b where {self._key()})",
            f"(select sum(b.d + length(filler)) from led b where {self._key()})",
            f"(select max(n) from led b join deep e on e.led = b.id where {self._key()})",
            f"(select b.d from led b where {self._key()} order by b.d limit 1)")

    def _key(self) -> str:
        d = self.rng.randint(0, 100)
        return self.pick(
            "b.k = a.k", "b.k = a.g + 3", "b.name = a.name", "b.k in (a.k, a.g)",
            f"b.k = a.k and b.d > {self.value(d, 'int')}",
            "b.k = a.k and b.d < a.g * 4", "b.k = a.k and b.id % 2 = a.id % 2")

    def _inner(self) -> str:
        limit = self.pick("", f"limit {self.pick(1, 2, 5)}",
                          f"offset 1 limit {self.pick(1, 3)}")
        order = self.pick("b.d, b.id", "b.d desc, b.id", "b.filler, b.id")
        return self.pick(
            f"select b.id, b.d from led b where {self._key()} order by {order} {limit}",
            f"select count(*), sum(b.d) from led b where {self._key()}",
            f"select b.id, e.n from led b join deep e on e.led = b.id "
            f"where {self._key()} order by 1, 2 {limit}",
            f"select b.id from led b where {self._key()} union all "
            f"select n from deep where led = a.id order by 1 {limit}",
            f"select b.id, y.n from led b, lateral (select n from deep where "
            f"led = b.id order by n limit 1) y where {self._key()} order by 1 {limit}")
