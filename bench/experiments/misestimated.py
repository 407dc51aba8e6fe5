"""Ten thousand times as many rows as estimated: what a join by index costs.

    bench/python bench/experiments/misestimated.py

Events of which the planner expects a hundred, and there are a million, each
with its account, cold.  Variants are held to a join by index, or to a hash join, by
enable_... settings; two are free.  anago's join by index turns into a hash join
while it runs (anago.hash_fallback), or is kept from it; one has memory for no
such table.
"""

from dataclasses import asdict

from lib import misestimated, queries, session
from lib.ending import main_of
from lib.runs import Variant, of, summary

NAME = "misestimated"
TITLE = "Misestimated rows"
QUESTION = ("If a million rows come where a hundred were expected: how much longer "
            "than with the best plan does a query take?")

SQL = """select count(*), sum(x.balance)
  from events v
  join accounts x on x.id = v.account
 where v.a {0} and v.b {0} and v.c {0} and v.d {0} and v.e {0}"""

# Shares of all events that there really are.
QUERIES = {"a tenth": "= 3", "a third": "between 3 and 5"}

STOCK = "stock, join by index"
BEST = "stock, hash join"
WITHOUT = "anago, hash_fallback off"
WITH = "anago"
WITH_LITTLE = "anago, 8 MB"
FREE_STOCK = "stock, free"
FREE = "anago, free"


def variants_of(args, query):
    sql = SQL.format(QUERIES[query])
    one = {**queries.ONE_PROCESS, "statement_timeout": f"{round(args.limit)}s",
           "work_mem": args.work_mem}
    hash_join = {"enable_nestloop": "off", "enable_mergejoin": "off"}
    # the plan of the estimate, whatever the planner now fears
    by_index = {"enable_hashjoin": "off", "enable_mergejoin": "off"}
    on = {**one, **by_index, **queries.ANAGO_ON}
    return [Variant(STOCK, sql, {**one, **by_index}, {}, query),
            Variant(BEST, sql, {**one, **hash_join}, {}, query),
            Variant(WITHOUT, sql, {**on, "anago.hash_fallback": "off"},
                    session.ANAGO_SERVER, query),
            Variant(WITH, sql, on, session.ANAGO_SERVER, query),
            Variant(WITH_LITTLE, sql, {**on, "work_mem": "4MB"},
                    session.ANAGO_SERVER, query),
            Variant(FREE_STOCK, sql, one, {}, query),
            Variant(FREE, sql, {**one, **queries.ANAGO_ON}, session.ANAGO_SERVER,
                    query, free=True)]


def report(bench, done):
    rows, out = [], {}
    for query in QUERIES:
        best = summary(of(done, query, BEST)).median
        out[query] = {}
        for variant in variants_of(bench.args, query):
            mine = of(done, query, variant.name)
            seconds = summary(mine)
            pages = summary(mine, lambda run: run.pages_missing)
            cpu = summary(mine, lambda run: run.cpu_seconds)
            rows.append([query, variant.name, seconds, f"{seconds.median / best:.2f}",
                         f"{pages.median:,.0f}", cpu, mine[0].plan])
            out[query][variant.name] = {
                "seconds": asdict(seconds), "pages": asdict(pages),
                "cpu_seconds": asdict(cpu), "plan": mine[0].plan}
    bench.results.table("misestimated", "cold: median (range), * some runs marked",
                        ["events", "", "seconds", "of the hash join's",
                         "pages not in shared buffers", "CPU seconds", "plan"], rows)
    return out


def main():
    parser = session.parser(__doc__, repetitions=3)
    parser.add_argument("--limit", type=float, default=120,
                        help="seconds after which a run is stopped")
    parser.add_argument("--work-mem", default="128MB", help="work_mem")
    args = parser.parse_args()
    with session.experiment(NAME, TITLE, QUESTION, args, data=misestimated) as bench:
        variants = [v for query in QUERIES for v in variants_of(args, query)]
        bench.results.finish(report(bench, bench.cold(variants, "cold")))


if __name__ == "__main__":
    main_of(NAME, main)
