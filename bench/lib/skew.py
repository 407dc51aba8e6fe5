"""Query C's customers with skewed orders: a table set of its own.

The schema `skewed` has its own `orders`, a copy in the same physical order, with
the same indexes.  Of the orders of the customers 10000 to 19999, which query C
selects, nine in ten are given to the hundred customers 10000 to 10099; all
others stay with their owners.  So one hundredth of the range owns nine tenths of
the work, and all of it lies at the beginning of the range; how many orders and
line items the query finds, and where these lie on disk, stays the same.  The
other tables are those of the schema `public`: with `search_path = skewed, public`
the text of query C needs no change.

Who gets an order is decided by a hash of its key: the same at every load.
"""

from lib import tpch

FIRST, LAST, HEAVY = 10_000, 19_999, 100
SESSION = {"search_path": "skewed, public"}

_OWNER = f"""case when o_custkey between {FIRST} and {LAST}
           and abs(hashint8(o_orderkey) % 10) < 9
      then {FIRST} + abs(hashint8(o_orderkey) / 10 % {HEAVY})
      else o_custkey end"""


def bytes_needed(scale) -> int:
    return int(scale * 330_000_000)


def ensure(cluster, dbname):
    """Make the tables unless they are there.

    They get their schema's name last: what was interrupted is made again.
    """
    orders = next(t for t in tpch.TABLES if t.name == "orders")
    with cluster.started({"wal_level": "minimal", "max_wal_senders": 0}), \
            cluster.connect(dbname) as conn:
        if conn.execute("select to_regclass('skewed.orders')").fetchone()[0]:
            return
        columns = [row[0] for row in conn.execute(
            "select attname from pg_attribute where attnum > 0 "
            "and attrelid = 'public.orders'::regclass order by attnum")]
        chosen = ", ".join(f"({_OWNER})::integer" if name == "o_custkey"
                           else name for name in columns)
        with conn.transaction():
            conn.execute("set local max_parallel_workers_per_gather = 0")
            conn.execute("drop schema if exists skewed_part cascade")
            conn.execute("create schema skewed_part")
            conn.execute(f"create table skewed_part.orders ({orders.columns})")
            conn.execute(f"insert into skewed_part.orders select {chosen} "
                         "from public.orders")
            conn.execute("alter table skewed_part.orders add primary key "
                         "(o_orderkey)")
            for column in orders.indexes:
                conn.execute(f"create index on skewed_part.orders ({column})")
        conn.execute("vacuum (freeze, analyze) skewed_part.orders")
        conn.execute("checkpoint")
        conn.execute("alter schema skewed_part rename to skewed")


def describe(cluster, dbname) -> str:
    """How skewed it has become, counted."""
    with cluster.started(), cluster.connect(dbname) as conn:
        total, heavy = conn.execute(
            "select count(*), count(*) filter (where o_custkey < %s) "
            "from skewed.orders where o_custkey between %s and %s",
            (FIRST + HEAVY, FIRST, LAST)).fetchone()
    return (f"{HEAVY} of {LAST - FIRST + 1:,} customers in the range own "
            f"{heavy:,} of its {total:,} orders")
