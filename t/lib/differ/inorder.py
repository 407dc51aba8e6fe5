"""Rows in the order of an index: ORDER BY, LIMIT, OFFSET, DISTINCT ON, groups,
windows and merge joins.

Each query says by what its rows are ordered so that no two are equal, or gives
nothing but what they are ordered by: so that the rows can be compared one by one.
"""

from differ.kind import Kind

ROWS = 5_000
HIGH = {"a": 300, "b": 12, "id": ROWS}

FILL = f"""insert into inorder
    select i, nullif((hashint4(i) & 65535) % {HIGH['a']}, 7),
           nullif(i % {HIGH['b']}, 3), md5((i % 700)::text), repeat('o', i % 250)
      from generate_series({{low}}, {{high}}) i on conflict do nothing"""

UP, DOWN, NULLS_FIRST = " asc nulls last", " desc nulls first", " asc nulls first"
TURNED = {UP: DOWN, DOWN: UP, NULLS_FIRST: " desc nulls last"}

# What indexes order by; the last column is id, so that the order is total.
ORDERS = ((("{t}id", UP),),
          (("{t}a", UP), ("{t}id", UP)),
          (("{t}b", UP), ("{t}a", UP), ("{t}id", UP)),
          (("{t}b", DOWN), ("{t}a", UP), ("{t}id", DOWN)),
          (("{t}c", UP), ("{t}id", UP)),
          (("lower({t}c)", UP), ("{t}id", UP)),
          (("{t}a", NULLS_FIRST), ("{t}id", UP)),
          (("({t}a % 10)", UP), ("{t}id", UP)))


def order_by(columns, table="", turned=False) -> str:
    return ", ".join(column.format(t=table) + (TURNED[way] if turned else way)
                     for column, way in columns)


def change(rng) -> str:
    """A statement that moves entries of the indexes, splits or empties pages."""
    low = rng.randint(1, 2 * ROWS)
    column = rng.choice("ab")
    return rng.choice([
        FILL.format(low=low, high=low + rng.choice([0, 30, 1500])),
        f"update inorder set {column} = nullif(({column} + 5) % {HIGH[column]}, 2) "
        f"where id between {low} and {low + rng.choice([1, 30, 300])}",
        f"delete from inorder where id between {low} and {low + rng.choice([1, 500])}"])


