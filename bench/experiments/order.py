"""The first rows in an index's order: from one to a hundred thousand.

    bench/python bench/experiments/order.py --scale 10

The newest and the oldest orders of a date range, alone and with their line items
(query E: the newest thousand), first N rows.  anago and its planner's free choice
against stock's best plan of several: what its planner chooses, by default and
with what one sets for a fast disk, and index scans.  Seconds, and pages that were
not in shared buffers; cold and cached.

The bound on pages is that of docs/architecture.md (Demand): as many as stock's
index scans read and, more than these, 16 or as many again.
"""

from dataclasses import asdict

from lib import plots, queries, session, variants
from lib.ending import main_of
from lib.runs import Variant, of, ratio, summary

NAME = "order"
TITLE = "First rows in order"
QUESTION = ("How soon are the first N rows in an index's order there, how many pages "
            "are read for them, and is that ever more than stock's best?")
SECTIONS = ("cold", "cached")

COUNTS = (1, 10, 100, 1000, 10000, 100000)

SCAN = """select o_orderdate, o_orderkey, o_totalprice
  from orders
 where o_orderdate {range}
 order by o_orderdate{way}
 limit {count}"""

JOIN = """select o_orderdate, o_orderkey, l_linenumber, l_partkey, l_quantity
  from orders join lineitem on l_orderkey = o_orderkey
 where o_orderdate {range}
 order by o_orderdate{way}
 limit {count}"""

BACKWARD = {"range": "< date '1996-03-13'", "way": " desc"}
FORWARD = {"range": ">= date '1996-03-13'", "way": ""}

# name: SQL without the number of rows, what of it comes first
SHAPES = {"scan, backward": (SCAN, BACKWARD), "scan, forward": (SCAN, FORWARD),
          "join, backward": (JOIN, BACKWARD), "join, forward": (JOIN, FORWARD)}

# What is usually set for a disk without a head.
TUNING = {"random_page_cost": 1.1, "effective_io_concurrency": 200}

STOCK, TUNED, INDEX, ANAGO = SIDES = (
    "stock, defaults", "stock, tuned", "stock, index scans", "anago")


def query_name(shape, count) -> str:
    return f"{shape}, {count:,}"


def variants_of(args, shape, count):
    """Ties are cut anywhere: the number of rows is compared."""
    text, words = SHAPES[shape]
    sql = text.format(count=count, **words)
    limit = {"statement_timeout": f"{round(args.limit)}s"}
    settings = {
        STOCK: {**limit, **queries.ANAGO_OFF},
        TUNED: {**limit, **TUNING, **queries.ANAGO_OFF},
        INDEX: {**limit, **queries.INDEX_PLAN, "enable_sort": "off",
                **queries.ANAGO_OFF},
        ANAGO: {**limit, **queries.ONE_PROCESS, **variants.anago_session(args)}}
    return [Variant(side, sql, settings[side], session.ANAGO_SERVER,
                    query_name(shape, count), free=True, any_rows=True)
            for side in SIDES]


def points(args):
    for shape in SHAPES:
        for count in COUNTS:
            if args.least <= count <= args.most:
                yield shape, count


def cold(bench):
    done = []
    for shape, count in points(bench.args):
        done += bench.cold(variants_of(bench.args, shape, count), "cold")
    return done


def cached(bench):
    server = {"shared_buffers": bench.args.cached_buffers, **session.ANAGO_SERVER}
    bench.cluster.stop()
    done = []
    with bench.cluster.started(server), \
            bench.cluster.connect(bench.dbname) as conn:
        for shape, count in points(bench.args):
            done += bench.cached(conn, variants_of(bench.args, shape, count),
                                 "cached")
    return done


def pages_of(runs):
    return summary(runs, lambda run: run.pages_missing)


def most_pages(stock) -> float:
    """What a query that stops early may read, where stock reads so many."""
    return stock + max(16, stock)


