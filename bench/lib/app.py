"""An application's database: a shop that keeps an event for each click.

Rows come from SQL that depends on nothing but the row's number.  Events are
partitioned by month; users, items and orders are skewed, as they are in life: few
items have most of the orders.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from lib.load import LOAD_SETTINGS, require_room

QUERIES = Path(__file__).parent.parent / "queries" / "app.sql"

# At scale 1.  About 1.5 GB with indexes.
EVENTS = 2_200_000
ORDERS = 300_000
ORDER_ITEMS = 900_000
ITEMS = 60_000
USERS = 120_000
MONTHS = 24
FIRST_YEAR = 2023

BYTES = 2_000_000_000       # room at scale 1, with what loading takes

# Statement by statement; {name} is replaced.
_SCHEMA = """
create table users (
    id bigserial primary key, email text not null, name text not null,
    country text not null, created_at timestamptz not null, settings jsonb);
create table items (
    id bigserial primary key, sku text not null, title text not null,
    category_id int not null, price numeric(10,2) not null, attributes jsonb,
    created_at timestamptz not null);
create table orders (
    id bigserial primary key, user_id bigint not null, status text not null,
    total numeric(12,2) not null, created_at timestamptz not null, note text);
create table order_items (
    id bigserial primary key, order_id bigint not null, item_id bigint not null,
    quantity int not null, price numeric(10,2) not null);
create table events (
    id bigserial, created_at timestamptz not null, user_id bigint not null,
    item_id bigint, kind text not null, payload jsonb not null,
    primary key (id, created_at)) partition by range (created_at);
