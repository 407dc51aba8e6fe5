"""More processes, more reads in flight, more data.

    bench/python bench/experiments/scaling.py --scale 10 --sizes 1 3 10

    processes  A, C, D, cold, in one, two and three processes
    inflight   query C, cold, with 1 to 4,096 reads in flight (and fio's reads/s)
    size       the same answer from more and more data (query C: ten thousand
               customers whatever the scale), and a thousandth of the customers of
               more and more
"""

import statistics
from contextlib import nullcontext
from dataclasses import asdict

from experiments import selectivity
from lib import load, places, plots, queries, session, tpch, variants
from lib.cluster import ClusterError
from lib.device import Device
from lib.ending import main_of
from lib.fio import Fio
from lib.runs import Variant, of, ratio, summary

NAME = "scaling"
TITLE = "Scaling"
QUESTION = ("What do more processes, more reads in flight and more data do to a "
            "query?")
SECTIONS = ("processes", "inflight", "size")

DEPTHS = (1, 4, 16, 64, 256, 1024, 4096)
SHARE = 0.001


def processes(bench):
    wanted, numbers = [], [0]
    if bench.has_workers(variants.anago(bench.args, "C", "anago probe", 1)):
        numbers += bench.args.workers
    rows, out = [], {}
    for query in "ACD":
        wanted = [variants.anago(bench.args, query, variants.workers_name(n), n)
                  for n in numbers]
        done = bench.cold(wanted, "processes")
        for n, variant in zip(numbers, wanted):
            mine = of(done, query, variant.name)
            faster = ratio(done, query, wanted[0].name, variant.name)
            rows.append([query, n + 1, summary(mine),
                         summary(mine, lambda r: r.pages_per_s),
                         summary(mine, lambda r: r.cpu_seconds / r.seconds),
                         faster])
            out.setdefault(query, {})[n + 1] = {
                "seconds": asdict(summary(mine)), "over_one": asdict(faster)}
    bench.results.table("processes", "cold: median (range), * some runs marked",
                        ["query", "processes", "seconds", "pages/s",
                         "cores in use", "one process / this"], rows)
    return out


def inflight(bench):
    """anago.max_inflight_reads from 1 on; beside it what fio reaches."""
    workers = 0
    if bench.args.workers and bench.has_workers(
            variants.anago(bench.args, "C", "anago probe", 1)):
        workers = 1
    wanted = [variants.anago(bench.args, "C", f"anago {depth:,}{suffix}", n,
                             **{"anago.max_inflight_reads": depth})
              for n, suffix in sorted({(0, ""), (workers, ", 2 processes"
                                                 if workers else "")})
              for depth in DEPTHS]
    done = bench.cold(wanted, "inflight")
    device = fio_inflight(bench) if bench.args.fio_seconds else {}
    rows, out = [], {}
    for variant in wanted:
        mine = of(done, "C", variant.name)
        depth = variant.session["anago.max_inflight_reads"]
        rate = summary(mine, lambda r: r.pages_per_s)
        rows.append([f"{depth:,}", variant.workers + 1, summary(mine), rate,
                     f"{device[depth]:,.0f}" if device else ""])
        out.setdefault(variant.workers + 1, {})[depth] = {
            "seconds": asdict(summary(mine)), "pages_per_s": asdict(rate),
            "fio_reads_per_s": device.get(depth)}
    bench.results.table("inflight", "query C, cold: median (range), * some runs "
                        "marked", ["reads in flight", "processes", "seconds",
                                   "pages/s", "fio reads/s, page cache"], rows)
    plot_inflight(bench, out, device)
    return out


def fio_inflight(bench) -> dict:
    """{reads in flight: reads/s of fio, median}."""
    bench.cluster.stop()
    fio = Fio(bench.cluster.root, bench.args.fio_bytes)
    fio.lay_out()
    rates = {depth: [] for depth in DEPTHS}
    try:
        for repetition in range(bench.args.repetitions):
            for depth in DEPTHS:
                got = fio.random_reads(depth, "cache", bench.args.fio_seconds)
                rates[depth].append(got.reads_per_s)
                bench.records("inflight", "fio", f"fio {depth:,}", repetition,
                              bench.args.fio_seconds,
                              device_reads=round(got.reads_per_s
                                                 * bench.args.fio_seconds),
                              marks="busy" * got.busy)
    finally:
        fio.remove()
    return {depth: statistics.median(some) for depth, some in rates.items()}


