"""What planning costs more with anago on: Q1-Q22 of TPC-H and A-D.

    bench/python bench/experiments/planning.py --scale 1
    bench/python bench/experiments/planning.py --scale 1 --queries Q18,C --plans 500

    warm     one session, on and off in turn: catalogs, samples of indexes and
             what is cached are known; all data is cached by the kernel
    uncached the same, and no data is cached: then there is something to choose from
    first    a new session that has planned the query without anago: what has to be
             looked up once in a session, or once in a minute, is looked up

EXPLAIN says how long planning took.  Ratios are of medians and of the least; on a
machine with other work the least is the better figure.
"""

import math
import statistics

from lib import plots, queries, runs, session
from lib.cluster import fill_caches
from lib.ending import main_of
from lib.report import say

NAME = "planning"
TITLE = "Planning time"
QUESTION = "How much longer does planning take with anago switched on?"
SECTIONS = ("warm", "uncached", "first")

# Room for all data of scale 1.
SERVER = {"shared_buffers": "4GB", **session.ANAGO_SERVER}

SIDES = {"off": queries.ANAGO_OFF, "on": queries.ANAGO_ON}

# The first ones fill the caches of a session.
UNCOUNTED = 3

# The goal: no query above the first, the mean no more than the second.
MOST, MEAN = 1.08, 1.03


def planning_ms(conn, sql) -> float:
    row = conn.execute(f"explain (summary, format json) {sql}").fetchone()
    return row[0][0]["Planning Time"]


def texts_of(args) -> dict:
    """SQL of each query."""
    names = args.queries.split(",") if args.queries else \
        [*queries.TPCH, *queries.NAMES]
    return {name: queries.tpch(name, args.scale) if name in queries.TPCH
            else queries.text(name) for name in names}


def in_turn(bench, section, query, sql):
    """Planning times of each side, ms, taking turns: which begins, too."""
    taken = {side: [] for side in SIDES}
    with bench.cluster.connect(bench.dbname) as conn:
        for number in range(bench.args.plans + UNCOUNTED):
            for side in sorted(SIDES, reverse=number % 2 == 1):
                conn.execute(f"set anago.enable = {side}")
                ms = planning_ms(conn, sql)
                if number >= UNCOUNTED:
                    taken[side].append(ms)
                    bench.records(section, query, side, number, ms / 1e3)
    return taken


def first(bench, section, query, sql):
    """The first plan on, in sessions that know the tables; and one more off."""
    taken = {side: [] for side in SIDES}
    for number in range(bench.args.sessions):
        with bench.cluster.connect(bench.dbname) as conn:
            runs.set_session(conn, SIDES["off"])
            for _ in range(UNCOUNTED):
                planning_ms(conn, sql)
            for side in SIDES:
                conn.execute(f"set anago.enable = {side}")
                taken[side].append(planning_ms(conn, sql))
                bench.records(section, query, side, number, taken[side][-1] / 1e3)
    return taken


TAKE = {"warm": in_turn, "uncached": in_turn, "first": first}


def prepare(bench, section):
    """What is cached of the data is the section's, whatever was there before."""
    if section == "uncached":
        bench.cluster.restart_cold(SERVER)
    else:
        with bench.cluster.connect(bench.dbname) as conn:
            fill_caches(conn)


def section_of(bench, section, texts):
    out, rows = {}, []
    prepare(bench, section)
    for query, sql in texts.items():
        taken = TAKE[section](bench, section, query, sql)
        medians = {side: statistics.median(ms) for side, ms in taken.items()}
        least = {side: min(ms) for side, ms in taken.items()}
        out[query] = {"median_ms": medians, "least_ms": least,
                      "of_medians": medians["on"] / medians["off"],
                      "of_least": least["on"] / least["off"]}
        rows.append([query, *(f"{medians[s]:.3f}" for s in SIDES),
                     *(f"{least[s]:.3f}" for s in SIDES),
                     f"{least['on'] - least['off']:+.3f}",
                     f"{out[query]['of_medians']:.3f}",
                     f"{out[query]['of_least']:.3f}"])
        say(f"{section}: {query} {rows[-1][-2]} {rows[-1][-1]}")
    means = {key: math.exp(statistics.fmean(math.log(one[key])
                                            for one in out.values()))
             for key in ("of_medians", "of_least")}
    rows.append(["geometric mean", "", "", "", "", "",
                 *(f"{mean:.3f}" for mean in means.values())])
    bench.results.table(section, f"{section}: planning time, ms",
                        ["query", "median, off", "median, on", "least, off",
                         "least, on", "on - off", "on / off, medians",
                         "on / off, least"], rows)
    plot(bench, section, out)
    return {"geometric_mean": means,
            "above": [q for q, one in out.items() if one["of_least"] > MOST], **out}


def plot(bench, section, out):
    figure, axes = plots.plt.subplots(figsize=(7.0, 3.4))
    names = list(out)
    values = [out[q]["of_least"] for q in names]
    axes.bar(range(len(names)), [v - 1 for v in values], bottom=1, width=0.8,
             color=plots.COLOURS["anago"])
    axes.plot(range(len(names)), [out[q]["of_medians"] for q in names], "_",
              color="#444444", label="of medians")
    axes.axhline(MOST, color="#444444", linewidth=0.8, linestyle=":",
                 label=f"goal: {MEAN} in the mean, none above {MOST}")
    axes.set_xticks(range(len(names)), [n.removeprefix("Q") for n in names])
    axes.set_ylabel("planning time, on / off")
    axes.set_title(f"Planning Q1-Q22 and A-D, {section}, scale {bench.args.scale:g}")
    axes.legend(fontsize=8)
    plots.save(figure, bench.results, "-" + section)


def main():
    parser = session.parser(__doc__)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--plans", type=int, default=200,
                        help="warm plans of each query and side")
    parser.add_argument("--sessions", type=int, default=10,
                        help="new sessions for each query")
    parser.add_argument("--queries", default="", help="some only, by comma")
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    texts = texts_of(args)
    with session.experiment(NAME, TITLE, QUESTION, args) as bench, \
            bench.cluster.started(SERVER):
        bench.results.finish({section: section_of(bench, section, texts)
                              for section in wanted})


if __name__ == "__main__":
    main_of(NAME, main)