"""

# A number from 0 on, of row i: even, or with few that are frequent.
_EVEN = "(hashint8(i + {salt} * 1000000007::bigint) & 2147483647) % {high}"
_SKEWED = ("floor({high} * power((hashint8(i + {salt} * 1000000007::bigint) & 2147483647) "
           "/ 2147483648.0, 3))::bigint")


def _even(salt, high) -> str:
    return _EVEN.format(salt=salt, high=high)


def _skewed(salt, high) -> str:
    return _SKEWED.format(salt=salt, high=high)


def _rows(number):
    """INSERT of each table; how many rows of what are given."""
    users, items, orders = (number[what] for what in ("users", "items", "orders"))
    events, lines = number["events"], number["order_items"]
    start = f"timestamptz '{FIRST_YEAR}-01-01 00:00+00'"
    span = f"interval '{MONTHS} months'"
    # In order of time, as they came.
    when = f"{start} + {span} * (i / {{rows}}.0)"
    yield f"""
        insert into users (email, name, country, created_at, settings)
        select 'user' || i || '@example.org', 'Name ' || md5(i::text),
            'c' || {_skewed(1, 40)}, {when.format(rows=users)},
            jsonb_build_object('lang', 'l' || {_even(2, 9)}, 'news', i % 3 = 0)
          from generate_series(1, {users}) i"""
    yield f"""
        insert into items (sku, title, category_id, price, attributes, created_at)
        select 'SKU-' || lpad(i::text, 8, '0'), 'Item ' || md5(i::text),
            {_skewed(3, 200)}, 1 + {_even(4, 20000)} / 100.0,
            jsonb_build_object('colour', 'k' || {_even(5, 12)}, 'text',
                repeat(md5(i::text), 6)), {when.format(rows=items)}
          from generate_series(1, {items}) i"""
    yield f"""
        insert into orders (user_id, status, total, created_at, note)
        select 1 + {_skewed(6, users)},
            (array['paid','paid','paid','shipped','shipped','open','returned',
                   'failed'])[1 + {_even(7, 8)}],
            5 + {_even(8, 90000)} / 100.0, {when.format(rows=orders)},
            repeat('note ', ({_even(9, 30)})::int)
          from generate_series(1, {orders}) i"""
    yield f"""
        insert into order_items (order_id, item_id, quantity, price)
        select 1 + {_even(10, orders)}, 1 + {_skewed(11, items)},
            1 + {_even(12, 4)}, 1 + {_even(13, 20000)} / 100.0
          from generate_series(1, {lines}) i"""
    yield f"""
        insert into events (created_at, user_id, item_id, kind, payload)
        select {when.format(rows=events + 1)}, 1 + {_skewed(14, users)},
            case when i % 4 > 0 then 1 + {_skewed(15, items)} end,
            (array['view','view','view','view','search','cart','cart','buy',
                   'login','error'])[1 + {_even(16, 10)}],
            jsonb_build_object('session', md5(({_even(17, events // 8 + 1)})::text),
                'ip', '10.' || {_even(18, 250)} || '.' || {_even(19, 250)} || '.1',
                'agent', repeat('agent ', 4 + ({_even(20, 12)})::int), 'n', i)
          from generate_series(1, {events}) i"""


INDEXES = (
    "unique index users_email on users (email)",
    "index users_created_at on users (created_at)",
    "index users_country on users (country, created_at)",
    "unique index items_sku on items (sku)",
    "index items_category on items (category_id, price)",
    "index orders_user on orders (user_id, created_at desc)",
    "index orders_created_at on orders (created_at)",
    "index orders_open on orders (created_at) where status = 'open'",
    "index order_items_order on order_items (order_id)",
    "index order_items_item on order_items (item_id)",
    "index events_user on events (user_id, created_at desc)",
    "index events_item on events (item_id)",
    "index events_created_at on events (created_at)",
    "index events_kind on events (kind, created_at)",
    "index events_session on events ((payload ->> 'session'))",
)


def numbers(scale) -> dict:
    """How many rows there are of what."""
    return {"users": max(int(scale * USERS), 100), "items": max(int(scale * ITEMS), 100),
            "orders": max(int(scale * ORDERS), 100),
            "order_items": int(scale * ORDER_ITEMS), "events": int(scale * EVENTS)}


# --- loading ----------------------------------------------------------------

def database_name(scale) -> str:
    return "app" + f"{scale:g}".replace(".", "_")


def bytes_needed(scale) -> int:
    return int(200_000_000 + scale * BYTES)


def check_room(cluster, scale, extra_bytes=0):
    """Say before loading when the disk is too small."""
    there = cluster.exists() and is_loaded(cluster, scale)
    require_room(cluster, (0 if there else bytes_needed(scale)) + extra_bytes)


def is_loaded(cluster, scale) -> bool:
    return is_made(cluster, database_name(scale))


def ensure_loaded(cluster, scale):
    """Load unless all of it is there; leaves the cluster stopped."""
    ensure_made(cluster, database_name(scale),
                f"the application's tables at scale {scale:g}",
                lambda conn: _load(conn, scale))


def is_made(cluster, name) -> bool:
    """A database gets its name when all is in it."""
    with cluster.started(), cluster.connect() as conn:
        return bool(conn.execute("select 1 from pg_database where datname = %s",
                                 (name,)).fetchone())


def ensure_made(cluster, name, what, fill):
    """A database that fill(conn) puts everything into, unless it is there."""
    if not cluster.exists():
        cluster.create()
    if is_made(cluster, name):
        return
    print(f"loading {what}", file=sys.stderr, flush=True)
    with cluster.started(LOAD_SETTINGS):
        with cluster.connect() as conn:
            conn.execute(f"drop database if exists {name}_part")
            conn.execute(f"create database {name}_part")
        with cluster.connect(f"{name}_part") as conn:
            fill(conn)
        with cluster.connect() as conn:
            conn.execute(f"alter database {name}_part rename to {name}")


def _load(conn, scale):
    """Everything, in an empty database."""
    conn.execute("set maintenance_work_mem = '512MB'")
    conn.execute("set timezone = 'UTC'")
    for statement in filter(str.strip, _SCHEMA.split(";")):
        conn.execute(statement)
    for month in range(MONTHS):
        year, number = divmod(12 * FIRST_YEAR + month, 12)
        year_after, after = divmod(12 * FIRST_YEAR + month + 1, 12)
        conn.execute(f"create table events_{year}_{number + 1:02} partition of events "
                     f"for values from ('{year}-{number + 1}-01 00:00+00') to "
                     f"('{year_after}-{after + 1}-01 00:00+00')")
    for insert in _rows(numbers(scale)):
        conn.execute(insert)
    for index in INDEXES:
        conn.execute(f"create {index}")
    conn.execute("vacuum (freeze, analyze)")
    conn.execute("checkpoint")


# --- queries ----------------------------------------------------------------

@dataclass(frozen=True)
class Query:
    name: str
    purpose: str
    sql: str
    first_rows: bool        # LIMIT without an order: any rows will do


def all_queries(scale) -> list:
    """The queries of app.sql, for a scale."""
    text = re.sub(r":(users|items|orders|events)\b",
                  lambda m: str(numbers(scale)[m[1]]), QUERIES.read_text())
    found = re.findall(r"^-- (\w+): ([^\n]*)\n([^;]*);", text, re.M)
    return [Query(name, purpose.removesuffix(" (first rows)"), sql,
                  purpose.endswith("(first rows)")) for name, purpose, sql in found]


def chosen_queries(scale, names) -> list:
    """All, or those that are named, by comma."""
    queries = all_queries(scale)
    wanted = names.split(",") if names else [q.name for q in queries]
    if unknown := set(wanted) - {q.name for q in queries}:
        raise SystemExit(f"no such query: {', '.join(sorted(unknown))}")
    return [q for q in queries if q.name in wanted]
