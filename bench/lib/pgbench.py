"""pgbench with anago not loaded, loaded and off, and on: taking turns."""

import re
from dataclasses import dataclass

from lib.machine import CpuWatch, wait_until_quiet
from lib.report import say
from lib.runs import ratio_of, summary

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


@dataclass(frozen=True)
class Sample:
    """One run of pgbench."""
    tps: float
    cpu_us: float           # of the server, for each transaction
    marks: str              # "busy", or ""
    stopped: bool = False


def once(cluster, side, script, seconds=SECONDS) -> Sample:
    cpu = CpuWatch(cluster).start()
    out = cluster.program("pgbench", "-n", *script, "-M", "prepared", "-c", 1,
                          "-T", seconds,
                          f"dbname={DATABASE} options='{SIDES[side]}'")
    cpu_seconds, _, disturbed = cpu.stop()
    tps = float(re.search(r"tps = ([\d.]+)", out.stdout)[1])
    return Sample(tps, cpu_seconds / (tps * seconds) * 1e6, "busy" * disturbed)


def rounds(bench, section, script, number, tables=()) -> dict:
    """All sides in turn; {side: [Sample]}.  The first round warms up.

    tables: statements that make what the script needs besides pgbench's own.
    """
    samples = {side: [] for side in SIDES}
    names = list(SIDES)
    with bench.cluster.started(SERVER):
        prepare(bench.cluster)
        with bench.cluster.connect(DATABASE) as conn:
            for statement in tables:
                conn.execute(statement)
        for round_ in range(number + 1):
            turn = round_ % len(names)
            wait_until_quiet()
            for side in names[turn:] + names[:turn]:
                one = once(bench.cluster, side, script)
                if round_ == 0:
                    continue
                samples[side].append(one)
                bench.records(section, " ".join(map(str, script)), side, round_,
                              1 / one.tps, cpu_seconds=one.cpu_us / 1e6,
                              marks=one.marks)
            say(f"pgbench {' '.join(map(str, script))}: round {round_} of {number}")
    return samples


def report(samples):
    """(rows of a table, summary): ratios are medians over rounds.

    CPU is there too, because a busy machine does not disturb it as much.
    """
    rows, out = [], {}
    for side, mine in samples.items():
        tps = summary(mine, lambda one: one.tps)
        cpu_us = summary(mine, lambda one: one.cpu_us)
        faster = ratio_of(samples["on"], mine, lambda one: one.tps)
        cheaper = ratio_of(mine, samples["on"], lambda one: one.cpu_us)
        rows.append([side, tps, faster, cpu_us, cheaper])
        out[side] = {"tps": tps.median, "on_over": faster.median,
                     "cpu_us": cpu_us.median, "cpu_over_on": cheaper.median}
    return rows, out


COLUMNS = ["anago", "tps", "tps of on / this", "CPU us each",
           "CPU of this / on"]
