"""Queries that stop early: LIMIT and OFFSET without an order, cursors that are
closed before their end, EXISTS, LATERAL with LIMIT.

Which rows come first is nobody's promise.  As many as with stock must come, and
all of them from the query without LIMIT.
"""

from differ import tables
from differ.kind import Kind
from differ.randomq import Generator

COUNTS = (0, 1, 1, 2, 3, 7, 20, 100, 1000)
OFFSETS = (0, 1, 5, 40)


class Stops(Kind):
    NAME = "stops"
    EXECUTE = {"plain": 6, "prepared": 3, "part": 4}

    @staticmethod
    def create(conn):
        """The tables are those of tables.py, which writers change."""

    def make(self) -> str:
        if self.draft.execute == "part":
            return self._cursor()
        shape = self.rng.choices([self._limit, self._counted, self._exists,
                                  self._lateral, self._append], [6, 2, 2, 4, 2])[0]
        return shape()

    def _rows(self) -> str:
        """Rows without an order."""
        return Generator(self.rng, self.pick(1, 1, 4)).unordered(self.draft)

    def _stop(self) -> str:
        text = f"\n limit {self.value(self.pick(*COUNTS), 'bigint')}"
        if self.chance(0.3):
            text += f" offset {self.value(self.pick(*OFFSETS), 'bigint')}"
        return text

    def _limit(self) -> str:
        self.draft.part_of = self._rows()
        return self.draft.part_of + self._stop()

    def _counted(self) -> str:
        return f"select count(*) from ({self._unnamed()}{self._stop()}) s"

    def _exists(self) -> str:
        return f"select exists ({self._unnamed()}), 1"

    def _unnamed(self) -> str:
        """The same without columns: their names may be the same."""
        rows = self._rows()
        return "select 1 " + rows[rows.index("from "):]

    def _append(self) -> str:
        table = self.pick(*tables.TABLES)
        generator = Generator(self.rng)
        column = next(c for c in table.columns if c.type != "timestamp").name
        parts = [f"select t.{column} from {table.name} t where "
                 + generator.condition_on(self.draft, "t", table)
                 for _ in range(2)]
        self.draft.part_of = "\nunion all\n".join(parts)
        return self.draft.part_of + self._stop()

    def _lateral(self) -> str:
        """The first rows for each outer row, whichever these are."""
        edge = self.pick(*tables.EDGES)
        outer = tables.BY_NAME[edge.left]
        where = Generator(self.rng).condition_on(self.draft, "o", outer)
        inner = (f"select i.* from {edge.right} i where i.{edge.right_column} = "
                 f"o.{edge.left_column}")

        def of(end):
            return (f"select o.{edge.left_column}, x.* from {outer.name} o, "
                    f"lateral ({inner}{end}) x where {where}")
        self.draft.part_of = of(" offset 0")
        return of(self._stop())

    def _cursor(self) -> str:
        steps = [self.pick("fetch 1", "fetch 2", "fetch forward 9", "fetch 50",
                           "move 3", "move forward 40", "fetch next")
                 for _ in range(self.rng.randint(1, 5))]
        if self.chance(0.2):
            steps.append("fetch all")
        self.draft.steps = steps
        self.draft.part_of = self._rows()
        return self.draft.part_of
