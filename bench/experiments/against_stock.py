"""Queries A-D, cold: anago against stock's defaults and stock tuned by hand.

    bench/python bench/experiments/against_stock.py --scale 10

Stock is run with its default settings, and with every setting of lib/stock.py:
several plans for each query, bitmap scans and index joins in many workers, reads
made by I/O workers and by io_uring.  All are tried once, the best few in every
round; the best of them is what anago is compared with.  anago runs in one
process, with parallel workers, and with nothing forbidden to the planner.
"""

from dataclasses import asdict

from lib import plots, queries, session, stock, variants
from lib.ending import main_of
from lib.runs import of, ratio, short, summary

NAME = "against_stock"
TITLE = "Queries A-D against stock"
QUESTION = ("How long does a selective query take from a cold disk, compared with "
            "stock PostgreSQL as it comes and with stock tuned by hand, the best "
            "of many settings for each query?")


def variants_of_anago(bench, query, workers):
    """(name, variant) of what anago is run as; workers where it has them."""
    made = [variants.anago(bench.args, query, variants.workers_name(0))]
    for number in workers:
        one = variants.anago(bench.args, query, variants.workers_name(number),
                             workers=number)
        if bench.has_workers(one):
            made.append(one)
    made.append(variants.anago_natural(bench.args, query))
    return made


def measure(bench, query):
    """All runs of one query, and the names of stock's best and anago's best."""
    mine = variants_of_anago(bench, query, bench.args.workers)
    others = [stock.stopped_after(bench.args.limit, variant) for variant in
              (variants.stock_defaults(query),
               variants.stock_same_plan(query, "stock, same plan"), *mine)]
    done, best = stock.best_of(bench, query, "against_stock",
                               bench.args.finalists, others)
    fastest = min((v.name for v in mine), key=lambda name:
                  summary(of(done, query, name)).median)
    return done, best, fastest


def compare(bench, names):
    """Measure the queries; put down the tables; return (runs, summary)."""
    runs, rows, out, settings = [], [], {}, []
    for query in names:
        done, best, fastest = measure(bench, query)
        runs += done
        to_best = ratio(done, query, best, fastest)
        to_defaults = ratio(done, query, "stock, defaults", fastest)
        rows.append([query, *(summary(of(done, query, name)) for name in
                              ("stock, defaults", "stock, same plan", best,
                               variants.workers_name(0), fastest)),
                     to_best, to_defaults])
        settings.append([query, best.removeprefix("stock, "),
                         of(done, query, best)[0].plan, fastest,
                         of(done, query, fastest)[0].plan])
        out[query] = {"best": best, "fastest": fastest,
                      "best_over_anago": asdict(to_best),
                      "defaults_over_anago": asdict(to_defaults),
                      "seconds": {name: asdict(summary(of(done, query, name)))
                                  for name in dict.fromkeys(
                                      r.variant for r in done)}}
    bench.results.table(
        "seconds", "cold, seconds: median (range), * some runs marked",
        ["query", "stock, defaults", "stock, same plan", "stock, best tuned",
         "anago, one process", "anago, best", "best tuned / anago",
         "defaults / anago"], rows)
    bench.results.table("plans", "what was best", [
        "query", "stock's settings", "stock's plan", "anago", "anago's plan"],
        settings)
    _table_of_all(bench, runs, names)
    return runs, out


def _table_of_all(bench, runs, names):
    rows = []
    for variant in dict.fromkeys(run.variant for run in runs):
        mine = [of(runs, query, variant) for query in names]
        rows.append([variant, *(summary(some) if some else "" for some in mine)])
    bench.results.table("all", "all that was tried, seconds", ["", *names], rows)


def plot(bench, out, scale):
    figure, axes = plots.plt.subplots()
    shown = (("stock, defaults", lambda o: "stock, defaults"),
             ("stock, best tuned", lambda o: o["best"]),
             ("anago, one process", lambda o: variants.workers_name(0)),
             ("anago, best", lambda o: o["fastest"]))
    series = []
    for name, which in shown:
        sums = [out[q]["seconds"][which(out[q])] for q in out]
        series.append((name, [s["median"] for s in sums],
                       [(s["low"], s["high"]) for s in sums]))
    plots.grouped_bars(axes, [
        f"{query}\n{short(found['best_over_anago']['median'])}"
        for query, found in out.items()], series, log=True)
    axes.set_xlabel("query, and best tuned stock / best of anago")
    axes.set_ylabel("seconds, cold")
    axes.set_title(f"Queries A-D, scale {scale:g}")
    plots.save(figure, bench.results)


def options(parser):
    parser.add_argument("--queries", default="A,B,C,D")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2],
                        help="anago with so many parallel workers, too")
    parser.add_argument("--cores", type=int, default=2,
                        help="cores that tuned stock may plan for")
    parser.add_argument("--finalists", type=int, default=3,
                        help="tuned settings that get all rounds")
    parser.add_argument("--limit", type=float, default=0,
                        help="seconds after which a run is stopped (tuned "
                        "settings may be earlier); 0: never")
    variants.options_of_anago(parser)


def main():
    parser = session.parser(__doc__)
    options(parser)
    args = parser.parse_args()
    with session.experiment(NAME, TITLE, QUESTION, args) as bench:
        names = [q for q in queries.NAMES if q in args.queries.split(",")]
        _, out = compare(bench, names)
        plot(bench, out, args.scale)
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
