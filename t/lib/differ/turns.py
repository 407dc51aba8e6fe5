"""Joins by index that turn into hash joins after some rows (anago.debug_turn_after).

Keys are of several types, some compared across types, with NULLs and many duplicates;
other conditions are on a constant, a parameter, or a column of the outer row.
"""

import random

from differ.kind import Kind, quoted

ROWS = 1_200
FIXED_SEED = 11

# Column, its type, and types of the other side by which its index can be probed.
KEYS = (("i", "int", ("int", "bigint", "smallint")),
        ("l", "bigint", ("int", "bigint")),
        ("s", "smallint", ("int", "smallint")),
        ("n", "numeric", ("numeric",)),
        ("t", "text", ("text",)),
        ("v", "varchar", ("text", "varchar")),
        ("c", "char(6)", ("char(6)",)),
        ("f", "float8", ("float8", "float4")),
        ("d", "date", ("date", "timestamp")),
        ("z", "timestamptz", ("timestamptz", "date")),
        ("a", "int[]", ("int[]",)),
        ("m", "name", ("name", "text")),
        ("o", "boolean", ("boolean",)))


def _value(rng, column):
    """A literal for a column; few different ones."""
    if rng.random() < 0.08:
        return "null"
    small = rng.randint(0, 60)
    return {"n": quoted(f"{small % 20}.{'0' * rng.randint(1, 4)}"),
            "t": quoted(f"w{small}"), "v": quoted(f"w{small}"), "m": quoted(f"w{small}"),
            "c": quoted(f"w{small}" + " " * rng.randint(0, 2)),
            "f": quoted(rng.choice(["0", "-0", "NaN", "Infinity", str(small / 4)])),
            "d": quoted(f"2026-03-{small % 28 + 1:02}"),
            "z": quoted(f"2026-03-{small % 28 + 1:02}"),
            "a": quoted(f"{{{small % 9},null}}"),
            "o": rng.choice(["true", "false"])}.get(column, str(small))


class Turns(Kind):
    NAME = "turns"

    @staticmethod
    def create(conn):
        rng = random.Random(FIXED_SEED)
        for table, rows in (("turn_outer", ROWS), ("turn_inner", ROWS // 2)):
            conn.execute(f"create table {table} (id int primary key, x int, " +
                         ", ".join(f"{name} {type_}" for name, type_, _ in KEYS) + ")")
            values = [f"({number}, {number % 13}, " +
                      ", ".join(_value(rng, name) for name, _, _ in KEYS) + ")"
                      for number in range(rows)]
            conn.execute(f"insert into {table} values " + ", ".join(values))
            # rows that a scan must not see
            conn.execute(f"update {table} set x = x + 1 where id % 7 = 0")
            conn.execute(f"delete from {table} where id % 31 = 0")
            for name, _, _ in KEYS:
                conn.execute(f"create index on {table} ({name}, x)")
        conn.execute("create index on turn_inner (x, i, id)")

    def make(self) -> str:
        self.draft.settings = {name: self.pick("on", "off", "off")
                               for name in ("enable_hashjoin", "enable_mergejoin",
                                            "enable_memoize", "enable_material")}
        shape = self.pick(self._join, self._join, self._join, self._again)
        return shape(self._source())

    def _source(self) -> str:
        return self.pick("o.id < 400", "o.x in (1, 5, 9)", f"o.id % {self.pick(2, 3)} = 0",
                         f"o.i between {self.value(3, 'int')} and 30", "o.id < 9")

    def _on(self, outer, inner) -> str:
        name, _, others = self.rng.choice(KEYS)
        on = [f"{inner}.{name} = {outer}.{name}::{self.pick(*others)}"]
        more = (f"{inner}.x = {outer}.x", f"{inner}.x = {self.value(4, 'int')}",
                f"{inner}.x in (1, {self.value(3, 'int')}, 7)",
                f"{inner}.x in ({outer}.x, 2, null)", f"{inner}.x between 2 and {outer}.x",
                f"{inner}.x is not null", f"{inner}.x > 3 and {inner}.x < {outer}.x",
                f"{inner}.x in (2, 4, 6) and {inner}.x > {outer}.x",
                f"{inner}.id % 5 <> {outer}.id % 5", f"{inner}.id % 3 = 1",
                f"({inner}.{name}, {inner}.x) >= ({outer}.{name}::{self.pick(*others)}, 4)",
                f"{inner}.i = {outer}.i")
        return " and ".join(on + self.rng.sample(more, self.pick(0, 0, 1, 1, 2)))

    def _join(self, where) -> str:
        from_, out, where = "turn_outer o", ["o.id"], [where]
        last = "o"
        for number in range(self.rng.randint(1, 3)):
            name = f"i{number}"
            on = self._on(last if self.chance(0.5) else "o", name)
            table = self.pick("turn_inner", "turn_inner", "turn_outer")
            draw = self.rng.random()
            if draw < 0.3:
                where.append(f"{self.pick('', 'not ')}exists "
                             f"(select from {table} {name} where {on})")
                continue
            left = draw < 0.6
            from_ += f"\n  {'left ' if left else ''}join {table} {name} on {on}"
            column = self.rng.choice(KEYS)[0]
            out.append(self.pick(f"{name}.id", f"{name}.{column}", f"{name}.ctid is null",
                                 f"{name} is null"))
            if left and self.chance(0.2):
                where.append(f"coalesce({name}.x, 2) > 1")
            elif not left:
                last = name
        # few rows of many
        where.append(f"o.id % {self.pick(1, 2, 4)} = 0")
        return (f"select {', '.join(f'{expr} as c{n}' for n, expr in enumerate(out))} "
                f"from {from_}\n where {' and '.join(where)}")

    def _again(self, where) -> str:
        """Below LATERAL, with other values each time."""
        return (f"select g, l.* from generate_series(0, {self.pick(2, 5)}) g, lateral "
                f"(select o.id, i.id as j from turn_outer o {self.pick('', 'left ')}join "
                f"turn_inner i on {self._on('o', 'i')} and i.x {self.pick('=', '>', '<>')} g\n"
                f" where {where} and o.x <> g offset 0) l")
