"""pgbench with anago not loaded, loaded and off, and on: taking turns."""

import re
import statistics

from lib.machine import CpuWatch
from lib.report import say

DATABASE = "pgbench"
SCALE = 20                  # 300 MB: in shared buffers
BYTES = SCALE * 25_000_000
SECONDS = 2

_LOADED = "-c session_preload_libraries=anago -c anago.enable="
SIDES = {"not loaded": "", "off": _LOADED + "off", "on": _LOADED + "on"}

# Nothing waits for a disk: what is measured is the server's own work.
SERVER = {"shared_buffers": "1GB", "synchronous_commit": "off"}


def prepare(cluster):
    """The database, made anew if it was left half made."""
    with cluster.connect() as conn:
        there = conn.execute("select 1 from pg_database where datname = %s",
                             (DATABASE,)).fetchone()
    if there:
        with cluster.connect(DATABASE) as conn:
            there = conn.execute("select to_regclass('pgbench_accounts_pkey')"
                                 ).fetchone()[0]
    if not there:
        with cluster.connect() as conn:
            conn.execute(f"drop database if exists {DATABASE}")
            conn.execute(f"create database {DATABASE}")
        cluster.program("pgbench", "-q", "-i", "-s", SCALE, DATABASE)
    with cluster.connect(DATABASE) as conn:
        conn.execute("create extension if not exists anago")


def once(cluster, side, script, seconds=SECONDS):
    """Transactions per second, and CPU of the server for each in us."""
    cpu = CpuWatch(cluster).start()
    out = cluster.program("pgbench", "-n", *script, "-M", "prepared", "-c", 1,
                          "-T", seconds,
                          f"dbname={DATABASE} options='{SIDES[side]}'")
    cpu_seconds, *_ = cpu.stop()
    tps = float(re.search(r"tps = ([\d.]+)", out.stdout)[1])
    return tps, cpu_seconds / (tps * seconds) * 1e6


def rounds(cluster, script, number, sink, seconds=SECONDS):
    """All sides in turn; {side: [(tps, CPU us)]}.  The first round warms up."""
    figures = {side: [] for side in SIDES}
    names = list(SIDES)
    for round_ in range(number + 1):
        turn = round_ % len(names)
        for side in names[turn:] + names[:turn]:
            tps, cpu_us = once(cluster, side, script, seconds)
            if round_:
                figures[side].append((tps, cpu_us))
                sink(side, round_, tps, cpu_us)
        say(f"pgbench {' '.join(script)}: round {round_} of {number}")
    return figures


def report(figures):
    """(rows of a table, summary): ratios are medians over rounds.

    CPU is there too, because a busy machine does not disturb it as much.
    """
    def over(side, which):
        return statistics.median(on[which] / other[which] for on, other
                                 in zip(figures["on"], figures[side]))
    rows, out = [], {}
    for side, pairs in figures.items():
        tps, cpu_us = (statistics.median(f) for f in zip(*pairs))
        rows.append([side, f"{tps:,.0f}", f"{over(side, 0):.3f}",
                     f"{cpu_us:.1f}", f"{1 / over(side, 1):.3f}"])
        out[side] = {"tps": tps, "on_over": over(side, 0), "cpu_us": cpu_us,
                     "cpu_over_on": 1 / over(side, 1)}
    return rows, out


COLUMNS = ["anago", "tps", "tps of on / this", "CPU us each",
           "CPU of this / on"]
