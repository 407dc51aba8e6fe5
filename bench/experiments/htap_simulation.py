"""HTAL on a simulated machine of 96 cores: transactions, queries, freshness.

    bench/python bench/experiments/htap_simulation.py

Four ways to divide the cores among OLTP, log shipping and OLAP: all shared on one
copy of the data (Baseline Unified), all shared with a copy for queries (Baseline
Decoupled), a fixed number for each class (static), and HTAL's moves (the code of
src/resource/htal.c).  A fixed load, and one whose ratio of OLTP to OLAP clients
changes.  What the machine is assumed to be is in lib/htap.py, with reasons; it takes
a minute of one core, and no server.
"""

import argparse
import csv
import statistics
import sys
from dataclasses import asdict, replace
from pathlib import Path

from lib import htap, machine, plots, report, session
from lib.ending import main_of
from lib.htap import LOADS, MEASURES, PUBLISHED, against, percent, same_sign

NAME = "htap_simulation"
TITLE = "HTAL on 96 simulated cores"
QUESTION = ("What do moves of cores between OLTP, log shipping and OLAP gain and "
            "cost, and is that what is published of them?")

UNIFIED, DECOUPLED, STATIC, HTAL = VARIANTS = (
    "Baseline Unified", "Baseline Decoupled", "static", "HTAL")

# Other assumptions about the load, to see what hangs on them: clients for
# each core, parameters.
OTHERS = {"2 clients a core": (2, {}), "3 clients a core": (3, {}),
          "6 clients a core": (6, {}), "8 clients a core": (8, {}),
          "a fifth of the transactions in 10 of 1,000 ranges":
              (None, {"hot_share": 0.2, "hot_ranges": 10}),
          "log shipping twice as fast": (None, {"apply": htap.Params.apply / 2}),
          "freshness of the last 10 s": (None, {"window": 10.0})}

COLOURS = {UNIFIED: "#8d96a3", DECOUPLED: "#00798c", STATIC: "#edae49",
           HTAL: "#d1495b"}


def machine_of(library, variant, params, seed):
    if variant in (UNIFIED, DECOUPLED):
        return htap.SharedCores(params, variant == UNIFIED)
    return htap.Partitioned(library, params, seed, variant == HTAL)


def run(library, variant, load, params, clients, seconds, seed) -> list:
    """One Second for each period."""
    simulated = machine_of(library, variant, params, seed)
    parts = LOADS[load]
    periods = round(seconds / len(parts) / params.period)
    done = []
    try:
        for share in parts:
            oltp = round(clients * share)
            simulated.load(oltp, clients - oltp)
            done += [simulated.second() for _ in range(periods)]
    finally:
        simulated.close()
    return done


def means(done) -> dict:
    return {name: statistics.fmean(getattr(one, name) for one in done)
            for name in MEASURES}


def every_run(args, library, results):
    """{(load, variant): [[Second]], one list for each seed}."""
    found = {}
    params, clients = htap.Params(), args.clients * htap.CORES
    for load in LOADS:
        for variant in VARIANTS:
            found[load, variant] = [
                run(library, variant, load, params, clients, args.seconds, seed)
                for seed in range(1, args.repetitions + 1)]
            for seed, done in enumerate(found[load, variant], 1):
                results.add({"load": load, "variant": variant, "seed": seed,
                             **means(done)})
            report.say(f"{load}, {variant}: " + ", ".join(
                f"{name} {value:.4g}"
                for name, value in means(found[load, variant][0]).items()))
    return found


def mean_of(runs) -> dict:
    """Over seeds."""
    each = [means(done) for done in runs]
    return {name: statistics.fmean(one[name] for one in each) for name in MEASURES}


def compare(found, results):
    """The table of HTAL against static, and as data."""
    rows, out = [], {}
    for load in LOADS:
        ours = against(mean_of(found[load, HTAL]), mean_of(found[load, STATIC]))
        published = dict(zip(MEASURES, PUBLISHED[load]))
        rows += [[load, name, percent(published[name]), percent(ours[name]),
                  same_sign(ours[name], published[name])] for name in MEASURES]
        out[load] = ours
    results.table("compared", "HTAL against static",
                  ["load", "measure", "published", "simulated", "same sign"], rows)
    return out


def levels(found, results):
    rows = [[load, variant, f"{one['tps']:,.0f}", f"{one['qph']:,.0f}",
             f"{one['freshness']:.1%}"]
            for (load, variant), runs in found.items()
            for one in [mean_of(runs)]]
    results.table("levels", "means over the run",
                  ["load", "variant", "tps", "queries per hour", "freshness"], rows)


