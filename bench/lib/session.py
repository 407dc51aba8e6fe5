"""What every experiment does around its measuring: options, cluster, header.

    with session.experiment("name", "Title", "What it asks", args) as bench:
        runs = bench.cold(variants, "section")
        bench.results.table("key", "title", columns, rows)
        bench.results.finish(summary)
"""

import argparse
import fcntl
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg

from lib import load, machine, places, report, runs
from lib.cluster import Cluster, ClusterError
from lib.device import Device

SOURCES = Path(__file__).resolve().parents[2] / "src"

# anago is loaded by the session, so that stock runs can be without it.
ANAGO_SERVER = {"session_preload_libraries": "anago"}

# PostgreSQL's own asynchronous direct reads (18 and later).  Each possible
# process has a ring of io_max_concurrency entries and a share of the buffers
# to pin: few processes, so that both are generous.
DIRECT_SERVER = {"debug_io_direct": "data", "io_method": "io_uring",
                 "io_max_concurrency": 512, "max_connections": 20,
                 "max_worker_processes": 8, "max_wal_senders": 0}


def parser(doc, repetitions=5, scale=1.0):
    """The options every experiment has."""
    made = argparse.ArgumentParser(
        description=doc.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    places.add_place_options(made, scale)
    made.add_argument("--repetitions", type=places.count, default=repetitions,
                      help="interleaved rounds; medians are taken over them")
    made.add_argument("--patience", type=float, default=5,
                      help="seconds that a run waits for a quiet machine")
    made.add_argument("--results", type=Path, default=report.RESULTS,
                      help="folder of the result files")
    made.add_argument("--label", default=argparse.SUPPRESS,
                      help="goes into the names of the result files "
                      "(default: the device)")
    made.add_argument("--again", action="store_true",
                      help="also if its results are there already")
    return made


def add_sections(made, sections):
    """--only, for experiments of several sections."""
    made.add_argument("--only", default=",".join(sections),
                      help="sections to run, by comma")


def sections_of(args, sections):
    """Those that are wanted, in their order.

    Results of some only get a name of their own, unless --label gives them one.
    """
    wanted = args.only.split(",")
    if unknown := set(wanted) - set(sections):
        sys.exit(f"no such section: {', '.join(sorted(unknown))}; there are "
                 + ", ".join(sections))
    wanted = [name for name in sections if name in wanted]
    if wanted != list(sections) and not hasattr(args, "label"):
        args.label = "-".join([args.device, *wanted])
    return wanted


@dataclass
class Bench:
    """What an experiment measures on and with."""
    args: argparse.Namespace
    cluster: Cluster
    dbname: str
    device: Device
    results: report.Results

    def cold(self, variants, section, repetitions=None, **more):
        """Cold runs of the variants, interleaved, said and written down."""
        self.results.note_variants(section, variants)

        def run_once(variant, repetition):
            run = runs.run_cold(self.cluster, self.dbname, self.device,
                                variant, repetition)
            self.say_run(section, run)
            return run
        done = runs.interleaved(variants,
                                repetitions or self.args.repetitions,
                                run_once, self.sink(section, variants), **more)
        self.cluster.stop()
        return done

    def cached(self, conn, variants, section, repetitions=None):
        """The same on a warm connection; every variant runs once unmeasured."""
        self.results.note_variants(section, variants)
        for variant in variants:        # bring it in
            runs.warm_up(conn, variant)

        def run_once(variant, repetition):
            run = runs.run_cached(self.cluster, conn, self.device, variant,
                                  repetition)
            self.say_run(section, run)
            return run
        return runs.interleaved(variants,
                                repetitions or self.args.repetitions,
                                run_once, self.sink(section, variants))

    def sink(self, section, variants):
        """Takes each run as it comes; marks what ran by another plan."""
        by_name = {(v.query, v.name): v for v in variants}

        def add(run):
            run.mark(runs.plan_departs(run, by_name[run.query, run.variant]))
            self.results.add({"section": section, **asdict(run)})
        return add

    @staticmethod
    def say_run(section, run):
        report.say(f"{section}: {run.query} {run.variant} #{run.repetition}: "
                   f"{run.seconds:.3f} s, {run.pages_per_s / 1e3:.1f}k pages/s "
                   f"{run.marks}")

    def modes(self, wanted=("ooo", "serial", "static")):
        """Those values of anago.mode that this anago has; says which not."""
        with self.cluster.started(ANAGO_SERVER), \
                self.cluster.connect(self.dbname) as conn:
            conn.execute("load 'anago'")
            there = []
            for mode in wanted:
                try:
                    conn.execute("select set_config('anago.mode', %s, false)",
                                 (mode,))
                    there.append(mode)
                except psycopg.errors.InvalidParameterValue:
                    self.results.note(f"anago.mode = {mode} is refused by this "
                                      "anago: left out")
        return there

    def has_workers(self, variant) -> bool:
        """Is the plan of this variant one of anago below a Gather?"""
        with self.cluster.started({**runs.COLD_SERVER, **variant.server}), \
                self.cluster.connect(self.dbname) as conn:
            runs.set_session(conn, variant.session)
            plan = runs.plan_summary(runs.plan_of(conn, variant.sql))
        if runs.anago_in_workers(plan):
            return True
        self.results.note(f"no parallel plan of anago for query "
                          f"{variant.query}: variants with workers are left "
                          "out")
        return False

    def records(self, section, query, variant, repetition, seconds, **more):
        """A line of the CSV file for what is no Run, in a Run's columns."""
        blank = dict.fromkeys(runs.Run.__dataclass_fields__, "")
        self.results.add({"section": section, **blank, "query": query,
                          "variant": variant, "repetition": repetition,
                          "seconds": seconds, **more})


@contextmanager
def experiment(name, title, question, args, needs_anago=True, extra_bytes=0,
               data=load):
    """Yield a Bench; always stops the server, and leaves nothing mounted.

    The data are loaded if they are not yet; no server runs at first.
    extra_bytes: room on disk that the experiment takes besides.
    data: the module that loads them: load (TPC-H) or app.
    """
    machine.patience_s = args.patience
    args.label = getattr(args, "label", args.device)
    full = f"{name}-sf{args.scale:g}-{args.label}"
    options = options_of(args)
    try:
        server = places.cluster_of(args).version()
        if not args.again and is_finished(args.results, full, options, server):
            report.say(f"{name}: {args.results / full}.json has it already, of "
                       "this commit and server and with these options; --again "
                       "takes it anew")
            sys.exit(0)
        with places.storage(args, extra_bytes) as disk, \
                only_one(places.cluster_of(args)) as cluster:
            try:
                data.check_room(cluster, args.scale, extra_bytes)
                data.ensure_loaded(cluster, args.scale)
                dbname = data.database_name(args.scale)
                if needs_anago:
                    create_extension(cluster, dbname)
                device = Device(cluster.data)
                results = report.Results(full, {
                    "experiment": name, "title": title, "question": question,
                    "scale": args.scale, "storage": args.device,
                    **machine.describe(cluster, device), "options": options},
                    args.results)
                results.say_header()
                if disk:
                    disk.reset_counts()
                    results.header["limit"] = disk.limit
                    results.require_reportable = disk.require_in_time
                    results.last_note = disk.punctuality
                yield Bench(args, cluster, dbname, device, results)
            finally:
                cluster.stop()
    except (ClusterError, runs.RowsDiffer, psycopg.Error, OSError) as err:
        sys.exit(f"{name}: {err}")


def options_of(args) -> dict:
    """The options that change what comes out."""
    ignored = {"dir", "port", "results", "again", "patience", "label", "minutes",
               "sum_up"}
    return {key: value for key, value in sorted(vars(args).items())
            if key not in ignored}


def is_finished(folder, full_name, options, server=None) -> bool:
    """Are there all results of this commit and server, taken with these options?"""
    header = report.read(folder / (full_name + ".json"))
    commit = machine.commit()
    return (header.get("commit") == commit and machine.is_commit(commit)
            and "incomplete" not in header
            and header.get("options") == report.plain(options)
            and header.get("postgresql") == server)


@contextmanager
def only_one(cluster):
    """No other script works on the same cluster meanwhile."""
    cluster.root.parent.mkdir(parents=True, exist_ok=True)
    path = cluster.root.parent / (cluster.root.name + ".lock")
    with open(path, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClusterError(f"another script works on {cluster.root}: wait "
                               "for it, or take another --dir") from None
        yield cluster


def create_extension(cluster, dbname):
    library = cluster.library("anago")
    if not library.exists():
        raise ClusterError(f"anago is not installed in {cluster.version()}: "
                           "make install with the same PG_CONFIG")
    newest = max(SOURCES.rglob("*.[ch]"), key=lambda file: file.stat().st_mtime)
    if library.stat().st_mtime < newest.stat().st_mtime:
        raise ClusterError(f"{library} is older than {newest}, and results name "
                           "this commit: make install with the same PG_CONFIG")
    cluster.stop()
    with cluster.started(), cluster.connect(dbname) as conn:
        conn.execute("create extension if not exists anago")