def point(done, shape, count):
    """What came out of one shape and number of rows, as data."""
    query = query_name(shape, count)
    mine = {side: of(done, query, side) for side in SIDES}
    seconds = {side: summary(runs) for side, runs in mine.items()}
    best = min(SIDES[:-1], key=lambda side: (bool(seconds[side].bound),
                                             seconds[side].median))
    pages = {side: pages_of(runs) for side, runs in mine.items()}
    plan = mine[ANAGO][0].plan
    return {"seconds": seconds, "pages": pages, "best": best,
            "ratio": ratio(done, query, best, ANAGO),
            "used": "Anago" in plan, "plan": plan,
            "bounded": "Anago" not in plan or
            pages[ANAGO].median <= most_pages(pages[INDEX].median)}


def report(bench, section, done):
    found = {shape: {} for shape in SHAPES}
    rows = []
    for shape, count in points(bench.args):
        one = found[shape][count] = point(done, shape, count)
        rows.append([shape, f"{count:,}",
                     *(one["seconds"][side] for side in SIDES),
                     one["best"], one["ratio"],
                     *((one["pages"][INDEX], one["pages"][ANAGO],
                        "yes" if one["bounded"] else "NO")
                       if section == "cold" else ()),
                     "yes" if one["used"] else "no"])
    bench.results.table(
        section, f"{section}, seconds: median (range), * some runs marked",
        ["rows of", "first", *SIDES, "stock's best", "stock's best / anago",
         *(("pages, stock's index scans", "pages, anago", "within the bound")
           if section == "cold" else ()), "anago in plan"], rows)
    plot(bench, section, found)
    return {shape: {str(count): {
        "seconds": {side: asdict(s) for side, s in one["seconds"].items()},
        "pages": {side: asdict(s) for side, s in one["pages"].items()},
        "best": one["best"], "ratio": asdict(one["ratio"]), "plan": one["plan"],
        "bounded": one["bounded"]}
        for count, one in by_count.items()} for shape, by_count in found.items()}


def plot(bench, section, found):
    figure, axes = plots.plt.subplots(2, 2, sharex=True, figsize=(7.0, 6.0))
    for one, (shape, by_count) in zip(axes.flat, found.items()):
        counts = list(by_count)
        best = [min(point["seconds"][side].median for side in SIDES[:-1])
                for point in by_count.values()]
        ours = [point["seconds"][ANAGO] for point in by_count.values()]
        one.plot(counts, best, "o-", color=plots.COLOURS["stock"],
                 label="stock's best plan", markersize=4)
        one.plot(counts, [s.median for s in ours], "o-",
                 color=plots.COLOURS["anago"], label="anago", markersize=4)
        one.fill_between(counts, [s.low for s in ours], [s.high for s in ours],
                         color=plots.COLOURS["anago"], alpha=0.12, linewidth=0)
        one.set_xscale("log")
        one.set_yscale("log")
        plots.log_seconds(one.yaxis, (1,))
        one.set_title(shape, fontsize=9)
    for one in axes[1]:
        one.set_xlabel("first rows")
    for one in axes[:, 0]:
        one.set_ylabel(f"seconds, {section}")
    axes[0][0].legend(fontsize=7)
    plots.save(figure, bench.results, "-" + section)


def main():
    parser = session.parser(__doc__, repetitions=5)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--least", type=int, default=COUNTS[0])
    parser.add_argument("--most", type=int, default=COUNTS[-1],
                        help="numbers of rows from --least to --most")
    parser.add_argument("--limit", type=float, default=120,
                        help="seconds after which a query is stopped")
    parser.add_argument("--cached-buffers", default="8GB",
                        help="shared_buffers of the cached runs")
    variants.options_of_anago(parser)
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    sections = {"cold": cold, "cached": cached}
    with session.experiment(NAME, TITLE, QUESTION, args) as bench:
        out = {name: report(bench, name, sections[name](bench)) for name in wanted}
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
