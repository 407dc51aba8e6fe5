"""Looks ahead: plans of PostgreSQL's own whose pages are read before they are asked for.

    bench/python bench/experiments/ahead.py --scale 10
    bench/python bench/experiments/ahead.py --scale 1 --queries H,I --only cold

F: the newest orders of some customers (LATERAL, LIMIT), G: a correlated aggregate,
H: UPDATE by join, I: SELECT ... FOR UPDATE by index, J: INSERT ... SELECT into a table
with two indexes in no order and a foreign key, K: DELETE with a cascade; and Q2, Q17
and Q20 of TPC-H.  Stock at its best of all that lib/stock.py tries, and as it comes,
against anago with a free planner in one process, with anago.ahead on and off.

What changes or locks rows is run in a transaction that is rolled back, and the tables
are vacuumed after it, so that the next run finds them as they were.  J needs a table
of its own, which is made for it and dropped (a third of lineitem); K a foreign key, which is
made within the transaction.  Of statements that give no rows the number of rows that
they changed is compared.
"""

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

from lib import plots, queries, runs, session, stock, variants
from lib.cluster import fill_caches
from lib.ending import main_of
from lib.runs import Variant, of, ratio, summary

NAME = "ahead"
TITLE = "Looks ahead"
QUESTION = ("How much sooner are updates, deletes, locks, subqueries and nested loops "
            "done whose pages are read ahead, and does that cost anything where all is "
            "cached?")
SECTIONS = ("cold", "cached")

STOCK, OFF, ANAGO = SIDES = ("stock, defaults", "anago, ahead off", "anago")

# What is usually set for a disk without a head.
TUNING = {"random_page_cost": 1.1, "effective_io_concurrency": 200}
TUNED = "stock, tuned"

# From the table of what is wanted: cold, by stock's best; cached all want the same.
WANTED = {"F": 3.5, "G": 2.8, "H": 3, "I": 1.4, "J": 2.5, "K": 2,
          "Q2": 1.5, "Q17": 1.5, "Q20": 1.5}
WANTED_CACHED = 0.98

PICKS = ("create table picks (partkey int, suppkey int, "
         "orderkey int references orders)",
         "create index on picks (partkey)", "create index on picks (suppkey)",
         "insert into picks select l_partkey, l_suppkey, l_orderkey from lineitem "
         "where l_orderkey % 3 = 0",
         "vacuum analyze picks")

# What of these EXPLAIN says of a node that looks ahead.
FIGURES = ("Peak Rows Ahead", "Mean Rows Ahead", "Reads Issued",
           "Peak Reads in Flight", "Mean Reads in Flight")


@dataclass(frozen=True)
class Query:
    """A query, and what it leaves to be cleaned up."""
    name: str
    changes: tuple = ()     # tables
    locks: bool = False
    before: tuple = ()
    determined: tuple = ()  # columns that are the same whatever order ties come in

    def like(self, scale) -> Variant:
        """What all variants of it have in common."""
        text = queries.tpch(self.name, scale) if self.name.startswith("Q") \
            else queries.text(self.name, scale)
        return Variant("", text, query=self.name,
                       undone=bool(self.changes) or self.locks, before=self.before,
                       determined=self.determined,
                       after=tuple(f"vacuum {table}" for table in self.changes))


QUERIES = {query.name: query for query in (
    Query("F", determined=(0, 1, 3)), Query("G"), Query("H", ("lineitem",)), Query("I", locks=True),
    Query("J", ("picks",)),
    Query("K", ("orders", "lineitem"), before=(
        "alter table lineitem add foreign key (l_orderkey) references orders "
        "on delete cascade not valid",)),
    Query("Q2"), Query("Q17"), Query("Q20"))}