class InOrder(Kind):
    NAME = "inorder"
    EXECUTE = {"plain": 6, "prepared": 3, "cursor": 3}

    @staticmethod
    def create(conn):
        conn.execute(f"""
            create table inorder (id int primary key, a int, b int, c text, pad text);
            create table inorder_ref (id int primary key, ref int, v int);
            {FILL.format(low=1, high=ROWS)};
            insert into inorder_ref select i, (hashint4(i) & 65535) % {ROWS}, i % 9
              from generate_series(1, {ROWS}) i;
            create index on inorder_ref (ref, v)""")
        for columns in ORDERS[1:]:
            conn.execute(f"create index on inorder ({order_by(columns)}) with "
                         f"(fillfactor = {50 if 'c' in columns[0][0] else 15})")

    def make(self) -> str:
        self.draft.ordered = True
        self.draft.settings = {
            name: self.pick("on", "on", "off")
            for name in ("enable_sort", "enable_hashjoin", "enable_mergejoin",
                         "enable_nestloop", "enable_hashagg",
                         "enable_incremental_sort", "enable_material")}
        shape = self.pick(self._scan, self._scan, self._join, self._join, self._merge,
                          self._distinct_on, self._groups, self._window,
                          self._lateral)
        return shape()

    def _order(self) -> str:
        """By one of the indexes, forward or backward."""
        return order_by(self.rng.choice(ORDERS), "t.", self.chance(0.5))

    def _where(self, table="t"):
        """Conditions that some index has, or none."""
        made = []
        if self.chance(0.5):
            low = self.rng.randint(-2, HIGH["a"])
            high = low + self.rng.choice([0, 3, 40, HIGH["a"]])
            made.append(f"{table}.a between {self.value(low, 'int')} "
                        f"and {self.value(high, 'int')}")
        if self.chance(0.4):
            made.append(f"{table}.b {self.pick('=', '=', '>', '<=')} "
                        f"{self.value(self.rng.randint(0, HIGH['b']), 'int')}")
        if self.chance(0.2):
            column = self.pick("a", "b")
            values = ", ".join(str(self.rng.randint(0, HIGH[column]))
                               for _ in range(self.rng.choice([1, 3, 20])))
            made.append(f"{table}.{column} in ({values})")
        if self.chance(0.2):
            made.append(f"{table}.id % {self.pick(2, 7, 100)} = 1")
        if self.chance(0.1):
            made.append(f"{table}.{self.pick('a', 'b')} is {self.pick('', 'not ')}null")
        if self.chance(0.2):
            made.append(f"{table}.id {self.pick('>', '<')} "
                        f"{self.value(self.rng.randint(1, ROWS), 'int')}")
        return " where " + " and ".join(made) if made else ""

    def _limit(self) -> str:
        made = ""
        if self.chance(0.5):
            made += f" limit {self.rng.choice([0, 1, 2, 7, 50, 400, 3000])}"
        if self.chance(0.2):
            made += f" offset {self.rng.choice([1, 10, 300])}"
        return made

    def _scan(self) -> str:
        columns = self.pick("t.id, t.a, t.b, t.pad", "t.id, t.a", "t.b, t.a, t.id",
                            "t.*", "t.id, t.ctid is null as n, t.c")
        return (f"select {columns} from inorder t{self._where()}\n"
                f" order by {self._order()}{self._limit()}")

    def _join(self) -> str:
        """The second table adds rows that are equal, or takes some away."""
        on = "r.ref = t.id" + (f" and r.v > {self.rng.randint(0, 9)}"
                               if self.chance(0.4) else "")
        where = self._where()
        if self.chance(0.4):
            source = "inorder t"
            where = (f"{where or ' where true'} and {self.pick('', 'not ')}exists "
                     f"(select from inorder_ref r where {on})")
        else:
            source = f"inorder t {self.pick('', 'left ')}join inorder_ref r on {on}"
        return (f"select t.id, t.a, t.b, t.pad from {source}{where}\n"
                f" order by {self._order()}{self._limit()}")

    def _merge(self) -> str:
        column = self.pick("a", "id", "b")
        return (f"select t.{column} from inorder t {self.pick('', 'left ')}join "
                f"inorder o on o.{column} = t.{column} and o.id % 50 = 7"
                f"{self._where()}\n order by t.{column} {self.pick('', 'desc')}"
                f" limit {self.pick(10, 200, 2000)}")

    def _distinct_on(self) -> str:
        return (f"select distinct on (t.b, t.a) t.b, t.a, t.id from inorder t"
                f"{self._where()}\n order by t.b, t.a, t.id{self._limit()}")

    def _groups(self) -> str:
        column = self.pick("a", "b", "c")
        return (f"select t.{column}, count(*), sum(t.id), max(t.pad) from inorder t"
                f"{self._where()}\n group by t.{column} order by t.{column} "
                f"{self.pick('', 'desc')}{self._limit()}")

    def _window(self) -> str:
        return (f"select t.b, t.a, t.id, lag(t.id) over w, row_number() over w "
                f"from inorder t{self._where()}\nwindow w as (partition by t.b "
                f"order by t.a, t.id) order by t.b, t.a, t.id{self._limit()}")

    def _lateral(self) -> str:
        return (f"select g, l.* from generate_series(1, {self.pick(2, 12)}) g, "
                f"lateral (select t.a, t.id from inorder t where t.b = g "
                f"order by t.a {self.pick('', 'desc')}, t.id {self.pick('', 'desc')} "
                f"limit {self.pick(1, 3, 40)}) l order by g, l.a, l.id")
