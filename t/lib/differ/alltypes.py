"""Columns of every type that has a default B-tree operator class, and every
pair of types that core's B-tree operator families compare.

Types and pairs are those of the server's catalogs; only values are ours.  A type
that has none here is an error: add some.
"""

import random
import re

from differ.kind import Kind, quoted

ROWS = 700
FIXED_SEED = 20240229
RANDOM_VALUES = 25          # of each type, besides those named below

# What stands for a polymorphic operator class.
CONCRETE = {"anyarray": ("integer[]", "text[]"), "anyenum": ("t_mood",),
            "anyrange": ("int4range", "tsrange"),
            "anymultirange": ("int4multirange",), "record": ("t_pair",),
            "text": ("text", "character varying", "t_word")}


def _integers(bits):
    top = 1 << (bits - 1)
    return ([-top, 1 - top, -1, 0, 1, 2, 127, 32767, top - 1],
            lambda rng: rng.randint(-60, 60))


def _words(rng):
    return "".join(rng.choice("abAB _z") for _ in range(rng.randint(0, 6)))


def _days(rng):
    return f"2024-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}"


def _times(rng):
    return f"{_days(rng)} {rng.randint(0, 23):02}:{rng.choice([0, 30]):02}"


def _bits(rng):
    return "".join(rng.choice("01") for _ in range(rng.randint(1, 9)))


def _networks(rng):
    return f"10.{rng.randint(0, 3)}.{rng.randint(0, 3)}.0/{rng.choice([24, 28])}"


def _macs(count):
    return lambda rng: ":".join(f"{rng.randint(0, 2):02x}" for _ in range(count))


def _spans(rng):
    low = rng.randint(-20, 20)
    return f"[{low},{low + rng.randint(1, 9)})"


_FLOATS = (["-Infinity", "-1e30", "-1.5", "-0", "0", "1e-30", "0.1", "1.5",
            "16777217", "Infinity", "NaN"], lambda rng: rng.randint(-9, 9) / 4)
_STAMPS = (["-infinity", "4713-01-01 BC", "2000-01-01", "2024-02-29 12:00",
            "294276-12-31", "infinity"], _times)