def variants_of(args, query):
    """Stock as it comes, and anago; by name."""
    like = query.like(args.scale)
    limit = {"statement_timeout": f"{round(1000 * args.limit)}ms"} if args.limit else {}
    ours = {**limit, **queries.ONE_PROCESS, **variants.anago_session(args)}
    return {STOCK: replace(like, name=STOCK, session=limit),
            OFF: replace(like, name=OFF, session={**ours, "anago.ahead": "off"},
                         server=session.ANAGO_SERVER, free=True),
            ANAGO: replace(like, name=ANAGO, session=ours,
                           server=session.ANAGO_SERVER, free=True)}


@contextmanager
def tables_of(bench, query):
    """Within, there is what the query needs besides TPC-H."""
    if query.name != "J":
        yield
        return

    def say(*statements):
        with bench.cluster.started(), bench.cluster.connect(bench.dbname) as conn:
            conn.execute("set maintenance_work_mem = '256MB'")
            for statement in statements:
                conn.execute(statement)
    say("drop table if exists picks", *PICKS)
    try:
        yield
    finally:
        bench.cluster.stop()
        say("drop table if exists picks")


def figures_of(bench, variant) -> dict:
    """What nodes that look ahead say of a cold run: sums, and the greatest in flight."""
    with runs.connected_cold(bench.cluster, bench.dbname, variant) as conn:
        document, _ = runs.execute(conn, replace(
            variant, sql="explain (analyze, buffers, timing off, format json) "
            + variant.sql))
        runs.clean_up(conn, variant)
    bench.cluster.stop()
    if document is None:
        return {}
    nodes = [json.dumps(node) for node in runs.anago_nodes(document[0][0][0]["Plan"])]
    found = {}
    for node in map(json.loads, nodes):
        for name, value in flat(node):
            if name in FIGURES:
                add = max if "Flight" in name or "Rows" in name else sum
                found[name] = add((found.get(name, 0), value))
    return found


def flat(node):
    """Figures of a plan node, and of groups within it, but of no other node."""
    for name, value in node.items():
        if isinstance(value, dict):
            yield from flat(value)
        elif name != "Plans" and not isinstance(value, (list, str)):
            yield name, value


def cold(bench, query):
    """(runs, name of stock's best, figures) of one query."""
    mine = variants_of(bench.args, query)
    if bench.args.finalists:
        done, best = stock.best_of(bench, query.name, "cold", bench.args.finalists,
                                   list(mine.values()), mine[STOCK])
    else:
        tuned = replace(mine[STOCK], name=TUNED, session={**mine[STOCK].session, **TUNING})
        done, best = bench.cold([*mine.values(), tuned], "cold"), TUNED
    if summary(of(done, query.name, STOCK)).median < \
            summary(of(done, query.name, best)).median:
        best = STOCK
    return done, best, figures_of(bench, mine[ANAGO])


def cached(bench, query):
    """The same with everything in shared buffers; stock as it comes, and tuned."""
    mine = variants_of(bench.args, query)
    tuned = replace(mine[STOCK], name=TUNED,
                    session={**mine[STOCK].session, **queries.ONE_PROCESS, **TUNING})
    alone = replace(mine[STOCK],
                    session={**mine[STOCK].session, **queries.ONE_PROCESS})
    of_stock = [replace(one, session={**one.session, **queries.ANAGO_OFF})
                for one in (alone, tuned)]
    server = {"shared_buffers": bench.args.cached_buffers, **session.ANAGO_SERVER}
    bench.cluster.stop()
    with bench.cluster.started(server), bench.cluster.connect(bench.dbname) as conn:
        conn.execute("load 'anago'")
        fill_caches(conn)       # planning goes by tables as a whole
        done = bench.cached(conn, [*of_stock, mine[OFF], mine[ANAGO]], "cached")
    best = min((STOCK, TUNED),
               key=lambda name: summary(of(done, query.name, name)).median)
    return done, best, {}


MEASURE = {"cold": cold, "cached": cached}


