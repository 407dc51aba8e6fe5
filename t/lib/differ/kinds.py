"""All kinds of queries there are.

A kind is one module: tables of its own that it makes once, and random queries
over them.  randomq.py, which joins the tables that writers change, makes the usual
ones; the others each look at one thing closely.
"""

from differ.alltypes import AllTypes
from differ.bounds import Bounds
from differ.chains import Chains
from differ.collations import Collations
from differ.disjunctions import Disjunctions
from differ.effects import Effects
from differ.inorder import InOrder
from differ.looks import Looks
from differ.partitions import Partitions
from differ.query import Query
from differ.randomq import Generator
from differ.skips import Skips
from differ.stops import Stops
from differ.stored import Stored
from differ.turns import Turns
from differ.wide import Wide
from differ.writes import Writes
from differ.zones import Zones

# Chance that a query is one of randomq.py's.
USUAL_SHARE = 0.5
USUAL = "usual"

KINDS = (AllTypes, Bounds, Chains, Collations, Disjunctions, Effects, InOrder, Looks,
         Partitions, Skips, Stops, Stored, Turns, Wide, Writes, Zones)


def create(conn):
    """The tables of all kinds, with statistics."""
    for kind in KINDS:
        kind.create(conn)
    conn.execute("vacuum analyze")
    conn.execute("checkpoint")


def fewest_mb(only) -> int:
    """Shared buffers that kinds need which are asked for by name, by comma."""
    return max((kind.FEWEST_MB for kind in KINDS if kind.NAME in only.split(",")), default=1)


class Kinds:
    """Draws a kind, and a query of it."""

    def __init__(self, conn, only="", buffers_mb=None):
        """only: names of kinds, by comma; "": all that can run with these buffers."""
        there = [USUAL, *(kind.NAME for kind in KINDS)]
        names = only.split(",") if only else there
        if unknown := set(names) - set(there):
            raise SystemExit(f"no such kind of queries: {', '.join(unknown)}; there "
                             f"are {', '.join(there)}")
        self.usual = USUAL in names
        self.others = [kind(conn) for kind in KINDS if kind.NAME in names and
                       (buffers_mb is None or kind.FEWEST_MB <= buffers_mb)]

    def query(self, rng, size) -> Query:
        """The next query; only a usual one can be `size` times as large."""
        if self.usual and (not self.others or rng.random() < USUAL_SHARE):
            return Generator(rng, size).query()
        return rng.choice(self.others).query(rng)
