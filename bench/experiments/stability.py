"""Does a plan depend on what ANALYZE happened to sample?  Queries A-D.

    bench/python bench/experiments/stability.py --scale 1
    bench/python bench/experiments/stability.py --scale 10 --rounds 20 --queries B,D

Each round analyzes the query's tables in a transaction, which samples other rows,
plans the query with anago off and on, and rolls back.  Nothing is written down
but the plans: how many different ones there were on each side, and the smallest and
largest number of distinct order keys of lineitem that a sample has led to.
"""

from collections import Counter

from lib import queries, runs, session
from lib.ending import main_of
from lib.report import say

NAME = "stability"
TITLE = "Stable plans"
QUESTION = "How many plans does a query have if its tables are analyzed again and again?"

SIDES = {"off": queries.ANAGO_OFF, "on": queries.ANAGO_ON}

# As if nothing were cached: what is cached changes while one looks.
SETTINGS = {"anago.residency": "off"}

TABLES = ("customer", "orders", "lineitem", "part", "partsupp", "supplier", "nation")

DISTINCT = """select case when n_distinct < 0 then -n_distinct * reltuples
        else n_distinct end
  from pg_stats join pg_class on relname = tablename
 where tablename = 'lineitem' and attname = 'l_orderkey'"""


def analyzed(bench, conn, number, texts, plans, distinct):
    """Plans of all queries after one more ANALYZE."""
    conn.execute("begin")
    try:
        conn.execute(f"analyze {', '.join(TABLES)}")
        distinct.append(conn.execute(DISTINCT).fetchone()[0])
        for side, settings in SIDES.items():
            for name, value in {**SETTINGS, **settings}.items():
                conn.execute("select set_config(%s, %s, true)", (name, value))
            for query, sql in texts.items():
                plan = runs.plan_summary(runs.plan_of(conn, sql))
                plans[query, side][plan] += 1
                bench.records("plans", query, side, number, 0, plan=plan)
    finally:
        conn.execute("rollback")
    say(f"round {number}: {distinct[-1]:,.0f} distinct order keys")


def report(bench, texts, plans, distinct):
    rows, out = [], {}
    for query in texts:
        for side in SIDES:
            found = plans[query, side].most_common()
            out[f"{query} {side}"] = dict(found)
            rows += [[query, side, len(found), times, plan]
                     for plan, times in found]
    bench.results.table("plans", f"plans after {bench.args.rounds} times ANALYZE; order "
                        f"keys of lineitem estimated at {min(distinct):,.0f} to "
                        f"{max(distinct):,.0f}",
                        ["query", "anago", "plans", "times", "plan"], rows)
    return out


def main():
    parser = session.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="times ANALYZE")
    parser.add_argument("--queries", default=",".join(queries.NAMES),
                        help="some only, by comma")
    args = parser.parse_args()
    texts = {name: queries.text(name) for name in args.queries.split(",")}
    plans = {(query, side): Counter() for query in texts for side in SIDES}
    distinct = []
    with session.experiment(NAME, TITLE, QUESTION, args) as bench, \
            bench.cluster.started(session.ANAGO_SERVER), \
            bench.cluster.connect(bench.dbname) as conn:
        for number in range(args.rounds):
            analyzed(bench, conn, number, texts, plans, distinct)
        bench.results.finish(report(bench, texts, plans, distinct))


if __name__ == "__main__":
    main_of(NAME, main)
