"""From one customer in a million to one in ten: who is fastest where.

    bench/python bench/experiments/selectivity.py --scale 10

Customers, their orders and the orders' line items, for the customers with
c_custkey up to x.  anago out of order and serial, stock's nested loop and hash
join, each held to its plan by enable_... settings, and what each planner chooses
when nothing is forbidden.  A variant that is expected to take longer than --limit
at the next selectivity, from the time it took at this one, is not run there.  The
device is measured first, by anago_calibrate(), unless --uncalibrated.
"""

import math
from contextlib import nullcontext
from dataclasses import asdict

from lib import plots, queries, session, tpch, variants
from lib.calibration import calibrated
from lib.ending import main_of
from lib.runs import Variant, of, summary

NAME = "selectivity"
TITLE = "Selectivity"
QUESTION = ("Up to which share of the customers is an index plan worth it, in "
            "order and out of order, and does the planner know?")

SHARES = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)

SQL = """select count(*), sum(l.l_extendedprice * (1 - l.l_discount))
  from customer c
  join orders o on o.o_custkey = c.c_custkey
  join lineitem l on l.l_orderkey = o.o_orderkey
 where c.c_custkey <= {last}"""

CHOICE = "choice with anago"

HASH_PLAN = {**queries.ONE_PROCESS, "enable_nestloop": "off",
             "enable_mergejoin": "off"}


def variants_at(args, share, last):
    query = f"{100 * share:g}%"
    sql = SQL.format(last=last)
    timeout = {"statement_timeout": f"{round(2 * args.limit)}s"}
    made = [
        variants.anago(args, query, "anago ooo", sql=sql, **timeout),
        variants.anago(args, query, "anago serial", sql=sql,
                       **{"anago.mode": "serial"}, **timeout),
        variants.stock_same_plan(query, "stock, nested loop", sql=sql,
                                 **timeout),
        Variant("stock, hash join", sql, {**HASH_PLAN, **timeout}, {}, query),
        variants.stock_defaults(query, "stock's choice", sql=sql, **timeout),
        Variant(CHOICE, sql,
                {**variants.anago_session(args), **timeout},
                session.ANAGO_SERVER, query, free=True),
    ]
    if args.workers:
        made.insert(1, variants.anago(
            args, query, variants.workers_name(args.workers), args.workers,
            sql=sql, **timeout))
    return made


def points(args):
    """(share, last customer) with at least one customer, within the options."""
    customers = next(t for t in tpch.TABLES if t.name == "customer").rows
    for share in SHARES:
        last = round(customers * args.scale * share)
        if last >= 1 and args.least <= share <= args.most * 1.0001:
            yield share, last


def measure(bench):
    """All points; {variant name: {share: [runs]}}."""
    found, expected = {}, {}
    before = None
    for share, last in points(bench.args):
        here = variants_at(bench.args, share, last)
        if bench.args.workers and before is None and \
                not bench.has_workers(here[1]):
            bench.args.workers = 0
            here = variants_at(bench.args, share, last)
        growth = share / before if before else 1
        chosen = [v for v in here if
                  expected.get(v.name, 0) * growth <= bench.args.limit]
        for variant in here:
            if variant not in chosen:
                expected[variant.name] = math.inf
                bench.results.note(f"{variant.name}: expected to take more than "
                                   f"{bench.args.limit:g} s from {variant.query} "
                                   "on: not run")
        done = bench.cold(chosen, "selectivity")
        for variant in chosen:
            mine = of(done, variant.query, variant.name)
            found.setdefault(variant.name, {})[share] = mine
            expected[variant.name] = summary(mine).median
            # A full scan costs the same at the next selectivity.
            if "hash" in variant.name or "choice" in variant.name:
                expected[variant.name] /= 3.5
        before = share
    return found


def least(sums, wanted):
    """Seconds of the fastest of the variants whose names are wanted."""
    return min((s.median for name, s in sums.items()
                if wanted(name) and not s.bound), default=math.nan)


def report(bench, found):
    shares = sorted({share for of_one in found.values() for share in of_one})
    rows, out = [], {}
    for share in shares:
        last = dict(points(bench.args))[share]
        sums = {name: summary(of_one[share]) for name, of_one in found.items()
                if share in of_one}
        best_stock = least(sums, lambda name: "stock" in name)
        best = least(sums, lambda name: name != CHOICE)
        ooo = sums.get("anago ooo")
        rows.append([f"{100 * share:g}%", f"{last:,}",
                     *(sums.get(name, "") for name in found),
                     f"{best_stock / ooo.median:.2f}"
                     if ooo and not ooo.bound else "",
                     f"{sums[CHOICE].median / best:.2f}" if CHOICE in sums else ""])
        out[f"{share:g}"] = {
            "customers": last, "seconds": {n: asdict(s) for n, s in sums.items()},
            "plans": {n: found[n][share][0].plan for n in sums}}
    bench.results.table("seconds", "cold, seconds: median (range), * some runs "
                        "marked", ["share", "customers", *found,
                                   "best of these three / anago ooo",
                                   "choice / best of all"], rows)
    bench.results.table("choice", "what the planners chose",
                        ["share", "stock's choice", "choice with anago"],
                        [[f"{100 * s:g}%", *(found[n][s][0].plan if
                                             s in found.get(n, {}) else ""
                                             for n in ("stock's choice",
                                                       "choice with anago"))]
                         for s in shares])
    return out


STYLES = {"anago ooo": ("#d1495b", "o-"), "anago serial": ("#8d96a3", "o-"),
          "stock, nested loop": ("#00798c", "s-"),
          "stock, hash join": ("#003d5b", "s-"),
          "stock's choice": ("#66a5ad", "s:"),
          CHOICE: ("#edae49", "o:")}


def plot(bench, found):
    figure, axes = plots.plt.subplots()
    for name, of_one in found.items():
        shares = sorted(of_one)
        sums = [summary(of_one[share]) for share in shares]
        colour, style = STYLES.get(name, ("#6a0f22", "o-"))
        axes.plot([100 * s for s in shares], [s.median for s in sums], style,
                  color=colour, label=name, markersize=3.5, linewidth=1.3)
        axes.fill_between([100 * s for s in shares], [s.low for s in sums],
                          [s.high for s in sums], color=colour, alpha=0.12,
                          linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plots.log_seconds(axes.xaxis, (1,))
    plots.log_seconds(axes.yaxis, (1, 3))
    axes.set_xlabel("customers selected, %")
    axes.set_ylabel("seconds, cold")
    axes.set_title(f"customer - orders - lineitem, scale {bench.args.scale:g}, "
                   f"{bench.args.device}")
    axes.legend(fontsize=7)
    plots.save(figure, bench.results)


def main():
    parser = session.parser(__doc__, repetitions=3)
    parser.add_argument("--least", type=float, default=SHARES[0])
    parser.add_argument("--most", type=float, default=SHARES[-1],
                        help="selectivities from --least to --most, as shares")
    parser.add_argument("--limit", type=float, default=120,
                        help="seconds that a run may be expected to take")
    parser.add_argument("--workers", type=int, default=0,
                        help="a variant of anago with so many workers, too")
    parser.add_argument("--uncalibrated", action="store_true",
                        help="the planner does not know the device")
    variants.options_of_anago(parser)
    args = parser.parse_args()
    with session.experiment(NAME, TITLE, QUESTION, args) as bench:
        with nullcontext() if args.uncalibrated else calibrated(bench):
            found = measure(bench)
        out = report(bench, found)
        plot(bench, found)
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
