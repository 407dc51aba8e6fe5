"""Several conditions on one column: redundant, contradictory, of other types,
and several IN lists on an index of several columns.
"""

from differ.kind import Kind

ROWS = 6_000
HIGH = {"a": 40, "b": 60, "c": 25, "id": ROWS}     # values of a column
TYPES = {"a": "int", "b": "bigint", "c": "smallint", "id": "int"}

LONG = 120                  # elements of a long list
MANY_TYPES = ("smallint", "int", "bigint")

FILL = f"""insert into bounds
    select i, nullif(i * 7 % {HIGH['a']}, 3),
           nullif(hashint4(i) & 1023, 5) % {HIGH['b']},
           nullif(i / 11 % {HIGH['c']}, 7), repeat('f', i % 300)
      from generate_series({{low}}, {{high}}) i on conflict do nothing"""


def change(rng) -> str:
    """A statement that moves entries of the indexes, splits or empties pages."""
    low = rng.randint(1, 2 * ROWS)
    column = rng.choice("abc")
    value = rng.randint(0, HIGH[column])
    return rng.choice([
        FILL.format(low=low, high=low + rng.choice([0, 30, 2000])),
        f"update bounds set {column} = nullif(({column} + 3) % {HIGH[column]}, 1) "
        f"where id between {low} and {low + rng.choice([1, 30, 300])}",
        f"delete from bounds where id between {low} and {low + rng.choice([1, 500])}",
        f"delete from bounds where {column} between {value} and {value + 2}"])


class Bounds(Kind):
    NAME = "bounds"

    @staticmethod
    def create(conn):
        conn.execute(f"""
            create table bounds (id int primary key, a int, b bigint, c smallint,
                filler text);
            {FILL.format(low=1, high=ROWS)};
            create index on bounds (a, b, c);
            create index on bounds (b desc, c nulls first);
            create index on bounds (c, a desc, id)""")

    def make(self) -> str:
        shape = self.pick(self._one_column, self._lists, self._mixed, self._join)
        return shape()

    def _select(self, where) -> str:
        self.rng.shuffle(where)
        return ("select id, a, b, c from bounds t\n where "
                + "\n   and ".join(where))

    def _one_column(self) -> str:
        column = self.rng.choice(list(HIGH))
        return self._select(self._bounds(column, self.rng.randint(2, 6)))

    def _lists(self) -> str:
        columns = self.rng.sample(list(TYPES)[:3], self.rng.randint(2, 3))
        return self._select([self._list(column) for column in columns]
                            + self._bounds("id", self.rng.randint(0, 1)))

    def _mixed(self) -> str:
        """Lists and bounds, also of the same column."""
        where = []
        for column in self.rng.sample(list(HIGH), self.rng.randint(1, 3)):
            if self.chance(0.6):
                where += [self._list(column)
                          for _ in range(self.rng.randint(1, 2))]
            if self.chance(0.6) or not where:
                where += self._bounds(column, self.rng.randint(1, 3))
        if self.chance(0.3):
            where.append(self._row())
        return self._select(where)

    def _join(self) -> str:
        """Bounds that come from an outer row, beside others."""
        low = self.rng.randint(1, ROWS)
        column = self.pick("a", "b", "c")
        on = [f"t.{column} {self.pick('=', '=', '>', '<=')} o.{self.pick(*'abc')}"]
        if self.chance(0.6):
            on.append(f"t.{column} {self.pick('>=', '<', '=')} "
                      f"o.{self.pick(*'abc')}")
        on += self._bounds(column, self.rng.randint(0, 2))
        on.append(f"t.id {self.pick('<', '>')} {self.rng.randint(1, ROWS)}")
        if self.chance(0.5):
            on.append(self._list(self.pick("a", "b", "c")))
        return (f"select o.id, t.id, t.a, t.b, t.c from bounds o "
                f"{self.pick('', 'left ')}join bounds t\n    on "
                + "\n   and ".join(on)
                + f"\n where o.id between {low} and {low + self.rng.randint(0, 4)}")

    def _bounds(self, column, count):
        """Near each other, so that they are not only contradictory."""
        middle = self.rng.randint(-1, HIGH[column] + 1)
        spread = max(HIGH[column] // self.pick(4, 10, 100), 2)
        made = []
        for _ in range(count):
            number = middle + self.rng.randint(-spread, spread)
            draw = self.rng.random()
            if draw < 0.1:
                made.append(f"t.{column} is {self.pick('', 'not ', 'not ')}null")
            elif draw < 0.2:
                made.append(f"t.{column} between {self._number(number)} and "
                            f"{self._number(number + spread)}")
            else:
                # Of both sides, so that a range is left.
                operator = (self.pick(">", ">=") if number < middle else
                            self.pick("<", "<=") if self.chance(0.85) else "=")
                made.append(f"t.{column} {operator} {self._number(number)}")
        return made

    def _number(self, number) -> str:
        type_ = self.rng.choice(MANY_TYPES)
        if self.chance(0.03):
            return f"null::{type_}"
        return self.value(f"({number})", type_)

    def _list(self, column) -> str:
        count = self.rng.choices([0, 1, 2, 5, 20, LONG], [1, 3, 4, 4, 3, 2])[0]
        values = [str(self.rng.randint(-2, HIGH[column] + 2))
                  for _ in range(count)]
        if self.chance(0.2):
            values += ["null"] * self.rng.randint(1, 2)
        if self.chance(0.3):
            values += values[:3]
        self.rng.shuffle(values)
        type_ = self.rng.choice(MANY_TYPES)
        if values and self.chance(0.4):
            return f"t.{column} in ({', '.join(values)})"
        array = self.value("'{" + ",".join(values) + "}'", type_ + "[]")
        return f"t.{column} = any ({array})"

    def _row(self) -> str:
        names = self.rng.choice([("a", "b"), ("a", "b", "c"), ("b", "c"),
                                 ("c", "a"), ("a", "c")])
        values = [str(self.rng.randint(0, HIGH[n])) for n in names]
        return (f"({', '.join('t.' + n for n in names)}) "
                f"{self.pick('<', '<=', '>', '>=')} ({', '.join(values)})")
