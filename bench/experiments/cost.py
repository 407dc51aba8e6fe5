"""What anago costs where it has nothing to do: pgbench, planning time.

    bench/python bench/experiments/cost.py --scale 1

    select    `pgbench -S -M prepared`, one client, everything in shared buffers
    tpcb      pgbench's own transactions, like TPC-B, without waiting for commits
    planning  planning time of the 22 queries of TPC-H and of A-D
"""

import math
import statistics

from lib import pgbench, plots, queries, runs, session
from lib.ending import main_of
from lib.report import say

NAME = "cost"
TITLE = "The cost of being there"
QUESTION = ("What do short transactions and the planning of queries cost more when "
            "anago is switched on?")
SECTIONS = ("select", "tpcb", "planning")

SCRIPTS = {"select": ("-S",), "tpcb": ("-b", "tpcb-like")}
TITLES = {"select": "pgbench -S -M prepared, one client",
          "tpcb": "pgbench, TPC-B-like, -M prepared, one client"}


def transactions(bench, section):
    rows, out = pgbench.report(pgbench.rounds(
        bench, section, SCRIPTS[section], bench.args.rounds))
    bench.results.table(section, TITLES[section], pgbench.COLUMNS, rows)
    return out


def planning_ms(conn, sql) -> float:
    row = conn.execute(f"explain (summary, format json) {sql}").fetchone()
    return row[0][0]["Planning Time"]


def planning(bench):
    """Least planning time of many, on and off in turn, in warm sessions."""
    texts = {q: queries.tpch(q, bench.args.scale) for q in queries.TPCH}
    texts.update({q: queries.text(q) for q in queries.NAMES})
    rows, out, logs = [], {}, []
    sides = {"off": queries.ANAGO_OFF, "on": queries.ANAGO_ON}
    with bench.cluster.started(session.ANAGO_SERVER), \
            bench.cluster.connect(bench.dbname) as conn:
        for query, sql in texts.items():
            taken = {side: [] for side in sides}
            for number in range(bench.args.plans + 2):
                for side, settings in sides.items():
                    runs.set_session(conn, settings)
                    ms = planning_ms(conn, sql)
                    if number > 1:      # the first fill the caches
                        taken[side].append(ms)
                        bench.records("planning", query, side, number, ms / 1e3)
            medians = {s: statistics.median(ms) for s, ms in taken.items()}
            least = {s: min(ms) for s, ms in taken.items()}
            rows.append([query, *(f"{medians[s]:.3f}" for s in sides),
                         *(f"{least[s]:.3f}" for s in sides),
                         f"{least['on'] - least['off']:+.3f}",
                         f"{least['on'] / least['off']:.2f}"])
            logs.append(math.log(least["on"] / least["off"]))
            out[query] = {"median_ms": medians, "least_ms": least}
            say(f"planning: {query} done")
    mean = math.exp(statistics.fmean(logs))
    total = [sum(o["least_ms"][s] for o in out.values()) for s in sides]
    rows.append(["all", "", "", f"{total[0]:.2f}", f"{total[1]:.2f}",
                 f"{total[1] - total[0]:+.2f}", f"{mean:.2f} (geometric mean)"])
    bench.results.table("planning", "planning time, ms, of "
                        f"{bench.args.plans} each", ["query", "median, off",
                        "median, on", "least, off", "least, on", "on - off",
                        "on / off"], rows)
    plot(bench, out)
    return {"geometric_mean": mean, **out}


def plot(bench, out):
    figure, axes = plots.plt.subplots(figsize=(7.0, 3.4))
    names = list(out)
    for side, offset, colour in (("off", -0.2, plots.COLOURS["stock"]),
                                 ("on", 0.2, plots.COLOURS["anago"])):
        axes.bar([n + offset for n in range(len(names))],
                 [out[q]["least_ms"][side] for q in names], width=0.4,
                 color=colour, label=f"anago {side}")
    axes.set_xticks(range(len(names)), [n.removeprefix("Q") for n in names])
    axes.set_ylabel("planning time, ms")
    axes.set_title(f"Planning Q1-Q22 and A-D, scale {bench.args.scale:g}")
    axes.legend()
    plots.save(figure, bench.results)


def main():
    parser = session.parser(__doc__)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--rounds", type=int, default=20,
                        help=f"rounds of pgbench, {pgbench.SECONDS} s for each "
                        "of three sides")
    parser.add_argument("--plans", type=int, default=50,
                        help="plans of each query and side")
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    with session.experiment(NAME, TITLE, QUESTION, args,
                            extra_bytes=pgbench.BYTES) as bench:
        out = {section: transactions(bench, section)
               for section in SCRIPTS if section in wanted}
        if "planning" in wanted:
            out["planning"] = planning(bench)
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
