"""Wide rows: values out of line, hundreds of columns, columns dropped and added.

Values of 100 kB and more go through the source and through the steps of a
pipeline; their digests are compared.
"""

from differ.kind import Kind

COLUMNS = 280
ROWS = 1_500
BIG_ROWS = 160
BIG_EVERY = 10              # of the keys, one has a big value


class Wide(Kind):
    NAME = "wide"

    @staticmethod
    def create(conn):
        conn.execute("create table columns (id int, "
                     + ", ".join(f"c{n} {_type(n)}" for n in range(COLUMNS)) + ")")
        conn.execute("insert into columns select i, " + ", ".join(
            _value(n) for n in range(COLUMNS))
            + f" from generate_series(1, {ROWS}) i")
        for n in range(3, COLUMNS, 17):
            conn.execute(f"alter table columns drop c{n}")
        conn.execute("""
            alter table columns add added int default 42;
            alter table columns add late text default 'as it was';
            alter table columns add none int;
            update columns set late = 'new', none = id where id % 7 = 0;
            create index on columns (id);
            create index on columns (c0, c100) include (c7);
            create index on columns (added, id);
            create index on columns (c9)""")
        # External storage: nothing is compressed, all is out of line.
        conn.execute(f"""
            create table big (id int primary key, k int, value text, small text,
                packed text);
            alter table big alter value set storage external;
            insert into big
            select i, i % 20, case when i % {BIG_EVERY} = 0
                    then (select string_agg(md5((i * n)::text), '')
                            from generate_series(1, 3500) n) end,
                md5(i::text), repeat('packed ' || i, 2000 * (i % 4))
              from generate_series(1, {BIG_ROWS}) i;
            create index on big (k);
            create index on big (small)""")

    def make(self) -> str:
        return self.pick(self._columns, self._whole_rows, self._big_source,
                         self._big_steps, self._big_sent, self._big_from_nowhere)()

    def _names(self, alias, count) -> str:
        there = [n for n in range(COLUMNS) if (n - 3) % 17]
        names = [f"c{n}" for n in self.rng.sample(there, count)]
        return ", ".join(f"{alias}.{n}" for n in [*names, "added", "late", "none"])

    def _condition(self, alias) -> str:
        low = self.rng.randint(0, ROWS)
        return self.pick(f"{alias}.id between {low} and {low + 60}",
                         f"{alias}.c0 = {self.value(low % 100, 'int')}",
                         f"{alias}.c0 = {low % 100} and {alias}.c100 > {low}",
                         f"{alias}.c9 in ('t{low % 50}', 't{low % 7}')",
                         f"{alias}.added = 42 and {alias}.id < {low % 90}",
                         f"{alias}.added = 43")

    def _columns(self) -> str:
        return (f"select {self._names('t', self.rng.randint(0, 200))}\n"
                f"  from columns t where {self._condition('t')}")

    def _whole_rows(self) -> str:
        """Through two steps, all of each row."""
        on = self.pick("b.id = a.c100", "b.c0 = a.c0 and b.id < a.id",
                       "b.id = a.none")
        out = self.pick("a, b", "a.*, b.*", f"b, {self._names('a', 9)}",
                        f"{self._names('a', 90)}, {self._names('b', 90)}")
        low = self.rng.randint(1, ROWS)
        return (f"select {out}\n  from columns a {self.pick('', 'left ')}join "
                f"columns b on {on}\n where a.id between {low} and {low + 8}")

    def _big_source(self) -> str:
        """A child's big values, read or made, and then a step."""
        low = self.rng.randint(1, BIG_ROWS)
        source = self.pick(
            "select id, k, value from big offset 0",
            "select id, k, value || 'more' as value from big offset 0",
            f"select id, k, packed as value from big where id > {low} offset 0",
            "select id, k, string_agg(value, '') as value from big group by 1, 2")
        return (f"select s.id, md5(s.value), length(s.value), t.id, t.late\n"
                f"  from ({source}) s {self.pick('', 'left ')}join columns t "
                f"on t.id = s.{self.pick('id', 'k')}")

    def _big_steps(self) -> str:
        low = self.rng.randint(0, BIG_ROWS)
        return (f"select t.id, b.id, md5(b.value), md5(b.packed), b.small, c.id\n"
                f"  from columns t join big b on b.{self.pick('id', 'k')} = t.id "
                f"{self.pick('', 'left ')}join columns c on c.id = b.k\n"
                f" where t.id between {low} and {low + 40}")

    def _big_sent(self) -> str:
        """Values themselves go to the client, who has them read ahead."""
        low = self.rng.randint(0, BIG_ROWS)
        what = self.pick("b.id, b.value", "b.*", "b.packed, b.id, b.value, b.packed as again",
                         "b.id, b.value || b.small, b.packed")
        source = self.pick(
            "big b", "(select * from big union all select * from big where k = 3) b",
            "(select id, k, small, packed, max(value) as value from big group by id) b",
            "(select * from big offset 2) b", "columns t join big b on b.k = t.c0")
        return (f"select {what} from {source} where b.id between {low} and {low + 30}"
                f"{self.pick('', ' and b.small is not null')}")

    def _big_from_nowhere(self) -> str:
        """Many big values that no table has: only bounds in bytes hold them."""
        rows, kb = self.rng.choice([(1500, 100), (200, 700), (20, 5000)])
        return (f"select count(*), sum(length(s.value)), count(t.late) from "
                f"(select g, repeat(repeat('x', 1024), {kb} + g % 7) as value from "
                f"generate_series(1, {rows}) g offset 0) s "
                f"{self.pick('', 'left ')}join columns t on t.id = s.g * "
                f"{self.pick(1, 7)}")


def _type(n) -> str:
    return ("int", "text", "numeric", "bigint")[_nth(n)]


def _value(n) -> str:
    if n == 0:
        return "i % 100"
    return (f"case when (i + {n}) % 5 > 0 then (i * {n}) % {ROWS} end",
            f"'t' || (i + {n}) % 50",
            f"(i * {n}) % 99 / 4.0",
            f"i::bigint * {n}")[_nth(n)]


def _nth(n) -> int:
    """Which type a column has: texts are few, the row must fit on a page."""
    return 1 if n % 29 == 9 else 2 if n % 31 == 5 else 3 if n % 37 == 2 else 0
