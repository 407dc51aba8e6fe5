"""The first rows in an index's order: from one to a hundred thousand.

    bench/python bench/experiments/order.py --scale 10

The newest and the oldest orders of a date range, alone and with their line items
(query E: the newest thousand), first N rows, planned anew each time.  Seconds,
and pages that were not in shared buffers.

    cold     anago, by default settings and its planner's free choice, against
             stock's best plan of several: what its planner chooses, by default and
             with what one sets for a fast disk, and index scans
    cached   anago on and off with each of these settings, and the best of anago's
             three against the best of stock's; both tables are cached
    recent   the same, and of the tables only what these queries read is cached

Where all is cached, the settings often give one and the same plan.  The best of three
then is the one that took least by chance, or for which the planner had least to
consider (with joins and sorts switched off, half as much); so anago may try as often as
stock, and each setting is compared with itself.

The bound on pages is that of docs/architecture.md (Demand): as many as stock's
index scans read and, more than these, 16 or as many again.
"""

from dataclasses import asdict, is_dataclass

from lib import plots, queries, session, variants
from lib.cluster import fill_caches
from lib.ending import main_of
from lib.runs import Variant, of, ratio, summary

NAME = "order"
TITLE = "First rows in order"
QUESTION = ("How soon are the first N rows in an index's order there, how many pages "
            "are read for them, and is that ever more than stock's best?")
SECTIONS = ("cold", "cached", "recent")

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
STOCKS = (STOCK, TUNED, INDEX)

# The same settings with anago on.
WITH_ANAGO = {side: side.replace("stock", "anago") for side in STOCKS}


def query_name(shape, count) -> str:
    return f"{shape}, {count:,}"


def settings_of(args) -> dict:
    """What each of stock's sides sets, without anago's own."""
    limit = {"statement_timeout": f"{round(args.limit)}s"}
    return {STOCK: limit,
            TUNED: {**limit, **TUNING},
            INDEX: {**limit, **queries.INDEX_PLAN, "enable_sort": "off"}}


def variant(args, name, shape, count, settings):
    """Ties are cut anywhere: the number of rows is compared."""
    text, words = SHAPES[shape]
    return Variant(name, text.format(count=count, **words), settings,
                   session.ANAGO_SERVER, query_name(shape, count), free=True,
                   any_rows=True)


def cold_variants(args, shape, count):
    plain = settings_of(args)
    mine = {**plain[STOCK], **queries.ONE_PROCESS, **variants.anago_session(args)}
    return [*(variant(args, side, shape, count, {**plain[side], **queries.ANAGO_OFF})
              for side in STOCKS),
            variant(args, ANAGO, shape, count, mine)]


def cached_variants(args, shape, count):
    """Off and on of each setting are neighbours."""
    made = []
    for side, plain in settings_of(args).items():
        for name, own in ((side, queries.ANAGO_OFF),
                          (WITH_ANAGO[side], variants.anago_session(args))):
            made.append(variant(args, name, shape, count, {**plain, **own}))
    return made


def points(args):
    for shape in SHAPES:
        for count in COUNTS:
            if args.least <= count <= args.most:
                yield shape, count


def cold(bench):
    done = []
    for shape, count in points(bench.args):
        done += bench.cold(cold_variants(bench.args, shape, count), "cold")
    return done


def warm(bench, section, tables):
    """With these tables in the page cache, or nothing."""
    server = {"shared_buffers": bench.args.cached_buffers, **session.ANAGO_SERVER}
    done = []
    bench.cluster.restart_cold(server)
    with bench.cluster.connect(bench.dbname) as conn:
        if tables:
            fill_caches(conn, tables)
        for shape, count in points(bench.args):
            done += bench.cached(conn, cached_variants(bench.args, shape, count),
                                 section)
    bench.cluster.stop()
    return done


def cached(bench):
    return warm(bench, "cached", ["orders", "lineitem"])


def recent(bench):
    return warm(bench, "recent", [])


def pages_of(runs):
    return summary(runs, lambda run: run.pages_missing)


def most_pages(stock) -> float:
    """What a query that stops early may read, where stock reads so many."""
    return stock + max(16, stock)


