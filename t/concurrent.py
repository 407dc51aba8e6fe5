"""Readers compare anago with stock while writers change everything.

    bench/python t/concurrent.py                   ten minutes
    bench/python t/concurrent.py --duration 60
    bench/python t/concurrent.py --seed 7
    bench/python t/concurrent.py --workers 0       never in several processes

Each reader opens a REPEATABLE READ snapshot and asks each of several random
queries twice, without anago and with it; the rows must be the same.  Every
second query, by chance, is planned with up to --workers workers.  Meanwhile
writers insert, update (HOT or not), delete, split pages, truncate, and VACUUM
runs.  The server has few buffers, so that pages are really read, and restarts
with other settings every ROUND_S.

PG_CONFIG names the PostgreSQL that anago is installed in; as root, ANAGO_USER
the account that the server runs as.  --self-check compares stock with stock
(other plans), to test this test.  Exit code 0: no difference, clean log.
"""

import argparse
import random
import sys
import threading
import time

import psycopg

from lib.cluster import ClusterError
from differ import compare, kinds, memory, place, settings, tables, writers
from differ.tally import Tally
from lib.ending import main_of

ROUND_S = 60
READERS = 3
WRITERS = 3
QUERIES_PER_SNAPSHOT = 12
WORKERS = 3

# Queries that workers share have so many times as many rows, at most.
SIZE_WITH_WORKERS = 10

PORT = 5660


class Reader(threading.Thread):
    """Opens snapshots, asks queries both ways, until told to stop."""

    def __init__(self, connect, seed, stop, args, buffers_mb):
        super().__init__(daemon=True)
        self.rng = random.Random(seed)
        self.seed = seed
        self.connect = connect
        self.stop = stop
        self.self_check = args.self_check
        self.wanted_methods = args.methods
        self.workers = args.workers
        self.only = args.kinds
        self.buffers_mb = buffers_mb
        self.memory = args.memory and not args.self_check
        self.tally = Tally()
        self.failure = None

    def run(self):
        try:
            with self.connect() as conn:
                self.methods, self.modes = (
                    ([], []) if self.self_check else
                    compare.capabilities(conn))
                if self.wanted_methods:
                    self.methods = self.wanted_methods.split(",")
                self.kinds = kinds.Kinds(conn, self.only, self.buffers_mb)
                self.peak = memory.peak_of(conn, self.memory)
                while not self.stop.is_set():
                    self._snapshot(conn)
        except psycopg.Error as err:
            self.failure = err
            self.stop.set()

    def _snapshot(self, conn):
        isolation = self.rng.choices(["repeatable read", "serializable"],
                                     [9, 1])[0]
        conn.execute(f"begin isolation level {isolation}")
        try:
            for _ in range(self.rng.randint(1, QUERIES_PER_SNAPSHOT)):
                if self.stop.is_set():
                    break
                self._compare(conn)
            conn.execute("commit")
        except psycopg.errors.SerializationFailure:
            conn.execute("rollback")

    def _compare(self, conn):
        workers = self.rng.choice([0, self.workers])
        size = self.rng.choice([1, SIZE_WITH_WORKERS]) if workers else 1
        query = self.kinds.query(self.rng, size)
        shared = {**settings.planner(self.rng),
                  **settings.parallel(self.rng, workers)}
        mine = (settings.planner(self.rng) if self.self_check else
                settings.anago(self.rng, self.methods, self.modes))
        if not self.self_check:
            shared = {**shared, "anago.enable": "off"}
        try:
            compare.compare_once(conn, query, shared, mine, self.tally,
                                 peak=self.peak)
        except compare.Difference as difference:
            compare.repeat_difference(conn, difference, shared)
            difference.notes.append(f"reader's seed: {self.seed}")
            self.tally.differences.append(difference)
            self.stop.set()


def one_round(cluster, seed, seconds, args, tally) -> bool:
    """One server's life; False if it found something."""
    rng = random.Random(seed)
    buffers_mb = settings.buffers_mb(rng, kinds.fewest_mb(args.kinds))
    server = settings.server(rng, cluster.major(), buffers_mb)
    if args.self_check:
        server["session_preload_libraries"] = ""
    print(f"round of seed {seed}: " + ", ".join(
        f"{name} {server[name]}" for name in ("shared_buffers", "io_method")
        if name in server), flush=True)
    stop = threading.Event()

    def connect():
        return cluster.connect(place.DBNAME)

    with cluster.started(server):
        readers = [Reader(connect, rng.getrandbits(31), stop, args, buffers_mb)
                   for _ in range(READERS)]
        others = [writers.Writer(connect, rng.getrandbits(31), stop)
                  for _ in range(WRITERS)]
        others.append(writers.Vacuumer(connect, rng.getrandbits(31), stop))
        for thread in readers + others:
            thread.start()
        stop.wait(seconds)
        stop.set()
        for thread in readers + others:
            thread.join()
    for reader in readers:
        tally.add(reader.tally)
    tally.counts["changes"] += sum(t.done for t in others)
    return report(cluster, readers + others, tally, seed)


def report(cluster, threads, tally, seed) -> bool:
    """Print what went wrong in a round; True if nothing did."""
    failures = [t.failure for t in threads if t.failure]
    bad = place.bad_log_lines(cluster)
    for difference in tally.differences:
        print(difference)
    for failure in failures:
        print(f"a connection failed: {failure}")
    for line in bad[:20]:
        print(f"in the server's log: {line}")
    if not (tally.differences or failures or bad):
        return True
    print(f"the same start again: t/concurrent.py --seed {seed}  (how threads "
          "meet is not repeated; try several times)")
    return False


def prepare(cluster, self_check):
    """The tables and their rows."""
    with cluster.started({"fsync": "off"}):
        with cluster.connect() as conn:
            conn.execute(f"create database {place.DBNAME}")
        with cluster.connect(place.DBNAME) as conn:
            tables.create(conn)
            kinds.create(conn)
            if not self_check:
                conn.execute("create extension anago")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--duration", type=float, default=600, help="seconds")
    parser.add_argument("--seed", type=int,
                        default=random.SystemRandom().getrandbits(20))
    parser.add_argument("--kinds", default="", help="of queries, by comma "
                        "(lib/differ/kinds.py), \"usual\" among them; "
                        "default all")
    parser.add_argument("--memory", default=True,
                        action=argparse.BooleanOptionalAction,
                        help="compare the peak of the backend's memory, too")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--workers", type=int, default=WORKERS,
                        help="of every second query; 0: none")
    parser.add_argument("--methods", help="values of anago.io_method, by "
                        "comma; default all that this build has")
    parser.add_argument("--self-check", action="store_true",
                        help="stock against stock; needs no anago")
    args = parser.parse_args()

    tally = Tally()
    seed, good = args.seed, True
    try:
        library = None if args.self_check else "anago"
        with place.throw_away_cluster(args.port, library) as cluster:
            prepare(cluster, args.self_check)
            end = time.monotonic() + args.duration
            while good and time.monotonic() < end:
                seconds = min(ROUND_S, end - time.monotonic())
                good = one_round(cluster, seed, seconds, args, tally)
                print(f"  {tally.summary()}, {tally.counts['changes']} changes",
                      flush=True)
                seed += 1
            good = good and enough(tally, args.self_check)
            if not good:
                raise SystemExit(1)
    except ClusterError as err:
        sys.exit(f"concurrent: {err}")


def enough(tally, self_check) -> bool:
    """Was anago really at work?"""
    too_little = "" if self_check else tally.too_little()
    if too_little:
        print(too_little)
    return not too_little


if __name__ == "__main__":
    main_of("concurrent", main)
