"""CH-benCHmark: transactions of TPC-C, and 22 queries on the same tables.

Rows are as TPC-C says, but for two things: amounts of delivered lines are random as
well (TPC-C has zeros, of which queries would have nothing to add up), and texts are
shorter.  The scale is the number of warehouses.
"""

import re
from pathlib import Path

from lib import app
from lib.load import require_room

FOLDER = Path(__file__).parent.parent / "queries"
TABLES, QUERIES = FOLDER / "ch_tables.sql", FOLDER / "ch.sql"

# In each warehouse's districts; of all.
CUSTOMERS = 3000
ITEMS = 100_000
SUPPLIERS = 10_000
UNDELIVERED = 900           # of each district's orders, as many as customers

BYTES = 200_000_000         # of a warehouse, with what loading takes

REGIONS = ("Africa", "America", "Asia", "Europe", "Australia")

# Their keys are the characters that a state may begin with.
NATIONS = {
    "Africa": "Algeria Angola Egypt Ethiopia Ghana Kenya Mali Morocco Nigeria Senegal "
              "Sudan Tunisia",
    "America": "Argentina Bolivia Brazil Canada Chile Colombia Cuba Ecuador Mexico "
               "Panama Peru Uruguay Venezuela",
    "Asia": "Cambodia China India Indonesia Iran Japan Jordan Laos Malaysia Nepal "
            "Pakistan Philippines Thailand Vietnam",
    "Europe": "Austria Belgium Denmark Finland France Germany Greece Hungary Ireland "
              "Italy Netherlands Norway Poland Portugal Romania Spain Sweden",
    "Australia": "Australia Fiji Kiribati Samoa Tonga Vanuatu"}
STATES = [*range(48, 58), *range(65, 91), *range(97, 123)]

_TEXT = "chr(97 + ch_random(0, 25)) || chr(97 + ch_random(0, 25))"
_STATE = "substr('" + "".join(map(chr, STATES)) + "', ch_random(1, 62), 1) || 'x'"
_ADDRESS = f"'street ' || i, 'house ' || i % 97, 'city ' || i % 211, {_STATE}, '123411111'"
_ENTRY = "timestamp '2007-01-02' + interval '1 second' * ch_random(1, 157000000)"

KEYS = (
    "warehouse (w_id)", "district (d_w_id, d_id)", "customer (c_w_id, c_d_id, c_id)",
    "orders (o_w_id, o_d_id, o_id)", "new_order (no_w_id, no_d_id, no_o_id)",
    "order_line (ol_w_id, ol_d_id, ol_o_id, ol_number)", "item (i_id)",
    "stock (s_w_id, s_i_id)", "region (r_regionkey)", "nation (n_nationkey)",
    "supplier (su_suppkey)")
INDEXES = (
    "customer (c_w_id, c_d_id, c_last, c_first)",
    "orders (o_w_id, o_d_id, o_c_id, o_id)",
    "order_line (ol_i_id, ol_supply_w_id)",     # the foreign key to stock
    "stock (s_i_id)", "supplier (su_nationkey)")

# TPC-C's mix: of 100 transactions.
MIX = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4,
       "stock_level": 4}
ARGUMENTS = {"new_order": "{warehouses}, {customers}, {items}",
             "payment": "{warehouses}, {customers}",
             "order_status": "{warehouses}, {customers}", "delivery": "{warehouses}",
             "stock_level": "{warehouses}"}

# What holds before and after any transactions (TPC-C, clause 3.3.2): each gives the
# number of warehouses or districts for which it does not.
CONSISTENCY = {
    "payments of a warehouse are those of its districts":
        "select count(*) from warehouse where w_ytd <> (select sum(d_ytd) "
        "from district where d_w_id = w_id)",
    "the next order follows the last":
        "select count(*) from district where d_next_o_id - 1 <> (select max(o_id) "
        "from orders where o_w_id = d_w_id and o_d_id = d_id)",
    "new orders have no gap but for what is being delivered":
        "select count(*) from (select 1 from new_order group by no_w_id, no_d_id "
        "having max(no_o_id) - min(no_o_id) + 1 <> count(*)) s",
    "orders have as many lines as they say":
        "select count(*) from (select o_w_id, o_d_id, sum(o_ol_cnt) n from orders "
        "group by 1, 2) o full join (select ol_w_id, ol_d_id, count(*) n from "
        "order_line group by 1, 2) l on ol_w_id = o_w_id and ol_d_id = o_d_id "
        "where o.n is distinct from l.n",
    "new orders are those without a carrier":
        "select count(*) from orders left join new_order on no_w_id = o_w_id and "
        "no_d_id = o_d_id and no_o_id = o_id "
        "where (no_o_id is null) <> (o_carrier_id is not null)",
    "delivered lines are those of orders with a carrier":
        "select count(*) from orders join order_line on ol_w_id = o_w_id and "
        "ol_d_id = o_d_id and ol_o_id = o_id "
        "where (ol_delivery_d is null) <> (o_carrier_id is null)",
}


# --- loading ----------------------------------------------------------------

def _small_tables(warehouses):
    """INSERT of tables that do not grow with districts."""
    yield (f"insert into item select i, ch_random(1, 10000), 'item ' || i, "
           f"ch_random(100, 10000) / 100.0, {_TEXT} || md5(i::text) || {_TEXT} "
           f"from generate_series(1, {ITEMS}) i")
    yield (f"insert into supplier select i, 'supplier ' || i, 'address ' || i, "
           f"(array{STATES})[ch_random(1, {len(STATES)})], ch_random(1, 9) || "
           f"'-' || lpad(i::text, 8, '0'), ch_random(-99999, 999999) / 100.0, "
           f"case when i % 50 = 7 then 'bad' else 'fine' end || md5(i::text) "
           f"from generate_series(0, {SUPPLIERS - 1}) i")
    yield (f"insert into warehouse select i, 'warehouse ' || i, {_ADDRESS}, "
           f"ch_random(0, 2000) / 10000.0, 300000 from generate_series(1, {warehouses}) i")


