"""Loading TPC-H: the steps, two jobs that take them, and what is done.

Rows come from tpchgen-cli through a pipe (nothing is put on disk twice) and
go in by COPY ... FREEZE, so that pages are born all-visible and no WAL is
written.  The jobs work at the same time, the longest piece first: while one
copies lineitem, the other copies and indexes everything else; then both build
lineitem's indexes.

What is done is written down in the table bench_load, in the transaction that
did it: started again, the load goes on with what is missing.
"""

import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field

from lib import progress, tpch
from lib.cluster import Cluster, ClusterError
from lib.emulated import facts_of
from lib.places import database_name

# tpchgen-cli takes about a second to start; a part is long against that.
PART_BYTES = 1_000_000_000
PIPE_BLOCK = 1 << 20

# Noted after the last step: until then statistics may be missing.
COMPLETE = "complete"

# Rough costs, only to order the pieces and to guess the time left.
SECONDS_PER_CSV_BYTE = 1 / 75e6
SECONDS_PER_INDEX_ROW = 0.35e-6
SECONDS_PER_VACUUM_ROW = 0.03e-6

LOAD_SETTINGS = {
    "wal_level": "minimal",
    "max_wal_senders": 0,
    "fsync": "off",                 # the files are synced once, at the end
    "full_page_writes": "off",
    "wal_skip_threshold": 0,
    "shared_buffers": "512MB",
    "max_parallel_maintenance_workers": 0,
    "checkpoint_timeout": "1d",
    "max_wal_size": "64GB",
}


@dataclass
class Step:
    """One piece of the load; it starts when all it needs is done."""
    name: str
    weight: float                   # seconds, roughly
    run: callable
    needs: tuple = ()
    path: float = field(default=0)  # seconds from its start to the very end


