"""anago in one process, without parallel workers, against stock and fio.

    bench/python bench/one_process.py --scale 10
    bench/python bench/one_process.py --scale 10 --only reads,cold

Five tables, each with a target or for information:

    reads    reads/s of queries A and C, cold, over fio's with 64 in flight
    cold     stock's same index plan / anago, cold: B, C, D
    cached   the same with everything in shared buffers: A-D
    pgbench  `pgbench -S -M prepared` with anago on, off and not loaded
    memory   bytes per task, peak memory, by EXPLAIN ANALYZE

Stock tuned by hand is in experiments/against_stock.py.
"""

import re
import statistics
from dataclasses import asdict

from lib import pgbench, plots, queries, runs, session, stock, variants
from lib.ending import main_of
from lib.fio import FILE_BYTES, Fio
from lib.huge_pages import huge_pages
from lib.report import say
from lib.runs import of, ratio, summary

TITLE = "One process"
QUESTION = ("How fast is anago without parallel workers, against stock's same plan "
            "and against the device?")
SECTIONS = ("reads", "cold", "cached", "pgbench", "memory")

FIO_DEPTH = 64
FIO_SECONDS = 4
PGBENCH_ROUNDS = 30

TARGETS = {"reads": 0.65, "cold": 3.5, "cached": 1.0, "pgbench": 0.98}

# What core's EXPLAIN says of any node; the rest is anago's own.
PLAIN_KEYS = re.compile(
    r"^(Plans?|Steps|Node Type|Parallel Aware|Async Capable|Custom Plan Provider"
    r"|Parent Relationship|Subplan Name|Disabled|Alias|Schema|Relation Name"
    r"|(Startup|Total) Cost|Plan (Rows|Width)|Actual .*"
    r"|(Shared|Local|Temp) .* Blocks|Output)$")


