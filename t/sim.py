"""Many seeds of the I/O simulator: any order, any delay, any fault.

    bench/python t/sim.py                      1,000 seeds
    bench/python t/sim.py --seeds 20
    bench/python t/sim.py --seed 4711          one seed again
    bench/python t/sim.py --workers 0          never in several processes

A seed decides the queries, the settings, the order in which simulated reads
complete, and which of them fail.  Rows must be those of stock.  Where reads
are made to fail for good, or the query gets only a few milliseconds, that
error is an answer too; the next query of the session must then be right.

The queries of odd seeds are planned with up to --workers workers.  How these
share the work is not in the seed's hands: such a seed may have to be repeated.

All tables are in shared buffers, so that nothing else decides (the simulator
makes resident blocks wait as well).  --buffers 1MB makes them come and go
instead.

PG_CONFIG names the PostgreSQL that anago is installed in; as root, ANAGO_USER
the account that the server runs as.  Exit code 0: no difference, clean log.
"""

import argparse
import random
import sys

import psycopg

from lib.cluster import ClusterError
from differ import compare, kinds, memory, place, settings, tables
from differ.tally import Tally
from lib.ending import main_of

QUERIES_PER_SEED = 4
SEEDS_PER_SESSION = 50
SHORT_TIMES_MS = (2, 5, 20)
WORKERS = 3

# Queries that workers share have so many times as many rows, at most.
SIZE_WITH_WORKERS = 10

PORT = 5661


class Simulation:
    """Runs seeds, one session for several of them."""

    def __init__(self, cluster, args):
        self.cluster = cluster
        self.args = args
        self.tally = Tally()
        self.conn = None
        self.session_seeds = 0

    def run(self, seed):
        """All queries of one seed; raises Difference."""
        if self.conn is None or self.session_seeds >= SEEDS_PER_SESSION:
            self._new_session()
        self.session_seeds += 1
        rng = random.Random(seed)
        for _ in range(QUERIES_PER_SEED):
            self._one_query(rng, self.args.workers if seed % 2 else 0)

    def close(self):
        if self.conn:
            self.conn.close()

    def _new_session(self):
        self.close()
        self.conn = self.cluster.connect(place.DBNAME)
        self.methods, self.modes = compare.capabilities(self.conn)
        self.kinds = kinds.Kinds(self.conn, self.args.kinds)
        self.peak = memory.peak_of(self.conn, self.args.memory)
        self.session_seeds = 0

    def _one_query(self, rng, workers):
        size = rng.choice([1, SIZE_WITH_WORKERS]) if workers else 1
        query = self.kinds.query(rng, size)
        shared = {**settings.planner(rng), **settings.parallel(rng, workers),
                  "anago.enable": "off"}
        mine = settings.anago(rng, self.methods, self.modes, method="sim")
        faulty = rng.random() < 0.3
        timeout_ms = compare.ANAGO_TIMEOUT_MS
        if faulty:
            mine.update(settings.simulator(rng, faults=True))
        elif rng.random() < 0.1:
            timeout_ms = rng.choice(SHORT_TIMES_MS)
        if self.args.seed is not None:
            print(f"{query.execute}: {query.sql};\n  {mine}", flush=True)
        self._compare(query, shared, mine, timeout_ms)
        if faulty or timeout_ms != compare.ANAGO_TIMEOUT_MS:
            right = {**mine, "anago.sim_fault_rate": 0}
            self._compare(query, shared, right)

    def _compare(self, query, shared, mine, *timeout):
        with self.conn.transaction():
            try:
                compare.compare_once(self.conn, query, shared, mine,
                                     self.tally, *timeout, peak=self.peak)
            except compare.Difference as difference:
                compare.repeat_difference(self.conn, difference, shared)
                raise


def run_seeds(cluster, seeds, args):
    """Run all; on the first failure say which seed it was, return False."""
    simulation = Simulation(cluster, args)
    failure = None
    for number, seed in enumerate(seeds, 1):
        try:
            simulation.run(seed)
        except (compare.Difference, psycopg.Error) as err:
            failure = err
            break
        if number % 100 == 0:
            print(f"{number} seeds: {simulation.tally.summary()}", flush=True)
    simulation.close()
    bad = place.bad_log_lines(cluster)
    if failure or bad:
        print(failure or "", *(f"in the server's log: {line}"
                               for line in bad[:20]), sep="\n")
        only = f" --kinds {args.kinds}" * bool(args.kinds)
        print(f"to see it again: bench/python t/sim.py --seed {seed}{only}")
        return False
    print(f"by kind (with an anago plan): {simulation.tally.by_kind()}")
    print(f"{number} seeds, {simulation.tally.summary()}")
    return _enough(simulation.tally)


def _enough(tally) -> bool:
    """Was anago really at work?"""
    too_little = tally.too_little()
    if too_little:
        print(too_little)
    return not too_little


def prepare(cluster):
    """Tables, rows; all of it into shared buffers as far as they go."""
    with cluster.connect() as conn:
        conn.execute(f"create database {place.DBNAME}")
    with cluster.connect(place.DBNAME) as conn:
        tables.create(conn)
        kinds.create(conn)
        conn.execute("create extension anago")
        conn.execute("create extension pg_prewarm")
        conn.execute("select pg_prewarm(oid::regclass) from pg_class where "
                     "relnamespace = 'public'::regnamespace "
                     "and relkind in ('r', 'i')")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--seed", type=int, help="only this one, loudly")
    parser.add_argument("--buffers", default="128MB", help="shared_buffers")
    parser.add_argument("--workers", type=int, default=WORKERS,
                        help="of the queries of odd seeds; 0: none")
    parser.add_argument("--kinds", default="", help="of queries, by comma "
                        "(lib/differ/kinds.py), \"usual\" among them; "
                        "default all")
    parser.add_argument("--memory", default=True,
                        action=argparse.BooleanOptionalAction,
                        help="compare the peak of the backend's memory, too")
    parser.add_argument("--port", type=int, default=PORT)
    args = parser.parse_args()
    seeds = ([args.seed] if args.seed is not None
             else range(args.first, args.first + args.seeds))
    server = {"shared_buffers": args.buffers, "fsync": "off",
              "session_preload_libraries": "anago",
              **settings.worker_slots(args.workers + 2)}
    try:
        with place.throw_away_cluster(args.port, "anago") as cluster:
            with cluster.started(server):
                prepare(cluster)
                good = run_seeds(cluster, seeds, args)
            if not good:
                raise SystemExit(1)
    except ClusterError as err:
        sys.exit(f"sim: {err}")


if __name__ == "__main__":
    main_of("sim", main)
