"""Timed runs: interleaved repetitions, cold or cached, rows compared.

Cold means: server stopped and started, catalogs and the index's meta page
warmed by planning the query, its files out of the kernel's cache, then the
query.  That it was cold is checked: the device must have read at least
COLD_FRACTION of the bytes that were missing in shared buffers.
"""

import hashlib
import json
import re
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from lib.cluster import drop_caches
from lib.machine import CpuWatch, wait_until_quiet

BLOCK = 8192
COLD_FRACTION = 0.9

# Cached runs repeat a query that is shorter than this.
CACHED_S = 0.3

# Shared buffers of a cold run: as in the published figures.
COLD_SERVER = {"shared_buffers": "2GB"}


class RowsDiffer(Exception):
    """Two variants of one query gave different rows."""


@dataclass(frozen=True)
class Variant:
    """One way to run a query."""
    name: str
    sql: str
    session: dict = field(default_factory=dict)
    server: dict = field(default_factory=dict)
    query: str = ""         # short name of the query
    workers: int = 0        # parallel workers it is meant to have
    free: bool = False      # the planner need not take anago
    any_rows: bool = False  # LIMIT without an order: their number is compared
    determined: tuple = ()  # columns in which ties make no difference; none: all
    undone: bool = False    # it locks or changes rows: is rolled back each time
    before: tuple = ()      # statements ahead of it, in its transaction
    after: tuple = ()       # statements that follow the run, outside of it


STOPPED = "stopped"         # the mark of a run that took too long


@dataclass
class Run:
    """One timed execution; a line of the CSV file."""
    query: str
    variant: str
    repetition: int
    seconds: float
    device_reads: int           # requests the device completed
    device_bytes: int
    pages_missing: int          # blocks not found in shared buffers
    cpu_seconds: float          # of all the server's processes; 10 ms ticks
    others_cores: float         # CPU used by anybody else
    marks: str                  # "", "busy", "not cold", both; "stopped" ...
    rows: int
    digest: str                 # of the rows, as a multiset
    plan: str

    def mark(self, text):
        self.marks = " ".join(filter(None, [self.marks, text]))

    @property
    def some_cpu_seconds(self) -> float:
        """CPU seconds to divide by: short runs may have used less than a tick."""
        return max(self.cpu_seconds, 1e-6)

    @property
    def stopped(self) -> bool:
        """Did it hit its statement_timeout?  Then seconds are that limit."""
        return STOPPED in self.marks

    @property
    def device_reads_per_s(self) -> float:
        return self.device_reads / self.seconds

    @property
    def pages_per_s(self) -> float:
        return self.pages_missing / self.seconds


