"""One query in several processes: reads/s over the device's, speed-up, skew.

    bench/python bench/experiments/workers.py --scale 10
    bench/python bench/experiments/workers.py --scale 10 --only reads,skew

Sections:

    reads    reads/s of A, C and D, cold, leader and one worker, over the best of
             fio with 64 and 128 in flight; page cache and direct (18 and later)
    serial   query C, ooo over serial, beside fio(best) over fio(1)
    skew     query C where few customers own most orders: ooo over static
    stock    A-D against stock tuned by hand and with its defaults
    cached   query C, two and three processes over one, everything in buffers,
             with huge pages and without
    cpu      the scheduler's share of the CPU in query C, cached, by perf
"""

import statistics
from dataclasses import asdict, replace

from experiments import against_stock
from lib import perf, plots, queries, runs, session, skew, stock, variants
from lib.ending import main_of
from lib.fio import Fio
from lib.huge_pages import huge_pages
from lib.report import say
from lib.runs import of, ratio, summary

NAME = "workers"
TITLE = "One query in several processes"
QUESTION = ("How near to the device's best does one query come with parallel "
            "workers, and what does out-of-order execution add to them?")
SECTIONS = ("reads", "serial", "skew", "stock", "cached", "cpu")

FIO_DEPTHS = (1, 64, 128)
FIO_SECONDS = 3