class Load:
    """The steps, the jobs that take them, and what is done."""

    def __init__(self, cluster, scale, jobs):
        self.cluster = cluster
        self.scale = scale
        self.jobs = jobs
        self.dbname = database_name(scale)
        self.changed = threading.Condition()
        self.done = set()
        self.running = set()
        self.error = None
        self.children = set()
        self.steps = {step.name: step for step in self._all_steps()}
        self._measure_paths()

    # --- the steps --------------------------------------------------------

    def _all_steps(self):
        for table in tpch.TABLES:
            yield from self._steps_of(table)

    def _steps_of(self, table):
        factor = self.scale if table.scales else 1
        rows = table.rows * factor
        copy = f"copy {table.name}"
        yield Step(copy, table.csv_bytes * factor * SECONDS_PER_CSV_BYTE,
                   lambda conn, step: self._copy(conn, step, table))

        indexes = []
        for columns in (table.primary_key, *table.indexes):
            unique = columns == table.primary_key
            name = f"index {table.name}({columns})"
            indexes.append(name)
            yield Step(name, rows * SECONDS_PER_INDEX_ROW,
                       lambda conn, step, columns=columns, unique=unique:
                       self._index(conn, step, table, columns, unique),
                       needs=(copy,))
        yield Step(f"finish {table.name}", rows * SECONDS_PER_VACUUM_ROW,
                   lambda conn, step: self._finish(conn, step, table),
                   needs=tuple(indexes))

    def _measure_paths(self):
        """path = own weight + the longest path of those that need it."""
        for step in reversed(list(self.steps.values())):
            step.path += step.weight
            for name in step.needs:
                needed = self.steps[name]
                needed.path = max(needed.path, step.path)

    def _copy(self, conn, step, table):
        factor = self.scale if table.scales else 1
        total = table.csv_bytes * factor
        parts = max(1, round(total / PART_BYTES))
        sent = 0
        with conn.transaction():
            conn.execute(f"drop table if exists {table.name}")
            conn.execute(f"create table {table.name} ({table.columns})")
            for pipe in self._parts(table.name, parts):
                with conn.cursor().copy(
                        f"copy {table.name} from stdin "
                        "(format csv, header, freeze)") as copy:
                    while block := pipe.read(PIPE_BLOCK):
                        copy.write(block)
                        sent += len(block)
                        self.work.step(step.name, step.weight, sent / total)
                        self._check()
            self._write_down(conn, step)

    def _parts(self, table, parts):
        """Generate the parts, each started while the one before is read."""
        waiting = [self._generate(table, parts, 1)]
        for part in range(1, parts + 1):
            child = waiting.pop()
            if part < parts:
                waiting.append(self._generate(table, parts, part + 1))
            yield child.stdout
            if child.wait() != 0:
                raise ClusterError(f"tpchgen-cli failed for {table}, "
                                   f"part {part}: {child.stderr.read()}")
            child.stdout.close()
            child.stderr.close()
            self.children.discard(child)

    def _generate(self, table, parts, part):
        argv = ["tpchgen-cli", "-s", str(self.scale), "-T", table,
                "-f", "csv", "-n", "1", "--stdout"]
        if parts > 1:
            argv += ["--parts", str(parts), "--part", str(part)]
        child = subprocess.Popen(argv, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.children.add(child)
        return child

    def _index(self, conn, step, table, columns, unique):
        word = "unique index" if unique else "index"
        with conn.transaction():
            conn.execute(f"create {word} {_index_name(table, columns, unique)}"
                         f" on {table.name} ({columns})")
            self._write_down(conn, step)

    def _finish(self, conn, step, table):
        """Primary key, visibility map, statistics."""
        primary = _index_name(table, table.primary_key, True)
        with conn.transaction():
            conn.execute(f"alter table {table.name} add constraint {primary} "
                         f"primary key using index {primary}")
            self._write_down(conn, step)
        conn.execute(f"vacuum (freeze, analyze) {table.name}")

    # --- running them -----------------------------------------------------

    def run(self):
        self._prepare_database()
        left = [s for s in self.steps.values() if s.name not in self.done]
        if self.done:
            print(f"going on: {len(self.steps) - len(left)} of "
                  f"{len(self.steps)} steps are done", file=sys.stderr)
        total = sum(step.weight for step in left)
        with progress.Work(f"TPC-H {self.scale:g}", total) as self.work:
            threads = [threading.Thread(target=self._job, daemon=True)
                       for _ in range(self.jobs)]
            for thread in threads:
                thread.start()
            try:
                while any(thread.is_alive() for thread in threads):
                    self._watch_indexes()
            except BaseException as err:
                self._give_up(err)
                raise
        if self.error:
            raise self.error
        with self.cluster.connect(self.dbname) as conn:
            conn.execute("vacuum analyze")
            conn.execute("checkpoint")
            conn.execute("insert into bench_load values (%s) "
                         "on conflict do nothing", (COMPLETE,))
        return self.work.elapsed_s()

    def _prepare_database(self):
        with self.cluster.connect() as conn:
            if not conn.execute("select 1 from pg_database where datname = %s",
                                (self.dbname,)).fetchone():
                conn.execute(f"create database {self.dbname}")
        with self.cluster.connect(self.dbname) as conn:
            conn.execute("create table if not exists bench_load "
                         "(step text primary key)")
            self.done = {row[0] for row in
                         conn.execute("select step from bench_load")}

    def _job(self):
        try:
            with self.cluster.connect(self.dbname) as conn:
                conn.execute(f"set maintenance_work_mem = {_sort_memory_kb()}")
                while step := self._take():
                    step.run(conn, step)
                    self._put_back(step)
        except Exception as err:
            self._give_up(err)

    def _take(self):
        """The step with the longest path that may start; None: no more."""
        with self.changed:
            while True:
                left = [s for s in self.steps.values()
                        if s.name not in self.done | self.running]
                if not left or self.error:
                    return None
                ready = [s for s in left if self.done.issuperset(s.needs)]
                if ready:
                    step = max(ready, key=lambda s: s.path)
                    self.running.add(step.name)
                    return step
                self.changed.wait()

    def _put_back(self, step):
        with self.changed:
            self.running.discard(step.name)
            self.done.add(step.name)
            self.changed.notify_all()
        self.work.finish(step.name, step.weight)

    def _give_up(self, err):
        with self.changed:
            self.error = self.error or err
            self.changed.notify_all()
        for child in list(self.children):
            child.kill()

    def _check(self):
        if self.error:
            raise ClusterError("stopped, because another job failed")

    def _write_down(self, conn, step):
        conn.execute("insert into bench_load values (%s)", (step.name,))

    def _watch_indexes(self):
        """Ask the server how far index builds are; once a second."""
        with self.cluster.connect(self.dbname) as conn:
            rows = conn.execute(
                "select a.query, p.blocks_done, p.blocks_total,"
                " p.tuples_done, p.tuples_total"
                " from pg_stat_progress_create_index p"
                " join pg_stat_activity a using (pid)").fetchall()
        for query, blocks, all_blocks, tuples, all_tuples in rows:
            for name in list(self.running):
                if name.startswith("index ") and _names(query, name):
                    self.work.step(name, self.steps[name].weight,
                                   0.6 * blocks / max(all_blocks, 1)
                                   + 0.4 * tuples / max(all_tuples, 1))
        with self.changed:
            self.changed.wait(1.0)


def _names(query, step_name) -> bool:
    """Does this CREATE INDEX belong to the step "index table(columns)"?"""
    table, columns = step_name.removeprefix("index ").rstrip(")").split("(", 1)
    return query.endswith(f" on {table} ({columns})")


def _index_name(table, columns, unique) -> str:
    if unique:
        return f"{table.name}_pkey"
    return f"{table.name}_{columns.replace(', ', '_')}_idx"


def _sort_memory_kb() -> int:
    """Memory of one index build: a sixteenth of the machine's, at most 1 GB."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(memory // 16, 1 << 30) // 1024


def check_room(cluster, scale, extra_bytes=0):
    """Say before loading when the disk is too small.

    extra_bytes: what else will be put there, after the load.
    """
    require_room(cluster, bytes_missing(cluster, scale) + extra_bytes,
                 f"scale {scale:g}")


def require_room(cluster, needed, what="this"):
    """Is there room for so many bytes more?"""
    place = cluster.root
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if facts_of(cluster.root.parent):       # a sparse file, on the local disk
        free = min(free, shutil.disk_usage(cluster.root.parent.parent).free)
    if free < needed:
        raise ClusterError(
            f"{what} needs {needed / 1e9:.1f} GB more at {place} than is there "
            f"already, and {free / 1e9:.1f} GB are free: choose a smaller scale, or "
            "another place with --dir")


def bytes_missing(cluster, scale) -> int:
    """Room that loading will still take, at most."""
    return max(tpch.bytes_needed(scale) - _bytes_below(cluster.root), 0)


def _bytes_below(folder) -> int:
    """Room that files take; what vanishes meanwhile does not count."""
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(directory, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def is_loaded(cluster, scale) -> bool:
    """Is everything of this scale in the (running) cluster?"""
    dbname = database_name(scale)
    with cluster.connect() as conn:
        if not conn.execute("select 1 from pg_database where datname = %s",
                            (dbname,)).fetchone():
            return False
    with cluster.connect(dbname) as conn:
        if not conn.execute("select to_regclass('bench_load')").fetchone()[0]:
            return False
        return bool(conn.execute("select 1 from bench_load where step = %s",
                                 (COMPLETE,)).fetchone())


def ensure_loaded(cluster: Cluster, scale: float):
    """Load unless all of it is there; leaves the cluster stopped."""
    if cluster.exists():
        with cluster.started():
            if is_loaded(cluster, scale):
                return
    load(cluster, scale)


def load(cluster: Cluster, scale: float, jobs: int = 2) -> float:
    """Make the cluster if needed, load what is missing; seconds it took."""
    if not shutil.which("tpchgen-cli"):
        raise ClusterError("tpchgen-cli is missing: run me by bench/python")
    check_room(cluster, scale)
    if not cluster.exists():
        cluster.create()
    with cluster.started(LOAD_SETTINGS):
        seconds = Load(cluster, scale, jobs).run()
    os.sync()
    return seconds
