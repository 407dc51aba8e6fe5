"""CH-benCHmark: transactions and queries at once, on one copy of the data.

    bench/python bench/experiments/htap.py --scale 5

TPC-C's transactions by pgbench and CH-benCHmark's 22 queries, each client in a loop
without thinking.  A fixed ratio of clients, and one that changes (50:50, 70:30,
30:70).  Four ways to run them:

    stock       Baseline Unified: one pool of CPUs, all processes alike
    with anago  the same, with queries planned by anago
    static      queries of anago's have half of the CPUs, as HTAL begins, and keep it
    HTAL        anago's balancer moves parts of CPUs between transactions and queries

Transactions and queries finished, transactions that failed, over time; of HTAL the
decisions, too.  Before and after, TPC-C's conditions of consistency are checked; rows
of all queries are compared before.
"""

import hashlib
import os
import random
import re
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from lib import ch, plots, queries, session
from lib.cluster import ClusterError
from lib.ending import main_of
from lib.report import say

NAME = "htap"
TITLE = "Transactions and queries on one copy of the data"
QUESTION = ("What do queries take from transactions beside them, planned by stock and "
            "with anago, as their ratio changes?")

# Share of OLTP clients in each part of the time.
LOADS = {"fixed": (0.5, 0.5, 0.5), "changing": (0.5, 0.7, 0.3)}

STOCK, ANAGO, STATIC, HTAL = WAYS = ("stock", "with anago", "static", "HTAL")
SETTINGS = {way: queries.ANAGO_OFF if way == STOCK else queries.ANAGO_ON for way in WAYS}
COLOURS = {STOCK: plots.COLOURS["stock"], ANAGO: plots.COLOURS["anago"],
           STATIC: plots.COLOURS["static"], HTAL: "#6a4c93"}

SERVER = {"shared_preload_libraries": "anago", "shared_buffers": "1GB",
          "max_wal_size": "4GB", "random_page_cost": 1.1,
          "effective_io_concurrency": 200}