def best_of(seconds, sides):
    return min(sides, key=lambda side: (bool(seconds[side].bound),
                                        seconds[side].median))


def cold_point(done, query):
    """What came out of one shape and number of rows, as data."""
    mine = {side: of(done, query, side) for side in SIDES}
    seconds = {side: summary(runs) for side, runs in mine.items()}
    best = best_of(seconds, STOCKS)
    pages = {side: pages_of(runs) for side, runs in mine.items()}
    plan = mine[ANAGO][0].plan
    return {"seconds": seconds, "pages": pages, "best": best, "best_anago": ANAGO,
            "ratio": ratio(done, query, best, ANAGO), "plan": plan,
            "bounded": "Anago" not in plan or
            pages[ANAGO].median <= most_pages(pages[INDEX].median)}


def cached_point(done, query):
    mine = {side: of(done, query, side) for side in (*STOCKS, *WITH_ANAGO.values())}
    seconds = {side: summary(runs) for side, runs in mine.items()}
    best = best_of(seconds, STOCKS)
    best_anago = best_of(seconds, WITH_ANAGO.values())
    return {"seconds": seconds, "best": best, "best_anago": best_anago,
            "ratio": ratio(done, query, best, best_anago),
            "same": {side: ratio(done, query, side, WITH_ANAGO[side])
                     for side in STOCKS},
            "plan": mine[WITH_ANAGO[STOCK]][0].plan,
            "plans": {side: mine[side][0].plan for side in WITH_ANAGO.values()}}


POINT = {"cold": cold_point, "cached": cached_point, "recent": cached_point}


def yes_no(is_so, no="no") -> str:
    return "yes" if is_so else no


def cold_row(one):
    return [*(one["seconds"][side] for side in SIDES), one["best"], one["ratio"],
            one["pages"][INDEX], one["pages"][ANAGO], yes_no(one["bounded"], "NO"),
            yes_no("Anago" in one["plan"])]


def cached_row(one):
    return [*one["seconds"].values(), *one["same"].values(), one["ratio"],
            yes_no(any("Anago" in plan for plan in one["plans"].values()))]


ROW = {"cold": cold_row, "cached": cached_row, "recent": cached_row}

CACHED_COLUMNS = [*STOCKS, *WITH_ANAGO.values(),
                  *(side.replace("stock", "stock / anago") for side in STOCKS),
                  "stock's best / anago's best", "anago in plan"]

COLUMNS = {
    "cold": [*SIDES, "stock's best", "stock's best / anago",
             "pages, stock's index scans", "pages, anago", "within the bound",
             "anago in plan"],
    "cached": CACHED_COLUMNS, "recent": CACHED_COLUMNS}


def as_data(value):
    """Summaries as dicts, however deep they are."""
    if isinstance(value, dict):
        return {key: as_data(one) for key, one in value.items()}
    return asdict(value) if is_dataclass(value) else value


def report(bench, section, done):
    found = {shape: {} for shape in SHAPES}
    rows = []
    for shape, count in points(bench.args):
        one = found[shape][count] = POINT[section](done, query_name(shape, count))
        rows.append([shape, f"{count:,}", *ROW[section](one)])
    bench.results.table(
        section, f"{section}, seconds: median (range), * some runs marked",
        ["rows of", "first", *COLUMNS[section]], rows)
    plot(bench, section, found)
    return {shape: {str(count): as_data(one) for count, one in by_count.items()}
            for shape, by_count in found.items()}


def plot(bench, section, found):
    figure, axes = plots.plt.subplots(2, 2, sharex=True, figsize=(7.0, 6.0))
    for one, (shape, by_count) in zip(axes.flat, found.items()):
        counts = list(by_count)
        best = [point["seconds"][point["best"]].median for point in by_count.values()]
        ours = [point["seconds"][point["best_anago"]] for point in by_count.values()]
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
    parser.add_argument("--cached-buffers", default="16GB",
                        help="shared_buffers of the cached runs; for both tables with "
                        "all their indexes at scale 10")
    variants.options_of_anago(parser)
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    sections = {"cold": cold, "cached": cached, "recent": recent}
    with session.experiment(NAME, TITLE, QUESTION, args) as bench:
        out = {name: report(bench, name, sections[name](bench)) for name in wanted}
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