class Workers:
    """The sections; `measured` collects the lines of the first table."""

    def __init__(self, bench):
        self.bench = bench
        self.args = bench.args
        self.results = bench.results
        self.fio = {}                   # mode -> depth -> reads/s
        self.done_reads = []            # runs through the page cache
        self.measured = []
        probe = variants.anago(self.args, "C", "anago probe", 1)
        self.workers = [0]
        if bench.has_workers(probe):
            self.workers = [0, 1, 2]
        self.most = min(self.workers[-1], 1)    # leader and one worker
        self.modes = bench.modes()

    def anago(self, query, workers=None, name=None, **more):
        workers = self.most if workers is None else workers
        return variants.anago(self.args, query,
                              name or variants.workers_name(workers), workers,
                              **more)

    def line(self, what, got):
        self.measured.append([what, got])

    # --- sections ---------------------------------------------------------

    def reads(self):
        """Reads/s over fio's, in the same cache mode, in the same rounds."""
        modes = {"page cache": ("cache", {})}
        if stock.has_io_uring(self.bench.cluster):
            modes["direct"] = ("direct", session.DIRECT_SERVER)
        fio = Fio(self.bench.cluster.root, self.args.fio_bytes)
        fio.lay_out()
        rows, out = [], {}
        try:
            for mode, (fio_mode, server) in modes.items():
                self._reads_in_mode(fio, mode, fio_mode, server, rows, out)
        finally:
            fio.remove()
        self.results.table(
            "reads", "reads/s, cold, over fio's best of "
            + " and ".join(map(str, FIO_DEPTHS[1:])) + " in flight",
            ["cache mode", "query", "processes", "device reads/s",
             "pages missing/s", "fio, best", "device / fio", "pages / fio"],
            rows)
        self._plot_reads(out)
        return out

    def _reads_in_mode(self, fio, mode, fio_mode, server, rows, out):
        rates = {depth: [] for depth in FIO_DEPTHS}
        wanted = [self.anago(query, n, f"{variants.workers_name(n)}, {mode}",
                             server=server)
                  for query in "ACD" for n in sorted({0, self.most})]
        if mode == "page cache":
            wanted.append(self.anago("C", 0, "anago serial, page cache",
                                     **{"anago.mode": "serial"}))
        done, seen = [], {}
        for repetition in range(self.args.repetitions):
            self.bench.cluster.stop()
            for depth in FIO_DEPTHS:
                got = fio.random_reads(depth, fio_mode, self.args.fio_seconds)
                rates[depth].append(got.reads_per_s)
                say(f"reads: fio {mode} {depth}: {got.reads_per_s / 1e3:.1f}k/s"
                    + " busy" * got.busy)
                self.bench.records("reads", "fio", f"{mode}, {depth}",
                                   repetition, self.args.fio_seconds,
                                   marks="busy" * got.busy, device_reads=round(
                                       got.reads_per_s * self.args.fio_seconds))
            done += self.bench.cold(wanted, "reads", 1, seen=seen,
                                    first=repetition)
        self.fio[mode] = {d: statistics.median(r) for d, r in rates.items()}
        best = max(self.fio[mode][d] for d in FIO_DEPTHS[1:])
        if mode == "page cache":
            self.done_reads = done
        for variant in wanted:
            mine = of(done, variant.query, variant.name)
            device = summary(mine, lambda r: r.device_reads_per_s)
            pages = summary(mine, lambda r: r.pages_per_s)
            rows.append([mode, variant.query, variant.name.rsplit(",", 1)[0],
                         device, pages, f"{best:,.0f}",
                         f"{device.median / best:.2f}",
                         f"{pages.median / best:.2f}"])
            out[f"{variant.query}, {variant.name}"] = {
                "device": asdict(device), "pages": asdict(pages), "fio": best,
                "device_over_fio": device.median / best,
                "pages_over_fio": pages.median / best}
            if variant.workers == self.most and "serial" not in variant.name:
                self.line(f"reads/s of {variant.query} / fio's best, {mode}",
                          f"{pages.median / best:.2f} (requests "
                          f"{device.median / best:.2f})")

    def _plot_reads(self, out):
        figure, axes = plots.plt.subplots()
        series, highest = [], 0
        for mode in self.fio:
            name = f"{variants.workers_name(self.most)}, {mode}"
            sums = [out[f"{q}, {name}"]["pages"] for q in "ACD"]
            series.append((mode, [s["median"] for s in sums],
                           [(s["low"], s["high"]) for s in sums]))
            highest = max(highest, *(s["high"] for s in sums))
        plots.grouped_bars(axes, list("ACD"), series)
        for mode in self.fio:
            best = max(self.fio[mode][d] for d in FIO_DEPTHS[1:])
            highest = max(highest, best)
            axes.axhline(best, linestyle="--", color=plots.COLOURS[mode],
                         label=f"fio, {mode}")
        axes.set_ylim(0, highest * 1.3)
        axes.legend(fontsize=8, ncols=2, loc="upper left")
        axes.set_ylabel("pages read per second, cold")
        axes.set_title(f"{variants.workers_name(self.most)}, scale "
                       f"{self.args.scale:g}")
        plots.save(figure, self.results, "-reads")

    def serial(self):
        """ooo over serial, from the runs of `reads`."""
        if "page cache" not in self.fio:
            self.results.note("serial needs the section reads: left out")
            return {}
        slow = "anago serial, page cache"
        out = {}
        depths = self.fio["page cache"]
        device = max(depths[d] for d in FIO_DEPTHS[1:]) / depths[1]
        for n in sorted({0, self.most}):
            got = ratio(self.done_reads, "C", slow,
                        f"{variants.workers_name(n)}, page cache")
            out[variants.workers_name(n)] = asdict(got)
            self.line(f"ooo / serial, C, {variants.workers_name(n)}; over "
                      f"fio(best) / fio(1) = {device:.2f}",
                      f"{got} = {got.median / device:.2f} of it")
        return {"fio_best_over_1": device, **out}

    def skewed(self):
        """ooo over static where few customers own most orders."""
        skew.ensure(self.bench.cluster, self.bench.dbname)
        said = skew.describe(self.bench.cluster, self.bench.dbname)
        self.results.note("skewed: " + said)
        wanted = []
        for mode in self.modes:
            if mode == "static" and not self.most:
                continue        # one part for one process is no division
            wanted.append(self.anago(
                "C", self.most if mode != "serial" else 0, f"anago {mode}",
                **{"anago.mode": mode}, **skew.SESSION))
        done = self.bench.cold(wanted, "skew")
        rows = [[v.name, v.workers + 1, summary(of(done, "C", v.name)),
                 ratio(done, "C", v.name, "anago ooo")] for v in wanted]
        self.results.table("skew", f"C on the skewed range, cold ({said})",
                           ["mode", "processes", "seconds", "this / ooo"], rows)
        if "anago static" in [v.name for v in wanted]:
            self.line("ooo / static, C on the skewed range",
                      ratio(done, "C", "anago static", "anago ooo"))
        return {v.name: asdict(ratio(done, "C", v.name, "anago ooo"))
                for v in wanted}

    def against_stock(self):
        """Stock's best of all settings, stock's defaults: over anago's best."""
        _, out = against_stock.compare(self.bench, queries.NAMES)
        for query, found in out.items():
            for what, key in (
                    ("stock's best of all settings", "best_over_anago"),
                    ("stock's defaults", "defaults_over_anago")):
                self.line(f"{what} / anago, {query}",
                          str(runs.Summary(**found[key])))
        return out

    def cached(self):
        """Two and three processes over one, everything in shared buffers."""
        if not self.workers[-1]:
            return {}
        server = {"shared_buffers": self.args.cached_buffers,
                  **session.ANAGO_SERVER}
        rows, out = [], {}
        self.bench.cluster.stop()
        self._cached_on({**server, "huge_pages": "off"}, rows, out)
        with huge_pages(self.bench.cluster, server) as server:
            if server["huge_pages"] == "on":
                self._cached_on(server, rows, out)
            else:
                self.results.note("cached: huge pages cannot be had here")
        self.results.table("cached", "C, everything in shared buffers",
                           ["", "seconds", "one process / this"], rows)
        return out

    def _cached_on(self, server, rows, out):
        with_pages = f"huge pages {server['huge_pages']}"
        wanted = [self.anago("C", n) for n in self.workers]
        wanted += [variants.stock_same_plan("C", **queries.ANAGO_OFF)]
        wanted = [replace(v, name=f"{v.name}, {with_pages}") for v in wanted]
        with self.bench.cluster.started(server), \
                self.bench.cluster.connect(self.bench.dbname) as conn:
            done = self.bench.cached(conn, wanted, "cached",
                                     2 * self.args.repetitions)
        one = f"{variants.workers_name(0)}, {with_pages}"
        for v in wanted:
            quotient = ratio(done, "C", one, v.name)
            rows.append([v.name, summary(of(done, "C", v.name)), quotient])
            out[v.name] = asdict(quotient)
            if v.workers:
                self.line(f"one process / {v.name}, C cached", quotient)

    def cpu(self):
        """perf over a backend that runs C cached, again and again."""
        if not perf.available():
            self.results.note("perf is missing or refused: the scheduler's "
                              "share of CPU is left out")
            return {}
        variant = self.anago("C", 0)
        server = {"shared_buffers": self.args.cached_buffers,
                  **session.ANAGO_SERVER}
        self.bench.cluster.stop()
        with self.bench.cluster.started(server), \
                self.bench.cluster.connect(self.bench.dbname) as conn:
            runs.set_session(conn, variant.session)
            once = runs.run_cached(self.bench.cluster, conn, self.bench.device,
                                   variant, 0).seconds
            found = perf.shares(conn.info.backend_pid, lambda: [
                conn.execute(variant.sql).fetchall()
                for _ in range(max(1, round(5 / once)))])
        rows, out = [], {}
        for folder in ("sched", "page", "io", "ops", "node"):
            names = perf.functions_of(folder)
            out[folder] = sum(s for f, s in found.items() if f in names)
            rows.append([f"src/{folder}/", f"{100 * out[folder]:.1f}%"])
        out["everything else"] = 1 - sum(out.values())
        rows.append(["everything else", f"{100 * out['everything else']:.1f}%"])
        self.results.table("cpu", "share of CPU, C cached, one process",
                           ["functions of", "share"], rows)
        self.line("scheduler and queues' share of CPU, C cached",
                  f"{100 * out['sched']:.1f}%")
        return out


def main():
    parser = session.parser(__doc__)
    against_stock.options(parser)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--cached-buffers", default="8GB",
                        help="shared_buffers of the sections cached and cpu")
    parser.add_argument("--fio-bytes", type=int, default=8 << 30,
                        help="size of fio's file")
    parser.add_argument("--fio-seconds", type=int, default=FIO_SECONDS)
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    room = skew.bytes_needed(args.scale) + 2 * args.fio_bytes
    with session.experiment(NAME, TITLE, QUESTION, args,
                            extra_bytes=room) as bench:
        found = Workers(bench)
        sections = {"reads": found.reads, "serial": found.serial,
                    "skew": found.skewed, "stock": found.against_stock,
                    "cached": found.cached, "cpu": found.cpu}
        done = {name: sections[name]() for name in wanted}
        bench.results.table("ratios", "in one table",
                            ["what", "measured"], found.measured)
        bench.results.tables.insert(0, bench.results.tables.pop())
        bench.results.finish(done)


if __name__ == "__main__":
    main_of(NAME, main)
