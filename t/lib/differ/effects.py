"""Functions that count their calls, below LIMIT: nobody may ask for more rows
than stock's nested loop does.

differ_calls(x) gives x and counts in a setting of the session.  The outer side is
the one that calls it, and no plan can change the order of a left join with it; so
stock's count is that of any nested loop.
"""

from differ.compare import COUNTER
from differ.kind import Kind

SETTINGS = {"enable_hashjoin": "off", "enable_mergejoin": "off",
            "enable_material": "off", "enable_memoize": "off",
            "max_parallel_workers_per_gather": 0}

ROWS = 5_000

# From here to a third of ROWS each outer row has as many matches as any other:
# the order in which an outer side gives them does not matter to the count.
LEAST = 30


class Effects(Kind):
    NAME = "effects"

    @staticmethod
    def create(conn):
        conn.execute(f"""
            create function differ_calls(x int) returns int volatile
                language plpgsql as $$
            begin
                perform set_config('{COUNTER}', (coalesce(nullif(
                    current_setting('{COUNTER}', true), ''), '0')::int
                    + 1)::text, false);
                return x;
            end $$;
            create table target (id int primary key, g int, filler text);
            insert into target select i, i / 3, repeat('t', 50 + i % 100)
              from generate_series(1, {ROWS}) i;
            create index on target (g)""")

    def make(self) -> str:
        self.draft.effects = True
        self.draft.settings = SETTINGS
        self.draft.execute = self.pick("plain", "prepared")
        limit = self.rng.choice([0, 1, 1, 2, 5, 30, 1000])
        end = f"limit {self.value(limit, 'bigint')}" if self.chance(0.9) else ""
        column = self.pick("id", "g")
        second = (f" left join target u on u.{self.pick('id', 'g')} = t.g"
                  if self.chance(0.3) else "")
        if self.chance(0.3):
            from_, where = "target s(x)", f" where {self._called()}"
        else:
            from_, where = f"{self._outer()} s(x)", ""
        return (f"select s.x, t.id from {from_} left join target t on "
                f"t.{column} = s.x{second}{where} {end}")

    def _span(self):
        """The outer side's values, first and last."""
        rows = self.rng.choice([3, 40, 300])
        low = self.rng.randint(LEAST, ROWS // 3 - rows)
        return low, low + rows

    def _called(self) -> str:
        low, high = self._span()
        return f"s.x between {low} and {high} and differ_calls(s.x) > 0"

    def _outer(self) -> str:
        low, high = self._span()
        return self.pick(
            f"(select differ_calls(g) as x from generate_series({low}, {high}) "
            f"g offset 0)",
            f"(select g as x from generate_series({low}, {high}) g "
            f"where differ_calls(g) > 0 offset 0)",
            "(values " + ", ".join(f"(differ_calls({n}))" for n in range(
                low, min(high, low + 40))) + ")",
            f"(select id as x from target where id between {low} and {high} "
            f"and differ_calls(id) > 0 offset 0)",
            f"(select g as x from generate_series({low}, {high}) g "
            f"where (select differ_calls(g + id) from target "
            f"where target.id = {low}) > 0 offset 0)")