# Literals of each type: some that are special, and how others are made.
VALUES = {
    "boolean": (["t", "f"], lambda rng: "t"),
    '"char"': (["", "a", "z", r"\377"], lambda rng: rng.choice("abcAB")),
    "name": (["", "a", "A", "x" * 63], _words),
    "text": (["", " ", "a", "a ", "x" * 900, "é"], _words),
    "character varying": (["", " ", "a", "a "], _words),
    "t_word": (["", "a", "A"], _words),
    "character": (["", "a"], lambda rng: rng.choice("abAB ")),
    "bytea": (["", r"\x00", r"\xff", r"\x00ff"],
              lambda rng: r"\x" + rng.randbytes(rng.randint(0, 2)).hex()),
    "smallint": _integers(16),
    "integer": _integers(32),
    "bigint": ([*_integers(64)[0], 2**31, -2**31 - 1], _integers(64)[1]),
    "oid": ([0, 1, 2**31, 2**32 - 1], lambda rng: rng.randint(0, 60)),
    "oid8": ([0, 1, 2**63, 2**64 - 1], lambda rng: rng.randint(0, 60)),
    "xid8": ([0, 1, 2**64 - 1], lambda rng: rng.randint(0, 60)),
    "tid": (["(0,1)", "(4294967295,65535)"],
            lambda rng: f"({rng.randint(0, 5)},{rng.randint(1, 5)})"),
    "pg_lsn": (["0/0", "FFFFFFFF/FFFFFFFF"],
               lambda rng: f"{rng.randint(0, 3)}/{rng.randint(0, 99):X}"),
    "real": _FLOATS,
    "double precision": _FLOATS,
    "numeric": (["-Infinity", "-1e99", "0", "0.00", "1.10", "1.1", "1e-99",
                 "1e200", "Infinity", "NaN"],
                lambda rng: rng.randint(-99, 99) / 4),
    "money": ([-2**40, 0, "92233720368547758.07"],
              lambda rng: rng.randint(-9, 9) / 4),
    "date": (["-infinity", "4713-01-01 BC", "2024-02-29", "5874897-12-31",
              "infinity"], _days),
    "timestamp without time zone": _STAMPS,
    "timestamp with time zone": _STAMPS,
    "time without time zone": (["00:00", "12:00", "24:00"],
                               lambda rng: f"{rng.randint(0, 23)}:30"),
    "time with time zone": (["00:00+14", "24:00-14", "12:00+00", "13:00+01"],
                            lambda rng: f"{rng.randint(0, 23)}:30+0"
                            f"{rng.randint(0, 3)}"),
    "interval": (["-178000000 years", "0", "1 month", "30 days", "720 hours",
                  "178000000 years"],
                 lambda rng: f"{rng.randint(-5, 5)} days {rng.randint(0, 48)} h"),
    "uuid": (["0" * 32, "f" * 32], lambda rng: f"{rng.randint(0, 40):032x}"),
    "inet": (["0.0.0.0/0", "255.255.255.255", "::", "ffff::/16"], _networks),
    "macaddr": (["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"], _macs(6)),
    "macaddr8": (["ff:ff:ff:ff:ff:ff:ff:ff"], _macs(8)),
    "bit": (["0", "1"], lambda rng: rng.choice("01")),
    "bit varying": (["", "0", "1" * 80], _bits),
    "jsonb": (["null", "[]", "{}", '""', "true", "1e99"], lambda rng:
              '{"a": %d, "b": [%d]}' % (rng.randint(0, 3), rng.randint(0, 9))),
    "tsvector": ([""], lambda rng: f"a{rng.randint(0, 9)} b{rng.randint(0, 3)}"),
    "tsquery": ([""], lambda rng: f"a{rng.randint(0, 9)} & !b"),
    "oidvector": (["", "0", "1 2 3"], lambda rng: f"{rng.randint(0, 9)} 1"),
    "integer[]": (["{}", "{NULL}", "{{1,2},{3,4}}"],
                  lambda rng: "{%d,%d}" % (rng.randint(0, 4), rng.randint(0, 4))),
    "text[]": (["{}", "{NULL}", '{""}'], lambda rng: "{x%d}" % rng.randint(0, 9)),
    "t_mood": (["low", "middle", "high"], lambda rng: "middle"),
    "t_pair": (["(,)", "(1,)", "(,x)"], lambda rng: "(%d,%s)" % (
        rng.randint(0, 5), rng.choice("xy"))),
    "int4range": (["empty", "(,)", "[1,)", "(,1)"], _spans),
    "tsrange": (["empty", "(,)", "[2024-01-01,2024-01-02)"],
                lambda rng: f"[{_days(rng)},)"),
    "int4multirange": (["{}", "{(,)}"], lambda rng: "{%s}" % _spans(rng)),
}

DDL = """create type t_mood as enum ('low', 'middle', 'high');
create type t_pair as (number int, word text);
create domain t_word as text"""

DEFAULT_CLASSES = """select distinct opcintype::regtype::text from pg_opclass c
  join pg_am a on a.oid = opcmethod where amname = 'btree' and opcdefault"""

CROSS_TYPES = """select amoplefttype::regtype::text, amoprighttype::regtype::text
  from pg_amop join pg_am a on a.oid = amopmethod
 where amname = 'btree' and amopstrategy = 3 and amoplefttype <> amoprighttype
   and amopopr < 16384"""


def types_of(conn):
    """The types of this server, sorted."""
    made = []
    for (name,) in conn.execute(DEFAULT_CLASSES):
        made += CONCRETE.get(name, (name,))
    if unknown := set(made) - set(VALUES):
        raise SystemExit(f"alltypes.py has no values of {', '.join(unknown)}")
    return sorted(made)


def column_of(type_) -> str:
    """c_timestamp_with_time_zone, for example."""
    return "c_" + re.sub(r"\W+", "_", type_.replace("[]", "_array")).strip("_")