class OneProcess:
    """The sections; each adds to the same results."""

    def __init__(self, bench):
        self.bench = bench
        self.args = bench.args
        self.cluster = bench.cluster
        self.dbname = bench.dbname
        self.device = bench.device
        self.results = bench.results
        self.cold = bench.cold

    def anago(self, query, name="anago", server=None, **more):
        return variants.anago(self.args, query, name, 0, server, **more)

    def natural(self, query):
        return variants.anago_natural(self.args, query)

    def stock(self, query, name="stock", **more):
        return variants.stock_same_plan(query, name, **more)

    # --- sections ---------------------------------------------------------

    def reads(self):
        """Reads/s in A and C over fio's, in the same cache mode."""
        modes = {"cache": {}}
        if stock.has_io_uring(self.cluster):
            modes["direct"] = session.DIRECT_SERVER
        fio = Fio(self.cluster.root)
        fio.lay_out()
        rows, out = [], {}
        try:
            for mode, server in modes.items():
                self._reads_in_mode(fio, mode, server, rows, out)
        finally:
            fio.remove()
        self.results.table(
            "reads", "reads/s of one process, cold, over fio with "
            f"{FIO_DEPTH} in flight (at least {TARGETS['reads']})",
            ["cache mode", "query", "anago reads/s (device)",
             "anago reads/s (pages missing)", "fio reads/s", "device / fio",
             "pages / fio"], rows)
        return out

    def _reads_in_mode(self, fio, mode, server, rows, out):
        device_rates, wanted = [], [
            self.anago(query, f"anago {mode}", server) for query in "AC"]
        self.results.note_variants("reads", wanted)
        self.cluster.stop()

        def run_once(variant, repetition):
            if variant is wanted[0]:
                self.cluster.stop()
                fio_run = fio.random_reads(FIO_DEPTH, mode, FIO_SECONDS)
                device_rates.append(fio_run.reads_per_s)
                say(f"reads: fio {mode}: {fio_run.reads_per_s / 1e3:.1f}k/s"
                    + " busy" * fio_run.busy)
                self.bench.records(
                    "reads", "fio", mode, repetition, FIO_SECONDS,
                    marks="busy" * fio_run.busy, device_reads=round(
                        fio_run.reads_per_s * FIO_SECONDS))
            run = runs.run_cold(self.cluster, self.dbname, self.device,
                                variant, repetition)
            say(f"reads: {run.query} {run.variant}: {run.seconds:.3f} s, "
                f"{run.device_reads_per_s / 1e3:.1f}k device reads/s, "
                f"{run.pages_per_s / 1e3:.1f}k pages/s {run.marks}")
            return run
        done = runs.interleaved(wanted, self.args.repetitions, run_once,
                                self.bench.sink("reads", wanted))
        fio_rate = statistics.median(device_rates)
        for variant in wanted:
            mine = of(done, variant.query, variant.name)
            device = summary(mine, lambda r: r.device_reads_per_s)
            pages = summary(mine, lambda r: r.pages_per_s)
            rows.append([mode, variant.query, device, pages,
                         f"{fio_rate:.0f} ({min(device_rates):.0f}-"
                         f"{max(device_rates):.0f})",
                         f"{device.median / fio_rate:.2f}",
                         f"{pages.median / fio_rate:.2f}"])
            out[f"{variant.query} {mode}"] = {
                "device_reads_per_s": asdict(device),
                "pages_per_s": asdict(pages), "fio_reads_per_s": fio_rate,
                "device_over_fio": device.median / fio_rate,
                "pages_over_fio": pages.median / fio_rate}

    def same_plan(self, section, title, names, done, below="anago"):
        """One row for each query: seconds of all variants, and the ratio."""
        tried = list(dict.fromkeys(run.variant for run in done))
        rows, out = [], {}
        for query in names:
            times = {v: summary(of(done, query, v)) for v in tried
                     if of(done, query, v)}
            quotient = ratio(done, query, "stock", below)
            cpu = ratio(done, query, "stock", below,
                        lambda run: run.some_cpu_seconds)
            rows.append([query, *(times.get(v, "") for v in tried),
                         quotient, f"{cpu.median:.2f}"])
            out[query] = {"ratio": asdict(quotient), "cpu_ratio": asdict(cpu),
                          "seconds": {v: asdict(t) for v, t in times.items()},
                          "plans": {v: of(done, query, v)[0].plan
                                    for v in times}}
        self.results.table(
            section, f"{title} (at least {TARGETS[section]}); seconds, median "
            "(range), * some runs marked",
            ["query", *tried, f"stock / {below}", "the same, CPU"], rows)
        return out

    def cold_ratio(self):
        """Stock's index plan against anago, nothing cached."""
        done = []
        for query in queries.NAMES:
            done += self.cold([
                self.stock(query), self.anago(query),
                self.anago(query, "anago serial", **{"anago.mode": "serial"}),
                self.natural(query)], "cold")
        out = self.same_plan("cold", "cold, one process: stock's same index "
                             "plan / anago", queries.NAMES, done)
        self._plot_ratios(done)
        return out

    def _plot_ratios(self, done):
        figure, axes = plots.plt.subplots()
        series = []
        for name, shown in (("stock", "stock"), ("anago serial", "serial"),
                            ("anago", "ooo")):
            sums = [summary(of(done, q, name)) for q in queries.NAMES]
            series.append((shown, [s.median for s in sums],
                           [(s.low, s.high) for s in sums]))
        plots.grouped_bars(axes, queries.NAMES, series, log=True)
        axes.set_ylabel("seconds, cold")
        axes.set_title(f"One process, same index plan, "
                       f"scale {self.args.scale:g}")
        plots.save(figure, self.results)

    def cached_ratio(self):
        """Stock's index plan against anago, everything in shared buffers."""
        self.cluster.stop()
        done = []
        with huge_pages(self.cluster, {
                "shared_buffers": self.args.cached_buffers,
                **session.ANAGO_SERVER}) as server, \
                self.cluster.started(server), \
                self.cluster.connect(self.dbname) as conn:
            self.results.note(f"huge pages: {server['huge_pages']}")
            for query in queries.NAMES:
                done += self.bench.cached(conn, [
                    self.stock(query, **queries.ANAGO_OFF),
                    self.stock(query, "stock, no memoize",
                               enable_memoize="off", **queries.ANAGO_OFF),
                    self.anago(query),
                    self.anago(query, "anago serial",
                               **{"anago.mode": "serial"}),
                    self.natural(query)], "cached", 2 * self.args.repetitions)
        return self.same_plan("cached", "cached, in huge pages where they can be "
                              "had, one process: stock's same index plan / anago",
                              queries.NAMES, done)

    def pgbench(self):
        """Short read-only transactions: anago on, off, not loaded."""
        self.cluster.stop()
        rows, out = pgbench.report(pgbench.rounds(
            self.bench, "pgbench", ("-S",), PGBENCH_ROUNDS))
        self.results.table("pgbench", "pgbench -S -M prepared, one client (on / "
                           f"off at least {TARGETS['pgbench']})",
                           pgbench.COLUMNS, rows)
        return out

    def memory(self):
        """What anago's nodes say of themselves under EXPLAIN ANALYZE."""
        rows, out = [], {}
        for query in "ABCD":
            variant = self.anago(query)
            self.cluster.restart_cold({**runs.COLD_SERVER, **variant.server})
            with self.cluster.connect(self.dbname) as conn:
                runs.set_session(conn, variant.session)
                document = runs.explain_analyze(conn, variant.sql)
            nodes = runs.anago_nodes(document["Plan"])
            if not nodes:
                raise SystemExit(f"memory: no anago node in {query}: "
                                 + runs.plan_summary(document["Plan"]))
            for node in nodes:
                own = _own_figures(node)
                rows += [[query, key, value] for key, value in own.items()]
                out.setdefault(query, []).append(own)
        self.results.table("memory", "what EXPLAIN ANALYZE says, cold",
                           ["query", "figure", "value"], rows)
        return out


def _own_figures(node) -> dict:
    """Scalars of a plan node that core does not know, nested ones too."""
    own = {}

    def collect(prefix, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                if not PLAIN_KEYS.match(key):
                    collect(f"{prefix} / {key}" if prefix else key, inner)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                collect(f"{prefix} {number}", inner)
        else:
            own[prefix] = value
    collect("", node)
    return own


def main():
    parser = session.parser(__doc__)
    session.add_sections(parser, SECTIONS)
    variants.options_of_anago(parser)
    parser.add_argument("--cached-buffers", default="8GB",
                        help="shared_buffers of the cached section")
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    room = 2 * FILE_BYTES if "reads" in wanted else 0
    with session.experiment("one_process", TITLE, QUESTION, args,
                            extra_bytes=room) as bench:
        one = OneProcess(bench)
        sections = {"reads": one.reads, "cold": one.cold_ratio,
                    "cached": one.cached_ratio, "pgbench": one.pgbench,
                    "memory": one.memory}
        bench.results.finish({name: sections[name]() for name in wanted})


if __name__ == "__main__":
    main_of("one_process", main)