def section_of(bench, section, chosen):
    """Measure the queries; put down the table; what came out, by query."""
    rows, out = [], {}
    for query in chosen:
        with tables_of(bench, query):
            done, best, figures = MEASURE[section](bench, query)
        mine = {side: of(done, query.name, side) for side in SIDES}
        seconds = {side: summary(mine[side]) for side in SIDES}
        won = ratio(done, query.name, best, ANAGO)
        wanted = WANTED_CACHED if section == "cached" else WANTED[query.name]
        by_ahead = ratio(done, query.name, OFF, ANAGO)
        of_best = summary(of(done, query.name, best))
        pages = summary(mine[ANAGO], lambda run: run.pages_missing)
        rows.append([query.name, seconds[STOCK], of_best, seconds[OFF], seconds[ANAGO],
                     won, wanted, by_ahead, pages,
                     *(figures.get(name, "") for name in
                       ("Mean Rows Ahead", "Mean Reads in Flight")),
                     best.removeprefix("stock, "), mine[ANAGO][0].plan])
        out[query.name] = {
            "best": best, "ratio": asdict(won), "wanted": wanted,
            "ahead": asdict(by_ahead), "pages": asdict(pages), "figures": figures,
            "seconds": {name: asdict(summary(of(done, query.name, name)))
                        for name in dict.fromkeys(run.variant for run in done)},
            "plans": {name: of(done, query.name, name)[0].plan
                      for name in (best, *SIDES)}}
    bench.results.table(
        section, f"{section}, seconds: median (range), * some runs marked",
        ["query", STOCK, "stock's best", OFF, ANAGO, "stock's best / anago",
         "at least", "ahead off / on", "pages, anago", "rows ahead", "in flight",
         "stock's best is", "plan"], rows)
    plot(bench, section, out)
    return out


def plot(bench, section, out):
    figure, axes = plots.plt.subplots()
    shown = ((STOCK, lambda one: STOCK), ("stock, best", lambda one: one["best"]),
             (OFF, lambda one: OFF), (ANAGO, lambda one: ANAGO))
    series = []
    for name, which in shown:
        sums = [one["seconds"][which(one)] for one in out.values()]
        series.append((name, [s["median"] for s in sums],
                       [(s["low"], s["high"]) for s in sums]))
    plots.grouped_bars(axes, [f"{query}\n{runs.short(one['ratio']['median'])}"
                              for query, one in out.items()], series, log=True)
    axes.set_xlabel("query, and stock's best / anago")
    axes.set_ylabel(f"seconds, {section}")
    axes.set_title(f"Looks ahead, scale {bench.args.scale:g}")
    plots.save(figure, bench.results, "-" + section)


def chosen_queries(parser, args):
    wanted = args.queries.split(",")
    if unknown := set(wanted) - set(QUERIES):
        parser.error(f"no such query: {', '.join(sorted(unknown))}; there are "
                     + ", ".join(QUERIES))
    return [query for name, query in QUERIES.items() if name in wanted]


def main():
    parser = session.parser(__doc__, repetitions=5)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--queries", default=",".join(QUERIES),
                        help="queries to run, by comma")
    parser.add_argument("--cores", type=int, default=2,
                        help="cores that tuned stock may plan for")
    parser.add_argument("--finalists", type=int, default=3,
                        help="tuned settings that get all rounds; 0: stock's "
                        "defaults and the usual settings alone")
    parser.add_argument("--limit", type=float, default=300,
                        help="seconds after which a run is stopped; 0: never")
    parser.add_argument("--cached-buffers", default="8GB",
                        help="shared_buffers of the cached runs")
    variants.options_of_anago(parser)
    args = parser.parse_args()
    chosen = chosen_queries(parser, args)
    wanted = session.sections_of(args, SECTIONS)
    with session.experiment(NAME, TITLE, QUESTION, args) as bench:
        bench.results.finish({section: section_of(bench, section, chosen)
                              for section in wanted})


if __name__ == "__main__":
    main_of(NAME, main)