class AllTypes(Kind):
    NAME = "types"

    def __init__(self, conn):
        self.types = types_of(conn)
        rng = random.Random(FIXED_SEED)
        self.pools = {t: _pool(rng, t) for t in self.types}
        self.others = {t: [t] for t in self.types}
        for left, right in sorted(conn.execute(CROSS_TYPES).fetchall()):
            for one in CONCRETE.get(left, (left,)):
                self.others[one] += CONCRETE.get(right, (right,))
        self.in_arrays = {row[0] for row in conn.execute(
            "select oid::regtype::text from pg_type where typarray <> 0")}

    @staticmethod
    def create(conn):
        conn.execute(DDL)
        types = types_of(conn)
        rng = random.Random(FIXED_SEED)
        pools = [_pool(rng, t) for t in types]
        names = [column_of(t) for t in types]
        conn.execute("create table alltypes (id int primary key, " + ", ".join(
            f"{n} {t}" for n, t in zip(names, types)) + ")")
        rows = ("(" + ", ".join([str(number), *(
            "null" if rng.random() < 0.08 else quoted(rng.choice(pool))
            for pool in pools)]) + ")" for number in range(ROWS))
        conn.execute("insert into alltypes values " + ", ".join(rows))
        for number, name in enumerate(names):
            way = ("", "desc", "nulls first", "desc nulls last")[number % 4]
            conn.execute(f"create index on alltypes ({name} {way})")
            conn.execute(f"create index on alltypes ({name}, id)")

    def make(self) -> str:
        type_ = self.rng.choice(self.types)
        where = [self._condition("a", type_)]
        if self.chance(0.3):
            where.append(self._condition("a", type_))
        from_, out = "alltypes a", [f"a.id, a.{column_of(type_)}::text"]
        if self.chance(0.4):
            other = self.rng.choice(self.others[type_])
            if other not in self.types:
                other = type_
            low = self.rng.randrange(ROWS)
            operator = self.rng.choices(["=", "<", ">="], [6, 1, 1])[0]
            kind = self.pick("", "left ")
            from_ = (f"alltypes b {kind}join alltypes a on a.{column_of(type_)} "
                     f"{operator} b.{column_of(other)}")
            where = where[:self.rng.randint(0, 1)] + [
                f"b.id between {low} and {low + self.rng.randint(1, 15)}"]
            out.append(f"b.id, b.{column_of(other)}::text")
        return (f"select {', '.join(out)} from {from_}\n where "
                + "\n   and ".join(where))

    def _condition(self, alias, type_) -> str:
        name = f"{alias}.{column_of(type_)}"
        right = self.rng.choice(self.others[type_])
        operator = self.pick("=", "=", "<", "<=", ">", ">=")
        draw = self.rng.random()
        if draw < 0.1:
            return f"{name} is {self.pick('', 'not ')}null"
        if draw < 0.25 and self._has_array(right):
            return f"{name} = any ({self._array(right)})"
        if draw < 0.35:
            return (f"{name} in (" + ", ".join(self._literal(right) for _ in range(
                self.rng.randint(1, 5))) + ")")
        if draw < 0.5:
            return (f"({name}, {alias}.id) {self.pick('<', '<=', '>', '>=')} "
                    f"({self._value(right)}, {self.rng.randrange(ROWS)})")
        if draw < 0.65:
            return f"{name} between {self._value(right)} and {self._value(right)}"
        if draw < 0.68:
            return f"{name} {operator} null::{right}"
        return f"{name} {operator} {self._value(right)}"

    def _has_array(self, type_) -> bool:
        """Are there arrays of it?  An array's elements are never arrays."""
        return type_ in self.in_arrays and not type_.endswith("[]")

    def _array(self, type_) -> str:
        count = self.rng.choice([0, 1, 3, 10, 40])
        values = [quoted(self.rng.choice(self._pool(type_)))
                  for _ in range(count)]
        if self.chance(0.2):
            values.append("null")
        return f"array[{', '.join(values)}]::{type_}[]"

    def _pool(self, type_):
        return self.pools.get(type_) or self.pools["text"]

    def _literal(self, type_) -> str:
        return f"{quoted(self.rng.choice(self._pool(type_)))}::{type_}"

    def _value(self, type_) -> str:
        return self.value(quoted(self.rng.choice(self._pool(type_))), type_)



def _pool(rng, type_):
    special, more = VALUES[type_]
    return [str(value) for value in
            [*special, *(more(rng) for _ in range(RANDOM_VALUES))]]
