"""anago in one process, without parallel workers, against stock and fio.

    bench/python bench/one_process.py --scale 10
    bench/python bench/one_process.py --scale 10 --only reads,cold

Six tables, each with a target or for information:

    reads    reads/s of queries A and C, cold, over fio's with 64 in flight
    cold     stock's same index plan / anago, cold: B, C, D
    cached   the same with everything in shared buffers: A-D
    pgbench  `pgbench -S -M prepared` with anago on, off and not loaded
    memory   bytes per task, peak memory, by EXPLAIN ANALYZE
    tuned    stock with the best of several settings, cold (information)
"""

import re
import statistics
import sys
from dataclasses import asdict

from lib import plots, queries, runs, session
from lib.ending import main_of
from lib.fio import Fio
from lib.machine import CpuWatch
from lib.report import say, table
from lib.runs import Variant, of, ratio, summary

SECTIONS = ("reads", "cold", "cached", "pgbench", "memory", "tuned")

FIO_DEPTH = 64
FIO_SECONDS = 4
PGBENCH_SCALE = 20          # 300 MB: in shared buffers
PGBENCH_SECONDS = 2
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

    def __init__(self, args, cluster, dbname, device, results):
        self.args = args
        self.cluster = cluster
        self.dbname = dbname
        self.device = device
        self.results = results
        self.anago_session = {**queries.ANAGO_ON,
                              "anago.io_method": args.io_method}
        if args.inflight:
            self.anago_session["anago.max_inflight_reads"] = args.inflight

    # --- variants ---------------------------------------------------------

    def anago(self, query, name="anago", server=None, **more):
        """anago where its cost wins, on the plan of index scans.

        Not debug_force: that takes any join order.
        """
        return Variant(name, queries.text(query), query=query, session={
            **queries.INDEX_PLAN, **self.anago_session, **more},
            server={**session.ANAGO_SERVER, **(server or {})})

    def natural(self, query):
        """anago may be chosen, and nothing is forbidden to the planner."""
        return Variant("anago, natural plan", queries.text(query), query=query,
                       session={**queries.ONE_PROCESS, **self.anago_session},
                       server=session.ANAGO_SERVER)

    @staticmethod
    def stock(query, name="stock", server=None, **more):
        """The same plan of index scans, anago not loaded."""
        return Variant(name, queries.text(query), query=query, session={
            **queries.INDEX_PLAN, **more}, server=server or {})

    # --- running ----------------------------------------------------------

    def cold(self, variants, section):
        self.results.note_variants(section, variants)

        def run_once(variant, repetition):
            run = runs.run_cold(self.cluster, self.dbname, self.device,
                                variant, repetition)
            say(f"{section}: {run.query} {run.variant} #{repetition}: "
                f"{run.seconds:.3f} s, {run.pages_per_s / 1e3:.1f}k pages/s "
                f"{run.marks}")
            return run
        return runs.interleaved(variants, self.args.repetitions, run_once,
                                self.sink(section))

    def sink(self, section):
        """Takes each run as it comes; marks what was not run by anago."""
        def add(run):
            if "anago" in run.variant and "Anago" not in run.plan:
                run.marks = " ".join(filter(None, [run.marks, "stock's plan"]))
            self.results.add({"section": section, **asdict(run)})
        return add

    # --- sections ---------------------------------------------------------

    def reads(self):
        """Reads/s in A and C over fio's, in the same cache mode."""
        modes = {"cache": {}}
        if self.cluster.major() >= 18:
            modes["direct"] = session.DIRECT_SERVER
        fio = Fio(self.cluster.root)
        fio.lay_out()
        rows, out = [], {}
        try:
            for mode, server in modes.items():
                self._reads_in_mode(fio, mode, server, rows, out)
        finally:
            fio.remove()
        table("reads/s of one process, cold, over fio with "
              f"{FIO_DEPTH} in flight (at least {TARGETS['reads']})",
              ["cache mode", "query", "anago reads/s (device)",
               "anago reads/s (pages missing)", "fio reads/s",
               "device / fio", "pages / fio"], rows)
        return out

    def _reads_in_mode(self, fio, mode, server, rows, out):
        device_rates, variants = [], [
            self.anago(query, f"anago {mode}", server) for query in "AC"]
        self.results.note_variants("reads", variants)
        self.cluster.stop()

        def run_once(variant, repetition):
            if variant is variants[0]:
                self.cluster.stop()
                fio_run = fio.random_reads(FIO_DEPTH, mode, FIO_SECONDS)
                device_rates.append(fio_run.reads_per_s)
                say(f"reads: fio {mode}: {fio_run.reads_per_s / 1e3:.1f}k/s"
                    + " busy" * fio_run.busy)
                self.results.add({"section": "reads", **_record(
                    "fio", mode, repetition, FIO_SECONDS,
                    marks="busy" * fio_run.busy, device_reads=round(
                        fio_run.reads_per_s * FIO_SECONDS))})
            run = runs.run_cold(self.cluster, self.dbname, self.device,
                                variant, repetition)
            say(f"reads: {run.query} {run.variant}: {run.seconds:.3f} s, "
                f"{run.device_reads_per_s / 1e3:.1f}k device reads/s, "
                f"{run.pages_per_s / 1e3:.1f}k pages/s {run.marks}")
            return run
        done = runs.interleaved(variants, self.args.repetitions, run_once,
                                self.sink("reads"))
        fio_rate = statistics.median(device_rates)
        for variant in variants:
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
        variants = list(dict.fromkeys(run.variant for run in done))
        rows, out = [], {}
        for query in names:
            times = {v: summary(of(done, query, v)) for v in variants
                     if of(done, query, v)}
            quotient = ratio(done, query, "stock", below)
            cpu = ratio(done, query, "stock", below,
                        lambda r: max(r.cpu_seconds, 1e-6))
            rows.append([query, *(times.get(v, "") for v in variants),
                         quotient, f"{cpu.median:.2f}"])
            out[query] = {"ratio": asdict(quotient), "cpu_ratio": asdict(cpu),
                          "seconds": {v: asdict(t) for v, t in times.items()},
                          "plans": {v: of(done, query, v)[0].plan
                                    for v in times}}
        table(f"{title} (at least {TARGETS[section]}); seconds, median "
              "(range), * some runs marked",
              ["query", *variants, f"stock / {below}", "the same, CPU"], rows)
        return out

    def cold_ratio(self):
        """Stock's index plan against anago, nothing cached."""
        done = []
        for query in "ABCD":
            variants = [self.stock(query), self.anago(query),
                        self.anago(query, "anago serial",
                                   **{"anago.mode": "serial"}),
                        self.natural(query)]
            done += self.cold(variants, "cold")
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
        server = {"shared_buffers": self.args.cached_buffers,
                  **session.ANAGO_SERVER}
        done = []
        with self.cluster.started(server), \
                self.cluster.connect(self.dbname) as conn:
            for query in "ABCD":
                variants = [
                    self.stock(query, **queries.ANAGO_OFF),
                    self.stock(query, "stock, no memoize",
                               enable_memoize="off", **queries.ANAGO_OFF),
                    self.anago(query),
                    self.anago(query, "anago serial",
                               **{"anago.mode": "serial"}),
                    self.natural(query)]
                self.results.note_variants("cached", variants)
                for variant in variants:        # bring it in
                    runs.run_cached(self.cluster, conn, self.device,
                                    variant, -1)

                def run_once(variant, repetition, conn=conn):
                    return runs.run_cached(self.cluster, conn, self.device,
                                           variant, repetition)
                done += runs.interleaved(variants, 2 * self.args.repetitions,
                                         run_once, self.sink("cached"))
                say(f"cached: {query} done")
        return self.same_plan("cached", "cached, one process: stock's same "
                              "index plan / anago", queries.NAMES, done)

    def pgbench(self):
        """Short read-only transactions: anago on, off, not loaded."""
        loaded = "-c session_preload_libraries=anago -c anago.enable="
        options = {"not loaded": "", "off": loaded + "off", "on": loaded + "on"}
        figures = {name: [] for name in options}
        self.cluster.stop()
        with self.cluster.started({"shared_buffers": "1GB"}):
            self._prepare_pgbench()
            for round_ in range(PGBENCH_ROUNDS + 1):
                names = list(options)
                turn = round_ % len(names)
                for name in names[turn:] + names[:turn]:
                    tps, cpu_us = self._pgbench_once(options[name])
                    if round_:                  # the first only warms up
                        figures[name].append((tps, cpu_us))
                        self.results.add({"section": "pgbench", **_record(
                            "pgbench -S", name, round_, 1 / tps,
                            cpu_seconds=cpu_us / 1e6)})
                say(f"pgbench: round {round_} of {PGBENCH_ROUNDS}")
        return self._report_pgbench(figures)

    @staticmethod
    def _report_pgbench(figures):
        """Speed, and CPU, which a busy machine does not disturb as much."""
        def over(name, which):
            pairs = zip(figures["on"], figures[name])
            return statistics.median(on[which] / other[which]
                                     for on, other in pairs)
        rows, out = [], {}
        for name, pairs in figures.items():
            tps, cpu_us = (statistics.median(f) for f in zip(*pairs))
            rows.append([name, f"{tps:.0f}", f"{over(name, 0):.3f}",
                         f"{cpu_us:.1f}", f"{1 / over(name, 1):.3f}"])
            out[name] = {"tps": tps, "on_over": over(name, 0),
                         "cpu_us": cpu_us, "cpu_over_on": 1 / over(name, 1)}
        table("pgbench -S -M prepared, one client (on / off at least "
              f"{TARGETS['pgbench']})",
              ["anago", "tps", "tps of on / this", "CPU us each",
               "CPU of this / on"], rows)
        return out

    def _prepare_pgbench(self):
        with self.cluster.connect() as conn:
            if not conn.execute("select 1 from pg_database where "
                                "datname = 'pgbench'").fetchone():
                conn.execute("create database pgbench")
                self.cluster.program("pgbench", "-q", "-i", "-s",
                                     PGBENCH_SCALE, "pgbench")
        with self.cluster.connect("pgbench") as conn:
            conn.execute("create extension if not exists anago")

    def _pgbench_once(self, options):
        """Transactions per second, and CPU of the server for each in us."""
        cpu = CpuWatch(self.cluster).start()
        out = self.cluster.program(
            "pgbench", "-n", "-S", "-M", "prepared", "-c", 1,
            "-T", PGBENCH_SECONDS, f"dbname=pgbench options='{options}'")
        cpu_seconds, *_ = cpu.stop()
        tps = float(re.search(r"tps = ([\d.]+)", out.stdout)[1])
        return tps, cpu_seconds / (tps * PGBENCH_SECONDS) * 1e6

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
        table("what EXPLAIN ANALYZE says, cold", ["query", "figure", "value"],
              rows)
        return out

    def tuned(self):
        """Stock with every setting somebody patient would try, cold."""
        rows, out = [], {}
        known = queries.known_server_settings(self.cluster)
        for query in "ABCD":
            variants = [Variant(name, queries.text(query), query=query,
                                session=settings,
                                server=known if name != "defaults" else {})
                        for name, settings
                        in queries.tuned_by_hand(self.args.cores).items()]
            done = self.cold(variants, "tuned")
            times = {v.name: summary(of(done, query, v.name))
                     for v in variants}
            best = min(times, key=lambda name: times[name].median)
            rows.append([query, times["defaults"], times[best], best])
            out[query] = {"best": best, "seconds": {
                name: asdict(t) for name, t in times.items()}}
        table("stock, cold, seconds: defaults, and the best of "
              f"{len(queries.tuned_by_hand(1))} by hand",
              ["query", "defaults", "best", "which"], rows)
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