def _rows(warehouse):
    """INSERT of each table's rows of a warehouse."""
    w = warehouse
    yield (f"insert into district select i, {w}, 'district ' || i, {_ADDRESS}, "
           f"ch_random(0, 2000) / 10000.0, 30000, {CUSTOMERS + 1} "
           f"from generate_series(1, 10) i")
    yield (f"insert into stock select i, {w}, ch_random(10, 100), (select array_agg("
           f"left(md5((i * d)::text), 24)) from generate_series(1, 10) d), 0, 0, 0, "
           f"md5(i::text) from generate_series(1, {ITEMS}) i")
    yield (f"insert into customer select i, d, {w}, md5(i::text), 'OE', ch_last_name("
           f"case when i <= 1000 then i - 1 else ch_nurand(255, 0, 999) end), "
           f"{_ADDRESS}, ch_random(1, 9) || lpad(i::text, 15, '0'), {_ENTRY}, "
           f"case when random() < 0.1 then 'BC' else 'GC' end, 50000, "
           f"ch_random(0, 5000) / 10000.0, -10, 10, 1, 0, repeat(md5(i::text), 10) "
           f"from generate_series(1, {CUSTOMERS}) i, generate_series(1, 10) d")
    yield (f"insert into history select c_id, c_d_id, c_w_id, c_d_id, c_w_id, c_since, "
           f"10, 'loaded' from customer where c_w_id = {w}")
    yield (f"insert into orders select row_number() over (partition by d), d, {w}, c, "
           f"entry, null, ch_random(5, 15), 1 from (select d, c, {_ENTRY} entry "
           f"from generate_series(1, {CUSTOMERS}) c, generate_series(1, 10) d "
           f"order by random()) s")
    yield (f"update orders set o_carrier_id = ch_random(1, 10) where o_w_id = {w} "
           f"and o_id <= {CUSTOMERS - UNDELIVERED}")
    yield (f"insert into new_order select o_id, o_d_id, o_w_id from orders "
           f"where o_w_id = {w} and o_carrier_id is null")
    yield (f"insert into order_line select o_id, o_d_id, o_w_id, n, "
           f"ch_random(1, {ITEMS}), o_w_id, case when o_carrier_id is not null then "
           f"o_entry_d + interval '1 minute' * ch_random(0, 10000) end, 5, "
           f"ch_random(1, 999999) / 100.0, left(md5((o_id * n)::text), 24) "
           f"from orders, generate_series(1, o_ol_cnt) n where o_w_id = {w}")


def _nations(conn):
    names = [(name, region) for region, some in NATIONS.items()
             for name in some.split()]
    for number, name in enumerate(REGIONS):
        conn.execute("insert into region values (%s, %s, '')", (number, name))
    for key, (name, region) in zip(STATES, names, strict=True):
        conn.execute("insert into nation values (%s, %s, %s, '')",
                     (key, name, REGIONS.index(region)))


def _load(conn, warehouses):
    """Everything, in an empty database."""
    conn.execute("set maintenance_work_mem = '256MB'")
    conn.execute("select setseed(0.13)")
    conn.execute(TABLES.read_text())
    _nations(conn)
    for insert in _small_tables(warehouses):
        conn.execute(insert)
    for warehouse in range(1, warehouses + 1):
        for insert in _rows(warehouse):
            conn.execute(insert)
    for key in KEYS:
        table, columns = key.split(" ", 1)
        conn.execute(f"alter table {table} add primary key {columns}")
    for index in INDEXES:
        conn.execute(f"create index on {index}")
    conn.execute("vacuum (freeze, analyze)")
    conn.execute("checkpoint")


def warehouses_of(scale) -> int:
    return max(round(scale), 1)


def database_name(scale) -> str:
    return f"ch{warehouses_of(scale)}"


def check_room(cluster, scale, extra_bytes=0):
    there = cluster.exists() and app.is_made(cluster, database_name(scale))
    require_room(cluster, (0 if there else BYTES * warehouses_of(scale)) + extra_bytes)


def ensure_loaded(cluster, scale):
    """Load unless all of it is there; leaves the cluster stopped."""
    warehouses = warehouses_of(scale)
    app.ensure_made(cluster, database_name(scale),
                    f"CH-benCHmark with {warehouses} warehouses",
                    lambda conn: _load(conn, warehouses))


# --- running ----------------------------------------------------------------

def queries() -> dict:
    """{name: SQL} of the 22."""
    return {name: sql for name, sql in re.findall(
        r"^-- (q\d+): [^\n]*\n([^;]*);", QUERIES.read_text(), re.M)}


def scripts(folder, warehouses) -> list:
    """Arguments of pgbench for the mix; files go into a folder."""
    arguments = []
    for name, weight in MIX.items():
        path = Path(folder, f"{name}.sql")
        path.write_text(f"call ch_{name}(" + ARGUMENTS[name].format(
            warehouses=warehouses, customers=CUSTOMERS, items=ITEMS) + ");\n")
        path.chmod(0o644)
        arguments += ["-f", f"{path}@{weight}"]
    return arguments


def inconsistent(conn) -> list:
    """The conditions that do not hold."""
    return [name for name, sql in CONSISTENCY.items()
            if conn.execute(sql).fetchone()[0]]
