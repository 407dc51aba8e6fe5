"""What the kinds of queries have in common (kinds.py)."""

from differ.query import Query


class Kind:
    """Makes queries of one kind; draws everything from the `rng` it is given."""

    NAME = ""
    EXECUTE = {"plain": 8, "prepared": 3, "cursor": 1}
    FEWEST_MB = 1           # of shared buffers with which stock's plans can run

    def __init__(self, conn):
        """What it has to know of a server's catalogs it reads here."""

    @staticmethod
    def create(conn):
        """Make tables and rows, the same in every cluster."""
        raise NotImplementedError

    def query(self, rng) -> Query:
        self.rng = rng
        self.draft = Query("", kind=self.NAME, execute=rng.choices(
            list(self.EXECUTE), list(self.EXECUTE.values()))[0])
        self.draft.sql = self.make()
        return self.draft

    def make(self) -> str:
        """SQL of a query; more about it goes into self.draft."""
        raise NotImplementedError

    # --- small things -----------------------------------------------------

    def chance(self, share) -> bool:
        return self.rng.random() < share

    def pick(self, *choices):
        return self.rng.choice(choices)

    def value(self, literal, type_) -> str:
        """A value of that type: a parameter if the query is prepared."""
        if self.draft.execute != "prepared" or self.chance(0.2):
            return f"{literal}::{type_}"
        self.draft.types.append(type_)
        self.draft.values.append(str(literal))
        return f"${len(self.draft.values)}"


def quoted(text) -> str:
    """An SQL literal."""
    return "'" + str(text).replace("'", "''") + "'"
