"""Time zones whose clocks jump: timestamp, timestamptz and date compared.

A timestamp compares with a timestamptz by way of the session's time zone.  Where
clocks were set forward by g at local time s, local times of [s, s + g) never were
and mean the same instants as those of [s + g, s + 2 g).  So an index on a timestamp
is not ordered as the comparison sees it there, and what an index scan finds
of these rows depends on where its pages happen to be split; stock's own
index scan and full scan disagree.  What must hold all the same:

  - each row that is given satisfies the condition (stock's full scan has it);
  - each row outside of [s, s + 2 g) that satisfies it is given: all instants that
    rows within mean lie between those of the rows before and after, so that
    every search ends inside or at the edge of these two hours.

All other pairs (a timestamptz or a date in the index, a date or a timestamp as
the value) never decrease along the index: the rows must be stock's.  Set back,
clocks skip instants and no local time, which changes no order.
"""

from dataclasses import dataclass

from differ.kind import Kind

STEP_MIN = 5
BEFORE_H, AFTER_H = 3, 5    # rows around each change of a clock
TABLES = 10                 # each with more rows before, so that pages differ


@dataclass(frozen=True)
class Zone:
    name: str
    forward: str            # local time at which clocks were set forward
    minutes: int            # by so much
    back: str               # local time at which they were set back


ZONES = (Zone("America/New_York", "2024-03-10 02:00", 60, "2024-11-03 02:00"),
         Zone("Australia/Lord_Howe", "2024-10-06 02:00", 30, "2024-04-07 02:00"),
         Zone("Europe/Berlin", "2024-03-31 02:00", 60, "2024-10-27 03:00"),
         Zone("America/Sao_Paulo", "2018-11-04 00:00", 60, "2018-02-18 00:00"),
         Zone("Pacific/Apia", "2011-12-30 00:00", 1440, "2012-04-01 04:00"))

ROWS = 1_000                # about, in each table

STAMP, STAMPTZ = "timestamp", "timestamptz"
TYPES = {"ts": STAMP, "tz": STAMPTZ, "d": "date"}


def _rows(number, zone, at) -> str:
    """INSERT of the rows around one change; `number` of the table."""
    days = zone.minutes // 1440
    return f"""
        insert into stamp{number} (ts, tz, d)
        select nullif(t, '{at}'), t at time zone '{zone.name}',
            t + row_number() over () % 3 * interval '9 h'
          from generate_series(
            timestamp '{at}' - interval '{BEFORE_H} h'
                - {number} * interval '{3 * STEP_MIN} min',
            timestamp '{at}' + interval '{AFTER_H} h' + {2 * days} * interval '1 day',
            {1 + 6 * days} * interval '{STEP_MIN} min') t"""


class Zones(Kind):
    NAME = "zones"
    EXECUTE = {"plain": 1, "prepared": 1}

    @staticmethod
    def create(conn):
        conn.execute("set timezone = 'UTC'")
        for number in range(TABLES):
            conn.execute(f"create table stamp{number} (id serial primary key, "
                         "ts timestamp, tz timestamptz, d date)")
            for zone in ZONES:
                for at in (zone.forward, zone.back):
                    conn.execute(_rows(number, zone, at))
            conn.execute(f"create index on stamp{number} (ts)")
            conn.execute(f"create index on stamp{number} (tz desc)")
            conn.execute(f"create index on stamp{number} (d, ts)")
            conn.execute(f"create index on stamp{number} (ts, id)")
        conn.execute("reset timezone")

    def make(self) -> str:
        self.zone = self.rng.choice(ZONES)
        self.draft.settings = {"timezone": self.zone.name,
                               "enable_mergejoin": "off"}
        self.table = f"stamp{self.rng.randrange(TABLES)}"
        column, with_ = self.rng.choice(list(TYPES)), self.rng.choice(list(TYPES))
        if self.chance(0.5):
            column, with_ = "ts", "tz"
        if self.chance(0.3):
            head, where = self._join(column, with_)
        else:
            head = ("select a.id, a.ts::text, a.tz::text, a.d::text from "
                f"{self.table} a")
            where = [self._condition(column, TYPES[with_])]
        sql = f"{head}\n where " + "\n   and ".join(where)
        if {TYPES[column], TYPES[with_]} == {STAMP, STAMPTZ}:
            self._allow(sql)
        return sql

    def _allow(self, sql):
        """A timestamp with a timestamptz: the rows between s and s + 2 g."""
        start = f"timestamp '{self.zone.forward}'"
        inside = (f"{{}}.ts >= {start} and {{}}.ts < {start} + "
                  f"interval '{2 * self.zone.minutes} min'")
        aliases = ("a", "b") if " b join " in sql else ("a",)
        self.draft.at_least = sql + "".join(
            f"\n   and ({inside.format(one, one)}) is not true" for one in aliases)

    def _join(self, column, other):
        low = self.rng.randint(1, ROWS)
        return (f"select a.id, b.id from {self.table} b join {self.table} a on "
                f"a.{column} {self.rng.choices(['=', '<', '>='], [8, 1, 1])[0]} "
                f"b.{other}",
                [f"b.id between {low} and {low + self.rng.randint(1, 12)}"])

    def _condition(self, column, type_) -> str:
        name = f"a.{column}"
        draw = self.rng.random()
        if draw < 0.25:
            return f"{name} between {self._time(type_)} and {self._time(type_)}"
        if draw < 0.4:
            values = ", ".join(self._literal(type_)
                               for _ in range(self.rng.randint(1, 8)))
            return f"{name} = any (array[{values}]::{type_}[])"
        if draw < 0.5 and column == "ts":
            return (f"(a.ts, a.id) {self.pick('<', '>', '>=')} "
                    f"({self._time(type_)}, {self.rng.randint(1, ROWS)})")
        if draw < 0.6:
            return (f"{name} > {self._time(type_)} and "
                    f"{name} <= {self._time(type_)}")
        return f"{name} {self.pick('=', '=', '<', '<=', '>', '>=')} " \
            + self._time(type_)

    def _literal(self, type_) -> str:
        """Near a jump of this zone's clocks, more often the one forward."""
        at = self.pick(self.zone.forward, self.zone.forward, self.zone.back)
        minutes = self.rng.randint(-60 * BEFORE_H // STEP_MIN,
                                   60 * AFTER_H // STEP_MIN) * STEP_MIN
        if type_ == "date":
            return f"(date '{at[:10]}' + {self.rng.randint(-1, 1)})"
        # In the zone's own words; the cast to timestamptz is the session's.
        zone = f" at time zone '{self.zone.name}'" if type_ == STAMPTZ else ""
        return f"((timestamp '{at}' + interval '{minutes} min'){zone})"

    def _time(self, type_) -> str:
        return self.value(self._literal(type_), type_)
