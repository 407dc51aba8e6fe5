"""A query, and what must hold of it."""

from dataclasses import dataclass, field


@dataclass
class Query:
    """One query; `execute` says how it is to be run.

    Rows must be stock's, with these exceptions:

    at_least    another query, for where index order and comparison disagree
                (zones.py).  Stock runs it and the query without indexes; anago
                gives all rows of the first, and none that the second has not.
    part_of     the query without LIMIT (stops.py): anago gives as many rows as
                stock, and none that this has not.
    changes     tables that it may change (writes.py): their rows are compared, too,
                and it is undone.
    effects     LIMIT without ORDER BY (effects.py): as many rows as stock, and
                as many calls of the function that counts.
    """
    sql: str
    ordered: bool = False   # rows come in a total order
    types: list = field(default_factory=list)       # of $1, $2 ...
    values: list = field(default_factory=list)      # as SQL literals
    execute: str = "plain"  # plain, prepared, cursor, part, write
    steps: list = field(default_factory=list)   # of a cursor, if part
    kind: str = "usual"     # who made it
    settings: dict = field(default_factory=dict)    # that both sides need
    at_least: str = ""
    part_of: str = ""
    changes: tuple = ()
    effects: bool = False
