"""Random queries over the tables of TPC-H, made like those of randomq.py.

Every index of bench/lib/tpch.py is used, at any scale.  What is asked is what the
data have: half of the keys of orders exist, dates are days of seven years.
"""

from types import SimpleNamespace

from differ.randomq import Generator
from differ.tables import Column, TestTable, both

CUSTOMERS = 150_000         # at scale 1, as the others
ORDERS = 1_500_000
LINES = 6_001_215
PARTS = 200_000
SUPPLIERS = 10_000
NATIONS = 25
DAYS = 2_406                # with orders

# How often a query is a chain of joins, and how often two scans.
SHAPES = (20, 1)


def schema(scale):
    """TABLES, BY_NAME, EDGES and FIRST, for a Generator."""
    customers, orders, lines, parts, suppliers = (
        int(scale * n) for n in (CUSTOMERS, ORDERS, LINES, PARTS, SUPPLIERS))
    keys = 4 * orders

    def table(name, rows, columns, key, indexed, wide):
        return TestTable(name, "", "", rows, columns, key, indexed, wide)

    tables = (
        table("customer", customers,
              (Column("c_custkey", "int", customers),
               Column("c_name", "text", customers, "Customer#%09d"),
               Column("c_nationkey", "int", NATIONS),
               Column("c_acctbal", "numeric", 10_000)),
              ("c_custkey",), ("c_custkey", "c_name"), "c_comment"),
        table("orders", orders,
              (Column("o_orderkey", "bigint", keys),
               Column("o_custkey", "int", customers),
               Column("o_orderdate", "date", DAYS),
               Column("o_totalprice", "numeric", 500_000)),
              ("o_orderkey",), ("o_orderkey", "o_custkey", "o_orderdate"),
              "o_comment"),
        table("lineitem", lines,
              (Column("l_orderkey", "bigint", keys),
               Column("l_partkey", "int", parts),
               Column("l_suppkey", "int", suppliers),
               Column("l_shipdate", "date", DAYS),
               Column("l_linenumber", "int", 7),
               Column("l_quantity", "numeric", 50)),
              ("l_orderkey", "l_linenumber"),
              ("l_orderkey", "l_partkey", "l_suppkey", "l_shipdate"), "l_comment"),
        table("part", parts,
              (Column("p_partkey", "int", parts), Column("p_size", "int", 50),
               Column("p_retailprice", "numeric", 2_000)),
              ("p_partkey",), ("p_partkey",), "p_name"),
        table("partsupp", 4 * parts,
              (Column("ps_partkey", "int", parts),
               Column("ps_suppkey", "int", suppliers),
               Column("ps_availqty", "int", 10_000)),
              ("ps_partkey", "ps_suppkey"), ("ps_partkey", "ps_suppkey"),
              "ps_comment"),
        table("supplier", suppliers,
              (Column("s_suppkey", "int", suppliers),
               Column("s_nationkey", "int", NATIONS)),
              ("s_suppkey",), ("s_suppkey",), "s_comment"),
        table("nation", NATIONS,
              (Column("n_nationkey", "int", NATIONS),
               Column("n_regionkey", "int", 5)),
              ("n_nationkey",), ("n_nationkey",), "n_name"))
    edges = [
        *both("customer.c_custkey", "orders.o_custkey", 10, 1),
        *both("orders.o_orderkey", "lineitem.l_orderkey", 4, 1),
        *both("part.p_partkey", "lineitem.l_partkey", 30, 1),
        *both("supplier.s_suppkey", "lineitem.l_suppkey", 600, 1),
        *both("part.p_partkey", "partsupp.ps_partkey", 4, 1),
        *both("supplier.s_suppkey", "partsupp.ps_suppkey", 80, 1),
        *both("nation.n_nationkey", "customer.c_nationkey", customers / NATIONS, 1),
        *both("nation.n_nationkey", "supplier.s_nationkey", suppliers / NATIONS, 1)]
    return SimpleNamespace(TABLES=tables, EDGES=edges, FIRST=(4, 6, 8, 3, 3, 1, 1),
                           BY_NAME={table.name: table for table in tables})


class TpchGenerator(Generator):
    """Queries without parameters; each is one SQL text."""

    def __init__(self, rng, size, scale):
        super().__init__(rng, size, schema(scale))

    def text(self) -> str:
        """SQL of the next query."""
        while True:
            query = self.query()
            if not query.values:
                return query.sql

    def _shape(self):
        return self.rng.choices([self._chain, self._union], SHAPES)[0]

    def _number_of_query(self) -> str:
        return (f"(select min(n_nationkey) from nation where n_regionkey = "
                f"{self._low(5)})")