def plot_inflight(bench, out, device):
    figure, axes = plots.plt.subplots()
    for number, by_depth in out.items():
        axes.plot(list(by_depth), [o["pages_per_s"]["median"] / 1e3
                                   for o in by_depth.values()], "o-",
                  color=plots.COLOURS["anago" if number == 1 else "anago, best"],
                  label="anago, one process" if number == 1
                  else f"anago, {number} processes")
    if device:
        axes.plot(list(device), [r / 1e3 for r in device.values()], "s--",
                  color=plots.COLOURS["fio"], label="fio, page cache")
    axes.set_xscale("log", base=2)
    axes.set_xticks(DEPTHS, [f"{d:,}" for d in DEPTHS])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("most reads in flight")
    axes.set_ylabel("pages per second, thousands")
    axes.set_title(f"Query C, cold, scale {bench.args.scale:g}, "
                   f"{bench.args.device}")
    axes.legend()
    plots.save(figure, bench.results, "-inflight")


def variants_of_size(args, scale):
    customers = next(t for t in tpch.TABLES if t.name == "customer").rows
    share = selectivity.SQL.format(last=round(customers * scale * SHARE))
    for query, sql in ((f"C, scale {scale:g}", queries.text("C")),
                       (f"0.1%, scale {scale:g}", share)):
        yield variants.anago(args, query, "anago", sql=sql)
        yield variants.stock_same_plan(query, "stock, same plan", sql=sql)
        yield Variant("stock, hash join", sql, selectivity.HASH_PLAN, {}, query)
        yield variants.stock_defaults(query, sql=sql)


def size(bench):
    """Each size in a cluster of its own, which is loaded if it is not there."""
    found = {}
    for scale in bench.args.sizes:
        args = bench.args
        here = places.at_scale(args, scale)
        cluster = places.cluster_of(here)
        bench.cluster.stop()
        try:
            same = cluster.root == bench.cluster.root
            with nullcontext() if same else session.only_one(cluster):
                load.ensure_loaded(cluster, scale)
                found[scale] = measure_size(bench, here, cluster)
        except ClusterError as err:
            bench.results.note(f"scale {scale:g} left out: {err}")
        finally:
            cluster.stop()
    return report_size(bench, found)


def measure_size(bench, args, cluster):
    other = session.Bench(args, cluster, places.database_name(args.scale),
                          Device(cluster.data), bench.results)
    session.create_extension(cluster, other.dbname)
    done = []
    wanted = list(variants_of_size(args, args.scale))
    for query in dict.fromkeys(v.query for v in wanted):
        done += other.cold([v for v in wanted if v.query == query], "size")
    return done


def report_size(bench, found):
    rows, out = [], {}
    for what in ("C", "0.1%"):
        for scale, done in found.items():
            query = f"{what}, scale {scale:g}"
            names = list(dict.fromkeys(r.variant for r in done))
            sums = {n: summary(of(done, query, n)) for n in names}
            rows.append([what, f"{scale:g}", *(sums[n] for n in names),
                         ratio(done, query, "stock, defaults", "anago")])
            out.setdefault(what, {})[scale] = {n: asdict(s)
                                               for n, s in sums.items()}
    if not rows:
        return out
    bench.results.table("size", "cold, seconds: median (range), * some runs "
                        "marked", ["query", "scale", *names,
                                   "stock, defaults / anago"], rows)
    figure, both = plots.plt.subplots(1, 2, sharey=True, figsize=(7.0, 3.6))
    for axes, (what, by_scale) in zip(both, out.items()):
        for name in names:
            axes.plot(list(by_scale), [s[name]["median"] for s in
                                       by_scale.values()], "o-", label=name,
                      color=plots.COLOURS.get(name, "#003d5b"))
        axes.set_xscale("log")
        axes.set_yscale("log")
        plots.log_seconds(axes.yaxis)
        axes.set_xticks(list(by_scale), [f"{s:g}" for s in by_scale])
        axes.minorticks_off()
        axes.set_xlabel("scale")
        axes.set_title("10,000 customers (query C)" if what == "C"
                       else "0.1% of the customers", fontsize=9)
    both[0].set_ylabel("seconds, cold")
    both[0].legend(fontsize=7)
    plots.save(figure, bench.results, "-size")
    return out


def main():
    parser = session.parser(__doc__, repetitions=3)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2],
                        help="parallel workers of the section processes")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 3, 10],
                        help="scales of the section size")
    parser.add_argument("--fio-bytes", type=int, default=8 << 30,
                        help="size of fio's file")
    parser.add_argument("--fio-seconds", type=int, default=3,
                        help="for each depth; 0: without fio")
    variants.options_of_anago(parser)
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    sections = {"processes": processes, "inflight": inflight, "size": size}
    room = 2 * args.fio_bytes + sum(
        load.bytes_missing(places.cluster_of(places.at_scale(args, size)), size)
        if args.device == places.LOCAL else tpch.bytes_needed(size)
        for size in args.sizes if size != args.scale)
    with session.experiment(NAME, TITLE, QUESTION, args,
                            extra_bytes=room) as bench:
        out = {name: sections[name](bench) for name in wanted}
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