def sensitivity(args, library, results):
    """HTAL against static under other assumptions."""
    rows, out = [], {}
    for name, (clients, changed) in OTHERS.items():
        params = replace(htap.Params(), **changed)
        for load in LOADS:
            new, old = (mean_of([run(library, variant, load, params,
                                     (clients or args.clients) * htap.CORES,
                                     args.seconds, seed=1)])
                        for variant in (HTAL, STATIC))
            ours = against(new, old)
            rows.append([name, load, *(percent(ours[m]) for m in MEASURES),
                         f"{old['freshness']:.1%}", f"{new['freshness']:.1%}"])
            out[f"{name}, {load}"] = ours
        report.say(f"{name}: done")
    results.table("assumptions", "HTAL against static under other assumptions",
                  ["assumption", "load", "tps", "qph", "freshness",
                   "freshness, static", "freshness, HTAL"], rows)
    return out


def write_seconds(found, results):
    """Every second of the first seed."""
    with open(results.path("-seconds.csv"), "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["load", "variant", "second", *MEASURES, "waiting",
                         "variance", "state", "action",
                         *(f"cores, {name}" for name in htap.CLASSES)])
        for (load, variant), runs in found.items():
            for second, one in enumerate(runs[0]):
                writer.writerow([
                    load, variant, second, f"{one.tps:.0f}", f"{one.qph:.1f}",
                    f"{one.freshness:.4f}", f"{one.waiting:.3f}",
                    f"{one.variance:.2f}", one.state, one.action, *one.cores])


def shade(axes, args, load):
    """Where the ratio of clients changes."""
    part = args.seconds / len(LOADS[load])
    if load != "changing":
        return
    for number, share in enumerate(LOADS[load]):
        axes.axvline(number * part, color="#cccccc", linewidth=0.8)
        axes.text((number + 0.5) * part, 1.0, f"{share * 100:.0f}:"
                  f"{(1 - share) * 100:.0f}", fontsize=7, ha="center",
                  va="bottom", transform=axes.get_xaxis_transform())


def plot_measures(args, found, results):
    figure, axes = plots.plt.subplots(len(MEASURES), len(LOADS), sharex=True,
                                      sharey="row", figsize=(8.0, 6.5))
    scales = {"tps": 1e-3, "qph": 1, "freshness": 100}
    labels = {"tps": "thousand tps", "qph": "queries per hour",
              "freshness": "freshness, %"}
    for column, load in enumerate(LOADS):
        for row, name in enumerate(MEASURES):
            one = axes[row][column]
            for variant in VARIANTS:
                values = [getattr(s, name) * scales[name]
                          for s in found[load, variant][0]]
                one.plot(range(len(values)), values, color=COLOURS[variant],
                         label=variant, linewidth=1)
            shade(one, args, load)
            if column == 0:
                one.set_ylabel(labels[name])
        axes[0][column].set_title(f"{load} load", fontsize=9, pad=12)
        axes[-1][column].set_xlabel("seconds")
    for one in axes[:, 0]:              # of its row, as y axes are shared
        one.set_ylim(bottom=0)
    axes[-1][0].legend(fontsize=7)
    plots.save(figure, results)


def plot_cores(args, found, results):
    figure, axes = plots.plt.subplots(1, len(LOADS), sharey=True,
                                      figsize=(8.0, 3.4))
    for one, load in zip(axes, LOADS):
        done = found[load, HTAL][0]
        one.stackplot(range(len(done)), *zip(*(s.cores for s in done)),
                      labels=htap.CLASSES, linewidth=0, alpha=0.85)
        shade(one, args, load)
        one.set_title(f"{load} load", fontsize=9, pad=12)
        one.set_xlabel("seconds")
    axes[0].set_ylabel("cores, HTAL")
    axes[0].legend(fontsize=6, loc="center right", frameon=True)
    plots.save(figure, results, "-cores")


def options():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300,
                        help="simulated, of each run")
    parser.add_argument("--clients", type=int, default=4,
                        help="OLTP and OLAP clients together, for each core")
    parser.add_argument("--repetitions", type=int, default=3, help="seeds")
    parser.add_argument("--results", type=Path, default=report.RESULTS,
                        help="folder of the result files")
    parser.add_argument("--again", action="store_true",
                        help="also if its results are there already")
    return parser.parse_args()


def main():
    args = options()
    noted = session.options_of(args)
    if not args.again and session.is_finished(args.results, NAME, noted):
        sys.exit(f"{NAME}: {args.results / NAME}.json has it already, of this "
                 "commit and with these options; --again takes it anew")
    results = report.Results(NAME, {
        "experiment": NAME, "title": TITLE, "question": QUESTION,
        "storage": f"simulation of {htap.CORES} cores", **machine.describe(),
        "options": noted, "parameters": asdict(htap.Params())}, args.results)
    results.say_header()
    with htap.Library() as library:
        found = every_run(args, library, results)
        levels(found, results)
        out = {"htal_against_static": compare(found, results),
               "published": PUBLISHED,
               "assumptions": sensitivity(args, library, results)}
    write_seconds(found, results)
    plot_measures(args, found, results)
    plot_cores(args, found, results)
    results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
