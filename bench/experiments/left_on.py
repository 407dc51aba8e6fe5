"""anago left on: every query with it and without, the planner free.

    bench/python bench/experiments/left_on.py --scale 1
    bench/python bench/experiments/left_on.py --scale 10 --only cold --random 1000
    bench/python bench/experiments/left_on.py --sources app --settings tuned

Q1 to Q22 of TPC-H, A-D, random queries over TPC-H's tables
(t/lib/differ/tpch.py: selective conditions, chains of joins along indexes), and those of
an application (app.py).  Both sides have the same settings: stock's defaults, and
what one sets for a fast disk.  What comes out is a distribution: ratios of the
times, worst ten with both plans, total time.  A query of at least 10 ms that was
slower than 0.9 of stock is run again, ten times, before it is believed.
"""

import math
import random
import statistics
from dataclasses import dataclass, replace

from differ.tpch import TpchGenerator
from lib import app, plots, queries, session
from lib.ending import main_of
from lib.runs import Variant, of, ratio, summary

NAME = "left_on"
TITLE = "Left on"
QUESTION = ("With anago switched on for everything and the planner free: which "
            "queries become faster, and does any become slower?")
SECTIONS = ("cached", "cold")
SOURCES = ("tpch", "random", "app")

# What is usually set for a disk without a head.
SETTINGS = {"defaults": {},
            "tuned": {"random_page_cost": 1.1, "effective_io_concurrency": 200}}
SIDES = OFF, ON = "stock", "with anago"

# A query that is slower than this, and takes at least that long, is a loser.
LOSES = 0.9
COUNTS_S = 0.010

AGAIN = 10                  # repetitions of losers
WORST = 10                  # shown with both plans

# How many times as many rows as in tests random queries begin with and give.
SIZES = (1, 10, 100)
QUANTILES = (0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 1)


@dataclass(frozen=True)
class Query:
    name: str
    sql: str
    any_rows: bool = False  # LIMIT without an order


def queries_of(source, args) -> list:
    if source == "app":
        return [Query(q.name, q.sql, q.first_rows)
                for q in app.all_queries(args.scale)]
    if source == "tpch":
        return ([Query(q, queries.tpch(q, args.scale)) for q in queries.TPCH]
                + [Query(q, queries.text(q)) for q in queries.NAMES])
    made = []
    for number in range(args.random):
        rng = random.Random(f"{args.seed} {number}")
        generator = TpchGenerator(rng, rng.choice(SIZES), args.scale)
        made.append(Query(f"random {number}", generator.text()))
    return made


def variants_of(args, query, settings):
    both = {**SETTINGS[settings], "statement_timeout": f"{round(args.limit)}s"}
    return [Variant(side, query.sql, {**both, **switch}, session.ANAGO_SERVER,
                    query.name, free=True, any_rows=query.any_rows)
            for side, switch in ((OFF, queries.ANAGO_OFF),
                                 (ON, queries.ANAGO_ON))]


def loses(done, query) -> bool:
    """Is it slower with anago, by so much that it counts?"""
    one = ratio(done, query.name, OFF, ON)
    return (one.median < LOSES and "<" not in one.bound
            and summary(of(done, query.name, ON)).median >= COUNTS_S)


def measured(run, query):
    """Runs of one query; once more, and only those, if it loses."""
    done = run()
    if loses(done, query):
        again = run(repetitions=AGAIN)
        return again, loses(again, query)
    return done, False


def all_cold(bench, section, settings, chosen):
    for query in chosen:
        variants = variants_of(bench.args, query, settings)

        def run(repetitions=None):
            return bench.cold(variants, section, repetitions)
        yield query, *measured(run, query)


def all_cached(bench, section, settings, chosen):
    server = {"shared_buffers": bench.args.cached_buffers, **session.ANAGO_SERVER}
    bench.cluster.stop()
    with bench.cluster.started(server), \
            bench.cluster.connect(bench.dbname) as conn:
        for query in chosen:
            variants = variants_of(bench.args, query, settings)

            def run(repetitions=None):
                return bench.cached(conn, variants, section, repetitions)
            yield query, *measured(run, query)


ALL = {"cold": all_cold, "cached": all_cached}


def outcome(query, done, lost) -> dict:
    """One query, as a row of the distribution."""
    one = ratio(done, query.name, OFF, ON)
    seconds = {side: summary(of(done, query.name, side)).median for side in SIDES}
    plans = {side: of(done, query.name, side)[0].plan for side in SIDES}
    return {"query": query.name, "sql": query.sql, "ratio": one.median,
            "bound": one.bound, "low": one.low, "high": one.high, "loses": lost,
            "seconds": seconds, "plans": plans, "anago": "Anago" in plans[ON],
            "same_plan": plans[ON] == plans[OFF]}


def geometric_mean(values) -> float:
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def quantile(values, share) -> float:
    """Of sorted values, the nearest one."""
    return values[round(share * (len(values) - 1))]


