"""Random queries over the tables of tables.py, from a seed.

A query starts at one table with a selective condition on an index, and joins
up to MAX_LEVELS others along the edges of tables.py, by inner, left, semi or
anti joins.  An estimate of the rows so far keeps results small.

Every query is deterministic for one snapshot: LIMIT only after ORDER BY a
unique key.
"""

from differ import tables
from differ.query import Query

MAX_LEVELS = 5
MAX_ROWS = 3_000            # estimate, at any level, for size 1


class Generator:
    """Makes one query; draws everything from `rng`.

    `size`: how many times as many rows as usual it may begin with and give, so
    that there is something to divide among processes.  `schema` has TABLES,
    BY_NAME, EDGES and FIRST, as tables.py does.
    """

    def __init__(self, rng, size=1, schema=tables):
        self.rng = rng
        self.size = size
        self.schema = schema
        self.max_rows = MAX_ROWS * size
        self.unordered_rows = False

    def unordered(self, query) -> str:
        """Rows without an order, and no aggregate of them, as SQL; parameters go
        into the query."""
        self.query_ = query
        self.unordered_rows = True
        return self._chain()

    def condition_on(self, query, alias, table) -> str:
        """A selective condition; parameters go into the query."""
        self.query_ = query
        return self._selective(alias, table, 0)[0]

    def query(self) -> Query:
        """The next random query."""
        self.query_ = Query("", execute=self.rng.choices(
            ["plain", "prepared", "cursor"], [8, 2, 1])[0])
        self.query_.sql = self._shape()()
        return self.query_

    # --- shapes -----------------------------------------------------------

    def _shape(self):
        """How the next query is made: a method."""
        return self.rng.choices(
            [self._chain, self._union, self._from_values, self._any_of_query],
            [20, 1, 2, 1])[0]

    def _chain(self) -> str:
        """One table, and then joins along edges."""
        self.aliases = []           # (alias, table) that can be selected from
        self.where = []
        first = self.rng.choices(self.schema.TABLES, self.schema.FIRST)[0]
        alias = self._alias(first)
        levels = self.rng.choices(range(MAX_LEVELS), [6, 5, 4, 3, 2])[0]
        condition, rows = self._selective(alias, first, levels)
        self.where.append(condition)
        from_ = f"{first.name} {alias}"
        for _ in range(levels):
            step = self._join_step(rows)
            if step is None:
                break
            text, rows = step
            from_ += text
        if self._chance(0.15):
            self.where.append(self._subquery_condition())
        return self._finish(f"from {from_}")

    def _join_step(self, rows):
        """One more join: (text after FROM, estimate of rows), or None."""
        edges = [(alias, edge) for alias, table in self.aliases
                 for edge in self.schema.EDGES if edge.left == table.name
                 and rows * edge.matches <= self.max_rows]
        if not edges:
            return None
        outer, edge = self.rng.choice(edges)
        kind = self.rng.choices(["inner", "left", "semi", "anti", "lateral"],
                                [10, 5, 3, 3, 1])[0]
        right = self.schema.BY_NAME[edge.right]
        if kind in ("semi", "anti"):
            self._exists(outer, edge, right, negate=kind == "anti")
            return "", rows
        alias = self._alias(right)
        on = [f"{alias}.{edge.right_column} = {outer}.{edge.left_column}"]
        if self._chance(0.35):
            on.append(self._condition(alias, right, outer=outer))
        if kind == "lateral":
            return self._lateral(alias, right, on), rows
        if kind == "left" and self._chance(0.25):
            column = self.rng.choice(right.columns).name
            self.where.append(f"{alias}.{column} is "
                              + self.rng.choice(["null", "not null"]))
        return (f"\n  {'left ' * (kind == 'left')}join {right.name} {alias} on "
                + " and ".join(on), max(rows * edge.matches, 1))

    def _exists(self, outer, edge, right, negate):
        """A semi or anti join, sometimes with one more join inside."""
        inner = f"x{len(self.where)}_{len(self.aliases)}"
        conditions = [f"{inner}.{edge.right_column} = "
                      f"{outer}.{edge.left_column}"]
        if self._chance(0.5):
            conditions.append(self._condition(inner, right, outer=outer))
        from_ = f"{right.name} {inner}"
        if self._chance(0.3):
            more = self.rng.choice([e for e in self.schema.EDGES
                                    if e.left == right.name])
            from_ += (f" join {more.right} {inner}j on "
                      f"{inner}j.{more.right_column} = "
                      f"{inner}.{more.left_column}")
        if not negate and self._chance(0.3):
            self.where.append(
                f"{outer}.{edge.left_column} in (select "
                f"{inner}.{edge.right_column} from {from_} where "
                f"{' and '.join(conditions[1:] or ['true'])})")
        else:
            self.where.append(f"{'not ' * negate}exists (select 1 from {from_}"
                              f" where {' and '.join(conditions)})")

    def _lateral(self, alias, table, on) -> str:
        """The first rows, in a total order, for each outer row."""
        order = self._order_by(alias, table)
        return (f"\n  left join lateral (select * from {table.name} {alias} "
                f"where {' and '.join(on)} order by {order} "
                f"limit {self.rng.randint(1, 3)}) {alias} on true")

    def _union(self) -> str:
        first, second = self._one_scan(), self._one_scan()
        return f"{first}\nunion all\n{second}"

    def _one_scan(self) -> str:
        table = self.rng.choice(self.schema.TABLES)
        condition, _ = self._selective("t", table, 0)
        column = next(c for c in table.columns if c.type != "timestamp").name
        return f"select t.{column}::text from {table.name} t where {condition}"

    def _from_values(self) -> str:
        """An outer side that is no table: VALUES, a function, an aggregate."""
        self.aliases, self.where = [], []
        table = self.rng.choice(tables.TABLES)
        column = self._column(table, ("int", "bigint", "smallint"))
        if column is None:
            table, column = tables.ACCOUNT, tables.ACCOUNT.column("id")
        low = self.rng.randint(0, column.high)
        source = self.rng.choice([
            "(values " + ", ".join(f"({self._number(column)})" for _ in range(
                self.rng.randint(1, 12))) + ") v(x)",
            f"generate_series({low}, {low + self.rng.randint(0, 20)}) v(x)",
            f"(select distinct k from word where k between {low % 600} and "
            f"{low % 600 + 5}) v(x)",
            f"(select grp, count(*) from account where id < "
            f"{self.rng.randint(1, 300)} group by grp) v(x, n)"])
        alias = self._alias(table)
        kind = self.rng.choice(["", "left "])
        rows = 20 * (1200 if column.name in ("kind", "v") else 20)
        text = (f"from {source} {kind}join {table.name} {alias} on "
                f"{alias}.{column.name} = v.x")
        if rows < self.max_rows and self._chance(0.5):
            step = self._join_step(rows)
            text += step[0] if step else ""
        return self._finish(text)

    def _any_of_query(self) -> str:
        """An InitPlan's array as the key of an index."""
        self.aliases, self.where = [], []
        alias = self._alias(tables.ITEM)
        low = self.rng.randint(0, tables.ACCOUNTS)
        self.where.append(
            f"{alias}.account_id = any (array(select id from account where "
            f"id between {low} and {low + self.rng.randint(0, 60)}))")
        return self._finish(f"from item {alias}")

    # --- conditions -------------------------------------------------------

    def _selective(self, alias, table, levels):
        """A condition that an index can answer; and an estimate of its rows.

        Deeper joins start from fewer rows.
        """
        columns = [table.column(name) for name in table.indexed]
        column = self.rng.choice(columns)
        target = self.size * self.rng.choice([3, 30] if levels > 1 else
                                             [1, 20, 300])
        share = min(1.0, target / table.rows)
        if (table is tables.ITEM and self._chance(0.1)):
            return self._special_item(alias), 40 if levels < 2 else 1200
        duplicates = table.rows / max(min(column.high, table.rows), 1)
        one = max(duplicates, 1)
        if one * 1.5 > target or self._chance(0.25):
            return self._equality(alias, column), one
        if self._chance(0.3):
            return self._in_list(alias, column, int(target / one) + 1), target
        if column.type == "text" and self._chance(0.5):
            return self._prefix(alias, column), target
        return self._range(alias, column, share), target

    def _special_item(self, alias) -> str:
        """What only the partial, the expression and the two-column index do."""
        return self.rng.choice([
            f"{alias}.kind = 3 and {alias}.qty between {self._low(20000)} "
            f"and {self._low(20000)}",
            f"({alias}.qty % 1000) = {self._low(1000)}",
            f"{alias}.kind = {self._low(30)} and {alias}.qty < "
            f"{self._low(1000)}",
            f"({alias}.kind, {alias}.qty) > ({self.rng.randint(28, 29)}, "
            f"{self._low(20000)})",
            f"{alias}.kind in (1, 4, 9) and {alias}.qty between 100 and 300"])

    def _condition(self, alias, table, outer=None) -> str:
        """Any condition; whether an index can answer it is open."""
        column = self.rng.choice(table.columns)
        draw = self.rng.random()
        if draw < 0.1 and outer:
            mine = self._column(table, ("int", "bigint"))
            theirs = self._column(dict(self.aliases)[outer],
                                  ("int", "bigint")) \
                if outer in dict(self.aliases) else None
            if mine and theirs:
                operator = self.rng.choice(["<", ">", "<>", "<="])
                return f"{alias}.{mine.name} {operator} {outer}.{theirs.name}"
        if draw < 0.25:
            return (f"{alias}.{column.name} is "
                    f"{self.rng.choice(['', 'not '])}null")
        if draw < 0.4:
            return self._in_list(alias, column, self.rng.randint(1, 6))
        if draw < 0.5 and column.type in ("int", "smallint"):
            return f"{alias}.{column.name} % {self.rng.randint(2, 5)} = 0"
        return self._range(alias, column, self.rng.choice([0.1, 0.5, 0.9]))

    def _subquery_condition(self) -> str:
        """Correlated scalar subqueries, InitPlans."""
        alias, table = self.rng.choice(self.aliases)
        edges = [e for e in self.schema.EDGES if e.left == table.name
                 and e.matches <= 100]
        if not edges or self._chance(0.3):
            column = self._column(table, ("int", "bigint")) or table.columns[0]
            if column.type == "text":
                return f"{alias}.{column.name} is not null"
            return f"{alias}.{column.name} >= {self._number_of_query()}"
        edge = self.rng.choice(edges)
        return (f"(select count(*) from {edge.right} s where "
                f"s.{edge.right_column} = {alias}.{edge.left_column}) "
                f"{self.rng.choice(['>', '<=', '='])} {self.rng.randint(0, 4)}")

    def _number_of_query(self) -> str:
        """An InitPlan that gives one number."""
        return f"(select min(k) from word where big < {self._low(tables.ITEMS)})"

    def _equality(self, alias, column) -> str:
        value = self._value(column)
        if column.type in ("int", "smallint") and self._chance(0.3):
            value = f"{value}::bigint"          # cross-type operator
        return f"{alias}.{column.name} = {value}"

    def _in_list(self, alias, column, count) -> str:
        values = [self._literal(column) for _ in range(min(count, 40))]
        if self._chance(0.15):
            values.append("null")
        if self._chance(0.3):
            return (f"{alias}.{column.name} = any (array["
                    f"{', '.join(values)}]::{column.type}[])")
        return f"{alias}.{column.name} in ({', '.join(values)})"

    def _prefix(self, alias, column) -> str:
        whole = column.pattern % self.rng.randrange(column.high)
        cut = self.rng.choice([0, 1, 2])
        return f"{alias}.{column.name} like '{whole[:len(whole) - cut]}%'"

    def _range(self, alias, column, share) -> str:
        name = f"{alias}.{column.name}"
        if column.type == "text":
            first = self._literal(column)
            return f"{name} >= {first} and {name} < {first} || '9'"
        low = self.rng.randrange(column.high)
        high = low + max(int(column.high * share), 0)
        draw = self.rng.random()
        if column.type in MOMENTS:
            moment = MOMENTS[column.type]
            return f"{name} between {moment(low)} and {moment(high)}"
        if draw < 0.5:
            return (f"{name} between {self._param(low, column.type)} "
                    f"and {self._param(high, column.type)}")
        if draw < 0.7:
            return f"{name} > {low} and {name} <= {high}::bigint"
        if draw < 0.85:
            return f"{name} < {self._param(max(high - low, 1), column.type)}"
        return f"{name} >= {max(column.high - (high - low), 0)}"

    # --- what is selected, order ------------------------------------------

    def _finish(self, from_) -> str:
        where = ("\n where " + "\n   and ".join(self.where)
                 if self.where else "")
        draw = 1.0 if self.unordered_rows else self.rng.random()
        if draw < 0.15:
            alias, table = self.rng.choice(self.aliases)
            column = self.rng.choice(table.columns).name
            return (f"select count(*), count({alias}.{column}), "
                    f"min({alias}.{column}) {from_}{where}")
        if draw < 0.25:
            alias, table = self.rng.choice(self.aliases)
            column = self.rng.choice(table.columns).name
            return (f"select {alias}.{column}, count(*) {from_}{where}\n"
                    f" group by {alias}.{column}")
        sql = f"select {self._outputs()} {from_}{where}"
        if draw < 0.5:
            sql += self._ordering(from_)
        return sql

    def _outputs(self) -> str:
        if self._chance(0.1):
            return "*"
        out = []
        for alias, table in self.aliases:
            names = [c.name for c in table.columns]
            if self._chance(0.3):
                names.append(table.wide) if table.wide else None
            out += [f"{alias}.{name}" for name in
                    self.rng.sample(names, self.rng.randint(0, len(names)))]
            if self._chance(0.03):
                out.append(f"{alias}.ctid")
            if self._chance(0.03):
                out.append(f"{alias}.tableoid::regclass")
            if self._chance(0.03):
                out.append(alias)               # the whole row
        return ", ".join(out) or "1"

    def _ordering(self, from_) -> str:
        """ORDER BY a total order, and sometimes LIMIT."""
        terms = [self._order_by(alias, table)
                 for alias, table in self.aliases]
        if "v(x" in from_:
            terms.append("v.x")
        self.query_.ordered = "v(x" not in from_
        text = "\n order by " + ", ".join(terms)
        if self.query_.ordered and self._chance(0.6):
            text += f" limit {self.rng.choice([1, 3, 10, 100])}"
            if self._chance(0.3):
                text += f" offset {self.rng.randint(0, 20)}"
        return text

    def _order_by(self, alias, table) -> str:
        """An indexed column, then the key: a total order."""
        columns = list(table.key)
        if self._chance(0.5):
            columns = [self.rng.choice(table.indexed), *columns]
        way = self.rng.choice(["", " desc", " nulls first",
                               " desc nulls last"])
        return ", ".join(f"{alias}.{name}{way}" for name in columns)

    # --- small things -----------------------------------------------------

    def _alias(self, table) -> str:
        alias = f"{table.name[0]}{len(self.aliases)}"
        self.aliases.append((alias, table))
        return alias

    def _column(self, table, types):
        fitting = [c for c in table.columns if c.type in types]
        return self.rng.choice(fitting) if fitting else None

    def _chance(self, share) -> bool:
        return self.rng.random() < share

    def _low(self, high) -> int:
        return self.rng.randrange(high)

    def _number(self, column) -> str:
        return str(self.rng.randint(0, int(column.high * 1.05)))

    def _literal(self, column) -> str:
        if column.type == "text":
            return "'" + column.pattern % self.rng.randrange(column.high) + "'"
        if column.type in MOMENTS:
            return MOMENTS[column.type](self.rng.randrange(column.high))
        return self._number(column)

    def _value(self, column) -> str:
        """A literal, or a parameter if the query is prepared."""
        return self._param(self._literal(column), column.type)

    def _param(self, value, type_) -> str:
        if self.query_.execute != "prepared":
            return str(value)
        self.query_.types.append(type_)
        self.query_.values.append(str(value))
        return f"${len(self.query_.values)}"


def _hour(number) -> str:
    return f"(timestamp '2020-01-01' + {number} * interval '1 h')"


def _day(number) -> str:
    return f"(date '1992-01-01' + {number})"


# Of types without numbers: the literal for a number from 0 to a column's `high`.
MOMENTS = {"timestamp": _hour, "date": _day}
