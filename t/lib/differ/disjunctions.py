"""OR over several indexes: each row once, whatever is unknown (tables of bounds.py)."""

from differ.bounds import HIGH
from differ.kind import Kind


class Disjunctions(Kind):
    NAME = "disjunctions"

    @staticmethod
    def create(conn):
        """The tables are those of bounds.py."""

    def make(self) -> str:
        return self.pick(self._scan, self._scan, self._join)()

    def _scan(self) -> str:
        what = self.pick("id, a, b, c", "ctid, id", "t", "count(*), sum(id), sum(a)")
        return f"select {what} from bounds t\n where {self._where()}"

    def _join(self) -> str:
        return (f"select t.id, o.id, o.a from bounds t {self.pick('', 'left ')}join "
                f"bounds o\n    on o.id = t.{self.pick('a', 'b', 'c')} * 7"
                f"\n where {self._where()}")

    def _where(self) -> str:
        where = [" or ".join(self._arm() for _ in range(self.rng.randint(2, 4)))]
        if self.chance(0.3):
            where.append(self._condition(self.rng.choice(list(HIGH))))
        return " and ".join(f"({one})" for one in where)

    def _arm(self) -> str:
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