def distribution(what, outs) -> list:
    ratios = sorted(out["ratio"] for out in outs if len(out["bound"]) < 2)
    total = {side: sum(out["seconds"][side] for out in outs) for side in SIDES}
    losers = [out for out in outs if out["loses"]]
    return [what, len(outs), sum(out["anago"] for out in outs),
            f"{geometric_mean(ratios):.2f}",
            *(f"{quantile(ratios, share):.2f}" if ratios else ""
              for share in QUANTILES),
            f"{total[OFF]:.2f}", f"{total[ON]:.2f}",
            f"{total[ON] / total[OFF]:.2f}" if total[OFF] else "", len(losers)]


def said(value) -> str:
    return f"{value:.4f}"


def table_of_worst(bench, key, outs):
    worst = sorted((out for out in outs if out["seconds"][ON] >= COUNTS_S),
                   key=lambda out: out["ratio"])[:WORST]
    bench.results.table(
        f"{key}-worst", f"{key}: the worst {WORST} of at least "
        f"{COUNTS_S * 1000:.0f} ms, seconds",
        ["query", "stock", "with anago", "stock / with anago", "believed",
         "plan with anago", "stock's plan"],
        [[out["query"], said(out["seconds"][OFF]), said(out["seconds"][ON]),
          f"{out['bound']}{out['ratio']:.2f}", "yes" if out["loses"] else "",
          out["plans"][ON],
          "the same" if out["same_plan"] else out["plans"][OFF]]
         for out in worst])


def plot(bench, section, known):
    """For each source and settings, what share of queries has what ratio."""
    figure, axes = plots.plt.subplots(figsize=(7.0, 4.2))
    for (source, settings), outs in known.items():
        ratios = sorted(out["ratio"] for out in outs)
        axes.step(ratios, [(n + 1) / len(ratios) for n in range(len(ratios))],
                  where="post", label=f"{source}, {settings} ({len(ratios)})",
                  linestyle="-" if settings == "defaults" else "--")
    axes.axvline(1, color="#444444", linewidth=0.8)
    axes.set_xscale("log")
    plots.log_seconds(axes.xaxis)
    axes.set_xlabel("stock / with anago, the same settings")
    axes.set_ylabel("share of queries")
    axes.set_title(f"anago left on, {section}, scale {bench.args.scale:g}")
    axes.legend(fontsize=8)
    plots.save(figure, bench.results, "-" + section)


def bench_of(bench, source):
    """The same bench, on the application's tables if it is about these."""
    if source != "app":
        return bench
    scale = bench.args.scale
    app.ensure_loaded(bench.cluster, scale)
    session.create_extension(bench.cluster, app.database_name(scale))
    return replace(bench, dbname=app.database_name(scale))


def section_of(bench, section, sources, settings):
    known, rows = {}, []
    for source in sources:
        chosen = queries_of(source, bench.args)
        for name in settings:
            key = f"{section}-{source}-{name}"
            outs = [outcome(*done) for done in
                    ALL[section](bench_of(bench, source), key, name, chosen)]
            known[source, name] = outs
            rows.append(distribution(f"{source}, {name}", outs))
            table_of_worst(bench, key, outs)
    bench.results.table(
        section, f"{section}: stock / with anago; seconds are sums of medians; losers: "
        f"of at least {COUNTS_S * 1000:.0f} ms and below {LOSES}, also when run again",
        ["queries", "number", "anago in plan", "geometric mean",
         *("worst" if share == 0 else "best" if share == 1 else
           f"{100 * share:g}%" for share in QUANTILES),
         "seconds, stock", "with anago", "with / stock", "losers"], rows)
    plot(bench, section, known)
    return {f"{source}-{name}": outs for (source, name), outs in known.items()}


def some_of(parser, text, known, what):
    wanted = text.split(",")
    if unknown := set(wanted) - set(known):
        parser.error(f"no such {what}: {', '.join(sorted(unknown))}; there are "
                     + ", ".join(known))
    return [one for one in known if one in wanted]


def main():
    parser = session.parser(__doc__, repetitions=3)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--sources", default=",".join(SOURCES),
                        help="whose queries, by comma")
    parser.add_argument("--settings", default=",".join(SETTINGS),
                        help="settings of both sides, by comma")
    parser.add_argument("--random", type=int, default=1000, help="random queries")
    parser.add_argument("--seed", type=int, default=1, help="of random queries")
    parser.add_argument("--limit", type=float, default=300,
                        help="seconds after which a query is stopped")
    parser.add_argument("--cached-buffers", default="8GB",
                        help="shared_buffers of the cached runs")
    args = parser.parse_args()
    sources = some_of(parser, args.sources, SOURCES, "source")
    settings = some_of(parser, args.settings, SETTINGS, "settings")
    wanted = session.sections_of(args, SECTIONS)
    with session.experiment(NAME, TITLE, QUESTION, args,
                            extra_bytes=app.bytes_needed(args.scale)
                            if "app" in sources else 0) as bench:
        bench.results.finish({section: section_of(bench, section, sources, settings)
                              for section in wanted})


if __name__ == "__main__":
    main_of(NAME, main)