def digest_of(rows, columns=()) -> str:
    """Digest of rows as a multiset, or of some columns: their order does not matter."""
    if columns:
        rows = [[row[i] for i in columns] for row in rows]
    text = "\n".join(sorted(map(repr, rows)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def set_session(conn, settings):
    """Exactly these settings: what was set before on this connection goes."""
    conn.execute("reset all")
    for name, value in settings.items():
        conn.execute("select set_config(%s, %s, false)", (name, str(value)))


def plan_of(conn, sql) -> dict:
    """EXPLAIN of a query: the top plan node."""
    row = conn.execute(f"explain (format json) {sql}").fetchone()
    return row[0][0]["Plan"]


def plan_summary(node) -> str:
    """A plan as one line: NestLoop(IndexScan t_idx, ...)."""
    name = node.get("Custom Plan Provider") or node["Node Type"]
    name = name.replace(" ", "")
    if node.get("Parallel Aware"):
        name = "Parallel" + name
    what = node.get("Index Name") or node.get("Relation Name")
    if what:
        name += " " + what
    inside = ", ".join(plan_summary(child) for child in node.get("Plans", []))
    return f"{name}({inside})" if inside else name


def _blocks_missing(conn) -> int:
    """Blocks of this database not found in shared buffers, so far."""
    conn.execute("select pg_stat_force_next_flush()")
    return conn.execute("select blks_read from pg_stat_database "
                        "where datname = current_database()").fetchone()[0]


@contextmanager
def _transaction(conn, variant):
    """Within it the variant leaves no trace, if it is to leave none."""
    if not variant.undone:
        yield
        return
    conn.execute("begin")
    try:
        for statement in variant.before:
            conn.execute(statement)
        yield
    finally:
        conn.execute("rollback")


def execute(conn, variant):
    """(rows, seconds); rows None: its statement_timeout has stopped it.

    A statement that gives no rows has one: how many it has changed.
    """
    with _transaction(conn, variant):
        start = time.perf_counter()
        try:
            cursor = conn.execute(variant.sql)
            rows = (cursor.fetchall() if cursor.description
                    else [(cursor.rowcount,)])
        except psycopg.errors.QueryCanceled:
            if "statement_timeout" not in variant.session:
                raise
            rows = None
        return rows, time.perf_counter() - start


def run_here(cluster, conn, device, variant, repetition, loops=1) -> Run:
    """Run on this connection, whatever is cached.

    With `loops`, seconds are the median of so many executions: where one takes
    0.2 ms, a few that were interrupted would make most of a mean.
    """
    plan = plan_summary(plan_of(conn, variant.sql))
    cpu = CpuWatch(cluster).start()
    missing, reads = _blocks_missing(conn), device.reads()
    each = []
    for _ in range(loops):
        rows, seconds = execute(conn, variant)
        each.append(seconds)
        if rows is None:
            break
    else:
        seconds = statistics.median(each)
    reads = device.reads() - reads
    missing = _blocks_missing(conn) - missing
    cpu_seconds, others_cores, disturbed = cpu.stop()
    run = Run(variant.query, variant.name, repetition, seconds,
              reads.requests, reads.bytes, missing,
              cpu_seconds / loops, round(others_cores, 3),
              "busy" if disturbed else "", len(rows or ()),
              "" if variant.any_rows else digest_of(rows or (), variant.determined), plan)
    if reads.late:
        run.mark("late replies")
    if rows is None:
        run.mark(STOPPED)
    return run


def clean_up(conn, variant):
    """What is to be done after a run, and takes whatever time it takes."""
    if variant.after:
        conn.execute("reset all")
    for statement in variant.after:
        conn.execute(statement)


def run_cold(cluster, dbname, device, variant, repetition) -> Run:
    """Run once with nothing cached, in a server of its own."""
    with connected_cold(cluster, dbname, variant) as conn:
        run = run_here(cluster, conn, device, variant, repetition)
        clean_up(conn, variant)
    run.mark(not_cold(run))
    return run


@contextmanager
def connected_cold(cluster, dbname, variant):
    """Yield a connection to a new server that has only planned the query.

    Planning reads the beginnings of indexes, and the kernel reads ahead there:
    so the caches are dropped again.
    """
    cluster.restart_cold({**COLD_SERVER, **variant.server})
    with cluster.connect(dbname) as conn:
        set_session(conn, variant.session)
        plan_of(conn, variant.sql)
        drop_caches(cluster.data)
        wait_until_quiet()
        yield conn


def not_cold(run) -> str:
    """A mark, if the device read less than was missing in shared buffers."""
    wanted = run.pages_missing * BLOCK
    return "not cold" if run.device_bytes < COLD_FRACTION * wanted else ""


def warm_up(conn, variant) -> float:
    """Run once, unmeasured: leaves the session set, returns about how long."""
    set_session(conn, variant.session)
    return execute(conn, variant)[1]        # if it is stopped, the run says so


def run_cached(cluster, conn, device, variant, repetition) -> Run:
    """Run for at least CACHED_S on a warm connection; a read marks the run."""
    loops = max(1, round(CACHED_S / warm_up(conn, variant)))
    run = run_here(cluster, conn, device, variant, repetition, loops)
    clean_up(conn, variant)
    if run.pages_missing:
        run.mark("not cached")
    return run


def interleaved(variants, repetitions, run_once, sink, seen=None, first=0):
    """Run every variant `repetitions` times, taking turns.

    Each round starts with another variant, so that none always follows the
    same neighbour.  Each run goes to `sink` as it comes; rows of every run of
    a query must be the same, also as those in `seen`, which is added to.
    What was stopped once is not tried again.
    """
    runs, seen = [], {} if seen is None else seen
    variants = list(variants)
    for repetition in range(first, first + repetitions):
        turn = repetition % max(1, len(variants))
        for variant in variants[turn:] + variants[:turn]:
            run = run_once(variant, repetition)
            if run.stopped:
                variants.remove(variant)
            else:
                _compare(run, seen.setdefault(run.query, run))
            runs.append(run)
            sink(run)
    return runs


def _compare(run, first):
    if (run.rows, run.digest) != (first.rows, first.digest):
        raise RowsDiffer(f"query {run.query}: rows of {run.variant!r} "
                         f"differ from those of {first.variant!r}")


@dataclass(frozen=True)
class Summary:
    """Several runs of one variant."""
    median: float
    low: float
    high: float
    runs: int
    marked: int
    bound: str = ""         # ">": it is at least that, "<": at most, "<>": none

    def __str__(self):
        if len(self.bound) > 1:
            return ""
        if self.bound:
            return f"{self.bound} {short(self.median)}"
        if self.runs == 1:
            return short(self.median) + ("*" if self.marked else "")
        return (f"{short(self.median)} ({short(self.low)}-{short(self.high)})"
                + ("*" if self.marked else ""))


def short(value) -> str:
    """Three digits that count, without an exponent."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def summary(runs, what=lambda run: run.seconds) -> Summary:
    """Median and range; unmarked runs only, if there are three of them."""
    clean = [run for run in runs if not run.marks]
    used = clean if len(clean) >= 3 else runs
    values = [what(run) for run in used]
    return Summary(statistics.median(values), min(values), max(values),
                   len(values), len(runs) - len(clean),
                   ">" * any(run.stopped for run in used))


def of(runs, query, variant):
    """The runs of one variant of one query."""
    return [r for r in runs if r.query == query and r.variant == variant]


def ratio(runs, query, above, below, what=lambda run: run.seconds) -> Summary:
    """what(above) / what(below) of two variants of a query."""
    return ratio_of(of(runs, query, above), of(runs, query, below), what)


def ratio_of(above, below, what) -> Summary:
    """what(one) / what(other), taken in each repetition, then summed up.

    Where one side was stopped it is a bound, where both were it says nothing.
    """
    pairs = list(zip(above, below))
    bounds = {(">" * a.stopped + "<" * b.stopped) for a, b in pairs} - {""}
    ratios = [(what(a) / what(b), bool(a.marks or b.marks)) for a, b in pairs]
    clean = [value for value, marked in ratios if not marked]
    used = clean if len(clean) >= 3 else [value for value, _ in ratios]
    return Summary(statistics.median(used), min(used), max(used), len(used),
                   sum(marked for _, marked in ratios), "".join(sorted(bounds)))


def explain_analyze(conn, sql) -> dict:
    """EXPLAIN (ANALYZE, BUFFERS) without per-row timing: the whole document."""
    row = conn.execute("explain (analyze, buffers, timing off, format json) "
                       + sql).fetchone()
    return row[0][0]


def find_nodes(node, wanted):
    """All plan nodes for which wanted(node) holds, top first."""
    found = [node] if wanted(node) else []
    for child in node.get("Plans", []):
        found += find_nodes(child, wanted)
    return found


def anago_nodes(plan):
    return find_nodes(plan, lambda node: "anago" in json.dumps(
        node.get("Custom Plan Provider", "")).lower())


def anago_in_workers(plan) -> bool:
    """Is there a node of anago below a Gather, in a plan of plan_summary()?"""
    for found in re.finditer(r"Gather(Merge)?\(", plan):
        depth, inside = 1, []
        for letter in plan[found.end():]:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if depth == 0:
                break
            inside.append(letter)
        if "Anago" in "".join(inside):
            return True
    return False


def plan_departs(run, variant) -> str:
    """What is wrong with a run's plan, as a mark: "" if nothing is."""
    if "anago" in variant.name and "Anago" not in run.plan and not variant.free:
        return "stock's plan"
    if variant.workers and not anago_in_workers(run.plan):
        return "no workers"
    return ""