# The server's settings of a way, by a reload: CPUs and reads of queries.
READS = 256
BALANCED = {
    STATIC: {"anago.server_processes": max(1, (os.cpu_count() or 1) // 2),
             "anago.server_inflight_reads": READS // 2},
    HTAL: {"anago.balancer": "on",
           "anago.balancer_oltp": "application_name:pgbench"}}


@dataclass
class Part:
    """What was finished in one part of the time."""
    share: float
    tps: list = field(default_factory=list)     # each second
    failed: int = 0
    queries: list = field(default_factory=list) # (seconds since its start, name)
    stopped: int = 0            # by the limit of time
    olap_cores: list = field(default_factory=list)  # each second, of HTAL


class Queries(threading.Thread):
    """One client: all queries in an order of its own, until told to end."""

    def __init__(self, bench, side, seed, part, end):
        super().__init__(daemon=True)
        self.conn = bench.cluster.connect(bench.dbname)
        for name, value in {**SETTINGS[side],
                            "statement_timeout": f"{bench.args.limit:g}s"}.items():
            self.conn.execute("select set_config(%s, %s, false)", (name, str(value)))
        self.random, self.part, self.end = random.Random(seed), part, end
        self.begin, self.error = time.monotonic(), None

    def run(self):
        texts = ch.queries()
        try:
            while time.monotonic() < self.end:
                for name in self.random.sample(sorted(texts), len(texts)):
                    if time.monotonic() >= self.end:
                        break
                    self.one(name, texts[name])
        except psycopg.Error as err:
            self.error = err
        finally:
            self.conn.close()

    def one(self, name, sql):
        """Its own limit stops a query; the end of the part does, too."""
        try:
            self.conn.execute(sql).fetchall()
        except psycopg.errors.QueryCanceled:
            self.part.stopped += time.monotonic() < self.end
            return
        if time.monotonic() < self.end:
            self.part.queries.append((time.monotonic() - self.begin, name))


class Decisions(threading.Thread):
    """What the balancer gives to queries, once in a second, until told to end."""

    def __init__(self, bench, part, end):
        super().__init__(daemon=True)
        self.conn = bench.cluster.connect(bench.dbname)
        self.part, self.end = part, end

    def run(self):
        with self.conn:
            while time.monotonic() < self.end:
                cores, = self.conn.execute(
                    "select olap_cores from anago_balancer()").fetchone()
                self.part.olap_cores.append(cores)
                time.sleep(1)


def switch(bench, way):
    """From now on the server has the settings of that way alone."""
    with bench.cluster.connect(bench.dbname) as conn:
        for name in {name for some in BALANCED.values() for name in some}:
            conn.execute(f"alter system reset {name}")
        for name, value in BALANCED.get(way, {}).items():
            conn.execute(f"alter system set {name} = '{value}'")
        conn.execute("select pg_reload_conf()")
        for _ in range(100):
            state, = conn.execute("select state from anago_balancer()").fetchone()
            if state.startswith("favour") if way == HTAL else state == "off":
                return
            time.sleep(0.1)
    raise ClusterError(f"the balancer is not as {way} needs it")


def run_part(bench, side, share, seed) -> Part:
    args, part = bench.args, Part(share)
    oltp = max(1, min(round(args.clients * share), args.clients - 1))
    end = time.monotonic() + args.seconds
    clients = [Queries(bench, side, seed + n, part, end)
               for n in range(args.clients - oltp)]
    if side == HTAL:
        clients.append(Decisions(bench, part, end))
    for client in clients:
        client.start()
    with tempfile.TemporaryDirectory(prefix="anago-htap-") as folder:
        Path(folder).chmod(0o755)
        out = bench.cluster.program(
            "pgbench", "-n", *ch.scripts(folder, ch.warehouses_of(args.scale)),
            "-c", oltp, "-j", 1, "-T", args.seconds, "-P", 1,
            f"dbname={bench.dbname}")
    for client in clients:
        if client.is_alive() and isinstance(client, Queries):
            client.conn.cancel()
        client.join()
        if isinstance(client, Queries) and client.error:
            raise ClusterError(f"a query failed: {client.error}")
    part.tps = [float(tps) for tps in
                re.findall(r"^progress: \S+ s, ([\d.]+) tps", out.stderr, re.M)]
    part.failed = int((re.search(r"failed transactions: (\d+)", out.stdout)
                       or [0, 0])[1])
    return part


def run(bench, side, load, repetition):
    """One list of parts, on the data as they have become."""
    switch(bench, side)
    parts = [run_part(bench, side, share, 1000 * repetition + 100 * number)
             for number, share in enumerate(LOADS[load])]
    one = summed(bench.args, parts)
    bench.results.add({"load": load, "way": side, "repetition": repetition, **one})
    say(f"{load}, {side} #{repetition}: "
        + ", ".join(f"{key} {value:.4g}" for key, value in one.items()))
    return parts


def summed(args, parts) -> dict:
    seconds = args.seconds * len(parts)
    cores = [n for part in parts for n in part.olap_cores if n is not None]
    return {"tps": statistics.fmean(tps for part in parts for tps in part.tps),
            "qph": sum(len(part.queries) for part in parts) / seconds * 3600,
            "stopped": sum(part.stopped for part in parts),
            "failed": sum(part.failed for part in parts),
            "olap_cores": statistics.fmean(cores) if cores else float("nan")}


def digest(conn, sql) -> str:
    rows = sorted(map(repr, conn.execute(sql).fetchall()))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def compare_rows(bench):
    """{query: is a plan of anago's in it}; stops where rows differ."""
    used = {}
    with bench.cluster.connect(bench.dbname) as conn:
        for name, sql in ch.queries().items():
            found = {}
            for side in (STOCK, ANAGO):
                for key, value in SETTINGS[side].items():
                    conn.execute(f"set {key} = {value}")
                found[side] = digest(conn, sql)
            if found[STOCK] != found[ANAGO]:
                raise ClusterError(f"{name}: anago's rows are not stock's")
            plan = "\n".join(row[0] for row in conn.execute(f"explain {sql}"))
            used[name] = "Anago" in plan
    return used


def check_consistency(bench, when):
    with bench.cluster.connect(bench.dbname) as conn:
        if wrong := ch.inconsistent(conn):
            raise ClusterError(f"{when}: it does not hold that {'; '.join(wrong)}")


def report(bench, found, used):
    rows, out = [], {}
    for (load, side), runs in found.items():
        each = [summed(bench.args, parts) for parts in runs]
        middle = {key: statistics.median(one[key] for one in each) for key in each[0]}
        if side != HTAL:
            del middle["olap_cores"]
        rows.append([load, side, f"{middle['tps']:,.0f}", f"{middle['qph']:,.0f}",
                     f"{middle['stopped']:g}", f"{middle['failed']:g}",
                     f"{middle['olap_cores']:.2f}" if side == HTAL else ""])
        out[f"{load}, {side}"] = middle
    bench.results.table("levels", "medians", [
        "load", "way", "tps", "queries per hour", "queries stopped",
        "transactions failed", "cores of queries"], rows)
    bench.results.note(f"anago in the plan of {sum(used.values())} of {len(used)} "
                       "queries; rows of all are stock's")
    return {**out, "anago_used": used}


def plot(bench, found):
    figure, axes = plots.plt.subplots(2, len(LOADS), sharex=True, sharey="row",
                                      figsize=(8.0, 5.0))
    width = bench.args.seconds
    for column, load in enumerate(LOADS):
        for side in WAYS:
            parts = found[load, side][0]
            colour = COLOURS[side]
            tps = [(n * width + second, value) for n, part in enumerate(parts)
                   for second, value in enumerate(part.tps)]
            axes[0][column].plot(*zip(*tps), color=colour, label=side, linewidth=1)
            axes[1][column].step(
                [n * width for n in range(len(parts) + 1)],
                [len(part.queries) / width * 3600 for part in (parts[0], *parts)],
                color=colour, label=side)
        axes[0][column].set_title(f"{load} load", fontsize=9)
        axes[1][column].set_xlabel("seconds")
    axes[0][0].set_ylabel("tps")
    axes[1][0].set_ylabel("queries per hour")
    for one in axes[:, 0]:
        one.set_ylim(bottom=0)
    axes[0][0].legend(fontsize=7)
    plots.save(figure, bench.results)


def main():
    parser = session.parser(__doc__, repetitions=2, scale=5)
    parser.add_argument("--seconds", type=int, default=60,
                        help="of each part; a load has three")
    parser.add_argument("--clients", type=int, default=8,
                        help="of transactions and of queries together")
    parser.add_argument("--limit", type=float, default=60,
                        help="seconds after which a query is stopped")
    args = parser.parse_args()
    if args.clients < 2:
        parser.error("--clients: one of each kind at least")
    with session.experiment(NAME, TITLE, QUESTION, args, data=ch) as bench:
        with bench.cluster.started(SERVER):
            check_consistency(bench, "as loaded")
            used = compare_rows(bench)
            found = {(load, side): [] for load in LOADS for side in WAYS}
            for repetition in range(1, args.repetitions + 1):
                for load, side in found:
                    found[load, side].append(run(bench, side, load, repetition))
            check_consistency(bench, "after all transactions")
        out = report(bench, found, used)
        plot(bench, found)
        bench.results.finish(out)


if __name__ == "__main__":
    main_of(NAME, main)
