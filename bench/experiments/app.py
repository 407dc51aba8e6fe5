"""32 queries of an application, cold and cached: anago on against stock.

    bench/python bench/experiments/app.py --scale 1
    bench/python bench/experiments/app.py --scale 0.2 --only cached

Pages of lists, lookups by key, IN lists, joins that stop after a few rows, counts:
the queries are in bench/queries/app.sql, the tables in bench/lib/app.py.  At scale 1
there are 2.2 million events in monthly partitions.  Three sides, and the planner is
free in each: stock's defaults, stock with what one sets for a fast disk, and the
latter with anago on.  Rows are compared.
"""

import math
import re
import statistics
from dataclasses import asdict

from lib import app, plots, queries, session
from lib.ending import main_of
from lib.runs import Variant, of, ratio, summary

NAME = "app"
TITLE = "Queries of an application"
QUESTION = ("What does switching anago on change for the short and middling queries "
            "of an application, with settings for a fast disk?")
SECTIONS = ("cold", "cached")

DEFAULTS, TUNED, ANAGO = SIDES = ("stock, defaults", "stock, tuned", "with anago")

# What is usually set for a disk without a head.
TUNING = {"random_page_cost": 1.1, "effective_io_concurrency": 200}

# Below this ratio to stock with the same settings a query is a loser.
LOSES = 0.95


def variants_of(args, query):
    limit = {"statement_timeout": f"{round(args.limit)}s"}
    settings = {DEFAULTS: {**limit, **queries.ANAGO_OFF},
                TUNED: {**limit, **TUNING, **queries.ANAGO_OFF},
                ANAGO: {**limit, **TUNING, **queries.ANAGO_ON}}
    return [Variant(side, query.sql, settings[side], session.ANAGO_SERVER,
                    query.name, free=True, any_rows=query.first_rows)
            for side in SIDES]


def cached(bench, chosen):
    server = {"shared_buffers": bench.args.cached_buffers, **session.ANAGO_SERVER}
    bench.cluster.stop()
    done = []
    with bench.cluster.started(server), \
            bench.cluster.connect(bench.dbname) as conn:
        for query in chosen:
            done += bench.cached(conn, variants_of(bench.args, query), "cached")
    return done


def cold(bench, chosen):
    done = []
    for query in chosen:
        done += bench.cold(variants_of(bench.args, query), "cold")
    return done


def geometric_mean(ratios) -> float:
    """Of those that say something."""
    logs = [math.log(one.median) for one in ratios if not one.bound]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def brief(plan) -> str:
    """A plan with one word for all partitions of a table, and one for a run of them."""
    plan = re.sub(r"events_\d{4}_\d\d", "events_*", plan)

    def fewer(match):
        return f"{match[1]} x {len(re.findall(re.escape(match[1]), match[0]))}"
    return re.sub(r"(\w+ events_\*\w*)(?:, \1(?!\w))+", fewer, plan)


def report(bench, section, chosen, done):
    rows, out, losers, cpus = [], {}, [], []
    ratios = {DEFAULTS: [], TUNED: []}
    for query in chosen:
        mine = {side: of(done, query.name, side) for side in SIDES}
        against = {side: ratio(done, query.name, side, ANAGO) for side in ratios}
        for side, one in against.items():
            ratios[side].append(one)
        plans = {side: mine[side][0].plan for side in SIDES}
        used = "Anago" in plans[ANAGO]
        cpu = ratio(done, query.name, TUNED, ANAGO, lambda r: r.some_cpu_seconds)
        cpus.append(cpu)
        rows.append([query.name, *(summary(mine[side]) for side in SIDES),
                     against[DEFAULTS], against[TUNED],
                     f"{cpu.median:.2f}" if section == "cached" else "",
                     "yes" if used else "no", query.purpose])
        out[query.name] = {
            "ratio": asdict(against[TUNED]), "to_defaults": asdict(against[DEFAULTS]),
            "seconds": {side: asdict(summary(mine[side])) for side in SIDES},
            "anago_used": used, "plans": plans}
        if against[TUNED].median < LOSES and "<" not in against[TUNED].bound:
            losers.append([query.name, against[TUNED], brief(plans[ANAGO]),
                           "the same" if plans[ANAGO] == plans[TUNED] else
                           brief(plans[TUNED])])
    means = {side: geometric_mean(some) for side, some in ratios.items()}
    rows.append([f"geometric mean of {len(chosen)}", "", "", "",
                 f"{means[DEFAULTS]:.2f}", f"{means[TUNED]:.2f}",
                 f"{geometric_mean(cpus):.2f}" if section == "cached" else "", "", ""])
    bench.results.table(section, f"{section}, seconds: median (range), * some runs "
                        "marked", ["query", *SIDES, "defaults / with anago",
                                   "tuned / with anago", "the same, CPU",
                                   "anago in plan", "what it asks"], rows)
    bench.results.table(f"{section}-slower", f"{section}: below {LOSES} of stock's "
                        "speed with the same settings",
                        ["query", "tuned / with anago", "plan with anago",
                         "stock's plan"], losers)
    plot(bench, section, out)
    return {"geometric_mean": means, **out}


def plot(bench, section, out):
    figure, axes = plots.plt.subplots(figsize=(7.0, 5.2))
    names = sorted(out, key=lambda name: out[name]["ratio"]["median"])
    for number, name in enumerate(names):
        one = out[name]["ratio"]
        axes.barh(number, one["median"] - 1, left=1, height=0.75,
                  color=plots.COLOURS["anago"] if out[name]["anago_used"]
                  else "#c9ced6")
        axes.plot([one["low"], one["high"]], [number, number], color="#444444",
                  linewidth=0.8)
    axes.axvline(1, color="#444444", linewidth=0.8)
    axes.set_xscale("log")
    plots.log_seconds(axes.xaxis)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel("stock, tuned / with anago, the same settings")
    axes.set_title(f"Queries of an application, {section}, scale "
                   f"{bench.args.scale:g} (red: anago in the plan)", fontsize=10)
    plots.save(figure, bench.results, "-" + section)


def main():
    parser = session.parser(__doc__, repetitions=3)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--limit", type=float, default=60,
                        help="seconds after which a query is stopped")
    parser.add_argument("--queries", default="", help="some only, by comma")
    parser.add_argument("--cached-buffers", default="4GB",
                        help="shared_buffers of the cached runs")
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    chosen = app.chosen_queries(args.scale, args.queries)
    with session.experiment(NAME, TITLE, QUESTION, args, data=app) as bench:
        out = {}
        if "cached" in wanted:
            out["cached"] = report(bench, "cached", chosen, cached(bench, chosen))
        if "cold" in wanted:
            out["cold"] = report(bench, "cold", chosen, cold(bench, chosen))
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
