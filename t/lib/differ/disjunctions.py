"""OR over several indexes: each row once, whatever is unknown (tables of bounds.py,
and of partitions.py where the inner side of a join is looked up so)."""

from differ.bounds import HIGH
from differ.kind import Kind

PARTS = ("id", "k", "at")           # columns of tables of partitions.py


class Disjunctions(Kind):
    NAME = "disjunctions"

    @staticmethod
    def create(conn):
        """The tables are those of bounds.py, with a few more indexes."""
        conn.execute("""
            create index on bounds (((a + c) % 50));
            create index on bounds (c, id) where a > 30;
            create index on bounds (id) where b is null;
            create index on bounds (left(filler, 40) text_pattern_ops)""")

    def make(self) -> str:
        return self.pick(self._scan, self._scan, self._join, self._below,
                         self._ordered, self._inner, self._inner, self._inner)()

    def _scan(self) -> str:
        what = self.pick("id, a, b, c", "ctid, id", "t", "count(*), sum(id), sum(a)")
        return f"select {what} from bounds t\n where {self._where()}"

    def _join(self) -> str:
        return (f"select t.id, o.id, o.a from bounds t {self.pick('', 'left ')}join "
                f"bounds o\n    on o.id = t.{self.pick('a', 'b', 'c')} * 7"
                f"\n where {self._where()}")

    # --- by OR for each row of an outer side ---------------------------------

    def _inner(self) -> str:
        """Arms are conditions with values of the outer row."""
        if self.chance(0.5):
            self.draft.settings["enable_hashjoin"] = "off"
        table, columns = self.pick(("bounds", HIGH), ("bounds", HIGH), ("by_range", PARTS),
                                   ("by_list", PARTS), ("by_hash", PARTS), ("one_table", PARTS))
        on = " or ".join(self._inner_arm(columns) for _ in range(self.rng.randint(2, 4)))
        on = f"({on})" + self.pick("", "", " and i.id % 7 < 5",
                                   f" and i.{self.rng.choice(list(columns))} > o.c")
        low = self.rng.randint(1, 5_000)
        rows = f"o.id between {self.value(low, 'int')} and {low + self.pick(0, 4, 30)}"
        far = self.pick("", "", " join bounds j on j.id = i.id % 6000 + 1",
                        " left join bounds j on j.a = i.id % 60 and j.b = o.b")
        key = "i.*, j.id, j.b" if far else self.pick("i.*", "i.ctid, i", "i.id")
        number = self.pick(1, 9, 60)
        return self.pick(
            f"select o.id, {key} from bounds o {self.pick('', 'left ')}join {table} i\n    "
            f"on {on}{far}\n where {rows}",
            f"select o.id, o.a from bounds o\n where {rows} and {self.pick('', 'not ')}exists "
            f"(select from {table} i where {on})",
            f"select o.id, x.n, x.s from bounds o, lateral (select count(*) as n, sum(i.id) "
            f"as s from bounds p join {table} i\n    on ({on}) where p.id between o.a "
            f"and o.a + 3) x\n where {rows}",
            f"select count(*) from (select 1 from bounds o join {table} i\n    on {on}\n "
            f"where {rows} limit {number}) x",
            f"select o.id, i.id from (select * from bounds o where {rows} order by o.b, o.id "
            f"offset 0) o\n left join {table} i on {on}")

    def _inner_arm(self, columns) -> str:
        column = self.rng.choice(list(columns))
        value = self.pick("o.a", "o.b", "o.c", "o.id", "o.a + o.b", "nullif(o.a, 7)",
                          "(o.id % 40)", "o.c::int", self.value(self.rng.randint(0, 60), "int"))
        arm = self.pick(
            f"i.{column} = {value}", f"i.{column} = {value}", f"i.{column} = {value}",
            f"i.{column} in (o.a, {value}, null)", f"i.{column} = any (array[o.a, o.c, o.id % 9])",
            f"i.{column} between {value} and {value} + {self.pick(0, 1, 5)}",
            f"i.{column} is null")
        if self.chance(0.25):
            arm += f" and i.{self.rng.choice(list(columns))} {self.pick('=', '<', '>=')} o.c"
        return arm

    def _below(self) -> str:
        """In a subquery that is run again with other values; below an outer join."""
        where = self._where().replace("t.", "u.")
        number = self.rng.randint(1, 5_000)
        again = where + self.pick(" or u.b = t.id % 60", " or u.id = t.a", "")
        return self.pick(
            f"select t.id, (select count(*) from bounds u where {again}) from bounds t"
            f"\n where t.id between {number} and {number + self.pick(0, 3, 20)}",
            f"select t.id, x.id from bounds t left join (select u.id, u.a from bounds u "
            f"where {where}) x on x.a = t.id % 50\n where t.id between {number} and "
            f"{number + 40}",
            f"select t.id from bounds t where t.id between {number} and {number + 300} "
            f"and {self.pick('', 'not ')}exists (select from bounds u where ({again}) "
            f"and u.c = t.c)",
            f"select x.* from (select u.id, u.a, 'first' from bounds u where {where} "
            f"union all select u.id, u.a, 'second' from bounds u where u.a = 5 or u.b = 7) x"
            f" where x.id < {number}")

    def _ordered(self) -> str:
        self.draft.ordered = self.draft.execute != "cursor"
        return (f"select t.id, t.a, t.b from bounds t where {self._where()}\n order by "
                f"{self.pick('t.a, ', 't.b desc, ', '')}t.id limit {self.pick(1, 30, 900)}")

    def _where(self) -> str:
        where = [" or ".join(self._arm() for _ in range(self.rng.randint(2, 4)))]
        if self.chance(0.3):
            where.append(self._condition(self.rng.choice(list(HIGH))))
        return " and ".join(f"({one})" for one in where)

    def _arm(self) -> str:
        if self.chance(0.2):
            return self.pick(f"(t.a + t.c) % 50 = {self.rng.randint(0, 49)}",
                             f"t.c = {self.rng.randint(0, 24)} and t.a > {self.pick(30, 35)}",
                             f"t.b is null and t.id < {self.rng.randint(1, 900)}",
                             f"left(t.filler, 40) like '{'f' * self.rng.randint(1, 39)}'",
                             f"(t.a, t.b) > ({self.rng.randint(35, 40)}, 5)",
                             "false", "null::boolean")
        columns = self.rng.sample(list(HIGH), self.rng.choice([1, 1, 1, 2]))
        return " and ".join(self._condition(column) for column in columns)

    def _condition(self, column) -> str:
        number = self.rng.randint(-1, HIGH[column] + 1)
        draw = self.rng.random()
        if draw < 0.45:
            return f"t.{column} = {self.value(f'({number})', 'int')}"
        if draw < 0.6:
            numbers = [str(self.rng.randint(0, HIGH[column])) for _ in range(3)]
            return f"t.{column} in ({', '.join(numbers)}, {self.pick('null', '7')})"
        if draw < 0.7:
            return f"t.{column} is {self.pick('', 'not ')}null"
        if draw < 0.75:
            return f"t.{column} = null::int"
        near = max(HIGH[column] // 20, 1)
        return f"t.{column} between {number} and {number + near}"
