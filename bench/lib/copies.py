"""Copies of a loaded cluster that are thrown away: one to write to, one as its standby.

    with copied(cluster, "primary") as primary, copied(cluster, "standby") as standby:
        make_standby(standby)
        with running(primary, settings, cpus), \\
                running(standby, {**settings, **follows(primary)}, cpus):
            wait_until_applied(primary, standby)

Whatever is written to a copy, the loaded cluster stays as it is, and everything that
is measured begins with the same data.  A standby needs no base backup: the files of
a server that was shut down are the same for both.
"""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

from lib import account
from lib.cluster import SUPERUSER, Cluster, ClusterError, wait_for

# What the next start reads of the WAL: the segment of the last checkpoint's record, and
# the one that it may reach into.  Others are old, or there for use again.
SEGMENTS = 2

NOT_COPIED = {"pg_wal", "postmaster.pid", "postmaster.opts", "bench.conf"}


def _run(cluster, program, *args) -> str:
    done = account.run_as_server([program, *args], capture_output=True, text=True)
    if done.returncode != 0:
        raise ClusterError(f"{program} on {cluster.root} failed:\n{done.stderr}")
    return done.stdout


def _last_segments(cluster) -> list:
    told = _run(cluster, cluster.bindir / "pg_controldata", cluster.data)
    state = dict(line.split(":", 1) for line in told.splitlines() if ":" in line)
    if state["Database cluster state"].strip() != "shut down":
        raise ClusterError(f"{cluster.data} was not shut down, and cannot be copied")
    first = state["Latest checkpoint's REDO WAL file"].strip()
    there = sorted(path for path in (cluster.data / "pg_wal").iterdir()
                   if path.is_file() and len(path.name) == len(first))
    return [path for path in there if path.name >= first][:SEGMENTS]


def _copy(cluster, to):
    account.make_own_directory(to.root)
    account.make_own_directory(to.data)
    account.make_own_directory(to.data / "pg_wal")
    entries = [path for path in cluster.data.iterdir() if path.name not in NOT_COPIED]
    _run(to, "cp", "-a", "--reflink=auto", "-t", to.data, *entries)
    _run(to, "cp", "-a", "-t", to.data / "pg_wal", *_last_segments(cluster))


def _remove(cluster):
    """What an earlier script left, or we; a server on it is not ours to stop."""
    if cluster.running():
        raise ClusterError(f"a server runs on {cluster.data}, a copy of an earlier run: "
                           "stop it first")
    shutil.rmtree(cluster.root, ignore_errors=True)


@contextmanager
def copied(cluster, name):
    """A copy of a stopped cluster, beside it; yields it, and removes it at the end."""
    copy = Cluster(cluster.root.with_name(f"{cluster.root.name}-{name}"),
                   bindir=cluster.bindir, port=cluster.port)
    _remove(copy)
    try:
        _copy(cluster, copy)
        yield copy
    finally:
        try:
            _end(copy)
        except KeyboardInterrupt:   # once; later signals are ignored
            _end(copy)
            raise


def _end(copy):
    copy.stop("immediate")          # nobody reads its data again
    _remove(copy)


@contextmanager
def on_cpus(cpus):
    """Processes that this thread starts meanwhile run on these CPUs alone."""
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


@contextmanager
def running(copy, settings, cpus):
    with on_cpus(cpus):
        copy.start(settings)
    try:
        yield
    finally:
        copy.stop("immediate")


# --- a standby --------------------------------------------------------------

def make_standby(copy):
    Path(copy.data, "standby.signal").touch()


def follows(primary) -> dict:
    """A standby's settings."""
    return {"primary_conninfo":
            f"host={primary.root} port={primary.port} user={SUPERUSER}"}


def wait_until_applied(primary, standby, timeout_s=300.0):
    """Until all that the primary has written so far is applied."""
    with primary.connect() as conn:
        end, = conn.execute("select pg_current_wal_flush_lsn()").fetchone()
    with standby.connect() as conn:
        wait_for(lambda: conn.execute("select pg_last_wal_replay_lsn() >= %s", (end,))
                 .fetchone()[0], f"the standby to apply {end}", timeout_s)