def _record(query, variant, repetition, seconds, **more):
    """A line of the CSV file for what is no Run, in a Run's columns."""
    blank = dict.fromkeys(runs.Run.__dataclass_fields__, "")
    return {**blank, "query": query, "variant": variant,
            "repetition": repetition, "seconds": seconds, **more}


def main():
    parser = session.parser(__doc__)
    parser.add_argument("--only", default=",".join(SECTIONS),
                        help="sections to run, by comma")
    parser.add_argument("--io-method", default="auto")
    parser.add_argument("--inflight", type=int,
                        help="anago.max_inflight_reads")
    parser.add_argument("--cached-buffers", default="8GB",
                        help="shared_buffers of the cached section")
    parser.add_argument("--cores", type=int, default=2,
                        help="cores that tuned stock may plan for")
    args = parser.parse_args()
    wanted = args.only.split(",")
    if unknown := set(wanted) - set(SECTIONS):
        sys.exit(f"no such section: {', '.join(unknown)}")

    with session.experiment("one_process", args,
                            needs_anago=wanted != ["tuned"]) as place:
        bench = OneProcess(args, *place)
        sections = {"reads": bench.reads, "cold": bench.cold_ratio,
                    "cached": bench.cached_ratio, "pgbench": bench.pgbench,
                    "memory": bench.memory, "tuned": bench.tuned}
        done = {name: sections[name]() for name in SECTIONS if name in wanted}
        bench.results.finish(done)


if __name__ == "__main__":
    main_of("one_process", main)
