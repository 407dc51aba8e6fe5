"""Queries A-D with stock and with anago, cold and cached: one table.

Run by demo.sh.  "stock" is the server without anago, "anago" the same server
with `anago.enable = on`.  Each query runs in one process (no parallel workers,
no JIT compilation, for both), and each side takes whatever plan its planner
chooses.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from lib import load, machine, queries, report, runs
from lib.cluster import Cluster, ClusterError
from lib.device import Device, Reads
from lib.places import DEFAULT_PORT, database_name
from lib.runs import Variant

SCALE = 1.0
SHOWN = "C"                     # the query whose plan is shown

STOCK = queries.ONE_PROCESS
ANAGO = {**STOCK, **queries.ANAGO_ON}

# All that a query touches fits in, where the machine has the memory.
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
SERVER_STOCK = {"shared_buffers": f"{min(MEMORY // 4, 2 << 30) >> 20}MB"}
SERVER_ANAGO = {**SERVER_STOCK, "session_preload_libraries": "anago"}


# What the marks of lib/runs.py mean.
EXCUSES = {"busy": "something else kept the machine busy",
           "not_cold": "some pages came from a cache below the server",
           "not_cached": "not all pages fitted into shared buffers"}


class NoDevice:
    """Where the file system has no block device: no counts."""

    name = "unknown"

    def reads(self):
        return Reads(0, 0)


def device_of(path):
    try:
        return Device(path)
    except SystemExit as why:
        report.say(f"{why}; pages read by the server are shown instead")
        return NoDevice()


def variants(name):
    """Stock and anago, as cold runs have them."""
    sql = queries.text(name)
    return (Variant("stock", sql, STOCK, SERVER_STOCK, name),
            Variant("anago", sql, ANAGO, SERVER_ANAGO, name))


def cold_runs(cluster, dbname, device):
    for name in queries.NAMES:
        for variant in variants(name):
            report.say(f"cold: query {name}, {variant.name}")
            yield "cold", runs.run_cold(cluster, dbname, device, variant, 0)
    cluster.stop()


def cached_runs(cluster, dbname, device):
    """All in one session of one server; anago is on or off by its setting."""
    with cluster.started(SERVER_ANAGO), cluster.connect(dbname) as conn:
        for name in queries.NAMES:
            report.say(f"cached: query {name}")
            for variant in variants(name):
                off = {} if variant.name == "anago" else queries.ANAGO_OFF
                yield "cached", runs.run_cached(
                    cluster, conn, device,
                    Variant(variant.name, variant.sql,
                            {**variant.session, **off}, {}, name), 0)


def reads_per_s(run):
    return run.device_reads_per_s or run.pages_per_s


def ms(run):
    return f"{1000 * run.seconds:,.0f} ms" + ("*" if run.marks else "")


def line(cache, stock, anago):
    """One line of the table."""
    plan = "anago" if "Anago" in anago.plan else "core's"
    same = (stock.rows, stock.digest) == (anago.rows, anago.digest)
    return (f"{stock.query} {cache}", ms(stock), ms(anago),
            f"{stock.seconds / anago.seconds:.1f}",
            f"{reads_per_s(stock):,.0f}", f"{reads_per_s(anago):,.0f}",
            plan, "yes" if same else "NO")


def show_plan(cluster, dbname):
    sql = queries.text(SHOWN)
    cluster.restart_cold(SERVER_ANAGO)
    with cluster.connect(dbname) as conn:
        runs.set_session(conn, {**ANAGO, "track_io_timing": "on"})
        runs.plan_of(conn, sql)
        rows = conn.execute("explain (analyze, buffers, costs off, timing off) "
                            + sql).fetchall()
    print(f"\nQuery {SHOWN}, cold, with anago:\n")
    for row in rows:
        print("  " + row[0])


def demo(cluster, dbname):
    device = device_of(cluster.data)
    machine.patience_s = 1.0
    with cluster.started(), cluster.connect(dbname) as conn:
        conn.execute("create extension if not exists anago")
    lines, same, marks = [], True, set()
    for measured in (cold_runs, cached_runs):
        stock = None
        for cache, run in measured(cluster, dbname, device):
            marks.update(run.marks.replace("not ", "not_").split())
            if run.variant == "stock":
                stock = run
            else:
                lines.append(line(cache, stock, run))
                same = same and stock.digest == run.digest
    show_plan(cluster, dbname)
    print()
    report.table(f"TPC-H scale {SCALE:g}, {cluster.version()}, "
                 f"{os.cpu_count()} cores, device {device.name}",
                 ("query", "stock", "anago", "stock / anago", "stock reads/s",
                  "anago reads/s", "plan", "same rows"), lines)
    if marks:
        print("* " + ", ".join(sorted(EXCUSES[mark] for mark in marks)))
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dir", type=Path, required=True,
                        help="folder of the cluster")
    parser.add_argument("--begin", type=float, default=0,
                        help="seconds already spent")
    args = parser.parse_args()
    start = time.monotonic() - args.begin
    cluster = Cluster(args.dir / "cluster", port=DEFAULT_PORT)
    dbname = database_name(SCALE)
    if cluster.running():
        sys.exit(f"demo: a server runs on {cluster.data}: another demo? "
                 "Stop it first")
    try:
        load.ensure_loaded(cluster, SCALE)
        same = demo(cluster, dbname)
    except ClusterError as err:
        sys.exit(f"demo: {err}")
    except KeyboardInterrupt:
        sys.exit("demo: interrupted; the same command goes on from here")
    finally:
        cluster.stop()
    print(f"\nDone in {time.monotonic() - start:.0f} s. Nothing is left "
          f"running; the data are in {args.dir}: make demo-clean removes them.")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
