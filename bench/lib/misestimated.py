"""Data of which the planner expects ten thousand times too few rows.

    events      (id, account, a .. e, filler)   10 million rows
    accounts    (id, balance, filler)           1.5 million rows, of 330 bytes

a .. e of an event are the same number, 1 of 10: five conditions on them are
taken for independent, as there are no extended statistics.  Events of one
number lie together, so that finding them is cheap, and their accounts anywhere.
"""

from lib import app
from lib.load import require_room

EVENTS = 10_000_000
ACCOUNTS = 1_500_000
BYTES = 2_500_000_000           # at scale 1, while it is loaded


def database_name(scale) -> str:
    return "misestimated" + f"{scale:g}".replace(".", "_")


def check_room(cluster, scale, extra_bytes=0):
    """Say before loading when the disk is too small."""
    there = cluster.exists() and app.is_made(cluster, database_name(scale))
    require_room(cluster, (0 if there else int(BYTES * scale)) + extra_bytes)


def ensure_loaded(cluster, scale):
    """Load unless all of it is there; leaves the cluster stopped."""
    app.ensure_made(cluster, database_name(scale),
                    f"misestimated tables at scale {scale:g}",
                    lambda conn: _load(conn, scale))


def _load(conn, scale):
    events, accounts = round(EVENTS * scale), round(ACCOUNTS * scale)
    conn.execute(f"""
        create table accounts (id int, balance int, filler text);
        insert into accounts select n, n % 1000, repeat('x', 300)
            from generate_series(1, {accounts}) n;
        alter table accounts add primary key (id);
        create table events (id int, account int, a int, b int, c int, d int, e int,
                             filler text);
        insert into events select n, (hashint4(n) & 2147483647) % {accounts} + 1,
                k, k, k, k, k, 'event'
            from (select n, (n::bigint * 10 / {events + 1})::int as k
                  from generate_series(1, {events}) n) x;
        create index events_a on events (a)""")
    conn.execute("vacuum analyze accounts")
    conn.execute("vacuum analyze events")
    conn.execute("checkpoint")
