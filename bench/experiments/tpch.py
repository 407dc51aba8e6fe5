"""The 22 queries of TPC-H, cold and cached: anago on against stock.

    bench/python bench/experiments/tpch.py --scale 1
    bench/python bench/experiments/tpch.py --scale 10 --only cold

Both sides have the same settings, and the planner is free: anago may be chosen
for a part of a query or not at all.  Most of the 22 read large parts of tables,
where index plans are not the fastest: the question here is whether anago does
any harm there, and where it helps.  At scale 1 the rows are compared with the
reference answers, and always those of both sides with each other.
"""

import math
import statistics
from dataclasses import asdict

from lib import answers, plots, queries, runs, session
from lib.ending import main_of
from lib.runs import Variant, of, ratio, summary

NAME = "tpch"
TITLE = "TPC-H Q1 to Q22"
QUESTION = ("What does switching anago on change for the queries of TPC-H, most of "
            "which are better served by full scans?")
SECTIONS = ("cold", "cached")

# More memory for sorts and hashes than the default 4 MB, for both sides.
SESSION = {"work_mem": "64MB"}


def variants_of(args, query):
    sql = queries.tpch(query, args.scale)
    both = {**SESSION, "statement_timeout": f"{round(args.limit)}s",
            "max_parallel_workers_per_gather": args.workers}
    return [Variant("stock", sql, {**both, **queries.ANAGO_OFF},
                    session.ANAGO_SERVER, query),
            Variant("with anago", sql, {**both, **queries.ANAGO_ON},
                    session.ANAGO_SERVER, query, free=True)]


def check_answers(bench, conn):
    """Rows of both sides against the reference answers; scale 1 only."""
    if bench.args.scale != 1:
        bench.results.note("reference answers exist for scale 1 only: rows are "
                           "compared between the two sides")
        return None
    wrong = []
    for query in queries.TPCH:
        for variant in variants_of(bench.args, query):
            runs.set_session(conn, {**variant.session, "statement_timeout": 0})
            rows = conn.execute(variant.sql).fetchall()
            if difference := answers.difference(query, rows):
                wrong.append(f"{variant.name}: {difference}")
    for one in wrong:
        bench.results.note("not the reference answer: " + one)
    bench.results.note(f"reference answers: {44 - len(wrong)} of 44 results "
                       "(22 queries, both sides) agree")
    return len(wrong)


def cached(bench):
    """All queries on one warm server; first their answers are checked."""
    done = []
    server = {"shared_buffers": bench.args.cached_buffers,
              **session.ANAGO_SERVER}
    bench.cluster.stop()
    with bench.cluster.started(server), \
            bench.cluster.connect(bench.dbname) as conn:
        wrong = check_answers(bench, conn)
        for query in queries.TPCH:
            done += bench.cached(conn, variants_of(bench.args, query), "cached")
    return done, wrong


def cold(bench):
    done = []
    for query in queries.TPCH:
        done += bench.cold(variants_of(bench.args, query), "cold")
    return done


def report(bench, section, done):
    rows, out, logs, cpu_logs = [], {}, [], []
    for query in queries.TPCH:
        stock, mine = (of(done, query, name) for name in ("stock", "with anago"))
        quotient = ratio(done, query, "stock", "with anago")
        cpu = ratio(done, query, "stock", "with anago",
                    lambda run: run.some_cpu_seconds)
        used = "Anago" in mine[0].plan
        rows.append([query, summary(stock), summary(mine), quotient,
                     "" if cpu.bound else f"{cpu.median:.2f}",
                     "yes" if used else "no",
                     f"{summary(stock, lambda r: r.pages_missing).median:,.0f}",
                     f"{summary(mine, lambda r: r.pages_missing).median:,.0f}"])
        if not quotient.bound:
            logs.append(math.log(quotient.median))
            cpu_logs.append(math.log(cpu.median))
        out[query] = {"ratio": asdict(quotient), "cpu_ratio": asdict(cpu),
                      "anago_used": used,
                      "stock": asdict(summary(stock)),
                      "anago": asdict(summary(mine)),
                      "plans": {"stock": stock[0].plan, "anago": mine[0].plan}}
    mean, cpu_mean = (math.exp(statistics.fmean(some)) if some else math.nan
                      for some in (logs, cpu_logs))
    rows.append([f"geometric mean of {len(logs)}", "", "", f"{mean:.2f}",
                 f"{cpu_mean:.2f}", "", "", ""])
    bench.results.table(section, f"{section}, seconds: median (range), * some "
                        "runs marked", ["query", "stock", "with anago",
                                        "stock / with anago", "the same, CPU",
                                        "anago in plan",
                                        "pages missing, stock",
                                        "pages missing, with anago"], rows)
    plot(bench, section, out)
    return {"geometric_mean": mean, "geometric_mean_cpu": cpu_mean, **out}


def plot(bench, section, out):
    figure, axes = plots.plt.subplots(figsize=(7.0, 3.4))
    names = list(out)
    values = [out[q]["ratio"]["median"] for q in names]
    colours = [plots.COLOURS["anago"] if out[q]["anago_used"] else "#c9ced6"
               for q in names]
    axes.bar(range(len(names)), [v - 1 for v in values], bottom=1,
             color=colours, width=0.8)
    for number, query in enumerate(names):
        if bound := out[query]["ratio"]["bound"]:
            axes.text(number, 1, bound if len(bound) == 1 else "?", ha="center")
        low, high = (out[query]["ratio"][k] for k in ("low", "high"))
        axes.plot([number, number], [low, high], color="#444444", linewidth=0.8)
    axes.axhline(1, color="#444444", linewidth=0.8)
    axes.set_yscale("log")
    plots.log_seconds(axes.yaxis)
    axes.set_xticks(range(len(names)), [n[1:] for n in names])
    axes.set_ylabel("stock / with anago")
    axes.set_title(f"TPC-H Q1-Q22, {section}, scale {bench.args.scale:g} "
                   "(red: anago in the plan)")
    plots.save(figure, bench.results, "-" + section)


def main():
    parser = session.parser(__doc__, repetitions=3)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--workers", type=int, default=2,
                        help="max_parallel_workers_per_gather of both sides")
    parser.add_argument("--limit", type=float, default=300,
                        help="seconds after which a query is stopped")
    parser.add_argument("--cached-buffers", default="8GB",
                        help="shared_buffers of the cached runs")
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    with session.experiment(NAME, TITLE, QUESTION, args) as bench:
        out = {}
        if "cached" in wanted:
            done, wrong = cached(bench)
            if wrong:
                raise runs.RowsDiffer("rows differ from the reference answers")
            out["cached"] = report(bench, "cached", done)
        if "cold" in wanted:
            out["cold"] = report(bench, "cold", cold(bench))
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
