"""Skip scans: conditions on index columns behind one without an equality."""

from differ.kind import Kind, quoted

ROWS = 8_000
DEEP = 600              # rows of one value of a wide leading column

FILL = """insert into skips
    select i, nullif(i % 9, 4), nullif(i * 7919 % 3000, 17), nullif(i % 13, 5),
           date '2024-01-01' + i % 6, nullif('v' || i % 11, 'v3'),
           (i % 5) * 0.25, repeat('f', i % 200)
      from generate_series({low}, {high}) i on conflict do nothing"""

# Keys so wide that the index has many levels.
FILL_DEEP = f"""insert into skips_deep
    select i, (select string_agg(md5((i / {DEEP} * 50 + g)::text), '')
                 from generate_series(1, 15) g), nullif(i % {DEEP}, 33)
      from generate_series({{low}}, {{high}}) i on conflict do nothing"""

LEADING = {"a": ("int", 9), "c": ("bigint", 13), "d": ("date", 6),
           "t": ("text", 11), "n": ("numeric", 5)}


def change(rng) -> str:
    """A statement that moves entries of the indexes, splits or empties pages."""
    low = rng.randint(1, 2 * ROWS)
    high = low + rng.choice([0, 30, 1000])
    return rng.choice([
        FILL.format(low=low, high=high), FILL_DEEP.format(low=low, high=high),
        f"delete from skips_deep where id between {low} and {high}",
        f"delete from skips where b between {low % 3000} and {low % 3000 + 30}",
        f"update skips set a = nullif((a + 2) % 9, 4), b = (b + 11) % 3000 "
        f"where id between {low} and {high}"])


class Skips(Kind):
    NAME = "skips"

    @staticmethod
    def create(conn):
        conn.execute(f"""
            create table skips (id int primary key, a int, b int, c bigint, d date,
                t text, n numeric, filler text);
            create table skips_deep (id int primary key, w text collate "C", b int);
            {FILL.format(low=1, high=ROWS)};
            {FILL_DEEP.format(low=1, high=ROWS)};
            create index on skips (a, b);
            create index on skips (a desc nulls last, c, b desc);
            create index on skips (c nulls first, b nulls first, a);
            create index on skips (d desc, b);
            create index on skips (t, b, c);
            create index on skips (n, a, b);
            create index on skips_deep (w, b)""")

    def make(self) -> str:
        return self.pick(self._scan, self._scan, self._deep, self._join,
                         self._in_order, self._in_order)()

    def _in_order(self) -> str:
        """What an index gives by its order, from either end; all of it is compared."""
        self.draft.ordered = True
        self.draft.settings = {"enable_sort": self.pick("on", "off"),
                               "enable_seqscan": self.pick("on", "off")}
        table, columns = self.pick(("skips", ("a", "b")), ("skips", ("t", "b", "c")),
                                   ("skips", ("n", "a", "b")), ("skips_deep", ("w", "b")))
        where = [self._of_b("s", DEEP if table == "skips_deep" else 3000)]
        if columns[0] in LEADING and self.chance(0.5):
            where.append(self._leading(columns[0]))
        way = self.pick("", " desc", " desc")
        limit = f"\n limit {self.rng.randint(1, 300)}" if self.chance(0.4) else ""
        return (f"select {', '.join(columns)} from {table} s\n where "
                + "\n   and ".join(where) + "\n order by "
                + ", ".join(column + way for column in columns) + limit)

    def _scan(self) -> str:
        where = [self._of_b("s")]
        for column in self.rng.sample(list(LEADING), self.rng.randint(0, 2)):
            where.append(self._leading(column))
        if self.chance(0.15):
            where.append(f"(s.a, s.b) {self.pick('>', '<=')} "
                         f"({self.rng.randint(0, 8)}, {self.rng.randint(0, 3000)})")
        self.rng.shuffle(where)
        return ("select id, a, b, c, d, t, n from skips s\n where "
                + "\n   and ".join(where))

    def _deep(self) -> str:
        where = [self._of_b("s", DEEP)]
        if self.chance(0.5):
            hexes = "".join(self.rng.choice("0123456789abcdef") for _ in range(3))
            where.append(f"s.w {self.pick('<', '<=', '>', '>=')} "
                         f"{self.value(quoted(hexes), 'text')}")
        return ("select id, left(w, 20), b from skips_deep s\n where "
                + "\n   and ".join(where))

    def _join(self) -> str:
        low = self.rng.randint(1, ROWS)
        inner = self.pick("skips", "skips_deep")
        where = [f"s.b {self.pick('=', '=', '>')} o.b"]
        if inner == "skips" and self.chance(0.6):
            where.append(f"s.a {self.pick('>', '<=')} o.a")
        if where[0].endswith("> o.b"):
            where.append(f"s.b < o.b + {self.rng.randint(1, 20)}")
        return (f"select o.id, s.id, s.b from skips o {self.pick('', 'left ')}join "
                f"{inner} s\n    on " + "\n   and ".join(where)
                + f"\n where o.id between {low} and {low + self.rng.randint(0, 20)}")

    def _of_b(self, table, high=3000) -> str:
        at = self.rng.randint(-5, high + 5)
        draw = self.rng.random()
        if draw < 0.35:
            return f"{table}.b = {self.value(at, self.pick('int', 'bigint'))}"
        if draw < 0.6:
            return (f"{table}.b between {self.value(at, 'int')} and "
                    f"{self.value(at + self.rng.choice([0, 5, 60]), 'int')}")
        if draw < 0.85:
            values = [str(self.rng.randint(0, high))
                      for _ in range(self.rng.randint(1, 12))]
            return f"{table}.b in ({', '.join(values)})"
        if draw < 0.95:
            return f"{table}.b {self.pick('>', '>=')} {high - self.rng.randint(1, 60)}"
        return f"{table}.b is null"

    def _leading(self, column) -> str:
        type_, high = LEADING[column]
        draw = self.rng.random()
        if draw < 0.1:
            return f"s.{column} is {self.pick('', 'not ')}null"
        if draw < 0.35:
            values = [self._literal(column, self.rng.randint(-1, high))
                      for _ in range(self.rng.randint(1, 4))]
            return f"s.{column} in ({', '.join(values)})"
        literal = self._literal(column, self.rng.randint(-1, high))
        operator = self.pick("=", "<", "<=", ">", ">=")
        return f"s.{column} {operator} {self.value(literal, type_)}"

    @staticmethod
    def _literal(column, number) -> str:
        if column == "d":
            return quoted(f"2024-01-{max(number, 0) + 1:02}")
        if column == "t":
            return quoted(f"v{number}")
        return f"({number * 0.25})" if column == "n" else f"({number})"
