"""Query C over time: CPU and reads per second, serial, static, out of order.

    bench/python bench/experiments/over_time.py --scale 10

The same executor in three modes: one task at a time; the work cut once into equal
parts, one for each process; and out of order, in one process and in several.  A
thread samples the device's counters and the processes' CPU times.
"""

import csv
import statistics
from dataclasses import asdict

from lib import plots, queries, runs, session, variants
from lib.ending import main_of
from lib.runs import of, ratio, summary
from lib.sampler import Sampler

NAME = "over_time"
TITLE = "A query over time"
QUESTION = ("What do device and CPU do while one query runs: in order, with a "
            "static division of the work, and out of order?")

POINTS = 150                # of the plot, for its slowest variant


def variants_of(bench):
    args = bench.args
    modes = bench.modes()
    made = [variants.anago(args, args.query, "anago serial",
                           **{"anago.mode": "serial"}),
            variants.anago(args, args.query, "anago ooo")]
    if args.workers:
        several = f"{args.workers + 1} processes"
        parallel = [variants.anago(args, args.query, f"anago {mode}, {several}",
                                   args.workers, **{"anago.mode": mode})
                    for mode in ("static", "ooo") if mode in modes]
        if parallel and bench.has_workers(parallel[-1]):
            made[1:1] = parallel[:-1]
            made.append(parallel[-1])
    return made


def measure(bench):
    """All runs, and the samples of each: {(variant, repetition): [Sample]}."""
    wanted = variants_of(bench)
    samples = {}
    bench.results.note_variants("over_time", wanted)

    def run_once(variant, repetition):
        with runs.connected_cold(bench.cluster, bench.dbname, variant) as conn, \
                Sampler(bench.cluster, bench.device,
                        bench.args.interval) as sampler:
            run = runs.run_here(bench.cluster, conn, bench.device, variant,
                                repetition)
        run.mark(runs.not_cold(run))
        samples[variant.name, repetition] = sampler.samples
        bench.say_run("over_time", run)
        return run
    done = runs.interleaved(wanted, bench.args.repetitions, run_once,
                            bench.sink("over_time", wanted))
    bench.cluster.stop()
    return wanted, done, samples


def middle(done, query, name):
    """The run whose time is nearest to the median: the one that is drawn."""
    mine = of(done, query, name)
    median = summary(mine).median
    return min(mine, key=lambda run: abs(run.seconds - median))


def write_samples(bench, samples):
    with open(bench.results.path("-samples.csv"), "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["variant", "repetition", "seconds", "cores",
                         "reads_per_s", "bytes_per_s"])
        for (variant, repetition), taken in samples.items():
            writer.writerows([variant, repetition, f"{s.at:.4f}",
                              f"{s.cores:.3f}", f"{s.reads_per_s:.0f}",
                              f"{s.bytes_per_s:.0f}"] for s in taken)


def coarse(taken, interval):
    """Samples averaged over longer intervals, by time: a plot has no room for
    hundreds of them."""
    bins = {}
    for sample in taken:
        bins.setdefault(int(sample.at / interval), []).append(sample)
    return [(statistics.fmean(s.at for s in some),
             statistics.fmean(s.reads_per_s for s in some),
             statistics.fmean(s.cores for s in some))
            for _, some in sorted(bins.items())]


STYLES = {"serial": "#8d96a3", "static": "#edae49", "ooo": "#d1495b"}


def colour(name):
    return next(c for mode, c in STYLES.items() if mode in name)


def plot(bench, wanted, done, samples):
    figure, (reads, cores) = plots.plt.subplots(2, 1, sharex=True,
                                                figsize=(7.0, 5.2))
    longest = max(middle(done, bench.args.query, v.name).seconds
                  for v in wanted)
    for variant in wanted:
        run = middle(done, bench.args.query, variant.name)
        xs, rates, used = zip(*coarse(samples[variant.name, run.repetition],
                                      longest / POINTS))
        style = {"color": colour(variant.name), "label": variant.name,
                 "linewidth": 1.2,
                 "linestyle": "--" if "processes" in variant.name else "-"}
        reads.plot(xs, [rate / 1e3 for rate in rates], **style)
        cores.plot(xs, used, **style)
        for axes in (reads, cores):
            axes.axvline(run.seconds, color=colour(variant.name), alpha=0.3,
                         linewidth=0.8)
    reads.set_ylabel("device reads/s, thousands")
    cores.set_ylabel("cores in use")
    cores.set_xlabel("seconds")
    reads.set_ylim(bottom=0)
    cores.set_ylim(bottom=0)
    reads.set_title(f"Query {bench.args.query} over time, scale "
                    f"{bench.args.scale:g}, {bench.args.device}")
    reads.legend(fontsize=7)
    plots.save(figure, bench.results)


def report(bench, wanted, done):
    rows, out = [], {}
    query = bench.args.query
    for variant in wanted:
        mine = of(done, query, variant.name)
        seconds = summary(mine)
        rate = summary(mine, lambda r: r.device_reads_per_s)
        cores = summary(mine, lambda r: r.cpu_seconds / r.seconds)
        faster = ratio(done, query, "anago serial", variant.name)
        rows.append([variant.name, seconds, rate, cores,
                     summary(mine, lambda r: r.cpu_seconds), faster])
        out[variant.name] = {"seconds": asdict(seconds), "cores": asdict(cores),
                             "device_reads_per_s": asdict(rate),
                             "serial_over_this": asdict(faster)}
    bench.results.table("modes", f"query {query}, cold: median (range), * some "
                        "runs marked", ["mode", "seconds", "device reads/s",
                                        "cores in use", "CPU seconds",
                                        "serial / this"], rows)
    return out


def main():
    parser = session.parser(__doc__, repetitions=3)
    parser.add_argument("--query", choices=queries.NAMES, default="C")
    parser.add_argument("--workers", type=int, default=1,
                        help="parallel workers of the variants in several "
                        "processes")
    parser.add_argument("--interval", type=float, default=0.05,
                        help="seconds between two samples")
    variants.options_of_anago(parser)
    args = parser.parse_args()
    with session.experiment(NAME, TITLE, QUESTION, args) as bench:
        wanted, done, samples = measure(bench)
        out = report(bench, wanted, done)
        write_samples(bench, samples)
        plot(bench, wanted, done, samples)
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
